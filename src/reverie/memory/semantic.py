"""What can be known of somebody: the types of facts (C1), and claims found in a message that nobody has let in yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

TYPES = ("preference", "profile", "relationship", "project", "lore", "other")
LORE = "__lore__"  # the subject of what belongs to everybody in a space


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that a message says of its speaker, or of someone else, in words that stand by themselves.

    `quote` is the part of the message it rests on, word for word. A claim on a `topic` that `corrects` ends what was known on
    that topic before. A `wish` is about how replies to the speaker should be.
    """

    text: str
    quote: str
    type: str = "other"
    topic: str = ""
    is_about_speaker: bool = True
    confidence: float = 0.8
    corrects: bool = False
    is_wish: bool = False
    happened_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None


def normal_type(named: str) -> str:
    """Return the type that a name stands for; what is not one of ours is `other`.

    >>> normal_type("Profile"), normal_type("general")
    ('profile', 'other')
    """
    folded = named.strip().casefold()
    return folded if folded in TYPES else "other"
