"""Searching in SQLite: the way taken depends on who may see how much and on what is held in memory; the answer does not."""

import random
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import reverie
from reverie import Scope
from reverie.memory.language import query
from reverie.store.base import Vector, Where
from reverie.store.sqlite import SqliteStore

NOW = datetime(2026, 5, 1, tzinfo=UTC)
WORDS = "boat river lamp garden piano winter bread window letter train coffee island".split()  # noqa: SIM905


def fill(home: Path, share_of_ana: float, share_over: float) -> None:
    """Keep facts of two people, some of which no longer hold."""
    chance = random.Random(11)
    with reverie.open(home, clock=lambda: NOW, embedder="none") as mind:
        for number in range(120):
            person = "ana" if chance.random() < share_of_ana else "bo"
            until = NOW - timedelta(days=1) if chance.random() < share_over else NOW + timedelta(days=1)
            text = f"{' '.join(chance.choices(WORDS, k=chance.randint(2, 9)))} number {number}"
            mind.remember(text, scope=Scope("home", person=person), valid_until=until)


@pytest.mark.parametrize("share_of_ana", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("share_over", [0.0, 0.5, 0.95])
def test_the_first_few_are_the_first_of_all(tmp_path: Path, share_of_ana: float, share_over: float) -> None:
    """R6: whether most of a space is visible or little, and whether most still holds or little, is not seen in the order."""
    fill(tmp_path, share_of_ana, share_over)
    store = SqliteStore(tmp_path)
    for scope in (Scope("home", person="ana"), Scope("home", person="bo"), Scope.owner("home")):
        with store.reading("home") as view:
            for cue in ("the boat", "garden piano", "winter bread window letter", "coffee or a lamp on the island"):
                everything = view.search_words(query(cue), Where(scope), 1_000, NOW)
                for limit in (1, 2, 5, 20):
                    assert view.search_words(query(cue), Where(scope), limit, NOW) == everything[:limit]
    store.close()


def test_vectors_of_spaces_long_not_asked_for_are_let_go_of_when_memory_runs_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A2: and the answer is the same when they are read again."""
    spaces = [Scope(f"s{number}") for number in range(5)]
    with reverie.open(tmp_path, embedder="hashing") as mind:
        for scope in spaces:
            mind.observe_many(({"text": f"{word} in the {scope.space}"} for word in WORDS), scope=scope)
        mind.settle()
        before = [[hit.score for hit in mind.recall("a piano", scope=scope, now=NOW).hits] for scope in spaces]
        store = mind._store
        assert isinstance(store, SqliteStore)

        def held() -> list[str]:
            return sorted(file.space for file in store._folder.each_open() if file.caches)

        assert held() == ["s0", "s1", "s2", "s3", "s4"]
        monkeypatch.setattr("reverie.store.sqlite.CACHED_BYTES", 2 * len(WORDS) * 64 * 4)
        assert [[hit.score for hit in mind.recall("a piano", scope=scope, now=NOW).hits] for scope in spaces] == before
        assert held() == ["s3", "s4"]


def nearest(store: SqliteStore, where: Where, sought: tuple[float, float] = (1.0, 0.3)) -> list[tuple[int, float]]:
    with store.reading("home") as view:
        return [(match.key, match.score) for match in view.search_vectors(sought, "m", where, 1_000).matches]


def test_what_is_held_in_memory_tells_the_same_as_a_fresh_read_whatever_was_replaced(tmp_path: Path) -> None:
    """C2: a vector that takes the place of another costs no reading of all the others, and its forebears take no room."""
    chance = random.Random(3)
    owner = Scope.owner("home")
    store = SqliteStore(tmp_path)
    with reverie.open(tmp_path, clock=lambda: NOW, embedder="none") as mind:
        ids = [mind.remember(f"fact {n}", scope=Scope("home", person=("ana", "bo")[n % 2])).id for n in range(60)]

        def embed(some: list[str]) -> None:
            parts = [(id, part) for id in some for part in range(chance.choice((1, 1, 2)))]
            uses = {
                id: tuple((other, 1) for other in chance.sample(ids[:20], chance.randrange(3)) if other != id) for id in some
            }
            vectors = [Vector(id, 1, (chance.gauss(0, 1), chance.gauss(0, 1)), part, uses[id]) for id, part in parts]
            assert store.put_vectors("home", "m", vectors) == len(vectors)

        embed(ids)
        nearest(store, Where(owner))
        (file,) = store._folder.each_open()
        held = file.caches["m"]
        for step in range(30):
            embed(chance.sample(ids, chance.choice((1, 1, 5, 40))))
            if step % 4 == 3:
                ids.append(mind.remember(f"fact {step + 60}", scope=Scope("home")).id)
                embed(ids[-1:])
            if step % 10 == 9:  # one that others were made with: what they lose makes all to be read again
                mind.forget(ids.pop(0))
            fresh = SqliteStore(tmp_path)
            for where in (Where(owner), Where(Scope("home", person="ana")), Where(owner, ever=True), Where(owner, at=61)):
                assert nearest(store, where) == nearest(fresh, where), step
            fresh.close()
            assert step % 10 == 9 or file.caches["m"] is held
            held = file.caches["m"]
            assert held.size <= 2 * len(nearest(store, Where(owner, ever=True))) * 4 / 3 + 1
    store.close()


def test_who_searches_while_vectors_are_replaced_finds_everything_once(tmp_path: Path) -> None:
    store, owner = SqliteStore(tmp_path), Where(Scope.owner("home"))
    with reverie.open(tmp_path, clock=lambda: NOW, embedder="none") as mind:
        ids = [mind.remember(f"fact {n}", scope=Scope("home")).id for n in range(40)]
    store.put_vectors("home", "m", [Vector(id, 1, (1.0, 0.0)) for id in ids])
    wrong: list[object] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            found = nearest(store, owner, (1.0, 0.0))
            if len(found) != len(ids) or not all(score == pytest.approx(round(score), abs=1e-3) for _, score in found):
                wrong.append(found)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(30):
        some = ids[turn % 7 :: 3]
        store.put_vectors("home", "m", [Vector(id, 1, (float(turn % 2), float(1 - turn % 2))) for id in some])
    done.set()
    for thread in threads:
        thread.join(20)
    assert not wrong
    store.close()
