"""What tests of every part share."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def learning_off() -> Iterator[None]:
    """Let minds opened by a module, and by processes it starts, keep what they are told and nothing they learn from it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REVERIE_LEARN", "false")
        yield
