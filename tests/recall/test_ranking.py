"""Ranking through the public verbs: words that reach across turns, copies, authors, time, order, expansion."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

import reverie
from reverie import BadInput, Mind, Recollection, Scope, Source
from reverie.recall.fuse import DEFAULT

NOW = datetime(2026, 3, 12, 12, tzinfo=UTC)
TALK = Scope("talk", session="evening")


@pytest.fixture(params=["memory", "folder"])
def mind(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Mind]:
    home = ":memory:" if request.param == "memory" else str(tmp_path)
    with reverie.open(home, embedder="none", clock=lambda: NOW) as mind:
        yield mind


def texts(found: Recollection) -> list[str]:
    return [hit.memory.text for hit in found.hits]


def say(mind: Mind, *lines: str, scope: Scope = TALK, begun: datetime = NOW) -> None:
    for number, line in enumerate(lines):
        mind.observe(line, scope=scope, at=begun + timedelta(minutes=number))


def test_an_answer_is_found_by_the_words_of_the_question_before_it(mind: Mind) -> None:
    """K8: neighbourhood, without vectors"""
    say(mind, "Did you ever fix the boat engine?", "Yes, it took a new gasket.", "Dinner?", "Soup.", "Fine.")
    assert texts(mind.recall("boat engine", scope=TALK))[:2] == [
        "Did you ever fix the boat engine?", "Yes, it took a new gasket.",
    ]  # fmt: skip


def test_words_of_two_turns_count_together_where_they_meet(mind: Mind) -> None:
    say(mind, "The harbour was empty.", "So we took the kayak.", scope=Scope("talk", session="a"))
    say(mind, "The harbour was full.", "Nothing else happened.", scope=Scope("talk", session="b"))
    say(mind, "I sold the kayak.", "Nothing else came of it.", scope=Scope("talk", session="c"))
    found = texts(mind.recall("kayak in the harbour", scope=Scope("talk")))
    assert set(found[:2]) == {"The harbour was empty.", "So we took the kayak."}


def test_words_do_not_reach_into_another_session_or_further_than_two_turns(mind: Mind) -> None:
    say(mind, "The zeppelin landed.", "one", "two", "three")
    say(mind, "four", scope=Scope("talk", session="morning"))
    assert set(texts(mind.recall("zeppelin", scope=Scope.owner("talk")))) == {"The zeppelin landed.", "one", "two"}


def test_a_neighbour_that_a_filter_leaves_out_is_left_out(mind: Mind) -> None:
    say(mind, "The zeppelin landed.", "one", "two")
    found = mind.recall("zeppelin", scope=TALK, between=(NOW, NOW + timedelta(minutes=1, seconds=30)))
    assert texts(found) == ["The zeppelin landed.", "one"]


def test_what_repeats_comes_after_what_says_something_else(mind: Mind) -> None:
    for day in range(5):
        mind.observe("Red shoes again!", scope=Scope("talk"), at=NOW - timedelta(days=day))
    mind.observe("Her shoes are at the cobbler.", scope=Scope("talk"), at=NOW - timedelta(days=9))
    found = mind.recall("red shoes", scope=Scope("talk"))
    assert texts(found)[:2] == ["Red shoes again!", "Her shoes are at the cobbler."]
    assert len(found.hits) == 6
    assert found.hits[2].why.boosts["copy"] == -DEFAULT.copy


def test_an_author_who_is_believed_less_comes_later(mind: Mind) -> None:
    """A6: a trust weight per author"""
    mind.observe("The ferry leaves at nine", speaker="Bo", scope=Scope("talk"))
    mind.observe("The ferry leaves at noon", speaker="Ana", scope=Scope("talk"), at=NOW - timedelta(days=30))
    assert texts(mind.recall("when does the ferry leave?", scope=Scope("talk")))[0] == "The ferry leaves at nine"
    doubted = mind.recall("when does the ferry leave?", scope=Scope("talk"), authors={"bo": 0.2})
    assert texts(doubted) == ["The ferry leaves at noon", "The ferry leaves at nine"]
    assert doubted.hits[1].why.boosts["author"] < 0
    for wrong in ({"bo": 2}, {"bo": "much"}, {3: 0.5}, ["bo"]):
        with pytest.raises(BadInput, match="authors must map names to numbers from 0 to 1"):
            mind.recall("ferry", scope=Scope("talk"), authors=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("question", ["which dish was it yesterday?", "¿qué plato fue ayer?"])
def test_a_day_that_is_named_is_looked_at(mind: Mind, question: str) -> None:
    """R13"""
    for day, dish in ((3, "lentils"), (1, "dumplings"), (0, "soup")):
        mind.observe(f"dish of the day: {dish}, plato del día: {dish}", scope=Scope("talk"), at=NOW - timedelta(days=day))
    found = mind.recall(question, scope=Scope("talk"))
    assert "dumplings" in texts(found)[0]
    assert found.arms["time"] == "on"
    assert found.cue.time == (datetime(2026, 3, 11, tzinfo=UTC), datetime(2026, 3, 12, tzinfo=UTC))
    assert found.hits[0].why.time is not None
    assert len(found.hits) == 3  # graded, never a hard cut


def test_a_question_about_a_day_alone_is_answered_by_what_happened_then(mind: Mind) -> None:
    mind.observe("the roof leaks", scope=Scope("talk"), at=NOW - timedelta(days=1))
    mind.observe("the roof is mended", scope=Scope("talk"), at=NOW - timedelta(hours=1))
    found = mind.recall("what happened yesterday?", scope=Scope("talk"), strict=True)
    assert (texts(found), found.confidence) == (["the roof leaks"], "medium")


def test_a_day_begins_where_the_person_is(mind: Mind) -> None:
    """R13: 23:30 of the day before in Auckland is still this morning in UTC."""
    mind.people.update("kiri", zone="Pacific/Auckland", scope=Scope("talk"))
    here = Scope("talk", person="kiri")
    for now in (None, NOW):
        found = mind.recall("what happened yesterday?", scope=here, now=now)
        assert found.cue.time is not None
        assert found.cue.time[0].isoformat() == "2026-03-12T00:00:00+13:00"


def test_when_asks_for_a_date_and_is_no_filter(mind: Mind) -> None:
    mind.observe("The market burned down", scope=Scope("talk"), at=NOW - timedelta(days=400))
    found = mind.recall("when did the market burn down?", scope=Scope("talk"))
    assert (found.cue.kind, found.cue.time, found.arms["time"]) == ("when", None, "off")


def test_a_timeline_is_in_the_order_of_time(mind: Mind) -> None:
    """A3"""
    for day in (3, 1, 2):
        mind.observe(f"rain on day {day}", scope=Scope("talk"), at=NOW - timedelta(days=day))
    found = mind.recall("rain", scope=Scope("talk"), order="time")
    assert texts(found) == ["rain on day 3", "rain on day 2", "rain on day 1"]
    whole = mind.recall("", scope=Scope("talk"), between=(NOW - timedelta(days=2, hours=1), None), order="time")
    assert texts(whole) == ["rain on day 2", "rain on day 1"]
    with pytest.raises(BadInput, match="order"):
        mind.recall("rain", scope=Scope("talk"), order="size")


def test_an_expansion_adds_words_to_a_question(tmp_path: object) -> None:
    """K8: off unless a callable is given"""
    with reverie.open(str(tmp_path), embedder="none", expand=lambda question: ["dog", "puppy"]) as mind:
        mind.remember("the puppy is called Tuna")
        found = mind.recall("which pet?")
        assert texts(found) == ["the puppy is called Tuna"]
        assert found.cue.more == ("dog", "puppy")
    with reverie.open(str(tmp_path), embedder="none") as mind:
        assert texts(mind.recall("which pet?")) == []
    with pytest.raises(BadInput, match="expand must be a callable"):
        reverie.open(":memory:", expand="words")  # type: ignore[arg-type]


def test_an_expansion_is_not_shared_between_scopes() -> None:
    beginning = "please tell me all that you can remember, however little it may be, and leave nothing out of it, about "
    with reverie.open(":memory:", embedder="none", expand=lambda asked: ["secret" if "illness" in asked else "sun"]) as mind:
        assert mind.recall(beginning + "my illness", scope=Scope("a", person="ana")).cue.more == ("secret",)
        assert mind.recall(beginning + "the weekend", scope=Scope("a", person="bo")).cue.more == ("sun",)


def test_what_rests_on_a_turn_comes_with_it(mind: Mind) -> None:
    turn = mind.observe("We moved the kettle to the attic", scope=TALK)
    fact = mind.remember("Tea is made upstairs", scope=TALK, source=Source(memory_ids=(turn.id,)))
    found = mind.recall("kettle", scope=TALK)
    assert [hit.memory.id for hit in found.hits] == [turn.id, fact.id]
    assert found.hits[1].why.neighbours is not None
    assert texts(mind.recall("kettle", scope=TALK, kinds=("turn",))) == [turn.text]


def test_a_look_back_is_not_changed_by_what_came_later(mind: Mind) -> None:
    lines = [f"boat {number} {'lake ' * (number % 5)}".strip() for number in range(20)]
    say(mind, *lines, scope=Scope("talk"))
    then = mind.log(Scope.owner("talk"))[0].id

    def back() -> list[tuple[str, float]]:
        found = mind.recall("boat on the lake", scope=Scope("talk"), as_of=then)
        return [(hit.memory.text, hit.score) for hit in found.hits]

    before = back()
    for number in range(40):
        mind.observe(f"lake lake {number}", scope=Scope("talk", person="bo"))
    assert [
        (hit.memory.text, hit.score) for hit in mind.recall("boat on the lake", scope=Scope("talk"), as_of=then).hits
    ] == before


def test_a_session_in_which_all_is_dated_alike_keeps_its_order(mind: Mind) -> None:
    for line in ("zero", "The zeppelin landed.", "one", "two", "three"):
        mind.observe(line, scope=TALK, at=NOW)
    assert set(texts(mind.recall("zeppelin", scope=TALK))) == {"The zeppelin landed.", "zero", "one", "two"}


def test_the_last_day_there_is_can_be_asked_for_anywhere(mind: Mind) -> None:
    mind.people.update("ana", zone="Asia/Tokyo", scope=Scope("talk"))
    mind.observe("a boat", scope=Scope("talk", person="ana"))
    last = datetime.max.replace(tzinfo=UTC)
    assert texts(mind.recall("boat", scope=Scope("talk", person="ana"), as_of=last)) == ["a boat"]


def test_the_zone_of_now_tells_which_day_it_is(mind: Mind) -> None:
    now = datetime(2023, 6, 15, 22, tzinfo=ZoneInfo("America/Mexico_City"))
    found = mind.recall("what happened yesterday?", scope=Scope("talk"), now=now)
    assert found.cue.time is not None
    assert found.cue.time[0].isoformat() == "2023-06-14T00:00:00-06:00"


def test_a_question_about_another_year_makes_less_sure(mind: Mind) -> None:
    mind.observe("I adopted a dog", speaker="Luis", scope=Scope("talk"))
    found = mind.recall("what did Luis do in 1998?", scope=Scope("talk"))
    assert found.confidence in ("none", "low")
    assert mind.recall("what did Luis do in 1998?", scope=Scope("talk"), strict=True).hits == ()


def test_a_question_about_the_wrong_person_makes_less_sure(mind: Mind) -> None:
    for speaker, line in (("Ana", "I climb mountains with my brother"), ("Luis", "I paint boats in the harbour")):
        mind.observe(line, speaker=speaker, scope=Scope("talk"))
    right = mind.recall("which mountains does Ana climb?", scope=Scope("talk"))
    wrong = mind.recall("which mountains does Luis climb?", scope=Scope("talk"))
    assert wrong.certainty < right.certainty
