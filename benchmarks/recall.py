"""How well is what was asked for found? Real conversations, one space each, through the public verbs.

DIR holds memories.jsonl[.gz] (conversation_id, session_id, turn_id, speaker, timestamp, text, image_caption) and
queries.jsonl[.gz] (query_id, conversation_id, type, question, question_date, gold_turn_ids, gold_session_ids). Printed is one
JSON object:
  turn R@k       the mean share of a question's gold turns among the first k; all@k: all of them are there
  session R@k    the same for sessions, ranked by their first turn among the first 60; any@k: one of them is there
  types          the same by type of question; the adversarial, about what was never said, count only for the confidence
  baselines      the same for plain BM25, for the nearest vectors, and for both fused by rank
  AUROC          of the certainty: questions that can be answered against adversarial ones, and against the same questions
                 asked elsewhere, in the next conversation
  confidence     how often each word for it was said
  ms             the wall time of a recall, and of embedding a question alone, which is part of it
  disk           bytes in the home per turn; recalls are kept there too, in a named home also those of earlier runs
  hay50          with --hay, for sets that name haystacks: each question among the sessions of its own haystack only
Under "95%" stands the interval that a figure lies in, by bootstrap over the questions.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import measure
from benchmarks.baselines import Plain
from benchmarks.measure import DataSet, Question
from reverie import Memory, Mind, Scope
from reverie.models.base import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

TURNS, SESSIONS = (5, 10, 20), (5, 10)
LIMIT = 60
WORDS = ("none", "low", "medium", "high")
SHOWN = ("turn R@10", "turn all@10", "session all@5", "session any@5")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question brought to mind."""

    question: Question
    turns: tuple[str, ...]
    sessions: tuple[str, ...]
    certainty: float = 0.0
    confidence: str = "none"
    ms: float = 0.0

    def as_dict(self, elsewhere: Answer | None) -> dict[str, Any]:
        """Return it as a line of the rankings, with how sure the same question made us elsewhere."""
        line = {
            "id": self.question.id, "conversation": self.question.space, "type": self.question.type,
            "turns": self.turns, "sessions": self.sessions,
            "gold_turns": sorted(self.question.gold_turns), "gold_sessions": sorted(self.question.gold_sessions),
            "certainty": self.certainty, "confidence": self.confidence, "ms": round(self.ms, 2),
        }  # fmt: skip
        return line | ({"certainty_elsewhere": elsewhere.certainty} if elsewhere else {})


class Remembering:
    """An embedder that makes the vector of a text once, however many spaces the text stands in."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.languages, self.scale = embedder.name, embedder.languages, embedder.scale
        self._embedder = embedder
        self._made: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._made]
        if new:
            self._made |= zip(new, self._embedder.embed(new), strict=True)
        return np.stack([self._made[text] for text in texts])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which options it takes."""
    measure.add_arguments(parser)
    parser.add_argument("--rankings", type=Path, metavar="FILE", help="write what each question found, as JSON lines")
    parser.add_argument(
        "--baselines", action=argparse.BooleanOptionalAction, default=True, help="measure plain search too (default: yes)"
    )
    parser.add_argument(
        "--hay", action="store_true", help="also give each haystack a space of its own; kept in a folder beside the home"
    )


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    data = measure.read(options.data, options.limit)
    with measure.home_of(options) as home:
        embedder = measure.embedder_of(options, home)
        remembering = Remembering(embedder) if options.hay and embedder else embedder
        with measure.opened(home, remembering) as mind:
            kept = measure.keep(mind, data.turns)
            answers = [_ask(mind, question) for question in data.questions]
            adversarial = [_ask(mind, question) for question in data.adversarial]
            vectors, embedding_ms = _embedded(embedder, data.questions)
            plain = _plain(mind, data, embedder, vectors) if options.baselines else {}
            memories = mind.status().memories
        disk = _disk(home, memories)
        with measure.opened(home, remembering) as mind:
            elsewhere = _elsewhere(mind, data)
        hay: dict[str, Any] = {}
        if options.hay:
            with measure.opened(home.with_name(f"{home.name}-hay"), remembering) as mind:
                hay = _measured(_in_haystacks(mind, data))
    if options.rankings:
        lines = [answer.as_dict(elsewhere.get(answer.question.id)) for answer in (*answers, *adversarial)]
        options.rankings.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    overall = _measured(answers)
    sureness = {
        "answerable": [answer for answer in answers if not answer.question.abstains],
        "adversarial": adversarial,
        "elsewhere": list(elsewhere.values()),
    }
    aurocs = _aurocs(sureness)
    overall["95%"] |= {name: between for name, (_, between) in aurocs.items()}
    report = {
        "set": data.name, "embedder": embedder.name if embedder else "none", "memories": memories, **kept,
        **overall, **{name: value for name, (value, _) in aurocs.items()},
        **({"hay50": hay} if hay else {}),
        "baselines": {name: _measured(some, SHOWN) for name, some in plain.items()},
        "confidence": _words(sureness),
        "ms": {
            "recall": measure.percentiles([answer.ms for answer in answers]),
            "embedding the question": measure.percentiles(embedding_ms),
        },
        "disk": disk,
        "types": {type: _measured(some) for type, some in _by_type(answers).items()},
    }  # fmt: skip
    print(json.dumps(report, ensure_ascii=False))
    print(_table(report), file=sys.stderr)
    return 0


# asking


def _ask(mind: Mind, question: Question, space: str | None = None) -> Answer:
    began = time.perf_counter()
    found = mind.recall(question.text, scope=Scope(space or question.space), limit=LIMIT, kinds=("turn",), now=question.now)
    ms = 1000 * (time.perf_counter() - began)
    return replace(
        _answer(question, [hit.memory for hit in found.hits]), certainty=found.certainty, confidence=found.confidence, ms=ms
    )


def _answer(question: Question, turns: Iterable[Memory]) -> Answer:
    found = [(str(turn.message_id), str(turn.origin.session)) for turn in turns]
    return Answer(question, tuple(turn for turn, _ in found), tuple(dict.fromkeys(session for _, session in found)))


def _elsewhere(mind: Mind, data: DataSet) -> dict[str, Answer]:
    """Ask what can be answered in the next conversation, where nobody said it."""
    spaces = data.spaces
    if len(spaces) < 2:
        return {}
    asked = [question for question in data.questions if not question.abstains]
    return {question.id: _ask(mind, question, measure.following(question.space, spaces)) for question in asked}


def _in_haystacks(mind: Mind, data: DataSet) -> list[Answer]:
    """Ask each question in a space that holds the sessions of its haystack and nothing else."""
    asked = [question for question in data.questions if question.haystack]
    hay = (replace(turn, space=one.id) for one in asked for turn in data.turns if turn.session in one.haystack)
    measure.keep(mind, hay)
    return [_ask(mind, question, question.id) for question in asked]


def _embedded(embedder: Embedder | None, questions: Sequence[Question]) -> tuple[list[Sequence[float] | None], list[float]]:
    """Return the vectors of questions, embedded one by one as a recall does, and the milliseconds each took."""
    if embedder is None:
        return [None] * len(questions), []
    vectors: list[Sequence[float] | None] = []
    took_ms: list[float] = []
    for question in questions:
        began = time.perf_counter()
        vectors.append(embedder.embed([question.text])[0].tolist())
        took_ms.append(1000 * (time.perf_counter() - began))
    return vectors, took_ms


def _plain(
    mind: Mind, data: DataSet, embedder: Embedder | None, vectors: Sequence[Sequence[float] | None]
) -> dict[str, list[Answer]]:
    answers: dict[str, list[Answer]] = {}
    search = {space: Plain(mind, space, embedder) for space in {question.space for question in data.questions}}
    for question, vector in zip(data.questions, vectors, strict=True):
        for name, turns in search[question.space].rankings(question.text, vector).items():
            answers.setdefault(name, []).append(_answer(question, turns[:LIMIT]))
    return answers


# figures


def _measured(answers: Sequence[Answer], only: Collection[str] = ()) -> dict[str, Any]:
    columns: dict[str, list[float]] = {}
    for answer in answers:
        for what, ranked, gold, ks in (
            ("turn", answer.turns, answer.question.gold_turns, TURNS),
            ("session", answer.sessions, answer.question.gold_sessions, SESSIONS),
        ):
            for k in ks if gold else ():
                share = len(gold.intersection(ranked[:k])) / len(gold)
                columns.setdefault(f"{what} R@{k}", []).append(share)
                columns.setdefault(f"{what} all@{k}", []).append(share == 1)
                if what == "session":
                    columns.setdefault(f"{what} any@{k}", []).append(share > 0)
    wanted = {name: values for name, values in columns.items() if not only or name in only}
    return {"questions": len(answers), **measure.figures(wanted)}


def _by_type(answers: Iterable[Answer]) -> dict[str, list[Answer]]:
    types: dict[str, list[Answer]] = {}
    for answer in answers:
        types.setdefault(answer.question.type, []).append(answer)
    return dict(sorted(types.items()))


def _aurocs(groups: Mapping[str, Sequence[Answer]]) -> dict[str, tuple[float, list[float]]]:
    sure = [answer.certainty for answer in groups["answerable"]]
    others = {name: [answer.certainty for answer in groups[name]] for name in ("adversarial", "elsewhere")}
    return {f"AUROC {name}": measure.auroc(sure, unsure) for name, unsure in others.items() if sure and unsure}


def _words(groups: Mapping[str, Sequence[Answer]]) -> dict[str, dict[str, float]]:
    """Return how often each word for the confidence was said."""
    return {
        name: {word: round(sum(answer.confidence == word for answer in group) / len(group), 4) for word in WORDS}
        for name, group in groups.items()
        if group
    }


def _disk(home: Path, memories: int) -> dict[str, float]:
    sizes = {path: path.stat().st_size for path in home.rglob("*") if path.is_file()}
    spaces = sum(size for path, size in sizes.items() if path.parent.name == "spaces")
    everything = sum(sizes.values())
    return {
        "bytes per turn": round(everything / max(1, memories)),
        "of it spaces": round(spaces / max(1, memories)),
        "of it recalls": round((everything - spaces) / max(1, memories)),
    }


def _table(report: Mapping[str, Any]) -> str:
    """Return what was found beside what plain search finds."""
    rows = {"Reverie": report, **report["baselines"], **({"Reverie, hay50": report["hay50"]} if "hay50" in report else {})}
    lines = [f"{report['set']:<16}" + "".join(f"{name:>16}" for name in SHOWN)]
    for name, row in rows.items():
        lines.append(f"{name:<16}" + "".join(f"{row[column]:>16.4f}" if column in row else f"{'':>16}" for column in SHOWN))
    return "\n".join(lines)
