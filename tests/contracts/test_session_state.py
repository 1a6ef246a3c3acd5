"""What is held only for now: replaced, not remembered (K1, K5, A1, A5), and who is who (R15)."""

from datetime import timedelta

import pytest

from reverie import BadInput, Mind, NotFound, Refused, Scope, Working
from tests.contracts.worlds import START, Clock, found

HERE = Scope(session="s1", person="ana")


def test_working_memory_is_replaced_whole(mind: Mind, clock: Clock) -> None:
    """K1"""
    working = mind.working(HERE)
    assert working.get() is None
    first = working.replace(task="ship it", context=["tests are red"], pending=["docs", "tag"], notes="ask Ana")
    assert first == Working("ship it", ("tests are red",), ("docs", "tag"), "ask Ana", START)
    clock.pass_(hours=1)
    second = working.replace(task="rest")
    assert mind.working(HERE).get() == second == Working("rest", updated_at=clock.now)
    assert mind.log(Scope.owner()) == ()
    working.clear()
    assert working.get() is None


def test_working_memory_is_read_in_the_form_models_write(mind: Mind) -> None:
    """K6"""
    kept = mind.working(HERE).replace(content="Task: ship it\nPending: docs\n- Context: late\nask Ana")
    assert kept == Working("ship it", ("late",), ("docs",), "ask Ana", START)
    with pytest.raises(BadInput, match="not both"):
        mind.working(HERE).replace(task="x", content="Task: y")
    with pytest.raises(BadInput, match="clear"):
        mind.working(HERE).replace()


def test_working_memory_goes_stale_after_seven_days(mind: Mind, clock: Clock) -> None:
    """K1"""
    mind.working(HERE).replace(task="ship it")
    clock.now = START + timedelta(days=7)
    assert mind.working(HERE).get() is not None
    clock.now += timedelta(microseconds=1)
    assert mind.working(HERE).get() is None
    mind.working(HERE).replace(task="again")
    assert mind.working(HERE).get() is not None


def test_state_belongs_to_its_session_its_room_or_its_person(mind: Mind) -> None:
    """R6: in a room everyone shares it, in private it is one person's."""
    room, other_room = Scope(channel="hall", session="s1", person="ana"), Scope(channel="yard", session="s1", person="ana")
    mind.chat_context(room).replace("a planning room")
    mind.chat_context(HERE).replace("Ana in private")
    assert mind.chat_context(Scope(channel="hall", session="s1", person="ben")).get() == "a planning room"
    assert mind.chat_context(other_room).get() is None
    assert mind.chat_context(Scope(session="s1", person="ben")).get() is None
    assert mind.chat_context(Scope(session="s2", person="ana")).get() is None
    assert mind.chat_context(Scope("attic", session="s1", person="ana")).get() is None
    assert mind.chat_context(HERE).get() == "Ana in private"


def test_scratchpads_are_one_per_task(mind: Mind) -> None:
    """A5"""
    mind.scratchpad(HERE, "tea").replace("boil water")
    mind.scratchpad(HERE, "cake").replace("eggs")
    mind.scratchpad(HERE).replace("of no task")
    mind.scratchpad(HERE, "tea").replace("boil more water")
    assert [mind.scratchpad(HERE, task).get() for task in ("tea", "cake", "", "soup")] == [
        "boil more water", "eggs", "of no task", None,
    ]  # fmt: skip
    mind.scratchpad(HERE, "tea").clear()
    assert mind.scratchpad(HERE, "tea").exists() is False
    assert mind.scratchpad(HERE, "cake").exists() is True


def test_the_recent_window_holds_the_last_twenty_turns(mind: Mind, clock: Clock) -> None:
    """A1"""
    for number in range(25):
        mind.observe(f"turn {number}", scope=HERE)
        clock.pass_(seconds=1)
    mind.observe("elsewhere", scope=Scope(session="s2", person="ana"))
    mind.remember("a fact is no turn", scope=HERE)
    assert [turn.text for turn in mind.recent(HERE).get()] == [f"turn {number}" for number in range(5, 25)]


def test_the_recent_window_holds_fifteen_minutes(mind: Mind, clock: Clock) -> None:
    """A1"""
    mind.observe("early", scope=HERE)
    clock.now = START + timedelta(minutes=10)
    mind.observe("late", scope=HERE)
    clock.now = START + timedelta(minutes=15)
    assert [turn.text for turn in mind.recent(HERE).get()] == ["early", "late"]
    clock.now += timedelta(microseconds=1)
    assert [turn.text for turn in mind.recent(HERE).get()] == ["late"]


def test_the_recent_window_can_be_started_anew(mind: Mind, clock: Clock) -> None:
    mind.observe("before", scope=HERE)
    clock.pass_(seconds=1)
    mind.recent(HERE).clear()
    clock.pass_(seconds=1)
    mind.observe("after", scope=HERE)
    assert [turn.text for turn in mind.recent(HERE).get()] == ["after"]
    assert mind.recall("before", scope=HERE).hits[0].memory.text == "before"


def test_state_is_outside_commits_and_undo(mind: Mind) -> None:
    turn = mind.observe("hello", scope=HERE)
    mind.working(HERE).replace(task="greet")
    mind.undo(turn.commit)
    working = mind.working(HERE).get()
    assert working is not None
    assert working.task == "greet"
    assert len(mind.log(Scope.owner())) == 2


def test_a_person_has_names_since_a_day_and_the_last_is_in_use(mind: Mind, clock: Clock) -> None:
    """R15"""
    mind.people.alias("283749", "Anita")
    clock.pass_(days=1)
    person = mind.people.alias("283749", "Ana María")
    assert person.name == "Ana María"
    assert [(name.text, name.since) for name in person.names] == [("Anita", START), ("Ana María", clock.now)]
    assert mind.people.alias("283749", "Ana María") == person
    assert mind.people.alias("283749", "Anita").name == "Anita"
    with pytest.raises(NotFound, match="alias"):
        mind.people.get("nobody")


@pytest.mark.parametrize(
    "called", ["ana maria", "ANA MARÍA", "Anita", "283749", "<@283749>", "<@!283749>", "@ana_m", "ana_m", "telegram:77"]
)
def test_a_person_is_found_by_any_name_account_or_mention(mind: Mind, called: str) -> None:
    """R15"""
    mind.people.alias("283749", "Anita")
    mind.people.alias("283749", "Ana María")
    mind.people.update("283749", accounts=("ana_m", "telegram:77"))
    mind.people.alias("5", "Ben")
    assert [person.id for person in mind.people.find(called)] == ["283749"]
    assert mind.people.find("Anit") == ()


def test_people_who_share_a_name_are_all_found(mind: Mind) -> None:
    mind.people.alias("1", "Ana")
    mind.people.alias("2", "ana")
    assert {person.id for person in mind.people.find("ANA")} == {"1", "2"}


def test_a_zone_must_exist(mind: Mind) -> None:
    """R13"""
    assert mind.people.update("1", zone="America/Mexico_City", language="es").zone == "America/Mexico_City"
    with pytest.raises(BadInput, match="IANA"):
        mind.people.update("1", zone="Mexico")
    with pytest.raises(BadInput, match="IANA"):
        mind.people.update("1", zone="../etc/passwd")
    assert mind.people.get("1").language == "es"


def test_nothing_is_kept_of_what_somebody_says_who_opted_out(mind: Mind) -> None:
    """R15"""
    mind.observe("harbour yesterday", scope=Scope(person="ana"))
    mind.people.optout("ana")
    with pytest.raises(Refused, match="not to be remembered"):
        mind.observe("harbour today", scope=Scope(person="ana"))
    said = [{"text": "harbour again", "scope": Scope(person="ana")}, {"text": "harbour of Ben", "scope": Scope(person="ben")}]
    done = mind.observe_many(said)
    assert (done.added, done.failed) == (1, 1)
    assert found(mind, "harbour", Scope.owner()) == {"harbour yesterday", "harbour of Ben"}
    mind.people.optout("ana", False)
    assert mind.observe("back again", scope=Scope(person="ana")).text == "back again"


def test_people_belong_to_their_space(mind: Mind) -> None:
    """R6"""
    mind.people.alias("1", "Ana", scope=Scope("home"))
    assert mind.people.find("Ana") == ()
    assert [person.id for person in mind.people.list(Scope("home", channel="hall", person="ben"))] == ["1"]


def test_health_warns_of_many_sessions_whose_working_memory_went_stale(mind: Mind, clock: Clock) -> None:
    """K16"""
    for number in range(11):
        mind.working(Scope(session=f"s{number}")).replace(task="wait")
    assert mind.health().warnings == ()
    clock.pass_(days=8)
    health = mind.health()
    assert health.healthy
    assert health.checks["sessions"].startswith("11 ")
    assert "11 sessions" in health.warnings[0]
    mind.working(Scope(session="s0")).clear()
    assert mind.health().warnings == ()
