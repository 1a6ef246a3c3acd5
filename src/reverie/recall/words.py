"""Looking by words: BM25 over stems, with the statistics of the space.

A hit's score is its BM25 beside the best one's, times the share of the cue's words that the best hit has; that share is
also the certainty. So a lone hit on one word of four scores 0.25, not 1.
"""

from __future__ import annotations

from datetime import datetime

from reverie.memory.language import matched, query
from reverie.memory.trace import Memory, new_tail, space_mark
from reverie.recall.explain import Arm, Cue, Hit, Recollection, Why
from reverie.store.base import Match, View, Where, indexed_text

ARMS = {"words": "on", "meaning": "off", "time": "off", "neighbours": "off"}
STRICT_SHARE = 0.5
HIGH, MEDIUM = 0.75, 0.4


def recall(view: View, text: str, where: Where, limit: int, now: datetime, strict: bool) -> Recollection:
    """Return what shares a word with `text`; without any text the newest that fits."""
    cue = query(text)
    matches = view.search_words(cue, where, limit, now) if text.strip() else view.newest(where, limit)
    memories = view.fetch([match.key for match in matches], where.at)
    words = [matched(cue, indexed_text(memory)) for memory in memories]
    best = max((match.score for match in matches), default=0.0)
    total = len(cue.words)
    shares = [len(found) / total if total else 0.0 for found in words]
    top = max((share for share, match in zip(shares, matches, strict=True) if match.score == best), default=0.0)
    hits = tuple(
        _hit(memory, match, rank, found, top * match.score / best if best else share, now)
        for rank, (memory, match, found, share) in enumerate(zip(memories, matches, words, shares, strict=True), 1)
        if not strict or share >= STRICT_SHARE
    )
    certainty = top if hits else 0.0
    confidence = "none" if not hits else "high" if certainty >= HIGH else "medium" if certainty >= MEDIUM else "low"
    id = f"r-{space_mark(view.space)}-{new_tail(now)}"
    return Recollection(id, Cue(text, tuple(word.text for word in cue.words)), hits, confidence, certainty, dict(ARMS))


def _hit(memory: Memory, match: Match, rank: int, found: tuple[str, ...], score: float, now: datetime) -> Hit:
    current = memory.valid_until is None or memory.valid_until > now
    return Hit(memory, score, current, memory.source.place, Why(Arm(rank, match.score), matched=found))
