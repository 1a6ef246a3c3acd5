"""Searching by words in SQLite: the way taken there depends on who may see how much; the answer does not."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import reverie
from reverie import Scope
from reverie.memory.language import query
from reverie.store.base import Where
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
