"""A short turn is found by what it answers: it is embedded alone and between its neighbours, and one vector does for both.

What a vector should be is worked out here from the memories alone, the plain way; whatever happened before, in whatever order
and however often vectors were made meanwhile, the vectors kept must be those (C2, R6, R8).
"""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import reverie
from reverie import Memory, Mind, ModelError, NotFound, Scope
from reverie.config import Settings
from reverie.errors import Erased, UndoConflict
from reverie.learn.background import Settled
from reverie.learn.embed import ASIDE, BATCH, SHORT, parts_of
from reverie.models.hashing import Hashing
from reverie.store.base import Where

if TYPE_CHECKING:
    from reverie.models.base import Floats

LENGTH = 16
HALF = 2e-3  # a store may keep half floats
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
PORCH = Scope(channel="porch", session="evening")
LONG = "and then we went on about the weather, the harvest and the road to the coast for a good while " * 3

pytestmark = pytest.mark.usefixtures("learning_off")  # what is embedded is counted


class Recorder:
    """The hashing embedder, keeping what it was given."""

    languages: frozenset[str] | None = None
    scale: tuple[float, float] = (0.0, 0.8)
    name = "recorder"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Floats:
        self.texts += texts
        return Hashing(LENGTH).embed(texts)


class Shy(Recorder):
    """Refuses whatever has more than one line."""

    def embed(self, texts: Sequence[str]) -> Floats:
        if any("\n" in text for text in texts):
            raise ModelError("one line at a time")
        return super().embed(texts)


Opened = Callable[..., Mind]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Return what opens a mind that is closed at the end."""
    minds: list[Mind] = []

    def new(home: str | Path, embedder: object = None, background: bool = False, learn: bool = False) -> Mind:
        settings = Settings(learn=learn)
        minds.append(reverie.open(home, settings=settings, embedder=embedder or Recorder(), background=background))
        return minds[-1]

    yield new
    for mind in minds:
        mind.close()


def kept(mind: Mind) -> dict[str, tuple[float, ...]]:
    """Return the vectors of what is believed, number for number, as searches along each axis tell them."""
    found: dict[str, list[float]] = {}
    with mind._store.reading("default") as view:
        for axis in np.eye(LENGTH).tolist():
            near = view.search_vectors(axis, mind._embedding.model, Where(Scope.owner()), 1_000_000)
            for memory, match in zip(view.fetch([match.key for match in near.matches]), near.matches, strict=True):
                found.setdefault(memory.text, []).append(match.score)
    return {text: tuple(numbers) for text, numbers in found.items()}


def window(before: Memory | None, turn: Memory, after: Memory) -> str:
    """Return what a turn is embedded as between its neighbours."""
    return "\n".join(f"{one.speaker}: {one.text[:ASIDE]}" for one in (before, turn, after) if one is not None)


def wanted(mind: Mind) -> dict[str, Floats]:
    """Return the vectors that what is believed ought to have."""
    heard: dict[tuple[object, ...], list[Memory]] = {}
    vectors: dict[str, Floats] = {}
    with mind._store.reading("default") as view:
        keys = [match.key for match in view.newest(Where(Scope.owner()), 1_000_000)]
        told = [memory for _, memory in sorted(zip(keys, view.fetch(keys), strict=True), key=lambda pair: pair[0])]
    for memory in told:
        vectors[memory.text] = Hashing(LENGTH).embed(parts_of(memory))[0]
        if memory.kind == "turn" and (memory.origin.channel, memory.origin.session) != (None, None):
            heard.setdefault((memory.origin.channel, memory.origin.session, memory.audience), []).append(memory)
    for said in heard.values():
        said.sort(key=lambda memory: memory.happened_at or START)
        for before, turn, after in zip((None, *said[:-1]), said, (*said[1:], None), strict=True):
            if after is not None and len(turn.text) <= SHORT:
                between = Hashing(LENGTH).embed([window(before, turn, after)])[0]
                vectors[turn.text] = np.mean([vectors[turn.text], between], axis=0)
    return vectors


def right(mind: Mind) -> None:
    """Every vector is what it ought to be, and there is nothing more to do."""
    assert mind.settle(20) == Settled(0, 0)
    have, should = kept(mind), wanted(mind)
    assert have.keys() == should.keys()
    for text, numbers in should.items():
        assert have[text] == pytest.approx(numbers.tolist(), abs=HALF), text


def chat(mind: Mind, *lines: str, scope: Scope = PORCH, start: datetime = START) -> list[Memory]:
    """Say lines in turn, a minute apart."""
    return [
        mind.observe(
            text, speaker=("Ana", "Ben")[n % 2], scope=scope, at=start + timedelta(minutes=n), message_id=f"{start:%H}-{n}"
        )
        for n, text in enumerate(lines)
    ]


# what is embedded, and when


@pytest.mark.parametrize("background", [False, True])
def test_a_short_turn_is_embedded_between_its_neighbours_once_it_was_answered(
    home: str, background: bool, opened: Opened
) -> None:
    embedder = Recorder()
    mind = opened(home, embedder, background)
    chat(mind, "Shall we paint the fence?", "Gladly", "On Saturday then")
    right(mind)
    if not background:
        first, second, third = "Ana: Shall we paint the fence?", "Ben: Gladly", "Ana: On Saturday then"
        assert embedder.texts == [
            *(first,),
            *(second, first, f"{first}\n{second}"),
            *(third, second, f"{first}\n{second}\n{third}"),
        ]
    embedder.texts.clear()
    assert mind.settle() == Settled(0, 0)
    assert mind.reindex().made == 0
    assert embedder.texts == []


def test_an_answer_is_found_by_what_was_asked(home: str, opened: Opened) -> None:
    mind = opened(home, "hashing")
    chat(mind, "Which colour for the garden fence?", "Green", "Good", "And who cooks tonight?", "Me", "Fine")
    asked = Hashing().embed(["which colour for the garden fence"])[0].tolist()
    found = {hit.memory.text: hit.why.meaning.score for hit in mind.recall("", vector=asked).hits if hit.why.meaning}
    assert found["Green"] > 0.3 > found.get("Me", 0.0)


def test_long_turns_carry_their_own_context_and_lend_others_a_piece_of_it(home: str, opened: Opened) -> None:
    embedder = Recorder()
    mind = opened(home, embedder)
    edge = "x" * SHORT
    chat(mind, LONG, "I see", LONG + "once more", edge, edge + "y", "so it is")
    right(mind)
    windows = {text.split("\n")[1][5:] for text in embedder.texts if text.count("\n") == 2}
    assert windows == {"I see", edge}
    assert all(len(line) <= len("Ana: ") + ASIDE for text in embedder.texts if "\n" in text for line in text.split("\n"))


def test_what_was_said_nowhere_in_particular_and_what_is_no_turn_have_no_neighbours(home: str, opened: Opened) -> None:
    embedder = Recorder()
    mind = opened(home, embedder)
    chat(mind, "one", "two", "three", scope=Scope())
    for text in ("red", "green", "blue"):
        mind.remember(text, scope=PORCH)
    right(mind)
    assert not [text for text in embedder.texts if "\n" in text]


@pytest.mark.parametrize("background", [False, True])
def test_in_an_import_every_text_is_embedded_once(home: str, background: bool, opened: Opened) -> None:
    embedder = Recorder()
    mind = opened(home, embedder, background)
    count = 3 * BATCH + 5
    mind.observe_many(
        [{"text": f"line {n}", "at": START + timedelta(minutes=n), "scope": PORCH, "speaker": "Ana"} for n in range(count)]
    )
    right(mind)
    assert set(Counter(embedder.texts).values()) == {1}
    assert len(embedder.texts) == 2 * count - 1


def test_an_embedder_that_refuses_a_window_still_gives_the_turn_its_own_vector(home: str, opened: Opened) -> None:
    embedder = Shy()
    mind = opened(home, embedder)
    turns = chat(mind, "one", "two", "three", "four")
    assert mind.settle() == Settled(0, 0)
    mind.forget(turns[1].id)
    assert mind.settle() == Settled(0, 0)
    alone = {turn.text: Hashing(LENGTH).embed(parts_of(turn))[0].tolist() for turn in turns if turn.text != "two"}
    have = kept(mind)
    assert have.keys() == alone.keys()
    assert all(have[text] == pytest.approx(alone[text], abs=HALF) for text in alone)


# when a neighbour comes, changes or goes


def edited(mind: Mind, turns: list[Memory]) -> None:
    mind.observe("no, nothing of the sort", speaker="Ben", scope=PORCH, message_id=turns[1].message_id)


def updated(mind: Mind, turns: list[Memory]) -> None:
    mind.update(turns[2].id, text="rather late", scope=Scope.owner())


def forgotten(mind: Mind, turns: list[Memory]) -> None:
    mind.forget(turns[2].id)


def restored(mind: Mind, turns: list[Memory]) -> None:
    mind.forget(turns[2].id)
    mind.settle()
    mind.restore(turns[2].id)


def undone(mind: Mind, turns: list[Memory]) -> None:
    mind.undo(turns[3].commit)


def erased(mind: Mind, turns: list[Memory]) -> None:
    mind.erase(turns[2].id)


def last_erased(mind: Mind, turns: list[Memory]) -> None:
    mind.erase(turns[-1].id)


def first_forgotten(mind: Mind, turns: list[Memory]) -> None:
    mind.forget(turns[0].id)


def told_late(mind: Mind, turns: list[Memory]) -> None:
    mind.observe("by the way", speaker="Cleo", scope=PORCH, at=START + timedelta(seconds=90))


def told_first(mind: Mind, turns: list[Memory]) -> None:
    mind.observe("hello there", speaker="Cleo", scope=PORCH, at=START - timedelta(days=1))


def reset(mind: Mind, turns: list[Memory]) -> None:
    mind.reset(PORCH)


CHANGES = [edited, updated, forgotten, restored, undone, erased, last_erased, first_forgotten, told_late, told_first, reset]


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_windows_are_made_again_when_a_neighbour_comes_changes_or_goes(
    home: str, change: Callable[[Mind, list[Memory]], None], background: bool, opened: Opened
) -> None:
    mind = opened(home, None, background)
    turns = chat(mind, "are you there?", "yes", "since when?", "since noon", "ah", "well")
    right(mind)
    change(mind, turns)
    if not background:
        assert mind.status().spaces[0].pending == 0
    right(mind)


def test_what_lost_its_vector_is_told_and_found_by_its_words_meanwhile(tmp_path: Path, opened: Opened) -> None:
    mind = opened(tmp_path)
    turns = chat(mind, "are you there?", "yes", "since when?", "since noon", "ah")
    mind.close()
    without = opened(tmp_path, "none")
    without.erase(turns[2].id)
    without.close()
    embedder = Recorder()
    mind = opened(tmp_path, embedder)
    assert mind.status().spaces[0].pending == 2
    assert {hit.memory.text for hit in mind.recall("noon", scope=PORCH).hits} >= {"since noon"}
    embedder.texts.clear()
    right(mind)
    assert mind.status().spaces[0].pending == 0


@pytest.mark.parametrize("learn", [True, False])
def test_erased_words_are_in_nothing_that_is_embedded_afterwards(home: str, learn: bool, opened: Opened) -> None:
    """R8"""
    embedder = Recorder()
    mind = opened(home, embedder, learn=learn)
    turns = chat(
        mind, "what do you play at weddings?", "I love my zither", "thank you for the music", "until the harvest festival"
    )
    right(mind)
    assert [text for text in embedder.texts if "zither" in text and "\n" in text]
    assert {memory.kind for memory in mind.scan(Scope.owner())} == {"turn", *(("fact", "episode") if learn else ())}
    embedder.texts.clear()
    mind.erase(turns[1].id)
    right(mind)
    anew = {"Ana: what do you play at weddings?", "Ana: thank you for the music"}
    heads = {text.split("\n")[0] for text in embedder.texts}
    assert anew <= heads if learn else anew == heads
    assert {memory.kind for memory in mind.scan(Scope.owner())} == {"turn", *(("episode",) if learn else ())}
    assert not [text for text in embedder.texts if "zither" in text]


def test_a_neighbour_that_goes_while_a_window_is_being_made_leaves_no_trace_in_it(tmp_path: Path, opened: Opened) -> None:
    """R8: what is embedded was read before; what came of it is thrown away and made again."""
    other = opened(tmp_path, "none")
    going: list[str] = []

    class Meddled(Recorder):
        def embed(self, texts: Sequence[str]) -> Floats:
            if going and any("third" in text for text in texts):
                other.forget(going.pop())
            return super().embed(texts)

    mind = opened(tmp_path, Meddled())
    chat(mind, "first", "second")
    right(mind)
    going += [chat(other, "third", "fourth", start=START + timedelta(hours=1))[0].id]
    right(mind)
    assert not going
    assert kept(mind).keys() == {"first", "second", "fourth"}


DYING = """
    import os, sys, threading
    import reverie
    from reverie.models.hashing import Hashing
    class Slow:
        name, languages, scale = "recorder", None, (0.0, 0.8)
        def embed(self, texts):
            threading.Event().wait(0.002)
            return Hashing(16).embed(texts)
    mind = reverie.open(sys.argv[1], embedder=Slow())
    os.write(1, b"open\\n")
    mind.settle()
    threading.Event().wait()
"""


@pytest.mark.stress
def test_a_process_killed_while_it_embeds_leaves_no_window_half_made(tmp_path: Path, opened: Opened) -> None:
    """R1, C2: a turn and those beside it get their vectors together or not at all."""
    chance = random.Random(5)
    for life in range(25):
        with reverie.open(tmp_path, embedder="none") as mind:
            minutes = [chance.randrange(2_000) for _ in range(60)]
            mind.observe_many(
                [{"text": f"line {life} {n}", "at": START + timedelta(minutes=m)} for n, m in enumerate(minutes)], scope=PORCH
            )
            for memory in chance.sample(list(mind.scan()), 9)[: 3 if life else 0]:
                chance.choice((mind.forget, mind.erase))(memory.id)
                mind.forget(chance.choice([one for one in mind.scan() if one.id != memory.id]).id)
        command = [sys.executable, "-W", "error", "-c", textwrap.dedent(DYING), str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"open\n"
            threading.Event().wait(0.15 * chance.random())  # nothing is waited for: the moment is to be anywhere
            child.kill()
    mind = opened(tmp_path)
    assert mind.settle(0).pending
    right(mind)
    assert mind.health().healthy


# who may hear it


def test_a_window_is_made_of_one_audience_only(home: str, opened: Opened) -> None:
    """R6: what was whispered between two turns is in the window of neither."""
    embedder = Recorder()
    mind = opened(home, embedder)
    whispered = Scope(channel="porch", session="evening", person="ben")
    for n, (text, audience) in enumerate(
        [("said one", None), ("hushed one", whispered), ("said two", None), ("hushed two", whispered), ("said three", None)]
    ):
        mind.observe(text, speaker="Ben", scope=PORCH, audience=audience, at=START + timedelta(minutes=n))
    right(mind)
    windows = [text for text in embedder.texts if "\n" in text]
    assert "Ben: said one\nBen: said two\nBen: said three" in windows
    assert "Ben: hushed one\nBen: hushed two" in windows
    assert not [text for text in windows if "said" in text and "hushed" in text]


WHISPERS = (
    Scope(channel="porch", session="evening", person="ben"),
    Scope(session="evening"),
    Scope(channel="porch", person="ana"),
)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.stress) for n in range(1, 60))])
def test_nothing_outside_an_audience_moves_a_number_inside_it(home: str, seed: int, tmp_path: Path, opened: Opened) -> None:
    """R6: a mind in which nothing was ever whispered keeps the very same vectors of what was said aloud."""
    chance = random.Random(seed)
    minds = {True: opened(home), False: opened(":memory:" if home == ":memory:" else tmp_path / "other")}
    ids: dict[bool, dict[str, str]] = {True: {}, False: {}}
    for step in range(40):
        act = chance.choice(("say", "say", "say", "change", "forget", "erase", "settle"))
        is_hushed, at = chance.random() < 0.5, START + timedelta(minutes=chance.randrange(60))
        whispered = chance.choice(WHISPERS)
        known = sorted(text for text in ids[True] if text.startswith("hushed" if is_hushed else "said"))
        chosen = chance.choice(known) if known else ""
        for whispers, mind in minds.items():
            if is_hushed and not whispers:
                continue
            if act == "say":
                text = f"{'hushed' if is_hushed else 'said'} {step}"
                told = mind.observe(text, scope=PORCH, audience=whispered if is_hushed else None, at=at, message_id=text)
                ids[whispers][text] = told.id
            elif act == "settle":
                mind.settle()
            elif chosen and act == "change":
                mind.update(ids[whispers][chosen], text=f"{chosen} again {step}")
            elif chosen:
                (mind.forget if act == "forget" else mind.erase)(ids[whispers].pop(chosen))
    with_whispers, without = (kept(mind) for mind in minds.values() if mind.settle() == Settled(0, 0))
    assert {text: numbers for text, numbers in with_whispers.items() if text.startswith("said")} == without
    for mind in minds.values():
        right(mind)


# in any order


@pytest.mark.parametrize("how", ["one by one", "one by one, settled at the end", "in one call", "backwards", "in two calls"])
def test_the_vectors_are_the_same_however_the_turns_arrived(home: str, how: str, opened: Opened) -> None:
    turns = [
        {"text": f"{word} {LONG if n % 5 == 3 else ''}", "speaker": "Ana", "scope": PORCH, "at": START + timedelta(minutes=n)}
        for n, word in enumerate("abcdefghijklmnopqrstu")
    ]
    mind = opened(home, None, how != "one by one")
    if how == "in one call":
        mind.observe_many(turns)
    elif how == "in two calls":
        for some in (turns[::2], turns[1::2]):
            mind.observe_many(some)
            mind.settle()
    else:
        for turn in turns[::-1] if how == "backwards" else turns:
            mind.observe(**turn)  # type: ignore[arg-type]
    right(mind)
    assert len(kept(mind)) == len({turn["text"] for turn in turns})


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.stress) for n in range(2, 60))])
def test_whatever_happened_the_vectors_are_those_of_what_is_left(home: str, seed: int, opened: Opened) -> None:
    """And a second look finds nothing to do (C2)."""
    chance = random.Random(seed)
    embedder = Recorder()
    mind = opened(home, embedder, background=seed % 2 == 1)
    places = (PORCH, Scope(channel="porch"), Scope(session="evening"), Scope(channel="porch", session="morning"))
    ids: list[str] = []
    commits: list[str] = []
    for step in range(60):
        act = chance.choice(("say", "say", "say", "many", "change", "forget", "restore", "erase", "undo", "settle"))
        here, at = chance.choice(places), START + timedelta(minutes=chance.randrange(60))
        text = f"thing {step} {LONG if chance.random() < 0.2 else ''}"
        known = chance.choice(ids) if ids else None
        try:
            if act == "say":
                told = mind.observe(text, scope=here, at=at, audience=chance.choice((None, Scope())))
                ids.append(told.id)
                commits.append(told.commit)
            elif act == "many":
                many = [{"text": f"{text} {n}", "at": at + timedelta(minutes=n)} for n in range(chance.randrange(1, 50))]
                commits += mind.observe_many(many, scope=here).commits
            elif act == "settle":
                mind.settle()
            elif act == "undo" and commits:
                mind.undo(chance.choice(commits))
            elif known and act == "change":
                mind.update(known, text=text)
            elif known and act == "forget":
                commits.append(mind.forget(known).id)
            elif known and act == "restore":
                mind.restore(known)
            elif known and act == "erase":
                mind.erase(known)
                ids.remove(known)
        except (NotFound, UndoConflict, Erased, reverie.BadInput, reverie.CannotUndo, reverie.Conflict):
            pass  # forgotten before, not forgotten, or changed since
    right(mind)
    embedder.texts.clear()
    assert mind.settle() == Settled(0, 0)
    assert mind.reindex().made == 0
    assert embedder.texts == []
