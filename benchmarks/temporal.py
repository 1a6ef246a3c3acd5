"""Are the time expressions in a text found, and read as what they mean?

DIR holds cases.jsonl[.gz] (id, text, label, lang, source, reference, expected). Printed is one JSON object. Of the cases that
expect a date, a date-time or a range of them: the share where a found interval overlaps an expected one and is at most four
times as wide as it or a day, whichever is longer (`found`). Of those labelled no-time: the share where one was found
(`false_alarms`). By language and by kind of expectation; ranges with one end only ("since May") are counted apart, as `open`,
and so are texts of mixed origin, by the language that they are taken for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import lines
from reverie.memory.language import language_of
from reverie.recall.time import find_times

DAY = timedelta(days=1)
WIDEST = 4  # times the expected width
REFERENCE = "2020-01-01T00:00:00"  # for cases that have none, as their dates are absolute
KINDS = {"date": "date", "daterange": "range", "datetime": "date-time", "datetimerange": "date-time range"}
GRAINS = {
    "second": 1 / 86_400,
    "minute": 1 / 1_440,
    "hour": 1 / 24,
    "day": 1,
    "week": 7,
    "month": 30,
    "quarter": 91,
    "year": 365,
}


class Expected(NamedTuple):
    """One way to read a text right; of an open range one end is None."""

    kind: str
    start: datetime | None
    end: datetime | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say which options it takes."""
    parser.add_argument("--data", type=Path, required=True, help="a folder with cases.jsonl[.gz]")
    parser.add_argument("--half", choices=("dev", "held-out"), help="only the cases whose id hashes to even, or to odd")
    parser.add_argument("--guess-language", action="store_true", help="do not tell which language a text is in")
    parser.add_argument("--misses", type=Path, help="write the cases that went wrong to this file, as JSON lines")


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    groups: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    misses, taken = [], []
    for case in lines(options.data, "cases"):
        if options.half and (hashlib.sha256(case["id"].encode()).digest()[0] % 2 == 0) != (options.half == "dev"):
            continue
        expected = list(_expected(case))
        if case["label"] != "no-time" and not expected:
            continue
        mixed = case["lang"] == "multi"
        now = _moment(case["reference"] or REFERENCE)
        began = time.perf_counter()
        found = find_times(case["text"], now, None if mixed or options.guess_language else case["lang"])
        taken.append(time.perf_counter() - began)
        group = groups[f"mixed {language_of(case['text'])}" if mixed else case["lang"]]
        if not expected:
            is_right = not found
            group["false_alarms"].append(bool(found))
        else:
            closed = [one for one in expected if one.start and one.end]
            is_right = any(_agrees(start, end, one) for start, end, _ in found for one in closed or expected)
            for measure in ("found", closed[0].kind) if closed else ("open",):
                group[measure].append(is_right)
        if not is_right:
            misses.append({**case, "found": [[str(start), str(end), text] for start, end, text in found]})
    if options.misses:
        options.misses.write_text("".join(json.dumps(miss, ensure_ascii=False) + "\n" for miss in misses), encoding="utf-8")
    both = _together(groups, ("en", "es"))
    print(
        json.dumps(
            {
                "set": options.data.name,
                "half": options.half or "all",
                "find_times_us_p50": round(1e6 * statistics.median(taken), 1),
                "en+es": _measured(both),
                "all": _measured(_together(groups, tuple(groups))),
                **{name: _measured(groups[name]) for name in sorted(groups)},
            }
        )
    )
    return 0


def _moment(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp).replace(tzinfo=UTC)


def _together(groups: Mapping[str, Mapping[str, Sequence[bool]]], names: Sequence[str]) -> dict[str, list[bool]]:
    merged: dict[str, list[bool]] = defaultdict(list)
    for name in names:
        for measure, hits in groups[name].items():
            merged[measure] += hits
    return merged


def _measured(group: Mapping[str, Sequence[bool]]) -> dict[str, Any]:
    return {name: {"share": round(statistics.mean(hits), 4), "cases": len(hits)} for name, hits in sorted(group.items())}


def _agrees(start: datetime, end: datetime, one: Expected) -> bool:
    if one.start is None or one.end is None:
        return (one.end is None or start < one.end) and (one.start is None or end > one.start)
    return start < one.end and end > one.start and end - start <= max(WIDEST * (one.end - one.start), DAY)


def _expected(case: Mapping[str, Any]) -> Iterator[Expected]:
    """Read the three forms in which the sets write what they expect; what they could not resolve is left out."""
    for one in case["expected"]:
        values = one.get("values")
        if values is None:
            start, end = _moment(one["start"]), _moment(one["end"])
            yield Expected("date" if end - start <= DAY else "range", start, end)
        elif "grain" in one:
            yield _grained(case["source"], values, one["grain"].lower())
        else:
            kind = KINDS.get(one["type"].removeprefix("datetimeV2."))
            listed = [values["FutureResolution"], values["PastResolution"]] if isinstance(values, dict) else values
            for value in listed if kind else ():
                yield from _resolved(kind or "", value)


def _grained(source: str, values: Sequence[str], grain: str) -> Expected:
    # A month is written with day 00, a year with month 00 as well.
    moments = [_moment(value.replace("-00", "-01")) for value in values]
    if source.endswith("OpenInterval"):
        return Expected("open", moments[0], None)
    if len(moments) > 1:
        return Expected("range" if grain in ("day", "month", "year") else "date-time range", moments[0], moments[1])
    kind = "date" if grain == "day" else "date-time" if GRAINS[grain] < 1 else "range"
    return Expected(kind, moments[0], moments[0] + GRAINS[grain] * DAY)


def _resolved(kind: str, value: Mapping[str, str]) -> Iterator[Expected]:
    one = next((value[name] for name in ("value", "date", "dateTime") if name in value), None)
    start, end = (
        next((value[name] for name in (f"{side}DateTime", f"{side}Date", side) if name in value), None)
        for side in ("start", "end")
    )
    if one and one[:1].isdigit():
        yield Expected(kind, _moment(one), _moment(one) + (DAY if kind == "date" else timedelta(seconds=1)))
    elif start or end:
        yield Expected(kind, _moment(start) if start else None, _moment(end) if end else None)
