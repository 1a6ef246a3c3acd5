"""The action log (C12): what learning and embedding did, as kinds, ids and codes; never a text.

One line an action in `actions.jsonl`, for whoever runs the memory. Losing a line loses nothing else, so nothing waits for the
disk and a log that cannot be written is only spoken of in the program's own.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

log = logging.getLogger(__name__)

FILE = "actions.jsonl"
ROOM = 1 << 20  # bytes; then the file before is let go and a new one begun
Kind = Literal["memory_fact", "memory_extract_call", "memory_extract_error", "memory_embedding_call", "memory_embedding_error"]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that was done, to which memory and with what code."""

    at: datetime
    kind: str
    space: str
    id: str | None = None
    code: str | None = None


class Actions:
    """Keeps the last actions, in a home or (without a path) in memory."""

    def __init__(self, path: Path | None, clock: Callable[[], datetime]) -> None:
        self._path, self._clock = path, clock
        self._held: deque[Action] = deque(maxlen=1000)

    def note(self, kind: Kind, space: str, id: str | None = None, code: str | None = None) -> None:
        """Keep an action."""
        self.note_all([(kind, space, id, code)])

    def note_all(self, actions: list[tuple[Kind, str, str | None, str | None]]) -> None:
        """Keep several, in one go: lines of several processes do not mix."""
        at = self._clock()
        if self._path is None:
            self._held.extend(Action(at, *one) for one in actions)
            return
        rows = [
            {"at": at.isoformat(), "kind": kind, "space": space, "id": id, "code": code} for kind, space, id, code in actions
        ]
        lines = "".join(json.dumps({name: value for name, value in row.items() if value}) + "\n" for row in rows)
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(handle, lines.encode())
                is_full = os.fstat(handle).st_size > ROOM
            finally:
                os.close(handle)
            if is_full:
                os.replace(self._path, self._path.with_suffix(".old"))
        except OSError as exc:
            log.warning("the action log %s cannot be written: %s", self._path, exc.strerror)

    def last(self, limit: int = 50) -> tuple[Action, ...]:
        """Return the last actions, newest first."""
        if self._path is None:
            return tuple(reversed(self._held))[:limit]
        found: list[Action] = []
        for path in (self._path, self._path.with_suffix(".old")):
            try:
                lines = path.read_text("utf-8", "replace").splitlines()
            except OSError:
                continue
            found += filter(None, map(_read, reversed(lines)))
            if len(found) >= limit:
                break
        return tuple(found[:limit])


def _read(line: str) -> Action | None:
    try:
        row = json.loads(line)
        return Action(datetime.fromisoformat(row["at"]), row["kind"], row["space"], row.get("id"), row.get("code"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # cut off by a crash
