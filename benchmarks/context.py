"""Is the evidence in the context? Real conversations, one space each, through `context`.

DIR is in the unified form, as for `recall`. For each budget of tokens one finds in the JSON object:
  any, all       the share of questions for which the text of one, or of every gold turn stands in the context, white space
                 collapsed; overall and by type, the adversarial left out
  tokens         how many a context took on average; "over": how many contexts went beyond the budget
  baselines      the same budget filled with the lines that plain BM25, the nearest vectors and both fused by rank put first,
                 and with the newest turns, which is what loading recent history gives
Beside them stands what loading everything would take, in tokens and as a multiple of what the context took. Under "95%" stands
the interval that a figure lies in, by bootstrap over the questions.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import measure
from benchmarks.baselines import Plain
from benchmarks.measure import DataSet, Question
from reverie import Mind, Scope
from reverie.models.base import Embedder
from reverie.recall.pack import tokens_of

BUDGETS = (2_000, 4_000)
OURS = "Reverie"


@dataclass(frozen=True, slots=True)
class Filled:
    """How much of a question's evidence a context held, and what it took."""

    question: Question
    share: float
    tokens: int
    ms: float = 0.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which options it takes."""
    measure.add_arguments(parser)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS, metavar="N", help="in tokens (default: 2000 4000)")
    parser.add_argument("--profile", default="default", metavar="NAME", help="how the context is made up (default: default)")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    data = measure.read(options.data, options.limit)
    with measure.home_of(options) as home:
        embedder = measure.embedder_of(options, home)
        with measure.opened(home, embedder) as mind:
            kept = measure.keep(mind, data.turns)
            budgets, everything = _contexts(mind, data, embedder, options.budgets, options.profile)
            memories = mind.status().memories
    report = {
        "set": data.name, "embedder": embedder.name if embedder else "none", "memories": memories, **kept,
        "profile": options.profile, "tokens of everything": round(everything),
        "budgets": {str(budget): _reported(budget, by_name, everything) for budget, by_name in budgets.items()},
    }  # fmt: skip
    print(json.dumps(report, ensure_ascii=False))
    print(_table(report), file=sys.stderr)
    return 0


def _contexts(
    mind: Mind, data: DataSet, embedder: Embedder | None, budgets: Sequence[int], profile: str
) -> tuple[dict[int, dict[str, list[Filled]]], float]:
    """Return for each budget what each way of filling it came to, and the tokens of everything, on average over questions."""
    questions = [question for question in data.questions if question.gold_turns]
    said = {(turn.space, turn.id): _collapsed(turn.text) for turn in data.turns}
    search = {space: Plain(mind, space, embedder) for space in {question.space for question in questions}}
    newest = {space: plain.newest() for space, plain in search.items()}
    whole = {space: tokens_of(search[space].filled(turns, sys.maxsize)) for space, turns in newest.items()}
    found: dict[int, dict[str, list[Filled]]] = {budget: {} for budget in budgets}
    for question in questions:
        evidence = [said[question.space, id] for id in question.gold_turns if (question.space, id) in said]
        vector = embedder.embed([question.text])[0].tolist() if embedder else None
        plain = search[question.space]
        rankings = plain.rankings(question.text, vector) | {"newest": newest[question.space]}
        for budget, by_name in found.items():
            began = time.perf_counter()
            made = mind.context(question.text, scope=Scope(question.space), budget=budget, profile=profile, now=question.now)
            ms = 1000 * (time.perf_counter() - began)
            texts = {OURS: made.text} | {name: plain.filled(turns, budget) for name, turns in rankings.items()}
            for name, text in texts.items():
                seen = _collapsed(text)
                share = sum(one in seen for one in evidence) / len(question.gold_turns)
                by_name.setdefault(name, []).append(Filled(question, share, tokens_of(text), ms))
    return found, sum(whole[question.space] for question in questions) / max(1, len(questions))


def _collapsed(text: str) -> str:
    return " ".join(text.split())


def _reported(budget: int, by_name: Mapping[str, Sequence[Filled]], everything: float) -> dict[str, Any]:
    ours = by_name.get(OURS, ())
    types = sorted({one.question.type for one in ours})
    report = _measured(ours)
    return report | {
        "everything / context": round(everything / report["tokens"], 1) if report.get("tokens") else None,
        "over": sum(one.tokens > budget for one in ours),
        "ms": measure.percentiles([one.ms for one in ours]),
        "types": {type: _measured([one for one in ours if one.question.type == type]) for type in types},
        "baselines": {name: _measured(some) for name, some in by_name.items() if name != OURS},
    }


def _measured(some: Sequence[Filled]) -> dict[str, Any]:
    shares = {"any": [one.share > 0 for one in some], "all": [one.share == 1 for one in some]}
    tokens = {"tokens": round(sum(one.tokens for one in some) / len(some))} if some else {}
    return {"questions": len(some), **measure.figures(shares), **tokens}


def _table(report: Mapping[str, Any]) -> str:
    """Return what each way of filling the budgets came to."""
    lines = [f"{report['set']:<16}{'budget':>10}{'any':>10}{'all':>10}{'tokens':>10}"]
    for budget, ours in report["budgets"].items():
        for name, row in {OURS: ours, **ours["baselines"]}.items():
            if row["questions"]:
                lines.append(f"{name:<16}{budget:>10}{row['any']:>10.4f}{row['all']:>10.4f}{row['tokens']:>10}")
    return "\n".join(lines)
