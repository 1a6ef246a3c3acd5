"""When episodes are written: now and then while a conversation goes on, and at once where what they tell was taken back.

What comes out does not depend on when it is done, so it is done seldom: after some tens of turns, after an import, and whenever
somebody waits for all to be settled. A language model tells them again in the background, one at a time; nobody waits for it
but who asks for all to be settled, and one that is down is asked the next time.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from datetime import datetime
from importlib.resources import files
from string import Template

from reverie.errors import ReverieError
from reverie.learn import segment
from reverie.learn.background import LONGEST_WAIT_S, Background, Settled
from reverie.learn.conversations import untold as untold_in
from reverie.memory.scope import Scope
from reverie.models.base import Asked, Embedder, Model
from reverie.store.base import Store, Where

EVERY = 32  # times that a space was written, from one look at its conversations to the next

log = logging.getLogger(__name__)


def summariser(model: Model | None) -> segment.Summarise | None:
    """Return how a language model tells what turns were about; None without one."""
    if model is None:
        return None
    prompt = Template((files("reverie.models") / "prompts" / "summary.txt").read_text("utf-8"))

    def summarise(turns: str) -> str:
        nonce = secrets.token_hex(4)
        text = f"[turns {nonce}]\n{turns}\n[/turns {nonce}]"
        return model.ask(Asked(prompt.substitute(nonce=nonce), text, "summary", max_tokens=300)).text

    return summarise


class Episodes(Background):
    """Writes the episodes of spaces that were written."""

    task = "episodes"

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        summarise: segment.Summarise | None,
        clock: Callable[[], datetime],
        is_on: bool = True,
        background: bool = True,
    ) -> None:
        self._embedder, self.summarise, self._clock = embedder, summarise, clock
        self._written: dict[str, int] = {}  # how often each space was, since its conversations were last looked at
        self._after: tuple[Background, ...] = ()
        self._counting = threading.Lock()
        super().__init__(store, is_on, background)

    def __str__(self) -> str:
        return self.task

    def left(self, space: str) -> int:
        with self._store.reading(space) as view:
            untold = len(untold_in(view)) if self.summarise else 0
        return untold + int(self._written.get(space, 0) >= EVERY)

    def notice(self, space: str, own: int = 1) -> None:
        self._noticed_at = time.monotonic()
        with self._counting:
            self._written[space] = self._written.get(space, 0) + own
        if not self._background:  # else when what was said is learned: `look` is called then
            self.look(space)

    def follow(self, *works: Background) -> None:
        """Come after these: what is learned and embedded need be looked at only once."""
        self._after = works
        for work in works:
            work.then = self.look

    def look(self, space: str) -> None:
        """See to a space if it was written often enough, and nothing that comes before is left to do there."""
        if self._written.get(space, 0) >= EVERY and not any(work.is_coming(space) for work in self._after):
            super().notice(space)

    def rewrite(self, space: str) -> None:
        """Put right at once what tells of something that was taken back or changed; a language model comes to it later."""
        with self._store.reading(space) as view:
            has_any = bool(view.count(Where(Scope.owner(space), ("episode",))))
        if has_any and self._is_on and (not self._write(space) or self.left(space)):
            super().notice(space)

    def settle(self, timeout_s: float | None) -> Settled:
        deadline = None if timeout_s is None else time.monotonic() + min(timeout_s, LONGEST_WAIT_S)
        for space in self._store.spaces() if self._is_on else ():  # an open one may be due where nothing was written since
            if deadline is not None and time.monotonic() >= deadline:
                break
            self._write(space)
        return super().settle(None if deadline is None else max(0.0, deadline - time.monotonic()))

    def _step(self, space: str) -> int:
        self._write(space)
        return segment.tell(self._store, space, self._clock(), self.summarise) if self.summarise else 0

    def _write(self, space: str) -> bool:
        """Write what happened in a space, unless somebody else is at it."""
        with self._counting:
            self._written.pop(space, None)
        try:
            has_model = self.summarise is not None
            written = segment.write_episodes(self._store, space, self._embedder, self._clock(), has_model, self._breathe)
            return written is not None
        except ReverieError as exc:  # the turns are there, and the next look finds them
            log.warning("no episodes are written in space %r: %s", space, exc)
            return True
