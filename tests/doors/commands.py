"""Running command lines in this process, and as somebody at a shell would."""

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.doors import cli
from reverie.doors.cli.commands import application

SOURCE = Path(__file__).parents[2] / "src"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command line came to."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """What a terminal takes."""
        return "utf-8"

    def isatty(self) -> bool:
        """Say yes."""
        return True


def run(*words: str, stdin: str | bytes = b"", terminal: bool = False) -> Outcome:
    """Run a command line; with `terminal` somebody sits in front of it and types `stdin`."""
    raw = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = (Terminal(), Terminal()) if terminal else (io.StringIO(), io.StringIO())
    typed: Any = Terminal(raw.decode()) if terminal else io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")
    before, sys.stdin = sys.stdin, typed
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(list(words))
    finally:
        sys.stdin = before
    return Outcome(code, out.getvalue(), err.getvalue())


def at_shell(home: Path, *words: str, stdin: bytes = b"", **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line as a process of its own."""
    command = [sys.executable, "-W", "error", "-m", "reverie", *words]
    return subprocess.run(command, env=environment(home, **variables), input=stdin, capture_output=True, timeout=60)


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Return what such a process is given."""
    given = {"PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1", "REVERIE_HOME": str(home), "REVERIE_EMBEDDER": "none"}
    return {**os.environ, **given, **variables}


def all_commands() -> dict[tuple[str, ...], Any]:
    """Return every command there is, built, by its words."""
    found: dict[tuple[str, ...], Any] = {}

    def walk(words: tuple[str, ...], command: Any) -> None:
        if words:
            found[words] = command
        for name, entry in getattr(command, "entries", {}).items():
            walk((*words, name), entry.build())

    walk((), application())
    return found
