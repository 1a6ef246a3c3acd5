"""Every test here runs once on each store, which is told things and learns nothing from them."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

import reverie
from reverie import Mind
from reverie.store.base import Store
from tests.contracts.worlds import KINDS, Clock, NewMind, store_of


@pytest.fixture(autouse=True, scope="module")
def only_what_is_told(learning_off: None) -> None:
    """A contract counts what it told."""


@pytest.fixture
def new_mind(clock: Clock, tmp_path: Path) -> Iterator[NewMind]:
    """Return what opens an empty mind of one kind on the scripted clock."""
    opened: list[Mind] = []
    numbers = count()

    def new(kind: str) -> Mind:
        mind = reverie.open(
            ":memory:" if kind == "memory" else tmp_path / f"home-{next(numbers)}", clock=clock, embedder="none"
        )
        opened.append(mind)
        return mind

    yield new
    for mind in opened:
        mind.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def mind(kind: str, new_mind: NewMind) -> Mind:
    return new_mind(kind)


@pytest.fixture
def store(kind: str, tmp_path: Path) -> Iterator[Store]:
    store = store_of(kind, tmp_path / "store")
    yield store
    store.close()
