"""The demonstration tells the truth: what it prints is what happened, and it leaves nothing behind."""

import contextlib
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import reverie
from reverie import Scope
from reverie.doors import demo

SOURCE = Path(__file__).parents[2] / "src"


def run(folder: Path, *options: str, typed: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    """Run the demonstration as a person would, with `folder` as the place for temporary files."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(folder), "PYTHONUTF8": "1", **settings}
    command = [sys.executable, "-W", "error", "-m", "reverie.doors.demo", *options]
    return subprocess.run(command, env=environment, input=typed, capture_output=True, text=True, timeout=120)


def told(home: Path, listen: Callable[[str], object] = lambda line: None) -> list[str]:
    """Tell the story into a home that stays, and return its lines; `listen` hears each line while the mind is open."""
    lines: list[str] = []

    def write(line: str) -> None:
        lines.append(line)
        listen(line)

    demo.tell(home, demo.Page(write))
    return lines


def chapter(lines: list[str], day: str) -> list[str]:
    """Return the lines of one day."""
    start = next(number for number, line in enumerate(lines) if line.startswith(day.upper()))
    rest = lines[start + 1 :]
    return rest[: rest.index("")] if "" in rest else rest


def the(lines: list[str], part: str) -> str:
    """Return the one line that holds `part`."""
    found = [line for line in lines if part in line]
    assert len(found) == 1, (part, lines)
    return found[0]


def numbers(line: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", line)]


def in_files(folder: Path, word: str) -> int:
    return sum(path.read_bytes().lower().count(word.lower().encode()) for path in folder.rglob("*") if path.is_file())


def test_it_runs_to_the_end_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    days = re.findall(r"^(MON|TUES|WEDNES|THURS|FRI|SATUR|SUN)DAY", done.stdout, re.M)
    assert days == ["MON", "TUES", "WEDNES", "THURS", "FRI", "SATUR", "SUN"]
    assert "the home of this demonstration is removed" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_it_is_plain_text_that_fits_a_hundred_columns(tmp_path: Path) -> None:
    done = run(tmp_path, "--fast")
    assert "\x1b" not in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) > 100] == []


def test_a_terminal_without_the_signs_still_sees_the_story(tmp_path: Path) -> None:
    done = run(tmp_path, PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")


def test_step_waits_for_enter_before_each_chapter(tmp_path: Path) -> None:
    done = run(tmp_path, "--step", typed="\n" * 8)
    assert done.returncode == 0
    assert done.stdout.count("[Enter]") == 8
    short = run(tmp_path, "--step", typed="\n" * 7)  # one Enter too few: it really waits for each
    assert short.returncode != 0
    assert "EOFError" in short.stderr
    assert list(tmp_path.iterdir()) == []


def on_a_terminal(folder: Path, **settings: str) -> str:
    """Return what the demonstration writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"PYTHONPATH": str(SOURCE), "TMPDIR": str(folder), "PYTHONUTF8": "1", **settings}
    with subprocess.Popen([sys.executable, "-m", "reverie.doors.demo"], env=environment, stdout=theirs) as running:
        os.close(theirs)
        seen = bytearray()
        with contextlib.suppress(OSError), os.fdopen(ours, "rb", 0) as screen:  # Linux ends a terminal with an error
            while piece := screen.read(4096):
                seen += piece
    assert running.returncode == 0
    return seen.decode()


def test_colour_appears_on_a_terminal_unless_refused(tmp_path: Path) -> None:
    assert "\x1b[1;36mMONDAY" in on_a_terminal(tmp_path)
    assert "\x1b" not in on_a_terminal(tmp_path, NO_COLOR="1")


def test_what_was_said_is_kept_word_for_word(tmp_path: Path) -> None:
    """R1."""
    lines = chapter(told(tmp_path / "home"), "Monday")
    assert the(lines, "peanuts").strip() == "2026-03-02 · Luis · I am allergic to peanuts, so go easy on the mole."
    with reverie.open(tmp_path / "home") as mind:
        turns = [str(turn) for turn in mind.scan(Scope("flat", channel="kitchen"), kinds=("turn",))]
    assert [line.strip() for line in lines if "2026-03-02 · " in line and " · ana · " not in line] == turns[:2]


def test_a_private_line_is_told_to_nobody_else_and_not_in_the_room(tmp_path: Path) -> None:
    """R6."""
    lines = chapter(told(tmp_path / "home"), "Wednesday")
    heard = [line.strip() for line in lines if ("Zapata interview:" in line or "surprise party:" in line)]
    assert [line.partition(":")[0].partition(",  ")[0][:16] for line in heard if "nothing said" not in line] == [
        "Ana, in private",
        "Luis, in private",
    ]
    assert "nothing said" in the(lines, "Ana, in the room")
    assert "nothing said" in the(lines, "the flat's owner")


def test_the_correction_is_kept_beside_what_it_corrected(tmp_path: Path) -> None:
    """R4."""
    lines = chapter(told(tmp_path / "home"), "Thursday")
    changes = [line.strip() for line in lines if line.strip().startswith(("- ", "+ "))]
    towns = ["Oaxaca", "Puebla", "Oaxaca", "Puebla"]
    assert changes == [
        f"{sign} Ana lives in {towns[version - 1]}  (version {version})"
        for step in (1, 2, 3)
        for sign, version in (("-", step), ("+", step + 1))
    ]
    with reverie.open(tmp_path / "home") as mind:
        (lives,) = mind.scan(Scope("flat", channel="kitchen"), kinds=("fact",))
        assert [known.text.split()[-1] for known in mind.history(lives.id)] == towns
        assert numbers(the(lines, "versions, every one")) == [len(mind.history(lives.id))]


def test_the_past_is_answered_as_it_was_believed(tmp_path: Path) -> None:
    """R4."""
    lines = chapter(told(tmp_path / "home"), "Friday")
    assert the(lines, "on Tuesday:").endswith("Ana lives in Oaxaca")
    assert the(lines, "on Friday:").endswith("Ana lives in Puebla")
    assert "Oaxaca" in the(lines, "as of Tuesday:")
    assert "Puebla" in the(lines, "now:")


def test_the_residue_check_counts_what_is_in_the_files_at_that_moment(tmp_path: Path) -> None:
    """R8."""
    home = tmp_path / "home"
    words: list[str] = []
    last: list[str] = []
    counted: dict[str, list[int]] = {}

    def listen(line: str) -> None:
        found = re.match(r" +(before|after): ", line)
        last.append(line.strip())
        if found and not words:  # what is searched for stands in the three lines above
            words.extend([last[-4], last[-3], *last[-2].split(" · ")])
        if found:
            files = [path for path in home.rglob("*") if path.is_file()]
            hits = sum(in_files(home, word) for word in words)
            counted[found[1]] = [hits, len(files), sum(path.stat().st_size for path in files)]

    lines = chapter(told(home, listen), "Sunday")
    assert {demo.SECRET, "zapata"} < set(words)
    assert {when: numbers(the(lines, f"{when}:")) for when in ("before", "after")} == counted
    assert counted["before"][0] > 0
    assert counted["after"][0] == 0
    assert in_files(home, "zapata") == 0
    assert "refused:" in the(lines, "refused:")
    assert numbers(the(lines, "memories erased")) == [2]


def test_the_totals_are_those_of_the_home(tmp_path: Path) -> None:
    home = tmp_path / "home"
    line = chapter(told(home), "The week")[0]
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    with reverie.open(home) as mind:
        status = mind.status()
    commits = sum(space.commits or 0 for space in status.spaces)
    assert numbers(line) == [status.memories, commits, len(status.spaces), size]


@pytest.mark.parametrize(("words", "hits"), [(["PEANUTS"], 3), (["peanuts", "almond"], 4), (["walnut"], 0), ([], 0)])
def test_a_search_counts_every_occurrence_in_every_file(tmp_path: Path, words: list[str], hits: int) -> None:
    (tmp_path / "deeper").mkdir()
    (tmp_path / "one").write_bytes(b"Peanuts\0peanuts")
    (tmp_path / "deeper" / "two").write_bytes(b"PEANUTS almond")
    assert demo.search(tmp_path, words) == demo.Searched(2, 29, hits)
