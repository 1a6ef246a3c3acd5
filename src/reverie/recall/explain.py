"""What a recall returns: hits, and for each the reasons it is there; and how that is kept and told again afterwards.

Kept are ids, versions and numbers, and the question; never what a memory says. An explanation reads the texts anew, in the
scope of whoever asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from reverie.errors import NotFound
from reverie.memory.scope import Scope
from reverie.memory.trace import Memory
from reverie.store.base import Recalled, View, Where

BAR = 10  # characters
WAYS = ("words", "meaning", "time", "neighbours")


@dataclass(frozen=True, slots=True)
class Arm:
    """Where one way of looking put a hit."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Why:
    """Why a hit is where it is; a way of looking that did not find it, or was off, is None."""

    words: Arm | None = None
    meaning: Arm | None = None
    time: Arm | None = None
    neighbours: Arm | None = None
    matched: tuple[str, ...] = ()
    boosts: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that was found; `current` is False when the time it held has passed."""

    memory: Memory
    score: float
    current: bool
    source: str | None
    why: Why


@dataclass(frozen=True, slots=True)
class Cue:
    """What was understood of the question."""

    text: str
    words: tuple[str, ...]
    time: tuple[datetime, datetime] | None = None


@dataclass(frozen=True, slots=True)
class Recollection:
    """What came to mind."""

    id: str
    cue: Cue
    hits: tuple[Hit, ...]
    confidence: str
    certainty: float
    arms: Mapping[str, str] = field(hash=False)

    def __str__(self) -> str:
        if not self.hits:
            return f"nothing said about {self.cue.text!r}"
        lines = (f"{hit.score:4.2f}  {hit.memory}{'' if hit.current else '  (no longer)'}" for hit in self.hits)
        return "\n".join([f"{self.confidence} confidence ({self.certainty:.2f})", *lines])


@dataclass(frozen=True, slots=True)
class Explained:
    """One hit of a kept recall; `memory` is None if it is no longer to be seen here."""

    rank: int
    id: str
    version: int
    score: float
    why: Why
    memory: Memory | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a recall came out as it did."""

    id: str
    question: str
    at: datetime
    confidence: str
    certainty: float
    arms: Mapping[str, str] = field(hash=False)
    hits: tuple[Explained, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        hits = [
            {
                "rank": hit.rank,
                "id": hit.id,
                "version": hit.version,
                "score": hit.score,
                "text": hit.memory.text if hit.memory else None,
                **_numbers(hit.why),
            }
            for hit in self.hits
        ]
        return {
            "id": self.id, "question": self.question, "at": self.at.isoformat(), "confidence": self.confidence,
            "certainty": self.certainty, "arms": dict(self.arms), "hits": hits,
        }  # fmt: skip

    def __str__(self) -> str:
        off = ", ".join(f"{way}: {state}" for way, state in self.arms.items() if state != "on")
        lines = [f"asked {self.question!r} at {self.at:%Y-%m-%d %H:%M}: {self.confidence} confidence ({self.certainty:.2f})"]
        lines += [f"ways of looking not fully on: {off}"] if off else []
        for hit in self.hits:
            lines.append(f"{hit.rank:>2}. {hit.score:.2f}  {hit.memory or '(no longer to be seen here)'}")
            for way in WAYS:
                arm: Arm | None = getattr(hit.why, way)
                if arm is not None:
                    filled = round(BAR * min(1.0, max(0.0, arm.score)))
                    matched = f"  {', '.join(hit.why.matched)}" if way == "words" else ""
                    lines.append(
                        f"      {way:<10} {'█' * filled}{'·' * (BAR - filled)} {arm.score:.2f}, place {arm.rank}{matched}"
                    )
            boosts = ", ".join(f"{name} {value:+.2f}" for name, value in hit.why.boosts.items())
            lines += [f"      boosts     {boosts}"] if boosts else []
        return "\n".join(lines if self.hits else [*lines, "nothing was found"])


def _numbers(why: Why) -> dict[str, Any]:
    arms = {way: {"rank": arm.rank, "score": arm.score} for way in WAYS if (arm := getattr(why, way))}
    return arms | ({"matched": list(why.matched)} if why.matched else {}) | ({"boosts": dict(why.boosts)} if why.boosts else {})


def no_recall(id: str) -> NotFound:
    """Return the error for a recall that is not kept here."""
    return NotFound(f"no recall {id!r} is kept here; recalls are kept for a while where they were asked: ask again")


def keep(recollection: Recollection, considered: tuple[str, ...], scope: Scope, at: datetime) -> Recalled:
    """Return what is kept of a recall; the ids of all that was considered, since the question goes when any of it is erased."""
    hits = [[hit.memory.id, hit.memory.version, round(hit.score, 4), _numbers(hit.why)] for hit in recollection.hits]
    numbers = {
        "confidence": recollection.confidence, "certainty": round(recollection.certainty, 4),
        "arms": dict(recollection.arms), "hits": hits,
    }  # fmt: skip
    return Recalled(recollection.id, scope, at, recollection.cue.text, considered, json.dumps(numbers, ensure_ascii=False))


def tell(recalled: Recalled, view: View) -> Explanation:
    """Return the explanation of a kept recall, with the texts, as they were then, that may be seen where it was asked."""
    numbers = json.loads(recalled.numbers)
    hits = []
    for rank, (id, version, score, why) in enumerate(numbers["hits"], 1):
        is_known = view.get(id, Where(recalled.scope)) is not None  # what was forgotten since is not told again
        seen = {memory.version: memory for memory in view.history(id, recalled.scope)} if is_known else {}
        hits.append(Explained(rank, id, version, score, _why(why), seen.get(version)))
    return Explanation(
        recalled.id, recalled.question, recalled.at, numbers["confidence"], numbers["certainty"], numbers["arms"], tuple(hits)
    )


def _why(numbers: Mapping[str, Any]) -> Why:
    arms = {way: Arm(**numbers[way]) for way in WAYS if way in numbers}
    return Why(**arms, matched=tuple(numbers.get("matched", ())), boosts=numbers.get("boosts", {}))
