"""What a caller writes for `embedder`, and what it becomes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import reverie_small
from reverie.errors import BadInput
from reverie.models.base import Embedder
from reverie.models.choose import embedder_from
from reverie.models.hashing import Hashing

URL = "http://127.0.0.1:9/v1"


def chosen(choice: object) -> Embedder | None:
    return embedder_from(choice, url=URL, key=None)


def test_each_name_gives_its_embedder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "model").symlink_to(reverie_small.FOLDER)
    named = {choice: chosen(choice) for choice in ("local", "local:~/model", "hashing", "openai:nomic-embed-text")}
    assert {choice: one.name for choice, one in named.items() if one} == {
        "local": reverie_small.NAME,
        "local:~/model": reverie_small.NAME,
        "hashing": Hashing(64).name,
        "openai:nomic-embed-text": "openai:nomic-embed-text@127.0.0.1:9",
    }
    assert chosen("none") is None


def test_an_embedder_of_ones_own_is_taken_as_it_is() -> None:
    own = chosen("hashing")
    assert chosen(own) is own


def test_choosing_loads_no_model() -> None:
    script = (
        "import json, sys; from reverie.models.choose import embedder_from\n"
        "for choice in ('local', 'none', 'hashing', 'openai:x'): embedder_from(choice, url='http://localhost/v1', key=None)\n"
        "print(json.dumps([name for name in ('onnxruntime', 'httpx2', 'numpy') if name in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("locla", "no embedder named 'locla'; nearest is 'local'"),
        ("None", "no embedder named 'None'; nearest is 'none'"),
        ("openai", "no embedder named 'openai'; nearest is 'openai:MODEL'"),
        ("openia:ada", "no embedder named 'openia:ada'; nearest is 'openai:ada'"),
        ("hashing:64", "no embedder named 'hashing:64'; nearest is 'hashing'"),
        ("local:", "no embedder named 'local:'; nearest is 'local'"),
        ("none:x", "no embedder named 'none:x'; nearest is 'none'"),
        ("", "no embedder named ''; one of local, none, hashing, local:FOLDER, openai:MODEL, or an object of your own"),
        (None, "embedder is a NoneType; give one of local, none, hashing, local:FOLDER, openai:MODEL, or an object with"),
        (Path, "embedder is the class Path itself; give one of"),
        (7, "embedder is a int; give one of"),
        ("local:/nowhere", "no model.onnx in '/nowhere'"),
    ],
)
def test_anything_else_is_refused_with_what_was_probably_meant(choice: object, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        chosen(choice)
    assert str(caught.value).startswith(said)
