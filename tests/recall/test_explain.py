"""Why a recall came out as it did, and why something did not come out of it (R5).

Everything is asked of a mind; on both stores where a store has a part in it.
"""

import json
import logging
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import pytest

import reverie
from reverie import BadInput, Memory, Mind, ModelError, NotFound, Scope
from reverie.config import Settings
from reverie.models.hashing import Hashing
from reverie.recall.explain import Explanation
from reverie.recall.kept import RANKED
from reverie.recall.look import FOREIGN, MORE
from tests.contracts.worlds import EVERYTHING, KINDS, START, Clock

if TYPE_CHECKING:
    from reverie.models.base import Floats

ANA, LUIS, ROOM = Scope(person="ana"), Scope(person="luis"), Scope(channel="hall", person="ana")


@dataclass
class World:
    """A mind on a clock that is told the time."""

    mind: Mind
    clock: Clock
    home: Path

    def say(self, *texts: str, **given: Any) -> list[Memory]:
        """Keep lines, a minute apart, each in a session of its own unless told otherwise."""
        said = []
        for text in texts:
            self.clock.pass_(minutes=1)
            said.append(self.mind.observe(text, **given))
        self.clock.pass_(minutes=1)
        return said

    def many(self, count: int) -> list[Memory]:
        """Keep lines about lanterns among others, and return them in the order in which they come to mind."""
        self.mind.observe_many({"text": f"oven number {number}"} for number in range(2 * count))
        self.mind.observe_many({"text": "lantern " * (count - number) + "boat " * number} for number in range(count))
        self.clock.pass_(minutes=1)
        return [hit.memory for hit in self.mind.recall("lantern", limit=EVERYTHING).hits]

    def step(self, id: str, text: str, scope: Scope | None = None) -> str:
        """Return the step at which something fell out."""
        return str(self.mind.why_not(id, text, scope=scope).as_dict()["step"])


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock = Clock()
    with reverie.open(":memory:", clock=clock, embedder="none") as mind:
        yield World(mind, clock, tmp_path)


@pytest.fixture
def at_home(tmp_path: Path) -> Iterator[World]:
    clock = Clock()
    with reverie.open(tmp_path / "home", clock=clock, embedder="none") as mind:
        yield World(mind, clock, tmp_path / "home")


@pytest.fixture(params=["world", "at_home"])
def either(request: pytest.FixtureRequest) -> World:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def unissued(id: str) -> str:
    return id[:-3] + ("aaa" if not id.endswith("aaa") else "bbb")


# what is kept


def test_every_candidate_is_kept_with_its_place_and_numbers(either: World) -> None:
    said = either.many(12)
    found = either.mind.recall("lantern", limit=3)
    told = either.mind.why(found.id)
    assert [hit.id for hit in told.hits] == [one.id for one in said[:3]]
    assert [(one.id, one.place) for one in told.others] == [(one.id, place) for place, one in enumerate(said[3:], 4)]
    totals = [hit.total for hit in told.hits] + [one.total for one in told.others]
    assert totals == sorted(totals, reverse=True)
    assert [one.why.words.rank for one in told.others if one.why.words] == list(range(4, 13))
    assert all("recency" in one.why.boosts for one in told.others)
    assert told.considered == 12
    others = told.as_dict()["others"]
    assert (others[0]["place"], others[0]["words"]["rank"], others[0]["total"]) == (4, 4, told.others[0].total)
    assert (
        f"9 more: {totals[3]:.2f} at place 4 to {totals[-1]:.2f} at place 12; the last one returned had {totals[2]:.2f}"
        in str(told)
    )


def test_the_numbers_of_the_best_are_kept_and_of_all_that_they_were_looked_at(tmp_path: Path) -> None:
    with reverie.open(tmp_path, embedder="hashing", background=False) as mind:
        mind.observe_many({"text": f"lantern number {number}"} for number in range(RANKED + MORE))
        some, all_of_them = (mind.recall("lantern", limit=limit) for limit in (RANKED, 2 * RANKED))
        told = mind.why(some.id)
        assert len(told.hits) + len(told.others) == RANKED
        assert told.considered == RANKED + MORE
        assert [hit.id for hit in mind.why(all_of_them.id).hits] == [hit.memory.id for hit in all_of_them.hits]
        beyond = {hit.memory.id for hit in all_of_them.hits} - {hit.id for hit in told.hits} - {one.id for one in told.others}
        assert len(beyond) == MORE
        mind.erase(min(beyond))
        with pytest.raises(NotFound):
            mind.why(some.id)


def test_what_was_understood_and_asked_for_is_told_again(world: World) -> None:
    world.mind.remember("the lantern is lit", subject="lamp", tags=("home",), scope=ANA)
    world.clock.pass_(hours=1)
    found = world.mind.recall(
        "is the Lantern lit?", scope=ANA, limit=4, kinds=("fact",), tags=("home",), subject="lamp", strict=True
    )
    told = world.mind.why(found.id, scope=ANA)
    assert told.cue["words"] == list(found.cue.words)
    assert told.as_dict()["asked"] == {
        "limit": 4, "now": world.clock.now.isoformat(), "weighting": "default", "strict": True, "kinds": ["fact"],
        "tags": ["home"], "subject": "lamp",
    }  # fmt: skip
    assert "understood: words lantern, lit" in str(told)
    assert "asked for: strict True; kinds fact; tags home; subject lamp" in str(told)
    assert (told.hits[0].certainty, told.certainty) == (1.0, 1.0)


def test_an_explanation_names_no_commit_that_others_made(either: World) -> None:
    """R6: how many changes there were in the space is none of the asker's business."""
    either.say("the lantern is lit", scope=ROOM)
    before = either.mind.why(either.mind.recall("lantern", scope=ROOM).id, scope=ROOM).as_dict()
    either.say(*(f"a secret {number}" for number in range(20)), scope=LUIS)
    after = either.mind.why(either.mind.recall("lantern", scope=ROOM).id, scope=ROOM).as_dict()
    for told in (before, after):
        del told["id"], told["at"], told["asked"]["now"]
        told["hits"] = [hit["id"] for hit in told["hits"]]
    assert before == after


def test_a_context_is_explained_with_what_went_into_it_and_what_did_not(either: World) -> None:
    """A7"""
    either.many(20)
    either.say("which lantern?")
    context = either.mind.context("which lantern?", budget=90)
    told = either.mind.why(context.recall_id)
    assert told.packed is not None
    assert told.packed.parts == tuple((part.id, part.section, part.tokens) for part in context.parts)
    assert told.packed.dropped == tuple((dropped.id, dropped.reason) for dropped in context.dropped)
    assert (told.packed.budget, told.packed.tokens) == (90, context.tokens)
    packed = told.as_dict()["packed"]
    assert packed["parts"][0] == {
        "id": context.parts[0].id, "section": context.parts[0].section, "tokens": context.parts[0].tokens,
    }  # fmt: skip
    assert [one["reason"] for one in packed["dropped"]] == [dropped.reason for dropped in context.dropped]
    assert f"packed into {context.tokens} of 90 tokens: " in str(told)


NOTHING_ASKED: tuple[tuple[str, Callable[[Mind], str]], ...] = (
    ("no message", lambda mind: mind.context("", scope=ANA).recall_id),
    ("no retrieval", lambda mind: mind.context("which lantern?", scope=ANA, retrieval=False).recall_id),
    ("filters alone", lambda mind: mind.recall("", kinds=("turn",), scope=ANA).id),
)


@pytest.mark.parametrize("ask", [ask for _, ask in NOTHING_ASKED], ids=[name for name, _ in NOTHING_ASKED])
def test_a_recall_without_a_question_is_explained_too(either: World, ask: Callable[[Mind], str]) -> None:
    """R5, R8: what came, what a context made of it, and nothing once any of it is erased."""
    older, newer = either.say("the lantern is lit", "the oven is hot", scope=ANA)
    either.mind.recall("lantern", scope=ANA)
    id = ask(either.mind)
    assert either.mind.last_recall(scope=ANA) == id
    told = either.mind.why(id, scope=ANA)
    assert (told.question, [hit.id for hit in told.hits], told.considered) == ("", [newer.id, older.id], 2)
    assert str(told).startswith("asked for the newest at 2026-03-01 ")
    assert "kinds turn" in str(told) or (told.packed is not None and len(told.packed.parts) == 2)
    assert either.step(id, "lantern is lit", ANA) == "there"
    either.mind.erase(older.id)
    with pytest.raises(NotFound):
        either.mind.why(id, scope=ANA)
    either.mind.people.optout("ana")
    with pytest.raises(NotFound):
        either.mind.why(ask(either.mind), scope=ANA)


def test_what_is_older_than_the_newest_is_said_to_be_so(world: World) -> None:
    world.say("the lantern is lit", "a boat", "an oven")
    told = world.mind.why_not(world.mind.recall("", kinds=("turn",), limit=2).id, "lantern")
    assert told.as_dict()["step"] == "outranked"
    assert "nothing was asked, so the newest 2 came; this is older" in str(told)


def test_a_recall_by_a_vector_alone_is_explained_too() -> None:
    """A6"""
    with reverie.open(":memory:", clock=Clock(), embedder="hashing", background=False) as mind:
        for text in ("a lantern in the oven", "clouds"):
            mind.observe(text)
        found = mind.recall("", vector=[1.0] * 64)
        told = mind.why(found.id)
        assert (told.question, [hit.id for hit in told.hits]) == ("", [hit.memory.id for hit in found.hits])
        assert all(hit.why.meaning for hit in told.hits)
        assert str(told).startswith("asked with a vector at ")


def test_no_word_of_a_memory_is_kept_with_a_recall(at_home: World) -> None:
    at_home.say("the quagga sleeps in the lighthouse", "a lantern for the vicuna", speaker="Zebulon")
    at_home.mind.remember("the vicuna is called Ottoline", title="okapi", tags=("narwhal",))
    found = at_home.mind.recall("who sleeps with a lantern, and is called what?", limit=1)
    context = at_home.mind.context("who sleeps with a lantern, and is called what?")
    assert len(at_home.mind.why(found.id).others) == 2
    assert at_home.mind.why(context.recall_id).packed
    at_home.mind.close()
    raw = b"".join(path.read_bytes() for path in at_home.home.glob("recalls.db*")).lower()
    connection = apsw.Connection(str(at_home.home / "recalls.db"))
    rows: list[Any] = connection.execute("SELECT ranked FROM recalls").fetchall()
    packed = [zlib.decompress(ranked) for (ranked,) in rows]
    connection.close()
    assert len(packed) == 2
    assert b"who sleeps with a lantern" in raw
    for word in (b"quagga", b"lighthouse", b"vicuna", b"zebulon", b"ottolin", b"okapi", b"narwhal"):
        assert not any(word in content for content in (raw, *packed))


def test_an_erase_takes_question_numbers_and_packing_with_it(at_home: World) -> None:
    """R8"""
    gone, stays = at_home.say("the lantern is hidden in the mill", "the lantern is lit")
    asked = [
        at_home.mind.recall("zorro lantern", limit=1).id,
        at_home.mind.context("zorro lantern", budget=25).recall_id,
        at_home.mind.recall("zorro", tags=("hidden in the mill, or so",)).id,
    ]
    other = at_home.mind.recall("figaro", kinds=("fact",)).id
    assert all(at_home.mind.why(id) for id in asked)
    raw = (at_home.home / "recalls.db-wal").read_bytes()
    assert raw.count(b"zorro") >= 3
    at_home.mind.erase(gone.id)
    for id in asked[:2]:
        with pytest.raises(NotFound):
            at_home.mind.why(id)
        with pytest.raises(NotFound):
            at_home.mind.why_not(id, "lantern")
    assert at_home.mind.why(other).question == "figaro"
    raw = b"".join(path.read_bytes() for path in at_home.home.glob("recalls.db*"))
    assert b"zorro lantern" not in raw
    assert gone.id.rpartition("-")[2].encode() not in raw
    assert b"figaro" in raw
    assert at_home.mind.recall("lantern").hits[0].memory.id == stays.id


def test_a_question_narrowed_by_words_that_only_the_erased_had_is_not_kept(either: World) -> None:
    """R8"""
    (gone,) = either.say("the quagga sleeps in the barn")
    before = either.mind.recall("barn doors", tags=("the quagga sleeps in the barn",)).id
    assert either.mind.why(before)
    either.mind.erase(gone.id)
    after = either.mind.recall("doors", session="quagga").id
    plain = either.mind.recall("doors", session="other").id
    for id in (before, after):
        with pytest.raises(NotFound):
            either.mind.why(id)
    assert either.mind.why(plain)


def test_erasing_a_person_takes_questions_narrowed_to_them(either: World) -> None:
    """R8"""
    either.say("the lantern is lit", scope=ANA)
    about, other = (either.mind.recall("anything new", subject=name).id for name in ("ana", "lamp"))
    either.mind.erase(person="ana", scope=Scope.owner())
    with pytest.raises(NotFound):
        either.mind.why(about)
    assert either.mind.why(other)


@pytest.mark.parametrize("kind", KINDS)
def test_a_recall_is_kept_for_as_many_days_as_set(kind: str, tmp_path: Path) -> None:
    clock = Clock()
    home = ":memory:" if kind == "memory" else tmp_path / "home"
    with reverie.open(home, clock=clock, embedder="none", settings=Settings(recalls_days=2, learn=False)) as mind:
        mind.observe("the lantern is lit")
        first = mind.recall("zorro").id
        clock.pass_(days=1)
        second = mind.recall("figaro").id
        assert mind.why(first)
        clock.pass_(days=1)
        for verb in (mind.why, lambda id: mind.why_not(id, "lantern")):
            with pytest.raises(NotFound, match="recalls are kept for a while"):
                verb(first)
        assert mind.why(second)
        mind.recall("susanna")
    if kind == "folder":
        raw = b"".join(path.read_bytes() for path in Path(home).glob("recalls.db*"))
        assert (b"zorro" in raw, b"figaro" in raw, b"susanna" in raw) == (False, True, True)


@pytest.mark.parametrize("kind", KINDS)
def test_for_no_days_nothing_is_kept(kind: str, tmp_path: Path) -> None:
    home = ":memory:" if kind == "memory" else tmp_path / "home"
    with reverie.open(home, clock=Clock(), embedder="none") as mind:
        mind.recall("zorro")
    with reverie.open(home, clock=Clock(), embedder="none", settings=Settings(recalls_days=0, learn=False)) as mind:
        asked = mind.recall("figaro").id
        with pytest.raises(NotFound):
            mind.why(asked)
        assert mind.last_recall() is None
    raw = b"".join(path.read_bytes() for path in tmp_path.rglob("recalls.db*"))
    assert b"zorro" not in raw
    assert b"figaro" not in raw


def test_a_file_of_an_older_form_is_begun_anew_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tmp_path.joinpath("home").mkdir()
    connection = apsw.Connection(str(tmp_path / "home" / "recalls.db"))
    connection.execute("CREATE TABLE recalls(n INTEGER PRIMARY KEY, id TEXT); INSERT INTO recalls VALUES(1, 'zorro')")
    connection.close()
    with caplog.at_level(logging.WARNING), reverie.open(tmp_path / "home", embedder="none") as mind:
        mind.observe("the lantern is lit")
        assert mind.last_recall() is None
        assert mind.why(mind.recall("figaro").id).question == "figaro"
    assert caplog.records == []
    assert b"zorro" not in (tmp_path / "home" / "recalls.db").read_bytes()


# how it is told


def adds_up(told: Explanation) -> None:
    """Assert that a reader can follow every total and every score."""
    tops = [told.certainty * hit.total / hit.score for hit in told.hits if hit.score > 0.1]
    for hit in told.hits:
        ways = {way: arm.score for way in ("words", "meaning") if (arm := getattr(hit.why, way))}
        total = sum(told.weights[way] * score for way, score in ways.items()) + sum(hit.why.boosts.values())
        assert hit.total == pytest.approx(total, abs=1e-3)
        parts = " + ".join(f"{told.weights[way]:.2f} × {score:.2f} {way}" for way, score in ways.items())
        assert f"      in all     {parts} + {sum(hit.why.boosts.values()):.2f} boosts = {hit.total:.2f}\n" in f"{told}\n"
    assert tops == pytest.approx([tops[0]] * len(tops), rel=1e-2)
    score = f"certainty {told.certainty:.2f} × what a hit has in all / {tops[0]:.2f}, the best; words count "
    assert f"scores: {score}{told.weights['words']:.2f}" in str(told)
    assert told.as_dict()["weights"] == told.weights


class English(Hashing):
    """An embedder that knows one language."""

    @property
    def languages(self) -> frozenset[str]:
        return frozenset({"en"})


class Squeamish(Hashing):
    """An embedder that leaves out what it does not like."""

    def embed(self, texts: Sequence[str]) -> "Floats":
        if any("lit" in text for text in texts):
            raise ModelError("that is too bright")
        return super().embed(texts)


def test_totals_and_scores_can_be_followed() -> None:
    """R5"""
    texts = ("a lantern in the oven", "the lantern is lit", "the boat is in the harbour", "clouds over the harbour")
    for embedder, question, weights in (
        ("none", "is the lantern lit?", {"words": 1.0}),
        (English(), "is the lantern lit?", {"words": 0.2, "meaning": 0.8}),
        (English(), "¿dónde está el barco, lantern?", {"words": 0.2 / 0.36, "meaning": 0.16 / 0.36}),
    ):
        with reverie.open(":memory:", clock=Clock(), embedder=embedder, background=False) as mind:
            for text in texts:
                mind.observe(text, scope=Scope(session=text))
            told = mind.why(mind.recall(question).id)
        assert told.weights == pytest.approx(weights)
        assert ("(the embedder does not know the language of the question)" in str(told)) == (told.share == FOREIGN)
        adds_up(told)


def test_what_has_no_vector_yet_counts_by_its_words_alone() -> None:
    with reverie.open(":memory:", clock=Clock(), embedder=Squeamish(), background=False) as mind:
        mind.observe("a boat in the harbour")
        mind.observe("the lantern is lit")
        told = mind.why(mind.recall("lantern").id)
    assert told.arms["meaning"] == "pending"
    assert f"      in all     1.00 + {sum(told.hits[0].why.boosts.values()):.2f} boosts = " in str(told)


def test_published_weightings_tell_their_totals() -> None:
    """K8, C8"""
    with reverie.open(":memory:", clock=Clock(), embedder="none") as mind:
        mind.observe("a lantern in the oven")
        kenobot, clanker = (mind.why(mind.recall("lantern oven", weighting=name).id) for name in ("kenobot", "clanker"))
    assert "      in all     0.0164" in str(kenobot)  # 1 / 61
    assert "      in all     0.75 × 1.00 words + 0.21 boosts = 0.96" in str(clanker)
    assert "scores: what a hit has in all, by clanker" in str(clanker)


def test_when_strict_lets_nothing_through_the_gate_is_named(world: World) -> None:
    """C8"""
    world.say("the lantern", "a boat")
    none = world.mind.recall("lantern oven mill sun", strict=True)
    assert none.hits == ()
    told = str(world.mind.why(none.id))
    assert "nothing was sure enough: the best had certainty 0.25, strict wants more than 0.50" in told
    none = world.mind.recall("lantern one two three four five six", strict=True, weighting="clanker")
    assert none.hits == ()
    assert "nothing got through the gate that clanker has for strict" in str(world.mind.why(none.id))
    assert "nothing was found" in str(world.mind.why(world.mind.recall("violin", strict=True).id))


def test_a_time_that_is_not_clear_is_told_with_the_answer(world: World) -> None:
    world.say("the boat leaves")
    for question in ("did the boat leave on 30 February 2026?", "violins on 30 February 2026"):
        assert "\nunclear when: 30 February 2026" in str(world.mind.recall(question))
    assert "unclear" not in str(world.mind.recall("did the boat leave on 20 February 2026?"))


# why not: the memory that is meant


def test_a_memory_is_meant_by_its_id_its_text_or_most_of_its_words(either: World) -> None:
    lit, out = either.say("The lantern is lit tonight", "The lantern is out tonight")
    either.say("a boat", "the oven")
    asked = either.mind.recall("boat").id
    for text in (lit.id, f" {lit.id}\n", lit.text, "the  LANTERN is lit tonight", "lantern lit", "is it lit, that lantern?"):
        assert either.mind.why_not(asked, text).as_dict()["memory"]["id"] == lit.id
    assert either.mind.why_not(asked, "lantern out tonight?").as_dict()["memory"]["id"] == out.id
    for text in ("a lantern and an oboe", unissued(lit.id), "...", "!", "violin"):
        assert either.step(asked, text) == "unknown"
    with pytest.raises(BadInput, match="text is empty; say what the memory says, some words of it, or its id"):
        either.mind.why_not(asked, "  ")


def test_of_two_that_say_the_same_the_better_placed_is_meant(world: World) -> None:
    first, second = world.say("the lantern is lit", "the lantern is lit")
    found = world.mind.recall("lantern", limit=1)
    best, other = (first, second) if found.hits[0].memory.id == first.id else (second, first)
    assert world.mind.why_not(found.id, "the lantern is lit").as_dict()["memory"]["id"] == best.id
    assert world.step(found.id, other.id) == "outranked"


def test_a_recall_that_is_not_kept_here_explains_nothing(either: World) -> None:
    """R6"""
    either.say("the lantern is lit")
    asked = either.mind.recall("lantern", scope=ANA).id
    for scope in (LUIS, ROOM, Scope(), Scope("elsewhere")):
        with pytest.raises(NotFound) as hidden:
            either.mind.why_not(asked, "lantern", scope=scope)
        with pytest.raises(NotFound) as never:
            either.mind.why_not(unissued(asked), "lantern", scope=scope)
        assert str(hidden.value).replace(asked, "") == str(never.value).replace(unissued(asked), "")
    assert either.step(asked, "lantern", ANA) == either.step(asked, "lantern") == "there"


# why not: the step


def test_what_came_back_was_there(world: World) -> None:
    _, second = world.many(2)
    asked = world.mind.recall("lantern").id
    told = world.mind.why_not(asked, second.id)
    assert (told.as_dict()["step"], told.as_dict()["ranked"]["place"]) == ("there", 2)
    assert "it was there, at place 2" in str(told)


Narrowed = tuple[dict[str, Any], str, str]
NARROWED: tuple[Narrowed, ...] = (
    ({"kinds": ("turn", "goal")}, "kinds", "the kinds turn, goal; this is a fact"),
    ({"tags": ("home", "work")}, "tags", "what has the tags home, work; this has home"),
    ({"subject": "oven"}, "subject", "what is about oven; this is about lamp"),
    ({"session": "supper"}, "session", "the session supper; this was said in breakfast"),
    (
        {"between": (START + timedelta(days=1), None)},
        "between",
        "from 2026-03-02 09:00 to …; this happened at 2026-03-01 09:00",
    ),
    ({"between": (None, START)}, "between", "from … to 2026-03-01 09:00; this happened at 2026-03-01 09:00"),
)


@pytest.mark.parametrize(("asked", "step", "reason"), NARROWED, ids=[f"{step} {n}" for n, (_, step, _) in enumerate(NARROWED)])
def test_what_was_not_asked_for_is_said_to_be_so(world: World, asked: dict[str, Any], step: str, reason: str) -> None:
    lit = world.mind.remember(
        "the lantern is lit", subject="lamp", tags=("home",), happened_at=START, scope=Scope(session="breakfast")
    )
    id = world.mind.recall("lantern", **asked).id
    told = world.mind.why_not(id, "lantern lit").as_dict()
    assert (told["step"], told["memory"]["id"]) == (step, lit.id)
    assert reason in told["reason"]
    assert world.step(world.mind.recall("lantern", kinds=("fact",), subject="lamp").id, "lantern lit") == "there"


def test_what_names_no_time_is_outside_every_time(world: World) -> None:
    world.mind.remember("the lantern is lit")
    told = world.mind.why_not(world.mind.recall("lantern", between=(START, None)).id, "lantern")
    assert "; this names no time" in str(told)
    world.mind.remember("the oven is hot", valid_until=START)
    told = world.mind.why_not(world.mind.recall("oven", between=(START, None)).id, "oven")
    assert "; this held from … to 2026-03-01 09:00" in str(told)


def test_only_the_owner_is_told_that_it_was_not_for_the_asker(world: World) -> None:
    """R6"""
    (secret,) = world.say("the lantern is behind the mill", scope=LUIS)
    asked = world.mind.recall("lantern", scope=ANA).id
    told = world.mind.why_not(asked, "lantern behind the mill", scope=Scope.owner())
    assert (told.as_dict()["step"], told.as_dict()["memory"]["id"]) == ("scope", secret.id)
    assert "meant for Scope('default', person='luis'), and this was asked in Scope('default', person='ana')" in str(told)
    assert world.step(asked, "lantern behind the mill", ANA) == "unknown"


def test_what_was_recorded_later_was_not_there_yet(either: World) -> None:
    either.say("an oven")
    asked = either.mind.recall("lantern").id
    (later,) = either.say("the lantern is lit")
    told = either.mind.why_not(asked, "lantern").as_dict()
    assert (told["step"], told["memory"]["id"]) == ("later", later.id)
    assert told["reason"] == f"it was recorded at {later.recorded_at:%Y-%m-%d %H:%M}, after it was asked"
    back = either.mind.recall("lantern", as_of=START).id
    assert "after the moment asked about, 2026-03-01 09:00" in str(either.mind.why_not(back, "lantern"))


def test_what_was_forgotten_before_is_said_to_be_so_and_what_was_forgotten_since_was_there(either: World) -> None:
    lit, out = either.say("the lantern is lit", "the lantern is out")
    either.mind.forget(lit.id)
    gone_at = either.clock.now
    either.clock.pass_(hours=1)
    asked = either.mind.recall("lantern").id
    either.clock.pass_(hours=1)
    either.mind.forget(out.id)
    told = either.mind.why_not(asked, "lantern lit").as_dict()
    assert (told["step"], told["reason"]) == ("forgotten", f"it was forgotten at {gone_at:%Y-%m-%d %H:%M}, before it was asked")
    assert either.step(asked, "lantern out") == "there"
    either.mind.restore(lit.id)
    assert either.step(asked, lit.id) == "forgotten"


def test_what_had_been_corrected_is_shown_with_what_it_said_by_then(either: World) -> None:
    """R4"""
    home = either.mind.remember("Ana lives in Oaxaca")
    either.clock.pass_(hours=1)
    either.mind.update(home.id, text="Ana lives in Puebla")
    either.clock.pass_(hours=1)
    asked = either.mind.recall("where does Ana live?").id
    told = either.mind.why_not(asked, "ana lives in oaxaca").as_dict()
    assert (told["step"], told["memory"]["version"], told["instead"]["text"]) == ("superseded", 1, "Ana lives in Puebla")
    assert "before it was asked; what it said instead came at place 1" in told["reason"]
    either.mind.update(home.id, text="Ana lives in Lima")
    told = either.mind.why_not(asked, "Ana lives in Lima").as_dict()
    assert (told["step"], told["memory"]["version"], told["instead"]["text"]) == ("later", 3, "Ana lives in Puebla")
    assert either.step(asked, home.id) == either.step(asked, "Ana lives in Puebla") == "there"
    back = either.mind.recall("where does Ana live?", as_of=START + timedelta(minutes=30)).id
    assert either.step(back, "Ana lives in Oaxaca") == "there"
    assert either.step(back, "Ana lives in Puebla") == "later"


def test_what_shares_no_word_is_not_found_without_an_embedder(world: World) -> None:
    world.say("the oven is hot", "the lantern is lit")
    told = world.mind.why_not(world.mind.recall("lantern").id, "hot oven").as_dict()
    assert (told["step"], told["figures"]) == ("unfound", {"words": 0})
    assert told["reason"] == "it shares no word with the question; meaning was not looked at"


def test_what_came_too_late_in_the_ranking_is_told_how_far_it_was(world: World) -> None:
    said = world.many(8)
    found = world.mind.recall("lantern", limit=3)
    told = world.mind.why_not(found.id, said[5].id)
    numbers = told.as_dict()
    ranked = {hit.id: hit.total for hit in world.mind.why(found.id).hits} | {
        one.id: one.total for one in world.mind.why(found.id).others
    }
    assert numbers["step"] == "outranked"
    assert (numbers["ranked"]["place"], numbers["last"]["place"], numbers["asked_again"]) == (6, 3, False)
    assert (numbers["ranked"]["total"], numbers["last"]["total"]) == (ranked[said[5].id], ranked[said[2].id])
    assert numbers["short_by"] == ranked[said[2].id] - ranked[said[5].id] > 0
    assert f"at place 6 with {ranked[said[5].id]:.2f} in all; the last one returned, at place 3, has" in str(told)
    words = next(line for line in str(told).splitlines() if line.strip().startswith("words"))
    assert ", place 6, against " in words
    assert words.endswith(", place 3")


def test_what_no_longer_holds_comes_after_what_does(world: World) -> None:
    world.mind.remember("lantern lantern lantern", valid_until=START + timedelta(hours=1))
    world.clock.pass_(hours=2)
    world.say("a lantern, among many other things that are of no use to anyone")
    told = world.mind.why_not(world.mind.recall("lantern", limit=1).id, "lantern lantern lantern").as_dict()
    assert (told["step"], told["ranked"]["place"], told["ranked"]["holds"]) == ("outranked", 2, False)
    assert "it no longer holds, and what does comes first" in told["reason"]


def test_what_strict_refuses_is_told_how_sure_it_made_us(world: World) -> None:
    """C8"""
    world.say("a lantern, an oven, a boat", "the lantern")
    asked = world.mind.recall("lantern oven boat mill", strict=True).id
    assert world.step(asked, "lantern oven boat") == "there"
    told = world.mind.why_not(asked, "the lantern").as_dict()
    assert (told["step"], told["figures"]) == ("strict", {"certainty": 0.25, "threshold": 0.5})
    assert "strict asks for more than 0.50, and this makes 0.25 sure" in told["reason"]


def test_published_weightings_are_explained_in_their_own_numbers() -> None:
    """K8, C8"""
    with reverie.open(":memory:", clock=Clock(), embedder="hashing", background=False) as mind:
        for text in ("a lantern in the oven", "the lantern is lit", "a boat", "clouds", "nothing much"):
            mind.observe(text)
        for weighting in ("kenobot", "clanker"):
            found = mind.recall("lantern oven", limit=1, weighting=weighting)
            told, missed = mind.why(found.id), mind.why_not(found.id, "lantern is lit").as_dict()
            assert told.hits[0].total == pytest.approx(found.hits[0].score, abs=1e-7)
            assert (missed["step"], missed["ranked"]["place"]) == ("outranked", 2)
            assert 0 < missed["short_by"] < told.hits[0].total
            assert re.search(r": 0\.0*[1-9]\d* more", missed["reason"])
        found = mind.recall("lantern oven", weighting="kenobot")
        far = {"a boat", "clouds", "nothing much"} - {hit.memory.text for hit in found.hits}
        assert {mind.why_not(found.id, text).as_dict()["reason"] for text in far} == {
            "it shares no word with the question; kenobot takes up nothing so far in meaning"
        }


def test_what_a_context_left_out_is_told_why(world: World) -> None:
    """A7"""
    said = world.many(20)
    (question,) = world.say("which lantern?")
    context = world.mind.context("which lantern?", budget=90)
    inside = next(part for part in context.parts if part.id in {one.id for one in said})
    told = world.mind.why_not(context.recall_id, inside.id)
    assert told.as_dict()["step"] == "there"
    assert f"in {inside.section} with {inside.tokens} tokens" in str(told)
    reasons = {dropped.id: dropped.reason for dropped in context.dropped}
    assert question.id in reasons
    assert len(reasons) > 2
    for id, reason in reasons.items():
        told = world.mind.why_not(context.recall_id, id)
        assert (told.as_dict()["step"], told.as_dict()["figures"]) == ("packing", {"tokens": context.tokens, "budget": 90})
        assert f"left out of the context: {reason}; {context.tokens} of 90 tokens were used" in str(told)


def test_what_is_over_the_share_of_the_unverified_is_told_so(world: World) -> None:
    """A7, R7: there was room, but not for that."""
    for number in range(60):
        world.mind.observe(f"page {number} says that the lantern is lit in the mill", trust="web")
    context = world.mind.context("lantern mill", budget=1000)
    reason = "no room in the quarter of the budget for what is unverified"
    assert {dropped.reason for dropped in context.dropped} == {reason}
    assert context.tokens < 300
    told = world.mind.why_not(context.recall_id, context.dropped[0].id)
    used = sum(part.tokens for part in context.parts)
    assert told.as_dict()["figures"] == {
        "tokens": context.tokens, "budget": 1000, "unverified": used, "unverified_budget": 250,
    }  # fmt: skip
    assert f"{reason}; {context.tokens} of 1,000 tokens were used, {used} of 250 by lines that are unverified" in str(told)
    assert f"{len(context.dropped)} out: {reason}" in str(world.mind.why(context.recall_id))


# asked again


def test_what_was_not_among_the_candidates_is_asked_for_again(either: World) -> None:
    said = either.many(80)
    found = either.mind.recall("lantern", limit=1)
    told = either.mind.why_not(found.id, said[70].id)
    assert said[70].id not in {one.id for one in either.mind.why(found.id).others}
    numbers = told.as_dict()
    assert (numbers["step"], numbers["asked_again"], numbers["ranked"]["place"]) == ("outranked", True, 71)
    assert (numbers["last"]["id"], numbers["last"]["place"]) == (found.hits[0].memory.id, 1)
    assert numbers["short_by"] > 0
    assert "asked again as of then" in numbers["reason"]


def test_asking_again_sees_only_what_was_believed_then(either: World) -> None:
    """R4"""
    said = either.many(80)
    found = either.mind.recall("lantern", limit=1)
    before = either.mind.why_not(found.id, said[70].id).as_dict()
    either.mind.forget(said[3].id)
    either.mind.update(said[4].id, text="no longer about that")
    either.mind.observe_many({"text": "lantern lantern", "message_id": f"new {number}"} for number in range(50))
    either.mind.forget(said[70].id)
    after = either.mind.why_not(found.id, said[70].id).as_dict()
    assert (after["step"], after["asked_again"], after["ranked"]["place"]) == ("outranked", True, 71)
    assert after["last"]["id"] == before["last"]["id"] == found.hits[0].memory.id
    assert either.step(found.id, said[4].text) == "outranked"
    assert either.step(found.id, "no longer about that") == "later"


def test_by_meaning_it_is_asked_again_with_the_embedder_and_by_words_where_that_fails(tmp_path: Path) -> None:
    clock = Clock()
    with reverie.open(tmp_path, clock=clock, embedder="hashing", background=False) as mind:
        mind.observe_many({"text": f"lantern number {number}"} for number in range(100))
        ovens = [mind.observe(f"ovens are hot {number}").id for number in range(100)]
        asked, given = mind.recall("lantern", limit=1).id, mind.recall("lantern", limit=1, vector=[1.0] * 64).id
        looked_at = [{hit.id for hit in told.hits} | {one.id for one in told.others} for told in map(mind.why, (asked, given))]
        far, other = (next(id for id in ovens if id not in looked) for looked in looked_at)
        told = mind.why_not(asked, far).as_dict()
    assert (told["step"], told["asked_again"]) == ("outranked", True)
    assert told["ranked"]["place"] > 30
    with reverie.open(tmp_path, clock=clock, embedder="none") as mind:
        told, unvectored = mind.why_not(asked, far).as_dict(), mind.why_not(given, other).as_dict()
    assert (told["step"], unvectored["step"]) == ("unfound", "unfound")
    assert told["reason"] == "it shares no word with the question; it could not be compared in meaning"
    assert unvectored["reason"] == "it shares no word with the question; the vector asked with is not kept"


# what may not be seen


WORDS = ("amber", "birch", "candle", "dagger", "ember", "falcon", "garnet", "hazel", "ivory", "jasper", "laurel", "opal")
ASKERS = (ANA, ROOM, Scope(), Scope(session="s"), Scope(channel="hall"), Scope(channel="hall", session="s", person="luis"))


def hidden_from(scope: Scope) -> list[Scope]:
    """Return audiences that a scope does not belong to."""
    everywhere = [Scope(person="eva"), Scope(channel="cellar"), Scope(session="t"), Scope(channel="hall", person="eva")]
    return [*everywhere, Scope("elsewhere"), *([ANA] if scope.channel else [])]


@pytest.mark.parametrize("kind", KINDS)
def test_what_may_not_be_seen_is_answered_like_what_was_never_stored(kind: str, tmp_path: Path) -> None:
    """R5, R6: the same bytes, by text, by some of its words and by id, in every scope."""
    chance, clock, pairs = random.Random(5), Clock(), 0
    with reverie.open(":memory:" if kind == "memory" else tmp_path / "home", clock=clock, embedder="hashing") as mind:
        mind.observe("the lantern hangs in the hall")
        secrets: dict[Scope, list[Memory]] = {}
        for number, audience in enumerate(dict.fromkeys(one for scope in ASKERS for one in hidden_from(scope))):
            for _ in range(4):
                clock.pass_(minutes=1)
                text = " ".join(f"{word}{number}" for word in chance.sample(WORDS, 5))
                secrets.setdefault(audience, []).append(mind.observe(text, scope=audience, audience=audience))
        mind.settle()
        clock.pass_(minutes=1)
        for scope in ASKERS:
            asked = mind.recall(f"lantern {chance.choice(WORDS)}0", scope=scope).id
            for secret in (one for audience in hidden_from(scope) for one in secrets[audience]):
                words = secret.text.split()
                never = [f"x{word}" for word in words]
                for told, stored in ((" ".join(never), secret.text), (" ".join(never[:2]), " ".join(words[:2])),
                                     (unissued(secret.id), secret.id)):  # fmt: skip
                    expected, given = mind.why_not(asked, told, scope=scope), mind.why_not(asked, stored, scope=scope)
                    assert str(given).encode() == str(expected).encode()
                    assert json.dumps(given.as_dict()) == json.dumps(expected.as_dict())
                    assert given.as_dict()["step"] == "unknown"
                    pairs += 1
    assert pairs >= 200


def twin(kind: str, home: Path, with_secrets: bool, ask: Callable[[Mind], list[str]]) -> list[str]:
    with reverie.open(":memory:" if kind == "memory" else home, clock=Clock(), embedder="none") as mind:
        mind.observe("an amber candle, seen by everyone", scope=ROOM)
        mind.observe("an opal in the hall", scope=ROOM)
        if with_secrets:
            for number in range(12):
                mind.observe(f"amber candle and opal {number}", scope=LUIS)
        return ask(mind)


SAID_TOO = ("amber candle", "amber opal", "opal", "an amber candle, seen by everyone", "amber candle and opal 3")


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_that_others_said_too_means_what_it_would_mean_without_them(kind: str, tmp_path: Path) -> None:
    """R6: two worlds that differ by what the asker may not see."""

    def ask(mind: Mind) -> list[str]:
        asked = mind.recall("hall", scope=ROOM).id
        told = [mind.why_not(asked, text, scope=ROOM).as_dict() for text in SAID_TOO]
        return [f"{one['step']}: {one['reason']}, {one['memory'] and one['memory']['text']}" for one in told]

    with_them, without = (twin(kind, tmp_path / str(secrets), secrets, ask) for secrets in (True, False))
    assert with_them == without
    assert len(set(without)) > 2
