"""The model that says what a script tells it to."""

import json
from pathlib import Path

import pytest

from reverie.errors import BadInput, ModelError
from reverie.models.base import Asked
from reverie.models.scripted import Scripted


def test_the_first_line_that_fits_answers_again_and_again() -> None:
    model = Scripted(
        [
            {"purpose": "summary", "answer": "a summary"},
            {"contains": "OAXACA", "answer": {"facts": [1]}},
            {"answer": "anything else"},
        ]
    )
    said = [model.ask(Asked("s", text, purpose)).text for text, purpose in (
        ("I live in Oaxaca", "extract"), ("I live in Oaxaca", "summary"), ("hello", "extract"), ("Oaxaca", "extract"),
    )]  # fmt: skip
    assert said == ['{"facts": [1]}', "a summary", "anything else", '{"facts": [1]}']


def test_every_question_is_kept() -> None:
    model = Scripted([{"answer": "yes"}])
    questions = [Asked("system", "one"), Asked("system", "two", "summary")]
    for question in questions:
        model.ask(question)
    assert model.asked == questions


def test_a_line_may_answer_so_many_times_and_fail() -> None:
    model = Scripted([{"error": "down", "may_pass": True, "times": 2}, {"answer": "back"}])
    for _ in range(2):
        with pytest.raises(ModelError, match=r"^down$") as caught:
            model.ask(Asked("s", "t"))
        assert caught.value.may_pass
    assert model.ask(Asked("s", "t")).text == "back"


def test_tokens_are_counted_as_four_characters_each() -> None:
    answer = Scripted([{"answer": "12345"}]).ask(Asked("1234", "5678"))
    assert (answer.input_tokens, answer.output_tokens) == (2, 2)


def test_a_question_without_a_line_is_an_error_that_shows_how_to_write_one() -> None:
    with pytest.raises(ModelError, match=r"has no line for this question of purpose 'extract'; write \{\"answer\""):
        Scripted([{"contains": "x", "answer": "y"}]).ask(Asked("s", "t"))


def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text('{"contains": "ñandú", "answer": {"é": 1}}\n{"error": "no"}\n\n', "utf-8")
    model = Scripted.from_file(str(file))
    assert model.name == "scripted:talk.jsonl"
    assert json.loads(model.ask(Asked("s", "un Ñandú")).text) == {"é": 1}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "line 1 of scripted:talk.jsonl is not JSON; write"),
        ("[1]", "line 1 of scripted:talk.jsonl has no answer or more than one"),
        ('{"purpose": "extract"}', "has no answer or more than one"),
        ('{"answer": 1, "error": "x"}', "has no answer or more than one"),
        ('{"answer": 1, "contain": "x"}', "no part of a script .* named 'contain'; nearest is 'contains'"),
        ('{"answer": 1, "times": 0}', "times must be a whole number of at least 1"),
    ],
)
def test_a_line_that_makes_no_sense_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    (tmp_path / "talk.jsonl").write_text(line)
    with pytest.raises(BadInput, match=complaint):
        Scripted.from_file(str(tmp_path / "talk.jsonl"))


def test_a_script_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere' cannot be read .*write scripted:FILE"):
        Scripted.from_file(str(tmp_path / "nowhere"))
