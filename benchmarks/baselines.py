"""What plain search finds in the same space: BM25, nearest vectors, both fused by rank, and the newest turns.

The words are Reverie's own terms and the vectors those it keeps, so that only the way of ranking differs. What these bring
is thus in the baselines too: stemming in BM25, and in the vectors that a turn was embedded between its neighbours.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reverie import Memory, Mind, Scope
from reverie.memory.language import terms
from reverie.models.base import Embedder
from reverie.recall.pack import tokens_of
from reverie.recall.show import line_of
from reverie.store.base import Where

if TYPE_CHECKING:
    from numpy.typing import NDArray

K1, B = 0.9, 0.4  # as in Anserini, for short texts
K = 60  # of reciprocal rank fusion
DEPTH = 400  # turns of a ranking


class Bm25:
    """Okapi BM25 over texts, with the terms that Reverie indexes them by."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [Counter(terms(text)) for text in texts]
        lengths = np.array([count.total() for count in counts], np.float64)
        norms = K1 * (1 - B + B * lengths / max(1.0, lengths.mean() if len(texts) else 0.0))
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, count in enumerate(counts):
            for term, times in count.items():
                found[term].append((row, times))
        self._size = len(texts)
        self._postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for term, places in found.items():
            rows, times = np.array(places, np.int64).T
            rarity = math.log(1 + (self._size - len(rows) + 0.5) / (len(rows) + 0.5))
            self._postings[term] = rows, rarity * times * (K1 + 1) / (times + norms[rows])

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of every text."""
        scores = np.zeros(self._size)
        for term in terms(question):
            if term in self._postings:
                rows, weights = self._postings[term]
                scores[rows] += weights
        return scores


class Plain:
    """Plain search in one space."""

    def __init__(self, mind: Mind, space: str, embedder: Embedder | None) -> None:
        self._mind, self._space, self._embedder = mind, space, embedder
        self.turns = tuple(mind.scan(Scope.owner(space), kinds=("turn",)))
        self._bm25 = Bm25([f"{turn.speaker}\n{turn.text}" for turn in self.turns])
        self._by_key: dict[int, Memory] = {}
        self._lines: dict[str, tuple[str, int]] = {}

    def rankings(self, question: str, vector: Sequence[float] | None) -> dict[str, list[Memory]]:
        """Return the turns that each way of searching puts first; those by meaning only where there is a vector."""
        scores = self._bm25.scores(question)
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        found = {"BM25": [self.turns[row] for row in best if scores[row] > 0]}
        if vector is not None and self._embedder is not None:
            found["dense"] = self._nearest(vector, self._embedder.name)
            found["RRF"] = fused(found["BM25"], found["dense"])
        return found

    def newest(self) -> list[Memory]:
        """Return all turns, the newest first."""
        return sorted(self.turns, key=lambda turn: turn.happened_at or turn.recorded_at, reverse=True)

    def filled(self, turns: Sequence[Memory], budget: int) -> str:
        """Return the lines of turns that fit a budget of tokens, taken in order."""
        lines: list[str] = []
        for turn in turns:
            if turn.id not in self._lines:
                line = line_of(turn)
                self._lines[turn.id] = line, tokens_of(line + "\n")
            line, tokens = self._lines[turn.id]
            if tokens <= budget:
                lines.append(line)
                budget -= tokens
        return "\n".join(lines)

    def _nearest(self, vector: Sequence[float], model: str) -> list[Memory]:
        # No verb tells the cosine alone, and embedding every turn once more would take longer than all the rest.
        with self._mind._store.reading(self._space) as view:
            near = view.search_vectors(vector, model, Where(Scope.owner(self._space), kinds=("turn",)), DEPTH)
            new = [match.key for match in near.matches if match.key not in self._by_key]
            self._by_key |= zip(new, view.fetch(new), strict=True)
        return [self._by_key[match.key] for match in near.matches]


def fused(*rankings: Sequence[Memory]) -> list[Memory]:
    """Return rankings as one, by the sum of 1 / (60 + rank)."""
    turns = {turn.id: turn for ranking in rankings for turn in ranking}
    scores: dict[str, float] = dict.fromkeys(turns, 0.0)
    for ranking in rankings:
        for rank, turn in enumerate(ranking, 1):
            scores[turn.id] += 1 / (K + rank)
    return [turns[id] for id in sorted(turns, key=scores.__getitem__, reverse=True)][:DEPTH]
