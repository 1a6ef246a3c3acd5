"""What every embedder promises.

An embedder turns texts into vectors of one length whose cosine says how alike two texts are. Its name stands for the
vectors it makes: the same name, the same vectors, to the last weight. So a new training of a model has a new name, vectors
are kept under it, and those of two names are never compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into vectors; may be called from many threads."""

    @property
    def name(self) -> str:
        """What its vectors are kept under, such as `reverie-small@62f14b53`."""

    @property
    def languages(self) -> frozenset[str] | None:
        """The languages it knows, as ISO codes; None if it knows them all."""

    @property
    def scale(self) -> tuple[float, float]:
        """The cosine of texts that have nothing to do with each other, and that of a question with its answer."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row for each text, in order; raise `ModelError` where that fails."""
