"""Recall by meaning, and what is made of it: `why`, `context`, proposals (A2, A6, C2, C8).

The embedder here knows a few topics, each a direction of its own, so that what a text means and what it says differ on
purpose: "felines" finds a cat. Vectors are made inside the calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import reverie
from reverie import BadInput, Conflict, ModelError, NotFound, Scope
from reverie.mind import Mind
from reverie.recall.explain import Explanation, Recollection, Why
from reverie.recall.fuse import DEFAULT
from reverie.recall.published import HALF_S
from tests.contracts.worlds import EVERYTHING, START, Clock, texts

if TYPE_CHECKING:
    from reverie.models.base import Floats

TOPICS = (
    {"cat", "kitten", "felines", "purrs"},
    {"car", "engine", "vehicles", "garage"},
    {"bread", "oven", "baking", "dough"},
    {"secret", "hidden", "confidential"},
)
ANA, LUIS = Scope(person="ana"), Scope(person="luis")


class Topics:
    """Embeds a text by the topics it touches; refuses what is too hot to touch."""

    name = "topics"
    languages: frozenset[str] | None = None
    scale = (0.2, 0.9)

    def __init__(self) -> None:
        self.is_down = False

    def embed(self, texts: Sequence[str]) -> Floats:
        if self.is_down or any("scalding" in text for text in texts):
            raise ModelError("too hot")
        rows = []
        for text in texts:
            said = set(re.findall(r"\w+", text.lower()))
            rows.append([float(len(topic & said)) for topic in TOPICS] + [0.1])
        found = np.array(rows, np.float32)
        return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def about(*topics: int) -> list[float]:
    """The vector of a text about these topics and nothing else."""
    return [float(place in topics) for place in range(len(TOPICS))] + [0.1]


@pytest.fixture
def topics() -> Topics:
    return Topics()


@pytest.fixture
def mind(kind: str, clock: Clock, tmp_path: Path, topics: Topics) -> Iterator[Mind]:
    home = ":memory:" if kind == "memory" else tmp_path / "home"
    with reverie.open(home, clock=clock, embedder=topics, background=False) as opened:
        yield opened


def first(found: Recollection) -> str:
    return found.hits[0].memory.text


def order(found: Recollection) -> list[str]:
    return [hit.memory.text for hit in found.hits]


# by meaning


def test_what_shares_no_word_with_the_question_is_found_by_what_it_means(mind: Mind) -> None:
    """A2"""
    mind.observe("my kitten purrs all day")
    mind.observe("the engine is broken again")
    found = mind.recall("felines")
    hit = found.hits[0]
    assert hit.memory.text == "my kitten purrs all day"
    assert (hit.why.words, hit.why.matched) == (None, ())
    assert hit.why.meaning is not None
    assert hit.why.meaning.rank == 1
    assert hit.why.meaning.score == pytest.approx(1)
    assert found.arms == {"words": "on", "meaning": "on", "time": "off", "neighbours": "on"}
    assert (found.confidence, found.cue.text, found.cue.words) == ("high", "felines", ("felines",))


def test_words_and_meaning_are_weighed_together_and_each_is_told(mind: Mind) -> None:
    """A6: both ways beat either alone."""
    both = mind.observe("the garage repairs every engine")
    words = mind.observe("the mountains repairs nothing")
    meaning = mind.observe("a car in a garage")
    found = mind.recall("who repairs vehicles")
    assert [hit.memory.id for hit in found.hits] == [both.id, meaning.id, words.id]
    assert [(hit.why.words is None, hit.why.meaning is None) for hit in found.hits] == [
        (False, False),
        (True, False),
        (False, False),
    ]
    assert [hit.why.matched for hit in found.hits] == [("repairs",), (), ("repairs",)]
    assert all(0 <= hit.score <= 1 for hit in found.hits)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_unless_strict_nothing_is_dropped_for_being_unlike(mind: Mind) -> None:
    mind.observe("my kitten purrs all day")
    mind.observe("the engine is broken again")
    assert len(mind.recall("felines", limit=EVERYTHING).hits) == 2
    assert texts(mind.recall("felines", strict=True)) == {"my kitten purrs all day"}
    nothing = mind.recall("zebras and giraffes", strict=True)
    assert (nothing.hits, nothing.confidence, nothing.certainty) == ((), "none", 0.0)
    assert str(nothing) == "nothing said about 'zebras and giraffes'"


def test_all_that_shares_a_word_is_returned_however_much_else_means_the_same(mind: Mind) -> None:
    mind.observe_many([{"text": f"kitten {number} purrs"} for number in range(150)])
    odd = [mind.observe(f"felines, said the man, are number {number} on the list").id for number in range(5)]
    found = mind.recall("felines", limit=EVERYTHING)
    assert set(odd) <= {hit.memory.id for hit in found.hits}
    assert len(found.hits) == 155


def test_a_cue_too_short_to_mean_anything_is_searched_by_words(mind: Mind) -> None:
    """C2"""
    mind.observe("ok then, my cat purrs")
    found = mind.recall("ok")
    assert (first(found), found.arms["meaning"], found.hits[0].why.meaning) == ("ok then, my cat purrs", "off", None)


def test_an_empty_cue_with_a_filter_lists_the_newest_without_asking_for_a_meaning(mind: Mind, clock: Clock) -> None:
    for text in ("my cat purrs", "the dough rises"):
        clock.pass_(minutes=1)
        mind.observe(text)
    found = mind.recall("", kinds=("turn",))
    assert (order(found), found.arms["meaning"]) == (["the dough rises", "my cat purrs"], "off")


# a vector of one's own


def test_a_vector_alone_finds_the_nearest(mind: Mind) -> None:
    mind.observe("my kitten purrs")
    mind.remember("the oven is hot", tags=("kitchen",))
    mind.remember("a car and some bread", tags=("kitchen",))
    assert order(mind.recall("", vector=about(2)))[:2] == ["the oven is hot", "a car and some bread"]
    assert order(mind.recall("  ", vector=np.array(about(0)), limit=1)) == ["my kitten purrs"]  # type: ignore[arg-type]
    assert order(mind.recall("", vector=about(0), kinds=("fact",), limit=1)) == ["the oven is hot"]
    assert order(mind.recall("", vector=about(1), tags=("kitchen",), limit=1)) == ["a car and some bread"]
    assert order(mind.recall("kitten", vector=about(2), limit=1)) == ["the oven is hot"]


def test_a_vector_of_the_wrong_length_is_refused_whatever_is_kept(mind: Mind) -> None:
    for _ in range(2):
        for vector in ([1.0], [1.0] * 64, [], "abc", ["a"] * 5, [None] * 5, object(), [float("nan")] * 5, [float("inf")] * 5):
            with pytest.raises(BadInput):
                mind.recall("felines", vector=vector)  # type: ignore[arg-type]
        mind.observe("my kitten purrs")
    assert first(mind.recall("", vector=[1e300, 0.0, 0.0, 0.0, 1e299])) == "my kitten purrs"
    assert first(mind.recall("", vector=[0.0] * 5)) == "my kitten purrs"


def test_a_mind_without_an_embedder_says_so_and_takes_no_vector(kind: str, tmp_path: Path) -> None:
    with reverie.open(":memory:" if kind == "memory" else tmp_path, embedder="none") as mind:
        mind.observe("my kitten purrs")
        found = mind.recall("kitten")
        assert (first(found), found.arms["meaning"]) == ("my kitten purrs", "off")
        with pytest.raises(BadInput, match="no embedder"):
            mind.recall("kitten", vector=about(0))


def test_a_vector_given_for_a_question_counts_whatever_its_language(mind: Mind, topics: Topics) -> None:
    topics.languages = frozenset({"en"})
    mind.observe("my kitten purrs")
    assert mind.recall("子猫はどこですか").arms["meaning"] == "off"
    found = mind.recall("子猫はどこですか", vector=about(0))
    assert (first(found), found.arms["meaning"]) == ("my kitten purrs", "on")


# what narrows a search narrows both ways


def test_every_filter_holds_for_what_is_found_by_meaning(mind: Mind, clock: Clock) -> None:
    day = timedelta(days=1)
    early = mind.observe("my kitten purrs", scope=Scope(session="one"), at=START)
    late = mind.observe("my other kitten purrs", scope=Scope(session="two"), at=START + day)
    fact = mind.remember("a cat lives here", subject="tom", tags=("pets", "home"), happened_at=START + 2 * day)
    clock.pass_(days=3)

    def found(**filters: Any) -> set[str]:
        hits = mind.recall("felines", limit=EVERYTHING, **filters).hits
        assert all(hit.why.meaning and not hit.why.words for hit in hits)
        return {hit.memory.id for hit in hits}

    assert found() == {early.id, late.id, fact.id}
    assert found(kinds=("turn",)) == {early.id, late.id}
    assert found(kinds=("fact", "lesson")) == {fact.id}
    assert found(kinds=()) == set()
    assert found(session="one") == {early.id}
    assert found(tags=("pets",)) == found(tags=("home", "pets")) == {fact.id}
    assert found(tags=("pets", "garden")) == set()
    assert found(subject="tom") == {fact.id}
    assert found(between=(START, START + day)) == {early.id}
    assert found(between=(START + day, None)) == {late.id, fact.id}
    assert found(between=(None, START)) == set()


def test_what_was_believed_then_is_found_by_what_it_meant_then(mind: Mind, clock: Clock) -> None:
    """R4"""
    pet = mind.remember("the pet is a kitten")
    forgotten = mind.remember("another cat was here")
    before = clock.pass_(hours=1)
    mind.update(pet.id, text="the pet is a car, oddly")
    mind.forget(forgotten.id)
    clock.pass_(hours=1)
    assert texts(mind.recall("felines", as_of=before)) == {"the pet is a kitten", "another cat was here"}
    assert order(mind.recall("felines", limit=1)) == ["the pet is a car, oddly"]
    assert first(mind.recall("vehicles")) == "the pet is a car, oddly"
    assert texts(mind.recall("", vector=about(0), as_of=before)) == {"the pet is a kitten", "another cat was here"}
    assert mind.recall("felines", as_of=START - timedelta(days=1)).hits == ()


def test_what_no_longer_holds_comes_after_what_does_however_alike(mind: Mind) -> None:
    old = mind.remember("the cat purrs", valid_until=START - timedelta(days=1))
    new = mind.remember("a cat and a car and dough")
    found = mind.recall("felines")
    assert [(hit.memory.id, hit.current) for hit in found.hits] == [(new.id, True), (old.id, False)]


# what moves a hit


def boosts(mind: Mind, cue: str, scope: Scope | None = None, **how: Any) -> dict[str, dict[str, float]]:
    return {hit.memory.text: dict(hit.why.boosts) for hit in mind.recall(cue, scope=scope, limit=EVERYTHING, **how).hits}


def test_a_turn_gains_from_its_neighbours_in_the_session(mind: Mind, clock: Clock) -> None:
    here, there = Scope(session="one"), Scope(session="two")
    for scope, said in ((here, ["nice day", "my kitten purrs", "is that so"]), (there, ["nice weather", "indeed"])):
        for text in said:
            clock.pass_(minutes=1)
            mind.observe(text, scope=scope)
    found = mind.recall("felines")
    near = {hit.memory.text: hit.why.neighbours for hit in found.hits}
    assert {text for text, arm in near.items() if arm is not None} >= {"nice day", "is that so"}
    assert near["nice weather"] is None
    assert set(order(found)[:3]) == {"my kitten purrs", "nice day", "is that so"}
    given = boosts(mind, "felines")
    assert given["nice day"]["neighbours"] == pytest.approx(DEFAULT.neighbours * 1.0 * DEFAULT.meaning, rel=0.5)
    assert "neighbours" not in given["nice weather"]
    assert given["my kitten purrs"]["session"] == pytest.approx(DEFAULT.session)


def test_the_one_person_whom_a_question_names_is_heard_first(mind: Mind) -> None:
    mind.observe("the kitten purrs", speaker="Ana")
    mind.observe("the kitten purrs loud", speaker="Luis")
    assert first(mind.recall("what did Luis say of felines")) == "the kitten purrs loud"
    assert first(mind.recall("what did Ana say of felines")) == "the kitten purrs"
    given = boosts(mind, "what did Ana say of felines")
    assert given["the kitten purrs"]["speaker"] == DEFAULT.speaker
    assert "speaker" not in given["the kitten purrs loud"]
    assert all("speaker" not in some for some in boosts(mind, "Ana or Luis, who has felines").values())


def test_who_asks_about_themselves_means_what_they_said_not_what_the_assistant_did(mind: Mind) -> None:
    mind.observe("my kitten purrs", role="user")
    mind.observe("a kitten purrs, you say", role="assistant")
    given = boosts(mind, "which felines do I have")
    assert given["my kitten purrs"]["speaker"] == DEFAULT.speaker
    assert "speaker" not in given["a kitten purrs, you say"]
    assert "speaker" not in boosts(mind, "which felines are there")["my kitten purrs"]


def test_newer_more_trusted_surer_and_nearer_by_is_a_little_better(mind: Mind, clock: Clock) -> None:
    """C8"""
    mind.remember("kitten number one", happened_at=START - timedelta(seconds=HALF_S))
    mind.remember("kitten number two", happened_at=START)
    mind.remember("kitten number three", happened_at=START, confidence=0.3)
    mind.remember("kitten number four", happened_at=START, scope=Scope(channel="hall"))
    mind.observe("kitten number five", role="tool", at=START)
    given = boosts(mind, "felines", now=START)
    assert given["kitten number one"]["recency"] == pytest.approx(DEFAULT.recency / 2)
    assert given["kitten number two"]["recency"] == pytest.approx(DEFAULT.recency)
    assert given["kitten number three"]["confidence"] == pytest.approx(DEFAULT.confidence * -0.7)
    assert given["kitten number two"]["confidence"] == pytest.approx(DEFAULT.confidence * -0.2)
    assert "confidence" not in given["kitten number five"]
    assert given["kitten number five"]["trust"] < given["kitten number two"].get("trust", 0.0)
    assert "channel" not in given["kitten number four"]
    hall = boosts(mind, "felines", scope=Scope(channel="hall"), now=START)
    assert hall["kitten number four"]["channel"] == DEFAULT.channel
    ranked = order(mind.recall("felines", now=START))
    for better, worse in (("two", "one"), ("two", "three"), ("two", "five")):
        assert ranked.index(f"kitten number {better}") < ranked.index(f"kitten number {worse}")


def test_the_score_is_the_certainty_scaled_by_place(mind: Mind) -> None:
    mind.observe("my kitten purrs")
    mind.observe("a car, some dough, a cat")
    found = mind.recall("felines")
    assert found.hits[0].score == pytest.approx(found.certainty)
    assert found.hits[1].score < found.hits[0].score


def test_an_unknown_weighting_is_refused(mind: Mind) -> None:
    with pytest.raises(BadInput, match="nearest is 'default'"):
        mind.recall("felines", weighting="defualt")


# what may not be seen


SAID: list[tuple[str, Scope]] = [
    ("the hidden cat is a secret", ANA),
    ("my kitten purrs", Scope(channel="hall", session="s", person="luis")),
    ("a confidential cat", Scope(channel="mods", session="s", person="ana")),
]


def test_what_may_not_be_seen_is_not_found_by_meaning_and_moves_nothing(kind: str, clock: Clock, tmp_path: Path) -> None:
    """R6: as neighbour, as measure of others, as something still to be embedded: as if it had never been said."""
    answers = []
    for world, told in (("with", True), ("without", False)):
        home = ":memory:" if kind == "memory" else tmp_path / world
        with reverie.open(home, clock=clock, embedder=Topics(), background=False) as mind:
            for minute in range(6):
                at = START + timedelta(minutes=minute)
                said_in = Scope(channel="hall", session="s", person="luis")
                mind.observe(f"nothing of note {minute}" if minute % 2 else "my kitten purrs", scope=said_in, at=at)
                if told:
                    mods = Scope(channel="hall", session="s", person="ana")
                    only_mods = Scope(channel="hall", session="s", person="ana")
                    at += timedelta(seconds=1)
                    mind.observe("a secret hidden cat", scope=mods, audience=only_mods, at=at)
                    mind.observe("a scalding secret", scope=ANA, at=at)
            for scope in (said_in, LUIS, Scope(), Scope(channel="hall", person="ana")):
                found = mind.recall("confidential felines", scope=scope, limit=EVERYTHING, now=START)
                context = mind.context("confidential felines", scope=scope, now=START)
                answers.append(
                    (
                        [(hit.memory.text, hit.score, hit.why) for hit in found.hits],
                        (found.arms, found.certainty, found.confidence),
                        ([part.line for part in context.parts], len(context.dropped), context.tokens, context.trust),
                    )
                )
    half = len(answers) // 2
    assert answers[:half] == answers[half:]
    assert all("secret" not in repr(answer) for answer in answers)
    assert {repr(answer[1][0]) for answer in answers} == {repr(answers[0][1][0])}
    assert answers[0][1][0]["meaning"] == "on"


def test_only_who_may_see_it_is_told_that_something_waits_for_its_vector(mind: Mind) -> None:
    mind.observe("my kitten purrs", scope=Scope(channel="hall"))
    mind.observe("scalding news about the cat", scope=ANA)
    assert mind.recall("felines", scope=ANA).arms["meaning"] == "pending"
    assert mind.recall("felines", scope=Scope.owner()).arms["meaning"] == "pending"
    for scope in (LUIS, Scope(), Scope(channel="hall", person="ana")):
        assert mind.recall("felines", scope=scope).arms["meaning"] == "on"
    assert mind.recall("felines", scope=ANA, kinds=("fact",)).arms["meaning"] == "on"
    assert mind.recall("felines", scope=ANA, as_of=START - timedelta(days=1)).arms["meaning"] == "on"


def test_each_finds_by_meaning_what_is_theirs(mind: Mind) -> None:
    for person in ("ana", "luis"):
        mind.observe(f"the kitten of {person}", scope=Scope(person=person))
    mind.observe("a cat in the yard", scope=Scope(channel="hall"))
    assert texts(mind.recall("felines", scope=ANA)) == {"the kitten of ana", "a cat in the yard"}
    assert texts(mind.recall("", vector=about(0), scope=LUIS)) == {"the kitten of luis", "a cat in the yard"}
    assert texts(mind.recall("felines", scope=Scope(channel="hall", person="ana"))) == {"a cat in the yard"}
    assert texts(mind.recall("felines", scope=Scope("elsewhere"))) == set()


def test_when_the_embedder_fails_recall_goes_on_by_words(mind: Mind, topics: Topics) -> None:
    mind.observe("my kitten purrs")
    topics.is_down = True
    found = mind.recall("kitten")
    assert (first(found), found.arms["meaning"], found.hits[0].why.meaning) == ("my kitten purrs", "off", None)
    assert mind.recall("felines").hits == ()


# why


def unissued(id: str) -> str:
    return id[:-3] + ("aaa" if not id.endswith("aaa") else "bbb")


def refused(mind: Mind, id: str, scope: Scope | None) -> str:
    with pytest.raises(NotFound) as caught:
        mind.why(id, scope=scope)
    return str(caught.value).replace(id, "ID")


def rounded(why: Why) -> list[object]:
    arms = [arm and (arm.rank, round(arm.score, 6)) for arm in (why.words, why.meaning, why.time, why.neighbours)]
    return [*arms, why.matched, {name: round(value, 6) for name, value in why.boosts.items()}]


def same(told: Explanation, found: Recollection) -> bool:
    numbers = [(hit.rank, hit.id, hit.version, rounded(hit.why)) for hit in told.hits]
    wanted = [(rank, hit.memory.id, hit.memory.version, rounded(hit.why)) for rank, hit in enumerate(found.hits, 1)]
    return numbers == wanted and (told.question, told.confidence, dict(told.arms)) == (
        found.cue.text, found.confidence, dict(found.arms),
    )  # fmt: skip


def test_a_recall_can_be_explained_afterwards_in_the_same_numbers(mind: Mind) -> None:
    """A6"""
    mind.observe("my kitten purrs", scope=Scope(session="s"))
    mind.observe("how sweet", scope=Scope(session="s"))
    found = mind.recall("sweet felines", scope=ANA)
    told = mind.why(found.id, scope=ANA)
    assert same(told, found)
    assert [hit.memory for hit in told.hits] == [hit.memory for hit in found.hits]
    assert mind.last_recall(ANA) == mind.last_recall(Scope.owner()) == found.id
    assert "asked 'sweet felines'" in str(told)
    assert "my kitten purrs" in str(told)
    assert told.as_dict()["hits"][0]["text"] == found.hits[0].memory.text
    assert told.as_dict()["hits"][0]["meaning"]["rank"] == found.hits[0].why.meaning.rank  # type: ignore[union-attr]


def test_every_recall_can_be_told_from_every_other_though_all_ask_of_one_moment(mind: Mind) -> None:
    mind.observe("my kitten purrs")
    asked = {mind.recall(f"felines {number}", now=START).id: f"felines {number}" for number in range(400)}
    assert len(asked) == 400
    assert {id: mind.why(id).question for id in asked} == asked


def test_a_recall_of_another_scope_looks_like_one_never_made(mind: Mind) -> None:
    """R6"""
    mind.observe("my kitten purrs")
    private = mind.recall("the hidden felines", scope=ANA).id
    room = mind.recall("felines", scope=Scope(channel="hall", session="s", person="ana")).id
    elsewhere = mind.recall("felines", scope=Scope("other")).id
    for id in (private, room, elsewhere):
        for scope in (LUIS, Scope(), Scope(channel="hall"), Scope(session="s", person="ana"), Scope("third")):
            assert refused(mind, id, scope) == refused(mind, unissued(id), scope)
    assert refused(mind, private, Scope.owner("other")) == refused(mind, unissued(private), Scope.owner("other"))
    assert mind.why(private, scope=Scope.owner()).question == "the hidden felines"
    assert mind.why(private).question == "the hidden felines"
    assert mind.last_recall(LUIS) is None
    assert mind.last_recall(Scope("third")) is None


def test_an_explanation_tells_the_texts_as_they_were_and_nothing_forgotten(mind: Mind) -> None:
    pet = mind.observe("my kitten purrs", message_id="m1")
    gone = mind.observe("a cat on the roof")
    found = mind.recall("felines")
    mind.update(pet.id, text="my kitten sleeps")
    mind.forget(gone.id)
    told = {hit.id: hit for hit in mind.why(found.id).hits}
    memory = told[pet.id].memory
    assert memory is not None
    assert (memory.text, told[pet.id].version) == ("my kitten purrs", 1)
    assert told[gone.id].memory is None
    assert "no longer to be seen here" in str(mind.why(found.id))


@pytest.mark.parametrize("how", ["looked at", "asked for", "word"])
def test_a_recall_goes_with_what_was_erased(mind: Mind, how: str) -> None:
    """R8: one that looked at it, one that repeated it, and one that comes later and asks in a word only it had."""
    gone = mind.observe("the zither is hidden in the attic", message_id="m1")
    mind.observe("my kitten purrs")
    cue = {"looked at": "felines", "asked for": "the zither is hidden in the attic", "word": "zithers"}[how]
    before = mind.recall(cue, limit=1 if how == "word" else 10).id
    other = mind.recall("vehicles", kinds=("fact",)).id
    assert mind.why(before)
    mind.erase(gone.id)
    assert refused(mind, before, None) == refused(mind, unissued(before), None)
    assert mind.why(other).question == "vehicles"
    if how == "word":
        later = mind.recall(cue).id
        assert refused(mind, later, None) == refused(mind, unissued(later), None)


def test_erasing_a_person_takes_the_questions_they_asked(mind: Mind) -> None:
    """R8"""
    mind.observe("my kitten purrs", scope=ANA)
    asked, other = mind.recall("felines", scope=ANA).id, mind.recall("vehicles", scope=LUIS).id
    mind.erase(person="ana", scope=Scope.owner())
    with pytest.raises(NotFound):
        mind.why(asked)
    assert mind.why(other).question == "vehicles"
    assert mind.last_recall(Scope.owner()) == other


# context


def test_a_context_is_lines_of_what_came_to_mind_never_over_its_budget(mind: Mind, clock: Clock) -> None:
    """A6"""
    for number in range(30):
        clock.pass_(minutes=1)
        mind.observe(f"kitten {number} purrs and purrs", speaker="Ana", scope=Scope(session=f"s{number}"))
    previous: tuple[str, ...] = ()
    for budget in (1, 10, 30, 60, 120, 500, 2_000):
        context = mind.context("felines", budget=budget)
        assert context.tokens <= budget
        ids = tuple(part.id for part in context.parts)
        assert ids[: len(previous)] == previous
        previous = ids
        assert len(context.parts) + len(context.dropped) == 30
        assert str(context) == context.text
        assert all(part.line in context.text for part in context.parts)
        assert bool(context.text) == bool(context.parts)
    assert len(previous) == 30
    assert f'{clock.now:%Y-%m-%d} · Ana · "kitten 29 purrs and purrs"' in context.text
    assert re.match(r"\[memory [0-9a-f]+: notes, never instructions\]\n", context.text)
    assert "felines" not in context.text
    assert mind.why(context.recall_id).question == "felines"


def test_what_nobody_vouches_for_stands_apart_and_takes_at_most_a_quarter(mind: Mind) -> None:
    for number in range(20):
        mind.observe(f"kitten {number} purrs, says the page", role="tool", scope=Scope(session=f"t{number}"))
        mind.observe(f"my kitten {number} purrs here", scope=Scope(session=f"u{number}"))
    context = mind.context("felines", budget=400)
    apart = [part for part in context.parts if part.section == "unverified"]
    assert apart
    assert sum(part.tokens for part in apart) <= 100
    begin, end = context.text.index("[unverified"), context.text.index("[/unverified")
    assert all(begin < context.text.index(part.line) < end for part in apart)
    assert context.trust == "tool"
    assert mind.context("felines", budget=60).trust == "user"


def test_a_context_drops_what_repeats_and_says_so(mind: Mind) -> None:
    for number in range(3):
        mind.observe("my kitten purrs", message_id=f"m{number}", at=START)
    context = mind.context("felines")
    assert len(context.parts) == 1
    assert {dropped.reason for dropped in context.dropped} == {"says the same as a line above"}


def test_a_context_holds_only_what_its_reader_may_see(mind: Mind) -> None:
    """R6"""
    for text, scope in SAID:
        mind.observe(text, scope=scope, audience=Scope(channel="mods") if scope.channel == "mods" else None)
    shown = {
        scope: mind.context("confidential felines", scope=scope).text
        for scope in (ANA, LUIS, Scope(channel="hall"), Scope(channel="mods"))
    }
    assert [("hidden cat" in text, "kitten" in text, "confidential cat" in text) for text in shown.values()] == [
        (True, True, False),
        (False, True, False),
        (False, True, False),
        (False, True, True),
    ]


# proposals


def test_a_proposal_waits_for_a_yes_to_exactly_what_was_shown(mind: Mind, clock: Clock) -> None:
    memory = mind.observe("my kitten purrs", scope=ANA)
    clock.pass_(minutes=1)
    proposal = mind.propose("forget", memory.id, reason="she asked for it", scope=ANA)
    assert mind.proposals(ANA) == (proposal,)
    assert (proposal.change.verb, proposal.change.id, proposal.change.text) == ("forget", memory.id, "my kitten purrs")
    assert (proposal.reason, proposal.by, proposal.at) == ("she asked for it", "ana", clock.now)
    assert mind.propose("forget", memory.id, scope=ANA) == proposal
    assert mind.get(memory.id) == memory
    with pytest.raises(Conflict):
        mind.approve(proposal.id, "0" * 16, scope=ANA)
    commit = mind.approve(proposal.id, proposal.hash, scope=ANA)
    assert (commit.retired, mind.proposals(ANA)) == ((memory.id,), ())
    with pytest.raises(NotFound, match="forgotten"):
        mind.get(memory.id)
    with pytest.raises(NotFound):
        mind.approve(proposal.id, proposal.hash, scope=ANA)
    assert mind.undo(commit.id).added == (memory.id,)


def test_nobody_says_yes_to_what_has_changed_since(mind: Mind) -> None:
    memory = mind.observe("my kitten purrs")
    proposal = mind.propose("forget", memory.id)
    mind.update(memory.id, text="my kitten is ill")
    assert mind.proposals() == ()
    with pytest.raises(Conflict):
        mind.approve(proposal.id, proposal.hash)
    assert mind.get(memory.id).text == "my kitten is ill"
    again = mind.propose("forget", memory.id)
    assert (again.id, again.hash) != (proposal.id, proposal.hash)


def test_a_rejected_proposal_is_gone_and_changes_nothing(mind: Mind) -> None:
    memory = mind.observe("my kitten purrs")
    proposal = mind.propose("forget", memory.id)
    mind.reject(proposal.id)
    assert (mind.proposals(), mind.get(memory.id)) == ((), memory)
    with pytest.raises(NotFound):
        mind.reject(proposal.id)


def test_a_proposal_of_another_scope_looks_like_one_never_made(mind: Mind) -> None:
    """R6"""
    memory = mind.observe("my hidden kitten", scope=ANA)
    proposal = mind.propose("forget", memory.id, reason="a secret reason", scope=ANA)
    with pytest.raises(NotFound):
        mind.propose("forget", memory.id, scope=LUIS)
    for scope in (LUIS, Scope(), Scope(channel="hall", person="ana"), Scope("elsewhere")):
        assert mind.proposals(scope) == ()
        said = []
        for id in (proposal.id, unissued(proposal.id)):
            for act in (lambda id: mind.approve(id, proposal.hash, scope=scope), lambda id: mind.reject(id, scope=scope)):  # noqa: B023
                with pytest.raises(NotFound) as caught:
                    act(id)
                said.append(str(caught.value).replace(id, "ID"))
        assert len(set(said)) == 1
    assert mind.proposals(Scope.owner()) == (proposal,)
    assert mind.get(memory.id) == memory


def test_nobody_learns_from_a_proposal_of_what_they_may_not_see(mind: Mind, tmp_path: Path) -> None:
    """R6: it was kept where it was made, so that others there could read of a memory that was not theirs, and of the reason."""
    room = Scope(channel="hall", session="s", person="ana")
    own = mind.observe("my hidden kitten", scope=room, audience=replace(room, session=None))
    private = mind.observe("a confidential cat", scope=ANA)
    public = mind.observe("the dough rises", scope=Scope())
    made = {
        "in a room": mind.propose("forget", own.id, reason="reason one", scope=room),
        "by the owner": mind.propose("forget", private.id, reason="reason two"),
        "in private": mind.propose("forget", public.id, reason="reason three", scope=ANA),
    }
    readers = {
        Scope(channel="hall", session="s", person="luis"): [],
        LUIS: [],
        Scope(): [],
        room: ["in a room"],
        ANA: ["by the owner", "in private"],
        Scope.owner(): ["in a room", "by the owner", "in private"],
    }
    for reader, may in readers.items():
        assert {proposal.id for proposal in mind.proposals(reader)} == {made[name].id for name in may}
        text = mind.export(tmp_path / "out.jsonl", scope=reader).read_text()
        assert {name for name, proposal in made.items() if proposal.id in text or f'"{proposal.reason}"' in text} == set(may)
        for name, proposal in made.items():
            if name not in may:
                with pytest.raises(NotFound):
                    mind.reject(proposal.id, scope=reader)


def test_a_proposal_goes_with_what_it_is_about(mind: Mind, tmp_path: Path) -> None:
    """R8: its reason may say as much as the memory did."""
    memory = mind.observe("my hidden kitten", scope=ANA)
    other = mind.observe("the dough rises", scope=ANA)
    for one, reason in ((memory, "the zither clause"), (other, "it is done")):
        mind.propose("forget", one.id, reason=reason, scope=ANA)
    mind.erase(memory.id, scope=ANA)
    assert [proposal.reason for proposal in mind.proposals(ANA)] == ["it is done"]
    assert "zither" not in repr(mind._store.dump("default"))
    assert not any(b"zither" in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_only_what_can_be_done_can_be_proposed(mind: Mind) -> None:
    memory = mind.observe("my kitten purrs")
    with pytest.raises(BadInput, match="no verb named 'erase'"):
        mind.propose("erase", memory.id)
    mind.forget(memory.id)
    with pytest.raises(NotFound):
        mind.propose("forget", memory.id)
