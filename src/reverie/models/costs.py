"""What language models cost: every call is noted, and a spent budget ends them (K17).

A call is one line in `costs.jsonl`: when, which model, what for, tokens and dollars; never a text. Several processes may
append to the file, and each reads on from where it was, so that all know what was spent together. Prices come from the table
of `genai-prices`. Where it knows none, as for servers of one's own, tokens are counted and the call is marked as unpriced:
budgets cannot hold what has no price. The budget is looked at before a call, so the last one may go over it.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from reverie.errors import BudgetExceeded
from reverie.models.base import Answer

log = logging.getLogger(__name__)

FILE = "costs.jsonl"
ALERTS = (1.0, 0.8)  # shares of a budget, the higher one first
_SPECK = 1e-9  # dollars, by which sums of floats may be off
Span = Literal["day", "month"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls, their tokens and dollars; `unpriced` calls were by models whose price is not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.usd + other.usd,
            self.unpriced + other.unpriced,
        )

    def __str__(self) -> str:
        said = f"${self.usd:.4f}, {self.calls:,} calls, {self.input_tokens:,} tokens read and {self.output_tokens:,} written"
        return f"{said}; no price is known for {self.unpriced:,} of the calls" if self.unpriced else said


@dataclass(frozen=True, slots=True)
class Alert:
    """A budget of which 80 % (`share` 0.8) or all (1.0) is spent."""

    span: Span
    share: float
    usd: float
    budget: float

    def __str__(self) -> str:
        return f"${self.usd:.2f} of the ${self.budget:.2f} that may be spent on language models this {self.span} are spent"


class Costs:
    """Keeps what was spent, in a home or (without a path) in memory; days are those of `zone`."""

    def __init__(
        self,
        path: Path | None,
        clock: Callable[[], datetime],
        zone: str = "UTC",
        daily: float | None = 1.00,
        monthly: float | None = None,
    ) -> None:
        self._path, self._clock, self._zone = path, clock, ZoneInfo(zone)
        self._budgets: dict[Span, float | None] = {"day": daily, "month": monthly}
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, str, str], Usage] = {}  # by day, model and purpose
        self._unwritten: dict[tuple[str, str, str], Usage] = {}
        self._file: tuple[int, int] | None = None  # which file was read, and how far
        self._told: set[tuple[str, float]] = set()

    def today(self) -> Usage:
        """Return what this day took."""
        return self._sum(self._day())

    def month(self) -> Usage:
        """Return what this month took."""
        return self._sum(self._day()[:7])

    def by_purpose(self) -> dict[str, Usage]:
        """Return what this month took, purpose by purpose."""
        return self._grouped(2)

    def by_model(self) -> dict[str, Usage]:
        """Return what this month took, model by model."""
        return self._grouped(1)

    def by_day(self) -> dict[str, Usage]:
        """Return what each day of this month took."""
        return self._grouped(0)

    def alerts(self) -> tuple[Alert, ...]:
        """Return the budgets that are spent to 80 % or more."""
        return tuple(alert for span in self._budgets if (alert := self._alert(span)))

    def check(self, model: str) -> None:
        """Raise `BudgetExceeded` where a budget is spent and the model would cost anything known."""
        for alert in self.alerts():
            if alert.share == 1 and price_of(model, 1, 1, self._clock()) is not None:
                setting = "daily_budget" if alert.span == "day" else "monthly_budget"
                raise BudgetExceeded(f"{alert}; raise {setting}, or wait for the next {alert.span}")

    def note(self, model: str, purpose: str, answer: Answer) -> None:
        """Keep what a call took; say so once when a budget comes to 80 % and to its end."""
        at = self._clock().astimezone(UTC)
        usd = price_of(model, answer.input_tokens, answer.output_tokens, at)
        row = {"at": at.isoformat(timespec="seconds"), "model": model, "purpose": purpose,
               "in": answer.input_tokens, "out": answer.output_tokens, "usd": usd}  # fmt: skip
        self._keep(row)
        for alert in self.alerts():
            period = self._day()[: 10 if alert.span == "day" else 7]
            with self._lock:
                is_news = (period, alert.share) not in self._told
                self._told |= {(period, share) for share in ALERTS if share <= alert.share}
            if is_news:
                log.warning("%s", alert)

    def _keep(self, row: dict[str, object]) -> None:
        line = f"{json.dumps(row, ensure_ascii=False)}\n".encode()
        if self._path is not None:
            try:
                handle = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                try:
                    os.write(handle, line)  # short, in one go: lines of several processes do not mix
                finally:
                    os.close(handle)
                return
            except OSError as exc:  # the answer is there and paid for
                log.warning("what a language model cost is not kept: %s cannot be written (%s)", self._path, exc.strerror)
        with self._lock:
            self._add(self._unwritten, line)

    def _sum(self, period: str) -> Usage:
        return sum((usage for (day, _, _), usage in self._known().items() if day.startswith(period)), Usage())

    def _grouped(self, by: int) -> dict[str, Usage]:
        groups: dict[str, Usage] = {}
        month = self._day()[:7]
        for row, usage in sorted(self._known().items()):
            if row[0].startswith(month):
                groups[row[by]] = groups.get(row[by], Usage()) + usage
        return groups

    def _alert(self, span: Span) -> Alert | None:
        budget = self._budgets[span]
        if budget is None:
            return None
        usd = (self.today() if span == "day" else self.month()).usd
        share = next((share for share in ALERTS if usd + _SPECK >= share * budget), None)
        return None if share is None else Alert(span, share, usd, budget)

    def _day(self) -> str:
        return self._clock().astimezone(self._zone).date().isoformat()

    def _known(self) -> dict[tuple[str, str, str], Usage]:
        """Return all rows, after reading what was appended since."""
        with self._lock:
            if self._path is not None:
                self._read_on(self._path)
            known = dict(self._rows)
            for row, usage in self._unwritten.items():
                known[row] = known.get(row, Usage()) + usage
            return known

    def _read_on(self, path: Path) -> None:
        try:
            with path.open("rb") as handle:
                found = os.fstat(handle.fileno())
                which, done = self._file or (found.st_ino, 0)
                if which != found.st_ino or found.st_size < done:  # another file stands in its place
                    self._rows, done = {}, 0
                handle.seek(done)
                whole = handle.read()
        except FileNotFoundError:
            self._rows, self._file = {}, None
            return
        except OSError as exc:
            log.warning("what language models cost before is not known: %s cannot be read (%s)", path, exc.strerror)
            return
        lines = whole[: whole.rfind(b"\n") + 1]  # the last one may still be in the making
        self._file = (found.st_ino, done + len(lines))
        for line in lines.splitlines():
            self._add(self._rows, line)

    def _add(self, rows: dict[tuple[str, str, str], Usage], line: bytes) -> None:
        """Count a line; one that a crash or a hand spoilt counts for nothing."""
        try:
            said = json.loads(line)
            day = datetime.fromisoformat(said["at"]).astimezone(self._zone).date().isoformat()
            usd = said["usd"]
            row = (day, str(said["model"]), str(said["purpose"]))
            usage = Usage(1, int(said["in"]), int(said["out"]), float(usd or 0), int(usd is None))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            log.warning("a line of %s makes no sense and is left out", FILE)
            return
        rows[row] = rows.get(row, Usage()) + usage


def price_of(model: str, input_tokens: int, output_tokens: int, at: datetime) -> float | None:
    """Return the dollars that a call to `provider:model` costs; None where nobody knows, as for a server of one's own."""
    provider, _, name = model.partition(":")
    if provider not in ("openai", "anthropic") or "@" in name:
        return None
    try:
        from genai_prices import Usage as Tokens
        from genai_prices import calc_price
    except ImportError:
        return None
    try:
        tokens = Tokens(input_tokens=input_tokens, output_tokens=output_tokens)
        return float(calc_price(tokens, name, provider_id=provider, genai_request_timestamp=at).total_price)
    except (LookupError, ValueError):
        return None
