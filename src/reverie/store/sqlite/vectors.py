"""Exact cosine over a matrix held in memory, kept right when others write or erase.

The matrix of a model is brought up to date at every search, inside the reader's own snapshot: rows are appended for vectors
added since, marks set for versions retired since and for rows that a newer one replaces, and the whole is read again when
the file's epoch says that vectors were taken away. Half floats on disk lose nothing that a ranking shows; a product of half
floats takes twenty times as long, so memory holds full ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from reverie.memory.trace import KINDS

if TYPE_CHECKING:
    import apsw
    from numpy.typing import NDArray

    from reverie.store.base import Floats

NEVER = np.iinfo(np.int64).max
NOBODY = -1  # of a row that was replaced: no version, and retired before the first commit


@dataclass(slots=True)
class Cache:
    """The vectors of one space and model."""

    length: int
    epoch: int
    last_vec: int = 0
    last_seq: int = 0
    size: int = 0
    replaced: int = 0
    matrix: Floats = field(default_factory=lambda: np.empty((0, 0), np.float32))
    columns: NDArray[np.int64] = field(default_factory=lambda: np.empty((6, 0), np.int64))
    """v, audience, added, retired, kind, part"""

    def refresh(self, connection: apsw.Connection, model: int, seq: int) -> None:
        """Add what came since the last time."""
        if seq > self.last_seq and self.size:
            later: list[Any] = connection.execute(
                "SELECT v, retired_seq FROM versions WHERE retired_seq > ?", (self.last_seq,)
            ).fetchall()
            if later:
                retired = dict(later)
                columns = self.columns.copy()  # another thread may be reading the old one
                for row in np.flatnonzero(np.isin(columns[0, : self.size], list(retired))):
                    columns[3, row] = retired[int(columns[0, row])]
                self.columns = columns
        rows: list[Any] = connection.execute(
            "SELECT vec, v, audience, added_seq, retired_seq, kind, part, data FROM vectors JOIN versions USING(v)"
            " WHERE model = ? AND vec > ? ORDER BY vec",
            (model, self.last_vec),
        ).fetchall()
        if rows:
            self._replace({(row[1], row[6]) for row in rows})
            self._append(rows)
            self.last_vec = rows[-1][0]
        self.last_seq = max(self.last_seq, seq)

    def frozen(self) -> Cache:
        """Return what is there now, safe to read while others refresh."""
        return replace(self)

    def _replace(self, places: set[tuple[int, int]]) -> None:
        """Mark the rows of these versions and parts as replaced; when they are many, let go of them."""
        known = np.isin(self.columns[0, : self.size], [v for v, _ in places])
        old = [row for row in np.flatnonzero(known) if (int(self.columns[0, row]), int(self.columns[5, row])) in places]
        if not old:
            return
        columns = self.columns.copy()  # another thread may be reading the old one
        columns[0, old] = columns[3, old] = NOBODY
        self.columns, self.replaced = columns, self.replaced + len(old)
        if 4 * self.replaced > self.size:
            left = np.flatnonzero(columns[0, : self.size] != NOBODY)
            self.matrix, self.columns, self.size, self.replaced = self.matrix[left], columns[:, left], len(left), 0

    def _append(self, rows: list[Any]) -> None:
        needed = self.size + len(rows)
        if needed > len(self.matrix):
            room = max(needed, 2 * len(self.matrix) if self.size else needed)
            matrix, columns = np.empty((room, self.length), np.float32), np.empty((6, room), np.int64)
            if self.size:
                matrix[: self.size], columns[:, : self.size] = self.matrix[: self.size], self.columns[:, : self.size]
            self.matrix, self.columns = matrix, columns
        here = slice(self.size, needed)
        self.matrix[here] = np.frombuffer(b"".join(row[7] for row in rows), np.float16).reshape(len(rows), self.length)
        self.columns[:, here] = np.array(
            [(*row[1:4], NEVER if row[4] is None else row[4], KINDS.index(row[5]), row[6]) for row in rows], np.int64
        ).T
        self.size = needed

    def nearest(
        self,
        sought: Floats,
        at: int | None,
        audiences: set[int] | None,
        kinds: tuple[str, ...] | None,
        allowed: set[int] | None,
        limit: int,
    ) -> tuple[list[tuple[int, float]], float, Callable[[Iterable[int]], dict[int, float]]]:
        """Return (version, cosine), best first, of several parts of a version the best; the lowest; and what tells any other.

        Without `at` only `allowed` decides.
        """
        if not self.size:
            return [], 0.0, lambda keys: {}
        scores = self.matrix[: self.size] @ sought
        v, audience, added, retired, kind, _ = self.columns[:, : self.size]
        tests = [] if at is None else [added <= at, retired > at]
        if audiences is not None:
            one = next(iter(audiences)) if len(audiences) == 1 else None
            tests.append(np.isin(audience, np.fromiter(audiences, np.int64), kind="table") if one is None else audience == one)
        tests += [] if kinds is None else [np.isin(kind, np.array([KINDS.index(one) for one in kinds], np.int64), kind="table")]
        tests += [] if allowed is None else [np.isin(v, list(allowed))]
        rows = np.flatnonzero(np.logical_and.reduce(tests)) if tests else np.arange(self.size)
        if not len(rows):
            return [], 0.0, lambda keys: {}
        if len(rows) < self.size:
            scores, v = scores[rows], v[rows]
        best: dict[int, float] = {}
        wanted = min(len(rows), limit)
        while wanted:  # parts of one version take several places: look further until there are enough versions
            some = _highest(scores, wanted)
            some = some[np.lexsort((-v[some], -scores[some]))]  # among equals the newest first
            best = {}
            for key, score in zip(v[some].tolist(), scores[some].tolist(), strict=True):
                best.setdefault(key, score)
            wanted = min(len(scores), 4 * wanted) if len(best) < limit and wanted < len(scores) else 0
        found = dict(list(best.items())[:limit])
        # Parts of a version stand together: of a long text its best part counts here too, or one aside would lift all others.
        begins = np.flatnonzero(np.concatenate(([True], v[1:] != v[:-1])))
        best_parts, versions = np.maximum.reduceat(scores, begins), v[begins]

        def others(keys: Iterable[int]) -> dict[int, float]:
            asked = np.fromiter(keys, np.int64)
            wanted = np.flatnonzero(np.isin(versions, asked, kind="table")) if len(asked) else asked
            return dict(zip(versions[wanted].tolist(), best_parts[wanted].tolist(), strict=True))

        return list(found.items()), float(best_parts.min()), others


def half_floats(data: bytes) -> Floats:
    """Return the numbers of one vector as kept on disk."""
    return np.frombuffer(data, np.float16).astype(np.float32)


def _highest(scores: Floats, wanted: int) -> NDArray[np.int64]:
    """Return the rows of the highest scores; of equal ones at the edge the last, which are the newest."""
    if wanted >= len(scores):
        return np.arange(len(scores))
    edge = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    above = np.flatnonzero(scores > edge)
    return np.concatenate((above, np.flatnonzero(scores == edge)[len(above) - wanted :]))
