"""Many at once: processes and threads on one home lose nothing, see only whole commits and meet no error (R12).

Writers write pairs in one commit; whoever ever sees half a pair has seen half a commit. Times are printed, never asserted.
"""

import json
import random
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reverie
from reverie import Mind, Scope
from reverie.learn.background import Settled
from reverie.store.base import Vector, Where
from reverie.store.sqlite import connect

WRITER = """
    import json, sys, threading, time
    import reverie
    home, name = sys.argv[1:3]
    stop = threading.Event()
    mind = reverie.open(home, embedder="none")
    mind.recall("warm")
    print("ready", flush=True)
    sys.stdin.readline()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    pairs = singles = 0
    times = []
    while not (stop.is_set() and pairs):
        sides = [{"text": f"pair {name}{pairs} {side}", "message_id": f"{name}{pairs}{side}"} for side in ("left", "right")]
        done = mind.observe_many(sides)
        assert (done.added, done.duplicates, done.failed, len(done.commits)) == (2, 0, 0, 1), done
        pairs += 1
        began = time.perf_counter()
        mind.observe(f"I love my lamp {name}{singles}", message_id=f"{name}{singles}")
        times.append(time.perf_counter() - began)
        singles += 1
    mind.close()
    print(json.dumps({"pairs": pairs, "singles": singles, "times": times}))
"""

READER = """
    import json, sys, threading, time
    from collections import Counter
    import reverie
    home = sys.argv[1]
    stop = threading.Event()
    mind = reverie.open(home, embedder="none")
    mind.recall("warm")
    print("ready", flush=True)
    sys.stdin.readline()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    looks = most = 0
    times = []
    while not (stop.is_set() and looks):
        if looks % 5 == 0:
            texts = [memory.text for memory in mind.scan(kinds=["turn"])]
            pairs = Counter(text.rpartition(" ")[0] for text in texts if text.startswith("pair "))
            assert set(pairs.values()) <= {2}, "half a pair was seen by scan"
            assert len(texts) >= most, "something was there and is gone"
            most = len(texts)
        began = time.perf_counter()
        hits = mind.recall("pair", limit=100_000 if looks % 5 == 1 else 10, kinds=["turn"]).hits
        times.append(time.perf_counter() - began)
        if looks % 5 == 1:
            pairs = Counter(hit.memory.text.rpartition(" ")[0] for hit in hits)
            assert set(pairs.values()) <= {2}, "half a pair was seen by recall"
        commits = mind.log(limit=20)
        assert [commit.seq for commit in commits] == list(range(commits[0].seq, commits[-1].seq - 1, -1)) if commits else True
        assert all(len(commit.added) in (1, 2) for commit in commits if commit.why == "observed")
        looks += 1
    mind.close()
    print(json.dumps({"looks": looks, "times": times}))
"""


def start(code: str, *args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def say(processes: list[subprocess.Popen[str]], what: str) -> None:
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(f"{what}\n")
        process.stdin.flush()


def percentiles(times: list[float]) -> str:
    ordered = sorted(times)
    return ", ".join(f"p{share} {1_000 * ordered[int(share / 100 * (len(ordered) - 1))]:.2f} ms" for share in (50, 99))


def learned_once(mind: Mind) -> int:
    """Check that every lamp said to be loved was learned once, and return how many were, or were too many to learn (C3)."""
    assert mind.settle(60) == Settled(0, 0)
    facts = Counter(memory.text for memory in mind.scan(kinds=["fact"], retired=True) if memory.extra.get("learned"))
    assert set(facts.values()) == {1}
    with mind._store.reading("default") as view:
        return len(facts) + view.jobs().get("dropped", 0)


def processes_at_once(home: Path, writers: int, readers: int, seconds: float) -> str:
    """Let processes write and read one space for a while; return the figures."""
    writing = [start(WRITER, home, "abcdefgh"[n]) for n in range(writers)]
    reading = [start(READER, home) for _ in range(readers)]
    everyone = writing + reading
    for process in everyone:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    say(everyone, "go")
    threading.Event().wait(seconds)  # how long it lasts, not what is waited for
    say(everyone, "stop")
    said = []
    for process in everyone:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        said.append(json.loads(out))
    with reverie.open(home, embedder="none") as mind:
        found = Counter(memory.message_id for memory in mind.scan(kinds=["turn"]))
        learned = learned_once(mind)
        health = mind.health()
        commits = mind.log(limit=10_000_000)
    wanted = Counter[str | None]()
    for letter, figures in zip("abcdefgh"[:writers], said[:writers], strict=True):
        wanted.update(f"{letter}{n}{side}" for n in range(figures["pairs"]) for side in ("left", "right"))
        wanted.update(f"{letter}{n}" for n in range(figures["singles"]))
    assert found == wanted  # nothing lost, nothing doubled
    assert health.healthy, health
    assert [commit.seq for commit in commits] == list(range(len(commits), 0, -1))
    observing = [commit for commit in commits if commit.why == "observed"]
    assert len(observing) == sum(figures["pairs"] + figures["singles"] for figures in said[:writers])
    assert learned == sum(figures["singles"] for figures in said[:writers])
    assert all(figures["pairs"] for figures in said[:writers])
    assert all(figures["looks"] for figures in said[writers:])
    observed = [taken for figures in said[:writers] for taken in figures["times"]]
    recalled = [taken for figures in said[writers:] for taken in figures["times"]]
    return (
        f"{writers} writers and {readers} readers, {seconds:.0f} s: {sum(found.values())} turns in {len(commits)} commits,"
        f" {len(recalled)} recalls, 0 lost, 0 errors; observe {percentiles(observed)}; recall {percentiles(recalled)}"
    )


def test_processes_that_write_and_read_one_space_lose_nothing_and_see_whole_commits(tmp_path: Path) -> None:
    assert "0 lost" in processes_at_once(tmp_path / "home", writers=2, readers=2, seconds=1)


@pytest.mark.stress
def test_four_writers_and_four_readers_for_twenty_seconds(tmp_path: Path) -> None:
    print(f"\n{processes_at_once(tmp_path / 'home', writers=4, readers=4, seconds=20)}")  # noqa: T201


@contextmanager
def running(work: list[Callable[[threading.Event], None]]) -> Iterator[threading.Event]:
    """Run each of `work` in a thread until the block ends; an error in any of them ends the test."""
    stop, errors = threading.Event(), list[BaseException]()

    def guarded(part: Callable[[threading.Event], None]) -> None:
        try:
            part(stop)
        except BaseException as exc:
            errors.append(exc)
            stop.set()

    threads = [threading.Thread(target=guarded, args=(part,)) for part in work]
    for thread in threads:
        thread.start()
    try:
        yield stop
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


VERBS = ("pair", "observe", "recall", "recall", "remember", "scan", "get", "vectors", "state")


class Workers:
    """What threads do to one mind, and what they know must be there."""

    def __init__(self, mind: Mind) -> None:
        self.mind = mind
        self.texts: list[str] = []  # appended to by many: a list's append is atomic
        self.facts: list[str] = []
        self.times: dict[str, list[float]] = {"observe": [], "recall": []}
        self.done = Counter[str]()

    def worker(self, number: int) -> Callable[[threading.Event], None]:
        chance = random.Random(number)

        def work(stop: threading.Event) -> None:
            turn = 0
            while not (stop.is_set() and turn >= len(VERBS)):  # everything is done at least once, however short the time
                verb = VERBS[turn] if turn < len(VERBS) else chance.choice(VERBS)
                getattr(self, verb)(number, turn)
                self.done[verb] += 1
                turn += 1

        return work

    def pair(self, number: int, turn: int) -> None:
        texts = [f"pair {number}x{turn} {side}" for side in ("left", "right")]
        assert self.mind.observe_many([{"text": text} for text in texts]).added == 2
        self.texts += texts

    def observe(self, number: int, turn: int) -> None:
        began = time.perf_counter()
        kept = self.mind.observe(f"I love my lamp {number}x{turn}")
        self.times["observe"].append(time.perf_counter() - began)
        assert self.mind.get(kept.id) == kept  # one's own writes are there at once
        self.texts.append(kept.text)

    def remember(self, number: int, turn: int) -> None:
        text = f"fact {turn % 7} that several say"
        assert self.mind.remember(text).text.startswith("fact ")
        self.facts.append(text)

    def recall(self, number: int, turn: int) -> None:
        began = time.perf_counter()
        hits = self.mind.recall("pair", limit=20, kinds=["turn"]).hits
        self.times["recall"].append(time.perf_counter() - began)
        assert all("pair" in hit.memory.text for hit in hits)

    def scan(self, number: int, turn: int) -> None:
        known = len(self.texts)
        found = [memory.text for memory in self.mind.scan()]
        assert len(found) >= known
        halves = Counter(text.rpartition(" ")[0] for text in found if text.startswith("pair "))
        assert set(halves.values()) <= {2}

    def get(self, number: int, turn: int) -> None:
        for commit in self.mind.log(limit=3):
            for id in set(commit.added) - set(commit.retired):  # a fact is archived in its last version
                assert self.mind.get(id, as_of=commit.id).commit == commit.id
                assert self.mind.history(id)

    def vectors(self, number: int, turn: int) -> None:
        store = self.mind._store
        kept = self.mind.observe(f"with a vector {number}x{turn}")
        self.texts.append(kept.text)
        values = [float(number + 1), float(turn % 5), 1.0]
        assert store.put_vectors("default", "tiny", [Vector(kept.id, 1, values)]) == 1
        with store.reading("default") as view:
            found = view.search_vectors(values, "tiny", Where(Scope()), 5).matches
            memories = view.fetch([match.key for match in found])
        assert memories
        assert all(memory.text.startswith("with a vector ") for memory in memories)
        assert found[0].score > 0.99

    def state(self, number: int, turn: int) -> None:
        slot = self.mind.working(Scope(session=f"s{number}"))
        assert slot.replace(task=f"step {turn}").task == f"step {turn}"

    def check(self) -> None:
        found = Counter(memory.text for memory in self.mind.scan(kinds=["turn"]))
        assert found == Counter(self.texts)
        assert learned_once(self.mind) == sum(text.startswith("I love") for text in self.texts)
        facts = [memory.text for memory in self.mind.scan(kinds=["fact"]) if not memory.extra.get("learned")]
        assert set(facts) == set(self.facts)
        assert len(facts) == len(set(facts))
        assert self.mind.health().healthy


def threads_at_once(home: Path | str, threads: int, seconds: float) -> str:
    with reverie.open(home, embedder="none") as mind:
        workers = Workers(mind)
        with running([workers.worker(number) for number in range(threads)]) as stop:
            stop.wait(seconds)
        workers.check()
    return (
        f"{threads} threads on one mind, {seconds:.0f} s: {workers.done.total()} calls, {len(workers.texts)} turns, 0 lost,"
        f" 0 errors; observe {percentiles(workers.times['observe'])}; recall {percentiles(workers.times['recall'])}"
    )


@pytest.mark.parametrize("home", [":memory:", "folder"])
def test_sixteen_threads_on_one_mind_lose_nothing_and_meet_no_error(tmp_path: Path, home: str) -> None:
    assert "0 lost" in threads_at_once(":memory:" if home == ":memory:" else tmp_path / "home", threads=16, seconds=0.5)


@pytest.mark.stress
def test_sixteen_threads_on_one_mind_for_twenty_seconds(tmp_path: Path) -> None:
    print(f"\n{threads_at_once(tmp_path / 'home', threads=16, seconds=20)}")  # noqa: T201


def two_minds(home: Path, seconds: float) -> int:
    with reverie.open(home, embedder="none") as one, reverie.open(home, embedder="none") as other:
        workers = [Workers(one), Workers(other)]
        work = [workers[number % 2].worker(number) for number in range(6)]
        with running(work) as stop:
            stop.wait(seconds)
        texts = [text for part in workers for text in part.texts]
        for mind in (one, other):
            assert Counter(memory.text for memory in mind.scan(kinds=["turn"])) == Counter(texts)
            assert mind.health().healthy
        one.close()
        assert other.observe("the other goes on").version == 1
    return len(texts)


def test_two_minds_on_one_home_in_one_process_agree(tmp_path: Path) -> None:
    assert two_minds(tmp_path / "home", seconds=0.5) > 0


@pytest.mark.stress
def test_two_minds_on_one_home_for_ten_seconds(tmp_path: Path) -> None:
    print(f"\ntwo minds on one home, 10 s: {two_minds(tmp_path / 'home', seconds=10)} turns, 0 lost, 0 errors")  # noqa: T201


def many_spaces(home: Path, spaces: int, threads: int, seconds: float) -> int:
    """Let threads jump between more spaces than may be open at a time."""
    told = [list[str]() for _ in range(spaces)]
    with reverie.open(home, embedder="none") as mind:

        def work(number: int) -> Callable[[threading.Event], None]:
            chance = random.Random(number)

            def jump(stop: threading.Event) -> None:
                turn = 0
                while not stop.is_set():
                    place = chance.randrange(spaces)
                    scope = Scope(f"space {place}")
                    if turn % 3:
                        known = len(told[place])
                        assert len(list(mind.scan(scope))) >= known
                        assert len(mind.recall("said", scope=scope, limit=100_000).hits) >= known
                    else:
                        kept = mind.observe(f"said by {number} as {turn}", scope=scope)
                        told[place].append(kept.text)
                        assert mind.get(kept.id) == kept
                    turn += 1

            return jump

        with running([work(number) for number in range(threads)]) as stop:
            stop.wait(seconds)
        for place, texts in enumerate(told):
            assert Counter(memory.text for memory in mind.scan(Scope(f"space {place}"), kinds=["turn"])) == Counter(texts)
        assert mind.health().healthy
    return sum(map(len, told))


def test_more_spaces_than_may_be_open_are_used_by_many_threads(tmp_path: Path) -> None:
    assert many_spaces(tmp_path / "home", connect.MAX_OPEN + 8, threads=8, seconds=1) > 0


def test_hardly_any_open_files_are_enough_for_many_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one file at a time every call closes and opens; a file in use is never closed under its user."""
    monkeypatch.setattr(connect, "MAX_OPEN", 1)
    assert many_spaces(tmp_path / "home", 5, threads=8, seconds=0.5) > 0


@pytest.mark.stress
def test_more_spaces_than_may_be_open_for_ten_seconds(tmp_path: Path) -> None:
    spaces = 3 * connect.MAX_OPEN
    told = many_spaces(tmp_path / "home", spaces, threads=16, seconds=10)
    print(f"\n{spaces} spaces, at most {connect.MAX_OPEN} open, 16 threads, 10 s: {told} turns, 0 lost, 0 errors")  # noqa: T201


ONCE = """
    import sys
    import reverie
    from reverie import Scope
    with reverie.open(sys.argv[1], embedder="none") as mind:
        print("ready", flush=True)
        sys.stdin.readline()
        kept = [mind.observe(f"{sys.argv[2]} in {n}", scope=Scope(f"space {n}")) for n in range(5)]
        print(sorted({memory.text for memory in mind.scan(Scope("space 0"))} >= {kept[0].text} for _ in "x"))
"""


def test_processes_that_make_the_same_spaces_at_the_same_moment_share_them(tmp_path: Path) -> None:
    home = tmp_path / "home"
    everyone = [start(ONCE, home, f"process {n}") for n in range(4)]
    for process in everyone:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    say(everyone, "go")
    for process in everyone:
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, out) == (0, "[True]\n"), errors
    with reverie.open(home, embedder="none") as mind:
        for n in range(5):
            assert {memory.text for memory in mind.scan(Scope(f"space {n}"))} == {f"process {p} in {n}" for p in range(4)}
        assert mind.health().healthy
    assert len(list((home / "spaces").iterdir())) == 5


def test_what_is_written_after_an_erase_is_seen_by_processes_that_come_and_go(tmp_path: Path) -> None:
    """An erase reads the raw file; closing it gives up this process's locks, which nobody may take for its absence."""
    code = """
        import sys
        import reverie
        with reverie.open(sys.argv[1], embedder="none") as mind:
            mind.observe(sys.argv[2])
            print(sorted(memory.text for memory in mind.scan()))
    """

    def visit(text: str) -> str:
        process = start(code, tmp_path / "home", text)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        return out.strip()

    with reverie.open(tmp_path / "home", embedder="none") as mind:
        secret = mind.observe("a secret that is to go away")
        mind.observe("1 here")
        assert mind.erase(secret.id).pending == ()
        assert visit("2 visitor") == "['1 here', '2 visitor']"
        mind.observe("3 here")
        assert visit("4 visitor") == "['1 here', '2 visitor', '3 here', '4 visitor']"
        mind.observe("5 here")
        assert len(list(mind.scan())) == 5
    assert visit("6 visitor").count("visitor") == 3
    with reverie.open(tmp_path / "home", embedder="none") as mind:
        assert mind.health().healthy
        assert len(list(mind.scan())) == 6


def test_a_mind_closed_while_threads_use_it_says_so_and_nothing_else(tmp_path: Path) -> None:
    mind = reverie.open(tmp_path / "home", embedder="none")
    said: list[str] = []

    def work(stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                mind.observe("said once more")
                mind.recall("said")
                said.append("kept")
            except reverie.StoreError as exc:
                assert "this mind is closed; open it again" in str(exc)  # noqa: PT017
                return

    with running([work] * 6) as stop:
        while len(said) < 20 and not stop.is_set():
            stop.wait(0.01)
        mind.close()
    with reverie.open(tmp_path / "home", embedder="none") as again:
        assert len(list(again.scan())) >= len(said)
        assert again.health().healthy
