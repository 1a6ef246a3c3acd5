"""Tags in what a model writes are taken out of what a person sees, whole and streamed, and nothing else is (K5, K6).

The rules stand here a second time, over whole texts, one character after another and in no hurry: `expected`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reverie import BadInput
from reverie.learn.tags import NAMES, Tag, TagStream, strip_tags, titled
from reverie.memory.working import parse


def streamed(pieces: Iterable[str], *, thinking: bool = False) -> tuple[str, tuple[Tag, ...]]:
    stream = TagStream(thinking=thinking)
    shown = [stream.feed(piece) for piece in pieces]
    return "".join((*shown, stream.close())), stream.tags


def seen(text: str, *, thinking: bool = False) -> str:
    """What is shown of a text in which no tag counts."""
    stripped = strip_tags(text, thinking=thinking)
    assert stripped.tags == ()
    return stripped.text


@pytest.mark.parametrize("value", [None, 5, b"<memory>x</memory>"])
def test_what_is_no_text_is_refused_with_what_to_give_instead(value: object) -> None:
    for take in (strip_tags, TagStream().feed):
        with pytest.raises(BadInput, match=rf"out of a str, not {type(value).__name__}; where there is no text, give ''"):
            take(value)  # type: ignore[arg-type]


# What models write: the forms of the four tags


def test_each_tag_is_taken_out_and_kept_in_order_with_its_name() -> None:
    """K6: the four tags, one a line."""
    stripped = strip_tags(
        "<memory>Bike: it is at the workshop until Friday</memory>\n"
        "<chat-memory>We plan the trip here</chat-memory>\n"
        "<working-memory>Task: book the train\nPending: seats</working-memory>\n"
        "<chat-context>Family group, four people, playful</chat-context>"
    )
    assert stripped.text == ""
    assert [tag.name for tag in stripped.tags] == list(NAMES)
    assert titled(stripped.tags[0].text) == ("Bike", "it is at the workshop until Friday")
    assert parse(stripped.tags[2].text).pending == ("seats",)


def test_a_reply_with_a_tag_behind_it_is_shown_without_it() -> None:
    """K6: on the same line, and on a line of its own that is indented like the reply."""
    tag = Tag("memory", "Reply style: wants short answers")
    assert strip_tags("Sure, short it is. <memory>Reply style: wants short answers</memory>").tags == (tag,)
    stripped = strip_tags("Sure!\n     <memory>Reply style: wants short answers</memory>\n")
    assert (stripped.text, stripped.tags) == ("Sure!", (tag,))


def test_of_several_chat_contexts_the_last_comes_last() -> None:
    """K5: a tag of several lines; whoever keeps the last one replaces what was there."""
    stripped = strip_tags(
        "Understood! <chat-context>Kind: friends</chat-context>So it is work.\n"
        "<chat-context>Kind: colleagues (data team)\nTone: dry, brief</chat-context>"
    )
    assert stripped.text == "Understood! So it is work."
    assert stripped.tags[-1] == Tag("chat-context", "Kind: colleagues (data team)\nTone: dry, brief")


@pytest.mark.parametrize(
    "tag",
    [
        "<memory>tea</memory>", "<MEMORY>tea</Memory>", "< Memory >tea</ memory >", "<memory\t>tea< / memory >",
        "<memory\n>\n  tea\n</memory\n>", '<memory title="Drinks" id=3>tea</memory>', "<memory important>tea</memory now>",
    ],
)  # fmt: skip
def test_case_white_space_and_attributes_make_no_difference(tag: str) -> None:
    stripped = strip_tags(f"So {tag} be it")
    assert (stripped.text, stripped.tags) == ("So be it", (Tag("memory", "tea"),))


@pytest.mark.parametrize(
    "text",
    [
        "", " \n plain \n\n\n\n text\t\n", "a < b, b<c and x<y", "if used < memory and cpu > 3", "<b>bold</b> <br/>",
        "<memories>a</memories>", "<memory-bank>a</memory-bank>", "<mem ory>", "<my-memory>", "<thinker>", "memory>", "</>",
        "&lt;memory&gt;a&lt;/memory&gt;", "＜memory＞a＜/memory＞", "<mem\u200bory>a</mem\u200bory>", "<thin\u212a>a",
        "I <3 you", "<", "a <", "a <m", "a < mem", "<chat_memory>a</chat_memory>", f"<{' ' * 40}memory>",
        "~~gone~~ it`s o`clock ```",
    ],
)  # fmt: skip
def test_text_without_our_tags_is_returned_as_it_is(text: str) -> None:
    assert seen(text) == text
    assert streamed(text) == (text, ())


# What goes wrong


def test_an_empty_tag_is_none() -> None:
    assert seen("a <memory></memory><memory> \n </memory> <chat-memory/> <memory><think>b</think></memory> c") == "a c"


def test_the_outermost_tag_wins_and_what_is_in_it_loses_its_markup() -> None:
    inner = strip_tags("<memory>Ana <chat-memory>likes</chat-memory> <memory>green</memory> tea</memory>, noted")
    assert (inner.text, inner.tags) == (", noted", (Tag("memory", "Ana likes green tea"),))
    crossed = strip_tags("<memory>a<chat-memory>b</memory>c</chat-memory>d")
    assert (crossed.text, crossed.tags) == ("cd", (Tag("memory", "ab"),))


def test_the_text_of_a_tag_that_is_never_closed_is_shown_and_closed_tags_in_it_count() -> None:
    stripped = strip_tags("Well. <memory>Ana likes tea <chat-memory>so far</chat-memory> and <memory>rain</memory> too")
    assert stripped.text == "Well. Ana likes tea and too"
    assert stripped.tags == (Tag("chat-memory", "so far"), Tag("memory", "rain"))


def test_a_stream_holds_an_unclosed_tag_until_it_is_closed() -> None:
    stream = TagStream()
    assert stream.feed("Well. <memory>Ana likes tea.\n\nShall we") == "Well."
    assert stream.feed(" go?") == ""
    assert stream.close() == " Ana likes tea.\n\nShall we go?"
    assert stream.tags == ()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a </memory> b", "a b"), ("a <memory\nb", "a\nb"), ("a <memory", "a"), ("a <mem", "a"), ("a </w", "a"),
        ("a <memory b", "a b"), ("a<memory<b>c</b>", "a<b>c</b>"), (f"a <memory {'x' * 300}>", f"a {'x' * 300}>"),
    ],
)  # fmt: skip
def test_stray_and_unfinished_tags_are_not_shown(text: str, shown: str) -> None:
    assert seen(text) == shown


def test_what_meets_where_a_tag_was_does_not_read_as_a_tag() -> None:
    assert strip_tags("<mem<memory>x</memory>ory>y</memory>").text == "(memory>y"
    assert strip_tags("< <memory>x</memory> / <think>z</think>memory> y").text == "( / memory> y"
    assert strip_tags("<memory><mem<think></think>ory>x</memory>").tags == (Tag("memory", "(memory>x"),)
    assert strip_tags("2 < <memory>x</memory> 3").text == "2 < 3"


# Thinking


def test_thinking_is_not_shown_and_tags_in_it_do_not_count() -> None:
    stripped = strip_tags("<think>They say <memory>a</memory> `x\n</think>\n\nHi!<memory>b</memory> <thinking>hm</think>Bye")
    assert (stripped.text, stripped.tags) == ("Hi! Bye", (Tag("memory", "b"),))


def test_thinking_that_never_ends_hides_the_rest_only_if_nothing_was_shown_before() -> None:
    assert seen("\n<THINK>\nthey ask <memory>a</memory> and") == ""
    assert seen("The tag <think> opens it <memory") == "The tag opens it"


def test_thinking_that_the_template_opened_is_hidden_if_the_caller_says_so() -> None:
    reply = "They want tea <memory>a</memory>.\n</think>\n\nTea <memory>b</memory>it is."
    stripped = strip_tags(reply, thinking=True)
    assert (stripped.text, stripped.tags) == ("Tea it is.", (Tag("memory", "b"),))
    assert seen(" No thought\n", thinking=True) == " No thought\n"
    unsaid = strip_tags(reply)
    assert unsaid.text == "They want tea .\n\nTea it is."
    assert unsaid.tags == (Tag("memory", "b"),)


# Code


@pytest.mark.parametrize(
    "code",
    [
        "`<memory>a</memory>`", "``<memory>`</memory>``", "``` <think>a</think> ```", "```\n<memory>a</memory>\n```",
        "~~~xml\n<think>\n</think>\n```\n<memory>a</memory>\n~~~~", "- ```\n  <memory>a</memory>\n  ```",
        "> ```\n> <memory>a</memory>\n> ```  ", "```` <memory\n>a</memory>\n```\n<memory>\n````", "```\n<memory>a</memory>\n",
        "1. ```html\n       ``` \n<memory>a</memory>",
    ],
)  # fmt: skip
def test_tags_in_code_stand_as_they_are(code: str) -> None:
    text = f"See:\n{code}\n"
    assert seen(text) == text
    assert streamed(text) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "it`s {} so",
        "`` a {} ` b",
        "`a\n{} ` b",
        "``` a ` {}",
        "```\na\n```\n{}",
        "`a` {} `b`",
        "x ~~~\n{}",
        "x ```\n{}",
        "    {}",
    ],
)
def test_what_only_looks_like_code_hides_no_tag(text: str) -> None:
    stripped = strip_tags(text.format("<memory>a</memory>"))
    assert "<" not in stripped.text
    assert stripped.tags == (Tag("memory", "a"),)


# Space


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <m/> b", "a b"), ("a<m/>b", "ab"), ("a <m/>, b", "a , b"), ("a\n<m/>\nb", "a\nb"), ("a\n\n<m/>\n\nb", "a\n\nb"),
        ("a\n\n<m/>\n<m/>\n\n  b", "a\n\n  b"), ("a <m/>\nb", "a\nb"), ("a\n<m/> b", "a\nb"), ("  <m/>\n\na", "a"),
        ("a\n\n<m/>\n", "a"), ("a\r\n\r\n<m/>\r\n\r\nb", "a\r\n\r\nb"), ("```\na\n```\n\n<m/>\n\nb", "```\na\n```\n\nb"),
        ("a\n\n\n\nb <m/>", "a\n\n\n\nb"), ("\n a\n<m/>", "\n a"), (" <m/> ", ""),
    ],
)  # fmt: skip
def test_no_holes_are_left_where_a_tag_was(text: str, shown: str) -> None:
    text = text.replace("<m/>", "<memory>tea</memory>")
    assert strip_tags(text).text == shown
    assert streamed(text)[0] == shown


# Streams


def test_a_stream_shows_at_once_what_can_no_longer_become_a_tag() -> None:
    stream = TagStream()
    fed = [
        "So 1",
        " <",
        " 2, ",
        "<mem",
        "bers",
        "> <b>",
        "\nit`s <i> ",
        "<x",
        ">\n<mem",
        "ory>a</mem",
        "ory",
        "> `",
        "<memory>",
        "` ok<",
    ]
    shown = ["So 1", "", " < 2,", "", " <members", "> <b>", "\nit`s <i>", " <x", ">", "", "", "", "\n`", "<memory>` ok"]
    assert [stream.feed(piece) for piece in fed] == shown
    assert stream.close() == "<"
    assert (stream.close(), stream.tags) == ("", (Tag("memory", "a"),))


@given(st.text(alphabet=st.sampled_from("ab <>/é-\t\n"), max_size=60))
def test_of_a_text_without_names_only_angles_and_space_at_its_end_wait(text: str) -> None:
    stream = TagStream()
    shown = ""
    for at, piece in enumerate(text, 1):
        shown += stream.feed(piece)
        # Two, because a tag may stand between the first and what it would be a tag with.
        assert re.fullmatch(r"\s*(<\s*/?\s*){0,2}", text[len(shown) : at])
    assert shown + stream.close() == text


# The rules a second time

SPELT = "memory|chat-memory|working-memory|chat-context|thinking|think"
MARKUP = re.compile(
    rf"(?P<tag><\s{{0,9}}/?\s{{0,9}}(?:{SPELT})\s{{0,9}}/?\s{{0,9}}>"
    rf"|<(?:/\s{{0,9}})?(?:{SPELT})[ \t/][^<>`\n]{{0,200}}\s{{0,9}}/?\s{{0,9}}>)|</?(?:{SPELT})(?=[\s/<]|\Z)",
    re.ASCII | re.IGNORECASE,
)
CUT, CODE = "\ue000", "\ue001"  # where something was taken out; a `<` in code
WHITE = " \t\n\r\f\v"


def markup_at(text: str, at: int) -> tuple[int, str, str] | None:
    """Return where the markup at a place ends, what it does, and its name."""
    found = MARKUP.match(text, at)
    if found is None:
        broken = text[at:].lower()
        whole = any(f"<{slash}{name}".startswith(broken) for slash in ("", "/") for name in SPELT.split("|"))
        return (len(text), "", "") if whole and len(broken) >= (3 if broken.startswith("</") else 4) else None
    letters = re.sub("^think.*", "think", re.sub(r"^[<\s/]*([a-zA-Z-]+).*", r"\1", found[0], flags=re.DOTALL).lower())
    inside = found[0][1:-1].strip(WHITE)
    does = "" if not found["tag"] else "close" if inside.startswith("/") else "" if inside.endswith("/") else "open"
    return found.end(), does, letters


def end_of(text: str, at: int, name: str) -> tuple[int, int] | None:
    """Return where the closing tag of that name begins and ends."""
    depth = 1
    while (at := text.find("<", at)) >= 0:
        end, does, found = markup_at(text, at) or (at + 1, "", "")
        if found == name:
            depth += {"open": int(name != "think"), "close": -1}.get(does, 0)
            if not depth:
                return at, end
        at = end
    return None


def inside(text: str) -> str:
    """Return what a tag with that text in it keeps."""
    kept, at = "", 0
    while at < len(text):
        found = MARKUP.match(text, at) and markup_at(text, at)
        if found:
            at = found[0]
            if found[1:] == ("open", "think") and (end := end_of(text, at, "think")):
                at = end[1]
        else:
            kept += text[at]
            at += 1
    return harmless(kept.strip())


def harmless(text: str) -> str:
    text = MARKUP.sub(lambda found: "(" + found[0][1:], text)
    last = text.rfind("<")
    return text[:last] + "(" + text[last + 1 :] if last >= 0 and markup_at(text, last) else text


def code_at(text: str, at: int, line: str) -> int:
    """Return where code that begins at a run of ` or ~ ends, or its beginning if none does; `line` is what is before it."""
    sign = text[at]
    begin = at + len(text[at:]) - len(text[at:].lstrip(sign))
    rest_of_line, _, below = text[begin:].partition("\n")
    if sign == "`":
        for run in re.finditer("`+", rest_of_line):
            if len(run[0]) == begin - at:
                return begin + run.end()
    if begin - at < 3 or line.strip(" \t>-*+.)0123456789") or (sign == "`" and "`" in rest_of_line):
        return at
    end = begin + len(rest_of_line) + 1
    for one in re.findall(r"[^\n]*\n|[^\n]+", below):
        closing = re.fullmatch(rf"([ \t>]*){sign}{{{begin - at},}}\s*", one, re.ASCII)
        if closing and len(closing[1]) <= len(line) + 3:
            return end + len(one.rstrip("\n"))
        end += len(one)
    return len(text)


def tidied(page: str) -> str:
    def between(gap: re.Match[str]) -> str:
        if gap.start() == 0 or gap.end() == len(page):
            return ""
        sides = gap[0].split(CUT)
        most = max(side.count("\n") for side in sides)
        if not most:
            return max(sides, key=len)
        lines = next(side for side in sides if side.count("\n") == most)
        return re.sub(r"[^\n]*\Z", "", lines) + [side for side in sides if "\n" in side][-1].split("\n")[-1]

    return re.sub(rf"[{WHITE}]*(?:{CUT}[{WHITE}]*)+", between, page)


def expected(text: str, *, thinking: bool = False) -> tuple[str, tuple[Tag, ...]]:
    page, tags, at, thought = "", list[Tag](), 0, False
    if thinking and (end := end_of(text, 0, "think")):
        page, at, thought = CUT, end[1], True
    while at < len(text):
        sign = text[at]
        if sign == "<" and (found := markup_at(text, at)):
            at, does, name = found
            is_first = not page.replace(CUT, "").strip(WHITE)
            page += CUT
            end = end_of(text, at, name) if does == "open" else None
            if end:
                thought = thought or name == "think"
                if name != "think" and (kept := inside(text[at : end[0]])):
                    tags.append(Tag(name, kept))
                at = end[1]
            elif name == "think" and does == "open" and is_first:
                break
            elif name == "think" and does == "close" and not thought:
                tags = []
        elif sign in "`~":
            line = page.replace(CUT, "").rpartition("\n")[2]
            end_of_code = code_at(text, at, line)
            if end_of_code == at:
                end_of_code += len(text[at:]) - len(text[at:].lstrip(sign))
            page += text[at:end_of_code].replace("<", CODE)
            at = end_of_code
        else:
            page += sign
            at += 1
    return harmless(tidied(page)).replace(CODE, "<"), tuple(tags)


SOUP = st.lists(
    st.one_of(
        st.sampled_from([f"<{slash}{name}>" for name in SPELT.split("|") for slash in ("", "/")]),
        st.sampled_from(["<memory>", "</memory>", "<chat-memory>", "</chat-memory>", "<think>", "</think>"]),
        st.sampled_from([
            "< Memory >", "</ MEMORY\n>", "<memory\n>", "<memory a='b'>", "< memory a>", "<memory/>", "<think/>", "< / think >",
            f"<memory {'x' * 199}>", f"<memory {'x' * 200}>", f"<memory {'x' * 201}>",
            f"<{' ' * 18}memory>", f"<{' ' * 19}memory>", "<memory\\>", "<memory`>",
        ]),
        st.sampled_from(["<", ">", "/", "</", "<m", "<mem", "ory>", "memory", "<memory", "</memory", "<think", "</thi", "< "]),
        st.sampled_from(["`", "``", "```", "````", "~~~", "~~", "\n```\n", "\n~~~\n", "\n- ```x\n", "\n   ```", "> "]),
        st.sampled_from([" ", "\n", "\n\n", "\t", "\r\n", "  ", "\n\n\n", "\x0b", "\xa0"]),
        st.sampled_from(["Ana", "takes tea", "x", "é東", "1.", "&lt;memory&gt;", "＜memory＞", "<me\u200bmory>", "<b>", "("]),
    ),
    max_size=25,
).map("".join)  # fmt: skip
NAMED = re.compile(rf"<\s{{0,9}}/?\s{{0,9}}(?:{SPELT})\s{{0,9}}>|</?(?:{SPELT})(?=[\s/<>]|\Z)", re.ASCII | re.IGNORECASE)


def check_soup(text: str, cuts: list[int], thinking: bool) -> None:
    whole = strip_tags(text, thinking=thinking)
    assert (whole.text, whole.tags) == expected(text, thinking=thinking)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    pieces = [text[begin:end] for begin, end in pairwise(places)]
    assert streamed(pieces, thinking=thinking) == (whole.text, whole.tags)
    assert streamed(text, thinking=thinking) == (whole.text, whole.tags)
    assert not any(NAMED.search(tag.text) for tag in whole.tags)
    if not {"`", "~"} & set(text):
        assert not NAMED.search(whole.text)
    if "\n\n\n" not in text.replace("\r", ""):
        assert "\n\n\n" not in whole.text
    kept = iter(text.replace("<", "("))
    assert all(sign in kept for sign in whole.text.replace("<", "(")), "shown in the order it was written"


CUTS = st.lists(st.integers(0, 10_000), max_size=12)
soups = given(text=SOUP, cuts=CUTS, thinking=st.sampled_from((False, False, False, True)))


@soups
@settings(max_examples=400, deadline=None)
@example("`` ` <memory>\n</memory> ` <memory>x</memory>", [], False)
@example("<chat-memory>` <memory>\n` <memory>\n`a", [], False)
@example("```\n<memory\n>```\n<memory>a</memory>", [], False)
@example("`<mem<memory>x</memory>ory>\n", [], False)
@example("`<memory\n>x</memory>` y", [], False)
@example("<memory>a <memory\xa0</memory>", [], False)
@example("<mem<mem<memory>x</memory>ory>ory>", [], False)
@example("a<think><memory></think>b</memory><think>", [], False)
def test_a_soup_of_tags_is_shown_by_the_rules_however_it_is_cut(text: str, cuts: list[int], thinking: bool) -> None:
    """K6"""
    check_soup(text, cuts, thinking)


@pytest.mark.stress
@soups
@settings(max_examples=10_000, deadline=None)
def test_ten_thousand_soups_of_tags_are_shown_by_the_rules(text: str, cuts: list[int], thinking: bool) -> None:
    """K6"""
    check_soup(text, cuts, thinking)


@pytest.mark.stress
@given(text=st.text(max_size=300), cuts=CUTS)
@settings(max_examples=10_000, deadline=None)
def test_ten_thousand_texts_of_any_characters_are_shown_as_they_are(text: str, cuts: list[int]) -> None:
    check_soup(text, cuts, thinking=False)
    assert seen(text) == text


WORDS = st.integers(0, 999).map("w{}".format)
BLOCKS = st.lists(
    st.one_of(
        st.tuples(st.just("text"), WORDS),
        st.tuples(st.sampled_from(NAMES), WORDS),
        st.tuples(st.sampled_from(("think", "thinking")), WORDS),
        st.tuples(st.just("code"), st.sampled_from(("`<memory>a</memory>`", "```\n<think>\n```", "~~~\n</memory>\n~~~"))),
    ),
    max_size=12,
)


@given(BLOCKS, CUTS)
@settings(max_examples=200, deadline=None)
def test_of_a_well_formed_reply_a_person_sees_all_but_the_tags(blocks: list[tuple[str, str]], cuts: list[int]) -> None:
    """K6: what is expected is known from how the text is made, without reading it."""
    parts = [text if kind in ("text", "code") else f"<{kind}>{text}</{kind}>" for kind, text in blocks]
    places = sorted({0, *(cut % (len("\n\n".join(parts)) + 1) for cut in cuts)})
    pieces = ["\n\n".join(parts)[begin:end] for begin, end in zip(places, [*places[1:], None], strict=True)]
    shown, tags = streamed(pieces)
    assert shown == "\n\n".join(text for kind, text in blocks if kind in ("text", "code"))
    assert tags == tuple(Tag(kind, text) for kind, text in blocks if kind in NAMES)


SHOWN = ("<", "< ", "`", "\n", "~~~\n<memory>")
TAKEN_OUT = (
    "<mem", "<memory>", "</memory>", "<memory ", "<memory></memory>", "x<think>", "`<memory> ``\n",
    "<memory>\n` <memory>`` ",
)  # fmt: skip


@pytest.mark.stress
@pytest.mark.parametrize("part", [*SHOWN, *TAKEN_OUT])
def test_a_megabyte_that_only_looks_like_tags_is_read_in_one_go_and_in_small_pieces(part: str) -> None:
    """Anything that took time quadratic in the length would not be over today."""
    text = part * (1_000_000 // len(part))
    shown = seen(text)
    assert streamed(text[at : at + 7] for at in range(0, len(text), 7)) == (shown, ())
    assert shown == text if part in SHOWN else not NAMED.search(shown)


# Titles


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("Reply style: wants short answers", "Reply style", "wants short answers"),
        ("Bike:\nat the workshop: until Friday", "Bike", "at the workshop: until Friday"),
        ("**Node.js version**: 22", "Node.js version", "22"),
        ("- **Home:** Oaxaca", "Home", "Oaxaca"),
        ("喜好：绿茶", "喜好", "绿茶"),
    ],
)
def test_a_short_title_before_the_first_colon_is_split_off(text: str, title: str, rest: str) -> None:
    """K3"""
    assert titled(text) == (title, rest)


@pytest.mark.parametrize(
    "text",
    [
        "Ana likes tea", "Meets Ben at 10:30", "10: 30 is the time", "https://example.org is hers",
        "Docs at https://example.org: old",
        "She left. Reason: rain", "Really? Yes: tea", "x" * 61 + ": y", "Tea:", ": tea", "std::vector: slow", "a\nb: c", "",
    ],
)  # fmt: skip
def test_what_is_no_title_stays_in_the_text(text: str) -> None:
    assert titled(text) == (None, text)
