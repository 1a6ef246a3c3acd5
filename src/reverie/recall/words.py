"""Looking by words: BM25 over stems, with the statistics of the space.

The store ranks. Where its ranking says little it is done again here, over more candidates than were asked for: in a space of a
few memories, where SQLite's BM25 gives no weight to a word that half of them have, and for a look back in time, where current
and past versions were counted apart.

A hit's score is its BM25 beside the best one's, times the share of the cue's words that the best hit has; that share is also
the certainty. So a lone hit on one word of four scores 0.25, not 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie.memory.language import Query, query, terms
from reverie.memory.trace import Memory, new_tail, space_mark
from reverie.recall.explain import Arm, Cue, Hit, Recollection, Why
from reverie.store.base import View, Where, indexed_text

ARMS = {"words": "on", "meaning": "off", "time": "off", "neighbours": "off"}
STRICT_SHARE = 0.5
HIGH, MEDIUM = 0.75, 0.4
FEW, WIDE = 64, 500
K1, B = 0.9, 0.4
READ = 20_000  # characters of a hit that are looked at for the words it has


@dataclass(frozen=True, slots=True)
class _Found:
    memory: Memory
    score: float
    matched: tuple[str, ...]


def recall(view: View, text: str, where: Where, limit: int, now: datetime, strict: bool) -> Recollection:
    """Return what shares a word with `text`; without any text the newest that fits."""
    cue = query(text)
    found = _look(view, cue, where, limit, now) if text.strip() else _newest(view, where, limit)
    best = max(found, key=lambda one: one.score, default=None)
    certainty = len(best.matched) / len(cue.words) if best and cue.words else 0.0
    top = best.score if best else 0.0
    hits = tuple(
        Hit(
            one.memory,
            certainty * one.score / top if top else 0.0,
            _holds(one.memory, now),
            one.memory.source.place,
            Why(Arm(rank, one.score / top) if top else None, matched=one.matched),
        )
        for rank, one in enumerate(found, 1)
        if not strict or len(one.matched) > STRICT_SHARE * len(cue.words)
    )
    confidence = "none" if not hits else "high" if certainty >= HIGH else "medium" if certainty >= MEDIUM else "low"
    id = f"r-{space_mark(view.space)}-{new_tail(now)}"
    words = tuple(word.text for word in cue.words)
    return Recollection(id, Cue(text, words), hits, confidence, certainty if hits else 0.0, dict(ARMS))


def _newest(view: View, where: Where, limit: int) -> list[_Found]:
    memories = view.fetch([match.key for match in view.newest(where, limit)], where.at)
    return [_Found(memory, 0.0, ()) for memory in memories]


def _look(view: View, cue: Query, where: Where, limit: int, now: datetime) -> list[_Found]:
    again = where.at is not None or view.counts((), where)[0] <= FEW
    matches = view.search_words(cue, where, max(limit, WIDE) if again else limit, now)
    memories = view.fetch([match.key for match in matches], where.at)
    texts = [Counter(terms(indexed_text(memory)[:READ])) for memory in memories]
    forms = _forms(cue)
    times = [_times(cue, forms, text) for text in texts]
    scores = _scores(view, cue, where, texts, times) if again else [match.score for match in matches]
    found = [_Found(m, score, tuple(had)) for m, score, had in zip(memories, scores, times, strict=True)]
    if again:
        found.sort(key=lambda one: (not _holds(one.memory, now), -one.score))
    return found[:limit]


def _scores(
    view: View, cue: Query, where: Where, texts: Sequence[Counter[str]], times: Sequence[Mapping[str, int]]
) -> list[float]:
    """Return the BM25 of texts, with a rarity that stays above nothing however many have a word."""
    total, counts = view.counts([variant for word in cue.words for variant in word.variants], where)
    having = {word.text: min(total, sum(counts[variant] for variant in word.variants)) for word in cue.words}
    rarity = {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in having.items()}
    lengths = [text.total() for text in texts]
    average = sum(lengths) / max(1, len(lengths))
    around = [K1 * (1 - B + B * length / average) for length in lengths]
    return [
        sum(rarity[word] * n * (K1 + 1) / (n + norm) for word, n in had.items())
        for had, norm in zip(times, around, strict=True)
    ]


def _forms(cue: Query) -> dict[str, list[str]]:
    """Return for every term the words of the cue that it is a form of."""
    forms: dict[str, list[str]] = {}
    for word in cue.words:
        for variant in word.variants:
            forms.setdefault(variant, []).append(word.text)
    return forms


def _times(cue: Query, forms: Mapping[str, list[str]], text: Counter[str]) -> dict[str, int]:
    """Return the words of the cue that a text has, and how often it has each in any of its forms."""
    found: Counter[str] = Counter()
    for term, count in text.items():
        for word in forms.get(term, ()):
            found[word] += count
    for begun in cue.words:
        if begun.prefixes and (n := sum(count for term, count in text.items() if term.startswith(begun.prefixes))):
            found[begun.text] += n
    return {word.text: found[word.text] for word in cue.words if word.text in found} if len(found) > 1 else found


def _holds(memory: Memory, now: datetime) -> bool:
    return memory.valid_until is None or memory.valid_until > now
