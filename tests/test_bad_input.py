"""Wrong calls: each raises the right error with a message that says what to do, and leaves everything as it was (K25, R12).

The table runs against a mind in memory and one in a folder. Calls are typed `Any`: being wrong is their point.
"""

import hashlib
import json
import shutil
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import reverie
from reverie import BadInput, Busy, Conflict, Damaged, NotFound, ReadOnly, ReverieError, Scope, Source, StoreError
from reverie.memory.trace import space_mark
from reverie.store.base import Vector, Where

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
NAIVE = datetime(2026, 5, 1, 12)  # noqa: DTZ001
LONE = "broken \ud83d half"
ANA = Scope(person="ana")
UNKNOWN_IDS = {
    "empty": "",
    "a word": "deploy",
    "only the letter": "m",
    "right shape, unknown space": "m-0000000000-0000000000000000000",
    "too short": "m-0000000000-000",
    "another letter": "x-0000000000-0000000000000000000",
    "a NUL": "m-0000000000-00000000000000000\x0000",
    "SQL": "m-0000000000-' OR 1=1 --",
    "a path": "m-../../etc/-passwd",
    "very long": "m-" + "0" * 100_000,
}


@dataclass(frozen=True)
class Bench:
    """A mind with a little in it, and the ids of that."""

    mind: Any
    folder: Path
    turn: str
    fact: str
    forgotten: str
    private: str
    elsewhere: str
    commit: str
    commit_elsewhere: str
    seen: list[object]  # what there was after the call before this one

    def odd(self, letter: str, tail: str) -> str:
        """Return an id of the right space whose tail was never made."""
        return f"{letter}-{space_mark('default')}-{tail}"

    def file(self, name: str) -> str:
        return str(self.folder / name)


@dataclass(frozen=True)
class Wrong:
    """A wrong call and what is said about it."""

    name: str
    call: Callable[[Bench], object]
    error: type[ReverieError]
    says: str


def _bench(home: str, folder: Path) -> Bench:
    mind = reverie.open(home, clock=lambda: NOW, embedder="none")
    turn = mind.observe("Ana moved to Oaxaca in May", speaker="Ana", message_id="m1")
    fact = mind.remember("Ana lives in Oaxaca", subject="ana", source=Source(memory_ids=(turn.id,)))
    forgotten = mind.remember("The office is in Madrid")
    mind.forget(forgotten.id)
    private = mind.remember("Ana wants to change jobs", scope=ANA)
    elsewhere = mind.remember("The guild meets on Mondays", scope=Scope("guild-1"))
    mind.working(Scope(session="s")).replace(task="ship it")
    mind.people.alias("ana", "Ana")
    mind._store.put_vectors("default", "tiny", [Vector(fact.id, 1, [1.0, 0.0, 0.0])])
    _write_files(mind, folder)
    bench = Bench(
        mind, folder, turn.id, fact.id, forgotten.id, private.id, elsewhere.id, fact.commit, elsewhere.commit, []
    )  # fmt: skip
    bench.seen.append(_seen(bench))
    return bench


def _write_files(mind: reverie.Mind, folder: Path) -> None:
    """Write everything that `load` is to refuse."""
    good = folder / "good.jsonl"
    mind.export(good, scope=Scope.owner("default"))
    lines = [json.loads(line) for line in good.read_text().splitlines()]
    head, space, *rest = lines
    memories = [line for line in rest if "memory" in line]
    commits = [line for line in rest if "commit" in line]
    others = [line for line in rest if "memory" not in line and "commit" not in line]

    def broken(name: str, *changed: object) -> None:
        (folder / name).write_text("\n".join(json.dumps(line) for line in changed) + "\n")

    def with_memory(**values: object) -> list[object]:
        first = memories[0]
        return [head, space, *commits, {**first, "memory": {**first["memory"], **values}}, *memories[1:], *others]

    def with_commit(**places: object) -> list[object]:
        first = list(commits[0]["commit"])
        for place, value in places.items():
            first[int(place.removeprefix("at_"))] = value
        return [head, space, {"commit": first}, *commits[1:], *memories, *others]

    (folder / "empty.jsonl").touch()
    (folder / "binary.jsonl").write_bytes(bytes(range(256)) * 40)
    (folder / "half.jsonl").write_text(good.read_text()[:-40])
    (folder / "deep.jsonl").write_text("[" * 200_000)
    broken("foreign.jsonl", {"conversations": [{"title": "hello"}]})
    broken("list.jsonl", [1, 2, 3])
    broken("newer.jsonl", {**head, "reverie": 99}, space, *rest)
    broken("no-space.jsonl", head, *rest)
    broken("twice.jsonl", head, space, *rest, space)
    broken("no-commits.jsonl", head, space, *memories, *others)
    broken("no-memories.jsonl", head, space, *commits, *others)
    broken("version-twice.jsonl", head, space, *commits, memories[0], *memories, *others)
    broken("unordered.jsonl", head, space, *reversed(commits), *memories, *others)
    broken("other-space.jsonl", head, {"space": "guild-1"}, *rest)
    broken("odd-line.jsonl", head, space, *rest, {"surprise": 1})
    broken("no-text.jsonl", *with_memory(text=""))
    broken("nul.jsonl", *with_memory(text="a\x00b"))
    broken("lone.jsonl", *with_memory(text="a\ud83db"))
    broken("kind.jsonl", *with_memory(kind="fat"))
    broken("trust.jsonl", *with_memory(trust="godlike"))
    broken("sure.jsonl", *with_memory(confidence=7))
    broken("naive.jsonl", *with_memory(recorded_at="2026-05-01T12:00:00"))
    broken("backwards.jsonl", *with_memory(valid_from="2026-05-02T00:00:00Z", valid_until="2026-05-01T00:00:00Z"))
    broken("id.jsonl", *with_memory(id="m-0000000000-0000000000000000000"))
    broken("huge-seq.jsonl", *with_commit(at_1=1e999))
    broken("zero-seq.jsonl", *with_commit(at_1=0))
    broken("by.jsonl", *with_commit(at_3="\ud83d"))
    broken("why.jsonl", *with_commit(at_4="\ud83d"))
    retired = {**memories[0], "seqs": [3, 1]}
    broken("retired-first.jsonl", head, space, *commits, retired, *memories[1:], *others)
    second = {**memories[0], "memory": {**memories[0]["memory"], "version": 2}}
    broken("two-active.jsonl", head, space, *commits, memories[0], second, *memories[1:], *others)
    sighting = next(line for line in others if "sighting" in line)
    gone = [*sighting["sighting"][:3], 99, *sighting["sighting"][4:]]
    broken("sighting.jsonl", head, space, *commits, *memories, *others, {**sighting, "sighting": gone})


def _seen(bench: Bench) -> object:
    """Return all that could have changed."""
    store, states = bench.mind._store, []
    spaces = store.spaces()
    for space in spaces:
        owner = Scope.owner(space)
        with store.reading(space) as view:
            vectors = view.search_vectors([1.0, 0.0, 0.0], "tiny", Where(owner), 10)
            states.append((view.states(owner), view.copies(), len(vectors.matches)))
    return (
        spaces,
        [list(bench.mind.scan(Scope.owner(space), retired=True)) for space in spaces],
        [bench.mind.log(Scope.owner(space), limit=1_000) for space in spaces],
        states,
        sorted(path for path in bench.folder.rglob("*") if not path.name.endswith(("-wal", "-shm"))),
    )


@pytest.fixture(scope="module", params=[":memory:", "folder"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("bench")
    found = _bench(":memory:" if request.param == ":memory:" else str(folder / "home"), folder)
    yield found
    found.mind.close()


def _by_id(name: str, call: Callable[[Any, Any], object]) -> Iterator[Wrong]:
    """Yield the rows for one verb that takes the id of a memory."""
    for shape, id in UNKNOWN_IDS.items():
        yield Wrong(f"{name}: an id that is {shape}", lambda b, id=id: call(b.mind, id), NotFound, "recall() and scan() list")  # type: ignore[misc]
    for shape, tail in (("made up", "0" * 19), ("cut in half", "\ud83d" * 19), ("NULs", "\x00" * 19)):
        yield Wrong(
            f"{name}: an id with a tail that is {shape}",
            lambda b, tail=tail: call(b.mind, b.odd("m", tail)),  # type: ignore[misc]
            NotFound,
            "recall() and scan() list",
        )
    for odd in (None, 7, b"m-x", ["m-x"], Scope()):
        if odd is None and name in ("forget", "erase"):
            continue
        yield Wrong(
            f"{name}: an id that is {type(odd).__name__}",
            lambda b, odd=odd: call(b.mind, odd),  # type: ignore[misc]
            BadInput,
            "an id must be a str",
        )
    yield Wrong(f"{name}: the id of a commit", lambda b: call(b.mind, b.commit), NotFound, "recall() and scan() list")


def _table() -> Iterator[Wrong]:
    yield from _scopes_and_names()
    yield from _times()
    yield from _texts()
    yield from _numbers_and_words()
    yield from _audiences()
    yield from _ids()
    yield from _changes()
    yield from _questions()
    yield from _vectors()
    yield from _session_state()
    yield from _files()


def _scopes_and_names() -> Iterator[Wrong]:
    for odd in ("default", 7, {"space": "default"}, ("default",)):
        for verb, call in {
            "observe": lambda m, s: m.observe("hello there", scope=s),
            "remember": lambda m, s: m.remember("hello there", scope=s),
            "recall": lambda m, s: m.recall("hello", scope=s),
            "scan": lambda m, s: m.scan(s),
            "log": lambda m, s: m.log(s),
            "working": lambda m, s: m.working(s),
            "people": lambda m, s: m.people.list(s),
            "status": lambda m, s: m.status(s),
        }.items():
            yield Wrong(
                f"{verb}: a scope that is a {type(odd).__name__}",
                lambda b, odd=odd, call=call: call(b.mind, odd),  # type: ignore[misc]
                BadInput,
                "scope must be a Scope, for example",
            )
    for part in ("space", "channel", "session", "person"):
        for what, value, says in (
            ("empty", "", "is empty"),
            ("blank", "  ", "is empty"),
            ("with a NUL", "a\x00b", "use one printable line"),
            ("with a newline", "a\nb", "use one printable line"),
            ("with a line separator", "a\u2028b", "use one printable line"),
            ("with a lone surrogate", "a\ud83d", "use one printable line"),
            ("too long", "x" * 201, "at most 200 fit"),
            ("a number", 7, "must be a str"),
        ):
            yield Wrong(
                f"a scope whose {part} is {what}",
                lambda b, part=part, value=value: Scope(**{part: value}),  # type: ignore[misc]
                BadInput,
                says,
            )
    for field in ("speaker", "message_id", "reply_to"):
        yield Wrong(
            f"observe: a {field} of two lines",
            lambda b, field=field: b.mind.observe("hello there", **{field: "a\nb"}),  # type: ignore[misc]
            BadInput,
            "use one printable line",
        )
    yield Wrong("remember: an empty subject", lambda b: b.mind.remember("x y z", subject=""), BadInput, "leave it out (None)")
    yield Wrong("remember: tags as one str", lambda b: b.mind.remember("x y z", tags="travel"), BadInput, "tags=('travel',)")
    yield Wrong("remember: tags as a number", lambda b: b.mind.remember("x y z", tags=7), BadInput, "tags=('travel',)")
    yield Wrong("remember: an empty tag", lambda b: b.mind.remember("x y z", tags=["a", ""]), BadInput, "give it a name")
    yield Wrong("remember: a tag cut in half", lambda b: b.mind.remember("x y", tags=["a\ud83d"]), BadInput, "printable line")


def _times() -> Iterator[Wrong]:
    fix = "replace(tzinfo=datetime.UTC)"
    calls: dict[str, Callable[[Any, Any], object]] = {
        "observe at": lambda m, t: m.observe("hello there", at=t),
        "remember happened_at": lambda m, t: m.remember("x y z", happened_at=t),
        "remember valid_from": lambda m, t: m.remember("x y z", valid_from=t),
        "remember valid_until": lambda m, t: m.remember("x y z", valid_until=t),
        "recall now": lambda m, t: m.recall("Oaxaca", now=t),
        "recall between, start": lambda m, t: m.recall("Oaxaca", between=(t, None)),
        "recall between, end": lambda m, t: m.recall("Oaxaca", between=(None, t)),
        "recall as_of": lambda m, t: m.recall("Oaxaca", as_of=t),
        "scan between": lambda m, t: m.scan(between=(t, NOW)),
        "scan as_of": lambda m, t: m.scan(as_of=t),
        "log since": lambda m, t: m.log(since=t),
        "diff from": lambda m, t: m.diff(t, NOW),
        "diff to": lambda m, t: m.diff(NOW, t),
    }
    for name, call in calls.items():
        yield Wrong(f"{name}: no time zone", lambda b, call=call: call(b.mind, NAIVE), BadInput, fix)  # type: ignore[misc]
        yield Wrong(
            f"{name}: a date only",
            lambda b, call=call: call(b.mind, NAIVE.date()),  # type: ignore[misc]
            BadInput,
            "must be an aware datetime",
        )
        yield Wrong(
            f"{name}: beyond the year 9999 in UTC",
            lambda b, call=call: call(b.mind, datetime.max.replace(tzinfo=timezone(-timedelta(hours=3)))),  # type: ignore[misc]
            BadInput,
            "years 1 to 9999",
        )
    for name, by_id in {
        "get as_of": lambda b: b.mind.get(b.fact, as_of=NAIVE),
        "update valid_from": lambda b: b.mind.update(b.fact, valid_from=NAIVE),
        "update valid_until": lambda b: b.mind.update(b.fact, valid_until=NAIVE),
    }.items():
        yield Wrong(f"{name}: no time zone", by_id, BadInput, fix)
    later = NOW + timedelta(days=1)
    yield Wrong("remember: ends before it starts", lambda b: b.mind.remember("x y", valid_from=later, valid_until=NOW),
                BadInput, "swap them")  # fmt: skip
    yield Wrong("remember: ends as it starts", lambda b: b.mind.remember("x y", valid_from=NOW, valid_until=NOW),
                BadInput, "swap them")  # fmt: skip
    yield Wrong("update: ends before it starts", lambda b: b.mind.update(b.fact, valid_from=later, valid_until=NOW),
                BadInput, "swap them")  # fmt: skip
    yield Wrong("recall: between backwards", lambda b: b.mind.recall("Oaxaca", between=(later, NOW)), BadInput, "swap them")
    yield Wrong("scan: between with one edge", lambda b: b.mind.scan(between=(NOW,)), BadInput, "a start and an end")
    yield Wrong("scan: between as a moment", lambda b: b.mind.scan(between=NOW), BadInput, "a start and an end")
    yield Wrong("diff: backwards", lambda b: b.mind.diff(NOW + timedelta(days=1), NOW - timedelta(days=1)), BadInput, "swap")


def _texts() -> Iterator[Wrong]:
    writes: dict[str, Callable[[Any, Any], object]] = {
        "observe": lambda b, t: b.mind.observe(t),
        "remember": lambda b, t: b.mind.remember(t),
        "remember title": lambda b, t: b.mind.remember("x y z", title=t),
        "a quote": lambda b, t: b.mind.remember("x y z", source=Source(quote=t)),
        "update": lambda b, t: b.mind.update(b.fact, text=t),
        "update title": lambda b, t: b.mind.update(b.fact, title=t),
        "update reason": lambda b, t: b.mind.update(b.fact, text="new words", reason=t),
        "forget reason": lambda b, t: b.mind.forget(b.fact, reason=t),
        "working task": lambda b, t: b.mind.working().replace(task=t, notes="n"),
        "working content": lambda b, t: b.mind.working().replace(content=t),
        "scratchpad": lambda b, t: b.mind.scratchpad(task="t").replace(t),
        "chat context": lambda b, t: b.mind.chat_context().replace(t),
    }
    kinds: dict[str, tuple[object, str]] = {
        "10 MB": ("word " * 2_000_000, "at most 1,000,000 fit: split it"),
        "a NUL": ("a\x00b", "remove it or decode the source properly"),
        "a lone surrogate": (LONE, "remove it or decode the source properly"),
        "empty": ("", "is empty"),
        "blank": (" \n\t", "is empty"),
        "bytes": (b"hello", "must be a str"),
        "a number": (7, "must be a str"),
    }
    for verb, call in writes.items():
        for what, (text, says) in kinds.items():
            yield Wrong(
                f"{verb}: text that is {what}",
                lambda b, call=call, text=text: call(b, text),  # type: ignore[misc]
                BadInput,
                says,
            )
    yield Wrong("recall: a cue of 10 MB", lambda b: b.mind.recall("word " * 2_000_000), BadInput, "split it")
    yield Wrong("recall: a cue with a NUL", lambda b: b.mind.recall("a\x00b"), BadInput, "remove it")
    yield Wrong("recall: a cue cut in half", lambda b: b.mind.recall(LONE), BadInput, "remove it")
    yield Wrong("recall: a cue that is None", lambda b: b.mind.recall(None), BadInput, "the cue must be a str")
    for what, extra, says in (
        ("a NUL", {"a": "\x00"}, "remove it"),
        ("a lone surrogate", {"a": LONE}, "does not fit into JSON"),
        ("NaN", {"a": float("nan")}, "does not fit into JSON"),
        ("a set", {"a": {1}}, "does not fit into JSON"),
        ("a loop", _loop(), "does not fit into JSON"),
        ("too much", {"a": "x" * 200_000}, "at most 100,000 fit"),
        ("keys that are numbers", {1: 2}, "a mapping from str"),
        ("a list", [1], "a mapping from str"),
        ("very deep", _deep(), "does not fit into JSON"),
    ):
        yield Wrong(
            f"remember: extra with {what}",
            lambda b, extra=extra: b.mind.remember("x y z", extra=extra),  # type: ignore[misc]
            BadInput,
            says,
        )
        yield Wrong(
            f"update: extra with {what}",
            lambda b, extra=extra: b.mind.update(b.fact, extra=extra),  # type: ignore[misc]
            BadInput,
            says,
        )
    yield Wrong("observe: attachments that are a number", lambda b: b.mind.observe("hi", attachments=7), BadInput, "a list")
    yield Wrong("observe: attachments that are a str", lambda b: b.mind.observe("hi", attachments="a.png"), BadInput, "a list")
    yield Wrong("observe: attachments of bytes", lambda b: b.mind.observe("hi", attachments=[b"x"]), BadInput, "fit into JSON")


def _loop() -> dict[str, object]:
    loop: dict[str, object] = {}
    loop["self"] = loop
    return loop


def _deep() -> dict[str, object]:
    deep: dict[str, object] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    return deep


def _numbers_and_words() -> Iterator[Wrong]:
    for value in (float("nan"), float("inf"), -0.1, 2.0, True, "0.8", 10**400):
        yield Wrong(
            f"remember: confidence {str(value)[:8]!r} ({type(value).__name__})",
            lambda b, value=value: b.mind.remember("x y z", confidence=value),  # type: ignore[misc]
            BadInput,
            "must be a number from 0 to 1",
        )
    limited: dict[str, Callable[[Any, Any], object]] = {
        "recall": lambda m, n: m.recall("Oaxaca", limit=n),
        "scan": lambda m, n: m.scan(limit=n),
        "log": lambda m, n: m.log(limit=n),
    }
    for verb, call in limited.items():
        for value in (0, -1, True, 1.5, "10", 10**30):
            yield Wrong(
                f"{verb}: limit {str(value)[:8]!r} ({type(value).__name__})",
                lambda b, call=call, value=value: call(b.mind, value),  # type: ignore[misc]
                BadInput,
                "whole number",
            )
    for value in (0, -1, True, "1", 10**30):
        yield Wrong(
            f"get: version {str(value)[:8]!r} ({type(value).__name__})",
            lambda b, value=value: b.mind.get(b.fact, version=value),  # type: ignore[misc]
            BadInput,
            "whole number",
        )
        yield Wrong(
            f"update: expect {str(value)[:8]!r} ({type(value).__name__})",
            lambda b, value=value: b.mind.update(b.fact, text="other words", expect=value),  # type: ignore[misc]
            BadInput,
            "whole number",
        )
    yield Wrong("remember: a kind misspelt", lambda b: b.mind.remember("x y", kind="fcat"), BadInput, "nearest is 'fact'")
    yield Wrong("remember: a kind from nowhere", lambda b: b.mind.remember("x y", kind="zzz"), BadInput, "one of episode, fact")
    yield Wrong("remember: a kind that is None", lambda b: b.mind.remember("x y", kind=None), BadInput, "one of episode, fact")
    yield Wrong("remember: kind turn", lambda b: b.mind.remember("x y", kind="turn"), BadInput, "use observe()")
    yield Wrong("observe: a role misspelt", lambda b: b.mind.observe("hi", role="asistant"), BadInput, "nearest is 'assistant'")
    yield Wrong("observe: a role that is a list", lambda b: b.mind.observe("hi", role=["user"]), BadInput, "one of user")
    yield Wrong("observe: a trust misspelt", lambda b: b.mind.observe("hi", trust="usr"), BadInput, "nearest is 'user'")
    yield Wrong("observe: trust raised", lambda b: b.mind.observe("hi", role="tool", trust="user"), BadInput, "leave it out")
    yield Wrong("observe: a user made hand", lambda b: b.mind.observe("hi", trust="hand"), BadInput, "leave it out")
    yield Wrong("recall: a kind misspelt", lambda b: b.mind.recall("x", kinds=["fcat"]), BadInput, "nearest is 'fact'")
    yield Wrong("recall: kinds as one str", lambda b: b.mind.recall("x", kinds="fact"), BadInput, "must be a list or tuple")
    yield Wrong("scan: kinds as one str", lambda b: b.mind.scan(kinds="fact"), BadInput, "must be a list or tuple")
    yield Wrong("recall: a weighting misspelt", lambda b: b.mind.recall("x", weighting="defalt"), BadInput, "'default'")
    yield Wrong("load: a format misspelt", lambda b: b.mind.load("x", format="revery"), BadInput, "nearest is 'reverie'")


def _audiences() -> Iterator[Wrong]:
    room = Scope(channel="general")
    wider = "audience= only narrows"
    yield Wrong("observe: an audience wider than a person", lambda b: b.mind.observe("hi", scope=ANA, audience=Scope()),
                BadInput, wider)  # fmt: skip
    yield Wrong("remember: an audience wider than a person", lambda b: b.mind.remember("x y", scope=ANA, audience=Scope()),
                BadInput, wider)  # fmt: skip
    yield Wrong("remember: an audience of somebody else",
                lambda b: b.mind.remember("x y", scope=ANA, audience=Scope(person="luis")), BadInput, wider)  # fmt: skip
    yield Wrong("observe: an audience in another space", lambda b: b.mind.observe("hi", audience=Scope("guild-1")),
                BadInput, wider)  # fmt: skip
    yield Wrong("observe: from a room into another space",
                lambda b: b.mind.observe("hi", scope=room, audience=Scope("guild-1")), BadInput, wider)  # fmt: skip
    yield Wrong(
        "observe: an audience that is a str", lambda b: b.mind.observe("hi", audience="ana"), BadInput, "must be a Scope"
    )
    yield Wrong("erase: one person by another", lambda b: b.mind.erase(person="luis", scope=ANA), BadInput, "Scope.owner")


def _ids() -> Iterator[Wrong]:
    verbs: dict[str, Callable[[Any, Any], object]] = {
        "get": lambda m, id: m.get(id),
        "get as_of": lambda m, id: m.get(id, as_of=NOW),
        "get version": lambda m, id: m.get(id, version=1),
        "history": lambda m, id: m.history(id),
        "update": lambda m, id: m.update(id, text="other words"),
        "forget": lambda m, id: m.forget(id),
        "restore": lambda m, id: m.restore(id),
        "pin": lambda m, id: m.pin(id),
        "erase": lambda m, id: m.erase(id),
    }
    for name, call in verbs.items():
        for row in _by_id(name, call):
            if name == "get version" and "made up" in row.name:
                row = replace(row, says="history() lists them")
            yield row
        scoped = _SCOPED[name]
        yield Wrong(
            f"{name}: the id of another space",
            lambda b, scoped=scoped: scoped(b.mind, b.elsewhere, Scope()),  # type: ignore[misc]
            NotFound,
            "recall() and scan() list",
        )
        yield Wrong(
            f"{name}: what a scope may not see",
            lambda b, scoped=scoped: scoped(b.mind, b.private, Scope(person="luis")),  # type: ignore[misc]
            NotFound,
            "history() lists them" if name == "get version" else "recall() and scan() list",
        )
    for shape, id in {**UNKNOWN_IDS, "right shape, unknown space": "c-0000000000-0000000000000000000"}.items():
        yield Wrong(f"undo: an id that is {shape}", lambda b, id=id: b.mind.undo(id), NotFound, "log() lists them")  # type: ignore[misc]
        yield Wrong(
            f"recall: as_of a commit that is {shape}",
            lambda b, id=id: b.mind.recall("Oaxaca", as_of=id),  # type: ignore[misc]
            NotFound,
            "log() lists them",
        )
        yield Wrong(
            f"scan: after an id that is {shape}",
            lambda b, id=id: b.mind.scan(after=id),  # type: ignore[misc]
            BadInput,
            "after must be the id of a memory",
        )
    for what, tail in (("made up", "0" * 19), ("cut in half", "\ud83d" * 19)):
        yield Wrong(
            f"undo: a commit with a tail that is {what}",
            lambda b, tail=tail: b.mind.undo(b.odd("c", tail)),  # type: ignore[misc]
            NotFound,
            "log() lists them",
        )
        yield Wrong(
            f"diff: a commit with a tail that is {what}",
            lambda b, tail=tail: b.mind.diff(b.commit, b.odd("c", tail)),  # type: ignore[misc]
            NotFound,
            "log() lists them",
        )
    yield Wrong("undo: the id of a memory", lambda b: b.mind.undo(b.fact), NotFound, "log() lists them")
    yield Wrong("undo: None", lambda b: b.mind.undo(None), BadInput, "an id must be a str")
    yield Wrong("undo: a commit of another space", lambda b: b.mind.undo(b.commit_elsewhere, scope=Scope()), NotFound, "log()")
    yield Wrong("diff: commits of two spaces", lambda b: b.mind.diff(b.commit, b.commit_elsewhere), NotFound, "log() lists")
    yield Wrong("scan: after an id of another space", lambda b: b.mind.scan(after=b.elsewhere), BadInput, "of this space")
    yield Wrong("recall: as_of the bare end of a commit id",
                lambda b: b.mind.recall("Oaxaca", as_of=b.commit.rpartition("-")[2]), NotFound, "log() lists")  # fmt: skip
    yield Wrong("remember: a source that is not there",
                lambda b: b.mind.remember("x", source=Source((), (b.odd("m", "0" * 19),))), NotFound, "to cite")  # fmt: skip
    yield Wrong("remember: a source of another space",
                lambda b: b.mind.remember("x y", source=Source(memory_ids=(b.elsewhere,))), NotFound, "to cite")  # fmt: skip
    yield Wrong("remember: a source that is a str", lambda b: b.mind.remember("x y", source="m1"), BadInput, "reverie.Source")
    yield Wrong("a source with one str of ids", lambda b: Source(message_ids="m1"), BadInput, "a list or tuple of str")  # type: ignore[arg-type]
    yield Wrong("get: a version never written", lambda b: b.mind.get(b.fact, version=9), NotFound, "history() lists them")
    yield Wrong("get: what was forgotten", lambda b: b.mind.get(b.forgotten), NotFound, "restore() brings it back")
    yield Wrong("people: nobody", lambda b: b.mind.people.get("nobody"), NotFound, "people.alias")
    yield Wrong("people: a zone on Mars", lambda b: b.mind.people.update("ana", zone="Mars/North"), BadInput, "IANA")
    yield Wrong("people: no language", lambda b: b.mind.people.update("ana", language="klingon!"), BadInput, "ISO code")
    yield Wrong("people: a zone that is a path", lambda b: b.mind.people.update("ana", zone="../../passwd"), BadInput, "IANA")
    yield Wrong("people: an empty name", lambda b: b.mind.people.alias("ana", ""), BadInput, "give it a name")


_SCOPED: dict[str, Callable[[Any, Any, Any], object]] = {
    "get": lambda m, id, s: m.get(id, scope=s),
    "get as_of": lambda m, id, s: m.get(id, as_of=NOW + timedelta(days=1), scope=s),
    "get version": lambda m, id, s: m.get(id, version=1, scope=s),
    "history": lambda m, id, s: m.history(id, scope=s),
    "update": lambda m, id, s: m.update(id, text="other words", scope=s),
    "forget": lambda m, id, s: m.forget(id, scope=s),
    "restore": lambda m, id, s: m.restore(id, scope=s),
    "pin": lambda m, id, s: m.pin(id, scope=s),
    "erase": lambda m, id, s: m.erase(id, scope=s),
}


def _changes() -> Iterator[Wrong]:
    yield Wrong("update: nothing", lambda b: b.mind.update(b.fact), BadInput, "give text, title, tags")
    yield Wrong("update: another version", lambda b: b.mind.update(b.fact, text="x", expect=9), Conflict, "look at it again")
    yield Wrong("update: what was forgotten", lambda b: b.mind.update(b.forgotten, text="x"), NotFound, "restore() brings")
    yield Wrong("forget: what was forgotten", lambda b: b.mind.forget(b.forgotten), NotFound, "restore() brings it back")
    yield Wrong("forget: nothing named", lambda b: b.mind.forget(), BadInput, "exactly one of id, query, message_id")
    yield Wrong("forget: two named", lambda b: b.mind.forget(b.fact, query="Ana"), BadInput, "exactly one of")
    yield Wrong("forget: three named", lambda b: b.mind.forget(b.fact, query="Ana", message_id="m1"), BadInput, "exactly one")
    yield Wrong("forget: a query without words", lambda b: b.mind.forget(query="?!…"), BadInput, "no word in")
    yield Wrong("forget: an empty query", lambda b: b.mind.forget(query=""), BadInput, "query is empty")
    yield Wrong("forget: a query that is a number", lambda b: b.mind.forget(query=7), BadInput, "query must be a str")
    yield Wrong("forget: an unknown message", lambda b: b.mind.forget(message_id="m999"), NotFound, "no message 'm999' here")
    yield Wrong("forget: a message that is a list", lambda b: b.mind.forget(message_id=["m1"]), BadInput, "must be a str")
    yield Wrong("forget: a message cut in half", lambda b: b.mind.forget(message_id="m\ud83d"), BadInput, "printable line")
    yield Wrong("retract: an unknown message", lambda b: b.mind.retract("m999"), NotFound, "no message 'm999' here")
    yield Wrong("retract: a number", lambda b: b.mind.retract(7), BadInput, "message_id must be a str")
    yield Wrong("erase: nothing named", lambda b: b.mind.erase(), BadInput, "exactly one of id, query, person")
    yield Wrong("erase: two named", lambda b: b.mind.erase(b.fact, person="ana"), BadInput, "exactly one of")
    yield Wrong("erase: a query without words", lambda b: b.mind.erase(query="?!"), BadInput, "no word in")
    yield Wrong("erase: a query that is a number", lambda b: b.mind.erase(query=7), BadInput, "query must be a str")
    yield Wrong("erase: a person of two lines", lambda b: b.mind.erase(person="a\nb"), BadInput, "printable line")
    yield Wrong("erase: a person that is a number", lambda b: b.mind.erase(person=7), BadInput, "person must be a str")
    for what, turns in (("a str", "hello"), ("bytes", b"hello"), ("a dict", {"text": "hi"}), ("None", None), ("a number", 7)):
        yield Wrong(
            f"observe_many: {what}",
            lambda b, turns=turns: b.mind.observe_many(turns),  # type: ignore[misc]
            BadInput,
            "turns must be a list of dicts, for example",
        )


def _questions() -> Iterator[Wrong]:
    yield Wrong("recall: an empty cue", lambda b: b.mind.recall(""), BadInput, "say what to recall, or give vector")
    yield Wrong("recall: a blank cue", lambda b: b.mind.recall(" \n"), BadInput, "say what to recall, or give vector")
    yield Wrong("recall: an empty subject", lambda b: b.mind.recall("x", subject=""), BadInput, "leave it out")
    yield Wrong("recall: a session of two lines", lambda b: b.mind.recall("x", session="a\nb"), BadInput, "printable line")
    yield Wrong("recall: a tag that is a number", lambda b: b.mind.recall("x", tags=[7]), BadInput, "tags must be a str")


def _vectors() -> Iterator[Wrong]:
    def keep(bench: Bench, values: object) -> object:
        wrong: Any = values
        return bench.mind._store.put_vectors("default", "tiny", [Vector(bench.turn, 1, wrong)])

    def look(bench: Bench, values: object) -> object:
        with bench.mind._store.reading("default") as view:
            return view.search_vectors(values, "tiny", Where(Scope.owner("default")), 5)

    yield Wrong(
        "recall: a vector without an embedder", lambda b: b.mind.recall("x", vector=[0.1]), BadInput, "leave vector out"
    )
    yield Wrong("a vector too long to keep", lambda b: keep(b, [1.0] * 4), BadInput, "use the same model")
    yield Wrong("a vector with NaN to keep", lambda b: keep(b, [1.0, float("nan"), 0.0]), BadInput, "not finite")
    yield Wrong("a vector with infinity to keep", lambda b: keep(b, [1.0, float("inf"), 0.0]), BadInput, "not finite")
    yield Wrong("a vector too short to look for", lambda b: look(b, [1.0, 0.0]), BadInput, "use the same model")
    yield Wrong("a vector with NaN to look for", lambda b: look(b, [1.0, float("nan"), 0.0]), BadInput, "not finite")
    yield Wrong(
        "vectors of two lengths",
        lambda b: b.mind._store.put_vectors("default", "new", [Vector(b.turn, 1, [1.0]), Vector(b.fact, 1, [1.0, 2.0])]),
        BadInput,
        "use one model",
    )


def _session_state() -> Iterator[Wrong]:
    yield Wrong("working memory: nothing", lambda b: b.mind.working().replace(), BadInput, "use clear()")
    yield Wrong("working memory: content and fields", lambda b: b.mind.working().replace(task="a", content="b"),
                BadInput, "not both")  # fmt: skip
    yield Wrong("working memory: pending as a number", lambda b: b.mind.working().replace(pending=7), BadInput, "list of lines")
    yield Wrong("scratchpad: a task of two lines", lambda b: b.mind.scratchpad(task="a\nb"), BadInput, "printable line")
    yield Wrong("scratchpad: a task that is a number", lambda b: b.mind.scratchpad(task=7), BadInput, "must be a str")


_LOADS = {
    "missing.jsonl": "cannot be read: No such file",
    ".": "cannot be read: Is a directory",
    "empty.jsonl": "is empty, not an export",
    "binary.jsonl": "line 1, is not an export",
    "half.jsonl": "is not an export",
    "deep.jsonl": "line 1, is not an export",
    "foreign.jsonl": "this Reverie reads 1",
    "list.jsonl": "line 1, is not an export",
    "newer.jsonl": "format 99; this Reverie reads 1",
    "no-space.jsonl": "line 2, is not an export",
    "twice.jsonl": "appears twice",
    "no-commits.jsonl": "belongs to a commit that is missing",
    "no-memories.jsonl": "belongs to a memory that is missing",
    "version-twice.jsonl": "a version appears twice",
    "unordered.jsonl": "not in the order of their times",
    "other-space.jsonl": "an id belongs to another space",
    "odd-line.jsonl": "a line with ['surprise']",
    "no-text.jsonl": "text is empty",
    "nul.jsonl": "a NUL character",
    "lone.jsonl": "a lone surrogate",
    "kind.jsonl": "nearest is 'fact'",
    "trust.jsonl": "no trust named 'godlike'",
    "sure.jsonl": "a number from 0 to 1",
    "naive.jsonl": "no time zone",
    "backwards.jsonl": "swap them",
    "id.jsonl": "an id belongs to another space",
    "huge-seq.jsonl": "is not an export",
    "zero-seq.jsonl": "whole number",
    "by.jsonl": "a lone surrogate",
    "why.jsonl": "a lone surrogate",
    "retired-first.jsonl": "retired before it was added",
    "two-active.jsonl": "two versions of a memory are active",
    "sighting.jsonl": "belongs to a commit that is missing",
}


def _files() -> Iterator[Wrong]:
    for name, says in _LOADS.items():
        yield Wrong(f"load: {name}", lambda b, name=name: b.mind.load(b.file(name)), BadInput, says)  # type: ignore[misc]
        yield Wrong(
            f"load, dry run: {name}",
            lambda b, name=name: b.mind.load(b.file(name), dry_run=True),  # type: ignore[misc]
            BadInput,
            says,
        )
    yield Wrong("export: into a folder", lambda b: b.mind.export(b.folder), BadInput, "give the name of a file")
    yield Wrong("export: into a missing folder", lambda b: b.mind.export(b.file("no/such/x")), BadInput, "make it first")
    for what, path in (("None", None), ("a number", 7), ("a NUL", "a\x00b"), ("nobody's home", "~no-such-user-here/x")):
        for verb in ("export", "load", "backup"):
            if verb == "backup" and path is not None:
                continue
            yield Wrong(
                f"{verb}: a path that is {what}",
                lambda b, verb=verb, path=path: getattr(b.mind, verb)(path),  # type: ignore[misc]
                BadInput,
                "path",
            )


TABLE = list(_table())


def test_the_table_is_long_and_every_row_has_its_own_name() -> None:
    assert len(TABLE) >= 45
    assert len({row.name for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name.replace(" ", "-"))
def test_a_wrong_call_says_what_to_do_and_changes_nothing(bench: Bench, row: Wrong) -> None:
    with pytest.raises(row.error) as raised:
        row.call(bench)
    assert type(raised.value) is row.error
    assert row.says in str(raised.value)
    before, bench.seen[:] = bench.seen[:], [_seen(bench)]
    assert bench.seen == before


def test_rows_of_rubbish_are_counted_as_failed_and_the_good_ones_kept(bench: Bench) -> None:
    """The message of each failure says which row and why (C12)."""
    scope = Scope("rubbish")
    rows: list[Any] = [
        {"role": "user", "content": "the first good one"},
        None,
        "a bare str",
        7,
        [],
        {},
        {"text": ""},
        {"text": None},
        {"text": "x", "role": "nobody"},
        {"text": "x", "at": NAIVE},
        {"text": "x", "colour": "red"},
        {"text": "x", 7: "seven", "colour": "red"},
        {"text": "x", "scope": "default"},
        {"text": "x", "attachments": 7},
        {"text": "x", "trust": "hand"},
        {"text": "x", "message_id": "a\nb"},
        {"text": "x", "audience": Scope()},
        {"text": LONE},
        {"role": "assistant", "content": [{"type": "text", "text": "parts"}]},
        {"role": "assistant", "content": "the last good one"},
    ]
    done = bench.mind.observe_many(rows, scope=scope)
    assert (done.added, done.duplicates, done.failed) == (2, 0, len(rows) - 2)
    assert [place for place, _ in done.errors] == list(range(1, len(rows) - 1))
    assert all(message for _, message in done.errors)
    bench.seen[:] = [_seen(bench)]
    assert [memory.text for memory in bench.mind.scan(scope)] == ["the first good one", "the last good one"]


def test_a_naive_clock_is_refused_at_its_first_use(tmp_path: Path) -> None:
    for home in (":memory:", tmp_path / "home"):
        with (
            reverie.open(home, clock=lambda: NAIVE, embedder="none") as mind,
            pytest.raises(BadInput, match="no time zone; write"),
        ):
            mind.observe("hello there")


def test_a_mind_in_memory_cannot_be_backed_up(tmp_path: Path) -> None:
    with reverie.open(":memory:", embedder="none") as mind:
        mind.observe("hello there")
        with pytest.raises(BadInput, match=r"use export\(\)"):
            mind.backup(tmp_path / "x.zip")
    assert not list(tmp_path.iterdir())


def test_a_backup_goes_into_a_file_in_a_folder_that_is_there(tmp_path: Path) -> None:
    with reverie.open(tmp_path / "home", embedder="none") as mind:
        with pytest.raises(BadInput, match="give the name of a file"):
            mind.backup(tmp_path)
        with pytest.raises(BadInput, match="make it first"):
            mind.backup(tmp_path / "no" / "x.zip")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"embedder": "openai:"}, "embedder"),
        ({"embedder": "locl"}, "nearest is 'local'"),
        ({"embedder": None}, "embedder"),
        ({"settings": {}}, "settings must be a reverie.config.Settings"),
        ({"model": "olama:x"}, "no language model named 'olama:x'"),
        ({"model": 7}, "model is a int"),
        ({"passphrase": "open sesame"}, "passphrase is not supported yet; leave it out"),
        ({"clock": NOW}, "clock must be a callable"),
        ({"home": "postgresql://localhost/x"}, "only a folder or ':memory:'"),
        ({"home": None}, "home must name a file or folder"),
        ({"home": 7}, "home must name a file or folder"),
        ({"home": b"home"}, "home must name a file or folder"),
        ({"home": ""}, "home must name a file or folder"),
        ({"home": "a\x00b"}, "home must name a file or folder"),
        ({"home": "~no-such-user-here/x"}, "write it out"),
    ],
)
def test_what_open_cannot_do_yet_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as raised:
        reverie.open(**{"home": tmp_path / "home", **options})
    assert says in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_a_home_that_is_a_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "notes.txt"
    home.write_text("mine")
    with pytest.raises(StoreError, match="give a folder"):
        reverie.open(home, embedder="none")
    with pytest.raises(ReadOnly, match="choose another home"):
        reverie.open(home / "deeper", embedder="none")
    assert home.read_text() == "mine"


CLOSED: dict[str, Callable[[Any, str, str], object]] = {
    "observe": lambda m, id, path: m.observe("hello there"),
    "observe_many": lambda m, id, path: m.observe_many([{"text": "hello there"}]),
    "remember": lambda m, id, path: m.remember("hello there"),
    "retract": lambda m, id, path: m.retract("m1"),
    "recall": lambda m, id, path: m.recall("hello"),
    "get": lambda m, id, path: m.get(id),
    "scan": lambda m, id, path: m.scan(),
    "history": lambda m, id, path: m.history(id),
    "log": lambda m, id, path: m.log(),
    "diff": lambda m, id, path: m.diff(NOW, NOW),
    "update": lambda m, id, path: m.update(id, text="x"),
    "forget": lambda m, id, path: m.forget(id),
    "restore": lambda m, id, path: m.restore(id),
    "pin": lambda m, id, path: m.pin(id),
    "erase": lambda m, id, path: m.erase(id),
    "working": lambda m, id, path: m.working().get(),
    "people": lambda m, id, path: m.people.list(),
    "export": lambda m, id, path: m.export(path + ".new"),
    "load": lambda m, id, path: m.load(path),
    "health": lambda m, id, path: m.health(),
    "status": lambda m, id, path: m.status(),
}


@pytest.mark.parametrize("home", [":memory:", "folder"])
def test_a_closed_mind_says_so_whatever_is_asked(tmp_path: Path, home: str) -> None:
    mind = reverie.open(home if home == ":memory:" else tmp_path / "home", embedder="none")
    id = mind.observe("hello there", message_id="m1").id
    mind.export(tmp_path / "all.jsonl")
    mind.close()
    mind.close()
    for verb, call in CLOSED.items():
        with pytest.raises(StoreError, match="this mind is closed; open it again"):
            pytest.fail(f"{verb} gave {call(mind, id, str(tmp_path / 'all.jsonl'))!r}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.jsonl", *(["home"] if home == "folder" else [])]


HOSTILE = {
    "a path out": "../../etc/passwd",
    "an absolute path": "/etc/passwd",
    "a folder": "a/b",
    "a folder on Windows": "a\\b",
    "a device": "CON",
    "a dot": ".",
    "two dots": "..",
    "like a log": "x.db-wal",
    "200 emoji": "🙂" * 200,
    "200 letters": "x" * 200,
    "right to left": "שלום עולם",
    "turned around": "\u202etxt.exe",
    "SQL": "'; DROP TABLE meta; --",
    "a glob": "*",
    "a wildcard": "%",
    "a space inside": "two words",
    "a dash in front": "-rf",
    "a drive": "C:",
    "a link": "file:///etc/passwd?mode=ro",
    "in memory": ":memory:",
}


def test_hostile_space_names_work_and_stay_inside_the_home(tmp_path: Path) -> None:
    """A space is a wall, whatever it is called (R6)."""
    outside = tmp_path / "outside.txt"
    outside.write_text("untouched")
    home = tmp_path / "home"
    with reverie.open(home, embedder="none") as mind:
        for what, space in HOSTILE.items():
            kept = mind.observe(f"said in {what}, among other things", scope=Scope(space), message_id="m1")
            assert [hit.memory.id for hit in mind.recall("said", scope=Scope(space)).hits] == [kept.id]
            assert mind.get(kept.id).text == kept.text
            assert mind.update(kept.id, text="changed here").version == 2
        assert mind.health().healthy
        assert {space.space for space in mind.status().spaces} == set(HOSTILE.values())
        mind.backup(tmp_path / "all.zip")
    with reverie.open(home, embedder="none") as mind:
        for space in HOSTILE.values():
            (memory,) = mind.scan(Scope(space))
            assert mind.erase(memory.id).pending == ()
            assert not list(mind.scan(Scope(space), retired=True))
    reverie.recover(tmp_path / "all.zip", tmp_path / "again")
    for folder in (home, tmp_path / "again"):
        files = {path.resolve() for path in folder.rglob("*") if path.is_file()}
        assert all(path.is_relative_to(folder.resolve()) for path in files)
        assert len([path for path in files if path.parent == folder.resolve() / "spaces"]) == len(HOSTILE)
        assert all(len(path.name) < 80 for path in files)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "all.zip", "home", "outside.txt"]
    assert outside.read_text() == "untouched"


def test_names_that_differ_in_case_are_two_spaces_and_in_normal_form_one(tmp_path: Path) -> None:
    for home in (":memory:", tmp_path / "home"):
        with reverie.open(home, embedder="none") as mind:
            mind.observe("said in small letters", scope=Scope("café"))
            mind.observe("said in capitals", scope=Scope("CAFÉ"))
            mind.observe("said with the accent apart", scope=Scope(unicodedata.normalize("NFD", "café")))
            assert [memory.text for memory in mind.scan(Scope("café"))] == [
                "said in small letters",
                "said with the accent apart",
            ]
            assert [memory.text for memory in mind.scan(Scope("CAFÉ"))] == ["said in capitals"]
            assert len(mind.status().spaces) == 2
    names = [path.name for path in (tmp_path / "home" / "spaces").glob("*.db")]
    assert len({name.lower() for name in names}) == 2  # also on a disk that ignores case


# recover


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A closed home, and beside it a good backup."""
    with reverie.open(tmp_path / "home", embedder="none") as mind:
        mind.observe("Ana moved to Oaxaca in May")
        mind.observe("the guild meets on Mondays", scope=Scope("guild-1"))
        mind.backup(tmp_path / "good.zip")
        mind.observe("said after the backup")
    return tmp_path


def _repacked(path: Path, new: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(new, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return new


def _manifest(members: dict[str, bytes], **values: object) -> None:
    members["manifest.json"] = json.dumps({**json.loads(members["manifest.json"]), **values}).encode()


def _flipped(content: bytes) -> bytes:
    return content[:5_000] + bytes([content[5_000] ^ 1]) + content[5_001:]


def _tampered(members: dict[str, bytes]) -> None:
    name = next(name for name in members if name.endswith(".db"))
    members[name] = _flipped(members[name])


def _damaged_but_signed(members: dict[str, bytes]) -> None:
    name = next(name for name in members if name.endswith(".db"))
    members[name] = members[name][:8192] + b"\xff" * 4096 + members[name][12288:]
    sums = json.loads(members["manifest.json"])["sha256"]
    _manifest(members, sha256={**sums, name: hashlib.sha256(members[name]).hexdigest()})


def _foreign(members: dict[str, bytes]) -> None:
    members["x.db"] = b"not a database at all " * 400
    sums = json.loads(members["manifest.json"])["sha256"]
    _manifest(members, sha256={**sums, "x.db": hashlib.sha256(members["x.db"]).hexdigest()})


def _encrypted(good: Path, new: Path) -> Path:
    raw = bytearray(good.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.find(signature)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(signature, at + 4)
    new.write_bytes(raw)
    return new


RECOVERIES: dict[str, tuple[Callable[[Path], Path], type[ReverieError], str]] = {
    "a missing file": (lambda f: f / "missing.zip", BadInput, "nothing was recovered"),
    "a folder": (lambda f: f, BadInput, "nothing was recovered"),
    "not a zip": (lambda f: _written(f / "x.zip", b"hello " * 1_000), BadInput, "not a backup of Reverie"),
    "an empty file": (lambda f: _written(f / "x.zip", b""), BadInput, "not a backup of Reverie"),
    "an export": (lambda f: _exported(f), BadInput, "not a backup of Reverie"),
    "a zip cut short": (
        lambda f: _written(f / "x.zip", (f / "good.zip").read_bytes()[:-700]),
        BadInput,
        "not a backup of Reverie",
    ),
    "a zip without its manifest": (
        lambda f: _repacked(f / "good.zip", f / "x.zip", lambda m: m.pop("manifest.json")),
        BadInput,
        "not a backup of Reverie",
    ),
    "a manifest that is a list": (
        lambda f: _repacked(f / "good.zip", f / "x.zip", lambda m: m.update({"manifest.json": b"[]"})),
        BadInput,
        "not a backup of Reverie",
    ),
    "a newer format": (
        lambda f: _repacked(f / "good.zip", f / "x.zip", lambda m: _manifest(m, reverie=99)),
        BadInput,
        "this Reverie reads 1",
    ),
    "a member missing": (
        lambda f: _repacked(f / "good.zip", f / "x.zip", lambda m: m.pop(next(n for n in m if n.endswith(".db")))),
        BadInput,
        "nothing was recovered",
    ),
    "a member tampered with": (
        lambda f: _repacked(f / "good.zip", f / "x.zip", _tampered),
        Damaged,
        "is not what was backed up; nothing was recovered",
    ),
    "a member damaged before it was packed": (
        lambda f: _repacked(f / "good.zip", f / "x.zip", _damaged_but_signed),
        Damaged,
        "nothing was recovered",
    ),
    "a member that is no database": (
        lambda f: _repacked(f / "good.zip", f / "x.zip", _foreign),
        Damaged,
        "nothing was recovered",
    ),
    "an encrypted zip": (lambda f: _encrypted(f / "good.zip", f / "x.zip"), BadInput, "not a backup of Reverie"),
}


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _exported(folder: Path) -> Path:
    with reverie.open(":memory:", embedder="none") as mind:
        mind.observe("hello there")
        return mind.export(folder / "x.jsonl")


def _contents(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.mark.parametrize("what", RECOVERIES)
def test_a_bad_backup_recovers_nothing_and_leaves_the_home_as_it_was(kept: Path, what: str) -> None:
    make, error, says = RECOVERIES[what]
    bad = make(kept)
    before = _contents(kept / "home")
    with pytest.raises(ReverieError) as raised:
        reverie.recover(bad, kept / "home")
    assert type(raised.value) is error
    assert says in str(raised.value)
    assert _contents(kept / "home") == before


@pytest.mark.parametrize("path", [None, 7, "a\x00b", "~no-such-user-here/x"])
def test_recover_refuses_what_is_no_path(kept: Path, path: Any) -> None:
    before = _contents(kept / "home")
    with pytest.raises(BadInput, match="path"):
        reverie.recover(path, kept / "home")
    with pytest.raises(BadInput, match="path"):
        reverie.recover(kept / "good.zip", path)
    assert _contents(kept / "home") == before


def test_a_home_that_is_open_is_not_recovered_into(kept: Path) -> None:
    with reverie.open(kept / "home", embedder="none") as mind:
        with pytest.raises(Busy, match="close it first"):
            reverie.recover(kept / "good.zip", kept / "home")
        assert len(list(mind.scan())) == 2
        assert mind.observe("still usable").version == 1
    assert set(reverie.recover(kept / "good.zip", kept / "home")) == {"default", "guild-1"}
    with reverie.open(kept / "home", embedder="none") as mind:
        assert len(list(mind.scan())) == 1


def test_a_backup_whose_file_names_another_space_does_not_take_its_place(kept: Path) -> None:
    """Renamed inside the archive, one space must not answer for another (R6)."""

    def swap(members: dict[str, bytes]) -> None:
        first, second = sorted(name for name in members if name.endswith(".db"))
        members[first], members[second] = members[second], members[first]
        sums = json.loads(members["manifest.json"])["sha256"]
        _manifest(members, sha256={first: sums[second], second: sums[first]})

    before = _contents(kept / "home")
    with pytest.raises(StoreError):
        reverie.recover(_repacked(kept / "good.zip", kept / "x.zip", swap), kept / "home")
    assert _contents(kept / "home") == before


def test_copies_of_a_space_file_under_another_name_are_not_taken_for_the_space(kept: Path) -> None:
    spaces = kept / "home" / "spaces"
    (original,) = spaces.glob("default.*.db")
    shutil.copy(original, spaces / "copy-of-default.db")
    with reverie.open(kept / "home", embedder="none") as mind:
        assert len(list(mind.scan())) == 2
        assert [space.space for space in mind.status().spaces].count("default") == 1
        health = mind.health()
        assert not health.healthy
        assert any("copy-of-default.db" in problem for problem in health.errors)


def test_messages_about_broken_text_can_be_printed(bench: Bench) -> None:
    """A message that repeats a lone surrogate must itself be printable."""
    calls: list[Callable[[], object]] = [
        lambda: bench.mind.get(bench.odd("m", "\ud83d" * 19)),
        lambda: bench.mind.remember("x y z", kind="\ud83d"),
    ]
    for call in calls:
        with pytest.raises(ReverieError) as raised:
            call()
        assert str(raised.value).encode()


def test_writing_about_a_nul_is_not_a_nul() -> None:
    with reverie.open(":memory:", embedder="none") as mind:
        about = {"note": "it is written \\u0000", "slash": "\\"}
        assert mind.remember("how JSON writes it", extra=about).extra == about
