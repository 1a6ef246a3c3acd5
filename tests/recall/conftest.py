"""What is found here is what was told, and nothing that was learned from it."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def only_what_is_told(learning_off: None) -> None:
    """Ranks and counts are of what a test told."""
