"""The same verbs for programs that must not wait: each call runs in a worker thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from typing import Any


class aio:  # noqa: N801 - reads as a verb where it is used
    """`await aio(mind).recall(…)`: any verb of a mind, or of anything a mind hands out."""

    def __init__(self, of: object) -> None:
        self._of = of

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._of, name)
        if not callable(attribute):
            return aio(attribute) if type(attribute).__module__.startswith("reverie.") else attribute

        @functools.wraps(attribute)
        async def verb(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(_call, attribute, args, kwargs)

        return verb


def _call(verb: Any, args: Any, kwargs: Any) -> Any:
    answer = verb(*args, **kwargs)
    return list(answer) if isinstance(answer, Iterator) else answer
