"""What the contract suite is told in: a clock that does as it is bidden, and every kind of store."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reverie import Mind, Recollection, Scope
from reverie.store.base import Draft, Store, Where
from reverie.store.in_memory import InMemoryStore
from reverie.store.sqlite import SqliteStore

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
KINDS = ("memory", "folder")
EVERYTHING = 1_000

NewMind = Callable[[str], Mind]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> datetime:
        """Let time pass, or run back, and return the moment half-way."""
        half = timedelta(**time) / 2
        self.now += half
        between = self.now
        self.now += half
        return between


def store_of(kind: str, home: Path) -> Store:
    """Return an empty store of one kind."""
    return InMemoryStore() if kind == "memory" else SqliteStore(home)


def texts(found: Recollection) -> set[str]:
    """Return what was found, without order."""
    return {hit.memory.text for hit in found.hits}


def found(mind: Mind, cue: str, scope: Scope | None = None) -> set[str]:
    """Return the texts of all that a cue finds."""
    return texts(mind.recall(cue, scope=scope, limit=EVERYTHING))


def add(draft: Draft, text: str, *, audience: Scope | None = None) -> str:
    """Add a plain fact to a commit being written, and return its id."""
    from reverie.learn import ingest

    here = Scope(draft.space)
    return draft.add(ingest.thing(text, scope=here, now=draft.at, audience=audience)).id


def owner(space: str = "default") -> Where:
    """Return a question about all that is believed now in a space."""
    return Where(Scope.owner(space))
