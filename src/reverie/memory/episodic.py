"""Episodes: where one ends and the next begins, and what is kept of it.

A conversation is cut where something else begins: after four hours of silence, at a mark that a person sets, or where the talk
turns to something else. Midnight and a short pause cut nothing. Whether it turns is seen a few turns later: those after a point
are compared with those before it, by their words and by their meaning, and both must say that they have little in common. So a
greeting, a "yes" or a short answer opens nothing, and nothing is decided before enough was said. What is decided stays so
whatever comes next: a turn at a time or a whole import, the same episodes close.

Everything about an episode comes from its own turns: when one of them goes, nothing of it is left in any other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from math import fsum
from typing import TYPE_CHECKING, NamedTuple

from reverie.memory.language import fold, language_of, said_words
from reverie.memory.trace import TRUST, Memory, Source, less_trusted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

GAP = timedelta(hours=4)  # of silence, after which something else begins
PAUSE = timedelta(minutes=30)  # after which the open episode is written out, and stays open
ALIKE = 0.3  # below this, what is said has little in common with what was said before
BEFORE, AFTER, LOOK = 4, 3, 1  # turns compared, and how many points further on a better one is looked for
AHEAD = AFTER + LOOK  # turns that must follow a point; the last makes the vectors of those before it final
SHORTEST, LONGEST = 4, 200  # turns: before the talk can turn, and before an episode ends because it is long enough
CONTENT, TELLING = 3, 8  # different words: of a turn that has something to say, and of each side that is compared
REACH = 40  # turns: how far back such are looked for
REPEATED = 0.33  # the share of words said again in talk that stays with one thing
WORTH_TURNS, WORTH_WORDS = 2, 5  # less is no episode: the turns speak for themselves
READ = 100_000  # characters of a long note that are looked at
CHARACTERS, SENTENCE = 240, 200  # of a summary without its head, and of one sentence in it: longer ones crowd out turns
KEYS = 40  # words that sentences are weighed by
TRUSTED = ("hand", "user", "agent", "other")  # what tools and pages say is quoted, never part of what happened

_NEW_TOPIC = re.compile(r"\s*/new[-_ ]?topic\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_PLACEHOLDER = re.compile(r"\[secret: [a-z0-9-]+\]")  # stands where one was: not what the talk is about
_WRITTEN = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[^\W_]")
_SMALL_TALK = """
amazing awesome been bye cool fun get getting glad go going good got great haha happy hear hello hey hi hope keep know
lately like lol look lot love make maybe need new nice now oh ok okay one pretty really right say see sounds still stuff
super sure take talk tell thank thanks that's thing things think time today totally try want way well wow yeah yep yes
yesterday
adiós ahora bien bueno buena claro cosa cosas creo días digo eh estas estoy gracias gusta hace hacer haces hola hoy igual ir
jaja jajaja mañana mejor momento oye parece pasa pues puede puedo quiero sabes siempre tal tengo tiene tienes va vale vamos
ver verdad vez voy vos
"""
_SAY_LITTLE = frozenset(_SMALL_TALK.split())


@dataclass(frozen=True, slots=True)
class Said:
    """A turn with its words, the forms of those that are no small talk, and its vector if it has one that says anything."""

    turn: Memory
    words: Mapping[str, tuple[str, ...]]
    about: frozenset[tuple[str, ...]]
    vector: Floats | None = None

    @property
    def at(self) -> tuple[datetime, str]:
        """Where it stands in its conversation."""
        return position(self.turn)


class Segment(NamedTuple):
    """Turns that belong together, from `start` up to but without `end`."""

    start: int
    end: int
    is_closed: bool


def position(turn: Memory) -> tuple[datetime, str]:
    """Return where a turn stands in its conversation: by when it happened, at one moment by when it was told."""
    return turn.happened_at or turn.recorded_at, turn.id


def later(moment: datetime, by: timedelta) -> datetime:
    """Return a moment so much later, or the last there is."""
    return moment + min(by, datetime.max.replace(tzinfo=UTC) - moment)


def belongs(turn: Memory) -> bool:
    """Tell whether a turn is part of what happened, rather than what a tool, a page or the system put in."""
    return turn.trust in TRUSTED and turn.role != "system"


def cut(
    said: Sequence[Said], floor: float = 0.0, marks: Sequence[tuple[datetime, str]] = (), is_over: bool = False
) -> list[Segment]:
    """Return the episodes of a conversation; the last one is open unless it `is_over` or marked as such.

    `floor` is the cosine of texts that have nothing to do with each other; `marks` are the positions after which a person said
    that something else begins.
    """
    count = len(said)
    walls = [at for at in range(1, count) if _is_wall(said[at - 1], said[at], marks)]
    if count and (is_over or any(said[-1].at <= mark for mark in marks)):
        walls.append(count)
    segments: list[Segment] = []
    start = at = 0
    while at < count - 1:
        at += 1
        end = next((wall for wall in walls if wall >= at), None)
        if end is None and at + AHEAD >= count:
            break
        if at == end or at - start == LONGEST or _turns(said[start : end or count], at - start, floor):
            segments.append(Segment(start, at, True))
            start = at
            walls = [wall for wall in walls if wall > at]
    return [*segments, Segment(start, count, bool(walls) and walls[-1] == count)] if count else []


def _is_wall(before: Said, after: Said, marks: Sequence[tuple[datetime, str]]) -> bool:
    is_marked = any(before.at <= mark < after.at for mark in marks) or bool(_NEW_TOPIC.match(after.turn.text))
    return is_marked or after.at[0] - before.at[0] > GAP


def _turns(said: Sequence[Said], at: int, floor: float) -> bool:
    """Tell whether the talk turns to something else at a point, and there rather than a little later."""
    if at < SHORTEST or len(said[at].about) < CONTENT or (here := _likeness(said, at, floor)) >= ALIKE:
        return False
    return all(here <= _likeness(said, at + further, floor) for further in range(1, LOOK + 1))


def _likeness(said: Sequence[Said], at: int, floor: float) -> float:
    """Return how much turns have in common with those before them, by words or by meaning, whichever is more.

    Before them, only turns that have something to say count: small talk is alike whatever it is about.
    """
    before = [one for one in said[max(0, at - REACH) : at] if len(one.about) >= CONTENT][-BEFORE:]
    after = said[at : at + AFTER]
    old, new = (frozenset[tuple[str, ...]]().union(*(one.about for one in some)) for some in (before, after))
    if len(before) < BEFORE or len(after) < AFTER or min(len(old), len(new)) < TELLING:
        return 1.0
    forms = {form for variants in old for form in variants}
    share = sum(not forms.isdisjoint(variants) for variants in new) / len(new)
    return max(share / REPEATED, _by_meaning(before, after, floor))


def _by_meaning(before: Sequence[Said], after: Sequence[Said], floor: float) -> float:
    """Return how near turns are to those before them, between texts that have nothing in common (0) and these among themselves.

    Vectors of one model have much in common whatever they are of, and how much depends on who talks: only beside each other
    do their cosines say something. Without vectors on both sides it is 0, and words alone decide.
    """
    import numpy as np

    old, new = ([one.vector for one in some if one.vector is not None] for some in (before, after))
    if len(old) < 2 or not new:
        return 0.0
    rows, others = (np.array([vector / (np.linalg.norm(vector) or 1.0) for vector in some]) for some in (old, new))
    count = len(rows)
    among = (float((rows @ rows.T).sum()) - count) / (count * (count - 1))
    return (float((rows @ others.T).mean()) - floor) / (among - floor) if among > floor else 1.0


def is_worth_keeping(said: Sequence[Said]) -> bool:
    """Tell whether turns are more than a greeting or a remark that stands for itself."""
    return len(said) >= WORTH_TURNS and len({form for one in said for form in one.about}) >= WORTH_WORDS


def episode(said: Sequence[Said], is_open: bool, text: str | None = None) -> Memory:
    """Return an episode as it would be kept, told in `text` or, without, in the sentences that say most.

    `text` is what a language model made of the turns, and is believed no further than that.
    """
    turns = [one.turn for one in said]
    parts = [_parts(turn) for turn in turns]
    keys = _keywords(said, parts)
    last = position(turns[-1])[0]
    first, ends = f"{position(turns[0])[0]:%Y-%m-%d}", f"{last:%Y-%m-%d}"
    head = f"{first} ({len(turns)})" if first == ends else f"{first} – {ends} ({len(turns)})"
    people = {turn.origin.person for turn in turns}
    trust = less_trusted(*(turn.trust for turn in turns), *(["agent"] if text else []))
    sure = min(turn.confidence for turn in turns)
    return Memory(
        id="",
        version=1,
        kind="episode",
        text=f"{head}\n{text or _summary(chain.from_iterable(parts), list(keys))}",
        origin=replace(turns[0].origin, person=people.pop() if len(people) == 1 else None),
        audience=turns[0].audience,
        trust=trust,
        confidence=min(sure, TRUST[trust]) if text else sure,
        recorded_at=last,
        commit="",
        title=", ".join(list(keys.values())[:4]) or None,
        tags=tuple(dict.fromkeys(map(fold, list(keys.values())[:5]))),
        extra={
            "participants": list(dict.fromkeys(turn.speaker for turn in turns if turn.speaker)),
            "turns": len(turns),
            "ends_at": last.isoformat(),
            "open": is_open,
        },
        source=Source(memory_ids=tuple(turn.id for turn in turns)),
        happened_at=position(turns[0])[0],
    )


class _Part(NamedTuple):
    """A sentence of a turn, who said it, and its words as they are written, by their folded forms."""

    speaker: str | None
    sentence: str
    written: dict[str, str]
    first: str | None


def _parts(turn: Memory) -> list[_Part]:
    found = ((sentence, _WRITTEN.findall(sentence)) for sentence in sentences(turn.text))
    return [
        _Part(turn.speaker, sentence, {word.casefold(): word for word in words}, words[0] if words else None)
        for sentence, words in found
    ]


def _keywords(said: Sequence[Said], parts: Sequence[Sequence[_Part]]) -> dict[str, str]:
    """Return the words that stand out, best first, each as it was written: said in many turns, and rather names than not."""
    names = {part for one in said for part in fold(one.turn.speaker or "").split()} | _SAY_LITTLE
    found: Counter[tuple[str, ...]] = Counter()
    words: dict[tuple[str, ...], tuple[str, str]] = {}
    for one, own in zip(said, parts, strict=True):
        written = {word: as_written for part in own for word, as_written in part.written.items()}
        first = {part.first for part in own}
        for variants, word in {variants: word for word, variants in one.words.items()}.items():
            if len(word) > 1 and word in written and word not in names and not word.isdecimal():
                as_written = written[word]
                is_name = as_written[0].isupper() and as_written not in first
                found[variants] += 3 if is_name else 2 if len(word) > 4 else 1
                words.setdefault(variants, (word, as_written))
    best = sorted(found, key=lambda variants: -found[variants])  # of equals the one said first
    return {words[variants][0]: words[variants][1] for variants in best}


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, as they stand there."""
    return [part.strip() for part in _SENTENCE.split(text) if part.strip()]


def shortened(note: Memory, characters: int) -> str:
    """Return the sentences of a note that say most, word for word, with a … where any was left out."""
    if len(note.text) <= characters:
        return note.text
    said = say(replace(note, text=note.text[:READ]))
    parts = _parts(said.turn)
    return f"{_summary(parts, list(_keywords([said], [parts])), characters - 3, characters - 3)} …"


def _summary(parts: Iterable[_Part], keys: Sequence[str], characters: int = CHARACTERS, longest: int = SENTENCE) -> str:
    """Return the sentences that say most, word for word and in order, each with who said it."""
    weights = {word: 1.0 / (2 + place) for place, word in enumerate(keys[:KEYS])}
    lines = {(part.speaker, part.sentence): weights.keys() & part.written.keys() for part in parts}
    left, chosen = characters, set[tuple[str | None, str]]()
    while left > 0:
        values = {
            line: fsum(weights[word] for word in had) * (0.5 if line[1].endswith("?") else 1.0) / max(len(line[1]), 60)
            for line, had in lines.items()
            if line not in chosen
        }
        best = max(values, key=values.__getitem__, default=None)
        if best is None or (chosen and not values[best]):
            break
        left -= len(_line(*best, longest)) + bool(chosen)
        chosen |= {best} if left >= 0 or not chosen else set()
        for word in lines[best]:  # what was said once adds little the next time
            weights[word] /= 4
    return "\n".join(_line(*line, longest) for line in lines if line in chosen)


def _line(speaker: str | None, sentence: str, longest: int) -> str:
    whole_words = sentence[:longest].rsplit(" ", 1)[0]
    cut = whole_words if 2 * len(whole_words) > longest else sentence[:longest]
    short = sentence if len(sentence) <= longest else f"{cut}…"
    return f"{speaker}: {short}" if speaker else short


def say(turn: Memory, vector: Floats | None = None, languages: frozenset[str] | None = None) -> Said:
    """Return a turn with its words; a vector made by a model that does not know the language means nothing."""
    words = said_words(_PLACEHOLDER.sub(" ", turn.text))
    about = frozenset(variants for word, variants in words.items() if word not in _SAY_LITTLE)
    is_known = vector is None or languages is None or language_of(turn.text) in languages
    return Said(turn, words, about, vector if is_known else None)
