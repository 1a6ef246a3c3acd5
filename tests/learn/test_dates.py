"""When what a message teaches is, was or will be (K8, K18): the date beside the words for it, in English and Spanish.

A date is exact or not there: tenses decide between the last May and the next, and where they do not, only the words are kept.
"""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from reverie.learn.extract import extract
from reverie.memory.semantic import Claim

MONDAY, SUNDAY, THURSDAY = "2026-11-16", "2026-11-15", "2026-11-19"
YEAR_END, LEAP_DAY = "2026-12-31", "2028-02-29"  # a Thursday and a Tuesday
_SHOWN = re.compile(r"\(([^()]*\d{4}[^()]*)\)")


def told(text: str, today: str) -> Claim:
    (claim,) = extract(text, speaker="Ana", at=datetime.fromisoformat(today).replace(hour=10, tzinfo=UTC))
    return claim


def shown(text: str, today: str) -> str:
    found = _SHOWN.search(told(text, today).text)
    return found[1] if found else ""


AHEAD = [
    (MONDAY, "I'm flying to Paris in two weeks", "2026-11-30"),
    (MONDAY, "Me caso dentro de dos semanas", "2026-11-30"),
    (MONDAY, "I have an exam in 3 days", "2026-11-19"),
    (MONDAY, "Tengo examen en quince días", "2026-12-01"),
    (MONDAY, "My daughter Chloë starts school on September 1st", "2027-09-01"),
    (MONDAY, "Mi hija cumple 5 años el sábado", "2026-11-21"),
    (MONDAY, "My daughter turns 5 on Saturday", "2026-11-21"),
    (MONDAY, "Mi hermano se gradúa el 20 de mayo", "2027-05-20"),
    (MONDAY, "My brother gets married in June", "2027-06"),
    (MONDAY, "Mi hermana se casa en junio", "2027-06"),
    (MONDAY, "Mi padre se jubila en marzo", "2027-03"),
    (MONDAY, "Tengo cita con el dentista el viernes que viene", "2026-11-20"),
    (MONDAY, "I have a dentist appointment this Friday", "2026-11-20"),
    (MONDAY, "I'm going to Rome this weekend", "2026-11-21"),
    (MONDAY, "I'm going to Rome next week", "week of 2026-11-23"),
    (MONDAY, "Me voy a Roma la semana que viene", "semana del 2026-11-23"),
    (MONDAY, "I have a concert tonight", "2026-11-16"),
    (MONDAY, "I have surgery on the 3rd", "2026-12-03"),
    (MONDAY, "Me mudaré a Sevilla en agosto", "2027-08"),
    (MONDAY, "I'm moving to Seville in early May", "2027-05"),
    (MONDAY, "I'm having surgery a week from Friday", "2026-11-27"),
    (MONDAY, "Me jubilo en dos años", "2028"),
    (MONDAY, "I'm flying to Rome from May 3 to May 10", "2027-05-03 to 2027-05-10"),
    (MONDAY, "El 1 de diciembre empiezo en Acme", "2026-12-01"),
    (MONDAY, "Voy a correr un maratón en primavera", "2027"),
    (MONDAY, "I'm going to Peru at Christmas", "2026-12-25"),
    (MONDAY, "My grandma Rose turns 90 next month", "2026-12"),
    (SUNDAY, "I'm flying to Paris in two weeks", "2026-11-29"),
    (SUNDAY, "My exam is on Friday", "2026-11-20"),
    (SUNDAY, "I have a dentist appointment next Friday", "2026-11-20"),
    (SUNDAY, "I have a dentist appointment this Friday", "2026-11-20"),
    (SUNDAY, "Tengo cita el próximo viernes", "2026-11-20"),
    (SUNDAY, "I'm going to Rome this weekend", "2026-11-14"),
    (SUNDAY, "I'm going to Rome next week", "week of 2026-11-16"),
    (YEAR_END, "I'm flying to Lima in 3 days", "2027-01-03"),
    (YEAR_END, "Me voy a Lima pasado mañana", "2027-01-02"),
    (YEAR_END, "I'm going to Rome the day after tomorrow", "2027-01-02"),
    (YEAR_END, "I'm moving to Madrid next month", "2027-01"),
    (YEAR_END, "I'm moving to Madrid in two months", "2027-02"),
    (YEAR_END, "I'm moving to Madrid next year", "2027"),
    (YEAR_END, "My son turns 5 on January 1st", "2027-01-01"),
    (YEAR_END, "Empiezo a trabajar en Acme el 2 de enero", "2027-01-02"),
    (LEAP_DAY, "My wedding is in two weeks", "2028-03-14"),
    (LEAP_DAY, "I'm moving to Lima in a month", "2028-03"),
    (LEAP_DAY, "Me jubilo el año que viene", "2029"),
    (LEAP_DAY, "Tengo una entrevista mañana", "2028-03-01"),
]
BEHIND = [
    (MONDAY, "I moved to Lima two weeks ago", "2026-11-02"),
    (MONDAY, "Me mudé a Lima hace dos años", "2024"),
    (MONDAY, "Trabajo en Acme desde hace dos años", "2024"),
    (MONDAY, "I started at Acme a month ago", "2026-10"),
    (MONDAY, "I adopted a dog three weeks ago", "2026-10-26"),
    (MONDAY, "My son was born three days ago", "2026-11-13"),
    (MONDAY, "Mi hija cumplió 5 años el sábado", "2026-11-14"),
    (MONDAY, "My daughter turned 5 on Saturday", "2026-11-14"),
    (MONDAY, "My brother got married in June", "2026-06"),
    (MONDAY, "Mi padre se jubiló en marzo", "2026-03"),
    (MONDAY, "I got married on May 3", "2026-05-03"),
    (MONDAY, "Me casé el 3 de mayo", "2026-05-03"),
    (MONDAY, "I joined a choir in May", "2026-05"),
    (MONDAY, "I moved to Lima this May", "2026-05"),
    (MONDAY, "We bought a house in January", "2026-01"),
    (MONDAY, "My sister Noor moved to Lima in December", "2025-12"),
    (MONDAY, "I work at Acme since December 1", "2025-12-01"),
    (MONDAY, "Trabajo en Acme desde el 1 de diciembre", "2025-12-01"),
    (MONDAY, "Vivo en Oslo desde enero", "2026-01"),
    (MONDAY, "I got engaged last night", "2026-11-15"),
    (MONDAY, "Me mude a Sevilla en agosto", "2026-08"),
    (SUNDAY, "I moved to Leeds last weekend", "2026-11-07"),
    (SUNDAY, "Me mudé a León la semana pasada", "semana del 2026-11-02"),
    (YEAR_END, "I got married last year", "2025"),
    (YEAR_END, "Me mudé a Cádiz hace un mes", "2026-11"),
    (YEAR_END, "I moved to Rome last month", "2026-11"),
    (LEAP_DAY, "I moved to Lima a year ago", "2027"),
    (LEAP_DAY, "Me mudé a Lima hace cuatro años", "2024"),
    (LEAP_DAY, "I got my driving licence on February 29", "2028-02-29"),
]
ARRANGED = [
    (MONDAY, "I got a new job at Acme starting December 1", "2026-12-01"),
    ("2026-12-05", "I got a new job at Acme starting December 1", "2026-12-01"),
    (MONDAY, "I got an interview on Friday", "2026-11-20"),
    (MONDAY, "I booked a table for Friday", "2026-11-20"),
    (MONDAY, "I booked a flight to Rome for May 3", "2027-05-03"),
    (MONDAY, "My interview was moved to December 3", "2026-12-03"),
]
TWO_DAYS = [
    (MONDAY, "I have a dentist appointment next Friday", "2026-11-20 or 2026-11-27"),
    (MONDAY, "I'll be in Berlin from Monday to Friday", "2026-11-16 or 2026-11-23"),
    (MONDAY, "My parents are visiting next weekend", "2026-11-21 or 2026-11-28"),
    (MONDAY, "Empecé a trabajar en Acme el lunes", "2026-11-09 o 2026-11-16"),
    (THURSDAY, "I moved to Leeds last Monday", "2026-11-09 or 2026-11-16"),
]
WORDS_ONLY = [
    (MONDAY, "I signed up for a marathon in October"),
    (MONDAY, "Nos mudamos a Bilbao en mayo"),
    (MONDAY, "I work at Acme from January 1"),
    (MONDAY, "I finished my thesis in two weeks"),
    (MONDAY, "We're getting married on 3/5"),
    (MONDAY, "I moved to Lima a couple of weeks ago"),
    (MONDAY, "I've worked at Acme for the last three years"),
    (MONDAY, "My anniversary is on June 3"),
    (MONDAY, "I bought a guitar on Black Friday"),
    (MONDAY, "I moved to Oslo half a year ago"),
    (MONDAY, "I'm moving to Oslo in the fall"),
    (MONDAY, "I'm retiring in 2030"),
    ("2026-06-03", "I got a new job at Acme starting December 1"),
]


@pytest.mark.parametrize(("today", "text", "date"), [*AHEAD, *BEHIND, *ARRANGED, *TWO_DAYS])
def test_the_date_beside_the_words_is_the_one_that_the_tense_of_the_clause_asks_for(today: str, text: str, date: str) -> None:
    assert shown(text, today) == date


@pytest.mark.parametrize(("today", "text"), WORDS_ONLY)
def test_where_nothing_tells_which_day_is_meant_the_words_are_kept_and_no_date_is_added(today: str, text: str) -> None:
    assert shown(text, today) == ""


@pytest.mark.parametrize(("today", "text", "date"), [*AHEAD, *BEHIND, *ARRANGED])
def test_the_moment_of_a_fact_is_the_beginning_of_the_date_beside_it(today: str, text: str, date: str) -> None:
    claim = told(text, today)
    moment = claim.valid_from or claim.happened_at
    assert moment
    assert moment.isoformat().startswith(re.sub(r"^\D+| to .*", "", date))


@pytest.mark.parametrize(("today", "text"), [(today, text) for today, text, _ in TWO_DAYS])
def test_of_two_days_that_words_may_mean_none_is_the_moment_of_the_fact(today: str, text: str) -> None:
    claim = told(text, today)
    assert (claim.valid_from, claim.happened_at) == (None, None)


def test_across_years_and_a_leap_day_a_fortnight_and_a_coming_weekday_are_counted_right() -> None:
    for day in range(0, 800, 3):
        now = datetime(2027, 12, 20, 22, tzinfo=ZoneInfo("America/Mexico_City")) + timedelta(days=day)
        said = {
            "I'm flying to Paris in two weeks": now + timedelta(days=14),
            "Tengo cita con el dentista dentro de dos semanas": now + timedelta(days=14),
            "I moved to Lima 10 days ago": now - timedelta(days=10),
            "Tengo una entrevista pasado mañana": now + timedelta(days=2),
            "Tengo una entrevista el viernes que viene": now + timedelta(days=(4 - now.weekday() - 1) % 7 + 1),
        }
        for text, then in said.items():
            (claim,) = extract(text, speaker="Ana", at=now)
            assert claim.text.endswith(f"({then:%Y-%m-%d})"), now


def test_what_holds_until_a_day_ends_with_it() -> None:
    for text in ("I live in Oslo until June", "Vivo en Oslo hasta junio"):
        claim = told(text, MONDAY)
        assert claim.text.endswith("(2027-06)")
        assert claim.valid_until == datetime(2027, 7, 1, tzinfo=UTC)


def test_a_name_said_in_passing_has_no_date() -> None:
    (claim,) = extract("a gift for my brother Arjun this Friday", speaker="Ana", at=datetime(2026, 11, 16, tzinfo=UTC))
    assert claim.text == "Ana's brother is called Arjun"
