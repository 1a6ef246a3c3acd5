"""Messages with the facts they teach, and how well something that reads them does.

A message has `text`, `speaker`, `at`, the `facts` it must teach and those it `may`. What was made of it counts as right if it
has all the words that one of these `says`, case and accents aside, each used once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reverie.memory.language import fold, plain

Message = Mapping[str, Any]


@dataclass(slots=True)
class Score:
    """How a corpus was read; `notes` name each miss."""

    made: int = 0
    right: int = 0
    expected: int = 0
    found: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Of what was made of the messages, the share that is right."""
        return self.right / self.made if self.made else 1.0

    @property
    def recall(self) -> float:
        """Of what they teach, the share that was found."""
        return self.found / self.expected if self.expected else 1.0


def read(path: Path) -> list[Message]:
    """Return the messages of a file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def score(messages: Iterable[Message], taught: Callable[[Message], Sequence[str]]) -> Score:
    """Return how well what is made of each message fits it."""
    total = Score()
    for message in messages:
        left = list(taught(message))
        total.made += len(left)
        total.expected += len(message["facts"])
        for fact in (*message["facts"], *message["may"]):
            is_due = fact in message["facts"]
            made = next((text for text in left if _has_words(text, fact["says"])), None)
            if made is not None:
                left.remove(made)
                total.right += 1
                total.found += is_due
            elif is_due:
                total.notes.append(f"{message['id']}: nothing says {fact['says']}")
        total.notes += [f"{message['id']}: {text!r} was not said" for text in left]
    return total


def _has_words(text: str, says: Sequence[str]) -> bool:
    words = f" {_bare(text)} "
    return all(f" {_bare(part)} " in words for part in says)


def _bare(text: str) -> str:
    return " ".join("".join(sign if sign.isalnum() else " " for sign in plain(fold(text))).split())
