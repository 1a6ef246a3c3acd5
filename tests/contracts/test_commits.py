"""Commits: numbered, in order of time, all or nothing, and kept apart by space (R4, R12)."""

import threading
from datetime import timedelta

import pytest

from reverie import BadInput, Mind, NotFound, Scope, Source, StoreError
from reverie.store.base import Store
from tests.contracts.worlds import START, Clock, add, found, owner


def test_commits_are_counted_from_one_in_each_space(mind: Mind) -> None:
    for text in ("one apple", "two apples", "three apples"):
        mind.observe(text)
    mind.observe("elsewhere", scope=Scope("attic"))
    assert [commit.seq for commit in mind.log(Scope.owner())] == [3, 2, 1]
    assert [commit.seq for commit in mind.log(Scope.owner("attic"))] == [1]


@pytest.mark.parametrize("step", [timedelta(0), timedelta(hours=-5), timedelta(microseconds=1)])
def test_recorded_time_runs_forward_whatever_the_clock_does(mind: Mind, clock: Clock, step: timedelta) -> None:
    """R4: the order of commits is the order of their times."""
    times = []
    for number in range(5):
        times.append(mind.observe(f"note {number}").recorded_at)
        clock.now += step
    assert times == sorted(set(times))
    assert times[0] == START
    assert [commit.at for commit in reversed(mind.log(Scope.owner()))] == times


def test_recorded_time_is_the_clocks_when_the_clock_is_ahead(mind: Mind, clock: Clock) -> None:
    mind.observe("before")
    clock.pass_(days=3)
    assert mind.observe("after").recorded_at == START + timedelta(days=3)


def test_a_commit_says_who_when_and_why_and_what_it_touched(mind: Mind) -> None:
    first = mind.remember("the tap drips", scope=Scope(person="ana"))
    mind.update(first.id, text="the tap is mended", reason="the plumber came", scope=Scope(person="ana"))
    change, telling = mind.log(Scope.owner())
    assert (telling.by, telling.why, telling.added, telling.retired) == ("ana", "remembered", (first.id,), ())
    assert (change.by, change.why, change.added, change.retired) == ("ana", "the plumber came", (first.id,), (first.id,))
    assert change.id == mind.get(first.id).commit


def test_a_failed_block_leaves_nothing(store: Store) -> None:
    def fail() -> None:
        with store.writing("default", "owner", "test", START) as draft:
            add(draft, "half written")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading("default") as view:
        assert (view.last_seq(), view.scan(owner())) == (0, [])
    assert store.spaces() == []
    with store.writing("default", "owner", "test", START) as draft:
        add(draft, "wholly written")
    with store.reading("default") as view:
        assert (view.last_seq(), [memory.text for memory in view.scan(owner())]) == (1, ["wholly written"])


def test_a_block_that_fails_after_others_takes_back_only_itself(store: Store) -> None:
    with store.writing("default", "owner", "test", START) as draft:
        kept = add(draft, "the lamp is green")

    def fail() -> None:
        with store.writing("default", "owner", "test", START) as draft:
            draft.retire(kept)
            add(draft, "the lamp is red")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading("default") as view:
        assert [(memory.text, memory.retired_at) for memory in view.scan(owner())] == [("the lamp is green", None)]


def test_an_empty_block_leaves_no_commit(store: Store) -> None:
    with store.writing("default", "owner", "nothing to say", START):
        pass
    with store.reading("default") as view:
        assert view.last_seq() == 0
    assert store.spaces() == []


def test_a_call_that_changes_nothing_leaves_no_commit(mind: Mind) -> None:
    turn = mind.observe("good morning", message_id="1")
    mind.observe("good morning", message_id="1")
    mind.pin(turn.id)
    mind.pin(turn.id)
    mind.restore(turn.id)
    mind.update(turn.id, text="good morning")
    assert [commit.why for commit in mind.log(Scope.owner())] == ["pinned", "observed"]


def test_a_draft_sees_its_own_changes_and_nobody_else_does(store: Store) -> None:
    with store.writing("default", "owner", "test", START) as draft:
        id = add(draft, "seen from inside")
        assert draft.get(id, owner()) is not None
        with store.reading("default") as outside:
            assert outside.get(id, owner()) is None
    with store.reading("default") as after:
        assert after.get(id, owner()) is not None


def test_a_snapshot_does_not_move_while_others_write(store: Store) -> None:
    with store.writing("default", "owner", "test", START) as draft:
        id = add(draft, "the first")
    with store.reading("default") as view:
        assert len(view.scan(owner())) == 1

        def change() -> None:
            with store.writing("default", "owner", "test", START) as draft:
                draft.retire(id)
                add(draft, "the second")

        writer = threading.Thread(target=change)
        writer.start()
        writer.join()
        assert [memory.text for memory in view.scan(owner())] == ["the first"]
        assert view.last_seq() == 1
    with store.reading("default") as view:
        assert [memory.text for memory in view.scan(owner())] == ["the second"]


def test_reading_a_space_never_written_is_empty_and_creates_nothing(mind: Mind) -> None:
    """R6"""
    nowhere = Scope("nowhere", person="ana")
    assert mind.recall("anything", scope=nowhere).hits == ()
    assert list(mind.scan(nowhere)) == []
    assert mind.log(nowhere) == ()
    assert mind.diff(START, START + timedelta(days=1), nowhere).added == ()
    assert mind.working(nowhere).get() is None
    assert mind.scratchpad(nowhere, "tea").get() is None
    assert mind.recent(nowhere).get() == ()
    assert mind.people.find("ana", nowhere) == ()
    assert mind.forget(query="anything", scope=nowhere).retired == ()
    assert mind.erase(query="anything", scope=nowhere).erased == ()
    assert mind.status(nowhere).memories == 0
    with pytest.raises(NotFound):
        mind.retract("1", scope=nowhere)
    assert mind.status().spaces == ()


def test_clearing_what_was_never_there_creates_nothing(mind: Mind) -> None:
    mind.working(Scope("nowhere")).clear()
    mind.scratchpad(Scope("nowhere"), "tea").clear()
    assert mind.status().spaces == ()


def test_a_refused_first_write_creates_no_space(mind: Mind) -> None:
    """A folder keeps a file for it; it is not a space until something is in it."""
    with pytest.raises(NotFound):
        mind.remember("derived", source=Source(memory_ids=("m-0000000000-0000000000000000000",)))
    assert mind.status().spaces == ()
    mind.remember("told")
    assert [space.space for space in mind.status().spaces] == ["default"]


def test_spaces_know_nothing_of_each_other(mind: Mind) -> None:
    """R6: an id of one space is not found in the scope of another."""
    here = mind.observe("the key is under the mat", scope=Scope("home"))
    mind.observe("the key is C minor", scope=Scope("choir"))
    assert found(mind, "key", Scope("choir")) == {"the key is C minor"}
    with pytest.raises(NotFound):
        mind.get(here.id, scope=Scope("choir"))
    with pytest.raises(NotFound):
        mind.undo(here.commit, scope=Scope.owner("choir"))
    with pytest.raises(BadInput):
        list(mind.scan(Scope("choir"), after=here.id))
    assert mind.get(here.id).text == "the key is under the mat"


def test_only_whole_ids_name_anything(mind: Mind) -> None:
    """The part of an id behind its space is no id: not of a memory, a source or a commit."""
    fact = mind.remember("the cellar is dry")
    tail, moment = fact.id.rpartition("-")[2], fact.commit.rpartition("-")[2]
    with pytest.raises(NotFound):
        mind.get(tail)
    with pytest.raises(NotFound):
        mind.remember("the cellar is fine", source=Source(memory_ids=(tail,)))
    for half in (moment, f"m-{moment}", fact.id):
        with pytest.raises(NotFound):
            mind.recall("cellar", as_of=half)


def test_a_stores_views_take_only_whole_ids(store: Store) -> None:
    with store.writing("default", "owner", "test", START) as draft:
        id = add(draft, "the cellar is dry")
    with store.reading("default") as view:
        commit = view.commits(Scope.owner())[0].id
        assert view.get(id, owner()) is not None
        assert view.find_commit(commit, Scope.owner()) is not None
        assert view.get(id.rpartition("-")[2], owner()) is None
        assert view.history(id.rpartition("-")[2], Scope.owner()) == []
        assert view.find_commit(commit.rpartition("-")[2], Scope.owner()) is None


def test_the_log_of_a_scope_counts_and_names_only_what_it_sees(mind: Mind) -> None:
    """R6"""
    mind.observe("for everyone")
    mind.observe("for Ben only", scope=Scope(person="ben"))
    mine = mind.observe("for Ana only", scope=Scope(person="ana"))
    log = mind.log(Scope(person="ana"))
    assert [(commit.seq, len(commit.added)) for commit in log] == [(2, 1), (1, 1)]
    assert log[0].added == (mine.id,)
    assert len(mind.log(Scope.owner())) == 3
    assert len(mind.log(Scope.owner(), limit=2)) == 2


def test_the_log_since_a_moment(mind: Mind, clock: Clock) -> None:
    mind.observe("early")
    clock.pass_(hours=1)
    late = mind.observe("late")
    assert [commit.added for commit in mind.log(Scope.owner(), since=clock.now)] == [(late.id,)]
    assert mind.log(Scope.owner(), since=clock.now + timedelta(seconds=1)) == ()


def test_a_closed_mind_says_so_and_may_be_closed_again(mind: Mind) -> None:
    turn = mind.observe("goodbye")
    mind.close()
    mind.close()
    with pytest.raises(StoreError, match="closed"):
        mind.recall("goodbye")
    with pytest.raises(StoreError, match="closed"):
        mind.observe("hello again")
    with pytest.raises(StoreError, match="closed"):
        mind.get(turn.id)


def test_many_threads_write_one_space_without_losing_anything(mind: Mind) -> None:
    failures: list[BaseException] = []

    def tell(number: int) -> None:
        try:
            for turn in range(5):
                mind.observe(f"thread {number} says {turn}")
        except BaseException as exc:
            failures.append(exc)

    threads = [threading.Thread(target=tell, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    log = mind.log(Scope.owner(), limit=100)
    assert [commit.seq for commit in log] == list(range(30, 0, -1))
    assert len({commit.at for commit in log}) == 30
    assert len(list(mind.scan())) == 30
