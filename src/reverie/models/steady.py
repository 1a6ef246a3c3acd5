"""Asking a language model steadily: what may pass is tried again, one that is down is left alone, and budgets hold.

A question is tried three times at most, with longer and longer pauses, or those that the server asks for. After five questions
in a row that failed so, none is sent for a minute; then one is, once, and shows whether the model is back. What the server will
never answer is not tried again and does not count: it says nothing about the server. No other model ever steps in.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from reverie.errors import ModelError, ReverieError
from reverie.models.base import Answer, Asked, Model
from reverie.models.costs import Costs
from reverie.models.server import LONGEST_WAIT_S

TRIES = 3
PAUSE_S = 1.0  # before the second try, halved by chance; twice that before the third
FAILURES = 5
REST = timedelta(minutes=1)


class Steady:
    """A model that is asked again where that may help, rested where it does not, and paid for within the budget."""

    def __init__(
        self, model: Model, costs: Costs, clock: Callable[[], datetime], sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self.name = model.name
        self._model, self._costs, self._clock, self._sleep = model, costs, clock, sleep
        self._lock = threading.Lock()
        self._failures = 0
        self._rests_until: datetime | None = None

    def __repr__(self) -> str:
        return f"Steady({self._model!r})"

    def ask(self, asked: Asked) -> Answer:
        """Return the answer, noting what it cost; raise `BudgetExceeded` before anything is sent where nothing is left."""
        self._costs.check(self.name)
        tries = self._tries_now()
        for attempt in range(1, tries + 1):
            try:
                answer = self._asked_once(asked)
            except ModelError as exc:
                if not exc.may_pass or exc.is_set_wrong or attempt == tries or (exc.wait_s or 0) > LONGEST_WAIT_S:
                    self._ended(exc.may_pass)
                    raise
                pause_s = PAUSE_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # so that many do not come back at once
                self._sleep(pause_s if exc.wait_s is None else exc.wait_s)
            else:
                self._ended(False)
                self._costs.note(self.name, asked.purpose, answer)
                return answer
        raise AssertionError("the last try returns or raises")

    def _asked_once(self, asked: Asked) -> Answer:
        try:
            answer: object = self._model.ask(asked)
        except ReverieError:
            raise
        except Exception as exc:  # it may be anybody's, and raise anything; its message may hold what was asked
            raise ModelError(
                f"{self.name} failed with a {type(exc).__name__}; let it raise reverie.ModelError instead"
            ) from exc
        if not isinstance(answer, Answer):
            raise ModelError(f"{self.name} returned a {type(answer).__name__}; ask() must return a reverie.models.base.Answer")
        return answer

    def _tries_now(self) -> int:
        """Return how often a question may be tried: once after a rest; during one none may be asked."""
        now = self._clock()
        with self._lock:
            if self._rests_until is None:
                return TRIES
            if now < self._rests_until:
                left_s = (self._rests_until - now).total_seconds()
                raise ModelError(
                    f"{self.name} failed {self._failures} times in a row and is asked again in {left_s:.0f} s",
                    may_pass=True,
                    wait_s=left_s,
                )
            self._rests_until = now + REST  # the others wait for what this one finds
            return 1

    def _ended(self, is_down: bool) -> None:
        """Count a question that failed because the model is down; any other end shows that it is not."""
        now = self._clock()
        with self._lock:
            self._failures = self._failures + 1 if is_down else 0
            self._rests_until = now + REST if self._failures >= FAILURES else None
