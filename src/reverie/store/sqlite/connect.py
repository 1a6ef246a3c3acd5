"""Opening files: one database per space, one locked writer and a few readers each.

A space's file is made whole under another name and linked into place, so that nobody ever sees half of one. Readers are
lent out one thread at a time and taken back; unlike one per thread, they do not pile up when threads come and go. At most
`MAX_OPEN` files stay open; the longest unused is closed first.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from reverie.errors import Busy, Damaged, Full, ReadOnly, SchemaTooNew, StoreError
from reverie.memory.language import VERSION as TERMS_VERSION
from reverie.memory.language import terms
from reverie.memory.scope import Scope
from reverie.memory.trace import space_mark
from reverie.store.base import searchable
from reverie.store.sqlite.schema import APPLICATION_ID, STEPS, stream_of

if TYPE_CHECKING:
    from reverie.store.sqlite.vectors import Cache

MAX_OPEN = 16
BUSY_MS = 60_000
READER_CACHE_KIB = 2_000
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
CHECKED_WHOLE = 1 << 20  # files up to this size are checked when first opened; larger ones when health() asks


class SpaceFile:
    """The open file of one space."""

    def __init__(self, path: Path, space: str) -> None:
        self.path = path
        self.space = space
        self.mark = space_mark(space)
        self.lock = threading.RLock()
        self.caches: dict[str, Cache] = {}
        self.scopes: dict[Scope, int] = {}  # numbers of scopes, as of `scopes_epoch`; only for who holds `lock`
        self.scopes_epoch = -1
        self.caches_lock = threading.Lock()  # not `lock`: an erase holds that while it waits for readers to end
        self.users = 0
        self._writer: apsw.Connection | None = None
        self._readers: list[apsw.Connection] = []
        self._readers_lock = threading.Lock()

    @property
    def writer(self) -> apsw.Connection:
        """The one connection that writes; hold `lock`."""
        if self._writer is None:
            self._writer = connect(self.path)
        return self._writer

    @contextmanager
    def reader(self) -> Iterator[apsw.Connection]:
        """Lend a connection inside one read transaction."""
        with self._readers_lock:
            connection = self._readers.pop() if self._readers else None
        if connection is None:
            connection = connect(self.path)
            connection.pragma("query_only", True)
            connection.pragma("cache_size", -READER_CACHE_KIB)
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            if connection.in_transaction:  # an error on the disk may have ended it already
                connection.execute("ROLLBACK")
            with self._readers_lock:
                self._readers.append(connection)

    def close(self) -> None:
        """Close every connection."""
        with self.lock, self._readers_lock:
            for connection in (*self._readers, self._writer):
                if connection is not None:
                    connection.close()
            self._readers, self._writer = [], None
            self.caches = {}


class Folder:
    """The folder of space files."""

    def __init__(self, path: Path, settle: Callable[[SpaceFile], None], seed: Callable[[str], list[bytes]]) -> None:
        self.path = path
        self.aside = path.parent / "aside"
        self._settle = settle  # finishes what an erase left pending, when a file is opened
        self._seed = seed  # tombstones that a new file starts with
        self._open: OrderedDict[str, SpaceFile] = OrderedDict()
        self._opening = 0
        self._gates: dict[str, threading.Lock] = {}
        self._names: dict[str, str] = {}
        self._written: set[str] = set()
        self._marks: dict[str, str] = {}
        self._lock = threading.RLock()
        self._closed = False

    def path_of(self, space: str) -> Path:
        """Return where the file of a space is, or would be."""
        slug = re.sub(r"[^a-z0-9]+", "-", space.lower()).strip("-")[:40] or "space"
        return self.path / f"{slug}.{space_mark(space)}.db"

    def files(self) -> list[Path]:
        """Return every space file."""
        if self._closed:
            raise StoreError("this mind is closed; open it again")
        return sorted(path for path in self.path.glob("*.db") if not path.name.startswith("."))

    def name_of(self, path: Path) -> str:
        """Return the name of the space in a file."""
        if path.name not in self._names:
            with translated(path):
                connection = connect(path)
                try:
                    name = _read_name(connection, path)
                finally:
                    connection.close()
            if path != self.path_of(name):
                raise Damaged(f"{path} holds the space {name!r} under another file name; move it out of the folder")
            self._names[path.name] = name
        return self._names[path.name]

    def is_written(self, path: Path) -> bool:
        """Tell whether anything is kept in a file: a first commit that fails leaves one with nothing in it."""
        if path.name in self._written:
            return True
        with translated(path):
            connection = connect(path)
            try:
                commits = connection.execute("SELECT 1 FROM commits LIMIT 1").fetchall()
                states = connection.execute("SELECT 1 FROM state LIMIT 1").fetchall()
            finally:
                connection.close()
        if commits:  # they stay; session state may be cleared again
            self._written.add(path.name)
        return bool(commits or states)

    def space_of(self, mark: str) -> str | None:
        """Return the space whose ids carry this mark."""
        if mark not in self._marks:
            found = next((path for path in self.files() if path.name.endswith(f".{mark}.db")), None)
            if found is None:
                return None
            self._marks[mark] = self.name_of(found)
        return self._marks[mark]

    @contextmanager
    def use(self, space: str, create: bool = False) -> Iterator[SpaceFile | None]:
        """Lend the file of a space; None if it was never written and `create` is off."""
        file = self._take(space, create)
        if file is None:
            yield None
            return
        try:
            with translated(file.path):
                yield file
        finally:
            with self._lock:
                file.users -= 1
                self._let_go_of_some()

    def _take(self, space: str, create: bool) -> SpaceFile | None:
        with self._lock:
            gate = self._gates.setdefault(space, threading.Lock())
        with gate:  # opening one space may have to wait for another process; the other spaces go on meanwhile
            with self._lock:
                if self._closed:
                    raise StoreError("this mind is closed; open it again")
                file = self._open.get(space)
                if file is not None:
                    self._open.move_to_end(space)
                    file.users += 1
                    return file
            path = self.path_of(space)
            with self._room_for_one(), translated(path):
                if not path.exists():
                    if not create:
                        return None
                    self._create(path, space)
                file = self._opened(path, space)
                with self._lock:
                    self._open[space] = file
                    file.users += 1
                return file

    @contextmanager
    def _room_for_one(self) -> Iterator[None]:
        """See to it that few enough others are open: what is done beside the work opens some, too."""
        with self._lock:
            self._opening += 1
            self._let_go_of_some()
        try:
            yield
        finally:
            with self._lock:
                self._opening -= 1

    def _opened(self, path: Path, space: str) -> SpaceFile:
        file = SpaceFile(path, space)
        try:
            inside = _read_name(file.writer, path)
            if inside != space:
                raise StoreError(f"{path.name} holds the space {inside!r}, not {space!r}; move it out of the folder")
            if path.stat().st_size <= CHECKED_WHOLE:
                problems = [str(row[0]) for row in file.writer.execute("PRAGMA quick_check(3)") if row[0] != "ok"]
                if problems:
                    raise Damaged(damage(path, problems[0]))
                file.writer.execute("PRAGMA shrink_memory")  # the check has read the whole file; dozens may be open
            migrate(file.writer, path, self.aside)
            index_anew(file)
            self._settle(file)
        except BaseException:
            file.close()
            raise
        return file

    def _create(self, path: Path, space: str) -> None:
        new = self.path / f".new-{secrets.token_hex(8)}"
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            connection = apsw.Connection(str(new))
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "off")
            with connection:
                build(connection)
                connection.executemany(
                    "INSERT INTO meta VALUES(?, ?)", [("space", space), ("epoch", 0), ("terms", TERMS_VERSION)]
                )
                marks = [(mark,) for mark in self._seed(space_mark(space))]  # after a crash the same may be noted twice
                connection.executemany("INSERT OR IGNORE INTO tombstones VALUES(?)", marks)
            connection.close()
            put_in_place(new, path, replace=False)
        finally:
            new.unlink(missing_ok=True)

    def _let_go_of_some(self) -> None:
        idle = [space for space, file in self._open.items() if file.users == 0]
        for space in idle[: max(0, len(self._open) + self._opening - MAX_OPEN)]:
            self._open.pop(space).close()

    def each_open(self) -> list[SpaceFile]:
        """Return the files open now."""
        with self._lock:
            return list(self._open.values())

    def close(self) -> None:
        """Close all files; from here on every call says so."""
        with self._lock:
            self._closed = True
            for file in self._open.values():
                with translated(file.path):
                    file.close()
            self._open.clear()


def connect(path: Path) -> apsw.Connection:
    """Open a connection with the settings that durability and erasing rest on."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(BUSY_MS)
        connection.pragma("synchronous", "full")
        connection.pragma("secure_delete", True)  # per connection: without it deleted text stays in the file
        connection.pragma("temp_store", "memory")
        connection.pragma("cache_size", -2_000)
        if connection.pragma("application_id") != APPLICATION_ID:
            raise Damaged(f"{path} is not a space of Reverie; move it out of the folder")
    except BaseException:
        connection.close()
        raise
    return connection


def build(connection: apsw.Connection) -> None:
    """Make the tables."""
    _take(connection, STEPS)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", len(STEPS))


def migrate(connection: apsw.Connection, path: Path, aside: Path) -> None:
    """Bring an older file up to date, after a copy was put aside; refuse a newer one."""
    version = connection.pragma("user_version")
    if version > len(STEPS):
        raise SchemaTooNew(
            f"{path} was written by a newer Reverie (schema {version}, this one knows {len(STEPS)}); upgrade with pip"
        )
    if version == len(STEPS):
        return
    put_aside(connection, path, aside, f"schema-{version}")
    connection.execute("BEGIN IMMEDIATE")
    try:
        _take(connection, STEPS[connection.pragma("user_version") :])
        connection.pragma("user_version", len(STEPS))
        connection.execute("COMMIT")
    except BaseException as exc:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if isinstance(exc, apsw.SQLError | apsw.ConstraintError):
            raise StoreError(f"{path} could not be brought to schema {len(STEPS)} ({exc}); it was left as it was") from exc
        raise


def _take(connection: apsw.Connection, steps: tuple[str, ...]) -> None:
    connection.create_scalar_function("stream_of", lambda *scope: stream_of(*scope), 2, deterministic=True)
    for step in steps:
        for _ in connection.execute(step):
            pass


def index_anew(file: SpaceFile) -> None:
    """Index every text again if the rules by which texts become terms have changed since."""
    connection = file.writer
    if connection.execute("SELECT value FROM meta WHERE name = 'terms'").fetchall() == [(TERMS_VERSION,)]:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table in ("words_now", "words_past"):
            connection.execute(f"INSERT INTO {table}({table}) VALUES('delete-all')")
        rows: list[Any] = connection.execute(
            "SELECT v, retired_seq IS NULL, speaker, title, text, tags FROM versions JOIN texts USING(v)"
        ).fetchall()
        for v, is_current, speaker, title, text, tags in rows:
            words = " ".join(terms(searchable(speaker, title, text, json.loads(tags or "[]"))))
            connection.execute(f"INSERT INTO words_{'now' if is_current else 'past'}(rowid, terms) VALUES(?, ?)", (v, words))
        connection.execute("INSERT OR REPLACE INTO meta VALUES('terms', ?)", (TERMS_VERSION,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def put_aside(connection: apsw.Connection, path: Path, aside: Path, why: str) -> Path:
    """Write a copy of an open file into the folder for such copies; an erase in that space removes it."""
    aside.mkdir(mode=0o700, exist_ok=True)
    copy = aside / f"{path.stem}.{why}.{secrets.token_hex(4)}.db"
    os.close(os.open(copy, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        connection.execute("VACUUM INTO ?", (str(copy),))
    except BaseException:
        copy.unlink(missing_ok=True)
        raise
    return copy


def put_in_place(new: Path, path: Path, replace: bool) -> None:
    """Move a finished file to its name, on disk before this returns; without `replace` a file already there stays."""
    handle = os.open(new, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
    if replace:
        os.replace(new, path)
    else:
        try:
            os.link(new, path)
        except FileExistsError:
            return
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def damage(path: Path, what: str) -> str:
    """Return the sentence for a damaged file."""
    return f"{path} is damaged ({what}); it was left untouched: reverie.recover(BACKUP, HOME) brings back a backup"


def no_room(path: Path) -> str:
    """Return the sentence for a full disk."""
    return f"no room on the disk for {path}; nothing of this change was kept: free some space and try again"


def _read_name(connection: apsw.Connection, path: Path) -> str:
    row = connection.execute("SELECT value FROM meta WHERE name = 'space'").fetchone()
    if row is None:
        raise Damaged(damage(path, "it does not name its space"))
    if connection.execute("SELECT 1 FROM sqlite_master WHERE type IN ('trigger', 'view')").fetchall():
        raise Damaged(damage(path, "it has triggers or views that Reverie did not make"))
    return str(row[0])


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite says into what a caller can act on."""
    try:
        yield
    except apsw.BusyError as exc:
        raise Busy(f"{path} is held by another process for more than {BUSY_MS // 1000} s; try again when it is done") from exc
    except apsw.FullError as exc:
        raise Full(no_room(path)) from exc
    except (apsw.CorruptError, apsw.NotADBError) as exc:
        raise Damaged(damage(path, str(exc))) from exc
    except (apsw.ReadOnlyError, apsw.PermissionsError, PermissionError) as exc:
        raise ReadOnly(f"{path} cannot be written ({exc}); check who owns it and its permissions") from exc
    except apsw.SQLError as exc:
        if "no such table" in str(exc):
            raise Damaged(damage(path, str(exc))) from exc
        raise
    except (apsw.CantOpenError, apsw.IOError, OSError) as exc:
        if getattr(exc, "errno", None) in NO_ROOM or getattr(exc, "extendedresult", None) == apsw.SQLITE_IOERR_SHMSIZE:
            raise Full(no_room(path)) from exc
        raise StoreError(f"{path} cannot be read or written: {exc}") from exc
