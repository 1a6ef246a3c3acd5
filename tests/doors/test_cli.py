"""The command line: every verb, the manners around it, and the commands that are no verbs."""

import io
import json
import os
import pty
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import reverie
from reverie import Mind, Scope
from reverie.doors.cli.call import Progress
from reverie.doors.values import as_json
from tests.doors.commands import Outcome, all_commands, at_shell, environment, run

COMMANDS = all_commands()

pytestmark = pytest.mark.usefixtures("learning_off")  # what is listed and counted is what was told


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "REVERIE_SPACE", "REVERIE_PERSON", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")
    monkeypatch.setenv("REVERIE_ZONE", "America/Mexico_City")
    return tmp_path / "home"


def mind(home: Path) -> Mind:
    return reverie.open(home, embedder="none", background=False)


def done(outcome: Outcome) -> str:
    assert (outcome.code, outcome.err) == (0, ""), outcome
    return outcome.out


def told(*words: str, **options: Any) -> Any:
    """Run a command with --json and return what it says."""
    return json.loads(done(run(*words, "--json", **options)))


# help


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_in_its_help_that_can_be_typed(words: tuple[str, ...]) -> None:
    said = done(run(*words, "--help"))
    examples = [line.strip() for line in said.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()]
    assert examples
    for line in examples:
        typed = shlex.split(next(part for part in line.split("|") if part.strip().startswith("reverie")))
        assert tuple(typed[: len(words) + 1]) == ("reverie", *words) or words == ("config",)
        path = next(path for path in sorted(COMMANDS, key=len, reverse=True) if tuple(typed[1 : len(path) + 1]) == path)
        COMMANDS[path].make_context("reverie", typed[len(path) + 1 :])


def test_the_lines_of_the_guide_can_be_typed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guides" / "cli.md").read_text("utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", page, re.S) for line in block.splitlines()]
    assert len(lines) > 20
    for line in lines:
        words = shlex.split(next(part for part in line.split("|") if part.strip().startswith("reverie")), comments=True)
        path = next(path for path in sorted(COMMANDS, key=len, reverse=True) if tuple(words[1 : len(path) + 1]) == path)
        COMMANDS[path].make_context("reverie", words[len(path) + 1 :])


def test_the_help_lists_every_command_and_the_options_of_all() -> None:
    said = done(run("--help"))
    for words in COMMANDS:
        assert f"\n  {words[0]} " in said
    for option in ("--home", "--space", "--channel", "--session", "--person", "--json", "--debug", "--install-completion"):
        assert option in said


def test_help_answers_at_once(at_home: Path) -> None:
    def spent() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    def best(*command: str) -> float:
        times = []
        for _ in range(3):
            before = spent()
            subprocess.run([sys.executable, *command], env=environment(at_home), check=True, capture_output=True)
            times.append(spent() - before)  # of the processor, not of the clock: others may be busy too
        return min(times)

    assert best("-m", "reverie", "--help") <= 20 * best("-c", "pass")


def test_help_loads_neither_the_store_nor_rich(at_home: Path) -> None:
    script = "import sys; from reverie.doors.cli import main; main(['--help']); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], env=environment(at_home), capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.splitlines()[-1].split())
    assert "typer" in loaded
    assert loaded.isdisjoint({"numpy", "apsw", "onnxruntime", "rich", "reverie.mind", "reverie.memory.trace"})


def test_the_version_is_told() -> None:
    assert done(run("--version")) == f"reverie {reverie.__version__}\n"


def test_a_shell_completes_commands_options_and_choices(at_home: Path) -> None:
    def completed(line: str) -> bytes:
        place = str(len(line.split(" ")) - 1)
        return at_shell(at_home, _REVERIE_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=place).stdout

    assert b"recall" in completed("reverie rec").split()
    assert b"fact" in completed("reverie remember x --kind fa").split()


# every verb, through --json as through Python


def test_what_is_kept_is_told_as_python_tells_it(at_home: Path) -> None:
    turn = told("observe", "I moved to Oaxaca in May", "--speaker", "Ana", "--at", "2026-03-02", "--message-id", "chat:1")
    fact = told("remember", "Ana lives in Oaxaca", "--subject", "ana", "--tag", "home", "--tag", "mx",
                "--extra", '{"sure": true}', "--valid-from", "2025-05-01")  # fmt: skip
    with mind(at_home) as kept:
        assert turn == as_json(kept.get(turn["id"]))
        assert fact == as_json(kept.get(fact["id"]))
    assert turn["happened_at"] == "2026-03-02T06:00:00+00:00"
    assert (fact["trust"], fact["tags"], fact["extra"]) == ("hand", ["home", "mx"], {"sure": True})


def test_reading_verbs_tell_what_python_tells(at_home: Path) -> None:
    with mind(at_home) as kept:
        fact = kept.remember("Ana lives in Oaxaca", subject="ana")
        kept.update(fact.id, "Ana lives in Puebla")
        kept.people.alias("1", "Ana")
        kept.working().replace(task="ship")
        kept.scratchpad(task="t").replace("a note")
        kept.propose("forget", fact.id)
        owner = Scope.owner()
        expected = {
            ("list",): tuple(kept.scan(owner)),
            ("list", "--retired", "--limit", "5"): tuple(kept.scan(owner, retired=True, limit=5)),
            ("get", fact.id, "--version", "1"): kept.get(fact.id, version=1),
            ("history", fact.id): kept.history(fact.id),
            ("log", "--limit", "1"): kept.log(owner, limit=1),
            ("diff", fact.commit, "2099-01-01"): kept.diff(fact.commit, datetime(2099, 1, 1, 6, tzinfo=UTC)),
            ("people",): kept.people.list(),
            ("people", "find", "ana"): kept.people.find("ana"),
            ("working",): kept.working().get(),
            ("scratchpad", "--task", "t"): "a note",
            ("chat-context",): None,
            ("recent",): kept.recent().get(),
            ("proposals",): kept.proposals(owner),
            ("status",): kept.status(),
            ("status", "--space", "default", "--no-owner"): kept.status(Scope()),
            ("memory", "--health"): kept.health(),
        }
        written = {words: as_json(value) for words, value in expected.items()}
    for words, value in written.items():
        said = told(*words)
        for noise in ("disk", "bytes"):  # the one thing that changes by itself
            said, value = (_without(one, noise) for one in (said, value))
        assert said == value, words


def _without(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _without(inner, name) for key, inner in value.items() if key != name}
    return [_without(inner, name) for inner in value] if isinstance(value, list) else value


def test_changing_verbs_change_and_can_be_taken_back(at_home: Path) -> None:
    fact = told("remember", "Ana lives in Oaxaca")["id"]
    assert told("update", fact, "Ana lives in Puebla", "--reason", "she moved", "--expect", "1")["version"] == 2
    assert told("pin", fact)["pinned"] is True
    assert told("pin", fact, "--no-pinned")["pinned"] is False
    forgotten = told("forget", fact, "--reason", "out of date")
    assert (forgotten["retired"], forgotten["why"]) == ([fact], "out of date")
    assert told("list") == []
    assert told("restore", fact)["text"] == "Ana lives in Puebla"
    assert told("forget", "--query", "Puebla")["retired"] == [fact]
    undone = told("undo", told("log", "--limit", "1")[0]["id"])
    assert undone["added"] == [fact]
    told("observe", "a message", "--message-id", "chat:9")
    assert len(told("retract", "chat:9")["retired"]) == 1
    assert [memory["id"] for memory in told("list")] == [fact]


def test_a_proposal_is_added_approved_and_rejected() -> None:
    first, second = (told("remember", text)["id"] for text in ("one thing", "another thing"))
    proposal, other = (told("proposals", "add", "forget", id, "--reason", "old") for id in (first, second))
    assert told("proposals", "approve", proposal["id"], proposal["hash"])["retired"] == [first]
    assert told("proposals", "reject", other["id"]) is None
    assert told("proposals") == []
    assert [memory["id"] for memory in told("list")] == [second]


def test_a_proposal_is_decided_by_its_number_in_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    facts = [told("remember", f"thing {number}")["id"] for number in range(4)]
    for fact in facts:
        run("proposals", "add", "forget", fact)
    shown = done(run("proposals"))
    assert [line[:8] for line in shown.splitlines() if line[0].isdigit()] == ["1. forge", "2. forge", "3. forge", "4. forge"]
    refused = run("proposals", "approve", "2", terminal=True, stdin="no\n")
    assert (refused.code, len(told("list"))) == (1, 4)
    assert "forget 'thing 1'" in refused.err
    assert "Approve it? [y/N]" in refused.err
    assert run("proposals", "approve", "2", terminal=True, stdin="y\n").code == 0
    second = told("proposals")[1]
    assert second["change"]["id"] == facts[2]
    assert run("proposals", "approve", "2", second["hash"], terminal=True).code == 0
    assert run("proposals", "reject", "1", terminal=True, stdin="y\n").code == 0
    unasked = run("proposals", "approve", "1", "--yes", terminal=True)
    assert (unasked.code, "forget 'thing 3'" in unasked.err, "[y/N]" in unasked.err) == (0, True, False)
    assert [memory["id"] for memory in told("list")] == [facts[0]]


def test_a_proposal_that_changed_while_it_was_shown_is_not_approved(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fact = told("remember", "Ana lives in Oaxaca")["id"]
    run("proposals", "add", "forget", fact)

    def changes_its_mind(question: str) -> bool:
        with mind(at_home) as kept:
            kept.update(fact, "Ana lives in Puebla")
        return True

    monkeypatch.setattr("reverie.doors.cli.asking.agreed", changes_its_mind)
    outcome = run("proposals", "approve", "1", terminal=True)
    assert outcome.code == 1
    assert "has changed since it was shown; look at reverie proposals again" in outcome.err
    assert [memory["text"] for memory in told("list")] == ["Ana lives in Puebla"]


def test_a_number_counts_in_the_space_that_is_named() -> None:
    fact = told("remember", "thing", "--space", "flat")["id"]
    run("proposals", "add", "forget", fact)
    missing = run("proposals", "approve", "1")
    assert (missing.code, missing.err.splitlines()[0]) == (1, "error: no proposal 1 here; there are 0")
    assert run("proposals", "approve", "1", "--space", "flat").code == 0
    assert told("list", "--space", "flat") == []


def test_a_recall_is_kept_for_why(at_home: Path) -> None:
    told("remember", "Ana lives in Oaxaca")
    found = told("recall", "where does Ana live?")
    assert found["hits"][0]["memory"]["text"] == "Ana lives in Oaxaca"
    with mind(at_home) as kept:
        assert told("why") == told("why", "last") == told("why", found["id"]) == kept.why(found["id"]).as_dict()


def test_what_is_missing_from_a_recall_is_explained(at_home: Path) -> None:
    """R5"""
    with mind(at_home) as kept:
        kept.observe("I moved to Oaxaca in May", speaker="Ana")
        for number in range(5):
            kept.observe(f"May is the month of Oaxaca, part {number}", speaker="Luis", scope=Scope(session=f"s{number}"))
    found, other = told("recall", "Ana moved to Oaxaca", "--limit", "1"), told("recall", "submarine", "--kind", "fact")
    missed = told("why-not", "month of Oaxaca, part 3", "--recall", found["id"])
    assert (missed["step"], missed["last"]["place"]) == ("outranked", 1)
    assert missed["short_by"] == missed["last"]["total"] - missed["ranked"]["total"] > 0
    assert told("why-not", "-", stdin="I moved to Oaxaca in May")["step"] == "kinds"
    assert told("why-not", "moved to Oaxaca") == told("why-not", "moved to Oaxaca", "--recall", "last")
    assert told("why-not", "moved to Oaxaca")["id"] == other["id"]
    with mind(at_home) as kept:
        assert missed == kept.why_not(found["id"], "month of Oaxaca, part 3").as_dict()
    said = done(run("why-not", "month of Oaxaca, part 3", "--recall", found["id"]))
    assert "asked 'Ana moved to Oaxaca'" in said.splitlines()[0]
    assert "· Luis · May is the month of Oaxaca, part 3" in said.splitlines()[1]
    assert re.search(r"the last one returned, at place 1, has \d\.\d\d: \d\.\d\d more", said)
    assert re.search(r"words +█*·+ 0\.\d\d, place \d, against ██████████ 1\.00, place 1", said)
    assert done(run("why-not", "never said")).endswith("nothing that may be seen here says that\n")
    assert "--recall" in done(run("why-not", "--help"))


def test_recalls_are_kept_for_as_long_as_is_set(at_home: Path) -> None:
    told("remember", "Ana lives in Oaxaca")
    told("config", "set", "recalls_days", "0")
    told("recall", "Oaxaca")
    assert "no recall is kept here yet" in run("why").err
    told("config", "set", "recalls_days", "7")
    found = told("recall", "Oaxaca")
    assert told("why")["id"] == found["id"]
    for wrong in ("1.5", "36501", "soon"):
        assert "recalls_days must be a whole number" in run("config", "set", "recalls_days", wrong).err


def test_a_context_keeps_to_the_budget_that_is_set(at_home: Path) -> None:
    told("config", "set", "budget", "60")
    with mind(at_home) as kept:
        for number in range(20):
            kept.remember(f"Ana has been to the town number {number}")
    assert told("context", "where has Ana been?")["tokens"] <= 60
    assert told("context", "where has Ana been?", "--budget", "200")["tokens"] > 60
    assert "town" in done(run("context", "where has Ana been?"))
    small, foreign = run("context", "where has Ana been?", "--budget", "5"), run("context", "submarines")
    assert (small.out, foreign.out, foreign.err) == ("", "", "nothing bears on it\n")
    assert small.err == "the budget is too small: 20 that bear on it were left out; ask again with a larger one\n"


def test_a_context_may_have_another_layout_a_share_for_a_budget_and_no_question(at_home: Path) -> None:
    """K7, K8, A7, C9"""
    with mind(at_home) as kept:
        for number in range(200):
            kept.remember(f"Ana has been to the town number {number}")
    assert done(run("context", "where has Ana been?", "--profile", "kenobot")).startswith("## Memory\n")
    share = told("context", "where has Ana been?", "--budget", "0.05", "--window-tokens", "4000")
    assert 100 < share["tokens"] <= 200
    assert "system_context" not in share  # it is the text once more
    newest = told("context", "submarines", "--no-retrieval", "--budget", "100")
    assert "number 199" in newest["text"]
    assert [part["line"] for part in told("context", "", "--budget", "100")["parts"]] == [p["line"] for p in newest["parts"]]


def test_export_import_backup_and_recover(at_home: Path, tmp_path: Path) -> None:
    told("remember", "Ana lives in Oaxaca")
    assert told("export", "all.jsonl") == "all.jsonl"
    assert told("import", "all.jsonl", "--home", "other")["added"] == 1
    assert told("backup", "all.backup") == "all.backup"
    assert told("--home", "third", "recover", "all.backup") == ["default"]
    for home in (at_home, tmp_path / "other", tmp_path / "third"):
        with mind(home) as kept:
            assert [memory.text for memory in kept.scan()] == ["Ana lives in Oaxaca"]


def test_an_export_may_go_to_stdout(at_home: Path, tmp_path: Path) -> None:
    fact = told("remember", "Ana lives in Oaxaca \x9b5m ¡día!")["id"]
    (tmp_path / "between").mkdir()
    shown = at_shell(at_home, "export", "-", TMPDIR=str(tmp_path / "between"))
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert "\x9b" not in shown.stdout.decode()
    (tmp_path / "piped.jsonl").write_bytes(shown.stdout)
    assert told("import", "piped.jsonl", "--home", "other")["added"] == 1
    assert told("get", fact, "--home", "other")["text"] == "Ana lives in Oaxaca \x9b5m ¡día!"
    assert not (tmp_path / "-").exists()
    assert list((tmp_path / "between").iterdir()) == []
    assert told("erase", fact, "--yes")["unreachable"] == ["export: standard output"]


def test_an_import_says_whether_it_was_done() -> None:
    told("remember", "Ana lives in Oaxaca")
    told("export", "all.jsonl")
    assert done(run("import", "all.jsonl", "--home", "other", "--dry-run")).startswith("would load 1 memory into")
    assert done(run("import", "all.jsonl", "--home", "other")).startswith("loaded 1 memory into")


def test_help_says_what_a_verb_does_and_takes() -> None:
    assert "Make the vectors that are missing, drop those of other embedders." in done(run("reindex", "--help"))
    kinds = re.search(r"what kind of thing it is.*?\[fact\]", done(run("remember", "--help")), re.S)
    assert kinds is not None
    assert "episode" in kinds[0]
    assert "turn" not in kinds[0]
    assert "turn" in done(run("recall", "--help"))


def test_reindex_says_what_it_made(monkeypatch: pytest.MonkeyPatch) -> None:
    told("remember", "Ana lives in Oaxaca")
    monkeypatch.setenv("REVERIE_EMBEDDER", "hashing")
    assert told("status")["spaces"][0]["pending"] == 1
    assert told("reindex")["made"] == 1
    assert told("status")["spaces"][0]["pending"] == 0


# stdin, many turns


def test_text_is_read_from_stdin_to_the_letter() -> None:
    assert told("remember", "-", stdin="one\n  two\n\n")["text"] == "one\n  two\n"
    assert told("observe", "-", stdin="¡día!")["text"] == "¡día!"
    assert told("recall", "-", stdin="día\n")["hits"][0]["memory"]["text"] == "¡día!"
    assert told("scratchpad", "replace", "-", stdin="a\nb\n") == "a\nb"
    assert told("working", "replace", "--content", "-", stdin="Task: ship\nPending: docs")["pending"] == ["docs"]


@pytest.mark.parametrize("content", ['{"role": "user", "content": "one"}\n\n{"text": "two", "at": "2026-03-02"}\n', None])
def test_many_turns_come_from_a_file_or_a_pipe(tmp_path: Path, content: str | None) -> None:
    text = content or '[{"role": "user", "content": "one"},\n {"text": "two", "at": "2026-03-02"}]'
    (tmp_path / "turns.json").write_text(text)
    assert told("observe", "--many", "turns.json")["added"] == 2
    assert told("observe", "--many", "-", "--space", "other", stdin=text)["added"] == 2
    for space in ("default", "other"):
        turns = told("list", "--space", space)
        assert [turn["text"] for turn in turns] == ["one", "two"]
        assert turns[1]["happened_at"] == "2026-03-02T06:00:00+00:00"


def test_turns_that_failed_are_named_and_the_exit_code_says_so() -> None:
    outcome = run("observe", "--many", "-", stdin='{"text": "one"}\n{"text": ""}\n')
    assert outcome.code == 1
    assert "kept 1 turn, 0 known already, 1 failed\n  turn 2: text is empty" in outcome.out


@pytest.mark.parametrize(
    ("turns", "said"),
    [
        ('{"text": "one", "at": "2026-03-02"}\n\n{"text": "two", "at": "yesterday"}\n', "line 3: at 'yesterday' is not a time"),
        ('{"text": "one"}\n{"text": "two", "at": 1772409600}\n', "line 2: at must be an ISO time"),
        ('[{"text": "one"},\n{"text": "two", "at": "noon"}]', "turn 2: at 'noon' is not a time"),
    ],
)
def test_a_time_of_many_turns_that_is_none_is_named_and_nothing_is_kept(turns: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "turns.jsonl").write_text(turns)
    for place, called, stdin in (("turns.jsonl", "turns.jsonl", ""), ("-", "stdin", turns)):
        outcome = run("observe", "--many", place, stdin=stdin)
        assert outcome.code == 2
        assert f"{called}, {said}" in outcome.err
        assert "nothing was kept" in outcome.err
    assert told("list") == []


def test_times_of_many_turns_are_in_the_zone_that_is_set() -> None:
    times = ("2026-03-02T18:30", "2026-03-02T18:30+01:00", "2026-03-02 18:30Z", None)
    lines = [json.dumps({"text": f"said at {time}", "at": time}) for time in times]
    told("observe", "--many", "-", stdin="\n".join(lines))
    found = [turn["happened_at"] for turn in told("list")]
    assert found[:3] == ["2026-03-03T00:30:00+00:00", "2026-03-02T17:30:00+00:00", "2026-03-02T18:30:00+00:00"]


def test_a_text_that_starts_with_a_dash_goes_after_two() -> None:
    outcome = run("remember", "--json", "--", "-5 degrees outside")
    assert json.loads(done(outcome))["text"] == "-5 degrees outside"


# scopes


@pytest.fixture
def flat(at_home: Path) -> None:
    with mind(at_home) as kept:
        kept.observe("the oven is new", scope=Scope("flat", channel="kitchen", person="ana"))
        kept.observe("I hate the oven", scope=Scope("flat", person="ana"))
        kept.observe("the oven of the others", scope=Scope("climbers"))


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ([], []),
        (["--space", "flat"], ["the oven is new", "I hate the oven"]),
        (["--space", "flat", "--no-owner"], ["the oven is new"]),
        (["--space", "flat", "--person", "ana"], ["the oven is new", "I hate the oven"]),
        (["--space", "flat", "--person", "luis"], ["the oven is new"]),
        (["--space", "flat", "--channel", "kitchen", "--person", "ana"], ["the oven is new"]),
        (["--space", "climbers"], ["the oven of the others"]),
    ],
)
@pytest.mark.usefixtures("flat")
def test_one_sees_what_the_scope_sees(options: list[str], seen: list[str]) -> None:
    for line in (["list", *options], [*options, "list"]):
        assert [memory["text"] for memory in told(*line)] == seen
    assert {hit["memory"]["text"] for hit in told("recall", "oven", *options)["hits"]} == set(seen)


@pytest.mark.usefixtures("flat")
def test_no_prompt_is_filled_with_the_owners_eyes() -> None:
    assert "I hate" not in told("context", "oven", "--space", "flat")["text"]
    assert "I hate" in told("context", "oven", "--space", "flat", "--person", "ana")["text"]


@pytest.mark.usefixtures("flat")
def test_an_id_is_enough_to_find_its_space_and_a_scope_still_hides(at_home: Path) -> None:
    secret = told("list", "--space", "flat")[1]["id"]
    assert told("get", secret)["text"] == "I hate the oven"
    hidden, never = (run("get", id, "--space", "flat", "--person", "luis") for id in (secret, "m-" + "0" * 30))
    assert hidden.code == never.code == 1
    assert hidden.err.replace(secret, "") == never.err.replace("m-" + "0" * 30, "")


@pytest.mark.usefixtures("flat")
def test_settings_name_the_space_and_the_person_that_are_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_SPACE", "flat")
    assert len(told("list")) == 2
    monkeypatch.setenv("REVERIE_PERSON", "luis")
    assert [memory["text"] for memory in told("list")] == ["the oven is new"]
    assert len(told("list", "--owner")) == 2
    assert told("observe", "mine alone")["audience"]["person"] == "luis"


# asking first


def test_an_erase_shows_what_goes_and_asks(at_home: Path) -> None:
    fact = told("remember", "Ana lives in Oaxaca")["id"]
    refused = run("erase", fact, terminal=True, stdin="no\n")
    assert refused.code == 1
    assert "Ana lives in Oaxaca" in refused.err
    assert "Erase these for good: 1 in all? [y/N]" in refused.err
    assert len(told("list")) == 1
    assert told("erase", fact, "--dry-run")["erased"] == [fact]
    assert len(told("list")) == 1
    assert run("erase", fact, terminal=True, stdin="y\n").code == 0
    assert told("list") == []


def test_an_erase_told_yes_does_not_ask_and_proves_itself() -> None:
    fact = told("remember", "Ana lives in Oaxaca")["id"]
    proof = told("erase", "--query", "oaxaca", "--yes")
    assert proof["erased"] == [fact]
    assert "texts" in proof["checked"]
    told("observe", "hello there my friend", "--person", "ana")
    assert len(told("erase", "--person", "ana", "--yes")["erased"]) == 1


def test_an_erase_of_a_person_asks_though_they_said_nothing(at_home: Path) -> None:
    with mind(at_home) as kept:
        kept.people.alias("ana", "Ana María")
        kept.working(Scope(person="ana")).replace(task="pack the boxes")
    refused = run("erase", "--person", "ana", terminal=True, stdin="\n")
    assert refused.code == 1
    assert "would erase 0 memories\nand all that is held for ana: names, accounts, notes, working memory\n" in refused.err
    assert "Erase all that is held for ana for good? [y/N]" in refused.err
    assert told("people")[0]["name"] == "Ana María"
    assert told("working", "--person", "ana")["task"] == "pack the boxes"
    assert run("erase", "--person", "ana", terminal=True, stdin="y\n").code == 0
    assert told("people") == []
    assert told("working", "--person", "ana") is None


def test_an_erase_that_nothing_fits_asks_nothing_and_takes_nothing() -> None:
    told("remember", "Ana lives in Oaxaca")
    outcome = run("erase", "--query", "submarines", terminal=True)
    assert (outcome.code, "nothing fits; nothing was changed" in outcome.out, outcome.err) == (0, True, "")


def test_a_dry_run_shows_what_would_go_as_a_listing_does() -> None:
    for number in range(12):
        told("remember", f"a town called Oaxaca {number}")
    told("observe", "I moved to Oaxaca", "--person", "ana")
    told("forget", told("list")[0]["id"])
    lines = done(run("list", "--retired")).splitlines()
    assert "(forgotten)" in lines[0]
    assert done(run("forget", "--query", "Oaxaca", "--dry-run")).splitlines()[0] == "would forget 12 memories:"
    assert sorted(done(run("forget", "--query", "Oaxaca", "--dry-run")).splitlines()[1:]) == sorted(lines[1:])
    erase = done(run("erase", "--query", "Oaxaca", "--dry-run")).splitlines()
    assert (erase[0], sorted(erase[1:])) == ("would erase 13 memories:", sorted(lines))
    person = done(run("erase", "--person", "ana", "--dry-run")).splitlines()
    assert person[:2] == ["would erase 1 memory:", lines[-1]]
    assert person[2].startswith("and all that is held for ana")
    assert done(run("forget", "--query", "submarines", "--dry-run")) == "nothing fits; nothing was changed\n"


def test_forgetting_by_a_query_asks_only_who_can_answer(at_home: Path) -> None:
    with mind(at_home) as kept:
        for number in range(12):
            kept.remember(f"a town called Oaxaca {number}")
    refused = run("forget", "--query", "Oaxaca", terminal=True, stdin="\n")
    assert refused.code == 1
    assert "… and 2 more" in refused.err
    assert "Forget these (it can be undone): 12 in all?" in refused.err
    assert len(told("list")) == 12
    assert len(told("forget", "--query", "Oaxaca")["retired"]) == 12


# how it looks


def test_a_recall_reads_well() -> None:
    run("observe", "I moved to Oaxaca in May", "--speaker", "Ana", "--at", "2026-03-02")
    run("remember", "Ana is on holiday in Rome", "--valid-until", "2026-01-02", "--valid-from", "2026-01-01")
    said = done(run("recall", "did Ana move to Oaxaca?", "--why"))
    assert "confidence" in said.splitlines()[0]
    assert "2026-03-02 · Ana · I moved to Oaxaca in May  m-" in said
    assert "(no longer)" in said
    assert "      words      ██████████ 1.00  rank 1" in said
    assert "matched" in said
    assert "meaning off" in said.splitlines()[-1]
    assert done(run("recall", "submarines")) == "nothing said about 'submarines'\n"
    assert "words" not in done(run("recall", "Oaxaca"))


def test_a_time_that_is_not_clear_is_shown() -> None:
    run("observe", "the boat leaves", "--speaker", "Ana")
    for words in (("recall", "boat on 30 February 2026"), ("recall", "violins on 30 February 2026", "--why")):
        assert done(run(*words)).splitlines()[1] == "unclear when: 30 February 2026"


def test_why_shows_the_sum_and_what_strict_wants() -> None:
    run("observe", "the boat leaves", "--speaker", "Ana")
    run("recall", "boat")
    assert re.search(r"      in all     1\.00 × 1\.00 words \+ \d\.\d\d boosts = \d\.\d\d", done(run("why")))
    run("recall", "boat with the purple submarines", "--strict")
    assert "nothing was sure enough: the best had certainty 0.33, strict wants more than 0.50" in done(run("why"))


def test_why_explains_a_context_without_a_question_and_not_what_was_asked_before() -> None:
    run("observe", "the boat leaves", "--speaker", "Ana")
    run("recall", "boat", "--no-owner")
    run("context", "")
    said = done(run("why", "--no-owner"))
    assert "asked for the newest" in said
    assert "the boat leaves" in said
    assert "packed into " in said
    assert "confidence" not in said


def test_dates_are_shown_in_the_zone_that_is_set() -> None:
    run("observe", "late", "--at", "2026-03-03T01:00Z", "--speaker", "Ana")
    assert "2026-03-02 · Ana · late" in done(run("list"))


def test_the_first_and_the_last_day_can_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for zone in ("Asia/Tokyo", "America/Mexico_City"):
        monkeypatch.setenv("REVERIE_ZONE", zone)
        fact = told(
            "remember", f"for ever, in {zone}", "--valid-from", "0001-01-01T00:00Z", "--valid-until", "9999-12-31T23:59Z"
        )
        said = done(run("get", fact["id"]))
        assert "0001-01-01 · for ever" in said
        assert "9999-12-31" in said


def test_a_listing_says_when_there_may_be_more() -> None:
    ids = [told("remember", text)["id"] for text in ("one", "two", "three")]
    first = run("list", "--limit", "2")
    assert first.err == f"there may be more: --after {ids[1]}\n"
    assert [memory["id"] for memory in told("list", "--after", ids[1])] == ids[2:]


def test_the_log_says_when_a_reason_was_erased(at_home: Path) -> None:
    with mind(at_home) as kept:
        fact = kept.remember("Ana lives in Oaxaca")
        kept.update(fact.id, "Ana lives in Puebla", reason="Ana lives in Puebla now")
        kept.erase(fact.id)
    lines = done(run("log")).splitlines()
    assert "owner  erased: nothing" in lines[0]
    assert "owner  (reason erased): nothing" in lines[1]


def test_everything_kept_says_how_it_is_taken_back() -> None:
    said = done(run("remember", "Ana lives in Oaxaca"))
    line = said.splitlines()[-1].removeprefix("to take it back: ").split()
    assert done(run(*line[1:])).startswith("undone: 1 forgotten")
    assert done(run("list")) == "nothing is kept here\n"


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    run("remember", "Ana lives in Oaxaca")
    assert "\x1b[" in run("list", terminal=True).out
    assert "\x1b" not in run("list").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("list", terminal=True).out


def test_json_may_be_asked_for_before_the_command_and_holds_nothing_else() -> None:
    run("remember", "Ana lives in Oaxaca")
    assert json.loads(done(run("--json", "list"))) == told("list")
    for words in (("status",), ("config",), ("doctor",), ("memory",), ("log",), ("working", "clear"), ("reset", "--identity")):
        json.loads(run(*words, "--json").out)


class Heard(io.StringIO):
    """A stream that tells when something was written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.something = threading.Event()

    def write(self, text: str) -> int:
        count = super().write(text)
        self.something.set()
        return count


def test_what_takes_longer_than_a_second_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    monkeypatch.setattr("sys.stderr", heard)
    with Progress("importing"):
        pass
    assert heard.getvalue() == ""
    monkeypatch.setattr("reverie.doors.cli.call.FIRST_WORD_S", 0.01)
    with Progress("importing") as progress:
        progress(1_000, 5_000)
        assert heard.something.wait(10)
    assert heard.getvalue() == "importing… 1,000 of 5,000 (0 s)\n"


@pytest.mark.parametrize(
    "line",
    [
        "status", "list", "recall x", "context x", "log", "people", "people find Ana", "working", "working clear", "recent",
        "scratchpad", "proposals", "doctor", "doctor --residue", "memory", "memory --health", "diff 2026-01-01 2026-02-01",
        "forget --query x", "erase --query x --yes", "erase --person ana --dry-run", "reset --memory --yes", "config",
    ],
)  # fmt: skip
@pytest.mark.parametrize("made", [False, True])
def test_looking_at_a_home_that_is_not_there_does_not_make_it(line: str, made: bool, at_home: Path) -> None:
    if made:
        at_home.mkdir()  # somebody's folder, but no home
    outcome = run(*line.split())
    assert (outcome.code, bool(outcome.out) or line == "context x") == (0, True)
    assert at_home.exists() == made
    assert not made or list(at_home.iterdir()) == []
    if line.split()[0] not in ("doctor", "memory", "reset", "config"):
        assert outcome.err.endswith(f"nothing is kept in {at_home} yet; begin with: reverie init\n")
    told(*line.split())


def test_the_status_of_a_home_that_is_not_there_is_empty(at_home: Path) -> None:
    assert told("status") == {"home": str(at_home), "spaces": [], "embedder": "none", "memories": 0}
    assert "is not there yet; reverie init makes it" in done(run("doctor"))
    for words in (("export", "all.jsonl"), ("export", "-"), ("backup", "all.backup")):
        outcome = run(*words)
        assert (outcome.code, outcome.out) == (2, "")
        assert f"nothing is kept in {at_home} yet, so there is nothing to copy" in outcome.err
    assert not at_home.exists()
    run("observe", "and so it begins")
    assert len(told("list")) == 1


# as a process


def test_a_closed_pipe_ends_it_quietly(at_home: Path) -> None:
    with mind(at_home) as kept:
        kept.observe_many({"text": f"a line of some length, number {number}"} for number in range(3_000))
    command = shlex.join([sys.executable, "-m", "reverie", "list", "--limit", "3000"])
    script = f"set -o pipefail; {command} | head -n 1"
    ran = subprocess.run(["bash", "-c", script], env=environment(at_home), capture_output=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.count(b"\n") == 1


def test_ctrl_c_ends_it_quietly(at_home: Path) -> None:
    command = [sys.executable, "-m", "reverie", "observe", "-"]
    with subprocess.Popen(
        command, env=environment(at_home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"x" * 200_000)  # more than a pipe holds: it is reading when this returns
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_at_a_real_terminal_an_erase_is_asked_for(at_home: Path) -> None:
    fact = told("remember", "Ana lives in Oaxaca")["id"]
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "reverie", "erase", fact]
    with subprocess.Popen(
        command, env=environment(at_home, NO_COLOR="1"), stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 1000)
        os.write(ours, b"y\n")
        assert process.wait(30) == 0
    os.close(ours)
    assert b"\x1b" not in shown
    assert told("list") == []


def test_exit_codes_are_those_of_the_process(at_home: Path) -> None:
    assert at_shell(at_home, "get", "nonsense").returncode == 1
    assert at_shell(at_home, "recal").returncode == 2


# the commands that are no verbs


def test_init_makes_a_home_and_asks_nothing_when_told_yes(at_home: Path) -> None:
    said = told("init", "--yes")
    assert said == {"home": str(at_home), "made": True, "settings": {}, "memories": 0}
    assert at_home.stat().st_mode & 0o777 == 0o700
    assert not (at_home / "reverie.toml").exists()
    assert told("init", "--yes")["made"] is False


def test_init_asks_three_things_and_each_may_be_skipped(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REVERIE_ZONE")
    outcome = run("init", stdin="Mars/Olympus\nAsia/Tokyo\n\nmine\n")
    assert outcome.code == 0
    assert outcome.err.count("]: ") == 4
    assert "no time zone named 'Mars/Olympus'" in outcome.err
    assert (at_home / "reverie.toml").read_text() == 'zone = "Asia/Tokyo"\nspace = "mine"\n'
    before = (at_home / "reverie.toml").read_text()
    assert run("init", stdin="\n\n\n").code == 0
    assert run("init", stdin="").code == 0
    assert (at_home / "reverie.toml").read_text() == before


def test_config_shows_where_each_value_came_from(at_home: Path) -> None:
    told("config", "set", "budget", "500")
    shown = told("config")
    assert shown["budget"] == {"value": 500, "from": f"{at_home}/reverie.toml:1"}
    assert shown["person"] == {"value": None, "from": "default"}
    assert shown["embedder"] == {"value": "none", "from": "REVERIE_EMBEDDER"}
    assert shown["space"] == {"value": "default", "from": "default"}
    for name in shown:
        assert name in done(run("config"))


def test_config_says_when_the_environment_wins() -> None:
    assert "the environment variable REVERIE_EMBEDDER wins over the file" in done(run("config", "set", "embedder", "local"))
    assert told("config", "unset", "embedder")["embedder"]["from"] == "REVERIE_EMBEDDER"


def test_a_secret_is_taken_from_stdin_and_never_shown(at_home: Path) -> None:
    for words in (("config", "set", "openai_key", "-"), ("config",), ("config", "--json"), ("doctor",), ("status",)):
        outcome = run(*words, stdin="sk-very-secret\n")
        assert "sk-very-secret" not in outcome.out + outcome.err
    assert 'openai_key = "sk-very-secret"' in (at_home / "reverie.toml").read_text()
    assert told("config")["openai_key"]["value"] == "(set, not shown)"


def test_memory_shows_kinds_and_health() -> None:
    told("remember", "Ana lives in Oaxaca")
    told("observe", "hello", "--space", "other")
    assert told("memory") == {"memories": 2, "kinds": {"fact": 1, "turn": 1}}
    health = told("memory", "--health")
    assert list(health) == ["healthy", "checks", "warnings", "errors"]
    assert health["healthy"] is True


def test_a_damaged_space_makes_memory_and_doctor_fail(at_home: Path) -> None:
    told("remember", "Ana lives in Oaxaca")
    next((at_home / "spaces").glob("*.db")).write_bytes(b"rubbish" * 2_000)
    health = run("memory", "--health", "--json")
    assert health.code == 1
    assert json.loads(health.out)["healthy"] is False
    assert len(json.loads(health.out)["errors"]) == 1
    doctor = run("doctor")
    assert doctor.code == 1
    assert "FAILED" in doctor.out
    listing = run("list")
    assert listing.code == 1
    assert "hint: reverie doctor says more" in listing.err


def test_doctor_looks_at_home_packages_embedder_and_vectors(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told("remember", "Ana lives in Oaxaca")
    monkeypatch.setenv("REVERIE_EMBEDDER", "hashing")
    checks = {check["name"]: check for check in told("doctor", "--residue")["checks"]}
    assert str(at_home) in checks["home"]["said"]
    assert "numpy" in checks["packages"]["said"]
    assert checks["embedder"]["ok"] is True
    assert "1 memory without a vector" in checks["vectors"]["said"]
    assert checks["erases"]["ok"] is True
    told("export", "copy.jsonl")
    assert "copy.jsonl" in done(run("doctor", "--residue"))
    monkeypatch.setenv("REVERIE_EMBEDDER", "local:/no/such/folder")
    assert run("doctor").code == 1


def test_doctor_warns_of_a_key_that_others_can_read(at_home: Path) -> None:
    told("config", "set", "openai_key", "sk-1")
    (at_home / "reverie.toml").chmod(0o644)
    outcome = run("doctor")
    assert outcome.code == 1
    assert "holds a key and other users can read it; chmod 600 it" in outcome.out


def test_reset_memory_keeps_what_is_known_and_can_be_undone(at_home: Path) -> None:
    with mind(at_home) as kept:
        turn = kept.observe("I moved to Oaxaca in May", speaker="Ana", message_id="1")
        fact = kept.remember("Ana lives in Oaxaca", source=reverie.Source(memory_ids=(turn.id,)))
        kept.observe("hello there", scope=Scope("other", person="ana"))
        kept.working(Scope(session="a")).replace(task="ship")
        kept.scratchpad(Scope(person="ana"), task="t").replace("note")
        kept.people.alias("1", "Ana")
    said = done(run("reset", "--memory", "--yes"))
    with mind(at_home) as kept:
        assert [memory.id for memory in kept.scan(Scope.owner())] == [fact.id]
        assert list(kept.scan(Scope.owner("other"))) == []
        assert kept.working(Scope(session="a")).get() is None
        assert kept.scratchpad(Scope(person="ana"), task="t").get() is None
        assert kept.people.find("Ana")
    undo = next(line for line in said.splitlines() if "reverie undo" in line).partition("reverie ")[2].split()
    done(run(*undo))
    with mind(at_home) as kept:
        assert {memory.id for memory in kept.scan(Scope.owner())} == {fact.id, turn.id}


def test_reset_memory_of_one_space_leaves_the_others() -> None:
    told("observe", "one")
    told("observe", "two", "--space", "other")
    assert list(told("reset", "--memory", "--yes", "--space", "other")["spaces"]) == ["other"]
    assert len(told("list")) == 1
    assert told("list", "--space", "other") == []


def test_reset_all_removes_every_space_when_the_homes_name_is_typed(at_home: Path) -> None:
    told("observe", "one")
    told("config", "set", "budget", "9")
    assert run("reset", "--all", terminal=True, stdin="yes\n").code == 1
    assert len(told("list")) == 1
    assert run("reset", "--all", terminal=True, stdin="home\n").code == 0
    assert told("list") == []
    assert told("status")["spaces"] == []
    assert told("config")["budget"]["value"] == 9
    assert not list((at_home / "spaces").glob("*"))


def test_reset_all_is_refused_while_the_home_is_in_use(at_home: Path) -> None:
    with mind(at_home) as kept:
        kept.observe("one")
        outcome = run("reset", "--all", "--yes")
        assert outcome.code == 1
        assert "a mind has it open" in outcome.err
        assert len(list(kept.scan())) == 1


def test_reset_identity_says_that_there_is_none() -> None:
    assert done(run("reset", "--identity", "--yes")) == "there is no identity yet; nothing was changed\n"


def test_without_its_package_the_mcp_door_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    outcome = run("mcp")
    assert (outcome.code, outcome.out) == (1, "")
    assert "pip install mcp" in outcome.err


def test_the_demo_runs_and_leaves_the_home_alone(at_home: Path) -> None:
    assert "Reverie" in done(run("demo", "--fast"))
    assert not at_home.exists()
