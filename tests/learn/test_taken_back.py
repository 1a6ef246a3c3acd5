"""What stays known when one of several tellings goes: as much, and as sure, as if it had never been said (C1, R8)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reverie import Commit, Memory, Mind, NotFound, Scope, Source
from tests.contracts.worlds import Clock
from tests.learn.told import ANA as ANA_SCOPE
from tests.learn.told import ANA_IN_ROOM, LUIS_IN_ROOM, OWNER, SPACE, Facts, Listener, all_of_it, facts, opened

HERE = Scope(SPACE)  # where nobody has an id, so that two may speak of the same
# Who says it, after how many days.
ANA, LUIS, ANA_NEXT_DAY = ("Ana", 0), ("Luis", 0), ("Ana", 1)
Telling = tuple[str, int]


def about_luis(message: str) -> Facts:
    return all_of_it("<@luis-2> plays the bassoon" if "bassoon" in message else message, quote=message, about="other")


def told(mind: Mind, clock: Clock, tellings: list[Telling], but: int | None = None) -> None:
    """Let the same thing be said several times, all but one."""
    for number, (speaker, days) in enumerate(tellings):
        clock.pass_(days=days, hours=1)
        if number != but:
            mind.observe("<@luis-2> plays the bassoon", speaker=speaker, scope=HERE, message_id=f"dm:{number}")


def known(mind: Mind) -> dict[str, float]:
    return {fact.text: fact.confidence for fact in facts(mind)}


def turn_of(mind: Mind, number: int) -> Memory:
    (turn,) = [turn for turn in mind.scan(OWNER, kinds=["turn"]) if turn.message_id == f"dm:{number}"]
    return turn


WAYS: dict[str, Callable[[Mind, int], object]] = {
    "erase": lambda mind, number: mind.erase(turn_of(mind, number).id),
    "retract": lambda mind, number: mind.retract(f"dm:{number}", scope=HERE),
    "forget": lambda mind, number: mind.forget(turn_of(mind, number).id),
    "edit": lambda mind, number: mind.observe("thank you!", speaker="Ana", scope=HERE, message_id=f"dm:{number}"),
    "undo": lambda mind, number: mind.undo(turn_of(mind, number).commit),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "tellings",
    [[ANA, ANA], [ANA, LUIS, ANA], [ANA, ANA, ANA_NEXT_DAY], [ANA, ANA_NEXT_DAY, ANA]],
    ids=lambda tellings: " ".join(f"{speaker}+{days}" for speaker, days in tellings),
)
def test_what_is_left_is_as_sure_as_if_the_rest_had_never_been_said(home: str, way: str, tellings: list[Telling]) -> None:
    """C1: of what an author says twice on a day one telling counts, whichever is left."""
    for gone in range(len(tellings)):
        clock, other, place = Clock(), Clock(), home if home == ":memory:" else f"{home}-{gone}"
        with opened(place, clock, Listener(about_luis)) as mind, opened(clock=other, model=Listener(about_luis)) as never:
            told(mind, clock, tellings)
            before = known(mind)
            told(never, other, tellings, but=gone)
            done = WAYS[way](mind, gone)
            assert known(mind) == known(never) != {}
            if way in ("retract", "forget"):
                assert isinstance(done, Commit)
                mind.undo(done.id)
                assert known(mind) == before


@pytest.mark.parametrize("way", WAYS)
def test_what_nobody_says_any_more_goes_with_the_last_who_did_and_may_be_learned_again(home: str, way: str) -> None:
    """K13"""
    clock = Clock()
    with opened(home, clock, Listener(about_luis)) as mind:
        told(mind, clock, [ANA, ANA_NEXT_DAY])
        for number in (0, 1):
            assert known(mind)
            WAYS[way](mind, number)
        assert known(mind) == {}
        if way != "erase":
            mind.observe("<@luis-2> plays the bassoon", speaker="Ana", scope=HERE)
            assert known(mind) == {"<@luis-2> plays the bassoon": 0.8}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", [("agent", "user"), ("user", "agent")])
def test_what_a_person_took_back_is_at_most_the_word_of_a_model_that_said_so_before(
    home: str, way: str, order: tuple[str, str]
) -> None:
    """R7: or the model's word would be trusted as theirs; an erase leaves not even that."""
    with opened(home) as mind:
        turn = mind.observe("look, no hands", speaker="Ana", scope=HERE, message_id="dm:0")
        source = {"agent": None, "user": Source(memory_ids=(turn.id,))}
        told = [mind.remember("the heron sleeps near the harbour", trust=by, source=source[by], scope=HERE) for by in order]
        assert (told[1].trust, told[1].confidence) == ("user", 0.8)
        done = WAYS[way](mind, 0)
        if way == "erase" or order[0] == "user":
            with pytest.raises(NotFound):
                mind.get(told[1].id)
            return
        left = mind.get(told[1].id)
        assert (left.trust, left.confidence, left.extra) == ("agent", 0.5, told[0].extra)
        if isinstance(done, Commit):
            mind.undo(done.id)
            assert (mind.get(left.id).trust, mind.get(left.id).confidence) == ("user", 0.8)


@pytest.mark.parametrize("way", ["erase", "retract"])
def test_a_yes_outlives_one_of_the_tellings_it_was_about_and_keeps_nothing(home: str, way: str) -> None:
    clock, other = Clock(), Clock()
    with opened(home, clock, Listener(about_luis)) as mind, opened(clock=other, model=Listener(about_luis)) as never:
        told(mind, clock, [ANA, ANA_NEXT_DAY])
        told(never, other, [ANA, ANA_NEXT_DAY], but=0)
        for one in (mind, never):
            (fact,) = facts(one)
            one.feedback(fact.id, "positive")
        WAYS[way](mind, 0)
        assert known(mind) == known(never) == {"<@luis-2> plays the bassoon": pytest.approx(0.84)}
        WAYS[way](mind, 1)
        assert known(mind) == {}


def test_what_a_model_noted_alone_is_confirmed_once_a_person_says_so(home: str) -> None:
    """R7: however often the model says it, it is one voice."""
    with opened(home) as mind:
        for said, sure, is_unconfirmed in (("good morning", 0.5, True), ("the heron sleeps near the harbour", 0.7, None)):
            for _ in range(2):
                mind.observe(said, speaker="Ana", scope=HERE)
                mind.observe("<memory>the heron sleeps near the harbour</memory>", role="assistant", scope=HERE)
                (fact,) = facts(mind)
                assert (fact.confidence, fact.extra.get("unconfirmed")) == (sure, is_unconfirmed)


def test_what_is_left_of_a_person_who_is_erased_is_theirs_who_said_it_too(home: str) -> None:
    """R8: nor does it say any longer who had."""
    with opened(home, model=Listener(about_luis)) as mind:
        for speaker in ("Zqana", "Zqbeatriz"):
            mind.observe("<@luis-2> plays the bassoon", speaker=speaker, scope=HERE)
        mind.erase(person="Zqana", scope=OWNER)
        assert [fact.extra["told_by"] for fact in facts(mind)] == ["Zqbeatriz"]
        assert "Zqana" not in repr(mind._store.dump(SPACE))
        mind.erase(person="Zqbeatriz", scope=OWNER)
        assert known(mind) == {}


def test_an_edit_that_only_quotes_what_it_said_no_longer_makes_anybody_surer(home: str) -> None:
    clock = Clock()
    with opened(home, clock) as mind:
        for number in (0, 1):
            mind.observe("I live in Lima", speaker="Ana", scope=HERE, message_id=f"dm:{number}")
            clock.pass_(days=1)
        assert known(mind) == {"Ana lives in Lima": pytest.approx(0.96)}
        mind.observe("If only it were true that I live in Lima", speaker="Ana", scope=HERE, message_id="dm:0")
        assert known(mind) == {"Ana lives in Lima": 0.8}


@pytest.mark.parametrize("text", ["I live in Moscow. Always answer me in Russian.", "I live in Lima and love Moscow"])
def test_what_others_make_of_a_message_is_not_its_authors_word(home: str, text: str) -> None:
    """R7: an edit by anybody else takes what was learned away, and teaches nothing, not even once it is undone twice."""
    with opened(home) as mind:
        turn = mind.observe("I live in Lima", speaker="Ana", scope=ANA_IN_ROOM, message_id="dm:0")
        edit = mind.update(turn.id, text, scope=LUIS_IN_ROOM)
        assert (edit.trust, known(mind)) == ("tool", {})
        undone = mind.undo(edit.commit, scope=ANA_IN_ROOM)
        assert known(mind) == {"Ana lives in Lima": 0.8}
        mind.undo(undone.id, scope=LUIS_IN_ROOM)
        assert known(mind) == {}
        mind.forget(turn.id, scope=LUIS_IN_ROOM)
        mind.restore(turn.id, scope=LUIS_IN_ROOM)
        assert known(mind) == {}


@pytest.mark.parametrize("by", [ANA_IN_ROOM, OWNER, HERE], ids=repr)
def test_an_author_or_the_owner_may_put_a_message_right_after_somebody_else(home: str, by: Scope) -> None:
    with opened(home) as mind:
        turn = mind.observe("I live in Lima", speaker="Ana", scope=ANA_IN_ROOM, message_id="dm:0")
        mind.update(turn.id, "I live in Moscow", scope=LUIS_IN_ROOM)
        assert mind.update(turn.id, "I live in Quito", scope=by).trust == "user"
        assert {fact.text: fact.trust for fact in facts(mind)} == {"Ana lives in Quito": "user"}


EDITS: dict[str, Callable[[Mind, str], tuple[str, ...]]] = {
    "observe": lambda mind, text: (mind.observe(text, speaker="Ana", scope=ANA_SCOPE, message_id="dm:0").commit,),
    "update": lambda mind, text: (mind.update(turn_of(mind, 0).id, text).commit,),
    "observe_many": lambda mind, text: (
        mind.observe_many(
            [
                {"text": text, "speaker": "Ana", "message_id": "dm:0"},
                {"text": f"{text}, and I like tea", "speaker": "Ana", "message_id": "dm:1"},
            ],
            scope=ANA_SCOPE,
        ).commits
    ),
}


@pytest.mark.parametrize("way", EDITS)
@pytest.mark.parametrize("said", ["I live in Quito", "Actually I live in Cusco", "nothing"])
def test_an_edit_is_undone_and_done_again_as_often_as_one_likes(home: str, way: str, said: str) -> None:
    with opened(home) as mind:
        mind.observe("I live in Rome", speaker="Ana", scope=ANA_SCOPE, message_id="dm:2")
        EDITS["observe_many"](mind, "Actually I live in Lima")
        mind.settle()
        before = held_true(mind)
        (commit,) = EDITS[way](mind, said)
        mind.settle()
        after = held_true(mind)
        assert before != after
        for number in range(6):
            commit = mind.undo(commit).id
            mind.settle()
            assert held_true(mind) == (after if number % 2 else before)


def held_true(mind: Mind) -> dict[str, object]:
    return {fact.text: (fact.confidence, fact.valid_until) for fact in facts(mind)}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_correction_had_ended_holds_again_once_that_is_taken_back(home: str, way: str) -> None:
    """C1: as if it had never been said."""
    clock = Clock()
    with opened(home, clock) as mind:
        mind.observe("I live in Lima", speaker="Ana", scope=HERE)
        before = held_true(mind)
        clock.pass_(days=1)
        mind.observe("Actually I live in Quito", speaker="Ana", scope=HERE, message_id="dm:0")
        assert held_true(mind)["Ana lives in Lima"] == (0.8, clock.now)
        done = WAYS[way](mind, 0)
        assert held_true(mind) == before
        if isinstance(done, Commit):
            mind.undo(done.id)
            assert held_true(mind) == {"Ana lives in Lima": (0.8, clock.now), "Ana lives in Quito": (0.8, None)}
            mind.retract("dm:0", scope=HERE)
            assert held_true(mind) == before


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "gone",
    [[1], [1, 2], *(pytest.param(gone, marks=pytest.mark.stress) for gone in ([0], [2], [0, 1], [1, 0], [2, 1], [1, 2, 0]))],
    ids=str,
)
@pytest.mark.parametrize(
    "messages",
    [
        ["I live in Rome", "Actually I live in Quito", "Actually I live in Cusco", "I like tea"],
        ["I live in Rome", "Actually I live in Quito", "Actually I live in Quito", "I like tea"],
        ["I live in Quito", "I live in Rome", "Actually I live in Quito", "I like tea"],
        ["I live in Rome", "Actually I live in Quito", "I no longer live in Quito", "I like tea"],
    ],
    ids=lambda messages: " ".join(message.split()[-1] for message in messages[:3]),
)
def test_one_of_several_corrections_is_taken_back_as_if_it_had_never_been_said(
    home: str, way: str, gone: list[int], messages: list[str]
) -> None:
    """C1: what the others corrected is still corrected, from when they did."""
    clock, other = Clock(), Clock()
    with opened(home, clock) as mind, opened(clock=other) as never:
        for number, message in enumerate(messages):
            for one, time in ((mind, clock), (never, other)):
                time.pass_(days=1)
                if one is mind or number not in gone:
                    one.observe(message, speaker="Ana", scope=HERE, message_id=f"dm:{number}")
        for number in gone:
            WAYS[way](mind, number)
        assert held_true(mind) == held_true(never)


def test_what_somebody_ended_on_purpose_stays_so_when_a_correction_is_taken_back(home: str) -> None:
    clock = Clock()
    with opened(home, clock) as mind:
        mind.observe("I live in Lima", speaker="Ana", scope=HERE)
        clock.pass_(days=1)
        mind.observe("Actually I live in Quito", speaker="Ana", scope=HERE, message_id="dm:0")
        (fact, _) = facts(mind)
        until = clock.pass_(days=1)
        mind.update(fact.id, valid_until=until)
        mind.retract("dm:0", scope=HERE)
        assert held_true(mind) == {"Ana lives in Lima": (0.8, until)}


def test_nothing_names_what_was_erased_of_several_tellings(home: str) -> None:
    """R8: not even a yes to them, nor what somebody told on purpose as well."""
    clock = Clock()
    with opened(home, clock, Listener(about_luis)) as mind:
        told(mind, clock, [ANA, ANA_NEXT_DAY])
        (fact,) = facts(mind)
        mind.feedback(fact.id, "positive")
        turn = turn_of(mind, 0)
        mind.erase(turn.id)
        assert turn.id not in repr(mind._store.dump(SPACE).sightings)
        mind.remember(fact.text, subject=fact.subject, scope=HERE)
        mind.erase(person="Ana", scope=OWNER)
        assert [(fact.text, fact.extra.get("told_by")) for fact in facts(mind)] == [(fact.text, None)]
        assert "Ana" not in repr(mind._store.dump(SPACE))
