"""What goes into a prompt, in which order, and what gives way where there is no room (K7, K8, A7, C9)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import reverie
from reverie import BadInput, Context, Mind, Scope
from reverie.recall.pack import tokens_of

GOLDEN = Path(__file__).parent.parent / "golden"
NOON = datetime(2026, 3, 12, 12, tzinfo=UTC)
HERE = Scope("harbour", session="telegram-1", person="ana")
ROOM = Scope("guild", channel="general", person="ana")


class Clock:
    """Time that stands where it was put."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def back(self, **span: float) -> datetime:
        self.now = NOON - timedelta(**span)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def mind(clock: Clock) -> Iterator[Mind]:
    with reverie.open(":memory:", clock=clock, embedder="none") as opened:
        yield opened


def texts(context: Context) -> list[str]:
    return [part.line.split('"', 1)[1].rsplit('"', 1)[0] for part in context.parts]


def sections(context: Context) -> list[str]:
    return list(dict.fromkeys(part.section for part in context.parts))


def filled(mind: Mind, clock: Clock) -> None:
    """Put something of everything into a mind."""
    clock.back(days=20)
    before, space = Scope("harbour", session="telegram-0", person="ana"), Scope("harbour")
    mind.remember("prefers short answers", subject="ana", title="Style", scope=HERE)
    mind.remember("Deploy the harbour site by tagging a release", kind="procedure", scope=space)
    mind.remember("The fog bell rang in 1911", subject="__lore__", scope=space)
    mind.observe("We launched the harbour site", speaker="Ana", scope=before)
    mind.observe("Good. The harbour itself opens at seven", speaker="Luis", scope=before)
    clock.back(days=2)
    mind.remember("The harbour site moved to a new host", scope=space)
    mind.observe("Their page says the harbour is closed", speaker="Luis", scope=before, trust="web")
    clock.back(hours=2)
    mind.working(HERE).replace(task="ship the harbour site", context=["DNS is slow"], pending=["ask Luis"])
    mind.chat_context(HERE).replace("A work group\nTone: short")
    clock.back(minutes=4)
    mind.observe("shall we ship the site?", speaker="Ana", scope=HERE)
    clock.back()


# priority and shares


def test_what_is_held_comes_before_what_was_said_just_now_before_what_bears_on_the_question(mind: Mind, clock: Clock) -> None:
    """A7: working memory, short-term, relevant long-term, what is known about who asks; each line dated, with who said it."""
    filled(mind, clock)
    context = mind.context("when does the harbour open?", scope=HERE)
    assert context.text == context.system_context == str(context)
    assert sections(context) == ["working", "recent", "relevant", "unverified", "known"]
    assert texts(context)[:5] == [
        "Task: ship the harbour site", "Context: DNS is slow", "Pending: ask Luis", "A work group⏎Tone: short",
        "shall we ship the site?",
    ]  # fmt: skip
    assert '2026-02-20 · Luis · "Good. The harbour itself opens at seven"' in context.text
    assert '2026-02-20 · ana · "Style: prefers short answers"' in context.text
    assert '2026-03-10 · fact · "The harbour site moved to a new host"' in context.text
    assert context.text.index("[/memory") < context.text.index("Their page says") < context.text.index("[/unverified")
    assert context.trust == "web"


def test_a_long_chat_does_not_starve_what_bears_on_the_question(mind: Mind, clock: Clock) -> None:
    """A7: half of the budget is for what was found, whatever else there is."""
    clock.back(days=30)
    for number in range(12):
        mind.observe(f"The lighthouse keeper number {number} is called Mateo", speaker="Ana", scope=HERE)
    clock.back(minutes=10)
    for number in range(20):
        mind.observe(f"{number} " + "and so we talked on about nothing much " * 4, speaker="Ana", scope=HERE)
    mind.working(HERE).replace(notes="keep in mind that " + "the wind turns " * 30)
    clock.back()
    context = mind.context("who is the lighthouse keeper?", scope=HERE, budget=500)
    spent = {name: sum(part.tokens for part in context.parts if part.section == name) for name in sections(context)}
    assert spent["relevant"] >= 0.4 * 500
    assert spent["recent"] >= 0.1 * 500
    assert 450 < context.tokens <= 500


def test_a_share_that_is_not_used_goes_to_what_was_found_and_more_is_looked_for_in_a_larger_budget(mind: Mind) -> None:
    """A7: sixty hits would not fill 4,000 tokens."""
    for number in range(400):
        mind.observe(f"The harbour was calm on day {number}", speaker="Ana", at=NOON - timedelta(days=number))
    small, large = (mind.context("how calm was the harbour?", budget=budget) for budget in (1000, 4000))
    assert small.tokens > 950
    assert large.tokens > 3900
    assert len(large.parts) > 200


def test_what_was_just_said_stands_in_its_order_and_the_newest_of_it_stays(mind: Mind, clock: Clock) -> None:
    """A7: short-term."""
    for number in range(6):
        clock.back(minutes=10 - number)
        mind.observe(f"step {number} of the recipe, to be done with care", speaker="Ana", scope=HERE)
    clock.back()
    assert texts(mind.context("weather", scope=HERE)) == [f"step {n} of the recipe, to be done with care" for n in range(6)]
    cut = mind.context("weather", scope=HERE, budget=70)
    assert texts(cut) == [f"step {n} of the recipe, to be done with care" for n in range(6)][-len(cut.parts) :]
    assert 0 < len(cut.parts) < 6
    assert texts(mind.context("weather", scope=Scope("harbour", person="ana"))) == []


# what is found


def a_talk(mind: Mind, session: str, *lines: str) -> None:
    for number, line in enumerate(lines):
        where = Scope("talks", session=session)
        mind.observe(line, speaker=("Ana", "Luis")[number % 2], scope=where, at=NOON - timedelta(days=9, minutes=-number))


def test_the_best_hits_are_shown_between_the_turns_around_them(mind: Mind) -> None:
    """A7: where there is room for it."""
    talk = [f"nothing {word} happened" for word in ("much", "new", "good", "bad", "odd", "loud")]
    a_talk(mind, "one", *talk, "did you sell it?", "the piano went to Mateo", "for how much?", *reversed(talk))
    shown = texts(mind.context("who has the piano?", scope=Scope("talks")))
    best = shown.index("the piano went to Mateo")
    assert shown[best - 1 : best + 2] == ["did you sell it?", "the piano went to Mateo", "for how much?"]


def test_the_last_moment_there_is_has_neighbours_too(mind: Mind) -> None:
    last = datetime.max.replace(tzinfo=UTC)
    for text in ("is it the end?", "the piano fell silent"):
        mind.observe(text, speaker="Ana", scope=Scope("talks", session="one"), at=last)
    assert "is it the end?" in texts(mind.context("piano", scope=Scope("talks")))


def test_turns_of_one_talk_stand_together_in_their_order(mind: Mind) -> None:
    first = ["the piano is old", "hm", "what of it", "so", "I sold the piano, the old piano"]
    second = ["a piano is loud", "well", "yes", "no", "my piano teacher is loud, the piano teacher"]
    a_talk(mind, "one", *first)
    a_talk(mind, "two", *second)
    shown = texts(mind.context("piano", scope=Scope("talks"), budget=1000))
    assert len(shown) >= 4
    both = [[text for text in talk if text in shown] for talk in (first, second)]
    assert shown in (both[0] + both[1], both[1] + both[0])


def test_a_shorter_line_goes_in_before_a_much_longer_one_that_is_hardly_better(mind: Mind) -> None:
    """A7: the best evidence per token."""
    mind.observe("the ferry leaves at nine " + "and then there was this and that " * 40, speaker="Ana")
    for number in range(6):
        mind.observe(f"the ferry on pier {number} leaves later", speaker="Luis")
    shown = texts(mind.context("when does the ferry leave?", budget=400))
    assert len(shown) == 6
    assert not any("this and that" in text for text in shown)


def test_what_repeats_is_shown_once_and_what_is_left_out_is_told(mind: Mind) -> None:
    """A7: deduplicated; the same line twice, a fact in the words of a turn, a fact that quotes one in full."""
    mind.remember("the ferry leaves at NINE", confidence=0.1)
    mind.observe("The ferry leaves at nine", speaker="Ana")
    turn = mind.observe("The ferry leaves at nine", speaker="Ana")
    quoted = reverie.Source(memory_ids=(turn.id,), quote="The ferry leaves at nine")
    mind.remember("Ana's ferry leaves at nine o'clock", source=quoted)
    mind.observe("when does the ferry leave?", speaker="Ana")
    context = mind.context("When does the ferry leave?")
    assert texts(context) == ["The ferry leaves at nine"]
    reasons = sorted(dropped.reason for dropped in context.dropped)
    assert reasons == ["is the question itself", *["says the same as a line above"] * 3]


def test_the_same_words_on_another_day_or_from_someone_else_are_not_a_repetition(mind: Mind) -> None:
    mind.observe("I ran to the ferry", speaker="Ana", at=NOON)
    mind.observe("I ran to the ferry", speaker="Ana", at=NOON - timedelta(days=1))
    mind.observe("I ran to the ferry", speaker="Luis", at=NOON)
    assert len(mind.context("who ran to the ferry?").parts) == 3


def test_no_words_from_elsewhere_take_the_place_of_the_users_own(mind: Mind) -> None:
    """R7: the same line, planted before and after."""
    for trust in ("web", "user", "web"):
        mind.observe("The ferry leaves at nine", speaker="Ana", trust=trust)
        mind.remember("The ferry leaves at nine sharp", trust=None if trust == "user" else "other", kind="event")
    context = mind.context("when does the ferry leave?")
    assert [part.section for part in context.parts if part.section != "unverified"] == ["relevant", "relevant"]


def test_what_no_longer_holds_comes_last_and_says_so(mind: Mind) -> None:
    mind.remember("The ferry is free of charge", valid_until=NOON - timedelta(days=1))
    mind.remember("A ticket for the ferry is two euros, children and dogs and bicycles travel for one")
    lines = [part.line for part in mind.context("ferry free of charge").parts]
    assert len(lines) == 2
    assert lines[1].endswith('"The ferry is free of charge" (no longer)')


def test_a_context_of_the_past_holds_what_was_believed_and_nothing_of_now(mind: Mind, clock: Clock) -> None:
    filled(mind, clock)
    then = NOON - timedelta(days=10)
    context = mind.context("harbour site", scope=HERE, as_of=then)
    assert sections(context) == ["relevant", "known"]
    assert "new host" not in context.text
    assert "Style" in context.text


# without a question, and without retrieval


def test_without_a_message_it_is_what_is_held_said_and_known(mind: Mind, clock: Clock) -> None:
    """C9: automation, initiative and voice have no incoming message."""
    filled(mind, clock)
    context = mind.context("", scope=HERE)
    assert sections(context)[:2] == ["working", "recent"]
    assert {"Style: prefers short answers", "The fog bell rang in 1911", "Task: ship the harbour site"} <= set(texts(context))
    for number in range(300):
        mind.remember(f"Crate {number} came in on the quay today", scope=Scope("harbour"))
    crowded = texts(mind.context("", scope=HERE, budget=600))
    assert {"Style: prefers short answers", "The fog bell rang in 1911", "Task: ship the harbour site"} <= set(crowded)


def test_without_retrieval_the_last_days_come_whole_then_what_is_known_the_newest_first(mind: Mind, clock: Clock) -> None:
    """K8: whatever is asked."""
    filled(mind, clock)
    space = Scope("harbour", person="ana")
    context = mind.context("when does the harbour open?", scope=space, retrieval=False)
    trusted = [part for part in context.parts if part.section != "unverified"]
    days = [part.line[:10] for part in trusted]
    assert texts(context)[:3] == [
        "shall we ship the site?",
        "Their page says the harbour is closed",
        "The harbour site moved to a new host",
    ]
    assert days == sorted(days, reverse=True)
    assert len(context.parts) == 8
    asked_otherwise = mind.context("bread", scope=space, retrieval=False)
    assert asked_otherwise.parts == context.parts
    assert [part.id for part in mind.context("", scope=space).parts] == [part.id for part in context.parts]


def test_without_retrieval_the_question_is_not_repeated_either(mind: Mind) -> None:
    mind.observe("where is the key?", speaker="Ana")
    assert mind.context("Where is  the key?", retrieval=False).text == ""


# budgets and counters


def test_a_budget_may_be_a_share_of_the_models_window(mind: Mind) -> None:
    """A7"""
    for number in range(100):
        mind.observe(f"The harbour was calm on day {number}", speaker="Ana")
    tenth, whole = (mind.context("harbour", budget=share, window_tokens=400) for share in (0.1, 1.0))
    assert 20 < tenth.tokens <= 40
    assert 350 < whole.tokens <= 400
    assert mind.context("harbour", budget=0.0000001, window_tokens=1).text == ""
    assert 1000 < mind.context("harbour", budget=0.02).tokens <= 2560


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"budget": -5}, "budget must be a whole number"),
        ({"budget": True}, "budget must be a whole number"),
        ({"budget": "2000"}, "budget must be a whole number"),
        ({"budget": 0.0}, "a budget with a point is a share of the window"),
        ({"budget": 1.5}, "at most 1.0, not 1.5"),
        ({"budget": float("nan")}, "not nan"),
        ({"budget": 0.5, "window_tokens": 0}, "window_tokens must be"),
        ({"profile": "kenobo"}, "no profile named 'kenobo'; nearest is 'kenobot'"),
        ({"count": 7}, "count must be a callable that returns the tokens of a text, not int"),
        ({"count": lambda text: "many"}, "count must return a whole number of tokens, 0 or more, not 'many'"),
        ({"count": lambda text: -1}, "0 or more, not -1"),
        ({"count": lambda text: 2.5}, "0 or more, not 2.5"),
        ({"count": lambda text: 1 // 0}, r"count failed on a text of \d+ characters: ZeroDivisionError"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_budget_a_profile_or_a_counter_is_refused(mind: Mind, given: dict[str, Any], said: str) -> None:
    mind.observe("The harbour was calm", speaker="Ana")
    with pytest.raises(BadInput, match=said):
        mind.context("harbour", **given)


@pytest.mark.parametrize("count", [len, lambda text: len(text.split()), lambda text: len(text.encode()) // 2])
def test_tokens_are_counted_by_the_counter_that_is_given(mind: Mind, count: Callable[[str], int]) -> None:
    """A7: exact counters through a hook."""
    for number in range(60):
        mind.observe(f"The harbour was calm on day {number}", speaker="Ana", at=NOON - timedelta(days=number))
    context = mind.context("harbour", budget=300, count=count)
    assert context.tokens == count(context.text) <= 300
    assert context.tokens > 200
    assert [part.tokens for part in context.parts] == [count(part.line + "\n") for part in context.parts]


# KenoBot's memory section


def without_nonce(context: Context) -> str:
    return re.sub(r"(?<=memory |rified )[0-9a-f]{4}(?=[:\]])", "0000", context.text)


def test_the_memory_section_of_kenobot_is_laid_out_as_documented(mind: Mind, clock: Clock) -> None:
    """K7: headings and their order, how to use the tags; the tags stand outside the markers, memories inside."""
    filled(mind, clock)
    whole = mind.context("shall we?", scope=HERE, budget=2100, profile="kenobot", retrieval=False)
    assert without_nonce(whole) + "\n" == (GOLDEN / "context-kenobot.md").read_text(encoding="utf-8")
    assert tokens_of(whole.text) == whole.tokens <= 2100
    chosen = mind.context("how do we deploy the harbour site?", scope=HERE, budget=2100, profile="kenobot")
    headings = [[line for line in context.text.splitlines() if line.startswith("#")] for context in (whole, chosen)]
    assert headings[0] == headings[1]
    assert chosen.text.startswith(whole.text[: whole.text.index("[memory ")])


def test_kenobots_sections_keep_to_their_shares_and_give_what_they_do_not_need(mind: Mind, clock: Clock) -> None:
    """K7: about 1,000 tokens long-term, 500 recent, 300 of the chat, 200 working, of 2,100."""
    elsewhere = Scope("harbour", session="telegram-0")
    for number in range(100):
        for days, scope in ((30, elsewhere), (1, elsewhere), (9, HERE)):
            text = f"On round {number} of {days} the harbour was calm, {'and the gulls were loud ' * 4}"
            mind.observe(text, speaker="Ana", scope=scope, at=clock.back(days=days))
    clock.back(hours=1)
    mind.working(HERE).replace(pending=[f"look at crate {number} by the harbour wall" for number in range(50)])
    clock.back()
    full = mind.context("how calm was the harbour?", scope=HERE, budget=2100, profile="kenobot")
    spent = {name: sum(part.tokens for part in full.parts if part.section == name) for name in sections(full)}
    for name, tokens in (("long-term", 1000), ("recent", 500), ("chat", 300), ("working", 200)):
        assert 0.7 * tokens < spent[name] < 1.8 * tokens, name
    alone = mind.context("how calm was the harbour?", scope=elsewhere, budget=2100, profile="kenobot")
    assert sections(alone) == ["chat"]
    assert alone.tokens > 2000


def test_kenobot_loads_so_many_of_each_kind(mind: Mind) -> None:
    """K8: ten facts, five procedures, three lessons, three episodes; the rest is told to be left out."""
    for kind in ("fact", "procedure", "lesson", "episode"):
        for number in range(12):
            mind.remember(f"The harbour {kind} number {number}", kind=kind)
    context = mind.context("harbour", profile="kenobot")
    shown = [next(kind for kind in ("fact", "procedure", "lesson", "episode") if kind in text) for text in texts(context)]
    assert {kind: shown.count(kind) for kind in shown} == {"fact": 10, "procedure": 5, "lesson": 3, "episode": 3}
    assert len(context.dropped) == 27
    assert {dropped.reason for dropped in context.dropped} >= {"beyond the 10 of its kind", "beyond the 3 of its kind"}
    assert len(mind.context("harbour", profile="kenobot", retrieval=False).parts) == 48


def test_what_is_pinned_is_long_term_at_once(mind: Mind) -> None:
    """K7"""
    first, second = (mind.remember(f"The harbour rule number {number}") for number in (1, 2))
    mind.pin(second.id)
    found = {part.id: part.section for part in mind.context("harbour rule", profile="kenobot").parts}
    assert found == {first.id: "recent", second.id: "long-term"}


def test_an_empty_mind_still_tells_kenobot_how_to_remember_unless_there_is_no_room(mind: Mind) -> None:
    context = mind.context("hello", profile="kenobot")
    assert context.text.startswith("## Memory\n")
    assert "[memory " not in context.text
    assert mind.context("hello", profile="kenobot", budget=100).text == ""


@pytest.mark.parametrize(
    ("ago", "said"),
    [
        ({"seconds": 5}, "just now"), ({"minutes": 1}, "1 minute ago"), ({"minutes": 59}, "59 minutes ago"),
        ({"hours": 1.5}, "1 hour ago"), ({"days": 1}, "1 day ago"), ({"days": 6.9}, "6 days ago"),
    ],
)  # fmt: skip
def test_working_memory_tells_its_age_and_is_gone_after_a_week(
    mind: Mind, clock: Clock, ago: dict[str, float], said: str
) -> None:
    """K1, K7"""
    clock.back(**ago)
    mind.working(HERE).replace(task="ship it")
    clock.back()
    assert f"### Working memory (updated {said})\n" in mind.context("x", scope=HERE, profile="kenobot").text
    clock.back(days=-8)
    assert "Working memory" not in mind.context("x", scope=HERE, profile="kenobot").text


# Clanker's slices


def a_guild(mind: Mind) -> None:
    for number in range(30):
        mind.remember(f"likes game {number}", subject="ana", scope=ROOM)
        mind.remember(f"hates game {number}", subject="luis", scope=ROOM)
        mind.remember(f"Memory line: game {number} was epic", subject="__lore__", scope=ROOM)
        mind.observe(f"game {number} tonight?", speaker="Luis", scope=ROOM)
        mind.observe(f"game {number} in here?", speaker="Mo", scope=Scope("guild", channel="other"))


@pytest.mark.parametrize("cue", ["which game?", ""])
def test_clankers_slices_are_eight_facts_ten_relevant_and_eight_messages_of_the_channel(mind: Mind, cue: str) -> None:
    """C9: also without an incoming message."""
    a_guild(mind)
    context = mind.context(cue, scope=ROOM, profile="clanker")
    by_section = {
        name: [text for text, part in zip(texts(context), context.parts, strict=True) if part.section == name]
        for name in sections(context)
    }
    assert {name: len(lines) for name, lines in by_section.items()} == {"user": 8, "relevant": 10, "messages": 8}
    assert all(text.startswith("likes") for text in by_section["user"])
    assert all(text.startswith(("likes", "Memory line")) for text in by_section["relevant"])
    assert all(text.endswith("tonight?") for text in by_section["messages"])
    assert "hates" not in context.text


def test_clankers_slices_know_nobody_who_is_not_named(mind: Mind) -> None:
    a_guild(mind)
    context = mind.context("which game?", scope=Scope("guild", channel="general"), profile="clanker")
    assert sections(context) == ["relevant", "messages"]
    assert all(text.startswith("Memory line") for text in texts(context)[:10])


def test_clankers_facts_about_someone_are_filled_up_with_the_newest(mind: Mind) -> None:
    """C9: eight facts about the user, whether or not they bear on it."""
    for number in range(10):
        mind.remember(f"owns boat {number}", subject="ana", scope=ROOM)
    mind.remember("likes chess", subject="ana", scope=ROOM)
    context = mind.context("a game of chess?", scope=ROOM, profile="clanker")
    assert texts(context)[0] == "likes chess"
    assert sum(part.section == "user" for part in context.parts) == 8


@pytest.mark.parametrize("cue", ["which game?", ""])
@pytest.mark.parametrize("profile", ["default", "kenobot", "clanker"])
def test_facts_from_elsewhere_do_not_take_the_places_of_trusted_ones(mind: Mind, profile: str, cue: str) -> None:
    """R7: however many are told of someone, and however well they fit."""
    for number in range(3):
        mind.remember(f"likes quiet evenings and a game of type {number}", subject="ana", scope=ROOM)
    for number in range(25):
        mind.remember(f"which game? game {number}", subject="ana", scope=ROOM, trust="other")
    shown = [part for part in mind.context(cue, scope=ROOM, profile=profile).parts if part.section != "unverified"]
    assert len(shown) == 3
