"""What the documentation shows is what happens: its examples run, in order, file by file, and print what it says they print.

A ```python block is run; a ```text block right after it is what it printed. Dates of the day are compared as dates, not as
that one day. Links between documents lead somewhere, and the examples inside the source run too.
"""

import contextlib
import doctest
import importlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MODULES = sorted((SOURCE / "reverie").rglob("*.py"))

FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$\n*", re.M | re.S)
DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@dataclass(frozen=True, slots=True)
class Example:
    """A block of code, the line it begins at, and what it is said to print (None: not said)."""

    code: str
    line: int
    printed: str | None


def examples(page: str) -> list[Example]:
    """Return the Python examples of a page, in order."""
    fences = list(FENCE.finditer(page))
    found = []
    for number, fence in enumerate(fences):
        if fence["language"] != "python":
            continue
        after = fences[number + 1] if number + 1 < len(fences) else None
        is_output = after is not None and after["language"] == "text" and after.start() == fence.end()
        line = page.count("\n", 0, fence.start("body"))
        found.append(Example(fence["body"], line, after["body"] if after and is_output else None))
    return found


def printed_by(example: Example, names: dict[str, object], called: str) -> str:
    """Run an example among the names that earlier ones left, and return what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * example.line + example.code, called, "exec"), names)
    return out.getvalue()


def undated(text: str) -> str:
    return DAY.sub("(a day)", text)


def ids(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def with_examples() -> list[Path]:
    return [page for page in PAGES if examples(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", with_examples(), ids=ids)
def test_the_examples_of_a_page_run_and_print_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    names: dict[str, object] = {"__name__": "__main__"}
    for example in examples(page.read_text("utf-8")):
        said = printed_by(example, names, ids(page))
        if example.printed is not None:
            assert undated(said) == undated(example.printed), f"{ids(page)}:{example.line + 1}"


def test_the_pages_that_promise_examples_have_them() -> None:
    guides = ("embedders", "keeping-and-erasing", "learning", "mcp", "scopes-and-privacy")
    promised = {"README.md", *(f"docs/guides/{guide}.md" for guide in guides)}
    assert promised <= {ids(page) for page in with_examples()}


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    broken = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert broken == []


def test_the_readme_keeps_to_its_length_and_to_ten_lines_on_the_first_screen() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    first = examples(readme)[0]
    code = [line for line in first.code.splitlines() if line.strip()]
    assert len(readme.split()) < 700
    assert len(code) <= 10
    assert first.line < 10
    assert first.printed is not None


def source_modules() -> Iterator[ModuleType]:
    for path in MODULES:
        parts = path.relative_to(SOURCE).with_suffix("").parts
        yield importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))


def test_the_examples_in_the_source_run() -> None:
    attempted = 0
    for module in source_modules():
        outcome = doctest.testmod(module)
        assert outcome.failed == 0, module.__name__
        attempted += outcome.attempted
    assert attempted > 0


# Below, the checker is checked.


def test_an_example_is_paired_with_the_output_right_after_it_only() -> None:
    page = "x\n```python\na = 1\n```\n\n```text\n1\n```\n\n```python\nb\n```\nand\n```text\nno\n```\n```\nmake\n```\n"
    assert examples(page) == [Example("a = 1\n", 2, "1\n"), Example("b\n", 10, None)]


def test_later_examples_see_what_earlier_ones_named() -> None:
    names: dict[str, object] = {}
    assert printed_by(Example("a = 20\n", 0, None), names, "page") == ""
    assert printed_by(Example("print(a + 1)\n", 4, "21\n"), names, "page") == "21\n"


def test_a_failing_example_names_its_page_and_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        printed_by(Example("1 / 0\n", 6, None), {}, "page.md")
    where = caught.traceback[-1]
    assert (str(where.path).rpartition("/")[2], where.lineno + 1) == ("page.md", 7)


def test_days_are_compared_as_days() -> None:
    assert undated("1.00  2026-03-02 · Ana") == undated("1.00  2031-12-31 · Ana") != undated("0.90  2026-03-02 · Ana")


@pytest.mark.parametrize(
    ("text", "links"),
    [("[a](docs/x.md#part)", ["docs/x.md"]), ("[a](https://example.com/x)", []), ("[a](#here)", [])],
)
def test_only_links_inside_the_checkout_are_followed(text: str, links: list[str]) -> None:
    assert LINK.findall(text) == links
