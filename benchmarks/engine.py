"""How fast and how large: the engine beside the least that SQLite or NumPy could do.

What is measured, as --only names it, and the sets that come of it (each one JSON object):
  machine      what it ran on
  import       `import reverie` beside a Python that does nothing
  append       observe, durable when it returns, beside a bare durable commit of the same row and terms
  one-space    recall-N: recall by words among N memories, beside the bare full text query; opening; size on disk
               ingest: observe_many, memories a second, beside bare inserts of the same rows and terms
  vectors      vectors-N: exact nearest neighbours among N vectors, beside a matrix product
  many-spaces  among-others: a small space alone, and among a thousand others that hold a million memories
               memory: peak memory of recalls in one large space, and over the thousand

Ours and the floor take turns in the same run, so that whatever else the machine does hits both alike; figures are medians
(and 95th percentiles). Targets are judged by the medians; beside them stand the time on the processor and, for recalls, the
quiet median, of each question the fastest round: where these differ much from the medians the machine was busy, and the
judgement says little. A missed target is said plainly but is not an error: the exit code is 0.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy as np

import reverie
from benchmarks.texts import NAMES, Line, Talk
from reverie.memory.language import FTS_TOKENIZE, query, terms
from reverie.store.base import Vector, Where
from reverie.store.sqlite import SqliteStore
from reverie.store.sqlite.connect import READER_CACHE_KIB

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH = 1_000
TASKS = 20  # in which the many spaces are filled, as many at a time as there are processors
SMALL = 2_000  # memories in the space that stands alone or among others
DIMENSIONS = 384
MODEL = "random-384"

APPEND_AT_MOST = 3.0
RECALL_AT_MOST = 3.0
RECALL_EXTRA_MS = 3.0  # below `RATIO_FROM` memories the query itself takes next to nothing, and only the rest is seen
RATIO_FROM = 20_000
AMONG_AT_MOST = 1.2
MEMORY_AT_MOST = 1.3
IMPORT_AT_MOST = 3.0

Row = tuple[str | int | float | bytes | None, ...]
Turn = dict[str, object]


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure."""

    sizes: tuple[int, ...] = (1_000, 10_000, 20_000, 100_000)
    vectors: tuple[int, ...] = (20_000, 100_000)
    spaces: int = 1_000
    total: int = 1_000_000
    largest: int = 200_000
    questions: int = 150
    rounds: int = 5
    appends: int = 500
    starts: int = 21


QUICK = Plan((1_000, 10_000), (5_000,), 20, 20_000, 5_000, 60, 4, 150, 15)


@dataclass(frozen=True, slots=True)
class Target:
    """A figure and what it may be at most."""

    name: str
    value: float
    at_most: float

    @property
    def ok(self) -> bool:
        return self.value <= self.at_most


@dataclass(frozen=True, slots=True)
class Result:
    """One set of figures."""

    name: str
    figures: Mapping[str, float | str]
    targets: tuple[Target, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON values."""
        targets = [{"name": t.name, "value": _short(t.value), "at_most": t.at_most, "ok": t.ok} for t in self.targets]
        figures = {name: _short(value) if isinstance(value, float) else value for name, value in self.figures.items()}
        return {"set": self.name, "figures": figures, "targets": targets, "ok": all(t.ok for t in self.targets)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which options it takes."""
    parser.add_argument(
        "--sizes", type=int, nargs="+", metavar="N", help="memories in one space (default: 1000 10000 20000 100000)"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and 20 spaces: under a minute instead of about ten")
    parser.add_argument("--only", nargs="+", metavar="SET", choices=list(SETS), help=f"measure only these: {', '.join(SETS)}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write all sets as one JSON document")


def run(options: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    plan = QUICK if options.quick else Plan()
    if options.sizes:
        plan = replace(plan, sizes=tuple(sorted(options.sizes)))
    results: list[Result] = []
    for name, measure in SETS.items():
        if options.only is None or name in options.only:
            _say(f"{name} …")
            for result in measure(plan):
                print(json.dumps(result.as_dict(), ensure_ascii=False), flush=True)
                results.append(result)
    if options.out:
        options.out.write_text(json.dumps([result.as_dict() for result in results], ensure_ascii=False, indent=2) + "\n")
    _say(summary(results))
    return 0


def summary(results: Iterable[Result]) -> str:
    """Return the targets as a table."""
    lines = [f"{'set':<16}{'target':<34}{'measured':>10}{'at most':>10}"]
    for result in results:
        for target in result.targets:
            verdict = "ok" if target.ok else "MISSED"
            lines.append(f"{result.name:<16}{target.name:<34}{target.value:>10.2f}{target.at_most:>10.2f}  {verdict}")
    missed = sum("MISSED" in line for line in lines)
    return "\n".join([*lines, f"{missed} of {len(lines) - 1} targets missed" if missed else "every target met"])


# the floor


class Bare:
    """The least that keeps and finds the same: one plain table, one full text index, and no questions asked."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "full")
        self._connection.pragma("cache_size", -READER_CACHE_KIB)  # as ours, or the floor would be held back
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS memories(v INTEGER PRIMARY KEY, id, version, kind, audience, origin, subject, trust,"
            " confidence, pinned, happened, valid_from, valid_until, added_seq, retired_seq, key, text, title, tags, extra,"
            " speaker, role, message_id, reply_to, source, replaces)"
        )
        self._connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING"
            f" fts5(terms, content='', contentless_delete=1, tokenize=\"{FTS_TOKENIZE}\")"
        )

    def keep(self, rows: Sequence[Row], words: Sequence[Row]) -> None:
        """Keep rows and their terms in one durable commit."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(f"INSERT INTO memories VALUES({','.join('?' * 26)})", rows)
        self._connection.executemany("INSERT INTO words(rowid, terms) VALUES(?, ?)", words)
        self._connection.execute("COMMIT")

    def ask(self, match: str) -> list[Row]:
        """Return the ten best."""
        return self._connection.execute(
            "SELECT rowid, bm25(words) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT 10", (match,)
        ).fetchall()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


def bare_rows(lines: Sequence[Line], first: int) -> tuple[list[Row], list[Row]]:
    """Return what `Bare.keep` takes: texts tokenised beforehand, so that only keeping is timed."""
    rows: list[Row] = []
    words: list[Row] = []
    for v, line in enumerate(lines, first):
        rows.append(
            (
                v, f"{v:019d}", 1, "turn", 1, 2, None, "user", 1.0, 0, 1_700_000_000_000_000 + v, None, None, v, None,
                secrets.token_bytes(16), line.text, None, None, None, line.speaker, "user", f"chat:1:{v}", None,
                f'[["chat:1:{v}"],[],null,null]', None,
            )
        )  # fmt: skip
        words.append((v, " ".join(terms(f"{line.speaker}\n{line.text}"))))
    return rows, words


def bare_match(question: str) -> str:
    """Return the words of a question as the full text query that recall makes of them."""
    variants = dict.fromkeys(variant for word in query(question).words for variant in word.variants)
    return " OR ".join('"' + variant.replace('"', '""') + '"' for variant in variants)


# what both sides are given


def scope_of(space: str, speaker: str | None = None) -> reverie.Scope:
    """Return a room of a space, and who speaks there."""
    return reverie.Scope(space, channel="general", session="chat-1", person=speaker)


def turns_of(lines: Iterable[Line], space: str, first: int) -> Iterator[Turn]:
    """Return lines as `observe_many` takes them."""
    scopes = {name: scope_of(space, name.lower()) for name in NAMES}
    for number, line in enumerate(lines, first):
        yield {
            "text": line.text,
            "speaker": line.speaker,
            "message_id": f"chat:1:{number}",
            "scope": scopes[line.speaker],
        }


# the sets


def machine(_plan: Plan) -> Iterator[Result]:
    """Say what it ran on."""
    yield Result(
        "machine",
        {
            "python": platform.python_version(),
            "implementation": platform.python_implementation(),
            "system": platform.system(),
            "architecture": platform.machine(),
            "cpus": os.cpu_count() or 0,
            "sqlite": apsw.sqlite_lib_version(),
            "numpy": np.__version__,
            "reverie": reverie.__version__,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )


def append(plan: Plan) -> Iterator[Result]:
    """One durable turn at a time."""
    already = plan.sizes[min(1, len(plan.sizes) - 1)]
    talk = Talk(1)
    with _folder() as folder:
        mind, bare = reverie.open(folder / "home"), Bare(folder / "bare.db")
        grow(mind, bare, talk, 0, already, Times(), Times())
        ours, floor = Times(), Times()
        here = {name: scope_of("one", name.lower()) for name in NAMES}
        for number, line in enumerate(talk.lines(plan.appends), already + 1):
            rows, words = bare_rows([line], number)
            who, message = line.speaker, f"chat:1:{number}"
            observe = partial(mind.observe, line.text, speaker=who, message_id=message, scope=here[who])
            _take_turns(number, observe, partial(bare.keep, rows, words), ours, floor)
        mind.close()
        bare.close()
    ratio = ours.p50_s / floor.p50_s
    figures = {
        "already": already,
        "appends": plan.appends,
        **ours.figures("observe"),
        **floor.figures("bare"),
        "ratio": ratio,
    }
    yield Result("append", figures, (Target("observe p50 / bare commit p50", ratio, APPEND_AT_MOST),))


def one_space(plan: Plan) -> Iterator[Result]:
    """One space that grows: ingest, recall by words, opening, size on disk."""
    talk = Talk(2)
    ours, floor = Times(), Times()
    held = 0
    with _folder() as folder:
        for size in plan.sizes:
            mind, bare = reverie.open(folder / "home"), Bare(folder / "bare.db")
            grow(mind, bare, talk, held, size, ours, floor)
            held = size
            mind.close()
            bare.close()
            yield _recall_at(folder, size, talk.questions(plan.questions), plan.rounds)
        rate, bare_rate = BATCH / ours.p50_s, BATCH / floor.p50_s
        figures = {"memories": held, "per_s": round(rate), "bare_per_s": round(bare_rate), "ratio": bare_rate / rate}
        yield Result("ingest", figures)


def grow(mind: reverie.Mind, bare: Bare, talk: Talk, held: int, size: int, ours: Times, floor: Times) -> None:
    """Bring a space and its floor to `size` memories, timing each whole batch."""
    for first in range(held, size, BATCH):
        lines = talk.lines(min(BATCH, size - first))
        rows, words = bare_rows(lines, first + 1)
        turns = list(turns_of(lines, "one", first + 1))
        timed = (ours, floor) if len(lines) == BATCH else (Times(), Times())
        _take_turns(first // BATCH, partial(mind.observe_many, turns), partial(bare.keep, rows, words), *timed)


def _recall_at(folder: Path, size: int, questions: list[str], rounds: int) -> Result:
    matches = [bare_match(question) for question in questions]
    here = scope_of("one", "ana")
    opened, bare_opened = Times(), Times()

    def first_recall(question: str) -> None:
        with reverie.open(folder / "home") as mind:
            mind.recall(question, scope=here)

    def first_query(match: str) -> None:
        bare = Bare(folder / "bare.db")
        bare.ask(match)
        bare.close()

    for number, (question, match) in enumerate(zip(questions[:9], matches, strict=False)):
        _take_turns(number, partial(first_recall, question), partial(first_query, match), opened, bare_opened)
    ours, floor = Times(), Times()
    hits = 0
    mind, bare = reverie.open(folder / "home"), Bare(folder / "bare.db")
    for question in questions[:10]:
        mind.recall(question, scope=here)
        bare.ask(bare_match(question))
    for number in range(rounds * len(questions)):
        question, match = questions[number % len(questions)], matches[number % len(questions)]
        recall, ask = partial(mind.recall, question, scope=here), partial(bare.ask, match)
        _take_turns(number + number // len(questions), recall, ask, ours, floor)
    for question, match in zip(questions[:20], matches, strict=False):
        found, floor_found = mind.recall(question, scope=here).hits, bare.ask(match)
        assert len(found) == len(floor_found), "ours and the floor answer different questions"
        hits += len(found)
    mind.close()
    bare.close()
    on_disk = sum(file.stat().st_size for file in (folder / "home" / "spaces").iterdir())
    quiet_s, bare_quiet_s = ours.quiet_s(len(questions)), floor.quiet_s(len(questions))
    ratio, extra_ms = ours.p50_s / floor.p50_s, 1000 * (ours.p50_s - floor.p50_s)
    if size >= RATIO_FROM:
        target = Target("recall p50 / bare query p50", ratio, RECALL_AT_MOST)
    else:
        target = Target("recall p50 - bare query p50, ms", extra_ms, RECALL_EXTRA_MS)
    figures = {
        "memories": size, "questions": len(questions), "rounds": rounds, **ours.figures("recall"), **floor.figures("bare"),
        "recall_quiet_p50_ms": 1000 * quiet_s, "bare_quiet_p50_ms": 1000 * bare_quiet_s, "ratio": ratio, "extra_ms": extra_ms,
        "hits_a_question": hits / 20,
        "open_and_first_recall_ms": 1000 * opened.p50_s, "bare_open_and_first_query_ms": 1000 * bare_opened.p50_s,
        "bytes": on_disk, "bytes_a_memory": on_disk / size, "bare_bytes_a_memory": (folder / "bare.db").stat().st_size / size,
    }  # fmt: skip
    return Result(f"recall-{size}", figures, (target,))


def many_spaces(plan: Plan) -> Iterator[Result]:
    """A small space alone and among others; the memory that recalls take, in one large space and over many."""
    sizes = space_sizes(plan)
    in_one = max(plan.sizes)
    parts = list(sizes)
    tasks = [("alone", {"small": SMALL}), ("one", {"one": in_one}), ("many", {"largest": sizes["largest"]})]
    tasks += [("many", {space: sizes[space] for space in parts[first::TASKS] if space != "largest"}) for first in range(TASKS)]
    with _folder() as folder:
        started, kept = time.perf_counter(), 0
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            filling = [pool.submit(fill, folder / home, part) for home, part in tasks]
            for done in as_completed(filling):
                kept += done.result()
                _say(f"  {kept:,} memories, {time.perf_counter() - started:.0f} s")
        questions = Talk(3).questions(plan.questions)
        yield _among_others(folder, list(sizes), questions, plan.rounds)
        yield _memory(folder, sizes, in_one, questions)


def fill(home: Path, sizes: Mapping[str, int]) -> int:
    """Fill spaces; one of the same name gets the same turns in every home. Return how many were kept."""
    kept = 0
    with reverie.open(home) as mind:
        for space, size in sizes.items():
            talk = Talk(zlib.crc32(space.encode()))
            for first in range(0, size, BATCH):
                kept += mind.observe_many(turns_of(talk.lines(min(BATCH, size - first)), space, first + 1)).added
    return kept


def space_sizes(plan: Plan) -> dict[str, int]:
    """Return how many memories each space has: one small, one largest, the rest falling off between."""
    others = plan.spaces - 2
    left = plan.total - plan.largest - SMALL
    falling = [1 / (rank + 3) for rank in range(others)]
    sizes = {"small": SMALL, "largest": plan.largest}
    sizes |= {f"space-{rank}": max(1, int(left * weight / sum(falling))) for rank, weight in enumerate(falling)}
    sizes["space-0"] += plan.total - sum(sizes.values())
    return sizes


def _among_others(folder: Path, spaces: list[str], questions: list[str], rounds: int) -> Result:
    here = scope_of("small", "ana")
    alone, among = Times(), Times()
    chance = random.Random(5)
    with reverie.open(folder / "alone") as lone, reverie.open(folder / "many") as full:
        for question in questions[:10]:
            lone.recall(question, scope=here)
            full.recall(question, scope=here)
        for number in range(rounds * len(questions)):
            question = questions[number % len(questions)]
            # The others are in use meanwhile; the lone one is asked something else, so that both are equally warm.
            full.recall(question, scope=scope_of(chance.choice(spaces), "ana"))
            lone.recall(chance.choice(questions), scope=here)
            ours, floor = (partial(mind.recall, question, scope=here) for mind in (full, lone))
            _take_turns(number + number // len(questions), ours, floor, among, alone)
        for question in questions:
            found = [[hit.memory.text for hit in mind.recall(question, scope=here).hits] for mind in (lone, full)]
            assert found[0] == found[1], "other spaces changed a ranking"
    quiet_s, alone_quiet_s = among.quiet_s(len(questions)), alone.quiet_s(len(questions))
    ratio = among.p50_s / alone.p50_s
    figures = {
        "memories": SMALL, "spaces": len(spaces), **alone.figures("alone"), **among.figures("among"),
        "alone_quiet_p50_ms": 1000 * alone_quiet_s, "among_quiet_p50_ms": 1000 * quiet_s, "ratio": ratio,
    }  # fmt: skip
    return Result("among-others", figures, (Target("recall p50, among others / alone", ratio, AMONG_AT_MOST),))


def _memory(folder: Path, sizes: dict[str, int], in_one: int, questions: list[str]) -> Result:
    chance = random.Random(6)
    everywhere = [space for space in ("largest", "small") for _ in range(10)] + list(sizes)
    chance.shuffle(everywhere)
    everywhere = ["largest", *everywhere[:400]]
    one_mb, base_mb = _in_child(folder / "one", ["one"] * len(everywhere), questions)
    many_mb, _ = _in_child(folder / "many", everywhere, questions)
    figures = {
        "in_one_space": in_one, "over_spaces": sum(sizes.values()), "spaces": len(sizes), "largest": max(sizes.values()),
        "recalls": len(everywhere), "spaces_asked": len(set(everywhere)), "before_opening_mb": base_mb,
        "one_space_peak_mb": one_mb, "many_spaces_peak_mb": many_mb, "ratio": many_mb / one_mb,
        "home_bytes": sum(file.stat().st_size for file in (folder / "many" / "spaces").iterdir()),
    }  # fmt: skip
    return Result("memory", figures, (Target("peak memory, many spaces / one", many_mb / one_mb, MEMORY_AT_MOST),))


def _in_child(home: Path, spaces: list[str], questions: list[str]) -> tuple[float, float]:
    """Return the peak memory of recalls in a process of their own, and what it was before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(recall_and_weigh, home, spaces, questions).result()


def recall_and_weigh(home: Path, spaces: list[str], questions: list[str]) -> tuple[float, float]:
    """Ask each space something; return this process's peak memory in MB, and what it was before."""
    before = _peak_mb()
    with reverie.open(home) as mind:
        for number, space in enumerate(spaces):
            mind.recall(questions[number % len(questions)], scope=scope_of(space, "ana"))
        return _peak_mb(), before


def _peak_mb() -> float:
    # Linux hands the parent's peak on to a child's getrusage; what it says in /proc begins anew with each program.
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024


def vectors(plan: Plan) -> Iterator[Result]:
    """Exact nearest neighbours through the store, beside a matrix product."""
    generator = np.random.default_rng(4)
    matrix = np.empty((0, DIMENSIONS), np.float32)
    where = Where(scope_of("one", "ana"))
    with _folder() as folder:
        for size in plan.vectors:
            new = generator.standard_normal((size - len(matrix), DIMENSIONS)).astype(np.float32)
            new /= np.linalg.norm(new, axis=1, keepdims=True)
            last = None
            with reverie.open(folder / "home") as mind:
                if len(matrix):
                    last = [memory.id for memory in mind.scan(where.scope)][-1]
                mind.observe_many({"text": f"note {number}", "scope": where.scope} for number in range(len(matrix), size))
                ids = [memory.id for memory in mind.scan(where.scope, after=last)]
            matrix = np.concatenate([matrix, new])
            store = SqliteStore(folder / "home")
            for first in range(0, len(ids), BATCH):
                some = zip(ids[first : first + BATCH], new[first : first + BATCH], strict=True)
                store.put_vectors("one", MODEL, [Vector(id, 1, "turn", values) for id, values in some])
            yield _nearest(store, where, matrix, generator.standard_normal((40 * plan.rounds, DIMENSIONS)).astype(np.float32))
            store.close()


def _nearest(store: SqliteStore, where: Where, matrix: NDArray[np.float32], sought: NDArray[np.float32]) -> Result:
    ours, floor = Times(), Times()

    def search(values: NDArray[np.float32]) -> None:
        with store.reading("one") as view:
            view.search_vectors(values, MODEL, "turn", where, 10)

    def product(values: NDArray[np.float32]) -> None:
        scores = matrix @ values
        best = np.argpartition(-scores, 9)[:10]
        best[np.argsort(-scores[best])]

    started = time.perf_counter()
    search(sought[0])
    first_s = time.perf_counter() - started
    for number, values in enumerate(sought):
        _take_turns(number, partial(search, values), partial(product, values), ours, floor)
    ratio = ours.p50_s / floor.p50_s
    figures = {
        "vectors": len(matrix), "dimensions": DIMENSIONS, **ours.figures("search"), **floor.figures("bare"), "ratio": ratio,
        "first_search_ms": 1000 * first_s,
    }  # fmt: skip
    return Result(f"vectors-{len(matrix)}", figures)


def importing(plan: Plan) -> Iterator[Result]:
    """`import reverie` in a fresh Python."""
    source = str(Path(reverie.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    ours, floor = Times(), Times()

    def start(code: str) -> object:
        return subprocess.run([sys.executable, "-c", code], env=env, check=True)

    start("import reverie")  # so that it is compiled
    for number in range(plan.starts):
        _take_turns(number, partial(start, "import reverie"), partial(start, "pass"), ours, floor)
    ratio = ours.p50_s / floor.p50_s
    figures = {"starts": plan.starts, **ours.figures("import"), **floor.figures("pass"), "ratio": ratio}
    yield Result("import", figures, (Target("import reverie / python -c pass", ratio, IMPORT_AT_MOST),))


SETS: dict[str, Callable[[Plan], Iterator[Result]]] = {
    "machine": machine,
    "import": importing,
    "append": append,
    "one-space": one_space,
    "vectors": vectors,
    "many-spaces": many_spaces,
}


# measuring


@dataclass(frozen=True, slots=True)
class Times:
    """How long something took, each time: on the clock, and on the processor, where other programs do not count."""

    clock_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    @property
    def p50_s(self) -> float:
        return statistics.median(self.clock_s)

    def quiet_s(self, questions: int) -> float:
        """Return the median over questions asked in turn, of each the fastest round: without what a busy machine adds."""
        return statistics.median(min(self.clock_s[number::questions]) for number in range(questions))

    def figures(self, name: str) -> dict[str, float]:
        """Return median and 95th percentile, in milliseconds."""
        p95_s = sorted(self.clock_s)[int(0.95 * (len(self.clock_s) - 1))]
        return {
            f"{name}_p50_ms": 1000 * self.p50_s,
            f"{name}_p95_ms": 1000 * p95_s,
            f"{name}_cpu_p50_ms": 1000 * statistics.median(self.cpu_s),
        }


def _take_turns(number: int, ours: Callable[[], object], floor: Callable[[], object], ours_t: Times, floor_t: Times) -> None:
    """Time both, the floor first every other time."""
    pairs = [(ours, ours_t), (floor, floor_t)]
    for act, times in pairs if number % 2 else reversed(pairs):
        started, cpu = time.perf_counter(), time.thread_time()
        act()
        times.cpu_s.append(time.thread_time() - cpu)
        times.clock_s.append(time.perf_counter() - started)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


@contextmanager
def _folder() -> Iterator[Path]:
    """Lend a folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="reverie-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
