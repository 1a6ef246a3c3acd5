"""Where two stores once answered differently; the rule is the one both keep now (R12)."""

from pathlib import Path

import pytest

from reverie import CannotUndo, Mind, Scope, Source
from tests.contracts.worlds import Clock, NewMind


def test_a_copy_made_twice_in_one_place_is_named_once(mind: Mind, tmp_path: Path) -> None:
    """R8: the proof of an erase lists what it could not reach, each once, in order."""
    turn = mind.observe("copied more than once")
    for name in ("b.jsonl", "a.jsonl", "b.jsonl"):
        mind.export(tmp_path / name)
    proof = mind.erase(turn.id)
    assert proof.unreachable == (f"export: {tmp_path / 'a.jsonl'}", f"export: {tmp_path / 'b.jsonl'}")


def test_an_export_does_not_change_a_snapshot_taken_before(mind: Mind, tmp_path: Path) -> None:
    turn = mind.observe("copied later")
    would = mind.erase(turn.id, dry_run=True)
    mind.export(tmp_path / "a.jsonl")
    assert would.unreachable == ()
    assert len(mind.erase(turn.id, dry_run=True).unreachable) == 1


def test_erased_members_are_listed_by_age_whichever_went_first(mind: Mind) -> None:
    """R8"""
    mind.observe_many({"text": f"member number {number}"} for number in range(4))
    ids = [memory.id for memory in mind.scan()]
    for id in (ids[2], ids[0], ids[3]):
        mind.erase(id)
    assert mind.log(Scope.owner())[-1].erased == (ids[0], ids[2], ids[3])


@pytest.mark.parametrize("target", ["memory", "folder"])
def test_every_sighting_of_an_erased_source_goes_even_if_one_load_brought_several(
    mind: Mind, new_mind: NewMind, clock: Clock, tmp_path: Path, target: str
) -> None:
    """R8: told twice of one source, loaded beside something else, the two share a commit; both must go."""
    turn = mind.observe("the safe opens with a hairpin", message_id="1")
    other = mind.observe("he carries one")
    for memory_id, quote in ((turn.id, "opens with a hairpin"), (turn.id, "opens with a hairpin"), (other.id, None)):
        mind.remember("Ben can open the safe", source=Source(memory_ids=(memory_id,), quote=quote))
        clock.pass_(hours=1)
    fresh = new_mind(target)
    fresh.observe("something else")
    fresh.load(mind.export(tmp_path / "all.jsonl"))
    fresh.erase(turn.id)
    written = fresh.export(tmp_path / "after.jsonl").read_text()
    assert "Ben can open the safe" in written
    assert "hairpin" not in written


def test_a_reason_that_reads_erased_is_a_reason_like_any_other(mind: Mind) -> None:
    """R8: it goes with what it was given for, and the commit is no erase."""
    fact = mind.remember("the old address of Ana")
    gone = mind.forget(fact.id, reason="erased")
    mind.erase(fact.id)
    assert [commit.why for commit in mind.log(Scope.owner())] == ["erased", "", ""]
    with pytest.raises(CannotUndo, match="nothing of it is left"):
        mind.undo(gone.id)


def test_what_a_caller_does_with_an_answer_changes_nothing_kept(mind: Mind) -> None:
    given: dict[str, object] = {"rooms": ["hall"]}
    fact = mind.remember("the house is big", extra=given)
    for memory in (fact, mind.get(fact.id), mind.recall("house").hits[0].memory, *mind.scan(), *mind.history(fact.id)):
        assert isinstance(memory.extra, dict)
        memory.extra["rooms"].append("attic")
        memory.extra["garden"] = True
    given["cellar"] = True
    assert mind.get(fact.id).extra == {"rooms": ["hall"]}
