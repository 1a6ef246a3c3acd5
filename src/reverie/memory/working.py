"""What is held only for now: working memory, scratchpads, the chat's context, the last few turns.

These are replaced rather than remembered: outside commits, `as_of` and undo; inside export and erase. Each belongs to the
session it was written in: in a room everyone shares it, in private it is one person's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reverie.errors import BadInput
from reverie.memory import check
from reverie.memory.scope import Scope

STALE_AFTER = timedelta(days=7)
RECENT_TURNS = 20
RECENT_FOR = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class State:
    """One entry of the keyed store; `name` tells entries of one kind and place apart (a task, a person's id)."""

    kind: str
    place: Scope
    name: str
    value: Mapping[str, object]
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Working:
    """The scratchpad of a session (K1)."""

    task: str | None = None
    context: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    notes: str | None = None
    updated_at: datetime | None = None


def place_of(scope: Scope) -> Scope:
    """Return where session state of `scope` is kept: by channel and session, or in private by session and person."""
    return replace(scope, person=None if scope.channel else scope.person, sees_all=False)


def is_stale(updated_at: datetime, now: datetime) -> bool:
    """Tell whether working memory has gone a week without an update."""
    return now - updated_at > STALE_AFTER


def parse(text: str) -> Working:
    """Read the form people and models write: `Task:`, `Context:` and `Pending:` lines; the rest is notes.

    >>> parse("Task: ship it\\nPending: tests\\nPending: docs\\nask Ana first")
    Working(task='ship it', context=(), pending=('tests', 'docs'), notes='ask Ana first', updated_at=None)
    """
    task: str | None = None
    lists: dict[str, list[str]] = {"context": [], "pending": []}
    notes: list[str] = []
    for line in check.text(text, "working memory").splitlines():
        head, colon, rest = line.strip().removeprefix("- ").partition(":")
        field, rest = head.strip().casefold(), rest.strip()
        if colon and field == "task" and rest:
            task = rest
        elif colon and field in lists and rest:
            lists[field].append(rest)
        elif line.strip():
            notes.append(line.strip())
    return Working(task, tuple(lists["context"]), tuple(lists["pending"]), "\n".join(notes) or None)


def to_value(working: Working) -> dict[str, object]:
    """Return the JSON form."""
    return {
        "task": check.optional_text(working.task, "task"),
        "context": [check.text(line, "context and pending lines") for line in working.context],
        "pending": [check.text(line, "context and pending lines") for line in working.pending],
        "notes": check.optional_text(working.notes, "notes"),
    }


def from_value(value: Mapping[str, object], updated_at: datetime) -> Working:
    """Read the JSON form; also the other shape, `{content, updatedAt}`. What cannot be read in it is left out."""
    if isinstance(content := value.get("content"), str) and content.strip():
        return replace(parse(content), updated_at=updated_at)
    context, pending = (lines(one if isinstance(one, list | str) else None) for one in map(value.get, ("context", "pending")))
    return Working(_line(value.get("task")), context, pending, _line(value.get("notes")), updated_at)


def text_in(value: Mapping[str, object]) -> str | None:
    """Return the text that a scratchpad or a chat's context is."""
    text = value.get("text")
    return text if isinstance(text, str) else None


def lines(value: object) -> tuple[str, ...]:
    """Return a tuple of lines; a single str counts as one."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping):
        return tuple(str(line) for line in value)
    raise BadInput(f"context and pending take a list of lines, not {type(value).__name__}")


def _line(value: object) -> str | None:
    return None if value is None else str(value)
