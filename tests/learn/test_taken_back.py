"""What stays known when one of several tellings goes: as much, and as sure, as if it had never been said (C1, R8)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reverie import Commit, Memory, Mind, NotFound, Scope, Source
from tests.contracts.worlds import Clock
from tests.learn.told import OWNER, SPACE, Facts, Listener, all_of_it, facts, opened

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


@pytest.mark.parametrize("way", ["erase", "forget"])
@pytest.mark.parametrize("order", [("agent", "user"), ("user", "agent")])
def test_what_a_person_took_back_is_not_kept_by_a_model_that_said_so_too(home: str, way: str, order: tuple[str, str]) -> None:
    """R7: or the model's word would be trusted as theirs."""
    with opened(home) as mind:
        turn = mind.observe("look, no hands", speaker="Ana", scope=HERE, message_id="dm:0")
        source = {"agent": None, "user": Source(memory_ids=(turn.id,))}
        for trust in order:
            fact = mind.remember("the heron sleeps near the harbour", trust=trust, source=source[trust], scope=HERE)
        assert (fact.trust, fact.confidence) == ("user", 0.8)
        WAYS[way](mind, 0)
        with pytest.raises(NotFound):
            mind.get(fact.id)


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
