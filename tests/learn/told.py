"""What the tests of learning have in common: minds that learn inside the call, and a model that takes everything for a fact."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import reverie
from reverie import Memory, Mind, Scope
from reverie.models.base import Answer, Asked
from reverie.store.base import Held
from tests.contracts.worlds import Clock

SPACE = "guild"
OWNER = Scope.owner(SPACE)
ANA, LUIS = Scope(SPACE, person="ana-1"), Scope(SPACE, person="luis-2")
ANA_IN_ROOM, LUIS_IN_ROOM = Scope(SPACE, "general", person="ana-1"), Scope(SPACE, "general", person="luis-2")


def opened(home: str | Path = ":memory:", clock: Clock | None = None, model: object = None, background: bool = False) -> Mind:
    """Open a mind that embeds nothing and learns inside the call, unless told otherwise."""
    return reverie.open(home, embedder="none", clock=clock or Clock(), model=model, background=background)


def facts(mind: Mind, scope: Scope = OWNER, retired: bool = False) -> list[Memory]:
    """Return what is known in a space, oldest first."""
    return list(mind.scan(scope, kinds=["fact"], retired=retired))


def texts(memories: Sequence[Memory]) -> list[str]:
    return [memory.text for memory in memories]


def sightings(mind: Mind, id: str) -> list[Held]:
    with mind._store.reading(SPACE) as view:
        return view.sightings(id)


Facts = list[Mapping[str, object]]


def all_of_it(message: str, **other: object) -> Facts:
    """Take a message for a fact, word for word."""
    fact = {"fact": message, "quote": message, "type": "other", "topic": "", "about": "speaker", "confidence": 0.8}
    return [fact | other]


class Listener:
    """A model that finds in a message what `says` makes of it; it waits until it is `open`, and fails with `error`."""

    name = "listener"
    error: Exception | None

    def __init__(self, says: Callable[[str], Facts] = all_of_it, is_open: bool = True) -> None:
        self.says, self.error = says, None
        self.heard: list[str] = []
        self.asked: list[Asked] = []
        self.open, self.is_asked = threading.Event(), threading.Event()
        if is_open:
            self.open.set()

    def ask(self, asked: Asked) -> Answer:
        if asked.purpose != "extract":
            return Answer("what was said that day", 1, 1)
        message = asked.text.splitlines()[1]
        self.is_asked.set()
        self.open.wait(60)
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
        self.heard.append(message)
        return Answer(json.dumps({"facts": self.says(message)}), 1, 1)
