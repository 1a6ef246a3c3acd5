"""How results look to people: one line a memory, tables where there are columns, colours where they are welcome.

Texts were written by anyone. Every line passes through `visible`, which leaves no character that could steer a terminal,
hide text or turn it around; Rich gets texts, never markup. Rich is loaded for tables and colours alone.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, TextIO

from reverie import config
from reverie.doors.hints import at_terminal
from reverie.doors.values import INVISIBLE, dumps, of_an_empty

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.trace import Commit, Memory
    from reverie.recall.explain import Arm, Hit

CUT = 300  # characters of a text in a listing
BAR = 10
LESSONS = {
    True: "it taught nothing",
    None: "it is still to be learned from; reverie settle sees to that",
    False: "it was not learned from: too much came in at once, or the model failed at it; the turn itself is kept",
}
NOTHING_FITS = "nothing fits; nothing was changed"
PLAIN_SIGNS = str.maketrans({"·": "-", "…": "...", "⏎": "\\n", "█": "#", "░": ".", "–": "-", "→": "->"})

_CONTROL = re.compile(f"[\x00-\x1f]|{INVISIBLE}")
_NAMED = {"\n": "⏎", "\t": "    ", "\r": "\\r"}

Row = Sequence[str]
Piece = str | tuple[str, str]  # a text, or a text and its style


def visible(text: str) -> str:
    """Return a text with nothing hidden in it: control, bidi and zero-width characters stand as escapes."""
    return _CONTROL.sub(lambda found: _NAMED.get(found[0]) or _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cut(text: str, full: bool) -> str:
    """Return a text short enough for a listing, saying what was left out."""
    return text if full or len(text) <= CUT else f"{text[:CUT]}… ({len(text):,} characters; --full shows all)"


def coloured(stream: TextIO) -> bool:
    """Tell whether a stream takes colours: a terminal that can show any sign, of somebody who wants them."""
    is_able = stream.isatty() and (stream.encoding or "").lower().startswith("utf")
    return is_able and config.wants_colour()


@dataclass(frozen=True, slots=True)
class Page:
    """Where results are written."""

    out: TextIO
    colour: bool
    zone: tzinfo
    full: bool = False

    def line(self, *pieces: Piece) -> None:
        """Write one line."""
        parts = [(piece, "") if isinstance(piece, str) else piece for piece in pieces]
        if not self.colour:
            self._write("".join(visible(text) for text, _ in parts))
            return
        from rich.text import Text

        self._console().print(Text.assemble(*((visible(text), style) for text, style in parts)), soft_wrap=True)

    def lines(self, text: str) -> None:
        """Write a text of several lines as it is laid out."""
        for line in text.splitlines():
            self.line(line)

    def table(self, rows: Iterable[Row], head: Row = (), styles: Mapping[int, str] | None = None) -> None:
        """Write rows in columns."""
        from rich.table import Table
        from rich.text import Text

        found = [[visible(cell) for cell in row] for row in rows]
        table = Table(box=None, show_header=bool(head), pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for number in range(max(map(len, [head, *found]))):
            title = Text(head[number]) if number < len(head) else ""
            table.add_column(title, style=(styles or {}).get(number, ""), overflow="fold")
        for row in found:
            table.add_row(*map(Text, row))
        if self.colour:
            self._console().print(table)
            return
        buffer = io.StringIO()
        self._console(buffer).print(table)
        for line in buffer.getvalue().splitlines():
            self._write(line.rstrip())

    def json(self, value: object) -> None:
        """Write a result as JSON."""
        written = dumps(value, indent=2 if self.out.isatty() else None)
        if not self._takes(written):
            written = json.dumps(json.loads(written))
        self.out.write(written + "\n")

    def when(self, at: datetime | None) -> str:
        """Return a moment as people read it, in their zone."""
        return "" if at is None else self._local(at).replace(tzinfo=None).isoformat(" ", "minutes")

    def day(self, at: datetime) -> str:
        """Return a moment's day, in the reader's zone."""
        return self._local(at).date().isoformat()

    def _local(self, at: datetime) -> datetime:
        from reverie.recall.show import local

        return local(at, self.zone)

    def _takes(self, text: str) -> bool:
        try:
            text.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True

    @property
    def _encoding(self) -> str:
        return self.out.encoding or "utf-8"

    def _write(self, line: str) -> None:
        if not self._takes(line):
            line = line.translate(PLAIN_SIGNS).encode(self._encoding, "backslashreplace").decode(self._encoding)
        self.out.write(line + "\n")

    def _console(self, buffer: TextIO | None = None) -> Console:
        from rich.console import Console

        plain: dict[str, Any] = {"color_system": None, "width": 100_000, "legacy_windows": False}
        return Console(
            file=buffer or self.out,
            highlight=False,
            markup=False,
            emoji=False,
            **(plain if buffer else {}),
        )


def memory_line(page: Page, memory: Memory, *before: Piece, after: str = "", with_id: bool = True) -> None:
    """Show a memory: date · speaker · text."""
    when = page.day(memory.happened_at or memory.valid_from or memory.recorded_at)
    who = memory.speaker or memory.subject
    pieces: list[Piece] = [*before, (when, "cyan"), " · "]
    pieces += [(who, "bold"), " · "] if who else []
    pieces += [cut(memory.text, page.full), (after, "yellow")]
    page.line(*pieces, (f"  {memory.id}" if with_id else "", "dim"))


def a_memory(page: Page, memory: Memory) -> None:
    """Show one memory with all that is known of it."""
    memory_line(page, memory, with_id=False)
    scope = memory.audience
    heard = ", ".join(f"{part} {value}" for part in ("channel", "session", "person") if (value := getattr(scope, part)))
    rows = [
        ("id", f"{memory.id}, version {memory.version}"),
        ("kind", memory.kind + (", pinned" if memory.pinned else "")),
        ("title", cut(memory.title or "", page.full)),
        ("about", memory.subject or ""),
        ("tags", ", ".join(memory.tags)),
        ("for", f"space {scope.space}" + (f", {heard}" if heard else "")),
        ("trust", f"{memory.trust}, confidence {memory.confidence:.2f}"),
        ("quote", cut(memory.source.quote or "", page.full)),
        ("from", ", ".join((*memory.source.message_ids, *memory.source.memory_ids, *filter(None, [memory.source.place])))),
        (
            "holds",
            " to ".join(page.when(at) or "…" for at in (memory.valid_from, memory.valid_until)) if _holds(memory) else "",
        ),
        ("recorded", page.when(memory.recorded_at)),
        ("forgotten", page.when(memory.retired_at)),
        ("commit", memory.commit),
    ]
    page.table(((f"  {name}", value) for name, value in rows if value), styles={0: "dim"})


def a_change(page: Page, memory: Memory) -> None:
    """Show a memory as it is now, and how that is taken back."""
    memory_line(page, memory, after="  (pinned)" if memory.pinned else "")
    page.line(("to take it back: ", "dim"), f"reverie undo {memory.commit}")


def noted(page: Page, learned: Any) -> None:
    """Show what a turn taught that was just kept; of most there is nothing to say."""
    if learned:
        page.line((str(learned), "green"))
        for memory in learned:
            page.line(("not so: ", "dim"), f"reverie forget {memory.id}")
    elif learned.is_done is None:
        page.line("what it teaches is not learned yet; reverie settle sees to that")


def a_lesson(page: Page, learned: Any) -> None:
    """Show what a turn taught, and the words that rests on."""
    for memory in learned:
        memory_line(page, memory, after=f"  (confidence {memory.confidence:.2f})")
        if memory.source.quote:
            page.line(("  from: ", "dim"), f'"{cut(memory.source.quote, page.full)}"')
    if not learned:
        page.line(LESSONS[learned.is_done])


def a_refusal(page: Page, item: Any) -> None:
    """Show what was refused: what it says, why not, where it came from and since when."""
    memory = item.memory
    page.line((f"{memory.kind} ", "bold"), f'"{cut(memory.text, page.full)}"', (f"  {item.id}", "dim"))
    page.line(("  refused: ", "dim"), (item.reason, "yellow"))
    page.line(("  from:    ", "dim"), _whence(item), f"; {page.when(item.at)}, {_age(item.at)}")


def a_whole_refusal(page: Page, item: Any) -> None:
    """Show a refused item with all that it would have been, and how to decide."""
    a_memory(page, replace(item.memory, commit=""))
    page.line(("refused:    ", "dim"), (item.reason, "yellow"), f"; {_age(item.at)}, from {_whence(item)}")
    page.line(("take it in: ", "dim"), f"reverie quarantine allow {item.id}")
    page.line(("let it go:  ", "dim"), f"reverie quarantine drop {item.id}")


def refusals(page: Page, items: Sequence[Any]) -> None:
    """Show what was refused, and how to decide."""
    for item in items:
        a_refusal(page, item)
    page.line(
        "reverie quarantine show, allow or drop ID" if items else "nothing is in quarantine: nothing was refused this month"
    )


def _whence(item: Any) -> str:
    """Return who said it, in which room, and how far that is trusted."""
    origin, source = item.memory.origin, item.source
    room = [f"{part} {value}" for part in ("channel", "session") if (value := getattr(origin, part))]
    cited = ", ".join((*source.message_ids, *source.memory_ids, *filter(None, [source.place])))
    return ", ".join(filter(None, [item.by, *room, f"trusted as {item.memory.trust}", cited and f"out of {cited}"]))


def _age(at: datetime) -> str:
    days = (datetime.now(UTC) - at).days
    return "today" if days < 1 else f"{some(days, 'day')} ago"


def an_ending(page: Page, summary: Memory | None) -> None:
    """Show what was kept of a session."""
    page.line("ended; there was nothing to keep of it") if summary is None else a_change(page, summary)


def an_action(page: Page, action: Any) -> None:
    """Show something that was done, never what was said."""
    about = filter(None, [action.space, action.id, action.code])
    page.line((page.when(action.at), "cyan"), f"  {action.kind:<22} ", "  ".join(about))


def settled(page: Page, done: Any) -> None:
    """Show whether anything is left to learn or embed."""
    left = [f"{done.pending:,} still to do" if done.pending else "", f"{done.failed:,} failed" if done.failed else ""]
    page.line(", ".join(filter(None, left)) or "all that was said is learned and embedded")


def _holds(memory: Memory) -> bool:
    return memory.valid_from is not None or memory.valid_until is not None


def a_commit(page: Page, commit: Commit, done: str = "") -> None:
    """Show a change and how it is taken back; without an id there was none."""
    if not commit.id:
        page.line(NOTHING_FITS)
        return
    page.line(
        f"{done or cut(commit.why, page.full)}: ", ", ".join(_counts(commit)) or "nothing changed", (f"  {commit.id}", "dim")
    )
    if commit.erased:
        page.line(f"{some(len(commit.erased), 'memory')} had been erased and cannot come back")
    if done != "undone":
        page.line(("to take it back: ", "dim"), f"reverie undo {commit.id}")


def _counts(commit: Commit) -> list[str]:
    changed = set(commit.added) & set(commit.retired)
    counts = (("added", set(commit.added) - changed), ("forgotten", set(commit.retired) - changed), ("changed", changed))
    return [f"{len(ids)} {name}" for name, ids in counts if ids]


def a_recollection(page: Page, found: Any, reasons: bool = False) -> None:
    """Show what came to mind, and on request a bar for every way of looking."""
    from reverie.recall.explain import doubtful

    if found.hits:
        page.line((f"{found.confidence} confidence ({found.certainty:.2f})", "bold"))
    else:
        page.line(f"nothing said about {cut(found.cue.text, page.full)!r}")
    for line in doubtful(found.cue):
        page.line((cut(line, page.full), "yellow"))
    for hit in found.hits:
        memory_line(page, hit.memory, (f"{hit.score:4.2f}  ", "green"), after="" if hit.current else "  (no longer)")
        if reasons:
            _reasons(page, hit)
    if reasons and found.hits:
        _arms(page, found)


def an_explanation(page: Page, explanation: Any) -> None:
    """Show a kept recall with its reasons."""
    _question(page, explanation)
    if explanation.is_question:
        page.line((f"{explanation.confidence} confidence ({explanation.certainty:.2f})", "bold"))
    for line in explanation.heads():
        page.line((cut(line, page.full), "dim"))
    for hit in explanation.hits:
        before: Piece = (f"{hit.rank:>2}. {hit.score:4.2f}  ", "green")
        if hit.memory is None:
            page.line(before, ("(no longer to be seen here)", "dim"))
        else:
            memory_line(page, hit.memory, before)
        _reasons(page, hit)
        if in_all := explanation.in_all(hit):
            page.line(f"      {'in all':<11}", in_all)
    if not explanation.hits:
        page.line(explanation.nothing())
    for line in explanation.tails():
        page.line((line, "dim"))
    _arms(page, explanation)


def an_absence(page: Page, explanation: Any) -> None:
    """Show where in a kept recall a memory fell out."""
    _question(page, explanation)
    fate = explanation.fate
    if fate.memory is not None:
        memory_line(page, fate.memory, "  ")
    page.line((fate.reason, "bold"))
    if fate.instead is not None:
        memory_line(page, fate.instead, "  ")
    for line in fate.bars():
        page.line(line)


def _question(page: Page, explanation: Any) -> None:
    page.line(f"{page.when(explanation.at)}  {cut(explanation.opening(), page.full)}")


def _arms(page: Page, found: Any) -> None:
    off = [f"{name} {state}" for name, state in found.arms.items() if state != "on"]
    page.line((f"recall {found.id}" + (f"; {', '.join(off)}" if off else ""), "dim"))


def _reasons(page: Page, hit: Hit) -> None:
    for name in ("words", "meaning", "time", "neighbours"):
        arm: Arm | None = getattr(hit.why, name)
        if arm is not None:
            filled = round(max(0.0, min(1.0, arm.score)) * BAR)
            page.line(f"      {name:<11}", ("█" * filled, "green"), "░" * (BAR - filled), f" {arm.score:4.2f}  rank {arm.rank}")
    if hit.why.matched:
        page.line(f"      {'matched':<11}", ", ".join(hit.why.matched))
    if hit.why.boosts:
        page.line(f"      {'boosts':<11}", ", ".join(f"{name} {value:.2f}" for name, value in hit.why.boosts.items()))


def a_diff(page: Page, diff: Any) -> None:
    """Show what came, what went, and what reads otherwise now."""
    for memory in diff.retired:
        memory_line(page, memory, ("- ", "red"))
    for memory in diff.added:
        memory_line(page, memory, ("+ ", "green"))
    for old, new in diff.changed:
        memory_line(page, old, ("- ", "red"), with_id=False)
        memory_line(page, new, ("+ ", "green"))
    if not (diff.added or diff.retired or diff.changed):
        page.line("nothing changed")


def a_preview(page: Page, verb: str, memories: Sequence[Memory], person: str | None = None, most: int | None = None) -> None:
    """Show what a forget or an erase would take, `most` of it."""
    if not memories and person is None:
        page.line(NOTHING_FITS)
        return
    page.line(f"would {verb} {some(len(memories), 'memory')}" + (":" if memories else ""))
    for memory in memories[:most]:
        _listed(page, memory)
    if most is not None and len(memories) > most:
        page.line(f"… and {len(memories) - most:,} more")
    if person is not None:
        page.line(f"and all that is held for {person}: names, accounts, notes, working memory")


def a_proof(page: Page, proof: Any) -> None:
    """Show what an erase did."""
    page.line(f"erased {some(len(proof.erased), 'memory')} for good")
    if proof.checked:
        page.line(f"looked again in {some(len(proof.checked), 'place')}: {', '.join(proof.checked)}")
    for place in proof.pending:
        page.line(("still held by a reader: ", "yellow"), place)
    copies(page, proof.unreachable)


def copies(page: Page, unreachable: Iterable[str]) -> None:
    """Name the copies that an erase cannot touch."""
    for copy in unreachable:
        page.line(("out of reach, remove it yourself: ", "yellow"), copy)


def a_status(page: Page, status: Any) -> None:
    """Show what there is, space by space."""
    page.line(f"{status.home or 'in memory'}: {some(status.memories, 'memory')} in {some(len(status.spaces), 'space')}")
    page.line(f"embedder: {status.embedder}")
    if not status.spaces:
        return
    head = ("space", "memories", "kinds", "changes", "size", "without vector")
    rows = [
        (
            space.space,
            f"{space.memories:,}",
            ", ".join(f"{count:,} {kind}" for kind, count in space.kinds.items()),
            "" if space.commits is None else f"{space.commits:,}",
            "" if space.bytes is None else size(space.bytes),
            "" if not space.pending else f"{space.pending:,}",
        )
        for space in status.spaces
    ]
    page.table(rows, head, {0: "bold"})
    for space in status.spaces:
        about_learning = ((space.waiting, "to be learned from"), (space.dropped, "not learned from, for too much came at once"),
                          (space.failed, "not learned from, for a model failed at them"))  # fmt: skip
        for count, what in about_learning:
            if count:
                page.line((f"{space.space}: ", "bold"), f"{some(count, 'turn')} {what}")
        if space.quarantined:
            page.line((f"{space.space}: ", "bold"), f"{space.quarantined:,} in quarantine; ",
                      f"reverie quarantine --space {space.space} shows what and why")  # fmt: skip


def a_health(page: Page, health: Any) -> None:
    """Show how everything is, check by check."""
    page.line(("healthy", "green") if health.healthy else ("not healthy", "bold red"))
    page.table([(f"  {name}", at_terminal(said)) for name, said in health.checks.items()] or [("  nothing is kept yet", "")])
    for warning in health.warnings:
        page.line(("warning: ", "yellow"), warning)
    for error in health.errors:
        page.line(("error: ", "red"), at_terminal(error))


def a_person(page: Page, person: Any) -> None:
    """Show who somebody is."""
    known = [name.text for name in person.names if name.text != person.name]
    details = [
        person.id,
        f"also {', '.join(known)}" if known else "",
        ", ".join(person.accounts),
        person.zone or "",
        person.language or "",
        "not to be remembered" if person.opted_out else "",
    ]
    page.line((person.name, "bold"), " · ", " · ".join(filter(None, details)))


def a_pattern(page: Page, pattern: Any, *before: Piece) -> None:
    """Show what to do when something comes up."""
    used = f"  {pattern.confidence:.2f}, used {pattern.usage_count:,}×"
    page.line(*before, (pattern.trigger, "bold"), f" → {cut(pattern.response, page.full)}", used, (f"  {pattern.id}", "dim"))


def a_match(page: Page, match: Any) -> None:
    """Show a pattern that a text brings up."""
    a_pattern(page, match.pattern, (f"{match.score:.2f}  ", "green"))


def an_opinion(page: Page, memory: Memory) -> None:
    """Show a memory as it is after feedback, which need not have changed it."""
    memory_line(page, memory, after=f"  (confidence {memory.confidence:.2f})")


def a_working(page: Page, working: Any) -> None:
    """Show what a session is busy with."""
    if working is None:
        page.line("nothing")
        return
    rows = [("task", working.task or ""), *(("context", line) for line in working.context)]
    rows += [*(("pending", line) for line in working.pending), ("notes", working.notes or "")]
    rows.append(("since", page.when(working.updated_at)))
    page.table([(name, cut(said, page.full)) for name, said in rows if said], styles={0: "dim"})


def a_text(page: Page, text: str | None) -> None:
    """Show a note."""
    page.lines(text) if text else page.line("nothing")


def a_context(page: Page, context: Any) -> None:
    """Show what goes into a prompt; that there is nothing is said elsewhere."""
    page.lines(str(context)) if context.text else sys.stderr.write(f"{of_an_empty(context)}\n")


def a_load(page: Page, done: Any, dry_run: bool = False) -> None:
    """Show what came of an import."""
    page.line(
        f"{'would load' if dry_run else 'loaded'} {some(done.added, 'memory')} into {some(len(done.spaces), 'space')}, "
        f"{done.duplicates:,} known already, {done.failed - len(done.errors):,} left out because they were erased here"
    )
    for number, reason in done.errors[: None if page.full else 5]:
        page.line((f"  line {number} was left out: ", "red"), cut(at_terminal(reason), page.full))


def an_intake(page: Page, done: Any) -> None:
    """Show what came of many turns."""
    page.line(f"kept {some(done.added, 'turn')}, {done.duplicates:,} known already, {done.failed:,} failed")
    for number, reason in done.errors[: None if page.full else 5]:
        page.line((f"  turn {number + 1}: ", "red"), cut(at_terminal(reason), page.full))
    if len(done.errors) > 5 and not page.full:
        page.line(f"  … and {len(done.errors) - 5:,} more; --full shows all")


def proposals(page: Page, waiting: Sequence[Any]) -> None:
    """Show what waits for a yes, each with the number that it may be called by."""
    for number, proposal in enumerate(waiting, 1):
        a_proposal(page, proposal, f"{number}. ")
    page.line("or by number, shown once more: reverie proposals approve 1" if waiting else "nothing waits for a yes")


def a_proposal(page: Page, proposal: Any, number: str = "") -> None:
    """Show what is asked for, and how to answer."""
    a_wish(page, proposal, number)
    page.line(("  yes: ", "dim"), f"reverie proposals approve {proposal.id} {proposal.hash}")
    page.line(("  no:  ", "dim"), f"reverie proposals reject {proposal.id}")


def a_wish(page: Page, proposal: Any, number: str = "") -> None:
    """Show what is asked for, by whom and why."""
    change = proposal.change
    page.line(number, (f"{change.verb} ", "bold"), f"{cut(change.text, page.full)!r}", (f"  {change.id}", "dim"))
    page.line(f"  asked by {proposal.by}, {page.when(proposal.at)}: {cut(proposal.reason or 'no reason given', page.full)}")


def many(one: Callable[[Page, Any], None], none: str) -> Callable[[Page, Any], None]:
    """Return how a list of something is shown."""

    def show(page: Page, found: Any) -> None:
        for each in found:
            one(page, each)
        if not found:
            page.line(none)

    return show


def _commit_row(page: Page, commit: Any) -> None:
    page.line(
        (page.when(commit.at), "cyan"),
        f"  {commit.by}  {cut(commit.why, page.full) or '(reason erased)'}: ",
        ", ".join(_counts(commit)) or "nothing",
        (f"  {commit.id}", "dim"),
    )


def _version(page: Page, memory: Any) -> None:
    until = f"  (until {page.when(memory.retired_at)})" if memory.retired_at else ""
    memory_line(
        page, memory, (f"{memory.version:>2}  ", "green"), f"{page.when(memory.recorded_at)}  ", after=until, with_id=False
    )


def _listed(page: Page, memory: Any) -> None:
    memory_line(page, memory, f"{memory.kind:<10} ", after="  (forgotten)" if memory.retired_at else "")


SHOW: Mapping[str, Callable[[Page, Any], None]] = {
    "observe": a_change,
    "observe_many": an_intake,
    "remember": a_change,
    "retract": a_commit,
    "end": an_ending,
    "settle": settled,
    "learned": a_lesson,
    "recall": a_recollection,
    "context": a_context,
    "why": an_explanation,
    "why_not": an_absence,
    "get": a_memory,
    "scan": many(_listed, "nothing is kept here"),
    "history": many(_version, "nothing"),
    "log": many(_commit_row, "nothing has changed yet"),
    "diff": a_diff,
    "update": a_change,
    "forget": a_commit,
    "restore": a_change,
    "pin": a_change,
    "undo": lambda page, commit: a_commit(page, commit, "undone"),
    "erase": a_proof,
    "feedback": an_opinion,
    "patterns": many(a_pattern, "no pattern is known here yet; reverie patterns add TRIGGER RESPONSE makes one known"),
    "patterns_add": a_pattern,
    "patterns_remove": a_commit,
    "patterns_match": many(a_match, "this brings up no pattern"),
    "patterns_used": a_pattern,
    "working": a_working,
    "working_replace": a_working,
    "scratchpad": a_text,
    "scratchpad_replace": a_text,
    "chat_context": a_text,
    "chat_context_replace": a_text,
    "recent": many(_listed, "nothing was said in the last quarter of an hour"),
    "people": many(a_person, "nobody is known here yet; reverie people alias ID NAME makes somebody known"),
    "people_find": many(a_person, "nobody of that name is known here"),
    "people_alias": a_person,
    "people_update": a_person,
    "people_optout": a_person,
    "proposals": proposals,
    "propose": a_proposal,
    "approve": a_commit,
    "quarantine": refusals,
    "quarantine_show": a_whole_refusal,
    "allow": a_change,
    "actions": many(an_action, "nothing was learned or embedded yet"),
    "export": lambda page, path: page.line(f"written to {path}"),
    "backup": lambda page, path: page.line(f"written to {path}; reverie recover {path} brings it back"),
    "recover": lambda page, spaces: page.line(f"recovered {some(len(spaces), 'space')}: {', '.join(spaces)}"),
    "reindex": lambda page, done: page.line(f"made vectors for {some(done.made, 'memory')}, dropped {done.dropped:,} old ones"),
    "health": a_health,
    "status": a_status,
}


def size(count: int) -> str:
    """Return a number of bytes as people read it."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def some(count: int, what: str) -> str:
    """Return how many of something there are."""
    many = f"{what[:-1]}ies" if what.endswith("ry") else f"{what}s"
    return f"{count:,} {what if count == 1 else many}"


def complain(error: str, hint: str) -> None:
    """Write what went wrong, and what to do, where errors belong."""
    page = Page(sys.stderr, coloured(sys.stderr), UTC)
    page.line(("error: ", "bold red"), error)
    if hint:
        page.line(("hint: ", "bold"), hint)
