"""The default weighting, by hand and by chance: scores to the digit, and no regard for the order of what comes in (K8, R2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reverie
from reverie import Mind, Scope
from reverie.recall import fuse
from reverie.recall.fuse import DEFAULT, Asked
from reverie.store.base import Outline

NOW = datetime(2026, 3, 12, tzinfo=UTC)
near = pytest.approx


def outline(key: int, days: float = 0, speaker: str = "Ana", session: str | None = "s", **changed: Any) -> Outline:
    at = NOW - timedelta(days=days)
    one = Outline(key, f"m-{key}", 1, "turn", None, speaker, "user", None, session, "user", 1.0, at, None, None)
    return one._replace(**changed)


def test_words_and_meaning_are_put_on_one_scale_and_added() -> None:
    found = fuse.fuse({1: 4.0, 2: 2.0}, {1: 0.7, 3: 0.9}, 0.5, DEFAULT, 1.0, pending={2})
    assert found.base[1] == near(0.8 * (0.7 - 0.5) / 0.4 + 0.2 * 4 / 4)  # 0.6
    assert found.base[2] == near(2 / 4)  # no vector yet: its words alone
    assert found.base[3] == near(0.8 * 1.0)
    assert list(found.base) == [3, 1, 2]


def test_a_language_that_the_embedder_does_not_know_leaves_most_to_the_words() -> None:
    found = fuse.fuse({1: 4.0}, {1: 0.5, 2: 0.9}, 0.5, DEFAULT, 0.2, pending=set())
    assert found.base[1] == near(0.2 / 0.36)  # 0.2 and 0.2 × 0.8, brought to 1
    assert found.base[2] == near(0.16 / 0.36)


def test_what_is_too_far_to_have_a_cosine_counts_by_its_share_of_the_words() -> None:
    assert fuse.fuse({1: 4.0}, {2: 0.9}, 0.5, DEFAULT, 1.0, pending=set()).base[1] == near(0.2)


def test_every_boost_is_added_to_the_digit() -> None:
    base = fuse.fuse({1: 4.0, 2: 2.0}, {}, 0.0, DEFAULT, 0.0, pending=set())
    asked = Asked(NOW, None, (NOW - timedelta(days=1), NOW), "luis", None)
    outlines = [outline(1, days=45, speaker="Luis"), outline(2, days=0.5, session="t", trust="web")]
    first, second = fuse.rank(base, outlines, {1: 0.5}, {1: "one", 2: "two"}, asked, DEFAULT)
    assert (first.outline.key, second.outline.key) == (1, 2)
    assert first.boosts == near(
        {"neighbours": 0.2 * 0.5, "time": 0.0, "speaker": 0.15, "recency": 0.02 / 2, "trust": 0.0, "channel": 0.0,
         "confidence": 0.0, "session": 0.4}
    )  # fmt: skip
    assert first.score == near(1.0 + 0.1 + 0.15 + 0.01 + 0.4)
    assert second.boosts["time"] == near(0.3)
    assert second.boosts["trust"] < 0
    assert second.boosts["session"] == near(0.4 * (second.score - second.boosts["session"]) / (first.score - 0.4))


@pytest.mark.parametrize(
    ("days", "fits"), [(0.5, 1.0), (1.0, 1.0), (2.0, 0.5), (3.0, 0.0), (-7.0, 0.5), (-14.0, 0.0), (-30.0, 0.0)]
)
def test_a_time_fits_by_degrees(days: float, fits: float) -> None:
    """Two days before what was asked for, fourteen days after."""
    assert fuse.fit(outline(1, days=days), (NOW - timedelta(days=1), NOW)) == near(fits)


def test_a_fact_fits_the_time_it_held() -> None:
    asked = (NOW - timedelta(days=1), NOW)
    held = outline(1, kind="fact", valid_from=NOW - timedelta(days=9), valid_until=NOW - timedelta(hours=3))
    assert fuse.fit(held, asked) == 1.0
    assert fuse.fit(held._replace(valid_until=NOW - timedelta(days=3)), asked) == 0.0
    assert fuse.fit(held._replace(valid_from=NOW), asked) == 0.0


scores = st.dictionaries(st.integers(1, 12), st.floats(0, 9), max_size=8)


@settings(max_examples=200)
@given(words=scores, meaning=scores, data=st.data())
def test_fusion_has_no_regard_for_the_order_of_its_input(
    words: dict[int, float], meaning: dict[int, float], data: st.DataObject
) -> None:
    def ranked(words: dict[int, float], meaning: dict[int, float], keys: list[int]) -> list[fuse.Ranked]:
        found = fuse.fuse(words, meaning, 0.0, DEFAULT, 1.0, words.keys() - meaning.keys())
        outlines = [outline(key, days=key % 3, session=str(key % 2)) for key in keys]
        return fuse.rank(found, outlines, {}, {key: str(key % 5) for key in keys}, Asked(NOW, None), DEFAULT)

    keys = sorted({*words, *meaning})
    mixed = [dict(data.draw(st.permutations(list(one.items())))) for one in (words, meaning)]
    assert ranked(words, meaning, keys) == ranked(mixed[0], mixed[1], data.draw(st.permutations(keys)))


def answers(mind: Mind) -> list[object]:
    told: list[object] = []
    for cue in ("the boat in the harbour", "what did Luis sell last week?", "¿qué vendió Luis?"):
        found = mind.recall(cue, scope=Scope("first", session="s1"), now=NOW)
        told.append([(hit.memory.id, hit.score, hit.why) for hit in found.hits])
        told.append((found.certainty, found.arms))
    return told


def test_a_recall_is_the_same_again_and_among_a_hundred_other_spaces(tmp_path: Path) -> None:
    """R2"""
    lines = ("The boat is in the harbour", "Is it?", "Luis sold it", "Vendió también el kayak", "Good")

    def talk(mind: Mind, space: str) -> None:
        for number, line in enumerate(lines):
            at = NOW - timedelta(days=7) + timedelta(minutes=number)
            mind.observe(line, speaker=("Ana", "Luis")[number % 2], scope=Scope(space, session=f"s{number % 2}"), at=at)

    with reverie.open(tmp_path, embedder="hashing", background=False, clock=lambda: NOW) as mind:
        talk(mind, "first")
        alone = answers(mind)
        assert answers(mind) == alone
        for number in range(100):
            talk(mind, f"other-{number}")
        assert answers(mind) == alone
    with reverie.open(tmp_path, embedder="hashing", background=False, clock=lambda: NOW) as mind:
        assert answers(mind) == alone
