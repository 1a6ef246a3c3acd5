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

MENTION = re.compile(r"<@[!&]?([^<>\s]+)>")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8}){0,3}")


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
    """Read the JSON form; what cannot be read in it is left out, since an import may have brought anything."""
    accounts, zone, language = (value.get(part) for part in ("accounts", "zone", "language"))
    listed = value.get("names")
    names = [_name(one) for one in (listed if isinstance(listed, list) else ())]
    return Person(
        id,
        tuple(name for name in names if name),
        tuple(account for account in (accounts if isinstance(accounts, list) else ()) if isinstance(account, str)),
        zone if isinstance(zone, str) and is_zone(zone) else None,
        language if isinstance(language, str) else None,
        bool(value.get("opted_out")),
    )


def _name(value: object) -> Name | None:
    match value:
        case [str(text), str(since)]:
            try:
                at = datetime.fromisoformat(since)
            except ValueError:
                return None
            return Name(text, at) if at.utcoffset() is not None else None
    return None


def matching(people: Iterable[Person], called: str) -> tuple[Person, ...]:
    """Return those whose id, account or any name is `called`."""
    mention = MENTION.fullmatch(called.strip())
    sought = _key(mention[1] if mention else called.removeprefix("@"))
    return tuple(
        person
        for person in people
        if sought in {_key(person.id), *map(_key, person.accounts), *(_key(name.text) for name in person.names)}
    )


def _key(name: str) -> str:
    return plain(fold(name))


def is_zone(zone: str) -> bool:
    """Tell whether an IANA zone of that name exists."""
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def check_language(language: str) -> str:
    """Return the code of a language, with its region or script if it has one."""
    if not _LANGUAGE.fullmatch(language):
        raise BadInput(f"no language code: {language!r}; use an ISO code such as 'es' or 'pt-BR'")
    return language


def check_zone(zone: str) -> str:
    """Return an IANA zone name that exists."""
    if not is_zone(zone):
        raise BadInput(f"no time zone named {zone!r}; use an IANA name such as 'America/Mexico_City'")
    return zone
