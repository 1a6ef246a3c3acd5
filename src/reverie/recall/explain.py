"""What a recall returns: hits, and for each the reasons it is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reverie.memory.trace import Memory


@dataclass(frozen=True, slots=True)
class Arm:
    """Where one way of looking put a hit."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Why:
    """Why a hit is where it is; a way of looking that did not find it, or was off, is None."""

    words: Arm | None = None
    meaning: Arm | None = None
    time: Arm | None = None
    neighbours: Arm | None = None
    matched: tuple[str, ...] = ()
    boosts: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found; `current` is False when the time it held has passed."""

    memory: Memory
    score: float
    current: bool
    source: str | None
    why: Why


@dataclass(frozen=True, slots=True)
class Cue:
    """What was understood of the question."""

    text: str
    words: tuple[str, ...]
    time: tuple[datetime, datetime] | None = None


@dataclass(frozen=True, slots=True)
class Recollection:
    """What came to mind."""

    id: str
    cue: Cue
    hits: tuple[Hit, ...]
    confidence: str
    certainty: float
    arms: Mapping[str, str] = field(hash=False)

    def __str__(self) -> str:
        if not self.hits:
            return f"nothing said about {self.cue.text!r}"
        lines = (f"{hit.score:4.2f}  {hit.memory}{'' if hit.current else '  (no longer)'}" for hit in self.hits)
        return "\n".join([f"{self.confidence} confidence ({self.certainty:.2f})", *lines])
