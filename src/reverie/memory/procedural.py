"""Patterns: what to do when something comes up (K4).

A pattern is a memory of kind `pattern` whose text is `trigger → response`, and that text is the only place where they stand: to
correct a pattern is to update the text. Only what a person said is one; a text by anybody less trusted stays a memory like any
other. A pattern is a suggestion, never an instruction.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reverie.errors import BadInput
from reverie.memory import check
from reverie.memory.language import is_unspaced, query_words, words_of
from reverie.memory.trace import DEFAULT_CONFIDENCE, Memory, Source, split_id

KIND, USE = "pattern", "use"  # the kind of memory; the kind of state that counts how often one was used
ARROW = "→"
IN_FORCE = ("hand", "user")
SHORT = 2  # characters of a word that says little
_PLUS = re.compile(r"(?<!\+)\+(?!\+)")  # between terms, but not that of C++


@dataclass(frozen=True, slots=True)
class Pattern:
    """What to do when something comes up."""

    id: str
    trigger: str
    response: str
    confidence: float = DEFAULT_CONFIDENCE
    usage_count: int = 0
    learned_from: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A pattern that a text brings up: `score` is its confidence times the share of its trigger's words that are there."""

    pattern: Pattern
    score: float
    share: float
    words: tuple[str, ...]


def text_of(trigger: str, response: str) -> str:
    """Return the text of the memory that a pattern is."""
    trigger = check.name(trigger, "trigger", "write the words that bring it up").strip()
    if ARROW in trigger:
        raise BadInput(f"the trigger {trigger!r} holds {ARROW!r}, which ends a trigger; write it in words")
    if not query_words(trigger):
        raise BadInput(f"there is no word in the trigger {trigger!r} to look for")
    return f"{trigger} {ARROW} {check.text(response, 'response', 'write what to do then').strip()}"


def source_of(learned_from: str | None) -> Source | None:
    """Return where a pattern was learned: a memory by its id, else a place such as a file."""
    if learned_from is None:
        return None
    is_memory = split_id(learned_from, "m") is not None
    return Source(memory_ids=(learned_from,)) if is_memory else Source(place=learned_from)


def known(memories: Iterable[Memory], uses: Mapping[str, int] | None = None) -> list[Pattern]:
    """Return the patterns among memories, with how often each was used."""
    return [pattern for memory in memories if (pattern := _read(memory, uses or {}))]


def _read(memory: Memory, uses: Mapping[str, int]) -> Pattern | None:
    trigger, arrow, response = (part.strip() for part in memory.text.partition(ARROW))
    if memory.kind != KIND or memory.trust not in IN_FORCE or not (trigger and arrow and response):
        return None
    learned_from = next(iter(memory.source.memory_ids), memory.source.place)
    return Pattern(memory.id, trigger, response, memory.confidence, uses.get(memory.id, 0), learned_from)


def validate(values: object) -> Pattern:
    """Return a pattern in the form it has in files, checked; `usageCount` and `learnedFrom` are read too.

    >>> validate({"id": "late", "trigger": "train + late", "response": "Take the bus", "usageCount": 3})
    Pattern(id='late', trigger='train + late', response='Take the bus', confidence=0.8, usage_count=3, learned_from=None)
    """
    if not isinstance(values, Mapping):
        raise BadInput(f"a pattern must be a mapping with trigger and response, not {type(values).__name__}")
    if missing := [name for name in ("trigger", "response") if values.get(name) is None]:
        raise BadInput(f"a pattern needs {' and '.join(missing)}; this one has {', '.join(map(str, values)) or 'nothing'}")
    text_of(values["trigger"], values["response"])
    count = values.get("usage_count", values.get("usageCount"))
    sure = values.get("confidence")
    return Pattern(
        check.optional_name(values.get("id"), "id") or "",
        values["trigger"].strip(),
        values["response"].strip(),
        DEFAULT_CONFIDENCE if sure is None else check.share(sure, "confidence"),
        0 if count is None else check.count(count, "usage_count", least=0),
        check.optional_name(values.get("learned_from", values.get("learnedFrom")), "learned_from"),
    )


def matching(patterns: Iterable[Pattern], text: str) -> list[Match]:
    """Return the patterns that a text brings up, the best first.

    A word of a trigger is there if it begins a word of the text, whatever its accents and case. Of a trigger `a + b` every term
    must be there, with one of its words at least. Short words count only where a term has no others.

    >>> [train] = matching([Pattern("1", "train + running late", "Look for the next bus", 0.9)], "The TRAINS are late again")
    >>> round(train.score, 2), train.words
    (0.6, ('train', 'late'))
    """
    said = sorted(words_of(text))
    found = [match for pattern in patterns if (match := _match(pattern, said)) and match.score > 0]
    return sorted(found, key=lambda match: (-match.score, match.pattern.trigger, match.pattern.id))


def _match(pattern: Pattern, said: list[str]) -> Match | None:
    terms = [words for term in _PLUS.split(pattern.trigger) if (words := _telling(term))]
    there = [[word for word in words if _begins_one(word, said)] for words in terms]
    if not terms or not all(there):
        return None
    had = tuple(word for words in there for word in words)
    share = len(had) / sum(map(len, terms))
    return Match(pattern, share * pattern.confidence, share, had)


def _telling(term: str) -> tuple[str, ...]:
    words = query_words(term)
    return tuple(word for word in words if len(word) > SHORT or is_unspaced(word[0])) or words


def _begins_one(word: str, said: list[str]) -> bool:
    """Tell whether a word begins one of those said, or, if it is short, is one of them."""
    at = bisect_left(said, word)
    return at < len(said) and (said[at].startswith(word) if len(word) > SHORT else said[at] == word)
