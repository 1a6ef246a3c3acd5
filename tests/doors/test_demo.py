"""The demonstration tells the truth: what it prints is what happened, and it leaves nothing behind."""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

import reverie
from reverie import Scope
from reverie.doors import demo
from reverie.doors.cli import show

ROOT = Path(__file__).parents[2]
SOURCES = os.pathsep.join(str(ROOT / folder) for folder in ("src", "packages/reverie-small/src"))
COMMAND = [sys.executable, "-W", "error", "-m", "reverie", "demo"]
CHAPTERS = ("MONDAY", "LATE", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY", "THE WEEK", "YOURS")
AFTERWARDS = datetime(2026, 3, 9, tzinfo=UTC)
ROOM_ANA = Scope("flat", channel="kitchen", person="ana")


def environment(folder: Path, **settings: str) -> dict[str, str]:
    ours = {"PYTHONPATH": SOURCES, "TMPDIR": str(folder), "HOME": str(folder), "PYTHONUTF8": "1", "TERM": "xterm"}
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR" and not name.startswith("REVERIE_")}
    return {**kept, **ours, **settings}


def run(folder: Path, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the demonstration as a person would, with `folder` as the place for temporary files."""
    asked = {"env": environment(folder, **settings), "capture_output": True, "text": True, "timeout": 120}
    return subprocess.run([*COMMAND, *options], stdin=subprocess.DEVNULL, **asked)  # type: ignore[call-overload,no-any-return]


class Listener(io.StringIO):
    """Keeps what is written, and lets somebody hear each line while the mind is open."""

    def __init__(self, listen: Callable[[str], object]) -> None:
        super().__init__()
        self._listen = listen

    def write(self, text: str) -> int:
        self._listen(text.rstrip("\n"))
        return super().write(text)


@dataclass
class Week:
    """One telling: its home, its lines, and what was in the files of the home when the residue was counted."""

    home: Path
    lines: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    counted: dict[str, list[int]] = field(default_factory=dict)

    def hear(self, line: str) -> None:
        """Count for oneself when the demonstration says that it has counted."""
        found = re.match(r" +(before|after): ", line)
        if found and not self.words:  # what is searched for stands in the three lines above
            self.words = [self.lines[-3].strip(), self.lines[-2].strip(), *self.lines[-1].strip().split(" · ")]
        if found:
            files = [path for path in self.home.rglob("*") if path.is_file()]
            asked = [path for path in files if path.name.startswith("recalls.db")]
            size = sum(path.stat().st_size for path in files)
            others = [path for path in files if path not in asked]
            self.counted[found[1]] = [hits(others, self.words), len(files), size, hits(asked, self.words)]
        self.lines.append(line)

    def chapter(self, name: str) -> list[str]:
        """Return the lines of one chapter."""
        rest = self.lines[next(number for number, line in enumerate(self.lines) if line.startswith(name.upper())) + 1 :]
        return rest[: rest.index("")] if "" in rest else rest


def hits(files: list[Path], words: list[str]) -> int:
    return sum(path.read_bytes().lower().count(word.lower().encode()) for path in files for word in words)


def told(home: Path) -> Week:
    """Tell the story into a home that stays."""
    week = Week(home)
    demo.tell(home, demo.Story(show.Page(Listener(week.hear), False, UTC)))
    return week


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Week:
    return told(tmp_path_factory.mktemp("demo") / "home")


def the(lines: list[str], part: str) -> str:
    """Return the one line that holds `part`."""
    found = [line for line in lines if part in line]
    assert len(found) == 1, (part, lines)
    return found[0]


def numbers(line: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", line)]


# how it is told


def test_it_runs_to_the_end_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [name for name in CHAPTERS if re.search(f"^{name}", done.stdout, re.M)] == list(CHAPTERS)
    assert "by words and by meaning, with reverie-small@" in done.stdout
    assert "the home of this demonstration is removed" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_it_is_plain_text_in_screens_of_twenty_lines_and_a_hundred_columns(week: Week) -> None:
    assert "\x1b" not in "".join(week.lines)
    assert [line for line in week.lines if len(line) > 100] == []
    assert [screen for screen in "\n".join(week.lines).split("\n\n") if screen.count("\n") >= 20] == []
    assert len(week.lines) <= 135


def test_a_terminal_without_the_signs_still_sees_the_story(tmp_path: Path) -> None:
    done = run(tmp_path, PYTHONUTF8="0", PYTHONIOENCODING="ascii", REVERIE_EMBEDDER="none")
    assert (done.returncode, done.stderr) == (0, "")
    assert "words #######. 0." in done.stdout
    assert "-> Luis is allergic to peanuts" in done.stdout


def test_a_reader_who_has_had_enough_ends_it_in_peace(tmp_path: Path) -> None:
    asked = environment(tmp_path, REVERIE_EMBEDDER="none")
    with subprocess.Popen(
        COMMAND, env=asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("options", "waits"), [(["--step"], len(CHAPTERS)), (["--fast"], 0), ([], 0)])
def test_enter_is_waited_for_before_each_chapter_if_asked(
    options: list[str], waits: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n" * 20))
    assert demo.main(options) == 0
    assert len(sys.stdin.read()) == 20 - waits
    assert re.findall(r"\[Enter\]\n([A-Z ]{4,9})\b", capsys.readouterr().out) == [name[:9] for name in CHAPTERS[:waits]]


def on_a_terminal(folder: Path, *options: str, types: bytes, **settings: str) -> str:
    """Return what the demonstration writes to a terminal at which somebody types."""
    ours, theirs = pty.openpty()
    os.write(ours, types)
    asked = environment(folder, REVERIE_EMBEDDER="none", **settings)
    with subprocess.Popen([*COMMAND, *options], env=asked, stdin=theirs, stdout=theirs) as running:
        os.close(theirs)
        seen = bytearray()
        with contextlib.suppress(OSError), os.fdopen(ours, "rb", 0) as screen:  # Linux ends a terminal with an error
            while piece := screen.read(4096):
                seen += piece
    assert running.returncode == 0
    return seen.decode()


def test_a_terminal_gets_colour_and_waits_for_enter(tmp_path: Path) -> None:
    seen = on_a_terminal(tmp_path, types=b"\n" * len(CHAPTERS))
    assert "\x1b[1;36mMONDAY" in seen
    assert seen.count("[Enter]") == len(CHAPTERS)


def test_a_terminal_gets_neither_if_refused(tmp_path: Path) -> None:
    seen = on_a_terminal(tmp_path, "--fast", types=b"\n", NO_COLOR="1")
    assert "MONDAY" in seen
    assert "\x1b" not in seen
    assert "[Enter]" not in seen


def test_without_an_embedder_it_says_so_and_goes_on_by_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")
    assert "by words alone: the embedder is set to none" in told(tmp_path / "off").lines[0]
    monkeypatch.delenv("REVERIE_EMBEDDER")
    monkeypatch.setitem(sys.modules, "reverie_small", None)
    week = told(tmp_path / "missing")
    assert "by words alone: the packaged model cannot run without reverie_small" in week.lines[0]
    wednesday = week.chapter("Wednesday")
    assert f"nothing said about '{demo.QUESTION}'" in wednesday[1]
    assert [line.partition(" · ")[0].split()[-1] for line in wednesday if "peanuts" in line] == ["2026-03-02"] * 2
    assert "ways of looking not fully on: meaning: off" in "".join(week.chapter("Friday"))
    assert week.counted["after"][0] == 0


# what it tells


def test_what_was_said_is_kept_word_for_word(week: Week) -> None:
    """R1."""
    lines = week.chapter("Monday")
    assert '2026-03-02 · Luis · "Careful with the mole, I am allergic to peanuts."' in [line.strip() for line in lines]
    with reverie.open(week.home, embedder="none") as mind:
        turns = list(
            mind.scan(Scope("flat", channel="kitchen"), kinds=("turn",), between=(None, datetime(2026, 3, 3, tzinfo=UTC)))
        )
    said = [line.strip() for line in (*lines, *week.chapter("Late")) if line.startswith("    2026")]
    assert said == [f'2026-03-02 · {turn.speaker} · "{turn.text}"' for turn in turns]


def test_what_was_learned_stands_beside_its_line_with_the_words_it_rests_on(week: Week) -> None:
    """K18, C7: the facts shown are those of the home, and each quote is in the line above it."""
    lines = week.chapter("Monday")
    learned = [(lines[number - 1], *line.strip("→ ").split(", from ")) for number, line in enumerate(lines) if "→" in line]
    assert [fact for _, fact, _ in learned] == [
        "Luis's wedding is on the ninth of May (2026-05-09)",
        "Luis is allergic to peanuts",
        "Ana lives in Oaxaca",
    ]
    for said, _, quote in learned:
        assert quote.strip('"') in said
    with reverie.open(week.home, embedder="none") as mind:
        facts = {fact.text: fact for fact in mind.scan(Scope("flat", channel="kitchen"), kinds=("fact",))}
        for _, fact, quote in learned:
            assert f'"{facts[fact].source.quote}"' == quote
            assert facts[fact] in mind.learned(facts[fact].source.memory_ids[0])


def test_a_joke_and_an_injection_teach_nothing_and_a_key_is_cut_out(week: Week) -> None:
    """R7."""
    lines = week.chapter("Late")
    assert [line.strip() for line in lines[1:6:2]] == ["→ nothing"] * 3
    assert demo.JOKE in lines[0]
    assert demo.STEERS in lines[2]
    assert "the key [secret: openai-key] to log in" in lines[4]
    assert numbers(the(lines, "the key itself"))[1] == 0
    assert hits([path for path in week.home.rglob("*") if path.is_file()], [demo.KEY]) == 0
    assert demo.KEY not in "".join(week.lines)
    with reverie.open(week.home, embedder="none", clock=lambda: AFTERWARDS) as mind:
        (refused,) = mind.quarantine(Scope.owner("flat"))
        facts = " ".join(fact.text for fact in mind.scan(Scope.owner("flat"), kinds=("fact",)))
    assert refused.memory.text == demo.STEERS
    assert refused.reason == lines[-2].strip()
    assert numbers(lines[-1]) == [1]
    assert [word for word in ("moon", "ten cakes", "oven") if word in facts] == []


def test_a_private_line_is_told_to_nobody_else_and_not_in_the_room(week: Week) -> None:
    """R6."""
    lines = week.chapter("Tuesday")
    asked = [line for line in lines if "Zapata Ceramics:" in line or "surprise party:" in line or "climbing hall:" in line]
    heard = [re.split(r", +(?=Zapata|surprise|climbing)", line.strip())[0] for line in asked if "nothing said" not in line]
    assert heard == ["Ana, in private", "Luis, in private", "the climbers"]
    assert len(asked) == 7


def test_meaning_and_neighbours_earn_their_place(week: Week) -> None:
    """A6."""
    lines = week.chapter("Wednesday")
    answer_bars, beside_bars = (lines[lines.index(the(lines, said)) + 1] for said in ("ninth of May", "lighthouse"))
    assert "ninth of May" in lines[2]
    assert "lighthouse" in lines[4]
    for bars in (answer_bars, beside_bars):
        assert "words ░░░░░░░░   –" in bars
    assert "meaning ████████ 1.00" in answer_bars
    assert float(beside_bars.rpartition(" ")[2]) > float(answer_bars.rpartition(" ")[2])
    assert numbers(the(lines, "share no word")) == [2, 2]
    assert lines[-1].strip() == f"nothing said about '{demo.NEVER_SAID}'"


def test_the_correction_is_kept_beside_what_it_corrected(week: Week) -> None:
    """R4."""
    lines = week.chapter("Thursday")
    assert lines[1].strip() == '→ Ana lives in Puebla, from "I live in Puebla"'
    assert [line.strip() for line in lines if line.strip().startswith(("- ", "+ "))] == [
        "- Ana lives in Puebla  (version 1)",
        "- Ana lives in Oaxaca  (version 2, until Thu 18:00)",
        "+ Ana lives in Oaxaca  (version 3)",
        "+ Ana lives in Puebla  (version 2)",
        "- Ana lives in Oaxaca  (version 3)",
        "+ Ana lives in Oaxaca  (version 4, until Thu 18:00)",
    ]
    with reverie.open(week.home, embedder="none") as mind:
        facts = {fact.text: fact for fact in mind.scan(Scope("flat", channel="kitchen"), kinds=("fact",), subject="ana")}
        oaxaca, puebla = facts["Ana lives in Oaxaca"], facts["Ana lives in Puebla"]
        assert puebla.replaces == (oaxaca.id,)
        assert [known.valid_until is None for known in mind.history(oaxaca.id)] == [True, False, True, False]
        assert numbers(the(lines, "versions, every one")) == [len(mind.history(oaxaca.id))]


def test_the_past_is_answered_as_it_was_believed(week: Week) -> None:
    """R4."""
    lines = week.chapter("Thursday")
    assert "Ana lives in Oaxaca" in the(lines, "as of Tuesday:")
    assert "Ana lives in Puebla" in the(lines, "now:")


def test_a_recall_is_explained_and_so_is_what_is_missing_from_it(week: Week) -> None:
    """R5: with a bar for every way of looking; and nobody learns what is private by asking for it."""
    lines = week.chapter("Friday")
    asked = re.search(r"r-[\w-]+", the(lines, "Wednesday's recall"))
    assert asked is not None
    with reverie.open(week.home, clock=lambda: AFTERWARDS) as mind:
        why, missed = mind.why(asked[0], scope=ROOM_ANA), mind.why_not(asked[0], demo.MISSED, scope=ROOM_ANA)
    told = str(why).splitlines()
    assert [line.removeprefix("    ") for line in lines[1 : len(told) + 1]] == told
    for hit in why.hits:
        assert hit.why.meaning is not None
        assert f"meaning    {'█' * round(10 * hit.why.meaning.score)}" in str(why)
    assert missed.fate is not None
    assert missed.fate.step == "outranked"
    assert missed.fate.reason in the(lines, "the last one returned, at place")
    assert lines[-1].endswith("the answer is the same (True): nothing that may be seen here says that")


def test_yesterday_is_understood_in_spanish(week: Week) -> None:
    """A3: Saturday's yesterday is Friday, and Luis said one thing then."""
    lines = week.chapter("Saturday")
    assert demo.YESTERDAY in lines[0]
    assert "from Friday, 2026-03-06 00:00 to Saturday, 2026-03-07 00:00" in the(lines, "ayer:")
    assert "2026-03-06 · Luis · " in the(lines, demo.BOOKED)


def test_the_lines_for_a_prompt_fit_and_hold_nothing_private(week: Week) -> None:
    """A7."""
    lines = week.chapter("Saturday")
    *block, counts, whole = lines[lines.index(the(lines, "at most")) + 1 :]
    tokens, parts, _, private = numbers(counts)
    assert tokens <= demo.BUDGET
    assert parts == len(block) - 2
    assert private == 0
    assert "peanuts" in block[1]
    assert "surprise party" not in "".join(block)
    everything, *ratio = numbers(whole)
    assert everything > 2 * tokens
    assert float(".".join(map(str, ratio))) == round(everything / tokens, 1)


def test_the_residue_check_counts_what_is_in_the_files_at_that_moment(week: Week) -> None:
    """R8."""
    lines = week.chapter("Sunday")
    assert {demo.SECRET, "zapata"} < set(week.words)
    assert {when: numbers(the(lines, f"{when}:")) for when in ("before", "after")} == week.counted
    assert min(week.counted["before"]) > 0
    assert week.counted["after"][0] == 0
    assert 0 < week.counted["after"][3] < week.counted["before"][3]  # what Luis asked stays his; what Ana asked went
    assert hits([path for path in (week.home / "spaces").rglob("*") if path.is_file()], ["zapata"]) == 0
    assert "refused:" in the(lines, "refused:")
    assert numbers(the(lines, "memories erased")) == [2]


def test_the_totals_are_those_of_the_home(week: Week) -> None:
    line, vectors = week.chapter("The week")[:2]
    with reverie.open(week.home) as mind:
        status = mind.status()
    commits = sum(space.commits or 0 for space in status.spaces)
    assert numbers(line)[:3] == [status.memories, commits, len(status.spaces)]
    assert f"vectors by {status.embedder}, {sum(space.pending or 0 for space in status.spaces)} " in vectors


def test_the_size_is_that_of_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_EMBEDDER", "none")
    week = told(tmp_path / "home")
    size = sum(path.stat().st_size for path in week.home.rglob("*") if path.is_file())
    assert numbers(week.chapter("The week")[0])[3] == size


def test_the_lines_it_leaves_one_with_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    names: dict[str, reverie.Mind] = {}
    exec(demo.YOURS, names)
    names["mind"].close()
    assert len(demo.YOURS.splitlines()) == 3
    assert "I moved to Oaxaca in May" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "hits"), [(["PEANUTS"], 3), (["peanuts", "almond"], 4), (["walnut"], 0), ([], 0)])
def test_a_search_counts_every_occurrence_in_every_file(tmp_path: Path, words: list[str], hits: int) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "one").write_bytes(b"Peanuts\0peanuts")
    (tmp_path / "deeper" / "two").write_bytes(b"PEANUTS almond")
    assert demo.search(tmp_path, words) == demo.Searched(2, 29, hits)
