"""Messages: one turn per id and audience; told differently it is an edit, deleted at its source it goes (R1)."""

import pytest

from reverie import Mind, NotFound, Scope, Source
from tests.contracts.worlds import Clock, found


def test_a_message_delivered_twice_is_one_turn(mind: Mind, clock: Clock) -> None:
    first = mind.observe("see you at six", message_id="telegram:1:9")
    clock.pass_(hours=1)
    assert mind.observe("see you at six", message_id="telegram:1:9") == first
    assert first.source.message_ids == ("telegram:1:9",)
    assert len(mind.log(Scope.owner())) == 1


def test_a_message_told_differently_is_an_edit(mind: Mind, clock: Clock) -> None:
    first = mind.observe("see you at six", message_id="1")
    mind.pin(first.id)
    clock.pass_(hours=1)
    second = mind.observe("see you at seven", message_id="1")
    assert (second.id, second.version, second.happened_at, second.pinned) == (first.id, 3, first.happened_at, True)
    assert found(mind, "six") == set()
    assert found(mind, "seven") == {"see you at seven"}
    assert mind.observe("see you at seven", message_id="1") == second


def test_messages_of_other_audiences_and_spaces_are_others(mind: Mind) -> None:
    ids = {
        mind.observe("hello", message_id="1", scope=scope).id
        for scope in (Scope(), Scope(person="ana"), Scope(person="ben"), Scope("attic"))
    }
    assert len(ids) == 4


def test_turns_without_a_message_id_are_never_the_same(mind: Mind) -> None:
    assert mind.observe("ok").id != mind.observe("ok").id


@pytest.mark.parametrize("how", ["retract", "forget", "by id"])
def test_what_rests_only_on_a_message_goes_with_it(mind: Mind, how: str) -> None:
    """R1: also what was made of what was made of it; what has another source stays."""
    turn = mind.observe("I moved to Lima and got a dog", message_id="1")
    other = mind.observe("Ana got a dog", message_id="2")
    alone = mind.remember("Ana lives in Lima", source=Source(memory_ids=(turn.id,)))
    by_message = mind.remember("Ana moved", source=Source(message_ids=("1",)))
    next_of = mind.remember("Ana lives by the sea", source=Source(memory_ids=(alone.id,)))
    both = mind.remember("Ana has a dog", source=Source(memory_ids=(turn.id,)))
    mind.remember("Ana has a dog", source=Source(memory_ids=(other.id,)))
    told = mind.remember("Ana is tall")
    ways = {
        "retract": lambda: mind.retract("1"),
        "forget": lambda: mind.forget(message_id="1"),
        "by id": lambda: mind.forget(turn.id),
    }
    commit = ways[how]()
    assert set(commit.retired) == {turn.id, alone.id, by_message.id, next_of.id}
    assert commit.why == ("retracted" if how == "retract" else "forgotten")
    assert {memory.id for memory in mind.scan()} == {other.id, both.id, told.id}


def test_an_edit_takes_along_what_the_new_text_no_longer_says(mind: Mind) -> None:
    """C7"""
    turn = mind.observe("I moved to Oaxaca in May and I love mole", message_id="1")
    moved = mind.remember("Ana moved", source=Source(memory_ids=(turn.id,), quote="I moved to Oaxaca in May"))
    loves = mind.remember("Ana loves mole", source=Source(memory_ids=(turn.id,), quote="I love mole"))
    mind.observe("I moved to Puebla in June and I love mole", message_id="1")
    with pytest.raises(NotFound, match="was forgotten"):
        mind.get(moved.id)
    assert mind.get(loves.id).version == 1


def test_a_message_forgotten_or_retracted_does_not_come_back_by_delivery(mind: Mind) -> None:
    for message_id, go in (("1", mind.retract), ("2", lambda id: mind.forget(message_id=id))):
        turn = mind.observe("a slip of the tongue", message_id=message_id)
        go(message_id)
        for text in ("a slip of the tongue", "a slip of the pen"):
            mind.observe(text, message_id=message_id)
        assert list(mind.scan()) == []
        assert mind.history(turn.id)[-1].retired_at is not None
    assert mind.restore(turn.id).text == "a slip of the tongue"


def test_a_message_that_is_not_here_cannot_be_retracted(mind: Mind) -> None:
    mind.observe("for Ana", message_id="1", scope=Scope(person="ana"))
    for message_id, scope in (("2", Scope(person="ana")), ("1", Scope(person="ben"))):
        with pytest.raises(NotFound, match="no message"):
            mind.retract(message_id, scope=scope)
    assert mind.retract("1", scope=Scope(person="ana")).retired


def test_who_spoke_when_and_to_what_is_kept(mind: Mind, clock: Clock) -> None:
    turn = mind.observe("yes", speaker="Ana", message_id="2", reply_to="1", scope=Scope(channel="hall", person="283749"))
    assert (turn.speaker, turn.role, turn.reply_to, turn.origin.channel, turn.happened_at) == (
        "Ana", "user", "1", "hall", clock.now,
    )  # fmt: skip
    assert mind.observe("no", scope=Scope(person="283749")).speaker == "283749"
    assert mind.observe("no", role="assistant").speaker == "assistant"
    assert mind.get(turn.id) == turn
