"""Changes that wait for a person's yes.

A model may not forget anything; it may propose to. A proposal names a memory and its version, never its words: those are read
when it is shown. Approving it takes the hash of what was shown, so that nobody says yes to something that has changed since.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from reverie.errors import BadInput, Conflict, NotFound
from reverie.learn import revise
from reverie.learn.tellings import resting_only_on
from reverie.memory import check
from reverie.memory.scope import Scope, meet, visible
from reverie.memory.trace import Memory, new_tail, space_mark
from reverie.memory.working import State, place_of
from reverie.store.base import Draft, Store, View, Where

KIND = "proposal"
VERBS = ("forget",)


@dataclass(frozen=True, slots=True)
class Change:
    """What would be done, to which version of which memory; `also` are the ids of what rests on it alone and goes with it."""

    verb: str
    id: str
    version: int
    text: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that waits; `hash` stands for exactly what is shown here."""

    id: str
    change: Change
    reason: str | None
    hash: str
    by: str
    at: datetime


def unknown(id: str) -> NotFound:
    """Return the error for a proposal that is not here."""
    return NotFound(f"no proposal {id!r} here; proposals() lists them")


def propose(store: Store, verb: str, id: str, reason: str | None, here: Scope, by: str, now: datetime) -> Proposal:
    """Put a change before a person; the same one again is the same proposal."""
    check.one_of(verb, VERBS, "verb")
    reason = check.optional_text(reason, "reason")
    made: list[Proposal] = []

    def entries(view: View) -> list[State]:
        memory = revise.active(view, id, here)
        for known in _listed(view, here):
            if (known.change.verb, known.change.id, known.change.version) == (verb, id, memory.version):
                made.append(known)
                return []
        name = f"p-{space_mark(here.space)}-{new_tail(now)}"
        value = {"verb": verb, "memory": id, "version": memory.version, "reason": reason, "by": by}
        place = meet((memory.audience, place_of(here))) or memory.audience  # it tells of the memory, and may quote who proposes
        state = State(KIND, place, name, value, now)
        made.append(_shown(view, state, memory, here))
        return [state]

    store.put_state(here.space, entries)
    return made[-1]


def listed(store: Store, here: Scope) -> tuple[Proposal, ...]:
    """Return what waits and still could be done, oldest first."""
    with store.reading(here.space) as view:
        return tuple(_listed(view, here))


def reject(store: Store, id: str, here: Scope) -> None:
    """Take a proposal off the list."""
    with store.reading(here.space) as view:
        state = _state(view, id, here)
    store.put_state(here.space, (), [state])


def approve(draft: Draft, id: str, hash: str, here: Scope) -> None:
    """Do what was proposed; refused if it is no longer what was shown. Done, it is no longer listed: its version is retired."""
    state = _state(draft, id, here)
    memory = _memory(draft, state, here)
    if memory is None or _shown(draft, state, memory, here).hash != hash:
        raise Conflict(f"what {id} proposes has changed since it was shown; look at proposals() again")
    revise.forget(draft, [memory])


def _listed(view: View, here: Scope) -> list[Proposal]:
    shown = [(state, _memory(view, state, here)) for state in view.states(here, KIND)]
    return sorted((_shown(view, state, memory, here) for state, memory in shown if memory), key=lambda one: one.id)


def _state(view: View, id: str, here: Scope) -> State:
    if not isinstance(id, str):
        raise BadInput(f"the id of a proposal must be a str, not {type(id).__name__}")
    for state in view.states(here, KIND):
        if state.name == id and visible(state.place, here):
            return state
    raise unknown(id)


def _memory(view: View, state: State, here: Scope) -> Memory | None:
    """Return the version that a proposal is about, if it is still the one in force and to be seen here."""
    if not {"verb", "memory", "version", "reason", "by"} <= set(state.value):  # an import may bring anything
        return None
    memory = view.get(str(state.value["memory"]), Where(here))
    return memory if memory is not None and memory.version == state.value["version"] else None


def _shown(view: View, state: State, memory: Memory, here: Scope) -> Proposal:
    resting = tuple(sorted(id for id in resting_only_on(view, [memory]) if view.get(id, Where(here))))
    change = Change(str(state.value["verb"]), memory.id, memory.version, memory.text, resting)
    reason = state.value["reason"]
    shown = repr((state.name, change, reason))
    digest = hashlib.sha256(shown.encode()).hexdigest()[:16]
    return Proposal(
        state.name, change, None if reason is None else str(reason), digest, str(state.value["by"]), state.updated_at
    )
