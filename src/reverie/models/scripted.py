"""A language model that says what a script tells it to, for tests and demonstrations; nothing leaves the process.

A script is JSON lines. `answer` is what is said (a text, or a value that is said as JSON), or `error` what it fails with.
`purpose` and `contains` say when a line fits: for questions of that purpose, whose text holds these words, whatever their case.
The first line that fits answers, again and again, or as many `times` as it says; no line is a `ModelError`.

    {"contains": "Oaxaca", "answer": {"facts": [{"fact": "Ana lives in Oaxaca", "quote": "I live in Oaxaca"}]}}
    {"error": "down for a while", "may_pass": true, "times": 2}
    {"purpose": "extract", "answer": {"facts": []}}
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reverie.errors import BadInput, ModelError
from reverie.memory import check
from reverie.models.base import Answer, Asked

_FORM = 'write {"answer": …} or {"error": "…"}, with "purpose", "contains" and "times" where wanted'


@dataclass(slots=True)
class _Line:
    answer: str | None
    error: str
    may_pass: bool
    purpose: str | None
    contains: str
    left: int | None

    def fits(self, asked: Asked) -> bool:
        is_meant = self.purpose in (None, asked.purpose) and self.contains in asked.text.casefold()
        return is_meant and self.left != 0


class Scripted:
    """Answers by its lines and keeps every question in `asked`; tokens are counted as four characters each."""

    def __init__(self, lines: Iterable[Mapping[str, object]], name: str = "scripted") -> None:
        self.name = name
        self.asked: list[Asked] = []
        self._lines = [_read(line, f"line {number} of {name}") for number, line in enumerate(lines, 1)]
        self._lock = threading.Lock()

    @classmethod
    def from_file(cls, path: str) -> Scripted:
        """Read a script; its name becomes the model's."""
        file = check.path(path, "the script")
        try:
            texts = file.read_text("utf-8").rstrip().splitlines()
        except (OSError, UnicodeDecodeError) as exc:
            raise BadInput(
                f"the script {path!r} cannot be read ({exc}); write scripted:FILE with a file of JSON lines"
            ) from exc
        name = f"scripted:{file.name}"
        return cls((_parsed(text, f"line {number} of {name}") for number, text in enumerate(texts, 1)), name)

    def __repr__(self) -> str:
        return f"Scripted({self.name!r})"

    def ask(self, asked: Asked) -> Answer:
        """Return what the first line that fits says."""
        with self._lock:
            self.asked.append(asked)
            line = next((line for line in self._lines if line.fits(asked)), None)
            if line is not None and line.left is not None:
                line.left -= 1
        if line is None:
            raise ModelError(f"{self.name} has no line for this question of purpose {asked.purpose!r}; {_FORM}")
        if line.answer is None:
            raise ModelError(line.error, may_pass=line.may_pass)
        return Answer(line.answer, -(-len(asked.system + asked.text) // 4), -(-len(line.answer) // 4))


def _parsed(text: str, place: str) -> Mapping[str, object]:
    try:
        line: Mapping[str, object] = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise BadInput(f"{place} is not JSON; {_FORM}") from exc
    return line


def _read(line: object, place: str) -> _Line:
    """Return a line that makes sense."""
    if not isinstance(line, Mapping) or ("answer" in line) == ("error" in line):
        raise BadInput(f"{place} has no answer or more than one; {_FORM}")
    for name in line:
        check.one_of(name, ("answer", "error", "may_pass", "purpose", "contains", "times"), f"part of a script ({place})")
    answer = line.get("answer")
    times = line.get("times")
    return _Line(
        None if "error" in line else answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False),
        str(line.get("error")),
        line.get("may_pass") is True,
        check.optional_name(line.get("purpose"), "purpose"),
        str(line.get("contains", "")).casefold(),
        None if times is None else check.count(times, "times"),
    )
