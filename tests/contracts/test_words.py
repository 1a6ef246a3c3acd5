"""Looking by words: what shares a word is found, whatever is in the cue and whatever the script (K8, R13)."""

from datetime import timedelta

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import reverie
from reverie import BadInput, Mind, Scope
from reverie.memory.language import query, terms
from reverie.store.base import indexed_text
from tests.contracts.worlds import EVERYTHING, START, Clock, found, texts

PAIRS = {
    "case": ("The Old HARBOUR", "harbour"),
    "accents left out of the cue": ("el camión llegó", "camion"),
    "accents left out of the text": ("el camion llego", "camión"),
    "decomposed letters": ("un cafe\u0301 solo", "café"),
    "English plural": ("two boats in the bay", "boat"),
    "English verb": ("she was running home", "run"),
    "Spanish plural": ("los caminos del norte", "camino"),
    "Spanish verb": ("ayer cantamos juntos toda la noche", "cantar"),
    "number": ("the train is 48151", "48151"),
    "number with a point": ("pi is about 3.14", "3.14"),
    "grouped number": ("it cost 1,250 pesos", "1250"),
    "identifier": ("call get_user_name first", "get_user_name"),
    "part of an identifier": ("call getUserName first", "user"),
    "path": ("see /etc/nginx/nginx.conf for it", "/etc/nginx/nginx.conf"),
    "part of a path": ("see /etc/nginx/nginx.conf for it", "nginx"),
    "URL": ("read https://example.org/guide?page=2 today", "https://example.org/guide?page=2"),
    "part of a URL": ("read https://example.org/guide today", "example.org"),
    "handle": ("ask @ana_maria about it", "@ana_maria"),
    "handle without its sign": ("ask @ana about it", "ana"),
    "e-mail address": ("write to ana@example.org", "ana@example.org"),
    "hashtag": ("it was #summer already", "#summer"),
    "language name": ("written in C++ mostly", "C++"),
    "version": ("we run v2.4.1 now", "2.4.1"),
    "Chinese": ("我昨天去了北京大学", "北京"),
    "Japanese": ("来週は東京タワーに行きます", "東京"),
    "Korean": ("내일 서울에서 만나요", "서울"),
    "one wide character": ("猫が好き", "猫"),
    "Thai": ("ผมชอบกาแฟ", "กาแฟ"),
    "Cyrillic": ("Я живу в Москве", "Москве"),
    "emoji": ("great news 🎉 today", "🎉"),
    "flag": ("off to 🇲🇽 soon", "🇲🇽"),
    "wide letters": ("ＡＢＣ street", "abc"),
    "ligature": ("the ﬁnal oﬃce", "final"),
    "apostrophe": ("it’s Ana's bike", "ana"),
}


def test_a_text_is_found_by_each_of_its_words_however_written(mind: Mind) -> None:
    """R13"""
    mind.observe_many({"text": text, "speaker": "zed"} for text, _ in PAIRS.values())
    mind.observe("nothing whatsoever", speaker="zed")
    missed = [name for name, (text, cue) in PAIRS.items() if text not in found(mind, cue)]
    assert missed == []
    assert all("nothing whatsoever" not in found(mind, cue) for _, cue in PAIRS.values())


@pytest.mark.parametrize("run", ["我昨天去了北京大学", "来週は東京タワーに行きます"])
def test_every_piece_of_two_characters_of_a_text_without_spaces_finds_it(mind: Mind, run: str) -> None:
    """R13"""
    mind.observe(run)
    for start in range(len(run) - 1):
        for end in range(start + 2, len(run) + 1):
            assert found(mind, run[start:end]) == {run}


SYNTAX = (
    '"', '"boat', 'boat"', '""boat""', "*", "boat*", "(", ")", "(boat", "boat)", ":", "text:boat", "terms:boat", "^boat",
    "-boat", "boat -red", "boat AND", "AND OR NOT", "NEAR(boat red)", "boat OR", "+boat", "{boat}", "'boat'", "boat;--",
    "%boat%", "bo?at", "\\boat", "boat\\", "[boat]", "boat\nred", "boat\ttail", "\u200bboat", "boat " * 500,
    "red" + "!" * 3_000,
)  # fmt: skip


def test_signs_of_query_languages_never_break_a_search(mind: Mind) -> None:
    """R12"""
    mind.observe("a red boat")
    for cue in SYNTAX:
        assert found(mind, cue) == ({"a red boat"} if "boat" in cue or "red" in cue else set()), cue


def test_a_cue_of_stop_words_only_is_searched_by_them(mind: Mind) -> None:
    for text in ("to be or not to be", "who was it", "completely different words"):
        mind.observe(text)
    assert found(mind, "to be or not to be") == {"to be or not to be"}
    assert found(mind, "who was it?") == {"who was it"}
    assert found(mind, "who told completely") == {"completely different words"}


def test_an_empty_cue_needs_a_filter_and_then_lists_the_newest(mind: Mind, clock: Clock) -> None:
    with pytest.raises(BadInput, match="empty"):
        mind.recall("  ")
    for text in ("first", "second", "third"):
        mind.remember(text, tags=("x",))
        clock.pass_(hours=1)
    mind.remember("happened long before", happened_at=START - timedelta(days=9), tags=("x",))
    listed = mind.recall("", tags=("x",), limit=EVERYTHING)
    assert [hit.memory.text for hit in listed.hits] == ["third", "second", "first", "happened long before"]
    assert [hit.memory.text for hit in mind.recall("", tags=("x",), limit=2).hits] == ["third", "second"]


def test_with_a_large_limit_everything_that_shares_a_word_is_returned(mind: Mind) -> None:
    mind.observe_many({"text": f"item {number} of the harbour list {'filler ' * (number % 40)}"} for number in range(300))
    mind.observe_many({"text": f"nothing {number}"} for number in range(50))
    assert len(mind.recall("harbours", limit=EVERYTHING).hits) == 300
    assert len(mind.recall("harbour", limit=7).hits) == 7
    assert len(mind.recall("harbour item", limit=2**63 - 1).hits) == 300


def test_the_best_match_comes_first_and_scores_lie_between_0_and_1(mind: Mind) -> None:
    mind.observe("the harbour at night was quiet and the boats were asleep")
    mind.observe("red boat harbour")
    mind.observe("boat")
    hits = mind.recall("red boat in the harbour").hits
    assert hits[0].memory.text == "red boat harbour"
    assert hits[0].why.matched == ("red", "boat", "harbour")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(0 < hit.score <= 1 for hit in hits)
    assert [hit.why.words.rank for hit in hits if hit.why.words] == [1, 2, 3]


def test_what_no_longer_holds_comes_after_what_does_and_is_marked(mind: Mind, clock: Clock) -> None:
    """R4: valid time is the world's; nothing is hidden for having passed."""
    mind.remember("office office office Lima", valid_until=START + timedelta(days=1))
    mind.remember("the office, among many other things, has for some time now been in Quito", valid_from=START)
    assert [hit.current for hit in mind.recall("office").hits] == [True, True]
    clock.pass_(days=2)
    hits = mind.recall("office").hits
    assert [(hit.memory.text[:6], hit.current) for hit in hits] == [("the of", True), ("office", False)]
    assert [hit.memory.text[:6] for hit in mind.recall("office", limit=1).hits] == ["the of"]
    assert all(hit.current for hit in mind.recall("office", now=START).hits)
    assert [hit.current for hit in mind.recall("Lima", now=START + timedelta(days=1)).hits] == [False]
    assert all(hit.current for hit in mind.recall("office", as_of=START + timedelta(seconds=1)).hits)


def test_speaker_title_and_tags_are_searched_too(mind: Mind) -> None:
    mind.observe("hello there", speaker="Guadalupe")
    mind.remember("42", title="The answer", tags=("philosophy",))
    assert found(mind, "Guadalupe") == {"hello there"}
    assert found(mind, "answers") == found(mind, "philosophy") == {"42"}


def test_strict_drops_what_has_too_few_of_the_words(mind: Mind) -> None:
    mind.observe("a red boat")
    mind.observe("a red wagon with many other things to say about it")
    assert len(mind.recall("red boat").hits) == 2
    assert texts(mind.recall("red boat", strict=True)) == {"a red boat"}
    assert mind.recall("zebra", strict=True).confidence == "none"


def test_a_recollection_says_how_sure_it_is(mind: Mind) -> None:
    mind.observe("a red boat in the harbour")
    high, low, none = (mind.recall(cue) for cue in ("red boat", "red zebra crossing lamp", "zebra"))
    assert (high.confidence, high.certainty) == ("high", 1.0)
    assert low.confidence == "low"
    assert 0 < low.certainty < 0.4
    assert (none.confidence, none.certainty, none.hits) == ("none", 0.0, ())
    assert high.arms["words"] == "on"


def test_a_scope_finds_by_words_only_what_it_may_see(mind: Mind) -> None:
    """R6"""
    mind.observe("secret of Ana", scope=Scope(person="ana"))
    mind.observe("secret of the hall", scope=Scope(channel="hall"), audience=Scope(channel="hall"))
    mind.observe("secret of all")
    assert found(mind, "secret") == {"secret of all"}
    assert found(mind, "secret", Scope(person="ana")) == {"secret of all", "secret of Ana"}
    assert found(mind, "secret", Scope(channel="hall", person="ana")) == {"secret of all", "secret of the hall"}
    assert len(found(mind, "secret", Scope.owner())) == 3


def shares_a_word(cue: str, text: str) -> bool:
    """Tell what the promise says, without any index."""
    have = set(terms(text))
    return any(
        not have.isdisjoint(word.variants) or any(term.startswith(prefix) for prefix in word.prefixes for term in have)
        for word in query(cue).words
    )


LETTERS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from("aAbBñé 東京\u0301-_./:@#'\"*() \u200d🎉👍🏽🇲🇽İß"),
    ),
    min_size=1,
    max_size=24,
).filter(str.strip)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(said=st.lists(LETTERS, min_size=1, max_size=4), cue=LETTERS)
def test_any_text_is_found_alike_in_every_store(said: list[str], cue: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """R12, R13: and every store finds exactly what shares a term with the cue."""
    answers = []
    for home in (":memory:", tmp_path_factory.mktemp("home")):
        with reverie.open(home, clock=Clock(), embedder="none") as mind:
            for text in said:
                mind.observe(text)
            asked = [cue, *said]
            answers.append([sorted(hit.memory.text for hit in mind.recall(one, limit=EVERYTHING).hits) for one in asked])
            kept = [(memory.text, indexed_text(memory)) for memory in mind.scan()]
    expected = [sorted(text for text, indexed in kept if shares_a_word(one, indexed)) for one in (cue, *said)]
    assert answers[0] == answers[1] == expected


def test_words_of_current_and_past_versions_are_kept_apart(mind: Mind) -> None:
    """The folder keeps two indexes; a version moves from one to the other when it is retired."""
    fact = mind.remember("the lantern is lit")
    first = mind.update(fact.id, text="the candle is lit").commit
    mind.forget(fact.id)
    mind.restore(fact.id)
    assert found(mind, "lantern") == set()
    assert found(mind, "candle") == {"the candle is lit"}
    assert texts(mind.recall("lantern", as_of=fact.commit)) == {"the lantern is lit"}
    assert texts(mind.recall("lit", as_of=first)) == {"the candle is lit"}
    assert mind.health().healthy
