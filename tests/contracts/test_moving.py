"""Export and load: everything, lossless, from any store into any other (R12, R14)."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from reverie import BadInput, Erased, Mind, NotFound, Scope, Source, StoreError
from tests.contracts.worlds import EVERYTHING, KINDS, START, Clock, NewMind, found

ANA = Scope(person="ana", session="s1")


def lived(mind: Mind, clock: Clock) -> None:
    """Let a mind have a past with everything in it."""
    turn = mind.observe(
        "I moved to Oaxaca 🎉\nin May", scope=ANA, message_id="1", speaker="Ana", attachments=({"file": "a.png"},)
    )
    clock.pass_(hours=1)
    mind.observe("I moved to Puebla in May", scope=ANA, message_id="1", speaker="Ana", reply_to="0")
    clock.pass_(hours=1)
    fact = mind.remember(
        "Ana lives in Puebla", subject="ana", scope=ANA, title="Home", tags=("home", "travel"), valid_from=START,
        valid_until=START + timedelta(days=400), happened_at=START, confidence=0.4,
        extra={"type": "profile", "n": [1, None, 2.5]},
        source=Source(message_ids=("1",), memory_ids=(turn.id,), quote="moved to Puebla", place="chat.md:3"),
    )  # fmt: skip
    clock.pass_(hours=1)
    mind.remember("Ana lives in Puebla", subject="ana", scope=ANA, confidence=0.4)
    mind.pin(fact.id)
    mind.undo(mind.update(fact.id, text="Ana lives in Lima", reason="a joke").commit)
    mind.forget(mind.remember("to be forgotten").id)
    mind.observe("in another space", scope=Scope("attic", channel="hall"))
    mind.working(ANA).replace(task="unpack", pending=["boxes"])
    mind.scratchpad(ANA, "tea").replace("boil water")
    mind.chat_context(Scope(channel="hall")).replace("a loud room")
    mind.people.alias("ana", "Ana María")
    mind.people.update("ana", zone="America/Mexico_City", accounts=("ana_m",))


def picture(mind: Mind) -> list[object]:
    """Return everything a mind knows, times and ids included."""
    spaces = [space.space for space in mind.status().spaces]
    owners = [Scope.owner(space) for space in spaces]
    memories = [memory for owner in owners for memory in mind.scan(owner, retired=True)]
    moments = [START + timedelta(hours=hours) for hours in range(6)]
    return [
        spaces,
        memories,
        [mind.history(memory.id) for memory in memories],
        [mind.log(owner, limit=EVERYTHING) for owner in owners],
        [sorted(found(mind, "Ana Puebla Lima forgotten space", scope)) for scope in (*owners, Scope(), ANA)],
        [[memory.text for memory in mind.scan(owner, as_of=moment)] for owner in owners for moment in moments],
        mind.working(ANA).get(),
        mind.scratchpad(ANA, "tea").get(),
        mind.chat_context(Scope(channel="hall")).get(),
        mind.people.list(),
    ]


@pytest.mark.parametrize("target", KINDS)
def test_an_export_loaded_into_an_empty_mind_is_the_same_mind(
    mind: Mind, target: str, new_mind: NewMind, clock: Clock, tmp_path: Path
) -> None:
    """R12: in all four directions, recorded times and commits included."""
    lived(mind, clock)
    before = picture(mind)
    written = mind.export(tmp_path / "all.jsonl")
    clock.pass_(days=1)
    fresh = new_mind(target)
    loaded = fresh.load(written)
    assert (loaded.spaces, loaded.duplicates, loaded.failed) == (("attic", "default"), 0, 0)
    assert loaded.added == mind.status().memories
    assert picture(fresh) == before
    assert fresh.export(tmp_path / "again.jsonl").read_text().splitlines()[1:] == written.read_text().splitlines()[1:]


@pytest.mark.parametrize("target", KINDS)
def test_a_loaded_mind_goes_on_where_the_old_one_stopped(
    mind: Mind, target: str, new_mind: NewMind, clock: Clock, tmp_path: Path
) -> None:
    lived(mind, clock)
    fresh = new_mind(target)
    fresh.load(mind.export(tmp_path / "all.jsonl"))
    last = mind.log(Scope.owner())[0]
    clock.now = START  # behind the last commit
    again = fresh.remember("Ana lives in Puebla", subject="ana", scope=ANA, confidence=0.4)
    assert again.confidence == pytest.approx(1 - 0.6**3)
    assert fresh.observe("I moved to Puebla in May", scope=ANA, message_id="1").version == 2
    next_one = fresh.log(Scope.owner())[0]
    assert (next_one.seq, next_one.at > last.at) == (last.seq + 1, True)
    with pytest.raises(NotFound, match="was forgotten"):
        fresh.get(next(memory.id for memory in fresh.scan(retired=True) if memory.text == "to be forgotten"))
    assert fresh.health().healthy


def test_loading_twice_adds_nothing(mind: Mind, clock: Clock, tmp_path: Path) -> None:
    lived(mind, clock)
    before = picture(mind)
    loaded = mind.load(mind.export(tmp_path / "all.jsonl"))
    assert (loaded.added, loaded.duplicates) == (0, mind.status().memories)
    assert picture(mind) == before


def test_loading_beside_what_is_there_adds_the_rest(mind: Mind, new_mind: NewMind, clock: Clock, tmp_path: Path) -> None:
    other = new_mind("memory")
    other.remember("known to both", confidence=0.5)
    other.remember("known to one", tags=("x",), confidence=0.5)
    other.remember("known to one", confidence=0.5)
    other.working(ANA).replace(task="theirs")
    mine = mind.remember("known to both", confidence=0.5)
    clock.pass_(days=1)
    loaded = mind.load(other.export(tmp_path / "all.jsonl"))
    assert (loaded.added, loaded.duplicates, loaded.failed) == (1, 1, 0)
    assert {memory.text: (memory.tags, memory.confidence) for memory in mind.scan()} == {
        "known to both": ((), 0.5),
        "known to one": (("x",), 0.75),
    }
    assert mind.get(mine.id) == mine
    working = mind.working(ANA).get()
    assert working is not None
    assert working.task == "theirs"
    assert mind.log(Scope.owner())[0].why == "loaded"
    mind.undo(mind.log(Scope.owner())[0].id)
    assert [memory.id for memory in mind.scan()] == [mine.id]


def test_what_was_forgotten_here_is_not_brought_back_by_a_load(mind: Mind, tmp_path: Path) -> None:
    fact = mind.remember("better left unsaid")
    written = mind.export(tmp_path / "all.jsonl")
    mind.forget(fact.id)
    assert mind.load(written).added == 0
    assert list(mind.scan()) == []


def test_what_was_forgotten_here_is_not_brought_back_from_another_mind_either(
    mind: Mind, new_mind: NewMind, tmp_path: Path
) -> None:
    """What has since become something else was not forgotten: its old wording is news."""
    other = new_mind("memory")
    for text in ("better left unsaid", "the gate is open"):
        other.remember(text)
    mind.forget(mind.remember("better left unsaid").id)
    mind.update(mind.remember("the gate is open").id, text="the gate is shut")
    loaded = mind.load(other.export(tmp_path / "all.jsonl"))
    assert (loaded.added, loaded.duplicates) == (1, 1)
    assert {memory.text for memory in mind.scan()} == {"the gate is shut", "the gate is open"}


def test_what_was_erased_here_is_not_brought_back_by_a_load(mind: Mind, tmp_path: Path) -> None:
    """R8: nor what was made of it, nor the notes that repeat it."""
    turn = mind.observe("my number is 555 0199", message_id="1")
    mind.remember("Ana can be called", source=Source(memory_ids=(turn.id,)))
    stays = mind.remember("Ana is tall")
    mind.working(ANA).replace(task="my number is 555 0199")
    written = mind.export(tmp_path / "all.jsonl")
    assert len(mind.erase(turn.id).erased) >= 1
    loaded = mind.load(written)
    assert (loaded.added, loaded.failed) == (0, 2)
    assert [memory.id for memory in mind.scan(retired=True)] == [stays.id]
    assert mind.working(ANA).get() is None
    with pytest.raises(Erased):
        mind.observe("my number is 555 0199")


def test_a_dry_run_counts_and_loads_nothing(mind: Mind, new_mind: NewMind, clock: Clock, tmp_path: Path, kind: str) -> None:
    lived(mind, clock)
    fresh = new_mind(kind)
    loaded = fresh.load(mind.export(tmp_path / "all.jsonl"), dry_run=True)
    assert loaded.added == mind.status().memories
    assert fresh.status().spaces == ()


def test_the_export_of_a_scope_holds_only_what_it_sees(mind: Mind, new_mind: NewMind, clock: Clock, tmp_path: Path) -> None:
    """R6"""
    lived(mind, clock)
    mind.observe("Ben's secret", scope=Scope(person="ben"))
    written = mind.export(tmp_path / "mine.jsonl", scope=ANA)
    assert "secret" not in written.read_text()
    assert "another space" not in written.read_text()
    fresh = new_mind("folder")
    fresh.load(written)
    assert [memory.text for memory in fresh.scan(ANA)] == [memory.text for memory in mind.scan(ANA)]
    assert [commit.seq for commit in reversed(fresh.log(Scope.owner()))] == list(range(1, len(fresh.log(Scope.owner())) + 1))


def test_an_export_is_for_its_owner_alone_and_whole_or_not_there(mind: Mind, tmp_path: Path) -> None:
    """A11"""
    mind.observe("private")
    written = mind.export(tmp_path / "all.jsonl")
    assert written.stat().st_mode & 0o077 == 0
    assert [name for name in os.listdir(tmp_path) if name.endswith(".part")] == []
    with pytest.raises(BadInput, match="folder"):
        mind.export(tmp_path)
    with pytest.raises(BadInput, match="no folder"):
        mind.export(tmp_path / "missing" / "all.jsonl")


def test_a_copy_goes_where_a_link_leads_and_an_erase_is_told_where_that_is(mind: Mind, kind: str, tmp_path: Path) -> None:
    turn = mind.observe("private")
    (tmp_path / "elsewhere").mkdir()
    copies = {"export": mind.export} | ({"backup": mind.backup} if kind == "folder" else {})
    for verb, copy in copies.items():
        for name, before in (("there", "an older copy"), ("not-yet", None)):
            link, real = tmp_path / f"{verb}-{name}", tmp_path / "elsewhere" / f"{verb}-{name}"
            link.symlink_to(real)
            if before:
                real.write_text(before)
            assert copy(link) == link
            assert (link.is_symlink(), real.is_file(), real.is_symlink()) == (True, True, False)
            assert real.stat().st_mode & 0o077 == 0
            assert real.read_bytes() != b"an older copy"
    assert sorted(mind.erase(turn.id).unreachable) == sorted(
        f"{verb}: {tmp_path.resolve()}/elsewhere/{verb}-{name}" for verb in copies for name in ("there", "not-yet")
    )


def test_what_is_no_regular_file_is_never_replaced_by_a_copy(mind: Mind, kind: str, tmp_path: Path) -> None:
    mind.observe("private")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to-fifo").symlink_to("fifo")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "to-folder").symlink_to(tmp_path)
    ends = os.pipe()
    before = sorted((path.name, path.lstat().st_ino) for path in tmp_path.iterdir())
    names = [*(str(tmp_path / name) for name in ("fifo", "to-fifo", "circle", "to-folder")), f"/dev/fd/{ends[1]}"]
    for copy in (mind.export, mind.backup) if kind == "folder" else (mind.export,):
        for name in names:
            with pytest.raises(BadInput, match=r"no regular file|is a folder"):
                copy(name)
        with pytest.raises(StoreError, match="could not be written: File name too long"):
            copy(tmp_path / ("x" * 300))
    for end in ends:
        os.close(end)
    assert sorted((path.name, path.lstat().st_ino) for path in tmp_path.iterdir()) == before


def test_a_damaged_export_stops_everything_before_anything_is_stored(
    mind: Mind, new_mind: NewMind, clock: Clock, tmp_path: Path, kind: str
) -> None:
    lived(mind, clock)
    lines = mind.export(tmp_path / "all.jsonl").read_text().splitlines()
    memory = next(number for number, line in enumerate(lines) if '"memory"' in line)
    changed = json.loads(lines[memory])
    changed["seqs"] = [99, None]
    fresh = new_mind(kind)
    for number, broken in (
        (len(lines) - 1, '{"state":['),
        (memory, json.dumps(changed)),
        (memory, lines[memory + 1]),
        (memory, '{"unheard": 1}'),
        (0, '{"reverie": 99}'),
    ):
        path = tmp_path / "broken.jsonl"
        path.write_text("\n".join([*lines[:number], broken, *lines[number + 1 :]]) + "\n")
        with pytest.raises(BadInput, match=r"nothing was loaded|reads 1"):
            fresh.load(path)
        assert fresh.status().spaces == ()
    for path, why in ((tmp_path / "missing.jsonl", "cannot be read"), (tmp_path / "empty.jsonl", "is empty")):
        if "empty" in path.name:
            path.touch()
        with pytest.raises(BadInput, match=why):
            fresh.load(path)
