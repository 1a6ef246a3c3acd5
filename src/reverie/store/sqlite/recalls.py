"""Recalls kept for `why`, in one file beside the spaces: unsynced, bounded, and thrown away if it is damaged.

Words stand in it as they were asked, so that a search of the file finds them; only ids and numbers of candidates are packed.

Recall does not wait for it: a thread writes, and lives only while there is something to write. An erase takes out every recall
that looked at what goes, or asked for it in the same words; one that comes later, asking in words that only the erased had, is
not kept at all.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw

from reverie.errors import BadInput, StoreError
from reverie.memory.scope import Scope
from reverie.memory.trace import from_micros, micros, space_mark
from reverie.store.base import Erasure, Recalled, concerns
from reverie.store.sqlite.schema import APPLICATION_ID

KEPT = 10_000
FORM = 3  # of a row; a file of another one is begun anew
LINGER_S = 0.5
BUSY_MS = 2_000

log = logging.getLogger(__name__)

_TABLE = """
CREATE TABLE IF NOT EXISTS recalls(
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, mark TEXT NOT NULL, space TEXT NOT NULL, channel TEXT, session TEXT,
    person TEXT, sees_all INTEGER NOT NULL, at INTEGER NOT NULL, question TEXT NOT NULL, names TEXT NOT NULL,
    ids BLOB NOT NULL, numbers TEXT NOT NULL, ranked BLOB NOT NULL);
"""


class Recalls:
    """The file of kept recalls; `erased` tells which have to do with something that is gone for good."""

    def __init__(self, home: Path, erased: Callable[[Sequence[Recalled]], set[str]]) -> None:
        self._path = home / "recalls.db"
        self._erased = erased
        self._waiting: list[Callable[[], Recalled]] = []
        self._since: datetime | None = None  # what was asked at or before that is let go of
        self._wake = threading.Condition()
        self._worker: threading.Thread | None = None
        # What is written is first looked up in the spaces, which may have to be opened; opening one may call `forget`. So
        # whoever holds `_lock`, for the connection, waits for nothing else, and `_flushing` is not taken by such a `forget`.
        self._flushing = threading.RLock()
        self._lock = threading.RLock()
        self._connection: apsw.Connection | None = None

    def put(self, made: Callable[[], Recalled], since: datetime | None = None) -> None:
        """Keep a recall, soon, and let go of what was asked at or before `since`."""
        with self._wake:
            self._waiting.append(made)
            self._since = since
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="reverie-recalls", daemon=True)
                self._worker.start()

    def get(self, id: str) -> Recalled | None:
        """Return a kept recall."""
        found = self._read("id = ?", (id,))
        return found[0] if found else None

    def last(self, scope: Scope) -> str | None:
        """Return the id of the last one asked in a scope."""
        where = "mark = ?" if scope.sees_all else "mark = ? AND sees_all = 0 AND channel IS ? AND session IS ? AND person IS ?"
        bind = (space_mark(scope.space), *(() if scope.sees_all else (scope.channel, scope.session, scope.person)))
        found = self._read(f"{where} ORDER BY n DESC LIMIT 1", bind)
        return found[0].id if found else None

    def forget(self, space: str, erasure: Erasure | None, texts: Sequence[str]) -> bool:
        """Take out every recall that has to do with what was erased; False while somebody keeps the file from being cleared.

        Without an erasure (a crash cut it short) nobody knows what it was about: every recall of the space goes.
        """
        if erasure is None:
            with self._wake:
                self._waiting = [made for made in self._waiting if made().scope.space != space]
        else:
            self.flush()
        is_clear = True
        if not self._path.exists():
            return is_clear
        try:
            kept = self._rows("mark = ?", (space_mark(space),), whole=False)
            gone = {one.id for one in kept} if erasure is None else self._erased(kept)
            with self._lock, self._disposable():
                self._delete([r.id for r in kept if r.id in gone or (erasure and concerns(erasure, texts, r))])
                is_clear = self._sweep()
        except (apsw.Error, OSError) as exc:
            log.warning("%s could not be cleared of what was erased: %s", self._path, exc)
            is_clear = False
        return is_clear

    def flush(self) -> None:
        """Write what is waiting; what cannot be written is let go of."""
        with self._flushing:
            with self._wake:
                (waiting, self._waiting), since = (self._waiting, []), self._since
            some = [made() for made in waiting]
            if not some:
                return
            try:
                gone = self._erased(some)
                with self._lock, self._disposable():
                    self._insert((recalled for recalled in some if recalled.id not in gone), since)
                # Erased between the look and the write, it would stay for ever: whoever erases has looked already.
                if late := self._erased(some) - gone:
                    with self._lock, self._disposable():
                        self._delete(sorted(late))
                        self._sweep()
            except (apsw.Error, OSError, StoreError) as exc:
                log.warning("%d recalls are not kept for why(): %s", len(some), exc)

    def close(self) -> None:
        """Write what is waiting, and let go of the file."""
        self.flush()
        with self._wake:
            worker, self._worker = self._worker, None
            self._wake.notify_all()
        if worker is not None:
            worker.join()
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _work(self) -> None:
        me = threading.current_thread()
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._worker is not me, LINGER_S)  # many are written at once
                if not self._waiting or self._worker is not me:
                    if self._worker is me:
                        self._worker = None
                    return
            self.flush()

    def _insert(self, some: Iterable[Recalled], since: datetime | None) -> None:
        rows = [
            (
                one.id, space_mark(one.scope.space), one.scope.space, one.scope.channel, one.scope.session, one.scope.person,
                int(one.scope.sees_all), micros(one.at), one.question, json.dumps(one.names, ensure_ascii=False),
                _packed(" ".join(id.rpartition("-")[2] for id in one.ids)), one.numbers, _packed(one.ranked),
            )
            for one in some
            if since is None or one.at > since
        ]  # fmt: skip
        columns = "id, mark, space, channel, session, person, sees_all, at, question, names, ids, numbers, ranked"
        with self._open() as connection:
            connection.executemany(
                f"INSERT OR REPLACE INTO recalls({columns}) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows
            )
            connection.execute("DELETE FROM recalls WHERE n <= (SELECT max(n) FROM recalls) - ?", (KEPT,))
            if since is not None:
                connection.execute("DELETE FROM recalls WHERE at <= ?", (micros(since),))

    def _delete(self, ids: list[str]) -> None:
        if ids:
            with self._open() as connection:
                connection.execute("DELETE FROM recalls WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(ids),))

    def _sweep(self) -> bool:
        """Leave nothing of what was deleted in the file or its log; False while a reader is in the way."""
        self._open().execute("VACUUM")
        ((busy, *_),) = self._open().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not busy

    def _read(self, condition: str, bind: tuple[Any, ...]) -> list[Recalled]:
        self.flush()
        return self._rows(condition, bind)

    def _rows(self, condition: str, bind: tuple[Any, ...], whole: bool = True) -> list[Recalled]:
        """Return recalls as kept; not `whole`, without their numbers."""
        columns = "id, space, channel, session, person, sees_all, at, question, names, mark, ids"
        numbers = "numbers, ranked" if whole else "'{}', x''"
        with self._lock, self._disposable():
            if self._path.exists():
                asked = f"SELECT {columns}, {numbers} FROM recalls WHERE {condition}"
                rows: list[Any] = self._open().execute(asked, bind).fetchall()
                return [
                    Recalled(
                        id, Scope(space, channel, session, person, sees_all=bool(sees_all)), from_micros(at), question,
                        tuple(f"m-{mark}-{tail}" for tail in _unpacked(ids).split()), str(numbers), tuple(json.loads(names)),
                        _unpacked(ranked) if ranked else "[]",
                    )
                    for id, space, channel, session, person, sees_all, at, question, names, mark, ids, numbers, ranked in rows
                ]  # fmt: skip
        return []

    def _open(self) -> apsw.Connection:
        if self._connection is None:
            try:
                self._connection = self._opened()
            except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
                self._start_over()
                self._connection = self._opened()
        return self._connection

    @contextmanager
    def _disposable(self) -> Iterator[None]:
        """Throw the file away if it turns out to be damaged: nothing in it is worth a complaint, nor may it stop an erase."""
        try:
            yield
        except (
            apsw.CorruptError, apsw.NotADBError, apsw.SQLError, apsw.ConstraintError, zlib.error, ValueError, TypeError,
            OverflowError, LookupError, BadInput,
        ) as exc:  # fmt: skip
            log.warning("%s is damaged and begun anew: %s", self._path, exc)
            self._start_over()

    def _start_over(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _opened(self) -> apsw.Connection:
        if not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = apsw.Connection(str(self._path))
        try:
            connection.set_busy_timeout(BUSY_MS)
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "off")
            connection.pragma("secure_delete", True)
            connection.pragma("application_id", APPLICATION_ID)
            anew = f"DROP TABLE IF EXISTS recalls; PRAGMA user_version = {FORM};"
            for _ in connection.execute(_TABLE if connection.pragma("user_version") == FORM else anew + _TABLE):
                pass
        except BaseException:
            connection.close()
            raise
        return connection


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode())


def _unpacked(data: bytes) -> str:
    return zlib.decompress(data).decode()
