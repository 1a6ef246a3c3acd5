"""How a command is made: its own options, the ones that every command takes, examples; built only when it is asked for."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperGroup

from reverie.doors.cli.call import Call

EVERYWHERE = "--home --space --channel --session --person --owner --json --full --debug"
CONTEXT = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)

Act = Callable[[Call, dict[str, Any]], int | None]


@dataclass(frozen=True, slots=True)
class Entry:
    """One command of a group: its help for the list, and how it is built."""

    help: str
    build: Callable[[], Any]
    section: str = "Commands"


class Commands(TyperGroup):
    """A group that knows the names and helps of its commands, and builds the one that is run."""

    entries: Mapping[str, Entry] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order they are listed."""
        return list(self.entries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Build a command, or return None."""
        return self.entries[cmd_name].build() if cmd_name in self.entries else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command a line names; a wrong name is told the nearest."""
        if args[0] not in self.entries and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], self.entries, 1)
            ctx.fail(
                f"no command {args[0]!r}; " + (f"nearest is {near[0]!r}" if near else f"it is one of {', '.join(self.entries)}")
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands without building them."""
        for section in dict.fromkeys(entry.section for entry in self.entries.values()):
            with formatter.section(section):
                formatter.write_dl([(name, entry.help) for name, entry in self.entries.items() if entry.section == section])


def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Return one option or argument, given as Typer's own description of it."""
    kind = annotation if default.default is ... else annotation | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def flag(name: str, help: str, *decls: str, hidden: bool = False) -> inspect.Parameter:
    """Return an option that is there or not."""
    return parameter(name, bool, typer.Option(None, *(decls or (f"--{name}",)), help=help, show_default=False, hidden=hidden))


def shared(hidden: bool) -> list[inspect.Parameter]:
    """Return the options that may stand before a command as well as after it."""

    def option(name: str, help: str) -> inspect.Parameter:
        said = typer.Option(None, f"--{name}", help=help, hidden=hidden, show_default=False, metavar=name.upper())
        return parameter(name, str, said)

    return [
        option("home", "the home folder (REVERIE_HOME, else ~/.reverie)"),
        option("space", "the space to act in"),
        option("channel", "act in this channel, which others read"),
        option("session", "act in this session"),
        option("person", "act as this person"),
        flag("owner", "see the whole space, or only what everyone in it sees", "--owner/--no-owner", hidden=hidden),
        flag("json", "write the result as JSON", hidden=hidden),
        flag("full", "show long texts whole", hidden=hidden),
        flag("debug", "show the traceback of what goes wrong", hidden=hidden),
    ]


def build(
    name: str,
    help: str,
    examples: Iterable[str],
    own: Sequence[inspect.Parameter],
    act: Act,
    entries: Mapping[str, Entry] | None = None,
) -> Any:
    """Return a command; with `entries` a group that also acts by itself."""
    names = [one.name for one in own]
    everywhere = [one for one in shared(hidden=True) if one.name not in names]

    def callback(**given: Any) -> int | None:
        ctx = given["ctx"]
        ctx.obj = Call(**{one.name: given[one.name] for one in everywhere}).over(ctx.obj or Call())
        if ctx.invoked_subcommand is not None:
            return None
        return act(ctx.obj, {name: given[name] for name in names})

    signed(callback, [CONTEXT, *own, *everywhere])
    epilog = "\b\nExamples:\n" + "".join(f"  {line}\n" for line in examples) + f"\nAlso: {EVERYWHERE}; see reverie --help."
    return made(callback, name, help, epilog, entries)


def made(
    callback: Callable[..., Any],
    name: str,
    help: str,
    epilog: str,
    entries: Mapping[str, Entry] | None = None,
    completion: bool = False,
) -> Any:
    """Return a command of Typer's for a callback."""
    app = typer.Typer(name=name, add_completion=completion, rich_markup_mode=None, pretty_exceptions_enable=False)
    if entries is None:
        app.command(name, help=help, epilog=epilog)(callback)
    else:
        group = type("Group", (Commands,), {"entries": entries})
        app.callback(cls=group, help=help, epilog=epilog, invoke_without_command=not completion, no_args_is_help=completion)(
            callback
        )
    return typer.main.get_command(app)


def signed(function: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Give a function the signature that Typer reads its options from."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {one.name: one.annotation for one in parameters}
