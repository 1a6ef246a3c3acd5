"""What hostile readings found that takes files or processes: erases side by side, copies made too early, strange backups."""

import hashlib
import json
import shutil
import subprocess
import sys
import textwrap
import threading
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

import reverie
from reverie import Damaged, Erased, Mind, Scope, upkeep
from reverie.store.base import Dump, Store
from reverie.store.in_memory import InMemoryStore
from reverie.store.sqlite import SqliteStore, connect, erase

G, OWNER, ANA = Scope("g"), Scope.owner("g"), Scope("g", person="ana")


def start(code: str, *args: object) -> subprocess.Popen[str]:
    """Start Python code in a process of its own, and wait until it says that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate(timeout=60)[1]
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def ended(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors


ERASER = """
    import sys
    import reverie
    with reverie.open(sys.argv[1], embedder="none") as mind:
        mind.recall("warm")
        print("ready", flush=True)
        sys.stdin.readline()
        for id in sys.argv[2:]:
            assert mind.erase(id).erased == (id,), id
"""


def test_two_processes_that_erase_at_once_both_get_it_done(tmp_path: Path) -> None:
    home = tmp_path / "home"
    texts = [f"secret number zq{number}k of many" for number in range(40)]
    with reverie.open(home, embedder="none") as mind:
        mind.observe("this one stays")
        ids = [mind.observe(text).id for text in texts]
    both = [start(ERASER, home, *ids[:20]), start(ERASER, home, *ids[20:])]
    for process in both:
        go(process)
    for process in both:
        ended(process)
    with reverie.open(home, embedder="none") as mind:
        assert [memory.text for memory in mind.scan(Scope.owner(), retired=True)] == ["this one stays"]
    held = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert not [number for number in range(40) if f"zq{number}k".encode() in held]
    shutil.rmtree(home / "spaces")
    with reverie.open(home, embedder="none") as mind:
        for text in texts:
            with pytest.raises(Erased):
                mind.observe(text)


def test_a_space_that_waits_to_be_opened_holds_up_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, slow, calm = tmp_path / "home", Scope("slow"), Scope("calm")
    with reverie.open(home, embedder="none") as mind:
        mind.observe("hello there", scope=slow)
        mind.observe("hello there", scope=calm)
    (file,) = (home / "spaces").glob("slow.*.db")
    with closing(connect.connect(file)) as connection:
        connection.execute("INSERT INTO meta VALUES('unswept', 1)")  # so that whoever opens it has an erase to finish
    opening, let_go = threading.Event(), threading.Event()

    def wait(name: str) -> None:
        opening.set()
        let_go.wait(90)

    monkeypatch.setattr(erase, "step", wait)
    found: dict[str, int] = {}

    def look(scope: Scope) -> None:
        found[scope.space] = len(mind.recall("hello", scope=scope).hits)

    with reverie.open(home, embedder="none") as mind:
        waits, goes_on = (threading.Thread(target=look, args=(scope,)) for scope in (slow, calm))
        try:
            waits.start()
            assert opening.wait(60)
            goes_on.start()
            goes_on.join(30)
            assert found == {"calm": 1}
        finally:
            let_go.set()
            waits.join(60)
            goes_on.join(60)
    assert found == {"calm": 1, "slow": 1}


# copies


def said_twice(home: Path) -> Mind:
    """Return a mind where a text was erased in public that Ana also said in private."""
    mind = reverie.open(home, embedder="none")
    public = mind.remember("the door code is nine", scope=G)
    mind.remember("the door code is nine", scope=ANA)
    mind.erase(public.id)
    return mind


def hers(home: Path) -> list[str]:
    with reverie.open(home, embedder="none") as mind:
        assert list(mind.scan(G)) == []
        return [memory.text for memory in mind.scan(ANA)]


def test_a_private_memory_that_outlived_the_erase_of_a_public_one_is_recovered(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with said_twice(home) as mind:
        backup = mind.backup(tmp_path / "backup.zip")
    assert hers(home) == ["the door code is nine"]
    reverie.recover(backup, home)
    assert hers(home) == ["the door code is nine"]


def test_a_private_memory_that_outlived_the_erase_of_a_public_one_is_loaded(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with said_twice(home) as mind:
        export = mind.export(tmp_path / "all.jsonl")
    shutil.rmtree(home / "spaces")
    with reverie.open(home, embedder="none") as mind:
        assert mind.load(export).added == 1
    assert hers(home) == ["the door code is nine"]


def test_a_backup_with_a_trigger_in_it_is_not_recovered(tmp_path: Path) -> None:
    with reverie.open(tmp_path / "home", embedder="none") as mind:
        mind.remember("ana lives in Lima", scope=G)
        backup = mind.backup(tmp_path / "backup.zip")
    with zipfile.ZipFile(backup) as archive:
        archive.extractall(tmp_path / "unpacked")
    (file,) = (tmp_path / "unpacked").glob("*.db")
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("CREATE TRIGGER spy AFTER INSERT ON texts BEGIN DELETE FROM tombstones; END")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    manifest = json.loads((tmp_path / "unpacked" / "manifest.json").read_text())
    manifest["sha256"] = {file.name: hashlib.sha256(file.read_bytes()).hexdigest()}
    with zipfile.ZipFile(tmp_path / "strange.zip", "w") as archive:
        archive.write(file, file.name)
        archive.writestr("manifest.json", json.dumps(manifest))
    with pytest.raises(Damaged, match="trigger"):
        reverie.recover(tmp_path / "strange.zip", tmp_path / "new")
    assert list((tmp_path / "new" / "spaces").iterdir()) == []


class WatchedInMemory(InMemoryStore):
    """A store in memory that notes which copies were known when a space was read out."""

    def dump(self, space: str) -> Dump:
        self.known = copies(self, space)
        return super().dump(space)


class WatchedSqlite(SqliteStore):
    """A store in a folder that notes which copies were known when a space was read out."""

    def dump(self, space: str) -> Dump:
        self.known = copies(self, space)
        return super().dump(space)


def copies(store: Store, space: str) -> list[str]:
    with store.reading(space) as view:
        return view.copies()


@pytest.mark.parametrize("opened", [lambda home: WatchedInMemory(), WatchedSqlite], ids=["memory", "folder"])
def test_an_export_is_known_to_an_erase_before_anything_is_read_for_it(
    opened: Callable[[Path], WatchedInMemory | WatchedSqlite], tmp_path: Path
) -> None:
    with closing(opened(tmp_path / "home")) as store:
        mind = Mind(store, lambda: datetime.now(UTC), None)
        fact = mind.remember("ana lives in Lima", scope=G)
        upkeep.export(store, tmp_path / "all.jsonl", None, datetime.now(UTC))
        assert store.known == [f"export: {tmp_path / 'all.jsonl'}"]
        assert mind.erase(fact.id).unreachable == tuple(store.known)


def test_a_large_file_is_searched_and_rebuilt_only_if_something_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R8: what the raw search finds, and that an erase which is left to it leaves nothing either."""
    monkeypatch.setattr(erase, "REBUILT_AT_ONCE", 0)
    home = tmp_path / "home"
    long = "the vault opens with zqlongword " + "and some more of the same " * 2_000
    with reverie.open(home, embedder="none") as mind:
        going = [mind.observe(f"the code of door {number} is zqdoor{number:03}word").id for number in range(60)]
        going.append(mind.observe(long).id)
        mind.observe("this one stays zqstaysword")
    (file,) = (home / "spaces").glob("*.db")
    needles = {b"zqdoor000word", b"zqlongword", b"zqstaysword", b"zqnever"}
    assert erase.found_in(needles, file) == needles - {b"zqnever"}
    with reverie.open(home, embedder="none") as mind:
        for id in going:
            mind.erase(id)
    assert erase.found_in(needles, file) == {b"zqstaysword"}
    assert not [number for number in range(60) if f"zqdoor{number:03}".encode() in file.read_bytes()]


@pytest.mark.parametrize("damage", ["another schema", "no database", "bad rows", "a folder"])
def test_a_damaged_file_of_kept_recalls_stops_neither_an_erase_nor_a_recall(tmp_path: Path, damage: str) -> None:
    """R8, R12: nothing in it is worth a complaint."""
    recalls = tmp_path / "recalls.db"
    with reverie.open(tmp_path, embedder="none") as mind:
        mind.observe("a red boat")
        mind.recall("red boat")
    if damage == "bad rows":
        connection = apsw.Connection(str(recalls))
        connection.execute("UPDATE recalls SET ids = 'nonsense'")
        connection.close()
    else:
        for path in tmp_path.glob("recalls.db*"):
            path.unlink()
        if damage == "another schema":
            connection = apsw.Connection(str(recalls))
            connection.execute("CREATE TABLE recalls(x)")
            connection.close()
        elif damage == "no database":
            recalls.write_bytes(b"nonsense" * 1_000)
        else:
            recalls.mkdir()
    with reverie.open(tmp_path, embedder="none") as mind:
        mind.observe("a blue boat")
        assert len(mind.recall("boat").hits) == 2
        proof = mind.erase(query="red")
        assert len(proof.erased) == 1
        assert proof.pending == (("recalls",) if damage == "a folder" else ())
        assert len(mind.recall("boat").hits) == 1
    with reverie.open(tmp_path, embedder="none") as mind:
        assert len(mind.recall("boat").hits) == 1
        assert mind.observe("a green boat")


def test_an_erase_says_so_while_somebody_reads_the_kept_recalls_and_the_next_one_to_open_clears_them(tmp_path: Path) -> None:
    """R8"""
    with reverie.open(tmp_path, embedder="none") as mind:
        mind.observe("a quagga in the harbour")
        mind.recall("where is the quagga?")
        assert mind.last_recall()
        reader = apsw.Connection(str(tmp_path / "recalls.db"))
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM recalls").fetchall() == [(1,)]
        assert "recalls" in mind.erase(query="quagga").pending
        reader.close()
    with reverie.open(tmp_path, embedder="none") as mind:
        assert mind.recall("harbour").hits == ()
    assert not any(b"quagga" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
