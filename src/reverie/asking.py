"""Asking a mind: what comes to mind, what of it goes into a prompt, and why; and why not.

Each verb takes what it was given to what is found, and sees to it that the answer can be explained afterwards.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from reverie import upkeep
from reverie.errors import BadInput
from reverie.learn import revise
from reverie.learn.embed import Embedding
from reverie.learn.ingest import has_opted_out
from reverie.memory import check
from reverie.memory.scope import Scope
from reverie.memory.trace import KINDS, Diff, Memory, space_mark, split_id
from reverie.recall import look, missing
from reverie.recall.cue import Between, where_of
from reverie.recall.expand import Ask, Expansion
from reverie.recall.explain import Candidate, Explanation, Hit, Packed, Recollection
from reverie.recall.fuse import WEIGHTINGS
from reverie.recall.gather import gather
from reverie.recall.kept import Kept, Request, keep, no_recall, read, tell
from reverie.recall.pack import Context, Count, counter, is_verified, pack, tokens_in, tokens_of
from reverie.recall.profiles import PROFILES, Material
from reverie.recall.show import local
from reverie.state import People, Recent
from reverie.store.base import Recalled, Store, View, Where, asked_from

TOKENS_A_HIT, TOKENS_A_LINE = 20, 5  # most of what is found is longer than that, and no line is shorter
FEWEST_HITS, MOST_HITS = 60, 8_000

ORDERS = ("relevance", "time")

AsOf = datetime | str
Keeping = Callable[[Callable[[], Packed] | None], Recalled]


class Asking:
    """The verbs that ask, and those that read what is there."""

    def __init__(
        self, store: Store, embedding: Embedding, people: People, clock: Callable[[], datetime], kept_for: timedelta,
        expand: Ask | None = None,
    ) -> None:  # fmt: skip
        self._store, self._embedding, self._people, self._now, self._kept_for = store, embedding, people, clock, kept_for
        self._key = secrets.token_bytes(16)
        self._expansion = None if expand is None else Expansion(expand)

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
        authors: Mapping[str, float] | None = None,
        order: str = "relevance",
    ) -> Recollection:
        """Return what comes to mind; an empty cue with a filter lists the newest that fit."""
        where = where_of(scope, kinds, tags, subject, session, between)
        check.one_of(order, ORDERS, "order")
        found, keeping = self._find(cue, where, limit, now, as_of, strict, weighting, vector, authors)
        self._keep(keeping)
        return found if order == "relevance" else replace(found, hits=tuple(sorted(found.hits, key=_time_of)))

    def _find(
        self,
        cue: str,
        where: Where,
        limit: int,
        now: datetime | None,
        as_of: AsOf | None,
        strict: bool = False,
        weighting: str = "default",
        vector: Sequence[float] | None = None,
        authors: Mapping[str, float] | None = None,
    ) -> tuple[Recollection, Keeping | None]:
        """Return what comes to mind, and what is to be kept of it, if anything."""
        cue = check.cue(cue)
        believed = check.shares(authors or {}, "authors")
        more = self._expansion.words(cue, where.scope) if self._expansion is not None else ()
        scope, weights = where.scope, WEIGHTINGS[check.one_of(weighting, WEIGHTINGS, "weighting")]
        if not cue.strip() and vector is None and where == Where(where.scope):
            raise BadInput("the cue is empty; say what to recall, or give vector, kinds, tags, subject, session or between")
        limit, put_at = check.count(limit, "limit"), check.optional_moment(now, "now")
        meaning, zone = look.meaning_of(cue, vector, self._embedding), self._people.zone_of(scope, now)
        with self._store.reading(scope.space) as view:
            where, moment = moment_of(view, where, as_of)
            now = local(put_at or moment or self._now(), zone)
            found, looked = look.recall(view, cue, meaning, where, limit, now, strict, weights, believed, more)
            is_kept = not has_opted_out(view, scope.person)
            seq = where.at if where.at is not None else view.last_seq()
        if found.arms["meaning"] == "pending":
            self._embedding.notice(scope.space)
        if not is_kept:
            return found, None
        asked = Request(where, seq, limit, now, strict, weighting, moment, vector is not None, believed)
        return found, partial(keep, found, looked, asked, self._now())

    def get(self, id: str, scope: Scope, version: int | None, as_of: AsOf | None) -> Memory:
        """Return a memory: as it is now, as it was believed at a moment, or one version of it."""
        if version is not None and as_of is not None:
            raise BadInput("give version or as_of, not both")
        with self._store.reading(scope.space) as view:
            if version is not None:
                return revise.version(view, id, scope, check.count(version, "version"))
            where, _ = moment_of(view, Where(scope), as_of)
            return revise.active(view, id, scope) if as_of is None else revise.believed(view, id, where)

    def scan(self, where: Where, as_of: AsOf | None, limit: int | None, after: str | None) -> Iterator[Memory]:
        """Go through memories in the order they were first recorded."""
        if after is not None and (split_id(after, "m") or ("",))[0] != space_mark(where.scope.space):
            raise BadInput(f"after must be the id of a memory of this space, not {after!r}")
        with self._store.reading(where.scope.space) as view:
            # Pages are read one by one, but all as of the first: a long listing keeps no transaction open.
            where = replace(where, at=view.last_seq()) if as_of is None else moment_of(view, where, as_of)[0]
        return upkeep.pages(self._store, where, after, limit)

    def diff(self, scope: Scope, start: AsOf, end: AsOf) -> Diff:
        """Return what changed between two moments or commits."""
        with self._store.reading(scope.space) as view:
            before, after = (moment_of(view, Where(scope), moment)[0] for moment in (start, end))
            return revise.diff(view, before, after)

    def let_go(self) -> None:
        """Let go of every question that is kept in memory: something was erased."""
        if self._expansion is not None:
            self._expansion.let_go()

    def _keep(self, keeping: Keeping | None, packing: Callable[[], Packed] | None = None) -> None:
        if keeping is not None:
            self._store.keep_recall(partial(keeping, packing), self._since())

    def _since(self) -> datetime:
        """Return the moment at or before which a recall was asked that is no longer kept."""
        try:
            return self._now() - self._kept_for
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)

    def context(
        self,
        cue: str,
        scope: Scope,
        budget: int | float,
        profile: str,
        now: datetime | None,
        as_of: AsOf | None,
        window_tokens: int,
        count: Count | None,
        retrieval: bool,
    ) -> Context:
        """Return what a prompt should hold, within a budget of tokens; without a cue, or retrieval, the newest there is."""
        cue = check.cue(cue)
        layout = PROFILES[check.one_of(profile, PROFILES, "profile")]
        room, counted = tokens_in(budget, window_tokens), counter(count)
        is_asked = bool(cue.strip()) and bool(retrieval)
        if is_asked:
            found, keeping = self._find_trusted(cue, scope, room, now, as_of)
        else:
            found, keeping = self._find("", Where(scope, KINDS), _fitting(room, TOKENS_A_LINE), now, as_of)
        said: Sequence[Hit] = ()
        if is_asked and layout.said:
            said = self._find(cue, Where(scope, ("turn",), channel=scope.channel), layout.said, now, as_of)[0].hits
        zone, now = self._people.zone_of(scope, now), check.optional_moment(now, "now")
        with self._store.reading(scope.space) as view:
            where, moment = moment_of(view, Where(scope), as_of)
            at = now or moment or self._now()
            given = gather(view, where, layout, Material(scope, at, zone, found.hits, is_asked, said=said, cue=cue), room)
        if as_of is None and (scope.session or scope.channel):
            given = replace(given, recent=Recent(self._store, lambda: at, "recent", scope).get())
        sections, left_out = layout.sections(given)
        context = pack(sections, room, cue, found.id, self._key, counted, layout.preamble, left_out)
        self._keep(keeping, partial(_packed, context, room))
        return context

    def _find_trusted(
        self, cue: str, scope: Scope, room: int, now: datetime | None, as_of: AsOf | None
    ) -> tuple[Recollection, Keeping | None]:
        """Find as much as fills a budget; what is from nobody trustworthy has little room in it, and does not count."""
        limit = _fitting(room, TOKENS_A_HIT)
        while True:
            found, keeping = self._find(cue, Where(scope), limit, now, as_of)
            trusted = (hit.memory for hit in found.hits if is_verified(hit.memory.trust))
            is_full = sum(TOKENS_A_LINE + tokens_of(memory.text) for memory in trusted) >= room
            if is_full or len(found.hits) < limit or limit == MOST_HITS:
                return found, keeping
            limit = min(4 * limit, MOST_HITS)

    def why(self, id: str, scope: Scope) -> Explanation:
        """Return how a recall came out as it did."""
        kept = self._kept(id, scope)
        with self._store.reading(scope.space) as view:
            return tell(kept, view)

    def why_not(self, id: str, text: str, scope: Scope) -> Explanation:
        """Return at which step of a recall a memory fell out."""
        if isinstance(text, str) and not text.strip():
            raise BadInput("text is empty; say what the memory says, some words of it, or its id")
        kept, text = self._kept(id, scope), check.verbatim(text)
        is_off = kept.numbers["arms"]["meaning"] == "off" or kept.request.by_vector  # a vector given is not kept
        meaning = None if is_off else look.meaning_of(kept.recalled.question, None, self._embedding)
        with self._store.reading(scope.space) as view:
            return tell(kept, view, missing.fate(view, kept, text, scope, partial(_again, view, kept, meaning)))

    def _kept(self, id: str, scope: Scope) -> Kept:
        recalled = self._store.recalled(id)
        if recalled is None or recalled.at <= self._since() or not asked_from(scope, recalled):
            raise no_recall(id)
        return read(recalled)


def _fitting(room: int, tokens: int) -> int:
    """Return how many memories of so many tokens a budget holds, within reason."""
    return min(max(room // tokens, FEWEST_HITS), MOST_HITS)


def _again(view: View, kept: Kept, meaning: look.Meaning | None) -> tuple[Candidate, ...]:
    """Ask once more what was asked, of what was believed then, and look further."""
    asked, more = kept.request, tuple(kept.numbers["cue"].get("more", ()))
    where = replace(asked.where, at=asked.seq)  # as of then, whatever anybody wrote since
    reach = max(missing.REACH, asked.limit)
    return look.recall(
        view, kept.recalled.question, meaning, where, reach, asked.now, asked.strict, WEIGHTINGS[asked.weighting],
        asked.authors, more,
    )[1]()  # fmt: skip


def _packed(context: Context, budget: float) -> Packed:
    parts = tuple((part.id, part.section, part.tokens) for part in context.parts)
    return Packed(budget, context.tokens, parts, tuple((dropped.id, dropped.reason) for dropped in context.dropped))


def _time_of(hit: Hit) -> datetime:
    return hit.memory.happened_at or hit.memory.recorded_at


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
