"""Random histories, told to two minds in lockstep: one in memory, one in a folder (R12).

Whatever is done to both, in any order, both must answer alike: the same memories, versions, times and reasons, the same
hits, the same refusal in the same words. Ids differ only in their last three characters, which are chance; everything
compared is written out and those characters are cut off. Vocabularies are small, so that texts meet again, messages are
edited, and later changes stand in the way of an undo.
"""

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

import reverie
from reverie import Mind, Scope, Source

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
CHANCE = re.compile(r"([mc]-[0-9a-z]{10}-[0-9a-z]{16})[0-9a-z]{3}")
MEMORY_DISK = Path("/dev/shm")
EVERYTHING = 1_000

SPACES = ("default", "attic")
SCOPES = (
    Scope(),
    Scope(person="ana"),
    Scope(person="ben"),
    Scope(channel="hall"),
    Scope(channel="hall", person="ana"),
    Scope(session="s1", person="ana"),
    Scope.owner(),
    Scope("attic"),
    Scope("attic", person="ana"),
)
ASKERS = (*SCOPES, Scope(channel="yard", person="ben"), Scope.owner("attic"))
CUES = ("Ana", "camino", "coffee rain", "does it", "東京", "the")

words = st.sampled_from(("Ana", "lives", "in", "Oaxaca", "coffee", "camino", "caminos", "東京", "rain", "it"))
texts = st.lists(words, min_size=1, max_size=4).map(" ".join)
teaching = st.sampled_from(
    ("I love my coffee", "I live in Oaxaca", "Actually, I live in Lima", "My sister Ana lives in Oaxaca")
)
said = st.one_of(texts, texts, teaching)
scopes = st.sampled_from(SCOPES)
askers = st.one_of(st.none(), st.none(), st.sampled_from(ASKERS))
message_ids = st.sampled_from((None, "1", "2", "3"))
tags = st.sampled_from(((), (), ("travel",), ("travel", "home")))
subjects = st.sampled_from((None, None, "ana"))
kinds = st.sampled_from(("fact", "fact", "lesson"))
picks = st.integers(0, 40)
narrower = st.sampled_from((None, None, None, {"channel": "hall"}, {"person": "ana"}, {"session": "s1"}))
days = st.sampled_from((None, None, -3, -1, 2))
dry_runs = st.sampled_from((False, False, False, True))
pauses = st.sampled_from((0, 1, 60, 3_600, 86_400 * 8, -3_600))

Verb = Callable[[Mind, "Known"], object]


class Known:
    """The ids one mind has given out, in the order both gave them."""

    def __init__(self, mind: Mind, folder: Path) -> None:
        self.folder = folder
        owners = [Scope.owner(space) for space in SPACES]
        self.listed = [list(mind.scan(owner, retired=True)) for owner in owners]
        self.logged = [mind.log(owner, limit=EVERYTHING) for owner in owners]
        self.memories = [memory.id for listed in self.listed for memory in listed]
        self.commits = [commit.id for log in self.logged for commit in reversed(log)]

    def memory(self, pick: int) -> str:
        """Return one memory, the latest for 0."""
        return self.memories[-1 - pick % len(self.memories)]

    def chosen(self, by: str, pick: int) -> str:
        """Return one memory, or by "cited" one that others were made of, where there is any."""
        if by != "cited":
            return self.memory(pick)
        refs = {ref for listed in self.listed for memory in listed for ref in memory.source.memory_ids}
        cited = [id for id in self.memories if id in refs] or self.memories
        return cited[-1 - pick % len(cited)]

    def commit(self, pick: int) -> str:
        """Return one commit, the latest for 0."""
        return self.commits[-1 - pick % len(self.commits)]


class Histories(RuleBasedStateMachine):
    """Two minds to which the same things happen."""

    ran: ClassVar[int] = 0
    outcomes: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.root = Path(tempfile.mkdtemp(dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None))
        self.homes = 0
        self.minds = [self.open(":memory:"), self.open(self.home())]
        self.moments = [START]
        self.exported = False
        self.step = 0
        self.learn_ids()

    def open(self, home: str | Path) -> Mind:
        return reverie.open(home, clock=lambda: self.now, embedder="none", background=False)

    def home(self) -> Path:
        self.homes += 1
        return self.root / f"home-{self.homes}"

    def teardown(self) -> None:
        try:
            self.compare_everything()
        finally:
            for mind in self.minds:
                mind.close()
            shutil.rmtree(self.root)
        type(self).ran += 1

    # one thing, to both

    def learn_ids(self) -> None:
        folders = [self.root / "left", self.root / "right"]
        for folder in folders:
            folder.mkdir(exist_ok=True)
        self.known = [Known(mind, folder) for mind, folder in zip(self.minds, folders, strict=True)]

    def written(self, value: object, side: int) -> str:
        """Return a value as text in which nothing is left to chance."""
        text = repr(value).replace(str(self.known[side].folder), "")
        text = re.sub(r'\{"erased":\[[^\]]*\]\}', "", text)  # tombstones are made under each home's own key
        text = re.sub(r'"voice":"[0-9a-f]*"', "", text)  # made of ids, which chance has a part in
        return CHANCE.sub(r"\1", re.sub(r"bytes=\d+", "bytes=None", re.sub(r"home=('[^']*'|None)", "", text)))

    def both(self, name: str, verb: Verb, quiet: bool = False) -> str:
        """Let both minds do something; they must answer, or refuse, in the same words."""
        answers = []
        for side, (mind, known) in enumerate(zip(self.minds, self.known, strict=True)):
            try:
                answers.append(self.written(verb(mind, known), side))
            except reverie.ReverieError as exc:
                answers.append(f"{type(exc).__name__}: {self.written(str(exc), side)}")
        assert answers[0] == answers[1], f"{name}\n  in memory: {answers[0]}\n  in a folder: {answers[1]}"
        refused = re.match(r"[A-Z][A-Za-z]+(?=: )", answers[0])
        if not quiet:
            self.count(f"{name}: {refused[0] if refused else 'done'}")
        return answers[0]

    def count(self, outcome: str) -> None:
        self.outcomes[outcome] += 1

    def change(self, name: str, verb: Verb) -> None:
        """Let both minds change something, and compare what came of it."""
        self.both(name, verb)
        self.learn_ids()
        self.compare_listing()

    # what happens

    @initialize(turns=st.lists(st.tuples(said, scopes, message_ids), min_size=2, max_size=5), told=st.lists(texts, max_size=2))
    def begin(self, turns: list[tuple[str, Scope, str | None]], told: list[str]) -> None:
        """Start with something said, and something made of it."""
        self.observe_many(turns)
        for pick, text in enumerate(told):
            self.derive(text=text, pick=pick, other=0, two=False, scope=None, message_id=None)

    @rule(text=said, scope=scopes, message_id=message_ids, narrow=narrower, pause=pauses)
    def observe(self, text: str, scope: Scope, message_id: str | None, narrow: Mapping[str, Any] | None, pause: int) -> None:
        self.now += timedelta(seconds=pause)
        if pause > 60:  # the episodes are due that end with it
            self.change("settle", lambda mind, _: mind.settle())
        audience = None if narrow is None else replace(Scope(scope.space), **narrow)
        self.change("observe", lambda mind, _: mind.observe(text, scope=scope, message_id=message_id, audience=audience))
        self.moments.append(self.now)

    @rule(turns=st.lists(st.tuples(said, scopes, message_ids), min_size=1, max_size=4))
    def observe_many(self, turns: list[tuple[str, Scope, str | None]]) -> None:
        given = [{"content": text, "scope": scope, "message_id": message_id} for text, scope, message_id in turns]
        self.change("observe_many", lambda mind, _: mind.observe_many(given))

    @rule(
        text=texts,
        scope=scopes,
        kind=kinds,
        subject=subjects,
        tags=tags,
        until=days,
        start=days,
        sure=st.sampled_from((None, 0.3)),
    )
    def remember(
        self,
        text: str,
        scope: Scope,
        kind: str,
        subject: str | None,
        tags: tuple[str, ...],
        until: int | None,
        start: int | None,
        sure: float | None,
    ) -> None:
        valid_from, valid_until = (None if day is None else self.now + timedelta(days=day) for day in (start, until))
        self.change(
            "remember",
            lambda mind, _: mind.remember(
                text, scope=scope, kind=kind, subject=subject, tags=tags, valid_from=valid_from, valid_until=valid_until,
                confidence=sure,
            ),
        )  # fmt: skip

    @precondition(lambda self: self.known[0].memories)
    @rule(
        text=texts, pick=picks, other=picks, two=st.booleans(), scope=st.sampled_from((None, *SCOPES)), message_id=message_ids
    )
    def derive(self, text: str, pick: int, other: int, two: bool, scope: Scope | None, message_id: str | None) -> None:
        def verb(mind: Mind, known: Known) -> object:
            sources = (known.memory(pick), known.memory(other)) if two else (known.memory(pick),)
            source = Source(memory_ids=sources, message_ids=(message_id,) if message_id else (), quote=text)
            return mind.remember(text, scope=scope or mind.get(sources[0]).audience, source=source)

        self.change("derive", verb)

    @rule(text=texts, scope=scopes, message_id=message_ids, again=st.booleans())
    def learn(self, text: str, scope: Scope, message_id: str | None, again: bool) -> None:
        """Hear something and make a fact of it, perhaps one that is known already."""
        fact = "Ana lives in Oaxaca" if again else f"{text} rain"

        def verb(mind: Mind, _: Known) -> object:
            turn = mind.observe(text, scope=scope, message_id=message_id)
            return turn, mind.remember(fact, scope=scope, source=Source(memory_ids=(turn.id,), quote=text))

        self.change("learn", verb)

    @precondition(lambda self: self.known[0].memories)
    @rule(pick=picks, text=st.one_of(st.none(), texts), tags=tags, scope=askers, until=days)
    def update(self, pick: int, text: str | None, tags: tuple[str, ...], scope: Scope | None, until: int | None) -> None:
        ends = None if until is None else self.now + timedelta(days=until)
        self.change(
            "update",
            lambda mind, known: mind.update(
                known.memory(pick), text=text, tags=tags or None, valid_until=ends, scope=scope, reason="better known"
            ),
        )

    @precondition(lambda self: self.known[0].memories)
    @rule(
        pick=picks,
        by=st.sampled_from(("id", "cited", "words", "message", "source")),
        scope=askers,
        dry_run=dry_runs,
        text=texts,
        message_id=st.sampled_from("123"),
    )
    def forget(self, pick: int, by: str, scope: Scope | None, dry_run: bool, text: str, message_id: str) -> None:
        if by in ("id", "cited"):
            self.change("forget", lambda mind, known: mind.forget(known.chosen(by, pick), scope=scope, dry_run=dry_run))
        elif by == "words":
            self.change("forget words", lambda mind, _: mind.forget(query=text, scope=scope, dry_run=dry_run))
        elif by == "message":
            self.change("forget message", lambda mind, _: mind.forget(message_id=message_id, scope=scope, reason="asked"))
        else:
            self.change("retract", lambda mind, _: mind.retract(message_id, scope=scope))

    @precondition(lambda self: self.known[0].memories)
    @rule(pick=picks, how=st.sampled_from(("restore", "pin", "unpin")), scope=askers)
    def restore_or_pin(self, pick: int, how: str, scope: Scope | None) -> None:
        if how == "restore":
            self.change("restore", lambda mind, known: mind.restore(known.memory(pick), scope=scope))
        else:
            self.change("pin", lambda mind, known: mind.pin(known.memory(pick), how == "pin", scope=scope))

    @precondition(lambda self: self.known[0].commits)
    @rule(pick=st.one_of(picks, st.integers(0, 3)), scope=askers)
    def undo(self, pick: int, scope: Scope | None) -> None:
        self.change("undo", lambda mind, known: mind.undo(known.commit(pick), scope=scope))

    @precondition(lambda self: self.known[0].memories)
    @rule(
        pick=picks,
        by=st.sampled_from(("id", "cited", "cited", "words", "words", "person")),
        scope=askers,
        dry_run=dry_runs,
        text=texts,
        person=st.sampled_from(("ana", "ben")),
    )
    def erase(self, pick: int, by: str, scope: Scope | None, dry_run: bool, text: str, person: str) -> None:
        before = len(self.known[0].memories)
        if by in ("id", "cited"):
            self.change("erase", lambda mind, known: mind.erase(known.chosen(by, pick), scope=scope, dry_run=dry_run))
        elif by == "words":
            self.change("erase words", lambda mind, _: mind.erase(query=f"{text} rain", scope=scope, dry_run=dry_run))
        else:
            self.change("erase person", lambda mind, _: mind.erase(person=person, scope=scope, dry_run=dry_run))
        if by in ("id", "cited") and before - len(self.known[0].memories) > 1:
            self.count("erase: with what was derived")

    @rule(scope=scopes, text=texts, how=st.sampled_from(("clear", "note", "alias", "optout", "optin")))
    def keep_beside(self, scope: Scope, text: str, how: str) -> None:
        """Change what is held outside the commits: notes of a session, and who is who."""
        if how == "clear":
            self.both("clear notes", lambda mind, _: mind.working(scope).clear())
            self.both("clear scratch", lambda mind, _: mind.scratchpad(scope, "tea").clear())
        elif how == "note":
            self.both("take notes", lambda mind, _: mind.working(scope).replace(task=text, pending=[text]))
            self.both("scratch", lambda mind, _: mind.scratchpad(scope, "tea").replace(text))
        elif how == "alias":
            self.both("alias", lambda mind, _: mind.people.alias("ana", text, scope=scope))
        else:
            self.both("optout", lambda mind, _: mind.people.optout("ben", how == "optout", scope=scope))
        self.compare("spaces", lambda mind, _: mind.status())

    # moving house

    @rule(how=st.sampled_from(("export", "load", "load", "try to load", "move", "reopen")))
    def keep_house(self, how: str) -> None:
        """Write an export, load an earlier one, move into stores of the other kind, or close and open again."""
        if how == "export" or (how != "reopen" and not self.exported):
            self.export()
        elif how == "move":
            self.move()
        elif how == "reopen":
            self.reopen()
        else:
            dry_run = how == "try to load"
            self.change("load", lambda mind, known: mind.load(known.folder / "export.jsonl", dry_run=dry_run))

    def export(self) -> None:
        """Both write the same file."""
        self.both("export", lambda mind, known: mind.export(known.folder / "export.jsonl").name)
        lines = [self.written((known.folder / "export.jsonl").read_text(), side) for side, known in enumerate(self.known)]
        assert lines[0] == lines[1]
        self.exported = True

    def move(self) -> None:
        """Each moves into a fresh store of the other kind, and finds everything there."""
        self.export()
        before = self.picture(erased=False)
        fresh = [self.open(":memory:"), self.open(self.home())]
        for mind, known in zip(fresh, reversed(self.known), strict=True):
            mind.load(known.folder / "export.jsonl")
        for mind in self.minds:
            mind.close()
        self.minds, self.exported = fresh, False
        self.learn_ids()
        assert self.picture(erased=False) == before
        self.count("move: done")

    def reopen(self) -> None:
        home = self.minds[1].home
        assert home is not None
        before = self.picture()
        self.minds[1].close()
        self.minds[1] = self.open(home)
        assert self.picture() == before

    # looking

    @precondition(lambda self: self.known[0].memories)
    @rule(
        pick=picks,
        moment=picks,
        cue=st.sampled_from(CUES),
        scope=st.sampled_from(ASKERS),
        tag=tags,
        subject=subjects,
        start=days,
    )
    def look(
        self, pick: int, moment: int, cue: str, scope: Scope, tag: tuple[str, ...], subject: str | None, start: int | None
    ) -> None:
        """Look back, closely, and around."""
        then = self.moments[-1 - moment % len(self.moments)]
        self.compare("recall as of a moment", lambda mind, _: _hits(mind, cue, scope, then))
        self.compare("recall as of a commit", lambda mind, known: _hits(mind, cue, scope, known.commit(pick)))
        self.compare("scan as of a commit", lambda mind, known: list(mind.scan(scope, as_of=known.commit(pick), retired=True)))
        self.compare("diff", lambda mind, known: mind.diff(known.commit(pick), known.commit(moment)))
        self.compare("diff in a scope", lambda mind, _: mind.diff(then, self.now, scope))

        self.compare("get", lambda mind, known: mind.get(known.memory(pick), scope=scope))
        self.compare("get as of", lambda mind, known: mind.get(known.memory(pick), as_of=then))
        self.compare("history", lambda mind, known: mind.history(known.memory(pick), scope=scope))
        self.compare("page", lambda mind, known: [m.id for m in mind.scan(scope, after=known.memory(pick), limit=2)])

        since = None if start is None else (self.now + timedelta(days=start), None)
        self.compare(
            "filtered",
            lambda mind, _: _hits(mind, cue, scope, tags=tag, subject=subject, between=since, kinds=("turn", "fact")),
        )
        self.compare("status", lambda mind, _: mind.status(scope))
        self.compare("notes", lambda mind, _: (mind.working(scope).get(), mind.scratchpad(scope, "tea").get()))
        self.compare("recent", lambda mind, _: mind.recent(scope).get())
        self.compare("people", lambda mind, _: mind.people.list(scope))

    def compare(self, name: str, verb: Verb) -> str:
        return self.both(name, verb, quiet=True)

    def compare_listing(self) -> None:
        """Compare what the owners see, and what one cue finds."""
        self.compare("scan", lambda _, known: known.listed)
        self.compare("log", lambda _, known: [log[:3] for log in known.logged])
        self.step += 1
        cue, owner = CUES[self.step % len(CUES)], Scope.owner(SPACES[self.step % 5 == 0])
        self.compare("recall", lambda mind, _: _hits(mind, cue, owner))

    def compare_everything(self) -> None:
        self.picture()
        self.compare("healthy", lambda mind, _: mind.health().healthy)

    def picture(self, erased: bool = True) -> str:
        """Return all that can be seen; without `erased`, which an export does not carry, less the names of what was erased."""

        def see(mind: Mind, known: Known) -> object:
            logs = [mind.log(scope, limit=EVERYTHING) for scope in ASKERS[::2]]
            return (
                mind.status(),
                logs if erased else [[replace(commit, erased=()) for commit in log] for log in logs],
                [list(mind.scan(scope, retired=True)) for scope in ASKERS],
                [mind.history(id) for id in known.memories],
                [_hits(mind, cue, Scope.owner(space)) for cue in CUES for space in SPACES],
                [_hits(mind, cue, scope) for cue in CUES[:2] for scope in SCOPES],
                [(mind.working(scope).get(), mind.scratchpad(scope, "tea").get()) for scope in ASKERS],
                [mind.people.list(Scope(space)) for space in SPACES],
            )

        return self.compare("picture", see)


def _hits(mind: Mind, cue: str, scope: Scope, as_of: datetime | str | None = None, **filters: object) -> Iterable[object]:
    found = mind.recall(cue, scope=scope, as_of=as_of, limit=EVERYTHING, **filters).hits  # type: ignore[arg-type]
    return sorted((CHANCE.sub(r"\1", hit.memory.id), hit.memory.version, hit.current) for hit in found)


def run(histories: int, derandomize: bool) -> None:
    """Run so many histories of 30 steps."""
    Histories.ran = 0
    Histories.outcomes = Counter()
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=histories,
            stateful_step_count=30,
            deadline=None,
            derandomize=derandomize,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_two_stores_tell_the_same_history() -> None:
    """R12, R4, R6, R8: the quick form, the same histories every time."""
    run(25, derandomize=True)
    assert Histories.ran >= 25


@pytest.mark.stress
def test_two_stores_tell_thousands_of_histories_alike(capsys: pytest.CaptureFixture[str]) -> None:
    """R12: what matters has happened often enough to count, in succeeding and in being refused."""
    run(2_000, derandomize=False)
    with capsys.disabled():
        print(f"\n{Histories.ran} histories of 30 steps in lockstep")  # noqa: T201 - a person reads how many there were
        for outcome, times in sorted(Histories.outcomes.items()):
            print(f"  {outcome:40} {times:7}")  # noqa: T201
    assert Histories.ran >= 2_000
    for outcome in ("undo: done", "undo: UndoConflict", "undo: CannotUndo", "erase: with what was derived", "load: done"):
        assert Histories.outcomes[outcome] > 20, outcome
