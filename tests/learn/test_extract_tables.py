"""The tables that messages are read and judged by stay tables that a person can read, change and trust."""

import re
import string
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from importlib.resources import files
from itertools import chain
from typing import Any

import pytest

from reverie.learn.grammar import LANGUAGES, PIECE, Grammar, Rule, grammar_of

TABLES = {table.name: table.read_text("utf-8") for table in files("reverie.learn").joinpath("rules").iterdir()}
WIDEST = 128
GIVEN = {"$x", "$name", "$names"}
KEYS = {
    *("verbs", "first", "anywhere", "needs", "words", "when", "unless_has", "unless_begins", "unless"),
    *("say", "slot", "dated", "ahead", "corrects", "about_speaker", "type", "confidence"),
}
TOLD = {"who", "whose", "To", "known", "said", "verb", "how", "x"}  # what any claim may say, found in the clause or not


def table_of(language: str) -> dict[str, Any]:
    return tomllib.loads(TABLES[f"{language}.toml"])


def rules_in(table: dict[str, Any]) -> list[dict[str, Any]]:
    return list(chain.from_iterable(table["rule"].values()))


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(strings_in, value.values()))
    elif isinstance(value, list):
        yield from chain.from_iterable(map(strings_in, value))


def pieces_in(value: Any) -> set[str]:
    return {name for text in strings_in(value) for name in PIECE.findall(text)}


def patterns_of(grammar: Grammar) -> dict[str, re.Pattern[str]]:
    return {field.name: made() for field in fields(grammar) if callable(made := getattr(grammar, field.name))}


def rules_of(grammar: Grammar) -> set[Rule]:
    return {rule for _, rule in chain.from_iterable(grammar.rules.values())} | {*grammar.anywhere, *grammar.of_mine}


@pytest.mark.parametrize("name", TABLES)
def test_no_line_of_a_table_is_too_wide_to_read_or_ends_with_a_space(name: str) -> None:
    lines = list(enumerate(TABLES[name].splitlines(), 1))
    assert [number for number, line in lines if len(line) > WIDEST or line != line.rstrip()] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_name_that_a_rule_uses_is_defined_and_every_defined_one_is_used(language: str) -> None:
    table = table_of(language)
    shared = {f"${name}" for name in (*table["words"], *table["patterns"])}
    used = pieces_in({key: value for key, value in table.items() if key != "rule"})
    for rule in rules_in(table):
        own = {f"${name}" for name in rule.get("words", {})}
        assert own & (shared | GIVEN) == set(), "a rule's own list has the name of another"
        assert own - pieces_in(rule) == set()
        assert pieces_in(rule) - own - shared - GIVEN == set()
        used |= pieces_in(rule)
    assert used - GIVEN - shared <= {f"${name}" for rule in rules_in(table) for name in rule.get("words", {})}
    assert shared - used == set()


def test_every_name_that_a_sign_of_steering_uses_is_defined_before_and_every_defined_one_is_used() -> None:
    table = tomllib.loads(TABLES["steering.toml"])
    defined = set[str]()
    for name, pattern in table["words"].items():
        assert pieces_in(pattern) <= defined, name
        defined.add(f"${name}")
    assert pieces_in(table) == defined


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_rule_has_no_key_that_nothing_reads_and_says_nothing_that_it_does_not_find(language: str) -> None:
    table = table_of(language)
    for rule in rules_in(table):
        assert set(rule) <= KEYS
        assert "say" in rule or "verbs" in rule
        found = set(re.findall(r"\(\?P<(\w+)>", "".join(rule["when"]))) | {name[1:] for name in pieces_in(rule["when"])}
        found |= {"the"} if found & {"la", "el"} else set()
        said = rule.get("say", "") + rule.get("slot", "")
        assert {name for _, name, _, _ in string.Formatter().parse(said) if name} <= found | TOLD, said


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_list_names_a_word_twice(language: str) -> None:
    table = table_of(language)
    lists = chain(table["words"].values(), *(rule.get("words", {}).values() for rule in rules_in(table)))
    keys = ("verbs", "unless_has", "unless_begins")
    lists = chain(lists, (rule[key] for rule in rules_in(table) for key in keys if key in rule))
    for words in (" ".join(text.split()).split(", ") for text in lists):
        assert sorted(set(words)) == sorted(words)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_pattern_can_be_made_though_most_are_made_only_when_first_asked_for(language: str) -> None:
    grammar = grammar_of(language)
    assert patterns_of(grammar)
    assert all(rule.pattern() and (rule.unless is None or rule.unless()) for rule in rules_of(grammar))
