"""A recall from end to end: look by words and by meaning, fuse, gate, and build only what is returned.

Candidates are the best few hundred by each way of looking, in a small space all there is; unless `strict`, none is dropped
for being weak. What has no vector yet is judged by its words. Recall writes nothing.
"""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Protocol

from reverie.errors import BadInput
from reverie.memory.language import LATIN, UNSPACED, Query, fold, is_beyond_latin, language_of, query, words_of
from reverie.memory.trace import new_tail, space_mark
from reverie.models.base import Embedder
from reverie.recall import fuse, gate, published, words
from reverie.recall.cue import understand
from reverie.recall.explain import WAYS, Arm, Candidate, Cue, Hit, Recollection, Why
from reverie.recall.fuse import Asked, Ranked, Weighting
from reverie.recall.published import Published
from reverie.store.base import Near, Outline, View, Where, unit

if TYPE_CHECKING:
    from reverie.store.base import Floats

WIDE, WIDER = 100, 200  # candidates by words, each of which costs time, and by meaning, which hardly do
HEAD, MORE = 16, 6  # candidates that are looked at among the turns around them: so many, or so many more than are wanted
TELLING = 3  # hits that tell how sure we are
FOREIGN = 0.2  # of the weight of meaning, where the embedder does not know the language
MOST_SIGNS, MOST_WORDS = 20_000, 1_000  # of a question; the time that a search takes grows with them
SHORTEST = 3  # characters of a question that has a meaning (C2)
log = logging.getLogger(__name__)
ROLES = ("user", "assistant")
Places = Mapping[str, Mapping[int, int]]
_HAPPENED = frozenset(
    {"happen", "happened", "happens", "did", "done", "said"}
    | {"pasó", "paso", "pasado", "ocurrió", "hice", "hizo", "hicimos", "dije", "dijo", "dijimos"}
)
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


@dataclass(frozen=True, slots=True)
class Found:
    """What each way of looking found: BM25, cosines and what tells more of them, and what is dated in the time asked for.

    `share` is what of the weight of meaning applies; `is_latin` says that the embedder reads no other script.
    """

    words: Mapping[int, float]
    meaning: Mapping[int, float]
    near: Near
    dated: tuple[int, ...]
    share: float
    is_latin: bool


def recall(
    view: View,
    text: str,
    meaning: Meaning | None,
    where: Where,
    limit: int,
    now: datetime,
    strict: bool,
    weighting: Weighting | Published,
    authors: Mapping[str, float],
    more: tuple[str, ...] = (),
) -> tuple[Recollection, Callable[[], tuple[Candidate, ...]]]:
    """Return what comes to mind, and what tells of all that was looked at; without any text or vector the newest that fits.

    `now` is in the zone of whoever asks; `more` are words that an expansion added.
    """
    sought = query(" ".join((text[:MOST_SIGNS], *more)))
    sought = Query(sought.words[:MOST_WORDS], sought.language)
    cue = replace(understand(text[:MOST_SIGNS], now, now.tzinfo or UTC, sought), text=text, more=more)
    # Any number of questions may be asked of one moment: what orders memories within a commit tells these apart by chance.
    id = f"r-{space_mark(view.space)}-{new_tail(now, random.getrandbits(20))}"
    if not cue.text.strip() and meaning is None:
        return Recollection(id, cue, newest(view, where, limit, now), "none", 0.0, _arms(None, view, where, cue)), tuple
    found = _find(view, sought, cue, meaning, where, limit, now)
    arms = _arms(meaning if found.share else None, view, where, cue)
    if isinstance(weighting, Published):
        scored = weighting.rank(cue.text[:MOST_SIGNS], _described(view, found, where), now, where.scope.channel, cue.more)
        ranked = [_as_ranked(one, now) for one in scored]
        speaker, _ = _named(cue.text[:MOST_SIGNS], [one.outline for one in ranked])
    else:
        ranked, speaker = _ranked(view, sought, cue, found, where, limit, now, weighting, authors)
    best = ranked[: max(limit, TELLING)]
    memories = view.fetch([one.outline.key for one in best], where.at)
    had = words.matched(sought, memories)
    sure = _sure(cue, found, ranked, had, meaning, speaker)
    certainty = max(sure[:TELLING], default=0.0)
    if isinstance(weighting, Published):
        scores, passes = [one.score for one in best], [one.passes for one in scored]
        certainty = published.certainty(scored) if weighting.is_kenobot else certainty
    else:
        top = max((one.score for one in best), default=0.0)
        scores = [min(1.0, certainty * max(0.0, one.score) / top) if top > 0 else 0.0 for one in best]
        passes = [own > gate.STRICT for own in sure]
    places = _places(found, ranked)
    hits = tuple(
        Hit(memory, score, one.holds, memory.source.place, _why(one, places, matched))
        for one, memory, matched, score, is_sure in islice(zip(best, memories, had, scores, passes, strict=False), limit)
        if is_sure or not strict
    )
    certainty = certainty if hits else 0.0
    return Recollection(id, cue, hits, gate.confidence(certainty), certainty, arms), partial(_candidates, ranked, places, sure)


def _find(view: View, sought: Query, cue: Cue, meaning: Meaning | None, where: Where, limit: int, now: datetime) -> Found:
    by_words = words.look(view, sought, where, max(limit, WIDE), now) if sought.words else {}
    dated = _dated(view, where, cue.time, limit)
    share = _share(cue.text, meaning)
    near = Near([])
    if meaning is not None and share:
        try:
            near = view.search_vectors(meaning.vector, meaning.model, where, max(limit, WIDER))
        except BadInput as exc:  # the embedder makes vectors of another length than those kept under its name
            log.warning("recall goes on by words alone: %s", exc)
            share = 0.0
    by_meaning = {match.key: match.score for match in near.matches}
    by_meaning |= near.others(key for key in (*by_words, *dated) if key not in by_meaning)
    is_latin = meaning is not None and meaning.languages is not None and meaning.languages <= LATIN
    return Found(by_words, by_meaning, near, dated, share, is_latin)


def _dated(view: View, where: Where, time: tuple[datetime, datetime] | None, limit: int) -> tuple[int, ...]:
    """Return the newest of what is dated in a time; no hard cut, so nothing where one is asked for."""
    if time is None or where.between is not None:
        return ()
    return tuple(match.key for match in view.newest(replace(where, between=time), max(limit, WIDE)))


def _ranked(
    view: View,
    sought: Query,
    cue: Cue,
    found: Found,
    where: Where,
    limit: int,
    now: datetime,
    weighting: Weighting,
    authors: Mapping[str, float],
) -> tuple[list[Ranked], str | None]:
    """Rank by the weights: the best are looked at among the turns around them, and the best of all those in full.

    Also return the one whom the question names.
    """
    wanted, pending = max(HEAD, limit + MORE), found.words.keys() - found.meaning.keys()
    fused = fuse.fuse(found.words, found.meaning, found.near.lowest, weighting, found.share, pending)
    head = [*dict.fromkeys((*list(fused.base)[:wanted], *found.dated))]
    around = view.around(head, where, words.REACH)
    runs = [[*reversed(around[key].before), key, *around[key].after] if key in around else [key] for key in head]
    resting = [(key, near) for key, found_on in view.derived(head, where).items() for near in found_on]
    runs += [[key, near] for key, near in resting]
    texts = view.texts([*dict.fromkeys(chain.from_iterable(runs))])
    said = words.reached(view, sought, where, found.words, runs, texts)
    strange = {key for key, text in texts.items() if found.is_latin and not text.isascii() and is_beyond_latin(text)}
    meant = {key: cosine for key, cosine in found.near.others(texts).items() if key not in strange}
    fused = fuse.fuse(said, meant, found.near.lowest, weighting, found.share, pending | strange)
    beside = fuse.beside(runs, fused.base)
    first = sorted(said, key=lambda key: -fused.base[key] - weighting.neighbours * beside.get(key, 0.0))[:wanted]
    outlines = view.outlines([*dict.fromkeys((*first, *found.dated))])
    asked = Asked(now, where.scope.channel, cue.time, *_named(cue.text[:MOST_SIGNS], outlines), authors)
    return fuse.rank(fused, outlines, beside, texts, asked, weighting, resting), asked.speaker


def _described(view: View, found: Found, where: Where) -> list[published.Candidate]:
    """Return what a published ranking looks at: everything found, with its text."""
    keys = list(dict.fromkeys((*found.words, *found.meaning, *found.dated)))
    dated = set(found.dated)
    return [
        published.Candidate(outline, published.judged_text(memory), found.meaning.get(outline.key), float(outline.key in dated))
        for outline, memory in zip(view.outlines(keys), view.fetch(keys, where.at), strict=True)
    ]


def _as_ranked(one: published.Scored, now: datetime) -> Ranked:
    outline = one.candidate.outline
    boosts = {name: value for name, value in one.parts.items() if name not in WAYS}
    time = one.candidate.time or None
    return Ranked(outline, one.share or None, one.meaning, time, None, one.score, fuse.holds(outline, now), boosts)


def _sure(
    cue: Cue,
    found: Found,
    ranked: Sequence[Ranked],
    had: Sequence[tuple[str, ...]],
    meaning: Meaning | None,
    speaker: str | None,
) -> list[float]:
    """Return how sure each of the best makes us that it is about what was asked."""
    keys = {one.outline.key for one in ranked}
    close = {}
    if meaning is not None and found.share == 1.0:
        close = {key: gate.closeness(cosine, meaning.scale) for key, cosine in found.meaning.items() if key in keys}
    edge = 0.0
    if speaker is not None:
        theirs = {one.outline.key for one in ranked if fuse.is_by(one.outline, speaker)}
        top = max(found.words.values(), default=0.0) or 1.0
        said = {key: score / top for key, score in found.words.items() if key in keys}
        edge = gate.edge(close, theirs) + gate.edge(said, theirs)
    telling = _telling(cue)
    then = gate.dated(max((one.time or 0.0 for one in ranked), default=0.0)) if cue.time else 1.0
    sure = []
    for one, matched in zip(ranked, had, strict=False):
        share = len(telling & set(matched)) / len(telling) if telling else gate.DATED * (one.time or 0.0)
        sure.append(then * gate.certainty(share, close.get(one.outline.key) if telling else None, edge))
    return sure


def _telling(cue: Cue) -> frozenset[str]:
    """Return the words that what was asked for should have: what happened on a day need not name it, nor say it happened."""
    if cue.time is None:
        return frozenset(cue.words)
    return frozenset(cue.words) - {word.text for time in cue.times for word in query(time.text).words} - _HAPPENED


def _candidates(ranked: list[Ranked], places: Places, sure: list[float]) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            one.outline.id, one.outline.version, place, one.score, _why(one, places), one.holds,
            sure[place - 1] if place <= len(sure) else None,
        )
        for place, one in enumerate(ranked, 1)
    )  # fmt: skip


def newest(view: View, where: Where, limit: int, now: datetime) -> tuple[Hit, ...]:
    """Return the newest that fit, as hits of no question."""
    memories = view.fetch([match.key for match in view.newest(where, limit)], where.at)
    return tuple(
        Hit(memory, 0.0, memory.valid_until is None or memory.valid_until > now, memory.source.place, Why())
        for memory in memories
    )


def _arms(meaning: Meaning | None, view: View, where: Where, cue: Cue) -> dict[str, str]:
    is_pending = meaning is not None and view.lacks(meaning.model, where)
    return {
        "words": "on",
        "meaning": "off" if meaning is None else "pending" if is_pending else "on",
        "time": "off" if cue.time is None else "on",
        "neighbours": "on",
    }


def _share(text: str, meaning: Meaning | None) -> float:
    """Return what of the weight of meaning applies to a question in this language; in a script it never saw, noise is all."""
    if meaning is None:
        return 0.0
    if meaning.languages is None or not text.strip():
        return 1.0
    language = language_of(text)
    return 1.0 if language in meaning.languages else 0.0 if language in UNSPACED else FOREIGN


def _named(text: str, outlines: Sequence[Outline]) -> tuple[str | None, str | None]:
    """Return the one whom a question names, folded, else the role of who asks about themselves in a chat with an assistant."""
    said, folded = words_of(text), fold(text)
    names = {fold(name) for one in outlines for name in (one.speaker, one.subject) if name and name not in ROLES}
    # Taking names apart takes time: first whether a part of one is in the question at all.
    likely = (name for name in names if any(part in folded for part in name.split()))
    named = [name for name in likely if not words_of(name).isdisjoint(said)]
    if len(named) == 1:
        return named[0], None
    is_chat = any("assistant" in (outline.role, outline.speaker) for outline in outlines)
    return None, "user" if is_chat and _FIRST_PERSON.search(text) else None


def _places(found: Found, ranked: Sequence[Ranked]) -> Places:
    """Return where each way of looking put what it found."""
    scores = {
        way: {one.outline.key: score for one in ranked if (score := getattr(one, way))}
        for way in ("words", "time", "neighbours")
    } | {"meaning": found.meaning}
    return {
        way: {key: place for place, key in enumerate(sorted(had, key=had.__getitem__, reverse=True), 1)}
        for way, had in scores.items()
    }


def _why(one: Ranked, places: Places, matched: tuple[str, ...] = ()) -> Why:
    arms = {
        way: Arm(places[way][one.outline.key], score)
        for way in WAYS
        if (score := getattr(one, way)) is not None and one.outline.key in places[way]
    }
    return Why(**arms, matched=matched, boosts={name: round(value, 4) for name, value in one.boosts.items() if value})
