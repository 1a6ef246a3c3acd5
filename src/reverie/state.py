"""Handles on what is held only for now, on patterns and on people: small objects bound to a scope, with verbs of their own."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from reverie.errors import BadInput, NotFound, Refused
from reverie.memory import check, people, procedural, working
from reverie.memory.language import fold
from reverie.memory.people import Name, Person
from reverie.memory.procedural import Match, Pattern
from reverie.memory.scope import Scope, asked_in
from reverie.memory.trace import DEFAULT_CONFIDENCE, Commit, Memory
from reverie.memory.working import State, Working
from reverie.store.base import Store, View, Where

FIRST_MOMENT = datetime.min.replace(tzinfo=UTC)


class Slot:
    """One entry of session state."""

    def __init__(self, store: Store, clock: Callable[[], datetime], kind: str, scope: Scope, name: str = "") -> None:
        self._store, self._clock, self._kind, self._name = store, clock, kind, name
        self._place = working.place_of(scope)

    def _read(self) -> State | None:
        with self._store.reading(self._place.space) as view:
            return view.state(self._kind, self._place, self._name)

    def _write(self, value: Mapping[str, object]) -> datetime:
        now = self._clock()
        self._store.put_state(self._place.space, [State(self._kind, self._place, self._name, value, now)])
        return now

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
        return working.from_value(working.to_value(new), self._write(working.to_value(new)))


class Note(Slot):
    """One text: a scratchpad of a task (A5), or what kind of chat this is (K5)."""

    def get(self) -> str | None:
        """Return the text, or None."""
        state = self._read()
        return None if state is None else working.text_in(state.value)

    def replace(self, text: str) -> str:
        """Put a new text in its place."""
        kept = check.text(text)
        self._write({"text": kept})
        return kept


class Recent(Slot):
    """The short-term window (A1): the last 20 turns of the session, else of the room, none older than 15 minutes."""

    def __init__(self, store: Store, clock: Callable[[], datetime], kind: str, scope: Scope) -> None:
        super().__init__(store, clock, kind, scope)
        self._scope = scope

    def get(self) -> tuple[Memory, ...]:
        """Return the turns, oldest first."""
        now = self._clock()
        with self._store.reading(self._place.space) as view:
            cut = view.state(self._kind, self._place, self._name)
            since = now - min(working.RECENT_FOR, now - FIRST_MOMENT)
            session, room = self._scope.session, None if self._scope.session else self._scope.channel
            where = Where(self._scope, ("turn",), session=session, channel=room, between=(since, None))
            turns = view.fetch([match.key for match in view.newest(where, working.RECENT_TURNS)])
        return tuple(turn for turn in reversed(turns) if cut is None or turn.commit > str(cut.value.get("upto") or ""))

    def clear(self) -> None:
        """Start the window anew; the turns themselves stay remembered."""

        def entries(view: View) -> list[State]:
            last = view.commits(Scope.owner(view.space), limit=1)
            return [State(self._kind, self._place, self._name, {"upto": one.id}, self._clock()) for one in last]

        self._store.put_state(self._place.space, entries)


class Patterns:
    """What to do when something comes up (K4). How often a pattern was used stands beside it, and goes when it is erased."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], datetime],
        remember: Callable[..., Memory],
        forget: Callable[..., Commit],
        scope: Scope,
    ) -> None:
        self._store, self._clock, self._remember, self._forget, self._scope = store, clock, remember, forget, scope

    def add(
        self,
        trigger: str,
        response: str,
        confidence: float = DEFAULT_CONFIDENCE,
        learned_from: str | None = None,
        usage_count: int = 0,
    ) -> Pattern:
        """Make a pattern known; `learned_from` is a place or the id of a memory. Told again, it is the same one, surer."""
        text, source = procedural.text_of(trigger, response), procedural.source_of(learned_from)
        used = check.count(usage_count, "usage_count", least=0)
        cited = next(iter(source.memory_ids), None) if source else None
        with self._store.reading(self._scope.space) as view:
            found = view.get(cited, Where(self._scope, retired=True)) if cited else None
        if found is not None and found.trust not in procedural.IN_FORCE:
            raise Refused(f"{cited} is trusted as {found.trust!r} only, which makes no pattern; leave learned_from out")
        memory = self._remember(text, kind=procedural.KIND, scope=self._scope, confidence=confidence, source=source)
        if used:
            self._count(memory.id, used)
        return self.get(memory.id)

    def remove(self, named: str) -> Commit:
        """Forget a pattern by its id or trigger; `undo` brings it back."""
        pattern = self.get(named)
        return self._forget(pattern.id, scope=self._scope, reason="pattern removed")

    def get(self, named: str) -> Pattern:
        """Return a pattern by its id or trigger."""
        named, known = check.text(named, "pattern", "give its id or its trigger"), self.list()
        found = [one for one in known if one.id == named] or [one for one in known if fold(one.trigger) == fold(named)]
        if len(found) > 1:
            raise BadInput(f"{len(found)} patterns have the trigger {named!r}; give one's id: {', '.join(p.id for p in found)}")
        if found:
            return found[0]
        near = difflib.get_close_matches(named[:100], [one.trigger for one in known], 1, 0.5)
        hint = f"nearest is {near[0]!r}" if near else "patterns().list() shows them"
        raise NotFound(f"no pattern named {named[:100]!r}; {hint}")

    def list(self) -> tuple[Pattern, ...]:
        """Return every pattern, oldest first."""
        with self._store.reading(self._scope.space) as view:
            return tuple(procedural.known(view.scan(Where(self._scope, (procedural.KIND,))), _uses(view, self._scope)))

    def match(self, text: str, limit: int = 5) -> tuple[Match, ...]:
        """Return the patterns that a text brings up, the best first."""
        said = check.text(text, if_empty="give a message that may bring one up")
        return tuple(procedural.matching(self.list(), said)[: check.count(limit, "limit")])

    def used(self, named: str) -> Pattern:
        """Count that a pattern was followed; that it was shown or matched is not yet a use."""
        id = self.get(named).id
        self._count(id, 1)
        return self.get(id)

    @staticmethod
    def validate(values: object) -> Pattern:
        """Return a pattern in the form it has in files, checked, for `add`."""
        return procedural.validate(values)

    def _count(self, id: str, more: int) -> None:
        def entries(view: View) -> Sequence[State]:
            memory = view.get(id, Where(self._scope))
            if memory is None:
                return ()  # gone meanwhile
            known = view.state(procedural.USE, memory.audience, id)
            count = more + (_count_in(known) if known else 0)
            return [State(procedural.USE, memory.audience, id, {"memory": id, "count": count}, self._clock())]

        self._store.put_state(self._scope.space, entries)


def _uses(view: View, scope: Scope) -> dict[str, int]:
    return {state.name: _count_in(state) for state in view.states(scope, procedural.USE)}


def _count_in(state: State) -> int:
    count = state.value.get("count")
    return count if isinstance(count, int) else 0  # an import may bring anything


class People:
    """Who is who in a space (R15); `zone` is that of whoever has none of their own."""

    def __init__(self, store: Store, clock: Callable[[], datetime], zone: str = "UTC") -> None:
        self._store, self._clock, self._zone = store, clock, zone

    def get(self, id: str, scope: Scope | None = None) -> Person:
        """Return a person by id."""
        space = asked_in(scope).space
        with self._store.reading(space) as view:
            state = view.state("person", Scope(space), check.name(id, "person id"))
        if state is None:
            raise NotFound(f"no person {id!r} here; people.alias(id, name) makes one known")
        return people.from_value(state.name, state.value)

    def zone_of(self, scope: Scope, now: datetime | None = None) -> tzinfo:
        """Return the time zone that a question is asked in: the person's, else that of its `now`, else the mind's."""
        zone: str | None = None
        if scope.person is not None:
            with self._store.reading(scope.space) as view:
                state = view.state("person", Scope(scope.space), scope.person)
            zone = people.from_value(scope.person, state.value).zone if state else None
        if not zone and now is not None and now.tzinfo is not None:
            return now.tzinfo
        return ZoneInfo(zone or self._zone)

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
        name = check.name(name, "name")

        def named(person: Person) -> Person:
            if person.names and person.names[-1].text == name:
                return person
            others = (known for known in person.names if known.text != name)
            return replace(person, names=(*others, Name(name, self._clock())))

        return self._change(id, scope, named)

    def update(
        self,
        id: str,
        zone: str | None = None,
        language: str | None = None,
        accounts: Iterable[str] | None = None,
        scope: Scope | None = None,
    ) -> Person:
        """Set what is known of a person."""
        given: dict[str, Any] = {
            "zone": None if zone is None else people.check_zone(check.name(zone, "zone")),
            "language": None if language is None else people.check_language(check.name(language, "language")),
            "accounts": None if accounts is None else check.names(accounts, "accounts"),
        }
        known = {name: value for name, value in given.items() if value is not None}
        return self._change(id, scope, lambda person: replace(person, **known))

    def optout(self, id: str, out: bool = True, scope: Scope | None = None) -> Person:
        """Keep nothing more of what a person says; what is there already stays until erased."""
        return self._change(id, scope, lambda person: replace(person, opted_out=bool(out)))

    def _change(self, id: str, scope: Scope | None, change: Callable[[Person], Person]) -> Person:
        """Change what is known of a person, with nobody else writing between the look and the change."""
        id, space = check.name(id, "person id"), asked_in(scope).space
        changed = Person(id)

        def entries(view: View) -> list[State]:
            nonlocal changed
            state = view.state("person", Scope(space), id)
            changed = change(people.from_value(id, state.value) if state else Person(id))
            return [State("person", Scope(space), id, people.to_value(changed), self._clock())]

        self._store.put_state(space, entries)
        return changed
