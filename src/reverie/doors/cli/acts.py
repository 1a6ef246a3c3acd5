"""Verbs as commands: the options are the table's arguments, read as people type them, and what comes of it is shown."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any

import typer

from reverie.doors.cli.asking import going, may_go_on
from reverie.doors.cli.call import DONE, FAILED, Call, Progress, from_stdin
from reverie.doors.cli.command import Entry, build, flag, parameter
from reverie.doors.cli.show import noted, visible
from reverie.doors.verbs import BY_NAME, LISTED, Argument, Verb
from reverie.errors import BadInput

DOING = {
    "observe_many": "keeping turns", "load": "importing", "export": "exporting", "backup": "copying", "recover": "recovering",
    "reindex": "making vectors", "erase": "erasing", "recall": "recalling", "why_not": "asking again",
    "settle": "learning, and making vectors", "end": "summing up",
}  # fmt: skip
RENAMED = {"session": "in_session", "recall_id": "recall"}  # --session is where one asks from
METAVARS = {
    "moment": "TIME", "point": "TIME|COMMIT", "names": "NAME", "object": "JSON", "audience": "person=NAME,channel=NAME",
    "shares": "SHARE|word=SHARE,...",
}  # fmt: skip
BEGINS = {
    "observe", "observe_many", "remember", "working_replace", "scratchpad_replace", "chat_context_replace", "people_alias",
    "people_update", "people_optout", "patterns_add", "load",
}  # fmt: skip
DECIDES = {
    "id": "the proposal's number in the list, or its id",
    "hash": "the hash that was shown with it; a number needs none, it is shown again",
}


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
        return parameter(RENAMED.get(argument.name, argument.name), kind, placed)
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
        if argument.type in ("number", "share", "seconds", "tokens"):
            has_point = argument.type == "tokens" and "." in value
            return (float if argument.type in ("share", "seconds") or has_point else int)(value)
        if argument.type == "shares":
            return {word: float(share) for word, share in _pairs(value).items()} or float(value)
    except ValueError:
        return value
    return (_pairs(value) or value) if argument.type == "audience" else value


def _pairs(value: str) -> dict[str, str]:
    """Return what `name=value,name=value` says; nothing of what is no such list."""
    pairs = [part.partition("=") for part in value.split(",")]
    return {name.strip(): said.strip() for name, equals, said in pairs} if all(pair[1] for pair in pairs) else {}


EXTRA: Mapping[str, tuple[inspect.Parameter, ...]] = {
    "recall": (flag("why", "show the reasons: a bar for every way of looking"),),
    "observe": (flag("many", "TEXT names a file of JSON lines, one turn each (- reads stdin)"),),
    "forget": (flag("yes", "do not ask"),),
    "erase": (flag("yes", "do not ask"),),
    "approve": (flag("yes", "do not ask"),),
    "reject": (flag("yes", "do not ask"),),
}
MORE_EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "observe": (
        "reverie observe --many turns.jsonl --space guild-1",
        "echo 'I moved to Oaxaca' | reverie observe - --speaker Ana",
        "reverie observe 'I moved to Oaxaca' --speaker Ana --place voice-7 --certainty Oaxaca=0.4",
    ),
    "remember": ("cat notes.md | reverie remember - --title notes",),
    "recall": ("reverie recall 'trip to Oaxaca' --since 2026-03-01 --why",),
    "context": ("reverie context 'where does Ana live?' --profile kenobot --person ana", "reverie context '' --no-retrieval"),
    "update": ("reverie update ID --tag home --expect 2",),
    "forget": ("reverie forget ID --reason 'no longer true'",),
    "erase": ("reverie erase --person ana",),
    "pin": ("reverie pin ID --no-pinned",),
    "export": ("reverie export - | gzip > memories.jsonl.gz",),
    "approve": ("reverie proposals approve 1",),
    "reject": ("reverie proposals reject 1",),
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
    own = [own_parameter(_as_typed(verb, argument)) for argument in verb.arguments]
    lines = (example(verb), *MORE_EXAMPLES.get(verb.name, ()))
    name = (verb.command or verb.name).split()[-1]
    everything = [*own, *EXTRA.get(verb.name, ())]
    return build(name, verb.help, lines, everything, lambda call, given: act(verb, call, given), entries)


def _as_typed(verb: Verb, argument: Argument) -> Argument:
    """Return an argument as a command line takes it, where that is more than the verb does."""
    if verb.name in ("approve", "reject"):
        return replace(argument, help=DECIDES[argument.name], required=argument.name == "id")
    return replace(argument, help=f"{argument.help} (- is stdout)") if verb.name == "export" else argument


def act(verb: Verb, call: Call, given: dict[str, Any]) -> int:
    """Do what a command line asks for, and show what came of it."""
    extra = {parameter.name: given.pop(parameter.name) for parameter in EXTRA.get(verb.name, ())}
    names = {RENAMED.get(argument.name, argument.name): argument.name for argument in verb.arguments}
    arguments = {names[name]: value for name, value in given.items() if value is not None}
    if extra.get("many"):
        verb, arguments = BY_NAME["observe_many"], {"turns": turns_in(arguments.pop("text"), arguments, call.zone)}
    arguments = {name: typed(verb.argument(name), value) for name, value in arguments.items()}
    if verb.name == "remember":
        arguments.setdefault("trust", "hand")
    if verb.name == "context":
        arguments.setdefault("budget", call.settings.budget)
    scope, is_begun, yes = call.scope(verb, arguments), call.is_begun, bool(extra.get("yes"))
    if verb.name == "recover":
        return _show(call, verb, _recover(call, arguments["path"]))
    to_stdout = verb.name in ("export", "backup") and arguments["path"] == "-"
    if verb.name in ("export", "backup") and not is_begun:
        raise BadInput(f"nothing is kept in {call.place()} yet, so there is nothing to copy; name another with --home")
    if verb.name == "backup" and to_stdout:
        raise BadInput("a backup goes into a file; name one (./- is a file called -)")
    with call.mind(begins=verb.name in BEGINS and not arguments.get("dry_run")) as mind:
        if not may_go_on(call, verb, mind, scope, arguments, yes):
            return FAILED
        if to_stdout:
            return _export_to_stdout(call, verb, mind, scope)
        with Progress(DOING.get(verb.name, verb.name)) as progress:
            value: Any = verb.call(mind, scope, arguments, call.zone, progress if verb.progress else None)
        is_preview = verb.name in ("forget", "erase") and arguments.get("dry_run") and not call.json
        memories = going(verb, mind, scope, value) if is_preview else None
        is_news = verb.name == "observe" and value.retired_at is None  # forgotten, it stays so when it is delivered again
        learned = mind.learned(value.id) if is_news and not call.json else None
    if verb.name == "status" and not is_begun:
        value = replace(value, home=str(call.place()))
    code = _show(call, verb, value, bool(extra.get("why")), arguments, memories)
    if verb.name == "status" and not (call.settings.learn or call.json):
        call.page.line(f"learning: {call.not_learning}")
    if learned is not None:
        noted(call.page, learned)
    if verb.name == "scan" and len(value) == arguments.get("limit", LISTED):
        sys.stderr.write(f"there may be more: --after {value[-1].id}\n")
    if not (is_begun or verb.name in BEGINS or call.json):
        sys.stderr.write(visible(f"nothing is kept in {call.place()} yet; begin with: reverie init") + "\n")
    return code


def _show(
    call: Call,
    verb: Verb,
    value: Any,
    reasons: bool = False,
    arguments: Mapping[str, Any] | None = None,
    memories: list[Any] | None = None,
) -> int:
    from reverie.doors.cli.show import SHOW, a_load, a_preview, a_recollection, copies

    page, told = call.page, arguments or {}
    if call.json:
        page.json(value)
    elif memories is not None:
        a_preview(page, verb.name, memories, told.get("person"))
        copies(page, getattr(value, "unreachable", ()))
    elif verb.name == "recall":
        a_recollection(page, value, reasons)
    elif verb.name == "load":
        a_load(page, value, bool(told.get("dry_run")))
    elif verb.name in SHOW:
        SHOW[verb.name](page, value)
    else:
        page.line("done")
    failed = (verb.name in ("observe_many", "settle") and value.failed) or (verb.name == "health" and not value.healthy)
    return FAILED if failed else DONE


def _recover(call: Call, path: str) -> tuple[str, ...]:
    import reverie

    with Progress(DOING["recover"]):
        return reverie.recover(path, call.place())


def _export_to_stdout(call: Call, verb: Verb, mind: Any, scope: Any) -> int:
    """Write an export to stdout, by way of a private file: what fails half-way was not written at all."""
    from reverie import upkeep
    from reverie.doors.values import harmless

    with upkeep.handed_on() as path:
        with Progress(DOING[verb.name]):
            verb.call(mind, scope, {"path": path}, call.zone)
        out = getattr(sys.stdout, "buffer", None)
        with path.open(encoding="utf-8") as lines:
            for line in map(harmless, lines):
                sys.stdout.write(line) if out is None else out.write(line.encode())
    return DONE


def turns_in(place: str, others: Mapping[str, object], zone: tzinfo) -> list[object]:
    """Return the turns of a file of JSON lines, or of one JSON list; `-` is stdin. A line that does not fit stops it all."""
    if others:
        raise BadInput(f"--many takes every turn's details from the file; leave out {', '.join(sorted(others))}")
    text, place = (from_stdin("the turns", None), "stdin") if place == "-" else (_read(place), place)
    if text.lstrip().startswith("["):
        found = _json(text, place, "line 1")
        turns = [(f"turn {number}", turn) for number, turn in enumerate(found if isinstance(found, list) else [found], 1)]
    else:
        lines = [(f"line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        turns = [(number, _json(line, place, number)) for number, line in lines]
    return [_timed(turn, place, number, zone) for number, turn in turns]


def _json(text: str, place: str, number: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise BadInput(f"{place}, {number}, is not JSON ({exc}); nothing was kept") from exc


def _timed(turn: object, place: str, number: str, zone: tzinfo) -> object:
    """Return a turn with its time read; what else does not fit in it is for the verb to count."""
    if not isinstance(turn, dict) or turn.get("at") is None:
        return turn
    try:
        return {**turn, "at": BY_NAME["observe"].argument("at").read(turn["at"], zone)}
    except BadInput as exc:
        raise BadInput(f"{place}, {number}: {exc}; nothing was kept") from exc


def _read(path: str) -> str:
    from reverie.memory import check

    try:
        return check.path(path).read_text("utf-8")
    except OSError as exc:
        raise BadInput(f"{path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise BadInput(f"{path} is not UTF-8 text; convert it first") from exc
