"""Tags in what a model writes: taken out of what a person sees, kept for what may be learned (K5, K6).

Whole or streamed in any pieces, a text gives the same; `strip_tags` is a stream fed once. What stands further left decides:

- A tag may be in any case, with a little white space around its name and `/`. If `<` has none behind it, what follows the name
  on its line is ignored (attributes, at most 200 characters). `&lt;memory&gt;`, `＜memory＞` and other spellings are text.
- A tag ends where as many of its name have closed as opened. Other tags in it are markup, taken out of its text. An empty tag
  is none; so is one that is never closed: its text is shown (by a stream at the end). Stray closing tags go, and so does a
  tag begun and not finished (`<memory` without its `>`, `<mem` as the last of the text).
- Code stands as it is: between fences of ``` or ~~~, or of ` on one line. Within a tag, code means nothing.
- `<think>` or `<thinking>` hides all to the first closing one, tags as well. Never closed, it hides the rest of the text if
  nothing was shown before it; else only itself. Where a chat template opens it, say `thinking=True`: then all before the first
  `</think>` is hidden. Unsaid, that text is shown, for a stream could only wait; but tags in it do not count.
- Space on both sides of what was taken out becomes one space, or as many line ends as the side with more of them has; none
  at the beginning and the end. What is shown could read as a tag again (`<mem<memory>x</memory>ory>`): its `<` becomes `(`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reverie.errors import BadInput

NAMES = ("memory", "chat-memory", "working-memory", "chat-context")

_THINK = "think"
_ALL_NAMES = ("thinking", _THINK, *NAMES)
_NAME = "|".join(_ALL_NAMES)
_BEGUN = "|".join(sorted({name[:end] for name in _ALL_NAMES for end in range(1, len(name) + 1)}, key=len, reverse=True))
_SPACE = r"\s{0,9}+"
# Nothing here gives back what it took: a text that only looks like tags takes no longer than another.
_UNENDED = (
    rf"<(?P<apart>\s{{1,9}}+)?+(?P<slash>/?+){_SPACE}(?P<name>{_NAME})"
    rf"(?(apart)|(?:[ \t/][^<>`\n]{{0,200}}+)?+){_SPACE}/?+{_SPACE}"
)
_TOKEN = re.compile(
    rf"(?P<tag>{_UNENDED}>)|(?P<half></?+(?:{_NAME})(?=[\s/<]|\Z))|(?P<run>`++|~++)|(?P<line>\n)"
    rf"|(?:[^<`~\n]++|<(?!{_SPACE}/?+{_SPACE}(?:{_NAME})))++|<",
    re.ASCII | re.IGNORECASE,
)
_MAY_BE_TAG = re.compile(rf"{_UNENDED}\Z|<{_SPACE}/?+{_SPACE}(?:{_BEGUN})?\Z", re.ASCII | re.IGNORECASE)
_BROKEN_OFF = re.compile("<(?:/[a-z]|[a-z]{3})[a-z-]*", re.IGNORECASE)  # of `b<c` the end is no tag
_WHITE = " \t\n\r\f\v"
_BEFORE_FENCE = " \t>-*+.)0123456789"  # a fence may stand in a list or a quotation
_BEFORE_FENCE_END = " \t>"
_TITLE = re.compile(r"[\s#*_-]*+(?P<title>[^:：\n]{1,60}?)[ \t*_]*+(?::[*_]*+(?=\s)|：[*_]*+)\s*+(?P<text>.+)", re.DOTALL)
_SENTENCE = re.compile(r"[.!?;…](?:\s|\Z)|[¿¡。！？；]")


@dataclass(frozen=True, slots=True)
class Tag:
    """What a model put between a tag of that name and its closing one."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Stripped:
    """What a person sees of a model's text, and the tags that were in it."""

    text: str
    tags: tuple[Tag, ...]


class _Token(NamedTuple):
    """A part of a text: "text", "line", a run of "`" or "~", or markup: "open", "unclosed", "close", "noise"."""

    kind: str
    text: str
    name: str = ""
    length: int = 0  # of a run

    @property
    def is_markup(self) -> bool:
        return self.kind in ("open", "unclosed", "close", "noise")


def strip_tags(text: str, *, thinking: bool = False) -> Stripped:
    """Take the tags out of a whole text.

    >>> strip_tags("Noted. <memory>Tea: Ana takes it green</memory>")
    Stripped(text='Noted.', tags=(Tag(name='memory', text='Tea: Ana takes it green'),))
    """
    stream = TagStream(thinking=thinking)
    shown = stream.feed(text) + stream.close()
    return Stripped(shown, stream.tags)


def titled(text: str) -> tuple[str | None, str]:
    """Split `Title: fact` (K3); what stands before the colon must be short and neither a sentence, an address nor a time.

    >>> titled("Tea: Ana takes it green"), titled("Meets Ben at 10:30")
    (('Tea', 'Ana takes it green'), (None, 'Meets Ben at 10:30'))
    """
    found = _TITLE.fullmatch(text)
    if found is None or _SENTENCE.search(found["title"]) or not any(map(str.isalpha, found["title"])):
        return None, text
    return found["title"], found["text"]


class TagStream:
    """Takes the tags out of a text while it arrives, and holds back only what may be part of one."""

    def __init__(self, *, thinking: bool = False) -> None:
        self._tags: list[Tag] = []
        self._tokens, self._page = _Tokens(), _Page()
        self._run, self._run_length = "", 0
        self._thought = False
        self._indent: int | None = 0  # characters of the line so far, None once a fence can no longer begin or end in it
        self._fence, self._fence_indent, self._fence_ends = _Token("`", ""), 0, False
        self._span, self._span_has_markup = _Token("`", ""), False
        self._span_indent: int | None = None
        self._held: list[_Token] = []
        self._outer, self._depth = _THINK, 1
        self._take: Callable[[_Token], None] = self._in_tag if thinking else self._in_text

    @property
    def tags(self) -> tuple[Tag, ...]:
        """The tags so far; they are final once the stream is closed."""
        return tuple(self._tags)

    def feed(self, piece: str) -> str:
        """Take the next piece of the text and return what may be shown now."""
        if not isinstance(piece, str):
            raise BadInput(f"tags are taken out of a str, not {type(piece).__name__}; where there is no text, give ''")
        for token in self._tokens.read(piece):
            self._join(token)
        return self._page.turn()

    def close(self) -> str:
        """Return what was held back, now that nothing follows."""
        for token in self._tokens.rest():
            self._join(token)
        self._end_run()
        while self._take in (self._in_span, self._in_tag):
            if self._take == self._in_span:
                self._end_span()
            else:
                self._give_up_tag()
        return self._page.rest()

    def _join(self, token: _Token) -> None:
        """Take a token; runs that pieces cut in two are one."""
        if token.length and token.kind == self._run:
            self._run_length += token.length
            return
        self._end_run()
        if token.length:
            self._run, self._run_length = token.kind, token.length
        else:
            self._take(token)

    def _end_run(self) -> None:
        if self._run:
            run, self._run = _Token(self._run, self._run * self._run_length, length=self._run_length), ""
            self._take(run)

    def _in_text(self, token: _Token) -> None:
        match token.kind:
            case "text":
                self._page.show(token.text)
                self._indented(token.text, _BEFORE_FENCE)
            case "line":
                self._page.show(token.text)
                self._indent = 0
            case "`":
                self._page.show(token.text)
                self._span, self._span_indent, self._span_has_markup = token, self._indent, False
                self._indent = None
                self._take = self._in_span
            case "~":
                self._page.show(token.text)
                if self._indent is not None and token.length >= 3:
                    self._begin_fence(token, self._indent)
                self._indent = None
            case "open" | "unclosed" if token.name == _THINK and not self._page.begun:
                self._page.cut()
                self._outer, self._take = _THINK, self._in_thought
            case "open":
                self._page.cut()
                self._outer, self._depth, self._take = token.name, 1, self._in_tag
            case _:
                self._page.cut()
                if token.kind == "close" and token.name == _THINK and not self._thought:
                    self._tags.clear()

    def _in_span(self, token: _Token) -> None:
        """Behind a "`" that may begin code: what is no markup is shown either way."""
        if token.kind == "`" and token.length == self._span.length:
            self._show_held_as_code()
            self._page.show(token.text)
            self._take = self._in_text
        elif "\n" in token.text:
            self._end_span()
            self._take(token)
        elif token.is_markup or self._span_has_markup:
            self._span_has_markup = True
            self._held.append(token)
        else:
            self._page.show(token.text)
            if token.length:
                self._held.append(token._replace(text=""))

    def _end_span(self) -> None:
        """The line is over and the "`" began no code on it: it began a fence, or it is a character like others."""
        self._take = self._in_text
        last = {token.length: at for at, token in enumerate(self._held) if token.kind == "`"}
        if self._span_indent is not None and self._span.length >= 3 and not last:
            self._show_held_as_code()
            self._begin_fence(self._span, self._span_indent)
            return
        held, self._held = self._held, []
        for at, token in enumerate(held):
            # Seen from the end, or every length of run on a long line would be looked for anew.
            if token.kind == "`" and last[token.length] == at and self._take == self._in_text:
                self._page.show(token.text)
            else:
                self._take(token)

    def _begin_fence(self, fence: _Token, indent: int) -> None:
        self._fence, self._fence_indent, self._fence_ends = fence, indent, False
        self._take = self._in_fence

    def _in_fence(self, token: _Token) -> None:
        self._page.show(token.text, is_code=True)
        if "\n" in token.text:
            if self._fence_ends and token.kind == "line":
                self._take = self._in_text
            self._indent, self._fence_ends = 0, False
            self._indented(token.text.rpartition("\n")[2], _BEFORE_FENCE_END)
        elif self._fence_ends:
            self._fence_ends = not token.text.strip(_WHITE)
        elif token.kind == "text":
            self._indented(token.text, _BEFORE_FENCE_END)
        else:
            near = self._indent is not None and self._indent <= self._fence_indent + 3
            self._fence_ends = near and token.kind == self._fence.kind and token.length >= self._fence.length
            self._indent = None

    def _indented(self, text: str, allowed: str) -> None:
        self._indent = None if self._indent is None or text.strip(allowed) else self._indent + len(text)

    def _in_tag(self, token: _Token) -> None:
        if token.name == self._outer and token.kind in ("open", "close"):
            if token.kind == "close":
                self._depth -= 1
            elif self._outer != _THINK:
                self._depth += 1
            if not self._depth:
                self._end_tag()
                return
        self._held.append(token)

    def _end_tag(self) -> None:
        if self._outer == _THINK:
            self._thought = True
        elif text := _text_of(self._held):
            self._tags.append(Tag(self._outer, text))
        self._page.cut()
        self._held = []
        self._take = self._in_text

    def _in_thought(self, token: _Token) -> None:
        """Before anything was shown: nothing will be, until the thinking is over."""
        if token.kind == "close" and token.name == _THINK:
            self._end_tag()

    def _give_up_tag(self) -> None:
        """The text is over and the tag was not closed: take what was held for text, knowing which tags are closed in it."""
        held, self._held = self._held, []
        self._take = self._in_text
        for token in _paired(held):
            self._take(token)

    def _show_held_as_code(self) -> None:
        self._page.show("".join(token.text for token in self._held), is_code=True)
        self._held = []


class _Tokens:
    """Reads a text piece by piece; of what may become a tag only the last `<` can be waiting for more."""

    def __init__(self) -> None:
        self.waiting = ""

    def read(self, piece: str) -> Iterator[_Token]:
        text, self.waiting = self.waiting + piece, ""
        last = text.rfind("<")
        if last >= 0 and _MAY_BE_TAG.match(text, last):
            text, self.waiting = text[:last], text[last:]
        return map(_token, _TOKEN.finditer(text))

    def rest(self) -> Iterable[_Token]:
        text, self.waiting = self.waiting, ""
        return [_Token("noise", text)] if _BROKEN_OFF.fullmatch(text) else map(_token, _TOKEN.finditer(text))


def _token(found: re.Match[str]) -> _Token:
    text = found[0]
    match found.lastgroup:
        case "tag" if found["slash"]:
            return _Token("close", text, _normal(found["name"]))
        case "tag" if not text[:-1].rstrip().endswith("/"):
            return _Token("open", text, _normal(found["name"]))
        case "tag" | "half":
            return _Token("noise", text)
        case "run":
            return _Token(text[0], text, length=len(text))
        case "line":
            return _Token("line", text)
        case _:
            return _Token("text", text)


def _normal(name: str) -> str:
    name = name.lower()
    return _THINK if name == "thinking" else name


def _paired(tokens: Sequence[_Token]) -> list[_Token]:
    """Return the tokens with "unclosed" for opening tags that no closing one belongs to."""
    paired = [token._replace(kind="unclosed") if token.kind == "open" else token for token in tokens]
    opened = defaultdict[str, list[int]](list)
    for at, token in enumerate(tokens):
        if token.kind == "open":
            opened[token.name].append(at)
        elif token.kind == "close" and opened[token.name]:
            for begin in opened.pop(_THINK) if token.name == _THINK else [opened[token.name].pop()]:
                paired[begin] = tokens[begin]
    return paired


def _text_of(tokens: Sequence[_Token]) -> str:
    """Return what stands in a tag without markup and thinking."""
    kept: list[str] = []
    thinks = False
    for token in _paired(tokens):
        if token.name == _THINK:
            thinks = token.kind == "open"
        elif not thinks and not token.is_markup:
            kept.append(token.text)
    again = _Tokens()
    return "".join(map(_harmless, (*again.read("".join(kept).strip()), *again.rest())))


def _harmless(token: _Token) -> str:
    return token.text.replace("<", "(", 1) if token.is_markup else token.text


class _Page:
    """What is shown: tidied where something was taken out, and never reading as a tag where its two sides meet."""

    def __init__(self) -> None:
        self.begun = False
        self._space: list[str] = []
        self._gaps: list[str] = []  # the space before each thing taken out since the last visible character
        self._tokens = _Tokens()
        self._ready: list[str] = []

    def show(self, text: str, *, is_code: bool = False) -> None:
        body = text.lstrip(_WHITE)
        self._space.append(text[: len(text) - len(body)])
        if not body:
            return
        visible = body.rstrip(_WHITE)
        self._write(self._between())
        if is_code:
            self._ready += (self._tokens.waiting, visible)
            self._tokens.waiting = ""
        else:
            self._write(visible)
        self.begun = True
        self._space, self._gaps = [body[len(visible) :]], []

    def cut(self) -> None:
        self._gaps.append("".join(self._space))
        self._space = []

    def turn(self) -> str:
        """Return what became ready since the last time."""
        ready, self._ready = self._ready, []
        return "".join(ready)

    def rest(self) -> str:
        if not self._gaps:
            self._write("".join(self._space))
        self._space = []
        self._ready += map(_harmless, self._tokens.rest())
        return self.turn()

    def _write(self, text: str) -> None:
        self._ready += map(_harmless, self._tokens.read(text))

    def _between(self) -> str:
        if not self._gaps:
            return "".join(self._space)
        if not self.begun:
            return ""
        sides = [*self._gaps, "".join(self._space)]
        lines = [side for side in sides if "\n" in side]
        if not lines:
            return max(sides, key=len)
        most = max(lines, key=lambda side: side.count("\n"))
        return most[: most.rindex("\n") + 1] + lines[-1][lines[-1].rindex("\n") + 1 :]
