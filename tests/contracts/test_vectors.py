"""Vectors: exact, per model and grain, gone with the text they were made of (C2, R8)."""

import math
from collections.abc import Sequence

import pytest

from reverie import BadInput, Scope
from reverie.store.base import Erasure, Store, Vector, Where
from tests.contracts.worlds import START, add, owner

HALF = 2e-3  # a store may keep half floats


def told(store: Store, *texts: str) -> list[str]:
    """Keep facts in one commit, and return their ids."""
    with store.writing("default", "owner", "test", START) as draft:
        return [add(draft, text) for text in texts]


def near(
    store: Store, values: Sequence[float], model: str = "m", grain: str = "turn", where: Where | None = None, limit: int = 10
) -> list[tuple[str, float]]:
    """Return the texts nearest to a vector, with their cosines."""
    asked = where or owner()
    with store.reading("default") as view:
        matches = view.search_vectors(values, model, grain, asked, limit).matches
        memories = view.fetch([match.key for match in matches], asked.at)
    return [(memory.text, match.score) for memory, match in zip(memories, matches, strict=True)]


def erase(store: Store, id: str) -> None:
    """Erase one memory and nothing else."""
    store.erase("default", lambda view: Erasure((id,), (id,)), "owner", START)


def names(hits: list[tuple[str, float]]) -> list[str]:
    return [text for text, _ in hits]


def test_the_nearest_by_cosine_come_first_whatever_their_length(store: Store) -> None:
    a, b, c = told(store, "east", "north-east", "west")
    kept = [Vector(a, 1, "turn", (5.0, 0.0)), Vector(b, 1, "turn", (0.1, 0.1)), Vector(c, 1, "turn", (-3.0, 0.0))]
    assert store.put_vectors("default", "m", kept) == 3
    hits = near(store, (2.0, 0.0))
    assert names(hits) == ["east", "north-east", "west"]
    assert [score for _, score in hits] == pytest.approx([1.0, math.sqrt(0.5), -1.0], abs=HALF)
    assert names(near(store, (2.0, 0.0), limit=1)) == ["east"]


def test_models_and_grains_are_never_mixed(store: Store) -> None:
    a, b = told(store, "one", "two")
    store.put_vectors("default", "m", [Vector(a, 1, "turn", (1.0, 0.0)), Vector(b, 1, "window", (1.0, 0.0))])
    store.put_vectors("default", "other", [Vector(b, 1, "turn", (1.0, 0.0, 0.0))])
    assert names(near(store, (1.0, 0.0))) == ["one"]
    assert names(near(store, (1.0, 0.0), grain="window")) == ["two"]
    assert names(near(store, (1.0, 0.0, 0.0), model="other")) == ["two"]
    assert near(store, (1.0, 0.0), model="unheard of") == []
    assert near(store, (1.0, 0.0), model="unheard of", grain="window") == []


def test_of_several_parts_the_best_counts_once(store: Store) -> None:
    a, b = told(store, "long", "short")
    parts = [Vector(a, 1, "window", (math.cos(x), math.sin(x)), part) for part, x in enumerate((1.5, 0.1, 3.0))]
    store.put_vectors("default", "m", [*parts, Vector(b, 1, "window", (1.0, 1.0))])
    hits = near(store, (1.0, 0.0), grain="window")
    assert names(hits) == ["long", "short"]
    assert hits[0][1] == pytest.approx(math.cos(0.1), abs=HALF)
    assert names(near(store, (1.0, 0.0), grain="window", limit=1)) == ["long"]


def test_the_limit_counts_memories_even_if_one_has_most_of_the_parts(store: Store) -> None:
    a, *others = told(store, "greedy", "b", "c", "d")
    many = [Vector(a, 1, "window", (1.0, part / 1_000), part) for part in range(60)]
    store.put_vectors("default", "m", [*many, *(Vector(id, 1, "window", (1.0, 1.0)) for id in others)])
    assert names(near(store, (1.0, 0.0), grain="window", limit=4)) == ["greedy", "b", "c", "d"]


def test_a_vector_put_again_takes_the_place_of_the_old_one(store: Store) -> None:
    (a,) = told(store, "turned")
    store.put_vectors("default", "m", [Vector(a, 1, "turn", (1.0, 0.0))])
    assert near(store, (1.0, 0.0))[0][1] == pytest.approx(1, abs=HALF)
    store.put_vectors("default", "m", [Vector(a, 1, "turn", (0.0, 1.0))])
    assert near(store, (1.0, 0.0))[0][1] == pytest.approx(0, abs=HALF)


def test_a_vector_of_another_length_is_refused(store: Store) -> None:
    (a,) = told(store, "flat")
    store.put_vectors("default", "m", [Vector(a, 1, "turn", (1.0, 0.0))])
    with pytest.raises(BadInput, match="3 numbers"):
        near(store, (1.0, 0.0, 0.0))
    with pytest.raises(BadInput, match="3 numbers"):
        store.put_vectors("default", "m", [Vector(a, 1, "window", (1.0, 0.0, 0.0))])
    with pytest.raises(BadInput, match="in one call"):
        store.put_vectors("default", "n", [Vector(a, 1, "turn", (1.0,)), Vector(a, 1, "window", (1.0, 0.0))])
    with pytest.raises(BadInput, match="finite"):
        store.put_vectors("default", "n", [Vector(a, 1, "turn", (math.nan,))])
    with pytest.raises(BadInput, match="finite"):
        near(store, (math.inf, 0.0))
    with pytest.raises(BadInput, match="grain"):
        store.put_vectors("default", "n", [Vector(a, 1, "page", (1.0,))])
    assert near(store, (1.0,), model="n") == []


def test_a_models_length_is_known_in_every_grain_and_outlives_its_last_vector(store: Store) -> None:
    """Two stores once told different lengths here: by the grain asked for, or by vectors that were gone."""
    a, b = told(store, "here", "there")
    store.put_vectors("default", "m", [Vector(a, 1, "window", (1.0, 0.0), uses=((b, 1),))])
    with pytest.raises(BadInput, match="3 numbers"):
        near(store, (1.0, 0.0, 0.0), grain="window")
    with store.writing("default", "owner", "test", START) as draft:
        draft.retire(b)
    assert near(store, (1.0, 0.0), grain="window") == []
    with pytest.raises(BadInput, match="3 numbers"):
        store.put_vectors("default", "m", [Vector(a, 1, "turn", (1.0, 0.0, 0.0))])


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
            Vector(a, 1, "turn", (1.0, 0.0)),
            Vector(a, 2, "turn", (1.0, 0.0)),
            Vector(a[:-3] + "???", 1, "turn", (1.0, 0.0)),
            Vector(a, 1, "window", (1.0, 0.0), uses=((b, 1),)),
        ],
    )
    assert kept == 1
    assert near(store, (1.0, 0.0), grain="window") == []


def test_a_retired_version_is_not_found_now_but_as_of_then(store: Store) -> None:
    """R4"""
    a, b = told(store, "stays", "goes")
    store.put_vectors("default", "m", [Vector(a, 1, "turn", (1.0, 0.0)), Vector(b, 1, "turn", (1.0, 0.1))])
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
    store.put_vectors(
        "default",
        "m",
        [
            Vector(a, 1, "window", (1.0, 0.0), uses=((b, 1),)),
            Vector(c, 1, "window", (0.0, 1.0)),
            Vector(a, 1, "turn", (1.0, 0.0)),
        ],
    )
    assert names(near(store, (1.0, 0.0), grain="window")) == ["first of three", "third of three"]
    if how == "erased":
        erase(store, b)
    else:
        with store.writing("default", "owner", "test", START) as draft:
            if how == "retired":
                draft.retire(b)
            else:
                draft.add(draft.history(b, Scope.owner())[0])
    assert names(near(store, (1.0, 0.0), grain="window")) == ["third of three"]
    assert names(near(store, (1.0, 0.0), grain="window", where=Where(Scope.owner(), at=1))) == ["third of three"]
    assert names(near(store, (1.0, 0.0))) == ["first of three"]


def test_an_erased_memory_takes_all_its_vectors_and_perhaps_the_model(store: Store) -> None:
    """R8"""
    (a,) = told(store, "all of this goes")
    store.put_vectors("default", "m", [Vector(a, 1, grain, (1.0, 0.0)) for grain in ("turn", "window", "window")])
    erase(store, a)
    assert all(near(store, (1.0, 0.0), grain=grain) == [] for grain in ("turn", "window", "window"))
    assert near(store, (1.0, 0.0, 0.0)) == []


def test_a_scope_finds_by_vector_only_what_it_may_see(store: Store) -> None:
    """R6"""
    with store.writing("default", "owner", "test", START) as draft:
        a = add(draft, "for all")
        b = add(draft, "for Ana", audience=Scope(person="ana"))
    store.put_vectors("default", "m", [Vector(a, 1, "turn", (1.0, 0.5)), Vector(b, 1, "turn", (1.0, 0.0))])
    assert names(near(store, (1.0, 0.0), where=Where(Scope()), limit=1)) == ["for all"]
    assert names(near(store, (1.0, 0.0), where=Where(Scope(person="ana")))) == ["for Ana", "for all"]
    assert names(near(store, (1.0, 0.0), where=Where(Scope(channel="hall", person="ana")))) == ["for all"]


def test_filters_hold_for_vectors_too(store: Store) -> None:
    a, b = told(store, "fact one", "fact two")
    store.put_vectors("default", "m", [Vector(id, 1, "turn", (1.0, 0.0)) for id in (a, b)])
    assert near(store, (1.0, 0.0), where=Where(Scope.owner(), kinds=("lesson",))) == []
    assert len(near(store, (1.0, 0.0), where=Where(Scope.owner(), kinds=("fact",)))) == 2
    assert near(store, (1.0, 0.0), where=Where(Scope.owner(), tags=("x",))) == []


def test_a_vector_without_length_is_near_nothing(store: Store) -> None:
    (a,) = told(store, "mute")
    store.put_vectors("default", "m", [Vector(a, 1, "turn", (0.0, 0.0))])
    assert near(store, (1.0, 0.0)) == [("mute", 0.0)]
    assert near(store, (0.0, 0.0)) == [("mute", 0.0)]
