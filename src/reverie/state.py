"""Handles on what is held only for now, and on people: small objects bound to a scope, whose verbs read and replace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from reverie.errors import BadInput, NotFound
from reverie.memory import check, people, working
from reverie.memory.people import Name, Person
from reverie.memory.scope import Scope, asked_in
from reverie.memory.trace import Memory
from reverie.memory.working import State, Working
from reverie.store.base import Store, Where


class Slot:
    """One entry of session state."""

    def __init__(self, store: Store, clock: Callable[[], datetime], kind: str, scope: Scope, name: str = "") -> None:
        self._store, self._clock, self._kind, self._name = store, clock, kind, name
        self._place = working.place_of(scope)

    def _read(self) -> State | None:
        with self._store.reading(self._place.space) as view:
            return view.state(self._kind, self._place, self._name)

    def _write(self, value: Mapping[str, object]) -> None:
        self._store.put_state(self._place.space, [State(self._kind, self._place, self._name, value, self._clock())])

    def exists(self) -> bool:
        """Tell whether there is anything."""
        return self._read() is not None

    def clear(self) -> None:
        """Remove it."""
        self._store.put_state(self._place.space, (), [State(self._kind, self._place, self._name, {}, self._clock())])


class WorkingMemory(Slot):
    """The session's working memory (K1); after a week without an update it counts as gone."""

    def get(self) -> Working | None:
        """Return it, or None."""
        state = self._read()
        if state is None or working.is_stale(state.updated_at, self._clock()):
            return None
        return working.from_value(state.value, state.updated_at)

    def replace(
        self,
        task: str | None = None,
        context: Iterable[str] = (),
        pending: Iterable[str] = (),
        notes: str | None = None,
        content: str | None = None,
    ) -> Working:
        """Put a new one in its place, from fields or from `content`, the form that models write."""
        if content is not None:
            if task or notes or context or pending:
                raise BadInput("give either content or the fields, not both")
            new = working.parse(content)
        else:
            new = Working(task, working.lines(context), working.lines(pending), notes)
        if new == Working():
            raise BadInput("working memory would be empty; use clear() to remove it")
        self._write(working.to_value(new))
        kept = self.get()
        assert kept is not None
        return kept


class Note(Slot):
    """One text: a scratchpad of a task (A5), or what kind of chat this is (K5)."""

    def get(self) -> str | None:
        """Return the text, or None."""
        state = self._read()
        return None if state is None else str(state.value["text"])

    def replace(self, text: str) -> str:
        """Put a new text in its place."""
        self._write({"text": check.text(text)})
        return text


class Recent(Slot):
    """The short-term window (A1): the session's last 20 turns, none older than 15 minutes."""

    def get(self) -> tuple[Memory, ...]:
        """Return the turns, oldest first."""
        now = self._clock()
        with self._store.reading(self._place.space) as view:
            cut = view.state(self._kind, self._place, self._name)
            since = now - working.RECENT_FOR
            where = Where(self._scope, ("turn",), session=self._scope.session, between=(since, None))
            turns = view.fetch([match.key for match in view.newest(where, working.RECENT_TURNS)])
        return tuple(turn for turn in reversed(turns) if cut is None or turn.recorded_at > cut.updated_at)

    def __init__(self, store: Store, clock: Callable[[], datetime], kind: str, scope: Scope) -> None:
        super().__init__(store, clock, kind, scope)
        self._scope = scope

    def clear(self) -> None:
        """Start the window anew; the turns themselves stay remembered."""
        self._write({})


class People:
    """Who is who in a space (R15)."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store, self._clock = store, clock

    def get(self, id: str, scope: Scope | None = None) -> Person:
        """Return a person by id."""
        found = self._find(id, scope)
        if found is None:
            raise NotFound(f"no person {id!r} here; people.alias(id, name) makes one known")
        return found

    def find(self, name: str, scope: Scope | None = None) -> tuple[Person, ...]:
        """Return everyone who goes by a name, an account or a mention such as `<@283749>`."""
        return people.matching(self.list(scope), check.name(name, "name"))

    def list(self, scope: Scope | None = None) -> tuple[Person, ...]:
        """Return everyone known in a space."""
        space = asked_in(scope).space
        with self._store.reading(space) as view:
            return tuple(people.from_value(state.name, state.value) for state in view.states(Scope(space), "person"))

    def alias(self, id: str, name: str, scope: Scope | None = None) -> Person:
        """Make a name known; the last one given is the one in use."""
        person = self._known(id, scope)
        name = check.name(name, "name")
        if person.names and person.names[-1].text == name:
            return person
        names = (*(known for known in person.names if known.text != name), Name(name, self._clock()))
        return self._keep(replace(person, names=names), scope)

    def update(
        self,
        id: str,
        zone: str | None = None,
        language: str | None = None,
        accounts: Iterable[str] | None = None,
        scope: Scope | None = None,
    ) -> Person:
        """Set what is known of a person."""
        person = self._known(id, scope)
        person = replace(
            person,
            zone=person.zone if zone is None else people.check_zone(check.name(zone, "zone")),
            language=person.language if language is None else check.name(language, "language"),
            accounts=person.accounts if accounts is None else check.names(accounts, "accounts"),
        )
        return self._keep(person, scope)

    def optout(self, id: str, out: bool = True, scope: Scope | None = None) -> Person:
        """Keep nothing more of what a person says; what is there already stays until erased."""
        return self._keep(replace(self._known(id, scope), opted_out=bool(out)), scope)

    def _find(self, id: str, scope: Scope | None) -> Person | None:
        space = asked_in(scope).space
        with self._store.reading(space) as view:
            state = view.state("person", Scope(space), check.name(id, "person id"))
        return None if state is None else people.from_value(state.name, state.value)

    def _known(self, id: str, scope: Scope | None) -> Person:
        return self._find(id, scope) or Person(check.name(id, "person id"))

    def _keep(self, person: Person, scope: Scope | None) -> Person:
        space = asked_in(scope).space
        self._store.put_state(space, [State("person", Scope(space), person.id, people.to_value(person), self._clock())])
        return person
