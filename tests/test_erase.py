"""Erasing leaves nothing, anywhere, and it is not learned again (R8).

Every text carries words that occur nowhere else, so what is left of it shows by looking at the raw bytes of every file
under the home: written, folded or stemmed, the core of such a word stays the same. The same look before the erase must find
all of it, else it would prove nothing.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import numpy as np
import pytest

import reverie
from reverie import CannotUndo, Erased, Memory, Mind, NotFound, ReverieError, Scope, Source
from reverie.learn.background import Settled
from reverie.learn.embed import parts_of
from reverie.memory.language import fold, plain, terms
from reverie.models.hashing import Hashing
from reverie.store.base import PLACES, Recalled, Vector, Where, indexed_text, unit
from reverie.store.sqlite import SqliteStore, erase
from reverie.store.sqlite.recalls import Recalls
from reverie.store.sqlite.schema import TABLE_PLACES

SPACE = "home"
OWNER = Scope.owner(SPACE)
MODEL = "numbers-16"
CORE = re.compile(rb"zq[bcdfglmnprtv]{6}k", re.IGNORECASE)  # ends so that no stemmer of ours shortens it
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


# What is said


class Words:
    """Words that occur once."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._used: set[str] = set()

    def core(self) -> str:
        while (core := f"zq{''.join(self.random.choice('bcdfglmnprtv') for _ in range(6))}k") in self._used:
            pass
        self._used.add(core)
        return core

    def teaching(self, core: str, language: int, also: str = "") -> str:
        """What a fact is learned from."""
        if language == 0:
            return f"I love my {core}ings near {core.title()} Street, and I'll never forget it{also}."
        return f"Me encanta mi {core}ción en el jardín de {core.upper()}; «¿cuánto costó?», preguntó el niño{also}."

    def sentence(self, core: str, language: int, also: str = "") -> str:
        pick = self.random.choice
        if language == 0:
            who, what = pick(("Maya", "my brother", "the landlord")), pick(("repaired", "sold", "dreamt of"))
            return f"{who} {what} the {core}ings near {core.title()} Street{also}, and I'll never forget it."
        if language == 1:
            return f"Mi tía guardó la {core}ción en el jardín de {core.upper()}; «¿cuánto costó?», preguntó el niño{also}."
        run = "".join(chr(self.random.randrange(0x4E00, 0x9F00)) for _ in range(8))
        return f"昨日は{run}の{core}を買いました。{core}は{run}で高かった{also}。"

    def long(self, core: str, also: str) -> str:
        size = self.random.randrange(5_000, 50_000)
        sentence = self.sentence(core, 0, also)
        return "\n".join([sentence] * (size // len(sentence)))


@dataclass
class Group:
    """A memory with all that hangs on it; erasing `root` must take everything here away."""

    number: int
    cores: list[str]
    texts: list[str]
    root: str = ""
    ids: list[str] = field(default_factory=list)
    person: str | None = None
    word: str | None = None  # shared with others, to erase them together
    vectors: list[bytes] = field(default_factory=list)
    windows: list[tuple[bytes, int]] = field(default_factory=list)  # each goes with the neighbour it was made of, too


KINDS = 12


class Ticking:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def fill(mind: Mind, words: Words, total: int, people: dict[int, str], shared: dict[int, str]) -> list[Group]:
    """Say `total` things of every sort."""
    groups = [_said(mind, words, number, people.get(number), shared.get(number)) for number in range(total)]
    _embed(mind, words, groups)
    _settle(mind, groups)
    return groups


def _said(mind: Mind, words: Words, number: int, person: str | None, shared: str | None) -> Group:
    core, sort = words.core(), number % KINDS
    also = f" {shared}" if shared else ""
    text = (words.teaching if sort in (0, 1) else words.sentence)(core, number % 3, also)
    if sort == 3 and number % 5 == 3:
        text = words.long(core, also)
    group = Group(number, [core], [text], person=person, word=shared)
    here = Scope(SPACE, session=f"s{number}", person=person)

    def more(also: str = "") -> str:
        group.cores.append(words.core())
        group.texts.append(words.sentence(group.cores[-1], number % 3, also))
        return group.texts[-1]

    def derived(text: str, source: Memory) -> Memory:
        cited = Source(memory_ids=(source.id,), quote=source.text[:200])
        memory = mind.remember(text, scope=here, source=cited)
        group.ids.append(memory.id)
        return memory

    if sort == 4:
        group.cores += [words.core() for _ in range(4)]
        title, tag, key, subject = group.cores[1:5]
        root = mind.remember(
            text, scope=here, title=f"About the {title}ing", tags=(f"tag-{tag}",), extra={"note": [f"é {key}"]},
            subject=f"who-{subject}", source=Source(quote=text[:300], place=f"{title}.md:3"),
        )  # fmt: skip
    elif sort in (6, 7, 9):
        root = mind.remember(text, scope=here)
    else:
        root = mind.observe(text, scope=here, message_id=f"chat:{number}")
    if sort == 2 and not person and mind.status().embedder == "none":  # for an episode; the vectors would be made of both
        mind.observe("and then everybody went home through the gardens", scope=here)
    elif sort == 5:
        mind.observe(more(also), scope=here, message_id=f"chat:{number}")
    elif sort == 6:
        mind.forget(root.id, reason=f"no longer: {text}")
    elif sort == 7:
        mind.update(root.id, text=more(also), reason=f"it said {text}")
    elif sort == 8:
        derived(more(), derived(more(), root))
    elif sort == 9:
        mind.remember(text, scope=here, source=Source(quote=f"again: {text[:300]}", place="chat:9"))
    elif sort == 10:
        mind.working(here).replace(task=text, context=["look", f"they said: {text}"], pending=[f"answer {text}"])
        mind.scratchpad(here, "plan").replace(f"To do about\n{text}\ntoday")
        mind.chat_context(here).replace(f"this chat is about {text}")
    elif sort == 11:
        other = mind.remember(f"a thing of no matter number {number}", scope=Scope(SPACE))
        mind.forget(other.id, reason=f"because somebody said {text}")
    if person:
        mind.people.alias(person, f"the {core} family", scope=here)
    if sort != 6:
        mind.recall(f"what about {core}?", scope=here)
    group.root = root.id
    group.ids.insert(0, root.id)
    return group


def _embed(mind: Mind, words: Words, groups: list[Group]) -> None:
    active = [(group, memory) for group in groups for memory in _active(mind, group)]
    vectors = []
    for (group, memory), (near, neighbour) in zip(active, [*active[1:], active[0]], strict=True):
        for part in (0, 1):  # of the text alone, and with what stands beside it
            values = np.array([words.random.gauss(0, 1) for _ in range(16)], np.float32)
            raw = unit(values, None).astype(np.float16).tobytes()
            uses = ((neighbour.id, neighbour.version),) if part else ()
            vectors.append(Vector(memory.id, memory.version, values, part, uses))
            if part:
                group.windows.append((raw, near.number))
            else:
                group.vectors.append(raw)
    store = mind._store
    assert store.put_vectors(SPACE, MODEL, vectors) == len(vectors)


def _settle(mind: Mind, groups: list[Group]) -> None:
    """Note what was learned, and the vectors that the mind's own embedder made of every version and part, if it has one."""
    assert mind.settle() == Settled(0, 0)
    episodes = {id: episode.id for episode in mind.scan(OWNER, kinds=("episode",)) for id in episode.source.memory_ids}
    for group in groups:
        group.ids += [episodes[group.root]] if group.root in episodes else []
        if group.number % KINDS in (0, 1):
            (fact,) = mind.learned(group.root)
            assert group.cores[0] in fact.text.lower()
            group.ids.append(fact.id)
    if mind.status().embedder != "none":
        made: dict[bytes, set[int]] = {}
        for group in groups:
            parts = [part for id in group.ids for memory in mind.history(id) for part in parts_of(memory)]
            for row in Hashing().embed(parts):
                made.setdefault(unit(row, None).astype(np.float16).tobytes(), set()).add(group.number)
        for group in groups:  # texts that differ in one word may come out alike: what is another's too tells nothing
            group.vectors += [raw for raw, numbers in made.items() if numbers == {group.number}]


def _active(mind: Mind, group: Group) -> list[Memory]:
    with mind._store.reading(SPACE) as view:
        found = (view.get(id, Where(OWNER)) for id in group.ids)
        return [memory for memory in found if memory is not None]


# Looking for what is left


def files(home: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def cores_in(raw: Iterable[bytes]) -> set[str]:
    return {found.decode().lower() for content in raw for found in CORE.findall(content)}


def forms(text: str) -> Iterator[bytes]:
    """How a text may have been written down, around its own word at its start, middle and end: long ones span pages."""
    cores = [found.start() for found in re.finditer(CORE.pattern.decode(), text, re.IGNORECASE)]
    for place in {cores[0], cores[len(cores) // 2], cores[-1]}:
        part = text[max(0, place - 25) : place + 35]
        yield from (part.encode(), json.dumps(part)[1:-1].encode(), fold(part).encode(), plain(fold(part)).encode())


def texts_in(raw: Iterable[bytes], groups: Iterable[Group]) -> set[str]:
    whole = b"\0".join(raw)
    return {text for group in groups for text in group.texts if any(form in whole for form in forms(text))}


def vectors_in(raw: Iterable[bytes], vectors: Iterable[bytes]) -> int:
    whole = b"\0".join(raw)
    return sum(vector in whole for vector in vectors)


def database(home: Path) -> Path:
    (path,) = (home / "spaces").glob("*.db")
    return path


@contextmanager
def looking_into(path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        yield connection
    finally:
        connection.close()


def vocabulary(path: Path) -> set[str]:
    """Every word of both full-text indexes."""
    found: set[str] = set()
    with looking_into(path) as connection:
        for table in ("words_now", "words_past"):
            connection.execute(f"CREATE VIRTUAL TABLE temp.look USING fts5vocab(main, {table}, row)")
            found |= {str(row[0]) for row in connection.execute("SELECT term FROM temp.look").fetchall()}
            connection.execute("DROP TABLE temp.look")
    return found


def tables(path: Path) -> set[str]:
    """The tables of a space, the parts of a full-text index counted as one."""
    with looking_into(path) as connection:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    names = {str(row[0]) for row in rows if not str(row[0]).startswith("sqlite_")}
    return {re.sub(r"^(words_(now|past))_(data|idx|content|docsize|config)$", r"\1", name) for name in names}


def table_bytes(path: Path, table: str) -> bytes:
    """All that a table holds, row by row."""
    with looking_into(path) as connection:
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
    return b"\n".join(value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row)


def places(home: Path, groups: list[Group], second: Second) -> dict[str, int]:
    """How much of these groups each entry of PLACES holds."""
    path, gone = database(home), {core for group in groups for core in group.cores}
    persons = [group.person.encode() for group in groups if group.person]
    own = [vector for group in groups for vector in (*group.vectors, *(raw for raw, _ in group.windows))]
    tails = [id.rpartition("-")[2].encode() for group in groups for id in group.ids]

    def cores(*raw: bytes) -> int:
        return len(cores_in(raw) & gone)

    read: dict[str, list[bytes]] = {place: [] for place in PLACES}
    for table, place in TABLE_PLACES.items():
        if place not in (None, "words"):
            read[place].append(table_bytes(path, table))

    log, aside = path.with_name(f"{path.name}-wal"), home / "aside"
    return {
        "versions": sum(tail in read["versions"][0] for tail in tails),
        "texts": cores(*read["texts"]),
        "scopes": sum(person in read["scopes"][0] for person in persons),
        "words": cores(*(term.encode() for term in vocabulary(path))),
        "vectors": vectors_in(read["vectors"], own),
        "sightings": cores(*read["sightings"]),
        "commits": cores(*read["commits"]) + sum(person in content for person in persons for content in read["commits"]),
        "state": cores(*read["state"]),
        "recalls": cores(*(file.read_bytes() for file in home.glob("recalls.db*"))),
        "caches": second.holding(own),
        "log": cores(log.read_bytes() if log.exists() else b""),
        "gaps": cores(path.read_bytes()),
        "aside": cores(*(copy.read_bytes() for copy in aside.glob("*"))),
    }


class Second:
    """Another process with the same home open, which has looked for vectors and so holds them in memory."""

    SCRIPT = """
import json, sys, threading
import numpy as np
import reverie
from reverie import Scope
from reverie.store.base import Where

mind = reverie.open(sys.argv[1], embedder=sys.argv[2])
store, owner = mind._store, Scope.owner("home")

def caches():
    return [cache for file in store._folder.each_open() for cache in file.caches.values()]

for line in sys.stdin:
    word = line.strip()
    if word == "search":
        with store.reading("home") as view:
            view.search_vectors([1.0] * 16, "numbers-16", Where(owner), 5)
        mind.recall("lantern", scope=owner)
    elif word == "idle":
        patience = threading.Event()
        for _ in range(400):
            if not caches() or patience.wait(0.05):
                break
    rows = [row for cache in caches() for row in cache.matrix[: cache.size].astype(np.float16)]
    print(json.dumps([row.tobytes().hex() for row in rows]), flush=True)
mind.close()
"""

    def __init__(self, home: Path, embedder: str = "none") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.SCRIPT, str(home), embedder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, word: str) -> set[str]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return set(json.loads(self._process.stdout.readline()))

    def holding(self, vectors: Iterable[bytes]) -> int:
        return len(self.ask("say") & {vector.hex() for vector in vectors})

    def __enter__(self) -> Second:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()


# The residue test


@dataclass
class Residue:
    """What one run found, before and after."""

    texts: int
    cores: int
    calls: int
    found_before: int
    found_after: int


def residue(home: Path, seed: int, total: int, number: int, embedder: str = "none") -> Residue:
    """Erase `number` of `total` by id, by query and by person; look everywhere before and after."""
    words = Words(seed)
    chosen = sorted(words.random.sample(range(total), number))
    by_id = chosen[::10]
    by_person, by_query = ([n for n in chosen if n not in by_id][part::2] for part in range(2))
    people = {n: f"person-{seed}-{place % max(1, len(by_person) // 12)}" for place, n in enumerate(by_person)}
    people |= {n: f"neighbour-{n % 7}" for n in range(total) if n not in chosen and n % 4 == 0}
    shared = {n: f"gather{'abcdefghij'[place % 10]}st" for place, n in enumerate(by_query)}
    with reverie.open(home, clock=Ticking(), embedder=embedder) as mind:
        groups = fill(mind, words, total, people, shared)
        going, staying = [groups[n] for n in chosen], [group for n, group in enumerate(groups) if n not in set(chosen)]
        store = mind._store
        assert isinstance(store, SqliteStore)
        assert {"fact", "episode" if embedder == "none" else "turn"} <= {
            mind.get(g.ids[-1]).kind for g in going if g.number % KINDS < 3
        }
        (home / "aside").mkdir()
        store.copy_to(SPACE, home / "aside" / f"{database(home).stem}.schema-0.copy.db")
        left_terms, lost_terms = _terms(mind, going)
        survivors = _state_of(mind, staying)
        with Second(home, embedder) as second:
            second.ask("search")
            before = places(home, going, second)
            cores_before, raw = cores_in(files(home).values()), list(files(home).values())
            gone = {core for group in going for core in group.cores}
            assert cores_before >= gone
            assert texts_in(raw, going) == {text for group in going for text in group.texts}
            own = [vector for group in going for vector in group.vectors]
            windows = [vector for g in groups for vector, near in g.windows if g.number in set(chosen) or near in set(chosen)]
            assert vectors_in(raw, [*own, *windows]) == len(own) + len(windows)
            assert second.holding([*own, *windows]) == len(own) + len(windows)
            assert vocabulary(database(home)) >= lost_terms
            if not any(before.values()) or set(before) != set(PLACES) or not all(before.values()):
                raise AssertionError(f"nothing to erase in some of {before}")

            proofs = [mind.erase(group.root) for group in (groups[n] for n in by_id)]
            proofs += [mind.erase(query=word, scope=OWNER) for word in sorted(set(shared.values()))]
            proofs += [mind.erase(person=people[n], scope=OWNER) for n in {people[n]: n for n in by_person}.values()]
            assert {id for proof in proofs for id in proof.erased} >= {id for group in going for id in group.ids}
            assert all(proof.pending == () for proof in proofs)
            assert all(set(proof.checked) == set(PLACES) for proof in proofs if proof.erased)

            second.ask("idle")
            after = places(home, going, second)
            assert after == dict.fromkeys(PLACES, 0)
            second.ask("search")
            assert second.holding([*own, *windows]) == 0
            raw = list(files(home).values())
            assert cores_in(raw) & gone == set()
            assert texts_in(raw, going) == set()
            assert vectors_in(raw, [*own, *windows]) == 0
            assert not any(people[n].encode() in content for n in by_person for content in raw)
            assert vocabulary(database(home)) & (lost_terms - left_terms) == set()

            # What was not named is all still there.
            assert _state_of(mind, staying) == survivors
            assert cores_in(raw) >= {core for group in staying for core in group.cores}
            assert vocabulary(database(home)) >= left_terms
            kept = [v for g in staying for v in (*g.vectors, *(raw for raw, near in g.windows if near not in set(chosen)))]
            assert second.holding(kept) == len(kept)
            assert mind.health().healthy
    assert cores_in(files(home).values()) & gone == set()
    return Residue(sum(len(group.texts) for group in going), len(gone), len(proofs), sum(before.values()), sum(after.values()))


def _terms(mind: Mind, going: list[Group]) -> tuple[set[str], set[str]]:
    """The index terms of every version that stays, and of every one that goes."""
    ids = {id for group in going for id in group.ids}
    found: tuple[set[str], set[str]] = (set(), set())
    for record in mind._store.dump(SPACE).records:
        found[record.memory.id in ids].update(terms(indexed_text(record.memory)))
    return found


def _state_of(mind: Mind, groups: list[Group]) -> list[object]:
    """All that is known of these groups."""
    held = [
        (mind.working(here).get(), mind.scratchpad(here, "plan").get(), mind.chat_context(here).get())
        for group in groups
        for here in (Scope(SPACE, session=f"s{group.number}", person=group.person),)
    ]
    people = [mind.people.get(group.person, scope=OWNER) for group in groups if group.person]
    return [*([mind.history(id) for group in groups for id in group.ids]), *held, *people]


def test_what_is_erased_is_in_no_file_index_vector_or_cache_and_all_else_is_untouched(tmp_path: Path) -> None:
    """R8: forty texts of four hundred."""
    found = residue(tmp_path / "home", 1, 400, 40)
    assert found.texts >= 40
    assert found.found_after == 0


def test_what_is_erased_is_gone_from_the_vectors_made_of_it_and_from_the_questions_about_it(tmp_path: Path) -> None:
    """R8 and C2: the same with an embedder at work, here and in the process beside; every question then looks at everything."""
    found = residue(tmp_path / "home", 2, 90, 20, "hashing")
    assert found.texts >= 20
    assert found.found_after == 0


@pytest.mark.stress
@pytest.mark.parametrize("run", range(20))
def test_four_hundred_of_four_thousand_texts_leave_nothing(
    run: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """R8: the same at size, twenty times, in every fourth with an embedder at work."""
    embedder = "hashing" if run % 4 == 3 else "none"
    found = residue(tmp_path / "home", 1_000 + run, 4_000, 400, embedder)
    with capsys.disabled():
        print(  # noqa: T201
            f"\nrun {run}, embedder {embedder}: {found.texts} texts with {found.cores} words of their own erased in"
            f" {found.calls} calls; traces before {found.found_before:,}, after {found.found_after}"
        )
    shutil.rmtree(tmp_path / "home")


def test_a_process_that_asks_nothing_more_lets_go_of_erased_vectors_until_it_is_closed(tmp_path: Path) -> None:
    """R8: the watch over what others erase starts with the first vectors held in memory and ends with the mind."""

    def watching() -> int:
        return sum(thread.name == "reverie-erased" for thread in threading.enumerate())

    going, staying = prepared(tmp_path)
    others = watching()
    with reverie.open(tmp_path, embedder="none") as mind:
        assert mind.recall(going.cores[0], scope=OWNER).hits
        assert watching() == others
        for _ in range(2):
            with mind._store.reading(SPACE) as view:
                assert view.search_vectors([1.0] * 16, MODEL, Where(OWNER), 5).matches
        assert watching() == others + 1
        with Second(tmp_path) as second:
            second.ask("search")
            assert second.holding(going.vectors) == len(going.vectors)
            mind.erase(going.root)
            assert second.ask("idle") == set()
            second.ask("search")
            assert (second.holding(going.vectors), second.holding(staying.vectors)) == (0, len(staying.vectors))
    assert watching() == others


def test_every_table_belongs_to_a_place_that_an_erase_goes_through(tmp_path: Path) -> None:
    """R8: whoever adds a table says where it belongs."""
    with reverie.open(tmp_path, embedder="none") as mind:
        mind.observe("the lantern is lit", scope=Scope(SPACE))
        assert tables(database(tmp_path)) == set(TABLE_PLACES)
    assert {place for place in TABLE_PLACES.values() if place} <= set(PLACES)
    # Those without a place hold hashes, numbers, and the names of the space and of files out of reach.
    assert {table for table, place in TABLE_PLACES.items() if place is None} == {"meta", "tombstones", "copies"}


# Readers in the way, and crashes


def prepared(home: Path, embedder: str = "none") -> tuple[Group, Group]:
    """A home with one group to erase and one to keep, closed."""
    words = Words(9)
    with reverie.open(home, clock=Ticking(), embedder=embedder) as mind:
        going, staying = (_said(mind, words, number, None, None) for number in (8, 20))
        for number in range(21, 60):
            _said(mind, words, number, None, None)
        mind.working(Scope(SPACE, session="x")).replace(task=going.texts[0])
        _embed(mind, words, [going, staying])
        _settle(mind, [going, staying])
    assert cores_in(files(home).values()) >= {*going.cores, *staying.cores}
    return going, staying


def assert_gone(home: Path, going: Group, staying: Group) -> None:
    raw = list(files(home).values())
    assert cores_in(raw) & set(going.cores) == set()
    assert texts_in(raw, [going]) == set()
    assert vectors_in(raw, [*going.vectors, *(vector for vector, _ in going.windows)]) == 0
    assert cores_in(raw) >= set(staying.cores)


READER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1], flags=apsw.SQLITE_OPEN_READWRITE)
connection.execute("BEGIN")
print(connection.execute("SELECT count(*) FROM texts").fetchall(), flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
connection.close()
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("closed_first", [False, True])
def test_a_reader_in_another_process_delays_the_last_step_and_the_proof_says_so(tmp_path: Path, closed_first: bool) -> None:
    """R8: pending until the reader ends; then closing, or opening again, finishes it."""
    home = tmp_path / "home"
    going, staying = prepared(home)
    mind = reverie.open(home, clock=Ticking(), embedder="none")
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(database(home))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdin
    assert reader.stdout
    try:
        assert reader.stdout.readline()
        proof = mind.erase(going.root)
        assert proof.pending
        assert set(proof.pending) | set(proof.checked) == set(PLACES)
        assert not set(proof.pending) & set(proof.checked)
        assert any("pending" in warning for warning in mind.health().warnings)
        assert not mind.recall(going.cores[0], scope=OWNER).hits
        if closed_first:
            mind.close()
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "done\n"
        if closed_first:
            mind = reverie.open(home, embedder="none")
            assert [memory.id for memory in mind.scan(OWNER)]
        mind.close()
        assert_gone(home, going, staying)
    finally:
        mind.close()
        reader.stdin.close()
        reader.stdout.close()
        reader.wait(timeout=30)


CRASH = """
import os, signal, sys
import reverie
from reverie import Scope
from reverie.store.sqlite import erase

home, root, name = sys.argv[1:]

def step(reached):
    if reached == name:
        os.kill(os.getpid(), signal.SIGKILL)

erase.step = step
mind = reverie.open(home, embedder="none")
print(len(list(mind.scan(Scope.owner("home")))), flush=True)
if root:
    mind.erase(root)
mind.close()
"""


def crashed(home: Path, root: str, name: str) -> None:
    """Let a process erase (or only open the home) and die at a step."""
    command = [sys.executable, "-c", CRASH, str(home), root, name]
    died = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL, (name, died.stderr)


STEPS = ("emptied", "noted", "recalls", "aside", "folded", "swept")


def test_every_step_of_an_erase_is_named_in_the_list_of_crashes() -> None:
    named = set(re.findall(r'\bstep\("(\w+)"\)', Path(erase.__file__).read_text()))
    named |= set(re.findall(r'\bstep\("(\w+)"\)', Path(erase.__file__).with_name("__init__.py").read_text()))
    assert named == {*STEPS, "rebuilt"}


def test_a_process_killed_at_any_step_of_an_erase_leaves_nothing_once_the_home_is_opened_again(tmp_path: Path) -> None:
    """R8: decided means done, whatever happens in between."""
    base = tmp_path / "base"
    going, staying = prepared(base, "hashing")
    for name in (*STEPS, "rebuilt"):
        home = tmp_path / name
        shutil.copytree(base, home)
        if name == "rebuilt":  # only an erase that was interrupted, or left something in a gap, rebuilds the file
            crashed(home, going.root, "folded")
            crashed(home, "", name)
        else:
            crashed(home, going.root, name)
        with reverie.open(home, embedder="none") as mind:
            assert staying.root in {memory.id for memory in mind.scan(OWNER)}
            with pytest.raises(NotFound):
                mind.history(going.root)
            for text in going.texts:
                with pytest.raises(Erased):
                    mind.remember(text, scope=Scope(SPACE))
            assert not mind.health().warnings
        assert_gone(home, going, staying)
        assert vectors_in(files(home).values(), staying.vectors) == len(staying.vectors)
        shutil.rmtree(home / "spaces")  # the tombstones were noted outside the file, too
        with reverie.open(home, embedder="none") as mind, pytest.raises(Erased):
            mind.remember(going.texts[0], scope=Scope(SPACE))


def test_a_damaged_file_of_kept_questions_is_thrown_away_and_stops_nothing(tmp_path: Path) -> None:
    """R8: it once kept an erase from ending, and then the space from being opened."""
    with reverie.open(tmp_path, embedder="none") as mind:
        going, staying = (mind.observe(f"the {word} lantern is in the drawer", scope=HERE) for word in ("red", "blue"))
        for number in range(200):
            mind.recall(f"lantern number {number} {'and so on ' * 20}", scope=HERE)
    kept = tmp_path / "recalls.db"
    raw = bytearray(kept.read_bytes())
    assert len(raw) > 20 * 4096
    for page in range(4 * 4096, len(raw), 4096):
        raw[page : page + 300] = b"\xff" * 300
    for act in ("ask", "explain", "erase", "open"):
        kept.write_bytes(raw)
        with reverie.open(tmp_path, embedder="none") as mind:
            if act == "explain":
                assert mind.last_recall(HERE) is None
            elif act == "erase":
                assert mind.erase(going.id).pending == ()
            elif act == "ask":
                mind.recall("lantern", scope=HERE)
            mind.last_recall(HERE)
            found = mind.recall("lantern", scope=HERE)
            assert staying.id in {hit.memory.id for hit in found.hits}
            assert mind.why(found.id, scope=HERE).question == "lantern"
    assert b"and so on" not in kept.read_bytes()


def test_a_question_kept_while_its_answer_was_being_erased_leaves_nothing_behind(tmp_path: Path) -> None:
    """R8: whoever writes it looks once more, and clears the log of the file too."""
    asked = Recalled("r-1", HERE, START, "where is the zqbbbbbbk lantern", (), "{}")
    looks: list[set[str]] = [set(), {"r-1"}]  # erased between the look and the write
    recalls = Recalls(tmp_path, lambda some: looks.pop(0))
    recalls.put(lambda: asked)
    recalls.flush()
    assert not looks
    assert (tmp_path / "recalls.db").exists()
    assert cores_in(files(tmp_path).values()) == set()
    recalls.close()


def test_a_space_can_be_opened_while_questions_are_looked_up_in_it(tmp_path: Path) -> None:
    """Two threads once waited for each other here: one to open a space that was being erased from, one to look into it."""
    asked = Recalled("r-1", HERE, START, "where is the lantern", (), "{}")
    looking, opened = threading.Event(), threading.Event()

    def look(some: Sequence[Recalled]) -> set[str]:
        looking.set()
        assert opened.wait(10)
        return set()

    recalls = Recalls(tmp_path, look)
    recalls.put(lambda: asked)
    writer = threading.Thread(target=recalls.flush)
    writer.start()
    assert looking.wait(10)
    recalls.forget(SPACE, None, ())  # as whoever opens a space does, after an erase that was not finished
    opened.set()
    writer.join(10)
    assert recalls.get("r-1") == asked
    recalls.forget(SPACE, None, ())
    assert recalls.get("r-1") is None
    recalls.close()


def test_dry_runs_change_no_byte_of_any_file(tmp_path: Path) -> None:
    going, _ = prepared(tmp_path)
    with reverie.open(tmp_path, embedder="none") as mind:
        mind.scan(OWNER)

        def kept() -> dict[Path, bytes]:  # the -shm file is SQLite's table of who is reading, and holds no content
            return {path: content for path, content in files(tmp_path).items() if not path.name.endswith("-shm")}

        before = kept()
        proof = mind.erase(going.root, dry_run=True)
        assert set(proof.erased) == set(going.ids)
        assert (proof.checked, proof.pending, proof.commit) == ((), (), None)
        assert mind.erase(query=going.cores[0], scope=OWNER, dry_run=True).erased
        assert mind.erase(person="nobody", scope=OWNER, dry_run=True).erased == ()
        assert kept() == before


# It is not learned again


def test_no_old_copy_and_no_old_commit_brings_back_what_was_erased(tmp_path: Path) -> None:
    """R8: an old backup, an old export, undo, and being told again."""
    home, backup, export = tmp_path / "home", tmp_path / "old.zip", tmp_path / "old.jsonl"
    going, staying = prepared(home)
    with reverie.open(home, clock=Ticking(), embedder="none") as mind:
        commits = [commit.id for commit in mind.log(OWNER, limit=1_000)]
        mind.backup(backup)
        mind.export(export)
        text = export.read_text()
        assert all(core in text for core in going.cores)
        assert cores_in([backup.read_bytes(), *files(home).values()]) >= set(going.cores)
        proof = mind.erase(going.root)
        assert sorted(proof.unreachable) == sorted([f"backup: {backup.resolve()}", f"export: {export.resolve()}"])
        later = mind.log(OWNER, limit=1)[0]
        for commit in commits:
            with_erased_members = set(next(c for c in mind.log(OWNER, limit=1_000) if c.id == commit).erased)
            try:
                mind.undo(commit)
            except (CannotUndo, reverie.UndoConflict):
                continue
            assert not with_erased_members
        mind.restore(staying.root)
        told_again(mind, going, staying)
        loaded = mind.load(export)
        assert loaded.failed >= len(going.ids)
        told_again(mind, going, staying)
        assert later.why == "erased"
    assert_gone(home, going, staying)

    assert reverie.recover(backup, home) == (SPACE,)
    assert_gone(home, going, staying)
    with reverie.open(home, clock=Ticking(), embedder="none") as mind:
        assert mind.get(staying.root).text == staying.texts[0]
        told_again(mind, going, staying)
    assert_gone(home, going, staying)

    shutil.rmtree(home / "spaces")
    with reverie.open(home, clock=Ticking(), embedder="none") as mind:
        mind.load(export)
        assert mind.get(staying.root).text == staying.texts[0]
        told_again(mind, going, staying)
        assert mind.health().healthy
    assert_gone(home, going, staying)


def told_again(mind: Mind, going: Group, staying: Group) -> None:
    """Try to bring an erased text back in every way there is."""
    here = Scope(SPACE)
    for text in going.texts:
        said: list[Callable[[str], object]] = [
            lambda text: mind.observe(text, scope=here),
            lambda text: mind.observe(text.upper(), scope=here, message_id="another"),
            lambda text: mind.remember(f"  {text} ", scope=here),
            lambda text: mind.update(staying.root, text=text),
            lambda text: mind.observe(text, scope=Scope(SPACE, session="s", person="ana")),
        ]
        for say in said:
            with pytest.raises(Erased):
                say(text)
        done = mind.observe_many([{"role": "user", "content": text}], scope=here)
        assert (done.added, done.failed) == (0, 1)
    with pytest.raises(Erased):
        mind.observe("quite another text", scope=here, message_id=f"chat:{going.number}")
    with pytest.raises(NotFound):
        mind.restore(going.root)
    assert not [hit for core in going.cores for hit in mind.recall(core, scope=OWNER).hits]


def test_copies_out_of_reach_are_named(tmp_path: Path) -> None:
    """R8: a backup, an export of the space, and a history that git keeps around the home."""
    (tmp_path / ".git").mkdir()
    home = tmp_path / "notes" / "home"
    with reverie.open(home, embedder="none") as mind:
        said = mind.observe("the ring is in the left drawer", scope=Scope(SPACE))
        mind.observe("elsewhere it rains all day", scope=Scope("other"))
        mind.export(tmp_path / "other.jsonl", scope=Scope("other"))
        mind.export(tmp_path / "own.jsonl", scope=Scope(SPACE))
        mind.backup(tmp_path / "all.zip")
        assert sorted(mind.erase(said.id).unreachable) == [
            f"backup: {(tmp_path / 'all.zip').resolve()}",
            f"export: {(tmp_path / 'own.jsonl').resolve()}",
            f"git: the history of {tmp_path.resolve()}",
        ]


# What erasing means, on both stores


@pytest.fixture(params=["memory", "disk"])
def mind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Mind]:
    home = ":memory:" if request.param == "memory" else str(tmp_path / "home")
    with reverie.open(home, clock=Ticking(), embedder="none", background=False) as opened:
        yield opened


HERE = Scope(SPACE)


def test_a_short_text_is_refused_only_under_the_same_message(mind: Mind) -> None:
    """R8: "good night" is everyone's."""
    first = mind.observe("good night", scope=HERE, message_id="m1")
    fact = mind.remember("blue", scope=HERE)
    mind.erase(first.id)
    mind.erase(fact.id)
    with pytest.raises(Erased):
        mind.observe("good night", scope=HERE, message_id="m1")
    with pytest.raises(Erased):
        mind.observe("something else altogether", scope=HERE, message_id="m1")
    assert mind.observe("good night", scope=HERE, message_id="m2").id != first.id
    assert mind.observe("good night", scope=HERE).id != first.id
    assert mind.remember("blue", scope=HERE).id != fact.id
    for id in (first.id, fact.id):
        with pytest.raises(NotFound):
            mind.restore(id)


def test_what_another_source_tells_too_stays_without_the_quote(mind: Mind) -> None:
    """R8: only what rests on the erased alone goes with it."""
    ana = mind.observe("between us, I moved to Oaxaca in May", scope=HERE, message_id="m1")
    luis = mind.observe("Ana lives in Oaxaca now", scope=HERE, message_id="m2")
    cited = Source(message_ids=("m1",), memory_ids=(ana.id,), quote="between us, I moved to Oaxaca")
    fact = mind.remember("Ana lives in Oaxaca", scope=HERE, source=cited, confidence=0.5)
    mind.remember("Ana lives in Oaxaca", scope=HERE, source=Source(memory_ids=(luis.id,)), confidence=0.5)
    only = mind.remember("Ana moved in May", scope=HERE, source=cited)
    deeper = mind.remember("Ana is new in town since May", scope=HERE, source=Source(memory_ids=(only.id,)))
    assert mind.get(fact.id).confidence == 0.75
    (learned,) = mind.learned(ana.id)
    assert learned.source.quote == "I moved to Oaxaca in May"
    proof = mind.erase(ana.id)
    assert set(proof.erased) == {ana.id, only.id, deeper.id, learned.id}
    kept = mind.get(fact.id)
    assert (kept.text, kept.confidence, kept.source) == ("Ana lives in Oaxaca", 0.5, Source(memory_ids=(luis.id,)))
    assert "between us" not in repr(mind.history(fact.id))
    assert "between us" not in repr(mind._store.dump(SPACE))


def test_a_version_that_only_the_erased_told_takes_the_whole_memory_along(mind: Mind) -> None:
    ana = mind.observe("between us, the code is four seven one one", scope=HERE)
    fact = mind.remember("the code is four seven one one", scope=HERE, source=Source(memory_ids=(ana.id,)))
    mind.update(fact.id, text="the code was changed last week")
    assert set(mind.erase(ana.id).erased) == {ana.id, fact.id}


def test_an_erased_memory_disappears_from_the_log_but_the_log_goes_on(mind: Mind) -> None:
    """R8 and R4: commits stay, their members and reasons do not."""
    kept, gone = (mind.remember(text, scope=HERE) for text in ("Ana paints every day", "Ana was ill last spring"))
    mind.update(gone.id, text="Ana was ill last winter", reason="it was not spring")
    changed = mind.get(gone.id).commit
    proof = mind.erase(gone.id, scope=HERE)
    log = {commit.id: commit for commit in mind.log(OWNER)}
    assert proof.commit is not None
    assert [log[id].erased for id in (kept.commit, gone.commit, changed)] == [(), (gone.id,), (gone.id,)]
    assert (log[changed].why, log[proof.commit].why) == ("", "erased")
    assert [commit.id for commit in mind.log(HERE)] == [kept.commit]
    assert mind.diff(START, START + timedelta(days=1), scope=OWNER).added == (mind.get(kept.id),)
    with pytest.raises(CannotUndo, match="final"):
        mind.undo(proof.commit)
    with pytest.raises(CannotUndo):
        mind.undo(changed)


def test_undoing_a_commit_skips_its_erased_members_and_lists_them(mind: Mind) -> None:
    """R8 and R4: what is left of a commit can still be taken back."""
    done = mind.observe_many(
        [{"text": "the first of two lines", "message_id": "1"}, {"text": "the second of two lines", "message_id": "2"}],
        scope=HERE,
    )
    first, second = mind.scan(HERE)
    mind.erase(first.id)
    undone = mind.undo(done.commits[0])
    assert (undone.added, undone.retired, undone.erased) == ((), (second.id,), (first.id,))
    assert list(mind.scan(HERE)) == []
    mind.undo(undone.id)
    assert [memory.text for memory in mind.scan(HERE)] == ["the second of two lines"]


def test_erasing_by_query_takes_every_version_that_ever_said_it_and_only_what_has_every_word(mind: Mind) -> None:
    now = mind.remember("the safe is behind the mirror", scope=HERE)
    was = mind.remember("the safe is behind the curtain", scope=HERE)
    mind.update(was.id, text="there is no safe any more")
    past = mind.remember("the mirror hides the safe", scope=HERE)
    mind.forget(past.id)
    other = mind.remember("the mirror is broken", scope=HERE)
    assert set(mind.erase(query="SAFE mirror", scope=HERE).erased) == {now.id, past.id}
    assert mind.erase(query="curtain", scope=HERE).erased == (was.id,)
    assert [memory.id for memory in mind.scan(OWNER, retired=True)] == [other.id]
    assert mind.erase(query="nothing of the kind", scope=HERE).erased == ()


def test_erasing_a_person_takes_what_they_said_what_is_said_of_them_and_their_notes(mind: Mind) -> None:
    """R8: whoever may see it, and whatever was learned from it."""
    ana, luis = Scope(SPACE, person="ana"), Scope(SPACE, person="luis")
    moved, lives = mind.observe("I moved to Oaxaca in May", scope=ana), mind.observe("I live in Puebla myself", scope=luis)
    learned = mind.learned(moved.id)
    assert [fact.subject for fact in (*learned, *mind.learned(lives.id))] == ["ana", "luis"]
    going = [
        moved,
        *learned,
        mind.observe("hello to everyone here", scope=Scope(SPACE, channel="general", person="ana")),
        mind.observe("read out by the bot for me", scope=HERE, speaker="ana"),
        mind.remember("Ana lives in Oaxaca now", scope=luis, subject="ana"),
    ]
    staying = [
        mind.remember("Luis lives in Puebla", subject="luis", scope=HERE),
        lives,
        *mind.learned(lives.id),
    ]
    mind.people.alias("ana", "Ana Morales", scope=HERE)
    mind.people.alias("luis", "Luis", scope=HERE)
    mind.working(ana).replace(task="find a flat")
    mind.pin(staying[0].id, scope=Scope(SPACE, channel="general", person="ana"))
    with pytest.raises(reverie.BadInput):
        mind.erase(person="ana", scope=luis)
    proof = mind.erase(person="ana", scope=ana)
    assert set(proof.erased) == {memory.id for memory in going[:-1]}  # what Luis noted in private goes, but is not named
    assert {memory.id for memory in mind.scan(OWNER, retired=True)} == {memory.id for memory in staying}
    assert [person.id for person in mind.people.list(HERE)] == ["luis"]
    assert mind.working(ana).get() is None
    dump = repr(mind._store.dump(SPACE))
    assert "'ana'" not in dump
    assert "Morales" not in dump
    assert {commit.by for commit in mind.log(OWNER)} == {"luis", "owner", "someone", "reverie"}


def test_the_same_text_said_by_another_memory_can_still_be_changed_but_not_said_anew(mind: Mind) -> None:
    """R8: an erase by id spares other memories with the same words."""
    first, second = (mind.observe("see you at the old mill", scope=HERE) for _ in range(2))
    other = mind.observe("see you somewhere else then", scope=HERE)
    assert mind.erase(first.id).erased == (first.id,)
    assert mind.pin(second.id).pinned
    mind.update(second.id, text="see you at the new mill")
    mind.undo(mind.get(second.id).commit)
    mind.forget(second.id)
    assert mind.restore(second.id).text == "see you at the old mill"
    with pytest.raises(Erased):
        mind.update(other.id, text="see you at the old mill")
    with pytest.raises(Erased):
        mind.observe("see you at the old mill", scope=HERE)


def test_reasons_that_quote_the_erased_go_whatever_they_were_given_for(mind: Mind) -> None:
    """R8: a reason for changing something else may quote it."""
    secret = mind.observe("my sister is leaving her husband", scope=HERE)
    other = mind.remember("the sister's address is in the book", scope=HERE)
    quoting = mind.forget(other.id, reason="she said: My  sister is leaving her HUSBAND.")
    plain_reason = mind.restore(other.id).commit
    mind.erase(secret.id)
    log = {commit.id: commit for commit in mind.log(OWNER)}
    assert (log[quoting.id].why, log[plain_reason].why) == ("", "restored")
    assert (log[quoting.id].retired, log[quoting.id].erased) == ((other.id,), ())


def test_notes_that_repeat_the_erased_go_and_others_stay(mind: Mind) -> None:
    secret = mind.observe("My sister is leaving her husband", scope=HERE)
    mind.working(Scope(SPACE, session="1")).replace(task="help", notes="she said MY SISTER IS LEAVING HER HUSBAND!")
    mind.scratchpad(Scope(SPACE, session="2"), "plan").replace("my sister visits her husband")
    mind.erase(secret.id)
    assert mind.working(Scope(SPACE, session="1")).get() is None
    assert mind.scratchpad(Scope(SPACE, session="2"), "plan").get() == "my sister visits her husband"


def test_erasing_what_is_not_there_is_an_error_and_changes_nothing(mind: Mind) -> None:
    kept = mind.observe("the lantern is lit tonight", scope=HERE)
    before = repr(mind._store.dump(SPACE))
    gone = kept.id[:-3] + ("aaa" if not kept.id.endswith("aaa") else "bbb")
    calls: list[Callable[[], object]] = [
        lambda: mind.erase(gone),
        lambda: mind.erase(),
        lambda: mind.erase(kept.id, query="lantern"),
    ]
    for call in calls:
        with pytest.raises(ReverieError):
            call()
    assert repr(mind._store.dump(SPACE)) == before


def test_an_old_copy_does_not_bring_back_the_names_and_notes_of_an_erased_person(tmp_path: Path) -> None:
    ana, luis = Scope(SPACE, person="ana", session="s"), Scope(SPACE, person="luis", session="s")
    with reverie.open(tmp_path / "home", embedder="none") as mind:
        mind.observe("I love my bees on the roof", scope=ana)
        mind.observe("I love my goats in the yard", scope=luis)
        assert mind.settle() == Settled(0, 0)
        for person, name in (("ana", "Ana Zqbeekeeper"), ("luis", "Luis")):
            mind.people.alias(person, name, scope=ana)
        mind.working(ana).replace(notes="buy zqhoney jars")
        mind.working(luis).replace(notes="mend the fence")
        mind.backup(tmp_path / "old.backup")
        mind.export(tmp_path / "old.jsonl")
        mind.erase(person="ana", scope=OWNER)

    def look(home: Path) -> None:
        with reverie.open(home, embedder="none") as mind:
            assert mind.people.find("Ana Zqbeekeeper", scope=ana) == ()
            assert mind.working(ana).get() is None
            assert mind.people.get("luis", scope=ana).name == "Luis"
            assert mind.working(luis).get() is not None
            assert mind.settle() == Settled(0, 0)
            assert {commit.by for commit in mind.log(OWNER)} <= {"someone", "luis", "owner", "reverie"}
            kept = ["I love my goats in the yard", "luis loves their goats in the yard"]
            assert [memory.text for memory in mind.scan(OWNER)] == kept
        assert not any(b"zqhoney" in file.read_bytes() for file in home.rglob("*") if file.is_file())

    reverie.recover(tmp_path / "old.backup", tmp_path / "home")
    look(tmp_path / "home")
    shutil.rmtree(tmp_path / "home" / "spaces")
    with reverie.open(tmp_path / "home", embedder="none") as mind:
        mind.load(tmp_path / "old.jsonl")
    look(tmp_path / "home")
