"""How memory is shown to a model: as data, one line an item, with nothing in it that reads as anything else.

The store keeps texts verbatim; here, on the way into a prompt, characters that nobody sees are dropped, line ends become ⏎,
and whatever could be taken for one of our tags, a chat template's token, a code fence or the marker around memories loses the
character that makes it one. Look-alikes count: a full-width `＜` is a `<`, and so is `&lt;`. All else stands as it was said.
"""

from __future__ import annotations

import html
import re
import unicodedata
from datetime import UTC, datetime, tzinfo

from reverie.memory.language import is_unseen
from reverie.memory.trace import Memory

_LINE_ENDS = re.compile("\r\n|[\n\r\v\f\x85\u2028\u2029]")
_PIECE = re.compile(r"&(?:#x[0-9a-f]{1,8}|#[0-9]{1,8}|[a-z]{2,12}\b);?|.", re.IGNORECASE | re.DOTALL)
_TAGS = "memory|chat-memory|working-memory|chat-context|think|thinking|system|user|assistant|tool|human|instructions?|bos|eos"
_READS_AS_MORE = re.compile(
    rf"(?P<angle><)(?=[\s/<]*(?:(?:{_TAGS})\b|s\s*>|\||\w+_of_\w+|im_\w+|sys\b))"
    r"|(?P<square>\[)(?=[\s/]*(?:memory|unverified|inst\b|system|tool_|available_tools))"
    r"|(?P<fence>`(?=``)|~(?=~~)|(?<=``)`|(?<=~~)~|(?<=`)`(?=`)|(?<=~)~(?=~))",
    re.IGNORECASE,
)
_HARMLESS = {"angle": "(", "square": "(", "fence": "'"}
_SELECTORS = frozenset("\ufe0e\ufe0f")  # they choose how an emoji looks, and could split a tag's name
_LOOKS_LIKE = dict.fromkeys("‹〈❮⟨❬˂ᐸ", "<") | dict.fromkeys("〔⟦❲", "[") | {"ˋ": "`", "∼": "~"}


def shown(text: str) -> str:
    """Return a text as one harmless line."""
    seen = "".join(filter(_is_seen, _LINE_ENDS.sub("⏎", text)))
    read, places = (seen, range(len(seen))) if seen.isascii() and "&" not in seen else _as_read(seen)
    signs = list(seen)
    for found in _READS_AS_MORE.finditer(read):
        signs[places[found.start()]] = _HARMLESS[str(found.lastgroup)]
    return "".join(signs)


def local(at: datetime, zone: tzinfo) -> datetime:
    """Return a moment in a zone; the first and the last day there is stay as they are where they have no place in it."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at


def line_of(memory: Memory, zone: tzinfo = UTC) -> str:
    """Return a memory as one line: date · speaker · "text"."""
    when = local(memory.happened_at or memory.valid_from or memory.recorded_at, zone)
    who = memory.speaker or memory.subject
    said = shown(f"{memory.title}: {memory.text}" if memory.title else memory.text)
    return " · ".join((f"{when:%Y-%m-%d}", *((shown(who),) if who else ()), f'"{said}"'))


def _is_seen(sign: str) -> bool:
    if sign.isascii():
        return (sign >= " " and sign != "\x7f") or sign == "\t"
    if sign in _SELECTORS:
        return True
    return unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") and not is_unseen(sign) and sign != "\u2800"


def _as_read(text: str) -> tuple[str, list[int]]:
    """Return a text as a careless reader takes it, entities and look-alikes resolved, and where each character stands in it."""
    read: list[str] = []
    places: list[int] = []
    for piece in _PIECE.finditer(text):
        for sign in html.unescape(piece[0]) if len(piece[0]) > 1 else piece[0]:
            if sign not in _SELECTORS and _is_seen(sign):
                plain = _LOOKS_LIKE.get(sign) or unicodedata.normalize("NFKC", sign)
                read += plain
                places += [piece.start()] * len(plain)
    return "".join(read), places
