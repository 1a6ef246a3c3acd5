"""Two published rankings, to the digit: KenoBot's (K8) and Clanker's (C8).

They are here to be chosen and compared with; the default measures better. Both look at the words of a text as written, not at
stems, and both are functions of their arguments alone: the same candidates in any order give the same list, what still holds
first, then by score, then the newest. The parts of a score add up to it. Nothing is left out here: `passes` says what a strict
recall would keep, and `within_limits` what KenoBot would load.

Where the descriptions are silent or differ: KenoBot's keywords are what the cue is about (stop words only if it has nothing
else), a memory has those that stand anywhere in its text, and one ranking goes over all kinds. Clanker's lexical score is 1
where the whole cue stands in the text, else the share of its different words of three characters or more that the text has,
stop words among them; its semantic score is the cosine, 0 where that is negative or there is no vector yet although others
have one; and what was learned outside every channel has 0.25 for its channel wherever it is asked for. In scripts without
spaces, where no word has three characters, every pair of characters counts as one for both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie.memory.language import fold, is_unspaced, plain, query, query_words, words_of
from reverie.memory.trace import Memory
from reverie.recall.words import READ
from reverie.store.base import Outline, indexed_text

RRF = 60
HIGH, MEDIUM, LOW = 3, 2, 1  # keywords that the best hit has
LIMITS = {"facts": 10, "procedures": 5, "lessons": 3, "episodes": 3}
# A turn is part of what happened in a chat, which KenoBot keeps as episodes; what is known and no procedure is a fact to it.
SHELVES = {
    "turn": "episodes", "episode": "episodes", "summary": "episodes", "event": "episodes",
    "procedure": "procedures", "pattern": "procedures", "lesson": "lessons",
}  # fmt: skip

WITH_VECTORS = {"meaning": 0.50, "words": 0.28, "confidence": 0.10, "recency": 0.07, "channel": 0.05}
WITHOUT_VECTORS = {"words": 0.75, "confidence": 0.10, "recency": 0.10, "channel": 0.05}
HALF_S = 45 * 86_400.0  # after which recency has halved
SHORTEST = 3  # characters of a word, or of a cue, that counts for Clanker
_BETWEEN = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory to rank: the text it is judged by, its cosine if it has a vector, and how far it fits the time asked for."""

    outline: Outline
    text: str
    cosine: float | None = None
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate in its place; `words` is KenoBot's count or Clanker's share, `parts` what each way of looking added.

    `share` is what it has of the words that were sought, from 0 to 1.
    """

    candidate: Candidate
    score: float
    words: float
    meaning: float | None
    parts: Mapping[str, float]
    matched: tuple[str, ...]
    passes: bool
    share: float


@dataclass(frozen=True, slots=True)
class Published:
    """One of the two as a weighting."""

    is_kenobot: bool

    def rank(
        self, cue: str, candidates: Iterable[Candidate], now: datetime, channel: str | None, more: Iterable[str] = ()
    ) -> list[Scored]:
        """Return the candidates in its order, KenoBot's only as many of each kind as it loads."""
        if self.is_kenobot:
            return within_limits(kenobot(cue, candidates, now, more))
        return clanker(cue, candidates, now, channel)


def judged_text(memory: Memory) -> str:
    """Return the text that a memory is judged by: what the search looks at, and the words it was drawn from."""
    return "\n".join(filter(None, (indexed_text(memory)[:READ], memory.source.quote)))


def keywords(cue: str, more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return what KenoBot looks for: the words of a cue, and `more`, that are longer than 3 characters or have a digit."""
    texts = [text for text in (cue, " ".join(more)) if text]
    telling = {plain(word.text) for text in texts for word in query(text).words}
    said = dict.fromkeys(word for text in texts for word in query_words(text))
    return tuple(word for word in said if word in telling and _is_keyword(word))


def kenobot(cue: str, candidates: Iterable[Candidate], now: datetime, more: Iterable[str] = ()) -> list[Scored]:
    """Return candidates by Reciprocal Rank Fusion of their keywords, their vectors and, where a time is asked for, their dates.

    `more` are the words that an expansion adds. Without vectors or a time it is the order of the keyword count.
    """
    sought, found = keywords(cue, more), list(candidates)
    texts = [plain(fold(one.text)) for one in found]
    had = {one.outline.key: tuple(word for word in sought if word in text) for one, text in zip(found, texts, strict=True)}
    ranks = {
        "words": _ranks({key: len(words) for key, words in had.items() if words}),
        "meaning": _ranks({one.outline.key: one.cosine for one in found if one.cosine is not None}),
        "time": _ranks({one.outline.key: one.time for one in found if one.time}),
    }
    scored = []
    for one in found:
        key = one.outline.key
        parts = {way: 1.0 / (RRF + places[key]) for way, places in ranks.items() if key in places}
        passes = "words" in parts or "time" in parts  # something is always nearest by meaning
        share = len(had[key]) / max(1, len(sought))
        scored.append(Scored(one, sum(parts.values()), len(had[key]), one.cosine, parts, had[key], passes, share))
    return _ordered(scored, now)


def within_limits(scored: Iterable[Scored], limits: Mapping[str, int] = LIMITS) -> list[Scored]:
    """Return the best of each kind, as many as KenoBot loads."""
    kept, taken = [], Counter[str]()
    for one in scored:
        shelf = SHELVES.get(one.candidate.outline.kind, "facts")
        taken[shelf] += 1
        if taken[shelf] <= limits[shelf]:
            kept.append(one)
    return kept


def confidence(scored: Sequence[Scored]) -> str:
    """Return KenoBot's word for how sure a ranking of its own is: by the most keywords that any of it has."""
    top = max((one.words for one in scored), default=0)
    return "high" if top >= HIGH else "medium" if top >= MEDIUM else "low" if top >= LOW else "none"


def certainty(scored: Sequence[Scored]) -> float:
    """Return the number behind KenoBot's word."""
    return min(1.0, max((one.words for one in scored), default=0) / HIGH)


def clanker(cue: str, candidates: Iterable[Candidate], now: datetime, channel: str | None) -> list[Scored]:
    """Return candidates by the weighted sum of Clanker; `passes` is its relevance gate."""
    found = list(candidates)
    has_vectors = any(one.cosine is not None for one in found)
    weights = WITH_VECTORS if has_vectors else WITHOUT_VECTORS
    sought = [word for word in query_words(cue) if len(word) >= SHORTEST or is_unspaced(word[0])]
    whole = _joined(cue)
    scored = []
    for one in found:
        said = words_of(one.text)
        matched = tuple(word for word in sought if word in said)
        is_whole = len(whole) >= SHORTEST and whole in _joined(one.text)
        signs = {
            "meaning": min(1.0, max(0.0, one.cosine or 0.0)),
            "words": 1.0 if is_whole else len(matched) / max(1, len(sought)),
            "confidence": one.outline.confidence,
            "recency": 1.0 / (1.0 + max(0.0, (now - one.outline.at).total_seconds()) / HALF_S),
            "channel": 0.25 if one.outline.channel is None else float(one.outline.channel == channel),
        }
        parts = {name: weight * signs[name] for name, weight in weights.items()}
        score = sum(parts.values())
        passes = is_relevant(score, signs["words"], signs["meaning"] if has_vectors else None)
        meaning = None if one.cosine is None else signs["meaning"]
        scored.append(Scored(one, score, signs["words"], meaning, parts, matched, passes, signs["words"]))
    return _ordered(scored, now)


def is_relevant(combined: float, lexical: float, semantic: float | None) -> bool:
    """Tell whether Clanker's gate lets a memory through; `semantic` is None where nothing has a vector."""
    # A sum that is 0.62 on paper is 0.62 here.
    combined, lexical = round(combined, 6), round(lexical, 6)
    if semantic is None:
        return lexical >= 0.24 or combined >= 0.62
    semantic = round(semantic, 6)
    return semantic >= 0.20 or lexical >= 0.22 or (combined >= 0.52 and (semantic >= 0.08 or lexical >= 0.10))


def _is_keyword(word: str) -> bool:
    return len(word) > 3 or any(map(str.isdigit, word)) or is_unspaced(word[0])


def _joined(text: str) -> str:
    return _BETWEEN.sub(" ", plain(fold(text))).strip()


def _ranks(scores: Mapping[int, float]) -> dict[int, int]:
    order = sorted(scores, key=lambda key: (-scores[key], -key))
    return {key: rank for rank, key in enumerate(order, 1)}


def _ordered(scored: list[Scored], now: datetime) -> list[Scored]:
    def place(one: Scored) -> tuple[bool, float, int]:
        outline = one.candidate.outline
        return outline.valid_until is not None and outline.valid_until <= now, -one.score, -outline.key

    return sorted(scored, key=place)
