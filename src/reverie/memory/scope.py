"""Where something was said, and who may hear it again.

A space is a wall. Inside it a memory carries an audience, and is visible in a scope exactly when every field set in
the audience equals the scope's, and a private line (a person, no channel) is not answered in a channel, not even to that
person. Stores decide this inside their queries; `visible` is the rule they are tested against.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from reverie.errors import BadInput
from reverie.memory import check


@dataclass(frozen=True, slots=True, repr=False)
class Scope:
    """A place to speak or ask in: a space, and inside it a channel, a session, a person."""

    space: str = "default"
    channel: str | None = None
    session: str | None = None
    person: str | None = None
    sees_all: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "space", check.name(self.space, "space"))
        for part in ("channel", "session", "person"):
            object.__setattr__(self, part, check.optional_name(getattr(self, part), part))

    def __repr__(self) -> str:
        if self.sees_all:
            return f"Scope.owner({self.space!r})"
        parts = (f"{part}={value!r}" for part in ("channel", "session", "person") if (value := getattr(self, part)))
        return f"Scope({', '.join((repr(self.space), *parts))})"

    @classmethod
    def owner(cls, space: str = "default") -> Scope:
        """Return the scope that sees a whole space; never use it to fill a prompt."""
        return cls(space, sees_all=True)


def visible(audience: Scope, scope: Scope) -> bool:
    """Tell whether what is meant for `audience` may be seen in `scope`."""
    if audience.space != scope.space:
        return False
    if scope.sees_all:
        return True
    if audience.person is not None and audience.channel is None and scope.channel is not None:
        return False
    return (
        audience.channel in (None, scope.channel)
        and audience.session in (None, scope.session)
        and audience.person in (None, scope.person)
    )


@lru_cache(maxsize=256)
def everyone_in(space: str) -> Scope:
    """Return the scope that names nothing but the space."""
    return Scope(space)


def default_audience(scope: Scope) -> Scope:
    """Return who hears what is said in `scope`: the room's space, or the one person it was said in private with."""
    if scope.channel or scope.sees_all or scope.person is None:
        return everyone_in(scope.space)
    return Scope(scope.space, person=scope.person)


def within(inner: Scope, outer: Scope) -> bool:
    """Tell whether every scope that sees `inner` also sees `outer`."""
    if inner.space != outer.space or (outer.person and not outer.channel and inner.channel):
        return False
    return all(
        getattr(outer, part) is None or getattr(outer, part) == getattr(inner, part)
        for part in ("channel", "session", "person")
    )


def meet(audiences: Iterable[Scope]) -> Scope | None:
    """Return the widest audience inside all of `audiences`, or None where they do not meet."""
    met: Scope | None = None
    for audience in audiences:
        if met is None:
            met = audience
            continue
        joined = met
        for part in ("channel", "session", "person"):
            theirs = getattr(audience, part)
            if theirs is not None and getattr(joined, part) not in (None, theirs):
                return None
            if theirs is not None:
                joined = replace(joined, **{part: theirs})
        if not (within(joined, met) and within(joined, audience)):
            return None
        met = joined
    return met


def narrowed(audience: Scope, channel: str | None = None, session: str | None = None) -> Scope:
    """Return an audience kept to a room or a session; as it is where it has nobody there."""
    return meet((audience, Scope(audience.space, channel=channel, session=session))) or audience


def chosen_audience(scope: Scope, audience: Scope | None) -> Scope:
    """Return the audience asked for, which may narrow the default one but not widen it."""
    widest = default_audience(scope)
    if audience is None:
        return widest
    if not isinstance(audience, Scope):
        raise BadInput(f"audience must be a Scope, not {type(audience).__name__}")
    audience = replace(audience, sees_all=False)
    if not within(audience, widest):
        raise BadInput(
            f"audience {audience} is wider than {widest}, where it was said; audience= only narrows: "
            "to share it, remember it again in the wider scope"
        )
    return audience


def asked_in(scope: object) -> Scope:
    """Return the scope a verb was called with; None means `Scope()`."""
    if scope is None:
        return Scope()
    if not isinstance(scope, Scope):
        raise BadInput(f"scope must be a Scope, for example Scope(space='guild-1'), not {type(scope).__name__}")
    return scope
