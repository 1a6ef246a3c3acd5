"""The conversations of a space, as episodes are made of them: where something changed, its turns, and the episodes there are.

Everything is asked of the store. The cursor only saves looking at what did not change: without it all is looked through, and
nothing comes out differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from reverie.learn.ingest import has_opted_out
from reverie.memory import episodic, working
from reverie.memory.episodic import GAP, position
from reverie.memory.scope import Scope
from reverie.memory.trace import Memory, last_id_of
from reverie.memory.working import State
from reverie.state import FIRST_MOMENT
from reverie.store.base import ERASED, Held, View, Where

CURSOR, TOPICS = "episodes", "topics"  # kinds of session state
MANY = 1_000  # changes, above which the whole space is looked through; also how many turns at a time


class Stream(NamedTuple):
    """One conversation: what was said in one place, to one audience."""

    place: Scope
    audience: Scope


class Touched(NamedTuple):
    """What changed in a conversation: the first moment concerned, and the turns that are gone."""

    first: datetime
    gone: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """An episode as it is kept in its last version, and the turns that it rests on."""

    memory: Memory
    members: frozenset[str]

    @property
    def began_at(self) -> datetime:
        """When its first turn was said."""
        return position(self.memory)[0]

    @property
    def ends_at(self) -> datetime:
        """When its last turn was said."""
        return datetime.fromisoformat(str(self.memory.extra["ends_at"]))


def everything(space: str, *kinds: str, retired: bool = False) -> Where:
    """Return a question about all of some kinds in a space, whoever it is meant for."""
    return Where(Scope.owner(space), kinds or None, retired=retired)


def stream_of(turn: Memory) -> Stream:
    """Return the conversation that a turn belongs to."""
    return Stream(working.place_of(turn.origin), turn.audience)


class Streams(dict[tuple[str | None, ...], Stream]):
    """The conversations met while looking through turns: to make one anew for every turn would take longer than the rest."""

    def of(self, turn: Memory) -> Stream:
        """Return the conversation that a turn belongs to."""
        told, heard = turn.origin, turn.audience
        key = (told.channel, told.session, told.person, heard.channel, heard.session, heard.person)
        if key not in self:
            self[key] = stream_of(turn)
        return self[key]


def cursor_at(space: str, seq: int, last: str, waiting: Mapping[str, datetime], untold: Iterable[str], now: datetime) -> State:
    """Return the cursor that says: all was seen up to here and to this memory, but for what waits for its time."""
    cursor = State(CURSOR, Scope(space), "", {"seq": seq, "last": last, "untold": list(dict.fromkeys(untold))}, now)
    return due_at(cursor, waiting)


def due_at(cursor: State, waiting: Mapping[str, datetime]) -> State:
    """Return the cursor with other turns to come back to."""
    due = {id: moment.isoformat() for id, moment in waiting.items()}
    return replace(cursor, value={**cursor.value, "waiting": due})


def waiting(cursor: State | None) -> dict[str, datetime]:
    """Return the turns whose conversation is to be looked at again, and when."""
    value = cursor.value["waiting"] if cursor else {}
    assert isinstance(value, Mapping)
    return {str(id): datetime.fromisoformat(due) for id, due in value.items()}


def untold(view: View) -> list[str]:
    """Return the episodes that a language model is still to tell."""
    cursor = view.state(CURSOR, Scope(view.space))
    ids = cursor.value.get("untold", []) if cursor else []
    assert isinstance(ids, list)
    return ids


def touched(view: View, cursor: State | None, now: datetime) -> dict[Stream, Touched]:
    """Return the conversations in which something changed or falls due."""
    turns: Iterable[Memory | None] = _all_turns(view)
    found: dict[Stream, Touched] = {}
    if cursor is not None and ERASED not in view.reasons_since(seq := int(str(cursor.value["seq"]))):
        last, is_turn = str(cursor.value.get("last", "")), everything(view.space, "turn", retired=True)
        changed = view.changed_between(seq, view.last_seq(), Scope.owner(view.space))
        old = [id for id in changed if id <= last]
        if last and len(old) <= MANY:
            ids = dict.fromkeys([*old, *(id for id, due in waiting(cursor).items() if due <= now)])
            turns = (view.get(id, is_turn) for id in ids)
            for origin, audience, at in view.said_after(last) if len(changed) > len(old) else ():
                stream = Stream(working.place_of(origin), audience)
                found[stream] = Touched(min(at, found[stream].first) if stream in found else at, [])
    streams = Streams()
    for turn in turns:
        if turn is not None:
            at, stream = position(turn)[0], streams.of(turn)
            first, gone = found.get(stream, Touched(at, []))
            gone += [turn.id] if turn.retired_at else []
            found[stream] = Touched(min(at, first), gone)
    return found


def _all_turns(view: View) -> Iterator[Memory]:
    turns = everything(view.space, "turn", retired=True)
    page = view.scan(turns, limit=MANY)
    while page:
        yield from page
        page = view.scan(turns, page[-1].id, MANY)


def last_id(view: View) -> str:
    """Return an id after which whatever is recorded from now on stands."""
    newest = view.commits(Scope.owner(view.space), limit=1)
    return last_id_of(newest[0].id) if newest else ""


def marks(view: View, place: Scope) -> list[tuple[datetime, str]]:
    """Return the positions after which a person said that something else begins."""
    after = state.value["after"] if (state := view.state(TOPICS, place)) else []
    assert isinstance(after, list)
    return [(datetime.fromisoformat(at), id) for at, id in after]


def last_turn(view: View, place: Scope) -> Memory | None:
    """Return what was said last in a place, to whomever."""
    where = replace(everything(view.space, "turn"), session=place.session, channel=place.channel)
    for most in (32, 1 << 40):  # nearly always it is among the last
        last = view.fetch([match.key for match in view.newest(where, most)])
        if found := next((turn for turn in last if working.place_of(turn.origin) == place), None):
            return found
    return None


def load(view: View, stream: Stream, what: Touched) -> tuple[list[Memory], list[Known], list[Known]]:
    """Return the turns of a conversation from where it was touched, and so many before that nothing further back matters.

    With them come the episodes that stay as they are, and those whose turns are to be cut anew.
    """
    reach = GAP
    here = replace(everything(view.space, "turn"), session=stream.place.session, channel=stream.place.channel)
    streams = Streams()
    while True:
        reach *= 2
        start = what.first - min(reach, what.first - FIRST_MOMENT)
        turns = [turn for turn in view.scan(replace(here, between=(start, None))) if streams.of(turn) == stream]
        out = {who for who in {turn.origin.person or turn.speaker for turn in turns} if has_opted_out(view, who)}
        turns = [turn for turn in turns if episodic.belongs(turn) and (turn.origin.person or turn.speaker) not in out]
        turns.sort(key=position)
        known = _known(view, [*(turn.id for turn in turns), *what.gone])
        has_begun = not turns or position(turns[0])[0] - start > GAP
        done = [one for one in known if one.ends_at < what.first and not one.memory.extra.get("open")]
        has_begun = has_begun or any(turns[0].id in one.members for one in done)
        are_whole = all(one.began_at >= start for one in known if one not in done)
        if start == FIRST_MOMENT or (has_begun and are_whole):
            places = {turn.id: number for number, turn in enumerate(turns)}
            stays = [one for one in known if one.began_at < start or _stays(one, turns, places)]
            return turns, stays, [one for one in known if one not in stays]


def _known(view: View, ids: Sequence[str]) -> list[Known]:
    """Return the episodes that rest on any of these turns; of forgotten ones those whose turns are in no other."""
    last: dict[str, Held] = {}
    for held in sorted(view.citing(ids), key=lambda held: (held.retired_seq is None, held.seq)):
        last[held.id] = held
    found = ((view.get(id, everything(view.space, "episode", retired=True)), held) for id, held in last.items())
    known = [  # a person's own wording names no turns; else it has those of its last version, whatever earlier ones had
        Known(memory, frozenset(memory.source.memory_ids or held.sighting.rests_on))
        for memory, held in found
        if memory and "ends_at" in memory.extra
    ]
    known = [one for one in known if not one.members.isdisjoint(ids)]
    told = {id for one in known if one.memory.retired_at is None for id in one.members}
    return [one for one in known if one.memory.retired_at is None or not one.members <= told]


def _stays(known: Known, turns: Sequence[Memory], places: Mapping[str, int]) -> bool:
    """Tell whether an episode is left as it is: a person's own, or closed with all its turns as they were and none between.

    One that silence closed is looked at again when something is told late that was said right after it.
    """
    if known.memory.retired_at is not None or not known.memory.source.memory_ids:
        return True
    own = sorted(places[id] for id in known.members if id in places)
    is_whole = bool(own) and len(own) == len(known.members) == own[-1] - own[0] + 1
    after = turns[own[-1] + 1] if is_whole and own[-1] + 1 < len(turns) else None
    is_late = after is not None and after.recorded_at > known.memory.recorded_at and position(after)[0] - known.ends_at <= GAP
    return is_whole and not is_late and is_as_told(known.memory, [turns[n] for n in own], is_open=False)


def is_as_told(known: Memory, turns: Sequence[Memory], is_open: bool) -> bool:
    """Tell whether an episode need not be written again; no language model has to be asked to find out."""
    is_unedited = all(turn.recorded_at < known.recorded_at for turn in turns)
    is_same = known.source.memory_ids == tuple(turn.id for turn in turns) and known.extra.get("open") == is_open
    return is_unedited and is_same
