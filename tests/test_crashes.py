"""Processes killed with -9 while they write: what was acknowledged is there, once, and nothing is half (R12).

A child acknowledges each write on a pipe after the verb returned. Whoever kills it then knows what must be there; the
write that was under way may be there or not, whole in either case. The next child repeats it, as an agent would that got
no answer. Python's audit events stop a process at chosen steps instead of random ones.
"""

import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

import reverie
from reverie import Mind, Scope
from reverie.learn.background import Settled
from reverie.learn.embed import parts_of
from reverie.models.base import Embedder
from reverie.models.choose import embedder_from
from reverie.models.hashing import Hashing

WRITER = """
    import os, sys
    import reverie
    home, number = sys.argv[1], int(sys.argv[2])
    mind = reverie.open(home, embedder="none")
    os.write(1, b"open\\n")
    def word(number, n=0):
        return "q" + "".join("bcdfghjklm"[int(digit)] for digit in f"{number:06}{n:02}")
    while True:
        # What a number stands for depends on nothing but the number, so that a repeated write is the same write.
        kind = number % 3
        if kind == 0:
            mind.observe(f"{word(number)} was said", message_id=f"m{number}")
        elif kind == 1:
            mind.remember(f"{word(number)} is known", subject="ana")
        else:
            size = 2 + number * 7 % 60
            mind.observe_many({"text": f"{word(number, n)} was said", "message_id": f"b{number}x{n}"} for n in range(size))
        os.write(1, f"{number}\\n".encode())
        number += 1
"""


WRITTEN = ("turn", "fact")


def start(code: str, *args: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kill_after(process: subprocess.Popen[bytes], acknowledged: int, longer_s: float) -> list[int]:
    """Kill a writer some time after so many acknowledgements; return all it gave."""
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        first = process.stdout.readline()
        assert first == b"open\n", process.stderr.read()
        lines = [process.stdout.readline() for _ in range(acknowledged)]
        time.sleep(longer_s)  # nothing is waited for: the moment is to be anywhere in a write
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
        assert process.wait(60) == -signal.SIGKILL, process.stderr.read()
    return [int(line) for line in lines if line]


def word(number: int, n: int = 0) -> str:
    """Return a word of its own for a write, one that no stemmer shortens and no tokenizer takes apart."""
    return "q" + "".join("bcdfghjklm"[int(digit)] for digit in f"{number:06}{n:02}")


def names_of(number: int) -> set[str]:
    """Return the names of the memories that a write makes: message ids, and the text of a fact."""
    if number % 3 == 0:
        return {f"m{number}"}
    if number % 3 == 1:
        return {f"{word(number)} is known"}
    return {f"b{number}x{n}" for n in range(2 + number * 7 % 60)}


def check(mind: Mind, acknowledged: int, last: int) -> int:
    """Check that every acknowledged write is there once, the next one whole or absent; return how many memories there are.

    Episodes are written beside, at whatever moment: each is of turns that are there, and no turn is in two.
    """
    kept = [memory for memory in mind.scan() if memory.kind != "episode"]
    told = Counter(id for memory in mind.scan() if memory.kind == "episode" for id in memory.source.memory_ids)
    assert set(told.values()) <= {1}
    assert set(told) <= {memory.id for memory in kept}
    found = Counter(memory.message_id or memory.text for memory in kept)
    doubled = {name for name, times in found.items() if times > 1}
    wanted = set().union(*(names_of(number) for number in range(acknowledged)))
    lost = wanted - set(found)
    assert (lost, doubled) == (set(), set())
    under_way = set(found) - wanted
    assert under_way in (set(), names_of(acknowledged))
    health = mind.health()
    assert health.healthy, health
    for number in range(last, acknowledged):
        found_by_words = [hit.memory for hit in mind.recall(word(number), limit=50, kinds=WRITTEN).hits]
        first = min(names_of(number), key=lambda name: (len(name), name))
        assert [memory.message_id or memory.text for memory in found_by_words] == [first]
    return len(found)


def kill_again_and_again(home: Path, rounds: int, seed: int) -> tuple[int, int]:
    chance = random.Random(seed)
    acknowledged = kept = under_way = 0
    for _ in range(rounds):
        writer = start(WRITER, home, acknowledged)
        given = kill_after(writer, chance.randrange(12), chance.random() * 0.02)
        assert given == list(range(acknowledged, acknowledged + len(given)))
        last, acknowledged = acknowledged, acknowledged + len(given)
        with reverie.open(home, embedder="none") as mind:
            kept = check(mind, acknowledged, last)
            under_way += kept > sum(len(names_of(number)) for number in range(acknowledged))
    return acknowledged, under_way


def test_what_was_acknowledged_outlives_a_kill_and_is_there_once(tmp_path: Path) -> None:
    acknowledged, _ = kill_again_and_again(tmp_path / "home", rounds=6, seed=1)
    assert acknowledged > 6


@pytest.mark.stress
def test_two_hundred_kills_on_one_home_lose_and_double_nothing(tmp_path: Path) -> None:
    acknowledged, under_way = kill_again_and_again(tmp_path / "home", rounds=200, seed=2)
    print(f"\n200 kills: {acknowledged} writes acknowledged, 0 lost, 0 doubled; {under_way} under way were whole")  # noqa: T201


SPACES = """
    import os, sys
    import reverie
    from reverie import Scope
    mind = reverie.open(sys.argv[1], embedder="none")
    mind.recall("warm")
    os.write(1, b"open\\n")
    for number in range(1_000):
        mind.observe(f"said in space {number}", scope=Scope(f"space {number}"), message_id="m")
        os.write(1, f"{number}\\n".encode())
"""


def kill_while_spaces_are_made(folder: Path, rounds: int, seed: int) -> int:
    chance = random.Random(seed)
    made = 0
    for turn in range(rounds):
        home = folder / f"home-{turn % 3}"  # some rounds find what earlier ones left
        longer_s = chance.random() * (0.03 if turn % 2 else 0.1)
        given = kill_after(start(SPACES, home), 0 if turn % 2 else chance.randrange(5), longer_s)
        with reverie.open(home, embedder="none") as mind:
            assert mind.health().healthy
            there = {space.space for space in mind.status().spaces}
            assert there >= {f"space {number}" for number in given}
            for number in range(max(given, default=0) + 2):
                scope = Scope(f"space {number}")
                kept = [memory.text for memory in mind.scan(scope)]
                assert kept in ([[f"said in space {number}"]] if number in given else [[], [f"said in space {number}"]])
                mind.observe(f"said in space {number}", scope=scope, message_id="m")
                assert len(mind.recall("said", scope=scope).hits) == 1
        made += len(given)
    return made


def test_a_kill_while_spaces_are_made_leaves_each_whole_or_absent(tmp_path: Path) -> None:
    kill_while_spaces_are_made(tmp_path, rounds=4, seed=3)


@pytest.mark.stress
def test_sixty_kills_while_spaces_are_made(tmp_path: Path) -> None:
    made = kill_while_spaces_are_made(tmp_path, rounds=60, seed=4)
    print(f"\n60 kills while spaces were made: {made} acknowledged, 0 lost, 0 half")  # noqa: T201


# A kill at every step that Python takes on the file system. One process loads everything and is copied for each step.
NURSERY = """
    import os, shutil, signal, sys
    from pathlib import Path
    import reverie, reverie.upkeep, reverie.store.sqlite.recovery
    from reverie import Scope
    folder, what = Path(sys.argv[1]), sys.argv[2]
    with reverie.open(folder / "warm", embedder="none") as mind:
        mind.observe("warm")
    EVENTS = {"open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "shutil.copyfile"}

    def die_at(step):
        taken = 0
        def look(event, args):
            nonlocal taken
            # Modules that are read late are no step of ours.
            if event in EVENTS and str(folder) in str(args[0]):
                taken += 1
                if taken == step:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(look)

    def act(home):
        if what == "recover":
            reverie.recover(folder / "all.zip", home)
        elif what == "backup":
            with reverie.open(home, embedder="none") as mind:
                mind.backup(home / "copy.zip")
        elif what == "export":
            with reverie.open(home, embedder="none") as mind:
                mind.export(home / "copy.jsonl")
        else:
            with reverie.open(home, embedder="none") as mind:
                mind.observe("said first", scope=Scope("fine"), message_id="m1")

    for step in range(1, 200):
        home = folder / f"home-{step}"
        if (folder / "home").exists():
            shutil.copytree(folder / "home", home)
        pid = os.fork()
        if pid == 0:
            die_at(step)
            act(home)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(step, os.WIFSIGNALED(status), flush=True)
        if not os.WIFSIGNALED(status):
            sys.exit(os.WEXITSTATUS(status))
"""


def stopped_at_every_step(folder: Path, what: str) -> list[Path]:
    """Carry `what` out once for each of its steps, killed at that step; return the homes this leaves."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(NURSERY), str(folder), what],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps = [line.split() for line in done.stdout.splitlines()]
    assert [killed for _, killed in steps] == ["True"] * (len(steps) - 1) + ["False"]
    assert len(steps) > 3
    return [folder / f"home-{step}" for step, _ in steps]


def test_the_first_write_of_all_killed_at_any_step_leaves_a_home_that_works(tmp_path: Path) -> None:
    homes = stopped_at_every_step(tmp_path, "write")
    for home in homes:
        with reverie.open(home, embedder="none") as mind:
            assert [memory.text for memory in mind.scan(Scope("fine"))] in ([], ["said first"])
            mind.observe("said first", scope=Scope("fine"), message_id="m1")
            assert [memory.text for memory in mind.scan(Scope("fine"))] == ["said first"]
            assert mind.health().healthy
            mind.erase(query="said first", scope=Scope("fine"))
        assert len(list((home / "spaces").glob("*.db"))) == 1


def _two_states(folder: Path) -> None:
    """Make a home that was written after its backup, the last commits still in the log of a process that was killed."""
    with reverie.open(folder / "home", embedder="none") as mind:
        for space in ("fine", "other"):
            mind.observe("said before", scope=Scope(space))
        mind.backup(folder / "all.zip")
    writer = start(
        """
        import os, signal, sys
        import reverie
        mind = reverie.open(sys.argv[1], embedder="none")
        for space in ("fine", "other"):
            mind.observe("said after", scope=reverie.Scope(space))
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        folder / "home",
    )
    writer.communicate(timeout=60)
    assert writer.returncode == -signal.SIGKILL
    assert list((folder / "home" / "spaces").glob("*-wal"))


def test_a_recovery_killed_at_any_step_leaves_each_space_as_it_was_or_as_it_is_to_be(tmp_path: Path) -> None:
    _two_states(tmp_path)
    seen = set()
    for home in stopped_at_every_step(tmp_path, "recover"):
        with reverie.open(home, embedder="none") as mind:
            assert mind.health().healthy
            for space in ("fine", "other"):
                kept = tuple(memory.text for memory in mind.scan(Scope(space)))
                assert kept in (("said before",), ("said before", "said after"))
                seen.add(kept)
        reverie.recover(tmp_path / "all.zip", home)
        with reverie.open(home, embedder="none") as mind:
            assert [memory.text for memory in mind.scan(Scope("fine"))] == ["said before"]
        assert not list(home.glob(".recover-*"))
    assert len(seen) == 2


@pytest.mark.parametrize("what", ["backup", "export"])
def test_a_copy_killed_at_any_step_is_whole_or_absent(tmp_path: Path, what: str) -> None:
    _two_states(tmp_path)
    name = "copy.zip" if what == "backup" else "copy.jsonl"
    whole = 0
    for home in stopped_at_every_step(tmp_path, what):
        if (home / name).exists():
            whole += 1
            with reverie.open(":memory:" if what == "export" else tmp_path / f"new-{whole}", embedder="none") as mind:
                if what == "export":
                    assert mind.load(home / name).added == 4
            if what == "backup":
                assert reverie.recover(home / name, tmp_path / f"new-{whole}") == ("fine", "other")
        with reverie.open(home, embedder="none") as mind:
            assert mind.health().healthy
            assert [memory.text for memory in mind.scan(Scope("fine"))] == ["said before", "said after"]
    assert whole


def test_the_hook_that_kills_is_one_this_python_has(tmp_path: Path) -> None:
    """Were the events renamed, the tests above would kill nothing and show nothing."""
    code = "import os, sys; sys.addaudithook(lambda e, a: print(e)); os.mkdir(sys.argv[1]); os.rmdir(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "probe")], capture_output=True, text=True, timeout=60, check=True
    )
    assert {"os.mkdir", "os.rmdir"} <= set(done.stdout.split())


# Vectors are asked of the store, not queued: whoever comes next goes on.

EMBEDDING = """
    import os, sys, threading
    import reverie
    from reverie.models.hashing import Hashing
    home, embedder, what = sys.argv[1:]
    class Slow(Hashing):
        def embed(self, texts):
            threading.Event().wait(0.01)
            return super().embed(texts)
    class Stuck(Hashing):
        def embed(self, texts):
            os.write(1, b"stuck\\n")
            threading.Event().wait()
    mind = reverie.open(home, embedder={"slow": Slow(), "stuck": Stuck()}.get(embedder, embedder))
    os.write(1, b"open\\n")
    if what == "reindex":
        mind.reindex(progress=lambda made, of: os.write(1, b"."))
    mind.settle()
    os.write(1, b"done\\n")
    mind.close()
"""


def said(number: int) -> str:
    """Return a line of a chat that no other number has."""
    chance = random.Random(number)
    who, did = chance.choice(("My sister", "The baker", "Our neighbour")), chance.choice(("lost", "sold", "mended", "found"))
    what, where = (
        chance.choice(("her bicycle", "a lantern", "the old boat")),
        chance.choice(("in May", "by the river", "at work")),
    )
    return f"{who} {did} {what} {where}, {word(number)}"


class Killed:
    """A home whose embedding is killed again and again, and the list of what must be in it."""

    def __init__(self, home: Path, model: str, seed: int) -> None:
        self.home, self.model, self.chance = home, model, random.Random(seed)
        self.number = self.fewer = self.kills = self.left = 0
        self.erased: set[str] = set()
        self.gone: list[bytes] = []

    def say(self, count: int) -> None:
        """Keep so many lines more, without their vectors, and change one in twenty of them."""
        numbers = range(self.number, self.number + count)
        self.number += count
        with reverie.open(self.home, embedder="none") as mind:
            mind.observe_many([{"text": said(number), "message_id": f"m{number}"} for number in numbers])
            for number in numbers[::20]:
                mind.observe(f"{said(number)}, I think", message_id=f"m{number}")

    def erase(self, count: int) -> None:
        """Erase so many memories, with vectors and without."""
        with reverie.open(self.home, embedder="none") as mind:
            for memory in self.chance.sample(list(mind.scan(kinds=("turn",))), count):
                going = mind.erase(memory.id, dry_run=True).erased
                assert memory.id in going
                assert {mind.get(id).kind for id in going} <= {"turn", "episode"}  # an episode goes with what it tells of
                for tail in (id.rpartition("-")[2] for id in going):
                    own = self.rows("SELECT data FROM vectors WHERE v IN (SELECT v FROM versions WHERE id = ?)", tail)
                    self.gone += [data for (data,) in own]
                    self.erased.add(tail)
                assert mind.erase(memory.id).erased == going
                self.fewer += 1

    def kill(self, embedder: str, what: str, longest_s: float) -> None:
        """Let a process embed, and kill it at some moment."""
        child = start(EMBEDDING, self.home, embedder, what)
        assert child.stdout is not None
        assert child.stderr is not None
        with child.stdout, child.stderr:
            assert child.stdout.readline() == b"open\n", child.stderr.read()
            time.sleep(self.chance.random() * longest_s)  # nothing is waited for: the moment is to be anywhere
            child.send_signal(signal.SIGKILL)
            assert child.wait(60) in (-signal.SIGKILL, 0), child.stderr.read()
        self.kills += 1

    def rows(self, sql: str, *bind: str) -> list[Any]:
        """Ask the one file of the home."""
        (path,) = (self.home / "spaces").glob("*.db")
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return connection.execute(sql, bind).fetchall()
        finally:
            connection.close()

    def lacking(self) -> int:
        has = "SELECT v FROM vectors, models USING(model) WHERE name = ?"
        return len(self.rows(f"SELECT v FROM versions WHERE v NOT IN ({has})", self.model))

    def check(self, embedder: Embedder, sample: int) -> int:
        """Check that every version has its own vectors of one model, whole and right, and nothing else has any."""
        with reverie.open(self.home, embedder="none") as mind:
            memories = [record.memory for record in mind._store.dump("default").records]
            active = list(mind.scan(kinds=("turn",)))
            assert mind.health().healthy
        assert len(active) == self.number - self.fewer
        assert {memory.text.split(",")[1].strip() for memory in active} <= {word(number) for number in range(self.number)}
        assert self.rows("SELECT name FROM models") == [(self.model,)]
        assert self.rows("SELECT v FROM vectors WHERE v NOT IN (SELECT v FROM versions)") == []
        assert self.rows("SELECT v FROM vector_uses") == []
        kept: dict[tuple[str, int], dict[int, bytes]] = {}
        rows: list[tuple[str, int, int, bytes]] = self.rows(
            "SELECT id, version, part, data FROM vectors JOIN versions USING(v)"
        )
        for tail, version, part, data in rows:
            assert tail not in self.erased
            kept.setdefault((tail, version), {})[part] = data
        tails = {(memory.id.rpartition("-")[2], memory.version): memory for memory in memories}
        assert kept.keys() == tails.keys()
        assert all(parts.keys() == set(range(len(parts_of(tails[name])))) for name, parts in kept.items())
        for name in self.chance.sample(sorted(kept), sample):
            own = embedder.embed(parts_of(tails[name]))
            assert np.allclose([np.frombuffer(kept[name][part], np.float16) for part in range(len(own))], own, atol=2e-3)
        held = {data for parts in kept.values() for data in parts.values()}
        assert held.isdisjoint(self.gone)
        raw = b"".join(file.read_bytes() for file in (self.home / "spaces").iterdir())
        assert not any(data in raw for data in self.gone)
        return len(rows)


def embedder_of(name: str) -> Embedder:
    embedder = embedder_from(name, url="", key=None)
    assert embedder is not None
    return embedder


def killed_while_embedding(home: Path, embedder: str, slow: str, count: int, kills: int, longest_s: float, seed: int) -> Killed:
    """Kill whoever embeds, erase some in between, say some more; then let somebody finish."""
    made = embedder_of(embedder)
    killed = Killed(home, made.name, seed)
    killed.say(count * 9 // 10)
    share = count // 10 // kills
    for _ in range(kills):
        killed.kill(slow, "settle", longest_s)
        killed.erase(3)
        killed.say(share)
    killed.say(count - killed.number)
    killed.left = killed.lacking()
    with reverie.open(home, embedder=embedder) as mind:
        assert mind.settle() == Settled(0, 0)
        with mind._store.reading("default") as view:
            assert view.lacking(made.name) == 0
    return killed


def killed_while_reindexing(
    home: Path, embedder: str, slow: str, count: int, kills: int, longest_s: float, seed: int
) -> Killed:
    """The same where everything had vectors of another model before."""
    made = embedder_of(embedder)
    killed = Killed(home, made.name, seed)
    killed.say(count)
    with reverie.open(home, embedder="hashing" if embedder != "hashing" else OtherHashing()) as mind:
        assert mind.settle() == Settled(0, 0)
    for _ in range(kills):
        killed.kill(slow, "reindex", longest_s)
        killed.erase(3)
        with reverie.open(home, embedder="none") as mind:
            assert mind.recall("lantern").hits
    killed.left = killed.lacking()
    with reverie.open(home, embedder=embedder) as mind:
        mind.reindex()
        assert mind.settle() == Settled(0, 0)
    return killed


class OtherHashing:
    """What a home was embedded with before."""

    name = "hashed otherwise"

    def embed(self, texts: list[str]) -> object:
        return Hashing(32).embed(texts)


def test_embedding_killed_at_any_moment_goes_on_with_whoever_comes_next(tmp_path: Path) -> None:
    """C2 and R8: every memory has its vector in the end, and nothing that was erased does."""
    killed = killed_while_embedding(tmp_path / "home", "hashing", "slow", 400, 2, 0.2, 5)
    assert killed.check(embedder_of("hashing"), 100) > 400


def test_a_reindex_killed_at_any_moment_goes_on_with_whoever_comes_next(tmp_path: Path) -> None:
    killed = killed_while_reindexing(tmp_path / "home", "hashing", "slow", 400, 2, 0.2, 6)
    assert killed.check(embedder_of("hashing"), 100) > 400


def test_whoever_waits_for_a_process_that_embeds_goes_on_when_it_is_killed(tmp_path: Path) -> None:
    with reverie.open(tmp_path, embedder="hashing") as mind:
        with reverie.open(tmp_path, embedder="none") as other:
            other.observe("the lantern is lit")
        child = start(EMBEDDING, tmp_path, "stuck", "settle")
        assert child.stdout is not None
        assert child.stderr is not None
        with child.stdout, child.stderr:
            assert sorted((child.stdout.readline(), child.stdout.readline())) == [b"open\n", b"stuck\n"]
            assert mind.settle(0.5) == Settled(1, 0)
            child.send_signal(signal.SIGKILL)
            child.wait(60)
        assert mind.settle(10) == Settled(0, 0)


@pytest.mark.stress
def test_embedding_five_thousand_with_the_packaged_model_killed_eight_times(tmp_path: Path) -> None:
    """C2 and R8: the same with the model that people use."""
    started = time.monotonic()
    killed = killed_while_embedding(tmp_path / "home", "local", "local", 5_000, 8, 20.0, 7)
    vectors = killed.check(embedder_of("local"), 200)
    print(  # noqa: T201
        f"\n{killed.kills} kills while embedding {killed.number:,} memories, {len(killed.erased)} erased in between,"
        f" {killed.left:,} left to the last: {vectors:,} kept, 0 missing, 0 of the erased; {time.monotonic() - started:.0f} s"
    )


@pytest.mark.stress
def test_a_reindex_of_five_thousand_with_the_packaged_model_killed_eight_times(tmp_path: Path) -> None:
    started = time.monotonic()
    killed = killed_while_reindexing(tmp_path / "home", "local", "local", 5_000, 8, 20.0, 8)
    vectors = killed.check(embedder_of("local"), 200)
    print(  # noqa: T201
        f"\n{killed.kills} kills while reindexing {killed.number:,} memories, {len(killed.erased)} erased in between,"
        f" {killed.left:,} left to the last: {vectors:,} kept, 0 missing, 0 of the erased; {time.monotonic() - started:.0f} s"
    )


# What a turn teaches is written together with the word that it is done: killed at any moment, it is there once.

IMPORT = """
    import os, sys, threading
    import reverie
    from reverie import Scope
    home, count = sys.argv[1], int(sys.argv[2])
    def word(number):
        return "q" + "".join("bcdfghjklm"[int(digit)] for digit in f"{number:06}")
    def turn(number):
        scope = Scope("import", None, f"s{number % 3}", f"p{number % 20}")
        if number % 5 == 4:
            said = f"Noted. <memory>{word(number)} came by boat</memory>"
            return {"text": said, "role": "assistant", "scope": scope, "message_id": f"m{number}"}
        said = f"I like {word(number)}" if number % 5 < 3 else f"Actually, I live in {word(number).title()}"
        return {"text": said, "speaker": "Ana", "scope": scope, "message_id": f"m{number}"}
    mind = reverie.open(home, embedder="none")
    os.write(1, b"open\\n")
    for start in range(0, count, 25):
        mind.observe_many([turn(number) for number in range(start, min(count, start + 25))])
        os.write(1, f"{start}\\n".encode())
    mind.settle()
    os.write(1, f"{count}\\n".encode())
    threading.Event().wait()
"""


def killed_while_importing(home: Path, count: int, kills: int, seed: int) -> tuple[int, int]:
    """Kill an import again and again, let somebody finish it, and check that all of it is there once; return what there is."""
    chance, left = random.Random(seed), 0
    owner = Scope.owner("import")
    for number in range(kills):
        kill_after(start(IMPORT, home, count), (number + 1) * count // 25 // (kills + 1), chance.random() * 0.02)
        with reverie.open(home, embedder="none", background=False) as mind, mind._store.reading("import") as view:
            left += sum(view.jobs().values()) > 0
    kill_after(start(IMPORT, home, count), count // 25 + 1, 0.0)
    with reverie.open(home, embedder="none") as mind:
        assert mind.settle() == Settled(0, 0)
        turns = Counter(turn.message_id for turn in mind.scan(owner, kinds=["turn"]))
        assert turns == Counter(f"m{number}" for number in range(count))
        assert all(turn.version == 1 for turn in mind.scan(owner, kinds=["turn"]))
        facts = list(mind.scan(owner, kinds=["fact"], retired=True))  # of a model's notes only the newest stay active
        assert len(facts) == count
        assert len({fact.source.message_ids for fact in facts}) == count
        with mind._store.reading("import") as view:
            assert {len(view.sightings(fact.id)) for fact in facts} == {1}
            assert view.jobs() == {}
        # Each correction ended the one before it and no other: learned in order, and once.
        homes = [fact for fact in facts if fact.extra.get("topic") == "home"]
        assert sum(fact.valid_until is None for fact in homes) == len({fact.subject for fact in homes})
        assert all(len(fact.replaces) == (number >= 4) for number, fact in enumerate(homes))
        assert mind.health().healthy
    return len(facts), left


def test_an_import_killed_at_any_moment_is_there_once_with_all_that_it_taught(tmp_path: Path) -> None:
    """C3 and R12."""
    facts, _ = killed_while_importing(tmp_path / "home", 150, 2, 9)
    assert facts == 150


@pytest.mark.stress
def test_an_import_of_a_thousand_killed_twenty_times_is_there_once_with_all_that_it_taught(tmp_path: Path) -> None:
    facts, left = killed_while_importing(tmp_path / "home", 1_000, 20, 10)
    assert left
    print(f"\n20 kills in an import of 1,000: {facts:,} facts, each once; {left} times something was left to learn")  # noqa: T201
