"""Writing episodes: turns of a space, cut into what happened; and what is left of a session at its end.

One conversation is what was said in one place to one audience, so an episode is never meant for more than each of its turns.
Nothing is queued: what is in an episode already is asked of the store, so a crash between an episode and the cursor makes no
second one. Only one process is at it at a time.

A closed episode stays as it is until one of its turns is edited or goes, or a turn told late falls between them: then it is cut
anew, alone. Turns told late that fall between two episodes are cut by themselves. What a person forgot or put into other words
is left alone. After an erase, which takes an episode with any of its turns, the whole space is looked through for what is left.

An episode is first told in its own sentences, which takes no time. Where there is a language model, it is told again when the
model comes to it; of what that says only statements that rest on the turns are kept, and it is asked about the same words once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from reverie.errors import BadInput, BudgetExceeded, Erased, ModelError, Refused
from reverie.learn import conversations, quarantine
from reverie.learn.ask import own_words
from reverie.learn.conversations import CURSOR, TOPICS, Known, Stream, Touched, everything, stream_of
from reverie.learn.ground import grounded
from reverie.learn.guard import LONGEST, is_statement, judge
from reverie.learn.ingest import SEGMENTED, has_opted_out
from reverie.learn.tags import strip_tags
from reverie.memory import check, episodic, working
from reverie.memory.episodic import GAP, PAUSE, Said, later, position
from reverie.memory.language import said_words
from reverie.memory.scope import Scope, meet
from reverie.memory.trace import MICROSECOND, TRUST, Memory, Sighting, less_trusted
from reverie.memory.working import State
from reverie.models.base import Embedder
from reverie.recall.show import shown
from reverie.state import Recent
from reverie.store.base import ERASED, Draft, Store, View, key_of

PATIENCE = timedelta(hours=1)  # with a turn that gets no vector; then its words alone count
MARKS = 100  # new topics of one place that are kept
SENT, SENT_OF_ONE = 4_000, 320  # characters that a language model is shown: of the last turns together, and of one

Summarise = Callable[[str], str]


class Told(NamedTuple):
    """What a language model made of turns, as far as it may be kept, and a digest of what it was shown; None: not asked."""

    words: str | None
    digest: str | None

    @property
    def mark(self) -> dict[str, object]:
        """What is kept beside the text, so that the same is not asked again."""
        return {"told" if self.words else "asked": self.digest} if self.digest else {}


NOT_ASKED = Told(None, None)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """An episode to be written, the turns it is made from, and the one whose next version it becomes."""

    said: Sequence[Said]
    is_open: bool
    known: Known | None

    @property
    def rests_on(self) -> list[str]:
        """The memories that it is made from, and the one it replaces."""
        return [one.turn.id for one in self.said] + ([self.known.memory.id] if self.known else [])


def write_episodes(
    store: Store, space: str, embedder: Embedder | None, now: datetime, has_model: bool = False,
    pause: Callable[[], object] = int,
) -> int | None:  # fmt: skip
    """Write what happened since the last time, and return how many episodes that were; None if somebody else is at it.

    The open one is written after a pause. Turns that still lack their vectors wait for the next time. No language model is
    asked; where there is one, what it may tell better is noted for `tell`. Now and then there is a `pause`.
    """
    with store.alone("segmenting") as mine:
        if not mine:
            return None
        with store.reading(space) as view:
            cursor, seq = view.state(CURSOR, Scope(space)), view.last_seq()
            waiting = {id: due for id, due in conversations.waiting(cursor).items() if due > now}
            if not seq or (cursor and cursor.value["seq"] == seq and len(waiting) == len(conversations.waiting(cursor))):
                return 0
            plans: list[Plan] = []
            going: list[Known] = []
            for stream, what in conversations.touched(view, cursor, now).items():
                _look(view, stream, what, embedder, now, plans, going, waiting, pause)
            told = [(plan, _told_before(view, plan.said) if has_model else NOT_ASKED) for plan in plans]
            last = conversations.last_id(view)
        made = []
        for plan, words in told:  # before anybody has to wait for it
            made.append((plan, words, _episode(plan, words)))
            pause()
        with store.writing(space, "reverie", SEGMENTED, now) as draft:
            is_moved = draft.last_seq() != seq
            moved = set(draft.changed_between(seq, draft.last_seq(), Scope.owner(space)))
            is_erased = ERASED in draft.reasons_since(seq)
            at_risk = [plan for plan in plans if is_erased or not moved.isdisjoint(plan.rests_on)]
            late = [plan for plan in at_risk if not _is_still_so(draft, plan)]
            written = [(plan, words, _write(draft, one, plan.known)) for plan, words, one in made if plan not in late]
            for known in going:
                if draft.get(known.memory.id, everything(space)) is not None:
                    draft.retire(known.memory.id)
            seen = seq if is_moved else draft.last_seq()  # own work need not be looked at
            waiting |= {plan.said[-1].turn.id: now for plan in late}
            news = [one.id for plan, words, one in written if one and words.digest is None and _is_news(plan)]
            untold = [*conversations.untold(draft), *(news if has_model else [])]
            draft.put_state([conversations.cursor_at(space, seen, last, waiting, untold, now)])
        return sum(one is not None for _, _, one in written)


def tell(store: Store, space: str, now: datetime, summarise: Summarise) -> int:
    """Let a language model tell one of the episodes that wait for it; return 0 if none does, or it cannot be asked now."""
    with store.reading(space) as view:
        id = next(iter(conversations.untold(view)), None)
        if id is None:
            return 0
        plan = _plan_of(view, id)
        told = _told_before(view, plan.said) if plan else NOT_ASKED
    if plan and told.digest is None:
        told = _asked(plan.said, summarise)
        if told.digest is None:
            return 0
    with store.writing(space, "reverie", SEGMENTED, now) as draft:
        seq, cursor, current = draft.last_seq(), draft.state(CURSOR, Scope(space)), draft.get(id, everything(space))
        if plan and plan.known and current and current.version != plan.known.memory.version:
            return 1  # it was written anew meanwhile, and waits again
        if plan and told.words and _is_still_so(draft, plan):
            _write(draft, _episode(plan, told), plan.known)
        if cursor is not None:
            seen = draft.last_seq() if cursor.value["seq"] == seq else cursor.value["seq"]
            left = [one for one in conversations.untold(draft) if one != id]
            draft.put_state([replace(cursor, value={**cursor.value, "seq": seen, "untold": left})])
    return 1


def new_topic(store: Store, scope: Scope, now: datetime) -> None:
    """Let what is said from now on be another episode."""
    place = working.place_of(scope)

    def entries(view: View) -> list[State]:
        last, known = conversations.last_turn(view, place), conversations.marks(view, place)
        if last is None or position(last) in known:
            return []
        after = [[at.isoformat(), id] for at, id in (*known, position(last))]
        cursor = view.state(CURSOR, Scope(view.space))
        due = conversations.waiting(cursor) | {last.id: now}
        again = [] if cursor is None else [conversations.due_at(cursor, due)]  # or the next look would not see what closed
        return [State(TOPICS, place, "", {"after": after[-MARKS:]}, now), *again]

    store.put_state(scope.space, entries)


def end(
    store: Store, scope: Scope, now: datetime, task: str | None = None, summarise: Summarise | None = None
) -> Memory | None:
    """End a session or task (A8): keep what matters of the last turns and the scratchpad, and start afresh.

    Returns what was kept, or None. Notes that may not be kept wait in quarantine. The open episode ends here; it is written as
    closed the next time that episodes are.
    """
    place, window = working.place_of(scope), Recent(store, lambda: now, "recent", scope)
    task, by = check.optional_name(task, "task"), scope.person or "owner"
    turns = [turn for turn in window.get() if episodic.belongs(turn)]
    with store.reading(scope.space) as view:
        turns = [turn for turn in turns if not has_opted_out(view, turn.origin.person or turn.speaker)]
        said = [episodic.say(turn) for turn in turns if stream_of(turn) == stream_of(turns[-1])]
        is_worth_it = episodic.is_worth_keeping(said)
        told = _told_before(view, said) if is_worth_it else NOT_ASKED
        pads = [state for state in view.states(Scope.owner(scope.space), "scratchpad") if state.place == place]
    pads = [state for state in pads if task in (None, state.name)]
    notes = [_note(state, place, now) for state in pads]
    short = [note.text for note in notes if note.refusal is None]
    kept = summary = None
    if short or is_worth_it:
        if is_worth_it and told.digest is None and summarise is not None:
            told = _asked(said, summarise)
        summary = _summary(said, short, place, now, told)
    if summary or pads:
        with store.writing(scope.space, by, "ended", now) as draft:
            is_still_so = _is_still_so(draft, Plan(said, False, None))
            if is_still_so:
                kept = _write(draft, summary) if summary else None
                for note in notes:
                    if note.refusal is not None:
                        quarantine.put(draft, note.whole, note.refusal, by)
                draft.put_state((), [pad for pad in pads if draft.state(pad.kind, place, pad.name) == pad])
        if not is_still_so:  # a turn was changed or went meanwhile
            return end(store, scope, now, task, summarise)
    new_topic(store, scope, now)
    window.clear()
    return kept


class _Note(NamedTuple):
    """A scratchpad as what it would become, what is kept of its text, and why it may not be if it may not."""

    whole: Memory
    text: str
    refusal: str | None


def _note(pad: State, place: Scope, now: datetime) -> _Note:
    """Return what is kept of a scratchpad; it is written by whoever thinks, and belongs to its session."""
    text = f"{pad.name}: {pad.value['text']}" if pad.name else str(pad.value["text"])
    whole = Memory("", 1, "summary", text, place, place, "agent", TRUST["agent"], now, "", happened_at=now)
    short = episodic.shortened(whole, LONGEST["fact"])
    verdicts = (judge(one, "agent", "fact", is_bounded=False) for one in (text, short))  # of a very long one not all is read
    return _Note(whole, short, next((verdict.reason for verdict in verdicts if not verdict.allowed), None))


def _summary(said: Sequence[Said], notes: Sequence[str], place: Scope, now: datetime, told: Told) -> Memory:
    """Return a summary of turns and notes."""
    about = episodic.episode(said, False, told.words) if said else None
    audience = meet([*([place] if notes else []), *([about.audience] if about else [])])
    if audience is None:
        raise Refused("the notes and the turns are meant for different readers, so nothing may be made of them together")
    trust = less_trusted(*(["agent"] if notes else []), *([about.trust] if about else []))
    whole = about or Memory("", 1, "summary", "", place, audience, trust, 1.0, now, "", happened_at=now)
    text, sure = "\n".join((*notes, *([whole.text] if about else []))), min(whole.confidence, TRUST[trust])
    return replace(
        whole, kind="summary", text=text, origin=place, audience=audience, trust=trust, confidence=sure, extra=told.mark
    )


def _look(
    view: View, stream: Stream, what: Touched, embedder: Embedder | None, now: datetime,
    plans: list[Plan], going: list[Known], waiting: dict[str, datetime], pause: Callable[[], object],
) -> None:  # fmt: skip
    """Add what is to be written of a conversation, which episodes go, and which turns to come back to and when."""
    turns, stays, again = conversations.load(view, stream, what)
    fixed = {id for one in stays for id in one.members}
    vectors = view.vectors_of([turn.id for turn in turns if turn.id not in fixed], embedder.name) if embedder else {}
    floor, languages = getattr(embedder, "scale", (0.0, 1.0))[0], getattr(embedder, "languages", None)
    marks = conversations.marks(view, stream.place)
    for is_fixed, some in groupby(turns, key=lambda turn: turn.id in fixed):
        stretch = [] if is_fixed else list(some)
        lacks = (n for n, turn in enumerate(stretch) if turn.id not in vectors and now - turn.recorded_at < PATIENCE)
        ready = stretch[: next(lacks, len(stretch))] if embedder else stretch
        is_whole = len(ready) == len(stretch)
        said = []
        for turn in ready:
            said.append(episodic.say(turn, vectors.get(turn.id), languages))
            pause()
        is_over = is_whole and bool(stretch) and (stretch[-1] is not turns[-1] or now - position(stretch[-1])[0] > GAP)
        undone = 0
        for start, stop, is_closed in episodic.cut(said, floor, marks, is_over):
            part, undone = said[start:stop], stop if is_closed else start
            same = _most_of(again, frozenset(one.turn.id for one in part))
            last = position(part[-1].turn)[0]
            is_due = is_closed or (is_whole and now >= later(last, PAUSE))
            if is_whole and not is_closed:  # looked at after a pause, and again when nothing said next can belong to it
                waiting[part[-1].turn.id] = later(last, GAP + MICROSECOND if is_due else PAUSE)
            if is_due and not episodic.is_worth_keeping(part):
                continue
            if is_due and not (same and conversations.is_as_told(same.memory, [one.turn for one in part], not is_closed)):
                plans.append(Plan(part, not is_closed, same))
            again = [one for one in again if one is not same]
        if not is_whole:
            waiting[stretch[undone].id] = now
            again = [one for one in again if one.members.isdisjoint(turn.id for turn in stretch)]
    going += again


def _most_of(known: Sequence[Known], ids: frozenset[str]) -> Known | None:
    """Return the episode that has most of these turns."""
    best = max(known, key=lambda one: len(ids & one.members), default=None)
    return best if best is not None and ids & best.members else None


def _asked(said: Sequence[Said], summarise: Summarise) -> Told:
    """Return what a language model says of turns; a failure that may pass counts as not asked."""
    text = _shown_to_model(said)
    try:
        return Told(_believed(summarise(text), text) if text else None, _digest(text))
    except BudgetExceeded:
        return NOT_ASKED
    except ModelError as exc:
        return NOT_ASKED if exc.may_pass else Told(None, _digest(text))


def _told_before(view: View, said: Sequence[Said]) -> Told:
    """Return what a language model said of these very words when it was asked about them, for an episode or at an end."""
    text = _shown_to_model(said)
    for held in view.citing([said[-1].turn.id]):
        known = view.get(held.id, everything(view.space, "episode", "summary"))
        if known and known.source.memory_ids:  # else a person put it into other words
            if known.extra.get("told") == _digest(text):
                return Told(_believed(known.text.rpartition("\n")[2], text), _digest(text))
            if known.extra.get("asked") == _digest(text):
                return Told(None, _digest(text))
    return NOT_ASKED


def _shown_to_model(said: Sequence[Said]) -> str:
    """Return turns as a language model is shown them: the last ones, a line each, without code and quoted lines."""
    lines: list[str] = []
    left = SENT
    for one in reversed(said):
        words = " ".join(own_words(one.turn.text).replace("\0", " ").split())
        line = shown(f"{one.turn.speaker}: {words}")
        line = line if len(line) <= SENT_OF_ONE else f"{line[: SENT_OF_ONE - 1]}…"
        left -= len(line) + 1
        if left < 0:
            break
        lines += [line] if words else []
    return "\n".join(reversed(lines))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _believed(answer: str, text: str) -> str | None:
    """Return, as one line, what of a model's answer may be kept: statements whose telling words stand in the turns."""
    try:
        told = check.text(strip_tags(answer).text)
    except BadInput:
        return None
    if not judge(told, "agent", "fact").allowed:
        return None
    said = ((sentence, _stems(sentence)) for sentence in episodic.sentences(told))
    heard = _stems(text)
    return " ".join(one for one, stems in said if stems and is_statement(one) and grounded(stems, heard)) or None


def _stems(text: str) -> str:
    return " ".join(variants[0] for variants in said_words(text).values())


def _plan_of(view: View, id: str) -> Plan | None:
    """Return an episode as it is to be told again, if it and its turns are still as it was written."""
    known = view.get(id, everything(view.space, "episode"))
    found = [view.get(one, everything(view.space, "turn")) for one in (known.source.memory_ids if known else ())]
    turns = [turn for turn in found if turn and not has_opted_out(view, turn.origin.person or turn.speaker)]
    if known is None or not turns or len(turns) < len(found):
        return None
    plan = Plan(
        [episodic.say(turn) for turn in turns], bool(known.extra.get("open")), Known(known, frozenset(known.source.memory_ids))
    )
    return None if _is_news(plan) else plan


def _is_news(plan: Plan) -> bool:
    """Tell whether an episode has other turns than it had, or such as say something else."""
    turns = [one.turn for one in plan.said]
    return plan.known is None or not conversations.is_as_told(
        plan.known.memory, turns, bool(plan.known.memory.extra.get("open"))
    )


def _episode(plan: Plan, told: Told) -> Memory:
    episode = episodic.episode(plan.said, plan.is_open, told.words)
    return replace(episode, extra={**episode.extra, **told.mark})


def _is_still_so(draft: Draft, plan: Plan) -> bool:
    """Tell whether nothing that an episode rests on changed while it was made; else it is made again the next time."""
    based_on = [one.turn for one in plan.said] + ([plan.known.memory] if plan.known else [])
    found = [(draft.get(one.id, everything(draft.space)), one) for one in based_on]
    return all(now is not None and now.version == one.version for now, one in found)


def _write(draft: Draft, derived: Memory, known: Known | None = None) -> Memory | None:
    """Keep what was made of turns, as the next version of what is known; None if a person erased these very words."""
    was = known.memory if known else derived
    try:
        kept = draft.add(replace(derived, id=was.id, pinned=was.pinned))
    except Erased:
        return None
    draft.sight(kept.id, key_of(kept) or b"", Sighting(draft.at, kept.confidence, kept.source, kept.source.memory_ids))
    return kept
