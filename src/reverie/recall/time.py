"""When a text speaks of: its time expressions, in English and Spanish, as intervals.

A text is cut into tokens, and each token is one letter of the text's *shape*: `M` a month, `U` a unit of time, `R` last, this
or next, `x` a word that tells no time. Rules are short patterns over shapes, tried in order; each makes one token of those
that it matches, mostly `D`, an interval, so that later rules build on earlier ones. Every pattern runs in linear time.

Memory looks back: "in May" is the latest May, unless the words speak of the future. What cannot be (30 February) and what might
be read otherwise (5/6/2023 in English) is told, not guessed silently. Rejected: libraries, which find dates in half of the
texts that have none.

Questions are read with tolerance (`find_times`), facts are not (`find_dates`): what is written beside a fact is the very day,
by the tense of the verb, or nothing.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple, cast

from reverie.memory import check
from reverie.memory.language import language_of
from reverie.recall.calendar import (
    ARRANGED,
    FEAST_AFTER,
    FEAST_BEFORE,
    FUTURE,
    MORNING,
    NAMES,
    PHRASES,
    SOON,
    SPANISH_ONLY,
    WORDS,
    tenses,
)

DAY = timedelta(days=1)
FARTHEST = 100  # years that "before 1990" reaches back
_MONTHS_IN = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120, "century": 1200}
_DAYS_IN = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}
_SECONDS_IN = {"second": 1, "minute": 60, "hour": 3600}
_MEANT = {"hour": DAY / 24, "week": 7 * DAY, "month": 30 * DAY, "year": 365 * DAY}  # how wide people mean "a week ago"


class Time(NamedTuple):
    """A time that a text speaks of: half-open, in the zone of whoever asks."""

    start: datetime
    end: datetime
    text: str


class Date(NamedTuple):
    """A time as a fact may be dated by it: the day, month or year itself, without the tolerance that a search needs.

    `either` is another day that the same words may mean. What is not `is_sure` is meant in words only: "in May", where nothing
    tells which May, or "a few days ago".
    """

    start: datetime
    end: datetime
    text: str
    place: int  # in the text
    grain: str = "day"
    side: str = ""  # "since", "after", "until", "before", or "span" for all the days from `start` to `end`
    either: datetime | None = None
    is_sure: bool = True


class Reading(NamedTuple):
    """What a text says of time.

    `windows` are the `times` that name a day or more, as wide as people mean them; those of a list ("in May and June") are one.
    Windows that name their year come first: they do not hang on when they were said.
    """

    times: tuple[Time, ...]
    windows: tuple[tuple[datetime, datetime], ...]
    unclear: tuple[str, ...]


def find_times(text: str, now: datetime, language: str | None = None) -> tuple[Time, ...]:
    """Return the times that `text` speaks of, in order, as seen from `now` and in its zone."""
    return read_times(text, now, language).times


def read_times(text: str, now: datetime, language: str | None = None) -> Reading:
    """Return the times, and the expressions that name no possible time or that others would read as another one."""
    check.moment(now, "now")
    return _Reader(text, now, language).read()


def find_dates(text: str, now: datetime, language: str, *, ahead: bool = False) -> tuple[Date, ...]:
    """Return the times that `text` tells a fact by, in order; tenses decide between past and future, or that it is `ahead`."""
    check.moment(now, "now")
    reader = _Reader(text, now, language, ahead=True)
    to_come = gone = reader.dates()
    if reader.hangs_on_tense:
        gone = _Reader(text, now, language, ahead=False).dates()
    signs = [sign for sign in tenses(language).finditer(text) if sign.lastgroup] if to_come else []
    return tuple(_meant(date, gone.get(place), _tense(date, signs, ahead), text, now, ahead) for place, date in to_come.items())


def _tense(date: Date, signs: list[re.Match[str]], ahead: bool) -> str | None:
    """Return what the nearest verb before a date, or else the first behind it, tells of it."""
    before = [sign for sign in signs if sign.end() <= date.place]
    beyond = [sign for sign in signs if sign.start() >= date.place + len(date.text)]
    tense = before[-1].lastgroup if before else beyond[0].lastgroup if beyond else None
    if tense == "got":  # "I got an interview on Friday" tells what one has
        return "to_come" if ahead else "gone"
    return "to_come" if tense == "planned" else tense


def _meant(to_come: Date, gone: Date | None, tense: str | None, text: str, now: datetime, ahead: bool) -> Date:
    """Return the one of two readings of the same words that the tense asks for; not sure, if it does not or cannot."""
    is_gone = tense in ("gone", "done")
    if gone == to_come:
        # "I read it in two days" names no day to come, and "in the fall", said in the fall, may be another one.
        is_length = is_gone and not ahead and to_come.start > now and to_come.text[:3].lower() in ("in ", "en ")
        is_under_way = (
            to_come.grain == "quarter"
            and to_come.start <= now < to_come.end
            and not re.match("this|est[ae]", to_come.text, re.IGNORECASE)
        )
        return to_come._replace(is_sure=to_come.is_sure and not is_length and not is_under_way)
    is_arranged = to_come.text[:8].lower() == "a partir" or ARRANGED.search(text, 0, to_come.place) is not None
    if gone is None:
        return to_come._replace(is_sure=False)
    if to_come.side == "since" and not is_arranged:
        return to_come if FUTURE.search(text) else gone
    if is_arranged and tense != "to_come":
        soon = to_come.start - now < _SOON
        return to_come if soon else gone._replace(is_sure=gone.is_sure and now - gone.start < _SOON)
    if to_come.side == "until" and tense is None:  # "I live there until May"
        return to_come
    if is_gone:
        return gone._replace(is_sure=gone.is_sure and (tense == "done" or not ahead))
    return to_come._replace(is_sure=to_come.is_sure and (tense == "to_come" or ahead))


_SOON = 180 * DAY  # what is arranged is mostly nearer
_NOT_DIGITS = re.compile(r"\D+")
_CLOCK = re.compile(r"(\d+)(?:[:.h](\d\d))?[\d:]*\s?([ap]?)")
_TOKEN = re.compile(  # the name of each kind is its letter
    r"""(?P<I>(?<![\w/.])\d{4}-\d\d-\d\dt\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:z|[+-]\d\d:?\d\d)?(?!\w))
    |(?P<X>(?<![\w/.,])(?<!\d-)(?:\d{4}([-/.])\d\d?\3\d\d?|\d\d?([-/.])\d\d?\4(?:\d{4}|\d\d)|\d\d?/\d\d?,\d{4}
        |\d{4}[-/]\d\d?|\d\d?[-/]\d{4}|\d\d?/\d\d?)(?![\w/]|[.,]\d|-\d(?!\d?-\d)))
    |(?P<C>(?<![\w.,])\d\d?(?:(?::[0-5]\d){1,2}(?:[ap]\b|\s?[ap]\.?\s?m\b\.?)?|(?:\.[0-5]\d)?(?:p\b|\s?[ap]\.?\s?m\b\.?)
        |h[0-5]\d)(?!\w))
    |(?P<x>[$€£]\s?\d[\d.,]*|\d+(?:[.,:/]\d+)+|\d+\s?%|\d{5,})|(?P<O>\d\d?(?:(?:st|nd|rd|th|er|ro|do|to|vo|mo|no)\b|[ºª°]))
    |(?P<Y>'\d\d\b)|(?P<G>(?:1\d|20)?\d0\s?'?s\b)|(?P<Q>[qh][1-4]\b)|(?P<N>\d+)|(?P<word>(?:PHRASES)(?!\w)|[a-z\u0300]+(?:'[a-z]+)?)
    |(?P<sign>\S)""".replace("PHRASES", PHRASES).replace("\\ ", r"\s+"),
    re.VERBOSE,
)


class _Span(NamedTuple):
    """An interval; `grain` is how exactly it is meant, `floats` by what it might be meant earlier or later."""

    start: datetime
    end: datetime
    grain: str = "day"
    floats: str = ""
    side: str = ""
    either: datetime | None = None


class _Token(NamedTuple):
    letter: str
    start: int
    end: int
    value: Any
    dated: bool = False  # it names its year


_Length = list[tuple[int, int, str]]  # at least and at most so many of a unit, and of another
_Hour = tuple[int, int, str]  # a minute of the day, how many minutes it lasts, and the half of the day if that was said
_UNCLEAR = "no such day, or not only one"
_Made = _Span | _Length | _Hour | int | str | None


class _Folded(dict[int, str]):
    """Each character as one ASCII letter or digit if it is a form of one, so that places stay the same."""

    def __missing__(self, code: int) -> str:
        sign = chr(code)
        kind = unicodedata.category(sign)
        if kind in ("Nd", "Mn"):
            sign = str(unicodedata.decimal(sign)) if kind == "Nd" else "\u0300"
        elif kind[0] == "L" and sign not in "ºª":
            sign = unicodedata.normalize("NFKD", sign)[0].lower()[0]
        self[code] = sign
        return sign


_FOLDED = _Folded({ord(sign): to for signs, to in (("‐‑‒–—−", "-"), ("‘’´ʼ", "'")) for sign in signs})


class _Reader:
    """One reading of one text; the methods without underscore say what rules make of the tokens that they name."""

    def __init__(self, text: str, now: datetime, language: str | None, *, ahead: bool | None = None) -> None:
        self.text, self.now, self.language = text, now, language
        self.today, self.is_exact = _midnight(now), ahead is not None
        self.hangs_on_tense, self._ahead = False, FUTURE.search(text) is not None if ahead is None else ahead
        self.unclear: dict[str, None] = {}
        self.tokens: list[_Token] = []

    @property
    def ahead(self) -> bool:
        self.hangs_on_tense = True
        return self._ahead

    def dates(self) -> dict[int, Date]:
        """Return by its place each time as exactly as it is meant."""
        self.read()
        dates = {}
        for letter, at, to, span, _ in self.tokens:
            if letter == "D" and _window(span):
                said = self.text[at:to]
                is_named = FEAST_BEFORE.search(self.text, 0, at) or FEAST_AFTER.match(self.text, to)
                is_sure = span.side != "vague" and not is_named and not any(unclear in said for unclear in self.unclear)
                dates[at] = Date(span.start, span.end, said, at, span.grain, span.side, span.either, is_sure)
        return dates

    def read(self) -> Reading:
        for found in _TOKEN.finditer(self.text.translate(_FOLDED)):
            self._add(found.lastgroup or "", found[0], found.start(), found.end())
        shape = "".join([token.letter for token in self.tokens])
        letters = set(shape)
        for pattern, needed, make in _rules() if not _TELLING.isdisjoint(letters) else ():
            if needed <= letters and self._apply(pattern, make, shape):
                shape = "".join([token.letter for token in self.tokens])
                letters = set(shape)
        listed = self._lists(shape)
        times: list[Time] = []
        windows: dict[int, tuple[datetime, datetime, bool]] = {}
        for place, (letter, at, to, span, dated) in enumerate(self.tokens):
            window = _window(span) if letter == "D" else None
            if window:
                times.append(Time(span.start, span.end, self.text[at:to]))
                if span.grain != "clock":
                    before = windows.pop(listed.get(place, -1), (*window, dated))
                    ends = min(before[0], window[0], key=datetime.timestamp), max(before[1], window[1], key=datetime.timestamp)
                    windows[place] = (*ends, dated or before[2])
            elif letter in "D!":
                self.unclear[self.text[at:to]] = None
        by_year = sorted(windows.values(), key=lambda window: not window[2])
        return Reading(tuple(times), tuple((start, end) for start, end, _ in by_year), tuple(self.unclear))

    def _lists(self, shape: str) -> dict[int, int]:
        """Return for each time that goes on a list the one before it; on the way let the times of a list settle each other."""
        pairs = [
            (found.start(), found.end(1))
            for found in _LISTED.finditer(shape)
            if "&" in found[1] or self.tokens[found.start()].value.grain == self.tokens[found.end(1)].value.grain
        ]
        for first, then in reversed(pairs):
            self._settle(first, then, -1)
        for first, then in pairs:
            self._settle(then, first, 1)
        return {then: first for first, then in pairs}

    def _settle(self, place: int, by: int, way: int) -> None:
        """Move a time that floats to the year that its neighbour names, or to where the two are one stretch."""
        span, beside = self.tokens[place].value, self.tokens[by].value
        with suppress(ValueError, OverflowError):
            if span.floats == "year" and self.tokens[by].dated:
                self.tokens[place] = self.tokens[place]._replace(value=_near(span, beside, way), dated=True)
            elif span.floats and span.floats == beside.floats and self.ahead == (way > 0):
                week = 7 * way * DAY
                moved = _moved(span, span.start.year + way) if span.floats == "year" else _whole(span.start + week)
                if beside.end == moved.start if way > 0 else moved.end == beside.start:
                    self.tokens[place] = self.tokens[place]._replace(value=moved._replace(floats=span.floats))

    def _apply(self, pattern: re.Pattern[str], make: Callable[..., _Made], shape: str) -> bool:
        kept: list[_Token] = []
        done = 0
        for found in pattern.finditer(shape):
            at, to = self.tokens[found.start()].start, self.tokens[found.end() - 1].end
            self.said = self.text[at:to]
            named = {name: self.tokens[found.start(name)].value for name in pattern.groupindex if found.start(name) >= 0}
            try:
                made = make(self, **named)
            except (ValueError, OverflowError):
                made = _UNCLEAR
            if made is not None:
                dated = "y" in named or any(token.dated for token in self.tokens[found.start() : found.end()])
                kept += [*self.tokens[done : found.start()], _Token(_LETTERS[type(made)], at, to, made, dated)]
                done = found.end()
        self.tokens = kept + self.tokens[done:]
        return done > 0

    def _add(self, kind: str, said: str, at: int, to: int) -> None:
        """Add a token, as one with the last if both are of one number: "twenty-five", "treinta y uno", "nineteen ninety"."""
        tokens, letter, value = self.tokens, kind, cast(Any, said)
        if kind == "word":
            letter, value = self._word(" ".join(said.replace("\u0300", "").split()), at)
        elif kind == "sign":
            letter = "" if said == "." and tokens and tokens[-1].letter in "mw" else said if said in "-,/&@" else ";"
        elif kind in "NOGY":
            letter = "Y" if kind == "N" and len(said) == 4 and said < "3000" else kind
            value = _year(int(said[1:]), self.now) if kind == "Y" else int(_NOT_DIGITS.sub("", said))
        if letter == "TP":
            tokens.append(_Token("T", at, to, value[0]))
            letter, value = "P", value[1]
        gap = 2 if len(tokens) > 1 and tokens[-1].letter in "-&" else 1
        before = tokens[-gap] if tokens else _Token(";", 0, 0, 0)
        is_spelt = letter in ("n", "O", "G") and before.letter in "nNY" and self.text[before.start].isalpha()
        if is_spelt and (whole := _joined(before.value, value, gap == 2)):
            at, value, letter = before.start, whole, letter.replace("n", "Y" if whole > 999 else "N")
            del tokens[-gap:]
        if letter:
            tokens.append(_Token(letter, at, to, value, kind in ("I", "X") and len(said) > len("31/12")))

    def _word(self, word: str, at: int) -> tuple[str, Any]:
        letter, value = WORDS.get(word) or WORDS.get(word.partition("'")[0], ("x", None))
        before = self.tokens[-1] if self.tokens else _Token(";", 0, 0, None)
        if word == "manana":
            return ("P", MORNING) if before.letter in "tR" else ("T", 1)
        if word in SPANISH_ONLY and not self._is_spanish():
            return "m" if word == "mayo" else "x", value
        is_unit_alone = len(word) == 1 and letter == "U" and not self.text[at - 1 : at].isdigit()
        if is_unit_alone or (word == "may" and before[0::3] == ("R", 0) and self.text[at].islower()):  # "this may be"
            return "x", None
        return letter.lower() if word in NAMES and self.text[at].isupper() else letter, value

    def _is_spanish(self) -> bool:
        self.language = self.language or language_of(self.text)
        return self.language != "en"

    def _on(self, year: int, month: int, day: int) -> datetime:
        return self.today.replace(year=year, month=month, day=day)

    def _months(self, year: int, month: int, many: int = 1) -> _Span:
        start = self._on(year, month, 1)
        return _Span(start, _later(start, many), "month" if many == 1 else "quarter")

    def _unit(self, unit: str, day: datetime, shift: int = 0) -> _Span:
        """Return the day, week, month, … around a day, or another so many of them later."""
        if unit in _DAYS_IN:
            start = _midnight(day) + (shift * _DAYS_IN[unit] - (day.weekday() if unit != "day" else 0)) * DAY
            return _Span(start + (5 * DAY if unit == "weekend" else timedelta()), start + _DAYS_IN[unit] * DAY, unit)
        months = 12 * day.year + day.month - 1
        months += shift * _MONTHS_IN[unit] - months % _MONTHS_IN[unit]
        start = self._on(months // 12, months % 12 + 1, 1)
        return _Span(start, _later(start, _MONTHS_IN[unit]), unit)

    def _yearly(self, of_year: Callable[[int], _Span], r: int | None = None) -> _Span:
        """Return the last, this or next of what comes every year; if that is not said, the latest that has begun."""
        if self.is_exact and r == 0:
            r = None  # "this May", said in November: the tense tells
        ahead, this = self.ahead if r is None else r >= 0, self.now.year
        for year in range(this - 1, this + 9) if ahead else range(this + 1, this - 9, -1):  # enough for a 29 February
            with suppress(ValueError):
                span = of_year(year)._replace(floats="year" if r is None else "")
                if r == 0:
                    fits = span.start <= self.now < span.end or span.start.year == this
                elif ahead:
                    fits = (span.start if r else span.end) > self.now
                else:
                    fits = (span.end if r else span.start) <= self.now
                if fits:
                    return span
        raise ValueError("no year has such a day")

    def _shift(self, moment: datetime, length: _Length, sign: int, at_most: bool = True) -> datetime:
        for least, most, unit in length:
            many = sign * (most if at_most else least)
            if unit in _SECONDS_IN:  # as time passes, whatever is done to clocks
                moment = (moment.astimezone(UTC) + many * timedelta(seconds=_SECONDS_IN[unit])).astimezone(self.now.tzinfo)
            else:
                moment = moment + many * _DAYS_IN[unit] * DAY if unit in _DAYS_IN else _later(moment, many * _MONTHS_IN[unit])
        return moment

    def stamp(self, x: str) -> _Made:
        moment = datetime.fromisoformat(x.upper())
        moment = moment.astimezone(self.now.tzinfo) if moment.tzinfo else moment.replace(tzinfo=self.now.tzinfo)
        return _Span(moment, moment + timedelta(minutes=1), "hour")

    def digits(self, x: str, p: int | None = None) -> _Made:
        """Read a date in digits; one without a year looks like a fraction, unless words before it, zeros or size tell."""
        first, second, *third = parts = [int(part) for part in _NOT_DIGITS.split(x)]
        if third and x[:4].isdigit():
            return _whole(self._on(*parts))
        if third and max(first, second) > 31 and not 1800 < third[0] < 2200:
            return None
        if not third and max(parts) > 31:
            return self._months(max(parts), min(parts)) if 1800 < max(parts) < 2200 and 0 < min(parts) < 13 else None
        if not third and (x == "24/7" or min(parts) > 12 or (max(parts) < 13 and "0" not in x[::3] and p is None)):
            return _UNCLEAR if p is None and max(parts) < 13 and self.said == self.text.strip("¿?. \n") else None
        day_first = first > 12 or (second <= 12 and ("." in x or self._is_spanish()))
        day, month = (first, second) if day_first else (second, first)
        if not day_first and first != second <= 12:
            self.unclear[self.said] = None  # half of those who read English put the day first
        if third:
            return _whole(self._on(_year(third[0], self.now), month, day))
        return self._yearly(lambda year: _whole(self._on(year, month, day)))

    def clock(self, x: str) -> _Made:
        ((hour, minute, half),) = _CLOCK.findall(x)[:1]
        hours = int(hour) % 12 + 12 * (half == "p") if half else int(hour)
        return (60 * (hours % 24) + int(minute or 0), 0, half) if hours < 25 else None

    def months(self, m: int = 0, q: str = "", s: int = 0, r: int | None = None) -> _Made:
        many = 3 if s or q[:1] == "q" else 6 if q else 1
        return self._yearly(lambda year: self._months(year, m or s or (int(q[1]) - 1) * many + 1, many), r)

    def day_of(self, n: int, d: _Span, k: int = 0) -> _Made:
        """Read "the 5th of May", "del 5 al 7 de mayo"."""
        if d.grain != "month" or not 0 < n < 32 or (k and not n < k < 32):
            return None
        if d.floats:
            return self._yearly(
                lambda year: _Span(d.start.replace(year=year, day=n), d.start.replace(year=year, day=k or n) + DAY)
            )
        return _Span(d.start.replace(day=n), d.start.replace(day=k or n) + DAY)

    def in_year(self, d: _Span, y: int = 0, e: _Span | None = None) -> _Made:
        return _moved(d, e.start.year if e else y) if d.floats == "year" and (e is None or e.grain == "year") else None

    def decade(self, y: int, u: str = "decade") -> _Made:
        fits = u in ("year", "decade") and y % 10 == 0 and 20 <= y < 2100
        return self._unit("decade", self._on(_year(y, self.now), 1, 1)) if fits else None

    def lately(self, r: int, q: _Length) -> _Made:
        """Read "the last three weeks", "the next hour"."""
        edge = self._shift(self.now, q, r)
        if q[0][2] in _SECONDS_IN:
            return _Span(min(edge, self.now), max(edge, self.now), "hour") if r else None
        side = "span" if self.is_exact else ""
        span = _Span(_midnight(edge), self.today + DAY) if r < 0 else _Span(self.today, _midnight(edge) + DAY) if r else None
        return span and span._replace(side=side)

    def away(self, q: _Length, b: int = 1, d: _Span | None = None, e: int = 3) -> _Made:
        """Read "two weeks ago", "in three days", "a month after Easter"."""
        start, end = sorted(self._shift(d.start if d else self.now, q, b, most) for most in (False, True))
        least, most, unit = q[-1]
        if unit in _SECONDS_IN:
            return _Span(start, end + timedelta(seconds=_SECONDS_IN[unit]), "hour") if e == 3 else None
        if self.is_exact and e == 3:
            unit = unit if unit == "weekend" else "day" if unit in _DAYS_IN else "month" if _MONTHS_IN[unit] < 12 else "year"
            middle = self._unit(unit, start + (end - start) / 2)
            return middle if least == most else middle._replace(side="vague")
        around = DAY if unit != "day" and least == most else timedelta()  # "two weeks ago" is not said of one day only
        return _Span(_midnight(start) - around, _midnight(end) + around + DAY, unit) if e == 3 else None

    def weekday(self, w: int, r: int | None = None) -> _Made:
        since = (self.now.weekday() - w) % 7
        if self.is_exact:
            return self._one_weekday(since, r)
        if r is None:
            return _whole(self.today + (-since % 7 if self.ahead else -since) * DAY)._replace(floats="week")
        if SOON.search(self.said):
            return _whole(self.today + (7 - since) * DAY)
        if r == -1 and 0 < since <= self.now.weekday():
            self.unclear[self.said] = None  # "last Monday" on a Friday: of this week, or of the last
        return _whole(self._unit("week", self.now, r).start + w * DAY)

    def _one_weekday(self, since: int, r: int | None) -> _Span:
        """Return the day that a weekday names in a fact; today's own name is that of another week, if it is not "this"."""
        is_soon = r == 1 and SOON.search(self.said) is not None
        way = r or (1 if self.ahead else -1)
        nearest = self.today + (way * 7 if not since else (7 - since) if way > 0 else -since) * DAY
        if not since:
            return _whole(nearest if r else self.today)._replace(either=nearest if r is None else None)
        if not r or is_soon:
            return _whole(nearest)._replace(floats="" if r else "week")
        # "Next Friday" on a Monday, "last Monday" on a Friday: of this week, or of the next and the last.
        is_unclear = since > self.now.weekday() if way > 0 else since <= self.now.weekday()
        return _whole(nearest)._replace(either=nearest + 7 * way * DAY if is_unclear else None)

    def weekday_of(self, w: int, d: _Span) -> _Made:
        """Read "Friday of last week"; a weekday beside its date says nothing more."""
        if d.grain == "week":
            return _whole(d.start + (w - d.start.weekday()) % 7 * DAY)
        return d if d.grain == "day" and d.floats != "week" else None

    def the_day(self, n: int, w: int | None = None) -> _Made:
        """Read "on the 4th", "Friday 31"."""
        for shift in sorted(range(-8, 9), key=lambda shift: (abs(shift), (shift < 0) == self.ahead)):
            with suppress(ValueError):
                day = self._unit("month", self.now, shift).start.replace(day=n)
                if day.weekday() == w or (w is None and (day >= self.today if self.ahead else day <= self.today)):
                    return _whole(day)
        return None

    def unit(self, u: str, r: int = 0) -> _Made:
        if self.is_exact and u == "weekend" and r == 1 and self.now.weekday() < 5:  # "next weekend" on a Monday
            first = self._unit(u, self.now)
            return first if SOON.search(self.said) else first._replace(either=first.start + 7 * DAY)
        return self.lately(r or -1, [(1, 1, u)]) if u in _SECONDS_IN else self._unit(u, self.now, r)

    def weekend(self, u: str) -> _Made:
        has_begun = self._unit("weekend", self.now).start <= self.now
        return self._unit(u, self.now, 0 if has_begun or self.ahead else -1) if u == "weekend" else None

    def nth(self, o: int, x: str | int, d: _Span | None = None, u: str = "year", n: int = 1) -> _Made:
        """Read "the second week of …", "the last Friday of …", "the first ten days of …"."""
        span = d or self._unit(u, self.now)
        if x == "century":
            return self._unit(x, self._on(100 * o - 99, 1, 1))
        if isinstance(x, int):
            first = span.start + (x - span.start.weekday()) % 7 * DAY
            start = first + 7 * (o - 1) * DAY if o > 0 else span.end - (1 + (span.end - DAY - x * DAY).weekday()) * DAY
            end = start + DAY
        else:
            start = self._shift(span.start, [(0, (o - 1) * n, x)], 1) if o > 0 else self._shift(span.end, [(0, n, x)], -1)
            end = self._shift(start, [(0, n, x)], 1)
        fits = o and span.start <= start and end <= span.end + 3 * DAY and end - start < span.end - span.start
        return _Span(start, end, str(x) if x in ("week", "month") else "day") if fits else None

    def beside(self, b: int, d: _Span, u: str = "day", w: int | None = None) -> _Made:
        """Read "the week before …", "the Friday after …"."""
        if w is not None:
            return _whole(_midnight(d.start) + b * ((b * (w - d.start.weekday()) - 1) % 7 + 1) * DAY)
        return self._unit(u, d.start, b) if u not in _SECONDS_IN else None

    def stage(self, e: int, d: _Span | None = None, u: str = "day") -> _Made:
        """Read "early", "mid" and "late"."""
        span = d or self._unit(u, self.now)
        third = (span.end - span.start) // DAY // 3 * DAY
        start = (span.start, span.start + third, span.end - third, span.end - third)[e]
        grain = span.grain if self.is_exact else "day"
        if grain == "year" and e > 1:
            return _Span(_later(span.end, -1), span.end, grain)
        return _Span(start, span.end - third if e == 1 else start + third, grain) if third else d

    def part_of(self, p: tuple[int, int], d: _Span | None = None, r: int | None = None) -> _Made:
        """Read "yesterday morning", "last night", "in the evening"."""
        span = d or _whole(self.today + (r or 0) * DAY)
        grain = "clock" if d is None and r is None else "part"
        start, end = (span.start + timedelta(hours=hour) for hour in p)
        return _Span(start, end, grain) if span.end - span.start == DAY and r != 1 else None

    def clock_of(self, k: _Hour, d: _Span | None = None) -> _Made:
        span = d or _whole(self.today)
        if span.end - span.start > DAY or span.grain not in ("day", "part") or not (d or k[2]):
            return None
        hour = span.start.hour
        start = _midnight(span.start) + timedelta(minutes=_towards(k[0], (hour, hour + 12)) if hour else k[0])
        return _Span(start, start + timedelta(minutes=k[1] or (1 if k[0] % 60 else 60)), "hour" if d else "clock")

    def between(self, a: _Span | int, b: _Span | int) -> _Made:
        """Read a range; where one end floats, it is the nearest to the other."""
        start, end = (side if isinstance(side, _Span) else _whole(self.today) for side in (a, b))
        if start.floats == "year" and not end.floats:
            start = _near(start, end, -1)
        elif end.floats == "year":
            end = _near(end, start, 1)
        elif end.floats == "week":
            end = _whole(start.start + (end.start - start.start) // DAY % 7 * DAY)
        floats = start.floats and end.floats
        return _Span(start.start, end.end, "day", floats, either=start.either) if start.start < end.end else None

    def one_sided(self, d: _Span, a: int = 0, b: int | None = None) -> _Made:
        """Read "since", "after", "until", "before": up to today, or as far back as is worth looking; an hour, in its day."""
        in_a_day = d.grain in ("hour", "clock")
        if self.is_exact:
            return d._replace(side=("after" if a else "since") if b is None else "before" if b else "until")
        if b is None:
            start = d.end if a else d.start
            end = _midnight(start) + DAY if in_a_day else self.today + DAY if start <= self.today else _later(start, 12)
            return _Span(start, end, d.grain if in_a_day else "day")
        end = d.start if b else d.end
        start = _midnight(end) if in_a_day else end.replace(year=max(1, end.year - FARTHEST), day=1)
        return _Span(start, end, d.grain if in_a_day else "day")


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def _window(span: _Span) -> tuple[datetime, datetime] | None:
    """Return an interval as wide as it is meant, or None if no clock shows it."""
    slack = max(timedelta(), _MEANT.get(span.grain, timedelta()) - (span.end - span.start)) / 2
    with suppress(OverflowError):  # at the ends of the calendar no zone can follow
        start, end = span.start - slack, span.end + slack
        if start.astimezone(UTC) < end.astimezone(UTC) and span.start.astimezone(UTC) < span.end.astimezone(UTC):
            return start, end
    return None


def _whole(day: datetime) -> _Span:
    return _Span(day, day + DAY)


def _later(moment: datetime, months: int) -> datetime:
    year, month = divmod(12 * moment.year + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1])) if months else moment


def _moved(span: _Span, year: int) -> _Span:
    return _Span(span.start.replace(year=year), span.end.replace(year=year + span.end.year - span.start.year), span.grain)


def _near(span: _Span, other: _Span, way: int) -> _Span:
    """Return what comes every year as the one nearest before (-1) or after (1) the other."""
    moved = _moved(span, other.start.year)
    return moved if (moved.start < other.end if way < 0 else moved.end > other.start) else _moved(span, other.start.year + way)


def _year(year: int, now: datetime) -> int:
    """Return the latest year of two digits, or one that comes soon."""
    return year if year > 99 else year + (now.year + 5 - year) // 100 * 100


def _joined(tens: int, ones: int, linked: bool) -> int:
    """Return the number that two words make, or 0."""
    if tens % 100 >= 20 and tens % 10 == 0 < ones < 10:
        return tens + ones
    if linked:
        return 0
    if tens >= 100 and tens % 10 == 0 and ones < (100 if tens % 1000 else 1000):
        return tens + ones
    return tens * ones if ones in (100, 1000) else 100 * tens + ones if 10 < tens <= 20 and 9 < ones < 100 else 0


def _towards(minute: int, hours: tuple[int, int]) -> int:
    """Return the minute on a clock of twelve hours that falls into `hours`, if one does."""
    return next((at for at in (minute, minute + 720, minute - 720) if 60 * hours[0] <= at < 60 * hours[1]), minute)


def _hour(n: int, p: tuple[int, int] = (7, 19)) -> _Made:
    return (_towards(60 * n, p) if 0 < n < 13 else n % 24 * 60, 0, "said") if n < 25 else None


def _hours(j: _Hour | int, k: _Hour) -> _Made:
    start = j[0] if isinstance(j, tuple) else _towards(j * 60 % 1440, (k[0] // 60 - 11, k[0] // 60 + 1))
    return start, (k[0] - start) % 1440, k[2]


def _feast(year: datetime, h: tuple[int, ...]) -> _Span:
    if len(h) == 2:
        return _whole(year.replace(month=h[0], day=h[1]))
    if len(h) == 3:
        return _whole(year.replace(month=h[0]) + ((h[2] - year.replace(month=h[0]).weekday()) % 7 + 7 * (h[1] - 1)) * DAY)
    moon = (19 * (year.year % 19) + 24) % 30  # Easter, by Gauss's rule for 1900 to 2099
    sunday = (2 * (year.year % 4) + 4 * (year.year % 7) + 6 * moon + 5) % 7
    early = 7 if sunday == 6 and (moon == 29 or (moon == 28 and year.year % 19 > 10)) else 0
    return _whole(year.replace(month=3, day=22) + (moon + sunday - early + h[0]) * DAY)


_LETTERS: dict[type, str] = {_Span: "D", list: "L", tuple: "K", int: "M", str: "!"}
_LISTED = re.compile("D(?=((?:,|,?&)[ijp]?[tl]?)D)")
_TELLING = frozenset("IXDMmWwSHTUYGQKCPNnOL@")
# Shapes and what they mean, in the order in which they are tried. <n> names the token that follows; ~ is an article, if there
# is one; % a word or sign that makes a range; _ the end of what tells a time.
_MEANING: tuple[tuple[Callable[..., _Made], tuple[str, ...]], ...] = (
    (_Reader.stamp, ("<x>I",)),
    (_Reader.digits, ("(?<=<p>[jlRWwBAsZbf])<x>X", "<x>X")),
    (_Reader.clock, ("<x>C",)),
    (lambda self, t: _whole(self.today + t * DAY), ("<t>T",)),
    (lambda _, m: int(m), ("<m>m(?:(?<=[ipfsZBAbReNO]m)|(?<=e-m)|(?<=[UWE]om)|(?<=[NOn][-/o]m)|(?<=[Mm]%m))",
                           "<m>m(?=%[Mm]|[-/]?~[NO]|[-/,]?Y|(?:,m){0,9},?&[Mm],?o?Y)",
                           *2 * ("<m>m(?:(?<=M&m)|(?<=M,&m)|(?<=MY&m)|(?:(?<=M,m)|(?<=MY,m))(?=,?&))",))),
    (lambda self, m: int(m) if self.said[0].isupper() else None, ("<m>m(?=,?&M|,M,?&M)",)),
    (_Reader.months, ("R?<r>R<m>M", "R?<r>R<s>S", "<r>R<q>Q", "<m>M<r>R(?!U)", "<s>S<r>R(?!U)", "<m>M", "<q>Q",
                      "<s>S(?=[,o]?Y|o~(?:RU|UR))", "[ip]~<s>S(?!o)", "(?<=D&)<s>S(?!o)", "<s>S(?=&D)")),
    (lambda self, h, y: _feast(self._on(y, 1, 1), h), ("<h>H[,o]{0,2}<y>Y",)),
    (lambda self, h, r=None: self._yearly(lambda year: _feast(self._on(year, 1, 1), h), r),
     ("<h>H<r>R(?!U)", "R?<r>R<h>H", "<h>H")),
    (_Reader.day_of, ("[bsfo]?~<n>[NO](?:,~[NO]){0,9},?[-zZa&]~<k>[NO][-/o]?<d>D",
                      "[bsfo]?<d>D~<n>[NO]%~<k>[NO](?![UDK])", "(?<!i)<d>D~<n>[NO](?:,~[NO]){0,9},?&~<k>[NO]_",
                      "(?<![NOi])(?<![NO]o)<d>D~<n>[NO](?![UD])", "<n>[NO][-/o,]?<d>D", "<n>no<d>D",
                      "(?<!i)<d>D[-/]~<n>[NO](?![UDK])")),
    (lambda _, d, n: _UNCLEAR if d.grain == "month" and not 0 < n < 32 and n < 100 else None,
     ("<n>[NO]o?<d>D", "<d>D~<n>O", "(?<!i)<d>D<n>N_")),
    (lambda _, **said: _UNCLEAR, ("![-,o/]{0,2}<y>Y", "<y>Y[-/]?!", "<w>[Ww],?~!")),
    (_Reader.in_year, ("<d>D[-,o/]{0,2}<y>Y", "<y>Y[-/]?<d>D")),
    (lambda self, d, y: self.in_year(d, _year(y, self.now)) if y > 31 or d.grain == "day" else None, ("<d>D[-/o]<y>N_",)),
    (lambda self, y: self._unit("year", self._on(y, 1, 1)) if 1900 <= y < 2100 else None,
     ("<y>Y(?:(?<=Y&Y)(?![xU])|(?<=Y,&Y)(?![xU])|(?=(?:,Y){0,9},?&Y(?![xU])))",)),
    (_Reader.decade, ("t<y>G", "<y>G(?<![tx]G)", "<u>Uo?t?<y>[NnYG]_", "(?<=[iop])t<y>[NnY]_")),
    (lambda self, y, u="year": self._unit("year", self._on(y, 1, 1)) if u == "year" and y > 99 else None,
     ("<u>Uo?<y>[YN]", "<y>Y(?:(?<=[eiszZBAb]Y)|(?<=EoY)|(?<=OUY)|(?<=OU[-o]Y)|(?<=e-Y)|(?<=[fop]Y)_|(?<=Y%Y)_|(?=%Y_)"
      "|(?<=^Y)$)", "<y>Y(?:(?<=D[&,]Y)|(?=&D))")),
    (_Reader.beside, ("(?<![Nnac])(?<!co)R?<u>U<b>[AB]~<d>D", "R?<w>W<b>[AB]~<d>D")),
    # Who "turns 90 next month" does not speak of 90 months.
    (lambda self, n, u, r: None if self.is_exact and self.said[-1] != "s" else self.lately(r, [(n, n, u)]),
     ("<n>[Nn]<r>R<u>U", "<n>[Nn]<u>U<r>R(?!U)")),
    (_Reader.unit, ("R?<r>R<u>U(?!o)", "<u>U<r>R(?![UNnK])")),
    (_Reader.day_of, ("[bsfo]?~<n>[NO][-zZa&]~<k>[NO][io]~<d>D", "<n>[NO]o~<d>D")),
    (_Reader.nth, ("~<o>[OR]<n>[Nn]?<x>[UW][oi]~<d>D", "~<o>[OR]<n>[Nn]?<x>[UW][oi]~<u>U_", "~<o>O<x>U[-,]?<d>D")),
    (lambda self, o, x: self.nth(o, x) if x in ("century", "quarter") else None, ("<o>O<x>U",)),
    (lambda self, u: self.between(self.unit(u), 0), ("<u>U[zZ]J",)),
    (lambda self, u: self.unit(u, -2), ("<u>UBR",)),
    (lambda self, o, x, d=None: self.nth(o, x, d) if x in ("week", "century") else None, ("<x>U<o>N[oi]~<d>D", "<x>U<o>[Nn]")),
    (_Reader.weekend, ("[tl]<u>U",)),
    (lambda _, u, n=0, c=None: [(*(c or (n, n)), u)], ("<n>[Nn]<u>U", "(?<!R)<n>a<u>U", "a?<c>co?<u>U")),
    (lambda _, a, b: a + b, ("<a>L[&,]?<b>L(?=[egFL])", "(?<=h)<a>L[&,]?<b>L", "<a>L[&,]?<b>L(?=[egF])")),
    (_Reader.lately, ("(?<!v)R?<r>R<q>L", "<q>L<r>R(?!U)")),
    (_Reader.away, ("<q>L<b>g", "<b>h<q>L", "<q>L<e>[Fe]", "i<q>L")),
    (lambda self, q: self.away(q) if self.is_exact and self.said[:1] in "dD" else self.lately(1, q), ("d<q>L",)),
    (_Reader.weekday_of, ("R?<w>[Ww][oji,]?~<d>D", "<d>D[jo,]?~<w>[Ww]")),
    (_Reader.weekday, ("R?<r>R<w>[Ww]", "<w>[Ww]<r>R(?!U)")),
    (_Reader.the_day, ("<w>[Ww],?~<n>[NO](?![-Ux])",)),
    (_Reader.weekday, ("(?<![tr])<w>W", "<w>w(?:(?<=[jlpfs]w)|(?=[@KP]))")),
    (_Reader.in_year, ("<d>D[oi,]{0,2}~<e>D",)),
    (lambda _, d: _UNCLEAR, ("!o~<d>D",)),
    (_Reader.away, ("<q>L<b>[fAB]~<d>D",)),
    (_Reader.beside, ("<u>U<b>[AB]~<d>D",)),
    (_Reader.the_day, ("(?:(?<=[jpsZBAbf])t|(?<=Uo)t|l)<n>[NO]_",)),
    (lambda self, u, d: self._unit(u, d.start) if u in ("week", "month") and d.grain == "day" else None, ("<u>Uo~<d>D",)),
    (_Reader.stage, ("<e>e-?~<d>D", "<e>Eo~<d>D", "<e>Eo~<u>U_", "<e>ei[tl]<u>U_")),
    (_Reader.part_of, ("<r>R<p>P",)),
    (lambda _, **said: _hour(**said), ("@?~<n>[Nn][oip][tl]<p>P", "@?~<n>[Nn]k", "@~<n>[Nn](?![Ux-])", "(?<=D)@~<n>[Nn](?!U)")),
    (lambda _, k, p: (_towards(k[0], p), 0, "said"), ("@?~<k>K[oip][tl]<p>P",)),
    (lambda _, j, k: _hours(j, k), ("[fbo]?@?~<j>[KN][-zZa&]@?~<k>K",)),
    (_Reader.part_of, ("<d>D[,aipo]{0,2}~<p>P", "<p>P[oj]~<d>D", "[ip][tl]<p>P_", "^<p>P$")),
    (_Reader.clock_of, ("<d>D[-,j@]{0,2}~<k>K", "@?~<k>K[,joi]{0,2}~<d>D", "@?~<k>K")),
    (_Reader.between, ("[fsbo]?~<a>D%~<b>[DJ]", "b~<a>D&~<b>[DJ]", "[fsb]<a>J[-zZa&]~<b>D", "[sA]~<a>D[,&]{0,2}[BZ]~<b>D")),
    (_Reader.one_sided, ("<a>[sA]~<d>D", "<b>[ZB]~<d>D")),
)  # fmt: skip


@cache
def _rules() -> list[tuple[re.Pattern[str], frozenset[str], Callable[..., _Made]]]:
    """Return for each shape its pattern and the letters that it cannot do without; when first asked, as it takes a while."""
    rules = []
    for make, shapes in _MEANING:
        for shape in shapes:
            pattern = re.sub(r"<(\w)>(\[[^]]*\]|.)", r"(?P<\1>\2)", shape).replace("~", "[tl]?").replace("%", "[-zZa]")
            needed = frozenset(re.findall(r"(?<=<\w>)[A-Za-z](?!\?)|(?<![?<])!", shape))
            rules.append((re.compile(pattern.replace("_", "(?![A-Za-z])")), needed, make))
    return rules
