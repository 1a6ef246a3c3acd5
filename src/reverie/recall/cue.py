"""What a question asks for: the filters that narrow where to look."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from reverie.errors import BadInput
from reverie.memory import check
from reverie.memory.scope import Scope
from reverie.memory.trace import KINDS
from reverie.store.base import Where

Between = tuple[datetime | None, datetime | None]


def where_of(
    scope: Scope,
    kinds: Iterable[str] | None,
    tags: Iterable[str] | None,
    subject: str | None,
    session: str | None,
    between: Between | None,
    retired: bool = False,
) -> Where:
    """Return the filters of a verb, checked."""
    if between is not None:
        if not isinstance(between, tuple | list) or len(between) != 2:
            raise BadInput("between takes a start and an end, either of which may be None")
        between = (check.optional_moment(between[0], "the start"), check.optional_moment(between[1], "the end"))
        check.interval(*between, "between")
    return Where(
        scope,
        None if kinds is None else tuple(check.one_of(kind, KINDS, "kind") for kind in check.names(kinds, "kinds")),
        check.names(tags or (), "tags", check.TAGS_LIMIT),
        check.optional_name(subject, "subject"),
        check.optional_name(session, "session"),
        between=between,
        retired=bool(retired),
    )
