"""The embedded store: one SQLite file per space under `<home>/spaces`."""

from __future__ import annotations

import os
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from reverie.errors import Damaged, ReadOnly, SchemaTooNew, StoreError
from reverie.memory import language
from reverie.memory.language import fold
from reverie.memory.scope import Scope
from reverie.memory.trace import space_mark
from reverie.memory.working import State
from reverie.store.base import PLACES, Bars, Dump, Entries, Erasure, Recalled, Report, Swept, Vector, View, asks_for_erased
from reverie.store.in_memory import InMemoryStore
from reverie.store.sqlite import erase
from reverie.store.sqlite.commit import SqliteDraft
from reverie.store.sqlite.connect import Folder, SpaceFile, damage, translated
from reverie.store.sqlite.ledger import Ledger
from reverie.store.sqlite.recalls import Recalls
from reverie.store.sqlite.schema import TABLE_PLACES
from reverie.store.sqlite.view import SqliteView, let_go_of_scopes

CACHED_BYTES = 1 << 30  # of vectors, over all spaces; the one in use is held whatever its size
LOOK_EVERY_S = 1.0  # how soon an idle process lets go of vectors that another one erased


class SqliteStore:
    """Spaces in a folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        if home.exists() and not home.is_dir():
            raise StoreError(f"{home} is a file; give a folder to keep memories in")
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            (home / "spaces").mkdir(mode=0o700, exist_ok=True)
        except OSError as exc:
            raise ReadOnly(f"the folder {home} cannot be made: {exc.strerror}; choose another home") from exc
        if not os.access(home, os.W_OK | os.X_OK) or not os.access(home / "spaces", os.W_OK | os.X_OK):
            raise ReadOnly(f"the folder {home} cannot be written; check who owns it, or choose another home")
        for unfinished in (*home.glob(".new-*"), *(home / "spaces").glob(".new-*")):
            with suppress(FileNotFoundError):  # it may be finished just now
                if time.time() - unfinished.stat().st_mtime > 3600:
                    unfinished.unlink()
        with translated(home):
            self.ledger = Ledger(home)
        for unfinished in home.glob(".recover-*"):  # nobody recovers while we hold the ledger
            shutil.rmtree(unfinished, ignore_errors=True)
        self._folder = Folder(home / "spaces", self._settle, self.ledger.marks)
        self._recalls = Recalls(home, self._erased)
        self._empty = InMemoryStore()
        self._watcher: threading.Thread | None = None
        self._closing = threading.Event()
        self._watch_lock = threading.Lock()

    def spaces(self, whole: bool = False) -> list[str]:
        names = []
        for path in self._folder.files():
            try:
                names += [self._folder.name_of(path)] if self._folder.is_written(path) else []
            except (Damaged, SchemaTooNew):
                if whole:
                    raise
                continue  # health() reports it; the others can still be used
        return sorted(names)

    def space_of(self, mark: str) -> str | None:
        return self._folder.space_of(mark)

    @contextmanager
    def reading(self, space: str) -> Iterator[View]:
        self._look_at_ledger()
        with self._folder.use(space) as file:
            if file is None:
                with self._empty.reading(space) as nothing:
                    yield nothing
            else:
                try:
                    with file.reader() as connection:
                        yield SqliteView(file, connection)
                finally:
                    if file.caches:
                        self._trim(file)
                        if self._watcher is None:
                            self._watch()

    @contextmanager
    def writing(self, space: str, by: str, why: str, now: datetime) -> Iterator[SqliteDraft]:
        with self._folder.use(space, create=True) as file:
            assert file is not None
            with file.lock:
                connection = file.writer
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield SqliteDraft(file, connection, self.ledger.secret, by, why, now)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    def put_state(self, space: str, entries: Entries, remove: Sequence[State] = ()) -> None:
        if not self._folder.path_of(space).exists():  # nothing is made of a space for nothing to be kept in it
            with self._empty.reading(space) as nothing:
                if not (entries(nothing) if callable(entries) else entries):
                    return
        with self.writing(space, "", "", datetime.now(UTC)) as draft:
            draft.put_state(entries(draft) if callable(entries) else entries, remove)

    def put_vectors(self, space: str, model: str, vectors: Sequence[Vector]) -> int:
        if not vectors:
            return 0
        with self.writing(space, "", "", datetime.now(UTC)) as draft:
            return draft.put_vectors(model, vectors)

    def drop_vectors(self, space: str, keep: str) -> int:
        others = "model IN (SELECT model FROM models WHERE name <> ?)"
        with self.reading(space) as view:
            if not (isinstance(view, SqliteView) and view.rows(f"SELECT 1 FROM models WHERE {others}", (keep,))):
                return 0
        with self.writing(space, "", "", datetime.now(UTC)) as draft:
            dropped = draft.drop_vectors(others, (keep,))
            draft.rows("DELETE FROM models WHERE name <> ?", (keep,))
            return dropped

    def keep_recall(self, made: Callable[[], Recalled], since: datetime) -> None:
        self._recalls.put(made, since)

    def recalled(self, id: str) -> Recalled | None:
        with translated(self.home / "recalls.db"):
            return self._recalls.get(id)

    def last_recalled(self, scope: Scope) -> str | None:
        with translated(self.home / "recalls.db"):
            return self._recalls.last(scope)

    def _erased(self, some: Sequence[Recalled]) -> set[str]:
        """Return the ids of recalls that looked at, or ask in words of, something that is gone for good."""
        found: set[str] = set()
        if self.ledger.is_empty():  # no need to open every space that was asked something
            return found
        for space in {recalled.scope.space for recalled in some}:
            here = [recalled for recalled in some if recalled.scope.space == space]
            with self.reading(space) as view:
                known, marks = set[str](), set[bytes]()
                if isinstance(view, SqliteView):
                    known = set(view.known({id for recalled in here for id in recalled.ids}))
                    marks = {mark for (mark,) in view.rows("SELECT mark FROM tombstones")}
                for recalled in here:
                    if not known.issuperset(recalled.ids) or asks_for_erased(self.ledger.secret, view, recalled, marks):
                        found.add(recalled.id)
        return found

    @contextmanager
    def alone(self, task: str) -> Iterator[bool]:
        with translated(self.home), self.ledger.alone(task) as is_mine:
            yield is_mine

    def erase(self, space: str, plan: Callable[[View], Erasure], by: str, now: datetime, dry_run: bool = False) -> Swept:
        with self._folder.use(space) as file:
            if file is None:
                return self._empty.erase(space, plan, by, now, dry_run=True)
            with file.lock:
                gone: list[tuple[Erasure, list[str]]] = []

                def noted(view: View) -> Erasure:
                    erasure, owner = plan(view), Scope.owner(space)
                    gone.append((erasure, [fold(one.text) for id in erasure.ids for one in view.history(id, owner)]))
                    return erasure

                named, commit, needles = erase.empty(file, self.ledger.secret, noted, by, now, dry_run)
                if not commit:
                    return Swept(named, "", ())
                pending = self._sweep(file, needles, *gone[-1])
                self._look_at_ledger()
                return Swept(named, commit, tuple(place for place in PLACES if place not in pending), pending)

    def _sweep(
        self, file: SpaceFile, needles: set[bytes] | None = None, gone: Erasure | None = None, texts: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Note what was erased beside the file, and clear what is left of it."""
        self.ledger.write(file.mark, erase.marks_in(file))
        erase.step("noted")
        is_clear = self._recalls.forget(file.space, gone, texts)
        erase.step("recalls")
        pending = erase.sweep(file, self._folder.aside, needles)
        if not is_clear:  # whoever opens the space next tries again
            file.writer.execute("INSERT OR REPLACE INTO meta VALUES('unswept', 1)")
            pending = (*pending, "recalls")
        self.ledger.touch()
        return pending

    def _settle(self, file: SpaceFile) -> None:
        """Finish what a crash or a reader kept an erase from finishing."""
        with file.lock:
            if not erase.is_swept(file):
                self._sweep(file)

    def _look_at_ledger(self) -> None:
        """Empty the caches when any process erased something."""
        if self.ledger.changed():
            language.let_go_of_words()
            let_go_of_scopes()
            for file in self._folder.each_open():
                with file.caches_lock:
                    file.caches.clear()

    def _trim(self, used: SpaceFile) -> None:
        """Let go of the vectors of spaces that were not asked for longest, while all together take too much memory."""
        files = self._folder.each_open()
        total = sum(cache.matrix.nbytes for file in files for cache in list(file.caches.values()))
        for file in files:
            if total > CACHED_BYTES and file is not used and file.caches:
                with file.caches_lock:
                    total -= sum(cache.matrix.nbytes for cache in file.caches.values())
                    file.caches.clear()

    def _watch(self) -> None:
        """Keep an eye on the ledger from now on: a process that asks nothing more must let go of what was erased too."""
        with self._watch_lock:
            if self._watcher is None and not self._closing.is_set():
                self._watcher = threading.Thread(
                    target=_look_now_and_then, args=(weakref.ref(self), self._closing), name="reverie-erased", daemon=True
                )
                self._watcher.start()

    def dump(self, space: str) -> Dump:
        with self.reading(space) as view:
            if not isinstance(view, SqliteView):
                return Dump(space)
            owner = Scope.owner(space)
            return Dump(
                space,
                tuple(view.all_commits()),
                tuple(view.records("1")),
                tuple(view.held("1")),
                tuple(view.states(owner)),
                frozenset(mark for (mark,) in view.rows("SELECT mark FROM tombstones")),
            )

    def restore(self, dump: Dump) -> bool:
        with self.writing(dump.space, "", "", datetime.now(UTC)) as draft:
            return draft.restore(dump)

    def bars(self, space: str) -> Bars:
        with self._folder.use(space) as file:
            if file is None:
                return Bars(self.ledger.secret, frozenset(self.ledger.marks(space_mark(space))))
            with file.reader() as connection:
                rows = SqliteView(file, connection).rows("SELECT mark FROM tombstones")
                return Bars(self.ledger.secret, frozenset(mark for (mark,) in rows))

    def bar(self, space: str, marks: Iterable[bytes]) -> None:
        """Add tombstones to a space, for a file that came from elsewhere."""
        with self.writing(space, "", "", datetime.now(UTC)) as draft:
            for mark in marks:
                draft.rows("INSERT OR IGNORE INTO tombstones VALUES(?)", (mark,))

    def file_of(self, space: str) -> Path:
        """Return the file of a space."""
        return self._folder.path_of(space)

    def sizes(self) -> dict[str, int]:
        return {space: self.file_of(space).stat().st_size for space in self.spaces()}

    def note_copy(self, space: str, what: str) -> None:
        if self._folder.path_of(space).exists():
            with self.writing(space, "", "", datetime.now(UTC)) as draft:
                draft.rows("INSERT OR IGNORE INTO copies VALUES(?)", (what,))

    def copy_to(self, space: str, path: Path) -> None:
        """Write a consistent copy of a space's file."""
        with self._folder.use(space) as file:
            assert file is not None
            with file.lock:
                file.writer.execute("VACUUM INTO ?", (str(path),))

    def check(self) -> list[Report]:
        return [self._check(path) for path in self._folder.files()]

    def _check(self, path: Path) -> Report:
        space, problems, warnings = path.name, [], []
        size = path.stat().st_size
        if path.stat().st_mode & 0o077:
            warnings.append(f"{path} can be read by other users of this machine; chmod 600 it")
        try:
            space = self._folder.name_of(path)
            with self._folder.use(space) as file:
                assert file is not None
                with file.lock:
                    connection = file.writer
                    problems += [
                        str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)").fetchall() if row[0] != "ok"
                    ]
                    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master").fetchall()}
                    if missing := sorted(set(TABLE_PLACES) - tables):
                        raise Damaged(damage(path, f"it has no {', '.join(missing)}"))
                    for table, rows in (
                        ("words_now", "retired_seq IS NULL"),
                        ("words_past", "retired_seq IS NOT NULL"),
                    ):
                        connection.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
                        indexed, kept = connection.execute(
                            f"SELECT (SELECT count(*) FROM {table}_docsize), (SELECT count(*) FROM versions WHERE {rows})"
                        ).fetchall()[0]
                        if indexed != kept:
                            problems.append(f"{table} knows {indexed} of {kept} versions")
                    keys = connection.execute("SELECT value FROM meta WHERE name = 'erase_key'").fetchall()
                    if keys and keys[0][0] != erase.fingerprint(self.ledger.secret):
                        warnings.append(
                            f"texts erased from {space!r} were marked under another erase.key: they could be learned again"
                        )
                    if connection.execute("SELECT 1 FROM meta WHERE name = 'unswept'").fetchall():
                        warnings.append("an erase is still pending: close the process that is reading this space")
        except StoreError as exc:
            problems.append(str(exc))
        return Report(space, str(path), size, tuple(problems), tuple(warnings))

    def close(self) -> None:
        self._closing.set()
        with self._watch_lock:
            if self._watcher is not None:
                self._watcher.join()
        for file in self._folder.each_open():
            with translated(file.path):
                self._settle(file)
        self._recalls.close()
        self._folder.close()
        self.ledger.close()


def _look_now_and_then(store: weakref.ref[SqliteStore], closing: threading.Event) -> None:
    """Look at the ledger until the store is closed or gone."""
    while not closing.wait(LOOK_EVERY_S):
        kept = store()
        if kept is None:
            return
        kept._look_at_ledger()
        del kept  # between looks nothing here keeps a forgotten store alive
