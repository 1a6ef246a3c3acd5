"""A week in a minute: two people, one shared room, a few private lines, and a memory that keeps them apart.

Everything printed is asked of a real mind on a real home, made for the occasion and removed afterwards. Only what people
say, and the clock, are scripted; every figure is counted while it is shown. Run it with `python -m reverie.doors.demo`.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import reverie
from reverie import Diff, Erased, Memory, Mind, Recollection, Scope, Source
from reverie.memory.language import terms

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
FLAT, CLIMBERS = "flat", "climbers"
ROOM_ANA, ROOM_LUIS = (Scope(FLAT, channel="kitchen", person=person) for person in ("ana", "luis"))
ALONE_ANA, ALONE_LUIS = (Scope(FLAT, person=person) for person in ("ana", "luis"))
SECRET = "I have an interview at Zapata Ceramics, keep it quiet."
SHORTEST = 5  # characters: shorter index terms turn up in any file by chance


class Clock:
    """A week that passes when it is told to."""

    def __init__(self) -> None:
        self.now = MONDAY

    def __call__(self) -> datetime:
        return self.now

    def at(self, day: int, hour: int) -> None:
        """Go to an hour of a day, Monday being 0."""
        self.now = MONDAY + timedelta(days=day, hours=hour)


@dataclass(frozen=True, slots=True)
class Page:
    """Where the story is written: plain lines, with colour and pauses only if asked for."""

    write: Callable[[str], object]
    colour: bool = False
    pause: Callable[[], object] | None = None

    def day(self, name: str, title: str) -> None:
        """Begin a chapter."""
        if self.pause is not None:
            self.pause()
        self.write("")
        self.write(self._styled("1;36", f"{name.upper():<10}{title}"))

    def note(self, text: str) -> None:
        """Say what is being done."""
        self.write(self._styled("2", f"  {text}"))

    def line(self, text: str) -> None:
        """Show what the memory says."""
        self.write(f"    {text}")

    def _styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


@dataclass(frozen=True, slots=True)
class Searched:
    """What a look through the raw bytes of a folder found."""

    files: int
    bytes: int
    hits: int


def search(folder: Path, words: Iterable[str]) -> Searched:
    """Count the words in every file beneath a folder, whatever their case."""
    raw = [path.read_bytes().lower() for path in sorted(folder.rglob("*")) if path.is_file()]
    needles = [word.lower().encode() for word in words]
    return Searched(len(raw), sum(map(len, raw)), sum(content.count(needle) for content in raw for needle in needles))


def tell(home: Path, page: Page) -> None:
    """Tell the whole story in `home`."""
    started, clock = time.perf_counter(), Clock()
    with reverie.open(home, clock=clock) as mind:
        lives = monday(mind, clock, page)
        secret = tuesday(mind, clock, page)
        wednesday(mind, clock, page)
        thursday(mind, clock, page, lives)
        friday(mind, clock, page, lives)
        saturday(mind, clock, page)
        sunday(mind, clock, page, home, secret)
        status = mind.status()
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    commits = sum(space.commits or 0 for space in status.spaces)
    page.day("The week", "in figures")
    page.line(f"{status.memories} memories · {commits} commits · {len(status.spaces)} spaces · {size:,} bytes on disk")
    page.line(f"told in {time.perf_counter() - started:.2f} s; no key, no network")


def monday(mind: Mind, clock: Clock, page: Page) -> Memory:
    """Ana and Luis talk in the room."""
    clock.at(0, 9)
    page.day("Monday", "Ana and Luis share a kitchen, and a chat room")
    said = mind.observe("I live in Oaxaca and throw pots for a living.", speaker="Ana", scope=ROOM_ANA)
    mind.observe("I am allergic to peanuts, so go easy on the mole.", speaker="Luis", scope=ROOM_LUIS)
    page.note("kept word for word, with date and speaker:")
    for turn in mind.scan(ROOM_ANA, kinds=("turn",)):
        page.line(str(turn))
    lives = mind.remember("Ana lives in Oaxaca", subject="ana", scope=ROOM_ANA, source=Source(memory_ids=(said.id,)))
    page.note(f"a fact drawn from the first line, version {lives.version}, confidence {lives.confidence:.2f}:")
    page.line(str(lives))
    return lives


def tuesday(mind: Mind, clock: Clock, page: Page) -> Memory:
    """Each says something in private, and Luis something elsewhere."""
    clock.at(1, 20)
    page.day("Tuesday", "three lines that are not for everyone")
    secret = mind.observe(SECRET, speaker="Ana", scope=ALONE_ANA)
    mind.remember("Ana interviews at Zapata Ceramics", subject="ana", scope=ALONE_ANA, source=Source(memory_ids=(secret.id,)))
    surprise = mind.observe("I am planning a surprise party for Ana.", speaker="Luis", scope=ALONE_LUIS)
    wall = mind.observe("The climbing hall opens at seven.", speaker="Luis", scope=Scope(CLIMBERS, channel="wall"))
    for where, turn in (("Ana, in private", secret), ("Luis, in private", surprise), ("another space", wall)):
        page.line(f"{where + ':':<18}{turn.text}")
    return secret


def wednesday(mind: Mind, clock: Clock, page: Page) -> None:
    """The same questions, asked in different places."""
    clock.at(2, 12)
    page.day("Wednesday", "asking: what comes back, and why")
    page.note("in the room: what is Luis allergic to?")
    found = mind.recall("what is Luis allergic to?", scope=ROOM_ANA, limit=3)
    page.line(f"{found.confidence} confidence ({found.certainty:.2f})")
    for hit in found.hits:
        page.line(f"{hit.score:.2f}  {hit.memory.text}  [matched: {', '.join(hit.why.matched)}]")
    page.note("who hears what was said in private?")
    asked: tuple[tuple[str, str, Scope], ...] = (
        ("Ana, in private", "Zapata interview", ALONE_ANA),
        ("Luis, in private", "Zapata interview", ALONE_LUIS),
        ("Ana, in the room", "Zapata interview", ROOM_ANA),
        ("Luis, in private", "surprise party", ALONE_LUIS),
        ("Ana, in private", "surprise party", ALONE_ANA),
        ("the climbers", "climbing hall", Scope(CLIMBERS, channel="wall")),
        ("the flat's owner", "climbing hall", Scope.owner(FLAT)),
    )
    for who, cue, scope in asked:
        page.line(f"{who + ',':<18}{cue + ':':<18}{_first(mind.recall(cue, scope=scope))}")


def thursday(mind: Mind, clock: Clock, page: Page, lives: Memory) -> None:
    """Ana moves; the correction is made, taken back, and made again."""
    clock.at(3, 18)
    page.day("Thursday", "Ana moves: a correction, undone and redone")
    mind.observe("News: I moved to Puebla yesterday!", speaker="Ana", scope=ROOM_ANA)
    before = mind.log(Scope.owner(FLAT), limit=1)[0]
    corrected = mind.update(lives.id, text="Ana lives in Puebla", reason="she moved", scope=ROOM_ANA)
    page.note("nothing is overwritten; the history of the fact:")
    for known in mind.history(lives.id, scope=ROOM_ANA):
        until = f"until {known.retired_at:%a %H:%M}" if known.retired_at else "believed now"
        page.line(f"version {known.version}  {known.text:<22}since {known.recorded_at:%a %H:%M}, {until}")
    page.note("what the correction changed:")
    _show(page, mind.diff(before.id, corrected.commit, ROOM_ANA))
    clock.at(3, 19)
    undone = mind.undo(corrected.commit, scope=ROOM_ANA)
    page.note("undo it:")
    _show(page, mind.diff(corrected.commit, undone.id, ROOM_ANA))
    clock.at(3, 20)
    redone = mind.undo(undone.id, scope=ROOM_ANA)
    page.note("undo the undo, for she did move:")
    _show(page, mind.diff(undone.id, redone.id, ROOM_ANA))
    page.line(f"now {len(mind.history(lives.id, scope=ROOM_ANA))} versions, every one of them kept")


def friday(mind: Mind, clock: Clock, page: Page, lives: Memory) -> None:
    """What was believed earlier in the week."""
    clock.at(4, 12)
    page.day("Friday", "where does Ana live? It depends on when you ask")
    tuesday_noon = MONDAY + timedelta(days=1, hours=12)
    page.note("what was believed:")
    for moment in (tuesday_noon, clock.now):
        page.line(f"on {moment:%A}:".ljust(15) + f" {mind.get(lives.id, as_of=moment, scope=ROOM_ANA).text}")
    page.note("and the facts that a recall finds:")
    for when, moment in (("as of Tuesday", tuesday_noon), ("now", clock.now)):
        found = mind.recall("where does Ana live?", scope=ROOM_ANA, kinds=("fact",), as_of=moment)
        for hit in found.hits:
            page.line(f"{when + ':':<15} {hit.score:.2f}  {hit.memory.text}  [matched: {', '.join(hit.why.matched)}]")


def saturday(mind: Mind, clock: Clock, page: Page) -> None:
    """What was never said is not made up."""
    clock.at(5, 12)
    page.day("Saturday", "what nobody ever said")
    page.line(str(mind.recall("favourite football team?", scope=ROOM_LUIS)))
    page.line(str(mind.recall("does Luis play the violin?", scope=ROOM_LUIS, strict=True)))


def sunday(mind: Mind, clock: Clock, page: Page, home: Path, secret: Memory) -> None:
    """Ana takes her secret back for good."""
    clock.at(6, 10)
    page.day("Sunday", "Ana takes her secret back, for good")
    going = mind.erase(secret.id, scope=ALONE_ANA, dry_run=True).erased
    needles = _only_in(mind, going)
    page.note("every file of the home, searched as raw bytes for what goes with it, sentences and index terms:")
    for text in needles[: len(going)]:
        page.line(text)
    page.line(" · ".join(needles[len(going) :]))
    _residue(page, "before", search(home, needles))
    proof = mind.erase(secret.id, scope=ALONE_ANA)
    _residue(page, "after", search(home, needles))
    page.note(f"{len(proof.erased)} memories erased, the fact drawn from it among them; the proof:")
    page.line(f"{len(proof.checked)} places looked through: {', '.join(proof.checked[:6])},")
    page.line(f"  {', '.join(proof.checked[6:])}")
    page.line(f"still held by a reader: {len(proof.pending)} · copies out of reach: {len(proof.unreachable)}")
    page.note("and it is not learned again:")
    try:
        kept = mind.observe(SECRET, speaker="Ana", scope=ALONE_ANA)
    except Erased as refusal:
        page.line(f"refused: {refusal}")
    else:
        raise AssertionError(f"{kept.id} was kept although its text had been erased")


def _first(found: Recollection) -> str:
    return found.hits[0].memory.text if found.hits else str(found)


def _show(page: Page, diff: Diff) -> None:
    for memory in diff.retired:
        page.line(f"- {memory.text}")
    for memory in diff.added:
        page.line(f"+ {memory.text}")
    for old, new in diff.changed:
        page.line(f"- {old.text}  (version {old.version})")
        page.line(f"+ {new.text}  (version {new.version})")


def _only_in(mind: Mind, ids: Sequence[str]) -> list[str]:
    """Return the texts of these memories, then the index terms that no other memory of the home has."""
    texts = [mind.get(id).text for id in ids]
    others = {
        term
        for space in mind.status().spaces
        for memory in mind.scan(Scope.owner(space.space))
        if memory.id not in ids
        for term in terms(memory.text)
    }
    own = dict.fromkeys(term for text in texts for term in terms(text) if len(term) >= SHORTEST and term not in others)
    return [*texts, *own]


def _residue(page: Page, when: str, found: Searched) -> None:
    page.line(f"{when + ':':<8} {found.hits} hits in {found.files} files, {found.bytes:,} bytes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story in a temporary home and remove it."""
    parser = argparse.ArgumentParser(prog="python -m reverie.doors.demo", description="A week of a memory, in a minute.")
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--fast", action="store_true", help="do not wait anywhere (as it is without options)")
    pace.add_argument("--step", action="store_true", help="wait for Enter before each day")
    chosen = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without · shows ? and goes on
    page = Page(
        write=print,
        colour=sys.stdout.isatty() and not os.environ.get("NO_COLOR"),
        pause=(lambda: input("\n[Enter]")) if chosen.step else None,
    )
    page.write("Reverie: one week of a memory. People and clock are scripted; everything else happens as you read.")
    with tempfile.TemporaryDirectory(prefix="reverie-demo-") as folder:
        tell(Path(folder) / "home", page)
    page.line("the home of this demonstration is removed" if not Path(folder).exists() else f"{folder} could not be removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
