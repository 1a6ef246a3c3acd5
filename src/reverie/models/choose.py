"""From what a caller writes to the embedder or the language model that is meant.

Each is imported when it is chosen, and a model is loaded when its first text comes.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, cast

from reverie.errors import BadInput, ModelError

if TYPE_CHECKING:
    from reverie.models.base import Answer, Asked, Embedder, Model
    from reverie.models.costs import Costs

_CHOICES = ("local", "none", "hashing", "local:FOLDER", "openai:MODEL")
_MODELS = ("openai:NAME", "anthropic:NAME", "ollama:NAME", "scripted:FILE")


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
    _expect_object(choice, "embedder", "embed", f"one of {', '.join(_CHOICES)}, or an object with a name and embed(texts)")
    return cast("Embedder", choice)


def model_from(
    choice: object,
    servers: Mapping[str, tuple[str, str | None]],
    costs: Costs,
    clock: Callable[[], datetime],
    sleep: Callable[[float], object] = time.sleep,
) -> Model | None:
    """Return the language model that `choice` names or is, asked steadily and within its budget; None for None.

    `servers` gives the address and the key of each maker: openai, anthropic and ollama.
    """
    if choice is None or choice == "none":
        return None
    model: Model
    if isinstance(choice, str):
        kind, _, detail = choice.partition(":")
        if kind == "scripted" and detail:
            from reverie.models.scripted import Scripted

            model = Scripted.from_file(detail)
        elif kind in servers and detail:
            from reverie.models.chat import Chat

            model = Chat(kind, detail, *servers[kind])
        else:
            meant = [f"{one.partition(':')[0]}:{detail or one.partition(':')[2]}" for one in _MODELS]
            near = difflib.get_close_matches(choice[:100], meant, 1, 0.5)
            hint = f"nearest is {near[0]!r}" if near else f"one of {', '.join(_MODELS)}, or an object of your own"
            raise BadInput(f"no language model named {choice[:100]!r}; {hint}")
    else:
        _expect_object(choice, "model", "ask", f"one of {', '.join(_MODELS)}, or an object with a name and ask(asked)")
        model = cast("Model", choice)
    from reverie.models.steady import Steady

    return model if isinstance(model, Steady) else Steady(model, costs, clock, sleep)


class Unready:
    """A language model that the settings name and that cannot be asked as they are; what it should do waits, and says why."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self._why = name, why

    def ask(self, asked: Asked) -> Answer:
        """Say what is missing."""
        raise ModelError(self._why, may_pass=True)


def _expect_object(choice: object, called: str, verb: str, instead: str) -> None:
    """Refuse what is neither a name nor an object that can do the work."""
    has_name = isinstance(getattr(choice, "name", None), str)
    if isinstance(choice, type) or not has_name or not callable(getattr(choice, verb, None)):
        what = f"the class {choice.__name__} itself" if isinstance(choice, type) else f"a {type(choice).__name__}"
        raise BadInput(f"{called} is {what}; give {instead}")
