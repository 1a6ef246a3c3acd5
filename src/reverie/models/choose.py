"""From what a caller writes to the embedder that is meant.

Each is imported when it is chosen, and a model is loaded when its first text comes.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, cast

from reverie.errors import BadInput

if TYPE_CHECKING:
    from reverie.models.base import Embedder

_CHOICES = ("local", "none", "hashing", "local:FOLDER", "openai:MODEL")


def embedder_from(choice: object, *, url: str, key: str | None) -> Embedder | None:
    """Return the embedder that `choice` names, or `choice` itself if it is one; None for "none"."""
    if isinstance(choice, str):
        kind, _, detail = choice.partition(":")
        match kind, detail:
            case "none", "" if choice == kind:
                return None
            case "local", _ if detail or choice == kind:
                from reverie.models.local import Local

                return Local(detail or None)
            case "hashing", "" if choice == kind:
                from reverie.models.hashing import Hashing

                return Hashing()
            case "openai", _ if detail:
                from reverie.models.openai import OpenAI

                return OpenAI(detail, url, key)
        near = difflib.get_close_matches(choice, ("local", "none", "hashing", f"openai:{detail or 'MODEL'}"), 1, 0.5)
        hint = f"nearest is {near[0]!r}" if near else f"one of {', '.join(_CHOICES)}, or an object of your own"
        raise BadInput(f"no embedder named {choice!r}; {hint}")
    if (
        isinstance(choice, type)
        or not isinstance(getattr(choice, "name", None), str)
        or not callable(getattr(choice, "embed", None))
    ):
        what = f"the class {choice.__name__} itself" if isinstance(choice, type) else f"a {type(choice).__name__}"
        raise BadInput(f"embedder is {what}; give one of {', '.join(_CHOICES)}, or an object with a name and embed(texts)")
    return cast("Embedder", choice)
