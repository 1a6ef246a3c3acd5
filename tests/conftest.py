"""What tests of every part share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import reverie
from reverie import Mind
from tests.contracts.worlds import KINDS, Clock


@pytest.fixture(scope="module")
def learning_off() -> Iterator[None]:
    """Let minds opened by a module, and by processes it starts, keep what they are told and nothing they learn from it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REVERIE_LEARN", "false")
        yield


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=KINDS)
def mind(request: pytest.FixtureRequest, clock: Clock, tmp_path: Path) -> Iterator[Mind]:
    """Return an empty mind on the scripted clock, once on each store."""
    home = ":memory:" if request.param == "memory" else tmp_path / "home"
    with reverie.open(home, clock=clock, embedder="none") as opened:
        yield opened
