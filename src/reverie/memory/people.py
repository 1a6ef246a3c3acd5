"""People: one person, many names and accounts (R15).

A person belongs to a space, like everything else. Names keep the date since which they are in use; looking a name up
ignores case and accents and understands a mention such as `<@283749>`.
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from reverie.errors import BadInput
from reverie.memory.language import fold, plain

_MENTION = re.compile(r"<@[!&]?([^<>\s]+)>")


@dataclass(frozen=True, slots=True)
class Name:
    """A name in use since a day."""

    text: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Person:
    """Whom memories are about: names, accounts, zone, language, and whether they want to be remembered at all."""

    id: str
    names: tuple[Name, ...] = ()
    accounts: tuple[str, ...] = ()
    zone: str | None = None
    language: str | None = None
    opted_out: bool = False

    @property
    def name(self) -> str:
        """The name in use now; the id where none is known."""
        return self.names[-1].text if self.names else self.id


def to_value(person: Person) -> dict[str, object]:
    """Return the JSON form."""
    return {
        "names": [[name.text, name.since.isoformat()] for name in person.names],
        "accounts": list(person.accounts),
        "zone": person.zone,
        "language": person.language,
        "opted_out": person.opted_out,
    }


def from_value(id: str, value: Mapping[str, object]) -> Person:
    """Read the JSON form."""
    names, accounts = value.get("names"), value.get("accounts")
    zone, language = value.get("zone"), value.get("language")
    return Person(
        id,
        tuple(Name(text, datetime.fromisoformat(since)) for text, since in (names if isinstance(names, list) else ())),
        tuple(str(account) for account in (accounts if isinstance(accounts, list) else ())),
        None if zone is None else str(zone),
        None if language is None else str(language),
        bool(value.get("opted_out")),
    )


def matching(people: Iterable[Person], called: str) -> tuple[Person, ...]:
    """Return those whose id, account or any name is `called`."""
    mention = _MENTION.fullmatch(called.strip())
    sought = _key(mention[1] if mention else called.removeprefix("@"))
    return tuple(
        person
        for person in people
        if sought in {_key(person.id), *map(_key, person.accounts), *(_key(name.text) for name in person.names)}
    )


def _key(name: str) -> str:
    return plain(fold(name))


def check_zone(zone: str) -> str:
    """Return an IANA zone name that exists."""
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as exc:
        raise BadInput(f"no time zone named {zone!r}; use an IANA name such as 'America/Mexico_City'") from exc
    return zone
