"""Taking in: a turn that was said, a thing to remember.

Values are checked before a store is asked for anything. What is then decided, whether a message is new, repeated or edited,
and whether a thing may come in at all, is new, said again or told with more detail, is decided inside the commit, where nobody
else can write. `keep_thing` is the one way in for all that is not a turn: told by a person, written by a model, or learned.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from reverie.errors import BadInput, Erased, NotFound, Refused
from reverie.learn import quarantine
from reverie.learn.ask import own_words
from reverie.learn.ground import grounded
from reverie.learn.guard import judge
from reverie.learn.quarantine import Quarantined
from reverie.learn.tellings import let_go, reopen, weigh
from reverie.memory import check
from reverie.memory.language import fold
from reverie.memory.scope import Scope, asked_in, chosen_audience, everyone_in, meet, narrowed, visible
from reverie.memory.trace import (
    DEFAULT_CONFIDENCE,
    KINDS,
    ROLES,
    TRUST,
    Memory,
    Sighting,
    Source,
    bounded_trust,
    effective_confidence,
    less_trusted,
    upsert_key,
)
from reverie.store.base import Draft, Record, Store, View, Where, key_of

TRUST_OF_ROLE = {"user": "user", "assistant": "agent", "tool": "tool", "system": "agent"}
TURN_NAMES = {
    "text", "speaker", "role", "at", "message_id", "reply_to", "trust", "audience", "attachments", "place", "certainty",
}  # fmt: skip
OBSERVED, SEGMENTED = "observed", "segmented"  # the reasons of the commits that turns and episodes come in by
BATCH = 1_000  # turns in one commit: a crash loses fewer than that, and the cost of a commit is shared by so many
REMEMBERED = tuple(kind for kind in KINDS if kind != "turn")
BECOMING = {"pattern": "pattern", "procedure": "procedure"}  # all else is let in as a fact is
PUT_AWAY = ("archived", "unsaid")  # marks of what was learned and is gone without having been forgotten on purpose
OURS = frozenset({*PUT_AWAY, "learned", "told_by", "unconfirmed", "allowed_by", "near", "ends_at"})
WAITING = 400  # turns that came in one by one and wait to be learned from (C3)
HEARD = 0.6  # how sure a transcript must be to count as its speaker's own words (C5)
UNCONFIRMED = 0.5  # the most that a model's own word is worth where no person said so
CAPTIONS = 2_000  # characters kept of what is seen in attachments


def turn(
    text: str,
    *,
    scope: Scope,
    now: datetime,
    speaker: str | None = None,
    role: str = "user",
    at: datetime | None = None,
    message_id: str | None = None,
    reply_to: str | None = None,
    trust: str | None = None,
    audience: Scope | None = None,
    attachments: Iterable[object] = (),
    place: str | None = None,
    certainty: float | Mapping[str, float] | None = None,
) -> Memory:
    """Return a turn as it would be kept, checked but not yet stored.

    What a transcript is not sure of counts as somebody's word about the speaker; it has an id made up from where it was heard.
    Where nothing was said, what attachments show stands in for it; nobody said that, so it is trusted as a tool is.
    """
    check.one_of(role, ROLES, "role")
    place = check.place(place)
    if isinstance(attachments, str | bytes | Mapping) or not isinstance(attachments, Iterable):
        raise BadInput(f"attachments must be a list of JSON values, not {type(attachments).__name__}")
    heard = check.shares(certainty, "certainty") if isinstance(certainty, Mapping) else certainty
    sure = None if heard is None or isinstance(heard, dict) else check.share(heard, "certainty")
    given = {"attachments": list(attachments), "certainty": heard}
    extra = check.extra({name: value for name, value in given.items() if value or value == 0.0}, "attachments")
    captions = _captions(extra.get("attachments"))
    is_shown = captions is not None and isinstance(text, str) and not text.strip()
    hint = "say something to remember" + (", or give an attachment a caption" if "attachments" in extra else "")
    said = f"[{captions}]" if is_shown else check.text(text, if_empty=hint)
    moment = check.optional_moment(at, "at") or now
    message_id = check.optional_name(message_id, "message_id")
    if message_id is None and place is not None:
        digest = hashlib.blake2b(f"{moment.isoformat()} {speaker} {said}".encode(), digest_size=8).hexdigest()
        message_id = check.name(f"{place}:{digest}", "place")
    ceiling = TRUST_OF_ROLE[role] if sure is None or sure >= HEARD else less_trusted("other", TRUST_OF_ROLE[role])
    trusted = bounded_trust(trust, ceiling)
    trusted = less_trusted(trusted, "tool") if is_shown else trusted
    return Memory(
        id="",
        version=1,
        kind="turn",
        text=said,
        origin=replace(scope, sees_all=False) if scope.sees_all else scope,
        audience=chosen_audience(scope, audience),
        trust=trusted,
        confidence=TRUST[trusted],
        recorded_at=now,
        commit="",
        title=None if is_shown else captions,
        extra=extra,
        speaker=check.optional_name(speaker, "speaker") or scope.person or role,
        role=role,
        message_id=message_id,
        reply_to=check.optional_name(reply_to, "reply_to"),
        source=Source(message_ids=(message_id,) if message_id else (), place=place),
        happened_at=moment,
    )


def _captions(attachments: object) -> str | None:
    """Return what is seen or read in attachments (K23), by which they are found."""
    listed = [one for one in attachments if isinstance(one, dict)] if isinstance(attachments, list) else []
    seen = (one.get(name) for one in listed for name in ("caption", "text"))
    said = "; ".join(words.strip() for words in seen if isinstance(words, str) and words.strip())
    return said[:CAPTIONS] or None


def _make_room(draft: Draft, author: str) -> None:
    """Let go of the oldest job of whoever would have most of them waiting with one more by `author`; what was said stays."""
    if draft.live() < WAITING:
        return
    queue = draft.queue()
    counted = Counter(author for *_, author in queue)
    counted.update({author: 1} if author in counted else {})
    flooding = max(counted, key=lambda author: counted[author])
    draft.set_job([next((id, version) for id, version, author in queue if author == flooding)], "dropped")


def keep_turn(draft: Draft, said: Memory, scope: Scope, job: str | None) -> tuple[Memory, bool]:
    """Keep a turn, and tell whether it was new: a message told twice is one turn, told differently an edit."""
    _refuse_opted_out(draft, said.origin.person or said.speaker)
    known = _known(draft, said, scope)
    if known is None:
        return _add(draft, said, job), True
    # A message that was forgotten or retracted does not come back by being delivered again, nor does a corrected mistake.
    if known.memory.text == said.text or known.retired_seq is not None or _last_delivered(draft, known.memory) == said.text:
        return known.memory, False
    edited = replace(said, id=known.memory.id, happened_at=known.memory.happened_at, pinned=known.memory.pinned)
    return edit(draft, edited, job), True


def edit(draft: Draft, edited: Memory, job: str | None) -> Memory:
    """Keep a turn in other words; of what rested on the old ones, what the new ones do not say goes."""
    was = draft.get(edited.id, Where(Scope.owner(draft.space)))
    edited = _add(draft, edited, job)

    def still(memory: Memory, claim: str) -> bool:
        return fold(claim) in fold(own_words(edited.text)) if memory.extra.get("learned") else grounded(claim, edited.text)

    is_as_trusted = was is None or less_trusted(was.trust, edited.trust) == was.trust
    let_go(draft, [edited], still if is_as_trusted else None)  # the words of somebody else bear nothing out
    if job is not None:  # what it says still may correct nothing any more; if it does, that is learned again
        reopen(draft, [held for held in draft.citing([edited.id]) if held.retired_seq is None], ())
    return edited


def _add(draft: Draft, said: Memory, job: str | None) -> Memory:
    if job == "live":
        _make_room(draft, author_of(said))
    return draft.add(said, job)


def author_of(said: Memory) -> str:
    """Return who answers for a turn: a person by their id, else whoever is named; for a reply the model, not who asked."""
    if said.role != "user" and said.speaker in (None, said.origin.person):
        return said.role or ""
    return (said.origin.person if said.role == "user" else None) or said.speaker or ""


def _known(draft: Draft, new: Memory, scope: Scope) -> Record | None:
    """Return the same thing, if it is kept already and the teller may know.

    What was told from here is one's own. Of the rest, only what is visible here counts, and not what somebody placed in an
    audience they cannot see themselves: joined with it, one's own words would become theirs to read.
    """
    key = key_of(new)
    found = draft.find_key(key) if key else []
    own = (known for known in found if known.memory.origin == new.origin)
    seen = (known for known in found if visible(new.audience, scope) and visible(new.audience, known.memory.origin))
    return next(own, None) or next(seen, None)


def _last_delivered(view: View, turn: Memory) -> str | None:
    """Return what a message said when it last came in, whatever was made of it since."""
    owner = Scope.owner(view.space)
    for version in reversed(view.history(turn.id, owner)):
        commit = view.find_commit(version.commit, owner)
        if commit is None or commit.why == OBSERVED:
            return version.text
    return None


def has_opted_out(view: View, person: str | None) -> bool:
    """Tell whether a person asked not to be remembered."""
    state = view.state("person", everyone_in(view.space), person) if person else None
    return state is not None and bool(state.value.get("opted_out"))


def _refuse_opted_out(view: View, *people: str | None) -> None:
    for person in {person for person in people if person}:
        if has_opted_out(view, person):
            raise Refused(f"{person!r} asked not to be remembered; nothing was kept (people.optout(id, False) allows it again)")


@dataclass(frozen=True, slots=True)
class Ingested:
    """What came of many turns; `errors` says of the failed which and why."""

    added: int
    duplicates: int
    failed: int
    commits: tuple[str, ...]
    errors: tuple[tuple[int, str], ...] = ()


def take_in(
    store: Store,
    turns: Iterable[Mapping[str, Any]],
    here: Scope,
    clock: Callable[[], datetime],
    progress: Callable[[int], object] | None,
    job_of: Callable[[Memory, str], str | None],
) -> Ingested:
    """Keep many turns, a thousand in a commit; one that does not fit is counted and the rest goes on."""
    if isinstance(turns, str | bytes | Mapping) or not isinstance(turns, Iterable):
        raise BadInput("turns must be a list of dicts, for example [{'role': 'user', 'content': 'hello'}]")
    outcomes: list[bool] = []
    commits: list[str] = []
    errors: list[tuple[int, str]] = []
    numbered = iter(enumerate(turns))
    while batch := list(islice(numbered, BATCH)):
        spaces: dict[str, list[tuple[int, Memory]]] = {}
        for number, given in batch:
            try:
                said = _turn_of(given, here, clock())
                spaces.setdefault(said.audience.space, []).append((number, said))
            except BadInput as exc:
                errors.append((number, str(exc)))
        for space, waiting in spaces.items():
            written: dict[str, None] = {}
            with store.writing(space, here.person or "owner", OBSERVED, clock()) as draft:
                for number, said in waiting:
                    try:
                        kept, is_new = keep_turn(draft, said, here, job_of(said, "import"))
                    except (Erased, Refused) as exc:
                        errors.append((number, str(exc)))
                        continue
                    outcomes.append(is_new)
                    written |= {kept.commit: None} if is_new else {}
            commits += written
        if progress is not None:
            progress(batch[-1][0] + 1)
    return Ingested(sum(outcomes), len(outcomes) - sum(outcomes), len(errors), tuple(commits), tuple(sorted(errors)))


def _turn_of(given: object, here: Scope, now: datetime) -> Memory:
    if not isinstance(given, Mapping):
        raise BadInput(f"a turn must be a dict, not {type(given).__name__}")
    known = {**given}
    if "content" in known:
        known["text"] = known.pop("content")
    said_in = asked_in(known.pop("scope", None) or here)
    unknown = sorted(map(str, set(known) - TURN_NAMES))
    if unknown or "text" not in known:
        raise BadInput(f"a turn needs text (or content) and takes observe()'s names, not {unknown or sorted(known)}")
    return turn(scope=said_in, now=now, **known)


def thing(
    text: str,
    *,
    scope: Scope,
    now: datetime,
    kind: str = "fact",
    subject: str | None = None,
    title: str | None = None,
    tags: Iterable[str] = (),
    confidence: float | None = None,
    happened_at: datetime | None = None,
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
    source: Source | None = None,
    trust: str | None = None,
    audience: Scope | None = None,
    extra: Mapping[str, object] | None = None,
) -> Memory:
    """Return a thing to remember, checked but not yet stored."""
    if kind == "turn":
        raise BadInput("a turn is what somebody said: use observe() for it")
    if source is not None and not isinstance(source, Source):
        raise BadInput(f"source must be a reverie.Source, not {type(source).__name__}")
    valid_from, valid_until = (
        check.optional_moment(valid_from, "valid_from"),
        check.optional_moment(valid_until, "valid_until"),
    )
    check.interval(valid_from, valid_until, "the time it holds")
    trust = "user" if trust is None else bounded_trust(trust, "hand")
    sure = DEFAULT_CONFIDENCE if confidence is None else check.share(confidence, "confidence")
    return Memory(
        id="",
        version=1,
        kind=check.one_of(kind, REMEMBERED, "kind"),
        text=check.text(text),
        origin=replace(scope, sees_all=False) if scope.sees_all else scope,
        audience=chosen_audience(scope, audience),
        trust=trust,
        confidence=min(sure, TRUST[trust]),
        recorded_at=now,
        commit="",
        title=None if title is None else check.text(title, "title"),
        tags=check.tags(tags),
        extra=not_ours(check.extra(extra)),
        subject=check.optional_name(subject, "subject"),
        source=replace(source, quote=check.optional_text(source.quote, "quote")) if source else Source(),
        happened_at=check.optional_moment(happened_at, "happened_at"),
        valid_from=valid_from,
        valid_until=valid_until,
    )


def not_ours(extra: dict[str, object]) -> dict[str, object]:
    """Return what a caller may write beside a thing: not what Reverie itself goes by."""
    if taken := sorted(OURS & extra.keys()):
        raise BadInput(f"extra[{taken[0]!r}] is written by Reverie alone; choose another name for it")
    return extra


def keep_thing(
    draft: Draft, told: Memory, scope: Scope, approved_by: str | None = None, learned_from: list[Memory] | None = None
) -> Memory | Quarantined:
    """Keep a thing, or note that it was said again (C1); what was forgotten comes back when it is told on purpose.

    What may not become what it is to be goes into quarantine, unless a person approved it: then it is their own word. What is
    learned from turns counts once a day for whoever said it.
    """
    _refuse_opted_out(draft, told.origin.person, told.subject)
    told = replace(told, extra={name: value for name, value in told.extra.items() if name != "unconfirmed"})
    sources = sources_of(draft, told, scope) if learned_from is None else learned_from
    told = _no_wider_than(told, sources)
    if approved_by is not None:
        sure = max(told.confidence, DEFAULT_CONFIDENCE)
        told = replace(told, trust="hand", confidence=sure, extra={**told.extra, "allowed_by": approved_by})
    told, reason = _let_in(told, sources)
    if reason is not None:
        by = told.extra.get("told_by") or ("model" if told.trust == "agent" else told.origin.person or "owner")
        return quarantine.put(draft, told, reason, str(by))
    known = _known(draft, told, scope)
    if known is not None and known.retired_seq is not None and _is_another(draft, known.memory):
        known = None
    sure = told.confidence
    if known is None:
        kept = draft.add(told)
    else:
        fuller = _with_details(known.memory, told)
        kept = known.memory if fuller == known.memory and known.retired_seq is None else draft.add(fuller)
        # It was said, but by somebody whose word adds nothing, whether they said so later or before.
        if less_trusted(told.trust, kept.trust) != kept.trust or (
            told.extra.get("unconfirmed") and not kept.extra.get("unconfirmed")
        ):
            sure = 0.0
        elif kept.trust != known.memory.trust:
            weigh(draft, kept.id, lambda held: 0.0)
    rests_on = tuple(dict.fromkeys(source.id for source in sources))
    key = upsert_key(told.kind, told.subject, told.text, told.audience)
    sighting = Sighting(draft.at, sure, told.source, rests_on, _voice(kept.id, told, learned_from or []))
    draft.sight(kept.id, key, sighting)
    if known is None:
        return replace(kept, confidence=effective_confidence(kept.trust, [sighting]))
    found = draft.get(kept.id, Where(Scope.owner(draft.space)))
    assert found is not None
    return found


def _voice(id: str, told: Memory, sources: list[Memory]) -> bytes:
    """Return who says so and on which day, as a hash that means nothing elsewhere; what only models say is one voice."""
    said = next((source for source in sources if source.kind == "turn"), None)
    is_unconfirmed = told.extra.get("unconfirmed")
    if said is None and not is_unconfirmed:
        return b""
    whose = (author_of(said), said.happened_at and said.happened_at.date()) if said and not is_unconfirmed else None
    return hashlib.blake2b(repr((id, whose)).encode(), digest_size=8).digest()


def allow(draft: Draft, id: str, here: Scope, by: str) -> Memory:
    """Take in what was put in quarantine, as told by hand; whoever allowed it is kept with it."""
    item, state = quarantine.find(draft, id, here)
    if quarantine.is_over(item.at, draft.at):
        raise quarantine.unknown(id)
    draft.put_state((), [state])
    kept = keep_thing(draft, replace(item.memory, id=""), here, approved_by=by)
    assert isinstance(kept, Memory)
    return kept


def _let_in(told: Memory, sources: list[Memory]) -> tuple[Memory, str | None]:
    """Return a thing as far as it may be believed, and why it may not come in if it may not."""
    if told.kind == "episode":
        return told, None
    text, is_bounded = f"{told.title}: {told.text}" if told.title else told.text, told.trust != "user" or bool(sources)
    if told.extra.get("learned") == "rules" and told.extra.get("wish"):  # which was judged by itself where it was found
        text = text.removesuffix(f"«{told.source.quote}»")
    text = "\n".join((text, *told.tags))
    verdict = judge(text, told.trust, BECOMING.get(told.kind, "fact"), is_bounded=is_bounded)
    if not verdict.allowed:
        return told, verdict.reason
    room = told.origin.channel
    if told.trust == "other" and room is not None:
        return replace(told, audience=narrowed(told.audience, channel=room)), None
    if told.trust != "agent" or any(_bears_out(source, told) for source in sources):
        return told, None
    if room is not None:
        return told, "nobody in the room said so: a model wrote it down, and a person has to allow it"
    return replace(told, confidence=min(told.confidence, UNCONFIRMED), extra={**told.extra, "unconfirmed": True}), None


def _bears_out(source: Memory, told: Memory) -> bool:
    """Tell whether a person said in a source what is told, and the words quoted from it (C7)."""
    said = f"{source.speaker} {source.text}"
    is_quoted = told.source.quote is None or grounded(told.source.quote, source.text)
    return source.trust in ("hand", "user") and is_quoted and grounded(told.text, said)


def _is_another(view: View, known: Memory) -> bool:
    """Tell whether a thing that is gone has become something else, or was taken back: said now, it is a new one."""
    return bool(known.extra.get("unsaid")) or view.history(known.id, Scope.owner(view.space))[-1].version != known.version


def _with_details(known: Memory, told: Memory) -> Memory:
    """Return what is known with the details told this time; told by someone more trusted, it is theirs from now on.

    Someone less trusted adds no detail: the end of the time it holds would be one.
    """
    known = replace(known, replaces=tuple(dict.fromkeys((*known.replaces, *told.replaces))))
    if less_trusted(told.trust, known.trust) != known.trust:
        return known
    extra = {**known.extra, **told.extra}
    if not (known.extra.get("unconfirmed") and told.extra.get("unconfirmed")):
        extra.pop("unconfirmed", None)
    fuller = replace(
        known,
        title=told.title or known.title,
        tags=tuple(dict.fromkeys((*known.tags, *told.tags))),
        extra=extra,
        happened_at=told.happened_at or known.happened_at,
        valid_from=told.valid_from or known.valid_from,
        valid_until=told.valid_until or known.valid_until,
    )
    if less_trusted(told.trust, known.trust) == told.trust:
        return fuller
    return replace(fuller, trust=told.trust, confidence=told.confidence, source=told.source, origin=told.origin)


def sources_of(view: View, told: Memory, scope: Scope) -> list[Memory]:
    """Return the memories that a source names, as far as `scope` sees them; a message may also be one never kept here."""
    sources = []
    for id in told.source.memory_ids:
        cited = view.get(id, Where(scope, retired=True))
        if cited is None:
            raise NotFound(f"no memory {id!r} here to cite as a source")
        sources.append(cited)
    for message_id in told.source.message_ids:
        sources += view.scan(Where(scope, message_id=message_id, retired=True))
    return sources


def _no_wider_than(told: Memory, sources: list[Memory]) -> Memory:
    """Return what is told with the audience, trust and confidence that its sources allow."""
    if not sources:
        return told
    audience = meet([told.audience, *(source.audience for source in sources)])
    if audience is None:
        raise Refused("its sources are meant for different readers, so nothing may be made of them together")
    trust = less_trusted(told.trust, *(source.trust for source in sources))
    confidence = min(told.confidence, TRUST[trust], *(source.confidence for source in sources))
    return replace(told, audience=audience, trust=trust, confidence=confidence)
