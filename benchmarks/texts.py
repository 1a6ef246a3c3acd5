"""Invented chat: turns and questions whose words are distributed like those of real talk.

Half of the words are English function words; the rest are a few thousand made-up ones in several inflections, names,
and numbers. Frequencies fall as 1 / (rank + shift), so that a handful of words is in every fifth turn and most are rare:
what a full text search has to do hangs on that. The same seed gives the same talk.

For an embedder there is chatter of everyday words only: it cuts made-up ones into pieces, and would take twice as long.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate


def _listed(words: str) -> tuple[str, ...]:
    return tuple(words.split())


NAMES = ("Ana", "Luis", "Marta", "Priya", "Tom", "Yuki", "Omar", "Ines", "Viktor", "Chloe", "Sam", "Noor")
PLACES = ("Oaxaca", "Lisbon", "Kyoto", "Leeds", "Tromso", "Quito", "Bergen", "Malaga", "Austin", "Cardiff")
FUNCTION_WORDS = _listed(
    "the to and I a of it that you in is was my for on with we but so have at this be just not are if me they as"
    " all about can what do from there or when will out up then he she been had would more who how your our some"
    " than her his them other after because only very here over still where before should could did were has"
)
EVERYDAY_WORDS = _listed(
    "time day people work week house family friend dinner lunch morning night weekend trip train flight hotel ticket beach"
    " mountain garden kitchen dog cat car bike phone book movie music song game team school class teacher student job boss"
    " office meeting project report email plan idea problem question answer story news picture birthday party gift wedding"
    " doctor hospital medicine sleep coffee tea bread soup pizza cake money price bank rent shop store market street city"
    " village country summer winter spring rain snow weather sister brother mother father daughter son baby neighbour guitar"
    " piano painting dance running swimming football yoga hiking camping language Spanish English red blue green small big"
    " old new good bad happy tired busy late early long short easy hard nice great funny strange beautiful called went came"
    " made took gave found lost bought sold started finished learned forgot remembered visited moved lived worked cooked"
    " cleaned fixed broke planned decided tried hoped wanted needed loved liked think know see feel maybe really today"
    " tomorrow yesterday tonight always never often again already together outside"
)
STATEMENTS = (
    "I moved to {place} last month.", "My sister lives in {place}, I see her twice a year.", "I'm allergic to {thing}.",
    "Honestly, I love {thing}.", "I can't stand {thing} in the morning.", "We have a dog called {place}.",
    "I work at the {thing} office in {place}.", "My birthday is on the ninth of May.", "I want to visit {place} next summer.",
    "I usually go running before {thing}.",
)  # fmt: skip
OPENERS = (  # {} is a name
    "what did {} say about", "when did {} talk about the", "where is the", "who told us about", "do you remember the",
    "how much was the", "did {} ever find the", "which", "why was {} so", "what about",
)  # fmt: skip

_ONSETS = _listed("b bl br c ch cl d dr f fl g gl gr h j k l m n p pl pr qu r s sh sk sl sp st t th tr v w")
_VOWELS = _listed("a e i o u ai ea ee oa ou")
_CODAS = _listed("b ck d g l ll m n nd nk p r rd rm rt s sh st t th x")
_ENDINGS = ("", "", "", "s", "ing", "ed", "er", "ly", "ness")
_CONTENT_WORDS, _NUMBERS = 4_000, 300
_FEWEST, _MOST = 15, 30  # words in a turn


@dataclass(frozen=True, slots=True)
class Line:
    """One turn: who says what."""

    speaker: str
    text: str


class Talk:
    """A source of turns and questions."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(7)  # one vocabulary, whatever is then said with it
        self._content = self._made_up_words()
        numbers = [self._number() for _ in range(_NUMBERS)]
        groups: tuple[tuple[float, Iterable[str], float], ...] = (
            (0.50, FUNCTION_WORDS, 2.0),
            (0.42, self._content, 10.0),
            (0.05, (*NAMES, *PLACES), 2.0),
            (0.03, numbers, 30.0),
        )
        self._words: list[str] = []
        weights: list[float] = []
        for share, words, shift in groups:
            listed = list(words)
            falling = [1 / (rank + shift) for rank in range(len(listed))]
            self._words += listed
            weights += [share * weight / sum(falling) for weight in falling]
        self._upto = list(accumulate(weights))
        self._random.seed(seed)
        self._content_upto = list(accumulate(1 / (rank + 10.0) for rank in range(len(self._content))))

    def lines(self, count: int) -> list[Line]:
        """Return the next turns."""
        chance = self._random
        found = []
        for _ in range(count):
            words = chance.choices(self._words, cum_weights=self._upto, k=chance.randint(_FEWEST, _MOST))
            words[chance.randint(4, 9)] += ","
            words[chance.randint(10, 13)] += "."
            text = f"{' '.join(words)}{chance.choice('....!?')}"
            found.append(Line(chance.choice(NAMES), text[0].upper() + text[1:]))
        return found

    def questions(self, count: int) -> list[str]:
        """Return questions of four to ten words about the same things."""
        chance = self._random
        found = []
        for _ in range(count):
            opener = chance.choice(OPENERS).format(chance.choice(NAMES))
            least = max(2, 4 - len(opener.split()))
            about = chance.choices(self._content, cum_weights=self._content_upto, k=chance.randint(least, 4))
            found.append(f"{opener} {' '.join(about)}?")
        return found

    def _made_up_words(self) -> list[str]:
        chance = self._random
        words: dict[str, None] = {}
        while len(words) < _CONTENT_WORDS:
            stem = chance.choice(_ONSETS) + chance.choice(_VOWELS) + chance.choice(_CODAS)
            if chance.random() < 0.6:
                stem += chance.choice(_VOWELS) + chance.choice(_CODAS)
            for ending in (
                chance.choice(_ENDINGS),
                chance.choice(_ENDINGS),
            ):  # a set would differ by process
                words[stem + ending] = None
        listed = list(words)
        chance.shuffle(listed)
        return listed[:_CONTENT_WORDS]

    def _number(self) -> str:
        chance = self._random
        return chance.choice(
            (
                str(chance.randint(1, 99)),
                str(chance.randint(1990, 2026)),
                f"{chance.randint(1, 12)}:{chance.choice(('00', '15', '30', '45'))}",
                f"${chance.randint(2, 900)}",
                f"{chance.randint(1, 9)}.{chance.randint(0, 99):02d}",
            )
        )


class Chatter:
    """A source of chat messages in everyday words, most of them short."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)

    def lines(self, count: int) -> list[Line]:
        """Return the next messages, of five to forty words."""
        chance = self._random
        found = []
        for _ in range(count):
            words = [
                chance.choice(FUNCTION_WORDS if place % 2 else EVERYDAY_WORDS)
                for place in range(round(chance.triangular(5, 40, 10)))
            ]
            found.append(Line(chance.choice(NAMES), f"{' '.join(words).capitalize()}{chance.choice('....!?')}"))
        return found
