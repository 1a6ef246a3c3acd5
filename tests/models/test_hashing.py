"""The embedder without a model."""

import os
import subprocess
import sys

import numpy as np
import pytest

from reverie.errors import BadInput
from reverie.models.hashing import Hashing


def test_texts_that_share_stems_are_nearer_than_those_that_do_not() -> None:
    bicycle, inflected, other = Hashing(256).embed(["the red bicycle", "The RED bicycles", "my sister sings opera"])
    assert bicycle @ inflected > 0.9 > 0.3 > bicycle @ other


def test_every_text_gets_a_row_of_length_one() -> None:
    vectors = Hashing().embed(["a b c", "", "...", "我住在东京", "\ud800", "x" * 10_000])
    assert (vectors.shape, str(vectors.dtype)) == ((6, 64), "float32")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.array_equal(vectors[1], vectors[2])
    assert Hashing().embed([]).shape == (0, 64)


def test_vectors_are_the_same_in_every_process() -> None:
    # Written down, so that a change is seen; `memory.language.VERSION` and with it the name must change too.
    expected = [(5, 0.5), (6, 0.5), (18, 0.5), (48, -0.5)]
    script = (
        "from reverie.models.hashing import Hashing\n"
        "vector = Hashing().embed(['Ana bought red bicycles'])[0]\n"
        "print([(place, round(float(value), 6)) for place, value in enumerate(vector) if value])"
    )
    for seed in ("0", "1"):
        run = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
        assert run.stdout.strip() == str(expected)


def test_another_length_is_another_embedder() -> None:
    assert len({Hashing(length).name for length in (64, 128)}) == 2
    assert Hashing() == Hashing(64)


@pytest.mark.parametrize("length", [0, 1, 5000])
def test_a_length_that_cannot_be_is_refused(length: int) -> None:
    with pytest.raises(BadInput, match=f"between 2 and 4096, not at {length}"):
        Hashing(length)
