"""Erasing: gone from every place, and seen to be gone.

One transaction writes the tombstones and empties every place of `PLACES`, so that an erase has happened whole or not at all,
and nobody can draw on what is going while it goes. The full-text indexes are merged in it, since FTS5 keeps deleted words until
then. What is left after that is bytes that no query sees: the log is folded into the file and cut to nothing, and the raw file
is searched for what should be gone. About one text in a thousand survives in the gaps of pages: only then is a large file
rebuilt; a small one always is, which takes no longer than the search. A mark in the file says that this is still to be
done; whoever opens it after a crash does it.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.memory.language import fold, terms
from reverie.memory.trace import micros
from reverie.store.base import (
    ERASED,
    NAMELESS,
    Erasure,
    Record,
    View,
    indexed_text,
    person_tombstone,
    repeats,
    tombstones,
    without,
    word_tombstones,
)
from reverie.store.sqlite.commit import SqliteDraft
from reverie.store.sqlite.connect import BUSY_MS
from reverie.store.sqlite.view import compact, write_source

if TYPE_CHECKING:
    import apsw
    import numpy as np
    from numpy.typing import NDArray

    from reverie.store.sqlite.connect import SpaceFile

PATIENCE_S = 2.0  # how long to wait for readers of this and other processes to end
PIECE = 48
CHUNK = 1 << 22
REBUILT_AT_ONCE = 8 << 20  # bytes; up to here a rebuild takes no longer than a search, and leaves no gap at all
_AFTER_COMMIT = ("log", "gaps")


def step(name: str) -> None:
    """Mark that a step was taken; tests stop the process here."""


def empty(
    file: SpaceFile, secret: bytes, plan: Callable[[View], Erasure], by: str, now: datetime, dry_run: bool
) -> tuple[tuple[str, ...], str, set[bytes] | None]:
    """Take everything out of the tables; return the ids, the commit, and what must not be found in the file any more.

    None in place of the last: an earlier erase was not swept yet, and what it took out is not known.
    """
    connection = file.writer
    connection.execute("BEGIN IMMEDIATE")
    try:
        asked = SqliteDraft(file, connection, secret, by, ERASED, now)
        erasure = plan(asked)
        if dry_run or not (erasure.ids or erasure.sightings or erasure.states or erasure.people):
            connection.execute("ROLLBACK")
            return erasure.named, "", None
        draft = SqliteDraft(file, connection, secret, NAMELESS if by in erasure.people else by, ERASED, now)
        marks = {mark for record in _records(draft, erasure.ids) for mark in tombstones(secret, record.memory)}
        marks |= {person_tombstone(secret, person) for person in erasure.people}
        connection.executemany("INSERT OR IGNORE INTO tombstones VALUES(?)", [(mark,) for mark in sorted(marks)])
        is_first = _meta(connection, "unswept") is None
        needles = _take_out(draft, erasure)
        draft.begin()
        draft.rows("INSERT OR REPLACE INTO meta VALUES('unswept', 1)")
        draft.rows("INSERT OR REPLACE INTO meta VALUES('erase_key', ?)", (fingerprint(secret),))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    step("emptied")
    return erasure.named, draft.full("c", draft.commit_tail), needles if is_first else None


def fingerprint(secret: bytes) -> str:
    """Return what tells whether tombstones were made under this key, and nothing more about it."""
    return hmac.digest(secret, b"erase key", "sha256").hex()[:16]


def is_swept(file: SpaceFile) -> bool:
    """Tell whether nothing is left to do."""
    return _meta(file.writer, "unswept") is None


def marks_in(file: SpaceFile) -> list[bytes]:
    """Return the tombstones of a file."""
    marks: list[Any] = file.writer.execute("SELECT mark FROM tombstones").fetchall()
    return [mark for (mark,) in marks]


def sweep(file: SpaceFile, aside: Path, needles: set[bytes] | None = None) -> tuple[str, ...]:
    """Clear what no query sees; return the places that a reader still keeps from being cleared."""
    connection = file.writer
    with file.caches_lock:
        file.caches.clear()
    for copy in aside.glob(f"*.{file.mark}.*"):
        copy.unlink(missing_ok=True)
    step("aside")
    if not _fold_log(connection):
        return _AFTER_COMMIT
    step("folded")
    # Without needles there is nothing to search for: rebuild. A rebuilt file holds live rows only, so what would still be
    # found in it is somebody else's.
    if needles is None or file.path.stat().st_size <= REBUILT_AT_ONCE or found_in(needles, file.path):
        connection.execute("VACUUM")
        step("rebuilt")
        if not _fold_log(connection):
            return _AFTER_COMMIT
    connection.execute("DELETE FROM meta WHERE name = 'unswept'")
    _fold_log(connection)
    step("swept")
    return ()


def _take_out(draft: SqliteDraft, erasure: Erasure) -> set[bytes]:
    """Empty the tables of an erasure."""
    ids = set(erasure.ids)
    tails = json.dumps([draft.tail(id) for id in erasure.ids])
    chosen = "IN (SELECT value FROM json_each(?))"
    going = _records(draft, ids)
    needles = {piece for record in going for piece in _pieces(record)}
    words = {term for record in going for term in terms(indexed_text(record.memory))}
    versions = f"SELECT v FROM versions WHERE id {chosen}"

    for column in ("added_seq", "retired_seq"):
        draft.rows(
            f"INSERT OR IGNORE INTO gone SELECT {column}, id FROM versions WHERE {column} IS NOT NULL AND id {chosen}",
            (tails,),
        )
    draft.rows(f"UPDATE commits SET why = '' WHERE seq IN (SELECT seq FROM gone WHERE id {chosen})", (tails,))
    texts = [fold(record.memory.text) for record in going]
    for (why,) in draft.rows("SELECT DISTINCT why FROM commits"):
        if repeats(texts, why):
            draft.rows("UPDATE commits SET why = '' WHERE why = ?", (why,))
            needles |= _cut(why)
    for person in erasure.people:
        draft.rows("UPDATE commits SET by = ? WHERE by = ?", (NAMELESS, person))
    gone = json.dumps([v for (v,) in draft.rows(versions, (tails,))])
    for table in ("words_now", "words_past"):
        draft.rows(f"DELETE FROM {table} WHERE rowid IN ({versions})", (tails,))
    draft.rows(f"DELETE FROM texts WHERE v IN ({versions})", (tails,))
    draft.rows(f"DELETE FROM versions WHERE id {chosen}", (tails,))
    draft.drop_vectors(f"v {chosen} OR vec IN (SELECT vec FROM vector_uses WHERE v {chosen})", (gone, gone))
    needles |= {piece for held in erasure.sightings for piece in _cut(held.sighting.source.quote)}
    sightings = json.dumps([row[0] for held in erasure.sightings for row in draft.rows_of(held)])
    for condition, bind in ((f"id {chosen}", tails), (f"s {chosen}", sightings)):
        draft.rows(f"DELETE FROM cites WHERE s IN (SELECT s FROM sightings WHERE {condition})", (bind,))
        draft.rows(f"DELETE FROM sightings WHERE {condition}", (bind,))
    cited = json.dumps(erasure.ids)
    for s, rests_on in draft.rows(
        f"SELECT s, rests_on FROM sightings WHERE s IN (SELECT s FROM cites WHERE ref {chosen})", (cited,)
    ):
        left = [id for id in json.loads(str(rests_on)) if id not in ids]
        draft.rows("UPDATE sightings SET rests_on = ? WHERE s = ?", (compact(left), s))
    draft.rows(f"DELETE FROM cites WHERE ref {chosen}", (cited,))
    needles |= _cut_out(draft, erasure)
    for state in erasure.states:
        needles |= {piece for text in _strings(dict(state.value)) for piece in _cut(text)}
    draft.put_state((), erasure.states)
    draft.rows("DELETE FROM scopes WHERE n NOT IN (SELECT audience FROM versions UNION SELECT origin FROM versions)")
    draft.rows("DELETE FROM models WHERE model NOT IN (SELECT model FROM vectors)")
    for table in ("words_now", "words_past"):
        draft.rows(f"INSERT INTO {table}({table}) VALUES('optimize')")
    draft.rows("UPDATE meta SET value = value + 1 WHERE name = 'epoch'")
    lost = words - vocabulary(draft)
    for mark in sorted({mark for record in going for mark in word_tombstones(draft.secret, record.memory, lost)}):
        draft.rows("INSERT OR IGNORE INTO tombstones VALUES(?)", (mark,))
    return needles | {raw for term in lost if len(raw := term.encode()) >= 6}


def _cut_out(draft: SqliteDraft, erasure: Erasure) -> set[bytes]:
    """Rewrite what outlives the erase but quoted or merged the erased: the one place where a version is touched.

    Returns what was said there of who told it.
    """
    ids, needles = set(erasure.ids), set[bytes]()
    merged = draft.rows("SELECT v, replaces FROM texts WHERE replaces IS NOT NULL")
    changed = {held.id for held in erasure.sightings} | {one.id for one in erasure.reopened}
    tails = json.dumps([draft.tail(id) for id in changed])
    touched = [v for v, replaces in merged if ids & set(json.loads(str(replaces)))]
    touched += [v for (v,) in draft.rows("SELECT v FROM versions WHERE id IN (SELECT value FROM json_each(?))", (tails,))]
    for v in touched:
        record = draft.records("m.v = ?", (v,))[0]
        left = without(record, erasure, draft.sightings(record.memory.id)).memory
        if left.extra != record.memory.extra:
            needles |= _cut(str(record.memory.extra.get("told_by")))
        extra, replaces = (compact(value) if value else None for value in (dict(left.extra), left.replaces))
        draft.rows(
            "UPDATE texts SET source = ?, replaces = ?, extra = ? WHERE v = ?", (write_source(left.source), replaces, extra, v)
        )
        until = None if left.valid_until is None else micros(left.valid_until)
        draft.rows("UPDATE versions SET valid_until = ? WHERE v = ?", (until, v))
    return needles


def vocabulary(draft: SqliteDraft) -> set[str]:
    """Return every word that the full-text indexes hold."""
    tables = ("vocabulary_now", "vocabulary_past")
    return {term for table in tables for (term,) in draft.rows(f"SELECT term FROM {table}")}


def _records(draft: SqliteDraft, ids: Iterable[str]) -> list[Record]:
    tails = json.dumps([draft.tail(id) for id in ids])
    return draft.records("m.id IN (SELECT value FROM json_each(?))", (tails,))


def _pieces(record: Record) -> set[bytes]:
    memory = record.memory
    texts = (memory.text, memory.title, memory.source.quote, *_strings(memory.extra))
    return {piece for text in texts for piece in _cut(text)}


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in _strings(part)]
    return [text for part in value for text in _strings(part)] if isinstance(value, list) else []


def _cut(text: str | None) -> set[bytes]:
    """Return the start, middle and end of a text, as written and as JSON: long texts are split over pages."""
    pieces: set[bytes] = set()
    for form in (text or "", json.dumps(text or "")[1:-1]):
        raw = form.encode()
        for start in {0, max(0, len(raw) // 2 - PIECE // 2), max(0, len(raw) - PIECE)}:
            if len(piece := raw[start : start + PIECE]) >= 6:
                pieces.add(piece)
    return pieces


def found_in(needles: set[bytes], path: Path) -> set[bytes]:
    """Return those of `needles` that occur in the raw bytes of a database file, in one pass over it.

    The file is read through SQLite's own layer: closing a file descriptor of one's own would drop the locks that SQLite
    holds on the file for this whole process.
    """
    import apsw
    import numpy as np

    by_anchor: dict[int, list[bytes]] = {}
    for needle in needles:
        by_anchor.setdefault(int.from_bytes(needle[:4], "little"), []).append(needle)
    anchors = np.array(sorted(by_anchor), np.uint32)
    likely = np.zeros(1 << 16, bool)
    likely[_hashed(anchors)] = True
    longest = max(map(len, needles), default=0)
    found: set[bytes] = set()
    raw = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        size = raw.xFileSize()
        for start in range(0, size, CHUNK):
            chunk = raw.xRead(min(CHUNK + longest, size - start), start)
            for shift in range(4):
                windows = np.frombuffer(chunk, np.uint32, (len(chunk) - shift) // 4, shift)
                near = np.flatnonzero(likely[_hashed(windows)])
                for place in near[np.isin(windows[near], anchors)]:
                    at = int(place) * 4 + shift
                    found.update(n for n in by_anchor[int(windows[place])] if chunk.startswith(n, at))
    finally:
        raw.xClose()
    return found


def _hashed(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    import numpy as np

    return (numbers * np.uint32(2654435761)) >> np.uint32(16)


def _fold_log(connection: apsw.Connection) -> bool:
    """Move the log into the file and cut it to nothing; False while a reader, here or in another process, is in the way."""
    connection.set_busy_timeout(100)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
            if not busy:
                return True
            if time.monotonic() > deadline:
                return False
    finally:
        connection.set_busy_timeout(BUSY_MS)


def _meta(connection: apsw.Connection, name: str) -> object:
    row = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return row[0] if row else None
