"""Vectors are made beside what is said: soon, once, by whoever has the time, and nothing is lost while they are not (C2).

The embedders here are the hashing one with something in its way: a gate, a fault, a taste of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import reverie
from reverie import BadInput, Mind, ModelError, Scope, Source
from reverie.config import Settings
from reverie.learn.background import INLINE, Settled
from reverie.learn.embed import BATCH, HARMLESS, MOST, PART, parts_of
from reverie.models.hashing import Hashing
from reverie.store.base import Where
from reverie.store.sqlite.view import SqliteView

if TYPE_CHECKING:
    from reverie.models.base import Floats

ALL = 1_000_000
OWNER = Scope.owner()
PATIENCE_S = 20.0

pytestmark = pytest.mark.usefixtures("learning_off")  # vectors are counted


class Double:
    """The hashing embedder, keeping account of what it was asked."""

    languages: frozenset[str] | None = None
    scale: tuple[float, float] = (0.0, 0.8)

    def __init__(self, length: int = 64) -> None:
        self._hashing = Hashing(length)
        self.name = f"double-{length}"
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Floats:
        self.texts += texts
        return self._hashing.embed(texts)

    @property
    def told(self) -> Counter[str]:
        """What was embedded of memories, which carry their speaker in front."""
        return Counter(text for text in self.texts if text.startswith("user: "))


class Gated(Double):
    """Takes what is said only when it is let to; questions pass."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.reached = threading.Event(), threading.Event()

    def embed(self, texts: Sequence[str]) -> Floats:
        if any(text.startswith("user: ") for text in texts):
            self.reached.set()
            assert self.open.wait(PATIENCE_S)
        return super().embed(texts)


class Faulty(Double):
    """Fails while it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error: Exception | None = error or ModelError("the model is out to lunch")
        self.called = threading.Event()

    def embed(self, texts: Sequence[str]) -> Floats:
        self.called.set()
        if self.error is not None:
            raise self.error
        return super().embed(texts)


class Picky(Double):
    """Refuses any text with a certain word."""

    def embed(self, texts: Sequence[str]) -> Floats:
        if any("liver" in text for text in texts):
            raise ModelError("no liver, thank you")
        return super().embed(texts)


Opened = Callable[..., Mind]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Return what opens a mind that is closed at the end, gates open."""
    minds: list[Mind] = []
    gates: list[Gated] = []

    def new(home: str | Path, embedder: object = "hashing", background: bool = True, learn: bool = False) -> Mind:
        gates.extend([embedder] if isinstance(embedder, Gated) else [])
        minds.append(reverie.open(home, settings=Settings(learn=learn), embedder=embedder, background=background))
        return minds[-1]

    yield new
    for gate in gates:
        gate.open.set()
    for mind in minds:
        mind.close()


def versions(mind: Mind, space: str = "default") -> set[tuple[str, int]]:
    """Every version there is, whether believed or not."""
    return {(record.memory.id, record.memory.version) for record in mind._store.dump(space).records}


def embedded(mind: Mind, length: int = 64, space: str = "default") -> set[tuple[str, int]]:
    """Every version that has a vector."""
    with mind._store.reading(space) as view:
        where = Where(Scope.owner(space), ever=True)
        matches = view.search_vectors([1.0] * length, mind._embedding.model, where, ALL).matches
        return {(memory.id, memory.version) for memory in view.fetch([match.key for match in matches])}


def whole(mind: Mind, length: int = 64) -> None:
    """All that is known has its vector, and nothing else does."""
    assert mind.settle(PATIENCE_S) == Settled(0, 0)
    assert embedded(mind, length) == versions(mind)
    with mind._store.reading("default") as view:
        if isinstance(view, SqliteView):
            assert view.rows("SELECT * FROM vectors WHERE v NOT IN (SELECT v FROM versions)") == []


def lines(count: int, what: str = "lantern") -> list[dict[str, str]]:
    return [{"text": f"{what} number {number}", "message_id": f"{what}{number}"} for number in range(count)]


# every way in


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("background", [True, False])
def test_whatever_comes_in_gets_its_vector(home: str, background: bool, learn: bool, tmp_path: Path, opened: Opened) -> None:
    mind = opened(home, background=background, learn=learn)
    turn = mind.observe("I moved to Oaxaca in May", message_id="m1")
    whole(mind)
    mind.observe("I moved to Puebla in May", message_id="m1")
    fact = mind.remember("Ana lives in Oaxaca", source=Source(memory_ids=(turn.id,), quote="moved to Oaxaca"))
    mind.observe_many(lines(3))
    whole(mind)
    mind.update(fact.id, text="Ana lives in Puebla")
    mind.pin(fact.id)
    mind.undo(mind.get(fact.id).commit)
    mind.forget(fact.id)
    mind.restore(fact.id)
    proposed = mind.propose("forget", turn.id)
    mind.approve(proposed.id, proposed.hash)
    whole(mind)
    assert len(versions(mind)) > 10 if learn else len(versions(mind)) == 10
    mind.export(tmp_path / "all.jsonl")
    other = opened(":memory:" if home == ":memory:" else tmp_path / "other", background=background, learn=learn)
    other.observe("I was here before")
    for _ in range(2):  # beside what is there, and again into what came of it
        other.load(tmp_path / "all.jsonl")
        whole(other)
    empty = opened(":memory:" if home == ":memory:" else tmp_path / "empty", background=background, learn=learn)
    empty.load(tmp_path / "all.jsonl")
    whole(empty)
    assert versions(empty) == versions(mind)


def test_what_was_recovered_gets_its_vector_whether_or_not_it_had_one(tmp_path: Path, opened: Opened) -> None:
    for embedder in ("none", "hashing"):
        mind = opened(tmp_path / embedder, embedder)
        mind.observe_many(lines(5))
        mind.settle()
        mind.backup(tmp_path / f"{embedder}.zip")
        mind.close()
        reverie.recover(tmp_path / f"{embedder}.zip", tmp_path / f"again-{embedder}")
        again = opened(tmp_path / f"again-{embedder}")
        whole(again)
        assert len(embedded(again)) == 5


def test_every_space_gets_its_vectors(home: str, opened: Opened) -> None:
    mind = opened(home)
    done = mind.observe_many([{"text": "the lantern is lit", "scope": Scope(f"space {n}")} for n in range(6)])
    assert len(done.commits) == 6
    assert mind.settle(PATIENCE_S) == Settled(0, 0)
    for number in range(6):
        assert embedded(mind, space=f"space {number}") == versions(mind, f"space {number}")


# while there is no vector


def test_a_turn_is_found_by_its_words_before_it_has_a_vector(home: str, opened: Opened) -> None:
    gate = Gated()
    mind = opened(home, gate)
    mind.observe("the lantern is lit")
    found = mind.recall("lantern")
    assert [hit.memory.text for hit in found.hits] == ["the lantern is lit"]
    assert (found.hits[0].why.meaning, found.arms["meaning"]) == (None, "pending")
    assert gate.reached.wait(PATIENCE_S)
    mind.observe("the lantern went out")
    assert mind.settle(0) == Settled(2, 0)
    assert mind.settle(0.05) == Settled(2, 0)
    assert mind.status().spaces[0].pending == 2
    gate.open.set()
    whole(mind)
    found = mind.recall("lantern")
    assert found.arms["meaning"] == "on"
    assert all(hit.why.meaning for hit in found.hits)
    assert mind.status().spaces[0].pending == 0


def test_without_background_work_the_vector_is_there_when_the_call_returns(home: str, opened: Opened) -> None:
    mind = opened(home, background=False)
    mind.observe("the lantern is lit")
    mind.remember("the lantern burns oil")
    mind.observe_many(lines(5 * INLINE))
    assert embedded(mind) == versions(mind)
    assert mind.recall("lantern").arms["meaning"] == "on"
    assert "reverie-embedding" not in {thread.name for thread in threading.enumerate()}


def test_without_background_work_nobody_waits_for_what_an_import_left_except_to_settle(tmp_path: Path, opened: Opened) -> None:
    opened(tmp_path, "none").observe_many(lines(3 * INLINE))
    mind = opened(tmp_path, background=False)
    mind.observe("one more lantern")
    found = mind.recall("more")
    assert (found.arms["meaning"], found.hits[0].memory.text) == ("pending", "one more lantern")
    assert not embedded(mind)
    assert mind.settle(0) == Settled(3 * INLINE + 1, 0)
    whole(mind)


def test_a_few_that_lack_their_vector_get_it_when_they_are_looked_for(tmp_path: Path, opened: Opened) -> None:
    """C2"""
    opened(tmp_path, "none").observe_many(lines(10))
    mind = opened(tmp_path, background=False)
    assert mind.recall("lantern").arms["meaning"] == "pending"
    assert mind.recall("lantern").arms["meaning"] == "on"


def test_what_an_earlier_process_left_is_embedded_without_being_asked_for(tmp_path: Path, opened: Opened) -> None:
    opened(tmp_path, "none").observe_many(lines(2 * BATCH))
    gate = Gated()
    mind = opened(tmp_path, gate)
    assert gate.reached.wait(PATIENCE_S)
    gate.open.set()
    whole(mind)


# an embedder that fails


ERRORS = [ModelError("the model is out to lunch"), ValueError("a shape nobody expected"), OSError("no such device")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("background", [True, False])
def test_while_an_embedder_fails_nothing_is_lost_and_recall_goes_on_by_words(
    home: str, background: bool, error: Exception, opened: Opened
) -> None:
    """It may be anybody's code, and raise anything."""
    faulty = Faulty(error)
    mind = opened(home, faulty, background)
    mind.observe_many(lines(3))
    mind.observe("the lantern is lit")
    found = mind.recall("lantern")
    assert (len(found.hits), found.arms["meaning"]) == (4, "off")
    assert mind.settle() == Settled(0, 4)
    assert mind.settle(0) in (Settled(0, 4), Settled(4, 0))
    faulty.error = None
    assert mind.recall("lantern").arms["meaning"] in ("pending", "on")
    whole(mind)
    assert mind.recall("lantern").arms["meaning"] == "on"
    faulty.error = error
    mind.observe("the lantern went out")
    assert mind.settle() == Settled(0, 1)
    faulty.error = None
    whole(mind)


def test_an_embedder_that_fails_is_left_alone_until_it_is_asked_for(opened: Opened) -> None:
    faulty = Faulty()
    mind = opened(":memory:", faulty)
    mind.observe("the lantern is lit")
    for _ in range(6):
        mind.settle()  # which asks for it, and makes each rest longer
    faulty.called.clear()
    for number in range(20):
        mind.observe(f"the lantern is lit {number}")
    assert not faulty.called.wait(0.2)
    faulty.error = None
    mind.recall("lantern")  # that the question could be embedded ends the rest
    deadline = time.monotonic() + PATIENCE_S / 2
    while embedded(mind) != versions(mind):
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    "rows",
    [
        lambda texts: Hashing().embed(texts)[:-1],
        lambda texts: Hashing().embed([*texts, "one more"]),
        lambda texts: Hashing().embed(texts)[0],
        lambda texts: Hashing().embed(texts) * float("nan"),
        lambda texts: [[] for _ in texts],
        lambda texts: None,
    ],
    ids=["too few", "too many", "flat", "no numbers", "empty", "none"],
)
def test_rows_that_cannot_be_vectors_count_as_a_failure(rows: Callable[[Sequence[str]], object], opened: Opened) -> None:
    embedder = Double()
    embedder.embed = rows  # type: ignore[assignment,method-assign]
    mind = opened(":memory:", embedder)
    mind.observe_many(lines(2))
    assert mind.settle() == Settled(0, 2)
    assert (len(mind.recall("lantern").hits), mind.recall("lantern").arms["meaning"]) == (2, "off")


def test_an_embedder_whose_vectors_change_their_length_does_not_spoil_those_kept(tmp_path: Path, opened: Opened) -> None:
    opened(tmp_path, Double()).observe("the lantern is lit")
    opened(tmp_path, Double()).settle()
    other = Double(32)
    other.name = Double().name
    mind = opened(tmp_path, other)
    mind.observe("the lantern went out")
    assert mind.settle() == Settled(0, 1)
    mind.close()
    whole(opened(tmp_path, Double()))


def test_a_list_of_lists_will_do(opened: Opened) -> None:
    embedder = Double()
    embed = embedder.embed
    embedder.embed = lambda texts: embed(texts).tolist()  # type: ignore[method-assign]
    mind = opened(":memory:", embedder)
    mind.observe("the lantern is lit")
    whole(mind)


def test_a_model_that_is_not_installed_is_told_of_and_stops_nothing(
    home: str, opened: Opened, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "reverie_small", None)
    for background in (True, False):
        mind = opened(home, "local", background)
        mind.observe("the lantern is lit")
        assert mind.settle().failed
        assert (len(mind.recall("lantern").hits) > 0, mind.recall("lantern").arms["meaning"]) == (True, "off")
        assert mind.status().embedder == "none"
        with pytest.raises(ModelError, match="pip install"):
            mind.reindex()
        mind.close()
    assert "pip install" in caplog.text


# a text that is refused


def test_a_refused_text_counts_as_failed_and_keeps_no_other_from_its_vector(home: str, opened: Opened) -> None:
    mind = opened(home, Picky())
    mind.observe("there is liver for lunch")
    assert mind.settle() == Settled(0, 1)
    mind.observe_many([*lines(BATCH), {"text": "liver again"}, *lines(BATCH, "bread")])
    assert mind.settle() == Settled(0, 2)
    assert len(embedded(mind)) == 2 * BATCH
    mind.observe_many(lines(3, "soup"))
    assert mind.settle() == Settled(0, 2)
    assert len(embedded(mind)) == 2 * BATCH + 3
    found = mind.recall("lunch")
    assert [hit.memory.text for hit in found.hits if "lunch" in hit.why.matched] == ["there is liver for lunch"]
    assert found.arms["meaning"] == "pending"


@pytest.mark.parametrize("background", [True, False])
def test_more_refused_texts_than_fit_a_batch_keep_no_other_from_its_vector(background: bool, opened: Opened) -> None:
    mind = opened(":memory:", Picky(), background)
    mind.observe_many([*lines(BATCH + 8, "liver"), *lines(2)])
    assert mind.settle() == Settled(0, BATCH + 8)
    assert len(embedded(mind)) == 2


def test_a_refused_text_is_tried_again_by_the_next_who_opens_the_home(tmp_path: Path, opened: Opened) -> None:
    mind = opened(tmp_path, Picky())
    mind.observe("there is liver for lunch")
    assert mind.settle() == Settled(0, 1)
    mind.close()
    whole(opened(tmp_path, Double()))


# a space that cannot be read


def test_a_damaged_space_keeps_no_other_from_its_vectors(tmp_path: Path, opened: Opened) -> None:
    with reverie.open(tmp_path, embedder="none") as mind:
        for space in ("amber", "birch", "cedar"):
            mind.observe_many(lines(40), scope=Scope(space))
        damaged = mind._store.file_of("birch")  # type: ignore[attr-defined]
    raw = bytearray(damaged.read_bytes())
    raw[-8192:] = b"\xa5" * 8192  # past what tells its name
    damaged.write_bytes(raw)
    mind = opened(tmp_path)
    assert len(mind._store.spaces()) == 3
    assert mind.settle(PATIENCE_S) == Settled(0, 0)
    for space in ("amber", "cedar"):
        assert embedded(mind, space=space) == versions(mind, space)
    with pytest.raises(reverie.Damaged):
        mind.recall("lantern", scope=Scope("birch"))


# several at once


def test_two_minds_on_one_home_embed_everything_once(tmp_path: Path, opened: Opened) -> None:
    first, second = Gated(), Double()
    opened(tmp_path, "none").observe_many(lines(3 * BATCH))
    one = opened(tmp_path, first)
    assert first.reached.wait(PATIENCE_S)
    two = opened(tmp_path, second)
    assert two.settle(0.5) == Settled(3 * BATCH, 0)
    assert not second.told
    first.open.set()
    two.observe_many(lines(BATCH, "bread"))
    whole(two)
    whole(one)
    assert set((first.told + second.told).values()) == {1}
    assert (first.told + second.told).total() == 4 * BATCH


def test_a_call_that_embeds_for_itself_leaves_to_others_what_they_are_at(tmp_path: Path, opened: Opened) -> None:
    gate, own = Gated(), Double()
    busy = opened(tmp_path, gate)
    busy.observe("the lantern is lit")
    assert gate.reached.wait(PATIENCE_S)
    mind = opened(tmp_path, own, background=False)
    mind.observe("the lantern went out")
    assert mind.recall("lantern").arms["meaning"] == "pending"
    assert not own.told
    gate.open.set()
    whole(mind)


def test_many_threads_may_speak_and_ask_while_vectors_are_made(tmp_path: Path, opened: Opened) -> None:
    embedder = Double()
    mind = opened(tmp_path, embedder)
    problems: list[BaseException] = []

    def speak(number: int) -> None:
        try:
            for turn in range(15):
                mind.observe(f"thread {number} says {turn}")
                assert mind.recall(f"thread {number} says {turn}").hits
                mind.settle(0)
        except BaseException as exc:
            problems.append(exc)

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not problems
    whole(mind)
    assert embedder.told.total() == 60


def run(code: str, *args: object, timeout_s: float = 60) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_process_forked_while_embedding_takes_the_right_to_embed_from_nobody(tmp_path: Path) -> None:
    done = run(
        """
        import os, sys, threading, warnings
        import reverie
        from reverie.models.hashing import Hashing
        warnings.simplefilter("ignore")  # later Pythons warn of what is tried here
        class Gated(Hashing):
            name, open, reached = "gated", threading.Event(), threading.Event()
            def embed(self, texts):
                self.reached.set()
                assert self.open.wait(20)
                return super().embed(texts)
        gate = Gated()
        mind = reverie.open(sys.argv[1], embedder=gate)
        mind.observe("the lantern is lit")
        assert gate.reached.wait(20)
        end, held = os.pipe()
        if os.fork() == 0:
            os.close(held)
            os.read(end, 1)
            os._exit(0)
        gate.open.set()
        print(mind.settle(20))
        mind.observe("the lantern went out")
        print(mind.settle(20))
        mind.close()
        os.close(held)
        os.wait()
        """,
        tmp_path,
    )
    assert (done.stdout.splitlines(), done.stderr) == (["Settled(pending=0, failed=0)"] * 2, "")


BUSY = """
    import random, sys, threading, time
    import reverie
    from reverie import NotFound, Scope
    home, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    mind = reverie.open(home, embedder="hashing")
    until, problems = time.monotonic() + seconds, []
    def live(number):
        chance, ids = random.Random(100 * seed + number), []
        try:
            while time.monotonic() < until:
                here = Scope(f"space {chance.randrange(22)}", person=chance.choice(("ana", None)))  # more than stay open
                act, known = chance.randrange(8), chance.choice(ids) if ids else None
                try:
                    if act < 2 or known is None:
                        ids.append(mind.observe(f"lantern {chance.random()}", scope=here).id)
                    elif act == 2:
                        mind.observe_many([{"text": f"many {chance.random()}"} for _ in range(20)], scope=here)
                    elif act == 3:
                        mind.why(mind.recall(f"lantern {chance.random()}", scope=here).id, scope=here)
                    elif act == 4:
                        mind.settle(0.01)
                    elif act == 5:
                        mind.update(known, text=f"lantern {chance.random()}")
                    elif act == 6:
                        mind.forget(known)
                    else:
                        ids.remove(known)
                        mind.erase(known)
                except NotFound:  # forgotten before; or the question went with what it found
                    pass
        except BaseException as exc:
            problems.append(exc)
    threads = [threading.Thread(target=live, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(problems)
    mind.close()
"""


@pytest.mark.stress
def test_two_processes_with_four_threads_each_do_everything_at_once_and_nobody_waits_for_ever(
    tmp_path: Path, opened: Opened
) -> None:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(BUSY), str(tmp_path)]
    busy = [
        subprocess.Popen([*command, str(seed), "20"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in range(2)
    ]
    assert [process.communicate(timeout=90) for process in busy] == [("[]\n", "")] * 2
    mind = opened(tmp_path)
    assert mind.settle(PATIENCE_S) == Settled(0, 0)
    assert mind.health().healthy
    for space in mind._store.spaces():
        assert embedded(mind, space=space) == versions(mind, space)


# the end


class Slow(Double):
    """Takes its time over what is said."""

    def embed(self, texts: Sequence[str]) -> Floats:
        threading.Event().wait(0.05)
        return super().embed(texts)


@pytest.mark.stress
def test_closing_does_not_wait_for_all_of_it_and_the_next_to_open_goes_on(tmp_path: Path, opened: Opened) -> None:
    mind = opened(tmp_path, Slow())
    mind.observe_many(lines(60 * BATCH))
    started = time.monotonic()
    mind.close()
    assert time.monotonic() - started < 4
    mind = opened(tmp_path, Double())
    assert mind.settle(0).pending > BATCH
    whole(mind)


def test_an_embedder_that_never_answers_keeps_nobody_from_closing(
    tmp_path: Path, opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gated()
    mind = opened(tmp_path, gate)
    mind.observe("the lantern is lit")
    assert gate.reached.wait(PATIENCE_S)
    mind._embedding.close(0.0, 0.05)
    mind._store.close()
    assert "does not come back" in caplog.text
    worker = next(thread for thread in threading.enumerate() if thread.name == "reverie-embedding")
    gate.open.set()
    worker.join(PATIENCE_S)
    assert not worker.is_alive()
    whole(opened(tmp_path, Double()))


EXITS = {
    "embedding, in a circle": "mind.recall('lantern'); mind.itself = mind; del mind",
    "closed by another thread": "import threading; threading.Thread(target=mind.close).start()",
}


@pytest.mark.parametrize("last", EXITS.values(), ids=EXITS)
def test_a_mind_that_was_forgotten_lets_the_interpreter_end(tmp_path: Path, last: str) -> None:
    started = time.monotonic()
    done = run(
        f"""
        import sys
        import reverie
        mind = reverie.open(sys.argv[1], embedder="hashing")
        mind.observe_many([{{"text": f"lantern {{n}}"}} for n in range(1_000)])
        {last}
        """,
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - started < 15


def test_the_process_ends_well_while_the_packaged_model_is_at_work(tmp_path: Path) -> None:
    """An onnxruntime that is running when the interpreter goes away takes the process down with it."""
    pytest.importorskip("reverie_small")
    done = run(
        """
        import sys
        import reverie
        mind = reverie.open(sys.argv[1], embedder="local")
        said = "we walked home along the river and talked of work " * 10
        mind.observe_many([{"text": f"lantern {n}: {said}"} for n in range(200)])
        mind.recall("who walked home?")  # the model is in memory from here on
        print(mind.settle(0.1).pending > 0)
        """,
        tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


# long texts


def test_a_long_text_is_cut_into_parts_that_overlap_and_leave_nothing_out(opened: Opened) -> None:
    mind = opened(":memory:", "none")
    signs, digits = (f"{chr(0x4E00 + n)}。" for n in range(3_000)), (f"{n:05}" for n in range(1_000))
    words, rows = (f"word {n} " for n in range(1_000)), (f"line {n}\n" for n in range(1_000))
    for text in ("short", *map("".join, (signs, digits, words, rows))):
        memory = mind.remember(text)
        parts = parts_of(memory)
        assert all(len(part) <= PART for part in parts)
        assert parts[0] == text[: len(parts[0])]
        at = 0
        for part in parts:
            place = text.find(part, max(0, at - PART))
            assert 0 <= place < at or at == 0  # it begins before the last one ended
            at = place + len(part)
        assert at == len(text)
        assert (len(parts) == 1) == (len(text) <= PART)


def test_a_long_text_is_found_by_what_only_its_end_says(home: str, opened: Opened) -> None:
    embedder = Double()
    mind = opened(home, embedder)
    long = "we talked about the weather and the harvest. " * 200
    end = mind.observe(f"{long} The zither hangs behind the pantry door.")
    mind.observe_many(lines(50))
    whole(mind)
    assert embedder.told.total() > 60
    found = mind.recall("", vector=Hashing().embed(["the zither hangs behind the pantry door"])[0].tolist(), limit=1)
    assert (found.hits[0].memory.id, found.hits[0].why.words) == (end.id, None)


def test_of_a_text_without_end_the_beginning_has_vectors(opened: Opened) -> None:
    mind = opened(":memory:")
    mind.observe("the harvest was good this year. " * 5_000 + "zither")
    whole(mind)
    assert len(parts_of(next(mind.scan()))) == MOST
    assert mind.recall("zither").hits


# another embedder


def test_changing_the_embedder_reindexes_with_progress_while_search_goes_on(tmp_path: Path, opened: Opened) -> None:
    """Each search uses the vectors of the embedder in use, never another's; what lacks one is found by its words."""
    mind = opened(tmp_path)
    mind.observe_many(lines(5 * BATCH))
    fact = mind.remember("Ana lives in Oaxaca")
    mind.update(fact.id, text="Ana lives in Puebla")
    whole(mind)
    mind.close()

    mind = opened(tmp_path, Double(32), background=False)
    total = 5 * BATCH + 2
    seen: list[tuple[int, int]] = []

    def look(made: int, of: int) -> None:
        seen.append((made, of))
        if of - made > INLINE + 1:  # else the question would have the rest embedded
            found = mind.recall("lantern", limit=ALL)
            assert len(found.hits) == len([hit for hit in found.hits if hit.why.words]) == 5 * BATCH
            assert len([hit for hit in found.hits if hit.why.meaning]) == made
            assert found.arms["meaning"] == "pending"

    done = mind.reindex(progress=look)
    assert [made for made, _ in seen] == sorted({made for made, _ in seen})
    assert (seen[0], seen[-1], {of for _, of in seen}) == ((BATCH, total), (total, total), {total})
    assert (done.made, done.dropped, done.spaces) == (total, total, 1)
    assert embedded(mind, 32) == versions(mind)
    with mind._store.reading("default") as view:
        assert not view.search_vectors([1.0] * 64, Hashing().name, Where(OWNER, ever=True), ALL).matches
    assert mind.reindex() == type(done)(0, 0, 1)


def test_a_reindex_that_was_stopped_goes_on_where_it_was(tmp_path: Path, opened: Opened) -> None:
    mind = opened(tmp_path)
    mind.observe_many(lines(6 * BATCH))
    mind.settle()
    mind.close()
    other = Double(32)
    mind = opened(tmp_path, other, background=False)

    def stop(made: int, of: int) -> None:
        if made >= 2 * BATCH:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mind.reindex(progress=stop)
    assert len(embedded(mind, 32)) == 2 * BATCH
    assert mind.recall("lantern", limit=ALL).arms["meaning"] == "pending"
    done = mind.reindex()
    assert (done.made, done.dropped) == (4 * BATCH, 6 * BATCH)
    assert set(other.told.values()) == {1}
    mind.close()
    whole(opened(tmp_path, Double(32)), 32)


def test_a_reindex_beside_the_background_embeds_nothing_twice(tmp_path: Path, opened: Opened) -> None:
    opened(tmp_path, "none").observe_many(lines(6 * BATCH))
    other = Slow(32)
    mind = opened(tmp_path, other)
    steps: list[int] = []
    mind.reindex(progress=lambda made, of: steps.append(made))
    assert embedded(mind, 32) == versions(mind)
    assert set(other.told.values()) == {1}
    assert steps == sorted(steps)


def test_a_mind_without_an_embedder_has_nothing_to_reindex(home: str, opened: Opened) -> None:
    with pytest.raises(BadInput, match="no embedder"):
        opened(home, "none").reindex()


def test_a_fault_in_the_middle_of_a_reindex_is_told_and_costs_one_batch(tmp_path: Path, opened: Opened) -> None:
    opened(tmp_path, "none").observe_many(lines(3 * BATCH))
    faulty = Faulty()
    faulty.error = None
    mind = opened(tmp_path, faulty, background=False)

    def break_it(made: int, of: int) -> None:
        faulty.error = ModelError("the model is out to lunch")

    with pytest.raises(ModelError, match="lunch"):
        mind.reindex(progress=break_it)
    assert len(embedded(mind)) == BATCH
    faulty.error = None
    assert mind.reindex().made == 2 * BATCH
    assert HARMLESS not in faulty.told


# what is erased meanwhile


@pytest.mark.parametrize("how", ["by id", "by query", "by person"])
def test_what_is_erased_while_it_is_being_embedded_gets_no_vector(home: str, how: str, opened: Opened) -> None:
    """R8"""
    gate = Gated()
    mind = opened(home, gate)
    ana = Scope(person="ana")
    going = mind.observe("the ring is in the left drawer", scope=ana, speaker="user")
    staying = mind.observe("the bread is in the oven", speaker="user")
    assert gate.reached.wait(PATIENCE_S)
    named = {"by id": {"id": going.id}, "by query": {"query": "ring drawer"}, "by person": {"person": "ana"}}[how]
    proof = mind.erase(**named, scope=OWNER)  # type: ignore[arg-type]
    assert (proof.erased, proof.pending) == ((going.id,), ())
    gate.open.set()
    whole(mind)
    assert embedded(mind) == {(staying.id, 1)}


def test_what_a_fact_quotes_is_in_no_vector_of_it(home: str, opened: Opened) -> None:
    """R8: the quote goes when the quoted is erased, even where the fact stays; a vector of it would not."""
    embedder = Double()
    mind = opened(home, embedder)
    here = Scope()
    told = mind.observe("between us, zither lessons cost a fortune", scope=here)
    also = mind.observe("lessons are dear", scope=here)
    for source in (Source(memory_ids=(told.id,), quote="zither lessons cost a fortune"), Source(memory_ids=(also.id,))):
        fact = mind.remember("Music is dear", scope=here, source=source)
    whole(mind)
    mind.erase(told.id)
    assert mind.get(fact.id).source.quote is None
    whole(mind)
    assert [text for text in embedder.texts if "zither" in text] == ["user: between us, zither lessons cost a fortune"]
