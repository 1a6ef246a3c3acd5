"""What every store promises.

A store keeps spaces apart completely; nothing done in one changes an answer given in another. In a space it gives

- **snapshots**: `reading` sees one state of the space from its first call to its last;
- **commits**: `writing` is alone in its space until it ends; everything added, retired and sighted in it becomes visible
  together, on disk when the block returns, or not at all when it raises. Commits carry `seq` 1, 2, … and
  `at = max(clock, last + 1 µs)`, so that time in a space never stands still or runs back;
- **audience inside the query**: what a scope may not see is never returned, counted or named, by words or by vector;
- **refusal of what was erased**: `Draft.add` raises `Erased` for a text, message or id that was erased here;
- **erase**: afterwards no entry of `PLACES` holds the text, in this process or, from its next call, in any other.

Vectors are kept per version, part and model; a search never mixes models. A vector goes with the first version whose text it
carries, and what it was of lacks one then. Session state is a keyed store beside the commits. The contract suite in
tests/contracts runs on every store.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple, Protocol

from reverie.errors import BadInput, Erased
from reverie.memory.language import Query, fold, query_words, telling
from reverie.memory.scope import Scope, visible, within
from reverie.memory.trace import Commit, Memory, Sighting, upsert_key
from reverie.memory.working import State

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

OWNER = "*"  # in place of readers: who sees all
ERASED = "erased"  # the reason of the commits that erase
NAMELESS = "someone"  # whose commits those of an erased person become

# What a turn's row says of learning from it; empty once that is done. What came with an import waits without a bound.
JOBS = ("live", "import", "dropped", "failed")

# Every place that may hold a text, or something made from it. Whoever adds one adds it here, to the erase of each
# store, and to the residue test.
PLACES = {
    "versions": "who and what a version is about, its scope and times",
    "texts": "the text of every version, with title, tags, extra, source and speaker",
    "scopes": "the channels, sessions and people that anything was said in or is meant for",
    "words": "the full-text indexes of current and of past versions",
    "vectors": "vectors of the text and of the windows it stands in",
    "sightings": "where and when it was said again, with the quote",
    "commits": "the reasons given for changes, and by whom",
    "state": "working memory, scratchpads, chat contexts, people, proposals, uses, feedback",
    "recalls": "kept explanations: what was asked, and which memories were looked at",
    "caches": "vectors and words held in memory by each process",
    "log": "pages not yet folded into the database file",
    "gaps": "unused space inside the database file",
    "aside": "copies put aside before a migration or a recovery",
}


@dataclass(frozen=True, slots=True)
class Where:
    """Which memories a question is about. `at` is a commit's seq: what was believed then; None is now.

    `retired` adds what was forgotten, in its last version; `ever` asks for every version there is. The `subject` "" asks for
    what is about nobody, and `told_by` for what was learned of one author.
    """

    scope: Scope
    kinds: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    subject: str | None = None
    session: str | None = None
    channel: str | None = None
    message_id: str | None = None
    told_by: str | None = None
    between: tuple[datetime | None, datetime | None] | None = None
    at: int | None = None
    retired: bool = False
    ever: bool = False


class Match(NamedTuple):
    """A version found by one way of looking; `key` is what `View.fetch` takes, `score` the higher the better."""

    key: int
    score: float


@dataclass(frozen=True, slots=True)
class Near:
    """What a search by vector found: the nearest, the `lowest` of all that were looked at, and the cosine of any of those."""

    matches: list[Match]
    lowest: float = 0.0
    others: Callable[[Iterable[int]], dict[int, float]] = lambda keys: {}


class Beside(NamedTuple):
    """What stands before and after a turn, and which other versions went into its vector; None where it has no vector."""

    before: Memory | None
    after: Memory | None
    uses: frozenset[tuple[str, int]] | None


class Outline(NamedTuple):
    """What ranking looks at of a version, without its text."""

    key: int
    id: str
    version: int
    kind: str
    subject: str | None
    speaker: str | None
    role: str | None
    channel: str | None
    session: str | None
    trust: str
    confidence: float
    at: datetime
    valid_from: datetime | None
    valid_until: datetime | None


class Around(NamedTuple):
    """The turns before and after one, the nearest first."""

    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector to keep, of a whole text or of one part of it.

    `between` is that of the same text between its neighbours: one vector is kept for both, whose cosine is the mean of
    theirs. `uses` names the other versions whose text went into it.
    """

    id: str
    version: int
    values: Sequence[float] | Floats
    part: int = 0
    uses: tuple[tuple[str, int], ...] = ()
    between: Sequence[float] | Floats | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A sighting as kept: of which memory and wording (`key`), from which commit to which."""

    id: str
    key: bytes
    seq: int
    retired_seq: int | None
    sighting: Sighting


@dataclass(frozen=True, slots=True)
class Record:
    """A version as kept, with the seqs that `as_of` compares."""

    memory: Memory
    key: bytes | None
    added_seq: int
    retired_seq: int | None


@dataclass(frozen=True, slots=True)
class Recalled:
    """A recall as it is kept for `why`: who asked what and when, which memories were looked at, and the numbers as JSON.

    `names` are what the question was narrowed or widened by: tags, a subject, a session, further words; `ranked` holds the
    numbers of every candidate.
    """

    id: str
    scope: Scope
    at: datetime
    question: str
    ids: tuple[str, ...]
    numbers: str
    names: tuple[str, ...] = ()
    ranked: str = "[]"


@dataclass(frozen=True, slots=True)
class Touched:
    """What one commit did to one memory in the end: the version it left active, and the one active before, if any."""

    id: str
    added: int | None
    retired: int | None


@dataclass(frozen=True, slots=True)
class Reopened:
    """What a correction had ended and holds on now that this is taken back: until what ended the latter, or said it again."""

    id: str
    by: str
    ended_at: datetime
    until: datetime | None
    is_passed_on: bool = False  # from the correction to what corrected it in turn

    def taken_over(self, replaces: tuple[str, ...]) -> tuple[str, ...]:
        """Return what a memory replaces, with what it ends in place of the correction."""
        return tuple(dict.fromkeys((*replaces, self.id))) if self.is_passed_on and self.by in replaces else replaces


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erase takes away: memories whole, single sightings of others, session state, names of people.

    `named` are those of `ids` that whoever asked may be told of. `tellers` says of what loses sightings who told it now, if
    anybody did; `reopened` what no longer ended then.
    """

    ids: tuple[str, ...]
    named: tuple[str, ...]
    sightings: tuple[Held, ...] = ()
    states: tuple[State, ...] = ()
    people: tuple[str, ...] = ()
    tellers: Mapping[str, str | None] = field(default_factory=dict, hash=False)
    reopened: tuple[Reopened, ...] = ()


@dataclass(frozen=True, slots=True)
class Swept:
    """What a store says after an erase: places it looked through, and those a reader still holds."""

    ids: tuple[str, ...]
    commit: str
    checked: tuple[str, ...]
    pending: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dump:
    """A space whole, as export and load carry it; `marks` are the tombstones that were there already."""

    space: str
    commits: tuple[Commit, ...] = ()
    records: tuple[Record, ...] = ()
    sightings: tuple[Held, ...] = ()
    states: tuple[State, ...] = ()
    marks: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Report:
    """How one space is: `problems` is empty when it is well."""

    space: str
    path: str | None
    bytes: int
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class View(Protocol):
    """One space as it stands at one moment."""

    space: str

    def last_seq(self) -> int:
        """Return the seq of the last commit; 0 before the first."""

    def seq_of(self, moment: datetime) -> int:
        """Return the seq of the last commit at or before `moment`; 0 before the first."""

    def find_commit(self, id: str, scope: Scope) -> Commit | None:
        """Return a commit as `scope` sees it, or None."""

    def commits(self, scope: Scope, since: datetime | None = None, limit: int | None = None) -> list[Commit]:
        """Return the commits that touch anything visible in `scope`, newest first; `seq` counts those."""

    def touched(self, commit: str, scope: Scope) -> list[Touched]:
        """Return what a commit did, as far as `scope` sees it."""

    def commits_after(self, commit: str, ids: Iterable[str]) -> list[str]:
        """Return the ids of later commits that touched any of `ids`, newest first."""

    def changed_between(self, start: int, end: int, scope: Scope) -> list[str]:
        """Return the ids of what `scope` sees, touched by commits with start < seq <= end."""

    def reasons_since(self, seq: int) -> set[str]:
        """Return the reasons of the commits after `seq`."""

    def said_after(self, id: str) -> list[tuple[Scope, Scope, datetime]]:
        """Return where active turns with greater ids were said and to whom, each place with the first moment of one."""

    def history(self, id: str, scope: Scope) -> list[Memory]:
        """Return the versions of a memory that `scope` sees, oldest first."""

    def get(self, id: str, where: Where) -> Memory | None:
        """Return the version of a memory that `where` asks for, or None."""

    def scan(self, where: Where, after: str | None = None, limit: int | None = None) -> list[Memory]:
        """Return what fits, in the order in which it was first recorded, one version each.

        With `where.retired` also what was forgotten, in its last version.
        """

    def newest(self, where: Where, limit: int) -> list[Match]:
        """Return the last that fit by when they happened (else were recorded), newest first."""

    def count(self, where: Where) -> dict[str, int]:
        """Return how many memories of each kind fit."""

    def find_key(self, key: bytes) -> list[Record]:
        """Return of each memory the newest version with this upsert key, active ones first, then by age, newest first."""

    def search_words(self, query: Query, where: Where, limit: int, now: datetime) -> list[Match]:
        """Return every version with one of the words: what still holds at `now` first, then by BM25, then the newest.

        At most `limit` of the current ones, and as many of the past where `where` reaches back.
        """

    def counts(self, terms: Sequence[str], where: Where) -> tuple[int, dict[str, int]]:
        """Return how many versions a search looks through, and how many of them have each term, whoever may see them."""

    def search_vectors(self, values: Sequence[float] | Floats, model: str, where: Where, limit: int) -> Near:
        """Return the nearest by cosine, exact; of several parts of a version the best counts."""

    def around(self, keys: Sequence[int], where: Where, reach: int = 1) -> dict[int, Around]:
        """Return for each turn the `reach` before and after it in its session (else channel), of those that fit."""

    def derived(self, keys: Sequence[int], where: Where) -> dict[int, tuple[int, ...]]:
        """Return what rests on each: the memories that fit and name it as a source."""

    def texts(self, keys: Sequence[int]) -> dict[int, str]:
        """Return what the full text search looks at of each."""

    def beside(self, turns: Sequence[Memory], model: str) -> list[Beside]:
        """Return for each active turn the active ones before and after it in its session (else channel), of equal audience."""

    def outlines(self, keys: Sequence[int]) -> list[Outline]:
        """Return what ranking looks at, in the order given."""

    def without_vectors(self, model: str, limit: int | None) -> list[Memory]:
        """Return versions that have no vector of a model yet, oldest first."""

    def lacking(self, model: str) -> int:
        """Return how many versions have no vector of a model yet."""

    def lacks(self, model: str, where: Where) -> bool:
        """Tell whether anything that fits has no vector of a model yet."""

    def vectors_of(self, ids: Iterable[str], model: str) -> dict[str, Floats]:
        """Return the vectors of those active memories that have one; of a text in parts that of the first."""

    def fetch(self, keys: Sequence[int], at: int | None = None) -> list[Memory]:
        """Return the versions behind matches, in the order given."""

    def waiting(self, limit: int | None = None, *, failed: bool = False) -> list[Memory]:
        """Return the active turns that are still to be learned from, or with `failed` those given up, oldest first."""

    def job(self, id: str) -> str | None:
        """Return how learning from the active version of a turn stands; None where it is done, or nothing was to be done."""

    def jobs(self) -> dict[str, int]:
        """Return how many active turns there are of each of `JOBS`."""

    def live(self) -> int:
        """Return how many active turns are `live`."""

    def queue(self) -> list[tuple[str, int, str]]:
        """Return id, version and author (the person, else the speaker) of every `live` turn, oldest first."""

    def citing(self, ids: Iterable[str]) -> list[Held]:
        """Return the sightings that rest on any of these memories."""

    def sightings(self, id: str) -> list[Held]:
        """Return the sightings of a memory, oldest first."""

    def state(self, kind: str, place: Scope, name: str = "") -> State | None:
        """Return one entry of session state."""

    def states(self, scope: Scope, kind: str | None = None) -> list[State]:
        """Return the entries visible in `scope`."""

    def copies(self) -> list[str]:
        """Return the backups and exports that were made of this space."""


class Draft(View, Protocol):
    """A commit being written. It sees its own changes."""

    at: datetime

    @property
    def commit_id(self) -> str | None:
        """The id of the commit; None as long as nothing belongs to it."""

    def add(self, memory: Memory, job: str | None = None) -> Memory:
        """Add a version: the first of a new memory where `memory.id` is empty, else the next one of that id.

        With a `job` it is to be learned from. The version still active under that id is retired. `version`, `recorded_at` and
        `commit` are the store's to set.
        """

    def retire(self, id: str) -> None:
        """Retire the active version of a memory."""

    def set_job(self, turns: Iterable[tuple[str, int]], job: str | None) -> None:
        """Say how learning from versions of turns went; None that it is done. No commit comes of it."""

    def put_state(self, entries: Sequence[State], remove: Sequence[State] = ()) -> None:
        """Write entries of session state and remove others, together with what else is written. No commit comes of it."""

    def sight(self, id: str, key: bytes, sighting: Sighting) -> None:
        """Note that a memory was said (again)."""

    def retire_sightings(self, held: Iterable[Held]) -> None:
        """Take back sightings."""


Entries = Sequence[State] | Callable[[View], Sequence[State]]


class Store(Protocol):
    """Keeps spaces."""

    def spaces(self, whole: bool = False) -> list[str]:
        """Return the names of all spaces that were ever written; with `whole`, raise where one cannot be read."""

    def space_of(self, mark: str) -> str | None:
        """Return the space whose ids carry this mark."""

    def reading(self, space: str) -> AbstractContextManager[View]:
        """Open a snapshot; of a space never written an empty one, and nothing is created."""

    def writing(self, space: str, by: str, why: str, now: datetime) -> AbstractContextManager[Draft]:
        """Open a commit. If the block changes nothing there is no commit."""

    def put_state(self, space: str, entries: Entries, remove: Sequence[State] = ()) -> None:
        """Write entries of session state and remove others, together; entries made from older ones are made inside."""

    def put_vectors(self, space: str, model: str, vectors: Sequence[Vector]) -> int:
        """Keep vectors in place of older ones, together; return how many were kept.

        Those of versions that are gone meanwhile are left out. Where a version that one uses is no longer active, neither it
        nor an older one is kept: what it was of lacks its vector.
        """

    def drop_vectors(self, space: str, keep: str) -> int:
        """Take away the vectors of every model but `keep`; return how many there were."""

    def alone(self, task: str) -> AbstractContextManager[bool]:
        """Tell whether nobody else, here or in another process, is at a task; nobody begins it until the block ends."""

    def keep_recall(self, made: Callable[[], Recalled], since: datetime) -> None:
        """Keep a recall, made sooner or later, and let go of what was asked at or before `since`.

        It is not worth waiting for, and may be lost in a crash.
        """

    def recalled(self, id: str) -> Recalled | None:
        """Return a kept recall."""

    def last_recalled(self, scope: Scope) -> str | None:
        """Return the id of the last recall kept that was asked in a scope; for an owner, anywhere in the space."""

    def erase(self, space: str, plan: Callable[[View], Erasure], by: str, now: datetime, dry_run: bool = False) -> Swept:
        """Take away for good what `plan` says, decided on the state it is applied to."""

    def dump(self, space: str) -> Dump:
        """Return a space whole."""

    def restore(self, dump: Dump) -> bool:
        """Fill a space never written with a dump, times and seqs kept; False, and nothing done, if anything is in it."""

    def bars(self, space: str) -> Bars:
        """Return what tells whether something was erased here."""

    def sizes(self) -> dict[str, int]:
        """Return how many bytes each space takes on disk."""

    def note_copy(self, space: str, what: str) -> None:
        """Remember that a backup or export holds this space, for `Proof.unreachable`."""

    def check(self) -> list[Report]:
        """Look every space over, changing nothing."""

    def close(self) -> None:
        """Finish what an erase left pending, and let go of everything."""


def key_of(memory: Memory) -> bytes | None:
    """Return what makes it the same thing: for a turn its message, for all else its wording; both within an audience."""
    if memory.kind != "turn":
        return upsert_key(memory.kind, memory.subject, memory.text, memory.audience)
    return upsert_key("message", None, memory.message_id, memory.audience) if memory.message_id else None


def indexed_text(memory: Memory) -> str:
    """Return what the full text search looks at."""
    return searchable(memory.speaker, memory.title, memory.text, memory.tags)


def searchable(speaker: str | None, title: str | None, text: str, tags: Iterable[str]) -> str:
    """Return the parts of a memory by which it is found, as one text."""
    return "\n".join([part for part in (speaker, title, text, *tags) if part])


def fits(memory: Memory, where: Where) -> bool:
    """Tell whether a version is one that `where` asks for, whenever it was believed."""
    return (
        visible(memory.audience, where.scope)
        and (where.kinds is None or memory.kind in where.kinds)
        and set(where.tags) <= set(memory.tags)
        and where.subject in (None, memory.subject or "")
        and where.told_by in (None, memory.extra.get("told_by"))
        and where.session in (None, memory.origin.session)
        and where.channel in (None, memory.origin.channel)
        and where.message_id in (None, memory.message_id)
        and (where.between is None or _overlaps(memory, *where.between))
    )


def _overlaps(memory: Memory, start: datetime | None, end: datetime | None) -> bool:
    if memory.happened_at is not None:
        return (start is None or memory.happened_at >= start) and (end is None or memory.happened_at < end)
    if memory.valid_from is None and memory.valid_until is None:
        return False
    starts_before_end = end is None or memory.valid_from is None or memory.valid_from < end
    return starts_before_end and (start is None or memory.valid_until is None or memory.valid_until > start)


def without(record: Record, erasure: Erasure, sightings: Iterable[Held]) -> Record:
    """Return a version that outlives an erase, with what it quoted, merged or took over from the erased taken out."""
    memory = record.memory
    replaces, until = memory.replaces, memory.valid_until
    for one in erasure.reopened:
        replaces = one.taken_over(replaces)
        until = one.until if (one.id, one.ended_at) == (memory.id, memory.valid_until) else until
    replaces = tuple(id for id in replaces if id not in erasure.ids)
    extra = dict(memory.extra)
    if memory.id in erasure.tellers and extra.pop("told_by", None) and (teller := erasure.tellers[memory.id]):
        extra["told_by"] = teller
    kept = [held.sighting.source for held in sightings if held.id == memory.id and held.key == record.key]
    source = memory.source if memory.kind == "turn" or memory.source in kept or not kept else kept[0]
    if (replaces, source, until, extra) == (memory.replaces, memory.source, memory.valid_until, memory.extra):
        return record
    return replace(record, memory=replace(memory, replaces=replaces, source=source, valid_until=until, extra=extra))


def asked_from(scope: Scope, recalled: Recalled) -> bool:
    """Tell whether a recall may be looked at in `scope`: where it was asked, or by the owner of the space."""
    return scope.space == recalled.scope.space and (scope.sees_all or scope == recalled.scope)


def concerns(erasure: Erasure, texts: Iterable[str], recalled: Recalled) -> bool:
    """Tell whether a kept recall goes with an erasure: it looked at what goes, asked in its words, or was theirs who go."""
    looked_at = not set(erasure.ids).isdisjoint(recalled.ids)
    is_theirs = not {recalled.scope.person, *recalled.names}.isdisjoint(erasure.people)
    return looked_at or is_theirs or repeats(texts, [recalled.question, *recalled.names])


def repeats(texts: Iterable[str], value: object) -> bool:
    """Tell whether a JSON value says any of these folded texts again: in full, or inside something longer."""
    if isinstance(value, str):
        folded = fold(value)
        return any(text == folded or (len(text) >= 12 and text in folded) for text in texts)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(repeats(texts, part) for part in parts)


def tombstones(secret: bytes, memory: Memory) -> list[bytes]:
    """Return the marks that an erased version leaves: of its id, its message, and its text if that has three words or more.

    Shorter texts ("yes", "good night") are everyone's; they are only refused under the same message or id.
    """
    return _marks(secret, memory, [memory.audience])


def barred_by(secret: bytes, memory: Memory) -> list[bytes]:
    """Return the marks that would bar `memory`: those left in any audience that all its readers belong to.

    What was erased in private bars nobody outside, or a refusal would tell them that it had been said.
    """
    own = memory.audience
    return _marks(secret, memory, [audience for audience in _wider(own) if within(own, audience)])


def _wider(scope: Scope) -> list[Scope]:
    """Return a scope with any of its parts left out."""
    parts = [part for part in ("channel", "session", "person") if getattr(scope, part) is not None]
    subsets = chain.from_iterable(combinations(parts, size) for size in range(len(parts) + 1))
    return [replace(scope, **dict.fromkeys(dropped)) for dropped in subsets]  # type: ignore[arg-type]


def _readers(audience: Scope) -> str:
    return repr((audience.channel, audience.session, audience.person))


def person_tombstone(secret: bytes, person: str) -> bytes:
    """Return the mark of a person who was erased; it keeps names and notes from coming back with an old copy."""
    return _mac(secret, "person", person)


def word_tombstones(secret: bytes, memory: Memory, lost: set[str]) -> set[bytes]:
    """Return the marks of the words that went with a memory, each for its readers and for the owner of the space."""
    words = telling(indexed_text(memory)) & lost
    return {_mac(secret, "word", readers + word) for readers in (_readers(memory.audience), OWNER) for word in words}


def asks_for_erased(secret: bytes, view: View, recalled: Recalled, marks: Set[bytes]) -> bool:
    """Tell whether a question has words that only the erased had: it is not kept, or the file would hold them again.

    Only who could see the erased is affected, in a room too where it was their own, or what is kept would tell others that it
    had been said.
    """
    if not marks:
        return False
    scope = recalled.scope
    alone = replace(scope, channel=None)
    readers = (
        [OWNER] if scope.sees_all else [_readers(one) for one in _wider(scope) if visible(one, scope) or visible(one, alone)]
    )
    asked = telling("\n".join((recalled.question, *recalled.names)))
    words = [word for word in asked if any(_mac(secret, "word", who + word) in marks for who in readers)]
    said_again = view.counts(words, Where(scope, ever=True))[1] if words else {}
    return any(not said_again[word] for word in words)


@dataclass(frozen=True, slots=True)
class Bars:
    """The tombstones of a space."""

    secret: bytes
    marks: frozenset[bytes]

    def memory(self, memory: Memory) -> bool:
        """Tell whether a memory was erased."""
        return bool(self.marks) and not self.marks.isdisjoint(barred_by(self.secret, memory))

    def person(self, person: str) -> bool:
        """Tell whether a person was erased."""
        return bool(self.marks) and person_tombstone(self.secret, person) in self.marks


def _marks(secret: bytes, memory: Memory, audiences: list[Scope]) -> list[bytes]:
    marks = [_mac(secret, "id", memory.id)] if memory.id else []
    folded = fold(memory.text) if len(query_words(memory.text)) >= 3 else None
    for audience in audiences:
        readers = _readers(audience)
        if memory.message_id:
            marks.append(_mac(secret, "message", readers + memory.message_id))
        if folded:
            marks.append(_mac(secret, "text", readers + folded))
    return marks


def _mac(secret: bytes, kind: str, value: str) -> bytes:
    return hmac.digest(secret, f"{kind}:{value}".encode(), hashlib.sha256)[:16]


def refusal(memory: Memory) -> Erased:
    """Return the error for what was erased."""
    what = f"message {memory.message_id!r}" if memory.message_id else "this text"
    return Erased(f"{what} was erased for good in space {memory.audience.space!r} and is not kept again; nothing was stored")


def check_vectors(vectors: Sequence[Vector]) -> None:
    """Refuse vectors that could not be compared: another length, numbers that are none."""
    import numpy as np

    for vector in vectors:
        if len(vector.values) != len(vectors[0].values):
            raise BadInput(f"vectors of {len(vectors[0].values)} and {len(vector.values)} numbers in one call; use one model")
        if not np.isfinite(vector.values).all():
            raise BadInput(f"the vector of {vector.id} holds a number that is not finite")


def kept_values(vector: Vector, length: int) -> Floats:
    """Return the numbers that are kept of a vector.

    Sixteen bits of each, in every store. The mean of two is not scaled back to length 1: that would favour texts whose
    neighbours speak of other things.
    """
    import numpy as np

    alone = unit(vector.values, length)
    kept = alone if vector.between is None else (alone + unit(vector.between, length)) / 2
    return np.asarray(kept, np.float16).astype(np.float32)


def unit(values: Sequence[float] | Floats, length: int | None) -> Floats:
    """Return a vector of length 1, refused if it cannot be compared with vectors of `length` numbers."""
    import numpy as np

    try:
        array = np.asarray(values, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError) as exc:
        raise BadInput(f"a vector must be a list of numbers, not {type(values).__name__}: {exc}") from exc
    if length is not None and len(array) != length:
        raise BadInput(f"a vector of {len(array)} numbers; the vectors kept here have {length}: use the same model")
    if not np.isfinite(array).all():
        raise BadInput("the vector holds a number that is not finite")
    largest = np.abs(array).max(initial=0.0)
    scaled = array / largest if largest else array  # the square of a large number may be none
    return np.asarray(scaled / (float(np.linalg.norm(scaled)) or 1.0), np.float32)
