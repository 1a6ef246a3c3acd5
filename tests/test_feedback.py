"""Feedback: what people say of a memory is noted once a day, and moves what is theirs a little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import reverie
from reverie import BadInput, Memory, Mind, NotFound, Refused, Scope, Source
from tests.contracts.worlds import Clock

SPACE = Scope("harbour")
ANA = Scope("harbour", channel="pier", person="ana")
BEN = Scope("harbour", channel="pier", person="ben")


def noted(mind: Mind, folder: Path, scope: Scope | None = None) -> list[dict[str, Any]]:
    """Return the feedback that an export carries, without the memories' ids."""
    lines = mind.export(folder / "all.jsonl", scope=scope).read_text("utf-8").splitlines()
    states = [json.loads(line) for line in lines if line.startswith('{"state"')]
    found = [state["value"] for state in states if state["state"][0] == "feedback"]
    return [{name: value for name, value in one.items() if name != "memory"} for one in found]


def test_what_helped_gets_a_little_surer(mind: Mind) -> None:
    fact = mind.remember("The harbour opens at seven", confidence=0.5, scope=SPACE)
    now = mind.feedback(fact.id, "positive")
    assert (now.id, now.version) == (fact.id, 1)
    assert now.confidence == pytest.approx(0.6)
    assert mind.get(fact.id) == now


def test_what_did_not_help_gets_less_sure_in_a_new_version(mind: Mind) -> None:
    pattern = mind.patterns(SPACE).add("fog", "Sound the horn", confidence=1.0)
    now = mind.feedback(pattern.id, "negative")
    assert (now.version, now.text) == (2, "fog → Sound the horn")
    assert now.confidence == pytest.approx(0.8)
    assert mind.patterns(SPACE).match("fog")[0].score == pytest.approx(0.8)


@pytest.mark.parametrize("trust", ["user", "agent"])
def test_however_often_it_was_told_one_no_takes_a_fifth_of_how_sure_it_was(mind: Mind, trust: str) -> None:
    """A model's word told many times is as sure as it may get; a no must show all the same."""
    for number in range(4):
        source = Source(place=f"notes.md:{number}")
        fact = mind.remember("The pier is closed", confidence=0.7, trust=trust, source=source, scope=SPACE)
    assert mind.feedback(fact.id, "negative").confidence == pytest.approx(0.8 * fact.confidence)


@pytest.mark.parametrize("sign", ["positive", "negative"])
def test_feedback_counts_once_per_author_and_day(mind: Mind, clock: Clock, tmp_path: Path, sign: str) -> None:
    fact = mind.remember("The harbour opens at seven", confidence=0.5, scope=ANA)
    first = mind.feedback(fact.id, sign, scope=ANA)
    clock.pass_(hours=2)
    assert mind.feedback(fact.id, sign, scope=ANA) == first
    assert mind.feedback(fact.id, sign, scope=Scope("harbour", session="elsewhere", person="ana")) == first
    clock.pass_(days=1)
    second = mind.feedback(fact.id, sign, scope=ANA)
    assert abs(second.confidence - 0.5) > abs(first.confidence - 0.5)
    assert [(one[sign], one["by"], one["last"]) for one in noted(mind, tmp_path)] == [(2, "ana", sign)]


def test_who_changes_their_mind_on_the_same_day_is_heard(mind: Mind, tmp_path: Path) -> None:
    fact = mind.remember("The harbour opens at seven", confidence=0.5, scope=SPACE)
    mind.feedback(fact.id, "positive")
    assert mind.feedback(fact.id, "negative").confidence == pytest.approx(0.48)
    assert noted(mind, tmp_path) == [{"by": "owner", "positive": 1, "negative": 1, "last": "negative"}]


def test_no_number_of_noes_takes_a_memory_below_the_least(mind: Mind, clock: Clock) -> None:
    fact = mind.remember("The harbour opens at seven", scope=SPACE)
    for _ in range(20):
        clock.pass_(days=1)
        fact = mind.feedback(fact.id, "negative")
    assert fact.confidence == pytest.approx(0.05)
    assert fact.confidence >= 0.05
    assert fact.version < 15  # nothing is written any more where nothing changes


def test_what_is_pinned_gets_no_less_sure(mind: Mind, tmp_path: Path) -> None:
    fact = mind.remember("The harbour opens at seven", trust="hand", scope=SPACE)
    pinned = mind.pin(fact.id)
    assert mind.feedback(fact.id, "negative") == pinned
    assert noted(mind, tmp_path)[0]["negative"] == 1


@pytest.mark.parametrize("role", ["assistant", "user"])
@pytest.mark.parametrize("sign", ["positive", "negative"])
def test_of_a_turn_it_is_only_noted(mind: Mind, tmp_path: Path, role: str, sign: str) -> None:
    turn = mind.observe("Take the early boat", role=role, scope=SPACE)
    commits = len(mind.log(SPACE))
    assert mind.feedback(turn.id, sign) == turn
    assert len(mind.log(SPACE)) == commits
    assert noted(mind, tmp_path)[0][sign] == 1


@pytest.mark.parametrize("sign", ["positive", "negative"])
def test_of_what_somebody_else_said_about_somebody_else_it_is_only_noted(mind: Mind, tmp_path: Path, sign: str) -> None:
    """R7: nobody talks down, or up, what another author gave."""
    fact = mind.remember("The harbour opens at seven", scope=ANA)
    about = mind.remember("Ben sails on Sundays", subject="ben", scope=ANA)
    assert mind.feedback(fact.id, sign, scope=BEN) == fact
    assert mind.feedback(about.id, sign, scope=BEN).confidence != about.confidence
    assert [one["by"] for one in noted(mind, tmp_path)] == ["ben", "ben"]


def test_undo_takes_back_what_feedback_changed(mind: Mind, clock: Clock) -> None:
    """R4"""
    fact = mind.remember("The harbour opens at seven", scope=SPACE)
    clock.pass_(minutes=1)
    less = mind.feedback(fact.id, "negative")
    mind.undo(less.commit)
    assert mind.get(fact.id).confidence == pytest.approx(fact.confidence)
    clock.pass_(days=1)
    surer = mind.feedback(fact.id, "positive")
    mind.undo(mind.log(SPACE)[0].id)
    assert mind.get(fact.id).confidence == pytest.approx(fact.confidence) != surer.confidence


def test_how_sure_it_was_then_can_be_asked_for(mind: Mind, clock: Clock) -> None:
    """R4"""
    fact = mind.remember("The harbour opens at seven", scope=SPACE)
    then = clock.pass_(days=2)
    mind.feedback(fact.id, "negative")
    assert mind.get(fact.id, as_of=then).confidence == fact.confidence


def test_a_yes_does_not_keep_what_rests_on_an_erased_turn(mind: Mind) -> None:
    """R8: else feedback would be a source of its own."""
    said, other = (mind.observe(f"I keep the boat at pier {number}", scope=SPACE) for number in (7, 8))
    kept = {}
    for erased in (False, True):
        text = f"The boat is at the pier, {erased}"
        fact = mind.remember(text, source=Source(memory_ids=((said if erased else other).id,)), scope=SPACE)
        kept[erased] = mind.feedback(fact.id, "positive").id
        mind.feedback(fact.id, "negative")
    mind.erase(said.id)
    assert [memory.id for memory in mind.scan(SPACE, kinds=("fact",))] == [kept[False]]
    mind.forget(other.id)
    assert list(mind.scan(SPACE, kinds=("fact",))) == []


def test_feedback_goes_with_the_memory_and_with_the_person(mind: Mind, tmp_path: Path) -> None:
    """R8, R15"""
    fact = mind.remember("The harbour opens at seven", scope=SPACE)
    other = mind.remember("The pier is closed", scope=SPACE)
    for scope in (ANA, BEN):
        for memory in (fact, other):
            mind.feedback(memory.id, "positive", scope=scope)
    mind.erase(fact.id)
    assert sorted(one["by"] for one in noted(mind, tmp_path)) == ["ana", "ben"]
    mind.erase(person="ana", scope=SPACE)
    assert [one["by"] for one in noted(mind, tmp_path)] == ["ben"]


def test_what_somebody_thinks_of_a_memory_is_nobody_elses_to_read(mind: Mind, tmp_path: Path) -> None:
    """R6"""
    fact = mind.remember("The harbour opens at seven", scope=SPACE)
    mind.feedback(fact.id, "negative", scope=ANA)
    assert noted(mind, tmp_path, BEN) == noted(mind, tmp_path, SPACE) == []
    assert len(noted(mind, tmp_path, Scope("harbour", person="ana"))) == 1


def test_what_may_not_be_seen_takes_no_feedback(mind: Mind) -> None:
    """R6"""
    private = mind.remember("The key is under the mat", scope=Scope("harbour", person="ana"))
    with pytest.raises(NotFound, match="no memory"):
        mind.feedback(private.id, "negative", scope=BEN)
    mind.forget(private.id)
    with pytest.raises(NotFound, match="was forgotten"):
        mind.feedback(private.id, "negative")


@pytest.mark.parametrize("sign", ["good", "", "Positive", None, 1])
def test_another_sign_is_refused_with_the_two_there_are(mind: Mind, sign: Any) -> None:
    fact = mind.remember("The harbour opens at seven", scope=SPACE)
    with pytest.raises(BadInput, match="'positive' or 'negative', not"):
        mind.feedback(fact.id, sign)


def test_of_whom_nothing_is_kept_no_feedback_is_kept_either(mind: Mind, tmp_path: Path) -> None:
    """R15"""
    fact = mind.remember("The harbour opens at seven", scope=SPACE)
    mind.people.optout("ana", scope=SPACE)
    with pytest.raises(Refused, match="asked not to be remembered"):
        mind.feedback(fact.id, "positive", scope=ANA)
    assert noted(mind, tmp_path) == []


def test_feedback_travels_with_an_export(mind: Mind, clock: Clock, tmp_path: Path) -> None:
    """R14"""
    fact: Memory = mind.remember("The harbour opens at seven", scope=SPACE)
    now = mind.feedback(fact.id, "negative")
    before = noted(mind, tmp_path)
    with reverie.open(":memory:", clock=clock, embedder="none") as other:
        other.load(tmp_path / "all.jsonl")
        assert other.get(fact.id).confidence == pytest.approx(now.confidence)
        assert noted(other, tmp_path) == before
        assert other.feedback(fact.id, "negative").confidence == pytest.approx(now.confidence)
