"""One ranking out of several ways of looking.

Scores are fused, not ranks: min–max over the candidates puts words and meaning on one scale, and a `Weighting` says how much
each counts. Then a turn gains from its neighbours in the session, from the time the question names, from being said by the one
person it names, and a little from its session, age, source, channel and confidence. Measured: fusing ranks instead loses; so
does weighing neighbours above 0.2 on chats between real people. Nothing here knows where memories are kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from reverie.memory.language import fold
from reverie.memory.trace import TRUST
from reverie.recall.published import HALF_S, Published
from reverie.store.base import Outline

EARLY, LATE = timedelta(days=2), timedelta(days=14)  # people speak of a day before it comes, and longer after it


BELOW = 1 - 1e-6  # of the score of a turn, what is learned from it may have


@dataclass(frozen=True, slots=True)
class Weighting:
    """How much each way of looking and each boost counts."""

    words: float
    meaning: float
    neighbours: float
    time: float
    speaker: float
    session: float
    recency: float
    trust: float
    channel: float
    confidence: float
    copy: float  # what a text loses that says the same as a better one: evidence is wanted, not echoes


DEFAULT = Weighting(
    words=0.2,
    meaning=0.8,
    neighbours=0.2,
    time=0.3,
    speaker=0.15,
    session=0.4,
    recency=0.02,
    trust=0.05,
    channel=0.02,
    confidence=0.05,
    copy=2.0,
)
WEIGHTINGS: dict[str, Weighting | Published] = {
    "default": DEFAULT,
    "kenobot": Published(is_kenobot=True),
    "clanker": Published(is_kenobot=False),
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
    time: float | None
    neighbours: float | None
    score: float
    holds: bool
    boosts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Asked:
    """What ranking knows of the question: when and where it was put, which time it is about, and whom it names, folded."""

    now: datetime
    channel: str | None
    time: tuple[datetime, datetime] | None = None
    speaker: str | None = None
    role: str | None = None
    authors: Mapping[str, float] = field(default_factory=dict)  # how much whom is believed, 0 to 1 (A6)


def fuse(
    words: Mapping[int, float],
    meaning: Mapping[int, float],
    lowest: float,
    weighting: Weighting,
    share: float,
    pending: Set[int],
) -> Fused:
    """Bring both on one scale and add them up; `share` is what of the weight of meaning applies.

    What has no vector yet is judged by its words alone; what is not pending and has no cosine is too far to be looked at.
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
        base[key] = score if key in pending else base.get(key, 0.0) + by_words * score
    order = sorted(sorted(base, reverse=True), key=base.__getitem__, reverse=True)  # of equals the newest first
    return Fused(said, meant, {key: base[key] for key in order})


def beside(runs: Sequence[Sequence[int]], base: Mapping[int, float]) -> dict[int, float]:
    """Return for candidates in runs of turns that follow one another the better score of those before and after."""
    best: dict[int, float] = {}
    for run in runs:
        for one, next in pairwise(run):
            if one in base and next in base:
                if base[next] > best.setdefault(one, 0.0):
                    best[one] = base[next]
                if base[one] > best.setdefault(next, 0.0):
                    best[next] = base[one]
    return best


def fit(outline: Outline, time: tuple[datetime, datetime]) -> float:
    """Return how well a memory fits a time: 1 if it happened or held then, less the further off it is."""
    start, end = time
    if outline.kind != "turn" and (outline.valid_from or outline.valid_until):
        began_in_time = outline.valid_from is None or outline.valid_from < end
        return float(began_in_time and (outline.valid_until is None or outline.valid_until > start))
    return max(0.0, 1.0 - max((start - outline.at) / EARLY, (outline.at - end) / LATE, 0.0))


def rank(
    found: Fused,
    outlines: Sequence[Outline],
    beside: Mapping[int, float],
    texts: Mapping[int, str],
    asked: Asked,
    weighting: Weighting,
    resting: Sequence[tuple[int, int]] = (),
) -> list[Ranked]:
    """Return the candidates in their final order: what still holds first, then by score; of equal `texts` the best leads.

    What was learned from turns (`resting`: a turn, then that) stands below those that were found: the words come first.
    """
    dates = {one.key: fit(one, asked.time) for one in outlines} if asked.time else {}
    boosts = [_boosts(one, beside.get(one.key, 0.0), dates.get(one.key, 0.0), asked, weighting) for one in outlines]
    scores = [found.base.get(one.key, 0.0) + sum(got.values()) for one, got in zip(outlines, boosts, strict=True)]
    sessions: dict[object, float] = {}
    held = [_session(one) for one in outlines]
    for session, score in zip(held, scores, strict=True):
        sessions[session] = max(sessions.get(session, 0.0), score)
    high = (
        max(sessions.values(), default=0.0) or 1.0
    )  # from 0 to the best, not from the least, which depends on how many are wanted
    ranked = []
    for outline, session, got, score in zip(outlines, held, boosts, scores, strict=True):
        got["session"] = weighting.session * sessions[session] / high
        score += got["session"]
        if asked.authors and (belief := asked.authors.get(fold(outline.speaker or ""), 1.0)) < 1.0:
            got["author"] = (belief - 1.0) * score
            score += got["author"]
        key = outline.key
        ranked.append(
            Ranked(
                outline, found.words.get(key), found.meaning.get(key), dates.get(key) or None, beside.get(key), score,
                holds(outline, asked.now), got,
            )
        )  # fmt: skip
    lowest: dict[int, float] = {}
    scored = {one.outline.key: one.score for one in ranked}
    for source, key in resting:
        if source in scored:
            lowest[key] = min(lowest.get(key, math.inf), scored[source])
    for n, one in enumerate(ranked):
        if (most := BELOW * lowest.get(one.outline.key, 0.0)) and one.score > most:
            ranked[n] = one._replace(score=most, boosts={**one.boosts, "source": most - one.score})
    ranked.sort(key=_place)
    said: set[str] = set()
    for n, one in enumerate(ranked):
        text = fold(texts[one.outline.key])
        if text in said:
            ranked[n] = one._replace(score=one.score - weighting.copy, boosts={**one.boosts, "copy": -weighting.copy})
        said.add(text)
    ranked.sort(key=_place)
    return ranked


def _session(outline: Outline) -> object:
    """Return what tells a session from others; what belongs to none is one by itself."""
    return outline.key if outline.session is None else (outline.channel, outline.session)


def _place(one: Ranked) -> tuple[bool, float, int]:
    return not one.holds, -one.score, -one.outline.key


def is_by(outline: Outline, name: str) -> bool:
    """Tell whether a memory was said by someone, or is about them; names are compared folded."""
    return any(name == fold(one) for one in (outline.speaker, outline.subject) if one)


def holds(outline: Outline, now: datetime) -> bool:
    """Tell whether the time that a memory holds has not passed."""
    return outline.valid_until is None or outline.valid_until > now


def _boosts(outline: Outline, near: float, dated: float, asked: Asked, weighting: Weighting) -> dict[str, float]:
    age_s = max(0.0, (asked.now - outline.at).total_seconds())
    is_named = asked.speaker is not None and is_by(outline, asked.speaker)
    is_own = asked.role is not None and asked.role in (outline.speaker, outline.role) and outline.speaker != "assistant"
    return {
        "neighbours": weighting.neighbours * near,
        "time": weighting.time * dated,
        "speaker": weighting.speaker * float(is_named or is_own),
        "recency": weighting.recency / (1.0 + age_s / HALF_S),
        "trust": weighting.trust * (TRUST[outline.trust] - 1.0),
        "channel": weighting.channel * float(asked.channel is not None and outline.channel == asked.channel),
        "confidence": weighting.confidence * (outline.confidence - 1.0) if outline.kind != "turn" else 0.0,
    }
