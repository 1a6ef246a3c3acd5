"""What Reverie claims, measured: each set of figures is one JSON object on standard output, progress goes to standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Protocol

from benchmarks import context, engine, guard, recall, temporal


class Benchmark(Protocol):
    """What a module offers to be a command; its docstring is the help."""

    __doc__: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Say which options it takes."""

    def run(self, options: argparse.Namespace) -> int:
        """Measure, print, and return the exit code."""


COMMANDS: dict[str, Benchmark] = {
    "context": context,
    "engine": engine,
    "guard": guard,
    "recall": recall,
    "temporal": temporal,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, benchmark in COMMANDS.items():
        text = benchmark.__doc__ or ""
        command = commands.add_parser(
            name, help=text.partition("\n")[0], description=text, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        benchmark.add_arguments(command)
        command.set_defaults(run=benchmark.run)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
