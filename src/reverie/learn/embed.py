"""Giving every memory its vectors, without making anyone wait for them.

Long texts are embedded in overlapping parts; of a text longer than `MOST` parts only the beginning has vectors, and the rest
is found by its words. What a memory quotes is not embedded with it: an erase of the quoted would have to find the vector.

A short turn says little by itself. Once it was answered it is also embedded between its neighbours, of its own audience only,
and its vector stands for both; when one of them comes, changes or goes, it is made again together with theirs.

An embedder may be anybody's code: whatever it raises counts as a `ModelError`, and it is left alone for a while. Whether it
fails or refuses a text, a harmless text tells; what it refuses is left alone until the mind is opened again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from reverie.errors import ModelError
from reverie.learn.actions import Actions
from reverie.learn.background import Background
from reverie.memory.scope import Scope
from reverie.memory.trace import Memory
from reverie.models.base import Embedder
from reverie.store.base import Beside, Store, Vector, View, Where

if TYPE_CHECKING:
    from reverie.models.base import Floats

PART, OVERLAP, MOST = 800, 100, 64  # characters, characters, parts
SHORT, ASIDE = 100, 240  # characters: of a turn that needs its neighbours, and of each of them
BATCH = 32  # texts embedded between two writes, windows apart: what a crash can cost, and what closing waits for
CALL = 8_000  # characters handed to the embedder at once: a second or two for a model on one core
HARMLESS = "hello"

log = logging.getLogger(__name__)


def parts_of(memory: Memory) -> list[str]:
    """Return what is embedded of a memory: who said it or what it is called, and the text, in parts if it is long."""
    return [_headed(memory, part) for part in _cut(memory.text)]


def _headed(memory: Memory, text: str) -> str:
    head = memory.speaker or memory.title
    return f"{head}: {text}" if head else text


def _cut(text: str) -> list[str]:
    parts: list[str] = []
    start = 0
    while len(parts) < MOST:
        end = start + PART
        if end >= len(text):
            parts.append(text[start:])
            break
        gap = max(text.rfind(sign, start + PART // 2, end) for sign in "\n .。")
        end = gap + 1 if gap >= 0 else end
        parts.append(text[start:end])
        start = end - OVERLAP
    return parts


@dataclass(frozen=True, slots=True)
class _Due:
    """A memory to be embedded; a short turn that was answered also between its neighbours."""

    memory: Memory
    before: Memory | None = None
    after: Memory | None = None

    @property
    def uses(self) -> tuple[tuple[str, int], ...]:
        return tuple((one.id, one.version) for one in (self.before, self.after) if one is not None)

    @property
    def texts(self) -> list[str]:
        """The parts of the memory, and last the window."""
        parts = parts_of(self.memory)
        if self.after is None:
            return parts
        lines = [_headed(one, one.text[:ASIDE]) for one in (self.before, self.memory, self.after) if one is not None]
        return [*parts, "\n".join(lines)]


def _due(memory: Memory, place: Beside) -> _Due:
    """Return what to embed of a memory; nothing follows the last turn yet, and its window would not stay what it is."""
    has_window = place.after is not None and len(memory.text) <= SHORT
    return _Due(memory, place.before, place.after) if has_window else _Due(memory)


def _touched(view: View, model: str, memories: Sequence[Memory]) -> list[_Due]:
    """Return memories with what they stand between, then the turns beside them that have vectors made with others."""
    places = view.beside(memories, model)
    near = {(one.id, one.version): one for place in places for one in (place.before, place.after) if one is not None}
    for memory in memories:
        near.pop((memory.id, memory.version), None)
    others = [one for one in near.values() if len(one.text) <= SHORT]
    again = [(_due(one, place), place.uses) for one, place in zip(others, view.beside(others, model), strict=True)]
    return [
        *(_due(memory, place) for memory, place in zip(memories, places, strict=True)),
        *(one for one, uses in again if uses is not None and uses != set(one.uses)),
    ]


class Embedding(Background):
    """Embeds what is written to a store; without an embedder it does nothing."""

    task = "embedding"

    def __init__(
        self, store: Store, embedder: Embedder | None, background: bool = True, actions: Actions | None = None
    ) -> None:
        self.embedder, self._actions = embedder, actions
        self._refused: set[tuple[str, int]] = set()
        self._length: int | None = None
        super().__init__(store, embedder is not None, background)

    def __str__(self) -> str:
        return f"the embedder {self.model}"

    @property
    def model(self) -> str:
        """The name under which vectors are kept; "none" also where the embedder cannot tell it."""
        try:
            return self.embedder.name if self.embedder else "none"
        except ModelError:
            return "none"

    def of(self, text: str) -> Floats | None:
        """Return the vector of a question; None without an embedder, or when it fails."""
        if self.embedder is None:
            return None
        try:
            vector: Floats = self._embed([text])[0]
        except ModelError as exc:
            log.warning("recall goes on by words alone: %s", exc)
            return None
        if self._is_failing:  # no longer, as it turns out
            self._go_on()
        return vector

    def length(self) -> int | None:
        """Return how many numbers a vector has; None without an embedder, or when it fails."""
        if self._length is None:
            self.of(HARMLESS)
        return self._length

    def left(self, space: str) -> int:
        with self._store.reading(space) as view:
            return view.lacking(self.model)

    def is_left(self, space: str) -> bool:
        with self._store.reading(space) as view:
            return view.lacks(self.model, Where(Scope.owner(space), ever=True))

    def _given_up(self) -> int:
        return len(self._refused)

    # one batch

    def _step(self, space: str) -> int:
        """Embed the oldest that lack vectors, and return how many they were."""
        assert self.embedder is not None
        name = self.embedder.name
        with self._store.reading(space) as view:
            lacking = view.without_vectors(name, BATCH + len(self._refused))
            memories: list[Memory] = []
            parts = 0
            for memory in lacking:
                if (memory.id, memory.version) not in self._refused:
                    parts += len(parts_of(memory))
                    if memories and parts > BATCH:
                        break
                    memories.append(memory)
            due = _touched(view, name, memories)
        try:
            vectors = self._vectors(due)
        except ModelError:
            if self._actions:
                self._actions.note("memory_embedding_error", space, memories[0].id if memories else None, "model")
            raise
        if vectors:
            self._store.put_vectors(space, name, vectors)
            if self._actions:
                self._actions.note("memory_embedding_call", space, code=f"{len(vectors)} vectors")
        return len(memories)

    def _vectors(self, due: Sequence[_Due]) -> list[Vector]:
        """Return the vectors of memories; one text that an embedder refuses does not keep the others from theirs."""
        try:
            return self._made(due)
        except ModelError:
            self._embed([HARMLESS])
        vectors: list[Vector] = []
        for one in due:
            for tried in (one, _Due(one.memory)) if one.uses else (one,):  # with its window, else alone
                try:
                    vectors += self._made([tried])
                    break
                except ModelError as exc:
                    self._embed([HARMLESS])
                    log.info("the embedder refuses memory %s: %s", one.memory.id, exc)
            else:  # it is found by its words only
                self._refused.add((one.memory.id, one.memory.version))
        return vectors

    def _made(self, due: Sequence[_Due]) -> list[Vector]:
        rows: list[Floats] = []
        for texts in _calls([text for one in due for text in one.texts]):
            if self._is_closing:
                return []
            rows += list(self._embed(texts))
        vectors: list[Vector] = []
        left = iter(rows)
        for one in due:
            *parts, last = islice(left, len(one.texts))
            between = last if one.uses else None
            parts += [last] if between is None else []
            id, version = one.memory.id, one.memory.version
            vectors += [Vector(id, version, row, part, one.uses, between) for part, row in enumerate(parts)]
        return vectors

    def _embed(self, texts: list[str]) -> Floats:
        """Ask the embedder, and see to it that what comes back can be used."""
        import numpy as np

        assert self.embedder is not None
        try:
            rows: Floats = np.asarray(self.embedder.embed(texts), np.float32)
        except ModelError:
            raise
        except Exception as exc:  # it may be anybody's, and raise anything
            raise ModelError(f"the embedder {self.embedder.name} failed: {type(exc).__name__}: {exc}") from exc
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1] or not np.isfinite(rows).all():
            raise ModelError(f"the embedder {self.embedder.name} did not return {len(texts)} rows of finite numbers")
        self._length = rows.shape[1]
        return rows


def _calls(texts: list[str]) -> Iterator[list[str]]:
    """Yield texts in as many as an embedder is given at once."""
    call: list[str] = []
    for text in texts:
        if call and sum(map(len, call)) + len(text) > CALL:
            yield call
            call = []
        call.append(text)
    if call:
        yield call
