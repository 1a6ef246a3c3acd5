"""Verbs as commands: the options are the table's arguments, read as people type them, and what comes of it is shown."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Mapping
from typing import Any

import typer

from reverie.doors.cli.call import DONE, FAILED, Call, Progress, agreed, from_stdin
from reverie.doors.cli.command import Entry, build, flag, parameter
from reverie.doors.verbs import BY_NAME, LISTED, Argument, Verb
from reverie.errors import BadInput, NotFound

DOING = {
    "observe_many": "keeping turns", "load": "importing", "export": "exporting", "backup": "copying", "recover": "recovering",
    "reindex": "making vectors", "erase": "erasing", "recall": "recalling",
}  # fmt: skip
RENAMED = {"session": "in_session"}  # --session is where one asks from
METAVARS = {
    "moment": "TIME", "point": "TIME|COMMIT", "names": "NAME", "object": "JSON", "audience": "person=NAME,channel=NAME",
}  # fmt: skip
PREVIEW = 10


def option_name(argument: Argument) -> str:
    """Return how an argument is called on a command line: a list is given one at a time, a scope's word is not taken twice."""
    name = RENAMED.get(argument.name, argument.name).replace("_", "-")
    return name.removesuffix("s") if argument.type == "names" else name


def own_parameter(argument: Argument) -> inspect.Parameter:
    """Return the option, or the argument, that stands for a verb's argument; its value is read by `typed`."""
    kind: Any = {"flag": bool, "names": list[str]}.get(argument.type, str)
    notes = [argument.help + (" (- reads it from stdin)" if argument.stdin else "")]
    if argument.choices:
        notes.append(f": {', '.join(argument.choices)}")
    if argument.default is not None and argument.type != "flag":
        notes.append(f" [{argument.default}]")
    about: dict[str, Any] = {"help": "".join(notes), "show_default": False}
    if argument.choices:
        about["autocompletion"] = lambda: list(argument.choices)
    if argument.first:
        placed = typer.Argument(... if argument.required else None, metavar=argument.name.upper(), **about)
        return parameter(argument.name, kind, placed)
    name = option_name(argument)
    decl = f"--{name}/--no-{name}" if argument.type == "flag" and argument.default else f"--{name}"
    metavar = None if argument.type == "flag" else METAVARS.get(argument.type, argument.type.upper())
    return parameter(RENAMED.get(argument.name, argument.name), kind, typer.Option(None, decl, metavar=metavar, **about))


def typed(argument: Argument, value: Any) -> object:
    """Return what was typed as the value it stands for; what does not fit is left for the verb to refuse."""
    if argument.stdin and value == "-":
        return from_stdin(argument.name)
    try:
        if argument.type == "object":
            return json.loads(value)
        if argument.type in ("number", "share"):
            return (int if argument.type == "number" else float)(value)
    except ValueError:
        return value
    if argument.type == "audience":
        pairs = [part.partition("=") for part in value.split(",")]
        return {name.strip(): said.strip() for name, equals, said in pairs} if all(pair[1] for pair in pairs) else value
    return value


EXTRA: Mapping[str, tuple[inspect.Parameter, ...]] = {
    "recall": (flag("why", "show the reasons: a bar for every way of looking"),),
    "observe": (flag("many", "TEXT names a file of JSON lines, one turn each (- reads stdin)"),),
    "forget": (flag("yes", "do not ask"),),
    "erase": (flag("yes", "do not ask"),),
}
MORE_EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "observe": (
        "reverie observe --many turns.jsonl --space guild-1",
        "echo 'I moved to Oaxaca' | reverie observe - --speaker Ana",
    ),
    "remember": ("cat notes.md | reverie remember - --title notes",),
    "recall": ("reverie recall 'trip to Oaxaca' --since 2026-03-01 --why",),
    "update": ("reverie update ID --tag home --expect 2",),
    "forget": ("reverie forget ID --reason 'no longer true'",),
    "erase": ("reverie erase --person ana",),
    "pin": ("reverie pin ID --no-pinned",),
}


def example(verb: Verb) -> str:
    """Return a verb's example as a command line."""
    words, options = ["reverie", *(verb.command or verb.name).split()], []
    for name, value in verb.example.items():
        argument = verb.argument(name)
        if argument.first:
            words.append(shlex.quote(str(value)))
        elif argument.type == "flag":
            options.append(f"--{'' if value else 'no-'}{option_name(argument)}")
        else:
            values = value if isinstance(value, list | tuple) else [value]
            options += [f"--{option_name(argument)} {shlex.quote(str(one))}" for one in values]
    return " ".join([*words, *options])


def command(verb: Verb, entries: Mapping[str, Entry] | None = None) -> Any:
    """Return the command of a verb; with `entries` also the group of those."""
    own = [own_parameter(argument) for argument in verb.arguments]
    lines = (example(verb), *MORE_EXAMPLES.get(verb.name, ()))
    name = (verb.command or verb.name).split()[-1]
    everything = [*own, *EXTRA.get(verb.name, ())]
    return build(name, verb.help, lines, everything, lambda call, given: act(verb, call, given), entries)


def act(verb: Verb, call: Call, given: dict[str, Any]) -> int:
    """Do what a command line asks for, and show what came of it."""
    extra = {parameter.name: given.pop(parameter.name) for parameter in EXTRA.get(verb.name, ())}
    names = {RENAMED.get(argument.name, argument.name): argument.name for argument in verb.arguments}
    arguments = {names[name]: value for name, value in given.items() if value is not None}
    if extra.get("many"):
        verb, arguments = BY_NAME["observe_many"], {"turns": turns_in(arguments.pop("text"), arguments)}
    arguments = {name: typed(verb.argument(name), value) for name, value in arguments.items()}
    if verb.name == "remember":
        arguments.setdefault("trust", "hand")
    if verb.name == "context":
        arguments.setdefault("budget", call.settings.budget)
    scope = call.scope(verb, arguments)
    if verb.name == "recover":
        return _show(call, verb, _recover(call, arguments["path"]))
    with call.mind() as mind:
        if not _may_go_on(call, verb, mind, scope, arguments, bool(extra.get("yes"))):
            return FAILED
        with Progress(DOING.get(verb.name, verb.name)) as progress:
            value = verb.call(mind, scope, arguments, call.zone, progress if verb.progress else None)
    code = _show(call, verb, value, reasons=bool(extra.get("why")), dry_run=bool(arguments.get("dry_run")))
    if verb.name == "scan" and isinstance(value, tuple) and len(value) == arguments.get("limit", LISTED):
        sys.stderr.write(f"there may be more: --after {value[-1].id}\n")
    return code


def _show(call: Call, verb: Verb, value: Any, reasons: bool = False, dry_run: bool = False) -> int:
    from reverie.doors.cli.show import SHOW, a_proof, a_recollection

    page = call.page
    if call.json:
        page.json(value)
    elif verb.name == "recall":
        a_recollection(page, value, reasons)
    elif verb.name == "erase":
        a_proof(page, value, dry_run)
    elif verb.name in SHOW:
        SHOW[verb.name](page, value)
    else:
        page.line("done")
    failed = (verb.name == "observe_many" and value.failed) or (verb.name == "health" and not value.healthy)
    return FAILED if failed else DONE


def _recover(call: Call, path: str) -> tuple[str, ...]:
    import reverie

    with Progress(DOING["recover"]):
        return reverie.recover(path, call.place())


def _may_go_on(call: Call, verb: Verb, mind: Any, scope: Any, arguments: dict[str, Any], yes: bool) -> bool:
    """Show what is about to go and ask; an erase without anyone to ask needs --yes, what can be undone does not."""
    wide = verb.name == "forget" and "query" in arguments
    if yes or arguments.get("dry_run") or not (verb.destructive or wide):
        return True
    interactive = sys.stdin.isatty()
    if not interactive:
        if verb.destructive:
            raise BadInput("an erase cannot be undone and nobody can be asked here; look at it with --dry-run, then say --yes")
        return True
    from reverie.doors.cli.show import Page, coloured, memory_line

    page = Page(sys.stderr, coloured(sys.stderr), call.zone)
    plan: Any = verb.call(mind, scope, {**arguments, "dry_run": True}, call.zone)
    going = plan.erased if verb.destructive else plan.retired
    for id in going[:PREVIEW]:
        try:
            memory_line(page, mind.get(id, scope=scope))
        except NotFound:
            page.line(id)
    if len(going) > PREVIEW:
        page.line(f"… and {len(going) - PREVIEW:,} more")
    if not going:
        return True
    how = "Erase these for good" if verb.destructive else "Forget these (it can be undone)"
    if agreed(f"{how}: {len(going):,} in all?"):
        return True
    page.line("nothing was changed")
    return False


def turns_in(place: str, others: Mapping[str, object]) -> list[object]:
    """Return the turns of a file of JSON lines, or of one JSON list; `-` is stdin. A line that is no JSON stops it all."""
    if others:
        raise BadInput(f"--many takes every turn's details from the file; leave out {', '.join(sorted(others))}")
    text = from_stdin("the turns", None) if place == "-" else _read(place)
    is_list = text.lstrip().startswith("[")
    found: list[object] = []
    for number, line in [(1, text)] if is_list else enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as exc:
                raise BadInput(f"{place}, line {number}, is not JSON ({exc}); nothing was kept") from exc
    return list(found[0]) if is_list and isinstance(found[0], list) else found


def _read(path: str) -> str:
    from reverie.memory import check

    try:
        return check.path(path).read_text("utf-8")
    except OSError as exc:
        raise BadInput(f"{path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise BadInput(f"{path} is not UTF-8 text; convert it first") from exc
