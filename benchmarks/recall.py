"""How well is what was asked for found? Real conversations, one space each, through the public verbs.

DIR holds memories.jsonl[.gz] (conversation_id, session_id, turn_id, speaker, timestamp, text, image_caption) and
queries.jsonl[.gz] (query_id, conversation_id, type, question, gold_turn_ids, gold_session_ids). Printed is one JSON object:
turn R@k (the mean share of a question's gold turns among the first k) and all@k (all of them), the same for sessions, overall
and by type of question, and the milliseconds that a recall took.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import reverie
from reverie import Mind, Recollection, Scope

TURNS, SESSIONS = (5, 10, 20), (5, 10)
SESSION_LIMIT = 60
LEFT_OUT = ("adversarial",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which options it takes."""
    parser.add_argument("--data", type=Path, required=True, help="a folder in the unified form")
    parser.add_argument("--limit", type=int, help="ask only the first questions")
    parser.add_argument("--embedder", default="local", help="local, none, hashing or openai:NAME")
    parser.add_argument("--home", type=Path, help="keep what was embedded in this folder, and use it if it is there")
    parser.add_argument("--rankings", type=Path, help="write what was found for each question to this file, as JSON lines")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    questions = [one for one in _lines(options.data, "queries") if one["type"] not in LEFT_OUT and _gold(one)]
    with tempfile.TemporaryDirectory() as scratch:
        home = options.home or Path(scratch) / "home"
        with reverie.open(home, embedder=options.embedder) as mind:
            began = time.perf_counter()
            added = _keep(mind, _lines(options.data, "memories"))
            settled = mind.settle()
            taken = time.perf_counter() - began
            if settled.pending or settled.failed:
                print(f"{settled.pending + settled.failed} memories have no vector", file=sys.stderr)
            answers = [_ask(mind, one) for one in questions[: options.limit]]
            bytes_kept = sum(path.stat().st_size for path in (home / "spaces").glob("*.db*"))
            memories = mind.status().memories
    if options.rankings:
        options.rankings.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    report = {
        "set": options.data.name,
        "embedder": options.embedder,
        "memories": memories,
        "added": added,
        "keeping_s": round(taken, 1),
        "bytes_per_memory": round(bytes_kept / max(1, memories)),
        "recall_ms_p50": round(statistics.median(answer["ms"] for answer in answers), 1),
        "all": _measured(answers),
        **{kind: _measured([one for one in answers if one["type"] == kind]) for kind in sorted({a["type"] for a in answers})},
    }
    print(json.dumps(report))
    return 0


def _lines(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    packed, plain = folder / f"{name}.jsonl.gz", folder / f"{name}.jsonl"
    with gzip.open(packed, "rt", encoding="utf-8") if packed.exists() else plain.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _gold(question: Mapping[str, Any]) -> bool:
    return bool(question.get("gold_turn_ids") or question.get("gold_session_ids"))


def _keep(mind: Mind, memories: Iterator[dict[str, Any]]) -> int:
    """Observe every turn, under an id that tells it apart."""
    turns = (
        {
            "text": f"{one['text']} [{one['image_caption']}]" if one.get("image_caption") else one["text"],
            "speaker": one["speaker"],
            "at": _moment(one["timestamp"]),
            "message_id": str(one["turn_id"]),
            "scope": Scope(one["conversation_id"], session=str(one["session_id"])),
        }
        for one in memories
        if one["text"].strip() or one.get("image_caption")
    )
    return mind.observe_many(turns, progress=lambda done: print(f"\r{done:,} turns", end="", file=sys.stderr)).added


def _moment(timestamp: str | None) -> datetime | None:
    if timestamp is None:
        return None
    moment = datetime.fromisoformat(timestamp)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _ask(mind: Mind, question: Mapping[str, Any]) -> dict[str, Any]:
    began = time.perf_counter()
    now = _moment(question.get("question_date"))
    scope = Scope(question["conversation_id"])
    found: Recollection = mind.recall(question["question"], scope=scope, limit=SESSION_LIMIT, kinds=("turn",), now=now)
    return {
        "id": question["query_id"],
        "type": question["type"],
        "turns": [hit.memory.message_id for hit in found.hits],
        "sessions": list(dict.fromkeys(hit.memory.origin.session for hit in found.hits)),
        "gold_turns": [str(id) for id in question.get("gold_turn_ids") or ()],
        "gold_sessions": [str(id) for id in question.get("gold_session_ids") or ()],
        "certainty": found.certainty,
        "ms": 1000 * (time.perf_counter() - began),
    }


def _measured(answers: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    measures: dict[str, float] = {"questions": len(answers)}
    for what, ks in (("turns", TURNS), ("sessions", SESSIONS)):
        asked = [one for one in answers if one[f"gold_{what}"]]
        for k in ks if asked else ():
            shares = [len(set(one[what][:k]) & set(one[f"gold_{what}"])) / len(set(one[f"gold_{what}"])) for one in asked]
            measures[f"{what} R@{k}"] = round(statistics.mean(shares), 4)
            measures[f"{what} all@{k}"] = round(statistics.mean(share == 1 for share in shares), 4)
    return measures
