"""Time expressions: what is found in a text, what it means, and what is left alone (K8)."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.__main__ import main
from reverie.errors import BadInput
from reverie.recall.time import find_times, read_times

MADRID, MEXICO, APIA = ZoneInfo("Europe/Madrid"), ZoneInfo("America/Mexico_City"), ZoneInfo("Pacific/Apia")
NOW = datetime(2025, 6, 19, 16, 45, tzinfo=MADRID)  # a Thursday


def found(text: str, now: datetime = NOW, language: str | None = None) -> list[str]:
    """Return each time as "start..end", midnights as days."""
    return [
        "..".join(f"{side:%Y-%m-%d %H:%M}".removesuffix(" 00:00") for side in (start, end))
        for start, end, _ in find_times(text, now, language)
    ]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("What did we cook yesterday? | ¿Qué cocinamos ayer? | QUÉ COMIMOS AYER", "2025-06-18..2025-06-19"),
        ("where were we the day before yesterday | ¿dónde anduvimos anteayer? | antes de ayer", "2025-06-17..2025-06-18"),
        ("see you tomorrow | nos vemos mañana | nos vemos manana | man\u0303ana", "2025-06-20..2025-06-21"),
        ("the day after tomorrow | pasado mañana", "2025-06-21..2025-06-22"),
        ("last week | la semana pasada | LA SEMANA PASADA | the previous week", "2025-06-09..2025-06-16"),
        ("this week | esta semana", "2025-06-16..2025-06-23"),
        ("the week before last | la semana antepasada", "2025-06-02..2025-06-09"),
        ("this weekend | este fin de semana | este finde", "2025-06-21..2025-06-23"),
        ("over the weekend | el fin de semana pasado", "2025-06-14..2025-06-16"),
        ("last month | el mes pasado", "2025-05-01..2025-06-01"),
        ("last quarter | el trimestre pasado", "2025-01-01..2025-04-01"),
        ("next year | el año que viene | el ano que viene", "2026-01-01..2027-01-01"),
        ("on Monday | el lunes | this Monday | este lunes", "2025-06-16..2025-06-17"),
        ("the coming Saturday | el sábado que viene", "2025-06-21..2025-06-22"),
        ("next Friday | el próximo viernes", "2025-06-27..2025-06-28"),
        ("Friday of last week | el viernes de la semana pasada", "2025-06-13..2025-06-14"),
        ("last spring | la primavera pasada", "2025-03-01..2025-06-01"),
        ("in the winter of 2023 | el invierno de 2023", "2023-12-01..2024-03-01"),
    ],
)  # fmt: skip
def test_words_that_count_from_now_are_resolved(texts: str, expected: str) -> None:
    assert {text: found(text) for text in texts.split(" | ")} == {text: [expected] for text in texts.split(" | ")}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("three days ago | hace tres días | hace 3 dias | hace exactamente tres días", "2025-06-16..2025-06-17"),
        ("in four days | en cuatro días", "2025-06-23..2025-06-24"),
        # Further off, people do not count to the day.
        ("two weeks ago | hace dos semanas", "2025-06-04..2025-06-07"),
        ("six months ago | hace seis meses", "2024-12-18..2024-12-21"),
        ("a couple of weeks ago | hace un par de semanas", "2025-05-29..2025-06-13"),
        ("the last ten days | los últimos diez días | in the past 10 days", "2025-06-09..2025-06-20"),
        ("twenty-one days ago | hace veintiún días", "2025-05-29..2025-05-30"),
        ("two days before Christmas 2021 | dos días antes de Navidad de 2021", "2021-12-23..2021-12-24"),
        ("the day after Christmas 2021 | the Sunday after Christmas 2021", "2021-12-26..2021-12-27"),
        ("the week before May 14, 2024 | last week before May 14, 2024", "2024-05-06..2024-05-13"),
        ("twenty minutes ago | hace veinte minutos", "2025-06-19 16:25..2025-06-19 16:26"),
        ("the last two hours | las últimas dos horas", "2025-06-19 14:45..2025-06-19 16:45"),
        ("dentro de 3 días | within 3 days", "2025-06-19..2025-06-23"),
    ],
)
def test_lengths_of_time_are_counted_from_now(texts: str, expected: str) -> None:
    assert {text: found(text) for text in texts.split(" | ")} == {text: [expected] for text in texts.split(" | ")}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            "7 April 2023 | April 7th, 2023 | the 7th of April 2023 | 7-Apr-23 | 2023-04-07 | 2023/4/7 | 7.4.2023"
            " | 7 de abril de 2023 | el 7 de abril del 2023 | siete de abril de dos mil veintitrés"
            " | April seventh twenty twenty three | ２０２３-０４-０７",
            "2023-04-07..2023-04-08",
        ),
        ("April 2023 | en abril de 2023 | abril del año 2023 | 2023-04 | 04/2023 | Apr '23", "2023-04-01..2023-05-01"),
        ("in 2023 | en 2023 | the year 2023 | en el año 2023", "2023-01-01..2024-01-01"),
        ("in early May | a principios de mayo", "2025-05-01..2025-05-11"),
        ("in late May | a finales de mayo", "2025-05-22..2025-06-01"),
        ("the end of 2023 | a finales de 2023", "2023-09-02..2024-01-01"),
        ("the 1980s | in the eighties | los años ochenta | en los 80 | la década de los 80", "1980-01-01..1990-01-01"),
        ("in the 19th century | en el siglo XIX", "1800-01-01..1900-01-01"),
        ("Q2 2024 | the second quarter of 2024 | el segundo trimestre de 2024", "2024-04-01..2024-07-01"),
        ("the first week of May 2024 | la primera semana de mayo de 2024", "2024-05-01..2024-05-08"),
        ("the second Friday of May | el segundo viernes de mayo", "2025-05-09..2025-05-10"),
        ("the last Friday of May | el último viernes de mayo", "2025-05-30..2025-05-31"),
        ("the week of May 14 | la semana del 14 de mayo", "2025-05-12..2025-05-19"),
        ("on the 4th | el 4", "2025-06-04..2025-06-05"),
        ("Tuesday the 3rd | el martes 3", "2025-06-03..2025-06-04"),
        ("Christmas 2021 | la Navidad de 2021", "2021-12-25..2021-12-26"),
        ("Thanksgiving 2023", "2023-11-23..2023-11-24"),
        ("Easter 2024 | la Pascua de 2024", "2024-03-31..2024-04-01"),
        ("29 February | el 29 de febrero", "2024-02-29..2024-03-01"),
    ],
)
def test_dates_are_read_however_they_are_written(texts: str, expected: str) -> None:
    assert {text: found(text) for text in texts.split(" | ")} == {text: [expected] for text in texts.split(" | ")}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("from May 3 to June 2 | del 3 de mayo al 2 de junio | May 3 - June 2", "2025-05-03..2025-06-03"),
        (
            "between 2019 and 2021 | entre 2019 y 2021 | from 2019 to 2021 | de 2019 a 2021 | 2019-2021",
            "2019-01-01..2022-01-01",
        ),
        ("May 3-5, 2020 | del 3 al 5 de mayo de 2020 | entre el 3 y el 5 de mayo de 2020", "2020-05-03..2020-05-06"),
        ("from November to February | de noviembre a febrero", "2024-11-01..2025-03-01"),
        ("since Tuesday | desde el martes", "2025-06-17..2025-06-20"),
        ("since 2021 | desde 2021", "2021-01-01..2025-06-20"),
        ("after March 2020 | después de marzo de 2020", "2020-04-01..2025-06-20"),
        ("before 1990 | antes de 1990", "1890-01-01..1990-01-01"),
        ("until 1990 | hasta 1990", "1891-01-01..1991-01-01"),
        ("since 2019 and until 2021 | desde 2019 hasta 2021", "2019-01-01..2022-01-01"),
        ("May 3 and 5 | May 3, 4 and 5 | the 3rd and the 5th of May | 3, 4 y 5 de mayo", "2025-05-03..2025-05-06"),
        ("between April 3 and now | desde el 3 de abril hasta ahora", "2025-04-03..2025-06-20"),
    ],
)
def test_ranges_are_one_time_and_open_ends_are_bounded(texts: str, expected: str) -> None:
    assert {text: found(text) for text in texts.split(" | ")} == {text: [expected] for text in texts.split(" | ")}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("yesterday morning | ayer por la mañana", "2025-06-18 05:00..2025-06-18 12:00"),
        ("tonight | esta noche", "2025-06-19 19:00..2025-06-20 05:00"),
        ("last night | anoche", "2025-06-18 19:00..2025-06-19 05:00"),
        (
            "yesterday at 5pm | at 5 pm yesterday | ayer a las 5 de la tarde | ayer a las 17",
            "2025-06-18 17:00..2025-06-18 18:00",
        ),
        ("yesterday evening at 8 | ayer por la noche a las 8", "2025-06-18 20:00..2025-06-18 21:00"),
        ("on May 3, 2021 at 10:30 | el 3 de mayo de 2021 a las 10:30", "2021-05-03 10:30..2021-05-03 10:31"),
        ("yesterday from 8am to 9:30am", "2025-06-18 08:00..2025-06-18 09:30"),
        ("2021-05-03T10:30:00+02:00 | 2021-05-03T08:30Z", "2021-05-03 10:30..2021-05-03 10:31"),
        ("at noon | al mediodía", "2025-06-19 12:00..2025-06-19 13:00"),
    ],
)
def test_hours_and_parts_of_the_day_are_read(texts: str, expected: str) -> None:
    assert {text: found(text) for text in texts.split(" | ")} == {text: [expected] for text in texts.split(" | ")}


@pytest.mark.parametrize(
    "text",
    [
        "May I borrow it?", "she may march with us", "this may be wrong", "you may not", "a second opinion", "the sun sat low",
        "I read 1984 twice", "python 3.11.4", "call 600-123-456", "she is in her 40s", "a 24/7 shop", "1/2 a cup", "he won 6-3",
        "John 3:16", "half of 2000 people", "a size of 2000 tokens", "it will last three weeks", "does it last an hour", "mar",
        "every Friday", "todos los lunes", "los lunes no trabajo", "un segundo plato", "cantó Plácido Domingo", "$2019",
        "¿qué dijo Julio?", "la casa de Abril", "she put some mayo on the sandwich", "once upon a time", "buenos días",
        "good morning", "the fall of Rome", "Have a nice day", "hay 10 sillas", "we set 5 tables", "the 50/30/20 rule",
        "the first half was dull", "20% in all", "el mar y el sol", "7", "0000-00-00", "", "\x00",
    ],
)  # fmt: skip
def test_words_and_numbers_that_only_look_like_times_are_left_alone(text: str) -> None:
    assert found(text) == []


def test_memory_looks_back_unless_the_words_look_ahead() -> None:
    assert found("we met in October") == ["2024-10-01..2024-11-01"]
    assert found("we will meet in October") == found("nos veremos: vamos a viajar en octubre") == ["2025-10-01..2025-11-01"]
    assert found("on Saturday I ran") == ["2025-06-14..2025-06-15"]
    assert found("on Saturday I'll run") == ["2025-06-21..2025-06-22"]


def test_the_longest_expression_counts_and_the_words_it_stands_in_are_told() -> None:
    times = find_times("Was it yesterday, or in the first week of May 2024, say on Monday?", NOW)
    assert [time.text for time in times] == ["yesterday", "the first week of May 2024", "Monday"]


def test_the_language_decides_which_number_is_the_day() -> None:
    assert found("on 03/04/2024", language="en") == ["2024-03-04..2024-03-05"]
    assert found("el 03/04/2024", language="es") == ["2024-04-03..2024-04-04"]
    assert found("nos vimos el 03/04/2024 en la playa") == ["2024-04-03..2024-04-04"]
    assert found("on 23/04/2024", language="en") == found("el 04/23/2024", language="es") == ["2024-04-23..2024-04-24"]


@pytest.mark.parametrize(
    "text",
    [
        "30 February 2024", "February 30, 2024", "31 de febrero de 2024", "31/11/2024", "13/13/2020", "45/13/2020",
        "2023-02-29", "31 de junio", "June 0000", "33rd of April", "33 April 2024", "April 33, 2024", "33 de abril de 2024",
        "0 de abril", "Monday, 30 February", "30 February of last year", "31 de junio del año pasado",
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_and_nothing_wider_is_searched_instead(text: str) -> None:
    reading = read_times(f"so on {text} then", NOW)
    assert (reading.times, reading.windows, reading.unclear) == ((), (), (text,))


def test_what_may_be_read_otherwise_is_resolved_and_told() -> None:
    assert read_times("it was 05/06/2023", NOW, "en").unclear == ("05/06/2023",)
    assert read_times("fue el 05/06/2023", NOW, "es").unclear == ()
    assert read_times("we met last Monday", NOW).unclear == ("last Monday",)  # three days ago, or ten
    assert read_times("we met last Friday", NOW).unclear == ()


def test_two_numbers_alone_are_a_date_or_a_fraction_and_no_guess() -> None:
    assert read_times("9/11", NOW) == read_times("9/11", NOW, "es") == ((), (), ("9/11",))
    assert read_times("9/11 of the cake is gone", NOW) == ((), (), ())
    assert read_times("open 24/7", NOW) == read_times("24/7", NOW) == ((), (), ())


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ("in April and May | en abril y mayo | in April or in May | abril, mayo", "2025-04-01..2025-06-01"),
        ("in March, April, and May | en marzo, abril y mayo", "2025-03-01..2025-06-01"),
        ("in April, May or June 2021 | abril, mayo y junio de 2021 | April 2021, May and June", "2021-04-01..2021-07-01"),
        ("in December and January | December 2024 and January | diciembre y enero de 2025", "2024-12-01..2025-02-01"),
        ("June, July and August | we met in June, July, and August", "2024-06-01..2024-09-01"),  # this July is yet to come
        ("we will meet in May and June", "2026-05-01..2026-07-01"),
        ("in spring and summer of 2021 | in spring and summer 2021", "2021-03-01..2021-09-01"),
        ("2021 and 2022 | 2021 y 2022 | in 2021 or 2022 | what changed in 2021 and 2022?", "2021-01-01..2023-01-01"),
        ("2021, 2022 and 2023 | en 2021, 2022 y 2023", "2021-01-01..2024-01-01"),
        ("yesterday and today | ayer y hoy | hoy o ayer | today, yesterday", "2025-06-18..2025-06-20"),
        ("on Monday and Tuesday | el lunes y el martes", "2025-06-16..2025-06-18"),
        ("on Thursday and Friday | el jueves y el viernes", "2025-06-12..2025-06-14"),
        ("last week and this week | la semana pasada y esta semana", "2025-06-09..2025-06-23"),
    ],
)  # fmt: skip
def test_times_of_one_list_are_one_window(texts: str, expected: str) -> None:
    def window(text: str) -> list[str]:
        return ["..".join(f"{side:%Y-%m-%d}" for side in window) for window in read_times(text, NOW).windows]

    assert {text: window(text) for text in texts.split(" | ")} == {text: [expected] for text in texts.split(" | ")}


def test_times_that_are_no_list_are_windows_of_their_own_and_a_year_that_is_named_goes_first() -> None:
    starts = [
        start.date().isoformat() for start, _ in read_times("yesterday I read of May 2021 and, later, of 2019", NOW).windows
    ]
    assert starts == ["2021-05-01", "2019-01-01", "2025-06-18"]
    assert len(read_times("on Saturday, in March 2020, we ran", NOW).windows) == 2
    assert found("in May and John came") == found("in May, June came by") == ["2025-05-01..2025-06-01"]
    assert found("the models 2021 and 2022 beta") == found("April and June came") == []


def test_a_moment_without_a_zone_is_refused() -> None:
    for read in (find_times, read_times):
        with pytest.raises(
            BadInput, match=r"now 2025-06-19T16:45:00 has no time zone; write now\.replace\(tzinfo=datetime\.UTC\)"
        ):
            read("yesterday", NOW.replace(tzinfo=None))


def test_windows_are_as_wide_as_people_mean_and_an_hour_without_a_day_is_none() -> None:
    ((start, end),) = read_times("two weeks ago", NOW).windows
    assert (end - start, start + (end - start) / 2) == (timedelta(days=7), datetime(2025, 6, 5, 12, tzinfo=MADRID))
    assert read_times("the meeting at 5pm", NOW).windows == ()


def test_days_are_those_of_the_zone() -> None:
    asked = datetime(2025, 6, 19, 3, tzinfo=UTC)
    assert found("yesterday", asked.astimezone(MADRID)) == ["2025-06-18..2025-06-19"]
    assert found("yesterday", asked.astimezone(MEXICO)) == ["2025-06-17..2025-06-18"]
    ((start, end, _),) = find_times("yesterday", asked.astimezone(MEXICO))
    assert (start.astimezone(UTC).hour, end.astimezone(UTC).hour) == (6, 6)


@pytest.mark.parametrize(("day", "hours"), [("30 March 2025", 23), ("26 October 2025", 25), ("27 October 2025", 24)])
def test_a_day_on_which_clocks_change_is_a_day(day: str, hours: int) -> None:
    ((start, end, _),) = find_times(day, NOW)
    assert (start.hour, end.hour) == (0, 0)
    assert end.astimezone(UTC) - start.astimezone(UTC) == timedelta(hours=hours)


def test_hours_are_counted_as_they_pass() -> None:
    after_the_change = datetime(2025, 3, 30, 4, 30, tzinfo=MADRID)
    ((start, _, _),) = find_times("three hours ago", after_the_change)
    assert start.astimezone(UTC) == after_the_change.astimezone(UTC) - timedelta(hours=3)
    assert (start.hour, start.minute) == (0, 30)


def test_a_day_that_a_zone_left_out_is_told_as_unclear() -> None:
    reading = read_times("what happened yesterday?", datetime(2011, 12, 31, 10, tzinfo=APIA))
    assert (reading.times, reading.unclear) == ((), ("yesterday",))
    assert found("the day before yesterday", datetime(2011, 12, 31, 10, tzinfo=APIA)) == ["2011-12-29..2011-12-30"]


def test_the_ends_of_the_calendar_are_told_as_unclear() -> None:
    now = NOW.astimezone(timezone(timedelta(hours=14)))
    reading = read_times("in January 0001 or on 9999-12-31 or 9000 years ago or in 9000 years", now)
    assert reading.times == ()
    assert len(reading.unclear) == 4


WORDS = (
    "last next this May may Monday sat 5 31 2023 '99 the of in since before after from to between and - / , . : ago week weeks"
    " days year century decade Q3 first second past hundred thousand twenty half am pm 12:30 5pm 5/6/2023 2023-02-30 99/9/9 90s"
    " hace el la de del año semana semanas pasado pasada que viene mañana por tarde noche a las hasta desde entre y los noventa"
    " principios finales siglo XIX fin mil Navidad Easter 9999 0000 1 0 ٣ ５ ½ 🦊 ﬁ İ ß \u0301 \ud800 \x00 \n"
)
FRAGMENTS = st.sampled_from(WORDS.split(" "))
TEXTS = st.one_of(
    st.text(max_size=80), st.lists(FRAGMENTS, max_size=12).map(" ".join), st.lists(FRAGMENTS, max_size=8).map("".join)
)
ZONES = st.sampled_from([UTC, MADRID, MEXICO, APIA, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])
FIRST, LAST = datetime(1, 1, 2), datetime(9999, 12, 30)  # noqa: DTZ001  naive, as Hypothesis adds the zone
ANY_TIME = st.datetimes(FIRST, LAST, timezones=ZONES)


@settings(max_examples=400, deadline=None)
@given(TEXTS, ANY_TIME, st.sampled_from([None, "en", "es", "zh"]))
def test_any_text_at_any_moment_gives_ordered_intervals_of_its_own_words(
    text: str, now: datetime, language: str | None
) -> None:
    reading = read_times(text, now, language)
    place = 0
    for start, end, said in reading.times:
        assert start.tzinfo is end.tzinfo is now.tzinfo
        assert start.astimezone(UTC) < end.astimezone(UTC)
        place = text.index(said, place) + len(said)
    assert all(said and said in text for said in reading.unclear)
    assert all(start.astimezone(UTC) < end.astimezone(UTC) for start, end in reading.windows)
    assert read_times(text, now, language) == reading


@pytest.mark.parametrize(
    "piece", ["5 may ", "last ", "1-", "2020-", "may ", "de la ", "twenty ", "12/", "'", "3:30", "a\u0301", "entre 5 y "]
)
def test_long_texts_of_anything_are_read(piece: str) -> None:
    text = (piece * 20_000)[:20_000]
    assert all(time.text in text for time in find_times(text, NOW))


def test_the_benchmark_counts_by_the_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def case(id: str, text: str, **more: object) -> str:
        made = {"id": id, "text": text, "label": "time", "lang": "en", "source": "s", "reference": "2025-06-19T16:45:00"}
        return json.dumps(made | more)

    day, may = {"date": "2025-06-18"}, {"startDate": "2025-05-01", "endDate": "2025-06-01"}
    lines = [
        case("1", "yesterday", expected=[{"start": "2025-06-18T00:00:00", "end": "2025-06-18T23:59:59"}]),
        case("2", "last year", expected=[{"start": "2024-05-01T00:00:00", "end": "2024-05-02T00:00:00"}]),  # too wide
        case("3", "yesterday", expected=[{"type": "date", "values": {"PastResolution": day, "FutureResolution": day}}]),
        case("4", "tomorrow", expected=[{"type": "daterange", "values": {"PastResolution": may, "FutureResolution": may}}]),
        case("5", "in May", expected=[{"values": ["2025-05-00T00:00:00"], "grain": "Month"}]),
        case(
            "6", "for ten days", expected=[{"type": "datetimeV2.duration", "values": [{"type": "duration", "value": "864000"}]}]
        ),
        case("7", "since May", expected=[{"type": "datetimeV2.daterange", "values": [{"start": "2025-05-01"}]}]),
        case("8", "I may", label="no-time", expected=[]),
        case("9", "tonight", label="no-time", expected=[]),
    ]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines), encoding="utf-8")
    assert main(["temporal", "--data", str(tmp_path), "--misses", str(tmp_path / "misses")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["en"]["found"] == report["en+es"]["found"] == {"share": 0.6, "cases": 5}
    assert report["en"]["date"] == {"share": 0.6667, "cases": 3}
    assert report["en"]["open"] == {"share": 1, "cases": 1}
    assert report["en"]["false_alarms"] == {"share": 0.5, "cases": 2}
    assert [json.loads(line)["id"] for line in (tmp_path / "misses").read_text().splitlines()] == ["2", "4", "9"]
