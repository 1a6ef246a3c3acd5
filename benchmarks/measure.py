"""What the benchmarks of recall share: data sets in the unified form, and figures with the range that chance leaves them.

A folder in the unified form holds memories.jsonl[.gz] (conversation_id, session_id, turn_id, speaker, timestamp, text and
perhaps image_caption) and queries.jsonl[.gz] (query_id, conversation_id, type, question, question_date, gold_turn_ids,
gold_session_ids and what else the set has). Times without a zone are UTC.

Intervals are those of the bootstrap: 1,000 resamples of the questions, by a seed, so that a second run prints the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import reverie
from reverie import Mind, Scope, config
from reverie.models.base import Embedder
from reverie.models.choose import embedder_from

RESAMPLES, SEED = 1_000, 20
ADVERSARIAL = "adversarial"  # the type of questions about what was never said


@dataclass(frozen=True, slots=True)
class Turn:
    """One line of a conversation."""

    id: str
    space: str
    session: str
    speaker: str
    at: datetime | None
    text: str
    caption: str | None

    @property
    def memory(self) -> str:
        """What is observed of it: the text, and what is to be seen on its picture."""
        return f"{self.text} [{self.caption}]" if self.caption else self.text


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked in a conversation, and which turns and sessions hold the answer."""

    id: str
    space: str
    type: str
    text: str
    now: datetime | None
    gold_turns: frozenset[str]
    gold_sessions: frozenset[str]
    haystack: frozenset[str] = frozenset()
    abstains: bool = False


@dataclass(frozen=True, slots=True)
class DataSet:
    """Turns, and the questions whose evidence is known; those about what was never said stand apart."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]
    adversarial: tuple[Question, ...]

    @property
    def spaces(self) -> list[str]:
        """The conversations, in the order they come."""
        return list(dict.fromkeys(turn.space for turn in self.turns))


def read(folder: Path, limit: int | None = None) -> DataSet:
    """Return a data set; with a limit the first questions of it, and the conversations they are about."""
    turns = tuple(
        Turn(
            str(one["turn_id"]), str(one["conversation_id"]), str(one["session_id"]), one["speaker"],
            _moment(one["timestamp"]), one["text"], one.get("image_caption"),
        )
        for one in lines(folder, "memories") if one["text"].strip() or one.get("image_caption")
    )  # fmt: skip
    # A set that names haystacks is one pool of evidence for questions of which some are left out by those who made it.
    counted = [
        one for one in lines(folder, "queries") if "haystack_session_ids" not in one or one["in_official_retrieval_eval"]
    ]
    asked = [question for question in map(_question, counted) if question.gold_turns or question.gold_sessions]
    answerable = [question for question in asked if question.type != ADVERSARIAL][:limit]
    adversarial = [question for question in asked if question.type == ADVERSARIAL][:limit]
    spaces = list(dict.fromkeys(turn.space for turn in turns))
    about = {question.space for question in (*answerable, *adversarial)}
    about |= {following(question.space, spaces) for question in answerable}
    return DataSet(
        folder.resolve().name, tuple(turn for turn in turns if turn.space in about), tuple(answerable), tuple(adversarial)
    )


def following(space: str, spaces: Sequence[str]) -> str:
    """Return the next conversation, after the last one the first."""
    return spaces[(spaces.index(space) + 1) % len(spaces)]


def lines(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Return the lines of a file of JSON lines, packed or not."""
    packed, plain = folder / f"{name}.jsonl.gz", folder / f"{name}.jsonl"
    if not packed.exists() and not plain.exists():
        raise SystemExit(f"no {plain.name} or {packed.name} in {str(folder)!r}; give a folder in the unified form (see --help)")
    with gzip.open(packed, "rt", encoding="utf-8") if packed.exists() else plain.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _question(one: Mapping[str, Any]) -> Question:
    return Question(
        str(one["query_id"]), str(one["conversation_id"]), one["type"], one["question"], _moment(one.get("question_date")),
        frozenset(map(str, one.get("gold_turn_ids") or ())), frozenset(map(str, one.get("gold_session_ids") or ())),
        frozenset(map(str, one.get("haystack_session_ids") or ())), bool(one.get("abstention")),
    )  # fmt: skip


def _moment(timestamp: str | None) -> datetime | None:
    if timestamp is None:
        return None
    moment = datetime.fromisoformat(timestamp)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# what is measured


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which options every benchmark of recall takes."""
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="a folder in the unified form")
    parser.add_argument(
        "--limit", type=int, metavar="N", help="ask only the first questions, and keep only the conversations they need"
    )
    parser.add_argument("--embedder", default="local", metavar="NAME", help="local, none, hashing or openai:NAME")
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep what was embedded in this folder, and use what is there")


@contextmanager
def home_of(options: argparse.Namespace) -> Iterator[Path]:
    """Lend the home to measure in, which is gone afterwards unless it was named."""
    with tempfile.TemporaryDirectory(prefix="reverie-bench-") as scratch:
        yield options.home.expanduser().resolve() if options.home else Path(scratch) / "home"


def opened(home: Path, embedder: Embedder | None) -> Mind:
    """Open a home to measure in. Nothing is learned there: what is measured is how well turns are found."""
    return reverie.open(home, settings=replace(config.given(None, home), learn=False), embedder=embedder or "none")


def embedder_of(options: argparse.Namespace, home: Path) -> Embedder | None:
    """Return the embedder that is asked for."""
    chosen = config.given(None, home)
    return embedder_from(options.embedder, url=chosen.openai_url, key=chosen.openai_key)


def keep(mind: Mind, turns: Iterable[Turn]) -> dict[str, float]:
    """Observe turns and wait until they are embedded; return how many were new, and how long that took."""
    began = time.perf_counter()
    told = (
        {
            "text": turn.memory, "speaker": turn.speaker, "at": turn.at, "message_id": turn.id,
            "scope": Scope(turn.space, session=turn.session),
        }
        for turn in turns
    )  # fmt: skip
    added = mind.observe_many(told, progress=lambda done: print(f"\r{done:,} turns", end="", file=sys.stderr)).added
    print(file=sys.stderr)
    settled = mind.settle()
    if settled.pending or settled.failed:
        print(f"{settled.pending + settled.failed} memories have no vector", file=sys.stderr)
    return {"added": added, "keeping_s": round(time.perf_counter() - began, 1)}


# figures


def figures(columns: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the mean of each column, and under "95%" the interval it lies in; a column without values is left out."""
    some = {name: np.asarray(values, np.float64) for name, values in columns.items() if len(values)}
    means: dict[str, Any] = {name: round(float(values.mean()), 4) for name, values in some.items()}
    return means | {"95%": {name: _between(_resampled(len(values)) @ values) for name, values in some.items()}}


def auroc(higher: Sequence[float], lower: Sequence[float]) -> tuple[float, list[float]]:
    """Return how often one of `higher` lies above one of `lower`, a tie counting half, and the interval that lies in."""
    above, below = np.asarray(higher)[:, None], np.asarray(lower)[None, :]
    wins = (above > below) + 0.5 * (above == below)
    resampled = np.einsum("rh,rh->r", _resampled(len(lower), 1), _resampled(len(higher)) @ wins)
    return round(float(wins.mean()), 4), _between(resampled)


def percentiles(values_ms: Sequence[float]) -> dict[str, float]:
    """Return the middle and the 95th percentile."""
    return {f"p{share}": round(float(np.percentile(values_ms, share)), 2) for share in (50, 95)} if values_ms else {}


def _resampled(size: int, stream: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return for each resample how much each of the values counts."""
    drawn = np.random.default_rng((SEED, stream)).multinomial(size, np.full(size, 1 / size), RESAMPLES)
    return np.asarray(drawn / size)


def _between(means: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[float]:
    return [round(float(edge), 4) for edge in np.percentile(means, (2.5, 97.5))]
