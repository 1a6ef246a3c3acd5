"""How text becomes terms: what is found by what, in every script, and that no text is too strange."""

import subprocess
import sys
import threading
import unicodedata

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from reverie.memory.language import (
    FTS_TOKENIZE,
    Query,
    fold,
    language_of,
    plain,
    query,
    query_words,
    terms,
    words_had,
    words_of,
)

# Beside Hypothesis' own texts: pieces that are likely to break something when they meet.
TROUBLE = st.sampled_from(
    [
        *"\"'*():^-\\/.,;@#+&=?%~_|<>[]{}$! \t\n\r\x00\x1b\x85\xa0\u2028",
        *"\u200b\u200d\u00ad\u202e\ufeff\ufe0f\u0301\u0345\u3099\u20e3\ud800",
        *"aAzZéÉñßİıΣςǰﬃ½²٣漢かガｶ한ㅋไำदीक😂👍🏽🇪🇸❤€´’",
        "getUserName",
        "C++",
        "1,234",
        "don't",
        "n't",
        "vivía",
        "running",
        "👩‍👩‍👧",
        "NEAR",
        "OR",
        "https://a.b/c?d=e",
    ]
)
TEXTS = st.text(max_size=60) | st.lists(TROUBLE | st.characters(), max_size=30).map("".join)
CONTEXTS = st.sampled_from(
    [
        "",
        "we were talking about the weather when",
        "ayer por la tarde estaba en casa y",
        "hier soir nous étions à la maison avec les enfants",
        "gestern Abend haben wir zu Hause gegessen und",
        "вчера вечером мы были дома",
        "昨日は家にいました",
    ]
)

HOSTILE = {
    "one small letter": "a" * 1_000_000,
    "one capital": "A" * 1_000_000,
    "camel case": "aA" * 500_000,
    "dots": "." * 1_000_000,
    "a letter and dots": "a" + "." * 1_000_000,
    "letters and dots": "a." * 500_000,
    "slashes": "a/" * 500_000,
    "apostrophes": "a'" * 500_000,
    "underscores": "a____" * 200_000,
    "signs": "@" * 1_000_000,
    "thousands": "1" + ",234" * 250_000,
    "accents": "é" * 1_000_000,
    "bare marks": "\u0301" * 1_000_000,
    "a letter and marks": "a" + "\u0301\u0323" * 500_000,
    "marks and joiners": "a" + "\u0301\u200d\u0323" * 330_000,
    "halfwidth marks": "a" + "\u0301\uff9e" * 500_000,
    "Han": "漢" * 1_000_000,
    "emoji": "😂" * 1_000_000,
    "zero width": "\u200d" * 1_000_000,
    "surrogates": "\ud800" * 1_000_000,
}


def matched(asked: Query, text: str) -> tuple[str, ...]:
    """Return which words of a cue a text has, as the index would tell."""
    have = set(terms(text))
    return tuple(
        word.text
        for word in asked.words
        if not have.isdisjoint(word.variants) or (word.prefixes and any(term.startswith(word.prefixes) for term in have))
    )


def finds(cue: str, text: str) -> bool:
    """Whether every word of the cue is matched by the text."""
    asked = query(cue)
    return bool(asked.words) and matched(asked, text) == tuple(word.text for word in asked.words)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("cancion", "una canción preciosa"),
        ("canción", "una cancion preciosa"),
        ("canciones", "escribió una canción para ella"),
        ("niño", "el nino de la foto"),
        ("nino", "El NIÑO de la foto"),
        ("vivía", "mi abuela vivia en Sevilla"),
        ("vivia", "mi abuela vivía en Sevilla"),
        ("Munchen", "Sie wohnt in München und arbeitet dort"),
        ("cafe", "we met at the Café"),
        ("Łódź", "a train to Lodz"),
        ("Istanbul", "İstanbul'da buluştuk"),
        ("σκυλος", "ο ΣΚΎΛΟΣ κοιμάται"),
    ],
)
def test_a_word_is_found_whatever_its_accents_and_case(cue: str, text: str) -> None:
    assert finds(cue, text)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("running", "she runs every morning with the dog"),
        ("paintings", "I did a painting of the sunset for you"),
        ("¿dónde vivía Ana?", "a Ana le gustaba vivir en el campo"),
        ("maisons", "la maison de ma mère est à côté de la gare"),
        ("собаки", "мы вчера видели большую собаку"),
    ],
)
def test_an_inflected_word_is_found(cue: str, text: str) -> None:
    assert finds(cue, text)


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("getUserName", "call getUserName() first"),
        ("getusername", "call getUserName() first"),
        ("user", "call getUserName() first"),
        ("server", "class HTTPServer:"),
        ("snake_case", "the snake_case style"),
        ("snake", "the snake_case style"),
        ("kebab-case", "use kebab-case, please"),
        ("kebab", "use kebab-case, please"),
        ("os.path.join", "try os.path.join."),
        ("join", "try os.path.join."),
        ("/etc/nginx/nginx.conf", "edit `/etc/nginx/nginx.conf`"),
        ("nginx.conf", "edit `/etc/nginx/nginx.conf`"),
        ("nginx", "edit `/etc/nginx/nginx.conf`"),
        ("C:\\Users\\x", 'open "C:\\Users\\x"'),
        ("users", 'open "C:\\Users\\x"'),
        (".env", "it is in /app/.env now"),
        ("__init__.py", "see foo/__init__.py"),
        ("https://example.com/a?b=1", "see https://example.com/a?b=1."),
        ("example.com", "see https://example.com/a?b=1."),
        ("example", "see https://example.com/a?b=1."),
        ("ana+news@x.com", "<ana+news@x.com>"),
        ("x.com", "ana@x.com"),
        ("@ana", "thanks @ana!"),
        ("ana", "thanks @ana!"),
        ("#tag", "good #Tag"),
        ("tag", "good #tag"),
        ("v2.1.3", "released v2.1.3, at last"),
        ("2.1.3", "released v2.1.3, at last"),
        ("283749", "ping <@283749>"),
        ("<@283749>", "ping <@283749>"),
        ("C++", "I write C++, mostly"),
        ("C#", "I write C#/.NET"),
        (".NET", "I write C#/.NET"),
        ("net", "I write .NET"),
        ("2026", "in 2026."),
        ("3.14", "pi is 3.14"),
        ("1234", "it cost 1,234 euros"),
        ("1,234", "it cost 1234 euros"),
        ("AT&T", "a letter from AT&T"),
    ],
)
def test_a_compound_is_found_whole_and_by_its_parts(cue: str, text: str) -> None:
    assert finds(cue, text)


def test_a_language_with_a_sign_is_not_taken_for_the_letter() -> None:
    assert not matched(query("C++"), "vitamin C")
    assert not matched(query("C#"), "I write C++")


@pytest.mark.parametrize("spelling", ["don't", "don’t", "DON'T", "don´t", "dont"])
def test_the_kind_of_apostrophe_does_not_matter(spelling: str) -> None:
    assert terms(spelling) == ["dont"]


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("Ana", "it is Ana's"),
        ("Ana's", "it is Ana’s"),
        ("Ana's house", "the house of Ana"),
        ("O'Connor", "Mr. O’Connor"),
        ("connor", "Mr. O'Connor"),
        ("amour", "c'est l'amour"),
        ("dogs", "the dogs' bowl"),
    ],
)
def test_a_word_is_found_beside_an_apostrophe(cue: str, text: str) -> None:
    assert finds(cue, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello😂😂", ["hello", "😂", "😂"]),
        ("❤️", ["❤"]),
        ("👍🏽", ["👍"]),
        ("👩‍👧", ["👩", "👧"]),
        ("🇪🇸🇫🇷", ["🇪🇸", "🇫🇷"]),
        ("1️⃣", ["1"]),
        ("🫨", ["🫨"]),  # newer than the Unicode tables of Python 3.11
        ("5€", ["5", "€"]),
    ],
)
def test_every_emoji_is_a_term(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("cue", "text"),
    [
        ("京", "東京タワーに行きました"),
        ("東京", "東京タワーに行きました"),
        ("タワー", "東京タワーに行きました"),
        ("ﾀﾜｰ", "東京タワーに行きました"),
        ("た", "東京タワーに行きました"),
        ("手机", "我的iPhone手机丢了"),
        ("iphone", "我的iPhone手机丢了"),
        ("了", "我的iPhone手机丢了"),
        ("학교", "나는 학교에 갔다"),
        ("ㅋㅋ", "ㅋㅋㅋㅋ"),
        ("แมว", "ฉันรักแมวมาก"),
    ],
)
def test_any_piece_of_a_text_without_spaces_is_found(cue: str, text: str) -> None:
    assert finds(cue, text)


def test_a_run_is_indexed_as_pairs_and_its_last_character() -> None:
    assert terms("東京都") == ["東京", "京都", "都"]


def test_only_a_single_character_asks_for_prefixes() -> None:
    assert [(word.variants, word.prefixes) for word in query("京").words] == [(("京",), ("京",))]
    assert [(word.text, word.prefixes) for word in query("東京都").words] == [("東京", ()), ("京都", ())]


def test_indic_words_keep_their_marks() -> None:
    assert "हिन्दी" in terms("हिन्दी भाषा")
    assert finds("भाषा", "हिन्दी भाषा")


@pytest.mark.parametrize("text", ["pass\u200bword", "pass\u00adword", "pass\u202eword", "\ufeffpassword", "pass\u2060word"])
def test_unseen_characters_do_not_hide_a_word(text: str) -> None:
    assert terms(text) == ["password"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("foo* AND (bar)", ["foo", "and", "bar"]),
        ('"quoted phrase"', ["quot", "phrase"]),
        ("^start -not NEAR(x)", ["start", "not", "near", "x"]),
        ("a^b|c", ["a", "b", "c"]),
        ("''' \"\"\" ; --", []),
    ],
)
def test_query_syntax_is_punctuation(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_words_are_repeated_as_often_as_they_stand() -> None:
    assert terms("Tea, tea and more TEA") == ["tea", "tea", "and", "more", "tea"]


@pytest.mark.parametrize(
    ("cue", "kept"),
    [
        ("my son", ["son"]),
        ("where does my son live?", ["son", "live"]),
        ("what did she say", ["say"]),
        ("who is he", ["who", "is", "he"]),
        ("¿Dónde vive mi hijo?", ["vive", "hijo"]),
        ("donde vive mi hijo", ["vive", "hijo"]),
        ("¿qué té le gusta?", ["té", "gusta"]),
        ("the original sin", ["original", "sin"]),
        ("no", ["no"]),
        ("dogs and dogs", ["dogs"]),
        ("", []),
        ("?!", []),
    ],
)
def test_a_cue_is_asked_without_its_stop_words_unless_it_has_no_others(cue: str, kept: list[str]) -> None:
    assert [word.text for word in query(cue).words] == kept


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("my son", "en"),
        ("where did you go?", "en"),
        ("see https://example.com/?x=1&y=2", "en"),
        ("See ya!", "en"),
        ("¿dónde está?", "es"),
        ("donde esta mi perro", "es"),
        ("Ana y Luis", "es"),
        ("vivía en Madrid", "es"),
        ("viaje de la empresa", "es"),
        ("la maison de ma mère", "fr"),
        ("das Haus ist groß", "de"),
        ("questa è la casa di mia madre", "it"),
        ("esta é a casa da minha mãe", "pt"),
        ("мы видели собаку", "ru"),
        ("ο σκύλος κοιμάται", "el"),
        ("我喜欢你", "zh"),
        ("私は学生です", "ja"),
        ("나는 학교에 갔다", "ko"),
        ("สวัสดี", "th"),
        ("bonjour\ntout le monde\n", "fr"),
        ("", "en"),
        ("42", "en"),
        ("\ud800\x00", "en"),
    ],
)
def test_the_language_is_told(text: str, code: str) -> None:
    assert language_of(text) == code


def test_accents_are_taken_from_european_letters_only() -> None:
    assert plain(fold("Ñandú Über ЁЛКА Άλφα Łódź")) == "nandu uber елка αλφα lodz"
    assert plain("が한ดีदी") == "が한ดีदी"


def test_exact_words_are_neither_stemmed_nor_guessed() -> None:
    assert words_of("Ana's getUserName, canción 東京") == {
        *("ana", "getusername", "get", "user", "name", "cancion"),
        *("東", "京", "東京"),
    }
    assert query_words("the Canción of @Ana 東京都") == ("the", "cancion", "of", "@ana", "東京", "京都")
    assert not set(query_words("runs")) <= words_of("running")


def test_a_term_is_never_longer_than_64_characters() -> None:
    assert terms("x" * 100) == ["x" * 64]
    assert finds("y" * 100, "before " + "y" * 100 + " after")


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_megabyte_of_anything_is_read(text: str) -> None:
    found = terms(text)
    assert len(found) <= len(text)
    assert all(len(term) <= 64 for term in set(found))
    part = text[:100_000]
    assert len(query(part).words) < 100
    assert set(query_words(part)) <= words_of(part)
    assert fold(part) == fold(fold(part))


def test_threads_get_the_terms_that_one_thread_gets() -> None:
    texts = [f"running{n} painted{n} cities{n} gently and happiness{n} of the nations" for n in range(300)]
    found: dict[int, list[list[str]]] = {}

    def work(number: int) -> None:
        found[number] = [terms(text) for text in texts]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = [terms(text) for text in texts]
    assert all(found[number] == alone for number in range(8))


def test_nothing_is_printed_and_no_network_code_is_loaded() -> None:
    program = (
        "import sys; from reverie.memory import language; assert 'Stemmer' not in sys.modules;"
        "language.terms('bonjour tout le monde'); assert not {'requests', 'urllib3', 'socket'} & set(sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@given(TEXTS)
@example("İ")
@example("\u0345\u0301α")
@example("¨ a ¨")
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert plain(plain(fold(text))) == plain(fold(text))


@given(TEXTS)
def test_no_text_is_too_strange(text: str) -> None:
    asked = query(text)
    assert isinstance(asked, Query)
    assert matched(asked, text) == tuple(word.text for word in asked.words)
    assert language_of(text)


@given(TEXTS)
def test_terms_are_clean(text: str) -> None:
    for term in [*terms(text), *words_of(text), *(variant for word in query(text).words for variant in word.variants)]:
        assert 0 < len(term) <= 64
        assert not any(sign.isspace() or unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co") for sign in term)
        assert not set(term) & set("\"'*()^")
        assert term == term.lower()


@given(TEXTS, CONTEXTS, CONTEXTS)
def test_a_cue_finds_every_text_that_holds_it(cue: str, before: str, after: str) -> None:
    asked = query(cue)
    assert matched(asked, f"{before} {cue} {after}") == tuple(word.text for word in asked.words)
    assert set(query_words(cue)) <= words_of(f"{before} {cue} {after}")


@given(TEXTS)
def test_exact_words_of_a_cue_are_words_of_the_same_text(text: str) -> None:
    assert set(query_words(text)) <= words_of(text)
    assert bool(query_words(text)) == bool(words_of(text))
    assert bool(query(text).words) == bool(terms(text)) == bool(words_of(text))


@settings(max_examples=300)
@given(st.lists(TEXTS, min_size=1, max_size=4))
@example(["\"foo\"* (bar): ^-x \\ 'y' C:\\Users a'b @x #y c++ a&b=c?d%e~f_g"])
def test_every_term_is_found_in_full_text_search(texts: list[str]) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute(f"""create virtual table words using fts5(terms, content='', tokenize="{FTS_TOKENIZE}")""")
    for number, text in enumerate(texts):
        connection.execute("insert into words(rowid, terms) values (?, ?)", (number, " ".join(terms(text))))
    for number, text in enumerate(texts):
        for term in set(terms(text)):
            found = connection.execute("select rowid from words(?)", ('"' + term.replace('"', '""') + '"',)).fetchall()
            assert (number,) in found
            assert found == [(other,) for other, held in enumerate(texts) if term in terms(held)]


@pytest.mark.parametrize(
    ("text", "cue", "had"),
    [
        ("she was Running home", "did she run?", ("run",)),
        ("el camión llegó tarde", "camion tarde nunca", ("camion", "tarde")),
        ("call getUserName() first", "user", ("user",)),
        ("我昨天去了北京大学", "北京", ("北京",)),
        ("猫が好き", "猫", ("猫",)),
        ("die Häuser am See", "Haus am See", ("see",)),
        ('(lying), Skies! "hoping" re-opened', "a lie of the sky: hope opens", ("lie", "sky", "hope", "opens")),
        ("nothing of the sort", "zebra", ()),
    ],
)
def test_the_words_that_a_text_has_of_a_cue_are_told_in_the_cues_order(text: str, cue: str, had: tuple[str, ...]) -> None:
    assert set(had) <= set(words_had([text], query(cue))[0])
    assert words_had([text, ""], query("zebra zoo")) == [(), ()]


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(text=st.text(max_size=60), cue=st.text(max_size=20))
def test_every_word_by_which_a_search_finds_a_text_is_among_those_it_has(text: str, cue: str) -> None:
    asked, found = query(f"{cue} {text[:8]}"), set(terms(text))
    by_index = {
        word.text
        for word in asked.words
        if not found.isdisjoint(word.variants) or any(term.startswith(start) for start in word.prefixes for term in found)
    }
    assert by_index <= set(words_had([text], asked)[0])
