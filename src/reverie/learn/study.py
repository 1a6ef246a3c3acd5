"""Studying: what a turn teaches, once it was said.

Every turn to be learned from says so on its own row. A batch is read, what it claims is found (by rules, or by a language model
where there is one) without holding anybody up, and what comes of it is written in one commit together with the word that the
turns are done: killed at any moment, every fact is there once. A turn that was changed meanwhile is left to its new version.

What a person says about themselves is theirs; what they say about others in a room stays attributed to them and in that room.
A model's notes count only as far as they rest on what a person just said. What was recalled and comes back is not news.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from reverie.errors import BadInput, BudgetExceeded, Erased, ModelError, Refused, StoreError
from reverie.learn import ask, ingest, quarantine
from reverie.learn.actions import Actions
from reverie.learn.background import Background, Settled
from reverie.learn.extract import extract, may_teach
from reverie.learn.ground import grounded
from reverie.learn.guard import is_statement, judge
from reverie.learn.ingest import author_of, resting_only_on
from reverie.learn.quarantine import Quarantined
from reverie.learn.tags import strip_tags, titled
from reverie.memory import check, people, working
from reverie.memory.language import fold, language_of, said_words, words_of
from reverie.memory.people import Name, Person
from reverie.memory.scope import Scope, everyone_in, narrowed, visible, within
from reverie.memory.semantic import LORE, Claim, taken_back
from reverie.memory.trace import DEFAULT_CONFIDENCE, MICROSECOND, TRUST, Memory, Source, less_trusted
from reverie.memory.working import State
from reverie.models.base import Model
from reverie.recall.show import local, says_tags
from reverie.store.base import Draft, Store, View, Where, key_of

LEARNED = "learned"  # the reason of the commits that facts come in by
BATCH = 64  # turns studied in one commit, by rules
LEAST = 4  # characters of a message that can teach anything (C4)
LONGEST = 500  # characters of what a model writes down
SAID_AGAIN = 8  # times a day that an author's repetition is kept, as further support
ATTEMPTS = 3  # at one turn that a language model will not answer, before it is given up; one that cannot be asked is waited for
KNOWN = 20  # facts that a model is told are known already
RECENT = 20  # turns that a model's note may have come from
ALIKE = 0.7  # share of words that two facts have in common from which on they are linked
KEEP, KEEP_LORE = 80, 120  # facts that one author may keep active about one person, and about everybody (C4)
LORE_CONFIDENCE = 0.72

_BEING = frozenset({"is", "has", "es", "esta"})  # verbs that say too little to be searched by
_DENIES = frozenset({"not", "no", "never", "nunca", "tampoco"})
# Possessive, and within a line: whoever writes a million blanks must not hold everyone up.
_RECALLED = re.compile(r"\[(memory|unverified) ([0-9a-f]{1,40})\b[^\]\n]{0,200}\]")
_DATED = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NOTES = re.compile(r"<\s*+/?+\s*+(?:(?:chat-|working-)?memory|chat-context)|^[ \t]*+memory line[ \t]*+:", re.I | re.M)
_LORE_LINE = re.compile(r"^[ \t]*+memory line[ \t]*+:[ \t]*+(?P<line>\S[^\n]*+)", re.I | re.M)
_FIRST_PERSON = frozenset({"i", "my", "me", "yo", "mi", "user", "usuario"})
_NO_NAME = re.compile(r"""[.,;:!?"«»“”()<>\[\]{}|\n]""")

log = logging.getLogger(__name__)


def own_words(text: str) -> str:
    """Return a message without what was recalled and pasted into it.

    >>> own_words('you said:\\n2026-05-02 · Ana · "I moved to Lima"\\nis that so?')
    'you said:\\n\\nis that so?'
    """
    kept, start = [], 0
    while opened := _RECALLED.search(text, start):
        kept.append(text[start : opened.start()])
        close = f"[/{opened[1]} {opened[2]}]"
        end = text.find(close, opened.end())
        start = len(text) if end < 0 else end + len(close)
    lines = "".join((*kept, text[start:])).split("\n")
    return "\n".join("" if (dated := _DATED.search(line)) and " · " in line[dated.end() :] else line for line in lines)


class Learned(tuple[Memory, ...]):
    """What a turn taught. `is_done` is None while it is still to be learned from, False if it never will be (C3)."""

    is_done: bool | None
    language: str

    @classmethod
    def of(cls, memories: Iterable[Memory], is_done: bool | None = True, language: str = "en") -> Learned:
        """Return what was learned, to be told in a language."""
        learned = cls(memories)
        learned.is_done, learned.language = is_done, language
        return learned

    def __str__(self) -> str:
        """What a channel may show (K18); nothing where nothing was learned."""
        noted = "Anotado" if self.language == "es" else "Noted"
        return f"{noted}: {'; '.join(memory.text.rstrip('.') for memory in self)}." if self else ""

    def as_dict(self) -> dict[str, object]:
        """What a program may read: the memories, whether that is all, and what a channel may show."""
        return {"learned": list(self), "is_done": self.is_done, "noted": str(self)}


@dataclass(frozen=True, slots=True)
class _Found:
    """What a turn would teach; None where a model could not be asked. `called` is the turn by whom facts may name."""

    turn: Memory
    called: Memory
    claims: tuple[Claim, ...] | None


class Study(Background):
    """Learns from what is said to a store."""

    task = "learning"

    def __init__(
        self,
        store: Store,
        model: Model | None,
        zone_of: Callable[[Scope], tzinfo],
        clock: Callable[[], datetime],
        actions: Actions,
        is_on: bool = True,
        background: bool = True,
    ) -> None:
        self.model, self._zone_of, self._clock, self._actions = model, zone_of, clock, actions
        self._tried: dict[str, int] = {}
        super().__init__(store, is_on, background)
        if is_on and model is None:
            log.info("facts are learned by rules, in English and Spanish: no language model is configured")

    def __str__(self) -> str:
        return self.model.name if self.model else self.task

    def job_of(self, said: Memory, job: str) -> str | None:
        """Return what a turn's row is to say: whether it is to be learned from, and how long it may wait.

        What a person says teaches, and the notes that a model writes into its replies do.
        """
        if not self._is_on:
            return None
        if said.role == "assistant":
            return job if said.trust == "agent" and _NOTES.search(said.text) else None
        if said.role != "user" or said.trust not in ("hand", "user", "other") or len(said.text.strip()) < LEAST:
            return None
        return job if (ask.worth_asking if self.model else may_teach)(said.text) else None

    def learned(self, view: View, turn: Memory, scope: Scope) -> Learned:
        """Return what a turn taught, as far as `scope` sees it."""
        job = view.job(turn.id)
        ids = dict.fromkeys(held.id for held in view.citing([turn.id]) if held.retired_seq is None)
        found = [memory for id in ids if (memory := view.get(id, Where(scope))) and memory.extra.get("learned")]
        is_done = None if job in ("live", "import") and self._is_on else job is None and (self._is_on or bool(found))
        language = next((str(one.extra["language"]) for one in found if "language" in one.extra), language_of(turn.text))
        return Learned.of(sorted(found, key=lambda memory: memory.id), is_done, language)

    def left(self, space: str) -> int:
        with self._store.reading(space) as view:
            jobs = view.jobs()
        return jobs.get("live", 0) + jobs.get("import", 0)

    def _step(self, space: str) -> int:
        with self._store.reading(space) as view:
            turns = view.waiting(1 if self.model else BATCH)
            if not turns:
                return 0
            told = _known_about(view, turns[0]) if self.model else []
            out = {author for author in set(map(author_of, turns)) if ingest.has_opted_out(view, author)}
            voices = {(turn.origin.person, turn.speaker): turn for turn in turns}
            known_here = _people(view)
            names = {voice: _called(turn, known_here) for voice, turn in voices.items()}
        zones = {person: self._zone_of(Scope(space, person=person)) for person in {turn.origin.person for turn in turns}}
        found = [
            _Found(turn, called, () if author_of(turn) in out else self._claims(called, zones[turn.origin.person], told))
            for turn in turns
            for called in (_as(turn, names[turn.origin.person, turn.speaker]),)
        ]
        facts: list[Memory] = []
        teaching = [one for one in found if one.claims or one.turn.role == "assistant" or one.turn.version > 1]
        now = self._clock() if teaching else turns[-1].recorded_at  # else nothing is dated by it
        with self._store.writing(space, "reverie", LEARNED, now) as draft:
            for turn in voices.values():
                _meet(draft, turn)
            known = _Known(draft)
            for one in teaching:
                facts += self._teach(draft, one, known)
            for subject, author in {(fact.subject, str(fact.extra.get("told_by"))) for fact in facts if fact.subject}:
                _archive(draft, subject, author)
            for is_failed in (False, True):
                done = [one.turn for one in found if (one.claims is None) is is_failed]
                draft.set_job([(turn.id, turn.version) for turn in done], "failed" if is_failed else None)
        if facts:
            self._actions.note_all([("memory_fact", space, fact.id, str(fact.extra.get("type"))) for fact in facts])
        return len(turns)

    def settle(self, timeout_s: float | None) -> Settled:
        """Wait until nothing is left; what was given up is tried once more, for the model may be another or mended."""
        for space in self._store.spaces() if self._is_on else ():
            try:
                with self._store.reading(space) as view:
                    failed = [turn for turn in view.waiting(failed=True) if self._tried.get(turn.id, 0) <= ATTEMPTS]
                if failed:
                    self._tried |= {turn.id: ATTEMPTS for turn in failed}  # it holds nobody up a second time
                    with self._store.writing(space, "reverie", LEARNED, self._clock()) as draft:
                        draft.set_job([(turn.id, turn.version) for turn in failed], "import")
            except StoreError as exc:  # health() tells of a damaged space; the others go on
                log.warning("no %s in space %r: %s", self.task, space, exc)
        return super().settle(timeout_s)

    def _claims(self, turn: Memory, zone: tzinfo, known: Sequence[str]) -> tuple[Claim, ...] | None:
        text = own_words(turn.text) if turn.role == "user" else ""
        if len(text.strip()) < LEAST:
            return ()
        assert turn.happened_at is not None
        at, speaker = local(turn.happened_at, zone), turn.speaker or "user"
        if self.model is None:
            claims = extract(text, speaker=speaker, at=at)
            return claims if claims and judge(text, "user", "fact").allowed else ()
        if not ask.worth_asking(text) or not judge(text, "user", "fact").allowed:
            return ()
        try:
            claims = ask.claims_from(self.model, replace(turn, text=text), known, at, speaker)
        except (ModelError, BudgetExceeded) as exc:
            code = "budget" if isinstance(exc, BudgetExceeded) else "model"
            self._actions.note("memory_extract_error", turn.origin.space, turn.id, code)
            if isinstance(exc, BudgetExceeded) or exc.may_pass:
                raise
            self._tried[turn.id] = self._tried.get(turn.id, 0) + 1
            if self._tried[turn.id] < ATTEMPTS:
                raise
            log.warning("the model %s fails at %s, which teaches nothing then", self.model.name, turn.id)
            return None
        self._tried.pop(turn.id, None)
        self._actions.note("memory_extract_call", turn.origin.space, turn.id, self.model.name)
        return claims

    def _teach(self, draft: Draft, found: _Found, known: _Known) -> list[Memory]:
        """Write down what a turn teaches, if it still says so, and return the facts; an edited one is taken at its new word."""
        turn, claims = found.turn, found.claims
        out = (ingest.has_opted_out(draft, who) for who in {turn.origin.person, author_of(turn)})
        if not _stands(draft, turn) or any(out):
            return []
        told: list[tuple[Memory, Claim | None]] = [(_fact_of(found.called, claim, self), claim) for claim in claims or ()]
        if turn.role == "assistant":
            told += [(fact, None) for fact in _notes(draft, self._store, turn)]
        facts = [fact for memory, claim in told if (fact := _learn(draft, turn, memory, claim, known))]
        if turn.version > 1 and claims is not None:
            ingest.unsay(draft, _no_longer_said(draft, turn, {fact.id for fact in facts}))
        return facts


class _Known:
    """The facts about those whom a batch is about, each looked up once, with their words."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._about: dict[str, dict[str, tuple[Memory, frozenset[str]]]] = {}

    def about(self, subject: str) -> list[tuple[Memory, frozenset[str]]]:
        """Return what is known about someone."""
        if subject not in self._about:
            found = self._draft.scan(Where(Scope.owner(self._draft.space), ("fact",), subject=subject))
            self._about[subject] = {fact.id: (fact, words_of(fact.text)) for fact in found}
        return list(self._about[subject].values())

    def put(self, fact: Memory) -> None:
        """Take note of a fact as it is now."""
        if fact.subject in self._about:
            self._about[fact.subject][fact.id] = fact, words_of(fact.text)


def _stands(view: View, turn: Memory) -> bool:
    """Tell whether a turn is still there as it was read."""
    current = view.get(turn.id, Where(Scope.owner(view.space)))
    return current is not None and current.version == turn.version


def _no_longer_said(view: View, turn: Memory, said: set[str]) -> list[str]:
    """Return what was learned from an earlier wording of a turn, and from nothing else, that its new one does not say."""
    owner = Scope.owner(view.space)
    resting = (view.get(id, Where(owner)) for id in resting_only_on(view, [turn]))
    return [one.id for one in resting if one and one.extra.get("learned") and one.id not in said and not one.pinned]


def _subject(turn: Memory) -> str | None:
    """Return whom a turn's speaker is known as: by their id; by their name only where nobody else could have it (R15)."""
    id = turn.origin.person or (turn.speaker if turn.origin.channel is None else None)
    return None if id == LORE else id  # which is nobody's name


def _as(turn: Memory, name: str) -> Memory:
    return turn if turn.speaker == name else replace(turn, speaker=name)


def _called(turn: Memory, known: Sequence[Person]) -> str:
    """Return what a fact may call the speaker: their name, unless it is no name at all or somebody else's; then their id."""
    name, id = turn.speaker or "user", turn.origin.person
    if len(name) > 40 or len(name.split()) > 4 or _NO_NAME.search(name):
        return id if id and not _NO_NAME.search(id) else "user"
    return id if id and any(person.id != id for person in people.matching(known, name)) else name


def _people(view: View) -> list[Person]:
    return [people.from_value(state.name, state.value) for state in view.states(everyone_in(view.space), "person")]


def _known_about(view: View, turn: Memory) -> list[str]:
    """Return the newest facts about a speaker that may be seen where they speak."""
    where = Where(turn.origin, ("fact",), subject=_subject(turn))
    return [memory.text for memory in view.fetch([match.key for match in view.newest(where, KNOWN)])] if where.subject else []


def _meet(draft: Draft, turn: Memory) -> None:
    """Keep the name that a person goes by where all of the space may read; a forwarded message is under another's name."""
    id, name, everyone = turn.origin.person, turn.speaker, everyone_in(draft.space)
    if id is None or name in (None, id) or turn.role != "user" or turn.trust == "other" or turn.audience != everyone:
        return
    state = draft.state("person", everyone, id)
    person = people.from_value(id, state.value) if state else Person(id)
    assert name is not None
    is_new = name not in {known.text for known in person.names} and not person.opted_out
    if is_new and _called(turn, _people(draft)) == name and _stands(draft, turn):
        names = sorted((*person.names, Name(name, turn.happened_at or draft.at)), key=lambda known: known.since)
        value = people.to_value(replace(person, names=tuple(names)))
        draft.put_state([State("person", everyone, id, value, draft.at)])


def _fact_of(turn: Memory, claim: Claim, study: Study) -> Memory:
    """Return a claim as the memory it would become."""
    room = turn.origin.channel
    own = words_of(turn.speaker or "") | _FIRST_PERSON  # in a room a model's word alone does not make it theirs
    names_them = study.model is None or not words_of(claim.text).isdisjoint(own)
    is_known = claim.is_about_speaker and turn.origin.person is not None and names_them
    is_report = turn.trust == "other" or (room is not None and not is_known)
    trust = "other" if is_report else turn.trust
    mention = people.MENTION.search(claim.quote) if turn.trust != "other" and not claim.is_about_speaker else None
    subject = mention[1] if mention and mention[1] != LORE else None if is_report else _subject(turn)
    text = claim.text
    if is_report:
        text = _attributed(text, turn, claim.language)
    audience = turn.audience
    if is_report and room is not None:
        audience = narrowed(audience, channel=room)
    return Memory(
        id="",
        version=1,
        kind="fact",
        text=text,
        origin=turn.origin,
        audience=audience,
        trust=trust,
        confidence=min(claim.confidence, TRUST[trust], _certainty(turn, claim.quote)),
        recorded_at=turn.recorded_at,
        commit="",
        extra={
            "type": claim.type,
            "topic": claim.topic,
            "learned": study.model.name if study.model else "rules",
            "told_by": author_of(turn),
            "language": claim.language,
            **({"slot": claim.slot} if claim.slot else {}),
            **({"wish": True} if claim.is_wish else {}),
        },
        subject=subject,
        source=Source((turn.message_id,) if turn.message_id else (), (turn.id,), claim.quote, turn.source.place),
        happened_at=claim.happened_at or turn.happened_at,
        valid_from=claim.valid_from,
        valid_until=claim.valid_until,
    )


def _attributed(text: str, turn: Memory, language: str) -> str:
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


def _learn(draft: Draft, turn: Memory, told: Memory, claim: Claim | None, others: _Known) -> Memory | None:
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
    if claim is not None and told.subject is not None:
        told = _beside_others(draft, told, turn, claim, known, others)
    if known is not None:
        told = _again(draft, told, turn, claim, known)
    here = turn.origin if visible(turn.audience, turn.origin) else Scope.owner(draft.space)
    try:
        kept = ingest.keep_thing(draft, told, here, adds=not times)
    except (Erased, Refused) as exc:
        log.info("nothing is learned from %s: %s", turn.id, exc)
        return None
    if isinstance(kept, Quarantined):
        return None
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


def _beside_others(draft: Draft, told: Memory, turn: Memory, claim: Claim, same: Memory | None, others: _Known) -> Memory:
    """Return a fact linked to those that nearly say the same, and in place of those it corrects."""
    over = None if claim.is_wish else taken_back(claim.text)
    corrects = over is not None or (claim.corrects and claim.slot != "")
    if told.subject is None or (same is not None and not corrects):
        return told
    about = others.about(told.subject)
    known = [(fact, had) for fact, had in about if fact.audience == told.audience and (same is None or fact.id != same.id)]
    words = words_of(told.text)
    near = [fact.id for fact, had in known if len(words & had) > ALIKE * len(words | had)]
    if near:
        told = replace(told, extra={**told.extra, "near": near[-3:]})
    if not corrects:
        return told
    wrong = [
        fact
        for fact, had in known
        if turn.id not in fact.source.memory_ids
        and fact.extra.get("told_by") == author_of(turn)
        and fact.valid_until is None
        and (fact.happened_at or fact.recorded_at) <= (turn.happened_at or draft.at)
        and (fact.extra.get("slot") == claim.slot if over is None else _says(fact.text, had, over, turn.speaker or ""))
    ]
    until = claim.valid_from or turn.happened_at or draft.at
    for fact in wrong:
        if fact.valid_from is None or fact.valid_from < until:
            others.put(draft.add(replace(fact, valid_until=until)))
    return replace(told, replaces=tuple(fact.id for fact in wrong))


def _says(text: str, had: frozenset[str], over: str, speaker: str) -> bool:
    """Tell whether a fact says what is over: all of its words in any of their forms, and that of the same person."""
    if had & _DENIES or re.search(rf"(?:\b{re.escape(speaker)}|user)'s\b|\bdel? (?:{re.escape(speaker)}|usuario)\b", text):
        return False
    forms = {form for variants in said_words(text).values() for form in variants}
    said = said_words(over)
    return bool(said) and words_of(over) & _BEING <= had and all(not forms.isdisjoint(variants) for variants in said.values())


def _archive(draft: Draft, subject: str, author: str) -> None:
    """Put the oldest facts of an author about someone away, where there are more than are kept active."""
    where, most = Where(Scope.owner(draft.space), ("fact",), subject=subject), KEEP_LORE if subject == LORE else KEEP
    known = draft.scan(where) if draft.count(where).get("fact", 0) > most else []
    own = [fact for fact in known if fact.extra.get("told_by") == author and fact.extra.get("learned") and not fact.pinned]
    own.sort(key=lambda fact: (fact.recorded_at, fact.id))  # what was put away and came back is new
    for fact in own[: max(0, len(own) - most)]:
        draft.add(replace(fact, extra={**fact.extra, "archived": True}))
        draft.retire(fact.id)


# what a model notes in its replies (K5, K6, C6)


def _notes(draft: Draft, store: Store, turn: Memory) -> list[Memory]:
    """Put what a model noted for the session in its place, and return the facts it wrote down."""
    facts: list[Memory] = []
    stripped = strip_tags(turn.text)
    written = [(tag.name, *titled(tag.text)) for tag in stripped.tags]
    lines = _LORE_LINE.finditer(stripped.text)
    written += [("lore", None, f"Memory line: {found['line'].rstrip('.')}.") for found in lines]
    before = _before(draft, turn) if written else []
    for name, title, text in written:
        if name == "working-memory":
            _hold(draft, turn, before, "working", f"{title}: {text}" if title else text)
        elif name == "chat-context":
            _hold(draft, turn, before, "context", f"{title}: {text}" if title else text)
        else:
            facts += filter(None, [_noted(draft, store, turn, before, name, title, text)])
    return facts


def _hold(draft: Draft, turn: Memory, before: Sequence[Memory], kind: str, text: str) -> None:
    """Replace what is held for the session, unless something newer stands there or not all of the session may read it."""
    place, at = working.place_of(turn.origin), turn.happened_at or draft.at
    held = draft.state(kind, place)
    if within(place, turn.audience) and (held is None or held.updated_at <= at):
        kept = check.text(text)  # a tag taken out may have held a secret's halves apart
        value = working.to_value(working.parse(kept)) if kind == "working" else {"text": kept}
        telling = {word for word in words_of(kept) if len(word) > 4}
        drawn_on = [one.id for one in before if telling & words_of(one.text)]  # erased, they take it with them
        draft.put_state([State(kind, place, "", {**value, "rests_on": [turn.id, *drawn_on]}, at)])


def _before(view: View, turn: Memory) -> list[Memory]:
    """Return the turns that a reply may have drawn on, newest first."""
    origin, at = turn.origin, turn.happened_at
    room = None if origin.session else origin.channel
    until = None if at is None else at + MICROSECOND
    where = Where(origin, ("turn",), session=origin.session, channel=room, between=(None, until))
    turns = view.fetch([match.key for match in view.newest(where, RECENT + 1)])
    return [one for one in turns if one.id != turn.id][:RECENT]


def _noted(
    draft: Draft, store: Store, turn: Memory, before: Sequence[Memory], name: str, title: str | None, text: str
) -> Memory | None:
    """Return a model's note as the fact it would become; it is put aside where it may come from nobody's own words.

    It is worth as much as the message it answers says of it. Else it may come from anything the model was shown, and is
    trusted as little as the least of that.
    """
    replied = (one for one in before if turn.reply_to and one.message_id == turn.reply_to)
    asked = next(replied, None) or next((one for one in before if one.role == "user"), None)
    is_said = asked is not None and asked.trust in ("hand", "user") and grounded(text, asked.text)
    trust = "agent" if is_said else less_trusted("agent", *(one.trust for one in before), *_shown_trusts(draft, store, turn))
    audience, room = turn.audience, turn.origin.channel
    if is_said and asked is not None and room is not None:  # in a room it is what somebody said, not what is so
        text, trust = _attributed(text, asked, language_of(asked.text)), "other"
        audience = narrowed(audience, channel=room)
    if name == "chat-memory" and turn.origin.session:
        audience = narrowed(audience, session=turn.origin.session)
    cited = (turn, asked) if is_said and asked is not None else (turn,)
    note = Memory(
        id="",
        version=1,
        kind="fact",
        text=text,
        origin=turn.origin,
        audience=audience,
        trust=trust,
        confidence=LORE_CONFIDENCE if name == "lore" else DEFAULT_CONFIDENCE,
        recorded_at=turn.recorded_at,
        commit="",
        title=title,
        extra={"type": "lore" if name == "lore" else "other", "learned": name, "told_by": author_of(turn)},
        subject=LORE if name == "lore" else None,
        source=Source(
            tuple(one.message_id for one in cited if one.message_id), tuple(one.id for one in cited), text, turn.source.place
        ),
        happened_at=turn.happened_at,
    )
    if trust == "agent" and asked is not None:
        about = replace(note, subject=_subject(asked))
        if any(found.retired_seq is None for found in draft.find_key(key_of(about) or b"")):
            note = about  # what they said themselves, said again
    reason = None
    if asked is not None and says_tags(asked.text):
        reason = "the message it answers held the tag: the model only repeated it"
    elif not is_said and trust != "agent":
        reason = f"a model wrote it down while it read what is trusted as {trust!r} only"
    if reason is None:
        return note
    quarantine.put(draft, note, reason, author_of(turn))
    return None


def _shown_trusts(view: View, store: Store, turn: Memory) -> list[str]:
    """Return the trust of what was last recalled where a model speaks: it may have been shown any of it."""
    last = store.last_recalled(turn.origin)
    recalled = store.recalled(last) if last else None
    found = (view.get(id, Where(turn.origin)) for id in (recalled.ids if recalled else ()))
    return [memory.trust for memory in found if memory is not None]
