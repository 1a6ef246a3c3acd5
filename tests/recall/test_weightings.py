"""The two published rankings, computed by hand (K8, C8)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reverie
from reverie import Scope
from reverie.recall.published import (
    Candidate,
    Scored,
    certainty,
    clanker,
    confidence,
    is_relevant,
    kenobot,
    keywords,
    within_limits,
)
from reverie.store.base import Outline

if TYPE_CHECKING:
    from reverie.models.base import Floats

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
HERE = "general"
COFFEE = "which coffee does Ana drink"  # five words of three characters or more
DIGITS = 1e-9
COSINES = {"apple": 0.6, "pear": 0.8, "plum": 0.1}
FLOATS = 1e-3  # vectors are kept in sixteen bits


def candidate(
    key: int,
    text: str = "",
    *,
    cosine: float | None = None,
    time: float | None = None,
    kind: str = "fact",
    channel: str | None = None,
    sure: float = 0.8,
    days: float = 0,
    until: datetime | None = None,
) -> Candidate:
    at = NOW - timedelta(days=days)
    outline = Outline(key, f"m-{key}", 1, kind, None, None, None, channel, None, "user", sure, at, None, until)
    return Candidate(outline, text, cosine, time)


def keys(scored: Sequence[Scored]) -> list[int]:
    return [one.candidate.outline.key for one in scored]


def near(value: float, within: float = DIGITS) -> object:
    return pytest.approx(value, abs=within, rel=0)


# KenoBot


@pytest.mark.parametrize(
    ("cue", "found"),
    [
        ("How do I fix the n8n webhook that gives a 401?", ("n8n", "webhook", "gives", "401")),
        ("Café or tea, Café or TEA5?", ("cafe", "tea5")),
        ("who is Bob", ()),
        ("where was that?", ("where", "that")),  # stop words only: they are all there is
        ("我喜欢茶", ("我喜", "喜欢", "欢茶")),
    ],
)
def test_keywords_are_longer_than_three_characters_or_have_a_digit(cue: str, found: tuple[str, ...]) -> None:
    """K8"""
    assert keywords(cue) == found


def test_an_expansion_adds_keywords_under_the_same_rule() -> None:
    """K8"""
    assert keywords("the endpoint fails", ["webhook", "API", "401", "endpoint"]) == ("endpoint", "fails", "webhook", "401")
    [found] = kenobot("the endpoint fails", [candidate(1, "Webhooks return 401")], NOW, more=["webhook", "401"])
    assert found.matched == ("webhook", "401")
    assert found.words == 2


def test_keyword_count_and_vectors_are_fused_by_their_ranks() -> None:
    """K8: 1 / (60 + rank) in each list that has it."""
    found = kenobot(
        "n8n webhook 401",
        [
            candidate(1, "the n8n webhook gives 401", cosine=0.2),  # first by words, third by meaning
            candidate(2, "n8n webhooks", cosine=0.9),  # second by words, first by meaning
            candidate(3, "automation breaks", cosine=0.5),  # not in the list of words, second by meaning
            candidate(4, "a 401 again"),  # third by words, without a vector
        ],
        NOW,
    )
    assert keys(found) == [2, 1, 3, 4]
    assert [one.score for one in found] == [near(1 / 62 + 1 / 61), near(1 / 61 + 1 / 63), near(1 / 62), near(1 / 63)]
    assert [one.words for one in found] == [2, 3, 0, 1]
    assert [one.matched for one in found] == [("n8n", "webhook"), ("n8n", "webhook", "401"), (), ("401",)]
    assert [one.passes for one in found] == [True, True, False, True]
    assert found[0].parts == {"words": near(0.016129032258), "meaning": near(0.016393442623)}


def test_a_candidate_has_a_share_of_the_words_that_were_sought() -> None:
    """K8, C8: one keyword of three is a third, however many make it sure."""
    texts = ("the n8n webhook gives 401", "n8n webhooks", "a 401 again", "nothing")
    some = [candidate(key, text) for key, text in enumerate(texts)]
    assert [one.share for one in kenobot("n8n webhook 401", some, NOW)] == [1.0, near(2 / 3), near(1 / 3), 0.0]
    assert [one.share for one in kenobot("401", some, NOW)] == [1.0, 1.0, 0.0, 0.0]
    assert all(one.share == one.words for one in clanker("n8n webhook 401", some, NOW, None))


def test_without_vectors_it_is_the_keyword_count_and_of_equals_the_newest() -> None:
    """K8"""
    texts = {1: "red apple tree", 2: "nothing", 3: "apple", 4: "red apples from that tree", 5: "tree"}
    found = kenobot("apple tree", [candidate(key, text) for key, text in texts.items()], NOW)
    assert keys(found) == [4, 1, 5, 3, 2]
    assert [one.score for one in found] == [near(1 / 61), near(1 / 62), near(1 / 63), near(1 / 64), 0.0]


def test_a_time_that_is_asked_for_is_a_list_of_its_own() -> None:
    """K8: what is dated then comes up, whatever it says."""
    found = kenobot(
        "apple yesterday",
        [candidate(1, "pears", time=1.0), candidate(2, "apple", time=0.5), candidate(3, "apple", time=0.0)],
        NOW,
    )
    assert keys(found) == [2, 3, 1]
    assert [one.score for one in found] == [near(1 / 62 + 1 / 62), near(1 / 61), near(1 / 61)]
    assert [one.passes for one in found] == [True, True, True]


@pytest.mark.parametrize(("text", "word", "sure"), [
    ("apple pear plum", "high", 1.0), ("apple pear", "medium", 2 / 3), ("apple", "low", 1 / 3), ("fig", "none", 0.0),
    ("apple pear plum grape", "high", 1.0),
])  # fmt: skip
def test_confidence_is_told_by_the_most_keywords_that_any_has(text: str, word: str, sure: float) -> None:
    """K8: three or more high, two medium, one low, none none; meaning alone makes nothing sure."""
    found = kenobot("apple pear plum grape", [candidate(1, text, cosine=0.1), candidate(2, "quince", cosine=0.9)], NOW)
    assert confidence(found) == word
    assert certainty(found) == near(sure)
    assert (confidence([]), certainty([])) == ("none", 0.0)


def test_of_each_kind_only_so_many_are_loaded() -> None:
    """K8: 10 facts, 5 procedures, 3 lessons, 3 episodes; turns are part of what happened."""
    kinds = ["fact"] * 9 + ["concept", "goal"] * 2 + ["procedure"] * 6 + ["lesson"] * 4 + ["episode", "turn"] * 2
    found = kenobot("apple", [candidate(key, "apple", kind=kind) for key, kind in enumerate(kinds)], NOW)
    kept = [one.candidate.outline.kind for one in within_limits(found)]
    assert kept == ["turn", "episode", "turn"] + ["lesson"] * 3 + ["procedure"] * 5 + ["goal", "concept"] * 2 + ["fact"] * 6


# Clanker


def test_with_vectors_five_signs_are_weighed() -> None:
    """C8: 0.50 semantic + 0.28 lexical + 0.10 confidence + 0.07 recency + 0.05 channel."""
    found = clanker(
        COFFEE,
        [
            # two of five words; 45 days: 1 / (1 + 45/45)
            candidate(1, "Ana prefers coffee", cosine=0.6, sure=0.9, days=45, channel=HERE),
            # one of five; today; learned outside every channel; as far from the question as can be
            candidate(2, "Ana is here", cosine=-0.4, sure=0.5),
            # three of five; 90 days: 1 / (1 + 90/45); elsewhere; no vector yet
            candidate(3, "which coffee does he like?", sure=0.72, days=90, channel="lounge"),
        ],
        NOW,
        HERE,
    )
    assert keys(found) == [1, 3, 2]
    assert found[0].parts == {
        "meaning": near(0.30), "words": near(0.112), "confidence": near(0.09), "recency": near(0.035), "channel": near(0.05),
    }  # fmt: skip
    assert found[0].score == near(0.587)  # 0.50 × 0.6 + 0.28 × 0.4 + 0.10 × 0.9 + 0.07 × 0.5 + 0.05 × 1
    assert found[1].score == near(0.263333333333)  # 0 + 0.28 × 0.6 + 0.10 × 0.72 + 0.07 / 3 + 0
    assert found[2].score == near(0.1885)  # 0 + 0.28 × 0.2 + 0.10 × 0.5 + 0.07 × 1 + 0.05 × 0.25
    assert [one.meaning for one in found] == [0.6, None, 0.0]
    assert [one.matched for one in found] == [("coffee", "ana"), ("which", "coffee", "does"), ("ana",)]
    assert [one.passes for one in found] == [True, True, False]  # 0.2 of the words is less than 0.22


def test_without_vectors_words_weigh_most() -> None:
    """C8: 0.75 lexical + 0.10 confidence + 0.10 recency + 0.05 channel."""
    found = clanker(
        COFFEE,
        [
            candidate(1, "Ana prefers coffee", sure=0.9, days=45, channel=HERE),
            candidate(2, "Ana is here", sure=0.5),
            candidate(3, "which coffee does he like?", sure=0.72, days=90, channel="lounge"),
        ],
        NOW,
        HERE,
    )
    assert keys(found) == [3, 1, 2]
    assert found[0].score == near(0.555333333333)  # 0.75 × 0.6 + 0.10 × 0.72 + 0.10 / 3 + 0
    assert found[1].score == near(0.49)  # 0.75 × 0.4 + 0.10 × 0.9 + 0.10 × 0.5 + 0.05 × 1
    assert found[2].score == near(0.3125)  # 0.75 × 0.2 + 0.10 × 0.5 + 0.10 × 1 + 0.05 × 0.25
    assert "meaning" not in found[0].parts
    assert [one.passes for one in found] == [True, True, False]


@pytest.mark.parametrize(("text", "cue", "share"), [
    ("He said: Ana's café, at NOON!", "cafe at noon", 1.0),  # the whole cue, but for signs and accents
    ("noon at the cafe", "cafe at noon", 1.0),  # "at" is too short to count
    ("a cafe", "cafe at noon", 0.5),
    ("she lives there", "live", 1.0),  # the whole cue is part of a word
    ("she lives there", "live music", 0.0),  # no stems
    ("it is on", "is it", 0.0),
    ("on and on", "on", 0.0),
    ("cafe cafe", "cafe cafe bar", 0.5),  # each word counts once
    ("我爱喝茶", "喝茶", 1.0),
    ("我爱喝茶", "我喝茶", 0.5),
])  # fmt: skip
def test_the_lexical_score_is_the_share_of_the_words_or_the_whole_cue(text: str, cue: str, share: float) -> None:
    """C8"""
    [found] = clanker(cue, [candidate(1, text)], NOW, None)
    assert found.words == share


@pytest.mark.parametrize(("learned_in", "asked_in", "score"), [
    (HERE, HERE, 1.0), (None, HERE, 0.25), ("lounge", HERE, 0.0), (None, None, 0.25), ("lounge", None, 0.0),
])  # fmt: skip
def test_a_channel_counts_where_it_is_the_same(learned_in: str | None, asked_in: str | None, score: float) -> None:
    """C8"""
    [found] = clanker("tea", [candidate(1, "tea", channel=learned_in)], NOW, asked_in)
    assert found.parts["channel"] == near(0.05 * score)


@pytest.mark.parametrize(("days", "score"), [(0, 1.0), (-3, 1.0), (15, 0.75), (45, 0.5), (135, 0.25), (0.5, 90 / 91)])
def test_recency_halves_in_45_days(days: float, score: float) -> None:
    """C8: 1 / (1 + days / 45)"""
    [found] = clanker("tea", [candidate(1, "tea", days=days)], NOW, None)
    assert found.parts["recency"] == near(0.10 * score)


@pytest.mark.parametrize(("combined", "lexical", "semantic", "passes"), [
    (0.0, 0.24, None, True), (0.0, 0.239, None, False), (0.62, 0.0, None, True), (0.619, 0.0, None, False),
    (0.0, 0.0, 0.20, True), (0.0, 0.0, 0.199, False), (0.0, 0.22, 0.0, True), (0.0, 0.219, 0.0, False),
    (0.52, 0.0, 0.08, True), (0.519, 0.0, 0.08, False), (0.52, 0.0, 0.079, False),
    (0.52, 0.10, 0.0, True), (0.519, 0.10, 0.0, False), (0.52, 0.099, 0.0, False),
    (0.03 + 0.29 + 0.3, 0.0, None, True),  # a hair below 0.62, but only in floating point
])  # fmt: skip
def test_the_gate_opens_exactly_at_its_borders(combined: float, lexical: float, semantic: float | None, passes: bool) -> None:
    """C8"""
    assert is_relevant(combined, lexical, semantic) is passes


def test_the_gate_reads_the_scores_of_each_candidate() -> None:
    """C8: 6 of 25 words are 0.24 and pass without vectors; with vectors 0.22 is enough, and so is a cosine of 0.20."""
    said = [f"word{number}" for number in range(25)]
    cue = " ".join(said)
    six, five = " ".join(said[::2][:6]), " ".join(said[::2][:5])
    assert [one.passes for one in clanker(cue, [candidate(2, six), candidate(1, five)], NOW, None)] == [True, False]
    texts = [candidate(3, six, cosine=0.0), candidate(2, five, cosine=0.2), candidate(1, five, cosine=0.19)]
    by_key = {one.candidate.outline.key: one.passes for one in clanker(cue, texts, NOW, None)}
    assert by_key == {3: True, 2: True, 1: False}


# Both

ANY = st.lists(
    st.builds(
        candidate,
        st.integers(0, 10_000),
        st.lists(st.sampled_from(("apple", "pear", "plum", "n8n", "東京")), max_size=4).map(" ".join),
        cosine=st.none() | st.sampled_from((-0.5, 0.0, 0.2, 0.5, 1.0)),
        time=st.none() | st.sampled_from((0.0, 0.5, 1.0)),
        channel=st.sampled_from((None, HERE, "lounge")),
        sure=st.sampled_from((0.0, 0.5, 1.0)),
        days=st.sampled_from((0, 1, 400)),
        until=st.sampled_from((None, NOW - timedelta(days=1), NOW + timedelta(days=1))),
    ),
    max_size=12,
    unique_by=lambda one: one.outline.key,
)


@given(candidates=ANY, data=st.data())
def test_neither_looks_at_the_order_of_its_input(candidates: list[Candidate], data: st.DataObject) -> None:
    mixed = data.draw(st.permutations(candidates))
    for cue in ("apple or plum 東京", "n8n"):
        assert kenobot(cue, candidates, NOW) == kenobot(cue, mixed, NOW)
        assert clanker(cue, candidates, NOW, HERE) == clanker(cue, mixed, NOW, HERE)


@given(candidates=ANY)
def test_every_candidate_has_its_place_and_its_parts_add_up(candidates: list[Candidate]) -> None:
    for found in (kenobot("apple or plum", candidates, NOW), clanker("apple or plum", candidates, NOW, HERE)):
        assert sorted(keys(found)) == sorted(one.outline.key for one in candidates)
        assert all(one.score == near(sum(one.parts.values())) and 0.0 <= one.score <= 1.0 + DIGITS for one in found)
        outlines = [one.candidate.outline for one in found]
        places = [
            (outline.valid_until is not None and outline.valid_until <= NOW, -one.score, -outline.key)
            for one, outline in zip(found, outlines, strict=True)
        ]
        assert places == sorted(places)


# Through a mind


class Angles:
    """Embeds a text that names a fruit at a set cosine from the first axis, and any other along the second."""

    name = "angles"
    languages: frozenset[str] | None = None
    scale = (0.0, 1.0)

    def embed(self, texts: Sequence[str]) -> Floats:
        found = [sum(cosine for fruit, cosine in COSINES.items() if fruit in text) for text in texts]
        return np.array([[cosine, (1 - cosine**2) ** 0.5] for cosine in found], np.float32)


def test_a_mind_ranks_as_clanker_does() -> None:
    """C8, without vectors"""
    start = NOW - timedelta(days=45)
    times = [start]
    general, lounge = Scope(channel=HERE), Scope(channel="lounge")
    with reverie.open(":memory:", clock=lambda: times[-1], embedder="none") as mind:
        mind.remember("Ana prefers coffee", scope=general, confidence=0.9)
        mind.remember("which coffee does he like?", scope=lounge, confidence=0.72)
        mind.remember("nobody drinks here", confidence=0.5)  # found by its stem, which is not a word of the cue
        times.append(NOW)
        found = mind.recall(COFFEE, scope=general, weighting="clanker")
        assert [hit.memory.text for hit in found.hits] == [
            "which coffee does he like?", "Ana prefers coffee", "nobody drinks here",
        ]  # fmt: skip
        assert [hit.score for hit in found.hits] == [
            near(0.572),  # 0.75 × 0.6 + 0.10 × 0.72 + 0.10 × 0.5 + 0
            near(0.49),  # 0.75 × 0.4 + 0.10 × 0.9 + 0.10 × 0.5 + 0.05 × 1
            near(0.1125),  # 0 + 0.10 × 0.5 + 0.10 × 0.5 + 0.05 × 0.25
        ]
        strict = mind.recall(COFFEE, scope=general, weighting="clanker", strict=True)
        assert [hit.memory.text for hit in strict.hits] == ["which coffee does he like?", "Ana prefers coffee"]


def test_a_mind_with_vectors_ranks_as_clanker_does() -> None:
    """C8, A6: the question may be given as a vector."""
    with reverie.open(":memory:", clock=lambda: NOW, embedder=Angles(), background=False) as mind:
        mind.remember("an apple a day", scope=Scope(channel=HERE), confidence=0.5)
        mind.remember("a plum for me", scope=Scope(channel="lounge"), confidence=0.9)
        found = mind.recall("plum cake", vector=[1.0, 0.0], scope=Scope(channel=HERE), weighting="clanker")
        assert [(hit.memory.text, hit.score) for hit in found.hits] == [
            ("an apple a day", near(0.47, FLOATS)),  # 0.50 × 0.6 + 0 + 0.10 × 0.5 + 0.07 + 0.05
            ("a plum for me", near(0.35, FLOATS)),  # 0.50 × 0.1 + 0.28 × 0.5 + 0.10 × 0.9 + 0.07 + 0
        ]


def test_a_strict_mind_returns_nothing_rather_than_noise_as_clanker_does() -> None:
    """C8"""
    with reverie.open(":memory:", clock=lambda: NOW, embedder="none") as mind:
        mind.remember("Ana prefers coffee", confidence=1.0)
        cue = "does anyone know where coffee comes from"  # one word of seven: 0.14
        assert len(mind.recall(cue, weighting="clanker").hits) == 1
        nothing = mind.recall(cue, weighting="clanker", strict=True)
        assert (nothing.hits, nothing.confidence) == ((), "none")


def test_a_mind_ranks_as_kenobot_does() -> None:
    """K8, without vectors"""
    with reverie.open(":memory:", clock=lambda: NOW, embedder="none") as mind:
        mind.remember("the n8n webhook gives 401")
        mind.remember("n8n runs at home")
        mind.remember("webhooks with 401 again")
        found = mind.recall("the n8n webhook and 401", weighting="kenobot")
        assert [(hit.memory.text, hit.score) for hit in found.hits] == [
            ("the n8n webhook gives 401", near(1 / 61)),
            ("webhooks with 401 again", near(1 / 62)),
            ("n8n runs at home", near(1 / 63)),
        ]
        assert found.confidence == "high"
        assert [hit.why.words and hit.why.words.score for hit in found.hits] == [1.0, near(2 / 3), near(1 / 3)]
        words = {
            cue: mind.recall(cue, weighting="kenobot").confidence for cue in ("n8n at home", "who runs", "is it n8n", "xyz9")
        }
        assert words == {"n8n at home": "medium", "who runs": "low", "is it n8n": "low", "xyz9": "none"}


def test_a_mind_with_vectors_ranks_as_kenobot_does() -> None:
    """K8, A6"""
    with reverie.open(":memory:", clock=lambda: NOW, embedder=Angles(), background=False) as mind:
        mind.remember("plum cake with cream")  # first by words, third by meaning
        mind.remember("an apple cake")  # second by words, second by meaning
        mind.remember("a ripe pear")  # first by meaning
        found = mind.recall("plum cake", vector=[1.0, 0.0], weighting="kenobot")
        assert [(hit.memory.text, hit.score) for hit in found.hits] == [
            ("plum cake with cream", near(1 / 61 + 1 / 63)),
            ("an apple cake", near(1 / 62 + 1 / 62)),
            ("a ripe pear", near(1 / 61)),
        ]
        strict = mind.recall("plum cake", vector=[1.0, 0.0], weighting="kenobot", strict=True)
        assert len(strict.hits) == 2


def test_a_mind_that_ranks_as_kenobot_does_looks_at_the_day_that_is_named() -> None:
    """K8"""
    with reverie.open(":memory:", clock=lambda: NOW, embedder="none") as mind:
        mind.observe("lentils for dinner", at=NOW - timedelta(days=1))
        mind.observe("dinner at the harbour", at=NOW - timedelta(hours=1))
        found = mind.recall("what was for dinner yesterday?", weighting="kenobot")
        assert [(hit.memory.text, hit.score) for hit in found.hits] == [
            ("lentils for dinner", near(1 / 62 + 1 / 61)),
            ("dinner at the harbour", near(1 / 61)),
        ]


def test_a_mind_that_ranks_as_kenobot_does_loads_only_so_many_of_a_kind() -> None:
    """K8"""
    with reverie.open(":memory:", clock=lambda: NOW, embedder="none") as mind:
        for number in range(12):
            mind.remember(f"apples are good, reason {number}")
            mind.observe(f"I ate {number} apples")
        found = mind.recall("apples", limit=50, weighting="kenobot")
        assert [hit.memory.kind for hit in found.hits].count("fact") == 10
        assert [hit.memory.kind for hit in found.hits].count("turn") == 3
