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
    from reverie.doors.cli.call import DONE, INTERRUPTED
    from reverie.doors.cli.commands import run

    try:
        code = run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read this has had enough. Python would complain once more when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except SystemExit as exc:
        if not isinstance(exc.__context__, BrokenPipeError):
            raise
        return DONE
    return code
