"""What the tests of learning share."""

from pathlib import Path

import pytest


@pytest.fixture(params=["memory", "disk"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a mind is kept, in memory and on disk."""
    return ":memory:" if request.param == "memory" else str(tmp_path / "home")
