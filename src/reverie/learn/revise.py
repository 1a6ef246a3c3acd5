"""Changing one's mind: update, forget, restore, pin, undo, and erasing for good.

Each is a function on a commit being written (or, for an erase, on the state it will be applied to). What a scope may not
see is not found, counted or touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from reverie.errors import BadInput, CannotUndo, Conflict, NotFound, Refused, UndoConflict
from reverie.learn.guard import judge
from reverie.learn.ingest import BECOMING, OURS, PUT_AWAY, author_of, edit, not_ours
from reverie.learn.tellings import bearing, is_yes, let_go, reopened
from reverie.memory import check, people
from reverie.memory.language import fold, query, query_words, words_of
from reverie.memory.scope import Scope
from reverie.memory.trace import DEFAULT_CONFIDENCE, EPOCH, TRUST, Diff, Memory, Sighting, Source, less_trusted
from reverie.memory.working import State
from reverie.store.base import ERASED, Draft, Erasure, Held, Touched, View, Where, key_of, repeats

EVERYTHING = 1 << 40

JobOf = Callable[[Memory, str], str | None]


def unknown(id: str) -> NotFound:
    """Return the one error for what is not there and for what may not be seen."""
    return NotFound(f"no memory {id!r} here; recall() and scan() list what there is")


def no_commit(id: str) -> NotFound:
    """Return the one error for a commit that is not there or touched nothing the asker sees."""
    return NotFound(f"no commit {id!r} here; log() lists them")


def active(view: View, id: str, scope: Scope) -> Memory:
    """Return the active version of a memory."""
    memory = view.get(id, Where(scope))
    if memory is not None:
        return memory
    if view.get(id, Where(scope, retired=True)) is not None:
        raise NotFound(f"memory {id!r} was forgotten; restore() brings it back, history() shows it")
    raise unknown(id)


def believed(view: View, id: str, where: Where) -> Memory:
    """Return a memory as it was believed at a moment."""
    memory = view.get(id, where)
    if memory is None:
        raise unknown(id)
    return memory


def version(view: View, id: str, scope: Scope, number: int) -> Memory:
    """Return one version of a memory."""
    for memory in view.history(id, scope):
        if memory.version == number:
            return memory
    raise NotFound(f"no version {number} of memory {id!r} here; history() lists them")


def diff(view: View, before: Where, after: Where) -> Diff:
    """Return what changed from one moment to another."""
    start, end = before.at or 0, after.at or 0
    if start > end:
        raise BadInput("the second moment lies before the first; swap them")
    pairs = [(view.get(id, before), view.get(id, after)) for id in view.changed_between(start, end, before.scope)]
    return Diff(
        tuple(new for old, new in pairs if new and not old),
        tuple(old for old, new in pairs if old and not new),
        tuple((old, new) for old, new in pairs if old and new and old.version != new.version),
    )


def details(
    title: str | None,
    tags: Iterable[str] | None,
    valid_from: datetime | None,
    valid_until: datetime | None,
    extra: Mapping[str, object] | None,
) -> dict[str, object]:
    """Return what an update changes beside the text, checked."""
    given: dict[str, object] = {}
    if title is not None:
        given["title"] = check.text(title, "title")
    if tags is not None:
        given["tags"] = check.tags(tags)
    for name, moment in (("valid_from", valid_from), ("valid_until", valid_until)):
        if moment is not None:
            given[name] = check.moment(moment, name)
    if extra is not None:
        given["extra"] = not_ours(check.extra(extra))
    return given


def update(
    draft: Draft,
    id: str,
    scope: Scope,
    text: str | None,
    expect: int | None,
    details: dict[str, object],
    job_of: JobOf = lambda turn, job: None,
) -> Memory:
    """Add the next version of a memory; a turn in other words is learned from anew.

    Somebody else's words in a turn are not its author's: they are trusted as a tool is, and teach nothing.
    """
    known = active(draft, id, scope)
    if expect is not None and expect != known.version:
        raise Conflict(f"memory {id!r} is at version {known.version}, not {expect}; look at it again and repeat")
    if isinstance(extra := details.get("extra"), dict):  # what Reverie itself goes by stays
        details = {**details, "extra": {**extra, **{name: known.extra[name] for name in OURS & known.extra.keys()}}}
    changed = replace(known, **details)  # type: ignore[arg-type]
    trust = "hand" if known.trust == "hand" else "user"
    said = "\n".join(filter(None, (changed.title, changed.text if text else None, *changed.tags)))
    if known.kind not in ("turn", "episode") and said and (text or {"title", "tags"} & details.keys()):
        verdict = judge(said, trust, BECOMING.get(known.kind, "fact"), is_bounded=False)
        if not verdict.allowed:
            raise Refused(f"{verdict.reason}; the memory stays as it was")
    if text is not None and text != known.text:
        changed = replace(changed, text=text, source=Source(), trust=trust, confidence=DEFAULT_CONFIDENCE)
        if known.kind == "turn":
            is_own = scope.person in (None, author_of(known))
            said_by = next(
                (one.trust for one in reversed(draft.history(id, Scope.owner(draft.space))) if one.trust != "tool"), "tool"
            )
            trust = said_by if is_own else less_trusted(known.trust, "tool")
            changed = replace(changed, source=known.source, trust=trust, confidence=TRUST[trust])
    check.interval(changed.valid_from, changed.valid_until, "the time it holds")
    if changed == known:
        return known
    if changed.text != known.text and known.kind == "turn":
        edit(draft, changed, job_of(changed, "live"))
        return active(draft, id, scope)
    kept = draft.add(changed)
    key = key_of(kept)
    if kept.text != known.text and key:
        draft.sight(kept.id, key, Sighting(draft.at, kept.confidence))
    return active(draft, id, scope)


def having(view: View, words: str, scope: Scope, ever: bool = False) -> list[Memory]:
    """Return the versions whose text or title has every one of these words, as written; with `ever` past ones too."""
    wanted = set(query_words(check.verbatim(words, "query")))
    if not wanted:
        raise BadInput(f"there is no word in {words!r} to look for")
    matches = view.search_words(query(words), Where(scope, ever=ever), EVERYTHING, EPOCH)
    found = view.fetch([match.key for match in matches])
    return [memory for memory in found if wanted <= words_of(f"{memory.title or ''}\n{memory.text}")]


def to_forget(view: View, scope: Scope, id: str | None, words: str | None, message_id: str | None) -> list[Memory]:
    """Return what a `forget` names."""
    if id is not None:
        return [active(view, id, scope)]
    if words is not None:
        return having(view, words, scope)
    found = view.scan(Where(scope, message_id=message_id, kinds=("turn",)))
    if not found:
        raise NotFound(f"no message {message_id!r} here")
    return found


def forget(draft: Draft, going: list[Memory]) -> None:
    """Retire memories and what rests on nothing else; the latter was not forgotten itself, and may be learned again."""
    let_go(draft, going)
    for memory in going:
        draft.retire(memory.id)


def restore(draft: Draft, id: str, scope: Scope, job_of: JobOf) -> Memory:
    """Bring back what was forgotten; a turn teaches again what it did."""
    last = draft.get(id, Where(scope, retired=True))
    if last is None:
        raise unknown(id)
    if last.retired_at is None:
        return last
    extra = {name: value for name, value in last.extra.items() if name not in PUT_AWAY}
    return draft.add(replace(last, extra=extra), job_of(last, "live") if last.kind == "turn" else None)


def undo(draft: Draft, commit: str, scope: Scope, job_of: JobOf = lambda turn, job: None) -> tuple[str, ...]:
    """Take back what a commit did, as far as `scope` sees it, all of that or nothing; return the members erased since.

    What the commit retired out of sight, because it rested on what it retired in sight, comes back too. A turn that says again
    what it said before is learned from again.
    """
    found = draft.find_commit(commit, scope)
    if found is None:
        raise no_commit(commit)
    owner = Scope.owner(draft.space)
    touched = draft.touched(commit, scope)
    if not touched:
        why = "an erase is final" if found.why == ERASED else "nothing of it is left"
        raise CannotUndo(f"commit {commit!r} cannot be undone: {why}")
    seen = {change.id for change in touched}
    hidden = [change for change in draft.touched(commit, owner) if change.id not in seen and change.added is None]
    versions = {change.id: draft.history(change.id, owner) for change in (*touched, *hidden)}
    moved = [change for change in (*touched, *hidden) if not _as_left(change, versions[change.id])]
    turned = set[str]()
    for change in touched:
        before = _before(change, versions[change.id])
        if before and before.kind == "turn" and before.text != versions[change.id][-1].text and change not in moved:
            edit(draft, before, job_of(before, "live"))
            turned.add(change.id)
    # With what was learned from a turn since goes what that had changed.
    moved = [change for change in moved if not (turned and _as_left(change, draft.history(change.id, owner)))]
    if conflicts := [change.id for change in moved if change.id in seen]:
        blocking = tuple(id for id in draft.commits_after(commit, conflicts) if id != draft.commit_id)
        raise UndoConflict(
            f"commit {commit!r} cannot be undone, {len(conflicts)} of its memories changed; first undo {', '.join(blocking)}",
            blocking,
        )
    for change in (*touched, *hidden):
        if change in moved or change.id in turned:
            continue
        if before := _before(change, versions[change.id]):
            draft.add(before)
        elif change.added is not None and draft.get(change.id, Where(owner)):
            draft.retire(change.id)
    gone = [versions[change.id][-1] for change in touched if change.retired is None and change.added is not None]
    seq = draft.seq_of(found.at)
    told = [held for id in sorted(versions) for held in draft.sightings(id)]
    draft.retire_sightings(held for held in told if held.seq == seq and held.retired_seq is None and held.id in seen)
    for held in told:
        if held.retired_seq == seq:
            draft.sight(held.id, held.key, held.sighting)
    let_go(draft, gone)  # what was learned from a turn goes with it
    return found.erased


def _before(change: Touched, versions: list[Memory]) -> Memory | None:
    return next((memory for memory in versions if memory.version == change.retired), None)


def _as_left(change: Touched, versions: list[Memory]) -> bool:
    """Tell whether a memory says what the commit left it saying; later changes that were themselves undone do not count."""
    left = change.retired if change.added is None else change.added
    last = versions[-1]
    if left is None:
        return True
    if (last.retired_at is None) != (change.added is not None):
        return False
    return _content(last) == _content(next(memory for memory in versions if memory.version == left))


def _content(memory: Memory) -> Memory:
    extra = {name: value for name, value in memory.extra.items() if name not in PUT_AWAY}
    return replace(memory, version=0, recorded_at=EPOCH, retired_at=None, commit="", confidence=0.0, extra=extra)


def erasing(view: View, roots: Iterable[Memory], scope: Scope, states: Iterable[State] = ()) -> Erasure:
    """Return all that goes with `roots`: what was derived from them, transitively, and the notes that repeat their words.

    A memory also told by another source stays, without the quote; one of whose wordings has no other source goes whole.
    """
    owner = Scope.owner(view.space)
    gone: dict[str, list[Memory]] = {}
    dead: dict[tuple[str, int, str], Held] = {}
    frontier = {memory.id for memory in roots}
    while frontier:
        gone |= {id: view.history(id, owner) for id in sorted(frontier)}
        citing = [held for held in view.citing(frontier) if not is_yes(held) or gone.keys() >= set(held.sighting.rests_on)]
        dead |= {_name(held): held for held in citing}
        frontier = {id for id in {held.id for held in citing} - set(gone) if _has_lost_a_wording(view, id, dead)}
    texts = [fold(memory.text) for versions in gone.values() for memory in versions]
    noted = {(state.kind, state.place, state.name): state for state in states}
    noted |= {
        (state.kind, state.place, state.name): state
        for state in view.states(owner)
        if state.kind != "person" and (repeats(texts, state.value) or not gone.keys().isdisjoint(_cited(state)))
    }
    kept = tuple(held for held in dead.values() if held.id not in gone)
    named = tuple(id for id in sorted(gone) if view.history(id, scope))
    tellers = {id: _teller(view, id, dead) for id in sorted({held.id for held in kept})}
    holding = tuple(reopened(view, list(dead.values()), gone))
    return Erasure(tuple(sorted(gone)), named, kept, tuple(noted.values()), tellers=tellers, reopened=holding)


def _teller(view: View, id: str, dead: Mapping[tuple[str, int, str], Held]) -> str | None:
    """Return the author of the first telling of something learned that an erase leaves."""
    owner = Where(Scope.owner(view.space), retired=True)
    left = (held for held in view.sightings(id) if _name(held) not in dead and held.retired_seq is None and not is_yes(held))
    said = (view.get(one, owner) for held in left for one in held.sighting.rests_on[:1])
    return next((author_of(turn) for turn in said if turn), None)


def _cited(state: State) -> list[str]:
    """Return the ids of the memories that session state is about: what a proposal names, what a quarantined item rests on."""
    named, rests_on = state.value.get("memory"), state.value.get("rests_on")
    return [id for id in (named, *(rests_on if isinstance(rests_on, list) else ())) if isinstance(id, str)]


def _has_lost_a_wording(view: View, id: str, dead: Mapping[tuple[str, int, str], Held]) -> bool:
    """Tell whether some wording of a memory was told by nothing but the dead; a telling that was taken back is no support."""
    wordings: dict[bytes, list[Held]] = {}
    for held in view.sightings(id):
        wordings.setdefault(held.key, []).append(held)
    standing = ([held for held in told if held.retired_seq is None] or told for told in wordings.values())
    return any(all(_name(held) in dead for held in bearing(told)) for told in standing)


def _name(held: Held) -> tuple[str, int, str]:
    return held.id, held.seq, repr((held.key, held.sighting))  # a load may bring several of one source in one commit


def naming(id: str | None, words: str | None, scope: Scope) -> Callable[[View], Erasure]:
    """Return the plan that erases one memory, or all that ever had these words, as far as `scope` sees them."""

    def plan(view: View) -> Erasure:
        roots = having(view, words or "", scope, ever=True) if id is None else view.history(id, scope)
        if id is not None and not roots:
            raise unknown(id)
        return erasing(view, roots, scope)

    return plan


def about(person: str, scope: Scope) -> Callable[[View], Erasure]:
    """Return the plan that erases all a person said, all said about them, and their notes, whoever may see it."""
    person = check.name(person, "person")
    if not scope.sees_all and scope.person not in (None, person):
        raise BadInput(f"{scope.person!r} cannot erase {person!r}; ask as that person or as Scope.owner({scope.space!r})")

    def plan(view: View) -> Erasure:
        names = _names_of(view, person)
        roots = [
            memory
            for memory in view.scan(Where(Scope.owner(view.space), ever=True))
            if person in (memory.origin.person, memory.subject, memory.audience.person) or memory.speaker in names
        ]
        found = erasing(view, roots, scope, notes_of(view, {person}))
        return replace(found, people=(person,)) if found.ids or found.states else found

    return plan


def _names_of(view: View, person: str) -> set[str]:
    """Return what a person is called and nobody else is."""
    others: set[str] = set()
    own = {person}
    for state in view.states(Scope(view.space), "person"):
        known = people.from_value(state.name, state.value)
        called = {*(name.text for name in known.names), *known.accounts}
        (own if state.name == person else others).update(called)
    return own - others


def again(ids: set[str], persons: set[str]) -> Callable[[View], Erasure]:
    """Return the plan that takes out of an old copy what was erased since: memories, and people's names and notes."""

    def plan(view: View) -> Erasure:
        owner = Scope.owner(view.space)
        roots = [memory for id in sorted(ids) for memory in view.history(id, owner)]
        return replace(erasing(view, roots, owner, notes_of(view, persons)), people=tuple(sorted(persons)))

    return plan


def notes_of(view: View, persons: set[str]) -> list[State]:
    """Return what is held for people, and what they are known as."""
    held = view.states(Scope.owner(view.space))
    return [
        state
        for state in held
        if (state.name if state.kind == "person" else state.place.person) in persons
        or not persons.isdisjoint((str(state.value.get("by")), _subject_of(state)))
    ]


def _subject_of(state: State) -> str:
    """Return whom a quarantined item is about."""
    memory = state.value.get("memory")
    return str(memory.get("subject", "")) if isinstance(memory, dict) else ""
