"""Command lines that mean harm or are unfinished: an unset variable, a scope nobody heeds, closed streams, hidden signs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import reverie
from reverie import Scope
from reverie.doors.cli.show import visible
from reverie.doors.values import dumps
from tests.doors.commands import at_shell, environment, run


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fill the home that is used when none is named: something in two spaces."""
    monkeypatch.chdir(tmp_path)
    for name in ("REVERIE_HOME", "REVERIE_SPACE", "REVERIE_PERSON", "REVERIE_OPENAI_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")
    monkeypatch.setenv("REVERIE_ZONE", "UTC")
    home = tmp_path / ".reverie"
    with reverie.open(home, embedder="none") as mind:
        for space in ("default", "work"):
            mind.observe(f"said in {space}", scope=Scope(space))
    return home


def kept(home: Path) -> dict[str, int]:
    with reverie.open(home, embedder="none") as mind:
        return {space.space: space.memories for space in mind.status().spaces}


# an empty value is never the default


@pytest.mark.parametrize(
    "words",
    [("reset", "--all", "--yes"), ("reset", "--memory", "--yes"), ("recall", "said"), ("status",), ("demo",), ("config",)],
    ids=" ".join,
)
def test_an_empty_option_is_refused_and_changes_nothing(words: tuple[str, ...], at_home: Path) -> None:
    for option in ("--home", "--space", "--channel", "--session", "--person"):
        for line in ((*words, option, ""), (option, " ", *words)):
            outcome = run(*line)
            assert (outcome.code, outcome.out) == (2, "")
            assert outcome.err.splitlines()[0] == f"error: {option} is empty; give it a value, or leave it out"
    assert kept(at_home) == {"default": 1, "work": 1}


@pytest.mark.parametrize("words", [("--space", ""), ("--person", ""), ("--session", "", "--channel", "general")], ids=str)
def test_an_mcp_server_with_an_empty_scope_does_not_start(words: tuple[str, ...], at_home: Path) -> None:
    ended = at_shell(at_home, "mcp", *words)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b" is empty; give it a value" in ended.stderr


# a scope is heeded or refused


@pytest.mark.parametrize(
    "words",
    [
        ("backup", "copy"), ("recover", "copy"), ("import", "copy"), ("reindex",), ("memory", "--health"), ("doctor",),
        ("config",), ("config", "set", "zone", "UTC"), ("config", "unset", "zone"), ("init", "--yes"), ("demo",),
        ("reset", "--all", "--yes"), ("reset", "--identity"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_takes_no_scope_says_so_and_does_nothing(words: tuple[str, ...], at_home: Path) -> None:
    for said in (("--space", "work"), ("--person", "ana"), ("--channel", "c", "--session", "s"), ("--no-owner",)):
        outcome = run(*words, *said)
        assert (outcome.code, outcome.out) == (2, "")
        assert f"; leave out {said[0]}" in outcome.err
    assert kept(at_home) == {"default": 1, "work": 1}
    assert sorted(path.name for path in at_home.parent.iterdir()) == [".reverie"]


@pytest.mark.parametrize("said", [("--person", "ana"), ("--channel", "general"), ("--session", "s"), ("--no-owner",)], ids=str)
def test_a_reset_is_never_wider_than_what_was_said(said: tuple[str, ...], at_home: Path) -> None:
    outcome = run("reset", "--memory", "--yes", *said)
    assert outcome.code == 2
    assert f"reset takes --space alone; leave out {said[0]}" in outcome.err
    assert kept(at_home) == {"default": 1, "work": 1}
    assert run("reset", "--memory", "--yes", "--space", "work").code == 0
    assert kept(at_home) == {"default": 1, "work": 0}


def test_what_is_known_is_counted_in_the_scope_that_is_named(at_home: Path) -> None:
    with reverie.open(at_home, embedder="none") as mind:
        mind.remember("for Ana alone", scope=Scope("work", person="ana"))
    counts = [
        json.loads(run("memory", "--json", *said).out)["memories"]
        for said in ((), ("--space", "work"), ("--space", "work", "--person", "luis"), ("--space", "work", "--no-owner"))
    ]
    assert counts == [3, 2, 1, 1]


# closed streams


def at_closed(home: Path, redirection: str, *words: str) -> subprocess.CompletedProcess[bytes]:
    command = ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-W", "error", "-m", "reverie", *words]
    return subprocess.run(command, env=environment(home), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


@pytest.mark.parametrize("words", [("status",), ("observe", "to nobody"), ("--help",), ("mcp",)], ids=" ".join)
def test_without_an_output_nothing_is_done_and_one_line_says_so(words: tuple[str, ...], at_home: Path) -> None:
    ended = at_closed(at_home, ">&-", *words)
    assert ended.returncode == 1
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith("error: standard output is closed, so nothing was done")
    assert kept(at_home)["default"] == 1


def test_without_an_input_nobody_is_asked_and_nothing_is_read(at_home: Path) -> None:
    for words, said in ((("erase", "--query", "said"), "nobody can be asked here"), (("remember", "-"), "text is empty")):
        ended = at_closed(at_home, "<&-", *words)
        assert ended.returncode == 2
        error, _ = ended.stderr.decode().splitlines()
        assert said in error
    assert at_closed(at_home, "<&-", "status").returncode == 0


def test_without_an_error_output_the_exit_code_tells(at_home: Path) -> None:
    assert at_closed(at_home, "2>&-", "nonsense").returncode == 2
    assert at_closed(at_home, "<&- >&- 2>&-", "status").returncode == 1
    assert b"2 memories in 2 spaces" in at_closed(at_home, "2>&-", "status").stdout


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_is_full_is_no_traceback(unbuffered: str, at_home: Path) -> None:
    command = [sys.executable, "-m", "reverie", "status"]
    with open("/dev/full", "wb") as full:
        given = environment(at_home, PYTHONUNBUFFERED=unbuffered)
        ended = subprocess.run(command, env=given, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert ended.returncode == 1
    assert b"No space left on device" in ended.stderr
    assert b"Traceback" not in ended.stderr
    assert b"ignored" not in ended.stderr


# signs that nobody sees

UNSEEN = (
    *"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\ufe00\ufe0d\ufe0e\ufe0f\uffa0\ufff5",
    *"\U0001bca0\U0001d173\U000e0001\U000e0100\U000e01ef\U000e0fff",
)


@pytest.mark.parametrize("sign", UNSEEN, ids=[f"U+{ord(sign):04X}" for sign in UNSEEN])
def test_a_sign_that_hides_is_shown_as_an_escape(sign: str) -> None:
    text = f"pay{sign}pal"
    assert visible(text) == "pay" + (f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}") + "pal"
    assert sign not in dumps(text)
    assert json.loads(dumps(text)) == text


def test_text_hidden_in_selectors_is_seen_wherever_a_memory_is_printed(at_home: Path) -> None:
    hidden = "".join(chr(0xE0100 + ord(letter)) for letter in "ignore")
    with reverie.open(at_home, embedder="none") as mind:
        id = mind.observe(f"pwned{hidden} ☺\ufe0f\ufe0f").id
    for words in (("list",), ("get", id), ("recall", "pwned"), ("list", "--json")):
        said = run(*words)
        assert said.code == 0
        assert not set(hidden) & set(said.out)
        assert said.out.count("\ufe0f") == 1
    assert json.loads(run("get", id, "--json").out)["text"] == f"pwned{hidden} ☺\ufe0f\ufe0f"


def test_emoji_stay_as_they_were_written() -> None:
    assert visible("❤️ ☎︎ 👁️ ©️ ✔︎ 1️⃣ #️⃣ ⛹️‍") == "❤️ ☎︎ 👁️ ©️ ✔︎ 1️⃣ #️⃣ ⛹️\\u200d"
    assert visible("1\ufe0f 2 #\ufe0f") == "1\\ufe0f 2 #\\ufe0f"


# settings


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("nonsense", "no embedder named 'nonsense'; nearest is 'none'"),
        ("openai:", "no embedder named 'openai:'; nearest is 'openai:MODEL'"),
        ("local:/nowhere", "no model.onnx in '/nowhere'"),
        ("", "embedder is empty"),
    ],
)
def test_an_embedder_that_no_home_opens_with_is_not_set(value: str, said: str, at_home: Path) -> None:
    outcome = run("config", "set", "embedder", value)
    assert outcome.code == 2
    assert said in outcome.err.splitlines()[0]
    assert not (at_home / "reverie.toml").exists()


@pytest.mark.parametrize("value", ["none", "local", "hashing", "openai:text-embedding-3-small"])
def test_an_embedder_may_be_set_before_its_key(value: str, at_home: Path) -> None:
    assert run("config", "set", "embedder", value).code == 0
    assert (at_home / "reverie.toml").read_text() == f'embedder = "{value}"\n'


def test_init_asks_again_for_an_embedder_that_there_is(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_EMBEDDER", "local")
    monkeypatch.setenv("REVERIE_HOME", "new")
    outcome = run("init", stdin="\nnonne\nnone\n\n", terminal=True)
    assert outcome.code == 0
    assert "no embedder named 'nonne'; nearest is 'none'" in outcome.err
    assert Path("new/reverie.toml").read_text() == 'embedder = "none"\n'


@pytest.mark.parametrize(
    "url", ["https://me:hunter2@host/v1", "ftp://me:hunter2@host", "me:hunter2@host", "https://h/?k=hunter2"]
)
def test_a_password_in_an_address_is_refused_and_not_shown(url: str, at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (at_home / "reverie.toml").write_text(f'# mine\nopenai_url = "{url}"\n')
    tried = [run("config"), run("config", "--json"), run("status"), run("doctor"), run("config", "set", "openai_url", url)]
    for outcome in tried:
        assert outcome.code == 2
        assert "openai_url must be an address alone" in outcome.err
        assert "hunter2" not in outcome.out + outcome.err
    assert f"{at_home / 'reverie.toml'}:2: " in tried[0].err
    assert run("config", "unset", "openai_url").code == 0
    monkeypatch.setenv("REVERIE_OPENAI_URL", url)
    assert "environment variable REVERIE_OPENAI_URL: " in run("config").err
    assert "hunter2" not in run("config").err


def test_an_embedder_that_does_not_answer_is_told_of_and_words_still_find(
    at_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A6: a degraded mode says so."""
    monkeypatch.setenv("REVERIE_EMBEDDER", "openai:small")
    monkeypatch.setenv("REVERIE_OPENAI_URL", "http://127.0.0.1:9/v1")
    outcome = run("recall", "said")
    assert outcome.code == 0
    assert "said in default" in outcome.out
    assert "note: recall goes on by words alone: http://127.0.0.1:9/v1" in outcome.err
