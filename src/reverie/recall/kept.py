"""How a recall is kept, and told again afterwards.

Kept are ids, versions and numbers, the question and what it was narrowed by; never what a memory says. An explanation reads the
texts anew, in the scope of whoever asks for it. What is kept is made beside the recall, not inside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from typing import Any

from reverie.errors import NotFound
from reverie.memory.trace import KINDS, split_id
from reverie.recall.explain import CLOSE, WAYS, Arm, Candidate, Explained, Explanation, Fate, Packed, Recollection, Why
from reverie.recall.fuse import WEIGHTINGS, Weighting
from reverie.recall.look import FOREIGN
from reverie.recall.published import WITH_VECTORS, WITHOUT_VECTORS
from reverie.store.base import Recalled, View, Where

RANKED = 60  # candidates whose numbers are kept; of the others that they were looked at
DIGITS, FINE = 4, 7  # of a candidate's numbers, and of those that were returned


@dataclass(frozen=True, slots=True)
class Request:
    """What a question was asked with; `seq` is that of the last commit it saw, `as_of` the moment it looked back to."""

    where: Where
    seq: int
    limit: int
    now: datetime
    strict: bool = False
    weighting: str = "default"
    as_of: datetime | None = None
    by_vector: bool = False
    authors: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Kept:
    """A kept recall, read again: `hits` are the candidates that came back, with their scores."""

    recalled: Recalled
    request: Request
    ranked: tuple[Candidate, ...]
    hits: tuple[tuple[Candidate, float], ...]
    packed: Packed | None
    numbers: Mapping[str, Any] = field(hash=False)


def no_recall(id: str) -> NotFound:
    """Return the error for a recall that is not kept here."""
    return NotFound(f"no recall {id!r} is kept here; recalls are kept for a while where they were asked: ask again")


def keep(
    found: Recollection,
    looked: Callable[[], Sequence[Candidate]],
    request: Request,
    at: datetime,
    packing: Callable[[], Packed] | None = None,
) -> Recalled:
    """Return what is kept of a recall; the ids of all that was looked at, since the question goes when any of it is erased.

    Candidates come in the order of their places, every hit among them; where nothing was asked, they are the hits.
    """
    ranked, packed = looked() or _newest(found), packing() if packing else None
    scores = {hit.memory.id: (round(hit.score, DIGITS), hit.why.matched) for hit in found.hits}
    number = {one.id: n for n, one in enumerate(ranked, 1)}
    for id in [*(id for id, *_ in packed.parts), *(id for id, _ in packed.dropped)] if packed else ():
        if id not in number and split_id(id, "m"):  # what a context took from elsewhere
            number[id] = len(number) + 1
    boosts = list(dict.fromkeys(name for one in ranked for name in one.why.boosts))
    where = request.where
    numbers: dict[str, Any] = {
        "confidence": found.confidence, "certainty": round(found.certainty, DIGITS), "arms": dict(found.arms),
        "cue": {name: value for name, value in _plain(found.cue).items() if name != "text" and value}, "asked": _asked(request),
        "seq": request.seq, "looked": len(ranked), "boosts": boosts, "hits": [[number[id], *scores[id]] for id in scores],
    }  # fmt: skip
    if packed is not None:
        numbers["packed"] = {"budget": packed.budget, "tokens": packed.tokens} | {
            part: [[number.get(id, id), *rest] for id, *rest in getattr(packed, part)] for part in ("parts", "dropped")
        }
    rows = [
        _row(one, boosts, FINE if one.id in scores else DIGITS) for one in ranked if one.place <= RANKED or one.id in scores
    ]
    return Recalled(
        found.id, where.scope, at, found.cue.text, tuple(number), _compact(numbers),
        tuple(filter(None, (*where.tags, where.subject, where.session, *request.authors, *found.cue.more))), _compact(rows),
    )  # fmt: skip


def read(recalled: Recalled) -> Kept:
    """Return what `keep` kept."""
    numbers = json.loads(recalled.numbers)
    ranked = {row[0]: _candidate(row, recalled.ids, numbers["boosts"]) for row in json.loads(recalled.ranked)}
    hits = []
    for n, score, matched in numbers["hits"]:
        ranked[n] = replace(ranked[n], why=replace(ranked[n].why, matched=tuple(matched)))
        hits.append((ranked[n], score))
    packed = numbers.get("packed")
    if packed is not None:
        parts, dropped = (
            tuple((recalled.ids[n - 1] if isinstance(n, int) else n, *rest) for n, *rest in packed[part])
            for part in ("parts", "dropped")
        )
        packed = Packed(packed["budget"], packed["tokens"], parts, dropped)
    request = _request(recalled, numbers["asked"], numbers["seq"])
    return Kept(recalled, request, tuple(ranked.values()), tuple(hits), packed, numbers)


def tell(kept: Kept, view: View, fate: Fate | None = None) -> Explanation:
    """Return the explanation of a kept recall, with the texts, as they were then, that may be seen where it was asked."""
    recalled, numbers, hits = kept.recalled, kept.numbers, []
    for rank, (one, score) in enumerate(() if fate else kept.hits, 1):
        is_known = view.get(one.id, Where(recalled.scope)) is not None  # what was forgotten since is not told again
        seen = {memory.version: memory for memory in view.history(one.id, recalled.scope)} if is_known else {}
        hits.append(Explained(rank, one.id, one.version, score, one.why, seen.get(one.version), one.total, one.certainty))
    returned = {one.id for one, _ in kept.hits}
    return Explanation(
        recalled.id, recalled.question, recalled.at, numbers["confidence"], numbers["certainty"], numbers["arms"], tuple(hits),
        numbers["cue"], numbers["asked"], tuple(one for one in kept.ranked if one.id not in returned), numbers["looked"],
        kept.packed, fate, *_weights(kept),
    )  # fmt: skip


def _newest(found: Recollection) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(hit.memory.id, hit.memory.version, place, 0.0, hit.why, hit.current)
        for place, hit in enumerate(found.hits, 1)
    )


def _weights(kept: Kept) -> tuple[dict[str, float], float | None]:
    """Return what words and meaning counted for, and what of its own weight meaning had: that for which the sums add up."""
    weighting = WEIGHTINGS[kept.request.weighting]
    if isinstance(weighting, Weighting):
        words, meaning = weighting.words, weighting.meaning
        shares = {share: (words, share * meaning) for share in (1.0, FOREIGN, 0.0)}
        shares = {share: (one / (one + other), other / (one + other)) for share, (one, other) in shares.items()}
    elif weighting.is_kenobot:
        return {}, None
    else:
        shares = {1.0: (WITH_VECTORS["words"], WITH_VECTORS["meaning"]), 0.0: (WITHOUT_VECTORS["words"], 0.0)}
    is_off = kept.numbers["arms"]["meaning"] == "off"
    compared = [one for one, _ in kept.hits if (one.why.words if is_off else one.why.meaning)]
    for share, (by_words, by_meaning) in shares.items():
        if compared and all(abs(_base(one) - _counted(one, by_words, by_meaning)) < CLOSE for one in compared):
            return {"words": by_words} | ({"meaning": by_meaning} if by_meaning else {}), share
    return {}, None


def _base(one: Candidate) -> float:
    return one.total - sum(one.why.boosts.values())


def _counted(one: Candidate, by_words: float, by_meaning: float) -> float:
    words, meaning = (arm.score if arm else 0.0 for arm in (one.why.words, one.why.meaning))
    return by_words * words + by_meaning * meaning


def _asked(request: Request) -> dict[str, Any]:
    where = request.where
    kinds = None if where.kinds is not None and set(where.kinds) >= set(KINDS) else where.kinds  # all of them are no choice
    asked = {
        "limit": request.limit, "now": request.now, "weighting": request.weighting, "strict": request.strict,
        "as_of": request.as_of, "by_vector": request.by_vector, "authors": request.authors, "kinds": kinds,
        "tags": where.tags, "subject": where.subject, "session": where.session, "between": where.between,
    }  # fmt: skip
    return {name: _plain(value) for name, value in asked.items() if value or (name == "kinds" and value is not None)}


def _request(recalled: Recalled, asked: Mapping[str, Any], seq: int) -> Request:
    def moment(value: str | None) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)

    as_of, between, kinds = moment(asked.get("as_of")), asked.get("between"), asked.get("kinds")
    where = Where(
        recalled.scope, None if kinds is None else tuple(kinds), tuple(asked.get("tags", ())), asked.get("subject"),
        asked.get("session"), between=between and (moment(between[0]), moment(between[1])), at=None if as_of is None else seq,
    )  # fmt: skip
    return Request(
        where, seq, asked["limit"], datetime.fromisoformat(asked["now"]), asked.get("strict", False), asked["weighting"], as_of,
        asked.get("by_vector", False), asked.get("authors", {}),
    )  # fmt: skip


def _row(one: Candidate, boosts: Sequence[str], digits: int) -> list[Any]:
    def short(value: float | None) -> float | None:
        return None if value is None else round(value, digits)

    arms: list[Arm | None] = [getattr(one.why, way) for way in WAYS]
    return [
        one.place, one.version, short(one.total), int(one.holds), short(one.certainty),
        [None if arm is None else [arm.rank, short(arm.score)] for arm in arms],
        [short(one.why.boosts.get(name)) for name in boosts],
    ]  # fmt: skip


def _candidate(row: Sequence[Any], ids: Sequence[str], boosts: Sequence[str]) -> Candidate:
    place, version, total, holds, certainty, arms, values = row
    words, meaning, time, neighbours = (None if arm is None else Arm(*arm) for arm in arms)
    given = {name: value for name, value in zip(boosts, values, strict=True) if value is not None}
    why = Why(words, meaning, time, neighbours, boosts=given)
    return Candidate(ids[place - 1], version, place, total, why, bool(holds), certainty)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, set | frozenset):
        value = sorted(value)
    return [_plain(one) for one in value] if isinstance(value, tuple | list) else value


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
