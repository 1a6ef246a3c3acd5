"""Whether a memory helped: what people say of it, and how much surer or less sure that makes of it.

Who said so, and when, is noted beside the memory, once per author and day, for the night to go by. What helped is seen once
more, faintly; of what did not, every telling counts less from now on, in a new version. Only one's own memories, and those
about oneself, get surer or less sure: anybody else's word is noted and moves nothing. Nor does it move a turn, which was said
whether or not it helped; and what is pinned gets no less sure.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime

from reverie.errors import BadInput, Refused
from reverie.learn import revise
from reverie.learn.ingest import has_opted_out
from reverie.learn.tellings import weigh
from reverie.memory.scope import Scope, meet
from reverie.memory.trace import Memory, Sighting, effective_confidence
from reverie.memory.working import State
from reverie.store.base import Draft, Store, View, key_of

KIND = "feedback"
SIGNS = ("positive", "negative")
SEEN_AGAIN = 0.2  # how sure one yes alone would make
LESS_SURE = 0.8  # of how sure it was before one no
LEAST = 0.05

Changing = Callable[[Scope, str], AbstractContextManager[Draft]]


def give(store: Store, changing: Changing, id: str, sign: str, here: Scope, now: datetime) -> Memory:
    """Note that a memory helped or did not, and return it as it is then."""
    if sign not in SIGNS:
        raise BadInput(f"feedback is 'positive' or 'negative', not {sign!r:.80}")
    by, is_new = here.person or "owner", False

    def entries(view: View) -> list[State]:
        nonlocal is_new
        memory = revise.active(view, id, here)
        if has_opted_out(view, here.person):
            raise Refused(f"{here.person!r} asked not to be remembered; nothing was kept")
        name = f"{id} {by}"
        place = meet((memory.audience, Scope(here.space, person=here.person))) or memory.audience
        known = view.state(KIND, place, name)
        value = dict(known.value) if known else {"memory": id, "by": by, **dict.fromkeys(SIGNS, 0)}
        is_new = known is None or value.get("last") != sign or known.updated_at.date() != now.date()
        if not is_new:
            return []
        value |= {sign: _number(value.get(sign)) + 1, "last": sign}
        return [State(KIND, place, name, value, now)]

    store.put_state(here.space, entries)
    with changing(here, f"{sign} feedback") as draft:
        memory = revise.active(draft, id, here)
        if is_new and _is_theirs(memory, here):
            (_surer if sign == "positive" else _less_sure)(draft, memory)
        return revise.active(draft, id, here)


def _is_theirs(memory: Memory, here: Scope) -> bool:
    return here.person is None or here.person in (memory.origin.person, memory.subject)


def _surer(draft: Draft, memory: Memory) -> None:
    key = key_of(memory)
    if memory.kind == "turn" or key is None:
        return
    tellings = [one.sighting for one in draft.sightings(memory.id) if one.retired_seq is None and one.key == key]
    # It rests on what they rest on: a yes does not keep what was derived when all that it was derived from is gone.
    is_free = not all(one.rests_on for one in tellings)
    rests_on = () if is_free else tuple(dict.fromkeys(id for one in tellings for id in one.rests_on))
    draft.sight(memory.id, key, Sighting(draft.at, SEEN_AGAIN, rests_on=rests_on))


def _less_sure(draft: Draft, memory: Memory) -> None:
    if memory.kind == "turn" or memory.pinned or memory.confidence <= LEAST:
        return
    wanted, key = max(LEAST, memory.confidence * LESS_SURE), key_of(memory)
    held = [one for one in draft.sightings(memory.id) if one.retired_seq is None]
    share = _share([one.sighting for one in held if one.key == key], memory.trust, wanted)
    weigh(draft, memory.id, lambda one: one.sighting.confidence * (share if one.key == key else 1.0))
    draft.add(replace(memory, confidence=wanted))


def _share(tellings: list[Sighting], trust: str, wanted: float) -> float:
    """Return of which share of what they counted tellings together make no surer than `wanted`; found by halving."""
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        less = [replace(one, confidence=one.confidence * share) for one in tellings]
        low, high = (low, share) if effective_confidence(trust, less) > wanted else (share, high)
    return low


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0  # an import may bring anything
