"""Asking a mind: what comes to mind, what of it goes into a prompt, and why.

Each verb takes what it was given to what is found, and sees to it that the answer can be explained afterwards.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from reverie.errors import BadInput
from reverie.learn import revise
from reverie.learn.embed import Embedding
from reverie.learn.ingest import has_opted_out
from reverie.memory import check
from reverie.memory.scope import Scope
from reverie.memory.trace import split_id
from reverie.recall import look
from reverie.recall.cue import Between, where_of
from reverie.recall.explain import Explanation, Recollection, keep, no_recall, tell
from reverie.recall.fuse import WEIGHTINGS
from reverie.recall.pack import Context, pack
from reverie.state import People
from reverie.store.base import Store, View, Where, asked_from

CONTEXT_HITS = 60

AsOf = datetime | str


class Asking:
    """The verbs that ask."""

    def __init__(self, store: Store, embedding: Embedding, people: People, clock: Callable[[], datetime]) -> None:
        self._store, self._embedding, self._people, self._now = store, embedding, people, clock
        self._key = secrets.token_bytes(16)

    def recall(
        self,
        cue: str,
        scope: Scope,
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
    ) -> Recollection:
        """Return what comes to mind; an empty cue with a filter lists the newest that fit."""
        check.cue(cue)
        weights = WEIGHTINGS[check.one_of(weighting, WEIGHTINGS, "weighting")]
        where = where_of(scope, kinds, tags, subject, session, between)
        if not cue.strip() and vector is None and where == Where(where.scope):
            raise BadInput("the cue is empty; say what to recall, or give vector, kinds, tags, subject, session or between")
        limit, now = check.count(limit, "limit"), check.optional_moment(now, "now")
        meaning = look.meaning_of(cue, vector, self._embedding)
        with self._store.reading(scope.space) as view:
            where, moment = moment_of(view, where, as_of)
            now = now or moment or self._now()
            found, considered = look.recall(view, cue, meaning, where, limit, now, strict, weights)
            is_kept = bool(cue.strip()) and not has_opted_out(view, scope.person)
        if found.arms["meaning"] == "pending":
            self._embedding.notice(scope.space)
        if is_kept:
            self._store.keep_recall(partial(keep, found, considered, scope, self._now()))
        return found

    def context(
        self, cue: str, scope: Scope, budget: int = 2000, profile: str = "default", now: datetime | None = None,
        as_of: AsOf | None = None,
    ) -> Context:  # fmt: skip
        """Return what comes to mind as lines for a prompt, within a budget of tokens."""
        check.one_of(profile, ("default",), "profile")
        found = self.recall(cue, scope, limit=CONTEXT_HITS, now=now, as_of=as_of)
        return pack(found, check.count(budget, "budget"), self._key, self._people.zone_of(scope, now))

    def why(self, id: str, scope: Scope) -> Explanation:
        """Return how a recall came out as it did."""
        recalled = self._store.recalled(id)
        if recalled is None or not asked_from(scope, recalled):
            raise no_recall(id)
        with self._store.reading(scope.space) as view:
            return tell(recalled, view)


def moment_of(view: View, where: Where, as_of: AsOf | None) -> tuple[Where, datetime | None]:
    """Return `where` at a moment or commit, and that moment."""
    if as_of is None:
        return where, None
    if isinstance(as_of, str):
        commit = view.find_commit(as_of, where.scope) if split_id(as_of, "c") else None
        if commit is None:
            raise revise.no_commit(as_of)
        as_of = commit.at
    moment = check.moment(as_of, "as_of")
    return replace(where, at=view.seq_of(moment)), moment
