"""One ranking out of several ways of looking.

Scores are fused, not ranks: min–max over the candidates puts words and meaning on one scale, and a `Weighting` says how much
each counts. Then a turn gains from its neighbours in the session, from being said by the one person the question names, and a
little from its session, age, source, channel and confidence. Measured: fusing ranks instead loses; so does weighing neighbours
above 0.2 on chats between real people. Nothing here reads a text or knows where memories are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reverie.memory.trace import TRUST
from reverie.store.base import Outline

DAY_S = 86_400.0
HALF_S = 45 * DAY_S  # after which recency has halved (C8)


@dataclass(frozen=True, slots=True)
class Weighting:
    """How much each way of looking and each boost counts."""

    words: float
    meaning: float
    foreign: float  # what is left of `meaning` where the embedder does not know the language
    neighbours: float
    speaker: float
    session: float
    recency: float
    trust: float
    channel: float
    confidence: float


WEIGHTINGS = {
    "default": Weighting(
        words=0.2,
        meaning=0.8,
        foreign=0.2,
        neighbours=0.2,
        speaker=0.1,
        session=0.1,
        recency=0.02,
        trust=0.05,
        channel=0.02,
        confidence=0.05,
    )
}


@dataclass(frozen=True, slots=True)
class Fused:
    """What the ways of looking found, each on a scale from 0 to 1, and together in `base`, the best first."""

    words: Mapping[int, float]
    meaning: Mapping[int, float]
    base: Mapping[int, float]


class Ranked(NamedTuple):
    """A candidate in its place, with what moved it there."""

    outline: Outline
    words: float | None
    meaning: float | None
    neighbours: float | None
    score: float
    holds: bool
    boosts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Asked:
    """What ranking knows of the question: when and where it was put, and whom it names."""

    now: datetime
    channel: str | None
    speaker: str | None = None
    role: str | None = None


def fuse(words: Mapping[int, float], meaning: Mapping[int, float], lowest: float, weighting: Weighting, share: float) -> Fused:
    """Bring both on one scale and add them up; `share` is what of the weight of meaning applies.

    What has no vector yet is judged by its words alone.
    """
    best = max(words.values(), default=0.0) or 1.0
    nearest = max(meaning.values(), default=0.0)
    lowest = lowest if lowest < nearest else nearest - 1.0  # alone, a memory is the nearest there is
    spread = nearest - lowest
    total = weighting.words + share * weighting.meaning
    by_words, by_meaning = weighting.words / total, share * weighting.meaning / total
    said = {key: score / best for key, score in words.items()}
    meant = {key: (cosine - lowest) / spread for key, cosine in meaning.items()}
    base = {key: by_meaning * score for key, score in meant.items()}
    for key, score in said.items():
        base[key] = base[key] + by_words * score if key in base else score
    order = sorted(base, key=lambda key: (-base[key], -key))
    return Fused(said, meant, {key: base[key] for key in order})


def beside(around: Mapping[int, tuple[int | None, int | None]], base: Mapping[int, float]) -> dict[int, float]:
    """Return for turns and for the candidates before and after them the better score of their neighbours."""
    best: dict[int, float] = {}
    for key, both in around.items():
        for near in both:
            if near is not None and near in base:
                best[key] = max(best.get(key, 0.0), base[near])
                best[near] = max(best.get(near, 0.0), base[key])
    return best


def rank(
    found: Fused,
    outlines: Sequence[Outline],
    beside: Mapping[int, float],
    asked: Asked,
    weighting: Weighting,
) -> list[Ranked]:
    """Return the candidates in their final order: what still holds first, then by score."""
    boosts = [_boosts(outline, beside.get(outline.key, 0.0), asked, weighting) for outline in outlines]
    scores = [found.base[outline.key] + sum(got.values()) for outline, got in zip(outlines, boosts, strict=True)]
    sessions: dict[tuple[str | None, str], float] = {}
    for outline, score in zip(outlines, scores, strict=True):
        if outline.session is not None:
            place = (outline.channel, outline.session)
            sessions[place] = max(sessions.get(place, 0.0), score)
    low, high = min(sessions.values(), default=0.0), max(sessions.values(), default=0.0)
    ranked = []
    for outline, got, score in zip(outlines, boosts, scores, strict=True):
        if outline.session is not None and high > low:
            got["session"] = weighting.session * (sessions[outline.channel, outline.session] - low) / (high - low)
            score += got["session"]
        holds = outline.valid_until is None or outline.valid_until > asked.now
        key = outline.key
        ranked.append(Ranked(outline, found.words.get(key), found.meaning.get(key), beside.get(key), score, holds, got))
    ranked.sort(key=lambda one: (not one.holds, -one.score, -one.outline.key))
    return ranked


def _boosts(outline: Outline, near: float, asked: Asked, weighting: Weighting) -> dict[str, float]:
    age_s = max(0.0, (asked.now - outline.at).total_seconds())
    is_named = asked.speaker is not None and outline.speaker == asked.speaker
    is_own = asked.role is not None and outline.role == asked.role
    return {
        "neighbours": weighting.neighbours * near,
        "speaker": weighting.speaker * float(is_named or is_own),
        "recency": weighting.recency / (1.0 + age_s / HALF_S),
        "trust": weighting.trust * (TRUST[outline.trust] - 1.0),
        "channel": weighting.channel * float(asked.channel is not None and outline.channel == asked.channel),
        "confidence": weighting.confidence * (outline.confidence - 1.0) if outline.kind != "turn" else 0.0,
    }
