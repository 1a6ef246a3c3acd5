"""The command line: a reading of the table of verbs, with manners.

Results go to stdout and everything else to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage. What goes wrong is one readable
line and a hint; `--debug` shows the traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    can_tell = sys.stdout is not None
    _fill_in()
    from reverie.doors.cli.call import DONE, FAILED, INTERRUPTED
    from reverie.doors.cli.commands import run

    if not can_tell:
        sys.stderr.write("error: standard output is closed, so nothing was done; send it to /dev/null to go without\n")
        return FAILED
    try:
        code = run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _let_go()  # whoever read this has had enough
        return DONE
    except OSError as exc:
        _let_go()
        sys.stderr.write(f"error: the result could not be written: {exc.strerror}\n")
        return FAILED
    except SystemExit as exc:
        if not isinstance(exc.__context__, BrokenPipeError):
            raise
        return DONE
    return code


def _fill_in() -> None:
    """Put nothing where a process was started without one of its streams, before some file is opened in its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            file = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            setattr(sys, name, os.fdopen(file, mode, encoding="utf-8", closefd=False))


def _let_go() -> None:
    """Keep Python from complaining once more when it closes stdout."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
