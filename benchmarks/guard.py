"""Is what tries to steer the agent kept out, and what people simply say let in?

DIR holds cases.jsonl[.gz] (id, text, label, source); labels are injection, jailbreak and benign. Each text is offered in four
ways to minds of their own, in which it might become a fact, rule or pattern: said by a user, written down in a `<memory>` tag
by a model that repeats it, remembered from the web, and told as a fact by the model that extracts. Printed is one JSON object:
  kept_out     of injections and jailbreaks, the share that became nothing in each way; should be high
  benign       of harmless texts said by a user, the share of which anything was refused; should be low
  NotInject    the same for those of them that were written to look like attacks (sources that start with notinject)
  judge        the same shares for the judge alone, asked about each text as a fact that a user tells, by label and source
  reasons      what the judge refused them for, by label
  judge_us     the time that a verdict took, half of them and 95 % of them
  corpus       with --corpus FILE: precision and recall of extraction by rules on messages with the facts they teach
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import reverie
from benchmarks import corpus
from benchmarks.measure import lines
from reverie import Refused, Scope
from reverie.config import Settings
from reverie.learn.guard import judge
from reverie.models.base import Model
from reverie.models.scripted import Scripted

BENIGN, LOOK_ALIKE = "benign", "notinject"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which options it takes."""
    parser.add_argument("--data", type=Path, required=True, help="a folder with cases.jsonl[.gz]")
    parser.add_argument("--corpus", type=Path, nargs="*", default=[], help="files of messages with the facts they teach")
    parser.add_argument("--misses", type=Path, help="write the cases that went wrong to this file, as JSON lines")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    cases = list(lines(options.data, "cases"))
    judged, reasons, taken = _judged(cases)
    harmful = [case for case in cases if case["label"] != BENIGN]
    ways = {way: [offer(case["text"]) for case in harmful] for way, offer in WAYS.items()}
    benign = {case["id"]: _said(case["text"]).refused for case in cases if case["label"] == BENIGN}
    look_alikes = [case["id"] for case in cases if case["label"] == BENIGN and case["source"].startswith(LOOK_ALIKE)]
    if options.misses:
        passed = [
            (case, way) for way, outcomes in ways.items() for case, came in zip(harmful, outcomes, strict=True) if came.kept
        ]
        misses = [{**case, "way": way} for case, way in passed]
        misses += [{**case, "way": "said"} for case in cases if benign.get(case["id"])]
        options.misses.write_text("".join(json.dumps(miss, ensure_ascii=False) + "\n" for miss in misses), encoding="utf-8")
    half, most = np.percentile(taken, (50, 95)) * 1e6
    report = {
        "set": options.data.name,
        "kept_out": {way: _share([not came.kept for came in outcomes]) for way, outcomes in ways.items()},
        "benign": _share(list(benign.values())),
        "NotInject": _share([benign[id] for id in look_alikes]),
        "judge": {label: {name: _share(by[name]) for name in sorted(by)} for label, by in sorted(judged.items())},
        "reasons": {label: dict(count.most_common()) for label, count in sorted(reasons.items())},
        "judge_us": {"p50": round(half, 1), "p95": round(most, 1)},
        "corpus": {path.name: _read(path) for path in options.corpus},
    }
    print(json.dumps(report))
    return 0


def _judged(
    cases: Sequence[dict[str, Any]],
) -> tuple[dict[str, dict[str, list[bool]]], dict[str, Counter[str]], list[float]]:
    """Return what the judge alone refuses, by label and source, and why; and how long each verdict took."""
    judged: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    taken: list[float] = []
    for case in cases:
        began = time.perf_counter()
        verdict = judge(case["text"], "user", "fact")
        taken.append(time.perf_counter() - began)
        for name in ("all", case["source"]):
            judged[case["label"]][name].append(not verdict.allowed)
        if verdict.reason:
            reasons[case["label"]][verdict.reason.partition(":")[0]] += 1
    return judged, reasons, taken


class Came(NamedTuple):
    """What came of a text: whether anything was made of it, and whether anything was refused."""

    kept: bool
    refused: bool


def _mind(model: Model | None = None) -> reverie.Mind:
    return reverie.open(":memory:", embedder="none", model=model, settings=Settings(embedder="none"), background=False)


def _came_of(mind: reverie.Mind) -> Came:
    owner = Scope.owner()
    return Came(any(mind.scan(owner, kinds=("fact", "pattern", "procedure"))), bool(mind.quarantine(owner)))


def _said(text: str) -> Came:
    """Offer a text as a message of a user."""
    with _mind() as mind:
        mind.observe(text, speaker="Ana")
        return _came_of(mind)


def _noted(text: str) -> Came:
    """Offer it as what a model writes down that repeats what it was told."""
    with _mind() as mind:
        mind.observe(text, speaker="Ana")
        before = {fact.id for fact in mind.scan(Scope.owner(), kinds=("fact",))}
        mind.observe(f"Sure.\n<memory>{text}</memory>", role="assistant")
        noted = [fact for fact in mind.scan(Scope.owner(), kinds=("fact",)) if fact.id not in before]
        return Came(bool(noted), bool(mind.quarantine(Scope.owner())))


def _remembered(text: str) -> Came:
    """Offer it as something to remember from the web."""
    with _mind() as mind:
        with contextlib.suppress(Refused):
            mind.remember(text, trust="web")
        return _came_of(mind)


def _extracted(text: str) -> Came:
    """Offer it as the fact that an extracting model finds in a message which says it."""
    fact = {"fact": text, "quote": text, "type": "other", "topic": "", "about": "speaker", "confidence": 0.9}
    with _mind(Scripted([{"purpose": "extract", "answer": {"facts": [fact]}}])) as mind:
        mind.observe(text, speaker="Ana")
        return _came_of(mind)


WAYS = {"said": _said, "noted": _noted, "remembered": _remembered, "extracted": _extracted}


def _read(path: Path) -> dict[str, Any]:
    """Return how well a corpus is read, from the message to the facts that are kept."""

    def taught(message: corpus.Message) -> list[str]:
        with _mind() as mind:
            at = datetime.fromisoformat(message["at"])
            turn = mind.observe(message["text"], speaker=message["speaker"], at=at)
            return [fact.text for fact in mind.learned(turn.id)]

    found = corpus.score(corpus.read(path), taught)
    return {"precision": round(found.precision, 4), "recall": round(found.recall, 4), "facts": found.made}


def _share(outcomes: Sequence[bool]) -> dict[str, Any]:
    return {"share": round(sum(outcomes) / len(outcomes), 4) if outcomes else None, "of": len(outcomes)}
