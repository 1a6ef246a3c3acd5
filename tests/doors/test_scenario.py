"""The same twelve steps through Python, the command line and MCP come to the same; and MCP loses nothing when a server dies."""

import os
import signal
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

import reverie
from reverie import Scope
from tests.doors.scenario import EMBEDDER, HERE, STEPS, ByCommandLine, ByMcp, ByPython, comparable, connected, play

pytestmark = pytest.mark.usefixtures("learning_off")  # it is done beside, at whatever moment


@pytest.fixture(autouse=True)
def light_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_EMBEDDER", EMBEDDER)


def by_python(home: Path) -> dict[str, Any]:
    with reverie.open(home, embedder=EMBEDDER) as mind:
        return comparable(play(ByPython(mind)))


def kept(home: Path) -> list[str]:
    """Return every turn that was ever kept in a home, each as often as it was."""
    with reverie.open(home, embedder=EMBEDDER) as mind:
        return sorted(memory.text for memory in mind.scan(HERE, kinds=("turn",), retired=True))


def at_once(door: ByMcp, texts: list[str]) -> list[Future[Any]]:
    """Ask for many turns to be kept, waiting for none."""
    return [door.portal.start_task_soon(door.client.call_tool, "observe", {"text": text, "message_id": text}) for text in texts]


def test_the_scenario_has_twelve_steps_and_says_something(tmp_path: Path) -> None:
    results = by_python(tmp_path)
    assert len(STEPS) == len(results) == 12
    assert results["asked"]["hits"][0]["memory"]["text"] == "Soy alérgico a los cacahuates"
    assert results["reasons"]["question"] == results["asked"]["cue"]["text"]
    assert "Ana moved to Oaxaca" in results["prompt"]["text"]
    assert results["still busy"] == results["busy"]
    assert results["never said"]["hits"] == []
    assert results["wish"]["change"]["id"] == results["allergy"]["id"]
    assert [memory["text"] for memory in results["known"]] == ["Ana lives in Puebla"]


def test_the_command_line_comes_to_the_same_as_python(tmp_path: Path) -> None:
    assert comparable(play(ByCommandLine(tmp_path / "by command"))) == by_python(tmp_path / "by python")


def test_mcp_comes_to_the_same_as_python(tmp_path: Path) -> None:
    with connected(tmp_path / "by mcp") as door:
        assert comparable(play(door)) == by_python(tmp_path / "by python")


def test_a_server_killed_in_the_middle_has_lost_nothing_and_the_next_one_goes_on(tmp_path: Path) -> None:
    home, pid_file, ids = tmp_path / "by mcp", tmp_path / "pid", dict[str, str]()
    texts = [f"line {number}" for number in range(30)]
    with connected(home, mode="legacy", pid_file=pid_file) as door:
        results = play(door, STEPS[:7], ids)
        asked = at_once(door, texts)
        asked[5].result()
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        answered = [text for text, future in zip(texts, asked, strict=True) if future.exception() is None]
        with pytest.raises(MCPError):
            door.call("working")
    assert set(answered) <= set(kept(home))
    assert "line 5" in answered
    with connected(home) as door:
        assert not any(future.result().is_error for future in at_once(door, texts))
        with reverie.open(home, embedder=EMBEDDER) as mind:  # the scenario does not know of them
            mind.forget(query="line", scope=HERE)
        results |= play(door, STEPS[7:], ids)
    assert [text for text in kept(home) if text in texts] == sorted(texts)
    assert comparable(results) == by_python(tmp_path / "by python")


def test_two_clients_on_one_home_write_at_once_and_read_each_other(tmp_path: Path) -> None:
    texts = {name: [f"{name} said thing {number}" for number in range(20)] for name in ("ana", "luis")}
    room = {name: Scope("flat", channel="kitchen", person=name) for name in texts}
    with connected(tmp_path, room["ana"]) as ana, connected(tmp_path, room["luis"]) as luis:
        asked = [
            future for pair in zip(at_once(ana, texts["ana"]), at_once(luis, texts["luis"]), strict=True) for future in pair
        ]
        assert not any(future.result().is_error for future in asked)
        for door, other in ((ana, "luis"), (luis, "ana")):
            found = door.take("recall", {"cue": f"{other} said thing", "limit": 40})
            assert set(texts[other]) <= {hit["memory"]["text"] for hit in found["hits"]}
    assert kept(tmp_path) == sorted(texts["ana"] + texts["luis"])


def test_servers_of_two_people_do_not_see_each_others_private_lines(tmp_path: Path) -> None:
    alone = {name: Scope("flat", person=name) for name in ("ana", "luis")}
    with connected(tmp_path, alone["ana"]) as ana, connected(tmp_path, alone["luis"]) as luis:
        secret = ana.take("observe", {"text": "I bought Luis a guitar"})
        fact = ana.take("remember", {"text": "The guitar is for Luis", "subject": "luis"})
        asked = ana.take("recall", {"cue": "guitar"})
        ana.take("working_replace", {"task": "hide the guitar"})

        assert len(asked["hits"]) == 2
        assert luis.take("recall", {"cue": "guitar"})["hits"] == []
        assert luis.take("context", {"cue": "guitar"})["text"] == ""
        assert luis.take("working", {}) is None
        assert luis.read("reverie://person") == {"person": "luis", "known": []}
        never = "m-" + "0" * 10 + "-" + "0" * 19
        for hidden in (secret["id"], fact["id"]):
            assert complaint(luis, "propose_forget", id=hidden) == complaint(luis, "propose_forget", id=never, as_=hidden)
            assert not_found(luis, hidden) == not_found(luis, never, as_=hidden)
        assert complaint(luis, "why", recall_id=asked["id"]) == complaint(
            luis, "why", recall_id="r" + never[1:], as_=asked["id"]
        )


def complaint(door: ByMcp, tool: str, as_: str | None = None, **arguments: str) -> str:
    """Return how a call is refused; with `as_`, said of that id instead."""
    result = door.call(tool, **arguments)
    assert result.is_error
    text: str = result.content[0].text
    return text if as_ is None else text.replace(next(iter(arguments.values())), as_)


def not_found(door: ByMcp, id: str, as_: str | None = None) -> tuple[int, str]:
    with pytest.raises(MCPError) as caught:
        door.read(f"reverie://memory/{id}")
    return caught.value.code, caught.value.message.replace(id, as_ or id)
