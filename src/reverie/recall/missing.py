"""Why something did not come to mind: which memory is meant, and the step of a kept recall at which it fell out.

Whatever is meant is looked for in the asker's scope alone. So what they may not see takes the same path as what was never
stored, and ends in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie.memory.language import Query, fold, query
from reverie.memory.scope import Scope, visible
from reverie.memory.trace import Memory, split_id
from reverie.recall import gate, words
from reverie.recall.explain import CLOSE, Candidate, Fate
from reverie.recall.kept import Kept, Request
from reverie.recall.look import MOST_SIGNS, MOST_WORDS
from reverie.recall.pack import NO_ROOM_APART, UNVERIFIED_SHARE
from reverie.store.base import View, Where, fits

REACH = 1_000  # candidates of a recall that is asked again
LIKELY = 500  # memories that are compared with a text that is none of them word for word
UNKNOWN = Fate("unknown", "nothing that may be seen here says that")


@dataclass(frozen=True, slots=True)
class _Meant:
    """A memory in the version that a text speaks of, and in the one believed when the question was asked, if any."""

    told: Memory
    then: Memory | None
    versions: Sequence[Memory]


def fate(view: View, kept: Kept, text: str, scope: Scope, again: Callable[[], Sequence[Candidate]]) -> Fate:
    """Return what became of the memory that `text` means; `again` asks once more, as of then, and reaches further."""
    meant = _meant(view, kept, text, scope)
    if meant is None:
        return UNKNOWN
    return _untold(view, kept, meant) or _narrowed(kept.request, meant.told) or _ranked(kept, meant.told, again)


def _meant(view: View, kept: Kept, text: str, scope: Scope) -> _Meant | None:
    """Return the memory of that id; or that says just that; or that has the most of its words, more than half of them."""
    text, seq = text.strip(), kept.request.seq
    if split_id(text, "m"):
        id, wording = text, None
    else:
        cue = _query(text)
        matches = view.search_words(cue, Where(scope, ever=True), LIKELY, kept.request.now) if cue.words else []
        found = view.fetch([match.key for match in matches])
        places = {(one.id, one.version): one.place for one in kept.ranked}
        wording = fold(text)
        likely = [
            # Only what this scope sees counts here; BM25 would weigh words by what others said, too.
            ((fold(memory.text) == wording, len(had)), -places.get((memory.id, memory.version), REACH),
             memory.retired_at is None, -len(memory.text), memory.id)
            for memory, had in zip(found, words.matched(cue, found), strict=True)
            if 2 * len(had) > len(cue.words)
        ]  # fmt: skip
        if not likely:
            return None
        (is_exact, _), *_, id = max(likely)
        wording = wording if is_exact else None
    versions = view.history(id, scope)
    then = view.get(id, Where(scope, at=seq))
    saying = [one for one in versions if wording is None or fold(one.text) == wording]
    if not saying:
        return None
    told = then if then is not None and any(one.version == then.version for one in saying) else saying[-1]
    return _Meant(told, then, versions)


def _untold(view: View, kept: Kept, meant: _Meant) -> Fate | None:
    """Return the fate of what was not believed at the time, in these words or at all."""
    told, then, asked = meant.told, meant.then, kept.request
    when = f"the moment asked about, {_at(asked.as_of)}" if asked.as_of else "it was asked"
    if then is None:
        known = [one for one in meant.versions if view.seq_of(one.recorded_at) <= asked.seq]
        if known:
            return Fate("forgotten", f"it was forgotten at {_at(known[-1].retired_at)}, before {when}", told)
        return Fate("later", f"it was recorded at {_at(told.recorded_at)}, after {when}", told)
    if then.version == told.version:
        return None
    rank = next((rank for rank, (hit, _) in enumerate(kept.hits, 1) if hit.id == then.id), None)
    came = f"came at place {rank}" if rank else "did not come back either"
    if then.version < told.version:
        reason = f"it says so since {_at(told.recorded_at)}, after {when}; what it said before {came}:"
        return Fate("later", reason, told, then, figures={"place": rank} if rank else {})
    reason = f"it no longer said so since {_at(then.recorded_at)}, before {when}; what it said instead {came}:"
    return Fate("superseded", reason, told, then, figures={"place": rank} if rank else {})


def _narrowed(request: Request, memory: Memory) -> Fate | None:
    """Return the fate of what was not asked for."""
    where = request.where
    if not visible(memory.audience, where.scope):
        return Fate("scope", f"it is meant for {memory.audience}, and this was asked in {where.scope}", memory)
    owner, between = Scope.owner(where.scope.space), where.between or (None, None)
    narrowed: dict[str, tuple[bool, Where, str]] = {
        "kinds": (where.kinds is not None, Where(owner, kinds=where.kinds),
            f"the kinds {', '.join(where.kinds or ())}; this is a {memory.kind}"),
        "tags": (bool(where.tags), Where(owner, tags=where.tags),
            f"what has the tags {', '.join(where.tags)}; this has {', '.join(memory.tags) or 'none'}"),
        "subject": (where.subject is not None, Where(owner, subject=where.subject),
            f"what is about {where.subject}; this is about {memory.subject or 'nobody named'}"),
        "session": (where.session is not None, Where(owner, session=where.session),
            f"the session {where.session}; this was said in {memory.origin.session or 'none'}"),
        "between": (where.between is not None, Where(owner, between=where.between),
            f"the time from {_at(between[0])} to {_at(between[1])}; this {_held(memory)}"),
    }  # fmt: skip
    for name, (is_asked, alone, said) in narrowed.items():
        if is_asked and not fits(memory, alone):
            return Fate(name, f"asked was only for {said}", memory)
    return None


def _ranked(kept: Kept, memory: Memory, again: Callable[[], Sequence[Candidate]]) -> Fate:
    """Return the fate of what could have been found."""
    if came := _came(kept, memory):
        return came
    ranked, last = {one.id: one for one in kept.ranked}, kept.hits[-1][0] if kept.hits else None
    asked_again = memory.id not in ranked
    if asked_again and not (kept.recalled.question.strip() or kept.request.by_vector):
        newest = len(kept.hits)
        reason = f"nothing was asked, so the newest {newest:,} came; this is older"
        return Fate("outranked", reason, memory, figures={"newest": newest})
    if asked_again:
        ranked = {one.id: one for one in again()}
        last = last and ranked.get(last.id)
    own = ranked.get(memory.id)
    if own is None:
        return _unfound(kept, memory, list(ranked.values()))
    if kept.request.strict and own.certainty is not None and own.place <= kept.request.limit:
        sure, is_ours = own.certainty, own.certainty <= gate.STRICT  # other weightings have gates of their own
        asks = f"asks for more than {gate.STRICT:.2f}" if is_ours else f"lets nothing so weak through {kept.request.weighting}"
        figures = {"certainty": sure} | ({"threshold": gate.STRICT} if is_ours else {})
        reason = f"at place {own.place}, but strict {asks}, and this makes {sure:.2f} sure"
        return Fate("strict", reason, memory, ranked=own, last=last, asked_again=asked_again, figures=figures)
    short_by = last.total - own.total if last else 0.0
    digits = 2 if abs(short_by) >= CLOSE else 4
    reason = f"at place {own.place} with {own.total:.{digits}f} in all" + (", asked again as of then" if asked_again else "")
    if last is None:
        return Fate("outranked", f"{reason}; nothing was returned", memory, ranked=own, asked_again=asked_again)
    if own.place < last.place:
        step, told = "left out", f"before the last one returned, at place {last.place}, but left out of what came back"
    elif last.holds and not own.holds:
        step, told = "outranked", f"it no longer holds, and what does comes first; the last one returned is at {last.place}"
    else:
        step = "outranked"
        told = f"the last one returned, at place {last.place}, has {last.total:.{digits}f}: {short_by:.{digits}f} more"
    figures = {"place": own.place, "last_place": last.place, "short_by": short_by}
    return Fate(step, f"{reason}; {told}", memory, ranked=own, last=last, asked_again=asked_again, figures=figures)


def _came(kept: Kept, memory: Memory) -> Fate | None:
    """Return the fate of what came back, or into a context by another way."""
    rank, hit = next(((rank, hit) for rank, (hit, _) in enumerate(kept.hits, 1) if hit.id == memory.id), (0, None))
    there = f"it was there, at place {rank}"
    if kept.packed is None:
        return Fate("there", there, memory, ranked=hit) if hit else None
    held = [f"in {section} with {tokens:,} tokens" for id, section, tokens in kept.packed.parts if id == memory.id]
    dropped = [reason for id, reason in kept.packed.dropped if id == memory.id]
    if held:
        return Fate("there", f"{there if hit else 'it was there'}, {' and '.join(held)}", memory, ranked=hit)
    if not (hit or dropped):
        return None
    budget, tokens, found = kept.packed.budget, kept.packed.tokens, f", at place {rank}," if hit else ""
    why = ", ".join(dropped) or "it has no place there"
    figures = {"tokens": tokens, "budget": budget}
    used = f"{tokens:,} of {budget:,} tokens were used"
    if NO_ROOM_APART in dropped:
        apart = sum(tokens for _, section, tokens in kept.packed.parts if section == "unverified")
        figures |= {"unverified": apart, "unverified_budget": int(budget * UNVERIFIED_SHARE)}
        used += f", {apart:,} of {figures['unverified_budget']:,} by lines that are unverified"
    reason = f"it was found{found} but left out of the context: {why}; {used}"
    return Fate("packing", reason, memory, ranked=hit, figures=figures)


def _unfound(kept: Kept, memory: Memory, ranked: Sequence[Candidate]) -> Fate:
    """Return the fate of what no way of looking came upon."""
    arms = kept.numbers["arms"]
    (had,) = words.matched(_query(kept.recalled.question), [memory])
    by_words = [one.why.words.score for one in ranked if one.why.words]
    by_meaning = [one.why.meaning.score for one in ranked if one.why.meaning]
    figures: dict[str, float] = {"words": len(had)}
    reasons = []
    if not kept.recalled.question.strip():
        reasons.append("there was no question to share words with")
    elif not had:
        reasons.append("it shares no word with the question")
    else:
        reasons.append(f"it shares {', '.join(had)} with the question, but {len(by_words):,} others match its words better")
        figures |= {"by_words": len(by_words), "least_by_words": min(by_words, default=0.0)}
    if arms.get("meaning") == "off" or kept.request.by_vector:
        reasons.append("meaning was not looked at" if arms.get("meaning") == "off" else "the vector asked with is not kept")
    elif not by_meaning:
        reasons.append("it could not be compared in meaning")
    elif kept.request.weighting != "default":
        reasons.append(f"{kept.request.weighting} takes up nothing so far in meaning")
    elif len(by_meaning) < REACH:
        reasons.append("it had no vector to be found by its meaning")
    else:
        least = min(by_meaning)
        reasons.append(f"it is not among the {len(by_meaning):,} nearest in meaning, the last of which scores {least:.2f}")
        figures |= {"by_meaning": len(by_meaning), "least_by_meaning": least}
    return Fate("unfound", "; ".join(reasons), memory, asked_again=True, figures=figures)


def _query(text: str) -> Query:
    found = query(text[:MOST_SIGNS])
    return Query(found.words[:MOST_WORDS], found.language)


def _held(memory: Memory) -> str:
    if memory.happened_at is not None:
        return f"happened at {_at(memory.happened_at)}"
    if memory.valid_from is None and memory.valid_until is None:
        return "names no time"
    return f"held from {_at(memory.valid_from)} to {_at(memory.valid_until)}"


def _at(moment: datetime | None) -> str:
    return "…" if moment is None else f"{moment:%Y-%m-%d %H:%M}"
