"""What was erased from a home, kept beside the databases so that a damaged or deleted one does not bring it back.

`erase.key` holds the secret under which tombstones are made; it is in no database, backup or export. `erased` holds one
line per tombstone: the space's mark and a keyed hash. It grows at every erase, so that a look at its time stamp tells
every process that its caches may hold something they should not. The home is held open (shared) while a store uses it:
recovering needs it alone.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from reverie.errors import Busy, Damaged

_locks: ModuleType | None
try:
    import fcntl

    _locks = fcntl
except ImportError:  # a platform without it goes without the guard against recovering under a running process
    _locks = None


class Ledger:
    """The erase key and the tombstones of a home."""

    def __init__(self, home: Path, alone: bool = False) -> None:
        self._key, self._path = home / "erase.key", home / "erased"
        self._hold: int | None = None
        self._held_as(home / "lock", alone)
        try:
            self.secret = self._read_secret()
            self._seen = self._stamp()
        except BaseException:
            self.close()
            raise

    def _held_as(self, path: Path, alone: bool) -> None:
        if _locks is None:
            return
        self._hold = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _locks.flock(self._hold, (_locks.LOCK_EX if alone else _locks.LOCK_SH) | _locks.LOCK_NB)
        except OSError as exc:
            os.close(self._hold)
            self._hold = None
            why = "a mind has it open: close it first" if alone else "it is being recovered: try again in a moment"
            raise Busy(f"the home {path.parent} cannot be used now, {why}") from exc

    def _read_secret(self) -> bytes:
        if not self._key.exists():
            new = self._key.with_name(f".new-{secrets.token_hex(8)}")
            try:
                with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as handle:
                    handle.write(secrets.token_hex(32))
                    handle.flush()
                    os.fsync(handle.fileno())
                os.link(new, self._key)  # whoever comes second uses the first one's
            except FileExistsError:
                pass
            finally:
                new.unlink(missing_ok=True)
        try:
            secret = bytes.fromhex(self._key.read_text())
        except ValueError as exc:
            raise Damaged(
                f"{self._key} does not hold a key; restore it, or delete it to start a new list of what was erased"
            ) from exc
        return secret

    def marks(self, space_mark: str) -> list[bytes]:
        """Return the tombstones of a space."""
        if not self._path.exists():
            return []
        lines = (line.split(" ") for line in self._path.read_text(errors="replace").splitlines())
        return [bytes.fromhex(line[1]) for line in lines if len(line) == 2 and line[0] == space_mark and len(line[1]) == 32]

    def write(self, space_mark: str, marks: list[bytes]) -> None:
        """Add the tombstones that are not there yet, on disk before this returns."""
        known = set(self.marks(space_mark))
        marks = [mark for mark in marks if mark not in known]
        text = "".join(f"\n{space_mark} {mark.hex()}" for mark in marks)  # a line cut short by a crash ends here
        handle = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        try:
            os.write(handle, f"{text}\n".encode())
            os.fsync(handle)
        finally:
            os.close(handle)

    def is_empty(self) -> bool:
        """Tell whether nothing was ever erased from this home."""
        return not self._path.exists()

    def touch(self) -> None:
        """Tell every process to look again."""
        os.utime(self._path)

    def changed(self) -> bool:
        """Tell whether anything was erased since the last time."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._seen = stamp
        return True

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size

    @contextmanager
    def alone(self, task: str) -> Iterator[bool]:
        """Tell whether nobody else is at a task; a process that dies lets go of it."""
        handle = os.open(self._path.with_name(f"{task}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            is_mine = True
            if _locks is not None:
                try:
                    _locks.flock(handle, _locks.LOCK_EX | _locks.LOCK_NB)
                except OSError:
                    is_mine = False
            yield is_mine
        finally:
            _let_go(handle)

    def close(self) -> None:
        """Let go of the home."""
        if self._hold is not None:
            _let_go(self._hold)
            self._hold = None


def _let_go(handle: int) -> None:
    """Close a file and give up the lock on it: closing alone leaves it to a process that was forked meanwhile."""
    if _locks is not None:
        _locks.flock(handle, _locks.LOCK_UN)
    os.close(handle)
