"""Looking by words: BM25 over stems, with the statistics of the space.

The store ranks. Where its ranking says little it is done again here, over more candidates than were asked for: in a space of a
few memories, where SQLite's BM25 gives no weight to a word that half of them have, and for a look back in time, where current
and past versions were counted apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reverie.memory.language import Query, terms, words_had
from reverie.memory.trace import Memory
from reverie.store.base import View, Where, indexed_text

FEW = 64
K1, B = 0.9, 0.4
READ = 20_000  # characters of a memory that are looked at for the words it has


def look(view: View, cue: Query, where: Where, limit: int, now: datetime) -> dict[int, float]:
    """Return the BM25 of what shares a word with the cue, the best first."""
    matches = view.search_words(cue, where, limit, now)
    if where.at is None and view.counts((), where)[0] > FEW:
        return {match.key: match.score for match in matches}
    keys = [match.key for match in matches]
    scores = dict(zip(keys, _scores(view, cue, where, view.fetch(keys, where.at)), strict=True))
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0])))


def matched(cue: Query, memories: Iterable[Memory]) -> list[tuple[str, ...]]:
    """Return for each memory the words of the cue that it has."""
    return words_had((indexed_text(memory)[:READ] for memory in memories), cue)


def _rarity(view: View, cue: Query, where: Where) -> dict[str, float]:
    """Return how telling each word of the cue is here; above nothing, however many memories have it."""
    total, counts = view.counts([variant for word in cue.words for variant in word.variants], where)
    having = {word.text: min(total, sum(counts[variant] for variant in word.variants)) for word in cue.words}
    return {word: math.log(1 + (total - n + 0.5) / (n + 0.5)) for word, n in having.items()}


def _scores(view: View, cue: Query, where: Where, memories: Sequence[Memory]) -> list[float]:
    texts = [_terms(memory) for memory in memories]
    forms, rare = _forms(cue), _rarity(view, cue, where)
    lengths = [text.total() for text in texts]
    average = sum(lengths) / max(1, len(lengths))
    around = [K1 * (1 - B + B * length / average) for length in lengths]
    return [
        sum(rare[word] * n * (K1 + 1) / (n + norm) for word, n in _times(cue, forms, text).items())
        for text, norm in zip(texts, around, strict=True)
    ]


def _terms(memory: Memory) -> Counter[str]:
    return Counter(terms(indexed_text(memory)[:READ]))


def _forms(cue: Query) -> dict[str, list[str]]:
    """Return for every term the words of the cue that it is a form of."""
    forms: dict[str, list[str]] = {}
    for word in cue.words:
        for variant in word.variants:
            forms.setdefault(variant, []).append(word.text)
    return forms


def _times(cue: Query, forms: Mapping[str, list[str]], text: Counter[str]) -> dict[str, int]:
    """Return the words of the cue that a text has, and how often it has each in any of its forms."""
    found: Counter[str] = Counter()
    for term, count in text.items():
        for word in forms.get(term, ()):
            found[word] += count
    for begun in cue.words:
        if begun.prefixes and (n := sum(count for term, count in text.items() if term.startswith(begun.prefixes))):
            found[begun.text] += n
    return {word.text: found[word.text] for word in cue.words if word.text in found} if len(found) > 1 else found
