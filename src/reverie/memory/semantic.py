"""What can be known of somebody: the types of facts (C1), and claims found in a message that nobody has let in yet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

TYPES = ("preference", "profile", "relationship", "project", "lore", "other")
LORE = "__lore__"  # the subject of what belongs to everybody in a space


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that a message says of its speaker, or of someone else, in words that stand by themselves.

    `quote` is the part of the message it rests on, word for word. A `slot` holds one thing at a time (a home, a name, what
    one thinks of sushi): a claim that `corrects` puts an end to what was known to fill the same one. A `wish` is about how
    replies to the speaker should be. `language` is the one it was said in.
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
    slot: str = ""
    language: str = "en"


# what says that something is over, and what was said of it while it held; the rest of the words stay
_OVER = (
    (r"\b(?:is|are) (?:no longer|not(?= .*\bany ?more\b))", "is"),
    (r"\b(?:no longer has|do(?:es)? not have(?= .*\bany ?more\b))", "has"),
    (r"\bno longer\b|\bdo(?:es)? not(?= .*\bany ?more\b)", ""),
    (r"\b(?:(?:has )?stopped|quit|(?:has )?(?:given|gave) up)(?= \w+ing\b)", ""),
    (r"\b(?:has )?sold\b", "has"),
    (r"\b(?:(?:has )?quit|resigned from|(?:has )?left|retired from)(?= [A-Z])", "works"),
    (r"\bya no\b", ""),
    (r"\bno(?= \w+ más\b)", ""),
    (r"\b(?:ha )?(?:dejó|dejado) de (\w+a)r\b", r"\1"),
    (r"\b(?:ha )?(?:dejó|dejado) de (\w+)[ei]r\b", r"\1e"),
    (r"\b(?:vendió|ha vendido)\b", "tiene"),
)
_NOT = (
    (r"\b(?:is|are) not\b", "is"),
    (r"\bdo(?:es)? not have\b", "has"),
    (r"\bdo(?:es)? not\b", ""),
    (r"(?<!, )\bno (?=\w)", ""),
)
_NO_MORE = re.compile(r"\bany ?more\b|\bmás\b", re.IGNORECASE)


def taken_back(text: str, corrects: bool = False) -> str | None:
    """Return what a claim says is over, as it was said while it held; None where it says so of nothing.

    What is not so is over if it was said so before: if saying it `corrects` something.

    >>> taken_back("Ana no longer lives in Rome"), taken_back("Ana ya no tiene perro"), taken_back("Ana lives in Rome")
    ('Ana lives in Rome', 'Ana tiene perro', None)
    >>> taken_back("Ana is not vegan"), taken_back("Ana is not vegan", corrects=True)
    (None, 'Ana is vegan')
    """
    for cue, held in _OVER + _NOT * corrects:
        said, count = re.subn(cue, held, text, count=1, flags=re.IGNORECASE if "[A-Z]" not in cue else 0)
        if count:
            return " ".join(_NO_MORE.sub("", said).split())
    return None


def normal_type(named: str) -> str:
    """Return the type that a name stands for; what is not one of ours is `other`.

    >>> normal_type("Profile"), normal_type("general")
    ('profile', 'other')
    """
    folded = named.strip().casefold()
    return folded if folded in TYPES else "other"
