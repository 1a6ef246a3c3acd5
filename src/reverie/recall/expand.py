"""More words for a question, from whoever is asked for them (K8): `open(expand=callable)`.

Off unless a callable is given, and known to hurt where few hits are wanted: words that were not said bring back what was not
asked for. It never fails a recall and never holds one up for longer than `patience_s`: what comes later is there for the next
time. What comes back may be anything at all, so it is cut to a few short words, and to those that the question lacks.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import islice

from reverie.memory.language import fold, words_of
from reverie.memory.scope import Scope

MOST, LONGEST = 20, 60  # words, and characters of one
HELD = 100  # words of an answer, some of which the question will have
READ = 10_000  # characters or pieces of an answer that are looked at
BEGINNING = 100  # characters of a question that tell it from others
AT_ONCE = 4  # questions being asked; each holds a thread
PATIENCE_S = 2.0
log = logging.getLogger(__name__)
_APART = re.compile(r"[\s,;|、，；]+")
_AROUND = "\"'`“”‘’«».:!?¡¿()[]{}<>*•-–—_"

Ask = Callable[[str], Iterable[str] | str]
Key = tuple[Scope | None, str]


class Expansion:
    """Asks for related words, once for each question, and keeps the last `size` answers; safe to use from any thread."""

    def __init__(self, ask: Ask, size: int = 1000, patience_s: float = PATIENCE_S) -> None:
        self._ask, self._size, self._patience_s = ask, size, patience_s
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, tuple[str, ...]] = OrderedDict()
        self._asked: dict[Key, Future[tuple[str, ...]]] = {}

    def words(self, question: str, scope: Scope | None = None) -> tuple[str, ...]:
        """Return words that may help to find what a question is about and that it does not have; none if that fails.

        Each scope has answers of its own: what others asked is nobody's business.
        """
        found = self._found(question, scope) if question.strip() else ()
        had = words_of(question) if found else frozenset[str]()
        return tuple(word for word in found if not words_of(word) <= had)[:MOST]

    def let_go(self) -> None:
        """Empty what is kept of questions; after an erase. Answers under way are not kept either."""
        with self._lock:
            self._known.clear()
            self._asked.clear()

    def _found(self, question: str, scope: Scope | None) -> tuple[str, ...]:
        key = scope, question[:BEGINNING].lower()
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
            answer = self._asked.get(key)
            if answer is None:
                if len(self._asked) >= AT_ONCE:
                    log.warning("recall goes on without more words: %d questions wait for theirs", AT_ONCE)
                    return ()
                answer = Future()
                # A daemon: whoever is asked may never answer, and must not keep the process from ending.
                thread = threading.Thread(target=self._learn, args=(key, question, answer), name="reverie-expand", daemon=True)
                try:
                    thread.start()
                except RuntimeError as exc:  # there are too many, or the process is ending
                    log.warning("recall goes on without more words: %s", exc)
                    return ()
                self._asked[key] = answer  # before it ends, since that takes the lock
        try:
            return answer.result(self._patience_s)
        except TimeoutError:
            log.warning("recall goes on without more words: none came within %g s", self._patience_s)
            return ()

    def _learn(self, key: Key, question: str, answer: Future[tuple[str, ...]]) -> None:
        words: tuple[str, ...] | None = None
        try:
            words = cleaned(self._ask(question))
        except Exception as exc:  # it may be anybody's, and raise anything; its message may hold the question
            log.warning("recall goes on without more words: %s", type(exc).__name__)
        finally:
            with self._lock:
                if self._asked.get(key) is answer:
                    del self._asked[key]
                    if words is not None:
                        self._known[key] = words
                        if len(self._known) > self._size:
                            self._known.popitem(last=False)
            answer.set_result(words or ())


def cleaned(answer: Iterable[str] | str) -> tuple[str, ...]:
    """Return the different words of an answer that may be anything: so many, and none longer than 60 characters."""
    pieces = [answer[:READ]] if isinstance(answer, str) else (piece[:READ] for piece in islice(answer, READ))
    words: dict[str, str] = {}
    for word in _words(pieces):
        if len(word) <= LONGEST and words_of(word):
            words.setdefault(fold(word), word)
        if len(words) == HELD:
            break
    return tuple(words.values())


def _words(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        for word in _APART.split(piece):
            yield "".join(filter(str.isprintable, word)).strip(_AROUND)
