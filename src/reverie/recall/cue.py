"""What a question asks for: what can be understood of its words, and the filters that narrow where to look.

"When did …?" asks for a date and names none: only a time that the text names is looked in. Of several it is the first that
names its year, else the first; a range or a list is one. Nothing here is sure: what was understood is told with the recall, and
a mistake costs places, never hits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, tzinfo

from reverie.errors import BadInput
from reverie.memory import check
from reverie.memory.language import Query, fold, plain, query
from reverie.memory.scope import Scope
from reverie.memory.trace import KINDS
from reverie.recall.calendar import MONTHS_AND_WEEKDAYS
from reverie.recall.explain import Cue
from reverie.recall.time import Reading, read_times
from reverie.store.base import Where

Between = tuple[datetime | None, datetime | None]

# What is asked for, by the words that ask; the first that fits counts. Accents are left out. Chinese, Japanese and Korean words
# stand in their own row, as no spaces tell where they end.
_ASKED = {
    "when": (r"when|what (?:time|day|date|year|month)|cuando|que (?:dia|fecha|ano|mes|hora)",
             "什么时候|什麼時候|[何几幾][时時]|[几幾][点點号號]|哪一?[天年]|いつ(?!も)|언제|몇 ?[시월일]"),
    "how many": (r"how (?:many|much|often|long|old|far)|cuant[oa]s?", "多少|多久|[几幾][个個次]|何[人回個]|いく[つら]|얼마|몇"),
    "who": (r"who(?:m|se)?|quien(?:es)?", "谁|誰|だれ|누[가구]"),
    "where": (r"where|a?donde|(?:what|which) (?:city|country|place)|que (?:lugar|sitio|ciudad|pais)",
              "哪[里裡裏儿兒]|在哪|どこ|어디"),
    "why": (r"why|how come|por que|para que", "[为為](?:什么|什麼|何)|なぜ|どうして|왜"),
    "how": (r"how|como", "怎[么麼]|如何|どう|어떻게"),
    "what": (r"what|which|que|cual(?:es)?", "什么|什麼|哪|何|なに|どの|どれ|뭐|뭘|무엇|무슨|어느|어떤"),
}  # fmt: skip
_KINDS = tuple(_ASKED)
_ASKING = re.compile("|".join(rf"(\b(?:{spaced})\b|{unspaced})" for spaced, unspaced in _ASKED.values()))
_ACCENTED = re.compile(r"\b(?:qué|quién|cuándo|cuánt|cómo|a?dónde|cuál)")
_RELATIVE = re.compile(r"\b(?:que|quien(?:es)?|cuando|cuant[oa]s?|como|donde|cual(?:es)?)\b")  # asks only where it comes first
_LEAD_IN = re.compile(
    r"\W*(?:(?:so|and|but|ok|okay|well|hey|y|pero|oye|bueno|entonces|please|por favor|(?:do|did) you (?:know|remember|recall)"
    r"|(?:can|could|would) you (?:please )?(?:tell|remind) me|tell me|remind me|te acuerdas(?: de)?|recuerdas|sabes|dime"
    r"|about|at|by|for|from|in|on|since|to|until|with|a|con|de|desde|en|hasta|sobre)\b\W*)*"
)
_AUXILIARY = r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|should|shall|may|might)(?:n't)?"
_YES_OR_NO = re.compile(rf"{_AUXILIARY} (?:i|you|he|she|it|we|they|there|the|my|your|his|her|our|their|this|that|any\w*)\b")
_TOLD = re.compile(rf"when(?! {_AUXILIARY}\b)|what an?\b|cuando|como|donde|que|quien")  # at the start of what has no "?"
_QUOTED = re.compile(r'"([^"\n]+)"|“([^”“\n]+)”|„([^„“”\n]+)[“”]|«([^»«\n]+)»|(?<!\w)[\'‘]([^\'‘’\n]+)[\'’](?!\w)')
_WORD = re.compile(r"[^\W\d_][\w’'-]*")
_SENTENCE_ENDS = re.compile(r"[.!?¿¡:;\n]")


def understand(text: str, now: datetime, zone: tzinfo, asked: Query | None = None) -> Cue:
    """Return what is understood of a question put at `now` by someone in `zone`; `asked` are its words, if they are at hand."""
    asked = asked or query(text)
    reading = read_times(text, now.astimezone(zone), asked.language)
    return Cue(
        text,
        tuple(word.text for word in asked.words),
        reading.windows[0] if reading.windows else None,
        language=asked.language,
        kind=_kind(text),
        names=_names(text, reading),
        phrases=tuple(phrase.strip() for groups in _QUOTED.findall(text) for phrase in groups if phrase.strip()),
        times=reading.times,
        unclear=reading.unclear,
    )


def _kind(text: str) -> str:
    said = fold(text).replace("’", "'")
    bare = plain(said)
    lead = _LEAD_IN.match(bare)
    start = lead.end() if lead else 0
    is_question = "?" in said or _ACCENTED.search(said) is not None
    first = _ASKING.match(bare, start)
    if first is None or not (is_question or _TOLD.match(bare, start) is None):
        if not is_question:
            return "yes/no" if _YES_OR_NO.match(bare, start) else "statement"
        first = None if _YES_OR_NO.match(bare, start) else _ASKING.search(plain(_RELATIVE.sub("", said)))
    return _KINDS[(first.lastindex or 1) - 1] if first else "yes/no"


def _names(text: str, reading: Reading) -> tuple[str, ...]:
    """Return the words with a capital that begin no sentence and tell no time; neighbours are one name."""
    dated = {word for said in (*(time.text for time in reading.times), *reading.unclear) for word in _WORD.findall(said)}
    names: list[str] = []
    end, is_name = 0, False
    for found in _WORD.finditer(text):
        word, between = re.split("['’]", found[0])[0], text[end : found.start()]
        follows, begins = is_name and between == " ", not end or _SENTENCE_ENDS.search(between) is not None
        is_name = word[:1].isupper() and len(word) > 1 and (word.isupper() or not begins)
        is_name = is_name and word not in dated and plain(fold(word)) not in MONTHS_AND_WEEKDAYS
        if is_name:
            names[len(names) - follows :] = [f"{names[-1]} {word}" if follows else word]
        end = found.end()
    return tuple(dict.fromkeys(names))


def where_of(
    scope: Scope,
    kinds: Iterable[str] | None,
    tags: Iterable[str] | None,
    subject: str | None,
    session: str | None,
    between: Between | None,
    retired: bool = False,
) -> Where:
    """Return the filters of a verb, checked."""
    if between is not None:
        if not isinstance(between, tuple | list) or len(between) != 2:
            raise BadInput("between takes a start and an end, either of which may be None")
        between = (check.optional_moment(between[0], "the start"), check.optional_moment(between[1], "the end"))
        check.interval(*between, "between")
    return Where(
        scope,
        None if kinds is None else tuple(check.one_of(kind, KINDS, "kind") for kind in check.names(kinds, "kinds")),
        check.tags(tags or ()),
        check.optional_name(subject, "subject"),
        check.optional_name(session, "session"),
        between=between,
        retired=bool(retired),
    )
