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

# Delete and C1, soft hyphen, Arabic letter mark, zero-width and bidi signs, line and paragraph separators, other format
# characters, lone surrogates; JSON itself escapes what lies below space.
INVISIBLE = (
    "\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff"
)
_UNSAFE = re.compile(f"[{INVISIBLE}]")


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
        names = [field.name for field in dataclasses.fields(value) if field.name != "sees_all"]
        names += [name for name, part in vars(type(value)).items() if isinstance(part, property) and not name.startswith("_")]
        return {name: as_json(getattr(value, name)) for name in names}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, Iterable):
        return [as_json(inner) for inner in value]
    raise TypeError(f"{type(value).__name__} has no JSON form")


def dumps(value: object, indent: int | None = None) -> str:
    """Return a result as JSON text that is safe to show."""
    written = json.dumps(as_json(value), ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(_escaped, written)


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
