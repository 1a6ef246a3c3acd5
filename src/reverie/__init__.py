"""Reverie: the memory of an AI agent.

    >>> import reverie
    >>> with reverie.open(":memory:", clock=None) as mind:
    ...     _ = mind.observe("I moved to Oaxaca in May", speaker="Ana")
    ...     print(mind.recall("where did Ana move?").hits[0].memory.text)
    I moved to Oaxaca in May

Public names load when first used, so that `import reverie` costs next to nothing.
"""

TYPE_CHECKING = False  # type checkers take this for true; importing typing for it would cost more than all the rest
if TYPE_CHECKING:
    from reverie.errors import BadInput as BadInput
    from reverie.errors import BudgetExceeded as BudgetExceeded
    from reverie.errors import Busy as Busy
    from reverie.errors import CannotUndo as CannotUndo
    from reverie.errors import Conflict as Conflict
    from reverie.errors import Damaged as Damaged
    from reverie.errors import Erased as Erased
    from reverie.errors import Full as Full
    from reverie.errors import ModelError as ModelError
    from reverie.errors import NotFound as NotFound
    from reverie.errors import ReadOnly as ReadOnly
    from reverie.errors import Refused as Refused
    from reverie.errors import ReverieError as ReverieError
    from reverie.errors import SchemaTooNew as SchemaTooNew
    from reverie.errors import StoreError as StoreError
    from reverie.errors import UndoConflict as UndoConflict
    from reverie.errors import WrongKey as WrongKey
    from reverie.learn.background import Settled as Settled
    from reverie.learn.ingest import Ingested as Ingested
    from reverie.memory.people import Person as Person
    from reverie.memory.procedural import Pattern as Pattern
    from reverie.memory.scope import Scope as Scope
    from reverie.memory.trace import Commit as Commit
    from reverie.memory.trace import Diff as Diff
    from reverie.memory.trace import Memory as Memory
    from reverie.memory.trace import Source as Source
    from reverie.memory.working import Working as Working
    from reverie.mind import Mind as Mind
    from reverie.models.base import Embedder as Embedder
    from reverie.opening import open as open
    from reverie.recall.explain import Explanation as Explanation
    from reverie.recall.explain import Hit as Hit
    from reverie.recall.explain import Recollection as Recollection
    from reverie.recall.pack import Context as Context
    from reverie.sleep.proposals import Proposal as Proposal
    from reverie.upkeep import Health as Health
    from reverie.upkeep import Loaded as Loaded
    from reverie.upkeep import Proof as Proof
    from reverie.upkeep import Reindexed as Reindexed
    from reverie.upkeep import Status as Status
    from reverie.upkeep import recover as recover
    from reverie.worker import aio as aio

_HOME = {
    "open": "opening",
    "Mind": "mind",
    "Ingested": "learn.ingest",
    "Settled": "learn.background",
    "Proof": "upkeep",
    "Reindexed": "upkeep",
    "Embedder": "models.base",
    "Explanation": "recall.explain",
    "Context": "recall.pack",
    "Proposal": "sleep.proposals",
    "aio": "worker",
    "recover": "upkeep",
    "Health": "upkeep",
    "Status": "upkeep",
    "Loaded": "upkeep",
    "Scope": "memory.scope",
    "Memory": "memory.trace",
    "Source": "memory.trace",
    "Commit": "memory.trace",
    "Diff": "memory.trace",
    "Person": "memory.people",
    "Pattern": "memory.procedural",
    "Working": "memory.working",
    "Recollection": "recall.explain",
    "Hit": "recall.explain",
    **dict.fromkeys(
        (
            "ReverieError", "BadInput", "Refused", "NotFound", "Conflict", "UndoConflict", "CannotUndo", "Erased", "StoreError",
            "Damaged", "SchemaTooNew", "WrongKey", "ReadOnly", "Full", "Busy", "ModelError", "BudgetExceeded",
        ),
        "errors",
    ),
}  # fmt: skip

__version__ = "0.1.0"
__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'reverie' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"reverie.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
