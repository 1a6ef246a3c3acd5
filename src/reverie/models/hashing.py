"""An embedder without a model: each stem of a text pushes one number of the vector up or down.

It knows that texts share words and nothing of what they mean, and gives the same vector in every process and on every
machine. For tests, and for machines that shall not load a model; searching by words alone (`embedder="none"`) finds more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.errors import BadInput
from reverie.memory import language

if TYPE_CHECKING:
    from reverie.models.base import Floats


@dataclass(frozen=True, slots=True)
class Hashing:
    """Embeds texts of any language by their stems, in `length` numbers."""

    length: int = 64

    def __post_init__(self) -> None:
        if not 2 <= self.length <= 4096:
            raise BadInput(f"the length of a hashed vector must lie between 2 and 4096, not at {self.length}")

    @property
    def name(self) -> str:
        """Return what its vectors are kept under; stems that come out otherwise make another name."""
        return f"hashing-{self.length}@{language.VERSION}"

    @property
    def scale(self) -> tuple[float, float]:
        """Return what texts without a common word have, but for chance, and what near copies have."""
        return 0.0, 0.8

    @property
    def languages(self) -> frozenset[str] | None:
        """Return None: it reads every language alike."""
        return None

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of length 1 for each text, in order; a text without words points along the first axis."""
        import numpy as np

        vectors = np.zeros((len(texts), self.length), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for term in language.terms(text):
                digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                place, sign = divmod(int.from_bytes(digest, "little"), 2)
                vector[place % self.length] += 1 if sign else -1
            if not vector.any():
                vector[0] = 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors
