"""How memory is shown to a model: as data, one line an item, with nothing in it that reads as anything else.

The store keeps texts verbatim; here, on the way into a prompt, characters that nobody sees are dropped, line ends become ⏎,
and whatever could be taken for one of our tags, a chat template's token, a code fence or the marker around memories loses the
character that makes it one. Look-alikes count: a full-width `＜` is a `<`, and so is `&lt;`.
"""

from __future__ import annotations

import re
import unicodedata

from reverie.memory.trace import Memory

_ENTITIES = re.compile(r"&(?:lt|#0*60|#x0*3c|LT);?", re.IGNORECASE)
_BRACKETS = re.compile(r"&(?:lbrack|lsqb|#0*91|#x0*5b);?", re.IGNORECASE)
_LINE_ENDS = re.compile("\r\n|[\n\r\v\f\x85\u2028\u2029]")
_TAG_NAMES = "memory|chat-memory|working-memory|chat-context|think|thinking|system|user|assistant|tool|s|im_start|im_end"
_READS_AS_MORE = re.compile(
    rf"(?P<angle><)(?=[\s/|<]*(?:{_TAG_NAMES}|start_of|end_of|begin_of|sys|\|))"
    r"|(?P<square>\[)(?=[\s/]*(?:memory|unverified|inst|system|tool_calls|available_tools)\b)"
    r"|(?P<fence>`(?=``)|~(?=~~)|(?<=``)`|(?<=~~)~)",
    re.IGNORECASE,
)
_HARMLESS = {"angle": "‹", "square": "⟦", "fence": "ˋ"}


def shown(text: str) -> str:
    """Return a text as one harmless line."""
    seen = "".join(filter(_is_seen, _LINE_ENDS.sub("⏎", text)))
    seen = _BRACKETS.sub("[", _ENTITIES.sub("<", seen)) if "&" in seen else seen
    folded = seen if seen.isascii() else "".join(map(_folded, seen))
    signs = list(seen)
    for found in _READS_AS_MORE.finditer(folded):
        signs[found.start()] = _HARMLESS[str(found.lastgroup)]
    return "".join(signs)


def line_of(memory: Memory) -> str:
    """Return a memory as one line: date · speaker · "text"."""
    when = memory.happened_at or memory.valid_from or memory.recorded_at
    who = memory.speaker or memory.subject
    said = shown(f"{memory.title}: {memory.text}" if memory.title else memory.text)
    return " · ".join((f"{when:%Y-%m-%d}", *((shown(who),) if who else ()), f'"{said}"'))


def _is_seen(sign: str) -> bool:
    if sign.isascii():
        return (sign >= " " and sign != "\x7f") or sign == "\t"
    return unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Zl", "Zp") and sign not in _UNSEEN


_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800") | {chr(code) for code in range(0xFE00, 0xFE10)}


def _folded(sign: str) -> str:
    """Return what a character looks like to a careless reader, as one character."""
    plain = unicodedata.normalize("NFKC", sign)
    return {"‹": "<", "〈": "<", "❮": "<", "⟨": "<", "❬": "<", "˂": "<", "ᐸ": "<"}.get(sign, plain if len(plain) == 1 else sign)
