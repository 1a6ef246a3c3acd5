"""What a correction puts an end to, and what it leaves alone (C1): "actually…", "en realidad…", "ya no…", "no wait"."""

from __future__ import annotations

from datetime import timedelta

import pytest

from reverie import Mind, Scope
from tests.contracts.worlds import START, Clock
from tests.learn.told import ANA, ANA_IN_ROOM, LUIS_IN_ROOM, facts, opened


def told(mind: Mind, *messages: str, scope: Scope = ANA, speaker: str = "Ana") -> None:
    for message in messages:
        mind.observe(message, speaker=speaker, scope=scope)


def current(mind: Mind) -> list[str]:
    return [fact.text for fact in facts(mind) if fact.valid_until is None]


def over(mind: Mind) -> list[str]:
    return [fact.text for fact in facts(mind) if fact.valid_until is not None]


@pytest.mark.parametrize(
    ("before", "correction"),
    [
        ("I love sushi", "Actually I hate sushi"),
        ("I love sushi", "I no longer like sushi"),
        ("I love sushi", "I don't like sushi anymore"),
        ("I don't like sushi", "Actually I love sushi"),
        ("Me encanta el sushi", "En realidad odio el sushi"),
        ("Me encanta el sushi", "En realidad no me gusta el sushi"),
        ("Me gusta el fútbol", "Ya no me gusta el fútbol"),
        ("My favourite colour is red", "Actually my favorite color is blue"),
        ("Mi color favorito es el rojo", "En realidad mi color favorito es el azul"),
        ("Me llamo Rosa", "En realidad me llamo Eva"),
        ("My flight is on Friday", "Actually my flight is on Saturday"),
        ("Mi vuelo es el viernes", "En realidad mi vuelo es el sábado"),
        ("My brother Luis lives in Lima", "Actually my brother Luis lives in Cusco"),
        ("Mi hermano Luis vive en Lima", "En realidad mi hermano Luis vive en Cusco"),
        ("My sister is a teacher", "Actually my sister is a nurse"),
        ("My dog is called Rex", "Actually my dog is called Max"),
        ("I'm from Chile", "Actually I'm from Peru"),
        ("I'm single", "Actually I'm married"),
        ("Soy vegana", "En realidad soy vegetariana"),
        ("Please answer in Spanish", "Actually, please answer in English"),
        ("Contéstame siempre en inglés", "En realidad, contéstame siempre en español"),
        ("I am vegetarian", "Actually I'm not vegetarian"),
        ("I live in Oaxaca", "Actually I don't live in Oaxaca"),
        ("Vivo en Oaxaca", "En realidad no vivo en Oaxaca"),
        ("I have a dog called Rex", "Actually I don't have a dog"),
        ("Soy alérgica al polen", "En realidad no soy alérgica al polen"),
        ("I live in Rome", "No wait, I live in Milan"),
        ("Vivo en Roma", "No, espera, vivo en Milán"),
    ],
)
def test_a_correction_ends_what_it_corrects(before: str, correction: str) -> None:
    with opened() as mind:
        told(mind, before)
        was = current(mind)
        told(mind, correction)
        assert len(was) == len(current(mind)) == 1
        assert over(mind) == was


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Lima", "I live in Cusco"),
        ("I am vegetarian", "I am not vegetarian"),
        ("I love sushi", "Actually I hate mornings"),
        ("I love sushi", "I hate sushi"),
        ("My favorite band is Muse", "Actually my favorite color is blue"),
        ("My brother Luis lives in Lima", "Actually my brother Pedro lives in Cusco"),
        ("My sister lives in Lima", "Actually my sister is a nurse"),
        ("My dentist appointment is on Friday", "Actually my flight is on Saturday"),
        ("Please keep your answers short", "Actually, please answer in English"),
        ("I'm vegan", "Actually I'm diabetic"),
        ("I work at Acme", "Actually I don't work at Globex"),
        ("Soy de Lima", "En realidad nací en Cusco"),
        ("I'm allergic to peanuts, shrimp and milk", "I'm no longer allergic to milk"),
        ("Soy alérgica al polen y a los gatos", "Ya no soy alérgica al polen"),
        ("I live in Berlin", "I moved to Lima in the nineties"),
        ("I live in Berlin", "I moved to Spain for two months last summer"),
        ("Vivo en Madrid", "Me mudé a Lima cuando era niña"),
    ],
)
def test_nothing_else_is_ended_nor_anything_without_a_word_of_correction(before: str, after: str) -> None:
    with opened() as mind:
        told(mind, before, after)
        assert over(mind) == []
        assert current(mind)


def test_in_a_room_everybody_corrects_only_what_they_said_themselves() -> None:
    """R7"""
    with opened() as mind:
        told(mind, "My brother Luis lives in Lima", "I love sushi", scope=ANA_IN_ROOM)
        told(mind, "Actually my brother Luis lives in Cusco", "Actually I hate sushi", scope=LUIS_IN_ROOM, speaker="Luis")
        assert over(mind) == []
        told(mind, "Actually my brother Luis lives in Quito", scope=ANA_IN_ROOM)
        assert over(mind) == ["Ana's brother Luis lives in Lima (according to Ana)"]


def test_a_correction_that_may_not_come_in_ends_nothing() -> None:
    with opened() as mind:
        told(mind, "Actually I hate sushi")
        mind.erase(facts(mind)[0].id)
        told(mind, "I love sushi", "Actually I hate sushi")
        assert current(mind) == ["Ana loves sushi"]


def test_what_lies_ahead_is_corrected_by_what_is_said_later_and_by_nothing_said_before() -> None:
    clock = Clock()
    with opened(clock=clock) as mind:
        mind.observe("My flight is on Friday", speaker="Ana", scope=ANA, at=START)
        mind.observe("Actually my flight is on Monday", speaker="Ana", scope=ANA, at=START - timedelta(days=30))
        assert over(mind) == []
        mind.observe("Actually my flight is on Saturday", speaker="Ana", scope=ANA, at=START + timedelta(hours=1))
        assert len(over(mind)) == 2


def test_what_a_message_takes_back_itself_is_not_learned() -> None:
    for message, learned in (
        ("I live in Rome. Actually, I live in Milan", ["Ana lives in Milan"]),
        ("I live in Rome. No wait, Milan!", []),
        ("I live in Rome no wait, Milan", []),
        ("I live in Rome, I mean Milan", []),
        ("Vivo en Roma, digo, Milán", []),
    ):
        with opened() as mind:
            told(mind, message)
            assert current(mind) == learned
