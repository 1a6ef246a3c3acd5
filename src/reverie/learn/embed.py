"""Giving every memory its vectors, without making anyone wait for them.

What is written is noticed here and embedded by one thread, which lives only while there is work. Nothing is queued anywhere:
what lacks a vector is asked of the store, so a crash loses no work and another process may go on with it. Only one process
embeds at a time; the others wait for it and find the work done.

Long texts are embedded in overlapping parts; of a text longer than `MOST` parts only the beginning has vectors, and the rest
is found by its words. What a memory quotes is not embedded with it: an erase of the quoted would have to find the vector.

A short turn says little by itself. Once it was answered it is also embedded between its neighbours, of its own audience only,
and its vector stands for both; when one of them comes, changes or goes, it is made again together with theirs.

An embedder may be anybody's code: whatever it raises counts as a `ModelError`, and it is left alone for a while. Whether it
fails or refuses a text, a harmless text tells; what it refuses is left alone until the mind is opened again.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from reverie.errors import Busy, ModelError, ReverieError, StoreError
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
INLINE = 64  # memories that a call without background work will embed beyond its own
HARMLESS = "hello"
LINGER_S = 1.0
CLOSE_S, EXIT_S = 2.0, 10.0  # an onnxruntime that is still running when the process ends aborts it
PATIENCE_S = 60.0  # with a process that embeds and does not get on
LONGEST_WAIT_S = 1e7  # as good as for ever, and what every platform can count
TURN_S = 0.2  # how often to look whether another process has finished
FIRST_REST_S, LONGEST_REST_S = 1.0, 60.0

log = logging.getLogger(__name__)
logging.getLogger("reverie").addHandler(logging.NullHandler())  # quiet unless the program asks for its logs

Progress = Callable[[int, int], object]


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
        self._length: int | None = None
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

    def notice(self, space: str, own: int = 1) -> None:
        """Take note that a space was written; without background work, embed at once what was.

        What an interrupted import left there is too much to wait for: `settle` embeds it, and `reindex` shows how far it is.
        """
        if self.embedder is None:
            return
        if self._background:
            with self._wake:
                self._await(space)
                self._start()
                self._wake.notify_all()
        elif self._count(space) <= INLINE + own:
            self._embed_here(space, None)

    def lacks(self, space: str) -> bool:
        """Tell whether anything in a space lacks its vector."""
        with self._store.reading(space) as view:
            return view.lacks(self.model, Where(Scope.owner(space), ever=True))

    def catch_up(self, space: str, progress: Progress | None = None) -> int:
        """Embed all that lacks vectors in a space, and return how many memories that were, whoever did it."""
        made, total = 0, self._count(space)
        is_done, moved_at = False, time.monotonic()
        while not is_done:
            step = self._turn(space)
            done = made + step if step else max(made, total - self._count(space))
            if step or done > made:
                moved_at = time.monotonic()
            elif step is None and time.monotonic() - moved_at > PATIENCE_S:
                raise Busy("another process embeds in this home and does not get on; end it, or try again later")
            is_done = step == 0 or (step is None and not self.lacks(space))
            if progress is not None and done > made:
                progress(done, max(done, total))
            made = done
        return made

    def settle(self, timeout_s: float | None) -> Settled:
        """Wait until nothing lacks its vector, or nothing more can be done about it."""
        if self.embedder is None:
            return Settled(0, 0)
        deadline = None if timeout_s is None else time.monotonic() + min(timeout_s, LONGEST_WAIT_S)
        lacking = [space for space in self._store.spaces() if self._count(space)]
        self._go_on(lacking)
        for space in () if self._background else lacking:
            self._embed_here(space, deadline, is_patient=True)
        with self._wake:
            self._wake.wait_for(
                lambda: not self._waiting or self._is_failing or self._is_closing or self._worker is None,
                None if deadline is None else max(0.0, deadline - time.monotonic()),
            )
        left = sum(map(self._count, self._store.spaces()))
        failed = left if self._is_failing else min(left, len(self._refused))
        return Settled(left - failed, failed)

    def close(self, patience_s: float = CLOSE_S, last_s: float = CLOSE_S) -> None:
        """Go on for a moment with what is left, then stop; the rest is embedded when the home is opened again."""
        with self._wake:
            if self._worker is not None and not self._is_closing:
                self._wake.wait_for(lambda: not self._waiting or self._is_failing or self._worker is None, patience_s)
            self._is_closing = True
            self._wake.notify_all()
            worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join(last_s)
            if worker.is_alive():  # it will find the store closed, and ends then; the exit waits for it a little longer
                log.warning("the embedder %s does not come back; what it was given is embedded the next time", self.model)
                return
        atexit.unregister(self._at_exit)

    # the worker

    def _start(self) -> None:
        if self._worker is None and not self._is_closing:
            self._worker = threading.Thread(target=self._work, name="reverie-embedding", daemon=True)
            self._worker.start()

    def _await(self, space: str) -> None:
        self._noticed += 1
        self._waiting[space] = self._noticed

    def _go_on(self, spaces: Sequence[str] = ()) -> None:
        """End a rest, and see to these spaces."""
        with self._wake:
            self._is_failing = False
            if self._background:
                for space in spaces:
                    self._await(space)
                self._start()
            self._wake.notify_all()

    def _work(self) -> None:
        try:
            self._work_on()
        finally:  # or whoever waits would wait for ever
            with self._wake:
                if self._worker is threading.current_thread():
                    self._worker = None
                self._wake.notify_all()

    def _work_on(self) -> None:
        rest = FIRST_REST_S
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._waiting or self._is_closing or not self._looked_around, LINGER_S)
                if self._is_closing or (self._looked_around and not self._waiting):
                    self._worker = None
                    return
                space, noticed = next(iter(self._waiting.items()), (None, 0))
            is_done = True
            try:
                is_done = self._look_around() if space is None else self._turn(space) == 0 or not self.lacks(space)
                rest = FIRST_REST_S
            except StoreError as exc:  # health() tells of a damaged space; the others go on
                if not self._is_closing:
                    log.warning("nothing is embedded in space %r: %s", space, exc)
            except ReverieError as exc:
                log.warning("embedding rests for %.0f s: %s", rest, exc)
                is_done = False
                self._rest(rest)
                rest = min(2 * rest, LONGEST_REST_S)
            with self._wake:
                if is_done and space is not None and self._waiting[space] == noticed:  # else it was written meanwhile
                    del self._waiting[space]
                    self._wake.notify_all()

    def _look_around(self) -> bool:
        """Find what an earlier process left undone."""
        self._looked_around = True
        for space in self._store.spaces():
            if not self._is_closing and self._count(space):
                with self._wake:
                    self._await(space)
        return True

    def _rest(self, seconds: float) -> None:
        with self._wake:
            self._is_failing = True
            self._wake.notify_all()
            self._wake.wait_for(lambda: self._is_closing or not self._is_failing, seconds)

    # one batch

    def _embed_here(self, space: str, deadline: float | None, is_patient: bool = False) -> None:
        """Embed in the caller's own time; what somebody else is embedding is theirs, unless it is to be waited for."""
        self._is_failing = False
        try:
            while (deadline is None or time.monotonic() < deadline) and (step := self._turn(space)) != 0:
                if step is None and not (is_patient and self.lacks(space)):
                    return
        except ReverieError as exc:
            log.warning("what was said is kept, but not embedded: %s", exc)
            self._is_failing = True

    def _turn(self, space: str) -> int | None:
        """Embed one batch and return how many memories that were; None if somebody else is at it, after a moment."""
        with self._store.alone("embedding") as mine:
            if mine:
                return self._step(space)
        with self._wake:
            self._wake.wait_for(lambda: self._is_closing, TURN_S)
        return None

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
        if vectors := self._vectors(due):
            self._store.put_vectors(space, name, vectors)
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

    def _count(self, space: str) -> int:
        """Return how many versions lack their vectors; in a space that cannot be read, none that anyone could embed."""
        try:
            with self._store.reading(space) as view:
                return view.lacking(self.model)
        except StoreError as exc:
            log.warning("nothing is embedded in space %r: %s", space, exc)
            return 0


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


def _stop(embedding: weakref.ref[Embedding]) -> None:
    """Stop before the interpreter does: a model must not be running while it is taken down."""
    kept = embedding()
    if kept is not None:
        kept.close(0.0, EXIT_S)
