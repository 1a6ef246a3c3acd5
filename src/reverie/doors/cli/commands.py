"""All commands together, and what is said when one goes wrong."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import typer

from reverie.doors.cli import acts, own
from reverie.doors.cli.call import DONE, FAILED, INTERRUPTED, MISUSED, Call
from reverie.doors.cli.command import CONTEXT, Entry, made, parameter, shared, signed
from reverie.doors.hints import at_terminal
from reverie.doors.verbs import VERBS
from reverie.errors import BadInput, Busy, Damaged, ModelError, NotFound, Refused, ReverieError, UndoConflict

ABOUT = """The memory of an AI agent: it keeps what was said, finds it again, and says why.

Naming no channel, session or person you are the owner, and see the whole of the space you use."""
EXAMPLES = """\b
Examples:
  reverie demo
  reverie observe 'I moved to Oaxaca in May' --speaker Ana
  reverie recall 'where does Ana live?' --why"""
DASHES = "a text that starts with - goes after --, as in: reverie remember -- '-5 degrees outside'"
HINTS: Mapping[type[ReverieError], str] = {
    NotFound: "reverie list shows what is kept, reverie log what changed",
    UndoConflict: "undo those first, newest first, or leave it",
    Busy: "try again in a moment, or close the program that has the home open",
    Damaged: "reverie doctor says more; reverie recover FILE puts a backup in its place",
    ModelError: "recall by words works without one: reverie config set embedder none",
}
BY_MESSAGE = {
    "no proposal": "reverie proposals shows what waits for a yes",
    "nothing with the id": "reverie quarantine shows what was refused, for a month",
}
WrongUsage: Any = typer.BadParameter.__mro__[1]  # whichever click it comes from: Typer's own, or the package
BY_OTHER_COMMANDS = ("observe_many", "health")  # observe --many, memory --health


def entries() -> dict[str, Entry]:
    """Return every command by name; those of a group beneath it."""
    found: dict[str, Entry] = {}
    verbs = {(verb.command or verb.name): verb for verb in VERBS if verb.name not in BY_OTHER_COMMANDS}
    for path, verb in verbs.items():
        if " " in path:
            continue
        inside = {
            other.removeprefix(f"{path} "): Entry(one.help, partial(acts.command, one))
            for other, one in verbs.items()
            if other.startswith(f"{path} ")
        }
        if inside and verb.returns.startswith("list of"):  # what the bare name does, for whoever looks for a word
            inside = {"list": Entry(verb.help, partial(acts.command, replace(verb, command=f"{path} list")))} | inside
        found[path] = Entry(verb.help, partial(acts.command, verb, inside or None), "Memory")
    return found | own.entries()


def root(**given: Any) -> None:
    """Take note of the options before the command."""
    ctx, _ = given.pop("ctx"), given.pop("version")
    ctx.obj = Call(**given)


def _version(asked: bool | None) -> None:
    if asked:
        from reverie import __version__

        print(f"reverie {__version__}")
        raise typer.Exit


def application() -> Any:
    """Return the root of all commands."""
    said = typer.Option(None, "--version", help="say which version this is", callback=_version, is_eager=True)
    signed(root, [CONTEXT, *shared(hidden=False), parameter("version", bool, said)])
    return made(root, "reverie", ABOUT, EXAMPLES, entries(), completion=True)


def run(arguments: list[str]) -> int:
    """Run a command line; what goes wrong becomes one line, a hint and an exit code."""
    debug = "--debug" in arguments
    try:
        return application().main(args=arguments, prog_name="reverie", standalone_mode=False) or DONE
    except WrongUsage as exc:
        message = exc.format_message()
        if not arguments:
            print(message, file=sys.stderr)  # the help
            return MISUSED
        return _tell(arguments, message, _usage_hint(message, getattr(exc, "ctx", None)), MISUSED, "WrongUsage")
    except typer.Abort:
        return INTERRUPTED
    except ReverieError as exc:
        if debug:
            traceback.print_exc()
        command = next((word for word in arguments if word in entries()), "")
        usual = f"reverie {command} --help shows examples".replace("  ", " ")
        hint = next((hint for kind, hint in HINTS.items() if isinstance(exc, kind)), usual)
        hint = next((said for start, said in BY_MESSAGE.items() if str(exc).startswith(start)), hint)
        if isinstance(exc, Refused) and (id := getattr(exc.item, "id", None)):
            hint = f"reverie quarantine allow {id} takes it in all the same"
        code = MISUSED if isinstance(exc, BadInput) and not isinstance(exc, Refused) else FAILED
        return _tell(arguments, at_terminal(str(exc)), hint, code, type(exc).__name__)
    except BrokenPipeError:
        raise
    except Exception as exc:  # a door: nobody sees a traceback who did not ask for it
        if debug:
            traceback.print_exc()
        hint = "this is a fault of Reverie, not yours; the same command with --debug shows where"
        return _tell(arguments, f"{type(exc).__name__}: {exc}", hint, FAILED, type(exc).__name__)


def _usage_hint(message: str, ctx: Any) -> str:
    path = ctx.command_path if ctx else "reverie"
    if "unexpected extra argument" in message:
        return f"put a text of several words in quotes; {path} --help shows examples"
    if "No such option" in message:
        return f"{path} --help lists them; {DASHES}"
    return f"{path} --help shows examples"


def _tell(arguments: list[str], message: str, hint: str, code: int, kind: str) -> int:
    """Say on stderr what went wrong."""
    from reverie.doors.cli.show import complain
    from reverie.doors.values import dumps

    if "--json" in arguments:
        print(dumps({"error": kind, "message": message, "hint": hint}), file=sys.stderr)
    else:
        complain(message, hint)
    return code
