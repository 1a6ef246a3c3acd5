"""Giving every memory its vectors, without making anyone wait for them.

What is written is noticed here and embedded by one thread, which lives only while there is work. Nothing is queued anywhere:
what lacks a vector is asked of the store, so a crash loses no work and another process may go on with it. Only one process
embeds at a time; the others wait for it and find the work done.

Long texts are embedded in overlapping parts; of a text longer than `MOST` parts only the beginning has vectors, and the rest
is found by its words. An embedder that fails is left alone for a while; a text that it refuses, until the mind is opened again.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from reverie.errors import ModelError, StoreError
from reverie.memory.trace import Memory
from reverie.models.base import Embedder
from reverie.store.base import Store, Vector

if TYPE_CHECKING:
    from reverie.models.base import Floats

PART, OVERLAP, MOST = 800, 100, 64  # characters, characters, parts
BATCH = 32  # memories embedded between two writes: less than a second's work that a crash can cost
INLINE = 64  # memories that a call without background work will embed beyond its own
LINGER_S = 1.0
CLOSE_S = 2.0
TURN_S = 0.2  # how often to look whether another process has finished
FIRST_REST_S, LONGEST_REST_S = 1.0, 60.0

log = logging.getLogger(__name__)

Progress = Callable[[int, int], object]


def parts_of(memory: Memory) -> list[str]:
    """Return what is embedded of a memory: who said it or what it is called, and the text, in parts if it is long."""
    head = memory.speaker or memory.title
    said = [f"{head}: {part}" if head else part for part in _cut(memory.text)]
    if memory.source.quote and memory.source.quote not in memory.text:
        said.append(memory.source.quote[:PART])
    return said


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
class Settled:
    """What is still to be learned or embedded, and what could not be."""

    pending: int
    failed: int


class Embedding:
    """Embeds what is written to a store; without an embedder it does nothing."""

    def __init__(self, store: Store, embedder: Embedder | None, background: bool = True) -> None:
        self._store, self.embedder, self._background = store, embedder, background
        self._waiting: dict[str, int] = {}  # spaces in which something may lack a vector, by when they were last noticed
        self._noticed = 0
        self._refused: set[tuple[str, int]] = set()
        self._wake = threading.Condition()
        self._worker: threading.Thread | None = None
        self._is_closing = self._is_failing = self._looked_around = False
        self._at_exit = partial(_stop, weakref.ref(self))
        atexit.register(self._at_exit)
        if embedder is not None and background:
            with self._wake:
                self._start()

    @property
    def model(self) -> str:
        """The name under which vectors are kept."""
        return self.embedder.name if self.embedder else "none"

    def of(self, text: str) -> Floats | None:
        """Return the vector of a question; None without an embedder, or when it fails."""
        if self.embedder is None:
            return None
        try:
            vector: Floats = self.embedder.embed([text])[0]
        except ModelError as exc:
            log.warning("recall goes on by words alone: %s", exc)
            return None
        return vector

    def notice(self, space: str) -> None:
        """Take note that a space was written; without background work, embed at once."""
        if self.embedder is None:
            return
        if not self._background:
            self._embed_here(space)
            return
        with self._wake:
            self._await(space)
            self._is_failing = False
            self._start()
            self._wake.notify_all()

    def _embed_here(self, space: str) -> None:
        with self._store.reading(space) as view:
            if view.lacking(self.model) > INLINE:
                return  # left by an interrupted import; `reindex` shows how far it is
        try:
            self.catch_up(space)
        except ModelError as exc:
            log.warning("what was said is kept, but not embedded: %s", exc)

    def lacks(self, space: str) -> bool:
        """Tell whether anything in a space lacks its vector."""
        with self._store.reading(space) as view:
            return view.lacking(self.model) > 0

    def catch_up(self, space: str, progress: Progress | None = None) -> int:
        """Embed all that lacks vectors in a space, and return how many memories that were."""
        made = 0
        with self._store.reading(space) as view:
            total = view.lacking(self.model)
        while step := self._step(space):
            made += step
            if progress is not None:
                progress(made, max(made, total))
        return made

    def settle(self, timeout_s: float | None) -> Settled:
        """Wait until nothing lacks its vector, or nothing more can be done about it."""
        if self.embedder is None:
            return Settled(0, 0)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        for space in self._store.spaces():
            if self.lacks(space):
                self.notice(space)
        with self._wake:
            self._wake.wait_for(
                lambda: not self._waiting or self._is_failing or self._is_closing,
                None if deadline is None else max(0.0, deadline - time.monotonic()),
            )
        lacking = 0
        for space in self._store.spaces():
            with self._store.reading(space) as view:
                lacking += view.lacking(self.model)
        refused = lacking if self._is_failing else min(lacking, len(self._refused))
        return Settled(lacking - refused, refused)

    def close(self, patience_s: float = CLOSE_S) -> None:
        """Go on for a moment with what is left, then stop; the rest is embedded when the home is opened again."""
        with self._wake:
            if self._worker is not None and not self._is_closing:
                self._wake.wait_for(lambda: not self._waiting or self._is_failing, patience_s)
            self._is_closing = True
            self._wake.notify_all()
            worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join()
        atexit.unregister(self._at_exit)

    # the worker

    def _start(self) -> None:
        if self._worker is None and not self._is_closing:
            self._worker = threading.Thread(target=self._work, name="reverie-embedding", daemon=True)
            self._worker.start()

    def _await(self, space: str) -> None:
        self._noticed += 1
        self._waiting[space] = self._noticed

    def _work(self) -> None:
        rest = FIRST_REST_S
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._is_closing or not self._looked_around, LINGER_S)
                if self._is_closing or (self._looked_around and not self._waiting):
                    self._worker = None
                    self._wake.notify_all()
                    return
                space, noticed = next(iter(self._waiting.items()), (None, 0))
            try:
                is_done = self._look_around() if space is None else self._turn(space)
            except (ModelError, StoreError) as exc:
                log.warning("embedding rests for %.0f s: %s", rest, exc)
                is_done = isinstance(exc, StoreError)  # health() tells of a damaged space
                self._pause(rest, failing=True)
                rest = min(2 * rest, LONGEST_REST_S)
            else:
                rest = FIRST_REST_S
            with self._wake:
                if is_done and space is not None and self._waiting[space] == noticed:  # else it was written meanwhile
                    del self._waiting[space]
                    self._wake.notify_all()

    def _look_around(self) -> bool:
        """Find what an earlier process left undone."""
        for space in self._store.spaces():
            if self._is_closing:
                return False
            if self.lacks(space):
                with self._wake:
                    self._await(space)
        self._looked_around = True
        return True

    def _turn(self, space: str) -> bool:
        """Embed one batch; tell whether nothing is left."""
        with self._store.alone("embedding") as mine:
            if mine:
                return self._step(space) == 0 and self._is_all_done(space)
        self._pause(TURN_S)
        return not self.lacks(space)

    def _is_all_done(self, space: str) -> bool:
        with self._store.reading(space) as view:
            return all((m.id, m.version) in self._refused for m in view.without_vectors(self.model, len(self._refused) + 1))

    def _pause(self, seconds: float, failing: bool = False) -> None:
        with self._wake:
            self._is_failing = failing
            self._wake.notify_all()
            self._wake.wait_for(lambda: self._is_closing or (failing and not self._is_failing), seconds)

    def _step(self, space: str) -> int:
        """Embed the oldest that lack vectors, and return how many they were."""
        with self._store.reading(space) as view:
            lacking = view.without_vectors(self.model, BATCH + len(self._refused))
        memories = [memory for memory in lacking if (memory.id, memory.version) not in self._refused][:BATCH]
        vectors = self._vectors(memories)
        if vectors:
            self._store.put_vectors(space, self.model, vectors)
        return len(memories)

    def _vectors(self, memories: Sequence[Memory]) -> list[Vector]:
        assert self.embedder is not None
        owners = [(memory, part, text) for memory in memories for part, text in enumerate(parts_of(memory))]
        try:
            rows: Iterable[Floats] = self.embedder.embed([text for _, _, text in owners]) if owners else ()
        except ModelError:
            if len(memories) == 1:
                raise
            return self._one_by_one(memories)
        return [Vector(one.id, one.version, "turn", row, part) for (one, part, _), row in zip(owners, rows, strict=True)]

    def _one_by_one(self, memories: Sequence[Memory]) -> list[Vector]:
        """Embed each alone: one text that an embedder refuses must not keep the others from their vectors."""
        vectors: list[Vector] = []
        refused: list[tuple[str, int]] = []
        failure: ModelError | None = None
        for memory in memories:
            try:
                vectors += self._vectors([memory])
            except ModelError as exc:
                failure = exc
                refused.append((memory.id, memory.version))
        if failure is not None and not vectors:
            raise failure
        self._refused.update(refused)
        return vectors


def _stop(embedding: weakref.ref[Embedding]) -> None:
    """Stop before the interpreter does: a model must not be running while it is taken down."""
    kept = embedding()
    if kept is not None:
        kept.close(0.0)
