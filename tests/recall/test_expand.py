"""More words for a question, from whoever may be asked: never a failed recall, never more than a few short words (K8)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.recall.expand import AT_ONCE, HELD, LONGEST, MOST, Expansion, cleaned

PATIENCE_S = 20.0
QUESTION = "which endpoint fails?"
Patient = partial(Expansion, patience_s=PATIENCE_S)


class Friend:
    """Answers every question alike and keeps account of them; raises while it is told to."""

    def __init__(self, answer: Iterable[str] | str = "webhook, API") -> None:
        self.answer = answer
        self.error: Exception | None = None
        self.questions: list[str] = []

    def __call__(self, question: str) -> Iterable[str] | str:
        self.questions.append(question)
        if self.error is not None:
            raise self.error
        return self.answer


class Slow(Friend):
    """Answers when it is let to."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()

    def __call__(self, question: str) -> Iterable[str] | str:
        answer = super().__call__(question)
        assert self.open.wait(PATIENCE_S)
        return answer


def all_have_answered() -> None:
    for thread in threading.enumerate():
        if thread.name == "reverie-expand":
            thread.join(PATIENCE_S)


@pytest.fixture
def slow() -> Iterator[Slow]:
    friend = Slow()
    yield friend
    friend.open.set()
    all_have_answered()


@pytest.mark.parametrize("answer", [
    "webhook, API,\n- *401*; “auth”", ["webhook", "API", "401", "auth"], iter(["webhook API", "401, auth"]),
])  # fmt: skip
def test_an_answer_is_taken_as_a_list_or_as_a_line_of_words(answer: Iterable[str] | str) -> None:
    assert Patient(Friend(answer)).words(QUESTION) == ("webhook", "API", "401", "auth")


def test_words_that_the_question_has_are_left_out() -> None:
    assert Patient(Friend("Endpoint, café, fails, CAFE, hook, Hook")).words("the ENDPOINT fails at the cafe") == ("hook",)
    assert Patient(Friend("東京、京都")).words("東京はどう?") == ("京都",)


def test_at_most_twenty_words_are_added_however_many_were_repeated() -> None:
    asked = [f"asked{number}" for number in range(30)]
    more = [f"more{number}" for number in range(30)]
    assert Patient(Friend([*asked, *more])).words(" ".join(asked)) == tuple(more[:MOST])


def test_the_same_beginning_in_any_case_is_asked_about_once() -> None:
    """K8: keyed on the lower-cased first 100 characters."""
    friend = Friend("cats, dogs")
    expansion = Patient(friend)
    long = "x" * 99 + "Y"
    assert expansion.words(long + " and cats") == ("dogs",)
    assert expansion.words(long.lower() + " and dogs") == ("cats",)
    assert len(friend.questions) == 1
    expansion.words("x" * 99 + "z")
    assert len(friend.questions) == 2


def test_the_last_thousand_answers_are_kept() -> None:
    """K8"""
    friend = Friend()
    expansion = Patient(friend)
    for number in range(1000):
        expansion.words(f"question {number}")
    expansion.words("question 0")  # used again: the oldest is now the next
    assert len(friend.questions) == 1000
    expansion.words("one more")
    expansion.words("question 0")
    assert len(friend.questions) == 1001
    expansion.words("question 1")
    assert len(friend.questions) == 1002


@pytest.mark.parametrize("error", [ValueError("what endpoint?"), None])
def test_a_failure_gives_no_words_and_is_not_kept(error: Exception | None, caplog: pytest.LogCaptureFixture) -> None:
    friend = Friend(7 if error is None else "webhook")  # type: ignore[arg-type]  # what comes back may be anything
    friend.error = error
    expansion = Patient(friend)
    with caplog.at_level(logging.WARNING):
        assert expansion.words(QUESTION) == ()
    assert "endpoint" not in caplog.text
    assert "without more words" in caplog.text
    friend.error, friend.answer = None, "webhook"
    assert expansion.words(QUESTION) == ("webhook",)


def test_an_answer_that_takes_too_long_is_there_for_the_next_time(slow: Slow, caplog: pytest.LogCaptureFixture) -> None:
    expansion = Expansion(slow, patience_s=0.01)
    with caplog.at_level(logging.WARNING):
        assert expansion.words(QUESTION) == ()
    assert "within 0.01 s" in caplog.text
    slow.open.set()
    words: tuple[str, ...] = ()
    deadline = time.monotonic() + PATIENCE_S
    while not words and time.monotonic() < deadline:
        words = expansion.words(QUESTION)
    assert words == ("webhook", "API")
    assert slow.questions == [QUESTION]


def test_whoever_never_answers_holds_only_a_few_threads(slow: Slow) -> None:
    expansion = Expansion(slow, patience_s=0.001)
    for number in range(3 * AT_ONCE):
        assert expansion.words(f"question {number}") == ()
    slow.open.set()
    all_have_answered()
    assert len(slow.questions) == AT_ONCE


def test_many_threads_with_one_question_share_its_answer(slow: Slow) -> None:
    expansion = Patient(slow)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(expansion.words, QUESTION) for _ in range(8)]
        slow.open.set()
        assert {answer.result(PATIENCE_S) for answer in answers} == {("webhook", "API")}
    assert slow.questions == [QUESTION]


def test_nothing_is_kept_of_a_question_that_was_let_go(slow: Slow) -> None:
    """Nor of one that was under way: an erase leaves nothing behind."""
    expansion = Expansion(slow, patience_s=0.01)
    assert expansion.words(QUESTION) == ()
    expansion.let_go()
    slow.open.set()
    for asked in (1, 2):
        all_have_answered()
        assert len(slow.questions) == asked
        expansion.words(QUESTION)
        all_have_answered()
        expansion.words(QUESTION)  # known now
        expansion.let_go()


def test_an_empty_question_is_not_asked() -> None:
    friend = Friend()
    assert Patient(friend).words("  ") == ()
    assert friend.questions == []


def test_an_answer_without_end_is_cut() -> None:
    assert len(cleaned(f"word{number}" for number in count())) == HELD
    assert cleaned("!" for _ in count()) == ()
    assert cleaned("x" * 10**6) == ()


@given(st.one_of(st.text(), st.lists(st.text(), max_size=40)))
def test_whatever_comes_back_is_a_few_short_printable_words(answer: str | list[str]) -> None:
    words = cleaned(answer)
    assert len(words) <= HELD
    assert all(0 < len(word) <= LONGEST and word.isprintable() and " " not in word for word in words)


def test_control_characters_are_dropped() -> None:
    assert cleaned("we\x00b\u200bhook\x1b, \u202eauth") == ("webhook", "auth")
