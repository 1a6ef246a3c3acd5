"""Asking again where that may help, letting a model rest that is down, and staying within the budget."""

import pytest

from reverie.errors import BudgetExceeded, ModelError
from reverie.models.base import Answer, Asked, Model
from reverie.models.choose import model_from
from reverie.models.costs import Costs
from reverie.models.scripted import Scripted
from tests.contracts.worlds import Clock

QUESTION = Asked("s", "t")
DOWN = {"error": "down", "may_pass": True}


def steady(model: object, clock: Clock, pauses: list[float] | None = None) -> Model:
    made = model_from(model, {}, Costs(None, clock), clock, (pauses if pauses is not None else list[float]()).append)
    assert made is not None
    return made


def fails(model: Model, complaint: str) -> ModelError:
    with pytest.raises(ModelError, match=complaint) as caught:
        model.ask(QUESTION)
    return caught.value


def test_what_may_pass_is_tried_three_times_with_longer_pauses() -> None:
    """K21: retry (≤ 3), back-off."""
    pauses: list[float] = []
    script = Scripted([DOWN | {"times": 2}, {"answer": "back"}])
    assert steady(script, Clock(), pauses).ask(QUESTION).text == "back"
    assert 0.5 <= pauses[0] <= 1 <= pauses[1] <= 2

    script = Scripted([DOWN])
    fails(steady(script, Clock()), "^down$")
    assert len(script.asked) == 3


def test_what_will_not_pass_is_not_tried_again() -> None:
    script = Scripted([{"error": "no such model"}])
    fails(steady(script, Clock()), "no such model")
    assert len(script.asked) == 1


def test_after_five_failures_in_a_row_nothing_is_asked_for_a_minute_and_then_once() -> None:
    """K21: circuit breaker."""
    clock, script = Clock(), Scripted([DOWN | {"times": 16}, {"answer": "back"}])
    model = steady(script, clock)
    for _ in range(5):
        fails(model, "^down$")
    assert len(script.asked) == 15
    resting = fails(model, "scripted failed 5 times in a row and is asked again in 60 s")
    assert (resting.may_pass, resting.wait_s) == (True, 60)
    clock.pass_(seconds=59)
    fails(model, "is asked again in 1 s")
    assert len(script.asked) == 15

    clock.pass_(seconds=1)
    fails(model, "^down$")
    assert len(script.asked) == 16  # once, not three times
    fails(model, "failed 6 times in a row and is asked again in 60 s")

    clock.pass_(seconds=60)
    assert model.ask(QUESTION).text == "back"
    assert model.ask(QUESTION).text == "back"


def test_an_answer_between_failures_starts_the_count_anew() -> None:
    script = Scripted([DOWN | {"times": 12}, {"answer": "back", "times": 1}, DOWN | {"times": 12}, {"answer": "again"}])
    model = steady(script, Clock())
    for _ in range(4):
        fails(model, "^down$")
    model.ask(QUESTION)
    for _ in range(4):
        fails(model, "^down$")
    assert model.ask(QUESTION).text == "again"


def test_questions_that_a_model_refuses_do_not_make_it_rest() -> None:
    model = steady(Scripted([{"error": "will not say"}]), Clock())
    for _ in range(9):
        fails(model, "will not say")


def test_while_one_question_tries_whether_the_model_is_back_others_wait() -> None:
    clock = Clock()

    class Trying:
        name = "trying"
        inner = ""

        def ask(self, asked: Asked) -> Answer:
            if clock.now > Clock().now and not self.inner:
                self.inner = str(fails(model, "is asked again in 60 s"))
            raise ModelError("down", may_pass=True)

    trying = Trying()
    model = steady(trying, clock)
    for _ in range(5):
        fails(model, "down")
    clock.pass_(minutes=1)
    fails(model, "^down$")
    assert "trying failed 5 times in a row" in trying.inner


def test_a_spent_budget_ends_the_questions_until_the_next_day() -> None:
    """K17: 100 % of the daily budget; no other model steps in."""
    clock, script = Clock(), Scripted([{"answer": "x" * 4_000_000}], name="openai:gpt-4o-mini")
    model = steady(script, clock)
    model.ask(QUESTION)  # a million tokens at $0.60
    model.ask(QUESTION)
    with pytest.raises(BudgetExceeded, match=r"^\$1\.20 of the \$1\.00 .* this day are spent; raise daily_budget, or wait"):
        model.ask(QUESTION)
    assert len(script.asked) == 2
    clock.pass_(days=1)
    model.ask(QUESTION)


def test_a_spent_budget_does_not_hold_a_model_that_has_no_price() -> None:
    """K17: as the guide says, no budget can hold it."""
    clock = Clock()
    costs = Costs(None, clock)
    costs.note("openai:gpt-4o-mini", "extract", Answer("", 0, 2_000_000))
    own, dear = Scripted([{"answer": "mine"}], name="ollama:qwen3"), Scripted([{"answer": "dear"}], name="openai:gpt-4o-mini")
    asked = [model_from(one, {}, costs, clock) for one in (own, dear)]
    assert asked[0] is not None
    assert asked[1] is not None
    assert asked[0].ask(QUESTION).text == "mine"
    with pytest.raises(BudgetExceeded):
        asked[1].ask(QUESTION)


def test_what_a_model_of_ones_own_raises_or_returns_is_named_without_what_was_asked() -> None:
    class Own:
        name = "own"

        def ask(self, asked: Asked) -> str:
            if asked.text == "t":
                raise ValueError("cannot read: my secret diary")
            return "an answer"

    model = steady(Own(), Clock())
    failed = fails(model, "own failed with a ValueError; let it raise reverie.ModelError")
    assert "diary" not in str(failed)
    with pytest.raises(ModelError, match=r"own returned a str; ask\(\) must return a reverie.models.base.Answer"):
        model.ask(Asked("s", "other"))
