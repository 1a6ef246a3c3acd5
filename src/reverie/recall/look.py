"""A recall from end to end: look by words and by meaning, fuse, gate, and build only what is returned.

Candidates are the best few hundred by each way of looking, in a small space all there is; unless `strict`, none is dropped
for being weak. What has no vector yet is judged by its words. Recall writes nothing.
"""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from reverie.errors import BadInput
from reverie.memory.language import UNSPACED, Query, language_of, query, words_of
from reverie.memory.trace import new_tail, space_mark
from reverie.models.base import Embedder
from reverie.recall import fuse, gate, words
from reverie.recall.explain import Arm, Cue, Hit, Recollection, Why
from reverie.recall.fuse import Asked, Ranked, Weighting
from reverie.store.base import Near, Outline, View, Where, unit

if TYPE_CHECKING:
    from reverie.store.base import Floats

WIDE, WIDER = 100, 500  # candidates by words, each of which costs time, and by meaning, which hardly do
HEAD = 30
MOST_SIGNS, MOST_WORDS = 20_000, 1_000  # of a question; the time that a search takes grows with them
SHORTEST = 3  # characters of a question that has a meaning (C2)
log = logging.getLogger(__name__)
_FIRST_PERSON = re.compile(r"\b(i|i'm|i've|my|me|mine|yo|mi|mis)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Meaning:
    """The question as a vector, the model it is one of, and what is known of that."""

    vector: Floats | Sequence[float]
    model: str
    languages: frozenset[str] | None
    scale: tuple[float, float]


class Knows(Protocol):
    """What turns a question into a vector."""

    @property
    def embedder(self) -> Embedder | None:
        """The embedder in use, if any."""

    def of(self, text: str) -> Floats | None:
        """Return the vector of a question."""

    def length(self) -> int | None:
        """Return how many numbers a vector has, if that can be told."""


def meaning_of(text: str, vector: Sequence[float] | None, knows: Knows) -> Meaning | None:
    """Return the meaning of a question, its own or the one given for it; None where there is nothing to compare it with."""
    embedder = knows.embedder
    if embedder is None:
        if vector is not None:
            raise BadInput("this mind has no embedder to compare a vector with; leave vector out")
        return None
    scale = getattr(embedder, "scale", (0.0, 1.0))  # not every one says, nor the languages it knows
    if vector is not None:
        return Meaning(unit(vector, knows.length()), embedder.name, None, scale)  # whatever language it was made of
    found = knows.of(text[:MOST_SIGNS]) if len(text.strip()) >= SHORTEST else None
    return None if found is None else Meaning(found, embedder.name, getattr(embedder, "languages", None), scale)


def recall(
    view: View,
    text: str,
    meaning: Meaning | None,
    where: Where,
    limit: int,
    now: datetime,
    strict: bool,
    weighting: Weighting,
) -> tuple[Recollection, tuple[str, ...]]:
    """Return what comes to mind, and the ids of all that was considered; without any text or vector the newest that fits."""
    cue = query(text[:MOST_SIGNS])
    cue = Query(cue.words[:MOST_WORDS], cue.language)
    named = Cue(text, tuple(word.text for word in cue.words))
    # Any number of questions may be asked of one moment: what orders memories within a commit tells these apart by chance.
    id = f"r-{space_mark(view.space)}-{new_tail(now, random.getrandbits(20))}"
    if not text.strip() and meaning is None:
        return Recollection(id, named, _newest(view, where, limit, now), "none", 0.0, _arms(None, view, where)), ()
    wide = max(limit, WIDE)
    by_words = words.look(view, cue, where, wide, now) if cue.words else {}
    share = _share(text, meaning, weighting)
    near = Near([])
    if meaning is not None and share:
        try:
            near = view.search_vectors(meaning.vector, meaning.model, "turn", where, max(limit, WIDER), list(by_words))
        except BadInput as exc:  # the embedder makes vectors of another length than those kept under its name
            log.warning("recall goes on by words alone: %s", exc)
            share = 0.0
    by_meaning = {match.key: match.score for match in near.matches}
    found = fuse.fuse(by_words, by_meaning, near.lowest, weighting, share)
    head = list(found.base)[: max(3 * limit, HEAD)]
    beside = fuse.beside(view.around(head, where), found.base)
    outlines = view.outlines(list(dict.fromkeys((*head, *beside))))
    asked = Asked(now, where.scope.channel, *_named(text[:MOST_SIGNS], outlines))
    ranked = fuse.rank(found, outlines, beside, asked, weighting)
    near_by = {one.outline.key: one.neighbours for one in ranked if one.neighbours}
    places = _places(by_words), _places(by_meaning), _places(near_by)
    arms = _arms(meaning if share else None, view, where)
    found_now = _gated(view, id, named, cue, ranked, places, by_meaning, meaning, where, limit, strict, arms)
    return found_now, tuple(one.outline.id for one in ranked)


def _gated(
    view: View,
    id: str,
    named: Cue,
    cue: Query,
    ranked: list[Ranked],
    places: tuple[dict[int, int], dict[int, int], dict[int, int]],
    by_meaning: dict[int, float],
    meaning: Meaning | None,
    where: Where,
    limit: int,
    strict: bool,
    arms: dict[str, str],
) -> Recollection:
    """Fetch the best, tell how sure they make us, and leave out the weak if asked to."""
    best = ranked[:limit]
    memories = view.fetch([one.outline.key for one in best], where.at)
    had = words.matched(cue, memories)
    shares = [len(matched) / max(1, len(cue.words)) for matched in had]
    alike = [
        gate.likeness(by_meaning[one.outline.key], meaning.scale) if meaning and one.outline.key in by_meaning else None
        for one in best
    ]
    sure = [gate.certainty(share, close) for share, close in zip(shares, alike, strict=True)]
    certainty = max(sure[:3], default=0.0)
    top = max((one.score for one in best), default=0.0)
    hits = []
    for one, memory, matched, own in zip(best, memories, had, sure, strict=True):
        if strict and own <= gate.STRICT:
            continue
        score = min(1.0, certainty * max(0.0, one.score) / top) if top > 0 else 0.0
        why = Why(
            _arm(places[0], one, one.words), _arm(places[1], one, one.meaning), None, _arm(places[2], one, one.neighbours),
            matched, {name: round(value, 4) for name, value in one.boosts.items() if value},
        )  # fmt: skip
        hits.append(Hit(memory, score, one.holds, memory.source.place, why))
    if not hits:
        certainty = 0.0
    return Recollection(id, named, tuple(hits), gate.confidence(certainty), certainty, arms)


def _newest(view: View, where: Where, limit: int, now: datetime) -> tuple[Hit, ...]:
    memories = view.fetch([match.key for match in view.newest(where, limit)], where.at)
    return tuple(
        Hit(memory, 0.0, memory.valid_until is None or memory.valid_until > now, memory.source.place, Why())
        for memory in memories
    )


def _arms(meaning: Meaning | None, view: View, where: Where) -> dict[str, str]:
    is_pending = meaning is not None and view.lacks(meaning.model, where)
    return {
        "words": "on",
        "meaning": "off" if meaning is None else "pending" if is_pending else "on",
        "time": "off",
        "neighbours": "on",
    }


def _share(text: str, meaning: Meaning | None, weighting: Weighting) -> float:
    """Return what of the weight of meaning applies to a question in this language; in a script it never saw, noise is all."""
    if meaning is None:
        return 0.0
    if meaning.languages is None or not text.strip():
        return 1.0
    language = language_of(text)
    return 1.0 if language in meaning.languages else 0.0 if language in UNSPACED else weighting.foreign


def _named(text: str, outlines: Sequence[Outline]) -> tuple[str | None, str | None]:
    """Return the one speaker whom a question names, else the role of who asks about themselves in a chat with an assistant."""
    said = words_of(text)
    speakers = {outline.speaker for outline in outlines if outline.speaker and outline.speaker != outline.role}
    folded = text.casefold()
    # Taking names apart takes time: first whether a part of one is in the question at all.
    likely = (one for one in speakers if any(part in folded for part in one.casefold().split()))
    named = [speaker for speaker in likely if not words_of(speaker).isdisjoint(said)]
    if len(named) == 1:
        return named[0], None
    roles = {outline.role for outline in outlines}
    return None, "user" if "assistant" in roles and _FIRST_PERSON.search(text) else None


def _places(scores: dict[int, float]) -> dict[int, int]:
    return {key: place for place, key in enumerate(sorted(scores, key=scores.__getitem__, reverse=True), 1)}


def _arm(places: dict[int, int], one: Ranked, score: float | None) -> Arm | None:
    return None if score is None or one.outline.key not in places else Arm(places[one.outline.key], score)
