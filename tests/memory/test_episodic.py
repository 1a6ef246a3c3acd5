"""Where an episode ends, and what is kept of it (K2)."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie import Memory, Scope
from reverie.memory import episodic
from reverie.memory.episodic import Said

NIGHT = datetime(2026, 2, 13, 23, 40, tzinfo=UTC)
GARDEN = [
    "The tomatoes on the balcony finally turned red.",
    "Water the tomatoes early, the balcony gets hot by noon.",
    "I moved the basil away from the tomatoes, it needs shade.",
    "Basil and tomatoes on one balcony, like every summer.",
    "Next summer I want peppers on the balcony too.",
    "Peppers need more sun than basil, mind the shade.",
]
JARDIN = [
    "Los tomates del balcón por fin están rojos.",
    "Riega los tomates temprano, el balcón se calienta al mediodía.",
    "Aparté la albahaca de los tomates porque necesita sombra.",
    "Albahaca y tomates en el balcón, como cada verano.",
    "El próximo verano quiero pimientos en el balcón.",
]
SERVER = [
    "The payment server refuses connections after the certificate expired.",
    "Renew the certificate and restart the payment server tonight.",
    "Connections recovered once the certificate was renewed.",
    "Let's alert thirty days before a certificate expires.",
    "The alert goes to whoever watches the payment server.",
]
SERVIDOR = [
    "El servidor de pagos rechaza conexiones desde que caducó el certificado.",
    "Renueva el certificado y reinicia el servidor de pagos esta noche.",
    "Las conexiones volvieron al renovar el certificado.",
    "Pongamos una alerta antes de que caduque un certificado.",
    "La alerta llega a quien vigila el servidor de pagos.",
]


def turn(
    number: int, text: str, minutes: float = 1, speaker: str = "Ana", trust: str = "user", at: datetime | None = None
) -> Memory:
    at = at or NIGHT + timedelta(minutes=minutes * number)
    return Memory(
        f"m-{number:04}", 1, "turn", text, Scope(session="s"), Scope(), trust, 0.9, at, "c", speaker=speaker, role="user",
        happened_at=at,
    )  # fmt: skip


def said(texts: Sequence[str], minutes: float = 1) -> list[Said]:
    return [episodic.say(turn(number, text, minutes)) for number, text in enumerate(texts)]


def starts(told: Sequence[Said], **more: object) -> list[int]:
    return [segment.start for segment in episodic.cut(told, **more)][1:]  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after"), [(GARDEN, SERVER), (JARDIN, SERVIDOR), (SERVER, GARDEN), (SERVIDOR, JARDIN)])
def test_the_talk_turns_where_nothing_of_it_was_said_before(before: list[str], after: list[str]) -> None:
    assert starts(said([*before, *after])) == [len(before)]
    assert starts(said([*before, "jaja ok", "yes!", *after]))[0] in (len(before), len(before) + 2)
    assert starts(said([*before, *before])) == []


@pytest.mark.parametrize(
    "answer", ["yes", "jaja ok", "Good morning!", "sí, claro que sí", "👍", "Thank you so much, that sounds great!"]
)
def test_short_answers_and_greetings_open_nothing(answer: str) -> None:
    assert starts(said([*GARDEN, *[answer] * 6, *GARDEN])) == []


def test_neither_midnight_nor_a_pause_ends_an_episode_and_four_hours_do() -> None:
    assert starts(said(GARDEN, minutes=30)) == []
    assert starts(said(GARDEN, minutes=240)) == []
    assert starts(said(GARDEN[:3], minutes=240.1)) == [1, 2]


def test_meaning_and_words_must_both_see_a_turn_of_the_talk() -> None:
    """Other words for the same thing are no other thing; and nothing is without a floor to compare with."""
    told = said([*GARDEN[:5], *SERVER])
    east, north = np.eye(2, dtype=np.float32)
    alike = [Said(one.turn, one.words, one.about, east) for one in told]
    apart = [Said(one.turn, one.words, one.about, east if number < 5 else north) for number, one in enumerate(told)]
    nearly = [
        Said(one.turn, one.words, one.about, east if number < 5 else 0.8 * east + 0.6 * north)
        for number, one in enumerate(told)
    ]
    assert (starts(alike), starts(apart)) == ([], [5])
    assert (starts(nearly), starts(nearly, floor=0.75)) == ([], [5])
    assert starts([Said(one.turn, one.words, one.about, north) for one in said(GARDEN * 2)]) == []


def test_a_vector_of_a_model_that_does_not_know_the_language_means_nothing() -> None:
    vector = np.ones(2, np.float32)
    assert episodic.say(turn(0, JARDIN[0]), vector, frozenset({"en"})).vector is None
    assert episodic.say(turn(0, JARDIN[0]), vector, None).vector is vector
    assert episodic.say(turn(0, GARDEN[0]), vector, frozenset({"en"})).vector is vector


def test_a_mark_ends_an_episode_also_the_last() -> None:
    told = said(GARDEN)
    assert starts(told, marks=[told[2].at]) == [3]
    assert [one.is_closed for one in episodic.cut(told, marks=[told[2].at])] == [True, False]
    assert [one.is_closed for one in episodic.cut(told, marks=[told[-1].at])] == [True]
    assert starts(said([*GARDEN[:2], "/new-topic", *GARDEN[2:], "/NEW_TOPIC now", GARDEN[0]])) == [2, 7]
    assert episodic.cut([]) == []


WORDS = " ".join((*GARDEN, *SERVER)).split()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60))
def test_what_is_closed_stays_so_whatever_is_said_next(seed: int, length: int) -> None:
    """The reason that online and bulk agree: the episodes closed in any beginning are the first of the whole."""
    chance = random.Random(seed)
    at = NIGHT
    told: list[Said] = []
    for number in range(length):
        about = (GARDEN, SERVER, JARDIN)[(number // chance.choice((6, 9))) % 3]
        text = chance.choice((*about, *about, "ok", "jaja", " ".join(chance.sample(WORDS, 6))))
        at += timedelta(minutes=chance.choice((1, 1, 1, 1, 1, 1, 30, 241)))
        vector = np.array([chance.random(), chance.random(), 0.2], np.float32)
        told.append(episodic.say(turn(number, text, at=at), vector if seed % 2 else None))
    whole = [one for one in episodic.cut(told, 0.3) if one.is_closed]
    for end in range(length):
        closed = [one for one in episodic.cut(told[:end], 0.3) if one.is_closed]
        assert closed == whole[: len(closed)]
    for one in whole:  # and cutting may begin at any of them
        assert [later for later in episodic.cut(told[one.end :], 0.3) if later.is_closed] == [
            (later.start - one.end, later.end - one.end, True) for later in whole if later.start >= one.end
        ]


def test_a_summary_is_short_and_word_for_word() -> None:
    long = "The lighthouse keeper of Skye " + "counted every passing ship " * 40
    told = [
        episodic.say(turn(0, "Did you see the lighthouse of Skye? I painted the lighthouse twice last week.")),
        episodic.say(turn(1, "haha ok", speaker="Luis")),
        episodic.say(turn(2, long, speaker="Luis", trust="other")),
        *(episodic.say(turn(3 + number, f"Painting number {number} shows the lighthouse at dusk.")) for number in range(30)),
    ]
    episode = episodic.episode(told, is_open=False)
    head, *lines = episode.text.splitlines()
    assert head == "2026-02-13 – 2026-02-14 (33)"
    assert len(episode.text) <= 600
    assert "Ana: I painted the lighthouse twice last week." in lines
    assert not any("haha" in line for line in lines)
    everything = " ".join(one.turn.text for one in told)
    assert all(line.partition(": ")[2].removesuffix("…") in everything for line in lines)
    assert (episode.trust, episode.confidence, episode.origin) == ("other", 0.9, Scope(session="s"))
    assert episode.title is not None
    assert "lighthouse" in episode.title
    assert "lighthouse" in episode.tags
    assert 3 <= len(episode.tags) <= 5


@given(st.lists(st.text(min_size=1), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_any_text_can_be_told(texts: list[str]) -> None:
    told = said([text.replace("\x00", "") or "." for text in texts])
    episode = episodic.episode(told, is_open=True)
    assert len(episode.text) <= 600
    assert len(episode.tags) <= 5
    assert episode.source.memory_ids[0] == "m-0000"
