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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from reverie.errors import BudgetExceeded, ModelError, StoreError
from reverie.learn import ask, ingest
from reverie.learn.actions import Actions
from reverie.learn.background import Background, Settled
from reverie.learn.extract import extract, may_teach
from reverie.learn.facts import Known, archive, fact_of, learn, subject_of
from reverie.learn.guard import judge
from reverie.learn.ingest import author_of
from reverie.learn.notes import has_notes, notes_in
from reverie.learn.tellings import let_go
from reverie.memory import people
from reverie.memory.language import language_of
from reverie.memory.people import Name, Person
from reverie.memory.scope import Scope, everyone_in
from reverie.memory.semantic import Claim
from reverie.memory.trace import Memory
from reverie.memory.working import State
from reverie.models.base import Model
from reverie.recall.show import local
from reverie.store.base import Draft, Store, View, Where

LEARNED = "learned"  # the reason of the commits that facts come in by
BATCH, FEW = 256, 64  # turns read at once, by rules; the fewer while somebody writes
BEHIND = 100  # turns waiting, from which on learning gives way to nobody: too many, and some are never learned from
TEACH = 4  # turns that teach something in one commit: nobody else can write meanwhile
LEAST = 4  # characters of a message that can teach anything (C4)
KNOWN = 20  # facts that a model is told are known already

# Possessive, and within a line: whoever writes a million blanks must not hold everyone up.
_RECALLED = re.compile(r"\[(memory|unverified) ([0-9a-f]{1,40})\b[^\]\n]{0,200}\]")
_DATED = re.compile(r"\b\d{4}-\d\d-\d\d\b")
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

    @property
    def may_teach(self) -> bool:
        """Whether there is anything to be written for it: an edited turn may have taught what it no longer says."""
        return bool(self.claims) or self.turn.role == "assistant" or self.turn.version > 1


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
        self._tried: set[str] = set()  # once more, after they were given up
        self._known, self._is_behind = Known(), False
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
            return job if said.trust == "agent" and has_notes(said.text) else None
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
            self._is_behind = view.live() > BEHIND
            turns = view.waiting(1 if self.model else FEW if self._is_in_the_way() else BATCH)
            if not turns:
                return 0
            told = _known_about(view, turns[0]) if self.model else []
            out = {author for author in set(map(author_of, turns)) if ingest.has_opted_out(view, author)}
            voices = {(turn.origin.person, turn.speaker): turn for turn in turns}
            known_here = _people(view)
            names = {voice: _called(turn, known_here) for voice, turn in voices.items()}
        zones = {person: self._zone_of(Scope(space, person=person)) for person in {turn.origin.person for turn in turns}}
        found = []
        for turn in turns:
            called = _as(turn, names[turn.origin.person, turn.speaker])
            claims = () if author_of(turn) in out else self._claims(called, zones[turn.origin.person], told)
            found.append(_Found(turn, called, claims))
            self._breathe()
        strangers = [turn for turn in voices.values() if _is_new_name(turn, known_here)]
        for some in _in_commits(found, 1 if self._is_in_the_way() else TEACH):
            self._write(space, some, strangers)
            strangers = []
            self._breathe()
        if not self._background:  # else once nothing is left
            self._known = Known()
        return len(turns)

    def _write(self, space: str, found: Sequence[_Found], strangers: Iterable[Memory]) -> None:
        """Write what some turns teach, together with the word that they are done."""
        facts: list[Memory] = []
        known, self._known = self._known, Known()  # what was read for a commit that fails is not what is there
        teaching = [one for one in found if one.may_teach]
        now = self._clock() if teaching else found[-1].turn.recorded_at  # else nothing is dated by it
        with self._store.writing(space, "reverie", LEARNED, now) as draft, known.read_in(draft):
            for turn in strangers:
                _meet(draft, turn)
            for one in teaching:
                facts += self._teach(draft, one, known)
            for subject, author in {(fact.subject, str(fact.extra.get("told_by"))) for fact in facts}:
                archive(draft, subject, author, known)
            for is_failed in (False, True):
                done = [one.turn for one in found if (one.claims is None) is is_failed]
                draft.set_job([(turn.id, turn.version) for turn in done], "failed" if is_failed else None)
        self._known = known
        if facts:
            self._actions.note_all([("memory_fact", space, fact.id, str(fact.extra.get("type"))) for fact in facts])

    def _is_in_the_way(self) -> bool:
        return not self._is_behind and super()._is_in_the_way()

    def _work_on(self) -> None:
        super()._work_on()
        self._known = Known()  # nothing is held while nothing is to be done: it may be erased meanwhile

    def settle(self, timeout_s: float | None) -> Settled:
        """Wait until nothing is left; what was given up is tried once more, for the model may be another or mended."""
        for space in self._store.spaces() if self._is_on else ():
            try:
                with self._store.reading(space) as view:
                    failed = [turn for turn in view.waiting(failed=True) if turn.id not in self._tried]
                if failed:
                    self._tried |= {turn.id for turn in failed}  # it holds nobody up a second time
                    with self._store.writing(space, "reverie", LEARNED, self._clock()) as draft:
                        draft.set_job([(turn.id, turn.version) for turn in failed], "import")
            except StoreError as exc:  # health() tells of a damaged space; the others go on
                log.warning("no %s in space %r: %s", self.task, space, exc)
        return super().settle(timeout_s) + Settled(0, sum(map(self._refused_in, self._store.spaces())) if self._is_on else 0)

    def _refused_in(self, space: str) -> int:
        """Return how many turns a model would not answer."""
        try:
            with self._store.reading(space) as view:
                return view.jobs().get("failed", 0)
        except StoreError:
            return 0

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
            log.warning("the model %s fails at %s, which teaches nothing then", self.model.name, turn.id)
            return None
        self._actions.note("memory_extract_call", turn.origin.space, turn.id, self.model.name)
        return claims

    def _teach(self, draft: Draft, found: _Found, known: Known) -> list[Memory]:
        """Write down what a turn teaches, if it still says so, and return the facts; an edited one is taken at its new word."""
        turn, claims = found.turn, found.claims
        out = (ingest.has_opted_out(draft, who) for who in {turn.origin.person, author_of(turn)})
        if not _stands(draft, turn) or any(out):
            return []
        model = self.model.name if self.model else None
        told: list[tuple[Memory, Claim | None]] = [(fact_of(found.called, claim, model), claim) for claim in claims or ()]
        if turn.role == "assistant":
            told += [(fact, None) for fact in notes_in(draft, self._store, turn)]
        facts = [fact for memory, claim in told if (fact := learn(draft, turn, memory, claim, known))]
        if turn.version > 1 and claims is not None:
            said = {fact.id for fact in facts}  # of what else it said before, nothing is left but what was told on purpose
            let_go(draft, [turn], lambda one, _: one.id in said or one.pinned or not one.extra.get("learned"))
            known.forget()
        return facts


def _stands(view: View, turn: Memory) -> bool:
    """Tell whether a turn is still there as it was read."""
    current = view.get(turn.id, Where(Scope.owner(view.space)))
    return current is not None and current.version == turn.version


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
    where = Where(turn.origin, ("fact",), subject=subject_of(turn))
    return [memory.text for memory in view.fetch([match.key for match in view.newest(where, KNOWN)])] if where.subject else []


def _in_commits(found: Sequence[_Found], most: int) -> Iterator[list[_Found]]:
    """Yield turns in order, so many that teach something at a time."""
    some: list[_Found] = []
    teaching = 0
    for one in found:
        some.append(one)
        teaching += one.may_teach
        if teaching == most:
            yield some
            some, teaching = [], 0
    if some:
        yield some


def _is_new_name(turn: Memory, known: Sequence[Person]) -> bool:
    """Tell whether a person goes by a name not yet known, where all of the space may read it; a forwarded one is another's."""
    id, name = turn.origin.person, turn.speaker
    if (
        id is None
        or name in (None, id)
        or turn.role != "user"
        or turn.trust == "other"
        or turn.audience != everyone_in(turn.origin.space)
    ):
        return False
    person = next((person for person in known if person.id == id), Person(id))
    return name not in {known.text for known in person.names} and not person.opted_out and _called(turn, known) == name


def _meet(draft: Draft, turn: Memory) -> None:
    """Keep the name that a person goes by."""
    id, name, everyone, known = turn.origin.person, turn.speaker, everyone_in(draft.space), _people(draft)
    if id is not None and name is not None and _is_new_name(turn, known) and _stands(draft, turn):
        person = next((person for person in known if person.id == id), Person(id))
        names = sorted((*person.names, Name(name, turn.happened_at or draft.at)), key=lambda known: known.since)
        value = people.to_value(replace(person, names=tuple(names)))
        draft.put_state([State("person", everyone, id, value, draft.at)])
