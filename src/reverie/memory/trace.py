"""The record: one immutable version of one thing known, and the commit that brought it in.

A memory is never edited in place: a change retires a version and adds the next. World time (`happened_at`, `valid_*`)
and Reverie's own time (`recorded_at`, `retired_at`) are kept apart. Ids name their space and sort by the moment they were
made, so that a verb given nothing but an id finds its file, and a listing by id is a listing by age.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from reverie.errors import BadInput
from reverie.memory import check
from reverie.memory.language import fold
from reverie.memory.scope import Scope

KINDS = (
    "turn", "episode", "fact", "concept", "procedure", "lesson", "pattern", "summary", "event", "agent_note", "goal", "custom",
)  # fmt: skip
ROLES = ("user", "assistant", "tool", "system")

# Most trusted first. The second value bounds how sure such a text can make anyone.
TRUST = {"hand": 1.0, "user": 1.0, "agent": 0.7, "other": 0.5, "tool": 0.5, "web": 0.5, "recalled": 0.5}
DEFAULT_CONFIDENCE = 0.8

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory came from: messages, other memories, the words quoted, a place such as `file:line`."""

    message_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()
    quote: str | None = None
    place: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message_ids", check.names(self.message_ids, "message_ids"))
        object.__setattr__(self, "memory_ids", check.names(self.memory_ids, "memory_ids"))
        if self.quote is not None:
            check.verbatim(self.quote, "quote")
        object.__setattr__(self, "place", check.place(self.place))


@dataclass(frozen=True, slots=True)
class Memory:
    """One version of one thing known."""

    id: str
    version: int
    kind: str
    text: str
    origin: Scope
    audience: Scope
    trust: str
    confidence: float
    recorded_at: datetime
    commit: str
    title: str | None = None
    tags: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    speaker: str | None = None
    role: str | None = None
    message_id: str | None = None
    reply_to: str | None = None
    subject: str | None = None
    source: Source = Source()
    pinned: bool = False
    happened_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    retired_at: datetime | None = None
    replaces: tuple[str, ...] = ()

    def __str__(self) -> str:
        when = self.happened_at or self.valid_from or self.recorded_at
        who = self.speaker or self.subject
        said = self.text.replace("\n", " ⏎ ")  # one line a memory: pasted back, every line says that it was recalled
        return f"{when:%Y-%m-%d} · {who + ' · ' if who else ''}{said}"


@dataclass(frozen=True, slots=True)
class Sighting:
    """One time that a memory was said or confirmed; `rests_on` are the memories its source came down to when it was told.

    `voice` stands for whoever said it on that day: of several tellings by one voice only the surest counts.
    """

    at: datetime
    confidence: float
    source: Source = Source()
    rests_on: tuple[str, ...] = ()
    voice: bytes = b""


@dataclass(frozen=True, slots=True)
class Commit:
    """A set of additions and retirements in one space, with who, when and why.

    `added` and `retired` hold memory ids; an update has the same id in both. `erased` names members that are gone for good.
    """

    id: str
    seq: int
    at: datetime
    by: str
    why: str
    added: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    erased: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed between two moments; `changed` pairs what was believed before with what was after."""

    added: tuple[Memory, ...] = ()
    retired: tuple[Memory, ...] = ()
    changed: tuple[tuple[Memory, Memory], ...] = ()


def stamped(memory: Memory, id: str, version: int, at: datetime, commit: str) -> Memory:
    """Return a version as a commit brings it in; `replace` would take three times as long, once for every turn."""
    kept = object.__new__(Memory)
    for name in Memory.__slots__:
        object.__setattr__(kept, name, getattr(memory, name))
    stamps = (("id", id), ("version", version), ("recorded_at", at), ("commit", commit), ("retired_at", None))
    for name, stamp in stamps:
        object.__setattr__(kept, name, stamp)
    return kept


def effective_confidence(trust: str, sightings: list[Sighting]) -> float:
    """Return how sure independent sightings make us together, bounded by how far their source is trusted.

    Told again by the same voice, messages, memories or place it is no surer than before.
    """
    told: dict[object, float] = {}
    for number, sighting in enumerate(sightings):
        source = sighting.source
        where = (source.message_ids, source.memory_ids, source.place)
        key: object = sighting.voice or (number if where == ((), (), None) else where)
        told[key] = max(sighting.confidence, told.get(key, 0.0))
    doubt = math.prod(1.0 - confidence for confidence in told.values())
    return min(TRUST[trust], round(1.0 - doubt, 12))


def less_trusted(*trusts: str) -> str:
    """Return the least trusted of `trusts`."""
    order = list(TRUST)
    return max(trusts, key=order.index)


def bounded_trust(asked: str | None, ceiling: str) -> str:
    """Return the trust asked for; a caller may lower it below `ceiling`, never raise it."""
    if asked is None:
        return ceiling
    check.one_of(asked, TRUST, "trust")
    if less_trusted(asked, ceiling) != asked:
        raise BadInput(f"trust {asked!r} is above {ceiling!r}, which is the most this call can have; leave it out")
    return asked


def upsert_key(kind: str, subject: str | None, text: str, audience: Scope) -> bytes:
    """Return what makes two memories the same thing said twice."""
    parts = (kind, subject, fold(text), audience.channel, audience.session, audience.person)
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()


# Ids: a letter for what it names, ten characters for the space, then time, place within the commit, and chance.
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [high + low for high in _DIGITS for low in _DIGITS]  # two at a time: every turn makes two ids
_TIME, _ORDINAL, _CHANCE, _MARK = 12, 4, 3, 10


def _base32(number: int, width: int) -> str:
    pairs = [_PAIRS[number >> shift & 1023] for shift in range(10 * ((width - 1) // 2), -1, -10)]
    return "".join(pairs)[-width:]


def space_mark(space: str) -> str:
    """Return the short hash by which ids and file names know their space."""
    digest = hashlib.blake2b(space.encode(), digest_size=8).digest()
    return _base32(int.from_bytes(digest) >> 14, _MARK)


def new_tail(at: datetime, ordinal: int = 0) -> str:
    """Return the part of an id that follows the space; later ones sort after earlier ones."""
    return _time_part(at) + _base32(ordinal, _ORDINAL) + _base32(random.getrandbits(15), _CHANCE)


def last_id_of(commit: str) -> str:
    """Return an id that sorts after those of all memories that a commit added, and before any that a later one adds."""
    _, mark, tail = commit.split("-")
    return f"m-{mark}-{tail[:_TIME]}{_DIGITS[-1] * (_ORDINAL + _CHANCE)}"


@lru_cache(maxsize=4)  # a commit and what it adds are made at one moment
def _time_part(at: datetime) -> str:
    return _base32(micros(at) + (1 << 58), _TIME)


def split_id(value: object, letter: str) -> tuple[str, str] | None:
    """Return (space mark, tail) of an id, or None if it is not one of ours."""
    if not isinstance(value, str):
        raise BadInput(f"an id must be a str, not {type(value).__name__}")
    parts = value.split("-")
    if len(parts) != 3 or parts[0] != letter or len(parts[1]) != _MARK or len(parts[2]) != _TIME + _ORDINAL + _CHANCE:
        return None
    if not set(parts[1] + parts[2]) <= set(_DIGITS):
        return None
    return parts[1], parts[2]


def micros(at: datetime) -> int:
    """Return microseconds since 1970."""
    return (at - EPOCH) // MICROSECOND


def from_micros(number: int) -> datetime:
    """Return the moment that lies `number` microseconds after 1970."""
    return EPOCH + timedelta(microseconds=number)


def to_json(memory: Memory) -> dict[str, object]:
    """Return a memory as JSON values: ISO times, plain lists, empty fields left out."""
    source = {name: getattr(memory.source, name) for name in ("message_ids", "memory_ids", "quote", "place")}
    values: dict[str, object] = {}
    for name in Memory.__slots__:
        value: object = getattr(memory, name)
        if isinstance(value, datetime):
            value = value.isoformat()
        elif isinstance(value, Scope):
            value = {part: found for part in ("space", "channel", "session", "person") if (found := getattr(value, part))}
        elif isinstance(value, Source):
            value = {part: list(found) if isinstance(found, tuple) else found for part, found in source.items() if found}
        elif isinstance(value, tuple):
            value = list(value)
        if value not in (None, [], {}, False):
            values[name] = value
    return values


def from_json(values: Mapping[str, Any], space: str) -> Memory:
    """Read what `to_json` wrote, checking every value."""

    def scope(name: str) -> Scope:
        return Scope(space, *(values[name].get(part) for part in ("channel", "session", "person")))

    def time(name: str) -> datetime | None:
        return None if values.get(name) is None else check.moment(datetime.fromisoformat(values[name]), name)

    source = values.get("source", {})
    recorded_at, valid_from, valid_until = time("recorded_at"), time("valid_from"), time("valid_until")
    check.interval(valid_from, valid_until, "the time it holds")
    if recorded_at is None:
        raise BadInput("a memory without recorded_at")
    title = values.get("title")
    return Memory(
        id=check.name(values["id"], "id"),
        version=check.count(values["version"], "version", 1 << 53),
        kind=check.one_of(values["kind"], KINDS, "kind"),
        text=check.text(values["text"]),
        origin=scope("origin"),
        audience=scope("audience"),
        trust=check.one_of(values["trust"], TRUST, "trust"),
        confidence=check.share(values.get("confidence", 0), "confidence"),
        recorded_at=recorded_at,
        commit=check.name(values["commit"], "commit"),
        title=None if title is None else check.text(title, "title"),
        tags=check.tags(values.get("tags", ()), 10_000),
        extra=check.extra(values.get("extra")),
        speaker=check.optional_name(values.get("speaker"), "speaker"),
        role=None if values.get("role") is None else check.one_of(values["role"], ROLES, "role"),
        message_id=check.optional_name(values.get("message_id"), "message_id"),
        reply_to=check.optional_name(values.get("reply_to"), "reply_to"),
        subject=check.optional_name(values.get("subject"), "subject"),
        source=Source(
            source.get("message_ids", ()),
            source.get("memory_ids", ()),
            check.optional_text(source.get("quote"), "quote"),
            source.get("place"),
        ),
        pinned=bool(values.get("pinned")),
        happened_at=time("happened_at"),
        valid_from=valid_from,
        valid_until=valid_until,
        retired_at=time("retired_at"),
        replaces=check.names(values.get("replaces", ()), "replaces"),
    )
