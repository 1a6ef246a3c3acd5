"""Whether a claim rests on a text (C7)."""

from __future__ import annotations

import math

from reverie.memory.language import fold, words_of


def grounded(claim: str, text: str) -> bool:
    """Tell whether `claim` is in `text`, or shares enough of its words of three characters and more.

    >>> grounded("Ana moved to Oaxaca", "well, I, Ana, moved to Oaxaca in May")
    True
    >>> grounded("Ana lives in Lima", "I moved to Oaxaca in May")
    False
    """
    if fold(claim) in fold(text):
        return True
    words = {word for word in words_of(claim) if len(word) >= 3}
    shared = len(words & words_of(text))
    return bool(words) and shared >= (len(words) if len(words) <= 3 else max(2, math.ceil(0.45 * len(words))))
