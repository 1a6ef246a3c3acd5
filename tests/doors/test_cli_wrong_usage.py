"""What people see who get it wrong: one line, a hint, the right exit code, never a traceback, and nothing changed."""

import json
import re
from pathlib import Path

import pytest

import reverie
from tests.doors.commands import run

NEVER = "m-" + "0" * 10 + "-" + "0" * 19

PYTHON = re.compile(r"\w\((?!s\))|Scope|\(None\)|[a-z]= |embedder=")  # calls, which nobody types at a terminal

WRONG = [
    # the command
    (["recal", "x"], 2, "no command 'recal'; nearest is 'recall'"),
    (["xyzzy"], 2, "no command 'xyzzy'; it is one of observe, remember"),
    (["people", "find"], 2, "Missing argument 'NAME'"),
    (["people", "fnd", "Ana"], 2, "no command 'fnd'; nearest is 'find'"),
    (["config", "sett", "zone", "UTC"], 2, "no command 'sett'; nearest is 'set'"),
    # options and arguments
    (["recall"], 2, "Missing argument 'CUE'"),
    (["recall", "where", "is", "Ana"], 2, "unexpected extra argument"),
    (["recall", "x", "--limti", "3"], 2, "--limti"),
    (["recall", "x", "--limit"], 2, "--limit"),
    (["recall", "x", "--limit", "ten"], 2, "limit must be a whole number, not 'ten'"),
    (["recall", "x", "--limit", "0"], 2, "limit must be a whole number of at least 1"),
    (["remember", "-5 degrees"], 2, "-5"),
    (["--hom", "x", "status"], 2, "--hom"),
    # values
    (["recall", ""], 2, "the cue is empty"),
    (["observe", "  "], 2, "text is empty"),
    (["recall", "x", "--kind", "fatc"], 2, "no kind named 'fatc'; nearest is 'fact'"),
    (["recall", "x", "--since", "yesterdayish"], 2, "since 'yesterdayish' is not a time; write 2026-03-02"),
    (["recall", "x", "--since", "2026-03-02", "--until", "2026-03-01"], 2, "swap them"),
    (["recall", "x", "--weighting", "mine"], 2, "no weighting named 'mine'"),
    (["observe", "x", "--role", "king"], 2, "no role named 'king'; one of user, assistant"),
    (["observe", "x", "--trust", "hand"], 2, "trust 'hand' is above 'user'"),
    (["remember", "x", "--confidence", "2"], 2, "confidence must be a number from 0 to 1"),
    (["remember", "x", "--extra", "{"], 2, "extra must be a JSON object"),
    (["remember", "x", "--audience", "ana"], 2, "audience must be an object"),
    (
        ["remember", "x", "--person", "ana", "--audience", "person=luis"],
        2,
        "audience ('default', person='luis') is wider than ('default', person='ana')",
    ),
    (["diff", "2026-03-02", "soon"], 2, "t1 'soon' is not a time"),
    (["diff", "2026-03-02"], 2, "Missing argument 'T1'"),
    (["import", "nothing.jsonl"], 2, "nothing.jsonl cannot be read: No such file"),
    (["import", "x", "--format", "csv"], 2, "no format named 'csv'"),
    (["observe", "--many", "nothing.jsonl"], 2, "nothing.jsonl cannot be read"),
    (["observe", "--many", "x.jsonl", "--speaker", "Ana"], 2, "leave out speaker"),
    (["recover", "nothing.backup"], 2, "there is no backup nothing.backup"),
    (["backup", "x.backup"], 2, "nothing is kept in "),
    (["--home", ":memory:", "backup", "x.backup"], 2, "a mind in memory has no files to back up; use reverie export"),
    (["--home", ":memory:", "export", "no/such/folder/x"], 2, "there is no folder"),
    (["--home", ":memory:", "backup", "-"], 2, "a backup goes into a file"),
    (["--home", "postgresql://localhost/x", "list"], 2, "no server can be used yet"),
    (["remember", "x", "--kind", "turn"], 2, "a turn is what somebody said: use reverie observe for it"),
    (["proposals", "add", "erase", NEVER], 2, "no verb named 'erase'; "),
    # what is not there
    (["get", "nonsense"], 1, "no memory 'nonsense' here; reverie recall and reverie list show what there is"),
    (["history", NEVER], 1, f"no memory '{NEVER}' here"),
    (["undo", "c" + NEVER[1:]], 1, "here; reverie log lists them"),
    (["why", "r" + NEVER[1:]], 1, "no recall"),
    (["why"], 1, "no recall is kept here yet"),
    (["why-not"], 2, "Missing argument 'TEXT'"),
    (["why-not", "x"], 1, "no recall is kept here yet"),
    (["why-not", "x", "--recall", "r" + NEVER[1:]], 1, "no recall"),
    (["retract", "telegram:1:2"], 1, "no message 'telegram:1:2' here"),
    (["proposals", "approve", "p" + NEVER[1:], "1234"], 1, "no proposal"),
    (["proposals", "approve", "0"], 1, "no proposal 0 here; there are 0"),
    (["proposals", "reject", "1"], 1, "no proposal 1 here"),
    (["proposals", "reject", "9" * 5_000], 1, "no proposal"),
    (["proposals", "approve", "p" + NEVER[1:]], 2, "an approval by id needs the hash that was shown with it"),
    # too much, too little, or too dangerous
    (["forget"], 2, "give exactly one of id, query, message_id"),
    (["forget", NEVER, "--query", "x"], 2, "give exactly one of"),
    (["erase", "--query", "x"], 2, "nobody can be asked here; look at it with --dry-run, then say --yes"),
    (["update", NEVER, "x", "--expect", "two"], 2, "expect must be a whole number, not 'two'"),
    (["working", "replace"], 2, "working memory would be empty; use reverie working clear to remove it"),
    (["reset"], 2, "say what to reset: --memory"),
    (["reset", "--memory", "--all", "--yes"], 2, "say what to reset"),
    (["reset", "--all"], 2, "nobody can be asked here; say --yes"),
    (["reset", "--memory"], 2, "nobody can be asked here; say --yes"),
    (["reindex"], 2, "this mind has no embedder: set one (reverie config set embedder local) to reindex"),
    # scopes
    (["recall", "x", "--owner", "--person", "ana"], 2, "--owner sees the whole space; leave out --person"),
    (["mcp", "--owner"], 2, "a model never sees with the owner's eyes"),
    (["context", "x", "--owner"], 2, "never seen with the owner's eyes"),
    (["context", "x", "--budget", "lots"], 2, "budget must be a number of tokens, or a share of the window such as 0.02"),
    (["context", "x", "--budget", "1.5"], 2, "a budget with a point is a share of the window, above 0 and at most 1.0"),
    (["context", "x", "--profile", "kenbot"], 2, "no profile named 'kenbot'; nearest is 'kenobot'"),
    (["recall", "x", "--space", ""], 2, "space is empty"),
    (["recall", "x", "--person", "a\nb"], 2, "person holds the character U+000A"),
    # settings
    (["config", "set", "embeder", "none"], 2, "no setting named 'embeder'; nearest is 'embedder'"),
    (["config", "set", "budget", "lots"], 2, "budget must be a whole number, not 'lots'"),
    (["config", "set", "zone", "Mars/Olympus"], 2, "no time zone named 'Mars/Olympus'"),
    (["config", "unset", "everything"], 2, "no setting named 'everything'"),
    (["--home", ":memory:", "config", "set", "budget", "9"], 2, "':memory:' is no folder"),
]


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")
    return tmp_path / "home"


@pytest.mark.parametrize(("words", "code", "said"), WRONG, ids=[" ".join(words) for words, _, _ in WRONG])
def test_a_wrong_command_line_is_told_what_is_wrong(words: list[str], code: int, said: str, at_home: Path) -> None:
    outcome = run(*words)
    assert (outcome.code, outcome.out) == (code, "")
    error, hint = outcome.err.splitlines()
    assert error.startswith("error: ")
    assert said in error
    assert hint.startswith("hint: ")
    assert not PYTHON.search(error)
    assert "no proposal" not in error or hint == "hint: reverie proposals shows what waits for a yes"
    if at_home.exists():
        with reverie.open(at_home, embedder="none") as mind:
            assert mind.status().memories == 0


def test_the_table_is_long_enough_to_mean_something() -> None:
    assert len(WRONG) >= 50


def test_what_needs_a_past_is_advised_in_commands_too(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reverie.open(at_home, embedder="none") as mind:
        gone = mind.remember("to be forgotten")
        mind.forget(gone.id)
        kept = mind.remember("to be kept")
        mind.people.optout("ana")
        wish = mind.propose("forget", kept.id)
    monkeypatch.setenv("REVERIE_PERSON", "luis")
    for words, said in (
        (["get", gone.id, "--owner"], "was forgotten; reverie restore brings it back, reverie history shows it"),
        (["get", kept.id, "--version", "9"], "here; reverie history lists them"),
        (["observe", "hello", "--person", "ana"], "nothing was kept (reverie people optout ID --no-out allows it again)"),
        (["proposals", "approve", wish.id, "0"], "has changed since it was shown; look at reverie proposals again"),
        (["erase", "--person", "ana", "--yes"], "'luis' cannot erase 'ana'; ask as that person or with --owner"),
    ):
        outcome = run(*words)
        assert outcome.code != 0
        assert said in outcome.err.splitlines()[0]
        assert not PYTHON.search(outcome.err)
    many = run("observe", "--many", "-", "--owner", stdin='{"txet": "hello"}\n{"text": "hello", "speaker": "ana"}')
    assert "turn 1: a turn needs text (or content) and takes observe's names, not ['txet']" in many.out
    assert "reverie people optout ID --no-out" in many.out
    next((at_home / "spaces").glob("*.db")).write_bytes(b"rubbish" * 2_000)
    for words in (["list"], ["doctor"], ["memory", "--health"]):
        outcome = run(*words)
        assert "reverie recover BACKUP brings back a backup" in outcome.out + outcome.err, words
        assert "reverie.recover" not in outcome.out + outcome.err


@pytest.mark.parametrize("words", [["recal", "x"], ["get", "nonsense"], ["recall", ""]], ids=" ".join)
def test_with_json_the_complaint_is_json_too(words: list[str]) -> None:
    outcome = run("--json", *words)
    assert outcome.out == ""
    assert set(json.loads(outcome.err)) == {"error", "message", "hint"}


def test_debug_shows_the_traceback_and_the_line_all_the_same() -> None:
    outcome = run("get", "nonsense", "--debug")
    assert outcome.code == 1
    assert "Traceback (most recent call last)" in outcome.err
    assert outcome.err.splitlines()[-2].startswith("error: no memory")


def test_without_a_command_the_help_is_shown_as_an_error() -> None:
    outcome = run()
    assert outcome.code == 2
    assert "Usage: reverie" in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("embeder = 'none'\n", "reverie.toml:1: no setting named 'embeder'; nearest is 'embedder'"),
        ("# mine\nbudget = 'many'\n", "reverie.toml:2: budget must be a whole number"),
        ("space = 'home\n", "reverie.toml:1: not TOML"),
    ],
)
def test_a_wrong_settings_file_is_named_with_its_line(content: str, said: str, at_home: Path) -> None:
    at_home.mkdir()
    (at_home / "reverie.toml").write_text(content)
    outcome = run("status")
    assert outcome.code == 2
    assert said in outcome.err.splitlines()[0]


def test_a_line_of_many_that_is_no_json_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "turns.jsonl").write_text('{"text": "one"}\n{oops\n')
    outcome = run("observe", "--many", "turns.jsonl")
    assert outcome.code == 2
    assert "turns.jsonl, line 2, is not JSON" in outcome.err
    assert json.loads(run("list", "--json").out) == []


def test_bytes_that_are_no_text_are_refused() -> None:
    outcome = run("remember", "-", stdin=b"caf\xe9")
    assert outcome.code == 2
    assert "text from stdin is not UTF-8 (byte 3)" in outcome.err


def test_more_text_than_fits_is_refused_without_reading_it_all() -> None:
    assert "longer than a text may be" in run("remember", "-", stdin=b"x" * 4_000_100).err
    assert "1,200,000 characters" in run("remember", "-", stdin=b"x" * 1_200_000).err
