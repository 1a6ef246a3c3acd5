"""Clients and servers that misbehave: lines that no server should die of, and calls that never come back."""

import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reverie
from tests.doors.scenario import server
from tests.doors.test_mcp import ANA, Wire

LINES = [
    b'{"jsonrpc":"2.0","id":true,"method":5}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":5}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":"\\udfff\\ud800","method":"tools/call","params":{}}',
    b'{"jsonrpc":"2.0","id":false}',
    b'{"jsonrpc":"2.0","id":1.5,"method":5}',
    b'{"jsonrpc":"2.0","id":[1],"method":5}',
    b'{"jsonrpc":"2.0","id":{},"method":5}',
    b'{"jsonrpc":"2.0","id":1e999,"method":5}',
    b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":5}',
    b'{"id":' * 100_000,
    b"",
    b"null",
    b"[]",
]


def test_no_line_ends_a_server(tmp_path: Path) -> None:
    with Wire(server(tmp_path, ANA)) as wire:
        for line in LINES:
            wire.write(line)
            answer = wire.hear()
            assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        wire.call(8, "working")
        assert wire.hear()["id"] == 8
        assert wire.leave() == ([], "")
        assert wire.process.returncode == 0


@contextmanager
def waiting(home: Path) -> Iterator[Wire]:
    """Lend a server that is in the middle of two calls which wait for an embedder that accepts them and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        settings = ["REVERIE_EMBEDDER=openai:silent", f"REVERIE_OPENAI_URL=http://127.0.0.1:{silent.getsockname()[1]}/v1"]
        with Wire(["/usr/bin/env", *settings, *server(home, ANA)]) as wire:
            wire.call(1, "observe", text="the last line")
            assert wire.hear()["id"] == 1
            wire.call(2, "recall", cue="the last line")
            wire.call(3, "recall", cue="another")
            wire.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}})
            connections = [silent.accept()[0] for _ in range(2)]  # of the observed turn, and of a question
            yield wire
            for connection in connections:
                connection.close()


def test_a_call_that_never_comes_back_keeps_no_server_alive(tmp_path: Path) -> None:
    with waiting(tmp_path / "told") as told, waiting(tmp_path / "left") as left:
        assert left.process.stdin is not None
        started = time.monotonic()
        left.process.stdin.close()
        told.process.send_signal(signal.SIGTERM)
        assert told.process.wait(30) == 0
        assert time.monotonic() - started < 8
        assert left.process.wait(30) == 0
        assert time.monotonic() - started < 12
    for home in ("told", "left"):
        with reverie.open(tmp_path / home, embedder="none") as mind:
            assert [memory.text for memory in mind.scan(ANA)] == ["the last line"]
            assert mind.health().healthy


@pytest.mark.stress
def test_a_client_that_reads_nothing_keeps_no_server_alive(tmp_path: Path) -> None:
    with Wire(server(tmp_path, ANA)) as wire:
        for id in range(1, 200):
            wire.call(id, "observe", text="x" * 2_000)  # answered with far more than a pipe holds
        wire.process.send_signal(signal.SIGTERM)
        assert wire.process.wait(20) == 0
