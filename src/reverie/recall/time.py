"""When a text speaks of: its time expressions, in English and Spanish, as intervals.

A text is cut into tokens, and each token is one letter of the text's *shape*: `M` a month, `U` a unit of time, `R` last, this
or next, `x` a word that tells no time. Rules are short patterns over shapes, tried in order; each makes one token of those
that it matches, mostly `D`, an interval, so that later rules build on earlier ones. Every pattern runs in linear time.

Memory looks back: "in May" is the latest May, unless the words speak of the future. What cannot be (30 February) and what might
be read otherwise (5/6/2023 in English) is told, not guessed silently. Rejected: libraries, which find dates in half of the
texts that have none.
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

from reverie.memory.language import language_of

DAY = timedelta(days=1)
FARTHEST = 100  # years that "before 1990" reaches back
_MONTHS_IN = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120, "century": 1200}
_DAYS_IN = {"day": 1, "week": 7, "weekend": 7, "fortnight": 14}
_SECONDS_IN = {"second": 1, "minute": 60, "hour": 3600}
_MEANT = {"hour": DAY / 24, "week": 7 * DAY, "month": 30 * DAY, "year": 365 * DAY}  # how wide people mean "a week ago"
_MORNING, _NIGHT = (5, 12), (19, 29)  # hours of the day


class Time(NamedTuple):
    """A time that a text speaks of: half-open, in the zone of whoever asks."""

    start: datetime
    end: datetime
    text: str


class Reading(NamedTuple):
    """What a text says of time: `windows` are the `times` that name a day or more, as wide as people mean them."""

    times: tuple[Time, ...]
    windows: tuple[tuple[datetime, datetime], ...]
    unclear: tuple[str, ...]


def find_times(text: str, now: datetime, language: str | None = None) -> tuple[Time, ...]:
    """Return the times that `text` speaks of, in order, as seen from `now` and in its zone."""
    return read_times(text, now, language).times


def read_times(text: str, now: datetime, language: str | None = None) -> Reading:
    """Return the times, and the expressions that name no possible time or that others would read as another one."""
    return _Reader(text, now, language).read()


def _counted(words: str, first: int = 0) -> dict[Any, str]:
    return {value: row.replace("/", " ") for value, row in enumerate(words.split(), first)}


# The words, by the letter that they give and by their value; "_" is a space.
_LEXICON: dict[str, dict[Any, str]] = {
    "M": _counted("january/enero february/febrero marzo abril mayo junio july/julio august/agosto"
                  " september/septiembre/setiembre october/octubre november/noviembre december/diciembre", 1),
    # Months and weekdays that are other words or names too: they need company.
    "m": _counted("jan/ene feb/febr march/mar april/apr/abr may june/jun jul aug sept/sep/set oct nov dec/dic", 1),
    "W": _counted("monday/lunes tuesday/martes wednesday/miercoles thursday/jueves friday/viernes saturday/sabado"
                  " sunday/domingo"),
    "w": _counted("mon/lun tue/tues wed/mie/mier/mierc thu/thur/thurs/jue/juev fri/vie/vier sat/sab sun/dom"),
    "S": {3: "spring primavera", 6: "summer verano", 9: "autumn fall otono", 12: "winter invierno"},  # north of the equator
    "P": {(0, 6): "madrugada", _MORNING: "morning", (12, 20): "afternoon tarde", (17, 24): "evening", _NIGHT: "night noche"},
    "U": {"second": "seconds secs segundos", "minute": "minute minutes min mins minuto minutos", "day": "day days dia dias d",
          "hour": "hour hours hr hrs hora horas h", "week": "week weeks workweek wk wks semana semanas w",
          "weekend": "weekend weekends fin_de_semana fines_de_semana finde", "fortnight": "fortnight quincena",
          "month": "month months mes meses", "quarter": "quarter quarters qtr trimestre trimestres",
          "half": "half mitad semestre", "year": "year years yr yrs ano anos", "century": "century siglo",
          "decade": "decade decades decada decadas decenio"},
    "R": {-1: "last past previous prior pasado pasada pasados pasadas ultimo ultima ultimos ultimas anterior anteriores",
          0: "this current este esta estos estas actual", -2: "antepasado antepasada",
          1: "next coming upcoming following proximo proxima proximos proximas siguiente siguientes que_viene que_vienen"},
    "T": {0: "today hoy right_now ahora_mismo", -1: "yesterday ayer", -2: "day_before_yesterday anteayer antier antes_de_ayer",
          1: "tomorrow tmrw", 2: "day_after_tomorrow pasado_manana"},
    "O": _counted("first/primer/primero/primera/primeros/primeras second/segundo/segunda third/tercer/tercero/tercera"
                  " fourth/cuarto/cuarta fifth/quinto/quinta sixth/sexto/sexta seventh/septimo/septima eighth/octavo/octava"
                  " ninth/noveno/novena tenth/decimo/decima eleventh twelfth thirteenth fourteenth fifteenth sixteenth"
                  " seventeenth eighteenth nineteenth twentieth", 1) | {30: "thirtieth"},
    "n": _counted("zero/cero one/uno two/dos three/tres four/cuatro five/cinco six/seis seven/siete eight/ocho nine/nueve"
                  " ten/diez eleven/once twelve/doce thirteen/trece fourteen/catorce fifteen/quince/xv sixteen/dieciseis/xvi"
                  " seventeen/diecisiete/xvii eighteen/dieciocho/xviii nineteen/diecinueve/xix twenty/veinte/xx"
                  " veintiuno/veintiun/xxi veintidos veintitres veinticuatro veinticinco veintiseis veintisiete veintiocho"
                  " veintinueve thirty/treinta")
    | {40: "forty cuarenta", 50: "fifty cincuenta", 60: "sixty sesenta", 70: "seventy setenta", 80: "eighty ochenta",
       90: "ninety noventa", 100: "hundred cien ciento", 200: "doscientos", 300: "trescientos", 400: "cuatrocientos",
       500: "quinientos", 600: "seiscientos", 700: "setecientos", 800: "ochocientos", 900: "novecientos", 1000: "thousand mil"},
    "G": {20: "twenties", 30: "thirties", 40: "forties", 50: "fifties", 60: "sixties", 70: "seventies", 80: "eighties",
          90: "nineties"},
    "c": {(1, 3): "couple par", (2, 5): "few several pocos pocas unos unas varios varias"},
    "e": {0: "early earlier", 1: "mid", 2: "late", 3: "later"},
    "E": {0: "beginning start principios comienzos inicios principio", 1: "middle mediados", 2: "end finales fines fin final"},
    # A month and day; a month, which one and the weekday; or days after Easter.
    "H": {(12, 25): "christmas christmas_day navidad navidades", (12, 24): "christmas_eve nochebuena", (10, 31): "halloween",
          (12, 31): "new_year's_eve new_years_eve nochevieja", (1, 1): "new_year's_day new_years_day new_year_day ano_nuevo",
          (1, 6): "dia_de_reyes", (2, 14): "valentine's_day san_valentin", (11, 2): "dia_de_muertos dia_de_los_muertos",
          (5, 1): "workers'_day labour_day dia_del_trabajo dia_del_trabajador", (7, 4): "independence_day",
          (11, 4, 3): "thanksgiving thanksgiving_day accion_de_gracias", (9, 1, 0): "labor_day", (5, 2, 6): "mother's_day",
          (6, 3, 6): "father's_day", (0,): "easter easter_sunday pascua", (1,): "easter_monday", (-3,): "semana_santa",
          (-2,): "good_friday viernes_santo"},
    "TP": {(0, _NIGHT): "tonight", (-1, _NIGHT): "anoche"}, "t": {0: "the la las los"}, "l": {0: "el"}, "a": {1: "a an un una"},
    "K": {(0, 0, "am"): "midnight medianoche", (720, 0, "pm"): "noon midday mediodia medio_dia"}, "k": {0: "o'clock en_punto"},
    "o": {0: "of de del"}, "i": {0: "in en"}, "j": {0: "on"}, "@": {0: "at a_las"}, "p": {0: "during durante por by para for"},
    "f": {1: "from"}, "d": {0: "within dentro_de"}, "z": {0: "to through thru al hacia"}, "Z": {0: "until till hasta"},
    "s": {0: "since desde a_partir_de a_partir_del"}, "b": {0: "between entre"}, "h": {-1: "hace"}, "&": {0: "and y or o"},
    "A": {1: "after despues_de despues_del later_than"}, "B": {-1: "before antes_de antes_del prior_to"},
    "g": {-1: "ago atras"}, "F": {3: "hence from_now despues mas_tarde"}, "J": {0: "now ahora date la_fecha"},
    "r": {0: "every each cada todos todas"},
    "v": {0: "will would can could should might must may_be may_have may_not may_also may_i may_we may_you"},
    # Words that change nothing are left out of the shape.
    "": {0: "business working calendar calendario de_trabajo laborables habiles about around exactly exactamente almost casi"
            " nearly roughly aproximadamente"},
}  # fmt: skip
_WORDS = {
    word.replace("_", " "): (key, value) for key, rows in _LEXICON.items() for value in rows for word in rows[value].split()
}
_WORDS |= dict.fromkeys(("half an hour", "media hora"), ("L", [(30, 30, "minute")]))
_PHRASES = "|".join(sorted((re.escape(word) for word in _WORDS if not word.isalpha()), key=len, reverse=True))
_SPANISH_ONLY = frozenset(("once", "set", "mayo", "dom", "par"))  # other words in an English text
_NAMES = frozenset(("abril", "julio", "domingo"))  # with a capital
_FUTURE = re.compile(r"\b(?:will|shall|gonna|going to|v(?:oy|as|amos|an|a) a)\b|['’]ll\b|\w[aeid]r(?:á|ás|án)\b", re.IGNORECASE)
_SOON = re.compile("coming|viene", re.IGNORECASE)
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
    |(?P<sign>\S)""".replace("PHRASES", _PHRASES).replace("\\ ", r"\s+"),
    re.VERBOSE,
)


class _Span(NamedTuple):
    """An interval; `grain` is how exactly it is meant, `floats` by what it might be meant earlier or later."""

    start: datetime
    end: datetime
    grain: str = "day"
    floats: str = ""


class _Token(NamedTuple):
    letter: str
    start: int
    end: int
    value: Any


_Length = list[tuple[int, int, str]]  # at least and at most so many of a unit, and of another
_Hour = tuple[int, int, str]  # a minute of the day, how many minutes it lasts, and the half of the day if that was said
_Made = _Span | _Length | _Hour | int | None


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

    def __init__(self, text: str, now: datetime, language: str | None) -> None:
        self.text, self.now, self.language = text, now, language
        self.today, self.ahead = _midnight(now), _FUTURE.search(text) is not None
        self.unclear: dict[str, None] = {}
        self.tokens: list[_Token] = []

    def read(self) -> Reading:
        for found in _TOKEN.finditer(self.text.translate(_FOLDED)):
            self._add(found.lastgroup or "", found[0], found.start(), found.end())
        shape = "".join([token.letter for token in self.tokens])
        letters = set(shape)
        for pattern, needed, make in _rules() if not _TELLING.isdisjoint(letters) else ():
            if needed <= letters and self._apply(pattern, make, shape):
                shape = "".join([token.letter for token in self.tokens])
                letters = set(shape)
        times, windows = [], []
        for _, at, to, (start, end, grain, _) in (token for token in self.tokens if token.letter == "D"):
            slack = max(timedelta(), _MEANT.get(grain, timedelta()) - (end - start)) / 2
            with suppress(OverflowError):  # at the ends of the calendar no zone can follow
                window = (start - slack, end + slack)
                if window[0].astimezone(UTC) < window[1].astimezone(UTC) and start.astimezone(UTC) < end.astimezone(UTC):
                    times.append(Time(start, end, self.text[at:to]))
                    windows += [window] if grain != "clock" else []
                    continue
            self.unclear[self.text[at:to]] = None
        return Reading(tuple(times), tuple(windows), tuple(self.unclear))

    def _apply(self, pattern: re.Pattern[str], make: Callable[..., _Made], shape: str) -> bool:
        kept: list[_Token] = []
        done = 0
        for found in pattern.finditer(shape):
            at, to = self.tokens[found.start()].start, self.tokens[found.end() - 1].end
            self.said = self.text[at:to]
            named = {name: self.tokens[found.start(name)].value for name in pattern.groupindex if found.start(name) >= 0}
            try:
                made: _Made | str = make(self, **named)
            except (ValueError, OverflowError):
                self.unclear[self.said], made = None, "no such day"
            if made is not None:
                kept += [*self.tokens[done : found.start()], _Token(_LETTERS[type(made)], at, to, made)]
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
            tokens.append(_Token(letter, at, to, value))

    def _word(self, word: str, at: int) -> tuple[str, Any]:
        letter, value = _WORDS.get(word) or _WORDS.get(word.partition("'")[0], ("x", None))
        before = self.tokens[-1] if self.tokens else _Token(";", 0, 0, None)
        if word == "manana":
            return ("P", _MORNING) if before.letter in "tR" else ("T", 1)
        if word in _SPANISH_ONLY and not self._is_spanish():
            return "m" if word == "mayo" else "x", value
        is_unit_alone = len(word) == 1 and letter == "U" and not self.text[at - 1 : at].isdigit()
        if is_unit_alone or (word == "may" and before[0::3] == ("R", 0) and self.text[at].islower()):  # "this may be"
            return "x", None
        return letter.lower() if word in _NAMES and self.text[at].isupper() else letter, value

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
        if third and max(first, second) > 31:
            return None
        if not third and max(parts) > 31:
            return self._months(max(parts), min(parts)) if 1800 < max(parts) < 2200 and 0 < min(parts) < 13 else None
        if not third and (x == "24/7" or min(parts) > 12 or (max(parts) < 13 and "0" not in x[::3] and p is None)):
            return None
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
        return _Span(_midnight(edge), self.today + DAY) if r < 0 else _Span(self.today, _midnight(edge) + DAY) if r else None

    def away(self, q: _Length, b: int = 1, d: _Span | None = None, e: int = 3) -> _Made:
        """Read "two weeks ago", "in three days", "a month after Easter"."""
        start, end = sorted(self._shift(d.start if d else self.now, q, b, most) for most in (False, True))
        least, most, unit = q[-1]
        if unit in _SECONDS_IN:
            return _Span(start, end + timedelta(seconds=_SECONDS_IN[unit]), "hour") if e == 3 else None
        around = DAY if unit != "day" and least == most else timedelta()  # "two weeks ago" is not said of one day only
        return _Span(_midnight(start) - around, _midnight(end) + around + DAY, unit) if e == 3 else None

    def weekday(self, w: int, r: int | None = None) -> _Made:
        since = (self.now.weekday() - w) % 7
        if r is None:
            return _whole(self.today + (-since % 7 if self.ahead else -since) * DAY)._replace(floats="week")
        if _SOON.search(self.said):
            return _whole(self.today + (7 - since) * DAY)
        if r == -1 and 0 < since <= self.now.weekday():
            self.unclear[self.said] = None  # "last Monday" on a Friday: of this week, or of the last
        return _whole(self._unit("week", self.now, r).start + w * DAY)

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
        return _Span(start, span.end - third if e == 1 else start + third) if third else d

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
            start = (
                _moved(start, end.start.year)
                if _moved(start, end.start.year).start < end.end
                else _moved(start, end.start.year - 1)
            )
        elif end.floats == "year":
            end = (
                _moved(end, start.start.year)
                if _moved(end, start.start.year).end > start.start
                else _moved(end, start.start.year + 1)
            )
        elif end.floats == "week":
            end = _whole(start.start + (end.start - start.start) // DAY % 7 * DAY)
        return _Span(start.start, end.end, "day", start.floats and end.floats) if start.start < end.end else None

    def one_sided(self, d: _Span, a: int = 0, b: int | None = None) -> _Made:
        """Read "since", "after", "until", "before": up to today, or as far back as is worth looking; an hour, in its day."""
        in_a_day = d.grain in ("hour", "clock")
        if b is None:
            start = d.end if a else d.start
            end = _midnight(start) + DAY if in_a_day else self.today + DAY if start <= self.today else _later(start, 12)
            return _Span(start, end, d.grain if in_a_day else "day")
        end = d.start if b else d.end
        start = _midnight(end) if in_a_day else end.replace(year=max(1, end.year - FARTHEST), day=1)
        return _Span(start, end, d.grain if in_a_day else "day")


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def _whole(day: datetime) -> _Span:
    return _Span(day, day + DAY)


def _later(moment: datetime, months: int) -> datetime:
    year, month = divmod(12 * moment.year + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1])) if months else moment


def _moved(span: _Span, year: int) -> _Span:
    return _Span(span.start.replace(year=year), span.end.replace(year=year + span.end.year - span.start.year), span.grain)


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
_TELLING = frozenset("IXDMmWwSHTUYGQKCPNnOL@")
# Shapes and what they mean, in the order in which they are tried. <n> names the token that follows; ~ is an article, if there
# is one; % a word or sign that makes a range; _ the end of what tells a time.
_MEANING: tuple[tuple[Callable[..., _Made], tuple[str, ...]], ...] = (
    (_Reader.stamp, ("<x>I",)),
    (_Reader.digits, ("(?<=<p>[jlRWwBAsZbf])<x>X", "<x>X")),
    (_Reader.clock, ("<x>C",)),
    (lambda self, t: _whole(self.today + t * DAY), ("<t>T",)),
    (lambda _, m: int(m), ("<m>m(?:(?<=[ipfsZBAbReNO]m)|(?<=e-m)|(?<=[UWE]om)|(?<=[NOn][-/o]m)|(?<=[Mm]%m))",
                           "<m>m(?=%[Mm]|[-/]?~[NO]|[-/,]?Y)")),
    (_Reader.months, ("R?<r>R<m>M", "R?<r>R<s>S", "<r>R<q>Q", "<m>M<r>R(?!U)", "<s>S<r>R(?!U)", "<m>M", "<q>Q",
                      "<s>S(?=[,o]?Y|o~(?:RU|UR))", "[ip]~<s>S(?!o)")),
    (lambda self, h, y: _feast(self._on(y, 1, 1), h), ("<h>H[,o]{0,2}<y>Y",)),
    (lambda self, h, r=None: self._yearly(lambda year: _feast(self._on(year, 1, 1), h), r),
     ("<h>H<r>R(?!U)", "R?<r>R<h>H", "<h>H")),
    (_Reader.day_of, ("[bsfo]?~<n>[NO][-zZa&]~<k>[NO][-/o]?<d>D", "[bsfo]?<d>D~<n>[NO]%~<k>[NO](?![UDK])",
                      "(?<![NOi])(?<![NO]o)<d>D~<n>[NO](?![UD])", "<n>[NO][-/o,]?<d>D", "<n>no<d>D",
                      "(?<!i)<d>D[-/]~<n>[NO](?![UDK])")),
    (_Reader.in_year, ("<d>D[-,o/]{0,2}<y>Y", "<y>Y[-/]?<d>D")),
    (lambda self, d, y: self.in_year(d, _year(y, self.now)) if y > 31 or d.grain == "day" else None, ("<d>D[-/o]<y>N_",)),
    (_Reader.decade, ("t<y>G", "<y>G(?<![tx]G)", "<u>Uo?t?<y>[NnYG]_", "(?<=[iop])t<y>[NnY]_")),
    (lambda self, y, u="year": self._unit("year", self._on(y, 1, 1)) if u == "year" and y > 99 else None,
     ("<u>Uo?<y>[YN]", "<y>Y(?:(?<=[eiszZBAb]Y)|(?<=EoY)|(?<=OUY)|(?<=OU[-o]Y)|(?<=e-Y)|(?<=[fop]Y)_|(?<=Y%Y)_|(?=%Y_)"
      "|(?<=^Y)$)", "<y>Y(?:(?<=D[&,]Y)|(?=&D))")),
    (_Reader.beside, ("(?<![Nnac])(?<!co)R?<u>U<b>[AB]~<d>D", "R?<w>W<b>[AB]~<d>D")),
    (lambda self, n, u, r: self.lately(r, [(n, n, u)]), ("<n>[Nn]<r>R<u>U", "<n>[Nn]<u>U<r>R(?!U)")),
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
    (lambda self, q: self.lately(1, q), ("d<q>L",)),
    (_Reader.weekday_of, ("R?<w>[Ww][oji,]?~<d>D", "<d>D[jo,]?~<w>[Ww]")),
    (_Reader.weekday, ("R?<r>R<w>[Ww]", "<w>[Ww]<r>R(?!U)")),
    (_Reader.the_day, ("<w>[Ww],?~<n>[NO](?![-Ux])",)),
    (_Reader.weekday, ("(?<![tr])<w>W", "<w>w(?:(?<=[jlpfs]w)|(?=[@KP]))")),
    (_Reader.in_year, ("<d>D[oi,]{0,2}~<e>D",)),
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
            needed = frozenset(re.findall(r"<\w>([A-Za-z])(?!\?)", shape))
            rules.append((re.compile(pattern.replace("_", "(?![A-Za-z])")), needed, make))
    return rules
