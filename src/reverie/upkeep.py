"""Keeping a mind well: export and load, backup and recover, health and status.

An export is JSON lines, one record a line, for people and other programs; a backup is the database files themselves. An
erase can reach neither, so each is noted in the space it was made of.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from reverie.errors import BadInput, Damaged, Erased, Full, ReadOnly, ReverieError, StoreError
from reverie.learn import conversations, feedback, quarantine, revise
from reverie.learn.background import Progress
from reverie.learn.conversations import CURSOR, TOPICS
from reverie.learn.embed import Embedding
from reverie.memory import check, people, procedural, working
from reverie.memory.scope import Scope, visible
from reverie.memory.trace import Commit, Memory, Sighting, Source, from_json, space_mark, split_id, to_json
from reverie.memory.working import State, Working, is_stale
from reverie.sleep import proposals
from reverie.state import People
from reverie.store.base import Bars, Dump, Erasure, Held, Record, Store, View, Where, key_of
from reverie.store.in_memory import InMemoryStore

FORMAT = 1
STALE_SESSIONS = 10  # more than these are worth a warning (K16)
PAGE = 500
HANDED_ON = ".standard-output"
_STATE_LIMIT = 10 * check.TEXT_LIMIT  # characters of what is held for now: several texts
END_OF_TIME = datetime(9999, 12, 31, 23, tzinfo=UTC)  # what is loaded must leave room for what is said later


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of a load; `errors` are the lines that could not be kept, and why. What else failed was erased here."""

    spaces: tuple[str, ...]
    added: int
    duplicates: int
    failed: int
    errors: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """Whether everything is well, check by check."""

    healthy: bool
    checks: dict[str, str] = field(hash=False)
    warnings: tuple[str, ...]
    errors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpaceStatus:
    """What a space holds; all that follows `kinds` only for its owner.

    `pending` versions lack a vector; of the turns, so many are `waiting` to be learned from, and so many never will be, because
    too much came at once (`dropped`) or a model `failed` at them; so many items were refused (`quarantined`).
    """

    space: str
    memories: int
    kinds: dict[str, int] = field(hash=False)
    commits: int | None = None
    bytes: int | None = None
    pending: int | None = None
    waiting: int | None = None
    dropped: int | None = None
    failed: int | None = None
    quarantined: int | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """What there is."""

    home: str | None
    spaces: tuple[SpaceStatus, ...]
    embedder: str = "none"

    @property
    def memories(self) -> int:
        """How many memories in all."""
        return sum(space.memories for space in self.spaces)


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a reindex did: memories embedded, vectors of other models dropped, spaces gone through."""

    made: int
    dropped: int
    spaces: int


@dataclass(frozen=True, slots=True)
class Proof:
    """What an erase did: memories gone, places looked through, places a reader still holds, copies out of reach."""

    erased: tuple[str, ...]
    checked: tuple[str, ...]
    pending: tuple[str, ...]
    unreachable: tuple[str, ...]
    commit: str | None = None


def pages(store: Store, where: Where, after: str | None, left: int | None) -> Iterator[Memory]:
    """Yield what fits a page at a time, so that a long listing keeps no transaction open."""
    while left is None or left > 0:
        with store.reading(where.scope.space) as view:
            page = view.scan(where, after, PAGE if left is None else min(PAGE, left))
        yield from page
        if len(page) < PAGE:
            return
        after, left = page[-1].id, None if left is None else left - len(page)


def reindex(store: Store, embedding: Embedding, progress: Progress | None) -> Reindexed:
    """Embed what lacks vectors everywhere, a space at a time, then drop what no search can use any more."""
    if embedding.embedder is None:
        raise BadInput("this mind has no embedder: open it with embedder='local' (or another) to reindex")
    spaces = store.spaces()
    total = made = dropped = 0
    for space in spaces:
        with store.reading(space) as view:
            total += view.lacking(embedding.model)
    for space in spaces:

        def told(done: int, _: int, before: int = made) -> None:
            if progress is not None:
                progress(before + done, max(total, before + done))

        made += embedding.catch_up(space, told)
        dropped += store.drop_vectors(space, embedding.model)
    return Reindexed(made, dropped, len(spaces))


def status(store: Store, home: Path | None, scope: Scope | None, model: str, now: datetime) -> Status:
    """Count what a scope sees; without one, everything."""
    sizes = {} if scope and not scope.sees_all else store.sizes()
    found = []
    for here in [scope] if scope else [Scope.owner(space) for space in store.spaces()]:
        with store.reading(here.space) as view:
            kinds = dict(sorted(view.count(Where(here)).items()))
            commits = view.last_seq() if here.sees_all else None
            pending = view.lacking(model) if here.sees_all and model != "none" else None
            jobs = view.jobs() if here.sees_all else {}
        learning: tuple[int | None, ...] = (None,) * 4
        if here.sees_all:
            refused = len(quarantine.listed(store, here, now))
            learning = (jobs.get("live", 0) + jobs.get("import", 0), jobs.get("dropped", 0), jobs.get("failed", 0), refused)
        found.append(SpaceStatus(here.space, sum(kinds.values()), kinds, commits, sizes.get(here.space), pending, *learning))
    return Status(None if home is None else str(home), tuple(found), model)


def health(store: Store, home: Path | None, now: datetime) -> Health:
    """Look everything over (K16)."""
    checks: dict[str, str] = {}
    warnings: list[str] = []
    errors: list[str] = []
    stale = 0
    for report in store.check():
        checks[f"space {report.space}"] = "ok" if not report.problems else report.problems[0]
        warnings += report.warnings
        errors += [f"space {report.space!r}: {problem}" for problem in report.problems]
        if not report.problems:
            with store.reading(report.space) as view:
                held = view.states(Scope.owner(report.space), "working")
            stale += sum(is_stale(state.updated_at, now) for state in held)
    checks["sessions"] = f"{stale} whose working memory is older than a week"
    if stale > STALE_SESSIONS:
        warnings.append(f"{stale} sessions have working memory older than a week; reset --memory clears it")
    if home is not None and not home.is_dir():
        errors.append(f"the home {home} is no longer there; what is said now is lost when this mind is closed")
    elif home is not None:
        free = shutil.disk_usage(home).free
        checks["disk"] = f"{free / 1e9:.1f} GB free"
        if free < 100_000_000:
            warnings.append(f"only {free / 1e6:.0f} MB left on the disk of {home}")
        if home.stat().st_mode & 0o077:
            warnings.append(f"{home} can be opened by other users of this machine; chmod 700 it")
    return Health(not errors, checks, tuple(warnings), tuple(errors))


def erase(
    store: Store,
    known: People,
    home: Path | None,
    id: str | None,
    query: str | None,
    person: str | None,
    here: Scope,
    by: str,
    now: datetime,
    dry_run: bool,
) -> Proof:
    """Remove for good what an id, words or a person name, and say what was looked through."""
    plan = revise.about(person, here) if person is not None else revise.naming(id, query, here)
    wants_out = person in {one.id for one in known.list(here) if one.opted_out}
    swept = store.erase(here.space, plan, by, now, dry_run)
    if person is not None and wants_out and not dry_run:
        known.optout(person, scope=here)  # the one thing about them that is kept: the wish not to be remembered
    with store.reading(here.space) as view:
        copies = tuple(out_of_reach(view, home))
    return Proof(swept.ids, swept.checked, swept.pending, copies, swept.commit or None)


def out_of_reach(view: View, home: Path | None) -> Iterator[str]:
    """Yield the copies that an erase cannot touch: backups, exports, a git history."""
    yield from view.copies()
    if home is not None:
        for folder in (home.resolve(), *home.resolve().parents):
            if (folder / ".git").exists():
                yield f"git: the history of {folder}"
                return


# export


def export(store: Store, path: Path, scope: Scope | None, now: datetime) -> Path:
    """Write what `scope` sees, or every space whole."""
    spaces = [scope.space] if scope else store.spaces(whole=True)
    file = _target(path)
    where = "standard output" if file.name == HANDED_ON else file
    with _written_whole(file) as part, part.open("w", encoding="utf-8") as handle:
        _line(handle, {"reverie": FORMAT, "at": now.isoformat(), "spaces": spaces})
        for space in spaces:
            store.note_copy(space, f"export: {where}")  # first: an erase meanwhile must know of this copy
            dump = store.dump(space)
            _write(handle, dump if scope is None or scope.sees_all else seen(dump, scope))
    return path


def seen(dump: Dump, scope: Scope) -> Dump:
    """Return the part of a dump that `scope` sees, its commits counted as if there were no others."""
    records = [record for record in dump.records if visible(record.memory.audience, scope)]
    ids = {record.memory.id for record in records}
    held = [sighting for sighting in dump.sightings if sighting.id in ids]
    pairs = [(r.added_seq, r.retired_seq) for r in records] + [(s.seq, s.retired_seq) for s in held]
    kept = sorted({seq for pair in pairs for seq in pair if seq is not None})
    number = {seq: place for place, seq in enumerate(kept, 1)}
    return Dump(
        dump.space,
        tuple(replace(commit, seq=number[commit.seq]) for commit in dump.commits if commit.seq in number),
        tuple(replace(r, added_seq=number[r.added_seq], retired_seq=number.get(r.retired_seq or 0)) for r in records),
        tuple(replace(s, seq=number[s.seq], retired_seq=number.get(s.retired_seq or 0)) for s in held),
        # a mark between topics names the turn before it, which may have been meant for fewer than are there
        tuple(state for state in dump.states if visible(state.place, scope) and state.kind != TOPICS),
    )


@contextlib.contextmanager
def handed_on() -> Iterator[Path]:
    """Lend the name of a file for an export that goes to standard output, where an erase is then told that it went."""
    with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
        yield Path(folder) / HANDED_ON


@contextlib.contextmanager
def _written_whole(path: Path) -> Iterator[Path]:
    """Lend a file to write, for its owner's eyes only, that takes its name when it is complete and on disk."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
        with part.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(part, path)
    except OSError as exc:
        raise _unwritten(path, exc) from exc
    finally:
        part.unlink(missing_ok=True)


def _unwritten(path: Path, exc: OSError) -> StoreError:
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return Full(f"no room on the disk for {path}; it was not written: free some space and try again")
    return StoreError(f"{path} could not be written: {exc.strerror or exc}")


def _target(path: Path) -> Path:
    """Return the file that a path leads to, links followed once: a link, a device or a pipe is never replaced by a copy."""
    file = Path(os.path.realpath(path))
    try:
        if file.is_dir():
            raise BadInput(f"{path} is a folder; give the name of a file to write")
        # `path` itself, too: the link to a pipe leads to a name that is not there.
        if (path.exists() or os.path.lexists(file)) and not file.is_file():
            raise BadInput(f"{path} is no regular file but a device, a pipe or the like; give the name of a file to write")
        if not file.parent.is_dir():
            raise BadInput(f"there is no folder {file.parent}; make it first")
    except OSError as exc:
        raise _unwritten(path, exc) from exc
    return file


def _line(handle: TextIO, value: object) -> None:
    handle.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def _write(handle: TextIO, dump: Dump) -> None:
    _line(handle, {"space": dump.space})
    if dump.marks:
        _line(handle, {"erased": sorted(mark.hex() for mark in dump.marks)})
    for commit in dump.commits:
        _line(handle, {"commit": [commit.id, commit.seq, commit.at.isoformat(), commit.by, commit.why]})
    for record in dump.records:
        _line(handle, {"memory": to_json(record.memory), "seqs": [record.added_seq, record.retired_seq]})
    for held in dump.sightings:
        source = held.sighting.source
        _line(
            handle,
            {
                "sighting": [
                    held.id,
                    held.key.hex(),
                    held.seq,
                    held.retired_seq,
                    held.sighting.at.isoformat(),
                    held.sighting.confidence,
                ],
                "source": [source.message_ids, source.memory_ids, source.quote, source.place],
                "rests_on": held.sighting.rests_on,
                **({"voice": held.sighting.voice.hex()} if held.sighting.voice else {}),
            },
        )
    for state in dump.states:
        if state.kind == CURSOR:  # it names turns of anybody, and says nothing that cannot be found out again
            continue
        place = state.place
        _line(
            handle,
            {
                "state": [
                    state.kind,
                    place.channel,
                    place.session,
                    place.person,
                    state.name,
                    state.updated_at.isoformat(),
                ],
                "value": dict(state.value),
            },
        )


# load


def load(store: Store, path: Path, now: datetime, dry_run: bool) -> Loaded:
    """Read an export whole, then store it; a line that does not fit stops everything before anything is stored.

    What was held only for now stands by itself: an entry that cannot be read is counted and left out.
    """
    dumps, errors = _read(path)
    added = duplicates = failed = 0
    for dump in dumps:
        active = sum(record.retired_seq is None for record in dump.records)
        left = _without_erased(store, dump, now)
        counts = _restore(store, left, dry_run) or _merge(store, left, now, dry_run)
        added, duplicates = added + counts[0], duplicates + counts[1]
        failed += active - counts[0] - counts[1]
    return Loaded(tuple(dump.space for dump in dumps), added, duplicates, failed + len(errors), tuple(errors))


def _restore(store: Store, dump: Dump, dry_run: bool) -> tuple[int, int] | None:
    """Fill a space never written, and return how many came in; None if there is anything in it."""
    active = sum(record.retired_seq is None for record in dump.records)
    if not dry_run:
        return (active, 0) if store.restore(dump) else None
    with store.reading(dump.space) as view:
        return None if view.last_seq() or view.states(Scope.owner(dump.space)) else (active, 0)


def _without_erased(store: Store, dump: Dump, now: datetime) -> Dump:
    """Return a dump less what was erased in this home, what was derived from it, and the notes that repeat it."""
    plan = _erased_since(dump, store.bars(dump.space))
    if plan is None:
        return dump
    scratch = InMemoryStore()
    scratch.restore(dump)
    scratch.erase(dump.space, plan, "owner", now)
    return scratch.dump(dump.space)


def _erased_since(dump: Dump, bars: Bars) -> Callable[[View], Erasure] | None:
    """Return the plan that clears a copy of what was erased after it was made, or None where there is nothing to clear."""
    bars = replace(bars, marks=bars.marks - dump.marks)  # what outlived an erase before the copy was made may come back
    known = {commit.by for commit in dump.commits}
    known |= {state.name if state.kind == "person" else state.place.person or "" for state in dump.states}
    ids = {record.memory.id for record in dump.records if bars.memory(record.memory)}
    people = {person for person in known if person and bars.person(person)}
    return revise.again(ids, people) if ids or people else None


class _OnlyLooking(Exception):
    """Ends a commit that was written to see what would come of it."""


def _merge(store: Store, dump: Dump, now: datetime, dry_run: bool) -> tuple[int, int]:
    """Add what an export has and the space has not; what was forgotten or erased here stays so."""
    owner = Scope.owner(dump.space)
    added = duplicates = 0
    told: dict[str, list[Held]] = {}
    for held in dump.sightings:
        told.setdefault(held.id, []).extend([held] if held.retired_seq is None else [])
    states: list[State] = []
    with contextlib.suppress(_OnlyLooking), store.writing(dump.space, "owner", "loaded", now) as draft:
        for record in dump.records:
            if record.retired_seq is not None:
                continue
            known = next(iter(draft.find_key(record.key)), None) if record.key else None
            # A retired version is no longer known if the memory has since become something else; forgotten if it was the last.
            if draft.history(record.memory.id, owner) or (known and known.memory.version == _last(draft, known).version):
                duplicates += 1
                continue
            with contextlib.suppress(Erased):
                draft.add(record.memory)
                added += 1
                for held in told.get(record.memory.id, ()):
                    draft.sight(held.id, held.key, held.sighting)
        states = [state for state in dump.states if draft.state(state.kind, state.place, state.name) is None]
        if dry_run:
            raise _OnlyLooking
    if not dry_run:
        store.put_state(dump.space, states)
    return added, duplicates


def _last(view: View, record: Record) -> Memory:
    """Return the last version of the memory that a record is of, as shown to its owner."""
    return view.history(record.memory.id, Scope.owner(view.space))[-1]


_WRONG = (ReverieError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)


def _read(path: Path) -> tuple[list[Dump], list[tuple[int, str]]]:
    """Read and check an export; beside what is in it, the lines that are left out, and why."""
    parts: dict[str, dict[str, list[Any]]] = {}
    errors: list[tuple[int, str]] = []
    space = ""
    number = 0
    try:
        with path.open("rb") as handle:
            for number, line in enumerate(handle, 1):
                value = json.loads(line.decode())
                if number == 1:
                    if value.get("reverie") != FORMAT:
                        raise BadInput(f"it says format {value.get('reverie')!r}; this Reverie reads {FORMAT}")
                elif "space" in value:
                    space = check.name(value["space"], "space")
                    if space in parts:
                        raise BadInput(f"the space {space!r} appears twice")
                    parts[space] = {"commits": [], "records": [], "sightings": [], "states": [], "marks": []}
                elif "state" in value:
                    try:
                        parts[space]["states"] += _states(value, space)
                    except _WRONG as exc:
                        errors.append((number, str(exc)))
                else:
                    _read_line(value, space, parts[space])
    except OSError as exc:
        raise BadInput(f"{path} cannot be read: {exc.strerror}") from exc
    except _WRONG as exc:
        raise BadInput(f"{path}, line {number}, is not an export of Reverie: {exc}; nothing was loaded") from exc
    if number == 0:
        raise BadInput(f"{path} is empty, not an export of Reverie")
    dumps = [
        Dump(space, tuple(p["commits"]), tuple(p["records"]), tuple(p["sightings"]), tuple(p["states"]), frozenset(p["marks"]))
        for space, p in parts.items()
    ]
    for dump in dumps:
        _check_whole(dump, path)
    return dumps, errors


def _read_line(value: dict[str, Any], space: str, part: dict[str, list[Any]]) -> None:
    if "commit" in value:
        id, seq, at, by, why = value["commit"]
        part["commits"].append(Commit(str(id), _seq(seq), _time(at), check.text(by, "by"), _why(why)))
    elif "memory" in value:
        memory = from_json(value["memory"], space)
        added, retired = value["seqs"]
        part["records"].append(Record(memory, key_of(memory), _seq(added), None if retired is None else _seq(retired)))
    elif "sighting" in value:
        id, key, seq, retired, at, confidence = value["sighting"]
        messages, memories, quote, place = value["source"]
        source = Source(tuple(messages), tuple(memories), check.optional_text(quote, "quote"), place)
        rests_on = check.names(value["rests_on"], "rests_on")
        voice = bytes.fromhex(value.get("voice", ""))
        sighting = Sighting(_time(at), check.share(confidence, "confidence"), source, rests_on, voice)
        part["sightings"].append(
            Held(str(id), bytes.fromhex(key), _seq(seq), None if retired is None else _seq(retired), sighting)
        )
    elif "erased" in value:
        part["marks"] += [bytes.fromhex(mark) for mark in value["erased"]]
    else:
        raise BadInput(f"a line with {sorted(value)}")


def _states(line: dict[str, Any], space: str) -> list[State]:
    """Return the entry of state that a line holds; none for a cursor, which is found again and could be wrong here."""
    kind, channel, session, person, name, at = line["state"]
    if kind == CURSOR:
        return []
    kind, name = check.name(kind, "kind"), check.name(name, "name") if name else ""
    return [State(kind, Scope(space, channel, session, person), name, _held(kind, name, line["value"], space), _time(at))]


def _held(kind: str, name: str, given: object, space: str) -> dict[str, object]:
    """Return the value of an entry of state, without its secrets, if whoever reads that kind can read it."""
    value: dict[str, Any] = check.values(given, f"the value of {kind!r}", _STATE_LIMIT)
    kept = check.without_secrets(value)
    check.names(value.get("rests_on", ()), "rests_on")
    match kind:
        case "person":
            kept = people.to_value(people.from_value(check.name(name, "person id"), value))
            if wrong := [part for part in kept if value.get(part) not in (None, kept[part])]:
                raise BadInput(f"of the person {name!r}, this cannot be read: {', '.join(wrong)}")
        case "working":
            context, pending = (working.lines(value.get(part)) for part in ("context", "pending"))
            fields = Working(value.get("task"), context, pending, value.get("notes"))
            kept |= working.to_value(working.parse(value["content"]) if kept.pop("content", None) else fields)
        case "scratchpad" | "context":
            kept["text"] = check.text(value.get("text"))
        case "recent":
            if _mark(check.name(value.get("upto"), "upto"), "c") != space_mark(space):
                raise BadInput(f"'recent' begins after {value['upto']!r}, which is no commit of this space")
        case conversations.TOPICS:
            kept["after"] = [[_time(at).isoformat(), check.name(id, "id")] for at, id in value["after"]]
        case quarantine.KIND:
            memory, reason = from_json(value["memory"], space), check.text(value.get("reason"), "reason")
            kept |= {"memory": to_json(memory), "reason": reason, "number": check.count(value.get("number"), "number")}
        case proposals.KIND:
            check.one_of(value.get("verb"), proposals.VERBS, "verb")
            check.count(value.get("version"), "version")
            kept["reason"] = check.optional_text(value.get("reason"), "reason")
        case feedback.KIND | procedural.USE:
            for part in feedback.SIGNS if kind == feedback.KIND else ("count",):
                kept[part] = check.count(value.get(part), part, least=0)
    if kind in (proposals.KIND, feedback.KIND, procedural.USE):
        kept["memory"] = check.name(value.get("memory"), "memory")
    if kind in (proposals.KIND, feedback.KIND, quarantine.KIND):
        kept["by"] = check.name(value.get("by"), "by")
    return kept


def _why(value: object) -> str:
    return check.text(value, "why") if value else ""  # an erase empties the reasons of what it took away


def _seq(value: object) -> int:
    number = check.count(value, "a seq")
    if number >= 1 << 53:
        raise BadInput(f"seq {number} leaves no room for later commits")
    return number


def _time(value: object) -> datetime:
    return check.moment(datetime.fromisoformat(str(value)), "a time")


def _mark(id: str, letter: str) -> str | None:
    named = split_id(id, letter)
    return named[0] if named else None


def _check_whole(dump: Dump, path: Path) -> None:
    """Refuse a dump whose parts do not fit together: it would break what the store promises."""
    mark, seqs = space_mark(dump.space), {commit.seq for commit in dump.commits}
    ends = {None, *seqs}
    times = [(commit.seq, commit.at) for commit in dump.commits]
    versions = [(record.memory.id, record.memory.version) for record in dump.records]
    ids = {id for id, _ in versions}
    active = [record.memory.id for record in dump.records if record.retired_seq is None]
    problem = None
    if any(_mark(commit.id, "c") != mark for commit in dump.commits) or any(_mark(id, "m") != mark for id in ids):
        problem = "an id belongs to another space"
    elif times != sorted(times) or len(seqs) != len(times) or len({at for _, at in times}) != len(times):
        problem = "its commits are not in the order of their times"
    elif times and times[-1][1] >= END_OF_TIME:
        problem = "its last commit leaves no time for another"
    elif len(set(versions)) != len(versions):
        problem = "a version appears twice"
    elif any(r.added_seq not in seqs or r.retired_seq not in ends for r in dump.records):
        problem = "a memory belongs to a commit that is missing"
    elif any(r.retired_seq is not None and r.retired_seq < r.added_seq for r in dump.records):
        problem = "a memory was retired before it was added"
    elif len(set(active)) != len(active):
        problem = "two versions of a memory are active"
    elif any(held.id not in ids for held in dump.sightings):
        problem = "a sighting belongs to a memory that is missing"
    elif any(held.seq not in seqs or held.retired_seq not in ends for held in dump.sightings):
        problem = "a sighting belongs to a commit that is missing"
    if problem:
        raise BadInput(f"{path}, space {dump.space!r}: {problem}; nothing was loaded")


# backup


def backup(store: Store, path: Path, now: datetime) -> Path:
    """Copy every space into one file, each as it stands at one moment."""
    from reverie.store.sqlite import SqliteStore

    if not isinstance(store, SqliteStore):
        raise BadInput("a mind in memory has no files to back up; use export()")
    spaces = store.spaces(whole=True)
    file = _target(path)
    with (
        _written_whole(file) as part,
        tempfile.TemporaryDirectory(dir=file.parent, prefix=".backup-") as folder,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        sums = {}
        for space in spaces:
            store.note_copy(space, f"backup: {file}")
            copy = Path(folder) / store.file_of(space).name
            store.copy_to(space, copy)
            with copy.open("rb") as handle:
                sums[copy.name] = hashlib.file_digest(handle, "sha256").hexdigest()
            archive.write(copy, copy.name)
            copy.unlink()
        archive.writestr("manifest.json", json.dumps({"reverie": FORMAT, "at": now.isoformat(), "sha256": sums}))
    return path


def recover(path: str | os.PathLike[str], home: str | os.PathLike[str]) -> tuple[str, ...]:
    """Put the spaces of a backup into a home, and return their names.

    A space that is there already is put aside, not lost. What was erased in that home since the backup stays erased. No
    mind may have the home open.
    """
    from reverie.store.sqlite import SqliteStore
    from reverie.store.sqlite.recovery import Staging

    archive = check.path(path)
    if not archive.is_file():
        raise BadInput(f"there is no backup {archive}; nothing was recovered")
    with Staging(check.path(home, "the path of the home")) as staging:
        _unpack(archive, staging.spaces)
        store = SqliteStore(staging.path)
        try:
            if problems := [problem for report in store.check() for problem in report.problems]:
                raise Damaged(f"{archive} is damaged ({problems[0]}); nothing was recovered")
            names = store.spaces()
            for space in names:
                dump = store.dump(space)
                store.bar(space, staging.tombstones(space))
                if plan := _erased_since(dump, store.bars(space)):
                    store.erase(space, plan, "owner", datetime.now(UTC))
        finally:
            store.close()
        staging.put_in_place()
    return tuple(names)


def _unpack(path: Path, folder: Path) -> None:
    """Unpack a backup, refusing one that is not what was written."""
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read("manifest.json"))
            if manifest["reverie"] != FORMAT:
                raise BadInput(f"{path} has format {manifest['reverie']!r}; this Reverie reads {FORMAT}; nothing was recovered")
            sums = manifest["sha256"]
            for name, digest in sums.items():
                copy = folder / Path(name).name
                with archive.open(name) as packed, copy.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked)
                copy.chmod(0o600)
                with copy.open("rb") as handle:
                    if hashlib.file_digest(handle, "sha256").hexdigest() != digest:
                        raise Damaged(f"{path} is damaged: {name} is not what was backed up; nothing was recovered")
    except (
        OSError, KeyError, ValueError, AttributeError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError,
    ) as exc:  # fmt: skip
        raise BadInput(f"{path} is not a backup of Reverie ({exc}); nothing was recovered") from exc


# starting over

FOR_NOW = ("working", "scratchpad", "context", "recent")


def reset(store: Store, scope: Scope, now: datetime) -> Commit:
    """Clear what is held for now, and retire what was said; unlike after a `forget`, what was learned from it stays."""
    with store.reading(scope.space) as view:
        held = [state for state in view.states(scope) if state.kind in FOR_NOW]
    store.put_state(scope.space, (), held)
    by, why = scope.person or "owner", "reset"
    with store.writing(scope.space, by, why, now) as draft:
        for memory in draft.scan(Where(scope, ("turn", "episode", "pattern"))):
            draft.retire(memory.id)
        commit = draft.find_commit(draft.commit_id, scope) if draft.commit_id else None
        return commit or Commit("", 0, now, by, why)


def remove(home: str | os.PathLike[str]) -> tuple[str, ...]:
    """Remove every space of a home for good, and return their names; settings and tombstones stay.

    No mind may have the home open.
    """
    from reverie.store.sqlite import SqliteStore
    from reverie.store.sqlite.ledger import Ledger

    path = check.path(home, "the path of the home")
    if not path.is_dir():
        raise BadInput(f"there is no home {path}; nothing was removed")
    store = SqliteStore(path)
    try:
        names = store.spaces()
    finally:
        store.close()
    ledger = Ledger(path, alone=True)
    try:
        shutil.rmtree(path / "aside", ignore_errors=True)
        for file in [*path.glob("recalls.db*"), *(path / "spaces").glob("*.db*")]:
            file.unlink()
    except OSError as exc:
        raise ReadOnly(f"{exc.filename} could not be removed: {exc.strerror}") from exc
    finally:
        ledger.close()
    return tuple(names)
