"""Looking by words: BM25 over stems, with the statistics of the space.

The store ranks. Where its ranking says little it is done again here, over more candidates than were asked for: in a space of a
few memories, where SQLite's BM25 gives no weight to a word that half of them have, and for a look back in time, where current
and past versions were counted apart.
"""

from __future__ import annotations

import math
import string
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate

from reverie.memory.language import Query, fold, is_unspaced, plain, terms, words_had
from reverie.memory.trace import Memory
from reverie.store.base import View, Where, indexed_text

FEW = 64
K1, B = 0.9, 0.4
REACH = 2  # turns before and after in which a word still counts
HALF = 0.5  # of its weight
NEAR = 400  # characters of a turn near by that are looked at; what it is about is said at its beginning
STEM = 4  # letters by which another ending of a word is known
MANY = 64  # words of a cue, beyond which it says enough by itself
_SIGNS = string.punctuation + "¡¿“”‘’«»…—–"
READ = 20_000  # characters of a memory that are looked at for the words it has


def look(view: View, cue: Query, where: Where, limit: int, now: datetime) -> dict[int, float]:
    """Return the BM25 of what shares a word with the cue, the best first."""
    matches = view.search_words(cue, where, limit, now)
    if where.at is None and (len(matches) > FEW or view.counts((), where)[0] > FEW):
        return {match.key: match.score for match in matches}
    keys = [match.key for match in matches]
    scores = dict(zip(keys, _scores(view, cue, where, view.fetch(keys, where.at)), strict=True))
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0])))


def reached(
    view: View,
    cue: Query,
    where: Where,
    found: Mapping[int, float],
    runs: Sequence[Sequence[int]],
    texts: Mapping[int, str],
) -> dict[int, float]:
    """Return the BM25 of turns, each word that was not said in one but within two turns of it counted for half.

    A question names what a stretch of talk is about, and its answer says "it". `runs` are turns that follow one another, and
    `texts` what they say.
    Measured: this does for words what vectors of whole stretches do for meaning, at no cost; two turns are better than one or
    three, and half better than a third or two thirds.
    """
    said = {key: cut.lower() if (cut := text[:NEAR]).isascii() else plain(fold(cut)) for key, text in texts.items()}
    had = _begun(cue, said) if 0 < len(cue.words) <= MANY else {}
    if not had:
        return {key: found.get(key, 0.0) for key in texts}
    lengths = {key: max(1, len(one)) for key, one in said.items()}
    average = sum(lengths.values()) / len(lengths)
    rare, nothing = _rarity(view, cue, where), dict[str, float]()
    weight = {key: (K1 + 1) / (1 + K1 * (1 - B + B * lengths[key] / average)) for key in had}
    own = {key: {word: weight[key] * rare[word] for word in words} for key, words in had.items()}
    more: dict[int, dict[str, float]] = {}
    for run in runs:
        for place, key in enumerate(run):
            if key not in own:
                continue
            for near in run[max(0, place - REACH) : place + REACH + 1]:
                if near != key:
                    known, gains = own.get(near, nothing), more.setdefault(near, {})
                    for word, worth in own[key].items():
                        if word not in known and worth > gains.get(word, 0.0):
                            gains[word] = worth
    # What has words of the cue, but was not among the best by them, is counted here.
    scores = {key: found.get(key, 0.0) for key in texts} | {k: sum(own[k].values()) for k in own.keys() - found.keys()}
    return scores | {key: scores[key] + HALF * sum(gains.values()) for key, gains in more.items()}


def _begun(cue: Query, said: Mapping[int, str]) -> dict[int, list[str]]:
    """Return for each folded text the words of a cue that some word in it begins like, if any.

    Stemming every text would take longer than all else, and finds no more of what matters; so would looking at every word: all
    texts are searched at once for each form.
    """
    forms = {form: word.text for word in cue.words for form in (*word.variants, *word.prefixes)}
    keys, talk = list(said), "\n".join(said.values())
    starts = list(accumulate((len(text) + 1 for text in said.values()), initial=0))
    had: dict[int, list[str]] = {}
    for form, word in forms.items():
        is_part = is_unspaced(form[0])
        at = talk.find(form)
        while at >= 0:
            after = at + 1
            if is_part or _is_beginning(talk, at, form):
                place = bisect(starts, at)
                after = starts[place]
                words = had.setdefault(keys[place - 1], [])
                if word not in words:
                    words.append(word)
            at = talk.find(form, after)
    return had


def _is_beginning(talk: str, at: int, form: str) -> bool:
    """Tell whether the word begins here, but for signs before it; a short form must be all of it."""
    before = at
    while before and talk[before - 1] in _SIGNS:
        before -= 1
    if form[0] in _SIGNS or (before and not talk[before - 1].isspace()):
        return False
    rest = talk[at : at + max(len(form), STEM + 1) + 1].split(None, 1)[0]
    bare = rest if len(rest) > STEM + 1 else rest.rstrip(_SIGNS)  # "so," is "so", which only whole words are like
    return bare == form or (len(form) >= STEM and bare.startswith(form))


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
