"""Undo takes back a commit, all of it or nothing (R4); forgetting names exactly what goes (K13)."""

import pytest

from reverie import BadInput, CannotUndo, Mind, NotFound, Scope, Source, UndoConflict
from tests.contracts.worlds import Clock, found


def picture(mind: Mind) -> list[tuple[str, str, float]]:
    return [(memory.id, memory.text, memory.confidence) for memory in mind.scan(Scope.owner())]


def test_an_update_is_undone_by_a_version_with_the_old_content(mind: Mind) -> None:
    fact = mind.remember("the shop is open", tags=("town",))
    change = mind.update(fact.id, text="the shop is closed")
    commit = mind.undo(change.commit)
    assert commit.why == f"undid {change.commit}"
    assert (commit.added, commit.retired) == ((fact.id,), (fact.id,))
    back = mind.get(fact.id)
    assert (back.version, back.text, back.tags) == (3, "the shop is open", ("town",))
    mind.undo(commit.id)
    assert mind.get(fact.id).text == "the shop is closed"


def test_a_new_memory_a_forgetting_and_a_pin_are_undone(mind: Mind) -> None:
    fact = mind.remember("the cat is out")
    pinned = mind.pin(fact.id)
    mind.undo(pinned.commit)
    assert mind.get(fact.id).pinned is False
    gone = mind.forget(fact.id)
    mind.undo(gone.id)
    assert mind.get(fact.id).text == "the cat is out"
    turn = mind.observe("a passing remark")
    mind.undo(turn.commit)
    assert [memory.id for memory in mind.scan()] == [fact.id]


def test_a_sighting_is_undone_without_a_version(mind: Mind) -> None:
    first = mind.remember("the pump works", confidence=0.5)
    mind.remember("the pump works", confidence=0.5)
    again = mind.log(Scope.owner())[0]
    mind.undo(again.id)
    assert mind.get(first.id) == first


def test_the_first_telling_may_be_undone_after_a_second_only_as_far_as_it_is_alone(mind: Mind) -> None:
    first = mind.remember("the pump works", confidence=0.5)
    mind.remember("the pump works", confidence=0.7, title="Pump")
    with pytest.raises(UndoConflict):
        mind.undo(first.commit)
    mind.undo(mind.get(first.id).commit)
    assert (mind.get(first.id).confidence, mind.get(first.id).title) == (0.5, None)


def test_a_batch_is_undone_whole(mind: Mind) -> None:
    kept = mind.observe("kept")
    (commit,) = mind.observe_many([{"text": f"turn {number}"} for number in range(5)]).commits
    assert len(mind.undo(commit).retired) == 5
    assert [memory.id for memory in mind.scan()] == [kept.id]


def test_a_forgetting_is_undone_with_all_that_rested_on_it(mind: Mind) -> None:
    turn = mind.observe("I moved to Lima", message_id="1")
    fact = mind.remember("Ana lives in Lima", source=Source(memory_ids=(turn.id,)))
    mind.undo(mind.retract("1").id)
    assert {memory.id for memory in mind.scan()} == {turn.id, fact.id}
    assert mind.observe("I moved to Lima", message_id="1").id == turn.id


def test_an_undo_in_the_way_of_later_commits_names_them_and_changes_nothing(mind: Mind) -> None:
    (batch,) = mind.observe_many([{"text": "one", "message_id": "1"}, {"text": "two", "message_id": "2"}]).commits
    one, two = mind.scan()
    pinned = mind.pin(one.id)
    edited = mind.observe("one, changed", message_id="1")
    before = picture(mind)
    with pytest.raises(UndoConflict, match="1 of its memories changed") as conflict:
        mind.undo(batch)
    assert conflict.value.commits == (edited.commit, pinned.commit)
    assert edited.commit in str(conflict.value)
    assert picture(mind) == before
    mind.undo(edited.commit)
    assert (mind.get(one.id).text, mind.get(one.id).pinned, mind.get(two.id).text) == ("one", True, "two")


def test_an_undo_is_all_or_nothing_when_one_member_was_forgotten(mind: Mind) -> None:
    (batch,) = mind.observe_many([{"text": "first of two"}, {"text": "second of two"}]).commits
    first, _ = mind.scan()
    gone = mind.forget(first.id)
    with pytest.raises(UndoConflict) as conflict:
        mind.undo(batch)
    assert conflict.value.commits == (gone.id,)
    assert found(mind, "two") == {"second of two"}
    mind.undo(gone.id)
    assert found(mind, "two") == {"first of two", "second of two"}


def test_an_erase_cannot_be_undone(mind: Mind) -> None:
    """R8"""
    turn = mind.observe("my secret is out there")
    proof = mind.erase(turn.id)
    assert proof.commit is not None
    with pytest.raises(CannotUndo, match="an erase is final"):
        mind.undo(proof.commit)
    with pytest.raises(CannotUndo, match="nothing of it is left"):
        mind.undo(turn.commit)


def test_an_undo_skips_erased_members(mind: Mind) -> None:
    (batch,) = mind.observe_many([{"text": "a word about cats"}, {"text": "a word about dogs"}]).commits
    cats, dogs = mind.scan()
    mind.erase(cats.id)
    assert mind.log(Scope.owner())[-1].erased == (cats.id,)
    assert mind.undo(batch).retired == (dogs.id,)


def test_undoing_needs_a_commit_that_the_scope_sees(mind: Mind) -> None:
    """R6"""
    secret = mind.observe("Ana's own", scope=Scope(person="ana"))
    for commit, scope in (
        (secret.commit, Scope(person="ben")),
        (secret.id, None),
        ("c-nothing", None),
        (secret.commit[:-1], None),
    ):
        with pytest.raises(NotFound, match="no commit"):
            mind.undo(commit, scope=scope)
    assert mind.undo(secret.commit, scope=Scope(person="ana")).retired == (secret.id,)


def test_an_undo_in_a_scope_leaves_what_it_does_not_see(mind: Mind) -> None:
    """R6"""
    said = [{"text": "Ana's turn", "scope": Scope(person="ana")}, {"text": "Ben's turn", "scope": Scope(person="ben")}]
    (batch,) = mind.observe_many(said).commits
    assert len(mind.undo(batch, scope=Scope(person="ana")).retired) == 1
    assert [memory.text for memory in mind.scan(Scope.owner())] == ["Ben's turn"]


def test_forgetting_by_words_needs_every_word_as_written(mind: Mind, clock: Clock) -> None:
    """K13: never fuzzy: no stems, no likeness."""
    for text in ("red boats", "a red boat", "the RED Böat sank", "boat", "redboat", "bored of the boat"):
        mind.remember(text)
    mind.remember("something else", title="red boat")
    gone = mind.forget(query="boat red")
    assert {mind.history(id)[0].title or mind.history(id)[0].text for id in gone.retired} == {
        "a red boat", "the RED Böat sank", "red boat",
    }  # fmt: skip
    assert found(mind, "boat") == {"red boats", "boat", "redboat", "bored of the boat"} - {"redboat"}


def test_a_dry_run_names_what_would_go_and_keeps_it(mind: Mind) -> None:
    turn = mind.observe("I sold the old car", message_id="1")
    fact = mind.remember("Ana has no vehicle", source=Source(memory_ids=(turn.id,)))
    for would in (
        mind.forget(turn.id, dry_run=True),
        mind.forget(query="sold car", dry_run=True),
        mind.forget(message_id="1", dry_run=True),
    ):
        assert (would.id, would.retired) == ("", (turn.id, fact.id))
    assert len(list(mind.scan())) == 2
    assert len(mind.log(Scope.owner())) == 2
    assert mind.erase(turn.id, dry_run=True).erased == tuple(sorted((turn.id, fact.id)))
    assert len(list(mind.scan())) == 2


def test_forgetting_takes_exactly_one_way_of_naming(mind: Mind) -> None:
    fact = mind.remember("one way only")
    with pytest.raises(BadInput, match="exactly one"):
        mind.forget()
    with pytest.raises(BadInput, match="exactly one"):
        mind.forget(query="one", message_id="1")
    with pytest.raises(BadInput, match="exactly one"):
        mind.forget(fact.id, query="one")
    with pytest.raises(BadInput, match="no word"):
        mind.forget(query="?!")


def test_a_scope_forgets_only_what_it_sees(mind: Mind) -> None:
    """R6"""
    mind.observe("the plan is bold", scope=Scope(person="ana"))
    theirs = mind.observe("the plan is bold", scope=Scope(person="ben"))
    mind.forget(query="plan", scope=Scope(person="ana"))
    assert [memory.id for memory in mind.scan(Scope.owner())] == [theirs.id]
    with pytest.raises(NotFound):
        mind.forget(theirs.id, scope=Scope(person="ana"))


def test_what_was_forgotten_cannot_be_forgotten_again(mind: Mind) -> None:
    fact = mind.remember("once only")
    mind.forget(fact.id)
    with pytest.raises(NotFound, match="was forgotten"):
        mind.forget(fact.id)
    assert mind.forget(query="once only").retired == ()


def test_changes_are_undone_one_after_the_other_newest_first(mind: Mind) -> None:
    fact = mind.remember("the shop is open")
    second = mind.update(fact.id, text="the shop is closed")
    third = mind.update(fact.id, text="the shop has moved")
    with pytest.raises(UndoConflict) as conflict:
        mind.undo(second.commit)
    assert conflict.value.commits == (third.commit,)
    mind.undo(third.commit)
    mind.undo(second.commit)
    assert mind.get(fact.id).text == "the shop is open"
    mind.undo(fact.commit)
    assert not list(mind.scan())


def test_undoing_an_undo_brings_the_sightings_back(mind: Mind) -> None:
    told = mind.observe("the pump works", message_id="m1")
    fact = mind.remember("the pump works", confidence=0.5)
    derived = mind.remember("pump: fine", source=Source(memory_ids=(told.id,)))
    mind.remember("the pump works", confidence=0.5)
    again = mind.log(Scope.owner())[0]
    undone = mind.undo(again.id)
    assert mind.get(fact.id).confidence == 0.5
    mind.undo(undone.id)
    assert mind.get(fact.id).confidence == 0.75
    mind.undo(mind.undo(derived.commit).id)
    mind.forget(told.id)
    with pytest.raises(NotFound):
        mind.get(derived.id)


def test_the_same_source_told_again_makes_nothing_surer(mind: Mind) -> None:
    turn = mind.observe("I think it opens at nine", trust="other")
    for _ in range(3):
        fact = mind.remember("it opens at nine", source=Source(memory_ids=(turn.id,)), confidence=0.3)
    assert fact.confidence == 0.3
    assert mind.remember("it opens at nine", confidence=0.3, trust="other").confidence == 0.5
