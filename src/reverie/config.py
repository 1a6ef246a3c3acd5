"""Settings: one frozen value, from `reverie.toml` in the home and from the environment, which wins.

Every value knows where it came from. A key that is not known is refused with the nearest that is: a misspelt setting
must not pass for one that is set. This is the only module that reads the environment.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from reverie.errors import BadInput, StoreError
from reverie.memory import check

FILE = "reverie.toml"
DEFAULT = "default"
SECRETS = frozenset({"openai_key", "anthropic_key", "ollama_key"})  # never shown
URLS = frozenset({"openai_url", "anthropic_url", "ollama_url"})
NUMBERS = frozenset({"budget", "recalls_days"})
DOLLARS = frozenset({"daily_budget", "monthly_budget"})
MAY_BE_UNSET = SECRETS | {"person", "model", "monthly_budget"}
LONGEST_DAYS = 36_500
MOST_DOLLARS = 1_000_000
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "embedder": ("REVERIE_EMBEDDER",),
    "openai_url": ("REVERIE_OPENAI_URL",),
    "openai_key": ("REVERIE_OPENAI_KEY", "OPENAI_API_KEY"),
    "model": ("REVERIE_MODEL",),
    "anthropic_url": ("REVERIE_ANTHROPIC_URL",),
    "anthropic_key": ("REVERIE_ANTHROPIC_KEY", "ANTHROPIC_API_KEY"),
    "ollama_url": ("REVERIE_OLLAMA_URL",),
    "ollama_key": ("REVERIE_OLLAMA_KEY",),
    "daily_budget": ("REVERIE_DAILY_BUDGET",),
    "monthly_budget": ("REVERIE_MONTHLY_BUDGET",),
    "learn": ("REVERIE_LEARN",),
    "zone": ("REVERIE_ZONE",),
    "space": ("REVERIE_SPACE",),
    "person": ("REVERIE_PERSON",),
    "budget": ("REVERIE_BUDGET",),
    "recalls_days": ("REVERIE_RECALLS_DAYS",),
}
MEANING: Mapping[str, str] = {
    "embedder": "who finds by meaning: local, none, or openai:NAME",
    "openai_url": "where an OpenAI-compatible embedder or language model answers",
    "openai_key": "its key",
    "model": "who learns from what is said: openai:NAME, anthropic:NAME or ollama:NAME; without one, rules do",
    "anthropic_url": "where Anthropic's models answer",
    "anthropic_key": "its key",
    "ollama_url": "where Ollama, or another server that speaks OpenAI's protocol, answers",
    "ollama_key": "its key, if it wants one",
    "daily_budget": "dollars that language models may cost a day",
    "monthly_budget": "dollars that language models may cost a month; without it, as many as the days allow",
    "learn": "whether facts are learned from what is said: true or false",
    "zone": "the time zone of dates without one",
    "space": "the space used when none is named",
    "person": "who speaks when nobody is named",
    "budget": "tokens of a context when none are named",
    "recalls_days": "for how many days a recall can be explained; 0 keeps none",
}


def local_zone(environ: Mapping[str, str] | None = None) -> str:
    """Return the IANA name of this machine's time zone, or UTC where it cannot be told."""
    candidates = [(os.environ if environ is None else environ).get("TZ", "").removeprefix(":")]
    localtime = Path("/etc/localtime")
    if localtime.is_symlink():
        candidates.append(os.path.realpath(localtime).partition("zoneinfo/")[2])
    for name in filter(None, candidates):
        try:
            return _zone(name)
        except BadInput:
            continue
    return "UTC"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a person may set, each with a default that works; `origins` says where each value came from."""

    embedder: str = "local"
    openai_url: str = "https://api.openai.com/v1"
    openai_key: str | None = field(default=None, repr=False)
    model: str | None = None
    anthropic_url: str = "https://api.anthropic.com"
    anthropic_key: str | None = field(default=None, repr=False)
    ollama_url: str = "http://localhost:11434/v1"
    ollama_key: str | None = field(default=None, repr=False)
    daily_budget: float = 1.00
    monthly_budget: float | None = None
    learn: bool = True
    zone: str = field(default_factory=local_zone)
    space: str = "default"
    person: str | None = None
    budget: int = 2000
    recalls_days: int = 30
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in NAMES:
            object.__setattr__(self, name, _checked(name, getattr(self, name)))

    def origin(self, name: str) -> str:
        """Return where a value came from: `default`, a file and line, or an environment variable."""
        return self.origins.get(name, DEFAULT)

    @property
    def servers(self) -> dict[str, tuple[str, str | None]]:
        """The address and the key of each maker of language models."""
        return {
            "openai": (self.openai_url, self.openai_key),
            "anthropic": (self.anthropic_url, self.anthropic_key),
            "ollama": (self.ollama_url, self.ollama_key),
        }


NAMES = tuple(one.name for one in fields(Settings) if one.name != "origins")


def default_home(environ: Mapping[str, str] | None = None) -> str:
    """Return the home used when none is named."""
    return (os.environ if environ is None else environ).get("REVERIE_HOME") or "~/.reverie"


def wants_colour(environ: Mapping[str, str] | None = None) -> bool:
    """Tell whether colours are welcome (https://no-color.org)."""
    environ = os.environ if environ is None else environ
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def given(settings: object, home: Path | None) -> Settings:
    """Return the settings a mind was opened with; without any, those of its home."""
    if settings is None:
        return load(home)
    if not isinstance(settings, Settings):
        raise BadInput(f"settings must be a reverie.config.Settings, not {type(settings).__name__}")
    return settings


def load(home: str | os.PathLike[str] | None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings of a home."""
    environ = os.environ if environ is None else environ
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    path = None if home is None or os.fspath(home) == ":memory:" else check.path(home, "home") / FILE
    if path is not None:
        text = _read(path)
        for name, value in _parse(text, path).items():
            place = f"{path}:{_line_of(text, name)}"
            try:
                _known(name)
                values[name] = _checked(name, value)
            except BadInput as exc:
                raise BadInput(f"{place}: {exc}") from exc
            origins[name] = place
    for name, variables in VARIABLES.items():
        variable = next((variable for variable in variables if environ.get(variable)), None)
        if variable is not None:
            try:
                values[name] = _typed(name, environ[variable])
            except BadInput as exc:
                raise BadInput(f"environment variable {variable}: {exc}") from exc
            origins[name] = variable
    values.setdefault("zone", local_zone(environ))
    return Settings(**values, origins=origins)  # type: ignore[arg-type]  # every value is checked by name


def fits(name: str, text: str) -> object:
    """Return the value that a text stands for; one that does not fit its setting is refused."""
    return _typed(_known(name), text)


def put(home: str | os.PathLike[str], name: str, text: str) -> Settings:
    """Set a value in the home's file, leaving every other line as it is."""
    return _edit(home, name, fits(name, text))


def unset(home: str | os.PathLike[str], name: str) -> Settings:
    """Take a value out of the home's file, so that its default holds again."""
    return _edit(home, _known(name), None)


def _edit(home: str | os.PathLike[str], name: str, value: object) -> Settings:
    path = Path(os.path.realpath(check.path(home, "home") / FILE))
    text = _read(path)
    before = _parse(text, path)
    lines = text.splitlines(keepends=True)
    line = "" if value is None else f"{name} = {json.dumps(value, ensure_ascii=False)}\n"
    if name in before:
        number = _line_of(text, name) - 1
        comment = re.search(r"(\s+#[^\"']*)$", lines[number].rstrip("\r\n"))
        lines[number] = line if not (line and comment) else line.rstrip("\n") + comment[1] + "\n"
    elif line:
        lines = [*lines[:-1], lines[-1].rstrip("\n") + "\n", line] if lines else [line]
    written = "".join(lines)
    after = {key: kept for key, kept in before.items() if key != name} | ({} if value is None else {name: value})
    try:
        is_meant = tomllib.loads(written) == after
    except (ValueError, RecursionError):
        is_meant = False
    if not is_meant:  # a value over several lines, or a quoted key: nothing that was typed here
        raise BadInput(f"{path} cannot be changed line by line at {name!r}; edit it by hand")
    if written != text:
        _write(path, written)
    return load(home)


def _read(path: Path) -> str:
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe may never end, or never begin
            raise BadInput(f"{path} is no ordinary file; put one in its place, or take it away")
        return path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):  # a home that is a file is refused by who opens it
        return ""
    except OSError as exc:
        raise BadInput(f"{path} cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise BadInput(f"{path} is not UTF-8 text; save it as UTF-8") from exc


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with open(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8", newline="") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as exc:
        raise StoreError(f"{path} could not be written: {exc.strerror or exc}") from exc


def _parse(text: str, path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        found = re.search(r"line (\d+)", str(exc))
        line = found[1] if found else text.rstrip().count("\n") + 1
        raise BadInput(f'{path}:{line}: not TOML ({exc}); write one setting a line, such as space = "home"') from exc
    except RecursionError as exc:
        raise BadInput(
            f'{path}: lists within lists, too deep to read; write one setting a line, such as space = "home"'
        ) from exc
    except ValueError as exc:  # the one that Python gives up on, for the time it would take
        raise BadInput(f"{path}: a number of thousands of digits, which no setting has; take it out") from exc


def _line_of(text: str, name: str) -> int:
    """Return the number of the line that sets a key; the first line where it cannot be told."""
    pattern = re.compile(
        rf"\s*(?:{re.escape(name)}|\"{re.escape(name)}\"|'{re.escape(name)}'|\[+\s*{re.escape(name)})\s*[=.\]]"
    )
    return next((number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)), 1)


def _known(name: str) -> str:
    return check.one_of(name, NAMES, "setting")


def _typed(name: str, text: str) -> object:
    """Return the value that a text stands for."""
    if name == "learn":
        return _checked(
            name, {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower(), text)
        )
    if name in DOLLARS:
        try:
            return _checked(name, float(text.removeprefix("$")))
        except ValueError as exc:
            raise BadInput(f"{name} must be a number of dollars, not {text!r:.80}") from exc
    if name not in NUMBERS:
        return _checked(name, text)
    try:
        return _checked(name, int(text.replace("_", "")))
    except ValueError as exc:
        raise BadInput(f"{name} must be a whole number, not {text!r:.80}") from exc


def _checked(name: str, value: object) -> object:
    """Return a value that fits its setting."""
    if value is None and name in MAY_BE_UNSET:
        return None
    if name == "learn":
        if not isinstance(value, bool):
            raise BadInput(f"learn must be true or false, not {value!r:.80}")
        return value
    if name in DOLLARS:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_DOLLARS:
            raise BadInput(f"{name} must be a number of dollars from 0 to {MOST_DOLLARS:,}, not {value!r:.80}")
        return float(value)
    if name in NUMBERS:
        if isinstance(value, int) and value.bit_length() > 63:  # too long to be shown
            raise BadInput(f"{name} must be a whole number below 2**63")
        if name == "budget":
            return check.count(value, name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST_DAYS:
            raise BadInput(f"{name} must be a whole number from 0 to {LONGEST_DAYS}, not {value!r}")
        return value
    if name in SECRETS and isinstance(value, str) and not value.isprintable():
        raise BadInput(f"{name} holds a character that no key has; copy it again")  # without showing it
    if name == "zone":
        return _zone(check.name(value, name))
    said = check.name(value, name)
    if name in URLS:
        if re.search("[@?#]", said):  # what may be a password is not shown
            key = name.replace("url", "key")
            raise BadInput(f"{name} must be an address alone, without a name, a password or '?'; the key goes into {key}")
        if not said.startswith(("http://", "https://")):
            raise BadInput(f"{name} must start with http:// or https://, not {said!r}")
    return said


def _zone(name: str) -> str:
    from reverie.memory.people import check_zone

    return check_zone(name)
