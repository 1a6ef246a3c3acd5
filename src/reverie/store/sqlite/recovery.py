"""Putting database files back: they are checked and cleared in a folder of their own before they take anyone's place."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from pathlib import Path
from types import TracebackType

from reverie.errors import ReadOnly, StoreError
from reverie.memory.trace import space_mark
from reverie.store.sqlite.connect import connect, put_in_place, translated
from reverie.store.sqlite.ledger import Ledger


class Staging:
    """A home inside the home, with the same erase key; holds the home alone until it is left."""

    def __init__(self, home: Path) -> None:
        self._home = home
        try:
            (home / "spaces").mkdir(mode=0o700, parents=True, exist_ok=True)
            home.chmod(0o700)
            self._ledger = Ledger(home, alone=True)
            self.path = home / f".recover-{secrets.token_hex(4)}"
            self.spaces = self.path / "spaces"
            self.path.mkdir(mode=0o700)
            self.spaces.mkdir(mode=0o700)
            shutil.copy(home / "erase.key", self.path / "erase.key")
        except OSError as exc:
            raise ReadOnly(f"the home {home} cannot be written: {exc.strerror}; choose another") from exc

    def tombstones(self, space: str) -> list[bytes]:
        """Return what was erased from a space of this home."""
        return self._ledger.marks(space_mark(space))

    def put_in_place(self) -> None:
        """Move the files to their names; those that were there are put aside.

        At every moment a name stands for the old file or the new one, whole: the log of a process that crashed is first
        folded into the old file, since it would be taken for the new one's. Only a damaged file keeps its log.
        """
        aside = self._home / "aside"
        for new in sorted(self.spaces.glob("*.db")):
            old = self._home / "spaces" / new.name
            if old.exists():
                aside.mkdir(mode=0o700, exist_ok=True)
                kept = aside / f"{old.stem}.recover.{secrets.token_hex(4)}.db"
                with contextlib.suppress(StoreError), translated(old):
                    connect(old).close()
                for suffix in ("-wal", "-shm"):
                    if (part := old.with_name(old.name + suffix)).exists():
                        os.replace(part, kept.with_name(kept.name + suffix))
                os.link(old, kept)
            put_in_place(new, old, replace=True)

    def __enter__(self) -> Staging:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._ledger.close()
