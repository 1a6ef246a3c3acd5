"""Results as JSON, the same through every door: the fields of `api.md`, ISO times, lists, nothing left out.

A text may hold anything. JSON written here holds no character that could steer a terminal or hide text: they stand as
escapes, which every reader of JSON turns back.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import PurePath
from typing import Any

# Delete and C1, line and paragraph separators, the empty Braille pattern, lone surrogates, and whatever Unicode lets a font
# ignore: soft hyphen, joiners, bidi signs, fillers, variation selectors, tags. JSON itself escapes what lies below space.
# Selectors of text or emoji stay after a sign that has both, where they are written every day.
_HAS_BOTH = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u23ff\u24c2\u25a0-\u27bf\u2934\u2935\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff"
)
INVISIBLE = (
    "[\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
    f"|(?<![{_HAS_BOTH}])(?<![#*0-9](?=\ufe0f\u20e3))[\ufe0e\ufe0f]"
)
_UNSAFE = re.compile(INVISIBLE)
_UNTOLD = ("sees_all", "system_context")  # no part of a scope's name; the text of a context once more


def as_json(value: object) -> object:
    """Return a result as JSON values; public properties stand beside fields, a scope shows its four parts."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if callable(as_dict := getattr(value, "as_dict", None)):
        return as_json(as_dict())
    if isinstance(value, Mapping):
        return {str(key): as_json(inner) for key, inner in value.items()}
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        names += [name for name, part in vars(type(value)).items() if isinstance(part, property) and not name.startswith("_")]
        return {name: as_json(getattr(value, name)) for name in names if name not in _UNTOLD}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, Iterable):
        return [as_json(inner) for inner in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def dumps(value: object, indent: int | None = None) -> str:
    """Return a result as JSON text that is safe to show."""
    return harmless(json.dumps(as_json(value), ensure_ascii=False, indent=indent))


def harmless(written: str) -> str:
    """Return the same JSON with what could steer a terminal or hide text as escapes."""
    return _UNSAFE.sub(_escaped, written)


def of_an_empty(context: Any) -> str:
    """Return what to say of a context that holds nothing."""
    left_out = sum("budget" in one.reason for one in context.dropped)
    if not left_out:
        return "nothing bears on it"
    return f"the budget is too small: {left_out:,} that bear on it were left out; ask again with a larger one"


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
