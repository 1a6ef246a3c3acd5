"""Everything that can go wrong, one class for each thing a caller would do differently.

    ReverieError
    ├── BadInput            the call is wrong; the message shows the fix
    │   └── Refused         the text may not become what was asked
    ├── NotFound            no such thing here (or not for this scope: the two look alike)
    ├── Conflict            somebody changed it meanwhile
    │   └── UndoConflict    later commits are in the way
    ├── CannotUndo          an erase, for one, is final
    ├── Erased              this text was erased and is not learned again
    ├── StoreError          the place where memories are kept
    │   ├── Damaged         the file is not what was written
    │   ├── SchemaTooNew    written by a newer Reverie
    │   ├── WrongKey        the passphrase does not open it
    │   ├── ReadOnly        cannot be written
    │   ├── Full            no room left on the disk
    │   └── Busy            somebody else holds it
    ├── ModelError          a language model or embedder failed
    └── BudgetExceeded      tokens or money ran out

Nothing is stored when one of these is raised, unless its message says so.
"""

from __future__ import annotations


class ReverieError(Exception):
    """The root: catch it to catch everything Reverie raises on purpose."""


class BadInput(ReverieError):
    """The call itself is wrong; the message shows the fix."""


class Refused(BadInput):
    """The text may not become what was asked; `item` is what waits for a person in quarantine, if anything does."""

    def __init__(self, message: str, item: object = None) -> None:
        super().__init__(message)
        self.item = item


class NotFound(ReverieError):
    """No such thing in this scope."""


class Conflict(ReverieError):
    """What the caller expected has changed meanwhile."""


class UndoConflict(Conflict):
    """Later commits touched the same memories; `commits` names them, newest first."""

    def __init__(self, message: str, commits: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.commits = commits


class CannotUndo(ReverieError):
    """The change is final."""


class Erased(ReverieError):
    """The text was erased for good and is not kept again."""


class StoreError(ReverieError):
    """The place where memories are kept failed."""


class Damaged(StoreError):
    """A file does not hold what was written to it; it is left untouched."""


class SchemaTooNew(StoreError):
    """A newer Reverie wrote this file."""


class WrongKey(StoreError):
    """The passphrase does not open this home."""


class ReadOnly(StoreError):
    """The home cannot be written."""


class Full(StoreError):
    """No room left on the disk; nothing of the change was kept."""


class Busy(StoreError):
    """Another process holds what this call needs."""


class ModelError(ReverieError):
    """A language model or an embedder failed; `may_pass` if the same may work later, after `wait_s` where that was said.

    `is_set_wrong` if it will only once somebody puts right what is set: a key, a name, money.
    """

    def __init__(
        self, message: str, *, may_pass: bool = False, wait_s: float | None = None, is_set_wrong: bool = False
    ) -> None:
        super().__init__(message)
        self.may_pass, self.wait_s, self.is_set_wrong = may_pass or is_set_wrong, wait_s, is_set_wrong


class BudgetExceeded(ReverieError):
    """A budget of tokens or money ran out."""
