"""What hostile readings found, each once: leaks, lost work, and doors left ajar (R4, R6, R8, R12)."""

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import reverie
from reverie import BadInput, Commit, Conflict, Memory, Mind, NotFound, Proof, Refused, Scope, Source
from tests.contracts.worlds import EVERYTHING, START, Clock, NewMind, found

G, OWNER = Scope("g"), Scope.owner("g")
ANA, BOB = Scope("g", person="ana"), Scope("g", person="bob")


def kept(mind: Mind, scope: Scope = OWNER) -> list[str]:
    """Return what is believed now, oldest first."""
    return [memory.text for memory in mind.scan(scope)]


# who may know that something was said


def test_guessing_what_someone_said_in_private_returns_nothing_of_it(mind: Mind) -> None:
    hers = mind.remember("ana has diabetes", scope=ANA, title="Health", tags=("secret",), confidence=0.3)
    guess = mind.remember("ana has diabetes", scope=G, audience=ANA)
    assert guess.id != hers.id
    assert (guess.title, guess.tags) == (None, ())
    assert mind.get(hers.id) == hers
    assert len(mind.history(hers.id)) == 1


def test_a_thing_told_twice_from_one_place_for_one_reader_is_one_memory(mind: Mind) -> None:
    first = mind.remember("ana likes tea", scope=G, audience=ANA, confidence=0.5)
    assert mind.remember("ana likes tea", scope=G, audience=ANA, confidence=0.5).id == first.id
    assert mind.get(first.id).confidence == 0.75
    assert kept(mind) == ["ana likes tea"]


def test_a_guess_made_twice_is_one_memory_beside_the_one_it_guessed(mind: Mind) -> None:
    hers = mind.remember("ana has diabetes", scope=ANA, confidence=0.3)
    guesses = {mind.remember("ana has diabetes", scope=G, audience=ANA).id for _ in range(3)}
    assert len(guesses) == 1
    assert mind.get(hers.id).confidence == 0.3


def test_the_owner_of_a_space_tells_a_private_thing_again(mind: Mind) -> None:
    hers = mind.remember("ana has diabetes", scope=ANA, confidence=0.5)
    assert mind.remember("ana has diabetes", scope=OWNER, audience=ANA, confidence=0.5).id == hers.id
    assert mind.get(hers.id).confidence == 0.75


@pytest.mark.parametrize("text", ["my knee hurts", "my knee is fine"])
def test_a_message_id_used_in_private_neither_shows_nor_edits_that_message(mind: Mind, text: str) -> None:
    hers = mind.observe("my knee hurts", scope=ANA, message_id="1")
    forged = mind.observe(text, scope=G, audience=ANA, message_id="1")
    assert forged.id != hers.id
    assert forged.speaker == "user"
    assert mind.history(hers.id) == (hers,)


def forgets(mind: Mind, turn: Memory) -> None:
    mind.forget(message_id="1", scope=ANA)


def edits(mind: Mind, turn: Memory) -> None:
    mind.observe("something else altogether", scope=ANA, message_id="1")


def erases(mind: Mind, turn: Memory) -> None:
    mind.erase(turn.id, scope=ANA)


@pytest.mark.parametrize("act", [forgets, edits, erases])
def test_a_fact_rests_on_its_own_message_and_not_on_another_of_that_id(mind: Mind, act: Callable[[Mind, Memory], None]) -> None:
    hers = mind.observe("ana goes to Lima", scope=ANA, message_id="1")
    mind.observe("bob goes to Quito", scope=BOB, message_id="1")
    fact = mind.remember("bob goes to Quito soon", scope=BOB, source=Source(message_ids=("1",)))
    act(mind, hers)
    assert mind.history(fact.id) == (fact,)
    assert mind.get(fact.id) == fact


def test_what_went_with_a_public_line_comes_back_with_it_even_unseen(mind: Mind) -> None:
    line = mind.observe("the office moves to Lima", scope=G)
    hers = mind.remember("ana must move too", scope=ANA, source=Source(memory_ids=(line.id,)))
    commit = mind.forget(line.id, scope=BOB)
    assert hers.id not in commit.retired
    assert kept(mind) == []
    mind.undo(commit.id, scope=BOB)
    assert sorted(kept(mind)) == ["ana must move too", "the office moves to Lima"]
    assert mind.get(hers.id, scope=ANA).text == hers.text


# people


def test_an_erased_person_who_opted_out_stays_out(mind: Mind) -> None:
    mind.observe("I was here", scope=ANA)
    mind.people.optout("ana", scope=G)
    mind.erase(person="ana", scope=OWNER)
    refused: tuple[Callable[[], Memory], ...] = (
        lambda: mind.observe("hello again", scope=ANA),
        lambda: mind.observe("hello again", speaker="ana", scope=G),
        lambda: mind.remember("ana is back", scope=ANA),
        lambda: mind.remember("she is back", subject="ana", scope=G),
    )
    for tell in refused:
        with pytest.raises(Refused):
            tell()
    assert kept(mind) == []


def test_an_erase_of_a_person_takes_a_message_that_another_edited_since(mind: Mind) -> None:
    said = mind.observe("my address is 12 Elm", scope=Scope("g", channel="hall", person="ana"), message_id="1")
    edited = mind.observe("(removed)", scope=Scope("g", channel="hall", person="bob"), message_id="1")
    assert edited.id == said.id
    assert mind.erase(person="ana", scope=OWNER).erased == (said.id,)
    with pytest.raises(NotFound):
        mind.history(said.id)


@pytest.mark.parametrize("is_shared", [False, True])
def test_turns_under_a_name_go_with_the_person_only_if_it_is_theirs_alone(mind: Mind, is_shared: bool) -> None:
    mind.people.alias("ana", "Ana", scope=G)
    if is_shared:
        mind.people.alias("ana2", "Ana", scope=G)
    mind.observe("I was here", speaker="Ana", scope=G)
    mind.erase(person="ana", scope=OWNER)
    assert kept(mind) == (["I was here"] if is_shared else [])


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_proof_names_nothing_that_its_asker_cannot_see(mind: Mind, dry_run: bool) -> None:
    open_line = mind.observe("said in the hall", scope=Scope("g", channel="hall", person="ana"))
    mind.observe("said in private", scope=ANA)
    assert mind.erase(person="ana", scope=G, dry_run=dry_run).erased == (open_line.id,)
    assert kept(mind) == (["said in the hall", "said in private"] if dry_run else [])


# telling again


def test_a_telling_that_was_taken_back_keeps_no_fact_from_going_with_its_source(mind: Mind) -> None:
    turn = mind.observe("I live in Lima", scope=G)
    fact = mind.remember("ana lives in Lima", scope=G, source=Source(memory_ids=(turn.id,)))
    mind.remember("ana lives in Lima", scope=G)
    mind.undo(mind.log(G)[0].id)
    assert set(mind.erase(turn.id).erased) == {turn.id, fact.id}
    assert kept(mind) == []


@pytest.mark.parametrize("trust", ["web", "tool", "recalled"])
def test_a_thing_from_outside_waits_for_a_person_and_is_the_users_once_the_user_says_it(mind: Mind, trust: str) -> None:
    """R7"""
    with pytest.raises(Refused, match="quarantine") as refused:
        mind.remember("the shop opens at nine", trust=trust)
    assert (kept(mind, Scope.owner()), found(mind, "shop", Scope.owner())) == ([], set())
    [item] = mind.quarantine()
    assert refused.value.item == item
    assert (item.memory.text, item.memory.trust) == ("the shop opens at nine", trust)
    assert mind.remember("the shop opens at nine").trust == "user"


def test_a_thing_from_the_web_that_a_person_allows_is_told_by_hand(mind: Mind) -> None:
    """R7"""
    with pytest.raises(Refused):
        mind.remember("the shop opens at nine", trust="web")
    allowed = mind.allow(mind.quarantine()[0].id)
    assert (allowed.trust, allowed.extra) == ("hand", {"allowed_by": "owner"})
    assert (found(mind, "shop"), mind.quarantine()) == ({"the shop opens at nine"}, ())


@pytest.mark.parametrize("trust", ["agent", "other", "web"])
def test_others_repeating_what_a_user_said_makes_nobody_surer_and_ends_nothing(mind: Mind, trust: str) -> None:
    """R7"""
    fact = mind.remember("the shop opens at nine", confidence=0.1)
    for _ in range(20):
        mind.observe("the shop opens at nine", trust=trust)
        with suppress(Refused):
            mind.remember("the shop opens at nine", trust=trust, title="Closed", valid_until=START - timedelta(days=1))
    assert mind.get(fact.id) == fact
    assert len(mind.quarantine()) == (trust == "web")


def test_a_model_repeating_itself_makes_nobody_surer_until_a_person_says_so(mind: Mind) -> None:
    """R7"""
    for _ in range(5):
        fact = mind.remember("the shop opens at nine", trust="agent", confidence=0.9)
    assert (fact.confidence, fact.extra) == (0.5, {"unconfirmed": True})
    said = mind.observe("the shop opens at nine, I saw it")
    grounded = mind.remember("the shop opens at nine", trust="agent", source=Source(memory_ids=(said.id,)))
    assert (grounded.id, grounded.confidence, grounded.extra) == (fact.id, 0.7, {})


def test_an_empty_trust_is_refused(mind: Mind) -> None:
    with pytest.raises(BadInput):
        mind.remember("the shop opens at nine", trust="")
    with pytest.raises(BadInput):
        mind.observe("the shop opens at nine", trust="")


def test_a_corrected_turn_stays_corrected_until_its_source_is_edited(mind: Mind) -> None:
    turn = mind.observe("teh", message_id="1")
    mind.update(turn.id, text="the")
    again = mind.observe("teh", message_id="1")
    assert (again.id, again.text, again.version) == (turn.id, "the", 2)
    assert mind.observe("tehh", message_id="1").id == turn.id
    assert (mind.get(turn.id).text, mind.get(turn.id).version) == ("tehh", 3)


def test_a_turn_whose_scope_is_none_lands_where_the_others_do(mind: Mind) -> None:
    assert mind.observe_many([{"text": "hello there", "scope": None}], scope=G).added == 1
    assert kept(mind) == ["hello there"]


# looking


def test_a_cue_of_seven_hundred_words_finds_all_that_have_one(mind: Mind) -> None:
    words = [f"zq{a}x{b}k" for a, b in product("abcdefghijklmnopqrstuvwxyz", repeat=2)] + [
        f"qz{a}w" for a in "abcdefghijklmnopqrstuvwx"
    ]
    assert len(words) == 700
    mind.observe_many([{"text": word} for word in words])
    assert {hit.memory.text for hit in mind.recall(" ".join(words), limit=2_000).hits} == set(words)


def test_the_first_ten_hits_are_the_same_however_many_are_asked_for(mind: Mind) -> None:
    chance = random.Random(7)
    things = ("lamp", "river", "ticket", "garden", "doctor", "violin", "bread", "winter", "train", "letter", "paint", "window")
    mind.observe_many([{"text": " ".join(chance.choices(things, k=chance.randint(3, 12)))} for _ in range(300)])
    for cue in ("lamp", "river garden", "doctor violin bread", "the winter train", " ".join(things)):
        ten, many = (mind.recall(cue, limit=limit).hits for limit in (10, 1_000))
        assert [(hit.memory.id, hit.score) for hit in many[:10]] == [(hit.memory.id, hit.score) for hit in ten]
        assert len(many) > 10


def test_more_tags_than_anyone_needs_are_refused(mind: Mind) -> None:
    tags = tuple(f"tag{number}" for number in range(1_200))
    with pytest.raises(BadInput):
        mind.remember("too many tags", tags=tags)
    with pytest.raises(BadInput):
        mind.recall("tags", tags=tags)
    with pytest.raises(BadInput):
        mind.recall("", tags=tags)


def test_a_version_and_a_moment_cannot_both_be_asked_for(mind: Mind) -> None:
    fact = mind.remember("ana lives in Lima")
    with pytest.raises(BadInput):
        mind.get(fact.id, version=1, as_of=START)


# the short-term window


def test_a_window_started_anew_while_the_clock_stands_still_shows_only_what_follows(mind: Mind) -> None:
    here = Scope("g", session="s")
    for text in ("one", "two", "three"):  # a standing clock is pushed on by each, so that they end up ahead of it
        mind.observe(text, scope=here)
    mind.recent(here).clear()
    assert mind.recent(here).get() == ()
    mind.observe("after", scope=here)
    assert [turn.text for turn in mind.recent(here).get()] == ["after"]


def test_the_window_of_a_room_shows_no_other_room(mind: Mind) -> None:
    hall, attic = Scope("g", channel="hall"), Scope("g", channel="attic")
    mind.observe("in the hall", scope=hall)
    mind.observe("in the attic", scope=attic)
    assert [turn.text for turn in mind.recent(hall).get()] == ["in the hall"]
    assert [turn.text for turn in mind.recent(attic).get()] == ["in the attic"]


def test_clearing_a_window_that_never_was_creates_nothing(mind: Mind) -> None:
    mind.recent(Scope("nowhere", session="s")).clear()
    assert mind.status().spaces == ()
    if mind.home is not None:
        assert list((mind.home / "spaces").iterdir()) == []


# moving


def whole(mind: Mind) -> tuple[list[Memory], tuple[Commit, ...]]:
    return list(mind.scan(OWNER, retired=True)), mind.log(OWNER, limit=EVERYTHING)


@pytest.mark.parametrize("into", ["an empty mind", "the same space", "a space that erased some"])
def test_a_dry_load_tells_what_a_load_would_do_and_does_nothing(
    mind: Mind, new_mind: NewMind, kind: str, into: str, tmp_path: Path
) -> None:
    gone = mind.remember("ana once lived in Lima", scope=G)
    mind.remember("bob lives in Quito", scope=G)
    mind.forget(mind.remember("carla lives in Cusco", scope=G).id)
    mind.working(Scope("g", session="s")).replace(task="pack")
    file = mind.export(tmp_path / "all.jsonl")
    target = new_mind(kind) if into == "an empty mind" else mind
    if into == "a space that erased some":
        mind.erase(gone.id)
    before = whole(target), target.status()
    told = target.load(file, dry_run=True)
    assert (whole(target), target.status()) == before
    assert target.load(file) == told
    expected = {"an empty mind": (2, 0, 0), "the same space": (0, 2, 0), "a space that erased some": (0, 1, 1)}
    assert (told.added, told.duplicates, told.failed) == expected[into]


def spoilt(file: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Change every line of an export."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        change(line)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def with_a_last_seq(line: dict[str, Any]) -> None:
    if "commit" in line:
        line["commit"][1] = 2**63 - 1
    elif "memory" in line:
        line["seqs"][0] = 2**63 - 1
    elif "sighting" in line:
        line["sighting"][2] = 2**63 - 1


def with_a_last_version(line: dict[str, Any]) -> None:
    if "memory" in line:
        line["memory"]["version"] = 2**63 - 1


@pytest.mark.parametrize("change", [with_a_last_seq, with_a_last_version])
def test_an_export_that_would_leave_a_space_stuck_is_refused(
    mind: Mind, new_mind: NewMind, kind: str, change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    mind.remember("ana lives in Lima", scope=G)
    file = spoilt(mind.export(tmp_path / "all.jsonl"), change)
    target = new_mind(kind)
    with pytest.raises(BadInput):
        target.load(file)
    assert target.status().spaces == ()


# small print


def test_a_scope_that_sees_all_does_not_read_like_one_that_does_not() -> None:
    assert repr(Scope.owner("g")) != repr(Scope("g"))
    assert str(Scope.owner("g")) != str(Scope("g"))


def test_what_is_no_verb_is_the_thing_itself_in_an_asynchronous_mind(mind: Mind) -> None:
    assert reverie.aio(mind).home is mind.home
    assert asyncio.run(reverie.aio(mind).observe("hello there")).text == "hello there"
    assert asyncio.run(reverie.aio(mind).people.alias("ana", "Ana")).name == "Ana"


def test_working_memory_takes_lines_from_a_generator(mind: Mind) -> None:
    new = mind.working().replace(context=(line for line in ("one", "two")), pending=(line for line in ("three",)))
    assert (new.context, new.pending) == (("one", "two"), ("three",))
    assert mind.working().get() == new


def test_a_space_called_disk_has_a_line_of_its_own_in_the_health_report(mind: Mind) -> None:
    mind.observe("hello there", scope=Scope("disk"))
    checks = mind.health().checks
    assert "ok" in [checks[name] for name in checks if "disk" in name]
    assert len(checks) == (2 if mind.home is None else 3)


def test_calls_by_position_mean_what_the_written_order_says(mind: Mind, clock: Clock) -> None:
    here = Scope("g", session="s")
    assert mind.observe_many([{"text": "ana moved to Lima", "message_id": "1"}], here).added == 1
    fact = mind.remember("ana lives in Lima", "fact", "ana", scope=here)
    assert {hit.memory.text for hit in mind.recall("Lima", here).hits} == {"ana moved to Lima", "ana lives in Lima"}
    assert list(mind.scan(here, ("fact",))) == [fact]
    mind.retract("1", here)
    assert [memory.text for memory in mind.scan(here)] == ["ana lives in Lima"]
    proof: Proof = mind.erase(fact.id)
    assert proof.erased == (fact.id,)


def test_what_somebody_placed_in_an_audience_of_others_is_not_joined_with_their_own_words(mind: Mind) -> None:
    """R6: a guess told before Ana tells it herself must not become a window on what she says later."""
    public, ana = Scope("s"), Scope("s", person="ana")
    guess = mind.remember("ana has diabetes", scope=public, audience=ana)
    hers = mind.remember("ana has diabetes", scope=ana, title="what the doctor said")
    assert hers.id != guess.id
    again = mind.remember("ana has diabetes", scope=public, audience=ana)
    assert (again.id, again.title) == (guess.id, None)
    assert mind.remember("ana has diabetes", scope=ana).id == hers.id
    forged = mind.observe("a forged line", scope=public, audience=ana, message_id="7")
    real = mind.observe("my own line", scope=ana, message_id="7")
    edited = mind.observe("my own line, edited", scope=ana, message_id="7")
    assert (edited.id, edited.version) == (real.id, 2)
    assert mind.get(forged.id).text == "a forged line"


def test_a_question_in_words_that_only_the_erased_had_is_not_kept_for_those_who_could_see_it(mind: Mind) -> None:
    """R8, R6: nor does anybody else learn from it that there was anything to erase."""
    ana, luis = Scope(person="ana"), Scope(person="luis")
    mind.observe("the clinic called about the biopsy on the hill", scope=ana)
    mind.observe("the cat sat on the wall", scope=ana)
    mind.observe("good morning to you", scope=luis)
    before = mind.recall("any news of the biopsy?", scope=ana)
    assert "biopsy" in str(mind.why(before.id, scope=ana))
    mind.erase(query="biopsy", scope=ana)
    for scope in (ana, Scope.owner()):
        asked = mind.recall("any news of the biopsy?", scope=scope)
        with pytest.raises(NotFound, match="no recall"):
            mind.why(asked.id, scope=scope)
    with pytest.raises(NotFound, match="no recall"):
        mind.why(before.id)
    outside = mind.recall("any news of the biopsy?", scope=luis)
    assert "biopsy" in str(mind.why(outside.id, scope=luis))
    assert mind.why(mind.recall("where is the cat on the hill?", scope=luis).id, scope=luis)
    assert mind.why(mind.recall("where is the cat?", scope=ana).id, scope=ana).hits
    mind.observe("my own biopsy went well", scope=ana)
    assert mind.why(mind.recall("any news of the biopsy?", scope=ana).id, scope=ana).hits


def test_what_an_erased_person_proposed_goes_with_them(mind: Mind) -> None:
    """R8"""
    here = Scope(channel="hall", person="ana")
    said = mind.observe("the boat is red", scope=Scope(channel="hall", person="luis"))
    mind.propose("forget", said.id, reason="a quagga told me", scope=here)
    assert mind.proposals(Scope.owner())[0].by == "ana"
    mind.erase(person="ana", scope=Scope.owner())
    assert mind.proposals(Scope.owner()) == ()
    assert mind.get(said.id).text == "the boat is red"


def test_a_question_goes_with_any_memory_it_considered_even_if_it_was_not_returned(mind: Mind) -> None:
    """R8"""
    mind.observe("the red boat in the harbour")
    second = mind.observe("a boat")
    asked = mind.recall("red boat", limit=1)
    assert [hit.memory.text for hit in asked.hits] == ["the red boat in the harbour"]
    assert mind.why(asked.id).question == "red boat"
    mind.erase(second.id)
    with pytest.raises(NotFound, match="no recall"):
        mind.why(asked.id)


def test_what_somebody_asks_who_does_not_want_to_be_remembered_is_not_kept(mind: Mind) -> None:
    """R15"""
    ana = Scope(person="ana")
    mind.observe("the boat is red", scope=ana)
    mind.people.optout("ana")
    asked = mind.recall("boat", scope=ana)
    assert asked.hits
    assert mind.last_recall(ana) is None
    assert mind.context("boat", scope=ana).parts


def test_a_yes_does_not_reach_further_than_what_was_shown(mind: Mind) -> None:
    """R7"""
    said = mind.observe("ok then")
    shown = mind.propose("forget", said.id)
    assert shown.change.also == ()
    learned = mind.remember("they agreed", source=Source(memory_ids=(said.id,)))
    with pytest.raises(Conflict, match="changed since"):
        mind.approve(shown.id, shown.hash)
    again = mind.proposals(Scope.owner())[0]
    assert again.change.also == (learned.id,)
    assert set(mind.approve(again.id, again.hash).retired) == {said.id, learned.id}
    assert mind.proposals(Scope.owner()) == ()


def test_of_what_is_said_alike_the_newest_comes_first_whatever_the_limit(mind: Mind, clock: Clock) -> None:
    """K8"""
    days = []
    for _ in range(150):
        days.append(mind.observe("standup: the build is green").id)
        clock.pass_(days=1)
    for limit in (1, 5, 150):
        assert [hit.memory.id for hit in mind.recall("is the build green?", limit=limit).hits] == days[::-1][:limit]


def test_an_explanation_shows_the_wording_that_was_found(mind: Mind) -> None:
    """R5"""
    fact = mind.remember("Ana lives in Oaxaca")
    asked = mind.recall("where does Ana live?")
    mind.update(fact.id, text="Ana lives in Puebla")
    (hit,) = mind.why(asked.id).hits
    assert hit.memory is not None
    assert (hit.version, hit.memory.text) == (1, "Ana lives in Oaxaca")


def test_a_question_longer_than_a_book_is_answered_by_how_it_begins(mind: Mind) -> None:
    """R12"""
    mind.observe("the boat is red")
    long = "boat " + " ".join(f"w{number}" for number in range(60_000))
    assert [hit.memory.text for hit in mind.recall(long).hits] == ["the boat is red"]
