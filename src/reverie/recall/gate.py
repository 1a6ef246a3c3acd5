"""How sure a recall is: is any of it about what was asked?

Min–max scores cannot tell, since something is always best. So the gate looks at what they lose: the share of the question's
words that the best hits have, and the best cosine on the embedder's own scale. (Counting rare words more was tried: it tells
questions about something else less well.)
"""

from __future__ import annotations

HIGH, MEDIUM, LOW = 0.75, 0.4, 0.1
STRICT = 0.5


def likeness(cosine: float, scale: tuple[float, float]) -> float:
    """Return a cosine on the scale of its embedder: 0 for unrelated texts, 1 for a question and its answer."""
    unrelated, alike = scale if scale[0] < scale[1] else (0.0, 1.0)
    return min(1.0, max(0.0, (cosine - unrelated) / (alike - unrelated)))


def certainty(share: float, alike: float | None) -> float:
    """Return how sure the best hit makes us; by words alone, or by words and meaning."""
    return share if alike is None else 1.0 - (1.0 - share * share) * (1.0 - alike)


def confidence(certainty: float) -> str:
    """Return the word for a certainty."""
    return "high" if certainty >= HIGH else "medium" if certainty >= MEDIUM else "low" if certainty >= LOW else "none"
