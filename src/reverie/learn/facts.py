"""Facts: what a claim becomes, whose it is, and how it stands beside what is known already.

What a person says about themselves is theirs; what they say about others in a room stays attributed to them and in that room.
The same fact again is further support for it, once per author and day; a correction ends what it corrects, and says so.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from reverie.errors import BadInput, Erased, Refused
from reverie.learn import ingest, quarantine
from reverie.learn.guard import is_statement, judge
from reverie.learn.ingest import OBSERVED, SEGMENTED, author_of
from reverie.learn.quarantine import Quarantined
from reverie.memory import check, people
from reverie.memory.language import fold, said_words, words_of
from reverie.memory.scope import Scope, narrowed, visible
from reverie.memory.semantic import LORE, Claim, taken_back
from reverie.memory.trace import TRUST, Memory, Source
from reverie.recall.show import says_tags
from reverie.store.base import Draft, Where, key_of

LONGEST = 500  # characters of what a model writes down
SAID_AGAIN = 8  # times a day that an author's repetition is kept, as further support
ALIKE = 0.7  # share of words that two facts have in common from which on they are linked
KEEP, KEEP_LORE = 80, 120  # facts that one author may keep active about one person, and about everybody (C4)
SUBJECTS = 64  # about whom facts are held in memory while a backlog is worked off

_BEING = frozenset({"is", "has", "es", "esta"})  # verbs that say too little to be searched by
_DENIES = frozenset({"not", "no", "never", "nunca", "tampoco"})
_SEVERAL = re.compile(r"\b(?:and|or|y|e|o|ni)\b|&")
_FIRST_PERSON = frozenset({"i", "my", "me", "yo", "mi", "user", "usuario"})

log = logging.getLogger(__name__)


class Known:
    """The facts about those whom some turns are about, looked up once for several commits, with their words."""

    def __init__(self) -> None:
        self._draft: Draft | None = None
        self._as_of = "", 0  # the space, and its last commit
        self._about: dict[str, dict[str, tuple[Memory, frozenset[str]]]] = {}

    @contextmanager
    def read_in(self, draft: Draft) -> Iterator[None]:
        """Look into a draft from now on; what was read before holds if no fact was written since."""
        if not self._holds_in(draft) or len(self._about) > SUBJECTS:
            self.forget()
        self._draft = draft
        yield
        self._draft, self._as_of = None, (draft.space, draft.last_seq())

    def _holds_in(self, draft: Draft) -> bool:
        space, seq = self._as_of
        if space != draft.space or not draft.reasons_since(seq) <= {OBSERVED, SEGMENTED}:
            return False
        changed = draft.changed_between(seq, draft.last_seq(), Scope.owner(space))  # an edit may have unsaid some
        return all(facts.keys().isdisjoint(changed) for facts in self._about.values())

    def about(self, subject: str) -> list[tuple[Memory, frozenset[str]]]:
        """Return what is known about someone, or ("") about nobody in particular."""
        assert self._draft is not None
        if subject not in self._about:
            found = self._draft.scan(Where(Scope.owner(self._draft.space), ("fact",), subject=subject))
            self._about[subject] = {fact.id: (fact, words_of(fact.text)) for fact in found}
        return list(self._about[subject].values())

    def put(self, fact: Memory) -> None:
        """Take note of a fact as it is now."""
        if (subject := fact.subject or "") in self._about:
            self._about[subject][fact.id] = fact, words_of(fact.text)

    def forget(self) -> None:
        """Look everything up again: some of it is no longer so."""
        self._about = {}


def subject_of(turn: Memory) -> str | None:
    """Return whom a turn's speaker is known as: by their id; by their name only where nobody else could have it (R15)."""
    id = turn.origin.person or (turn.speaker if turn.origin.channel is None else None)
    return None if id == LORE else id  # which is nobody's name


def fact_of(turn: Memory, claim: Claim, model: str | None) -> Memory:
    """Return a claim as the memory it would become."""
    room = turn.origin.channel
    own = words_of(turn.speaker or "") | _FIRST_PERSON  # in a room a model's word alone does not make it theirs
    names_them = model is None or not words_of(claim.text).isdisjoint(own)
    is_known = claim.is_about_speaker and turn.origin.person is not None and names_them
    is_report = turn.trust == "other" or (room is not None and not is_known)
    trust = "other" if is_report else turn.trust
    mention = people.MENTION.search(claim.quote) if turn.trust != "other" and not claim.is_about_speaker else None
    subject = mention[1] if mention and mention[1] != LORE else None if is_report else subject_of(turn)
    text = claim.text
    if is_report:
        text = attributed(text, turn, claim.language)
    audience = turn.audience
    if is_report and room is not None:
        audience = narrowed(audience, channel=room)
    extra: dict[str, object] = {
        "type": claim.type,
        "topic": claim.topic,
        "learned": model or "rules",
        "language": claim.language,
        **({"slot": claim.slot} if claim.slot else {}),
        **({"wish": True} if claim.is_wish else {}),
    }
    sure = min(claim.confidence, TRUST[trust], _certainty(turn, claim.quote))
    return replace(
        drawn_from([turn], claim.quote, text, audience, trust, sure, extra),
        subject=subject,
        happened_at=claim.happened_at or turn.happened_at,
        valid_from=claim.valid_from,
        valid_until=claim.valid_until,
    )


def drawn_from(
    cited: Sequence[Memory], quote: str, text: str, audience: Scope, trust: str, sure: float, extra: Mapping[str, object]
) -> Memory:
    """Return a fact as it would be kept, with what it takes over from the first of the turns that it is learned from."""
    turn = cited[0]
    messages = tuple(one.message_id for one in cited if one.message_id)
    return Memory(
        "", 1, "fact", text, turn.origin, audience, trust, sure, turn.recorded_at, "",
        extra={**extra, "told_by": author_of(turn)},
        source=Source(messages, tuple(one.id for one in cited), quote, turn.source.place),
        happened_at=turn.happened_at,
    )  # fmt: skip


def attributed(text: str, turn: Memory, language: str) -> str:
    """Return what somebody said of others, with who said so."""
    is_spanish = language == "es"
    if "certainty" in turn.extra and turn.origin.channel is None:
        return f"{text.rstrip('.')} ({'según se oyó' if is_spanish else 'as it was heard'})"
    return f"{text.rstrip('.')} ({'según' if is_spanish else 'according to'} {turn.speaker})"


def _certainty(turn: Memory, quote: str) -> float:
    """Return how sure a transcript is of the words quoted (C5); what was written is sure."""
    heard = turn.extra.get("certainty")
    if isinstance(heard, dict):
        words = words_of(quote)
        return min((float(sure) for word, sure in heard.items() if words_of(word) & words), default=1.0)
    return float(heard) if isinstance(heard, int | float) else 1.0


def learn(draft: Draft, turn: Memory, told: Memory, claim: Claim | None, others: Known) -> Memory | None:
    """Let a fact in, or note that it was said again; None where it may not come in, or was forgotten on purpose."""
    if claim is not None and claim.is_wish:
        is_note = says_tags(claim.quote) or "memory line" in fold(claim.quote)
        reason = "it tells what to note" if is_note else judge(claim.quote, told.trust, "preference").reason
    else:
        reason = None if told.extra["learned"] == "rules" else _no_fact(told.text)
    if reason is not None:
        quarantine.put(draft, told, reason, author_of(turn))
        return None
    try:
        told = replace(told, text=check.text(told.text), title=check.optional_text(told.title, "title"))
    except BadInput as exc:
        log.info("nothing is learned from %s: %s", turn.id, exc)
        return None
    key = key_of(told)
    assert key is not None
    record = next((found for found in draft.find_key(key) if not found.memory.extra.get("unsaid")), None)
    known = record.memory if record else None
    if record is not None and record.retired_seq is not None and not record.memory.extra.get("archived"):
        return None
    times = _times_said(draft, known.id, turn) if known else 0
    if known is not None and record is not None and record.retired_seq is None and times >= SAID_AGAIN:
        return None
    ended = list[Memory]()
    if claim is not None and (told.subject is not None or claim.corrects):
        told, ended = _beside_others(draft, told, turn, claim, known, others)
    if known is not None:
        told = _again(draft, told, turn, claim, known)
    here = turn.origin if visible(turn.audience, turn.origin) else Scope.owner(draft.space)
    try:
        sources = [turn] if told.source.memory_ids == (turn.id,) else ingest.sources_of(draft, told, here)
        kept = ingest.keep_thing(draft, told, here, learned_from=sources)
    except (Erased, Refused) as exc:
        log.info("nothing is learned from %s: %s", turn.id, exc)
        return None
    if isinstance(kept, Quarantined):
        return None
    for fact in ended:
        others.put(draft.add(fact))
    others.put(kept)
    return kept


def _no_fact(text: str) -> str | None:
    """Say why what a model wrote down is none."""
    if len(text) > LONGEST:
        return f"it is too long: {len(text):,} characters, what a model writes down has at most {LONGEST}"
    return None if is_statement(text) else "it asks or tells somebody to do something, instead of saying how something is"


def _times_said(draft: Draft, id: str, turn: Memory) -> int:
    """Return how often the author of a turn said the same thing on the same day before: repeating it makes nobody surer."""
    owner = Scope.owner(draft.space)
    last = [held for held in draft.sightings(id) if held.retired_seq is None][-2 * SAID_AGAIN :]
    said = (draft.get(id, Where(owner, retired=True)) for held in last for id in held.sighting.rests_on[:1])
    author = author_of(turn), _day(turn)
    return sum(bool(one and one.id != turn.id and (author_of(one), _day(one)) == author) for one in said)


def _day(turn: Memory) -> object:
    return turn.happened_at.date() if turn.happened_at else None


def _again(draft: Draft, told: Memory, turn: Memory, claim: Claim | None, known: Memory) -> Memory:
    """Return what is told again as what is known: it stays whoever's it was. What had ended and is said anew holds again."""
    said_at, ended_at = turn.happened_at or draft.at, known.valid_until
    is_own = known.extra.get("told_by") == author_of(turn)
    if claim and claim.valid_until is None and is_own and known.retired_at is None and ended_at and ended_at <= said_at:
        known = draft.add(replace(known, valid_until=None, replaces=tuple(dict.fromkeys((*known.replaces, *told.replaces)))))
    extra = {**told.extra, **known.extra} | ({"archived": False} if known.extra.get("archived") else {})
    return replace(
        told,
        extra=extra if known.extra.get("learned") else dict(known.extra),
        happened_at=known.happened_at,
        valid_from=known.valid_from,
        valid_until=known.valid_until,
    )


def _beside_others(
    draft: Draft, told: Memory, turn: Memory, claim: Claim, same: Memory | None, others: Known
) -> tuple[Memory, list[Memory]]:
    """Return a fact linked to those that nearly say the same and in place of those it corrects, and these, with their end."""
    over = None if claim.is_wish else taken_back(claim.text, claim.corrects)
    slot = claim.slot if claim.corrects else ""
    corrects = over is not None or slot != ""
    if not corrects and (told.subject is None or same is not None):
        return told, []
    about = others.about(told.subject or "")
    known = [(fact, had) for fact, had in about if fact.audience == told.audience and (same is None or fact.id != same.id)]
    words = words_of(told.text)
    near = [fact.id for fact, had in known if len(words & had) > ALIKE * len(words | had)]
    if near:
        told = replace(told, extra={**told.extra, "near": near[-3:]})
    if not corrects:
        return told, []
    wrong = [
        fact
        for fact, had in known
        if turn.id not in fact.source.memory_ids
        and fact.extra.get("told_by") == author_of(turn)
        and fact.valid_until is None
        and ((slot and fact.extra.get("slot") == slot) or (over and _says(fact.text, had, over, turn.speaker or "")))
        and _said_at(draft, fact) <= (turn.happened_at or draft.at)
    ]
    until = claim.valid_from or turn.happened_at or draft.at
    ended = [replace(fact, valid_until=until) for fact in wrong if fact.valid_from is None or fact.valid_from < until]
    return replace(told, replaces=tuple(fact.id for fact in wrong)), ended


def _said_at(draft: Draft, fact: Memory) -> datetime:
    """Return when a fact was said: what it says may lie ahead."""
    owner = Where(Scope.owner(draft.space), retired=True)
    turn = draft.get(fact.source.memory_ids[0], owner) if fact.source.memory_ids else None
    return (turn.happened_at if turn else None) or fact.happened_at or fact.recorded_at


def _says(text: str, had: frozenset[str], over: str, speaker: str) -> bool:
    """Tell whether a fact says what is over: all of its words in any of their forms, and that of the same person."""
    if had & _DENIES or re.search(rf"(?:\b{re.escape(speaker)}|user)'s\b|\bdel? (?:{re.escape(speaker)}|usuario)\b", text):
        return False
    own, said = said_words(text), said_words(over)
    forms, named = {form for variants in own.values() for form in variants}, {form for some in said.values() for form in some}
    if _SEVERAL.search(text) and any(named.isdisjoint(some) for word, some in own.items() if word not in fold(speaker)):
        return False  # one of several things is over; which others are not, the fact does not say
    return bool(said) and words_of(over) & _BEING <= had and all(not forms.isdisjoint(variants) for variants in said.values())


def archive(draft: Draft, subject: str | None, author: str, others: Known) -> None:
    """Put the oldest facts of an author about someone, or about nobody, away, where there are more than are kept active."""
    most = KEEP_LORE if subject == LORE else KEEP
    where = Where(Scope.owner(draft.space), ("fact",), subject=subject or "", told_by=None if subject else author)
    known = draft.scan(where) if draft.count(where).get("fact", 0) > most else []
    own = [fact for fact in known if fact.extra.get("told_by") == author and fact.extra.get("learned") and not fact.pinned]
    own.sort(key=lambda fact: (fact.recorded_at, fact.id))  # what was put away and came back is new
    for fact in own[: max(0, len(own) - most)]:
        draft.add(replace(fact, extra={**fact.extra, "archived": True}))
        draft.retire(fact.id)
        others.forget()
