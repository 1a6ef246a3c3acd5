"""Versions, history, what was believed when, and what changed in between (R4)."""

from datetime import timedelta

import pytest

from reverie import BadInput, Conflict, Mind, NotFound, Scope
from tests.contracts.worlds import EVERYTHING, START, Clock, found, texts


def test_an_update_adds_a_version_and_keeps_the_old_one(mind: Mind, clock: Clock) -> None:
    first = mind.remember("Ana lives in Lima", subject="ana", tags=("home",))
    clock.pass_(days=1)
    second = mind.update(first.id, text="Ana lives in Oaxaca")
    assert (second.id, second.version, second.tags, second.subject) == (first.id, 2, ("home",), "ana")
    past, present = mind.history(first.id)
    assert (past.text, past.version, past.recorded_at, past.retired_at) == ("Ana lives in Lima", 1, START, second.recorded_at)
    assert (present.text, present.retired_at) == ("Ana lives in Oaxaca", None)
    assert mind.get(first.id, version=1).text == "Ana lives in Lima"
    assert found(mind, "Lima") == set()
    assert found(mind, "Oaxaca") == {"Ana lives in Oaxaca"}


def test_a_version_that_is_not_there_is_not_found(mind: Mind) -> None:
    fact = mind.remember("one version only")
    with pytest.raises(NotFound, match="no version 2"):
        mind.get(fact.id, version=2)


def test_an_update_with_expect_refuses_what_has_changed_meanwhile(mind: Mind) -> None:
    fact = mind.remember("the door is blue")
    mind.update(fact.id, text="the door is green", expect=1)
    with pytest.raises(Conflict, match="is at version 2, not 1"):
        mind.update(fact.id, text="the door is red", expect=1)
    assert mind.get(fact.id).text == "the door is green"
    assert len(mind.log(Scope.owner())) == 2


def test_an_update_may_change_details_alone(mind: Mind) -> None:
    fact = mind.remember("the pass is closed", confidence=0.6)
    until = START + timedelta(days=2)
    changed = mind.update(fact.id, title="Roads", tags=("travel",), valid_until=until, extra={"road": 7})
    assert (changed.text, changed.title, changed.tags, changed.valid_until, changed.extra, changed.confidence) == (
        "the pass is closed", "Roads", ("travel",), until, {"road": 7}, 0.6,
    )  # fmt: skip
    with pytest.raises(BadInput, match="nothing to update"):
        mind.update(fact.id)
    with pytest.raises(BadInput, match="ends at"):
        mind.update(fact.id, valid_from=until + timedelta(days=1))


def test_what_was_believed_at_a_moment_is_found_as_of_it(mind: Mind, clock: Clock) -> None:
    fact = mind.remember("the office is in Lima")
    lima = clock.pass_(days=1)
    changed = mind.update(fact.id, text="the office is in Quito").recorded_at
    quito = clock.pass_(days=1)
    mind.forget(fact.id)

    def then(moment: object) -> set[str]:
        return texts(mind.recall("office", as_of=moment, limit=EVERYTHING))  # type: ignore[arg-type]

    assert then(START - timedelta(microseconds=1)) == set()
    assert then(lima) == then(changed - timedelta(microseconds=1)) == {"the office is in Lima"}
    assert then(changed) == then(quito) == {"the office is in Quito"}
    assert then(clock.now) == set()
    assert texts(mind.recall("Lima", as_of=quito)) == set()
    assert mind.get(fact.id, as_of=lima).version == 1
    assert mind.get(fact.id, as_of=lima).retired_at is None
    with pytest.raises(NotFound):
        mind.get(fact.id, as_of=START - timedelta(days=1))
    with pytest.raises(NotFound, match="was forgotten"):
        mind.get(fact.id)


def test_as_of_takes_a_commit_too(mind: Mind) -> None:
    first = mind.remember("the office is in Lima")
    second = mind.update(first.id, text="the office is in Quito")
    assert texts(mind.recall("office", as_of=first.commit)) == {"the office is in Lima"}
    assert texts(mind.recall("office", as_of=second.commit)) == {"the office is in Quito"}
    assert [memory.text for memory in mind.scan(as_of=first.commit)] == ["the office is in Lima"]
    assert mind.get(first.id, as_of=first.commit).text == "the office is in Lima"
    with pytest.raises(NotFound, match="no commit"):
        mind.recall("office", as_of=first.commit[:-1])


def test_a_commit_that_touched_nothing_visible_is_not_found_as_of_it(mind: Mind) -> None:
    """R6: it looks as if it were not there."""
    secret = mind.observe("only for Ben", scope=Scope(person="ben"))
    with pytest.raises(NotFound) as hidden:
        mind.recall("anything", scope=Scope(person="ana"), as_of=secret.commit)
    missing = secret.commit[:-3] + ("000" if not secret.commit.endswith("000") else "111")
    with pytest.raises(NotFound) as absent:
        mind.recall("anything", scope=Scope(person="ana"), as_of=missing)
    assert str(hidden.value).replace(secret.commit, "X") == str(absent.value).replace(missing, "X")


def test_confidence_as_of_a_moment_counts_only_the_sightings_until_then(mind: Mind, clock: Clock) -> None:
    fact = mind.remember("the well is deep", confidence=0.5)
    once = clock.pass_(days=1)
    mind.remember("the well is deep", confidence=0.5)
    assert mind.get(fact.id).confidence == 0.75
    assert mind.get(fact.id, as_of=once).confidence == 0.5
    assert mind.recall("well", as_of=once).hits[0].memory.confidence == 0.5


def test_diff_tells_what_was_added_retired_and_changed(mind: Mind, clock: Clock) -> None:
    stays, changes, goes = (mind.remember(f"{name} is here") for name in ("Ana", "Ben", "Cleo"))
    before = clock.pass_(days=1)
    mind.update(changes.id, text="Ben is away")
    mind.forget(goes.id)
    comes = mind.remember("Dora is here")
    brief = mind.remember("Emil is here")
    mind.forget(brief.id)
    seen = mind.diff(before, clock.pass_(days=1))
    assert [memory.id for memory in seen.added] == [comes.id]
    assert [memory.id for memory in seen.retired] == [goes.id]
    assert [(old.text, new.text) for old, new in seen.changed] == [("Ben is here", "Ben is away")]
    assert all(stays.id != memory.id for memory in (*seen.added, *seen.retired))
    assert mind.diff(before, before) == type(seen)()
    assert mind.diff(stays.commit, comes.commit).added[-1].id == comes.id
    with pytest.raises(BadInput, match="swap"):
        mind.diff(clock.now, before)


def test_diff_shows_a_scope_only_its_own(mind: Mind, clock: Clock) -> None:
    """R6"""
    before = clock.pass_(days=1)
    mind.observe("for Ben", scope=Scope(person="ben"))
    mine = mind.observe("for Ana", scope=Scope(person="ana"))
    assert mind.diff(before, clock.pass_(days=1), Scope(person="ana")).added == (mine,)


def test_scan_goes_by_age_and_by_pages(mind: Mind) -> None:
    told = [mind.observe(f"note {number}").id for number in range(7)]
    assert [memory.id for memory in mind.scan()] == told
    assert [memory.id for memory in mind.scan(limit=3)] == told[:3]
    assert [memory.id for memory in mind.scan(after=told[2], limit=3)] == told[3:6]
    assert list(mind.scan(after=told[-1])) == []
    mind.forget(told[3])
    assert [memory.id for memory in mind.scan(after=told[2], limit=2)] == [told[4], told[5]]
    assert [memory.id for memory in mind.scan(after=told[3], limit=1)] == [told[4]]
    assert [memory.id for memory in mind.scan(retired=True)] == told
    mind.update(told[0], text="a later version keeps its place")
    assert [memory.id for memory in mind.scan(limit=1)] == [told[0]]


def test_a_scan_longer_than_a_page_is_of_one_moment(mind: Mind) -> None:
    """What others write meanwhile neither appears in it nor goes missing from it."""
    mind.observe_many({"text": f"note {number}"} for number in range(1_200))
    going = mind.scan()
    first = next(going)
    mind.observe("added meanwhile")
    last = list(mind.scan())[1_199]
    mind.forget(last.id)
    mind.update(first.id, text="changed meanwhile")
    seen = [first, *going]
    assert [memory.text for memory in seen] == [f"note {number}" for number in range(1_200)]
    assert seen[-1].retired_at is None


def test_scan_with_retired_shows_the_last_version_of_what_was_forgotten(mind: Mind, clock: Clock) -> None:
    fact = mind.remember("the first wording")
    mind.update(fact.id, text="the second wording")
    mind.forget(fact.id)
    assert list(mind.scan()) == []
    (last,) = mind.scan(retired=True)
    assert (last.version, last.text, last.retired_at is not None) == (2, "the second wording", True)
