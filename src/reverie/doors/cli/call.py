"""What stands around a verb on a command line: which home, whose eyes, how the answer is written, who is asked first."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie import config
from reverie.doors.cli.show import Page, coloured, visible
from reverie.doors.verbs import Verb, listed
from reverie.errors import BadInput

if TYPE_CHECKING:
    from reverie.memory.scope import Scope
    from reverie.mind import Mind

DONE, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130  # exit codes
SCOPE = ("space", "channel", "session", "person")
TEXT_BYTES = 4_000_000  # a million characters, which is what a text may have, take no more
FIRST_WORD_S, EVERY_S, EVERY_PLAIN_S = 1.0, 0.5, 10.0


@dataclass(frozen=True)
class Call:
    """The options that every command takes; None is what was not said."""

    home: str | None = None
    space: str | None = None
    channel: str | None = None
    session: str | None = None
    person: str | None = None
    owner: bool | None = None
    json: bool | None = None
    full: bool | None = None
    debug: bool | None = None

    def __post_init__(self) -> None:
        for name in ("home", *SCOPE):
            value = getattr(self, name)
            if value is not None and not value.strip():  # a variable that is not set, most likely: never the default instead
                raise BadInput(f"--{name} is empty; give it a value, or leave it out")

    def over(self, outer: Call) -> Call:
        """Return these options, and the outer ones where nothing was said here."""
        said = {name: value for name, value in vars(self).items() if name in Call.__dataclass_fields__ and value is not None}
        return replace(outer, **said)

    @cached_property
    def home_path(self) -> str:
        """The home that is meant."""
        return config.default_home() if self.home is None else self.home

    @cached_property
    def settings(self) -> config.Settings:
        """The settings of the home."""
        return config.load(self.home_path)

    @property
    def not_learning(self) -> str:
        """What to say where learning is off."""
        return f"off ({self.settings.origin('learn')}); what is said is kept, but nothing is learned from it"

    @cached_property
    def zone(self) -> tzinfo:
        """The zone of dates without one."""
        from zoneinfo import ZoneInfo

        return ZoneInfo(self.settings.zone)

    @property
    def page(self) -> Page:
        """Where results go."""
        return Page(sys.stdout, coloured(sys.stdout), self.zone, bool(self.full))

    def scope(self, verb: Verb, arguments: Mapping[str, object]) -> Scope | None:
        """Return whose eyes a command sees with.

        Naming a channel, session or person (or having set one) is acting as them. Otherwise it is the owner who sits at the
        terminal: `Verb.default_scope` says what that means for each verb; `--no-owner` is everyone in the space.
        """
        from reverie.memory.scope import Scope

        if verb.unscoped == "whole":
            self.only(verb.command or verb.name)
            return None
        named = {part: value for part in SCOPE[1:] if (value := getattr(self, part)) is not None}
        space = self.settings.space if self.space is None else self.space
        if self.owner and named:
            raise BadInput(f"--owner sees the whole space; leave out --{next(iter(named))}, or --owner")
        if self.owner and verb.name == "context":
            raise BadInput(
                "a context fills a prompt, and is never seen with the owner's eyes; leave out --owner, or name a --person"
            )
        if not self.owner and not named and self.settings.person:
            named = {"person": self.settings.person}
        if named:
            return Scope(space, **named)
        if self.owner is False:
            return Scope(space)
        if self.space is not None and verb.unscoped != "member":
            return Scope.owner(space)
        return verb.default_scope(arguments, space)

    def only(self, command: str, *parts: str) -> None:
        """Refuse every word about a scope but these `parts`, for a command that would not heed it."""
        said = [f"--{part}" for part in SCOPE if part not in parts and getattr(self, part) is not None]
        said += ["--no-owner"] if self.owner is False and parts != SCOPE else []
        if said:
            rest = f"takes --{', --'.join(parts)} alone" if parts else "takes no scope"
            raise BadInput(f"{command} {rest}; leave out {listed(said)}")

    @property
    def is_begun(self) -> bool:
        """Whether the home is there; what can be none is left for `open` to refuse."""
        if self.home_path == ":memory:" or "://" in self.home_path:
            return True
        home = self.place()
        return (home / "spaces").is_dir() or (home.exists() and not home.is_dir())

    @contextmanager
    def mind(self, embedder: str | None = None, begins: bool = False) -> Iterator[Mind]:
        """Open the home, where embedding happens inside each call; unless it `begins` now, one that is not there stays so."""
        import reverie

        home = self.home_path if begins or self.is_begun else ":memory:"
        chosen = embedder or self.settings.embedder
        with told_on_stderr(), reverie.open(home, settings=self.settings, embedder=chosen, background=False) as mind:
            yield mind

    def place(self) -> Path:
        """Return the home's folder."""
        from reverie.memory import check

        if self.home_path == ":memory:":
            raise BadInput("':memory:' is no folder; name one with --home")
        return check.path(self.home_path, "home")


@contextmanager
def told_on_stderr() -> Iterator[None]:
    """Show what the library warns of, such as an embedder that does not answer, as one line each."""
    import logging

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            sys.stderr.write(f"note: {visible(record.getMessage())}\n")

    notes, log = Notes(logging.WARNING), logging.getLogger("reverie")
    log.addHandler(notes)
    try:
        yield
    finally:
        log.removeHandler(notes)


class Progress:
    """A word on stderr about whatever takes longer than a second: a running count on a terminal, else a line now and then."""

    def __init__(self, doing: str) -> None:
        self._doing, self._count, self._shown = doing, "", 0
        self._started = time.monotonic()
        self._over = threading.Event()
        self._is_terminal = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __call__(self, done: int, total: int | None = None) -> None:
        """Take note of how far it is."""
        self._count = f" {done:,}" + (f" of {total:,}" if total else "")

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self._shown and self._is_terminal:
            self._say("\r" + " " * self._shown + "\r")

    def _run(self) -> None:
        wait = FIRST_WORD_S
        while not self._over.wait(wait):
            line = f"{self._doing}…{self._count} ({time.monotonic() - self._started:.0f} s)"
            self._say(f"\r{line.ljust(self._shown)}" if self._is_terminal else f"{line}\n")
            self._shown = max(self._shown, len(line))
            wait = EVERY_S if self._is_terminal else EVERY_PLAIN_S

    def _say(self, text: str) -> None:
        encoding = sys.stderr.encoding or "utf-8"
        sys.stderr.write(text.encode(encoding, "replace").decode(encoding))
        sys.stderr.flush()


def ask(question: str) -> str | None:
    """Ask on stderr and return the answer; None where nobody answers."""
    sys.stderr.write(visible(question) + " ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        sys.stderr.write("\n")
    return line.strip() if line else None


def agreed(question: str) -> bool:
    """Ask for a yes; anything else is a no."""
    return (ask(f"{question} [y/N]") or "").casefold() in ("y", "yes")


def from_stdin(called: str, most: int | None = TEXT_BYTES) -> str:
    """Return what is piped in, less the last end of line."""
    if sys.stdin.isatty():
        sys.stderr.write(f"reading {called} from the terminal; end it with Ctrl-D\n")
    source: Any = getattr(sys.stdin, "buffer", sys.stdin)
    raw = source.read(-1 if most is None else most + 1)
    if most is not None and len(raw) > most:
        raise BadInput(f"{called} from stdin is longer than a text may be; split it")
    try:
        text: str = raw.decode("utf-8") if isinstance(raw, bytes) else raw
    except UnicodeDecodeError as exc:
        raise BadInput(f"{called} from stdin is not UTF-8 (byte {exc.start}); convert it first") from exc
    return text.removesuffix("\n").removesuffix("\r")
