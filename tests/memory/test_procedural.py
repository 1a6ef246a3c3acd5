"""Patterns as values: what brings one up, how strongly, and what a file may say of one (K4)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie import BadInput
from reverie.memory.procedural import ARROW, Pattern, matching, text_of, validate

LATE = Pattern("1", "train + running late", "Look for the next bus", 0.9)
PACK = Pattern("2", "packing the kayak", "Begin with the spray deck", 0.8)


def score(trigger: str, text: str, confidence: float = 1.0) -> float:
    found = matching([Pattern("x", trigger, "do it", confidence)], text)
    return found[0].score if found else 0.0


@pytest.mark.parametrize(
    ("trigger", "text", "share"),
    [
        ("kayak", "where is the kayak?", 1.0),
        ("packing kayak", "where is the kayak?", 0.5),
        ("kayak lake storm wind", "a storm on the lake", 0.5),
        ("kayak", "the canoe is here", 0.0),
        ("go by kayak", "kayak", 1.0),  # words of two characters do not count
        ("go by kayak", "we go by train", 0.0),
        ("kayak", "KAYAKS!", 1.0),  # begins a word
        ("art", "let us start", 0.0),  # but does not hide in one
        ("camión", "¿dónde está el CAMION?", 1.0),
        ("como desplegar", "¿Cómo se puede desplegar esto?", 1.0),
        ("ﬁnal report", "the FINAL report", 1.0),
        ("crash of C++", "why does c++ crash", 1.0),
        ("部署", "今天部署失败", 1.0),
        ("部署", "今天天气很好", 0.0),
        ("ci", "is CI red?", 1.0),  # nothing but short words: they count, whole
        ("ci", "this city", 0.0),
    ],
)
def test_the_score_is_the_share_of_the_triggers_words_that_are_there_times_the_confidence(
    trigger: str, text: str, share: float
) -> None:
    """K4"""
    assert score(trigger, text) == pytest.approx(share)
    assert score(trigger, text, 0.5) == pytest.approx(share / 2)


@pytest.mark.parametrize(
    ("trigger", "text", "share"),
    [
        ("train + late", "the train is late", 1.0),
        ("train+late", "the train is late", 1.0),
        ("train + late", "the train is here", 0.0),
        ("train + late", "I am late", 0.0),
        ("train + running late", "the train is late", 2 / 3),
        ("train + running late", "late, and running", 0.0),
        ("ci + red", "the CI went red", 1.0),
        ("ci + red", "a red city", 0.0),
        ("C++ + crash", "c++ again", 0.0),
        ("C++ + crash", "c++ crash", 1.0),
        ("train + ", "the train", 1.0),
    ],
)
def test_of_a_trigger_with_a_plus_every_term_must_be_there(trigger: str, text: str, share: float) -> None:
    """K4"""
    assert score(trigger, text) == pytest.approx(share)


def test_the_best_comes_first_and_says_by_which_words() -> None:
    found = matching([PACK, LATE], "I am running late for the train with the kayak, packing still")
    assert [(match.pattern.id, match.words) for match in found] == [
        ("1", ("train", "running", "late")),
        ("2", ("packing", "the", "kayak")),
    ]
    assert [match.score for match in found] == pytest.approx([0.9, 0.8])


@given(st.permutations([LATE, PACK, Pattern("3", "kayak", "x"), Pattern("4", "train", "y")]), st.text(max_size=80))
def test_the_order_of_patterns_changes_nothing_and_scores_lie_between_0_and_1(patterns: list[Pattern], text: str) -> None:
    for said in (text, f"late train {text} kayak"):
        found = matching(patterns, said)
        assert found == matching(sorted(patterns, key=lambda one: one.id), said)
        assert all(0 < match.score <= match.pattern.confidence <= 1 for match in found)


def test_of_many_patterns_a_long_message_brings_up_every_one_it_names() -> None:
    chance = random.Random(6)
    words = ["".join(chance.choices("abcdefgh", k=6)) for _ in range(10_000)]
    patterns = [Pattern(str(number), " ".join(words[number : number + 5]), "x") for number in range(0, 10_000, 5)]
    assert len(matching(patterns, " ".join(words))) == len(patterns)


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        ({"trigger": "a fog", "response": "slow down"}, Pattern("", "a fog", "slow down")),
        (
            {
                "id": "fog",
                "trigger": " fog ",
                "response": " slow ",
                "confidence": 1,
                "usage_count": 2,
                "learned_from": "log.md",
            },
            Pattern("fog", "fog", "slow", 1.0, 2, "log.md"),
        ),
        (
            {"id": "fog", "trigger": "fog", "response": "slow", "usageCount": 7, "learnedFrom": "log.md", "createdAt": "2026"},
            Pattern("fog", "fog", "slow", 0.8, 7, "log.md"),
        ),
        ({"trigger": "fog", "response": "slow", "usage_count": None, "id": None}, Pattern("", "fog", "slow")),
    ],
)
def test_a_pattern_is_read_in_the_forms_it_has_in_files(values: dict[str, object], pattern: Pattern) -> None:
    """K4"""
    assert validate(values) == pattern


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ("fog", "must be a mapping"),
        ({}, "needs trigger and response; this one has nothing"),
        ({"trigger": "fog"}, "needs response; this one has trigger"),
        ({"trigger": "", "response": "slow"}, "trigger is empty"),
        ({"trigger": "?!", "response": "slow"}, "no word in the trigger '?!'"),
        ({"trigger": "a\nb", "response": "slow"}, "one printable line"),
        ({"trigger": f"a {ARROW} b", "response": "slow"}, "ends a trigger"),
        ({"trigger": "fog", "response": " "}, "response is empty"),
        ({"trigger": 5, "response": "slow"}, "trigger must be a str"),
        ({"trigger": "fog", "response": "slow", "confidence": 1.2}, "confidence must be a number from 0 to 1"),
        ({"trigger": "fog", "response": "slow", "confidence": "high"}, "confidence must be a number from 0 to 1"),
        ({"trigger": "fog", "response": "slow", "usage_count": -1}, "usage_count must be a whole number"),
        ({"trigger": "fog", "response": "slow", "usageCount": "5"}, "usage_count must be a whole number"),
        ({"trigger": "fog", "response": "slow", "learned_from": ["log.md"]}, "learned_from must be a str"),
    ],
)
def test_what_is_no_pattern_is_refused_with_the_reason(values: Any, complaint: str) -> None:
    with pytest.raises(BadInput, match=complaint.replace("?", r"\?").replace("(", r"\(")):
        validate(values)


def test_trigger_and_response_stand_in_one_line_people_can_read() -> None:
    assert text_of(" fog ", "slow down → sound the horn") == "fog → slow down → sound the horn"
