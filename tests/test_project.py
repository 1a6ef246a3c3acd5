"""The checkout can be built anywhere: it names no registry and no machine, and every pin is held by a hash."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PIN_FILES = sorted((ROOT / "requirements").glob("*.txt"))

REGISTRY = re.compile(
    r"pypi\.org|pythonhosted\.org|pypi\.python\.org|registry\.npmjs\.org|registry\.yarnpkg\.com|index\.crates\.io|repo\.anaconda\.com"
)
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|(?:home|Users)/\w[\w.-]*)/")
PIN = re.compile(r"(?P<name>[\w.-]+)==(?P<version>\S+)")


def tied_to_a_place(text: str) -> list[tuple[int, str]]:
    """Return the registries and machine paths that `text` names, each with its line."""
    return [
        (number, found.group())
        for number, line in enumerate(text.splitlines(), start=1)
        for pattern in (REGISTRY, MACHINE_PATH)
        for found in pattern.finditer(line)
    ]


def statements(pins: str) -> list[str]:
    """Return the lines of a requirement file that say something, continued lines joined."""
    return [
        line.strip() for line in pins.replace("\\\n", " ").splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]


def versions(pins: str) -> dict[str, str]:
    return {pin["name"]: pin["version"] for line in statements(pins) if (pin := PIN.match(line))}


def misnumbered(names: list[str]) -> list[str]:
    """Return the decision notes whose number is not the next in line."""
    return [name for number, name in enumerate(sorted(names), start=1) if not re.match(rf"{number:04}-[a-z0-9-]+\.md$", name)]


def test_no_file_names_a_registry_or_a_machine_path() -> None:
    # Files not yet added count too, so that the breach shows before the commit and not after it.
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    git = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True)
    if git.returncode:
        pytest.skip("not a git checkout")
    found = []
    for name in filter(None, git.stdout.split("\0")):
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b""
        if b"\0" not in content:
            found += [f"{name}:{line}: {place}" for line, place in tied_to_a_place(content.decode("utf-8", "replace"))]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("path", PIN_FILES, ids=lambda path: path.name)
def test_every_pin_carries_a_hash(path: Path) -> None:
    lines = statements(path.read_text("utf-8"))
    assert lines
    loose = [line for line in lines if not PIN.match(line) or "--hash=sha256:" not in line]
    assert not loose, f"{path.name} holds more than pins with hashes: {loose}"


def test_the_core_is_pinned_to_what_the_tests_run_on() -> None:
    core, dev = (versions((ROOT / "requirements" / name).read_text("utf-8")) for name in ("core.txt", "dev.txt"))
    assert core.items() <= dev.items()


def test_decisions_are_numbered_without_gaps() -> None:
    assert misnumbered([path.name for path in (ROOT / "docs" / "decisions").glob("[0-9]*.md")]) == []


@pytest.mark.parametrize(
    "text",
    [
        "--index-url https://" + "pypi" + ".org/simple",
        "see files." + "pythonhosted" + ".org",
        "open('/" + "work/main/x')",
        "cache: /" + "root/.cache",
        "/" + "home/ana/notes.md",
        '"/' + 'Users/ana/notes.md"',
    ],
)
def test_a_place_is_recognised(text: str) -> None:
    assert [line for line, _ in tied_to_a_place("\n" + text)] == [2]


@pytest.mark.parametrize("text", ["docs/work/notes.md", "~/work/notes.md", "make PYTHON=/path/to/python3", "/home/<name>/x"])
def test_other_paths_are_not_taken_for_a_place(text: str) -> None:
    assert tied_to_a_place(text) == []


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        (["0001-one.md", "0002-two.md"], []),
        (["0001-one.md", "0003-three.md"], ["0003-three.md"]),
        (["0001-one.md", "0001-other.md"], ["0001-other.md"]),
        (["0000-nought.md"], ["0000-nought.md"]),
    ],
)
def test_a_gap_in_the_decisions_is_seen(names: list[str], wrong: list[str]) -> None:
    assert misnumbered(names) == wrong
