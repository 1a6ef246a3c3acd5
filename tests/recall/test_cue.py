"""What is understood of a question before anything is looked for."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.memory.language import query
from reverie.recall.cue import understand
from reverie.recall.explain import Cue

NOW = datetime(2025, 6, 19, 14, 45, tzinfo=UTC)
PIECES = ("when", "¿Cuándo", "Ana", '"', "'", "“", "»", "?", "did", "last", "May", "5", "que", "and")
MADRID, MEXICO = ZoneInfo("Europe/Madrid"), ZoneInfo("America/Mexico_City")


def cue(text: str) -> Cue:
    return understand(text, NOW, MADRID)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (
            "when",
            "When did Ana move? | ¿Cuándo se mudó Ana? | what year was that | since when? | ¿A qué hora llega?",
        ),
        ("who", "who told me | ¿Con quién cené? | On Friday, who came? | whose bike is it? | quien vino ayer?"),
        ("where", "Where is the key? | ¿De dónde es Ana? | do you remember where I parked? | In which city does Ana live?"),
        ("what", "What did she say? | ¿Cuál era? | que dijo Ana? | Tell me what happened | dime qué pasó | Which of them?"),
        ("how many", "How many cats has she? | ¿Cuántas veces fui? | how long did it take"),
        ("how", "How does it work? | ¿Cómo se hace?"),
        ("why", "Why? | ¿Por qué lloró? | so why did she cry"),
        ("when", "我什么时候去了北京？ | いつ行きましたか？ | 언제 갔어요?"),
        ("who", "谁来了？ | 昨日、誰が来ましたか？ | 어제 누가 왔어요?"),
        ("what", "我说了什么？ | 昨日何を食べましたか？ | いつも何を食べますか？ | 어제 뭐 했어요?"),
        ("why", "你为什么哭？ | なぜ泣いたの？ | 왜 울었어요?"),
        ("yes/no", "她来了吗？ | 雨ですか？ | 비가 와요?"),
        ("yes/no", "Did Ana move? | ¿Vino Ana? | is it raining | ¿Fue Ana la que vino? | Isn't the key here?"),
        ("statement", "I moved in May | When I was in Rome we met. | cuando era niño vivía en Lima | What a day! | Ana | | \n"),
    ],
)
def test_the_kind_of_question_is_told(kind: str, texts: str) -> None:
    assert {text: cue(text).kind for text in texts.split(" | ")} == dict.fromkeys(texts.split(" | "), kind)


def test_asking_when_is_no_time_to_look_in_but_a_time_in_it_is() -> None:
    assert cue("When did Ana buy the boat?").time is None
    assert cue("¿cuándo compró Ana la barca?").time is None
    may = (datetime(2025, 5, 1, tzinfo=MADRID), datetime(2025, 6, 1, tzinfo=MADRID))
    assert cue("When in May did Ana buy the boat?").time == cue("¿Cuándo compró la barca en mayo?").time == may


def test_of_several_times_one_with_a_year_is_looked_in_or_the_first_and_all_are_told() -> None:
    asked = cue("Was it yesterday that she said it was on Monday?")
    assert asked.time == (datetime(2025, 6, 18, tzinfo=MADRID), datetime(2025, 6, 19, tzinfo=MADRID))
    assert [time.text for time in asked.times] == ["yesterday", "Monday"]
    for text in (
        "What did Eva plan for next month, as she told us on 4 March 2021?",
        "Ayer hablamos de lo que pasó el 4/3/2021",
    ):
        assert cue(text).time == (datetime(2021, 3, 4, tzinfo=MADRID), datetime(2021, 3, 5, tzinfo=MADRID))
        assert len(cue(text).times) == 2


def test_a_range_and_a_list_are_looked_in_as_a_whole() -> None:
    asked = cue("Was it yesterday or on Monday?")
    assert asked.time == (datetime(2025, 6, 16, tzinfo=MADRID), datetime(2025, 6, 19, tzinfo=MADRID))
    assert [time.text for time in asked.times] == ["yesterday", "Monday"]
    both_ends = cue("what happened between May 3 and May 5?")
    assert both_ends.time == (datetime(2025, 5, 3, tzinfo=MADRID), datetime(2025, 5, 6, tzinfo=MADRID))


def test_an_hour_without_a_day_is_told_but_not_looked_in() -> None:
    asked = cue("who comes to the meeting at 5pm?")
    assert (asked.time, [time.text for time in asked.times]) == (None, ["at 5pm"])


def test_times_are_those_of_whoever_asks() -> None:
    late = datetime(2025, 6, 19, 3, tzinfo=UTC)
    assert understand("what happened yesterday?", late, MADRID).time == (
        datetime(2025, 6, 18, tzinfo=MADRID), datetime(2025, 6, 19, tzinfo=MADRID),
    )  # fmt: skip
    assert understand("what happened yesterday?", late, MEXICO).time == (
        datetime(2025, 6, 17, tzinfo=MEXICO), datetime(2025, 6, 18, tzinfo=MEXICO),
    )  # fmt: skip


def test_what_cannot_be_or_might_be_read_otherwise_is_told() -> None:
    assert (cue("what happened on 30 February?").time, cue("what happened on 30 February?").unclear) == (None, ("30 February",))
    for said in ("February 30, 2023", "32nd of May", "32/13/2023", "30 de febrero de 2023"):
        asked = cue(f"what happened on the {said}?")
        assert (asked.time, asked.times, asked.unclear, asked.names) == (None, (), (said,), ())
    assert cue("what happened on 05/06/2023?").unclear == ("05/06/2023",)
    assert cue("¿qué pasó el 05/06/2023 en la playa?").unclear == ()


def test_names_are_capitals_inside_a_sentence_that_tell_no_time() -> None:
    asked = cue("Where did Ana María and Luis's dog go on Monday? Did the NASA people of New York know, or did I?")
    assert asked.names == ("Ana María", "Luis", "NASA", "New York")
    assert cue("¿Qué le dijo Íñigo a Ana en Enero?").names == ("Íñigo", "Ana")
    assert cue("What happened next? Nothing.").names == ()
    assert cue("Does Ana swim every Friday, or does June on Fridays in May and June?").names == ("Ana",)
    assert cue("Did April call the Mayo Clinic?").names == ("April", "Mayo Clinic")


def test_quoted_phrases_are_kept_whole_in_any_quotes() -> None:
    text = "Did I read \"Dune\", “Solaris”, «El Aleph», 'The Trial', ‘Emma’ or „Momo“? Don't say it's Ana's."
    assert cue(text).phrases == ("Dune", "Solaris", "El Aleph", "The Trial", "Emma", "Momo")


def test_words_and_language_are_those_of_the_search() -> None:
    text = "¿Dónde están las llaves del coche?"
    sought = query(text)
    assert (cue(text).words, cue(text).language) == (tuple(word.text for word in sought.words), "es")
    assert understand(text, NOW, MADRID, sought) == cue(text)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120) | st.lists(st.sampled_from(PIECES), max_size=20).map(" ".join))
def test_any_text_is_understood_as_something(text: str) -> None:
    asked = cue(text)
    assert asked.text == text
    assert asked.kind in ("when", "how many", "who", "where", "why", "how", "what", "yes/no", "statement")
    assert all(phrase in text for phrase in asked.phrases)
    assert asked.time is None or asked.time[0].astimezone(UTC) < asked.time[1].astimezone(UTC)
