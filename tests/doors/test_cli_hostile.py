"""Texts come from anyone: none of them steers the terminal it is shown on, whatever prints it."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import reverie
from reverie import Scope, Source
from reverie.doors.cli.show import CUT, visible
from tests.doors.commands import all_commands, at_shell, run

ATTACK = (
    "pwned · 日本 \x1b[2J\x1b[38;5;201m\x1b]8;;http://evil.example\x07link\x1b]8;;\x07\x9b5m\x85\x08\x7f\r"
    "[bold red]loud[/bold red][link=http://evil.example]"
    "\nerror: all is lost\u202egnp.exe\u2066\u2069\u200b\u200d\u2028\ufeff\U000e0041 end"
)
NAME = "A\u202enA[blink]\u200b"
LONG = "x" * 999_990 + "\x1b[2J"
STEERS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f\ud800-\udfff]"
)
OUR_STYLES = re.compile(r"\x1b\[(?:0|1|2|1;3[1-6]|3[1-6])m")
NOT_SHOWN_HERE = {("demo",), ("mcp",), ("init",), ("reset",)}  # they print nothing that a memory says


@dataclass(frozen=True, slots=True)
class Full:
    """A home where everything that can be hostile is, and the ids in it."""

    home: Path
    turn: str
    fact: str
    gone: str
    long: str
    commit: str
    recall: str
    proposal: str
    hash: str
    pattern: str
    refused: str


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Full:
    home = tmp_path_factory.mktemp("hostile")
    space = Scope()
    with reverie.open(home, embedder="hashing", background=False) as mind:
        turn = mind.observe(ATTACK, speaker=NAME, message_id=NAME)
        long = mind.observe(f"pwned {LONG}", speaker=NAME, scope=Scope("long"))
        source = Source(memory_ids=(turn.id,), quote=ATTACK, place=NAME)
        fact = mind.remember(ATTACK, subject=NAME, title=ATTACK, tags=(NAME,), source=source, extra={NAME: ATTACK})
        mind.update(fact.id, ATTACK + " again", reason=ATTACK)
        gone = mind.remember("pwned and forgotten " + ATTACK)
        mind.forget(gone.id, reason=ATTACK)
        mind.people.alias(NAME, NAME)
        mind.people.update(NAME, accounts=(NAME,))
        mind.working(space).replace(task=ATTACK, context=[ATTACK], pending=[ATTACK], notes=ATTACK)
        mind.scratchpad(space).replace(ATTACK)
        mind.chat_context(space).replace(ATTACK)
        recall = mind.recall("pwned " + ATTACK, scope=Scope.owner())
        proposal = mind.propose("forget", turn.id, reason=ATTACK)
        commit = mind.log()[0].id
        pattern = mind.patterns().add("pwned " + NAME, ATTACK)
        with pytest.raises(reverie.Refused):
            mind.remember(
                ATTACK, title=ATTACK, subject=NAME, scope=Scope(channel=NAME, person=NAME), source=source, trust="web"
            )
        refused = mind.quarantine(Scope.owner())[0].id
    ids = (turn.id, fact.id, gone.id, long.id, commit, recall.id, proposal.id, proposal.hash, pattern.id, refused)
    return Full(home, *ids)


Words = Callable[[Full, Path], list[str]]

PRINTING: dict[tuple[str, ...], Words] = {
    ("observe",): lambda at, to: [ATTACK, "--speaker", NAME],
    ("remember",): lambda at, to: [ATTACK + " more", "--title", ATTACK],
    ("retract",): lambda at, to: [NAME],
    ("end",): lambda at, to: [],
    ("new-topic",): lambda at, to: [],
    ("settle",): lambda at, to: [],
    ("learned",): lambda at, to: [at.turn],
    ("recall",): lambda at, to: ["pwned", "--why", "--limit", "50"],
    ("context",): lambda at, to: ["pwned"],
    ("why",): lambda at, to: [at.recall],
    ("why-not",): lambda at, to: [at.gone, "--recall", at.recall],
    ("get",): lambda at, to: [at.fact],
    ("list",): lambda at, to: ["--retired"],
    ("history",): lambda at, to: [at.fact],
    ("log",): lambda at, to: [],
    ("diff",): lambda at, to: ["2020-01-01", "2099-01-01"],
    ("update",): lambda at, to: [at.fact, ATTACK + " third"],
    ("forget",): lambda at, to: ["--query", "pwned", "--dry-run"],
    ("restore",): lambda at, to: [at.gone],
    ("pin",): lambda at, to: [at.fact],
    ("undo",): lambda at, to: [at.commit],
    ("erase",): lambda at, to: ["--query", "pwned", "--dry-run"],
    ("feedback",): lambda at, to: [at.fact, "negative"],
    ("patterns",): lambda at, to: [],
    ("patterns", "list"): lambda at, to: [],
    ("patterns", "add"): lambda at, to: [NAME + "2", ATTACK],
    ("patterns", "remove"): lambda at, to: [at.pattern],
    ("patterns", "match"): lambda at, to: ["pwned " + ATTACK],
    ("patterns", "used"): lambda at, to: [at.pattern],
    ("working",): lambda at, to: [],
    ("working", "replace"): lambda at, to: ["--task", ATTACK],
    ("working", "clear"): lambda at, to: [],
    ("scratchpad",): lambda at, to: [],
    ("scratchpad", "replace"): lambda at, to: [ATTACK],
    ("scratchpad", "clear"): lambda at, to: ["--task", NAME],
    ("chat-context",): lambda at, to: [],
    ("chat-context", "replace"): lambda at, to: [ATTACK],
    ("chat-context", "clear"): lambda at, to: [],
    ("recent",): lambda at, to: [],
    ("recent", "list"): lambda at, to: [],
    ("recent", "clear"): lambda at, to: [],
    ("people",): lambda at, to: [],
    ("people", "list"): lambda at, to: [],
    ("people", "find"): lambda at, to: [NAME],
    ("people", "alias"): lambda at, to: [NAME, NAME + "2"],
    ("people", "update"): lambda at, to: [NAME, "--account", NAME],
    ("people", "optout"): lambda at, to: [NAME],
    ("proposals",): lambda at, to: [],
    ("proposals", "list"): lambda at, to: [],
    ("proposals", "add"): lambda at, to: ["forget", at.fact, "--reason", ATTACK],
    ("proposals", "approve"): lambda at, to: [at.proposal, at.hash],
    ("proposals", "reject"): lambda at, to: [at.proposal],
    ("quarantine",): lambda at, to: [],
    ("quarantine", "list"): lambda at, to: [],
    ("quarantine", "show"): lambda at, to: [at.refused],
    ("quarantine", "allow"): lambda at, to: [at.refused],
    ("quarantine", "drop"): lambda at, to: [at.refused],
    ("actions",): lambda at, to: [],
    ("costs",): lambda at, to: [],
    ("export",): lambda at, to: [str(to / f"{NAME}.jsonl")],
    ("import",): lambda at, to: [str(to / f"{NAME}.nothing")],
    ("backup",): lambda at, to: [str(to / f"{NAME}.backup")],
    ("recover",): lambda at, to: [str(to / f"{NAME}.nothing")],
    ("reindex",): lambda at, to: [],
    ("status",): lambda at, to: [],
    ("doctor",): lambda at, to: ["--residue"],
    ("config",): lambda at, to: [],
    ("config", "set"): lambda at, to: ["space", NAME],
    ("config", "unset"): lambda at, to: [NAME],
    ("memory",): lambda at, to: ["--health"],
}
REFUSED = {("import",), ("recover",), ("config", "unset")}  # for what they complain about
CHANGES = {
    "observe", "remember", "retract", "update", "restore", "pin", "undo", "replace", "clear", "alias", "optout", "add",
    "approve", "reject", "remove", "set", "allow", "drop", "end",
}  # fmt: skip
CHANGING = [words for words in PRINTING if words[-1] in CHANGES]


@pytest.fixture
def copy(full: Full, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Full:
    """Lend a copy of the home, with colours welcome."""
    home = tmp_path / "home"
    shutil.copytree(full.home, home)
    for name in ("NO_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("REVERIE_HOME", str(home))
    monkeypatch.setenv("REVERIE_EMBEDDER", "hashing")
    return replace(full, home=home)


def test_every_command_is_tried() -> None:
    assert set(PRINTING) | NOT_SHOWN_HERE == set(all_commands())


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_what_is_printed_holds_nothing_that_steers_a_terminal(words: tuple[str, ...], copy: Full, tmp_path: Path) -> None:
    line = [*words, *PRINTING[words](copy, tmp_path)]
    outcomes = [run(*line, terminal=True)]
    if words not in CHANGING:
        outcomes += [run(*line, "--full"), run(*line, "--json")]
    for outcome in outcomes:
        assert outcome.code == (2 if words in REFUSED else 0), outcome.err
        assert outcome.out + outcome.err
    coloured, *plain = [outcome.out + outcome.err for outcome in outcomes]
    assert STEERS.findall(OUR_STYLES.sub("", coloured)) == []
    assert [STEERS.findall(said) for said in plain] == [[]] * len(plain)


@pytest.mark.parametrize("words", [("list",), ("status",), ("recall", "pwned", "--why"), ("log",), ("doctor",), ("nonsense",)])
def test_with_no_color_a_terminal_gets_no_escape_at_all(
    words: tuple[str, ...], copy: Full, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" in "".join((run(*words, terminal=True).out, run(*words, terminal=True).err))
    monkeypatch.setenv("NO_COLOR", "1")
    shown = run(*words, terminal=True)
    assert "\x1b" not in shown.out + shown.err


def test_an_export_to_a_terminal_steers_nothing_and_loses_nothing(copy: Full) -> None:
    shown = run("export", "-", terminal=True).out
    assert STEERS.findall(shown) == []
    assert ATTACK in {json.loads(line)["memory"]["text"] for line in shown.splitlines() if line.startswith('{"memory"')}


def test_markup_is_text(copy: Full) -> None:
    assert "[bold red]loud[/bold red][link=http://evil.example]" in run("list").out
    assert "[bold red]loud[/bold red][link=http://evil.example]" in run("list", terminal=True).out


def test_a_line_end_in_a_text_makes_no_line_of_its_own(copy: Full) -> None:
    for words in (["list"], ["recall", "pwned"], ["why"], ["log"], ["working"], ["proposals"], ["history", copy.fact]):
        assert not [line for line in run(*words).out.splitlines() if line.startswith("error:")], words


def test_a_very_long_text_is_cut_with_a_note_and_shown_whole_on_request(copy: Full) -> None:
    for words in (["get", copy.long], ["list", "--space", "long"], ["recall", "pwned", "--space", "long"]):
        cut = run(*words).out
        assert len(cut) < CUT + 1_000
        assert "1,000,000 characters; --full shows all" in cut
    assert len(run("context", "pwned", "--space", "long").out) < 10_000
    whole = run("get", copy.long, "--full").out
    assert "x" * 999_990 + "\\x1b[2J" in whole


def test_json_gives_the_text_back_to_the_letter(copy: Full) -> None:
    outcome = run("get", copy.turn, "--json")
    assert STEERS.findall(outcome.out) == []
    assert json.loads(outcome.out)["text"] == ATTACK


def test_what_was_hidden_can_be_seen() -> None:
    assert visible("a\x1b[2Jb\u202ec\x9bd\n\te\U000e0041\u200d") == "a\\x1b[2Jb\\u202ec\\x9bd⏎    e\\U000e0041\\u200d"
    assert visible("¡Qué día! 日本 🙂 [bold]") == "¡Qué día! 日本 🙂 [bold]"


def test_through_a_real_pipe_no_escape_byte_comes_out(copy: Full) -> None:
    shown = at_shell(copy.home, "list", FORCE_COLOR="1")
    assert shown.returncode == 0
    assert b"pwned" in shown.stdout
    assert b"\x1b" not in shown.stdout + shown.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_without_our_signs_gets_others(encoding: str, copy: Full) -> None:
    shown = at_shell(copy.home, "recall", "pwned", "--why", PYTHONUTF8="0", PYTHONIOENCODING=encoding)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr == b""
    assert b"####" in shown.stdout
    told = at_shell(copy.home, "get", copy.turn, "--json", PYTHONUTF8="0", PYTHONIOENCODING=encoding)
    assert json.loads(told.stdout.decode(encoding))["text"] == ATTACK
