"""The rules of each language that messages are read by, and the words that they share: tables beside this file.

A table is read when a message of its language first comes, and a pattern made when it is first needed: all of them together
take longer than a message should wait.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import chain
from operator import itemgetter
from typing import Any

LANGUAGES = ("en", "es")

_ASK = r"[\s,;:]+(?=¿(?!(?:no|si|verdad|cierto|o no)\?))"
_NAME = r"(?-i:[A-Z][a-z'-]+(?:[A-Z][a-z]+)?(?: (?:de |del |la |van |von )?[A-Z][\w'-]+){0,3})"
_PIECES = {
    "$x": r"(?P<x>.+)",
    "$names": rf"(?P<names>{_NAME}(?:, {_NAME})*(?:,? (?:and|&|y|e) {_NAME})*)(?!\w)",
    "$name": rf"(?P<name>{_NAME})(?!\w)",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """What to look for at the beginning of a clause, and what it says then."""

    topic: str
    type: str
    pattern: str
    say: str
    slot: str
    needs: str  # what the clause must have: looking for that is soon done
    unless: str  # what the thing that was found must not be
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
    owned: re.Pattern[str]
    keys: frozenset[str]
    leads: frozenset[str]
    speakers: frozenset[str]
    subjects: frozenset[str]
    mine: re.Pattern[str]
    heads: re.Pattern[str]
    stand_for: tuple[str, ...]
    skipped: re.Pattern[str]
    starts: re.Pattern[str]
    dropped: re.Pattern[str]  # heads of sentences that leave out "I"
    dropped_for: tuple[str, ...]
    asks: re.Pattern[str]  # where a question begins within a sentence
    void: re.Pattern[str]
    rest: re.Pattern[str]
    doubt: re.Pattern[str]
    first_person: re.Pattern[str]
    corrected: re.Pattern[str]
    ends: re.Pattern[str]
    tails: re.Pattern[str]
    wish_ends: re.Pattern[str]
    until: re.Pattern[str]
    timely: re.Pattern[str]  # words without which no time is told; looking for one takes longer than all the rest
    vague: re.Pattern[str]
    known: re.Pattern[str]
    slots: dict[str, str]
    irregular: dict[str, str]
    endings: tuple[tuple[re.Pattern[str], str], ...]
    turned: dict[str, str]
    turns: re.Pattern[str]
    user: tuple[str, ...]
    subject: str
    together: str
    whose: str
    to: str
    soon: str


@lru_cache(maxsize=4096)
def rules_for(language: str, first: str = "", second: str = "") -> tuple[Rule, ...]:
    """Return the rules for clauses that begin with two words, in the order of the table."""
    rules = grammar_of(language).rules
    keys = (first, f"{first} {second}")
    return tuple(rule for _, rule in sorted(chain.from_iterable(rules.get(key, ()) for key in keys), key=itemgetter(0)))


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, made when it is first asked for."""
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


def _listed(words: str) -> list[str]:
    """Return a list of the table, the longest first: of two that fit, a pattern takes the one that comes first."""
    return sorted(" ".join(words.split()).split(", "), key=len, reverse=True)


def _any_of(words: list[str]) -> str:
    """Return a pattern of a list; words that begin alike share their first letter, small or not, which makes a search quick."""
    alike: dict[str, list[str]] = {}
    for word in words:
        is_plain = word[0].isalpha() and word[1:2] not in {"?", "*", "+", "{"}
        alike.setdefault(word[0] if is_plain else "", []).append(word[is_plain:])
    either = {first: f"(?-i:[{first}{first.upper()}])" for first in alike if first.islower()}
    return "(?:" + "|".join(f"{either.get(first, first)}(?:{'|'.join(rest)})" for first, rest in alike.items()) + ")"


def _key(verb: str) -> str:
    """Return what a clause with this verb begins with: two words where both are plain ones."""
    first, _, rest = verb.partition(" ")
    second = rest.partition(" ")[0]
    return f"{first} {second}" if second.isalpha() else first


@cache
def grammar_of(language: str) -> Grammar:
    """Return the grammar of a language."""
    table: dict[str, Any] = tomllib.loads(files("reverie.learn").joinpath("rules", f"{language}.toml").read_text("utf-8"))
    pieces = {f"${name}": _any_of(_listed(words)) for name, words in table["words"].items()}
    pieces |= {f"${name}": f"(?:{pattern})" for name, pattern in table["patterns"].items()} | _PIECES

    def spelled_out(pattern: str) -> str:
        for _ in range(4):  # a word list may be made of others
            pattern = re.sub(r"\$[a-z]+", lambda match: pieces[match[0]], pattern)
        return pattern

    def made_of(pattern: str) -> re.Pattern[str]:
        return compiled(spelled_out(pattern))

    rules: dict[str, list[tuple[int, Rule]]] = {}
    anywhere: list[Rule] = []
    alone = set(table["cues"].split())  # with what rules begin; of those that begin with a verb, its subject is the cue
    subject = table["subject"]
    for order, rule in enumerate(table["rule"]):
        verbs = _listed(rule["verbs"]) if "verbs" in rule else []
        for when in rule["when"]:
            pattern = spelled_out(rf"{subject}(?P<verb>{_any_of(verbs)})(?![\w']) ?{when}" if verbs else when)
            made = Rule(
                rule["topic"],
                rule.get("type", table["types"].get(rule["topic"], "profile")),
                pattern,
                rule["say"],
                rule.get("slot", ""),
                rule.get("needs", ""),
                spelled_out("|".join(rule.get("unless", ()))),
                rule.get("dated", ""),
                rule.get("ahead", False),
                rule.get("about_speaker", True),
                rule.get("corrects", False),
                rule.get("is_wish", False),
                rule.get("confidence", 0.8),
            )
            if rule.get("anywhere"):
                anywhere.append(made)
                continue
            alone.update(rule.get("first", "").split())
            for key in set(map(_key, verbs)) or set(rule.get("first", "*").split()):
                rules.setdefault(key, []).append((order, made))
    words = alone | {word for key in rules if key != "*" for word in key.split()}
    mine = rf"\b{_any_of(table['mine'].split())}\b"
    shared = {name: made_of("|".join(any_of)) for name, any_of in table["shared"].items()}
    return Grammar(
        language,
        rules,
        tuple(anywhere),
        frozenset(words),
        frozenset((alone if subject else words).difference(table["common"].split())) - {"*"},
        frozenset(table["mine"].split()),
        frozenset(table["owning"].split()),
        tuple(rule for _, rule in rules.pop("*", ())),
        made_of("|".join(table.get("owned", (mine,)))),
        frozenset(table["subjects"].split()) | frozenset(key.split()[0] for key in rules),
        frozenset(table["openers"].split()),
        frozenset(table["speakers"].split()),
        frozenset(table["subjects"].split()),
        made_of(mine),
        made_of("|".join(f"({pattern})" for pattern, _ in table["heads"])),
        tuple(stands_for for _, stands_for in table["heads"]),
        dropped=made_of("|".join(f"({pattern})" for pattern, _ in table["dropped"])),
        dropped_for=tuple(stands_for for _, stands_for in table["dropped"]),
        asks=made_of("|".join([_ASK, *table["asks"]])),
        slots=table["slots"],
        irregular=table["irregular"],
        endings=tuple((re.compile(pattern), ending) for pattern, ending in table["endings"]),
        turned=table["turned"],
        turns=made_of(rf"\b{_any_of(sorted(table['turned'], key=len, reverse=True))}\b"),
        user=tuple(table["user"]),
        subject=subject.lower(),
        together=table["together"],
        whose=table["whose"],
        to=table["to"],
        soon=table["soon"],
        **shared,
    )
