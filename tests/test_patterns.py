"""Patterns through the public handle: added, named, counted, suggested in a context, and gone with what they rest on (K4)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import reverie
from reverie import BadInput, Context, Mind, NotFound, Refused, ReverieError, Scope
from reverie.state import Patterns
from tests.contracts.worlds import Clock
from tests.doors.commands import run

HERE = Scope("harbour", session="telegram-1", person="ana")
SPACE = Scope("harbour")
FOG = "fog + horn", "Sound it twice, then wait"


def suggested(context: Context) -> list[str]:
    return [part.line.split(" · ", 1)[1] for part in context.parts if " · suggestion · " in part.line]


# adding, naming, removing


def test_a_pattern_is_a_memory_with_history_recall_and_undo(mind: Mind) -> None:
    """K4"""
    fog = mind.patterns(HERE).add(*FOG, confidence=0.9, learned_from="episodic/2026-02-13.md")
    memory = mind.get(fog.id)
    assert (memory.kind, memory.text, memory.confidence) == ("pattern", "fog + horn → Sound it twice, then wait", 0.9)
    assert (memory.trust, memory.audience, memory.source.place) == (
        "user",
        Scope("harbour", person="ana"),
        "episodic/2026-02-13.md",
    )
    assert (fog.trigger, fog.response, fog.usage_count, fog.learned_from) == (*FOG, 0, "episodic/2026-02-13.md")
    assert [hit.memory.id for hit in mind.recall("sound the horn", scope=HERE).hits] == [fog.id]
    mind.undo(memory.commit)
    assert mind.patterns(HERE).list() == ()


def test_a_pattern_told_again_is_the_same_one_surer(mind: Mind) -> None:
    patterns = mind.patterns(SPACE)
    first, again = patterns.add(*FOG, confidence=0.5), patterns.add(*FOG, confidence=0.5)
    assert (first.id, first.confidence, again.confidence) == (again.id, 0.5, 0.75)
    assert patterns.list() == (again,)


def test_to_correct_a_pattern_is_to_update_its_text(mind: Mind) -> None:
    fog = mind.patterns(SPACE).add(*FOG)
    mind.update(fog.id, "thick fog → Stay in the harbour")
    corrected = mind.patterns(SPACE).get(fog.id)
    assert (corrected.trigger, corrected.response) == ("thick fog", "Stay in the harbour")
    assert len(mind.history(fog.id)) == 2


def test_a_pattern_is_removed_by_id_or_trigger_and_can_come_back(mind: Mind) -> None:
    patterns = mind.patterns(SPACE)
    fog, tide = patterns.add(*FOG), patterns.add("low tide", "Mind the sandbank")
    removed = patterns.remove("FOG +  horn")
    assert removed.retired == (fog.id,)
    assert patterns.list() == (tide,)
    patterns.remove(tide.id)
    mind.undo(removed.id)
    assert patterns.list() == (fog,)


def test_a_wrong_name_is_told_the_nearest(mind: Mind) -> None:
    patterns = mind.patterns(SPACE)
    with pytest.raises(NotFound, match=r"no pattern named 'deplyo'; patterns\(\).list\(\) shows them"):
        patterns.remove("deplyo")
    patterns.add("deploy", "Tag a release")
    with pytest.raises(NotFound, match="no pattern named 'deplyo'; nearest is 'deploy'"):
        patterns.remove("deplyo")
    patterns.add("deploy", "Ask Luis first")
    with pytest.raises(BadInput, match="2 patterns have the trigger 'deploy'; give one's id: m-"):
        patterns.remove("deploy")


def test_a_pattern_is_named_and_shown_only_where_it_may_be_seen(mind: Mind) -> None:
    """R6"""
    private = mind.patterns(HERE).add("anchor", "Call home first")
    patterns = mind.patterns(Scope("harbour", channel="pier", person="ben"))
    assert (patterns.list(), patterns.match("the anchor")) == ((), ())
    for name in ("anchor", "ancho", private.id):
        with pytest.raises(NotFound, match=r"list\(\) shows them"):
            patterns.used(name)
    assert suggested(mind.context("the anchor", scope=Scope("harbour", channel="pier", person="ana"))) == []
    assert suggested(mind.context("the anchor", scope=HERE)) == ['suggestion · "anchor → Call home first"']


def test_a_file_in_either_form_comes_in_whole(mind: Mind) -> None:
    """K4: `usageCount` imports too."""
    patterns = mind.patterns(SPACE)
    for values in (
        {"id": "a", "trigger": "fog", "response": "slow", "confidence": 0.95, "usageCount": 5, "learnedFrom": "log.md"},
        {"id": "b", "trigger": "tide", "response": "wait", "confidence": 0.9, "usage_count": 12},
    ):
        read = patterns.validate(values)
        patterns.add(read.trigger, read.response, read.confidence, read.learned_from, usage_count=read.usage_count)
    kept = [(one.trigger, one.confidence, one.usage_count, one.learned_from) for one in patterns.list()]
    assert kept == [("fog", 0.95, 5, "log.md"), ("tide", 0.9, 12, None)]


# who may make one


@pytest.mark.parametrize("trust", ["agent", "other", "tool", "web", "recalled"])
def test_what_no_person_said_is_no_pattern(mind: Mind, trust: str) -> None:
    """R7: a model's pattern waits for a person."""
    with contextlib.suppress(Refused):
        mind.remember("fog → Ask the web what to do", kind="pattern", trust=trust, scope=SPACE)
    assert (mind.patterns(SPACE).list(), mind.patterns(SPACE).match("fog")) == ((), ())
    assert suggested(mind.context("fog", scope=SPACE)) == []


def test_a_pattern_learned_from_a_turn_is_no_more_trusted_than_it_and_goes_with_it(mind: Mind) -> None:
    """R7, R8"""
    patterns = mind.patterns(SPACE)
    said = mind.observe("In fog I sound the horn twice", scope=SPACE)
    claimed = mind.observe("You should sound it thrice", role="assistant", scope=SPACE)
    fog = patterns.add(*FOG, learned_from=said.id)
    assert fog.learned_from == said.id
    with pytest.raises(Refused, match="trusted as 'agent' only, which makes no pattern"):
        patterns.add("fog", "Sound it thrice", learned_from=claimed.id)
    mind.erase(said.id)
    assert patterns.list() == ()


# uses


def test_uses_are_counted_beside_the_record_and_make_no_version(mind: Mind) -> None:
    """K4"""
    patterns = mind.patterns(SPACE)
    fog = patterns.add(*FOG)
    commits = len(mind.log(SPACE))
    assert [patterns.used(name).usage_count for name in (fog.id, "fog + horn", fog.id)] == [1, 2, 3]
    assert (len(mind.log(SPACE)), mind.get(fog.id).version) == (commits, 1)


def test_a_context_is_a_read_and_counts_no_use(mind: Mind) -> None:
    """K4: what was shown was not yet followed; whoever follows it says so by `used`."""
    patterns = mind.patterns(SPACE)
    patterns.add(*FOG)
    context = mind.context("a horn in the fog", scope=SPACE)
    patterns.match("a horn in the fog")
    assert patterns.list()[0].usage_count == 0
    (shown,) = [part.id for part in context.parts if part.section == "suggestions"]
    assert patterns.used(shown).usage_count == 1


def test_counts_travel_with_an_export_and_vanish_with_an_erase(mind: Mind, tmp_path: Path) -> None:
    """R8"""
    patterns = mind.patterns(HERE)
    fog, tide = patterns.add(*FOG), patterns.add("low tide", "Mind the sandbank")
    for name in (fog.id, fog.id, tide.id):
        patterns.used(name)
    mind.export(tmp_path / "before.jsonl")
    with reverie.open(":memory:", embedder="none") as other:
        other.load(tmp_path / "before.jsonl")
        assert [one.usage_count for one in other.patterns(HERE).list()] == [2, 1]
    mind.erase(fog.id)
    mind.export(tmp_path / "after.jsonl")
    lines = (tmp_path / "after.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["value"] for line in lines if line.startswith('{"state"')] == [{"memory": tide.id, "count": 1}]
    assert fog.id not in (tmp_path / "after.jsonl").read_text("utf-8")


def test_a_forgotten_pattern_comes_back_with_its_count(mind: Mind) -> None:
    patterns = mind.patterns(SPACE)
    fog = patterns.add(*FOG)
    patterns.used(fog.id)
    patterns.remove(fog.id)
    assert patterns.match("fog horn") == ()
    mind.restore(fog.id)
    assert patterns.list()[0].usage_count == 1


# in a context


@pytest.mark.parametrize("profile", ["default", "kenobot"])
def test_what_a_message_brings_up_is_shown_as_a_suggestion_once(mind: Mind, profile: str) -> None:
    """K4, K7: a suggestion is a line of data like all else, between the markers."""
    mind.patterns(SPACE).add(*FOG)
    mind.patterns(SPACE).add("low tide", "Mind the sandbank")
    context = mind.context("There is fog; should I sound the horn?", scope=HERE, profile=profile)
    assert suggested(context) == ['suggestion · "fog + horn → Sound it twice, then wait"']
    assert context.text.count("Sound it twice") == 1
    inside = context.text.partition("never instructions]\n")[2].partition("[/memory ")[0]
    assert "Sound it twice" in inside


def test_clankers_slices_hold_no_suggestion(mind: Mind) -> None:
    """C9"""
    mind.patterns(SPACE).add(*FOG)
    assert suggested(mind.context("fog and horn", scope=HERE, profile="clanker")) == []


def test_a_suggestion_needs_half_of_the_triggers_words(mind: Mind) -> None:
    mind.patterns(SPACE).add("how should the storm warning go out", "By radio")
    assert mind.patterns(SPACE).match("How is Ana?")[0].score == pytest.approx(0.8 / 6)
    assert suggested(mind.context("How is Ana?", scope=HERE)) == []
    assert len(suggested(mind.context("How should a storm warning be?", scope=HERE))) == 1


def test_at_most_five_are_suggested_the_best_of_them(mind: Mind) -> None:
    for number in range(9):
        mind.patterns(SPACE).add(f"fog number{number}", f"Do {number}", confidence=0.1 + number / 10)
    context = mind.context("fog", scope=HERE)
    assert sorted(line[-2] for line in suggested(context)) == ["4", "5", "6", "7", "8"]
    assert len(mind.patterns(SPACE).match("fog")) == 5
    assert len(mind.patterns(SPACE).match("fog", limit=9)) == 9


def test_what_a_context_suggested_then_can_be_asked_for(mind: Mind, clock: Clock) -> None:
    """R4"""
    mind.patterns(SPACE).add(*FOG)
    then = clock.pass_(days=2)
    mind.patterns(SPACE).remove("fog + horn")
    assert suggested(mind.context("fog horn", scope=HERE)) == []
    assert len(suggested(mind.context("fog horn", scope=HERE, as_of=then))) == 1


def test_a_suggestion_stays_within_the_budget_on_one_harmless_line(mind: Mind) -> None:
    """A pattern's text is neutralised like any other, and gives way where there is no room."""
    mind.patterns(SPACE).add("fog", "run this:\n```\nmake horn\n```\n" + "word " * 300)
    assert suggested(mind.context("fog", scope=HERE, budget=100)) == []
    context = mind.context("fog", scope=HERE, budget=2000)
    assert context.tokens <= 2000
    (line,) = suggested(context)
    assert "run this:⏎'''⏎make horn⏎'''⏎word" in line


def test_patterns_of_a_space_never_written_are_none_and_make_nothing(mind: Mind) -> None:
    patterns = mind.patterns(Scope("nowhere"))
    assert (patterns.list(), patterns.match("fog")) == ((), ())
    assert mind.status().spaces == ()


@pytest.mark.parametrize(
    ("trigger", "response", "more"),
    [("", "x", {}), ("fog", "", {}), ("fog → x", "y", {}), ("fog", "x", {"confidence": 2}), ("fog", "x", {"usage_count": -1})],
)
def test_what_is_no_pattern_is_refused_and_nothing_kept(
    mind: Mind, trigger: str, response: str, more: dict[str, float]
) -> None:
    with pytest.raises(ReverieError):
        mind.patterns(SPACE).add(trigger, response, **more)  # type: ignore[arg-type]
    assert mind.status().spaces == ()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda patterns: patterns.match(" "), "text is empty; give a message that may bring one up"),
        (lambda patterns: patterns.add("", "x"), "trigger is empty; write the words that bring it up"),
        (lambda patterns: patterns.add("fog", " "), "response is empty; write what to do then"),
        (lambda patterns: patterns.get(""), "pattern is empty; give its id or its trigger"),
        (
            lambda patterns: patterns.add("fog", "x", usage_count=-1),
            r"usage_count must be a whole number of at least 0 .* not -1",
        ),
        (
            lambda patterns: patterns.validate({"trigger": "fog", "response": "x", "usageCount": -1}),
            r"usage_count must be a whole number of at least 0 .* not -1",
        ),
    ],
)
def test_what_is_wrong_with_a_pattern_is_told_with_what_to_do(
    mind: Mind, wrong: Callable[[Patterns], object], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        wrong(mind.patterns(SPACE))


# at a command line


def test_patterns_are_kept_from_a_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")
    assert "no pattern is known here yet" in run("patterns").out
    assert run("patterns", "add", "fog + horn", "Sound it twice", "--confidence", "0.9").code == 0
    assert "0.90  fog + horn → Sound it twice" in run("patterns", "match", "fog, so sound the horn").out
    assert "used 1×" in run("patterns", "used", "fog + horn").out
    (listed,) = json.loads(run("patterns", "list", "--json").out)
    assert (listed["trigger"], listed["usage_count"], listed["confidence"]) == ("fog + horn", 1, 0.9)
    assert "suggestion · " in run("context", "fog horn").out
    assert "confidence 0.72" in run("feedback", listed["id"], "negative").out
    wrong = run("patterns", "remove", "fog + hron")
    assert (wrong.code, "no pattern named 'fog + hron'; nearest is 'fog + horn'" in wrong.err) == (1, True)
    assert run("patterns", "remove", "fog + horn").code == 0
    assert "this brings up no pattern" in run("patterns", "match", "fog horn").out
