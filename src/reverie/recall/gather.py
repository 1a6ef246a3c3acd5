"""Gathering what a context may be made of, beside what a question found: all in one snapshot, within the asker's scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from reverie.memory import check, procedural, working
from reverie.memory.trace import KINDS, MICROSECOND, Memory
from reverie.memory.working import State
from reverie.recall.explain import Hit, Why
from reverie.recall.look import MOST_SIGNS, newest
from reverie.recall.profiles import LORE, Material, Noted, Profile, is_recent
from reverie.store.base import View, Where

BETWEEN_NEIGHBOURS = 2  # hits that are shown between the turns around them; measured, more of them push evidence out
ROOMY = 1000  # tokens of a budget that has room for that
SAME_MOMENT = 500  # turns of a session that an import dates alike, and among which one is looked for
SPARE = 4  # times as much is taken of what is known as is shown: some may be from nobody trustworthy
BROUGHT_UP = 0.5  # of the words of a pattern's trigger must be there for it to be suggested: one of four may be any "how"
LASTING = tuple(kind for kind in KINDS if kind != "turn")


def gather(view: View, where: Where, profile: Profile, given: Material, room: int) -> Material:
    """Add what else a context may be made of; what was said a moment ago is the caller's to add."""
    scope, now = given.scope, given.now
    if given.is_asked and room >= ROOMY:
        first = [hit.memory for hit in given.hits[:BETWEEN_NEIGHBOURS]]
        given = replace(given, beside={memory.id: _beside(view, memory, where) for memory in first})
    if not given.is_asked:
        here = replace(where, kinds=("turn",), channel=scope.channel)
        said = newest(view, here, profile.said, now) if profile.said else ()
        given = replace(given, hits=_in_order(view, where, given.hits, now), said=said)
    if scope.person is not None and profile.known:
        about = replace(where, kinds=LASTING, subject=scope.person)
        given = replace(given, known=newest(view, about, SPARE * profile.known, now))
    if wanted := profile.lore if given.is_asked else max(profile.lore, profile.known):
        given = replace(given, lore=newest(view, replace(where, kinds=LASTING, subject=LORE), SPARE * wanted, now))
    if given.is_asked and profile.suggested:
        given = replace(given, suggested=_suggested(view, where, given, profile.suggested))
    return given if where.at is not None else _held(view, given)


def _held(view: View, given: Material) -> Material:
    """Add what is held for now, which has no past that could be asked for."""
    place = working.place_of(given.scope)
    task, chat, pad = (view.state(kind, place) for kind in ("working", "context", "scratchpad"))
    if task is not None and not working.is_stale(task.updated_at, given.now):
        given = replace(given, working=working.from_value(task.value, task.updated_at))
    return replace(given, chat=_noted(chat), scratchpad=_noted(pad))


def _suggested(view: View, where: Where, given: Material, most: int) -> list[Hit]:
    """Return the patterns that the message brings up and that still hold."""
    patterns = view.scan(replace(where, kinds=(procedural.KIND,)))
    held = {memory.id: memory for memory in patterns if memory.valid_until is None or memory.valid_until > given.now}
    found = procedural.matching(procedural.known(held.values()), given.cue[:MOST_SIGNS]) if held else []
    brought_up = [(match, held[match.pattern.id]) for match in found if match.share >= BROUGHT_UP]
    return [
        Hit(memory, match.score, True, memory.source.place, Why(matched=match.words)) for match, memory in brought_up[:most]
    ]


def _noted(state: State | None) -> Noted | None:
    text = working.text_in(state.value) if state else None
    return Noted(text, state.updated_at) if state and text else None


def _in_order(view: View, where: Where, last: Sequence[Hit], now: datetime) -> list[Hit]:
    """Return the last days whole, then what is known for longer, then what was said longer ago."""
    days = [hit for hit in last if is_recent(hit.memory, now)]
    lasting = newest(view, replace(where, kinds=LASTING), max(1, len(last)), now)
    return list({hit.memory.id: hit for hit in (*days, *lasting, *last)}.values())


def _beside(view: View, memory: Memory, where: Where) -> list[Memory]:
    """Return the turns before and after a turn in its session."""
    at, origin = memory.happened_at, memory.origin
    if memory.kind != "turn" or at is None or not (origin.session or origin.channel):
        return []
    moment = (at, at + MICROSECOND if at < check.LAST_MOMENT else None)
    alike = replace(where, kinds=("turn",), session=origin.session, channel=origin.channel, between=moment)
    keys = [match.key for match in view.newest(alike, SAME_MOMENT)]
    own = [outline.key for outline in view.outlines(keys) if outline.id == memory.id]
    near = view.around(own, where)
    return view.fetch([*near[own[0]].before, *near[own[0]].after] if near else [], where.at)
