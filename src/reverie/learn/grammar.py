"""The rules of each language that messages are read by, and the words that they share: tables beside this file.

A table is read when a message of its language first comes, and a pattern made when it is first asked for: all of them
together take longer than a message should wait.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from operator import itemgetter
from typing import Any

LANGUAGES = ("en", "es")

_TYPES = {"like": "preference", "dislike": "preference", "reply": "preference", "family": "relationship"} | dict.fromkeys(
    ("project", "tool", "plan"), "project"
)
_ASK = r"(?<![\s,;:])[\s,;:]+(?=¿(?!(?:no|si|verdad|cierto|o no)\?))"
_NAME = r"(?-i:[A-Z][a-z'-]+(?:[A-Z][a-z]+)?(?: (?:de |del |la |van |von )?[A-Z][\w'-]+){0,3})"
_PIECES = {
    "$x": r"(?P<x>.+)",
    "$names": rf"(?P<names>{_NAME}(?:, {_NAME})*(?:,? (?:and|&|y|e) {_NAME})*)(?!\w)",
    "$name": rf"(?P<name>{_NAME})(?!\w)",
}
PIECE = re.compile(r"\$[a-z]+")
_INDENT = re.compile(r"(?m)^  +|\n")

Made = Callable[[], re.Pattern[str]]  # a pattern, made when it is first asked for


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for at the beginning of a clause, and what it says then."""

    topic: str
    type: str
    pattern: Made
    say: str
    slot: str
    needs: frozenset[str]  # words of which the message must have one, if there are any: looking for that is soon done
    unless: Made | None  # what the thing that was found must not be
    dated: str  # how the claim hangs on its time: "from" it on, "at" it (it must have one), "yearly", or not at all
    ahead: bool
    about_speaker: bool
    corrects: bool
    is_wish: bool
    confidence: float


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language: its rules by the word they begin with, and the cues and endings that all of them share."""

    language: str
    rules: dict[str, list[tuple[int, Rule]]]  # each with its place in the table
    anywhere: tuple[Rule, ...]
    words: frozenset[str]  # that tell the language of a message worth reading
    cues: frozenset[str]  # without any of which no rule matches
    owners: frozenset[str]
    owning: frozenset[str]
    of_mine: tuple[Rule, ...]  # may begin with anything: "X is my favourite"; tried where `owned` is found
    owned: Made
    keys: frozenset[str]
    leads: frozenset[str]
    speakers: frozenset[str]
    subjects: frozenset[str]
    mine: Made
    heads: Made
    stand_for: tuple[str, ...]
    skipped: Made
    starts: Made
    dropped: Made  # heads of sentences that leave out "I"
    dropped_for: tuple[str, ...]
    asks: Made  # where a question begins within a sentence
    void: Made
    rest: Made
    doubt: Made
    first_person: Made
    corrected: Made
    unsaid: Made  # what takes back the words before it
    ends: Made
    tails: Made
    wish_ends: Made
    timely: Made  # words without which no time is told; looking for one takes longer than all the rest
    vague: Made
    bygone: Made  # what was long ago, for a while or in play
    known: Made
    slots: dict[str, str]
    irregular: dict[str, str]
    endings: tuple[tuple[re.Pattern[str], str], ...]
    turned: dict[str, str]
    turns: Made
    user: tuple[str, ...]
    subject: str
    together: str
    whose: str
    to: str


@lru_cache(maxsize=4096)
def rules_for(language: str, first: str = "", second: str = "") -> tuple[Rule, ...]:
    """Return the rules for clauses that begin with two words, in the order of the table."""
    rules = grammar_of(language).rules
    keys = (first, f"{first} {second}")
    return tuple(rule for _, rule in sorted(chain.from_iterable(rules.get(key, ()) for key in keys), key=itemgetter(0)))


def _listed(words: str) -> list[str]:
    """Return a list of the table, the longest first: of two that fit, a pattern takes the one that comes first."""
    return sorted(" ".join(words.split()).split(", "), key=len, reverse=True)


def on_one_line(pattern: str) -> str:
    """Return a pattern without line ends and indentation; a single space at its beginning is one to be found."""
    return _INDENT.sub("", pattern)


def _pairs(words: str) -> dict[str, str]:
    return dict(pair.split(": ") for pair in " ".join(words.split()).split(", ")) if words else {}


def _any_of(words: list[str]) -> str:
    """Return a pattern of a list; words that begin alike share their first letter, small or not, which makes a search quick."""
    alike: dict[str, list[str]] = {}
    for word in words:
        is_plain = word[0].isalpha() and word[1:2] not in {"?", "*", "+", "{"}
        alike.setdefault(word[0] if is_plain else "", []).append(word[is_plain:])
    either = {first: f"(?-i:[{first}{first.upper()}])" for first in alike if first.islower()}
    return "(?:" + "|".join(f"{either.get(first, first)}(?:{'|'.join(rest)})" for first, rest in alike.items()) + ")"


def _whole(words: Iterable[str]) -> str:
    """Return a pattern of whole words, the longest first; it begins with their first letters: a search skips all else."""
    longest_first = sorted(words, key=len, reverse=True)
    letters = "".join(sorted({letter for word in longest_first for letter in word[0] + word[0].upper()}))
    return rf"(?-i:[{letters}])(?<!\w.)(?:" + "|".join(f"(?<={word[0]}){word[1:]}" for word in longest_first) + r")\b"


def _key(verb: str) -> str:
    """Return what a clause with this verb begins with: two words where both are plain ones."""
    first, _, rest = verb.partition(" ")
    second = rest.partition(" ")[0]
    return f"{first} {second}" if second.isalpha() else first


@cache
def grammar_of(language: str) -> Grammar:
    """Return the grammar of a language."""
    table: dict[str, Any] = tomllib.loads(files("reverie.learn").joinpath("rules", f"{language}.toml").read_text("utf-8"))

    @cache
    def piece(name: str) -> str:
        if name in _PIECES:
            return _PIECES[name]
        words = table["words"].get(name[1:])
        return spelled_out(_any_of(_listed(words)) if words else f"(?:{on_one_line(table['patterns'][name[1:]])})")

    def spelled_out(pattern: str, own: Mapping[str, str] = {}) -> str:
        return PIECE.sub(lambda name: spelled_out(own[name[0]], own) if name[0] in own else piece(name[0]), pattern)

    def made_of(*patterns: str, own: Mapping[str, str] = {}) -> Made:
        return cache(lambda: re.compile(spelled_out("|".join(map(on_one_line, patterns)), own), re.IGNORECASE | re.MULTILINE))

    rules: dict[str, list[tuple[int, Rule]]] = {}
    anywhere: list[Rule] = []
    alone = set(table["cues"].split())  # with what rules begin; of those that begin with a verb, its subject is the cue
    subject = table["subject"]
    for order, (topic, rule) in enumerate((topic, rule) for topic, rules_on in table["rule"].items() for rule in rules_on):
        own = {f"${name}": _any_of(_listed(words)) for name, words in rule.get("words", {}).items()}
        verbs = _listed(rule["verbs"]) if "verbs" in rule else []
        verb = rf"{subject}(?P<verb>{_any_of(verbs)})(?![\w']) ?" if verbs else ""
        listed = {where: rule[key] for key, where in (("unless_has", r"\b"), ("unless_begins", "^")) if key in rule}
        unless = [*(rf"{where}{_any_of(_listed(words))}\b" for where, words in listed.items()), *rule.get("unless", ())]
        for when in rule["when"]:
            made = Rule(
                topic,
                rule.get("type", _TYPES.get(topic, "profile")),
                made_of(verb + on_one_line(when), own=own),
                rule.get("say", "{who} {verb} {how} {x}"),
                rule.get("slot", ""),
                frozenset(rule.get("needs", "").split()),
                made_of(*unless, own=own) if unless else None,
                rule.get("dated", ""),
                rule.get("ahead", False),
                rule.get("about_speaker", True),
                rule.get("corrects", False),
                topic == "reply",
                rule.get("confidence", 0.8),
            )
            if rule.get("anywhere"):
                anywhere.append(made)
                continue
            alone.update(rule.get("first", "").split())
            for key in set(map(_key, verbs)) or set(rule.get("first", "*").split()):
                rules.setdefault(key, []).append((order, made))
    words = alone | {word for key in rules if key != "*" for word in key.split()}
    mine = _whole(table["mine"].split())
    turned = _pairs(table["turned"]) | {
        f"{verb}{ending}": f"{verb}se" for verb in table.get("reflexive", "").split() for ending in ("me", "nos")
    }
    return Grammar(
        language,
        rules,
        tuple(anywhere),
        frozenset(words),
        frozenset((alone if subject else words).difference(table["common"].split())) - {"*"},
        frozenset(table["mine"].split()),
        frozenset(table["owning"].split()),
        tuple(rule for _, rule in rules.pop("*", ())),
        made_of(*table.get("owned", (mine,))),
        frozenset(table["subjects"].split()) | frozenset(key.split()[0] for key in rules),
        frozenset(table["openers"].split()),
        frozenset(table["speakers"].split()),
        frozenset(table["subjects"].split()),
        made_of(mine),
        made_of(*(f"({on_one_line(pattern)})" for pattern, _ in table["heads"])),
        tuple(stands_for for _, stands_for in table["heads"]),
        dropped=made_of(*(f"({on_one_line(pattern)})" for pattern, _ in table["dropped"])),
        dropped_for=tuple(stands_for for _, stands_for in table["dropped"]),
        asks=made_of(_ASK, *table["asks"]),
        slots=_pairs(table["slots"]),
        irregular=_pairs(table["irregular"]),
        endings=tuple((re.compile(on_one_line(pattern)), ending) for pattern, ending in table["endings"]),
        turned=turned,
        turns=made_of(_whole(turned)),
        user=tuple(table["user"]),
        subject=subject.lower(),
        together=table["together"],
        whose=table["whose"],
        to=table["to"],
        **{name: made_of(*any_of) for name, any_of in table["shared"].items()},
    )
