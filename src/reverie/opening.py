"""Opening a mind: the only place where its parts are chosen and put together."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime

from reverie import config
from reverie.errors import BadInput
from reverie.memory import check
from reverie.mind import Mind
from reverie.models.base import Model
from reverie.models.choose import Unready, embedder_from, model_from
from reverie.models.costs import FILE as COSTS
from reverie.models.costs import Costs
from reverie.recall.expand import Ask
from reverie.store.base import Store

log = logging.getLogger(__name__)


def open(
    home: str | os.PathLike[str] = "~/.reverie",
    *,
    settings: object = None,
    embedder: object = "local",
    model: object = None,
    clock: Callable[[], datetime] | None = None,
    window: bool = True,
    background: bool = True,
    passphrase: str | None = None,
    expand: Ask | None = None,
) -> Mind:
    """Open a home folder, made if missing; ":memory:" for a mind that is gone when closed."""
    if passphrase is not None:
        raise BadInput("passphrase is not supported yet; leave it out")
    for given, name, returned in ((clock, "clock", "aware datetimes"), (expand, "expand", "more words for a question")):
        if given is not None and not callable(given):
            raise BadInput(f"{name} must be a callable that returns {returned}, not {type(given).__name__}")
    path = check.path(home, "home")
    if "://" in os.fspath(home):
        raise BadInput(f"no server can be used yet, only a folder or ':memory:', not {home!r}")
    now = clock or (lambda: datetime.now(UTC))
    is_kept = os.fspath(home) != ":memory:"
    chosen = config.given(settings, path if is_kept else None)
    chosen_embedder = embedder_from(embedder, url=chosen.openai_url, key=chosen.openai_key)
    costs = Costs(path / COSTS if is_kept else None, now, chosen.zone, chosen.daily_budget, chosen.monthly_budget)
    chosen_model: Model | None
    try:
        chosen_model = model_from(chosen.model if model is None else model, chosen.servers, costs, now)
    except BadInput as exc:
        if model is not None or chosen.model is None:
            raise
        log.warning("nothing is learned until this is mended: %s", exc)  # but all that was said can be recalled
        chosen_model = Unready(chosen.model, str(exc))
    store: Store
    if is_kept:
        from reverie.store.sqlite import SqliteStore

        store = SqliteStore(path)
    else:
        from reverie.store.in_memory import InMemoryStore

        store = InMemoryStore()
    return Mind(
        store, now, path if is_kept else None, chosen_embedder, background, chosen.zone, chosen.recalls_days, expand,
        chosen_model, chosen.learn,
    )  # fmt: skip
