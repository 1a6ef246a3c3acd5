"""What a message teaches, as a language model reads it.

The model is told who speaks, when, and what is known already; the message reaches it as data, one line between markers that
no message can guess. What it answers is a claim like any other and is believed no further than the message goes: the quote must
stand in the speaker's own words (not in code or in a quoted line), the fact must rest on them (C7), and a date must be one that
the message names. Whatever does not fit is left out.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import cache
from importlib.resources import files
from string import Template

from reverie.errors import BadInput
from reverie.learn.ground import grounded
from reverie.memory import check
from reverie.memory.language import fold, language_of, plain
from reverie.memory.semantic import TYPES, Claim, normal_type
from reverie.memory.trace import Memory
from reverie.models.base import Asked, Model
from reverie.recall.show import shown
from reverie.recall.time import find_times

log = logging.getLogger(__name__)

MOST = 4  # facts of one message (C4)
LEAST, LONGEST = 4, 320  # characters of a message, white space collapsed: below nothing is asked, above it is cut (C4)
_READ = 2000  # characters of a message that are looked at
SLOTS = frozenset({"name", "home", "employer", "job", "birthday", "age"})  # topics that hold one thing at a time
_KNOWN, _KNOWN_LENGTH, _NAME_LENGTH, _TOPIC_LENGTH = 20, 200, 80, 40
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_TEXT: Mapping[str, object] = {"type": "string"}
_FACT: Mapping[str, object] = {
    "fact": _TEXT,
    "quote": _TEXT,
    "type": {"type": "string", "enum": list(TYPES)},
    "topic": _TEXT,
    "about": {"type": "string", "enum": ["speaker", "other"]},
    "confidence": {"type": "number"},
    "corrects": {"type": "boolean"},
    "wish": {"type": "boolean"},
    "date": _TEXT,
}
_ONE_FACT = {"type": "object", "properties": _FACT, "required": list(_FACT), "additionalProperties": False}
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": _ONE_FACT}},
    "required": ["facts"],
    "additionalProperties": False,
}

_CUT = "\0"  # stands where something was taken out: no quote reaches across it
_CODE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_LINK = re.compile(r"(?:https?://|www\.)\S+|<[@#:][^<>\s]*>", re.IGNORECASE)
_THINKING = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)
_APOSTROPHES = "['’‘`´]"

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SENTENCE = re.compile(r"¿?[^.!?¿？！。…\n]+[.!?？！。…]*")


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NICE = _listed(
    "hi hello hey hiya morning afternoon evening night bye goodbye cheers welcome thanks thank thx ty please sorry congrats"
    " hola buenas buenos dias dia tardes noches adios chao hasta luego gracias saludos perdon felicidades bienvenida bienvenido"
)
_NOTHING_NEW = _NICE | _listed(
    "ok okay k yes yeah yep yup no nope nah sure fine great good nice cool awesome perfect lovely wow lol lmao haha hahaha xd"
    " hm hmm ah oh right exactly agreed done got it that is was so very much many a the lot you all everyone there again later"
    " see soon tomorrow how are doing to too and well same brb np wtf omg true"
    " si vale bueno buena bien claro genial perfecto listo exacto jaja jajaja jeje aja dale venga ya mucho muchas muchos"
    " muchisimas mil por favor de nada que tal como estas va todo y la el las los un una todos nos vemos manana igualmente eso"
    " es asi tambien"
)
_FIRST_PERSON = _listed(
    "i i'm i've i'll i'd me my mine myself we we're we've our ours us im ive"
    " yo mi mis mio mia mios mias conmigo nosotros nosotras nos nuestro nuestra nuestros nuestras soy estoy tengo vivo"
    " trabajo voy he era fui hago quiero prefiero uso hablo estudio llevo puedo debo creo tuve estuve"
)


def claims_from(model: Model, turn: Memory, known: Sequence[str], day: datetime, speaker: str) -> tuple[Claim, ...]:
    """Return what `turn` teaches that is not `known`; `day` is when it was said, in the speaker's zone."""
    check.moment(day, "day")
    own = own_words(turn.text)
    if len(" ".join(own.replace(_CUT, " ").split())) < LEAST:
        return ()
    message = " ".join(own.replace(_CUT, " … ").split())
    message = message if len(message) <= LONGEST else f"{message[: LONGEST - 1]}…"
    nonce = secrets.token_hex(4)
    system = _prompt().substitute(
        nonce=nonce,
        speaker=shown(speaker)[:_NAME_LENGTH],
        day=f"{day:%Y-%m-%d} ({_DAYS[day.weekday()]}), time zone {day.tzinfo}",
        known="\n".join(f"- {shown(one)[:_KNOWN_LENGTH]}" for one in known[:_KNOWN]) or "(nothing)",
    )
    answer = model.ask(Asked(system, f"[message {nonce}]\n{shown(message)}\n[/message {nonce}]", "extract", SCHEMA))
    facts = _facts_in(answer.text) if isinstance(answer.text, str) else None
    if facts is None:
        log.warning("%s did not answer in the form asked for; nothing is learned from %s", model.name, turn.id)
        return ()
    claims = (_claim(fact, own, day, speaker) for fact in facts)
    return tuple({fold(claim.text): claim for claim in claims if claim}.values())[:MOST]


def worth_asking(text: str) -> bool:
    """Tell whether a message may teach anything: not only pleasantries, links, code, emoji, or questions about others.

    >>> [worth_asking(text) for text in ("thanks a lot!", "¿qué hora es?", "did I say my sister moved?", "vivo en Lima")]
    [False, False, True, True]
    """
    own = _LINK.sub(" ", own_words(text)).replace(_CUT, " ")
    words = [plain(fold(word)) for word in _WORD.findall(own)]
    new = [word for word in words if word not in _NOTHING_NEW]
    if sum(map(len, words)) < LEAST and own.isascii():
        return False
    if not new or (len(new) == 1 and len(words) <= 3 and not _NICE.isdisjoint(words)):  # "thanks Ana!"
        return False
    sentences = [one for one in _SENTENCE.findall(own) if _WORD.search(one)]
    is_asked = all(one.rstrip(" \"')").endswith(("?", "？")) for one in sentences)
    return not is_asked or not _FIRST_PERSON.isdisjoint(words)


def own_words(text: str) -> str:
    """Return the beginning of a message, without its code and without lines quoted from others."""
    return _QUOTED_LINE.sub(_CUT, _CODE.sub(_CUT, text))[:_READ]


@cache
def _prompt() -> Template:
    return Template(files("reverie").joinpath("models/prompts/extract.txt").read_text("utf-8"))


def _facts_in(answer: str) -> list[object] | None:
    """Return the facts of an answer, which may come with thoughts or a fence around it; None if it is no such thing."""
    answer = _THINKING.sub("", answer)
    start, end = answer.find("{"), answer.rfind("}")
    try:
        said = json.loads(answer[start : end + 1])
    except (ValueError, RecursionError):
        return None
    facts = said.get("facts") if isinstance(said, dict) else None
    return facts if isinstance(facts, list) else None


def _claim(fact: object, own: str, day: datetime, speaker: str) -> Claim | None:
    """Return what a fact claims, if the message bears it out."""
    if not isinstance(fact, dict):
        return None
    text, quote, confidence = fact.get("fact"), fact.get("quote"), fact.get("confidence")
    if not isinstance(text, str) or not isinstance(quote, str) or isinstance(confidence, bool):
        return None
    if not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return None
    try:
        text = check.text(" ".join(text.split()))
        topic = " ".join(fold(check.text(str(fact.get("topic") or "-"))).split())[:_TOPIC_LENGTH].strip("-")
    except BadInput:
        return None
    said = _word_for_word(quote, own)
    if said is None or not LEAST <= len(text) <= LONGEST or not grounded(text, f"{speaker} {own}"):
        return None
    return Claim(
        text,
        said,
        normal_type(str(fact.get("type"))),
        topic,
        fact.get("about") == "speaker",
        float(confidence),
        fact.get("corrects") is True,
        fact.get("wish") is True,
        _day_named(fact.get("date"), own, day),
        slot=topic if topic in SLOTS else "",
        language=language_of(own),
    )


def _word_for_word(quote: str, own: str) -> str | None:
    """Return the part of a message that a quote gives, as it stands there; case, white space and apostrophes do not matter."""
    words = [re.sub(_APOSTROPHES, "'", re.escape(word)) for word in quote.strip(" \t\n\"'“”«»….,").split()]
    pattern = r"\s+".join(words).replace("'", _APOSTROPHES)
    is_short = words and len(pattern) <= _READ
    found = re.search(rf"(?<!\w){pattern}(?!\w)", own, re.IGNORECASE) if is_short else None
    return found[0] if found and len(found[0]) >= LEAST else None


def _day_named(named: object, own: str, day: datetime) -> datetime | None:
    """Return the day that a fact is dated by, if the message speaks of a time that it lies in."""
    try:
        on = date.fromisoformat(named) if isinstance(named, str) else None
    except ValueError:
        return None
    if on is None:
        return None
    instant = timedelta(microseconds=1)
    is_meant = any(
        start.astimezone(day.tzinfo).date() <= on <= (end - instant).astimezone(day.tzinfo).date()
        for start, end, *_ in find_times(own.replace(_CUT, " "), day)
    )
    return datetime.combine(on, time(), day.tzinfo) if is_meant else None
