"""What is kept here is what was told, and nothing that was learned from it."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def only_what_is_told(learning_off: None) -> None:
    """Files, rows and commits are counted."""
