"""One scenario through every door: twelve steps, the doors that take them, and what of their results may differ.

A step is a verb of the table and what it is told. `{name}` stands for the id that an earlier step of that name returned.
Results are JSON; ids, nonces and the moments of the day are replaced by what is the same on every run.
"""

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp_types import TextResourceContents

import reverie
from reverie import Mind, Scope, Source
from reverie.doors import cli
from reverie.doors.values import as_json
from reverie.doors.verbs import BY_NAME

SOURCE = Path(__file__).parents[2] / "src"
HERE = Scope("flat", channel="kitchen", session="supper", person="ana")
EMBEDDER = "hashing"
NOW = "2026-03-08T20:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Step:
    """One act: what later steps call it, the verb, and what it is told."""

    name: str
    verb: str
    told: Mapping[str, object]


STEPS = (
    Step("move", "observe", {
        "text": "I moved to Oaxaca in May", "speaker": "Ana", "at": "2026-03-02T18:00:00+00:00", "message_id": "chat:1",
    }),
    Step("allergy", "observe", {
        "text": "Soy alérgico a los cacahuates", "speaker": "Luis", "at": "2026-03-02T18:01:00+00:00", "message_id": "chat:2",
        "reply_to": "chat:1",
    }),
    Step("home", "remember", {
        "text": "Ana moved to Oaxaca", "subject": "ana", "tags": ["home"], "message_ids": ["chat:1"],
        "quote": "I moved to Oaxaca", "valid_from": "2025-05-01T00:00:00+00:00", "trust": "agent",
    }),
    Step("asked", "recall", {"cue": "¿a qué es alérgico Luis?", "limit": 3, "now": NOW}),
    Step("reasons", "why", {}),
    Step("prompt", "context", {"cue": "where does Ana live?", "budget": 300, "now": NOW}),
    Step("busy", "working_replace", {"task": "plan supper", "context": ["four people"], "pending": ["buy chillies", "cook"]}),
    Step("still busy", "working", {}),
    Step("never said", "recall", {"cue": "submarine captain", "strict": True, "now": NOW}),
    Step("wish", "propose", {"verb": "forget", "id": "{allergy}", "reason": "he asked for it"}),
    Step("correction", "update", {"id": "{home}", "text": "Ana lives in Puebla", "reason": "she moved on"}),
    Step("known", "scan", {"subject": "ana"}),
)  # fmt: skip


class Door(Protocol):
    """A way to take a step."""

    def take(self, verb: str, told: dict[str, Any]) -> Any:
        """Return what came of it, as JSON values."""


def play(door: Door, steps: tuple[Step, ...] = STEPS, ids: dict[str, str] | None = None) -> dict[str, Any]:
    """Take steps through a door, and return what came of each; `ids` carries on from steps taken before."""
    ids = {} if ids is None else ids
    found: dict[str, Any] = {}
    for step in steps:
        told = {name: value.format(**ids) if isinstance(value, str) else value for name, value in step.told.items()}
        found[step.name] = result = door.take(step.verb, told)
        if isinstance(result, dict) and "id" in result:
            ids[step.name] = result["id"]
    return found


_ID = re.compile(r"\b[mcrp]-[0-9a-z]{10}-[0-9a-z]{19}\b")
_NONCE = re.compile(r"(?<=\[memory |/memory )[0-9a-f]{4}|(?<=\[unverified |/unverified )[0-9a-f]{4}")
_HASH = re.compile(r"^[0-9a-f]{16}$")
_MOMENT = re.compile(r"^\d{4}-\d\d-\d\dT")
_SAID = {str(value) for step in STEPS for value in step.told.values()}


def comparable(results: dict[str, Any]) -> dict[str, Any]:
    """Return results with whatever differs from run to run replaced."""
    names: dict[str, str] = {}

    def of(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: of(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [of(inner) for inner in value]
        if isinstance(value, float):
            return round(value, 6)
        if not isinstance(value, str):
            return value
        if _HASH.match(value):
            return "(a hash)"
        if _MOMENT.match(value) and value not in _SAID:
            return "(a moment)"
        return _NONCE.sub("nonce", _ID.sub(lambda id: names.setdefault(id[0], f"{id[0][0]}{len(names)}"), value))

    return {name: of(result) for name, result in results.items()}


class ByPython:
    """The library, called by its own names."""

    def __init__(self, mind: Mind, scope: Scope = HERE) -> None:
        self.mind, self.scope = mind, scope

    def take(self, verb: str, told: dict[str, Any]) -> Any:
        """Call the verb."""
        told = {name: self._value(name, value) for name, value in told.items()}
        if verb in ("working", "working_replace"):
            act = getattr(self.mind.working(self.scope), {"working": "get"}.get(verb, "replace"))
            return as_json(act(**told))
        if verb == "remember":
            told["source"] = Source(message_ids=told.pop("message_ids"), quote=told.pop("quote"))
        if verb == "why":
            told["id"] = self.mind.last_recall(self.scope)
        if verb in ("recall", "context"):
            self.mind.settle()
        return as_json(getattr(self.mind, verb)(**told, scope=self.scope))

    @staticmethod
    def _value(name: str, value: Any) -> Any:
        return datetime.fromisoformat(value) if name in ("at", "now", "valid_from") else value


class ByCommandLine:
    """The `reverie` command with `--json`."""

    def __init__(self, home: Path, scope: Scope = HERE) -> None:
        self.options = ["--home", str(home), *options_of(scope), "--json"]

    def take(self, verb: str, told: dict[str, Any]) -> Any:
        """Run the command, and read what it printed."""
        row = BY_NAME[verb]
        words: list[str] = []
        options: list[str] = []
        for name, value in told.items():
            argument = row.argument(name)
            option = "--" + name.replace("_", "-")
            if argument.first:
                words.append(str(value))
            elif argument.type == "flag":
                options.append(option)
            elif argument.type == "names":
                options += [part for one in value for part in (option.removesuffix("s"), str(one))]
            else:
                options += [option, str(value)]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = cli.main([*(row.command or verb).split(), *words, *options, *self.options])
        assert code == 0, (verb, told)
        return json.loads(out.getvalue())


class ByMcp:
    """A real server on a home, through the SDK's own client; what a model may not do, the owner does beside it."""

    def __init__(self, portal: BlockingPortal, client: Client, home: Path) -> None:
        self.portal, self.client, self.home = portal, client, home

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool, and return the result as the client has it."""
        return self.portal.call(self.client.call_tool, tool, arguments)

    def take(self, verb: str, told: dict[str, Any]) -> Any:
        """Call the tool, and return its structured result."""
        told.pop("trust", None)  # not the model's to choose
        if verb == "update":
            with reverie.open(self.home, embedder=EMBEDDER) as mind:
                return ByPython(mind).take(verb, told)
        if verb in ("recall", "context"):
            with reverie.open(self.home, embedder=EMBEDDER) as mind:
                mind.settle()
        if verb == "scan":
            return self.read("reverie://person")["known"]
        if verb == "propose":
            verb = f"propose_{told.pop('verb')}"
        result = self.call(verb, **told)
        assert not result.is_error, result.content[0].text
        return result.structured_content.get("result", result.structured_content)

    def read(self, uri: str) -> Any:
        """Read a resource."""
        (content,) = self.portal.call(self.client.read_resource, uri).contents
        assert isinstance(content, TextResourceContents)
        return json.loads(content.text)


def options_of(scope: Scope) -> list[str]:
    """Return a scope as a command line names it."""
    parts = ("space", "channel", "session", "person")
    return [word for part in parts if (value := getattr(scope, part)) for word in (f"--{part}", value)]


def server(home: Path, scope: Scope = HERE) -> list[str]:
    """Return the command line of a server."""
    return [sys.executable, "-W", "error", "-m", "reverie", "mcp", "--home", str(home), *options_of(scope)]


def environment() -> dict[str, str]:
    """Return what a server's process is given."""
    python = {"PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1", "PYTHONUNBUFFERED": ""}
    return {**os.environ, **python, "REVERIE_EMBEDDER": EMBEDDER}


@contextlib.contextmanager
def connected(home: Path, scope: Scope = HERE, mode: str = "auto", pid_file: Path | None = None) -> Iterator[ByMcp]:
    """Start a server and connect to it; with `pid_file`, the server's process id is written there."""
    command = server(home, scope)
    if pid_file is not None:
        command = ["/bin/sh", "-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *command]
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=environment())
    client = Client(parameters, mode=mode, read_timeout_seconds=30)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield ByMcp(portal, client, home)
