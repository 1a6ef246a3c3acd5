"""Vectors: exact, per model, gone with the text they were made of (C2, R8)."""

import math
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from reverie import BadInput, Scope
from reverie.store.base import Erasure, Store, Vector, View, Where
from tests.contracts.worlds import KINDS, START, add, owner, store_of

HALF = 2e-3  # a store may keep half floats


def told(store: Store, *texts: str) -> list[str]:
    """Keep facts in one commit, and return their ids."""
    with store.writing("default", "owner", "test", START) as draft:
        return [add(draft, text) for text in texts]


def near(
    store: Store, values: Sequence[float], model: str = "m", where: Where | None = None, limit: int = 10
) -> list[tuple[str, float]]:
    """Return the texts nearest to a vector, with their cosines."""
    asked = where or owner()
    with store.reading("default") as view:
        matches = view.search_vectors(values, model, asked, limit).matches
        memories = view.fetch([match.key for match in matches], asked.at)
    return [(memory.text, match.score) for memory, match in zip(memories, matches, strict=True)]


def erase(store: Store, id: str) -> None:
    """Erase one memory and nothing else."""
    store.erase("default", lambda view: Erasure((id,), (id,)), "owner", START)


def names(hits: list[tuple[str, float]]) -> list[str]:
    return [text for text, _ in hits]


def test_the_nearest_by_cosine_come_first_whatever_their_length(store: Store) -> None:
    a, b, c = told(store, "east", "north-east", "west")
    kept = [Vector(a, 1, (5.0, 0.0)), Vector(b, 1, (0.1, 0.1)), Vector(c, 1, (-3.0, 0.0))]
    assert store.put_vectors("default", "m", kept) == 3
    hits = near(store, (2.0, 0.0))
    assert names(hits) == ["east", "north-east", "west"]
    assert [score for _, score in hits] == pytest.approx([1.0, math.sqrt(0.5), -1.0], abs=HALF)
    assert names(near(store, (2.0, 0.0), limit=1)) == ["east"]


def test_models_are_never_mixed(store: Store) -> None:
    a, b = told(store, "one", "two")
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.0))])
    store.put_vectors("default", "other", [Vector(b, 1, (1.0, 0.0, 0.0))])
    assert names(near(store, (1.0, 0.0))) == ["one"]
    assert names(near(store, (1.0, 0.0, 0.0), model="other")) == ["two"]
    assert near(store, (1.0, 0.0), model="unheard of") == []


def test_one_vector_does_for_a_text_and_for_the_same_between_its_neighbours(store: Store) -> None:
    """Its cosine is the mean of theirs: the length that the mean loses is not given back."""
    a, b = told(store, "alone", "between")
    store.put_vectors("default", "m", [Vector(a, 1, (2.0, 0.0)), Vector(b, 1, (9.0, 0.0), between=(0.0, 0.1))])
    for sought, scores in (((1.0, 0.0), (1.0, 0.5)), ((0.0, 1.0), (0.0, 0.5)), ((1.0, 1.0), (0.7071, 0.7071))):
        found = dict(near(store, sought))
        assert [found["alone"], found["between"]] == pytest.approx(scores, abs=HALF)
    for wrong, says in (((1.0,), "numbers"), ((math.nan, 0.0), "finite")):
        with pytest.raises(BadInput, match=says):
            store.put_vectors("default", "m", [Vector(b, 1, (1.0, 0.0), between=wrong)])
    assert near(store, (0.0, 1.0))[0][1] == pytest.approx(0.5, abs=HALF)


def test_the_vectors_of_what_is_believed_can_be_read(store: Store) -> None:
    """Of a text in parts the first, never one of another model or of a past version."""
    a, b, c = told(store, "long", "changed", "none")
    parts = [Vector(a, 1, (1.0, 0.0)), Vector(a, 1, (0.0, 1.0), part=1)]
    store.put_vectors("default", "m", [*parts, Vector(b, 1, (3.0, 4.0))])
    store.put_vectors("default", "other", [Vector(c, 1, (1.0, 0.0))])
    with store.reading("default") as view:
        found = view.vectors_of([a, b, c, "m-0000000000-unknown"], "m")
        assert view.vectors_of([a], "unheard of") == {}
    assert {id: vector.tolist() for id, vector in found.items()} == {a: [1.0, 0.0], b: pytest.approx([0.6, 0.8], abs=HALF)}
    with store.writing("default", "owner", "test", START) as draft:
        draft.retire(b)
    with store.reading("default") as view:
        assert list(view.vectors_of([a, b], "m")) == [a]


def test_of_several_parts_the_best_counts_once(store: Store) -> None:
    a, b = told(store, "long", "short")
    parts = [Vector(a, 1, (math.cos(x), math.sin(x)), part) for part, x in enumerate((1.5, 0.1, 3.0))]
    store.put_vectors("default", "m", [*parts, Vector(b, 1, (1.0, 1.0))])
    hits = near(store, (1.0, 0.0))
    assert names(hits) == ["long", "short"]
    assert hits[0][1] == pytest.approx(math.cos(0.1), abs=HALF)
    assert names(near(store, (1.0, 0.0), limit=1)) == ["long"]


def test_the_limit_counts_memories_even_if_one_has_most_of_the_parts(store: Store) -> None:
    a, *others = told(store, "greedy", "b", "c", "d")
    many = [Vector(a, 1, (1.0, part / 1_000), part) for part in range(60)]
    store.put_vectors("default", "m", [*many, *(Vector(id, 1, (1.0, 1.0)) for id in others)])
    assert names(near(store, (1.0, 0.0), limit=4)) == ["greedy", "d", "c", "b"]


def test_a_vector_put_again_takes_the_place_of_the_old_one(store: Store) -> None:
    (a,) = told(store, "turned")
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.0))])
    assert near(store, (1.0, 0.0))[0][1] == pytest.approx(1, abs=HALF)
    store.put_vectors("default", "m", [Vector(a, 1, (0.0, 1.0))])
    assert near(store, (1.0, 0.0))[0][1] == pytest.approx(0, abs=HALF)
    store.put_vectors("default", "m", [Vector(a, 1, (-1.0, 0.0), part=1)])
    assert near(store, (1.0, 0.0))[0][1] == pytest.approx(0, abs=HALF)
    store.put_vectors("default", "m", [Vector(a, 1, (-1.0, 0.0))])
    assert near(store, (1.0, 0.0))[0][1] == pytest.approx(-1, abs=HALF)
    everything = Where(Scope.owner(), ever=True)
    assert near(store, (1.0, 0.0), where=everything) == near(store, (1.0, 0.0))


def test_a_vector_of_another_length_is_refused(store: Store) -> None:
    (a,) = told(store, "flat")
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.0))])
    with pytest.raises(BadInput, match="3 numbers"):
        near(store, (1.0, 0.0, 0.0))
    with pytest.raises(BadInput, match="3 numbers"):
        store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.0, 0.0))])
    with pytest.raises(BadInput, match="in one call"):
        store.put_vectors("default", "n", [Vector(a, 1, (1.0,)), Vector(a, 1, (1.0, 0.0))])
    with pytest.raises(BadInput, match="finite"):
        store.put_vectors("default", "n", [Vector(a, 1, (math.nan,))])
    with pytest.raises(BadInput, match="finite"):
        near(store, (math.inf, 0.0))
    assert near(store, (1.0,), model="n") == []


def test_a_models_length_outlives_its_last_vector(store: Store) -> None:
    """Two stores once told different lengths here."""
    a, b = told(store, "here", "there")
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.0), uses=((b, 1),))])
    with pytest.raises(BadInput, match="3 numbers"):
        near(store, (1.0, 0.0, 0.0))
    with store.writing("default", "owner", "test", START) as draft:
        draft.retire(b)
    assert near(store, (1.0, 0.0)) == []
    with pytest.raises(BadInput, match="3 numbers"):
        store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.0, 0.0))])


def test_no_vectors_are_nothing_to_keep(store: Store) -> None:
    assert store.put_vectors("nowhere", "m", []) == 0
    assert store.spaces() == []


def test_vectors_of_versions_that_are_gone_are_left_out(store: Store) -> None:
    a, b = told(store, "one", "two")
    with store.writing("default", "owner", "test", START) as draft:
        draft.retire(b)
    kept = store.put_vectors(
        "default",
        "m",
        [
            Vector(a, 1, (1.0, 0.0)),
            Vector(a, 2, (1.0, 0.0)),
            Vector(a[:-3] + "???", 1, (1.0, 0.0)),
        ],
    )
    assert kept == 1


def test_a_vector_that_uses_what_is_gone_takes_the_older_one_with_it(store: Store) -> None:
    """Else a text would keep a vector made with neighbours that it no longer has, and nobody would know."""
    a, b, c = told(store, "one", "two", "three")
    store.put_vectors("default", "m", [Vector(id, 1, (1.0, 0.0)) for id in (a, c)])
    with store.writing("default", "owner", "test", START) as draft:
        draft.retire(b)
    again = [Vector(a, 1, (1.0, 0.0), uses=((c, 1), (b, 1))), Vector(c, 1, (1.0, 0.0), uses=((a, 1),))]
    assert store.put_vectors("default", "m", again) == 1
    assert names(near(store, (1.0, 0.0))) == ["three"]
    with store.reading("default") as view:
        assert [memory.text for memory in view.without_vectors("m", None)] == ["one", "two"]


def test_a_retired_version_is_not_found_now_but_as_of_then(store: Store) -> None:
    """R4"""
    a, b = told(store, "stays", "goes")
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.0)), Vector(b, 1, (1.0, 0.1))])
    assert names(near(store, (1.0, 0.0))) == ["stays", "goes"]
    with store.writing("default", "owner", "test", START) as draft:
        draft.retire(b)
    assert names(near(store, (1.0, 0.0))) == ["stays"]
    assert names(near(store, (1.0, 0.0), where=Where(Scope.owner(), at=1))) == ["stays", "goes"]
    assert near(store, (1.0, 0.0), where=Where(Scope.owner(), at=0)) == []
    assert names(near(store, (1.0, 0.0), where=Where(Scope.owner(), retired=True))) == ["stays", "goes"]
    assert names(near(store, (1.0, 0.0), where=Where(Scope.owner(), ever=True))) == ["stays", "goes"]


@pytest.mark.parametrize("how", ["retired", "changed", "erased"])
def test_a_window_goes_when_a_text_it_was_made_of_goes(store: Store, how: str) -> None:
    """R8: a vector holds something of every text that went into it."""
    a, b, c = told(store, "first of three", "second of three", "third of three")
    vectors = [Vector(a, 1, (1.0, 0.0), uses=((b, 1),)), Vector(b, 1, (-1.0, 0.0)), Vector(c, 1, (0.0, 1.0))]
    for model in "mn":
        store.put_vectors("default", model, vectors)
    assert names(near(store, (1.0, 0.0))) == ["first of three", "third of three", "second of three"]
    if how == "erased":
        erase(store, b)
    else:
        with store.writing("default", "owner", "test", START) as draft:
            if how == "retired":
                draft.retire(b)
            else:
                draft.add(draft.history(b, Scope.owner())[0])
    assert names(near(store, (1.0, 0.0))) == ["third of three"]
    believed_then = near(store, (1.0, 0.0), where=Where(Scope.owner(), at=1))
    assert names(believed_then) == ["third of three", *(["second of three"] if how != "erased" else [])]
    with store.reading("default") as view:
        for model in "mn":
            lacking = [(memory.text, memory.version) for memory in view.without_vectors(model, None)]
            assert lacking == [("first of three", 1), *([("second of three", 2)] if how == "changed" else [])]
            assert view.lacking(model) == len(lacking)
            assert view.lacks(model, owner())


def test_an_erased_memory_takes_all_its_vectors_and_perhaps_the_model(store: Store) -> None:
    """R8"""
    (a,) = told(store, "all of this goes")
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.0), part) for part in range(3)])
    erase(store, a)
    assert near(store, (1.0, 0.0)) == []
    assert near(store, (1.0, 0.0, 0.0)) == []


def test_a_scope_finds_by_vector_only_what_it_may_see(store: Store) -> None:
    """R6"""
    with store.writing("default", "owner", "test", START) as draft:
        a = add(draft, "for all")
        b = add(draft, "for Ana", audience=Scope(person="ana"))
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 0.5)), Vector(b, 1, (1.0, 0.0))])
    assert names(near(store, (1.0, 0.0), where=Where(Scope()), limit=1)) == ["for all"]
    assert names(near(store, (1.0, 0.0), where=Where(Scope(person="ana")))) == ["for Ana", "for all"]
    assert names(near(store, (1.0, 0.0), where=Where(Scope(channel="hall", person="ana")))) == ["for all"]


def test_filters_hold_for_vectors_too(store: Store) -> None:
    a, b = told(store, "fact one", "fact two")
    store.put_vectors("default", "m", [Vector(id, 1, (1.0, 0.0)) for id in (a, b)])
    assert near(store, (1.0, 0.0), where=Where(Scope.owner(), kinds=("lesson",))) == []
    assert len(near(store, (1.0, 0.0), where=Where(Scope.owner(), kinds=("fact",)))) == 2
    assert near(store, (1.0, 0.0), where=Where(Scope.owner(), tags=("x",))) == []


def test_a_vector_without_length_is_near_nothing(store: Store) -> None:
    (a,) = told(store, "mute")
    store.put_vectors("default", "m", [Vector(a, 1, (0.0, 0.0))])
    assert near(store, (1.0, 0.0)) == [("mute", 0.0)]
    assert near(store, (0.0, 0.0)) == [("mute", 0.0)]


def test_beside_the_nearest_the_cosine_of_any_other_can_be_asked_for_and_the_lowest_is_of_all(store: Store) -> None:
    a, b, c, d = told(store, "east", "north-east", "north", "west")
    angles = {a: 0.0, b: 0.8, c: 1.6, d: 3.1}
    store.put_vectors("default", "m", [Vector(id, 1, (math.cos(x), math.sin(x))) for id, x in angles.items()])
    with store.reading("default") as view:
        keys = {memory.text: key for key in all_keys(view) for memory in view.fetch([key])}

        near = view.search_vectors((1.0, 0.0), "m", owner(), 2)
        assert [memory.text for memory in view.fetch([match.key for match in near.matches])] == ["east", "north-east"]
        assert near.lowest == pytest.approx(-1, abs=HALF)
        assert near.others([keys["west"], 10**9]) == {keys["west"]: pytest.approx(math.cos(3.1), abs=HALF)}
        assert near.others(keys.values()).keys() == set(keys.values())
        assert near.others([]) == {}
        nothing = view.search_vectors((1.0, 0.0), "m", Where(Scope.owner(), kinds=("turn",)), 2)
        assert (nothing.matches, nothing.lowest, nothing.others(keys.values())) == ([], 0.0, {})


def test_one_aside_in_a_long_text_is_not_the_lowest_of_all(store: Store) -> None:
    a, b = told(store, "long", "short")
    vectors = [Vector(a, 1, (1.0, 0.0)), Vector(a, 1, (-1.0, 0.0), part=1), Vector(b, 1, (1.0, 1.0))]
    store.put_vectors("default", "m", vectors)
    with store.reading("default") as view:
        assert view.search_vectors((1.0, 0.0), "m", owner(), 1).lowest == pytest.approx(math.sqrt(0.5), abs=HALF)


def test_neither_what_is_asked_for_nor_the_lowest_tells_of_what_may_not_be_seen(store: Store) -> None:
    """R6"""
    with store.writing("default", "owner", "test", START) as draft:
        a, b = add(draft, "for all"), add(draft, "for Ana", audience=Scope(person="ana"))
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 1.0)), Vector(b, 1, (-1.0, 0.0))])
    with store.reading("default") as view:
        near = view.search_vectors((1.0, 0.0), "m", Where(Scope()), 5)
        assert len(near.others(all_keys(view))) == 1
        assert [memory.text for memory in view.fetch([match.key for match in near.matches])] == ["for all"]
        assert near.lowest == pytest.approx(math.sqrt(0.5), abs=HALF)


def test_only_what_a_question_is_about_is_said_to_lack_its_vector(store: Store) -> None:
    """R6"""
    with store.writing("default", "owner", "test", START) as draft:
        a, _ = add(draft, "for all"), add(draft, "for Ana", audience=Scope(person="ana"))
    with store.writing("default", "owner", "test", START) as draft:
        gone = add(draft, "no longer believed")
    with store.writing("default", "owner", "test", START) as draft:
        draft.retire(gone)
    store.put_vectors("default", "m", [Vector(a, 1, (1.0, 1.0))])
    with store.reading("default") as view:
        assert (view.lacking("m"), view.lacking("other")) == (2, 3)
        asked = (Scope(), Scope(person="ana"), Scope(person="luis"), Scope(channel="hall", person="ana"), Scope.owner())
        assert [view.lacks("m", Where(scope)) for scope in asked] == [False, True, False, False, True]
        assert view.lacks("m", Where(Scope(), at=view.last_seq() - 1))
        assert not view.lacks("m", Where(Scope(), at=1))
        assert view.lacks("m", Where(Scope(), retired=True))
        assert not view.lacks("m", Where(Scope(person="ana"), kinds=("turn",)))


def test_the_vectors_of_other_models_can_be_dropped(store: Store) -> None:
    a, b = told(store, "one", "two")
    for model in ("old", "older", "new"):
        store.put_vectors("default", model, [Vector(id, 1, (1.0, 0.0)) for id in (a, b)])
    assert store.drop_vectors("default", "new") == 4
    assert near(store, (1.0, 0.0), model="old") == near(store, (1.0,), model="older") == []
    assert names(near(store, (1.0, 0.0), model="new")) == ["two", "one"]
    with store.reading("default") as view:
        assert (view.lacking("new"), view.lacking("old")) == (0, 2)
    assert (store.drop_vectors("default", "new"), store.drop_vectors("nowhere", "new")) == (0, 0)
    store.put_vectors("default", "old", [Vector(a, 1, (1.0, 0.0, 0.0))])
    assert names(near(store, (1.0, 0.0, 0.0), model="old")) == ["one"]
    assert store.spaces() == ["default"]


def test_a_vector_has_to_be_a_list_of_numbers_however_large(store: Store) -> None:
    (a,) = told(store, "far out")
    store.put_vectors("default", "m", [Vector(a, 1, (1e300, 0.0))])
    assert near(store, (1e-300, 0.0))[0][1] == pytest.approx(1, abs=HALF)
    for values in ("ab", ("x", "y"), (None, {}), object()):
        with pytest.raises(BadInput, match="list of numbers"):
            near(store, values)  # type: ignore[arg-type]


def test_one_at_a_time_is_at_a_task_and_who_was_turned_away_changes_nothing(store: Store) -> None:
    with store.alone("embedding") as first, store.alone("embedding") as second, store.alone("other") as third:
        assert (first, second, third) == (True, False, True)
    with store.alone("embedding") as again:
        assert again


def all_keys(view: View) -> list[int]:
    return [match.key for match in view.newest(Where(Scope.owner(view.space)), 1_000)]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.stress) for seed in range(1, 40))])
def test_every_store_knows_the_same_of_what_lacks_its_vectors(seed: int, tmp_path: Path) -> None:
    """Whatever is added, changed, retired, erased, embedded and dropped in whatever order."""
    stores = {kind: store_of(kind, tmp_path / kind) for kind in KINDS}
    chance = random.Random(seed)
    ids: dict[str, list[str]] = {kind: [] for kind in KINDS}  # the same memories under each store's own ids
    owner = Scope.owner()
    for step in range(120):
        act = chance.choice(("add", "add", "change", "retire", "erase", "embed", "embed", "embed some", "drop"))
        place, model, some = chance.randrange(max(1, len(ids["memory"]))), chance.choice("mn"), chance.random()
        for kind, store in stores.items():
            if act == "add":
                ids[kind] += told(store, *(f"text {step} {number}" for number in range(1 + step % 3)))
            elif act == "drop":
                store.drop_vectors("default", model)
            elif act in ("embed", "embed some"):
                with store.reading("default") as view:
                    lacking = view.without_vectors(model, None if act == "embed" else 3)
                    beside = view.history(ids[kind][place], owner)[-1:] if ids[kind] else []  # active, or no longer
                uses = tuple((one.id, one.version) for one in beside)
                kept = lacking[: 1 + int(some * len(lacking))]
                vectors = [Vector(one.id, one.version, (1.0, some), 0, uses if n % 2 else ()) for n, one in enumerate(kept)]
                store.put_vectors("default", model, vectors)
            elif ids[kind] and act == "erase":
                erase(store, ids[kind].pop(place))
            elif ids[kind]:
                with store.writing("default", "owner", "test", START) as draft:
                    last = draft.history(ids[kind][place], owner)[-1]
                    if act == "change":
                        draft.add(last)
                    elif last.retired_at is None:
                        draft.retire(last.id)
        known = []
        for store in stores.values():
            with store.reading("default") as view:
                left = {model: view.without_vectors(model, None) for model in "mn"}
                assert all(view.lacking(model) == len(found) for model, found in left.items())
                assert all(view.lacks(model, Where(owner, ever=True)) == bool(left[model]) for model in "mn")
                known.append({model: [(one.text, one.version) for one in found] for model, found in left.items()})
        assert known[0] == known[1], (step, act)
    for store in stores.values():
        store.close()
