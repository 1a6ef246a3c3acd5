"""A server on this machine that answers as each test tells it to."""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KEY = "sk-very-secret-0123456789"

Asked = dict[str, Any]  # what was sent, and the `path` it was sent to
Reply = tuple[int, dict[str, str], str]
Answers = Callable[[Asked], Reply] | Reply


class Server(ThreadingHTTPServer):
    """Answers each request by the next of its replies, the last one over and over."""

    daemon_threads = True

    def __init__(self, reply: Answers) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.replies: Iterator[Answers] = itertools.repeat(reply)
        self.asked: list[Asked] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def then(self, *replies: Answers) -> None:
        self.replies = itertools.chain(replies, itertools.repeat(replies[-1]))

    def slow(self, asked: Asked) -> Reply:
        """Answer when nobody waits for it any more."""
        self.released.wait(30)
        return 503, {}, f"too late for {asked['path']}"

    def handle_error(self, *_: object) -> None:
        pass  # whoever gave up waiting has hung up

    @contextmanager
    def serving(self) -> Iterator[Self]:
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self.shutdown()
            thread.join()
            self.server_close()


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        asked = {"path": self.path, **json.loads(self.rfile.read(int(self.headers["Content-Length"])))}
        self.server.asked.append(asked)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        reply = next(self.server.replies)
        status, headers, body = reply if isinstance(reply, tuple) else reply(asked)
        if status == 0:  # hang up without an answer
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass
