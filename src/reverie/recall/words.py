"""Looking by words: BM25 over stems, with the statistics of the space.

The store finds the candidates; they are ranked here, by a BM25 whose rarity stays above nothing even for a word that most
memories have (in a space of ten memories that is every second word), and is one and the same for what is believed now and
what was believed once. A hit's score is its BM25 beside the best one's, times the share of the cue's weight that the best
hit has; that share is also the certainty. So a lone hit on the least telling word of four scores low, not 1.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from reverie.memory.language import Query, Word, query, terms
from reverie.memory.trace import Memory, new_tail, space_mark
from reverie.recall.explain import Arm, Cue, Hit, Recollection, Why
from reverie.store.base import View, Where, indexed_text

ARMS = {"words": "on", "meaning": "off", "time": "off", "neighbours": "off"}
STRICT_SHARE = 0.5
HIGH, MEDIUM = 0.75, 0.4
K1, B = 0.9, 0.4


@dataclass(frozen=True, slots=True)
class _Found:
    memory: Memory
    score: float
    share: float
    matched: tuple[str, ...]
    is_current: bool


def recall(view: View, text: str, where: Where, limit: int, now: datetime, strict: bool) -> Recollection:
    """Return what shares a word with `text`; without any text the newest that fits."""
    cue = query(text)
    matches = view.search_words(cue, where, limit, now) if text.strip() else view.newest(where, limit)
    memories = view.fetch([match.key for match in matches], where.at)
    found = _ranked(view, cue, where, memories, now)[:limit]
    best = max(found, key=lambda one: one.score, default=None)
    top, certainty = (best.score, best.share) if best else (0.0, 0.0)
    hits = tuple(
        Hit(
            one.memory,
            certainty * one.score / top if top else 0.0,
            one.is_current,
            one.memory.source.place,
            Why(Arm(rank, one.score) if one.matched else None, matched=one.matched),
        )
        for rank, one in enumerate(found, 1)
        if not strict or one.share >= STRICT_SHARE
    )
    confidence = "none" if not hits else "high" if certainty >= HIGH else "medium" if certainty >= MEDIUM else "low"
    id = f"r-{space_mark(view.space)}-{new_tail(now)}"
    words = tuple(word.text for word in cue.words)
    return Recollection(id, Cue(text, words), hits, confidence, certainty if hits else 0.0, dict(ARMS))


def _ranked(view: View, cue: Query, where: Where, memories: list[Memory], now: datetime) -> list[_Found]:
    """Return the candidates, what still holds first, then by score; those that score alike stay as they came."""
    weights = _weights(view, cue, where) if memories else {}
    total = sum(weights.values())
    texts = [Counter(terms(indexed_text(memory))) for memory in memories]
    lengths = [text.total() for text in texts]
    average = sum(lengths) / max(1, len(texts))
    found = []
    for memory, text, length in zip(memories, texts, lengths, strict=True):
        times = {word.text: count for word in cue.words if (count := _times(word, text))}
        around = K1 * (1 - B + B * length / average)
        score = sum(weights[word] * n * (K1 + 1) / (n + around) for word, n in times.items())
        share = sum(weights[word] for word in times) / total if total else 0.0
        is_current = memory.valid_until is None or memory.valid_until > now
        found.append(_Found(memory, score, share, tuple(times), is_current))
    return sorted(found, key=lambda one: (not one.is_current, -one.score))


def _weights(view: View, cue: Query, where: Where) -> dict[str, float]:
    """Return how much each word of the cue tells: the fewer have it, the more."""
    total, counts = view.counts([variant for word in cue.words for variant in word.variants], where)
    having = {word.text: min(total, sum(counts[variant] for variant in word.variants)) for word in cue.words}
    return {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in having.items()}


def _times(word: Word, text: Counter[str]) -> int:
    """Return how often a text has a word, in any of its forms."""
    begun = sum(n for term, n in text.items() if term.startswith(word.prefixes)) if word.prefixes else 0
    return begun + sum(text.get(variant, 0) for variant in word.variants)
