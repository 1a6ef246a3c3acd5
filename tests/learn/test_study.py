"""From what is said to what is known: facts with their grounds, said again, corrected, edited, taken back, too many (C1–C7)."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import reverie
from reverie import BudgetExceeded, Memory, Mind, ModelError, NotFound, Scope
from reverie.config import Settings
from reverie.learn import background, ingest
from reverie.learn.background import Settled
from reverie.learn.facts import KEEP, KEEP_LORE
from reverie.models.costs import Costs
from reverie.models.steady import Steady
from reverie.recall.profiles import PROFILES
from tests.contracts.worlds import START, Clock
from tests.learn.told import (
    ANA,
    ANA_IN_ROOM,
    LUIS,
    LUIS_IN_ROOM,
    OWNER,
    SPACE,
    Facts,
    Listener,
    all_of_it,
    facts,
    opened,
    sightings,
    texts,
)


def one(mind: Mind, turn: Memory) -> Memory:
    """Return the one thing that a turn taught."""
    (fact,) = mind.learned(turn.id)
    return fact


# Grounds


def test_a_fact_has_its_quote_its_message_its_subject_and_the_audience_of_the_turn(home: str) -> None:
    with opened(home) as mind:
        in_private = mind.observe("Hi! I live in Lima.", speaker="Ana", scope=ANA, message_id="dm:1")
        in_room = mind.observe("I live in Lima", speaker="Ana", scope=ANA_IN_ROOM, message_id="room:1")
        hidden = mind.observe("I like owls", speaker="Ana", scope=ANA_IN_ROOM, audience=Scope(SPACE, "general", person="ana-1"))
        for turn, quote in ((in_private, "I live in Lima"), (in_room, "I live in Lima"), (hidden, "I like owls")):
            fact = one(mind, turn)
            assert (fact.kind, fact.subject, fact.trust, fact.audience) == ("fact", "ana-1", "user", turn.audience)
            assert fact.source.quote == quote
            assert fact.source.quote in turn.text
            assert fact.source.memory_ids == (turn.id,)
            assert fact.source.message_ids == ((turn.message_id,) if turn.message_id else ())
            assert fact.happened_at == turn.happened_at
        assert one(mind, in_private).id != one(mind, in_room).id
        assert texts(mind.learned(in_private.id)) == ["Ana lives in Lima"]


def test_who_speaks_is_known_by_their_id_and_not_by_the_name_they_show() -> None:
    """R15: two people who call themselves the same are two."""
    with opened() as mind:
        first = mind.observe("I live in Lima", speaker="Sam", scope=Scope(SPACE, "general", person="sam-1"))
        second = mind.observe("I live in Lima", speaker="Sam", scope=Scope(SPACE, "general", person="sam-2"))
        nameless = mind.observe("I live in Lima", speaker="Sam", scope=Scope(SPACE, "general"))
        assert [one(mind, turn).subject for turn in (first, second, nameless)] == ["sam-1", "sam-2", None]
        assert len(facts(mind)) == 3


def test_what_a_turn_taught_is_told_in_its_language_and_only_to_who_may_see_it() -> None:
    """K18."""
    with opened() as mind:
        english = mind.observe("I live in Lima and I like owls", speaker="Ana", scope=ANA)
        spanish = mind.observe("Vivo en Lima y soy enfermera", speaker="Ana", scope=ANA)
        nothing = mind.observe("See you tomorrow then", speaker="Ana", scope=ANA)
        assert str(mind.learned(english.id)) == "Noted: Ana lives in Lima; Ana likes owls."
        assert str(mind.learned(spanish.id)) == "Anotado: Ana vive en Lima; Ana es enfermera."
        assert (str(mind.learned(nothing.id)), mind.learned(nothing.id).is_done) == ("", True)
        assert mind.learned(english.id).is_done is True
        with pytest.raises(NotFound):
            mind.learned(english.id, scope=LUIS)


def test_learning_can_be_switched_off() -> None:
    """C12."""
    with reverie.open(":memory:", embedder="none", background=False, settings=Settings(learn=False)) as mind:
        turn = mind.observe("I live in Lima", speaker="Ana", scope=ANA)
        assert mind.learned(turn.id) == ()
        assert mind.settle() == Settled(0, 0)
        assert facts(mind) == []


# Said again


def test_the_same_fact_again_counts_once_a_day_and_is_no_new_version(home: str) -> None:
    """C1: repetition makes nobody surer, another day does."""
    clock = Clock()
    with opened(home, clock) as mind:

        def say(text: str = "I live in Lima") -> Memory:
            clock.pass_(hours=1)
            return one(mind, mind.observe(text, speaker="Ana", scope=ANA))

        first = say()
        again = [say() for _ in range(5)]
        assert {fact.id for fact in again} == {first.id}
        assert {fact.version for fact in again} == {1}
        assert {fact.confidence for fact in again} == {first.confidence}
        clock.pass_(days=1)
        surer = say("Well, I live in Lima!")
        assert (surer.id, surer.version) == (first.id, 1)
        assert surer.confidence > first.confidence
        assert say().confidence == surer.confidence
        assert len(sightings(mind, first.id)) == 8
        assert surer.happened_at == first.happened_at


def test_what_another_author_says_is_theirs_even_under_the_same_name() -> None:
    def about_luis(message: str) -> Facts:
        return all_of_it(message, about="other")

    with opened(model=Listener(about_luis)) as mind:
        said = "<@luis-2> plays the bassoon"
        first = one(mind, mind.observe(said, speaker="Sam", scope=Scope(SPACE, "general", person="sam-1")))
        again = one(mind, mind.observe(said, speaker="Sam", scope=Scope(SPACE, "general", person="sam-1")))
        assert again.confidence == first.confidence
        other = one(mind, mind.observe(said, speaker="Sam", scope=Scope(SPACE, "general", person="sam-2")))
        assert (other.subject, other.extra["told_by"]) == ("luis-2", "sam-2")
        assert (first.text, other.text) == (f"{said} (according to Sam)", f"{said} (according to sam-2)")
        voices = [held.sighting.voice for fact in (first, other) for held in sightings(mind, fact.id)]
        assert voices[0] == voices[1] != voices[2] != b""


def test_what_nearly_says_the_same_is_linked() -> None:
    with opened() as mind:
        first = one(mind, mind.observe("I have a small brown dog named Rex", speaker="Ana", scope=ANA))
        second = one(mind, mind.observe("I have a brown dog named Rex", speaker="Ana", scope=ANA))
        other = one(mind, mind.observe("I live in Lima", speaker="Ana", scope=ANA))
        hers = one(mind, mind.observe("I have a brown dog named Rex", speaker="Ana", scope=LUIS))
        assert second.id != first.id
        assert second.extra["near"] == [first.id]
        assert "near" not in other.extra
        assert "near" not in hers.extra  # nobody learns from a link what others said in private


def test_what_was_forgotten_is_not_learned_again_by_the_same_words_until_somebody_tells_it_on_purpose(home: str) -> None:
    clock = Clock()
    with opened(home, clock) as mind:
        fact = one(mind, mind.observe("I live in Lima", speaker="Ana", scope=ANA))
        mind.forget(fact.id)
        for _ in range(3):
            clock.pass_(days=1)
            turn = mind.observe("I live in Lima", speaker="Ana", scope=ANA)
            assert (mind.learned(turn.id), mind.learned(turn.id).is_done) == ((), True)
        assert facts(mind) == []
        revived = mind.remember("Ana lives in Lima", subject="ana-1", scope=ANA)
        assert revived.id == fact.id
        assert texts(facts(mind)) == ["Ana lives in Lima"]
        assert one(mind, mind.observe("I live in Lima", speaker="Ana", scope=ANA)).id == fact.id


# Corrected


def test_a_correction_ends_what_was_known_on_its_topic_and_nothing_else(home: str) -> None:
    clock = Clock()
    with opened(home, clock) as mind:
        lima = one(mind, mind.observe("I live in Lima", speaker="Ana", scope=ANA))
        work = one(mind, mind.observe("I work at Acme", speaker="Ana", scope=ANA))
        told = mind.remember("Ana lives in Quito", subject="ana-1", scope=ANA)
        in_room = one(mind, mind.observe("I live in Lima", speaker="Ana", scope=ANA_IN_ROOM))
        clock.pass_(days=2)
        cusco = one(mind, mind.observe("Actually, I live in Cusco", speaker="Ana", scope=ANA))
        assert cusco.replaces == (lima.id,)
        assert mind.get(lima.id).valid_until == clock.now
        assert [mind.get(id).valid_until for id in (work.id, told.id, in_room.id, cusco.id)] == [None] * 4
        current = {hit.memory.text: hit.current for hit in mind.recall("where does Ana live?", scope=ANA, kinds=["fact"]).hits}
        assert (current["Ana lives in Cusco"], current["Ana lives in Lima"]) == (True, False)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I live in Oaxaca", "I no longer live in Rome"),
        ("I live in Oaxaca", "I no longer live with my parents"),
        ("I live in Oaxaca", "no coffee any more. I live in Cork"),
        ("I live in Oaxaca", "I moved to Mexico in 2009"),
        ("I live in Oaxaca", "I'm moving to Puebla in May"),
        ("I live in Oaxaca", "My sister Noor moved to Puebla"),
        ("I work at Acme", "I no longer work at Initech"),
        ("I work at Acme", "Actually I work from home on Fridays"),
        ("I work at Acme", "Actually, I work as a nurse"),
        ("I work as a nurse", "I no longer work on Sundays"),
        ("My name is Ana", "Actually my middle name is Rosa"),
        ("My birthday is on May 5", "Actually, our anniversary is on May 6"),
        ("My sister Noor lives in Rome", "I no longer live in Rome"),
        ("I like vegan food", "I'm no longer vegan"),
        ("I don't eat pork", "I no longer eat pork"),
        ("Vivo en Lima", "Ya no vivo en Quito"),
        ("Trabajo en Acme", "Ya no trabajo los domingos"),
    ],
)
def test_what_is_still_true_is_not_ended_by_something_like_it(known: str, said: str) -> None:
    clock = Clock()
    with opened(clock=clock) as mind:
        fact = one(mind, mind.observe(known, speaker="Ana", scope=ANA))
        clock.pass_(days=2)
        assert mind.learned(mind.observe(said, speaker="Ana", scope=ANA).id)
        assert mind.get(fact.id).valid_until is None


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I am allergic to peanuts", "I am no longer allergic to peanuts"),
        ("I am vegan", "I'm not vegan anymore"),
        ("I have a cat", "I no longer have a cat"),
        ("I have a cat", "I don't have a cat any more"),
        ("I use Linux", "I stopped using Linux"),
        ("I have a car", "I sold my car"),
        ("I work at Acme", "I no longer work at Acme"),
        ("I work at Acme", "I quit my job"),
        ("I work at Acme", "Actually, I work at Globex"),
        ("I live in Oaxaca", "I moved to Puebla yesterday"),
        ("I live in Oaxaca", "I moved! I live in Puebla now"),
        ("I live in Oaxaca", "I was wrong: I live in Lyon"),
        ("My birthday is on May 5", "Actually, my birthday is on May 6"),
        ("Soy vegana", "Ya no soy vegana"),
        ("Tengo un perro", "Ya no tengo perro"),
        ("Me gusta el fútbol", "Ya no me gusta el fútbol"),
        ("Vivo en Oaxaca", "Me equivoqué, vivo en Gijón"),
        ("Vivo en Oaxaca", "Me mudé a Puebla ayer"),
    ],
)
def test_what_is_taken_back_or_replaced_is_over(known: str, said: str) -> None:
    clock = Clock()
    with opened(clock=clock) as mind:
        fact = one(mind, mind.observe(known, speaker="Ana", scope=ANA))
        clock.pass_(days=2)
        new = one(mind, mind.observe(said, speaker="Ana", scope=ANA))
        assert mind.get(fact.id).valid_until is not None
        assert new.replaces == (fact.id,)


def test_two_claims_of_one_message_do_not_end_each_other() -> None:
    with opened() as mind:
        turn = mind.observe("Actually, I live in Cork. Actually, I live in Galway", speaker="Ana", scope=ANA)
        assert [fact.valid_until for fact in mind.learned(turn.id)] == [None, None]


def test_a_correction_by_another_author_ends_nothing() -> None:
    def about_luis(message: str) -> Facts:
        return all_of_it(message, about="other", topic="home", corrects=message.startswith("Actually"))

    with opened(model=Listener(about_luis)) as mind:
        first = one(mind, mind.observe("<@luis-2> lives in Lima", speaker="Ana", scope=ANA_IN_ROOM))
        mallory = Scope(SPACE, "general", person="mallory-3")
        one(mind, mind.observe("Actually <@luis-2> lives in Cusco", speaker="Ana", scope=mallory))
        assert mind.get(first.id).valid_until is None
        one(mind, mind.observe("Actually <@luis-2> lives in Quito", speaker="Ana", scope=ANA_IN_ROOM))
        assert mind.get(first.id).valid_until is not None


def test_an_old_correction_that_arrives_late_does_not_end_what_was_said_since() -> None:
    with opened() as mind:
        now = one(mind, mind.observe("I live in Lima", speaker="Ana", scope=ANA, at=START))
        mind.observe("Actually, I live in Cusco", speaker="Ana", scope=ANA, at=START - timedelta(days=900))
        assert mind.get(now.id).valid_until is None


def test_what_had_ended_and_is_said_again_holds_again() -> None:
    clock = Clock()
    with opened(clock=clock) as mind:

        def say(text: str) -> Memory:
            clock.pass_(days=1)
            return one(mind, mind.observe(text, speaker="Ana", scope=ANA))

        lima, cusco = say("I live in Lima"), say("Actually, I live in Cusco")
        assert mind.get(lima.id).valid_until is not None
        back = say("Actually, I live in Lima")
        assert (back.id, back.valid_until, back.replaces) == (lima.id, None, (cusco.id,))
        assert mind.get(cusco.id).valid_until is not None


# Too many

SORTS = ["red", "grey", "blue", "tiny", "wild", "shy", "old", "calm", "bold", "lame"]
ANIMALS = [
    sort + kind
    for sort in SORTS
    for kind in ["owls", "bees", "cats", "elks", "emus", "eels", "apes", "asps", "rays", "bats", "rams", "hens", "cods"]
]


def liking(things: list[str], scope: Scope, speaker: str = "Ana") -> list[dict[str, object]]:
    return [{"text": f"I like {thing}", "speaker": speaker, "scope": scope} for thing in things]


def test_only_the_newest_eighty_of_one_author_about_one_person_stay_active_and_the_pinned_besides(home: str) -> None:
    with opened(home) as mind:
        mind.observe_many(liking(ANIMALS[:3], ANA))
        mind.settle()
        pinned, oldest, kept = facts(mind)
        mind.pin(pinned.id)
        told = mind.remember("Ana keeps a diary", subject="ana-1", scope=ANA)
        mind.observe_many(liking(ANIMALS[3 : KEEP + 2], ANA))
        mind.settle()
        active = facts(mind)
        assert len(active) == KEEP + 2
        assert {pinned.id, told.id, kept.id} <= {fact.id for fact in active}
        assert oldest.id not in {fact.id for fact in active}
        assert mind.history(oldest.id)[-1].extra["archived"] is True
        again = one(mind, mind.observe(f"I like {ANIMALS[1]}", speaker="Ana", scope=ANA))
        assert again.id == oldest.id
        assert not again.extra["archived"]
        assert kept.id not in {fact.id for fact in facts(mind)}


def test_eighty_facts_by_one_member_about_another_archive_none_of_theirs() -> None:
    """C4: quotas count per author."""

    def about_luis(message: str) -> Facts:
        return all_of_it(message, about="other" if "<@" in message else "speaker")

    with opened(model=Listener(about_luis)) as mind:
        own = [one(mind, mind.observe(f"I like {thing}", scope=LUIS_IN_ROOM)) for thing in ANIMALS[:5]]
        mallory = Scope(SPACE, "general", person="mallory-3")
        told = [{"text": f"<@luis-2> likes {thing}", "speaker": "Luis"} for thing in ANIMALS[: KEEP + 10]]
        mind.observe_many(told, scope=mallory)
        assert mind.settle() == Settled(0, 0)
        active = [fact for fact in facts(mind) if fact.subject == "luis-2"]
        assert {fact.id for fact in own} <= {fact.id for fact in active}
        assert sum(fact.extra["told_by"] == "mallory-3" for fact in active) == KEEP


@pytest.mark.parametrize("way", ["about others in a room", "by a speaker without an id", "notes of a model"])
def test_what_is_about_nobody_is_kept_up_to_the_same_number_of_each_author(home: str, way: str) -> None:
    """C7: quotas count per author."""
    room = Scope(SPACE, "general")
    with opened(home, model=Listener(lambda message: all_of_it(message, about="other"))) as mind:

        def say(things: list[str], speaker: str) -> None:
            said = [f"My friend likes {thing}" for thing in things]
            match way:
                case "about others in a room":
                    mind.observe_many([{"text": one, "speaker": speaker} for one in said], scope=replace(room, person=speaker))
                case "by a speaker without an id":
                    mind.observe_many([{"text": one, "speaker": speaker} for one in said], scope=room)
                case _:
                    notes = [{"text": f"<memory>{one}</memory>", "role": "assistant", "speaker": speaker} for one in said]
                    mind.observe_many(notes, scope=Scope(SPACE))
            mind.settle()

        say(ANIMALS[-1:], "Luis")
        say(ANIMALS[:2], "Ana")
        hers, pinned, oldest = facts(mind)
        assert {fact.subject for fact in facts(mind)} == {None}
        mind.pin(pinned.id)
        say(ANIMALS[2 : KEEP + 2], "Ana")
        active = facts(mind)
        assert {hers.id, pinned.id} < {fact.id for fact in active}
        assert len(active) == KEEP + 2
        assert mind.history(oldest.id)[-1].extra["archived"] is True


def test_undoing_what_was_learned_brings_back_what_it_put_away() -> None:
    with opened() as mind:
        mind.observe_many(liking(ANIMALS[:KEEP], ANA))
        mind.settle()
        before = texts(facts(mind))
        one(mind, mind.observe("I live in Lima", speaker="Ana", scope=ANA))
        assert len(facts(mind)) == KEEP
        assert before[0] not in texts(facts(mind))
        (learned, *_) = [commit for commit in mind.log(OWNER) if commit.why == "learned"]
        mind.undo(learned.id)
        assert texts(facts(mind)) == before


def test_lore_lines_of_a_model_are_kept_up_to_their_own_number() -> None:
    """C6: `Memory line: …` in a reply."""
    with opened() as mind:
        mind.observe("Anyone remember how the owls came to be?", speaker="Ana", scope=Scope(SPACE))
        line = mind.observe("Sure!\nMemory line: the owls came by boat", role="assistant", scope=Scope(SPACE))
        lore = one(mind, line)
        assert (lore.text, lore.subject, lore.extra["type"]) == ("Memory line: the owls came by boat.", "__lore__", "lore")
        assert (lore.trust, lore.audience) == ("agent", Scope(SPACE))
        turns = [{"text": f"Memory line: the {thing} came by boat", "role": "assistant"} for thing in ANIMALS]
        mind.observe_many(turns, scope=Scope(SPACE))
        mind.settle()
        active = [fact for fact in facts(mind) if fact.subject == "__lore__"]
        assert len(ANIMALS) >= len(active) == KEEP_LORE
        assert lore.id not in {fact.id for fact in active}


def test_lore_that_rests_on_what_was_just_said_is_worth_what_the_line_says() -> None:
    with opened() as mind:
        mind.observe("the owls came by boat in spring", speaker="Ana", scope=Scope(SPACE))
        lore = one(mind, mind.observe("Memory line: the owls came by boat.", role="assistant", scope=Scope(SPACE)))
        assert lore.confidence == 0.7  # C6 says 0.72, and a model's word is worth 0.7 at most


# Waiting


def flood(mind: Mind, number: int, scope: Scope, name: str) -> list[Memory]:
    return [mind.observe(f"The {name} has {n} owls", scope=scope, message_id=f"{name}:{n}") for n in range(number)]


def flooded(home: str, number: int, most: int) -> None:
    model = Listener(is_open=False)
    with opened(home, model=model, background=True) as mind:
        others = flood(mind, 10, LUIS, "baker")
        assert model.is_asked.wait(60)
        turns = flood(mind, number, Scope(SPACE, person="mallory-3"), "flooder")
        late = flood(mind, 5, ANA, "miller")
        with mind._store.reading(SPACE) as view:
            assert view.live() == most
        assert sum(mind.learned(turn.id).is_done is False for turn in turns) == number + 15 - most
        assert [mind.learned(turn.id).is_done for turn in (*others, *late)] == [None] * 15
        assert len(list(mind.scan(OWNER, kinds=["turn"]))) == number + 15
        # The oldest of the flood go first; delivering them again makes nobody else's go.
        assert [mind.learned(turn.id).is_done for turn in turns].index(None) == number + 15 - most
        flood(mind, 20, Scope(SPACE, person="mallory-3"), "flooder")
        assert [mind.learned(turn.id).is_done for turn in (*others, *late)] == [None] * 15
        with mind._store.reading(SPACE) as view:
            assert view.live() == most
        model.open.set()
        assert mind.settle(120) == Settled(0, 0)
        assert all(mind.learned(turn.id).is_done and mind.learned(turn.id) for turn in (*others, *late))
        assert not any(mind.learned(turn.id) for turn in turns[: number + 15 - most])


def test_who_floods_loses_their_own_oldest_jobs_and_nobody_loses_a_turn(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """C3: of whoever has most waiting, the oldest are never learned from, and say so."""
    monkeypatch.setattr(ingest, "WAITING", 40)
    flooded(home, 100, 40)


@pytest.mark.stress
def test_a_thousand_flooding_messages_drop_no_job_of_anybody_else(home: str) -> None:
    """C3: at most 400 wait."""
    flooded(home, 1_000, 400)


def test_of_equals_the_one_who_says_more_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """C3: with two authors alike, whoever adds the next loses their oldest."""
    monkeypatch.setattr(ingest, "WAITING", 40)
    model = Listener(is_open=False)
    with opened(model=model, background=True) as mind:
        first, second, more = flood(mind, 20, LUIS, "baker"), flood(mind, 20, ANA, "miller"), flood(mind, 1, ANA, "weaver")
        assert [mind.learned(turn.id).is_done for turn in (first[0], second[0], more[0])] == [None, False, None]
        model.open.set()


def test_each_session_is_learned_in_its_order(home: str) -> None:
    model = Listener(is_open=False)
    with opened(home, model=model, background=True) as mind:
        said: dict[str, list[str]] = {"s1": [], "s2": [], "s3": []}
        for n in range(30):
            session = f"s{n % 3 + 1}"
            said[session].append(f"In {session} there are {n} owls")
            mind.observe(said[session][-1], scope=Scope(SPACE, session=session, person="ana-1"))
        model.open.set()
        assert mind.settle(60) == Settled(0, 0)
        for session, messages in said.items():
            assert [text for text in model.heard if f"In {session} " in text] == messages


def test_what_was_said_is_learned_before_the_mind_closes_and_else_when_it_opens_again(tmp_path: Path) -> None:
    with opened(tmp_path, background=True) as mind:
        mind.observe("I live in Lima", speaker="Ana", scope=ANA)
    with opened(tmp_path, model=Listener(is_open=False), background=False) as mind:
        assert texts(facts(mind)) == ["Ana lives in Lima"]
    down = Listener()
    down.error = ModelError("down", may_pass=True)
    with opened(tmp_path, model=down) as mind:
        turn = mind.observe("The miller has 7 owls", speaker="Ana", scope=ANA)
        assert mind.learned(turn.id).is_done is None
    with opened(tmp_path, model=Listener(), background=True) as mind:
        assert mind.settle(60) == Settled(0, 0)
        assert texts(mind.learned(turn.id)) == ["The miller has 7 owls"]


def test_a_message_delivered_by_many_threads_at_once_has_one_outcome(home: str) -> None:
    """C3: concurrent duplicates share one result."""
    with opened(home, background=True) as mind:
        ready = threading.Barrier(8)
        turns: list[Memory] = []

        def deliver() -> None:
            ready.wait(60)
            turns.append(mind.observe("I live in Lima", speaker="Ana", scope=ANA, message_id="dm:1"))

        threads = [threading.Thread(target=deliver) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(turns) == 8
        assert len({(turn.id, turn.version, turn.commit) for turn in turns}) == 1
        assert mind.settle(60) == Settled(0, 0)
        (fact,) = facts(mind)
        assert (fact.version, len(sightings(mind, fact.id))) == (1, 1)


def test_a_turn_meant_for_somewhere_else_is_learned_from_and_holds_nobody_up(home: str) -> None:
    """Whoever says something for an audience that they are not in themselves now."""
    with opened(home) as mind:
        elsewhere = Scope(SPACE, session="tuesdays", person="ana-1")
        away = mind.observe("I live in Lima", speaker="Ana", scope=ANA, audience=elsewhere)
        here = mind.observe("I like owls", speaker="Ana", scope=ANA)
        assert mind.settle() == Settled(0, 0)
        assert one(mind, away).audience == elsewhere
        assert texts(mind.learned(here.id)) == ["Ana likes owls"]
        assert texts(facts(mind, ANA)) == ["Ana likes owls"]


# Edited, retracted, opted out


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ("I live in Lima", "I live in Cusco", ["Ana lives in Cusco"]),
        ("I live in Lima and I like owls", "I live in Cusco and I like owls", ["Ana likes owls", "Ana lives in Cusco"]),
        ("I live in Lima with my sister and my two dogs", "I live in Cusco with my sister and my two dogs", None),
        ("I live in Lima", "If only it were true that I live in Lima", []),
        ("I live in Lima", "never mind", []),
        ("I live in Lima", "I live in Lima.", ["Ana lives in Lima"]),
    ],
)
def test_an_edited_message_is_taken_at_its_new_word(home: str, before: str, after: str, known: list[str] | None) -> None:
    with opened(home) as mind:
        for text in (before, after):
            turn = mind.observe(text, speaker="Ana", scope=ANA, message_id="dm:1")
        told = sorted(texts(facts(mind)))
        assert "Lima" not in "".join(told) or known == ["Ana lives in Lima"]
        assert told == known if known is not None else told
        assert sorted(texts(mind.learned(turn.id))) == told
        mind.observe(before, speaker="Ana", scope=ANA, message_id="dm:1")
        assert any("Lima" in fact.text for fact in facts(mind))


def test_a_message_edited_while_a_model_reads_it_teaches_only_its_new_word(home: str) -> None:
    model = Listener(is_open=False)
    with opened(home, model=model, background=True) as mind:
        mind.observe("The miller has 7 owls", scope=ANA, message_id="dm:1")
        assert model.is_asked.wait(60)
        turn = mind.observe("The baker has 7 owls", scope=ANA, message_id="dm:1")
        model.open.set()
        assert mind.settle(60) == Settled(0, 0)
        assert model.heard == ["The miller has 7 owls", "The baker has 7 owls"]
        assert texts(facts(mind)) == texts(mind.learned(turn.id)) == ["The baker has 7 owls"]


@pytest.mark.parametrize("way", ["edit", "update"])
def test_a_turn_in_other_words_is_learned_from_anew_and_once_more_when_that_is_undone(home: str, way: str) -> None:
    with opened(home) as mind:
        turn = mind.observe("I live in Lima", speaker="Ana", scope=ANA, message_id="dm:1")
        if way == "edit":
            changed = mind.observe("I live in Cusco", speaker="Ana", scope=ANA, message_id="dm:1")
        else:
            changed = mind.update(turn.id, text="I live in Cusco")
        assert texts(facts(mind)) == texts(mind.learned(turn.id)) == ["Ana lives in Cusco"]
        mind.undo(changed.commit)
        assert texts(facts(mind)) == texts(mind.learned(turn.id)) == ["Ana lives in Lima"]
        assert facts(mind)[0].confidence == 0.8


@pytest.mark.parametrize("after", ["> The miller has 7 owls", "`The miller has 7 owls`"])
def test_a_message_edited_to_say_nothing_of_its_own_teaches_nothing(after: str) -> None:
    with opened(model=Listener()) as mind:
        for text in ("The miller has 7 owls", after):
            turn = mind.observe(text, scope=ANA, message_id="dm:1")
        assert (facts(mind), mind.learned(turn.id)) == ([], ())


def test_an_edit_leaves_what_others_said_and_what_was_told_on_purpose() -> None:
    with opened() as mind:
        for number in (1, 2):
            mind.observe("I live in Lima", speaker="Ana", scope=ANA, message_id=f"dm:{number}")
        mind.observe("I live in Cusco", speaker="Ana", scope=ANA, message_id="dm:1")
        assert sorted(texts(facts(mind))) == ["Ana lives in Cusco", "Ana lives in Lima"]


def test_what_a_retracted_message_taught_goes_and_may_be_learned_from_another(home: str) -> None:
    with opened(home) as mind:
        mind.observe("I live in Lima", speaker="Ana", scope=ANA, message_id="dm:1")
        mind.observe("I like owls", speaker="Ana", scope=ANA, message_id="dm:2")
        mind.retract("dm:1", scope=ANA)
        assert texts(facts(mind)) == ["Ana likes owls"]
        mind.observe("I live in Lima", speaker="Ana", scope=ANA, message_id="dm:1")
        assert texts(facts(mind)) == ["Ana likes owls"]  # the same message delivered again is still retracted
        again = one(mind, mind.observe("I live in Lima", speaker="Ana", scope=ANA, message_id="dm:3"))
        assert again.source.message_ids == ("dm:3",)
        (retracted,) = [commit for commit in mind.log(OWNER) if commit.why == "retracted"]
        mind.undo(retracted.id)
        assert {"dm:1", "dm:2", "dm:3"} == {turn.message_id for turn in mind.scan(OWNER, kinds=["turn"])}


def test_nothing_is_learned_of_who_opted_out_even_if_they_did_so_while_it_waited(home: str) -> None:
    """R15."""
    model = Listener(is_open=False)
    with opened(home, model=model, background=True) as mind:
        mind.observe("The baker has 7 owls", scope=LUIS)
        assert model.is_asked.wait(60)
        said = mind.observe("The miller has 7 owls", speaker="Ana", scope=ANA_IN_ROOM)
        mind.people.optout("ana-1", scope=OWNER)
        with pytest.raises(reverie.Refused, match="asked not to be remembered"):
            mind.observe("I live in Lima", speaker="Ana", scope=ANA)
        model.open.set()
        assert mind.settle(60) == Settled(0, 0)
        assert (mind.learned(said.id), mind.learned(said.id).is_done) == ((), True)
        assert model.heard == ["The baker has 7 owls"]  # what waited was not even sent
        assert mind.people.get("ana-1", OWNER).names == ()


# A model that fails


def test_a_model_that_is_down_delays_nobody_is_logged_without_text_and_learns_when_it_is_back(home: str) -> None:
    """C12: failures land in the action log as ids and codes."""
    model, clock = Listener(), Clock()
    model.error = ModelError("zqsecretwordsk is what the server said", may_pass=True)
    steady = Steady(model, Costs(None, clock), clock, sleep=lambda _: None)
    with opened(home, clock, model=steady) as mind:
        turns = [mind.observe(f"The miller has {n} zqowlsk", scope=ANA) for n in range(4)]
        assert [mind.learned(turn.id).is_done for turn in turns] == [None] * 4
        assert mind.settle() == Settled(0, 4)
        errors = mind.actions(100)
        assert {(action.kind, action.id, action.code) for action in errors} == {("memory_extract_error", turns[0].id, "model")}
        assert not any(word in repr(errors) for word in ("zqsecretwordsk", "zqowlsk"))
        model.error = None
        clock.pass_(hours=1)
        assert mind.settle() == Settled(0, 0)
        assert [texts(mind.learned(turn.id)) for turn in turns] == [[turn.text] for turn in turns]
        kinds = [action.kind for action in mind.actions(100) if action.id in {turn.id for turn in turns}]
        assert kinds.count("memory_extract_call") == 4
        assert not any(word in repr(mind.actions(100)) for word in ("zqsecretwordsk", "zqowlsk"))


def test_a_message_that_the_model_will_never_answer_is_given_up_and_the_next_is_learned() -> None:
    def says(message: str) -> Facts:
        if "stone" in message:
            raise ModelError("no answer to that")
        return all_of_it(message)

    with opened(model=Listener(says)) as mind:
        stuck = mind.observe("The miller has a stone", scope=ANA)
        following = mind.observe("The miller has an owl", scope=ANA)
        assert mind.learned(stuck.id).is_done is False
        assert texts(mind.learned(following.id)) == ["The miller has an owl"]


def test_a_message_that_is_refused_holds_up_no_later_process(tmp_path: Path) -> None:
    """C3: each of them asks but once and is gone."""
    model = Listener()
    for said, error in (("The miller has a stone", ModelError("no answer to that")), ("The miller has an owl", None)):
        model.error = error
        with opened(tmp_path, model=model) as mind:
            turn = mind.observe(said, scope=ANA)
    with opened(tmp_path, model=model) as mind:
        assert texts(mind.learned(turn.id)) == model.heard == ["The miller has an owl"]


@pytest.mark.parametrize("error", [ModelError("refused to connect", may_pass=True), BudgetExceeded("all of it is spent")])
def test_what_was_said_waits_for_a_model_that_cannot_be_asked_however_long_that_takes(error: Exception) -> None:
    model, clock = Listener(), Clock()
    model.error = error
    steady = Steady(model, Costs(None, clock), clock, sleep=lambda _: None)
    with opened(clock=clock, model=steady) as mind:
        turn = mind.observe("The miller has an owl", scope=ANA)
        for _ in range(30):
            mind.settle()
        assert mind.learned(turn.id).is_done is None
        model.error = None
        clock.pass_(hours=1)
        mind.settle()
        assert texts(mind.learned(turn.id)) == ["The miller has an owl"]


def test_what_waits_for_want_of_a_key_is_learned_once_there_is_one(tmp_path: Path) -> None:
    for settings, taught in ((Settings(model="anthropic:some"), None), (Settings(), ["Ana lives in Lima"])):
        with reverie.open(tmp_path, embedder="none", background=False, settings=settings) as mind:
            turns = list(mind.scan(ANA, kinds=["turn"])) or [mind.observe("I live in Lima", speaker="Ana", scope=ANA)]
            for _ in range(25):
                mind.settle()
            learned = mind.learned(turns[0].id)
            assert (texts(learned), learned.is_done) == ((taught, True) if taught else ([], None))


def test_what_was_given_up_is_tried_once_more_when_somebody_waits_for_it_and_holds_up_nobody(home: str) -> None:
    model = Listener()
    model.error = ModelError("refused the key")
    with opened(home, model=model) as mind:
        turn = mind.observe("The miller has an owl", scope=ANA)
        assert (mind.learned(turn.id).is_done, len(model.asked)) == (False, 1)
        for _ in range(5):
            mind.settle()
        assert len(model.asked) == 2
        if home == ":memory:":
            return
    model.error = None
    with opened(home, model=model) as mind:
        assert mind.settle() == Settled(0, 0)
        assert texts(mind.learned(turn.id)) == ["The miller has an owl"]


# The same once more


def state_of(mind: Mind) -> tuple[object, ...]:
    everything = tuple(mind.scan(OWNER, retired=True))
    return (
        everything,
        mind.log(OWNER, limit=10_000),
        [sightings(mind, memory.id) for memory in everything],
        mind.quarantine(OWNER),
    )


def test_the_same_turns_and_the_same_export_a_second_time_change_nothing(home: str, tmp_path: Path) -> None:
    turns = [
        {"text": "I live in Lima", "speaker": "Ana", "message_id": "1"},
        {"text": "I like owls", "speaker": "Ana", "message_id": "2"},
        {"text": "Actually, I live in Cusco", "speaker": "Ana", "message_id": "3"},
        {"text": "Noted. <memory>Ana likes owls</memory>", "role": "assistant", "message_id": "4", "reply_to": "2"},
        {"text": "Memory line: the pond froze over.", "role": "assistant", "message_id": "5"},
        {"text": "I live in Cusco", "speaker": "Ana", "message_id": "6"},
    ]
    clock = Clock()
    with opened(home, clock) as mind:
        assert mind.observe_many(turns, scope=ANA).added == 6
        clock.pass_(days=1)  # and the conversation is over
        assert mind.settle() == Settled(0, 0)
        assert len(facts(mind)) >= 3
        before = state_of(mind)
        assert mind.observe_many(turns, scope=ANA).duplicates == 6
        for turn in turns:
            mind.observe(**turn, scope=ANA)  # type: ignore[arg-type]
        assert mind.settle() == Settled(0, 0)
        assert state_of(mind) == before
        mind.export(tmp_path / "all.jsonl")
        for _ in range(2):
            mind.load(tmp_path / "all.jsonl")
            assert mind.settle() == Settled(0, 0)
            assert state_of(mind) == before


@pytest.mark.parametrize("by_model", [False, True])
def test_recalled_context_pasted_back_creates_and_strengthens_nothing(by_model: bool) -> None:
    """Nothing recalled is ever learned again as new."""
    clock = Clock()
    with opened(clock=clock, model=Listener(sentences) if by_model else None) as mind:
        for text in (
            "I live in Lima",
            "I like owls",
            "I'm allergic to peanuts",
            "Vivo con mi hermana",
            "Hello\nI work at Acme",
        ):
            clock.pass_(minutes=5)
            mind.observe(text, speaker="Ana", scope=ANA)
            mind.observe(text, speaker="Ana", scope=Scope(SPACE, "general", "s", "ana-1"))
        mind.working(ANA).replace(task="I live in Quito")
        mind.scratchpad(ANA, "plan").replace("I like eels")
        mind.chat_context(ANA).replace("I work at Zenith")
        known = [(fact.id, fact.version, fact.confidence) for fact in facts(mind)]
        assert len(known) >= 8
        for scope in (ANA, Scope(SPACE, "general", "s", "ana-1")):
            cue = "where does Ana live, and owls, peanuts, hermana, Acme?"
            shown = [mind.context(cue, scope=scope, profile=name).text for name in PROFILES]
            shown += [str(mind.recall(cue, scope=scope)), str(mind.recall(cue, scope=scope, kinds=["fact"]))]
            for text in shown:
                assert "Lima" in text
                clock.pass_(days=1)
                for pasted in (text, f"You told me:\n{text}\nis that right?", text.replace("\n", "\r\n")):
                    turn = mind.observe(pasted, speaker="Ana", scope=scope)
                    assert mind.learned(turn.id) == (), pasted
        assert [(fact.id, fact.version, fact.confidence) for fact in facts(mind)] == known


def sentences(message: str) -> Facts:
    """Take whatever stands between quotes, or in a line, for a fact."""
    found: Facts = []
    for line in message.replace("⏎", "\n").replace('"', "\n").splitlines():
        found += all_of_it(line.strip()) if {"I", "I'm", "Vivo"} & set(line.split()) else []
    return found[:4]


# Heard, attached


def test_a_transcript_is_traced_and_believed_as_far_as_its_words_are_sure(home: str) -> None:
    """C5: synthetic ids, a place, lower trust for uncertain words."""
    with opened(home) as mind:

        def hear(text: str, certainty: object = None) -> Memory:
            return mind.observe(text, speaker="Ana", scope=ANA, place="voice:room-1", certainty=certainty)  # type: ignore[arg-type]

        sure = hear("I live in Lima", 0.95)
        assert sure.message_id is not None
        assert sure.message_id.startswith("voice:room-1:")
        assert hear("I live in Lima", 0.95).id == sure.id
        fact = one(mind, sure)
        assert (fact.source.place, fact.source.message_ids, fact.trust) == ("voice:room-1", (sure.message_id,), "user")
        unsure = hear("I work at Acme", 0.4)
        assert (unsure.trust, one(mind, unsure).trust, one(mind, unsure).subject) == ("other", "other", None)
        assert one(mind, unsure).confidence <= 0.4
        by_word = hear("I like owls and I work at Zenith", {"owls": 0.3, "Zenith": 0.9})
        found = {fact.text: fact.confidence for fact in mind.learned(by_word.id)}
        assert found["Ana likes owls"] == 0.3
        assert found["Ana works at Zenith"] > 0.7


def test_an_attachment_is_found_by_its_caption_and_teaches_nothing(home: str) -> None:
    """K23."""
    with opened(home) as mind:
        turn = mind.observe(
            "look at this",
            scope=ANA,
            attachments=[{"type": "image", "caption": "a heron on the jetty"}, {"type": "pdf", "text": "I live in Lima"}],
        )
        for cue in ("heron jetty", "Lima"):
            assert [hit.memory.id for hit in mind.recall(cue, scope=ANA).hits] == [turn.id]
        assert facts(mind) == []
        assert mind.recall("heron", scope=LUIS).hits == ()


def test_the_time_given_to_settle_is_shared_by_all_that_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [100.0]
    monkeypatch.setattr("reverie.learn.background.time.monotonic", lambda: at[0])
    given: list[float | None] = []

    class Slow(background.Background):
        def settle(self, timeout_s: float | None) -> Settled:
            given.append(timeout_s)
            at[0] += 4.0
            return Settled(1, 0)

    with opened() as mind:
        works = [Slow(mind._store, is_on=False) for _ in range(3)]
        assert background.settle_all(works, 6.0) == Settled(3, 0)
        assert background.settle_all(works, None) == Settled(3, 0)
    assert given == [6.0, 2.0, 0.0, None, None, None]


def test_a_damaged_space_keeps_no_other_from_being_learned_from(tmp_path: Path) -> None:
    away = Listener()
    away.error = ModelError("away", may_pass=True)
    with opened(tmp_path, model=away) as mind:
        for space in ("amber", "birch", "cedar"):
            mind.observe_many([{"text": f"The miller has {n} owls"} for n in range(60)], scope=Scope(space, person="ana-1"))
        damaged = mind._store.file_of("birch")  # type: ignore[attr-defined]
    raw = bytearray(damaged.read_bytes())
    raw[-8192:] = b"\xa5" * 8192
    damaged.write_bytes(raw)
    with opened(tmp_path, background=True) as mind:
        mind.observe("I live in Lima", speaker="Ana", scope=Scope("cedar", person="ana-1"))
        assert mind.settle(60).pending == 0
        assert "Ana lives in Lima" in texts(facts(mind, Scope.owner("cedar")))


def test_what_a_model_refused_is_counted_when_all_is_settled() -> None:
    model = Listener()
    model.error = ModelError("no answer to that")
    with opened(model=model) as mind:
        mind.observe("The miller has an owl", scope=ANA)
        assert mind.settle() == Settled(0, 1)
        model.error = None
        mind.observe("The miller has two owls", scope=ANA)
        assert mind.settle() == Settled(0, 1), "it was asked twice, and is left alone"


@pytest.mark.stress  # who is faster depends on the machine
def test_who_writes_fast_is_learned_from_in_full(tmp_path: Path) -> None:
    """C3: learning gives way to whoever writes, but not so far that jobs are dropped."""
    with opened(tmp_path, background=True) as mind:
        for number in range(700):
            mind.observe(f"I like fruit{number} a lot", scope=Scope(SPACE, person=f"ana-{number % 9}"))
        assert mind.settle(120) == Settled(0, 0)
        with mind._store.reading(SPACE) as view:
            assert view.jobs() == {}


@pytest.mark.parametrize(
    "wish", ["Use emojis in your answers", "Usa emojis en tus respuestas", "Use bullet points in your replies"]
)
def test_a_wish_is_judged_by_its_own_words(wish: str) -> None:
    with opened() as mind:
        assert wish in one(mind, mind.observe(wish, speaker="Ana", scope=ANA)).text
        assert list(mind.quarantine()) == []
