"""Embeddings from a server that speaks OpenAI's protocol: OpenAI itself, Ollama, vLLM and others.

The texts leave this machine; nothing else does. Only what may pass is tried again: no connection, no answer in time, 429
and 5xx. The key is sent to that server and shown nowhere: not in `repr`, logs or errors, even if the server repeats it.
"""

from __future__ import annotations

import json
import random
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, NoReturn

from reverie.errors import BadInput, ModelError
from reverie.models.server import LONGEST_WAIT_S, address, checked_key, one_line

if TYPE_CHECKING:
    import httpx2

    from reverie.models.base import Floats

_TEXTS, _CHARACTERS = 128, 100_000  # in one request; servers refuse much more, and a lost one is sent again whole
_BLANK = "."  # stands for a text without words, which servers refuse


class OpenAI:
    """Embeds texts by asking `url`/embeddings for `model`; its name holds both, since a server decides what a model is."""

    languages: frozenset[str] | None = None

    def __init__(
        self,
        model: str,
        url: str = "https://api.openai.com/v1",
        key: str | None = None,
        timeout_s: float = 30.0,
        tries: int = 3,
        *,
        pause_s: float = 0.5,
        scale: tuple[float, float] = (0.1, 0.6),
    ) -> None:
        if find_spec("httpx2") is None:
            raise BadInput(f"embedder openai:{model} needs an HTTP client: pip install httpx2")
        if not model.strip():
            raise BadInput("the embedder names no model; write openai:MODEL, such as openai:text-embedding-3-small")
        if timeout_s <= 0 or tries < 1:
            raise BadInput(f"timeout_s must be above 0 and tries at least 1, not {timeout_s} and {tries}")
        base, place = address(url)
        self._url = f"{base}/embeddings"
        self._key = checked_key(key, "OPENAI_API_KEY", "OpenAI" if place == "api.openai.com" else None)
        self.name = f"openai:{model}@{place}"
        self.scale = scale
        self._model, self._timeout_s, self._tries, self._pause_s = model, timeout_s, tries, pause_s
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._length: int | None = None

    def __repr__(self) -> str:
        return f"OpenAI({self.name!r})"

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of length 1 for each text, in order."""
        import numpy as np

        parts = [self._embed_batch(batch) for batch in _batches(texts)]
        return np.concatenate(parts) if parts else np.empty((0, self._length or 0), np.float32)

    def _embed_batch(self, texts: list[str]) -> Floats:
        import numpy as np

        rows = self._rows(self._ask(texts), len(texts))
        try:
            vectors = np.array(rows, np.float64)
        except (TypeError, ValueError, OverflowError) as exc:
            raise ModelError(f"{self.name} sent vectors that are not lists of numbers, all equally long") from exc
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise ModelError(f"{self.name} sent vectors that are not lists of numbers, all equally long")
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise ModelError(f"{self.name} sent a vector without direction: NaN, infinite or all zero")
        self._expect_length(vectors.shape[1])
        return np.asarray(vectors / lengths, np.float32)

    def _expect_length(self, length: int) -> None:
        with self._lock:
            if self._length is None:
                self._length = length
        if length != self._length:
            raise ModelError(
                f"{self.name} sent vectors of {self._length} numbers before and now of {length}; has its model changed?"
            )

    def _rows(self, answer: object, count: int) -> list[object]:
        found = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(found, list) or not all(isinstance(one, dict) and "embedding" in one for one in found):
            raise ModelError(f"{self.name} answered without embeddings: {self._shown(json.dumps(answer))}")
        rows = {str(one.get("index", place)): one["embedding"] for place, one in enumerate(found)}
        if len(found) != count or rows.keys() != {str(place) for place in range(count)}:
            raise ModelError(f"{self.name} was sent {count} texts and numbered its {len(found)} vectors {', '.join(rows)[:80]}")
        return [rows[str(place)] for place in range(count)]

    def _ask(self, texts: list[str]) -> object:
        import httpx2

        body = json.dumps({"model": self._model, "input": texts, "encoding_format": "float"}).encode()
        for attempt in range(1, self._tries + 1):
            wait_s = self._pause_s * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)  # so that many do not come back at once
            try:
                answer = self._connected().post(self._url, content=body)
            except httpx2.TransportError as exc:
                if attempt == self._tries:
                    raise ModelError(self._unreachable(exc)) from exc
            except httpx2.HTTPError as exc:
                raise ModelError(f"{self.name} could not be asked: {self._shown(str(exc))}") from exc
            else:
                if answer.is_success:
                    return self._parsed(answer.text)
                asked_s = _retry_after(answer.headers.get("retry-after"))
                may_pass = answer.status_code == 429 or answer.status_code >= 500
                if not may_pass or attempt == self._tries or (asked_s or 0) > LONGEST_WAIT_S:
                    self._refused(answer.status_code, answer.text, attempt, asked_s)
                wait_s = wait_s if asked_s is None else asked_s
            time.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    def _connected(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(headers={"Content-Type": "application/json"}, timeout=self._timeout_s)
                if self._key:
                    self._client.headers["Authorization"] = f"Bearer {self._key}"
                weakref.finalize(self, self._client.close)
            return self._client

    def _parsed(self, body: str) -> object:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as exc:
            raise ModelError(f"{self.name} did not answer in JSON: {self._shown(body)}") from exc

    def _unreachable(self, exc: Exception) -> str:
        import httpx2

        if isinstance(exc, httpx2.TimeoutException):
            return f"{self._url} did not answer within {self._timeout_s:g} s, {self._tries} times; is the server busy?"
        return f"{self._url} cannot be reached ({self._shown(str(exc))}), tried {self._tries} times; is the server running?"

    def _refused(self, status: int, body: str, attempts: int, asked_s: float | None) -> NoReturn:
        said = self._shown(body)
        match status:
            case 401 | 403 if self._key is None:
                raise ModelError(f"{self._url} wants a key and none is set; set OPENAI_API_KEY ({status}: {said})")
            case 401 | 403:
                raise ModelError(f"{self._url} refused the key; check OPENAI_API_KEY ({status}: {said})")
            case 404:
                raise ModelError(f"{self._url} knows no model {self._model!r}; check its name and the url (404: {said})")
            case _ if 300 <= status < 400:
                raise ModelError(
                    f"{self._url} sends elsewhere ({status}), which is not followed; set openai_url to the right place"
                )
            case _:
                tried = f" after {attempts} tries" if attempts > 1 else ""
                wait = f", asking to wait {asked_s:.0f} s" if asked_s else ""
                raise ModelError(f"{self._url} answered {status}{tried}{wait}: {said}")

    def _shown(self, text: str) -> str:
        return one_line(text, self._key)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == _TEXTS or size + len(text) > _CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text if text.strip() else _BLANK)
        size += len(text)
    if batch:
        yield batch


def _retry_after(said: str | None) -> float | None:
    """Return the seconds that a server asks to wait: it may name them or a moment."""
    try:
        if said is None or said.strip().isdecimal():
            return None if said is None else float(said)
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None
