"""Taking in many turns at once, and the verbs for programs that must not wait (A2)."""

import asyncio

import pytest

import reverie
from reverie import BadInput, Mind, Scope
from tests.contracts.worlds import START, found


def test_many_turns_are_counted_and_kept_in_order(mind: Mind) -> None:
    done = mind.observe_many(
        [
            {"text": "first", "message_id": "1", "at": START, "speaker": "Ana"},
            {"role": "assistant", "content": "second"},
            {"text": "first", "message_id": "1"},
            {"text": "first, edited", "message_id": "1"},
        ]
    )
    assert (done.added, done.duplicates, done.failed, done.errors) == (3, 1, 0, ())
    assert [(turn.text, turn.role, turn.version) for turn in mind.scan()] == [
        ("first, edited", "user", 2),
        ("second", "assistant", 1),
    ]
    (commit,) = mind.log(Scope.owner())
    assert done.commits == (commit.id,)


def test_one_bad_turn_does_not_stop_the_others(mind: Mind) -> None:
    gone = mind.observe("this was never said, you hear")
    mind.erase(gone.id)
    bad: list[object] = [
        {"text": "good one"},
        {"text": ""},
        {"texd": "typo"},
        {"text": "naive", "at": START.replace(tzinfo=None)},
        {"text": "this was never said, you hear"},
        "not a dict",
        {"text": "unknown role", "role": "oracle"},
        {"text": "surrogate \ud800"},
        {1: "a", "odd": "b"},
        {"text": "attached", "attachments": 5},
        {"text": "scoped", "scope": "guild"},
        {"text": "good two"},
    ]
    done = mind.observe_many(bad)  # type: ignore[arg-type]
    assert (done.added, done.duplicates, done.failed) == (2, 0, 10)
    assert [place for place, _ in done.errors] == list(range(1, 11))
    assert all(why for _, why in done.errors)
    assert found(mind, "good") == {"good one", "good two"}


def test_each_space_gets_its_own_commit(mind: Mind) -> None:
    done = mind.observe_many(
        [{"text": "a"}, {"text": "b", "scope": Scope("attic")}, {"text": "c"}], scope=Scope("home", person="ana")
    )
    assert done.added == 3
    assert {space.space: (space.memories, space.commits) for space in mind.status().spaces} == {"attic": (1, 1), "home": (2, 1)}
    assert set(done.commits) == {mind.log(Scope.owner(space))[0].id for space in ("attic", "home")}
    assert mind.log(Scope.owner("home"))[0].by == "ana"


def test_a_thousand_turns_make_one_commit_and_progress_is_told(mind: Mind) -> None:
    told: list[int] = []
    done = mind.observe_many(({"text": f"turn {number}"} for number in range(2_300)), progress=told.append)
    assert (done.added, len(done.commits)) == (2_300, 3)
    assert told == sorted(told)
    assert told[-1] == 2_300
    assert len(told) >= 3
    log = mind.log(Scope.owner())
    assert [len(commit.added) for commit in reversed(log)] == [1_000, 1_000, 300]


def test_no_turns_make_no_commit(mind: Mind) -> None:
    assert mind.observe_many([]) == reverie.Ingested(0, 0, 0, ())
    assert mind.status().spaces == ()
    mind.observe("hi", message_id="1")
    again = mind.observe_many([{"text": "hi", "message_id": "1"}])
    assert (again.added, again.duplicates, again.commits) == (0, 1, ())
    assert len(mind.log(Scope.owner())) == 1


def test_turns_must_be_a_list_of_dicts(mind: Mind) -> None:
    for wrong in ("hello", {"text": "hello"}, 5, None):
        with pytest.raises(BadInput, match="list of dicts"):
            mind.observe_many(wrong)  # type: ignore[arg-type]


def test_every_verb_can_be_awaited(mind: Mind) -> None:
    async def talk() -> None:
        later = reverie.aio(mind)
        turns = await asyncio.gather(*(later.observe(f"note {number}") for number in range(8)))
        assert len({turn.id for turn in turns}) == 8
        hits = (await later.recall("note", limit=100)).hits
        assert len(hits) == 8
        assert [memory.id for memory in await later.scan()] == sorted(turn.id for turn in turns)
        person = await later.people.alias("1", "Ana")
        assert person.name == "Ana"
        with pytest.raises(BadInput):
            await later.observe("")

    asyncio.run(talk())
    assert len(list(mind.scan())) == 8
