"""Tellings: what a memory rests on, and what becomes of it when one of them is taken back.

A fact is there as long as somebody's telling of it stands, and is as sure as those that stand make it. What a correction ended
holds on when the correction goes; what somebody more trusted had said falls back to who else said so. After any of this a
memory is as if the telling had never been.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from reverie.memory.scope import Scope
from reverie.memory.trace import Memory, Source, less_trusted
from reverie.store.base import Draft, Held, Reopened, View, Where, key_of

Still = Callable[[Memory, str], bool]


def let_go(draft: Draft, going: Iterable[Memory], still: Still | None = None) -> None:
    """Unsay what rests on nothing else than those in `going`; what others told too is as sure as they alone make it.

    What was ended by what is unsaid holds on.
    """
    gone = {memory.id: memory for memory in going}
    resting = resting_only_on(draft, gone.values(), still)
    fallen = {**gone, **dict.fromkeys(resting)}
    owner = Where(Scope.owner(draft.space))
    told = [held for held in draft.citing(fallen) if held.retired_seq is None]
    lost = []
    for held in told:
        memory = draft.get(held.id, owner) if held.id not in fallen else None
        if memory is not None and _rests_on(held, fallen) and not (still and still(memory, _claimed(held, memory))):
            lost.append(held)
    reopen(draft, [*(held for held in told if held.id in fallen), *lost], fallen)
    draft.retire_sightings(lost)
    for id in dict.fromkeys(held.id for held in lost):
        _fall_back(draft, id)
    unsay(draft, resting)


def _fall_back(draft: Draft, id: str) -> None:
    """Let a memory that only somebody less trusted still says be theirs again, and as sure as they were."""
    memory = draft.get(id, Where(Scope.owner(draft.space)))
    left = [held for held in draft.sightings(id) if held.retired_seq is None and memory and held.key == key_of(memory)]
    if memory is not None and (said := _less_trusted_word(draft, memory, left)):
        was, word = said
        draft.add(replace(was, pinned=memory.pinned))
        weigh(draft, id, lambda held: word.get(held.sighting.at, held.sighting.confidence))


def _less_trusted_word(view: View, memory: Memory, left: Iterable[Held]) -> tuple[Memory, dict[datetime, float]] | None:
    """Return a memory as it was before anybody more trusted said so, and how sure it was said when, if only that is left."""
    told = [held.sighting for held in left if not is_yes(held)]
    if not told or any(sighting.confidence for sighting in told):
        return None
    before = [
        version
        for version in view.history(memory.id, Scope.owner(view.space))
        if key_of(version) == key_of(memory) and less_trusted(version.trust, memory.trust) == version.trust != memory.trust
    ]
    said_at, counted = {sighting.at for sighting in told}, [held.sighting for held in view.sightings(memory.id)]
    word = {sighting.at: sighting.confidence for sighting in counted if sighting.at in said_at and sighting.confidence}
    return (before[-1], word) if before and word else None


def reopened(view: View, lost: Sequence[Held], fallen: Container[str]) -> list[Reopened]:
    """Return what holds on when the tellings that ended it are lost: of what was corrected, what is not once more."""
    anyhow = Where(Scope.owner(view.space), retired=True)
    found: dict[str, Reopened] = {}
    for held in lost:
        by = view.get(held.id, anyhow)
        if by is None or not by.replaces:
            continue
        ends = {by.valid_from, *(turn.happened_at for id in held.sighting.rests_on if (turn := view.get(id, anyhow)))}
        for ended in (view.get(id, anyhow) for id in by.replaces if id not in fallen):
            if ended is None or ended.valid_until is None or ended.valid_until not in ends:
                continue
            since = _corrected_again(view, by, held, lost) if by.id not in fallen else None
            is_passed_on = by.id in fallen and by.valid_until is not None and _is_corrected(view, by, ended, fallen)
            until = by.valid_until if is_passed_on else since
            found[ended.id] = Reopened(ended.id, by.id, ended.valid_until, until, is_passed_on)
    return list(found.values())


def _corrected_again(view: View, by: Memory, lost: Held, gone: Container[Held]) -> datetime | None:
    """Return when a correction was next told after the telling that is lost."""
    later = (held for held in view.sightings(by.id) if held.retired_seq is None and held.sighting.at > lost.sighting.at)
    said = (
        view.get(id, Where(Scope.owner(view.space))) for held in later if held not in gone for id in held.sighting.rests_on[:1]
    )
    return next((turn.happened_at for turn in said if turn), None)


def _is_corrected(view: View, by: Memory, ended: Memory, fallen: Container[str]) -> bool:
    """Tell whether what corrected a correction would have corrected what this had."""
    slot, about = ended.extra.get("slot"), Where(Scope.owner(view.space), ("fact",), subject=by.subject or "")
    found = (fact for fact in view.scan(about) if by.id in fact.replaces and fact.id not in fallen)
    return slot is not None and any(fact.extra.get("slot") == slot for fact in found)


def reopen(draft: Draft, lost: Sequence[Held], fallen: Container[str]) -> None:
    """Let what was ended hold on, where the tellings that ended it are lost."""
    owner = Scope.owner(draft.space)
    for one in reopened(draft, lost, fallen):
        if (ended := draft.get(one.id, Where(owner))) is None:
            continue
        draft.add(replace(ended, valid_until=one.until))
        for fact in draft.scan(Where(owner, ("fact",), subject=ended.subject or "")) if one.is_passed_on else ():
            if (replaces := one.taken_over(fact.replaces)) != fact.replaces:
                draft.add(replace(fact, replaces=replaces))


def resting_only_on(view: View, going: Iterable[Memory], still: Still | None = None) -> list[str]:
    """Return the active memories that have no other source than those in `going`, and what rests on these in turn.

    `still` may say of a memory and its claim (the quote, else the text) that it holds all the same.
    """
    gone: dict[str, Memory] = {memory.id: memory for memory in going}
    start = set(gone)
    frontier = list(gone.values())
    while frontier:
        citing = view.citing([memory.id for memory in frontier])
        frontier = []
        for id in dict.fromkeys(held.id for held in citing if held.retired_seq is None):
            memory = view.get(id, Where(Scope.owner(view.space)))
            if memory is None or id in gone:
                continue
            said = [held for held in view.sightings(id) if held.retired_seq is None and held.key == key_of(memory)]
            kept = [held for held in said if not _rests_on(held, gone) or (still and still(memory, _claimed(held, memory)))]
            if not any(held in kept for held in bearing(said)) and not _less_trusted_word(view, memory, kept):
                gone[id] = memory
                frontier.append(memory)
    return [id for id in gone if id not in start]


def bearing(told: list[Held]) -> list[Held]:
    """Return the tellings that a thing is known by: not a yes to them, nor the word of somebody that adds nothing."""
    return [held for held in told if held.sighting.confidence and not is_yes(held)] or told


def is_yes(held: Held) -> bool:
    """Tell whether a sighting only says that a memory helped."""
    return bool(held.sighting.rests_on) and held.sighting.source == Source()


def _claimed(held: Held, memory: Memory) -> str:
    return held.sighting.source.quote or memory.text


def _rests_on(held: Held, gone: Container[str]) -> bool:
    """Tell whether all that a sighting rests on is gone."""
    rests_on = held.sighting.rests_on
    return bool(rests_on) and all(id in gone for id in rests_on)


def unsay(draft: Draft, ids: Iterable[str]) -> None:
    """Retire what nobody says any more; unlike what was forgotten, it may be learned again when somebody does."""
    for id in ids:
        memory = draft.get(id, Where(Scope.owner(draft.space)))
        if memory is not None and memory.extra.get("learned"):
            draft.add(replace(memory, extra={**memory.extra, "unsaid": True}))
        draft.retire(id)


def weigh(draft: Draft, id: str, sure: Callable[[Held], float]) -> None:
    """Let the tellings of a memory count as `sure` says from now on."""
    held = [one for one in draft.sightings(id) if one.retired_seq is None]
    draft.retire_sightings(held)
    for one in held:
        draft.sight(id, one.key, replace(one.sighting, confidence=sure(one)))
