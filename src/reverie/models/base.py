"""What every embedder and every language model promises.

An embedder turns texts into vectors of one length whose cosine says how alike two texts are. Its name stands for the
vectors it makes: the same name, the same vectors, to the last weight. So a new training of a model has a new name, vectors
are kept under it, and those of two names are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to a language model; with a `schema` (JSON Schema) the answer should be JSON that fits it."""

    system: str
    text: str
    purpose: str = "extract"
    schema: Mapping[str, object] | None = field(default=None, hash=False)
    max_tokens: int = 2000
    timeout_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a language model said, and how many tokens were read and written for it."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0


class Model(Protocol):
    """Answers questions; may be called from many threads."""

    @property
    def name(self) -> str:
        """Who it is, as costs are kept: `openai:gpt-5-mini`, `ollama:qwen3`."""

    def ask(self, asked: Asked) -> Answer:
        """Return the answer; raise `ModelError` where there is none within `asked.timeout_s`."""
