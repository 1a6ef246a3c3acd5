"""How sure a recall is: is any of it about what was asked?

Min–max scores cannot tell, since something is always best. So the gate looks at what they lose: the share of the question's
words that the best hits have, each counted by how rare it is here, and the best cosine on the embedder's own scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

HIGH, MEDIUM, LOW = 0.75, 0.4, 0.1
STRICT = 0.5


def share_of_words(matched: Iterable[str], rarity: Mapping[str, float]) -> float:
    """Return how much of the question a memory has, 0 to 1: by count, and by how rare each word is here, in equal parts."""
    if not rarity:
        return 0.0
    had = [rarity[word] for word in matched]
    return (len(had) / len(rarity) + sum(had) / sum(rarity.values())) / 2


def likeness(cosine: float, scale: tuple[float, float]) -> float:
    """Return a cosine on the scale of its embedder: 0 for unrelated texts, 1 for a question and its answer."""
    unrelated, alike = scale
    return min(1.0, max(0.0, (cosine - unrelated) / (alike - unrelated)))


def certainty(share: float, alike: float | None) -> float:
    """Return how sure the best hit makes us; by words alone, or by words and meaning."""
    return share if alike is None else 1.0 - (1.0 - share * share) * (1.0 - alike)


def confidence(certainty: float) -> str:
    """Return the word for a certainty."""
    return "high" if certainty >= HIGH else "medium" if certainty >= MEDIUM else "low" if certainty >= LOW else "none"
