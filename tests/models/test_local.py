"""The packaged model: what it promises of its vectors, when it loads, and what it says when it cannot."""

import gc
import hashlib
import json
import shutil
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import reverie_small
from reverie.errors import BadInput, ModelError
from reverie.models.local import Local

TEXTS = [
    "Ana: I moved to Oaxaca in May, and the first thing I bought was a red bicycle.",
    "Ben: The cat is ill again.",
    "",
    "Ana: " + "We talked about the garden, the roof and the neighbours. " * 9,
    "Ben: ok",
    "Ana: Mi hermana vive en Lima.",
    "Ben: The cat is well again.",
]


@pytest.fixture(scope="module")
def local() -> Local:
    return Local()


def test_a_question_is_nearest_to_its_answer(local: Local) -> None:
    texts = local.embed(TEXTS)
    questions = local.embed(["Where does Ana live?", "How is Ben's pet?"])
    assert (questions @ texts.T).argmax(axis=1).tolist()[0] == 0
    assert (questions @ texts.T).argmax(axis=1).tolist()[1] in (1, 6)


def test_every_text_gets_a_row_of_length_one_in_its_place(local: Local) -> None:
    vectors = local.embed(TEXTS)
    assert (vectors.shape, str(vectors.dtype)) == ((len(TEXTS), 384), "float32")
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_text_gets_the_same_vector_in_any_company(local: Local) -> None:
    together = local.embed(TEXTS * 2)
    apart = np.concatenate([local.embed([text]) for text in TEXTS])
    assert np.array_equal(together, np.concatenate([apart] * 2))
    assert np.array_equal(local.embed(TEXTS[::-1]), apart[::-1])


def test_no_texts_give_no_rows(local: Local) -> None:
    assert local.embed([]).shape == (0, 384)


def test_of_a_long_text_what_comes_after_the_first_512_tokens_does_not_count(local: Local) -> None:
    start = "word " * 510
    first, second, third = local.embed([start, start + "and more", "and more " + start])
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)


def test_many_threads_get_what_one_gets(local: Local) -> None:
    expected = local.embed(TEXTS)
    fresh = Local(threads=2)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: fresh.embed(TEXTS), range(4)):
            assert np.array_equal(found, expected)


def test_the_name_holds_the_hash_of_the_packaged_model() -> None:
    digest = hashlib.sha256((reverie_small.FOLDER / "model.onnx").read_bytes()).hexdigest()
    assert digest == reverie_small.SHA256
    assert Local().name == f"reverie-small@{digest[:8]}"


def test_the_same_model_in_a_folder_has_the_same_name_and_another_one_another(tmp_path: Path) -> None:
    for file in ("model.onnx", "vocab.txt"):
        shutil.copy(reverie_small.FOLDER / file, tmp_path)
    assert Local(tmp_path).name == Local().name
    with (tmp_path / "model.onnx").open("ab") as model:
        model.write(b"\0")
    assert Local(tmp_path).name != Local().name


def test_nothing_is_loaded_before_the_first_text() -> None:
    script = (
        "import json, sys; from reverie.models.local import Local; Local().name;"
        "print(json.dumps([name for name in ('onnxruntime', 'numpy') if name in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []


def test_a_model_goes_with_its_embedder() -> None:
    embedder = Local()
    embedder.embed(["hello"])
    assert embedder._loaded is not None
    session = weakref.ref(embedder._loaded.session)
    del embedder
    gc.collect()
    assert session() is None


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no model\.onnx in .*holds model\.onnx and vocab\.txt"):
        Local(tmp_path)


def test_no_threads_are_refused() -> None:
    with pytest.raises(BadInput, match="threads must be at least 1, not 0"):
        Local(threads=0)


@pytest.mark.parametrize("size", [0, 130, 1_000_000])
def test_a_damaged_model_says_what_to_do(tmp_path: Path, size: int, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copy(reverie_small.FOLDER / "vocab.txt", tmp_path)
    (tmp_path / "model.onnx").write_bytes((reverie_small.FOLDER / "model.onnx").read_bytes()[:size])
    embedder = Local(tmp_path)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"model\.onnx cannot be loaded, install it again"):
            embedder.embed(["hello"])
    assert capfd.readouterr() == ("", "")


def test_a_vocabulary_that_does_not_fit_the_model_is_a_model_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shutil.copy(reverie_small.FOLDER / "model.onnx", tmp_path)
    pieces = ["[CLS]", "[SEP]", "[UNK]", *(f"#{number}" for number in range(40_000)), "hello"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces))
    with pytest.raises(ModelError, match="the embedding model failed on 1 texts of 3 tokens"):
        Local(tmp_path).embed(["hello"])
    assert capfd.readouterr() == ("", "")


def test_a_missing_package_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reverie_small", None)
    with pytest.raises(ModelError, match="pip install reverie-small"):
        Local().embed(["hello"])
