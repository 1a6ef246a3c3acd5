"""The embedder that needs no network: an ONNX model on the processor, by default the packaged `reverie-small`.

A text gets the same vector in whatever company it comes: only texts of equally many tokens share a batch, so nothing is
padded. (The model rounds to 8 bits inside, and padding shifts what is rounded: the cosine to the vector of the same text
embedded alone was 0.9998.) This costs nothing; small batches turned out fastest anyhow.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from reverie.errors import BadInput, ModelError
from reverie.memory import check
from reverie.models.wordpiece import WordPiece

if TYPE_CHECKING:
    from reverie.models.base import Floats

LONGEST = 512  # tokens; the model has no more positions, and what comes after is not read
# Tokens in a batch. Chat texts of 5 to 60 words, one thread: 44 texts/s one by one, 47 at 128 to 512; with padded batches
# 41 at 1,024 and 25 at 8,192, which leave the processor's cache. Less also means less memory, and shorter waits for others.
_BATCH = 256


class Local:
    """Embeds English texts with the packaged model, or with that of a folder holding `model.onnx` and `vocab.txt`."""

    languages: frozenset[str] | None = frozenset({"en"})
    # Of 233 questions, 19 in 20 find nothing above 0.75 among 400 turns of a chat they are not about; the best turn of their
    # own lies at 0.87 in the middle and above 0.89 for one in four.
    scale: tuple[float, float] = (0.75, 0.9)

    def __init__(self, folder: str | os.PathLike[str] | None = None, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise BadInput(f"threads must be at least 1, not {threads}")
        self._folder = None if folder is None else check.path(folder, "the folder of a model")
        if self._folder and not (self._folder / "model.onnx").is_file():
            raise BadInput(f"no model.onnx in {os.fspath(self._folder)!r}; name a folder that holds model.onnx and vocab.txt")
        self._threads = threads or max(1, (os.cpu_count() or 1) // 2)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @cached_property
    def name(self) -> str:
        """Return what its vectors are kept under: the packaged model knows its hash, another one is read for it."""
        if self._folder is None:
            return str(_packaged().NAME)
        try:
            with (self._folder / "model.onnx").open("rb") as model:
                return f"reverie-small@{hashlib.file_digest(model, 'sha256').hexdigest()[:8]}"
        except OSError as exc:
            raise ModelError(f"cannot read {self._folder / 'model.onnx'}: {exc.strerror}") from exc

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of length 1 for each text, in order; of a long text its first 512 tokens count."""
        import numpy as np

        loaded = self._load()
        by_length: dict[int, list[tuple[int, list[int]]]] = {}
        for row, text in enumerate(texts):
            ids = loaded.pieces.encode(text, LONGEST)
            by_length.setdefault(len(ids), []).append((row, ids))
        vectors = np.empty((len(texts), loaded.length), np.float32)
        for length, alike in by_length.items():
            most = max(1, _BATCH // length)
            for start in range(0, len(alike), most):
                rows, batch = zip(*alike[start : start + most], strict=True)
                vectors[list(rows)] = loaded.run(np.array(batch, np.int64))
        if not np.isfinite(vectors).all():
            raise ModelError(f"{self!r} made vectors that are no numbers; its model.onnx is damaged, install it again")
        return vectors

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(_packaged().FOLDER if self._folder is None else self._folder, self._threads)
            return self._loaded

    def __repr__(self) -> str:
        return f"Local({os.fspath(self._folder)!r})" if self._folder else "Local()"


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model in memory; running it is safe from many threads."""

    session: Any
    pieces: WordPiece
    length: int

    def run(self, ids: Any) -> Any:
        import numpy as np

        try:
            return self.session.run(["embedding"], {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
        except Exception as exc:  # onnxruntime raises classes of its own that share no other base
            raise ModelError(f"the embedding model failed on {len(ids)} texts of {ids.shape[1]} tokens: {exc}") from exc


def _packaged() -> ModuleType:
    try:
        import reverie_small

        return reverie_small
    except ModuleNotFoundError as exc:
        raise ModelError("the packaged model is not installed; run `pip install reverie-small`, or name a folder") from exc


def _load(folder: Path, threads: int) -> _Loaded:
    # onnxruntime 1.29 and newer report to their maker when imported, and write an identifier into the user's home.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # else idle threads keep cores busy
    options.log_severity_level = 4  # what goes wrong is raised; nothing is to be printed as well
    pieces = WordPiece(folder / "vocab.txt")
    try:
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    except Exception as exc:  # as above
        raise ModelError(f"{folder / 'model.onnx'} cannot be loaded, install it again: {exc}") from exc
    lengths = {output.name: output.shape[-1] for output in session.get_outputs()}
    if not isinstance(length := lengths.get("embedding"), int):
        raise ModelError(f"{folder / 'model.onnx'} has no output `embedding` of a fixed length, but {', '.join(lengths)}")
    return _Loaded(session, pieces, length)
