"""Mind: the one door in. Each verb checks what it was given and hands it to the part that knows; no policy lives here.

A mind is synchronous and may be used from many threads; several processes may have one home open.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from reverie import upkeep
from reverie.asking import Asking, AsOf
from reverie.errors import BadInput, Refused
from reverie.learn import feedback, ingest, quarantine, revise, segment, tellings
from reverie.learn.actions import FILE as ACTIONS
from reverie.learn.actions import Action, Actions
from reverie.learn.background import Settled, settle_all
from reverie.learn.embed import Embedding
from reverie.learn.episodes import EVERY, Episodes, summariser
from reverie.learn.quarantine import Quarantined
from reverie.learn.study import Learned, Study
from reverie.memory import check
from reverie.memory.scope import Scope, asked_in
from reverie.memory.trace import Commit, Diff, Memory, Source, split_id
from reverie.models.base import Embedder, Model
from reverie.recall.cue import Between, where_of
from reverie.recall.expand import Ask
from reverie.recall.explain import Explanation, Recollection
from reverie.recall.kept import no_recall
from reverie.recall.pack import Context
from reverie.sleep import proposals
from reverie.sleep.proposals import Proposal
from reverie.state import Note, Patterns, People, Recent, WorkingMemory
from reverie.store.base import Draft, Store, Where


class Mind:
    """A memory: what was said, what is known, and the verbs on it."""

    def __init__(
        self, store: Store, clock: Callable[[], datetime], home: Path | None, embedder: Embedder | None = None,
        background: bool = True, zone: str = "UTC", recalls_days: int = 30, expand: Ask | None = None,
        model: Model | None = None, learns: bool = True,
    ) -> None:  # fmt: skip
        self._store, self._clock, self.home, self.people = store, clock, home, People(store, self._now, zone)
        self._actions = Actions(None if home is None else home / ACTIONS, self._now)
        self._embedding = Embedding(store, embedder, background, self._actions)
        self._episodes = Episodes(store, embedder, summariser(model), self._now, learns, background)
        self._study = Study(store, model, self.people.zone_of, self._now, self._actions, learns, background)
        self._episodes.follow(self._study, self._embedding)
        self._asking = Asking(store, self._embedding, self.people, self._now, timedelta(days=recalls_days), expand)

    # write

    def observe(
        self,
        text: str,
        speaker: str | None = None,
        role: str = "user",
        scope: Scope | None = None,
        at: datetime | None = None,
        message_id: str | None = None,
        reply_to: str | None = None,
        trust: str | None = None,
        audience: Scope | None = None,
        attachments: Iterable[object] = (),
        *,
        place: str | None = None,
        certainty: float | Mapping[str, float] | None = None,
    ) -> Memory:
        """Keep a turn word for word; it can be found by its words when this returns.

        `place` says where a transcript was heard, `certainty` how sure it is, as a whole or of single words.
        """
        here = asked_in(scope)
        said = ingest.turn(
            text, scope=here, now=self._now(), speaker=speaker, role=role, at=at, message_id=message_id,
            reply_to=reply_to, trust=trust, audience=audience, attachments=attachments, place=place, certainty=certainty,
        )  # fmt: skip
        with self._changing(here, ingest.OBSERVED, said.recorded_at) as draft:
            kept, is_new = ingest.keep_turn(draft, said, here, self._study.job_of(said, "live"))
        if is_new and kept.version > 1:
            self._episodes.rewrite(here.space)
        return kept

    def observe_many(
        self,
        turns: Iterable[Mapping[str, Any]],
        scope: Scope | None = None,
        progress: Callable[[int], object] | None = None,
    ) -> ingest.Ingested:
        """Keep many turns, one commit per space and thousand: dicts with `observe`'s names, or `{"role", "content"}`."""
        here = asked_in(scope)
        done = ingest.take_in(self._store, turns, here, self._now, progress, self._study.job_of)
        for mark in {commit.split("-")[1] for commit in done.commits}:
            self._notice(self._store.space_of(mark) or here.space, done.added)
        return done

    def remember(
        self,
        text: str,
        kind: str = "fact",
        subject: str | None = None,
        title: str | None = None,
        tags: Iterable[str] = (),
        scope: Scope | None = None,
        confidence: float | None = None,
        happened_at: datetime | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        source: Source | None = None,
        trust: str | None = None,
        audience: Scope | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Memory:
        """Keep a thing; said again, it is the same memory, seen once more."""
        here = asked_in(scope)
        told = ingest.thing(
            text, scope=here, now=self._now(), kind=kind, subject=subject, title=title, tags=tags, confidence=confidence,
            happened_at=happened_at, valid_from=valid_from, valid_until=valid_until, source=source, trust=trust,
            audience=audience, extra=extra,
        )  # fmt: skip
        with self._changing(here, "remembered", told.recorded_at) as draft:
            kept = ingest.keep_thing(draft, told, here)
        if isinstance(kept, Quarantined):
            raise Refused(f"{kept.reason}; it waits in quarantine as {kept.id}, where a person may allow() it", kept)
        return kept

    def learned(self, id: str, scope: Scope | None = None) -> Learned:
        """Return what a turn taught; `str()` of it is what a channel may show."""
        here = self._scope_of(id, scope)
        with self._store.reading(here.space) as view:
            return self._study.learned(view, revise.active(view, id, here), here)

    def retract(self, message_id: str, scope: Scope | None = None) -> Commit:
        """Retire a message that was deleted at its source, and what rests only on it."""
        return self._forget(None, None, check.name(message_id, "message_id"), asked_in(scope), "retracted", False)

    def settle(self, timeout_s: float | None = None) -> Settled:
        """Wait until what was observed is learned and embedded."""
        limit = None if timeout_s is None else check.seconds(timeout_s, "timeout_s")
        return settle_all((self._study, self._embedding, self._episodes, self._embedding), limit)

    def end(self, scope: Scope | None = None, task: str | None = None) -> Memory | None:
        """Say that a session or task is over: what matters of it is kept as a summary, which is returned if there is any."""
        here = asked_in(scope)
        kept = segment.end(self._store, here, self._now(), task, self._episodes.summarise)
        self._notice(here.space, EVERY)
        return kept

    def new_topic(self, scope: Scope | None = None) -> None:
        """Say that what comes next is about something else."""
        segment.new_topic(self._store, asked_in(scope), self._now())

    # read

    def recall(
        self,
        cue: str,
        scope: Scope | None = None,
        limit: int = 10,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        subject: str | None = None,
        session: str | None = None,
        vector: Sequence[float] | None = None,
        now: datetime | None = None,
        between: Between | None = None,
        as_of: AsOf | None = None,
        strict: bool = False,
        weighting: str = "default",
        authors: Mapping[str, float] | None = None,
        order: str = "relevance",
    ) -> Recollection:
        """Return what comes to mind; an empty cue with a filter lists the newest that fit."""
        return self._asking.recall(
            cue, asked_in(scope), limit=limit, kinds=kinds, tags=tags, subject=subject, session=session, vector=vector,
            now=now, between=between, as_of=as_of, strict=strict, weighting=weighting, authors=authors,
            order=order,
        )  # fmt: skip

    def context(
        self,
        cue: str,
        scope: Scope | None = None,
        budget: int | float = 2000,
        profile: str = "default",
        now: datetime | None = None,
        as_of: AsOf | None = None,
        *,
        window_tokens: int = 128_000,
        count: Callable[[str], int] | None = None,
        retrieval: bool = True,
    ) -> Context:
        """Return what a prompt should hold, within a budget of tokens or, as 0.02, that share of the model's window.

        `count` counts tokens exactly, instead of the estimate. Without a cue, or retrieval, the newest is taken.
        """
        return self._asking.context(
            cue, asked_in(scope), budget=budget, profile=profile, now=now, as_of=as_of, window_tokens=window_tokens,
            count=count, retrieval=retrieval,
        )  # fmt: skip

    def why(self, id: str, scope: Scope | None = None) -> Explanation:
        """Return how a recall came out as it did."""
        return self._asking.why(id, self._scope_of(id, scope, "r"))

    def why_not(self, id: str, text: str, scope: Scope | None = None) -> Explanation:
        """Return at which step of a recall the memory of that id or text fell out, and by how much."""
        return self._asking.why_not(id, text, self._scope_of(id, scope, "r"))

    def last_recall(self, scope: Scope | None = None) -> str | None:
        """Return the id of the last recall asked here, for `why`; for an owner's scope the last in the space."""
        return self._store.last_recalled(asked_in(scope))

    def get(self, id: str, version: int | None = None, as_of: AsOf | None = None, scope: Scope | None = None) -> Memory:
        """Return a memory: as it is now, as it was believed at a moment, or one version of it."""
        return self._asking.get(id, self._scope_of(id, scope), version, as_of)

    def scan(
        self,
        scope: Scope | None = None,
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        subject: str | None = None,
        session: str | None = None,
        between: Between | None = None,
        as_of: AsOf | None = None,
        retired: bool = False,
        limit: int | None = None,
        after: str | None = None,
    ) -> Iterator[Memory]:
        """Go through memories in the order they were first recorded; with `retired` also what was forgotten."""
        where = where_of(asked_in(scope), kinds, tags, subject, session, between, retired)
        return self._asking.scan(where, as_of, None if limit is None else check.count(limit, "limit"), after)

    def history(self, id: str, scope: Scope | None = None) -> tuple[Memory, ...]:
        """Return every version of a memory, oldest first."""
        here = self._scope_of(id, scope)
        with self._store.reading(here.space) as view:
            versions = view.history(id, here)
        if not versions:
            raise revise.unknown(id)
        return tuple(versions)

    def log(self, scope: Scope | None = None, since: datetime | None = None, limit: int = 50) -> tuple[Commit, ...]:
        """Return the last commits, newest first."""
        here, since = asked_in(scope), check.optional_moment(since, "since")
        with self._store.reading(here.space) as view:
            return tuple(view.commits(here, since, check.count(limit, "limit")))

    def diff(self, t0: AsOf, t1: AsOf, scope: Scope | None = None) -> Diff:
        """Return what changed between two moments or commits."""
        named = next((moment for moment in (t0, t1) if isinstance(moment, str)), None)
        here = self._scope_of(named, scope, "c") if named else asked_in(scope)
        return self._asking.diff(here, t0, t1)

    # change

    def update(
        self,
        id: str,
        text: str | None = None,
        reason: str | None = None,
        expect: int | None = None,
        scope: Scope | None = None,
        title: str | None = None,
        tags: Iterable[str] | None = None,
        valid_from: datetime | None = None,
        valid_until: datetime | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> Memory:
        """Add the next version; with `expect` only if the memory is still at that version."""
        here = self._scope_of(id, scope)
        details = revise.details(title, tags, valid_from, valid_until, extra)
        if text is None and not details:
            raise BadInput("nothing to update; give text, title, tags, valid_from, valid_until or extra")
        said = check.optional_text(text, "text")
        expect = None if expect is None else check.count(expect, "expect")
        with self._changing(here, check.optional_text(reason, "reason") or "updated") as draft:
            return revise.update(draft, id, here, said, expect, details, self._study.job_of)

    def forget(
        self,
        id: str | None = None,
        query: str | None = None,
        message_id: str | None = None,
        scope: Scope | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Commit:
        """Retire a memory, or all that have every word of `query`; `restore` and `undo` bring them back."""
        check.exactly_one(id=id, query=query, message_id=message_id)
        message_id = check.optional_name(message_id, "message_id")
        here = asked_in(scope) if id is None else self._scope_of(id, scope)
        return self._forget(id, query, message_id, here, check.optional_text(reason, "reason") or "forgotten", dry_run)

    def _forget(
        self, id: str | None, query: str | None, message_id: str | None, here: Scope, why: str, dry_run: bool
    ) -> Commit:
        with self._store.reading(here.space) as view:
            going = revise.to_forget(view, here, id, query, message_id)
            resting = [id for id in tellings.resting_only_on(view, going) if view.get(id, Where(here))]
        if dry_run or not going:
            return Commit("", 0, self._now(), _by(here), why, (), (*(memory.id for memory in going), *resting))
        with self._changing(here, why) as draft:
            revise.forget(draft, revise.to_forget(draft, here, id, query, message_id))
            return _written(draft, here) or Commit("", 0, draft.at, _by(here), why)

    def restore(self, id: str, scope: Scope | None = None) -> Memory:
        """Bring back what was forgotten."""
        here = self._scope_of(id, scope)
        with self._changing(here, "restored") as draft:
            return revise.restore(draft, id, here, self._study.job_of)

    def pin(self, id: str, pinned: bool = True, scope: Scope | None = None) -> Memory:
        """Mark a memory as one that matters, or no longer."""
        here = self._scope_of(id, scope)
        with self._changing(here, "pinned" if pinned else "unpinned") as draft:
            return revise.update(draft, id, here, None, None, {"pinned": bool(pinned)})

    def undo(self, commit: str, scope: Scope | None = None) -> Commit:
        """Take back a commit, all of it that the scope sees or nothing."""
        here = self._scope_of(commit, scope, "c")
        with self._changing(here, f"undid {commit}") as draft:
            erased = revise.undo(draft, commit, here, self._study.job_of)
            return replace(_written(draft, here) or Commit("", 0, draft.at, _by(here), ""), erased=erased)

    def erase(
        self,
        id: str | None = None,
        query: str | None = None,
        person: str | None = None,
        scope: Scope | None = None,
        dry_run: bool = False,
    ) -> upkeep.Proof:
        """Remove for good: every version, vector and index entry, and whatever was derived from it."""
        check.exactly_one(id=id, query=query, person=person)
        here = asked_in(scope) if id is None else self._scope_of(id, scope)
        proof = upkeep.erase(self._store, self.people, self.home, id, query, person, here, _by(here), self._now(), dry_run)
        if proof.commit:  # what stood beside it lost vectors made with it, and episodes that told of it
            self._notice(here.space)
            self._episodes.rewrite(here.space)
            self._asking.let_go()
        return proof

    def feedback(self, id: str, sign: str, scope: Scope | None = None) -> Memory:
        """Say that a memory helped ("positive") or did not ("negative"); it counts once a day."""
        return feedback.give(self._store, self._changing, id, sign, self._scope_of(id, scope), self._now())

    def patterns(self, scope: Scope | None = None) -> Patterns:
        """Return what to do when something comes up: `.add(trigger, response) .remove(…) .list() .match(text) .used(…)`."""
        return Patterns(self._store, self._now, self.remember, self.forget, asked_in(scope))

    def working(self, scope: Scope | None = None) -> WorkingMemory:
        """Return the session's working memory: `.get() .replace(…) .clear()`."""
        return WorkingMemory(self._store, self._now, "working", asked_in(scope))

    def scratchpad(self, scope: Scope | None = None, task: str = "") -> Note:
        """Return the scratchpad of a task."""
        return Note(self._store, self._now, "scratchpad", asked_in(scope), check.name(task, "task") if task else "")

    def chat_context(self, scope: Scope | None = None) -> Note:
        """Return what kind of chat this is."""
        return Note(self._store, self._now, "context", asked_in(scope))

    def recent(self, scope: Scope | None = None) -> Recent:
        """Return the short-term window."""
        return Recent(self._store, self._now, "recent", asked_in(scope))

    def quarantine(self, scope: Scope | None = None) -> tuple[Quarantined, ...]:
        """Return what was refused in the last month, with the reason."""
        return quarantine.listed(self._store, asked_in(scope), self._now())

    def allow(self, id: str, scope: Scope | None = None) -> Memory:
        """Take a quarantined item in after all, as told by hand."""
        here = self._scope_of(id, scope, "q")
        with self._changing(here, f"allowed {id}") as draft:
            return ingest.allow(draft, id, here, _by(here))

    def drop(self, id: str, scope: Scope | None = None) -> None:
        """Let go of a quarantined item for good."""
        quarantine.drop(self._store, id, self._scope_of(id, scope, "q"))

    def actions(self, limit: int = 50) -> tuple[Action, ...]:
        """Return the last entries of the action log, newest first: kinds, ids and codes."""
        return self._actions.last(check.count(limit, "limit"))

    def propose(self, verb: str, id: str, reason: str | None = None, scope: Scope | None = None) -> Proposal:
        """Put a change before a person instead of making it."""
        here = self._scope_of(id, scope)
        return proposals.propose(self._store, verb, id, reason, here, _by(here), self._now())

    def proposals(self, scope: Scope | None = None) -> tuple[Proposal, ...]:
        """Return the changes that wait for a person's yes."""
        return proposals.listed(self._store, asked_in(scope))

    def approve(self, id: str, hash: str, scope: Scope | None = None) -> Commit:
        """Make a proposed change, if it is still what was shown under `hash`."""
        here = self._scope_of(id, scope, "p")
        with self._changing(here, f"approved {id}") as draft:
            proposals.approve(draft, id, hash, here)
            done = _written(draft, here) or Commit("", 0, draft.at, _by(here), "")
        proposals.reject(self._store, id, here)
        return done

    def reject(self, id: str, scope: Scope | None = None) -> None:
        """Turn a proposal down."""
        proposals.reject(self._store, id, self._scope_of(id, scope, "p"))

    # keep

    def export(self, path: str | os.PathLike[str], scope: Scope | None = None) -> Path:
        """Write everything, or what a scope sees, as JSON lines."""
        return upkeep.export(self._store, check.path(path), None if scope is None else asked_in(scope), self._now())

    def load(self, path: str | os.PathLike[str], format: str = "reverie", dry_run: bool = False) -> upkeep.Loaded:
        """Read an export; into an empty space with all its times, else beside what is there."""
        check.one_of(format, ("reverie",), "format")
        loaded = upkeep.load(self._store, check.path(path), self._now(), dry_run)
        for space in loaded.spaces:
            self._notice(space, loaded.added)
        return loaded

    def backup(self, path: str | os.PathLike[str]) -> Path:
        """Write a copy of every space into one file, for `reverie.recover`."""
        return upkeep.backup(self._store, check.path(path), self._now())

    def health(self) -> upkeep.Health:
        """Look everything over, changing nothing."""
        return upkeep.health(self._store, self.home, self._now())

    def status(self, scope: Scope | None = None) -> upkeep.Status:
        """Count what is there."""
        here = None if scope is None else asked_in(scope)
        return upkeep.status(self._store, self.home, here, self._embedding.model, self._now())

    def reindex(self, progress: Callable[[int, int], object] | None = None) -> upkeep.Reindexed:
        """Give every memory its vectors of the embedder in use, and drop those of others; if stopped, call it again."""
        return upkeep.reindex(self._store, self._embedding, progress)

    def reset(self, scope: Scope | None = None) -> Commit:
        """Forget what was said and clear what is held for now; what is known stays, and `undo` brings back what was said."""
        here = asked_in(scope)
        done = upkeep.reset(self._store, here, self._now())
        self._notice(here.space)
        self._episodes.rewrite(here.space)
        return done

    def close(self) -> None:
        """Finish and let go; a mind may be closed twice."""
        for work in (self._study, self._embedding, self._episodes):
            work.close()
        self._store.close()

    def __enter__(self) -> Mind:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _now(self) -> datetime:
        return check.clock(self._clock())

    def _scope_of(self, id: object, scope: Scope | None, letter: Literal["m", "c", "r", "p", "q"] = "m") -> Scope:
        """Return the scope given, or the owner of the space that an id names; any other id is not found there."""
        named = split_id(id, letter)
        space = self._store.space_of(named[0]) if named else None
        if space is None or (scope is not None and asked_in(scope).space != space):
            missing = {"m": revise.unknown, "c": revise.no_commit, "r": no_recall, "p": proposals.unknown}
            raise missing.get(letter, quarantine.unknown)(str(id))
        return Scope.owner(space) if scope is None else scope

    @contextmanager
    def _changing(self, here: Scope, why: str, now: datetime | None = None) -> Iterator[Draft]:
        with self._store.writing(here.space, _by(here), why, now or self._now()) as draft:
            yield draft
        self._notice(here.space)
        if now is None:
            self._episodes.rewrite(here.space)

    def _notice(self, space: str, own: int = 1) -> None:
        for work in (self._study, self._embedding, self._episodes):
            work.notice(space, own)


def _written(draft: Draft, here: Scope) -> Commit | None:
    """Return the commit being written, as its author sees it; None if nothing came of it."""
    return draft.find_commit(draft.commit_id, here) if draft.commit_id else None


def _by(scope: Scope) -> str:
    return scope.person or "owner"
