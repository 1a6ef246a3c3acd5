"""Filters: kinds, tags, subject, session, and the time something happened or held (A3, A6)."""

from datetime import datetime, timedelta

import pytest

from reverie import BadInput, Mind, Scope
from tests.contracts.worlds import EVERYTHING, START, Clock, texts

HOUR = timedelta(hours=1)


def scanned(mind: Mind, **filters: object) -> set[str]:
    """Return what a filter lets through, the same way for scan, for recall and for the newest."""
    by_scan = {memory.text for memory in mind.scan(**filters)}  # type: ignore[arg-type]
    by_recall = texts(mind.recall("plum", limit=EVERYTHING, **filters))  # type: ignore[arg-type]
    by_age = texts(mind.recall("", limit=EVERYTHING, **filters))  # type: ignore[arg-type]
    assert by_scan == by_recall == by_age
    return by_scan


def test_kinds_choose_any_of_them(mind: Mind) -> None:
    mind.observe("plum turn")
    mind.remember("plum fact")
    mind.remember("plum lesson", kind="lesson")
    assert scanned(mind, kinds=("fact", "lesson")) == {"plum fact", "plum lesson"}
    assert scanned(mind, kinds=("turn",)) == {"plum turn"}
    assert scanned(mind, kinds=()) == set()
    with pytest.raises(BadInput, match="nearest is 'lesson'"):
        mind.scan(kinds=("lessons",))


def test_tags_must_all_be_there(mind: Mind) -> None:
    mind.remember("plum one", tags=("a",))
    mind.remember("plum two", tags=("a", "b", "1"))
    mind.remember("plum three")
    assert scanned(mind, tags=("a",)) == {"plum one", "plum two"}
    assert scanned(mind, tags=("b", "a")) == scanned(mind, tags=("1",)) == {"plum two"}
    assert scanned(mind, tags=("A",)) == set()


def test_subject_and_session_choose_one(mind: Mind) -> None:
    mind.remember("plum of Ana", subject="ana")
    mind.remember("plum of Ben", subject="ben")
    mind.observe("plum said in one", scope=Scope(session="one"))
    mind.observe("plum said in two", scope=Scope(session="two"))
    assert scanned(mind, subject="ana") == {"plum of Ana"}
    assert scanned(mind, session="two") == {"plum said in two"}
    assert scanned(mind, subject="ana", session="two") == set()


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (START, START + HOUR, {"plum at 9"}),
        (START, START + 2 * HOUR, {"plum at 9", "plum at 10"}),
        (START + HOUR, None, {"plum at 10", "plum at 11"}),
        (None, START + HOUR, {"plum at 9"}),
        (START + timedelta(microseconds=1), START + HOUR, set()),
        (None, None, {"plum at 9", "plum at 10", "plum at 11"}),
    ],
)
def test_between_is_half_open_on_when_it_happened(
    mind: Mind, start: datetime | None, end: datetime | None, expected: set[str]
) -> None:
    """R4"""
    for hours in range(3):
        mind.observe(f"plum at {9 + hours}", at=START + hours * HOUR)
    mind.remember("plum without any time")
    assert scanned(mind, between=(start, end)) == expected


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (START, START + HOUR, {"plum first", "plum on", "plum until"}),
        (START + HOUR, START + 2 * HOUR, {"plum second", "plum on"}),
        (START - HOUR, START, {"plum until"}),
        (START + 5 * HOUR, None, {"plum on"}),
        (None, START - 5 * HOUR, {"plum until"}),
    ],
)
def test_between_is_overlap_of_the_time_it_held_where_nothing_happened(
    mind: Mind, start: datetime | None, end: datetime | None, expected: set[str]
) -> None:
    mind.remember("plum first", valid_from=START, valid_until=START + HOUR)
    mind.remember("plum second", valid_from=START + HOUR, valid_until=START + 2 * HOUR)
    mind.remember("plum on", valid_from=START)
    mind.remember("plum until", valid_until=START + HOUR)
    mind.remember("plum always")
    mind.remember("plum happened", happened_at=START + timedelta(days=30), valid_from=START)
    assert scanned(mind, between=(start, end)) - {"plum happened"} == expected
    assert ("plum happened" in scanned(mind, between=(start, end))) == (end is None)


def test_what_happened_decides_even_where_a_valid_time_would_fit(mind: Mind) -> None:
    mind.remember("plum eaten", happened_at=START - timedelta(days=1), valid_from=START, valid_until=START + HOUR)
    assert scanned(mind, between=(START, START + HOUR)) == set()


def test_between_must_be_two_moments_in_order(mind: Mind) -> None:
    with pytest.raises(BadInput, match="ends at"):
        mind.recall("plum", between=(START, START))
    with pytest.raises(BadInput, match="a start and an end"):
        mind.recall("plum", between=(START,))  # type: ignore[arg-type]


def test_filters_hold_as_of_a_moment_too(mind: Mind, clock: Clock) -> None:
    fact = mind.remember("plum jam", tags=("old",))
    before = clock.pass_(days=1)
    mind.update(fact.id, tags=("new",))
    assert scanned(mind, tags=("old",)) == set()
    assert scanned(mind, tags=("old",), as_of=before) == scanned(mind, tags=("new",)) == {"plum jam"}


def test_status_counts_what_a_scope_sees(mind: Mind) -> None:
    """R6"""
    mind.observe("plum", scope=Scope(person="ana"))
    mind.remember("plum pie")
    gone = mind.remember("plum tree")
    mind.forget(gone.id)
    (all_,) = mind.status().spaces
    assert (all_.space, all_.memories, all_.kinds, all_.commits) == ("default", 2, {"fact": 1, "turn": 1}, 4)
    (ben,) = mind.status(Scope(person="ben")).spaces
    assert (ben.memories, ben.kinds, ben.commits, ben.bytes) == (1, {"fact": 1}, None, None)
