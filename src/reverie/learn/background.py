"""Work that nobody waits for: learning from what was said, and giving every memory its vectors.

What is written is noticed here and worked on by one thread, which lives only while there is work. Nothing is queued in memory:
what is left to do is asked of the store, so a crash loses no work and another process may go on with it. Only one process is
at a task at a time; the others wait for it and find the work done.
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

from reverie.errors import Busy, ReverieError, StoreError
from reverie.store.base import Store

INLINE = 64  # memories that a call without background work will see to beyond its own
LINGER_S = 1.0
CLOSE_S, EXIT_S = 2.0, 10.0  # an onnxruntime that is still running when the process ends aborts it
PATIENCE_S = 60.0  # with a process that is at the task and does not get on
LONGEST_WAIT_S = 1e7  # as good as for ever, and what every platform can count
TURN_S = 0.2  # how often to look whether another process has finished
FIRST_REST_S, LONGEST_REST_S = 1.0, 60.0
AROUND_S, BREATH_S = 0.1, 0.001  # who wrote within the one is let through for the other, again and again

log = logging.getLogger(__name__)
logging.getLogger("reverie").addHandler(logging.NullHandler())  # quiet unless the program asks for its logs

Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class Settled:
    """What is still to be learned or embedded, and what could not be."""

    pending: int
    failed: int

    def __add__(self, other: Settled) -> Settled:
        return Settled(self.pending + other.pending, self.failed + other.failed)


class Background:
    """One task over all spaces of a store. What it consists of, `left` and `_step` say."""

    task = ""
    then: Callable[[str], object] | None = None  # what follows in a space where nothing is left to do

    def __init__(self, store: Store, is_on: bool, background: bool = True) -> None:
        self._store, self._is_on, self._background = store, is_on, background
        self._waiting: dict[str, int] = {}  # spaces in which something may be left to do, by when they were last noticed
        self._noticed, self._noticed_at = 0, 0.0
        self._waited_for = 0  # by so many
        self._wake = threading.Condition()
        self._worker: threading.Thread | None = None
        self._is_closing = self._is_failing = self._looked_around = False
        self._at_exit = partial(_stop, weakref.ref(self))
        atexit.register(self._at_exit)
        if is_on and background:
            with self._wake:
                self._start()

    def left(self, space: str) -> int:
        """Return how much is left to do in a space."""
        raise NotImplementedError

    def _step(self, space: str) -> int:
        """Do some of it, alone at it, and return how much that was."""
        raise NotImplementedError

    def _given_up(self) -> int:
        """Return how much of what is left will not be tried again."""
        return 0

    def is_left(self, space: str) -> bool:
        """Tell whether anything is left to do in a space."""
        return self.left(space) > 0

    def is_coming(self, space: str) -> bool:
        """Tell whether something is left to do in a space, and is being done."""
        return self._is_on and not self._is_failing and self._count(space) > self._given_up()

    def notice(self, space: str, own: int = 1) -> None:
        """Take note that a space was written; without background work, see at once to what was.

        What an interrupted import left there is too much to wait for: `settle` sees to it, and `reindex` shows how far it is.
        """
        if not self._is_on:
            return
        if self._background:
            with self._wake:
                self._await(space)
                self._noticed_at = time.monotonic()
                self._start()
                self._wake.notify_all()
        elif self._count(space) <= INLINE + own:
            self._work_here(space, None)

    def catch_up(self, space: str, progress: Progress | None = None) -> int:
        """Do all that is left in a space, and return how much that was, whoever did it."""
        made, total = 0, self._count(space)
        is_done, moved_at = False, time.monotonic()
        while not is_done:
            step = self._turn(space)
            done = made + step if step else max(made, total - self._count(space))
            if step or done > made:
                moved_at = time.monotonic()
            elif step is None and time.monotonic() - moved_at > PATIENCE_S:
                raise Busy(f"another process is {self.task} in this home and does not get on; end it, or try again later")
            is_done = step == 0 or (step is None and not self.is_left(space))
            if progress is not None and done > made:
                progress(done, max(done, total))
            made = done
        return made

    def settle(self, timeout_s: float | None) -> Settled:
        """Wait until nothing is left, or nothing more can be done about it."""
        if not self._is_on:
            return Settled(0, 0)
        deadline = None if timeout_s is None else time.monotonic() + min(timeout_s, LONGEST_WAIT_S)
        lacking = [space for space in self._store.spaces() if self._count(space)]
        self._go_on(lacking)
        for space in () if self._background else lacking:
            self._work_here(space, deadline, is_patient=True)
        with self._wake:
            self._waited_for += 1
            self._wake.wait_for(
                lambda: not self._waiting or self._is_failing or self._is_closing or self._worker is None,
                None if deadline is None else max(0.0, deadline - time.monotonic()),
            )
            self._waited_for -= 1
        left = sum(map(self._count, self._store.spaces()))
        failed = left if self._is_failing else min(left, self._given_up())
        return Settled(left - failed, failed)

    def _is_in_the_way(self) -> bool:
        """Tell whether somebody wrote a moment ago and may go on, while nobody waits for this work."""
        is_waited_for = self._waited_for or self._is_closing or self._worker is not threading.current_thread()
        return not is_waited_for and time.monotonic() - self._noticed_at < AROUND_S

    def _breathe(self) -> None:
        """Let whoever is writing have the interpreter, which else is had in turns of five milliseconds."""
        if self._is_in_the_way():
            time.sleep(BREATH_S)

    def close(self, patience_s: float = CLOSE_S, last_s: float = CLOSE_S) -> None:
        """Go on for a moment with what is left, then stop; the rest is done when the home is opened again."""
        with self._wake:
            if self._worker is not None and not self._is_closing:
                self._wake.wait_for(lambda: not self._waiting or self._is_failing or self._worker is None, patience_s)
            self._is_closing = True
            self._wake.notify_all()
            worker = self._worker
        if worker is not None and worker is not threading.current_thread():
            worker.join(last_s)
            if worker.is_alive():  # it will find the store closed, and ends then; the exit waits for it a little longer
                log.warning("%s does not come back; what it was at is done the next time", self)
                return
        atexit.unregister(self._at_exit)

    # the worker

    def _start(self) -> None:
        if self._worker is None and not self._is_closing:
            self._worker = threading.Thread(target=self._work, name=f"reverie-{self.task}", daemon=True)
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
                is_done = self._look_around() if space is None else self._turn(space) == 0 or not self.is_left(space)
                rest = FIRST_REST_S
                if is_done and space is not None and self.then is not None:
                    self.then(space)
            except StoreError as exc:  # health() tells of a damaged space; the others go on
                if not self._is_closing:
                    log.warning("no %s in space %r: %s", self.task, space, exc)
            except ReverieError as exc:
                log.warning("%s rests for %.0f s: %s", self.task, rest, exc)
                is_done = False
                self._rest(rest)
                rest = min(2 * rest, LONGEST_REST_S)
                with self._wake:  # the others first: what fails here may work there
                    self._waiting |= {space: self._waiting.pop(space)} if space in self._waiting else {}
            except Exception:  # whatever it is, it must not keep the others from being worked on
                log.exception("%s failed in space %r, which is left alone until it is written again", self.task, space)
            with self._wake:
                if is_done and space is not None and self._waiting.get(space) == noticed:  # else it was written meanwhile
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

    def _work_here(self, space: str, deadline: float | None, is_patient: bool = False) -> None:
        """Work in the caller's own time; what somebody else is at is theirs, unless it is to be waited for."""
        self._is_failing = False
        try:
            while (deadline is None or time.monotonic() < deadline) and (step := self._turn(space)) != 0:
                if step is None and not (is_patient and self.is_left(space)):
                    return
        except ReverieError as exc:
            log.warning("what was said is kept, but %s failed: %s", self.task, exc)
            self._is_failing = True

    def _turn(self, space: str) -> int | None:
        """Take one step and return how much was done; None if somebody else is at it, after a moment."""
        with self._store.alone(self.task) as mine:
            if mine:
                return self._step(space)
        with self._wake:
            self._wake.wait_for(lambda: self._is_closing, TURN_S)
        return None

    def _count(self, space: str) -> int:
        """Return how much is left; in a space that cannot be read, nothing that anyone could do."""
        try:
            return self.left(space)
        except StoreError as exc:
            log.warning("no %s in space %r: %s", self.task, space, exc)
            return 0


def settle_all(works: Iterable[Background], timeout_s: float | None) -> Settled:
    """Wait until nothing is left of several tasks, one after the other, all within the time given; one may come twice."""
    deadline = None if timeout_s is None else time.monotonic() + min(timeout_s, LONGEST_WAIT_S)
    settled: dict[Background, Settled] = {}
    for work in works:
        settled[work] = work.settle(None if deadline is None else max(0.0, deadline - time.monotonic()))
    return sum(settled.values(), Settled(0, 0))


def _stop(background: weakref.ref[Background]) -> None:
    """Stop before the interpreter does: a model must not be running while it is taken down."""
    kept = background()
    if kept is not None:
        kept.close(0.0, EXIT_S)
