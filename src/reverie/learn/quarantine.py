"""What was refused, kept aside for a month in case a person says otherwise (R7).

It is kept as session state: no search finds it, no prompt shows it, and who may not see what it would have become does not see
it either. It goes with what it rests on when that is erased.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reverie.errors import BadInput, NotFound
from reverie.memory.scope import Scope, visible
from reverie.memory.trace import Memory, Source, from_json, new_tail, space_mark, to_json
from reverie.memory.working import State
from reverie.store.base import Draft, Store, View

KIND = "quarantine"
KEPT_FOR = timedelta(days=30)
MOST = 200  # items of one author: whoever floods it pushes out their own


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A refused item: what it would have become, why it did not, and where it came from."""

    id: str
    memory: Memory
    reason: str
    source: Source
    by: str
    at: datetime


def unknown(id: str) -> NotFound:
    """Return the error for an item that is not here."""
    return NotFound(f"nothing with the id {id!r} is in quarantine here; quarantine() lists what is")


def put(draft: Draft, refused: Memory, reason: str, by: str) -> Quarantined:
    """Keep a refused memory aside; the same one again is the same item."""
    places = [state for state in draft.states(Scope.owner(draft.space), KIND) if _is_read(state.value)]
    old = [state for state in places if is_over(state.updated_at, draft.at)]
    places = [state for state in places if state not in old]
    for state in places:
        is_same = (state.value["reason"], state.place, _says(state.value)) == (reason, refused.audience, _says(refused))
        if is_same and (known := _read(state)):
            return known
    own = sorted((state for state in places if state.value["by"] == by), key=lambda state: state.name)
    number = 1 + max((int(str(state.value["number"])) for state in places), default=0)  # many may come at one moment
    name = f"q-{space_mark(draft.space)}-{new_tail(draft.at, number % 1_000_000)}"
    value = {
        "memory": to_json(replace(refused, id=name, commit=name)),
        "reason": reason,
        "by": by,
        "rests_on": list(refused.source.memory_ids),
        "number": number,
    }
    state = State(KIND, refused.audience, name, value, draft.at)
    draft.put_state([state], [*old, *own[: max(0, len(own) + 1 - MOST)]])
    return _item(state)


def is_over(kept_at: datetime, now: datetime) -> bool:
    """Tell whether an item was kept for as long as any is."""
    return now - kept_at > KEPT_FOR


def _says(refused: Memory | Mapping[str, object]) -> tuple[object, ...]:
    """Return what makes two items one, without reading all of it: there may be hundreds."""
    named = ("kind", "subject", "text", "trust")
    if isinstance(refused, Memory):
        return tuple(getattr(refused, name) for name in named)
    memory = refused["memory"]
    return tuple(memory.get(name) for name in named) if isinstance(memory, dict) else ()


def listed(store: Store, here: Scope, now: datetime) -> tuple[Quarantined, ...]:
    """Return what is kept aside and visible in a scope, oldest first."""
    with store.reading(here.space) as view:
        items = [_read(state) for state in view.states(here, KIND) if visible(state.place, here)]
    return tuple(sorted((item for item in items if item and not is_over(item.at, now)), key=lambda item: (item.at, item.id)))


def find(view: View, id: str, here: Scope) -> tuple[Quarantined, State]:
    """Return an item and where it is kept."""
    if not isinstance(id, str):
        raise BadInput(f"the id of a quarantined item must be a str, not {type(id).__name__}")
    for state in view.states(here, KIND):
        if state.name == id and visible(state.place, here) and (item := _read(state)):
            return item, state
    raise unknown(id)


def drop(store: Store, id: str, here: Scope) -> None:
    """Let go of an item."""
    with store.reading(here.space) as view:
        _, state = find(view, id, here)
    store.put_state(here.space, (), [state])


def _is_read(value: Mapping[str, object]) -> bool:
    is_numbered = isinstance(value.get("number"), int)
    return is_numbered and {"memory", "reason", "by", "rests_on"} <= set(value)


def _read(state: State) -> Quarantined | None:
    try:
        return _item(state) if _is_read(state.value) else None
    except (BadInput, LookupError, TypeError, ValueError, AttributeError):
        return None  # an import may bring anything


def _item(state: State) -> Quarantined:
    value = state.value["memory"]
    memory = from_json(value if isinstance(value, dict) else {}, state.place.space)
    return Quarantined(state.name, memory, str(state.value["reason"]), memory.source, str(state.value["by"]), state.updated_at)
