"""What the files under a home go through: no room, no right to write, damage, other versions, backups, odd clocks.

Whatever happens, a call either does all it says or raises and leaves everything as it was (R8, R12, A11).
"""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import apsw
import numpy as np
import pytest

import reverie
from reverie import Busy, Damaged, Full, Mind, SchemaTooNew, Scope, StoreError
from reverie.learn.background import Settled
from reverie.models.hashing import Hashing
from reverie.store.sqlite import connect
from reverie.store.sqlite.schema import APPLICATION_ID, STEPS
from reverie.store.sqlite.view import SqliteView

BROKEN, FINE = Scope("broken"), Scope("fine")
NOBODY = 65534


def run(code: str, *args: object, before: tuple[str, ...] = ()) -> str:
    """Run Python code in a process of its own and return what it printed."""
    done = start(code, *args, before=before)
    out, errors = done.communicate(timeout=120)
    assert done.returncode == 0, errors
    return out


def start(code: str, *args: object, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def file_of(home: Path, space: str = "default") -> Path:
    (found,) = (home / "spaces").glob(f"{space}.*.db")
    return found


def texts(mind: Mind, scope: Scope | None = None) -> list[str]:
    return [memory.text for memory in mind.scan(scope)]


# not allowed to write


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user can reach; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


AS_NOBODY = f"""
    import os, sys
    import reverie, reverie.upkeep, reverie.store.sqlite.recovery
    with reverie.open(":memory:", embedder="none") as warm:      # loads all that is loaded late, while it can still be read
        warm.observe("hello there")
        warm.remember("hello there")
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid({NOBODY})
        os.setuid({NOBODY})
    def what(call):
        try:
            call()
        except BaseException as exc:
            return type(exc).__name__ + ": " + str(exc)
        return "no error"
"""


def as_nobody(code: str, *args: object) -> str:
    """Run code without the rights of root, whom no permission binds."""
    return run(textwrap.dedent(AS_NOBODY) + textwrap.dedent(code), *args)


def given_to_nobody(*paths: Path) -> None:
    if os.geteuid() == 0:
        for path in paths:
            os.chown(path, NOBODY, NOBODY)


def test_a_home_that_cannot_be_written_says_so_when_opened(open_folder: Path) -> None:
    home = open_folder / "home"
    with reverie.open(home, embedder="none") as mind:
        mind.observe("kept before")
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for folder in (home, home / "spaces"):
        folder.chmod(0o555)
    try:
        said = as_nobody("print(what(lambda: reverie.open(sys.argv[1], embedder='none')))", home)
    finally:
        for folder in (home, home / "spaces"):
            folder.chmod(0o700)
    assert said.startswith("ReadOnly: ")
    assert "choose another home" in said
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_a_home_that_cannot_be_made_says_so(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    said = as_nobody("print(what(lambda: reverie.open(sys.argv[1] + '/home', embedder='none')))", closed)
    assert said.startswith("ReadOnly: ")
    assert "choose another home" in said
    assert not list(closed.iterdir())


def test_a_home_whose_key_belongs_to_somebody_else_says_so(open_folder: Path) -> None:
    home = open_folder / "home"
    with reverie.open(home, embedder="none") as mind:
        mind.observe("kept before")
    given_to_nobody(home, home / "spaces", home / "lock")
    (home / "erase.key").chmod(0o000)
    said = as_nobody("print(what(lambda: reverie.open(sys.argv[1], embedder='none')))", home)
    assert said.startswith("ReadOnly: ")
    assert "check who owns it" in said


def test_a_space_that_can_only_be_read_is_read_and_refuses_to_be_written(open_folder: Path) -> None:
    home = open_folder / "home"
    with reverie.open(home, embedder="none") as mind:
        mind.observe("kept before", scope=FINE)
        mind.observe("kept before", scope=BROKEN)
    given_to_nobody(home, *home.rglob("*"))
    locked = file_of(home, "broken")
    os.chown(locked, os.geteuid(), os.getegid())
    locked.chmod(0o444)
    before = locked.read_bytes()
    said = as_nobody(
        """
        from reverie import Scope
        with reverie.open(sys.argv[1], embedder="none") as mind:
            for verb in (mind.observe, mind.remember):
                print(what(lambda: verb("something new", scope=Scope("broken"))))
            print(what(lambda: mind.observe_many([{"text": "something new"}], scope=Scope("broken"))))
            print(what(lambda: mind.working(Scope("broken")).replace(task="x")))
            print([memory.text for memory in mind.scan(Scope("broken"))])
            mind.observe("kept after", scope=Scope("fine"))
        """,
        home,
    ).splitlines()
    assert all(line.startswith("ReadOnly: ") and "check who owns it" in line for line in said[:4]), said
    assert said[4] == "['kept before']"
    assert locked.read_bytes() == before
    with reverie.open(home, embedder="none") as mind:
        assert texts(mind, FINE) == ["kept before", "kept after"]


# no room


def _mounted() -> tuple[str, ...] | None:
    """Return the command that gives a process a mount table of its own, where the system allows that."""
    for command in (("unshare", "-m"), ("unshare", "-rm")):
        with tempfile.TemporaryDirectory() as folder:
            trial = ["sh", "-c", 'mount -t tmpfs -o size=64k tmpfs "$1"', "sh", folder]
            try:
                if subprocess.run([*command, *trial], capture_output=True, timeout=20, check=False).returncode == 0:
                    return command
            except OSError:
                continue
    return None


FULL = """
    import os, sys
    from pathlib import Path
    import reverie
    from reverie import Full, Scope
    from reverie.store.sqlite import connect
    disk = Path(sys.argv[1])
    home = disk / "home"
    ballast = disk / "ballast"
    ballast.write_bytes(b"x" * 300_000)

    def fill(name):
        with open(disk / name, "wb", buffering=0) as handle:
            try:
                while True:
                    handle.write(b"x" * 512)
            except OSError:
                pass

    def refused(call):
        try:
            call()
        except Full as exc:
            assert "free some space" in str(exc), exc
        else:
            raise AssertionError("there was room")

    text = "many words that take some room on the disk " * 30
    told = 0
    mind = reverie.open(home, embedder="none")
    try:
        while told < 10_000:
            mind.observe(f"{told} {text}", message_id=f"m{told}")
            told += 1
    except Full as exc:
        assert "free some space" in str(exc), exc
    assert 0 < told < 10_000
    fill("rest")

    def everything():
        with mind._store.reading("default") as view:
            return list(mind.scan(retired=True)), mind.log(limit=100_000), view.states(Scope.owner("default"))

    before, first = everything(), next(mind.scan())
    assert len(before[0]) == told
    big = [{"text": f"{n} {text}"} for n in range(100)]
    for call in (
        lambda: mind.observe(text),
        lambda: mind.remember(text),
        lambda: mind.observe_many(big),
        lambda: mind.update(first.id, text=text),
        lambda: mind.working().replace(task=text * 20),
        lambda: mind.observe("in a new space", scope=Scope("new")),
        lambda: mind.export(disk / "x.jsonl"),
        lambda: mind.backup(disk / "x.zip"),
        lambda: reverie.open(disk / "other", embedder="none"),
    ):
        refused(call)
    assert everything() == before
    assert mind.recall("room").hits
    assert mind.health().healthy
    mind.close()
    left = sorted(str(path.relative_to(disk)) for path in disk.rglob("*") if path.is_file())
    assert [name for name in left if ".new" in name or ".part" in name or name.startswith("x.")] == [], left

    steps, connect.STEPS = connect.STEPS, (*connect.STEPS, "CREATE TABLE more(x)")
    with reverie.open(home, embedder="none") as mind:
        refused(lambda: list(mind.scan()))
    connect.STEPS = steps
    assert not list((home / "aside").iterdir())

    ballast.unlink()
    with reverie.open(home, embedder="none") as mind:
        assert mind.observe("room again").version == 1
        assert mind.update(first.id, text="shorter").version == 2
        assert len(list(mind.scan())) == told + 1
        assert mind.health().healthy
    fill("more")
    with reverie.open(home, embedder="none") as mind:
        refused(lambda: list(mind.scan()))
    (disk / "more").unlink()
    with reverie.open(home, embedder="none") as mind:
        assert len(list(mind.scan())) == told + 1
    print("told", told)
"""


def test_a_full_disk_keeps_nothing_of_the_change_and_works_again_when_there_is_room(tmp_path: Path) -> None:
    """On a real disk of its own, small enough to fill."""
    command = _mounted()
    if command is None:
        pytest.skip("this system lets nobody mount a small disk; the next test limits a file instead")
    shell = ("sh", "-c", 'mount -t tmpfs -o size=1500k tmpfs "$0" && exec "$@"', str(tmp_path))
    assert run(FULL, tmp_path, before=(*command, *shell)).startswith("told ")


def test_a_file_that_may_not_grow_keeps_nothing_of_the_change(tmp_path: Path) -> None:
    with reverie.open(tmp_path / "home", embedder="none") as mind:
        first = mind.observe("kept before")
        with mind._store._folder.use("default") as file:  # type: ignore[attr-defined]
            file.writer.pragma("max_page_count", file.writer.pragma("page_count"))
        before = list(mind.scan(retired=True)), mind.log()
        long = "far too long to fit " * 10_000
        changes: list[Callable[[], object]] = [
            lambda: mind.observe(long),
            lambda: mind.remember(long),
            lambda: mind.observe_many([{"text": "short"}, {"text": long}]),
            lambda: mind.update(first.id, text=long),
            lambda: mind.working().replace(notes=long),
        ]
        for change in changes:
            with pytest.raises(Full, match="free some space and try again"):
                change()
            assert (list(mind.scan(retired=True)), mind.log()) == before
        assert mind.working().get() is None
        assert mind.health().healthy
        with mind._store._folder.use("default") as file:  # type: ignore[attr-defined]
            file.writer.pragma("max_page_count", 1 << 30)
        for change in changes:
            change()
        assert len(list(mind.scan())) == 5


def test_a_limit_on_the_size_of_files_is_an_error_of_the_store(tmp_path: Path) -> None:
    out = run(
        """
        import resource, sys
        import reverie
        with reverie.open(sys.argv[1], embedder="none") as mind:
            mind.observe("kept before")
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
            told = 1
            try:
                while told < 5_000:
                    mind.observe(f"{told} " + "some words " * 100)
                    told += 1
            except reverie.StoreError as exc:
                print(type(exc).__name__)
            assert 1 < told < 5_000, told
            assert len(list(mind.scan())) == told
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            mind.observe("kept after")
            assert len(list(mind.scan())) == told + 1
            assert mind.health().healthy
        """,
        tmp_path / "home",
    )
    assert out.strip() in ("StoreError", "Full")


def test_a_migration_without_room_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk error ends a transaction by itself; the error that is raised must still be the one that says why."""
    home = _home_with(tmp_path)
    before = _dump(file_of(home, "fine"))
    grow = "CREATE TABLE more(x); WITH n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n LIMIT 2000) "
    monkeypatch.setattr(connect, "STEPS", (*STEPS, f"{grow} INSERT INTO more SELECT randomblob(500) FROM n;"))
    original = connect.connect

    def small(path: Path) -> apsw.Connection:
        connection = original(path)
        connection.pragma("max_page_count", connection.pragma("page_count") + 10)
        return connection

    monkeypatch.setattr(connect, "connect", small)
    with reverie.open(home, embedder="none") as mind, pytest.raises(Full, match="free some space"):
        texts(mind, FINE)
    monkeypatch.undo()
    assert _dump(file_of(home, "fine")) == before
    with reverie.open(home, embedder="none") as mind:
        assert texts(mind, FINE) == ["kept in fine"]


# damage


def _home_with(folder: Path) -> Path:
    """Make a home with two spaces; the broken one is to be broken."""
    home = folder / "home"
    with reverie.open(home, embedder="none") as mind:
        mind.observe_many([{"text": f"sentence {n} about Oaxaca", "message_id": f"m{n}"} for n in range(300)], scope=BROKEN)
        mind.observe("kept in fine", scope=FINE)
    return home


def _truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _cut_to_a_page(path: Path) -> None:
    os.truncate(path, 4096)


def _cut_within_the_header(path: Path) -> None:
    os.truncate(path, 50)


def _emptied(path: Path) -> None:
    os.truncate(path, 0)


def _zeroed_page(path: Path) -> None:
    pages = path.stat().st_size // 4096
    with path.open("r+b") as handle:
        for page in range(pages // 2 - 3, pages // 2 + 3):
            handle.seek(page * 4096)
            handle.write(b"\0" * 4096)


def _garbage_header(path: Path) -> None:
    with path.open("r+b") as handle:
        handle.write(b"\xde\xad\xbe\xef" * 25)


def _not_a_database(path: Path) -> None:
    path.write_text("Dear diary, today I was a text file.\n" * 500)


def _foreign_database(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE recipes(name); INSERT INTO recipes VALUES('mole negro')")
    connection.close()


def _claims_to_be_ours(path: Path) -> None:
    _foreign_database(path)
    connection = apsw.Connection(str(path))
    connection.pragma("application_id", APPLICATION_ID)
    connection.close()


def _without_its_name(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM meta WHERE name = 'space'")
    connection.close()


def _without_a_table(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("DROP TABLE commits")
    connection.close()


@pytest.mark.parametrize(
    "harm",
    [
        _truncated,
        _cut_to_a_page,
        _cut_within_the_header,
        _emptied,
        _zeroed_page,
        _garbage_header,
        _not_a_database,
        _foreign_database,
        _claims_to_be_ours,
        _without_its_name,
        _without_a_table,
    ],
)
def test_a_damaged_space_says_so_at_its_first_use_and_is_left_untouched(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    """Health reports it, other spaces go on, and no byte of the file changes: it may still be saved."""
    home = _home_with(tmp_path)
    file = file_of(home, "broken")
    harm(file)
    before = file.read_bytes()
    with reverie.open(home, embedder="none") as mind:
        verbs: list[Callable[[], object]] = [
            lambda: mind.recall("Oaxaca", scope=BROKEN),
            lambda: mind.observe("something new", scope=BROKEN),
            lambda: mind.remember("something new", scope=BROKEN),
            lambda: list(mind.scan(BROKEN)),
            lambda: mind.log(BROKEN),
            lambda: mind.working(BROKEN).replace(task="x"),
            lambda: mind.forget(query="Oaxaca", scope=BROKEN),
            lambda: mind.erase(query="Oaxaca", scope=BROKEN),
        ]
        for verb in verbs:
            with pytest.raises(Damaged) as raised:
                verb()
            assert str(file) in str(raised.value)
            assert "recover" in str(raised.value) or "move it out of the folder" in str(raised.value)
        health = mind.health()
        assert not health.healthy
        assert any(str(file) in problem for problem in health.errors)
        mind.observe("something new", scope=FINE)
        assert texts(mind, FINE) == ["kept in fine", "something new"]
        assert file.read_bytes() == before
    assert file.read_bytes() == before
    with reverie.open(home, embedder="none") as mind:
        assert texts(mind, FINE) == ["kept in fine", "something new"]


def test_damage_in_a_file_too_large_to_check_at_once_is_found_by_health_and_by_whoever_meets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _home_with(tmp_path)
    file = file_of(home, "broken")
    _zeroed_page(file)
    before = file.read_bytes()
    monkeypatch.setattr(connect, "CHECKED_WHOLE", 0)
    with reverie.open(home, embedder="none") as mind:
        with pytest.raises(Damaged, match="recover"):
            texts(mind, BROKEN)
        health = mind.health()
        assert not health.healthy
        assert [problem for problem in health.errors if "broken" in problem]
        assert texts(mind, FINE) == ["kept in fine"]
    assert file.read_bytes() == before


def test_a_space_held_by_another_process_for_too_long_is_busy_and_free_again_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _home_with(tmp_path)
    monkeypatch.setattr(connect, "BUSY_MS", 50)
    with reverie.open(home, embedder="none") as mind:
        mind.observe("said before", scope=FINE)
        holder = start(
            """
            import sys, apsw
            connection = apsw.Connection(sys.argv[1])
            connection.execute("BEGIN IMMEDIATE")
            print("held", flush=True)
            sys.stdin.readline()
            """,
            file_of(home, "fine"),
        )
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for verb in (mind.observe, mind.remember):
            with pytest.raises(Busy, match="try again when it is done"):
                verb("said meanwhile", scope=FINE)
        assert texts(mind, FINE) == ["kept in fine", "said before"]  # reading waits for nobody
        mind.observe("said elsewhere", scope=BROKEN)
        holder.communicate("let go\n", timeout=60)
        mind.observe("said after", scope=FINE)
        assert texts(mind, FINE) == ["kept in fine", "said before", "said after"]


def test_a_stray_file_in_the_folder_harms_nothing(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    for name in ("notes.txt", "stray.db", ".hidden.db"):
        (home / "spaces" / name).write_text("not ours")
    with reverie.open(home, embedder="none") as mind:
        assert texts(mind, FINE) == ["kept in fine"]
        assert {space.space for space in mind.status().spaces} == {"broken", "fine"}
        assert [problem for problem in mind.health().errors if "stray.db" in problem]
    assert (home / "spaces" / "stray.db").read_text() == "not ours"


def test_a_log_of_rubbish_beside_the_file_harms_nothing(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    file = file_of(home, "broken")
    file.with_name(file.name + "-wal").write_bytes(b"\xde\xad" * 40_000)
    file.with_name(file.name + "-shm").write_bytes(b"\xbe\xef" * 16_384)
    with reverie.open(home, embedder="none") as mind:
        assert len(texts(mind, BROKEN)) == 300
        mind.observe("one more", scope=BROKEN)
        assert mind.health().healthy


def test_a_broken_erase_key_says_what_to_do(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    with reverie.open(home, embedder="none") as mind:
        mind.backup(tmp_path / "all.zip")
    (home / "erase.key").write_text("not a key")
    with pytest.raises(Damaged, match="restore it, or delete it"):
        reverie.open(home, embedder="none")
    (home / "erase.key").unlink()
    reverie.recover(tmp_path / "all.zip", home)  # the attempt above does not hold the home
    with reverie.open(home, embedder="none") as mind:
        assert texts(mind, FINE) == ["kept in fine"]


def test_what_a_crash_left_unfinished_is_cleared_away_an_hour_later(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    for folder in (home, home / "spaces"):
        (folder / ".new-fresh").write_text("somebody is at it")
        (folder / ".new-stale").write_text("nobody will come back")
        os.utime(folder / ".new-stale", (1_000_000, 1_000_000))
        (folder / ".new-gone").symlink_to(folder / "nowhere")  # like one that is finished just now
    with reverie.open(home, embedder="none") as mind:
        assert texts(mind, FINE) == ["kept in fine"]
    assert [path.name for path in sorted(home.rglob(".new-*")) if not path.is_symlink()] == [".new-fresh"] * 2


# versions of the schema


def test_a_file_of_a_newer_reverie_is_refused_and_left_alone(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    file = file_of(home, "broken")
    connection = apsw.Connection(str(file))
    connection.pragma("user_version", len(STEPS) + 1)
    connection.close()
    before = file.read_bytes()
    with reverie.open(home, embedder="none") as mind:
        for verb in (lambda: mind.recall("Oaxaca", scope=BROKEN), lambda: mind.observe("new", scope=BROKEN)):
            with pytest.raises(SchemaTooNew, match="upgrade"):
                verb()
        assert not mind.health().healthy
        assert texts(mind, FINE) == ["kept in fine"]
    assert file.read_bytes() == before


ADDED = "CREATE TABLE colours(name TEXT); INSERT INTO colours VALUES('indigo');"


def _dump(path: Path) -> tuple[object, ...]:
    """Return what a database file says, whatever its pages look like."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        rows = [connection.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables if not name.startswith("words")]
        return connection.pragma("user_version"), tables, rows
    finally:
        connection.close()


def test_an_older_file_is_brought_up_to_date_after_a_copy_was_put_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _home_with(tmp_path)
    with reverie.open(home, embedder="none") as mind:
        before = list(mind.scan(BROKEN, retired=True)), mind.log(BROKEN, limit=1_000)
    old = _dump(file_of(home, "broken"))
    monkeypatch.setattr(connect, "STEPS", (*STEPS, ADDED))
    for _ in range(2):
        with reverie.open(home, embedder="none") as mind:
            assert (list(mind.scan(BROKEN, retired=True)), mind.log(BROKEN, limit=1_000)) == before
            assert len(mind.recall("Oaxaca", scope=BROKEN, limit=1_000).hits) == 300
            mind.observe("in a new space", scope=Scope("new"))
    (copy,) = (home / "aside").glob("broken.*")
    assert _dump(copy) == old
    for space in ("broken", "new"):
        version, tables, _ = _dump(file_of(home, space))
        assert version == len(STEPS) + 1
        assert isinstance(tables, list)
        assert "colours" in tables
    assert {path.name.split(".")[0] for path in (home / "aside").iterdir()} == {"broken"}  # fine was not used yet
    monkeypatch.undo()
    with reverie.open(home, embedder="none") as mind, pytest.raises(SchemaTooNew):
        mind.recall("Oaxaca", scope=BROKEN)


def test_short_turns_embedded_before_there_were_windows_are_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C2: and only those."""
    said = ["are you there?", "yes, " + "for quite a while already " * 5, "good", "fine"]
    monkeypatch.setattr(connect, "STEPS", (*STEPS[:2], *STEPS[3:]))
    here = Scope("old", session="chat")
    with reverie.open(tmp_path, embedder="none") as mind:
        mind.observe_many([{"text": text} for text in said], scope=here)
        mind.remember("the kettle is blue", scope=here)
    monkeypatch.undo()
    connection = apsw.Connection(str(file_of(tmp_path, "old")))
    connection.execute(
        "ALTER TABLE sightings DROP COLUMN voice; DROP INDEX texts_teller; DROP INDEX versions_job;"
        " DROP INDEX versions_subject; ALTER TABLE versions DROP COLUMN job; PRAGMA user_version = 2"
    )
    vector = np.ones(64, np.float16).tobytes()
    connection.execute("INSERT INTO models(name, length, upto) VALUES(?, 64, 2)", (Hashing().name,))
    for grain in ("turn", "window"):
        connection.execute(
            "INSERT INTO vectors(v, grain, part, model, data) SELECT v, ?, 0, 1, ? FROM versions", (grain, vector)
        )
    connection.close()
    with reverie.open(tmp_path, embedder="hashing", background=False) as mind:
        assert mind.status().spaces[0].pending == 3
        assert mind.settle() == Settled(0, 0)
        with mind._store.reading("old") as view:
            assert isinstance(view, SqliteView)
            rows = view.rows("SELECT text, data = ? FROM vectors JOIN texts USING(v) ORDER BY v", (vector,))
            (upto,) = view.rows("SELECT upto FROM models")[0]
    assert rows == [(said[0], 0), (said[1], 1), (said[2], 0), (said[3], 0), ("the kettle is blue", 1)]
    assert upto == 2


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _home_with(tmp_path)
    before = _dump(file_of(home, "broken"))
    monkeypatch.setattr(connect, "STEPS", (*STEPS, ADDED, "CREATE TABLE half(x); INSERT INTO nowhere VALUES(1);"))
    with reverie.open(home, embedder="none") as mind:
        for _ in range(2):
            with pytest.raises(StoreError) as raised:
                mind.recall("Oaxaca", scope=BROKEN)
            assert str(file_of(home, "broken")) in str(raised.value)
    assert _dump(file_of(home, "broken")) == before
    monkeypatch.setattr(connect, "STEPS", (*STEPS, "SELECT raise_the_dead();"))
    with reverie.open(home, embedder="none") as mind, pytest.raises(StoreError, match="left as it was"):
        mind.recall("Oaxaca", scope=BROKEN)
    assert _dump(file_of(home, "broken")) == before
    monkeypatch.undo()
    with reverie.open(home, embedder="none") as mind:
        assert len(texts(mind, BROKEN)) == 300


def test_two_processes_bring_the_same_file_up_to_date_at_once(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    code = f"""
        import sys
        import reverie
        from reverie import Scope
        from reverie.store.sqlite import connect
        connect.STEPS = (*connect.STEPS, {ADDED!r})
        with reverie.open(sys.argv[1], embedder="none") as mind:
            print("ready", flush=True)
            sys.stdin.readline()
            mind.observe("said by " + sys.argv[2], scope=Scope("broken"))
            print(len(list(mind.scan(Scope("broken")))) > 300)
    """
    both = [start(code, home, name) for name in ("one", "two")]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in both:
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, out.strip()) == (0, "True"), errors
    version, _, rows = _dump(file_of(home, "broken"))
    assert version == len(STEPS) + 1
    assert str(rows).count("indigo") == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connect, "STEPS", (*STEPS, ADDED))
        with reverie.open(home, embedder="none") as mind:
            assert len(texts(mind, BROKEN)) == 302
            assert mind.health().healthy


# who may read


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_everything_written_is_readable_by_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also logs, exports, backups and copies put aside, even where the umask would allow more (A11)."""
    home = tmp_path / "home"

    def check() -> int:
        paths = [home, *home.rglob("*")]
        open_to_others = [str(path) for path in paths if stat.S_IMODE(path.stat().st_mode) & 0o077]
        assert open_to_others == []
        assert all(stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600) for path in paths)
        return len(paths)

    with reverie.open(home, embedder="none") as mind:
        turn = mind.observe("kept for its owner alone")
        mind.observe("in another space", scope=FINE)
        mind.recall("owner")
        assert list(home.rglob("*-wal"))
        assert list(home.rglob("*-shm"))
        check()
        mind.erase(turn.id)
        mind.export(tmp_path / "all.jsonl")
        mind.backup(tmp_path / "all.zip")
        assert check() >= 8
    for made in ("all.jsonl", "all.zip"):
        assert stat.S_IMODE((tmp_path / made).stat().st_mode) == 0o600
    reverie.recover(tmp_path / "all.zip", home)
    assert list((home / "aside").iterdir())
    check()
    monkeypatch.setattr(connect, "STEPS", (*STEPS, ADDED))
    with reverie.open(home, embedder="none") as mind:
        texts(mind, FINE)
        check()
    assert list((home / "aside").glob("fine.*.schema-*"))
    check()
    with reverie.open(home, embedder="none") as mind:
        assert mind.health().warnings == ()
    home.chmod(0o755)
    file_of(home, "fine").chmod(0o644)
    with reverie.open(home, embedder="none") as mind:
        assert len([warning for warning in mind.health().warnings if "chmod" in warning]) == 2


# how many files


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are counted in /proc")
def test_no_more_than_a_few_dozen_files_are_open_however_many_spaces_there_are(tmp_path: Path) -> None:
    home = tmp_path / "home"
    spaces = [Scope(f"space-{n}") for n in range(connect.MAX_OPEN + 12)]

    def held() -> set[str]:
        links = (Path("/proc/self/fd") / name for name in os.listdir("/proc/self/fd"))
        found = {os.readlink(link) for link in links if link.is_symlink()}
        return {name for name in found if name.startswith(str(home / "spaces")) and name.endswith(".db")}

    with reverie.open(home, embedder="none") as mind:
        for space in spaces:
            mind.observe(f"said in {space.space}", scope=space)
            assert mind.recall("said", scope=space).hits
            assert mind.last_recall(space)  # it is written: nobody opens or closes anything while the files are counted
            assert len(held()) <= connect.MAX_OPEN
        assert len(held()) == connect.MAX_OPEN
        for space in spaces:
            assert texts(mind, space) == [f"said in {space.space}"]
            assert len(held()) <= connect.MAX_OPEN
        mind.status()
        mind.health()
        assert len(held()) <= connect.MAX_OPEN
    assert held() == set()


# backup and recover


def test_a_backup_brings_everything_back(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    with reverie.open(home, embedder="none") as mind:
        mind.working(FINE).replace(task="ship it")
        mind.people.alias("ana", "Ana", scope=FINE)
        fact = mind.remember("Ana lives in Oaxaca", subject="ana", scope=FINE)
        mind.update(fact.id, text="Ana lives in Puebla")
        mind.backup(tmp_path / "all.zip")
        before = [(list(mind.scan(scope, retired=True)), mind.log(scope, limit=1_000)) for scope in (BROKEN, FINE)]
    assert reverie.recover(tmp_path / "all.zip", tmp_path / "new") == ("broken", "fine")
    with reverie.open(tmp_path / "new", embedder="none") as mind:
        assert [(list(mind.scan(scope, retired=True)), mind.log(scope, limit=1_000)) for scope in (BROKEN, FINE)] == before
        assert [version.text for version in mind.history(fact.id)] == ["Ana lives in Oaxaca", "Ana lives in Puebla"]
        working = mind.working(FINE).get()
        assert working is not None
        assert working.task == "ship it"
        assert mind.people.get("ana", scope=FINE).name == "Ana"
        assert mind.recall("Puebla", scope=FINE).hits
        assert mind.health().healthy


def test_recovering_over_a_home_puts_what_was_there_aside(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    with reverie.open(home, embedder="none") as mind:
        mind.backup(tmp_path / "all.zip")
        mind.observe("said after the backup", scope=FINE)
        mind.observe("a space that is not in the backup", scope=Scope("newer"))
    reverie.recover(tmp_path / "all.zip", home)
    with reverie.open(home, embedder="none") as mind:
        assert texts(mind, FINE) == ["kept in fine"]
        assert texts(mind, Scope("newer")) == ["a space that is not in the backup"]
    (aside,) = (home / "aside").glob("fine.*.db")
    assert "said after the backup" in str(_dump(aside))
    _garbage_header(file_of(home, "broken"))
    reverie.recover(tmp_path / "all.zip", home)
    with reverie.open(home, embedder="none") as mind:
        assert len(texts(mind, BROKEN)) == 300
        assert mind.health().healthy


def test_what_was_written_just_before_a_crash_is_put_aside_whole(tmp_path: Path) -> None:
    """A process that was killed leaves its last commits in the log beside the file; they go aside with it."""
    home = _home_with(tmp_path)
    with reverie.open(home, embedder="none") as mind:
        mind.backup(tmp_path / "all.zip")
    killed = start(
        """
        import os, signal, sys
        import reverie
        reverie.open(sys.argv[1], embedder="none").observe("said just before the crash", scope=reverie.Scope("fine"))
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        home,
    )
    killed.communicate(timeout=60)
    reverie.recover(tmp_path / "all.zip", home)
    (aside,) = (home / "aside").glob("fine.*.db")
    connection = apsw.Connection(str(aside))
    kept = connection.execute("SELECT text FROM texts ORDER BY v").fetchall()
    connection.close()
    assert kept == [("kept in fine",), ("said just before the crash",)]


def test_a_backup_made_while_another_process_writes_holds_whole_commits(tmp_path: Path) -> None:
    home = tmp_path / "home"
    writer = start(
        """
        import sys, threading
        import reverie
        stop = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
        pairs = 0
        with reverie.open(sys.argv[1], embedder="none") as mind:
            while not stop.is_set():
                mind.observe_many([{"text": f"pair {pairs} {half}"} for half in ("left", "right")])
                pairs += 1
                if pairs == 1:
                    print("ready", flush=True)
        print(pairs)
        """,
        home,
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    counts = []
    with reverie.open(home, embedder="none") as mind:
        for number in range(3):
            mind.backup(tmp_path / f"{number}.zip")
    out, errors = writer.communicate("stop\n", timeout=60)
    assert writer.returncode == 0, errors
    for number in range(3):
        reverie.recover(tmp_path / f"{number}.zip", tmp_path / f"new-{number}")
        with reverie.open(tmp_path / f"new-{number}", embedder="none") as mind:
            found = texts(mind)
            assert mind.health().healthy
        assert found == [f"pair {n} {half}" for n in range(len(found) // 2) for half in ("left", "right")]
        counts.append(len(found))
    assert counts == sorted(counts)
    with reverie.open(home, embedder="none") as mind:
        assert len(texts(mind)) == 2 * int(out)


def test_a_recovery_cut_short_leaves_nothing_behind(tmp_path: Path) -> None:
    home = _home_with(tmp_path)
    (home / ".recover-0123abcd" / "spaces").mkdir(parents=True)
    shutil.copy(file_of(home, "fine"), home / ".recover-0123abcd" / "spaces")
    with reverie.open(home, embedder="none") as mind:
        assert texts(mind, FINE) == ["kept in fine"]
    assert not list(home.glob(".recover-*"))


# clocks


def test_a_clock_that_runs_backwards_never_turns_the_record_around(tmp_path: Path) -> None:
    """Commits stay in order, so that `as_of` and undo keep their meaning (R4)."""
    start_at = datetime(2026, 5, 1, tzinfo=UTC)
    for home in (":memory:", tmp_path / "home"):
        times = iter(start_at - timedelta(hours=n) for n in range(1_000))
        with reverie.open(home, clock=lambda times=times: next(times), embedder="none") as mind:  # type: ignore[misc]
            kept = [mind.observe(f"number {n}") for n in range(10)]
            log = mind.log()
            assert [memory.text for memory in mind.scan()] == [f"number {n}" for n in range(10)]
            assert [commit.seq for commit in log] == list(range(10, 0, -1))
            recorded = [commit.at for commit in reversed(log)]
            assert recorded == sorted(set(recorded))
            assert recorded[0] == kept[0].recorded_at == start_at
            assert recorded[-1] == start_at + timedelta(microseconds=9)
            assert [len(list(mind.scan(as_of=memory.commit))) for memory in kept] == list(range(1, 11))
            assert kept[9].happened_at == start_at - timedelta(hours=9)  # the world's time is what the clock said


@pytest.mark.parametrize("year", [1, 9999])
def test_a_clock_at_either_end_of_the_calendar_works(tmp_path: Path, year: int) -> None:
    edge = datetime(1, 1, 1, tzinfo=UTC) if year == 1 else datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    for home in (":memory:", tmp_path / "home"):
        now = [edge if year == 1 else edge - timedelta(days=1)]
        with reverie.open(home, clock=lambda now=now: now[0], embedder="none") as mind:  # type: ignore[misc]
            first = mind.observe("said at the edge of time", at=edge)
            fact = mind.remember(
                "it holds", valid_from=datetime.min.replace(tzinfo=UTC), valid_until=edge if year > 1 else None
            )
            assert mind.update(fact.id, text="it held").version == 2
            assert mind.recall("edge").hits[0].memory.happened_at == edge
            assert str(mind.recall("edge").hits[0])
            assert next(memory.id for memory in mind.scan(between=(edge, None))) == first.id
            assert mind.get(first.id, as_of=now[0]) == first
            mind.working().replace(task="ship it")
            assert mind.working().get() is not None
            assert [memory.id for memory in mind.recent().get()] == [first.id]
            mind.export(tmp_path / f"{year}.jsonl")
            with reverie.open(":memory:", embedder="none") as other:
                other.load(tmp_path / f"{year}.jsonl")
                assert list(other.scan(retired=True)) == list(mind.scan(retired=True))


def test_a_clock_at_the_last_microsecond_there_is_stops_with_a_clear_error(tmp_path: Path) -> None:
    """No commit can come after it, since each is at least a microsecond later than the last."""
    for home in (":memory:", tmp_path / "home"):
        with reverie.open(home, clock=lambda: datetime.max.replace(tzinfo=UTC), embedder="none") as mind:
            with pytest.raises(reverie.BadInput, match=r"the clock says 9999.*set it right"):
                mind.observe("the last word")
            assert not texts(mind)


def test_moments_are_kept_as_instants_whatever_their_zone(tmp_path: Path) -> None:
    """R13: the same instant told in two zones is one."""
    mexico, tokyo = timezone(timedelta(hours=-6)), timezone(timedelta(hours=9))
    instant = datetime(2026, 5, 1, 23, 30, tzinfo=mexico)
    same = instant.astimezone(tokyo)
    for home in (":memory:", tmp_path / "home"):
        with reverie.open(home, clock=lambda: same, embedder="none") as mind:
            mind.observe("said late in Oaxaca", at=instant)
            mind.observe("said early in Tokyo", at=same)
            mind.remember("it holds", valid_from=instant, valid_until=same + timedelta(hours=1))
        if home != ":memory:":
            mind = reverie.open(home, clock=lambda: same, embedder="none")
            found = list(mind.scan())
            assert found[0].happened_at == found[1].happened_at == found[2].valid_from == instant
            assert all(memory.recorded_at.tzinfo == UTC for memory in found)
            assert len(list(mind.scan(between=(same, same + timedelta(seconds=1))))) == 3
            assert not list(mind.scan(between=(None, instant)))
            assert mind.recall("holds", now=instant + timedelta(minutes=59)).hits[0].current
            assert not mind.recall("holds", now=same + timedelta(minutes=60)).hits[0].current
            mind.close()


# importing


def test_importing_says_nothing(tmp_path: Path) -> None:
    """Neither the package nor any part of it prints, warns or writes a file."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            "import reverie; import reverie.mind, reverie.upkeep, reverie.store.sqlite, reverie.store.in_memory",
        ],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(reverie.__file__).parent.parent)},
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    assert not list(tmp_path.iterdir())
