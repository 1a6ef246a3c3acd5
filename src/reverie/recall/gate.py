"""How sure a recall is: is any of it about what was asked?

Min–max scores cannot tell, since something is always best. So the gate looks at what they lose: the share of the question's
words that the best hits have, the best cosine on the embedder's own scale, and, where a question names one speaker, whether it
fits what they said better than what others did. Questions about the wrong person are told by that alone. (Counting rare words
more was tried: it tells questions about something else less well.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set

HIGH, MEDIUM, LOW = 0.75, 0.4, 0.1
STRICT = 0.5
EDGE = 0.3  # what it counts that the one who is named fits better, by meaning and by words
MIDDLE, STEEP = 0.6, 6.0  # the closeness that is as likely an answer as not, and how fast that changes
SAID = 0.8  # how sure all words of a question make us, whatever the vectors say
DATED = 0.6  # how much of a question is answered by what happened at the time that is all it names
ELSEWHEN = 0.3  # what is left where nothing happened at the time that a question names


def closeness(cosine: float, scale: tuple[float, float]) -> float:
    """Return a cosine on the scale of its embedder: 0 for unrelated texts, 1 for a question and its answer."""
    unrelated, alike = scale if scale[0] < scale[1] else (0.0, 1.0)
    return (cosine - unrelated) / (alike - unrelated)


def edge(scores: Mapping[int, float], theirs: Set[int]) -> float:
    """Return by how much the best of `theirs` is above the best of the others; 0 without both."""
    own = max((score for key, score in scores.items() if key in theirs), default=None)
    others = max((score for key, score in scores.items() if key not in theirs), default=None)
    return 0.0 if own is None or others is None else own - others


def certainty(share: float, close: float | None, edge: float = 0.0) -> float:
    """Return how sure a hit makes us; by words alone, or by words and meaning."""
    if close is None:
        return min(1.0, max(0.0, share * (1.0 + EDGE * edge)))
    likely = 1.0 / (1.0 + math.exp(min(700.0, -STEEP * (close + EDGE * edge - MIDDLE))))
    return 1.0 - (1.0 - SAID * share * share) * (1.0 - likely)


def dated(fits: float) -> float:
    """Return what of a certainty is left where the best fits the time a question names so well."""
    return ELSEWHEN + (1.0 - ELSEWHEN) * fits


def confidence(certainty: float) -> str:
    """Return the word for a certainty."""
    return "high" if certainty >= HIGH else "medium" if certainty >= MEDIUM else "low" if certainty >= LOW else "none"
