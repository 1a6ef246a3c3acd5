"""The reference store: plain lists, brute force, nothing on disk.

It is the meaning of `store.base` written down as simply as possible; every other store is tested against it. A space is
one value that is copied, changed and swapped in whole, so that a snapshot is a reference and a failed commit is a copy
thrown away.
"""

from __future__ import annotations

import math
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from reverie.errors import NotFound, StoreError
from reverie.memory import language
from reverie.memory.language import Query, fold
from reverie.memory.scope import Scope, visible
from reverie.memory.trace import EPOCH, MICROSECOND, Commit, Memory, Sighting, effective_confidence, new_tail, space_mark
from reverie.memory.working import State
from reverie.store.base import (
    ERASED,
    NAMELESS,
    PLACES,
    Around,
    Bars,
    Beside,
    Dump,
    Entries,
    Erasure,
    Held,
    Match,
    Near,
    Outline,
    Recalled,
    Record,
    Report,
    Swept,
    Touched,
    Vector,
    View,
    Where,
    asked_from,
    asks_for_erased,
    barred_by,
    check_vectors,
    concerns,
    fits,
    indexed_text,
    kept_values,
    key_of,
    person_tombstone,
    refusal,
    repeats,
    tombstones,
    unit,
    without,
    word_tombstones,
)

if TYPE_CHECKING:
    from reverie.store.base import Floats

RECALLS_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class _Kept:
    vector: Vector
    model: str
    values: Floats


@dataclass(slots=True)
class _Space:
    commits: list[Commit] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    sightings: list[Held] = field(default_factory=list)
    states: dict[tuple[str, Scope, str], State] = field(default_factory=dict)
    vectors: list[_Kept] = field(default_factory=list)
    models: dict[str, int] = field(default_factory=dict)  # how many numbers the vectors of each have
    tombstones: set[bytes] = field(default_factory=set)
    gone: list[tuple[int, str]] = field(default_factory=list)
    copies: list[str] = field(default_factory=list)
    jobs: dict[tuple[str, int], str] = field(default_factory=dict)

    def copy(self) -> _Space:
        return _Space(
            list(self.commits), list(self.records), list(self.sightings), dict(self.states), list(self.vectors),
            dict(self.models), set(self.tombstones), list(self.gone), list(self.copies), dict(self.jobs),
        )  # fmt: skip


class InMemoryView:
    """A snapshot of one space."""

    def __init__(self, space: str, kept: _Space) -> None:
        self.space = space
        self._kept = kept

    # commits

    def last_seq(self) -> int:
        return self._kept.commits[-1].seq if self._kept.commits else 0

    def seq_of(self, moment: datetime) -> int:
        return max((commit.seq for commit in self._kept.commits if commit.at <= moment), default=0)

    def find_commit(self, id: str, scope: Scope) -> Commit | None:
        return next((commit for commit in self.commits(scope) if commit.id == id), None)

    def commits(self, scope: Scope, since: datetime | None = None, limit: int | None = None) -> list[Commit]:
        shown: list[Commit] = []
        for commit in self._kept.commits:
            added = [r for r in self._kept.records if r.added_seq == commit.seq and visible(r.memory.audience, scope)]
            retired = [r for r in self._kept.records if r.retired_seq == commit.seq and visible(r.memory.audience, scope)]
            sighted = [
                held
                for held in self._kept.sightings
                if commit.seq in (held.seq, held.retired_seq) and self._seen(held.id, scope)
            ]
            if added or retired or sighted or scope.sees_all:
                shown.append(
                    replace(
                        commit,
                        seq=commit.seq if scope.sees_all else len(shown) + 1,
                        added=tuple(r.memory.id for r in added if r.retired_seq != commit.seq),
                        retired=tuple(r.memory.id for r in retired if r.added_seq != commit.seq),
                        erased=tuple(sorted(id for seq, id in self._kept.gone if seq == commit.seq)) if scope.sees_all else (),
                    )
                )
        wanted = [commit for commit in reversed(shown) if since is None or commit.at >= since]
        return wanted[:limit]

    def _seen(self, id: str, scope: Scope) -> bool:
        return any(r.memory.id == id and visible(r.memory.audience, scope) for r in self._kept.records)

    def _seq(self, commit: str) -> int:
        return next(kept.seq for kept in self._kept.commits if kept.id == commit)

    def touched(self, commit: str, scope: Scope) -> list[Touched]:
        seq = self._seq(commit)
        added: dict[str, int] = {}
        retired: dict[str, int] = {}
        for record in self._kept.records:
            if visible(record.memory.audience, scope) and record.added_seq != record.retired_seq:
                if record.added_seq == seq:
                    added[record.memory.id] = record.memory.version
                if record.retired_seq == seq:
                    retired[record.memory.id] = record.memory.version
        sighted = [
            held.id
            for held in self._kept.sightings
            if (held.retired_seq == seq or (held.seq == seq and held.retired_seq is None)) and self._seen(held.id, scope)
        ]
        return [Touched(id, added.get(id), retired.get(id)) for id in dict.fromkeys([*added, *retired, *sighted])]

    def commits_after(self, commit: str, ids: Iterable[str]) -> list[str]:
        wanted, seq = set(ids), self._seq(commit)
        later = {
            number
            for record in self._kept.records
            if record.memory.id in wanted
            for number in (record.added_seq, record.retired_seq)
            if number is not None and number > seq
        }
        return [kept.id for kept in reversed(self._kept.commits) if kept.seq in later]

    def said_after(self, id: str) -> list[tuple[Scope, Scope, datetime]]:
        first: dict[tuple[Scope, Scope], datetime] = {}
        for memory in (record.memory for record in self._kept.records if record.retired_seq is None):
            if memory.kind == "turn" and memory.id > id:
                place, at = (memory.origin, memory.audience), memory.happened_at or memory.recorded_at
                first[place] = min(at, first.get(place, at))
        return [(*place, at) for place, at in first.items()]

    def reasons_since(self, seq: int) -> set[str]:
        return {commit.why for commit in self._kept.commits if commit.seq > seq}

    def changed_between(self, start: int, end: int, scope: Scope) -> list[str]:
        return sorted(
            {
                record.memory.id
                for record in self._kept.records
                for seq in (record.added_seq, record.retired_seq)
                if seq is not None and start < seq <= end and visible(record.memory.audience, scope)
            }
        )

    # memories

    def _believed(self, at: int | None) -> Iterator[tuple[int, Record]]:
        for key, record in enumerate(self._kept.records):
            if at is None:
                if record.retired_seq is None:
                    yield key, record
            elif record.added_seq <= at and (record.retired_seq is None or record.retired_seq > at):
                yield key, record

    def _candidates(self, where: Where) -> Iterator[tuple[int, Record]]:
        return iter(enumerate(self._kept.records)) if where.ever else self._believed(where.at)

    def _fitting(self, where: Where) -> Iterator[tuple[int, Record]]:
        candidates = self._candidates(where)
        if where.retired:
            last = {
                r.memory.id: (key, r) for key, r in enumerate(self._kept.records) if where.at is None or r.added_seq <= where.at
            }
            candidates = iter(last.values())
        return ((key, record) for key, record in candidates if fits(record.memory, where))

    def _shown(self, record: Record, at: int | None) -> Memory:
        sure = [
            held.sighting
            for held in self._kept.sightings
            if held.id == record.memory.id
            and held.key == record.key
            and (
                held.retired_seq is None
                if at is None
                else held.seq <= at and (held.retired_seq is None or held.retired_seq > at)
            )
        ]
        memory = _own(record.memory)
        if sure:
            memory = replace(memory, confidence=effective_confidence(memory.trust, sure))
        if at is not None and record.retired_seq is not None and record.retired_seq > at:
            memory = replace(memory, retired_at=None)
        return memory

    def history(self, id: str, scope: Scope) -> list[Memory]:
        return [self._shown(r, None) for r in self._kept.records if r.memory.id == id and visible(r.memory.audience, scope)]

    def get(self, id: str, where: Where) -> Memory | None:
        found = [record for _, record in self._fitting(where) if record.memory.id == id]
        return self._shown(found[-1], where.at) if found else None

    def scan(self, where: Where, after: str | None = None, limit: int | None = None) -> list[Memory]:
        found = sorted(
            (record for _, record in self._fitting(where) if after is None or record.memory.id > after),
            key=lambda record: record.memory.id,
        )
        return [self._shown(record, where.at) for record in found[:limit]]

    def newest(self, where: Where, limit: int) -> list[Match]:
        found = sorted(self._fitting(where), key=lambda pair: (_when(pair[1].memory), pair[1].memory.id), reverse=True)
        return [Match(key, 0.0) for key, _ in found[:limit]]

    def count(self, where: Where) -> dict[str, int]:
        return dict(Counter(record.memory.kind for _, record in self._fitting(where)))

    def find_key(self, key: bytes) -> list[Record]:
        newest = {record.memory.id: (place, record) for place, record in enumerate(self._kept.records) if record.key == key}
        ranked = sorted(newest.values(), key=lambda pair: (pair[1].retired_seq is not None, -pair[0]))
        return [record for _, record in ranked]

    def fetch(self, keys: Sequence[int], at: int | None = None) -> list[Memory]:
        return [self._shown(self._kept.records[key], at) for key in keys]

    # looking

    def search_words(self, query: Query, where: Where, limit: int, now: datetime) -> list[Match]:
        texts = {key: Counter(language.terms(indexed_text(record.memory))) for key, record in self._candidates(where)}
        scores: dict[int, float] = {}
        for word in query.words:
            starts = word.prefixes
            times = {
                key: n
                for key, text in texts.items()
                if (n := sum(c for term, c in text.items() if term in word.variants or (starts and term.startswith(starts))))
            }
            rarity = math.log(1 + (len(texts) - len(times) + 0.5) / (len(times) + 0.5))
            for key, n in times.items():
                scores[key] = scores.get(key, 0.0) + rarity * n / (n + 1)
        found = [(key, record.memory) for key, record in self._fitting(where) if key in scores]
        found.sort(
            key=lambda pair: (pair[1].valid_until is not None and pair[1].valid_until <= now, -scores[pair[0]], -pair[0])
        )
        return [Match(key, scores[key]) for key, _ in found[:limit]]

    def counts(self, terms: Sequence[str], where: Where) -> tuple[int, dict[str, int]]:
        texts = [set(language.terms(indexed_text(record.memory))) for _, record in self._candidates(where)]
        return len(texts), {term: sum(term in text for text in texts) for term in terms}

    def search_vectors(self, values: Sequence[float] | Floats, model: str, where: Where, limit: int) -> Near:
        kept = [vector for vector in self._kept.vectors if vector.model == model]
        sought = unit(values, self._kept.models.get(model))
        keys = {(r.memory.id, r.memory.version): key for key, r in self._fitting(where)}
        best: dict[int, float] = {}
        for vector in kept:
            key = keys.get((vector.vector.id, vector.vector.version))
            if key is not None:
                best[key] = max(best.get(key, -1.0), float(sought @ vector.values))
        ranked = sorted(best.items(), key=lambda pair: (-pair[1], -pair[0]))
        matches = [Match(key, score) for key, score in ranked[:limit]]
        return Near(matches, min(best.values(), default=0.0), lambda keys: {key: best[key] for key in keys if key in best})

    def around(self, keys: Sequence[int], where: Where, reach: int = 1) -> dict[int, Around]:
        streams: dict[tuple[str | None, str | None], list[tuple[datetime, int]]] = {}
        for key, record in self._fitting(replace(where, retired=False, ever=False)):
            memory = record.memory
            if memory.kind == "turn":
                streams.setdefault((memory.origin.channel, memory.origin.session), []).append((_when(memory), key))
        found: dict[int, Around] = {}
        for key in keys:
            memory = self._kept.records[key].memory
            stream = (memory.origin.channel, memory.origin.session)
            if memory.kind == "turn" and stream != (None, None):
                here, turns = (_when(memory), key), sorted(streams.get(stream, ()))
                before = [near for at, near in turns if (at, near) < here][::-1]
                after = [near for at, near in turns if (at, near) > here]
                found[key] = Around(tuple(before[:reach]), tuple(after[:reach]))
        return found

    def derived(self, keys: Sequence[int], where: Where) -> dict[int, tuple[int, ...]]:
        sources = {self._kept.records[key].memory.id: key for key in keys}
        resting: dict[int, set[str]] = {}
        for held in self.citing(sources):
            if held.retired_seq is None:
                for id in sources.keys() & set(held.sighting.rests_on):
                    resting.setdefault(sources[id], set()).add(held.id)
        fitting = {record.memory.id: key for key, record in self._fitting(replace(where, retired=False, ever=False))}
        found = {key: tuple(sorted(fitting[id] for id in ids if id in fitting)) for key, ids in resting.items()}
        return {key: near for key, near in found.items() if near}

    def texts(self, keys: Sequence[int]) -> dict[int, str]:
        return {key: indexed_text(self._kept.records[key].memory) for key in keys}

    def beside(self, turns: Sequence[Memory], model: str) -> list[Beside]:
        heard: dict[tuple[str | None, str | None, Scope], list[Memory]] = {}
        for _, record in self._believed(None):
            memory, origin = record.memory, record.memory.origin
            if memory.kind == "turn" and (origin.channel, origin.session) != (None, None):
                heard.setdefault((origin.channel, origin.session, memory.audience), []).append(memory)
        sides: dict[tuple[str, int], tuple[Memory | None, Memory | None]] = {}
        for some in heard.values():
            said = sorted(some, key=_when)
            for before, one, after in zip((None, *said[:-1]), said, (*said[1:], None), strict=True):
                sides[_named(one)] = (before, after)
        uses: dict[tuple[str, int], frozenset[tuple[str, int]]] = {}
        for kept in self._kept.vectors:
            if kept.model == model:
                uses[_named(kept.vector)] = uses.get(_named(kept.vector), frozenset()) | set(kept.vector.uses)
        return [Beside(*sides.get(_named(turn), (None, None)), uses.get(_named(turn))) for turn in turns]

    def outlines(self, keys: Sequence[int]) -> list[Outline]:
        memories = [(key, self._kept.records[key].memory) for key in keys]
        return [
            Outline(
                key, m.id, m.version, m.kind, m.subject, m.speaker, m.role, m.origin.channel, m.origin.session, m.trust,
                m.confidence, _when(m), m.valid_from, m.valid_until,
            )
            for key, m in memories
        ]  # fmt: skip

    def without_vectors(self, model: str, limit: int | None) -> list[Memory]:
        have = {(v.vector.id, v.vector.version) for v in self._kept.vectors if v.model == model}
        lacking = [r.memory for r in self._kept.records if (r.memory.id, r.memory.version) not in have]
        return lacking[:limit]

    def lacking(self, model: str) -> int:
        return len(self.without_vectors(model, None))

    def lacks(self, model: str, where: Where) -> bool:
        lacking = {(memory.id, memory.version) for memory in self.without_vectors(model, None)}
        return any((record.memory.id, record.memory.version) in lacking for _, record in self._fitting(where))

    def vectors_of(self, ids: Iterable[str], model: str) -> dict[str, Floats]:
        wanted = set(ids)
        active = {_named(record.memory) for _, record in self._believed(None) if record.memory.id in wanted}
        kept = (one for one in self._kept.vectors if one.model == model and one.vector.part == 0)
        return {one.vector.id: one.values for one in kept if _named(one.vector) in active}

    # sources and state

    def waiting(self, limit: int | None = None, *, failed: bool = False) -> list[Memory]:
        wanted = ("failed",) if failed else ("live", "import")
        return [memory for memory, job in self._jobs() if job in wanted][:limit]

    def job(self, id: str) -> str | None:
        return next((job for memory, job in self._jobs() if memory.id == id), None)

    def jobs(self) -> dict[str, int]:
        return dict(Counter(job for _, job in self._jobs()))

    def live(self) -> int:
        return self.jobs().get("live", 0)

    def queue(self) -> list[tuple[str, int, str]]:
        live = (memory for memory, job in self._jobs() if job == "live")
        return [(*_named(memory), memory.origin.person or memory.speaker or "") for memory in live]

    def _jobs(self) -> list[tuple[Memory, str]]:
        active = (record.memory for record in self._kept.records if record.retired_seq is None)
        return [(_own(memory), self._kept.jobs[_named(memory)]) for memory in active if _named(memory) in self._kept.jobs]

    def citing(self, ids: Iterable[str]) -> list[Held]:
        wanted = set(ids)
        return [held for held in self._kept.sightings if wanted & set(held.sighting.rests_on)]

    def sightings(self, id: str) -> list[Held]:
        return [held for held in self._kept.sightings if held.id == id]

    def state(self, kind: str, place: Scope, name: str = "") -> State | None:
        return self._kept.states.get((kind, place, name))

    def states(self, scope: Scope, kind: str | None = None) -> list[State]:
        return sorted(
            (state for state in self._kept.states.values() if kind in (None, state.kind) and visible(state.place, scope)),
            key=lambda state: (state.kind, repr(state.place), state.name),
        )

    def copies(self) -> list[str]:
        return list(self._kept.copies)


def _when(memory: Memory) -> datetime:
    return memory.happened_at or memory.recorded_at


def _named(one: Memory | Vector) -> tuple[str, int]:
    return one.id, one.version


def _not_citing(held: Held, gone: set[str]) -> Held:
    rests_on = tuple(id for id in held.sighting.rests_on if id not in gone)
    return replace(held, sighting=replace(held.sighting, rests_on=rests_on))


def _own(memory: Memory) -> Memory:
    """Return a memory that shares nothing with the one given: what a caller does to one must not change the other."""
    return replace(memory, extra=deepcopy(memory.extra)) if memory.extra else memory


class InMemoryDraft(InMemoryView):
    """A commit on a copy of the space."""

    def __init__(self, space: str, kept: _Space, secret: bytes, by: str, why: str, now: datetime) -> None:
        super().__init__(space, kept)
        last = kept.commits[-1] if kept.commits else None
        self.at = max(now, last.at + MICROSECOND) if last else now
        self.seq = last.seq + 1 if last else 1
        self._secret, self._by, self._why = secret, by, why
        self._mark = space_mark(space)
        self._commit_id = f"c-{self._mark}-{new_tail(self.at)}"
        self._ordinal = 0
        self.changed = self.noted = False

    @property
    def commit_id(self) -> str | None:
        return self._commit_id if self.changed else None

    def begin(self) -> str:
        """Write the commit's own entry, once something is to belong to it; return its id."""
        if not self.changed:
            self.changed = True
            self._kept.commits.append(Commit(self._commit_id, self.seq, self.at, self._by, self._why))
        return self._commit_id

    def add(self, memory: Memory, job: str | None = None) -> Memory:
        says_already = any(r.memory.id == memory.id and r.memory.text == memory.text for r in self._kept.records)
        if not (says_already or self._kept.tombstones.isdisjoint(barred_by(self._secret, memory))):
            raise refusal(memory)
        versions = [record.memory.version for record in self._kept.records if memory.id and record.memory.id == memory.id]
        if versions:
            self._retire(memory.id)
        id = memory.id or f"m-{self._mark}-{new_tail(self.at, self._ordinal)}"
        self._ordinal += 1
        memory = replace(
            memory,
            id=id,
            version=max(versions, default=memory.version - 1 if memory.id else 0) + 1,
            recorded_at=self.at,
            retired_at=None,
            commit=self._commit_id,
        )
        self.begin()
        self._kept.records.append(Record(_own(memory), key_of(memory), self.seq, None))
        if job is not None:
            self._kept.jobs[_named(memory)] = job
        return memory

    def retire(self, id: str) -> None:
        if not self._retire(id):
            raise NotFound(f"no memory {id!r} here; it may be forgotten already")

    def _retire(self, id: str) -> bool:
        for key, record in enumerate(self._kept.records):
            if record.memory.id == id and record.retired_seq is None:
                self._kept.records[key] = replace(
                    record, memory=replace(record.memory, retired_at=self.at), retired_seq=self.seq
                )
                gone = (id, record.memory.version)
                self._kept.vectors = [kept for kept in self._kept.vectors if gone not in kept.vector.uses]
                self.begin()
                return True
        return False

    def set_job(self, turns: Iterable[tuple[str, int]], job: str | None) -> None:
        self.noted = True
        for turn in turns:
            self._kept.jobs.pop(turn, None)
            if job is not None:
                self._kept.jobs[turn] = job

    def put_state(self, entries: Sequence[State], remove: Sequence[State] = ()) -> None:
        self.noted = True
        for state in remove:
            self._kept.states.pop((state.kind, state.place, state.name), None)
        for state in entries:
            self._kept.states[state.kind, state.place, state.name] = state

    def sight(self, id: str, key: bytes, sighting: Sighting) -> None:
        self.begin()
        self._kept.sightings.append(Held(id, key, self.seq, None, sighting))

    def retire_sightings(self, held: Iterable[Held]) -> None:
        going = list(held)
        for place, one in enumerate(self._kept.sightings):
            if one.retired_seq is None and one in going:
                self._kept.sightings[place] = replace(one, retired_seq=self.seq)
                self.begin()


class InMemoryStore:
    """Spaces in a dictionary."""

    def __init__(self) -> None:
        self._spaces: dict[str, _Space] = {}
        self._lock = threading.RLock()
        self._tasks: set[str] = set()
        self._recalls: dict[str, Recalled] = {}
        self._secret = secrets.token_bytes(32)
        self._closed = False

    def _space(self, space: str) -> _Space:
        if self._closed:
            raise StoreError("this mind is closed; open it again")
        return self._spaces.get(space) or _Space()

    def spaces(self, whole: bool = False) -> list[str]:
        if self._closed:
            raise StoreError("this mind is closed; open it again")
        return sorted(space for space, kept in list(self._spaces.items()) if kept.commits or kept.states)

    def space_of(self, mark: str) -> str | None:
        return next((space for space in list(self._spaces) if space_mark(space) == mark), None)

    @contextmanager
    def reading(self, space: str) -> Iterator[InMemoryView]:
        yield InMemoryView(space, self._space(space))

    @contextmanager
    def writing(self, space: str, by: str, why: str, now: datetime) -> Iterator[InMemoryDraft]:
        with self._lock:
            kept = self._space(space).copy()
            draft = InMemoryDraft(space, kept, self._secret, by, why, now)
            yield draft
            if draft.changed or draft.noted:
                self._spaces[space] = kept

    def put_state(self, space: str, entries: Entries, remove: Sequence[State] = ()) -> None:
        with self._lock:
            if not entries and space not in self._spaces:
                return
            kept = self._space(space).copy()
            draft = InMemoryDraft(space, kept, self._secret, "", "", EPOCH)
            draft.put_state(entries(draft) if callable(entries) else entries, remove)
            self._spaces[space] = kept

    def put_vectors(self, space: str, model: str, vectors: Sequence[Vector]) -> int:
        check_vectors(vectors)
        if not vectors:
            return 0
        with self._lock:
            kept = self._space(space).copy()
            current = {(r.memory.id, r.memory.version): r.retired_seq is None for r in kept.records}
            length = kept.models.setdefault(model, len(vectors[0].values))
            count = 0
            for vector in vectors:
                values = kept_values(vector, length)
                if _named(vector) not in current:
                    continue
                place = (model, *_named(vector), vector.part)
                kept.vectors = [k for k in kept.vectors if (k.model, *_named(k.vector), k.vector.part) != place]
                if all(current.get(used) for used in vector.uses):
                    kept.vectors.append(_Kept(replace(vector, values=(), between=None), model, values))
                    count += 1
            self._spaces[space] = kept
            return count

    def drop_vectors(self, space: str, keep: str) -> int:
        with self._lock:
            kept = self._space(space).copy()
            left = [vector for vector in kept.vectors if vector.model == keep]
            dropped = len(kept.vectors) - len(left)
            kept.vectors = left
            kept.models = {model: length for model, length in kept.models.items() if model == keep}
            if dropped:
                self._spaces[space] = kept
            return dropped

    def keep_recall(self, made: Callable[[], Recalled], since: datetime) -> None:
        recalled = made()
        with self._lock:
            if not self._asks_for_erased(recalled):
                self._recalls[recalled.id] = recalled
            while self._recalls and (len(self._recalls) > RECALLS_KEPT or next(iter(self._recalls.values())).at <= since):
                del self._recalls[next(iter(self._recalls))]

    def _asks_for_erased(self, recalled: Recalled) -> bool:
        space = recalled.scope.space
        kept = self._space(space)
        return asks_for_erased(self._secret, InMemoryView(space, kept), recalled, kept.tombstones)

    def recalled(self, id: str) -> Recalled | None:
        return self._recalls.get(id)

    def last_recalled(self, scope: Scope) -> str | None:
        with self._lock:
            return next((id for id, recalled in reversed(self._recalls.items()) if asked_from(scope, recalled)), None)

    @contextmanager
    def alone(self, task: str) -> Iterator[bool]:
        with self._lock:
            is_mine = task not in self._tasks
            self._tasks.add(task)
        try:
            yield is_mine
        finally:
            if is_mine:
                self._tasks.discard(task)

    def erase(self, space: str, plan: Callable[[View], Erasure], by: str, now: datetime, dry_run: bool = False) -> Swept:
        with self._lock:
            kept = self._space(space).copy()
            erasure = plan(InMemoryView(space, kept))
            if dry_run or not (erasure.ids or erasure.sightings or erasure.states or erasure.people):
                return Swept(erasure.named, "", ())
            ids = set(erasure.ids)
            going = [record for record in kept.records if record.memory.id in ids]
            for record in going:
                kept.tombstones.update(tombstones(self._secret, record.memory))
            kept.tombstones.update(person_tombstone(self._secret, person) for person in erasure.people)
            seqs = {seq for r in going for seq in (r.added_seq, r.retired_seq) if seq is not None}
            kept.gone += sorted({(seq, r.memory.id) for r in going for seq in (r.added_seq, r.retired_seq) if seq is not None})
            texts = [fold(record.memory.text) for record in going]
            kept.commits = [
                replace(
                    commit,
                    why="" if commit.seq in seqs or repeats(texts, commit.why) else commit.why,
                    by=NAMELESS if commit.by in erasure.people else commit.by,
                )
                for commit in kept.commits
            ]
            told = [held for held in kept.sightings if held.id not in ids and held not in erasure.sightings]
            kept.sightings = [held if ids.isdisjoint(held.sighting.rests_on) else _not_citing(held, ids) for held in told]
            staying = [record for record in kept.records if record.memory.id not in ids]
            kept.records = [without(record, erasure, kept.sightings) for record in staying]
            kept.jobs = {named: job for named, job in kept.jobs.items() if named[0] not in ids}
            kept.vectors = [v for v in kept.vectors if ids.isdisjoint({v.vector.id, *(id for id, _ in v.vector.uses)})]
            used = {v.model for v in kept.vectors}
            kept.models = {model: length for model, length in kept.models.items() if model in used}
            for state in erasure.states:
                kept.states.pop((state.kind, state.place, state.name), None)
            asked_by = NAMELESS if by in erasure.people else by
            commit = InMemoryDraft(space, kept, self._secret, asked_by, ERASED, now).begin()
            left = {term for record in kept.records for term in language.terms(indexed_text(record.memory))}
            lost = {term for record in going for term in language.terms(indexed_text(record.memory))} - left
            for record in going:
                kept.tombstones |= word_tombstones(self._secret, record.memory, lost)
            self._spaces[space] = kept
            self._recalls = {
                id: recalled
                for id, recalled in self._recalls.items()
                if not (
                    recalled.scope.space == space and (concerns(erasure, texts, recalled) or self._asks_for_erased(recalled))
                )
            }
            language.let_go_of_words()
            return Swept(erasure.named, commit, tuple(PLACES))

    def dump(self, space: str) -> Dump:
        kept = self._space(space)
        view = InMemoryView(space, kept)
        return Dump(
            space,
            tuple(kept.commits),
            tuple(kept.records),
            tuple(kept.sightings),
            tuple(view.states(Scope.owner(space))),
            frozenset(kept.tombstones),
        )

    def restore(self, dump: Dump) -> bool:
        with self._lock:
            kept = self._space(dump.space)
            if kept.commits or kept.states:
                return False
            kept = kept.copy()
            kept.commits, kept.records, kept.sightings = list(dump.commits), list(dump.records), list(dump.sightings)
            kept.states = {(state.kind, state.place, state.name): state for state in dump.states}
            self._spaces[dump.space] = kept
            return True

    def bars(self, space: str) -> Bars:
        return Bars(self._secret, frozenset(self._space(space).tombstones))

    def sizes(self) -> dict[str, int]:
        return {}

    def note_copy(self, space: str, what: str) -> None:
        with self._lock:
            if space in self._spaces:
                kept = self._space(space).copy()
                kept.copies = sorted({*kept.copies, what})
                self._spaces[space] = kept

    def check(self) -> list[Report]:
        return [Report(space, None, 0) for space in self.spaces()]

    def close(self) -> None:
        self._closed = True
