"""How fast and how large: the engine beside the least that SQLite or NumPy could do.

What is measured, as --only names it, and the sets that come of it (each one JSON object):
  machine      what it ran on
  import       `import reverie` beside a Python that does nothing
               mcp: the MCP server until it has answered `initialize`, on the processor, beside `import mcp`
  append       observe, durable when it returns, beside a bare durable commit of the same row and terms
  one-space    recall-N: recall by words among N memories, beside the bare full text query; opening; size on disk
               ingest: observe_many, memories a second, beside bare inserts of the same rows and terms
  vectors      vectors-N: exact nearest neighbours among N vectors, beside a matrix product
  hybrid       hybrid-N: recall by words and meaning among N memories in chats of twenty turns, the question's vector given,
               beside the bare form of the same: a full text query, a matrix product, ten rows fetched by id; and beside
               recall by words alone in the same space. Its first recall and its memory are those of a fresh process
  embedding    embedding: the packaged model through a mind that embeds in the background, vectors a second, beside the bare
               embedder on as many threads
               observe-meanwhile: observe while a backlog is being embedded, beside observe while nothing is
  learning     learning: observe_many with learning by rules until all is learned, beside the same without; of sixteen
               turns one tells something, as people do
  many-spaces  among-others: a small space alone, and among a thousand others that hold a million memories
               memory: peak memory of recalls in one large space, and over the thousand

Ours and the floor take turns in the same run, so that whatever else the machine does hits both alike; figures are medians
(and 95th percentiles). Targets are judged by the medians; beside them stand the time on the processor and, for recalls, the
quiet median, of each question the fastest round: where these differ much from the medians the machine was busy, and the
judgement says little. Only `hybrid` and `embedding` have an embedder; the other sets are about words. Only `embedding` and
`learning` learn. A missed target is said plainly but is not an error: the exit code is 0.
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
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import apsw
import numpy as np

import reverie
from benchmarks.texts import EVERYDAY_WORDS, NAMES, PLACES, STATEMENTS, Chatter, Line, Talk
from reverie.config import Settings
from reverie.memory.language import FTS_TOKENIZE, query, terms
from reverie.models.local import Local
from reverie.store.base import Vector, Where
from reverie.store.sqlite import SqliteStore
from reverie.store.sqlite.connect import READER_CACHE_KIB

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from reverie.models.base import Floats

BATCH = 1_000
TASKS = 20  # in which the many spaces are filled, as many at a time as there are processors
SMALL = 2_000  # memories in the space that stands alone or among others
DIMENSIONS = 384
MODEL = "random-384"
DEEP = 50  # candidates that the bare hybrid search takes from either side
ROUND = 100  # texts embedded before the other side has its turn
SAMPLES = 40  # turns observed at rest before as many are observed meanwhile, and so on
BACKLOG = 64  # memories; less than this is worked off within a second or two
CHAT = 20  # turns
STARTED_AT = datetime(2025, 1, 1, tzinfo=UTC)
ASKED = reverie.Scope("one", "general", "chat-now", "ana")
INITIALIZE = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmarks", "version": "1"}},
}  # fmt: skip
PAUSE_S = 0.01, 0.03  # between two turns observed: else they would all meet the same moment of the background's work

APPEND_AT_MOST = 3.0
RECALL_AT_MOST = 3.0
HYBRID_AT_MOST = 3.0
MEANING_AT_MOST = 5.0  # times recall by words alone, among `GROWS_FROM` memories
GROWTH_AT_MOST = 12.0  # of recall by words and meaning, from `GROWS_FROM` memories to ten times as many
GROWS_FROM = 10_000
RECALL_EXTRA_MS = 3.0  # below `RATIO_FROM` memories the query itself takes next to nothing, and only the rest is seen
RATIO_FROM = 20_000
AMONG_AT_MOST = 1.2
MEMORY_AT_MOST = 1.3
IMPORT_AT_MOST = 3.0
MCP_AT_MOST = 1.0  # `import mcp` brings its clients, which a server does without
EMBEDDING_AT_LEAST = 0.8
MEANWHILE_AT_MOST = 1.5
LEARNING_AT_MOST = 4.0
TELLS = 16  # one turn in so many

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
    hybrid: tuple[int, ...] = (10_000, 20_000, 100_000)
    texts: int = 600
    blocks: int = 10
    learned: int = 20_000


QUICK = Plan((1_000, 10_000), (5_000,), 20, 20_000, 5_000, 60, 4, 150, 15, (10_000, 20_000), 200, 4, 4_000)


@dataclass(frozen=True, slots=True)
class Target:
    """A figure and what it may be at most, or must be at least."""

    name: str
    value: float
    bound: float
    way: Literal["at_most", "at_least"] = "at_most"

    @property
    def ok(self) -> bool:
        return self.value <= self.bound if self.way == "at_most" else self.value >= self.bound


@dataclass(frozen=True, slots=True)
class Result:
    """One set of figures."""

    name: str
    figures: Mapping[str, float | str]
    targets: tuple[Target, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON values."""
        targets = [{"name": t.name, "value": _short(t.value), t.way: t.bound, "ok": t.ok} for t in self.targets]
        figures = {name: _short(value) if isinstance(value, float) else value for name, value in self.figures.items()}
        return {"set": self.name, "figures": figures, "targets": targets, "ok": all(t.ok for t in self.targets)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which options it takes."""
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        metavar="N",
        help="memories in one space (default: 1000 10000 20000 100000; hybrid: 10000 20000 100000)",
    )
    parser.add_argument("--quick", action="store_true", help="small sizes and 20 spaces: two minutes instead of about fifteen")
    parser.add_argument("--texts", type=int, metavar="N", help="texts that the packaged model embeds (default: 600)")
    parser.add_argument("--only", nargs="+", metavar="SET", choices=list(SETS), help=f"measure only these: {', '.join(SETS)}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write all sets as one JSON document")


def run(options: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    plan = QUICK if options.quick else Plan()
    if options.sizes:
        plan = replace(plan, sizes=tuple(sorted(options.sizes)), hybrid=tuple(sorted(options.sizes)))
    if options.texts:
        plan = replace(plan, texts=options.texts)
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
    lines = [f"{'set':<20}{'target':<44}{'measured':>10}{'bound':>10}"]
    for result in results:
        for target in result.targets:
            verdict = "ok" if target.ok else "MISSED"
            bound = f"{'≤' if target.way == 'at_most' else '≥'} {target.bound:.2f}"
            lines.append(f"{result.name:<20}{target.name:<44}{target.value:>10.2f}{bound:>10}  {verdict}")
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

    def ask(self, match: str, limit: int = 10) -> list[Any]:
        """Return the best: number and score, the lower the better."""
        return self._connection.execute(
            "SELECT rowid, bm25(words) AS score FROM words WHERE words MATCH ? ORDER BY score LIMIT ?", (match, limit)
        ).fetchall()

    def ask_both(self, match: str, sought: NDArray[np.float32], matrix: NDArray[np.float32]) -> list[Any]:
        """Return the ten best rows by words and meaning, where row n of the matrix belongs to number n + 1."""
        by_words = self.ask(match, DEEP)
        found = {v: 0.3 * score / by_words[0][1] for v, score in by_words}
        scores = matrix @ sought
        near = np.argpartition(-scores, DEEP)[:DEEP]
        lowest, highest = scores.min(), scores.max()
        for row, score in zip(near.tolist(), ((scores[near] - lowest) / (highest - lowest)).tolist(), strict=True):
            found[row + 1] = found.get(row + 1, 0.0) + 0.7 * score
        best = sorted(found, key=found.__getitem__, reverse=True)[:10]
        return self._connection.execute(f"SELECT * FROM memories WHERE v IN ({','.join('?' * 10)})", best).fetchall()

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


def by_words(home: Path) -> reverie.Mind:
    """Open a mind that looks by words alone and learns nothing."""
    return reverie.open(home, embedder="none", settings=Settings(learn=False))


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


def in_chats(lines: Iterable[Line], first: int) -> Iterator[tuple[int, Line]]:
    """Return lines as turns of chats, each between two people, with the numbers of the chats."""
    for number, line in enumerate(lines, first):
        chat = number // CHAT
        yield chat, Line(NAMES[(chat, 5 * chat + 1)[number % 2] % len(NAMES)], line.text)


def chat_turns(turns: Iterable[tuple[int, Line]], first: int) -> Iterator[Turn]:
    """Return turns of chats as `observe_many` takes them, a minute apart."""
    for number, (chat, line) in enumerate(turns, first):
        scope = reverie.Scope("one", "general", f"chat-{chat}", line.speaker.lower())
        at = STARTED_AT + timedelta(minutes=number)
        yield {"text": line.text, "speaker": line.speaker, "message_id": f"chat:1:{number}", "scope": scope, "at": at}


class Projected:
    """An embedder that takes no time to speak of: each word has a random direction, and a text is the sum of its words."""

    name = "projected-384"
    languages = None
    scale = (0.0, 1.0)

    def __init__(self) -> None:
        self._directions = np.random.default_rng(5).standard_normal((4_096, DIMENSIONS)).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 for each text."""
        rows = [[zlib.crc32(word.encode()) % len(self._directions) for word in text.split()] for text in texts]
        sums = np.stack([self._directions[row].sum(0) for row in rows])
        return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), np.float32)


def fill_chats(home: Path, lines: Sequence[Line], held: int, model: str) -> tuple[list[Line], NDArray[np.float32]]:
    """Add turns to a space, with vectors kept under the name of a model; return the turns as kept, and their vectors."""
    turns, embedder = list(in_chats(lines, held)), Projected()
    with by_words(home) as mind:
        mind.observe_many(chat_turns(turns, held))
        ids = [memory.id for memory in mind.scan(ASKED)][held:]
    said = [line for _, line in turns]
    made = []
    store = SqliteStore(home)
    for first in range(0, len(ids), BATCH):
        made.append(embedder.embed([f"{line.speaker}: {line.text}" for line in said[first : first + BATCH]]))
        some = zip(ids[first : first + BATCH], made[-1], strict=True)
        store.put_vectors("one", model, [Vector(id, 1, values) for id, values in some])
    store.close()
    return said, np.concatenate(made)


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
        mind, bare = by_words(folder / "home"), Bare(folder / "bare.db")
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
            mind, bare = by_words(folder / "home"), Bare(folder / "bare.db")
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
        with by_words(folder / "home") as mind:
            mind.recall(question, scope=here)

    def first_query(match: str) -> None:
        bare = Bare(folder / "bare.db")
        bare.ask(match)
        bare.close()

    for number, (question, match) in enumerate(zip(questions[:9], matches, strict=False)):
        _take_turns(number, partial(first_recall, question), partial(first_query, match), opened, bare_opened)
    ours, floor = Times(), Times()
    hits = 0
    mind, bare = by_words(folder / "home"), Bare(folder / "bare.db")
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
    with by_words(home) as mind:
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
    with by_words(folder / "alone") as lone, by_words(folder / "many") as full:
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
    before = _memory_mb()
    with by_words(home) as mind:
        for number, space in enumerate(spaces):
            mind.recall(questions[number % len(questions)], scope=scope_of(space, "ana"))
        return _memory_mb(), before


def _memory_mb(field: Literal["VmHWM", "VmRSS"] = "VmHWM") -> float:
    """Return the peak of this process's memory, or (VmRSS, where the system tells it) what it takes now."""
    # Linux hands the parent's peak on to a child's getrusage; what it says in /proc begins anew with each program.
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith(field)) / 1024
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
            with by_words(folder / "home") as mind:
                if len(matrix):
                    last = [memory.id for memory in mind.scan(where.scope)][-1]
                mind.observe_many({"text": f"note {number}", "scope": where.scope} for number in range(len(matrix), size))
                ids = [memory.id for memory in mind.scan(where.scope, after=last)]
            matrix = np.concatenate([matrix, new])
            store = SqliteStore(folder / "home")
            for first in range(0, len(ids), BATCH):
                some = zip(ids[first : first + BATCH], new[first : first + BATCH], strict=True)
                store.put_vectors("one", MODEL, [Vector(id, 1, values) for id, values in some])
            yield _nearest(store, where, matrix, generator.standard_normal((40 * plan.rounds, DIMENSIONS)).astype(np.float32))
            store.close()


def _nearest(store: SqliteStore, where: Where, matrix: NDArray[np.float32], sought: NDArray[np.float32]) -> Result:
    ours, floor = Times(), Times()

    def search(values: NDArray[np.float32]) -> None:
        with store.reading("one") as view:
            view.search_vectors(values, MODEL, where, 10)

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


def hybrid(plan: Plan) -> Iterator[Result]:
    """Recall by words and meaning, beside the bare form of the same."""
    talk = Talk(8)
    matrix = np.empty((0, DIMENSIONS), np.float32)
    smaller: float | None = None
    with _folder() as folder:
        for size in plan.hybrid:
            held = len(matrix)
            said, new = fill_chats(folder / "home", talk.lines(size - held), held, Projected.name)
            matrix = np.concatenate([matrix, new])
            bare = Bare(folder / "bare.db")
            for first in range(0, len(said), BATCH):
                bare.keep(*bare_rows(said[first : first + BATCH], held + first + 1))
            result, p50_s = _hybrid_at(folder, bare, matrix, talk.questions(plan.questions // 2), plan.rounds)
            if size == GROWS_FROM:
                smaller = p50_s
            yield _grown(result, p50_s / smaller) if smaller and size == 10 * GROWS_FROM else result
            bare.close()


def _grown(result: Result, growth: float) -> Result:
    target = Target(f"recall p50, among ten times {GROWS_FROM:,}", growth, GROWTH_AT_MOST)
    return replace(result, figures={**result.figures, "growth": growth}, targets=(*result.targets, target))


def _hybrid_at(
    folder: Path, bare: Bare, matrix: NDArray[np.float32], questions: list[str], rounds: int
) -> tuple[Result, float]:
    size, ours, floor, wordy = len(matrix), Times(), Times(), Times()
    matches, sought = [bare_match(question) for question in questions], Projected().embed(questions)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        cold = pool.submit(recall_cold, folder / "home", questions[:20]).result()
    with reverie.open(folder / "home", embedder=Projected()) as mind, by_words(folder / "home") as other:
        for number in range(-10, rounds * len(questions)):
            one = number % len(questions)
            recall = partial(mind.recall, questions[one], scope=ASKED, vector=sought[one])
            ask = partial(bare.ask_both, matches[one], sought[one], matrix)
            words = partial(other.recall, questions[one], scope=ASKED)
            timed = (ours, floor, wordy) if number >= 0 else (Times(), Times(), Times())
            _rotate(number + number // len(questions), (recall, timed[0]), (ask, timed[1]), (words, timed[2]))
        shared = 0
        for question, match, vector in zip(questions, matches, sought, strict=True):
            found, rows = mind.recall(question, scope=ASKED, vector=vector), bare.ask_both(match, vector, matrix)
            assert found.arms["meaning"] == "on", "recall did without some of the vectors"
            assert len(found.hits) == 10 == len(rows), "ours and the floor answer different questions"
            shared += len({hit.memory.text for hit in found.hits} & {row[16] for row in rows})
    ratio, words_ratio = ours.p50_s / floor.p50_s, ours.p50_s / wordy.p50_s
    figures = {
        "memories": size, "questions": len(questions), "rounds": rounds, **ours.figures("recall"), **floor.figures("bare"),
        **wordy.figures("by_words"), "recall_quiet_p50_ms": 1000 * ours.quiet_s(len(questions)),
        "bare_quiet_p50_ms": 1000 * floor.quiet_s(len(questions)),
        "by_words_quiet_p50_ms": 1000 * wordy.quiet_s(len(questions)),
        "ratio": ratio, "by_words_ratio": words_ratio, "extra_ms": 1000 * (ours.p50_s - floor.p50_s),
        "hits_shared_of_ten": shared / len(questions), **cold, "matrix_mb": matrix.nbytes / (1 << 20),
    }  # fmt: skip
    targets = [Target("recall p50 / bare hybrid p50", ratio, HYBRID_AT_MOST)] if size >= RATIO_FROM else []
    targets += [Target("recall p50 / by words alone", words_ratio, MEANING_AT_MOST)] if size == GROWS_FROM else []
    return Result(f"hybrid-{size}", figures, tuple(targets)), ours.p50_s


def recall_cold(home: Path, questions: list[str]) -> dict[str, float]:
    """Ask in a process that asked nothing before; return how long the first recall took, and the memory all took."""
    embedder, open_mind = Projected(), reverie.open  # named here, so that what is imported for it does not count
    vectors = embedder.embed(questions)
    before = _memory_mb("VmRSS")
    started = time.perf_counter()
    with open_mind(home, embedder=embedder) as mind:
        opened = time.perf_counter()
        mind.recall(questions[0], scope=ASKED, vector=vectors[0])
        first = time.perf_counter()
        for question, vector in zip(questions, vectors, strict=True):
            mind.recall(question, scope=ASKED, vector=vector)
        return {
            "open_ms": 1000 * (opened - started), "first_recall_ms": 1000 * (first - opened),
            "before_opening_mb": before, "resident_mb": _memory_mb("VmRSS"), "peak_mb": _memory_mb("VmHWM"),
        }  # fmt: skip


def embedding(plan: Plan) -> Iterator[Result]:
    """The packaged model at work in the background: how fast, and what it costs those who observe meanwhile."""
    embedder, chatter = _Heard(threads=1), Chatter(9)
    with _folder() as folder:
        fill_chats(folder / "home", Talk(9).lines(plan.sizes[min(1, len(plan.sizes) - 1)]), 0, embedder.name)
        with reverie.open(folder / "home", embedder=embedder) as mind:
            yield _vectors_a_second(mind, embedder, chatter, plan.texts)
            yield _meanwhile(mind, chatter, plan.blocks)


class _Heard(Local):
    """The packaged embedder, which remembers what it was given."""

    heard: tuple[str, ...] = ()

    def embed(self, texts: Sequence[str]) -> Floats:
        self.heard += tuple(texts)
        return super().embed(texts)


def _vectors_a_second(mind: reverie.Mind, embedder: _Heard, chatter: Chatter, texts: int) -> Result:
    """Compare on equal work: short turns are embedded alone and between their neighbours, and so they are for the floor."""
    ours, floor = Times(), Times()
    embedded = 0
    for number in range(-1, max(1, texts // ROUND)):
        ours_t, floor_t = (ours, floor) if number >= 0 else (Times(), Times())  # the first loads the model
        embedder.heard = ()
        mind.observe_many({"text": one.text, "speaker": one.speaker, "scope": ASKED} for one in chatter.lines(ROUND))
        ours_t.take(mind.settle, time.process_time)
        work: list[str] = list(embedder.heard)
        floor_t.take(partial(embedder.embed, work), time.process_time)
        embedded += len(work) if number >= 0 else 0
    ratio = statistics.median(bare / own for bare, own in zip(floor.clock_s, ours.clock_s, strict=True))
    figures = {
        "turns": ROUND * len(ours.clock_s), "texts": embedded, "threads": 1, "turns_per_s": ROUND / ours.p50_s,
        "per_s": embedded / sum(ours.clock_s), "bare_per_s": embedded / sum(floor.clock_s), "ratio": ratio,
        "cpu_ratio": sum(floor.cpu_s) / sum(ours.cpu_s),
    }  # fmt: skip
    return Result("embedding", figures, (Target("texts/s of a mind / bare embedder's", ratio, EMBEDDING_AT_LEAST, "at_least"),))


def _meanwhile(mind: reverie.Mind, chatter: Chatter, blocks: int) -> Result:
    chance, at_rest, meanwhile = random.Random(9), Times(), Times()
    for block in range(blocks + 1):
        for is_busy, times in ((False, at_rest), (True, meanwhile)):
            kept = times if block else Times()  # the first does not count
            for number, line in enumerate(chatter.lines(SAMPLES)):
                if not is_busy:
                    mind.settle()
                elif number % 10 == 0 and mind.settle(timeout_s=0).pending < BACKLOG:
                    mind.observe_many(({"text": line.text} for line in chatter.lines(BACKLOG)), scope=ASKED)
                time.sleep(chance.uniform(*PAUSE_S))
                kept.take(partial(mind.observe, line.text, speaker=line.speaker, scope=ASKED))
            assert not is_busy or mind.settle(timeout_s=0).pending, "the backlog was worked off too soon to measure anything"
    mind.settle()
    ratio = meanwhile.p95_s / at_rest.p95_s
    quiet_ratio = meanwhile.quiet_p95_s(SAMPLES) / at_rest.quiet_p95_s(SAMPLES)
    figures = {
        "samples": len(meanwhile.clock_s), **meanwhile.figures("observe"), **at_rest.figures("at_rest"), "ratio": ratio,
        "p50_ratio": meanwhile.p50_s / at_rest.p50_s, "quiet_ratio": quiet_ratio,
    }  # fmt: skip
    return Result("observe-meanwhile", figures, (Target("observe p95, while embedding / at rest", ratio, MEANWHILE_AT_MOST),))


def learning(plan: Plan) -> Iterator[Result]:
    """What it takes to learn from what is said, beside only keeping it."""
    chatter, chance = Chatter(11), random.Random(11)
    ours, floor = Times(), Times()
    with _folder() as folder:
        learner = reverie.open(folder / "learner", embedder="none", settings=Settings(embedder="none"))
        keeper = by_words(folder / "keeper")
        for number in range(-1, max(1, plan.learned // BATCH)):
            timed = (ours, floor) if number >= 0 else (Times(), Times())  # the first loads the rules
            lines = [_telling(line, chance) if chance.random() < 1 / TELLS else line for line in chatter.lines(BATCH)]
            turns = [turn for _, some in in_days(lines, number + 1) for turn in some]
            keep = partial(keeper.observe_many, turns)
            _rotate(number, (partial(_learn, learner, turns), timed[0]), (keep, timed[1]), processor=time.process_time)
        kinds = dict(learner.status().spaces[0].kinds)
        learner.close()
        keeper.close()
    ratio = sum(ours.clock_s) / sum(floor.clock_s)
    figures = {
        "turns": BATCH * len(ours.clock_s), "facts": kinds.get("fact", 0), "episodes": kinds.get("episode", 0),
        "per_s": BATCH * len(ours.clock_s) / sum(ours.clock_s),
        "without_per_s": BATCH * len(floor.clock_s) / sum(floor.clock_s),
        "ratio": ratio, "cpu_ratio": sum(ours.cpu_s) / sum(floor.cpu_s),
    }  # fmt: skip
    yield Result("learning", figures, (Target("observe_many with rules / without learning", ratio, LEARNING_AT_MOST),))


def _learn(mind: reverie.Mind, turns: list[Turn]) -> None:
    mind.observe_many(turns)
    mind.settle()


def in_days(lines: Sequence[Line], number: int) -> Iterator[tuple[datetime, list[Turn]]]:
    """Yield lines as chats of twenty turns, one a day, some minutes apart."""
    scopes = {name: scope_of("one", name.lower()) for name in NAMES}
    for place in range(0, len(lines), CHAT):
        day = datetime(2024, 1, 1, 9, tzinfo=UTC) + timedelta(days=(number * len(lines) + place) // CHAT)
        yield (
            day,
            [
                {
                    "text": line.text,
                    "speaker": line.speaker,
                    "at": day + timedelta(minutes=2 * minute),
                    "scope": scopes[line.speaker],
                }
                for minute, line in enumerate(lines[place : place + CHAT])
            ],
        )


def _telling(line: Line, chance: random.Random) -> Line:
    return replace(
        line, text=chance.choice(STATEMENTS).format(place=chance.choice(PLACES), thing=chance.choice(EVERYDAY_WORDS))
    )


def importing(plan: Plan) -> Iterator[Result]:
    """`import reverie` in a fresh Python, and a fresh MCP server."""
    ours, floor = Times(), Times()
    _start("import reverie")  # so that it is compiled
    for number in range(plan.starts):
        _take_turns(number, partial(_start, "import reverie"), partial(_start, "pass"), ours, floor)
    ratio = ours.p50_s / floor.p50_s
    figures = {"starts": plan.starts, **ours.figures("import"), **floor.figures("pass"), "ratio": ratio}
    yield Result("import", figures, (Target("import reverie / python -c pass", ratio, IMPORT_AT_MOST),))
    if find_spec("mcp"):
        with _folder() as folder:
            yield _serving(folder / "home", max(3, plan.starts // 3))


def _serving(home: Path, starts: int) -> Result:
    ours, floor = Times(), Times()
    _serve(home)
    for number in range(starts):
        _rotate(number, (partial(_serve, home), ours), (partial(_start, "import mcp"), floor), processor=_children_s)
    cpu_s, bare_s = statistics.median(ours.cpu_s), statistics.median(floor.cpu_s)
    figures = {"starts": starts, **ours.figures("answer"), **floor.figures("import"), "cpu_ratio": cpu_s / bare_s}
    return Result("mcp", figures, (Target("MCP server's first answer / import mcp, CPU", cpu_s / bare_s, MCP_AT_MOST),))


def _start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], env=_env(), check=True)


def _serve(home: Path) -> None:
    """Start a server, wait for its first answer, and end it."""
    command = [sys.executable, "-m", "reverie", "mcp", "--home", str(home)]
    with subprocess.Popen(command, env=_env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        server.kill()
    assert b"serverInfo" in answer, f"the server said {answer!r}"


def _env() -> dict[str, str]:
    """Return what a process is given that runs what this one runs."""
    source = str(Path(reverie.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}


def _children_s() -> float:
    """Return the seconds on the processor of all processes started here that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


SETS: dict[str, Callable[[Plan], Iterator[Result]]] = {
    "machine": machine,
    "import": importing,
    "append": append,
    "one-space": one_space,
    "vectors": vectors,
    "hybrid": hybrid,
    "embedding": embedding,
    "learning": learning,
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

    @property
    def p95_s(self) -> float:
        return sorted(self.clock_s)[int(0.95 * (len(self.clock_s) - 1))]

    def take(self, act: Callable[[], object], processor: Callable[[], float] = time.thread_time) -> None:
        """Do something and note how long it took."""
        started, cpu = time.perf_counter(), processor()
        act()
        self.cpu_s.append(processor() - cpu)
        self.clock_s.append(time.perf_counter() - started)

    def quiet_s(self, questions: int) -> float:
        """Return the median over questions asked in turn, of each the fastest round: without what a busy machine adds."""
        return statistics.median(min(self.clock_s[number::questions]) for number in range(questions))

    def quiet_p95_s(self, block: int) -> float:
        """Return the 95th percentile of the fastest block."""
        return min(Times(self.clock_s[first : first + block]).p95_s for first in range(0, len(self.clock_s), block))

    def figures(self, name: str) -> dict[str, float]:
        """Return median and 95th percentile, in milliseconds."""
        return {
            f"{name}_p50_ms": 1000 * self.p50_s,
            f"{name}_p95_ms": 1000 * self.p95_s,
            f"{name}_cpu_p50_ms": 1000 * statistics.median(self.cpu_s),
        }


def _take_turns(number: int, ours: Callable[[], object], floor: Callable[[], object], ours_t: Times, floor_t: Times) -> None:
    """Time both, the floor first every other time."""
    _rotate(number, (ours, ours_t), (floor, floor_t))


def _rotate(number: int, *acts: tuple[Callable[[], object], Times], processor: Callable[[], float] = time.thread_time) -> None:
    """Time several, each time another one first."""
    first = number % len(acts)
    for act, times in acts[first:] + acts[:first]:
        times.take(act, processor)


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
