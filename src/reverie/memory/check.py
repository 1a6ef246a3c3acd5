"""What may come in: every value a caller hands over is looked at here, once, before anything is stored.

Text stays verbatim, but for secrets, which are cut out before anything else sees it. Only what no store can keep is refused:
NUL, lone surrogates, and more than a million characters.
Names (of spaces, people, tags, messages) are stricter: one line, no control characters, at most 200 characters.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reverie.errors import BadInput
from reverie.memory.language import fold
from reverie.memory.secrets import cut_secrets

TEXT_LIMIT = 1_000_000
NAME_LIMIT = 200
TAGS_LIMIT = 100
EXTRA_LIMIT = 100_000
EXTRA_DEPTH = 50  # lists within lists: far below what makes a reader of JSON give up
COUNT_LIMIT = (1 << 63) - 1  # what a database can count to
LAST_MOMENT = datetime.max.replace(tzinfo=UTC) - timedelta(days=1)

_NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # not the six characters of somebody writing about it
_NOT_IN_TEXT = re.compile("[\x00\ud800-\udfff]")
_LABELS, _VALUES = ("name", "key", "label", "field", "nombre", "campo"), ("value", "values", "valor", "content", "text")
_NAMES_AN_ID = re.compile("(?:^|[^a-z])ids?$|I[Dd]s?$")  # a number that looks like a card may be somebody's


def text(value: object, called: str = "text", if_empty: str = "say something to remember") -> str:
    """Return `value` if it can be kept: word for word, without the secrets in it."""
    return cut_secrets(verbatim(value, called, if_empty)).text


def verbatim(value: object, called: str = "text", if_empty: str = "say something to remember") -> str:
    """Return `value` if it is a text; for what is only looked for, or was kept before."""
    if not isinstance(value, str):
        raise BadInput(f"{called} must be a str, not {type(value).__name__}")
    if not value.strip():
        raise BadInput(f"{called} is empty; {if_empty}")
    if len(value) > TEXT_LIMIT:
        raise BadInput(f"{called} has {len(value):,} characters; at most {TEXT_LIMIT:,} fit: split it")
    if bad := _NOT_IN_TEXT.search(value):
        what = "a NUL character" if bad[0] == "\x00" else f"a lone surrogate (U+{ord(bad[0]):04X})"
        raise BadInput(f"{called} holds {what} at position {bad.start()}; remove it or decode the source properly")
    return value


def optional_text(value: object, called: str) -> str | None:
    """Return a text, or None."""
    return None if value is None else text(value, called)


def name(value: object, called: str, if_empty: str = "leave it out (None) or give it a name") -> str:
    """Return `value` in NFC if it can name something: a space, a person, a tag, a message."""
    if not isinstance(value, str):
        raise BadInput(f"{called} must be a str, not {type(value).__name__}")
    if not value.strip():
        raise BadInput(f"{called} is empty; {if_empty}")
    if bad := _NOT_IN_NAMES.search(value):
        raise BadInput(f"{called} holds the character U+{ord(bad[0]):04X} at position {bad.start()}; use one printable line")
    value = unicodedata.normalize("NFC", value)
    if len(value) > NAME_LIMIT:
        raise BadInput(f"{called} has {len(value):,} characters; at most {NAME_LIMIT} fit")
    return value


def optional_name(value: object, called: str) -> str | None:
    """`name`, or None."""
    return None if value is None else name(value, called)


def names(values: object, called: str, most: int = 10_000) -> tuple[str, ...]:
    """Return distinct names in the order given."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise BadInput(f"{called} must be a list or tuple of str, for example {called}=('travel',)")
    found = tuple(dict.fromkeys(name(value, called) for value in values))
    if len(found) > most:
        raise BadInput(f"{called} holds {len(found):,} names; at most {most} fit")
    return found


def tags(values: object, most: int = TAGS_LIMIT) -> tuple[str, ...]:
    """Return distinct tags, without the secrets in them."""
    return names((cut_secrets(tag).text for tag in names(values, "tags", most)), "tags")


def place(value: object) -> str | None:
    """Return where something came from, without the secrets in it, or None."""
    return None if value is None else name(cut_secrets(name(value, "place")).text, "place")


def moment(value: object, called: str) -> datetime:
    """Return `value` in UTC; a time without a zone is refused."""
    if not isinstance(value, datetime):
        raise BadInput(f"{called} must be an aware datetime, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise BadInput(f"{called} {value.isoformat()} has no time zone; write {called}.replace(tzinfo=datetime.UTC)")
    try:
        return value.astimezone(UTC)
    except OverflowError as exc:
        raise BadInput(f"{called} {value.isoformat()} lies outside the years 1 to 9999 in UTC") from exc


def clock(value: object) -> datetime:
    """Return the time that a clock says, if anything can still come after it."""
    now = moment(value, "the clock's time")
    if now > LAST_MOMENT:
        raise BadInput(f"the clock says {now.isoformat()}, after which nothing more could be kept; set it right")
    return now


def optional_moment(value: object, called: str) -> datetime | None:
    """`moment`, or None."""
    return None if value is None else moment(value, called)


def interval(start: datetime | None, end: datetime | None, called: str) -> None:
    """Refuse an interval that ends before it starts."""
    if start is not None and end is not None and end <= start:
        raise BadInput(f"{called} ends at {end.isoformat()}, not after its start {start.isoformat()}; swap them")


def share(value: object, called: str) -> float:
    """Return a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadInput(f"{called} must be a number from 0 to 1, not {value!r}")
    return float(value)


def count(value: object, called: str, most: int = COUNT_LIMIT, least: int = 1) -> int:
    """Return a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadInput(f"{called} must be a whole number of at least {least} (and below 2**63), not {value!r}")
    return value


def exactly_one(**given: object) -> None:
    """Refuse any but one of several ways to say the same."""
    if sum(value is not None for value in given.values()) != 1:
        raise BadInput(f"give exactly one of {', '.join(given)}")


def seconds(value: object, called: str) -> float:
    """Return a span of time of at least nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise BadInput(f"{called} must be a number of seconds, 0 or more, not {value!r}")
    return float(value)


def cue(value: object) -> str:
    """Return what can be asked, without the secrets in it; an empty cue can, where a filter says what is meant."""
    if not isinstance(value, str):
        raise BadInput(f"the cue must be a str, not {type(value).__name__}")
    return text(value, "the cue") if value.strip() else value


def path(value: object, called: str = "the path") -> Path:
    """Return the path of a file or folder, `~` written out."""
    if not isinstance(value, str | os.PathLike) or not isinstance(named := os.fspath(value), str) or not named or "\0" in named:
        raise BadInput(f"{called} must name a file or folder, not {value!r}")
    try:
        return Path(named).expanduser()
    except RuntimeError as exc:
        raise BadInput(f"{called} {named!r} starts in a home that cannot be found; write it out") from exc


def one_of(value: object, allowed: Iterable[str], called: str) -> str:
    """Return `value` if it is one of `allowed`; the error names the nearest."""
    options = tuple(allowed)
    if isinstance(value, str) and value in options:
        return value
    named = value[:100] if isinstance(value, str) else value  # to look for one like a megabyte would take a second
    near = difflib.get_close_matches(named, options, 1, 0.5) if isinstance(named, str) else []
    hint = f"nearest is {near[0]!r}" if near else f"one of {', '.join(options)}"
    raise BadInput(f"no {called} named {named!r}; {hint}")


def extra(value: object, called: str = "extra") -> dict[str, object]:
    """Return a copy of a small JSON object, without the secrets in it; `called` is what the caller knows it by."""
    return {} if value is None else without_secrets(values(value, called))


def values(value: object, called: str, most: int = EXTRA_LIMIT) -> dict[str, object]:
    """Return a copy of a JSON object, as it stands; for what has ids in it, or was kept before."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise BadInput(f"{called} must be a mapping from str to JSON values")
    try:
        written = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        written.encode()
    except (TypeError, ValueError, RecursionError) as exc:
        raise BadInput(f"what {called} holds does not fit into JSON: {exc}") from exc
    if len(written) > most:
        raise BadInput(f"what {called} holds takes {len(written):,} characters as JSON; at most {most:,} fit")
    if _ESCAPED_NUL.search(written):
        raise BadInput(f"there is a NUL character in {called}; remove it")
    copy: dict[str, object] = json.loads(written)
    level: list[object] = [copy]
    for _ in range(EXTRA_DEPTH):
        nested = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [inner for inside in nested for inner in inside]
    if level:
        raise BadInput(f"what {called} holds is nested more than {EXTRA_DEPTH} deep; flatten it")
    return copy


def without_secrets(given: Mapping[str, object], called: str = "") -> dict[str, object]:
    """Return JSON that keeps no secrets; a name such as `password` says what stands under it, or beside it as a `value`."""
    label = next((known for name in _LABELS if isinstance(known := given.get(name), str)), called)
    kept: dict[str, object] = {}
    for name, value in given.items():
        key = cut_secrets(name).text
        key = f"{key} {len(kept)}" if key in kept else key  # two that were cut do not become one
        kept[key] = _named((label if name in _VALUES else name)[-NAME_LIMIT:], value)
    return kept


def _named(called: str, value: object) -> object:
    if isinstance(value, dict):
        return without_secrets(value, called)
    if isinstance(value, list):
        return [_named(called, one) for one in value]
    is_number = isinstance(value, int) and not isinstance(value, bool) and not _NAMES_AN_ID.search(called)
    if not isinstance(value, str) and not is_number:
        return value
    lead, cut = cut_secrets(f"{called}: ").text, cut_secrets(f"{called}: {value}").text
    kept = cut.removeprefix(lead) if cut.startswith(lead) else cut_secrets(str(value)).text
    return value if kept == str(value) else kept


def shares(value: object, name: str) -> dict[str, float]:
    """Return how much each is to count, from 0 to 1, by folded name."""
    if not isinstance(value, Mapping):
        raise BadInput(f"{name} must map names to numbers from 0 to 1, not {type(value).__name__}")
    for who, share in value.items():
        if not isinstance(who, str) or isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise BadInput(f"{name} must map names to numbers from 0 to 1, not {who!r} to {share!r}")
    return {fold(who): float(share) for who, share in value.items()}
