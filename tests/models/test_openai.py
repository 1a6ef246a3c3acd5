"""The embedder behind a server, asked through a real one on this machine that answers as each test tells it to."""

import json
import logging
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

from reverie.errors import BadInput, ModelError
from reverie.models.openai import OpenAI
from tests.models import servers
from tests.models.servers import KEY, Reply


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, float(sum(map(ord, text)) % 97)]


def embedded(asked: servers.Asked) -> Reply:
    """Answer as OpenAI does, last text first: only the index says which is which."""
    texts = asked["input"]
    data = [{"object": "embedding", "index": place, "embedding": vector_of(text)} for place, text in enumerate(texts)]
    return 200, {}, json.dumps({"object": "list", "data": data[::-1], "model": "small"})


class Server(servers.Server):
    """Is asked as OpenAI is."""

    def __init__(self) -> None:
        super().__init__(embedded)

    def embedder(self, *, timeout_s: float = 5.0, tries: int = 3, key: str | None = KEY) -> OpenAI:
        return OpenAI("small", self.url, key, timeout_s, tries, pause_s=0.001)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().serving() as server:
        yield server


def failure(embedder: OpenAI, texts: list[str] | None = None) -> str:
    with pytest.raises(ModelError) as caught:
        embedder.embed(["hello"] if texts is None else texts)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def test_rows_come_in_the_order_of_the_texts_and_have_length_one(server: Server) -> None:
    texts = ["a", "bbb", "cc"]
    vectors = server.embedder().embed(texts)
    expected = np.array([vector_of(text) for text in texts])
    assert vectors.dtype == np.float32
    assert np.allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True))


def test_the_server_is_sent_the_model_the_texts_and_the_key(server: Server) -> None:
    server.embedder().embed(["a", "b"])
    assert server.asked == [{"path": "/v1/embeddings", "model": "small", "input": ["a", "b"], "encoding_format": "float"}]
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_without_a_key_none_is_sent(server: Server) -> None:
    server.embedder(key=None).embed(["a"])
    assert "authorization" not in server.headers[0]


def test_many_texts_are_sent_in_batches(server: Server) -> None:
    texts = [f"text {number}" for number in range(300)] + ["x" * 60_000, "y" * 60_000, "z"]
    vectors = server.embedder().embed(texts)
    assert [len(asked["input"]) for asked in server.asked] == [128, 128, 45, 2]
    assert [text for asked in server.asked for text in asked["input"]] == texts
    assert len(vectors) == 303


def test_nothing_is_asked_for_no_texts(server: Server) -> None:
    assert len(server.embedder().embed([])) == 0
    assert server.asked == []


def test_a_blank_text_and_half_a_character_get_vectors_too(server: Server) -> None:
    assert server.embedder().embed(["", " \n", "\ud800"]).shape == (3, 3)
    assert all(text.strip() for text in server.asked[0]["input"])


@pytest.mark.parametrize(
    "passing",
    [
        (429, {"Retry-After": "0"}, "slow down"),
        (429, {"Retry-After": "soon"}, "slow down"),
        (429, {"Retry-After": format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)}, ""),
        (500, {}, "oops"),
        (503, {}, "loading"),
        (0, {}, ""),
    ],
    ids=["429 now", "429 unclear", "429 at a moment", "500", "503", "hung up"],
)
def test_what_may_pass_is_tried_again(server: Server, passing: Reply) -> None:
    server.then(passing, passing, embedded)
    assert server.embedder().embed(["a"]).shape == (1, 3)
    assert len(server.asked) == 3


def test_what_does_not_pass_is_reported_after_the_last_try(server: Server) -> None:
    server.then((503, {}, '{"error": "loading"}'))
    said = failure(server.embedder(tries=2))
    assert said == f'{server.url}/embeddings answered 503 after 2 tries: {{"error": "loading"}}'
    assert len(server.asked) == 2


def test_the_wait_that_a_server_asks_for_is_kept(server: Server) -> None:
    server.then((429, {"Retry-After": "1"}, ""), embedded)
    started = time.monotonic()
    server.embedder().embed(["a"])
    assert time.monotonic() - started >= 1


@pytest.mark.parametrize(
    "wait", ["3600", format_datetime(datetime.now(UTC) + timedelta(days=1), usegmt=True)], ids=["seconds", "date"]
)
def test_a_server_that_asks_for_a_very_long_wait_is_reported_at_once(server: Server, wait: str) -> None:
    server.then((429, {"Retry-After": wait}, "come back later"))
    assert "answered 429, asking to wait" in failure(server.embedder())
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "key", "said"),
    [
        ((401, {}, "bad key"), KEY, "refused the key; check OPENAI_API_KEY (401: bad key)"),
        ((403, {}, ""), None, "wants a key and none is set; set OPENAI_API_KEY (403: )"),
        ((404, {}, "no model"), KEY, "knows no model 'small'; check its name and the url (404: no model)"),
        ((400, {}, "too\n\tlong\x1b[31m"), KEY, "answered 400: too long [31m"),
        ((422, {}, "x" * 5000), KEY, "answered 422: " + "x" * 199 + "…"),
        ((302, {"Location": "http://127.0.0.1:9/"}, ""), KEY, "sends elsewhere (302), which is not followed"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(server: Server, reply: Reply, key: str | None, said: str) -> None:
    server.then(reply)
    assert said in failure(server.embedder(key=key))
    assert len(server.asked) == 1


def data(*rows: object) -> Reply:
    return 200, {}, json.dumps({"data": [{"index": place, "embedding": row} for place, row in enumerate(rows)]})


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ((200, {}, "<html>hello</html>"), "did not answer in JSON: <html>hello</html>"),
        ((200, {}, "[" * 100_000), "did not answer in JSON: [["),
        ((200, {}, '{"error": "no"}'), 'answered without embeddings: {"error": "no"}'),
        ((200, {}, "[1]"), "answered without embeddings"),
        ((200, {}, '{"data": [{"index": 0}]}'), "answered without embeddings"),
        (data([1.0, 0.0]), "was sent 2 texts and numbered its 1 vectors 0"),
        (data([1.0], [1.0], [1.0]), "was sent 2 texts and numbered its 3 vectors 0, 1, 2"),
        ((200, {}, '{"data": [{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [1]}]}'), "numbered its 2 vectors 1"),
        ((200, {}, '{"data": [{"index": [], "embedding": [1]}, {"index": 1, "embedding": [1]}]}'), "numbered its 2 vectors []"),
        (data([1.0, float("nan")], [1.0, 2.0]), "a vector without direction"),
        (data([1.0, float("inf")], [1.0, 2.0]), "a vector without direction"),
        (data([1.0, 1e300], [1.0, 2.0]), "a vector without direction"),
        (data([0.0, 0.0], [1.0, 2.0]), "a vector without direction"),
        (data([1.0], [1.0, 2.0]), "not lists of numbers, all equally long"),
        (data([None], [1.0]), "a vector without direction"),
        (data("AAAA", "AAAA"), "not lists of numbers, all equally long"),
        (data([], []), "not lists of numbers, all equally long"),
        (data([[1.0]], [[1.0]]), "not lists of numbers, all equally long"),
        (data({"a": 1}, {"a": 1}), "not lists of numbers, all equally long"),
    ],
)
def test_an_answer_that_makes_no_sense_is_reported(server: Server, reply: Reply, said: str) -> None:
    server.then(reply)
    assert said in failure(server.embedder(), ["a", "b"])
    assert len(server.asked) == 1


def test_rows_without_a_number_are_taken_in_the_order_sent(server: Server) -> None:
    server.then((200, {}, '{"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}'))
    assert server.embedder().embed(["a", "b"]).tolist() == [[1, 0], [0, 1]]


def test_vectors_that_change_their_length_are_refused(server: Server) -> None:
    server.then(data([1.0, 2.0]), data([1.0, 2.0, 3.0]))
    embedder = server.embedder()
    embedder.embed(["a"])
    assert "sent vectors of 2 numbers before and now of 3; has its model changed?" in failure(embedder)


def test_a_server_that_does_not_answer_in_time_is_given_up(server: Server) -> None:
    server.then(server.slow)
    assert failure(server.embedder(timeout_s=0.1, tries=2)).endswith(
        "did not answer within 0.1 s, 2 times; is the server busy?"
    )
    assert len(server.asked) == 2


def test_a_server_that_is_slow_once_is_asked_again(server: Server) -> None:
    server.then(server.slow, embedded)
    assert server.embedder(timeout_s=0.3).embed(["a"]).shape == (1, 3)


def test_a_server_that_is_not_there_is_named() -> None:
    embedder = OpenAI("small", "http://127.0.0.1:9/v1", KEY, tries=2, pause_s=0.001)
    said = failure(embedder)
    assert said.startswith("http://127.0.0.1:9/v1/embeddings cannot be reached (")
    assert said.endswith("tried 2 times; is the server running?")


def test_many_threads_share_one_embedder(server: Server) -> None:
    embedder = server.embedder()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: embedder.embed(["x" * number])[0], range(1, 41)))
    for number, vector in enumerate(found, start=1):
        expected = np.array(vector_of("x" * number))
        assert np.allclose(vector, expected / np.linalg.norm(expected))


def test_the_key_is_shown_nowhere(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.then((500, {}, f"internal error, key {KEY}"), (401, {}, f"Incorrect API key provided: {KEY}"))
    embedder = server.embedder()
    assert "Incorrect API key provided: [key]" in failure(embedder)
    assert caplog.records
    assert KEY not in caplog.text
    assert KEY not in "".join(map(repr, (embedder, embedder.name, *(record.args for record in caplog.records))))


@pytest.mark.parametrize("key", ["sk-\x1b[31m-0123", "sk-0123 4567", "sk-ñ-0123", "sk-01\n23"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(BadInput, match="holds characters that no key has") as caught:
        OpenAI("small", "http://127.0.0.1:9/v1", key)
    assert "0123" not in "".join(traceback.format_exception(caught.value)).replace(repr(key), "")


def test_white_space_around_a_key_does_not_matter(server: Server) -> None:
    server.embedder(key=f" {KEY}\n").embed(["a"])
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [None, "", " "])
def test_openai_itself_is_not_asked_without_a_key(key: str | None) -> None:
    with pytest.raises(BadInput, match="OpenAI wants a key and none is set; set OPENAI_API_KEY"):
        OpenAI("text-embedding-3-small", key=key)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai:small@api.openai.com"),
        ("https://API.openai.com/v1/", "openai:small@api.openai.com"),
        ("http://localhost:11434/v1", "openai:small@localhost:11434"),
        ("http://[::1]:8000/v1", "openai:small@[::1]:8000"),
        ("https://gate.example/team-a/v1", "openai:small@gate.example/team-a"),
    ],
)
def test_the_name_says_which_model_of_which_server(url: str, name: str) -> None:
    assert OpenAI("small", url, KEY).name == name


@pytest.mark.parametrize(
    "url",
    ["", "localhost:11434", "ftp://a/v1", "http:///v1", "http://a:b/v1", "http://[/v1", "https://a/v1?x=1", "https://a/#x"],
)
def test_an_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="must look like https:"):
        OpenAI("small", url, KEY)


def test_a_password_in_the_url_is_refused_and_not_shown() -> None:
    with pytest.raises(BadInput, match="must not hold a name or password") as caught:
        OpenAI("small", "https://ana:hunter2@example.com/v1", KEY)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("model", "timeout_s", "tries"), [(" ", 1, 1), ("small", 0, 1), ("small", 1, 0)])
def test_settings_that_cannot_work_are_refused(model: str, timeout_s: float, tries: int) -> None:
    with pytest.raises(BadInput):
        OpenAI(model, "http://127.0.0.1:9/v1", KEY, timeout_s, tries)


def test_without_the_extra_the_way_to_install_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(BadInput, match=r"pip install httpx2"):
        OpenAI("small", "http://127.0.0.1:9/v1", KEY)
