"""What a recall returns: hits, and for each the reasons it is there; and the explanation that can be asked for afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from reverie.memory.trace import Memory
from reverie.recall import gate
from reverie.recall.time import Time

BAR = 10  # characters
SAID = 12  # words of a question that are told as understood
CLOSE = 0.005  # numbers that two digits do not tell apart
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
    words: tuple[str, ...] = ()
    time: tuple[datetime, datetime] | None = None  # in which to look
    more: tuple[str, ...] = ()  # words that an expansion added
    language: str = "en"
    kind: str = "statement"  # what is asked for: when, who, where, …
    names: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()  # what stands in quotes
    times: tuple[Time, ...] = ()
    unclear: tuple[str, ...] = ()  # times that cannot be, or that may be read otherwise


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
        doubts = doubtful(self.cue)
        if not self.hits:
            return "\n".join([f"nothing said about {self.cue.text!r}", *doubts])
        lines = (f"{hit.score:4.2f}  {hit.memory}{'' if hit.current else '  (no longer)'}" for hit in self.hits)
        return "\n".join([f"{self.confidence} confidence ({self.certainty:.2f})", *doubts, *lines])


@dataclass(frozen=True, slots=True)
class Candidate:
    """What was looked at, in its place of the ranking; `total` is what the ways of looking and the boosts come to.

    `certainty` is how sure it alone makes us, where that was asked; what no longer `holds` comes after what does.
    """

    id: str
    version: int
    place: int
    total: float
    why: Why
    holds: bool = True
    certainty: float | None = None


@dataclass(frozen=True, slots=True)
class Packed:
    """What became of the hits in a context: (id, section, tokens) of what is in it, (id, reason) of what is not."""

    budget: float
    tokens: int
    parts: tuple[tuple[str, str, int], ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """One hit of a kept recall; `memory` is None if it is no longer to be seen here."""

    rank: int
    id: str
    version: int
    score: float
    why: Why
    memory: Memory | None
    total: float = 0.0
    certainty: float | None = None


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one memory in a recall: the step at which it fell out, why, and by how much.

    `instead` is what the memory said at the time. `ranked` is where it came, `last` the last that was returned; both are of
    asking again, as of then, where the memory is not among the candidates that were kept.
    """

    step: str
    reason: str
    memory: Memory | None = None
    instead: Memory | None = None
    ranked: Candidate | None = None
    last: Candidate | None = None
    asked_again: bool = False
    figures: Mapping[str, float] = field(default_factory=dict, hash=False)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        short_by = self.last.total - self.ranked.total if self.ranked and self.last else None
        return {
            "step": self.step, "reason": self.reason, "memory": _told(self.memory), "instead": _told(self.instead),
            "ranked": self.ranked and _ranked(self.ranked), "last": self.last and _ranked(self.last), "short_by": short_by,
            "asked_again": self.asked_again, "figures": dict(self.figures),
        }  # fmt: skip

    def __str__(self) -> str:
        own = [f"    {self.memory}"] if self.memory else []
        instead = [f"    {self.instead}"] if self.instead else []
        return "\n".join([*own, self.reason, *instead, *self.bars()])

    def bars(self) -> list[str]:
        """Return how each way of looking took it and the last one returned, a line each."""
        if self.ranked is None or self.last is None:
            return []
        lines = []
        for way in WAYS:
            own, theirs = (getattr(one.why, way) for one in (self.ranked, self.last))
            if own or theirs:
                lines.append(f"      {way:<10} {bar(own)}, against {bar(theirs)}")
        own, theirs = (sum(one.why.boosts.values()) for one in (self.ranked, self.last))
        return [*lines, f"      {'boosts':<10} {own:+.2f}, against {theirs:+.2f}"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a recall came out as it did; with a `fate`, why one memory did not come out of it.

    `weights` are what words and meaning counted for, `share` what of its own weight meaning had; where that can be told.
    """

    id: str
    question: str
    at: datetime
    confidence: str
    certainty: float
    arms: Mapping[str, str] = field(hash=False)
    hits: tuple[Explained, ...] = ()
    cue: Mapping[str, Any] = field(default_factory=dict, hash=False)
    asked: Mapping[str, Any] = field(default_factory=dict, hash=False)
    others: tuple[Candidate, ...] = ()
    considered: int = 0
    packed: Packed | None = None
    fate: Fate | None = None
    weights: Mapping[str, float] = field(default_factory=dict, hash=False)
    share: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        head = {"id": self.id, "question": self.question, "at": self.at.isoformat()}
        if self.fate is not None:
            return head | self.fate.as_dict()
        hits = [
            {
                "rank": hit.rank,
                "id": hit.id,
                "version": hit.version,
                "score": hit.score,
                "text": hit.memory.text if hit.memory else None,
                "total": hit.total,
                "certainty": hit.certainty,
                **_numbers(hit.why),
            }
            for hit in self.hits
        ]
        packed = self.packed and {
            "budget": self.packed.budget, "tokens": self.packed.tokens,
            "parts": [{"id": id, "section": section, "tokens": tokens} for id, section, tokens in self.packed.parts],
            "dropped": [{"id": id, "reason": reason} for id, reason in self.packed.dropped],
        }  # fmt: skip
        return head | {
            "confidence": self.confidence, "certainty": self.certainty, "arms": dict(self.arms), "cue": dict(self.cue),
            "asked": dict(self.asked), "weights": dict(self.weights), "hits": hits, "considered": self.considered,
            "others": [_ranked(one) for one in self.others], "packed": packed,
        }  # fmt: skip

    def __str__(self) -> str:
        asked = f"{self.opening()} at {self.at:%Y-%m-%d %H:%M}"
        if self.fate is not None:
            return f"{asked}; why not\n{self.fate}"
        # A question that names no time is not looked for by time: nothing to tell.
        off = ", ".join(f"{way}: {state}" for way, state in self.arms.items() if state != "on" and way != "time")
        lines = [f"{asked}: {self.confidence} confidence ({self.certainty:.2f})" if self.is_question else asked]
        lines += [f"ways of looking not fully on: {off}"] if off and self.is_question else []
        lines += self.heads()
        for hit in self.hits:
            lines.append(f"{hit.rank:>2}. {hit.score:.2f}  {hit.memory or '(no longer to be seen here)'}")
            for way in WAYS:
                arm: Arm | None = getattr(hit.why, way)
                if arm is not None:
                    matched = f"  {', '.join(hit.why.matched)}" if way == "words" and hit.why.matched else ""
                    lines.append(f"      {way:<10} {bar(arm)}{matched}")
            boosts = ", ".join(f"{name} {value:+.2f}" for name, value in hit.why.boosts.items())
            lines += [f"      boosts     {boosts}"] if boosts else []
            in_all = self.in_all(hit)
            lines += [f"      in all     {in_all}"] if in_all else []
        lines += [] if self.hits else [self.nothing()]
        return "\n".join([*lines, *self.tails()])

    @property
    def is_question(self) -> bool:
        """Whether anything was asked; otherwise the newest was listed."""
        return bool(self.question.strip() or self.asked.get("by_vector"))

    def opening(self) -> str:
        """Return what was asked, in a few words."""
        if self.question.strip():
            return f"asked {self.question!r}"
        return "asked with a vector" if self.is_question else "asked for the newest"

    def nothing(self) -> str:
        """Return why nothing came back."""
        near = [one for one in self.others if one.place <= self.asked["limit"]]
        if not (self.asked.get("strict") and near):
            return "nothing was found"
        if (weighting := self.asked["weighting"]) != "default":
            return f"nothing got through the gate that {weighting} has for strict; the best had {near[0].total:.2f} in all"
        sure = max(one.certainty or 0.0 for one in near)
        return f"nothing was sure enough: the best had certainty {sure:.2f}, strict wants more than {gate.STRICT:.2f}"

    def in_all(self, hit: Explained) -> str:
        """Return the sum that the total of a hit is."""
        arms = {way: arm for way in self.weights if (arm := getattr(hit.why, way))}
        if not (hit.total or hit.why.boosts):
            return ""
        boosts = sum(hit.why.boosts.values())
        base = hit.total - boosts
        parts = [f"{self.weights[way]:.2f} × {arm.score:.2f} {way}" for way, arm in arms.items()]
        is_told = abs(sum(self.weights[way] * arm.score for way, arm in arms.items()) - base) < CLOSE
        if not (boosts or (parts and is_told)):
            return f"{hit.total:.4f}"
        sums = parts if is_told else [f"{base:.2f}"]  # what has no vector yet counts by its words alone
        return " + ".join([*sums, *([f"{boosts:.2f} boosts"] if boosts else [])]) + f" = {hit.total:.2f}"

    def counting(self) -> list[str]:
        """Return how a score comes about, in a line."""
        best = max(self.hits, key=lambda hit: hit.score, default=None)
        if best is None or best.score <= 0:
            return []
        foreign = " (the embedder does not know the language of the question)" if self.share not in (None, 0.0, 1.0) else ""
        weights = ", meaning ".join(f"{weight:.2f}" for weight in self.weights.values())
        if self.asked["weighting"] != "default":
            return [f"scores: what a hit has in all, by {self.asked['weighting']}"]
        top = self.certainty * best.total / best.score
        score = f"scores: certainty {self.certainty:.2f} × what a hit has in all / {top:.2f}, the best"
        return [f"{score}; words count {weights}{foreign}" if weights else score]

    def heads(self) -> list[str]:
        """Return what was understood and asked for, and how it was counted, a line each."""
        named = {"understood": self.cue if self.question.strip() else {}, "asked for": self.asked}
        told = {
            head: [f"{name} {_said(value)}" for name, value in parts.items() if name not in _UNTOLD]
            for head, parts in named.items()
        }
        return [*(f"{head}: {'; '.join(parts)}" for head, parts in told.items() if parts), *self.counting()]

    def tails(self) -> list[str]:
        """Return what did not come back, and what a context made of it, a line each."""
        lines = []
        if self.others and self.hits:
            first, last = self.others[0], self.others[-1]
            down_to = f" to {last.total:.2f} at place {last.place}" if last != first else ""
            more = f"{self.considered - len(self.hits)} more: {first.total:.2f} at place {first.place}{down_to}"
            lines.append(f"{more}; the last one returned had {self.hits[-1].total:.2f} in all")
        if self.packed is not None:
            sections = dict.fromkeys(section for _, section, _ in self.packed.parts)
            tokens = {name: [n for _, section, n in self.packed.parts if section == name] for name in sections}
            held = "; ".join(f"{name} {len(counts)} in {sum(counts):,}" for name, counts in tokens.items())
            reasons = [reason for _, reason in self.packed.dropped]
            left = "; ".join(f"{reasons.count(reason)} out: {reason}" for reason in dict.fromkeys(reasons))
            lines.append(f"packed into {self.packed.tokens:,} of {self.packed.budget:,} tokens: {held or 'nothing'}")
            lines += [left] if left else []
        return lines


_UNTOLD = frozenset({"limit", "now", "weighting", "language", "times"})  # for programs alone


def bar(arm: Arm | None) -> str:
    """Return what one way of looking said, as people see it at a glance."""
    filled = round(BAR * min(1.0, max(0.0, arm.score))) if arm else 0
    said = f"{arm.score:.2f}, place {arm.rank}" if arm else "–"
    return f"{'█' * filled}{'·' * (BAR - filled)} {said}"


def doubtful(cue: Cue) -> list[str]:
    """Return the times of a question that cannot be, or that may be read otherwise, in a line; none if all is clear."""
    return [f"unclear when: {', '.join(cue.unclear)}"] if cue.unclear else []


def _said(value: object) -> str:
    if isinstance(value, list) and len(value) == 2 and any(isinstance(one, str) and one[10:11] == "T" for one in value):
        return " to ".join(str(one)[:16].replace("T", " ") if one else "…" for one in value)
    if isinstance(value, list):
        return ", ".join(_said(one) for one in value[:SAID]) + (" …" if len(value) > SAID else "")
    return str(value)


def _told(memory: Memory | None) -> dict[str, Any] | None:
    return None if memory is None else {"id": memory.id, "version": memory.version, "text": memory.text}


def _ranked(one: Candidate) -> dict[str, Any]:
    own = {"id": one.id, "version": one.version, "place": one.place, "total": one.total, "holds": one.holds}
    return own | {"certainty": one.certainty, **_numbers(one.why)}


def _numbers(why: Why) -> dict[str, Any]:
    arms = {way: {"rank": arm.rank, "score": arm.score} for way in WAYS if (arm := getattr(why, way))}
    return arms | ({"matched": list(why.matched)} if why.matched else {}) | ({"boosts": dict(why.boosts)} if why.boosts else {})
