"""What a message teaches about whoever wrote it, by rules, in English and Spanish.

Careful beats complete: what is missed is still in the verbatim turn, what is made up is a lie. What others wrote (quotes,
code, songs) is blanked out first; messages and sentences under a cue that nothing in them is meant (jokes, role play, requests
to write, questions, what would be if) teach nothing. Rules match only where a clause begins, so "nobody said I live in Lima" is
not "I live in Lima".

Patterns see the message with its accents taken off, character by character, so that every place in it is a place in the
message itself; names, things and dates stay in the speaker's words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from reverie.learn.grammar import LANGUAGES, Grammar, Rule, grammar_of, rules_for
from reverie.memory.language import language_of
from reverie.memory.semantic import Claim
from reverie.recall.time import Date, find_dates

MOST = 4  # claims from one message
LONGEST = 2000  # characters read: who tells of themselves is briefer than who pastes a document
_FEW = 10  # words
_NEAR = 6  # characters: "oh, no wait"
_LONGEST_THING = 16  # words; what goes on longer tells a story rather than a fact
_OLD_NEWS = timedelta(days=365)  # who moved longer ago than that may have moved since
_UNNAMED = frozenset({"", "user", "unknown", "human", "usuario", "me", "you"})

_TIMELESS = frozenset({"habit", "like", "dislike", "language", "reply"})  # topics on which "in the morning" is no date
_THINGS = frozenset({"x", "whole", "wish"})  # what a clause is about: to its end, as matched, or as asked for
# Words that tell no slot from another, and words that are small unless they lead a sentence.
_SLOTLESS = frozenset({"the", "a", "an", "any", "anymore", "more", "el", "la", "los", "las", "un", "una", "mas"})
_LEADING = frozenset({"el", "la", "los", "las", "en", "este", "esta", "cada", "todos", "todas", "por", "siempre"})
_ARTICLES = frozenset({"la", "el"})  # groups of Spanish rules: "mi hermana" is "la hermana" of somebody
_BEFORE_VERBS = frozenset(
    {"me", "nos", "no", "longer", "ya", "nunca", "always", "usually", "normally", "never", "often", "primarily", "legally"}
) | {"batch", "meal"}
_BLANK = "|"
_PASTED = re.compile(
    r"(?s:```.*?(?:```|\Z))|`[^`\n]*`|^[ \t]*>.*$|https?://\S+|<(\w+)[^<>\n]*>[^<\n]*</\1>|<[^<>\s][^<>\n]*>|^.*[{};]\s*$|\w+\([^()\n]*\)|//.*$",
    re.MULTILINE,
)
_PASTED_SIGNS = frozenset("`><{};(/")
_QUOTE_SIGNS = frozenset("\"“«‘'")
# These begin with the signs they look for, then look back at which it was: so a search skips all else.
_QUOTED = re.compile(
    r"""["“«‘'](?:(?<=")([^"\n]*)"|(?<=“)([^”\n]*)”|(?<=«)([^»\n]*)»|(?<=‘)([^’\n]*)’"""
    r"""|(?<=')(?<!\w')([^'\n](?:[^'\n]|'(?=\w))*)'(?!\w))"""
)
_STOP = re.compile(r"[.!?…\n](?:(?<=\n)\n*|(?<!\n)[.!?…]*(?=\s|$|\|)[ |]*)")
_PICTURES = re.compile("[\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]")
_MARKED = "áéíóúüñàèìòùâêîôûäëïöçãõåýčšžřěůńśźżćąęőűğş"
_ACCENTS = {ord(sign): unicodedata.normalize("NFD", sign)[0] for sign in _MARKED + _MARKED.upper()} | str.maketrans(
    "’\u00a0øØłŁđĐı", "' oOlLdDi"
)
_NO_END = frozenset(
    {"st", "dr", "mr", "ms", "sr", "mrs", "sra", "dra", "hi", "hey", "hello", "hola"}
)  # "Hi! I'm Ana" is one sentence
# A dot that ends no sentence: in "St. Louis", "EE. UU.", "the U.S. in 2019" and "J.P. Morgan", unlike "the U.S. I like it".
_SHORT = re.compile(
    r"[A-Zs](?<!\w.)(?:(?:(?<=[SM])t|(?<=[DMS])r|(?<=M)[rs]s|(?<=[DS])ra|(?<=S)rta|(?<=P)rof|(?<=F)t|(?<=S)t[ao]|(?<=M)s)\."
    r"(?= [^\W\d_])|(?<=P)h\.D\b\.?|(?<= (?:in|to) s)t\.(?= [a-z])|(?<=[A-Z])[A-Z]?\. ?(?:[A-Z]{1,2}\. ?)*[A-Z]{1,2}\.)"
    r"(?! (?:I|My|We|Our|It|The|Th\w+|He|She|But|And|So|Yo|Mi|Mis|El|La|Me|Pero|Y|Es)\b)"
)
_DOT = "\u02d1"  # a letter to every pattern
_DAY_ON = re.compile(r"\s*(?:(?:on|in|at|the|el|en|la)\s+)*", re.IGNORECASE)
_OPENER = re.compile("[A-Za-z]+")
_FIRST_WORDS = re.compile(r"[^a-z]*([a-z]*)[^a-z]*([a-z]*)")
_LETTERS = bytes(sign if chr(sign).islower() else 32 for sign in range(128)).ljust(256)


def extract(text: str, *, speaker: str, at: datetime, language: str | None = None) -> tuple[Claim, ...]:
    """Return what `text`, said by `speaker` at that moment, teaches: at most four claims, mostly none.

    >>> from datetime import UTC
    >>> said = extract("Sorry, busy week: I moved to Oaxaca in May!", speaker="Ana", at=datetime(2026, 6, 1, tzinfo=UTC))
    >>> [(claim.text, claim.quote) for claim in said]
    [('Ana moved to Oaxaca in May (2026-05)', 'I moved to Oaxaca in May')]
    >>> extract("if I lived in Oaxaca I'd be happier", speaker="Ana", at=datetime(2026, 6, 1, tzinfo=UTC))
    ()
    """
    whole = text = text[:LONGEST]
    if text.isupper() and len(text.lower()) == len(text):  # who shouts gives no names away: read as if they whispered
        text = text.lower()
    folded, words = _glance(text)
    code = language[:2] if language else max(LANGUAGES, key=lambda each: len(words & grammar_of(each).words))
    if code not in LANGUAGES or words.isdisjoint((grammar := grammar_of(code)).cues):
        return ()
    claims = _Listening(grammar, text, folded, words, speaker, at).claims()
    if text != whole:
        places = [text.find(claim.quote) for claim in claims]
        claims = tuple(
            replace(claim, quote=whole[place : place + len(claim.quote)]) for claim, place in zip(claims, places, strict=True)
        )
    if not claims or language or (guess := language_of(text)) == code:
        return claims
    return claims if guess in LANGUAGES and len(words) <= _FEW else ()  # few words may be taken for another's


def may_teach(text: str) -> bool:
    """Tell at a glance whether a message is worth reading: whether it has a word without which no rule matches."""
    _, words = _glance(text[:LONGEST])
    return not all(words.isdisjoint(grammar_of(code).cues) for code in LANGUAGES)


def _glance(text: str) -> tuple[str, set[str]]:
    """Return a text without accents, and its words."""
    folded = text if text.isascii() else text.translate(_ACCENTS)
    return folded, set(folded.lower().encode("ascii", "replace").translate(_LETTERS).decode().split())


class _Listening:
    """One message being read: `heard` is its text without accents, `seen` that without what others wrote, place for place."""

    def __init__(self, grammar: Grammar, text: str, heard: str, words: set[str], speaker: str, at: datetime) -> None:
        self.grammar, self.text, self.words, self.at = grammar, text, words, at
        self.heard = heard
        self.anywhere = () if words.isdisjoint(grammar.owners) else tuple(filter(self._may_match, grammar.anywhere))
        self.of_mine = () if words.isdisjoint(grammar.owning) else tuple(filter(self._may_match, grammar.of_mine))
        seen = heard if heard.isascii() else _PICTURES.sub(_BLANK, heard)
        if seen.find(".", 0, -1) >= 0:
            seen = _SHORT.sub(lambda short: short[0].replace(".", _DOT), seen)
        self.seen = self._own_words(seen)
        named = speaker.strip()
        is_named = named.casefold() not in _UNNAMED
        self.who, self.whose, self.to = (
            (named, grammar.whose.format(named), grammar.to.format(named)) if is_named else grammar.user
        )

    def claims(self) -> tuple[Claim, ...]:
        grammar, found, earlier = self.grammar, list[Claim](), list[Claim]()
        before = 0, 0
        for start, end, is_asked in self._sentences():
            said = list(self._in_sentence(start, end, is_asked))
            # "I was wrong." puts right what the next sentence says; a cue beside claims of its own does not.
            is_corrected = bool(said) and any(grammar.corrected().search(self.seen, *span) for span in ((start, end), before))
            before = (end, end) if said else (start, end)
            if (said or found) and (unsaid := grammar.unsaid().search(self.seen, start, end)):
                said = [claim for claim in said if self.text.find(claim.quote, start) >= unsaid.start()]
                if unsaid.start() - start < _NEAR:  # "I live in Rome. No wait, Milan!"
                    found = earlier
            earlier = found[:]
            for claim in said:
                if is_corrected:
                    claim = replace(claim, corrects=True)
                    found = [other for other in found if other.corrects or not claim.slot or other.slot != claim.slot]
                # Doubts are looked for where something is said: that takes longer than the rules, and most turns teach nothing.
                place = self.text.find(claim.quote, start)
                if not claim.is_wish and any(
                    cue.lastgroup != "before" or cue.start() < place for cue in grammar.doubt().finditer(self.seen, start, end)
                ):
                    continue
                if not any(_says_no_more(claim.text, other.text) for other in found):
                    found.append(claim)
        if not found or grammar.void().search(self.heard):
            return ()
        if others := grammar.rest().search(self.heard):
            found = [claim for claim in found if self.text.find(claim.quote) < others.start()]
        return tuple(found[:MOST])

    def _sentences(self) -> Iterator[tuple[int, int, bool]]:
        """Yield where each sentence begins and ends, and whether it asks."""
        start, seen, signs = 0, self.seen, self.seen.find
        for stop in _STOP.finditer(seen):
            place, sign = stop.start(), stop[0]
            last = seen[max(start, place - 6) : place].rpartition(" ")[2].lstrip("¡").lower()
            if sign[0] in ".!" and (last in _NO_END or (len(last) == 1 and last != _BLANK)):
                continue
            for ask in self.grammar.asks().finditer(seen, start, stop.end()) if "?" in sign else ():
                yield start, ask.start(), signs("¿", start, ask.start()) >= 0
                start = ask.end()
            yield start, place, "?" in sign or signs("¿", start, place) >= 0
            start = stop.end()
        if start < len(seen):
            yield start, len(seen), signs("¿", start) >= 0

    def _in_sentence(self, start: int, end: int, is_asked: bool) -> Iterator[Claim]:
        """Yield what each clause says, then who is named in passing; a question only names, or says how to answer."""
        grammar, seen, reached = self.grammar, self.seen, start
        named, is_mine = "", bool(self.anywhere) and grammar.mine().search(seen, start, end) is not None
        is_owned = bool(self.of_mine) and grammar.owned().search(seen, start, end) is not None
        is_shared = seen.find(grammar.together, start, end) >= 0
        for place in (start, *(match.end() for match in grammar.starts().finditer(seen, start, end))):
            if place < reached:
                continue
            while place < end and not seen[place].isalnum():
                place += 1
            word = opener[0].lower() if (opener := _OPENER.match(seen, place, end)) else ""
            is_first, made = place == start, None
            if word in grammar.keys or is_shared:
                made = self._in_clause(word, place, place, end, is_asked, is_first)
            if not made and word in grammar.leads and (skipped := grammar.skipped().match(seen, place, end)):
                behind = opener[0].lower() if (opener := _OPENER.match(seen, skipped.end(), end)) else ""
                made = self._in_clause(behind, place, skipped.end(), end, is_asked, is_first)
            for rule in self.of_mine if is_owned and not made and not is_asked else ():
                match = rule.pattern().match(seen, place, end)
                if match and (made := self._claim(rule, match, place, place, 0, "")):
                    break
            if made:
                reached, claim = made
                named += claim.text.translate(_ACCENTS)
                yield claim
        for rule in self.anywhere if is_mine else ():
            for match in rule.pattern().finditer(seen, start, end):
                made = self._claim(rule, match, match.start(), match.start(), 0, "")
                if made and not any(
                    value and value in named for group in ("name", "names") if (value := match.groupdict().get(group))
                ):
                    named += made[1].text.translate(_ACCENTS)
                    yield made[1]

    def _in_clause(
        self, word: str, lead: int, place: int, end: int, is_asked: bool, is_first: bool
    ) -> tuple[int, Claim] | None:
        """Return where a clause that begins with `word` ends, and what it says; `lead` to `place` are words that lead to it."""
        grammar, head, rest = self.grammar, "", place
        # Where verbs tell who speaks, every clause may begin with one.
        is_said = word in grammar.speakers or not grammar.speakers or self.seen.find(grammar.together, place, end) >= 0
        if is_said and (begins := grammar.heads().match(self.seen, place, end)) and begins.lastindex:
            head, rest = grammar.stand_for[begins.lastindex - 1], begins.end()
        elif (
            is_first
            and word in grammar.subjects
            and (begins := grammar.dropped().match(self.seen, place, end))
            and begins.lastindex
        ):
            head, rest = grammar.dropped_for[begins.lastindex - 1], begins.end()
        clause = head + self.seen[rest:end]
        first = _FIRST_WORDS.match(clause[: len(head) + 40].lower().removeprefix(grammar.subject))
        for rule in rules_for(grammar.language, *first.groups()) if first else ():
            if (is_asked and not rule.is_wish) or (rule.needs and rule.needs.isdisjoint(self.words)):
                continue
            match = rule.pattern().match(clause)
            if match and (made := self._claim(rule, match, lead, place, rest - len(head), head)):
                return made
        return None

    def _may_match(self, rule: Rule) -> bool:
        return not rule.needs or not rule.needs.isdisjoint(self.words)

    def _claim(
        self, rule: Rule, match: re.Match[str], lead: int, place: int, shift: int, head: str
    ) -> tuple[int, Claim] | None:
        """Return where a match ends in the message and what it says, unless that says too little."""
        parts = defaultdict(str, {"who": self.who, "whose": self.whose, "To": self.to})
        if "{known}" in rule.say:  # "dog" after "my dog", for "his name is Rex"
            mentioned = list(self.grammar.known().finditer(self.seen, 0, place))
            if not mentioned or mentioned[-1].lastgroup == "somebody":
                return None
            parts["known"] = self.text[slice(*mentioned[-1].span(mentioned[-1].lastgroup or 0))]
        end = match.end() + shift
        for group, value in match.groupdict().items():
            if value is None:
                parts[group] = ""
                continue
            if group in _THINGS and match.start(group) < len(head):  # "I don't" is tried as "I do not": "not" is no thing
                return None
            start, stop = match.start(group) + shift, match.end(group) + shift
            own = self.text[start:stop] if match.start(group) >= len(head) else value
            if group == "verb":
                if own.endswith("ó"):  # somebody else did it: "me llamó Juan"
                    return None
                parts["verb"] = self._turned(self._third(own.lower()))
                continue
            if group == "x":
                end = stop = self._end_of_thing(start, stop)
                is_said = " " in parts["does"]  # "is vegan" says enough by itself
                if not is_said and (stop == start or self.grammar.vague().match(self.seen[start:stop])):
                    return None
            elif group == "wish":
                end = stop = cut.start() if (cut := self.grammar.wish_ends().search(self.seen, start, stop)) else stop
            if group in _THINGS:
                if rule.unless and rule.unless().search(self.seen[start:stop]):
                    return None
                own = self._turned(self.text[start:stop])
            parts[group] = self._turned(own.strip()) if group == "how" else own.strip()
            if group in ("when", "how") and own.partition(" ")[0].lower() in _LEADING:
                parts[group] = parts[group][:1].lower() + parts[group][1:]
            if group in _ARTICLES:
                parts["the"] = f"{group.title()} {parts[group]}"
        quote = parts["said"] = self.text[place:end].strip()
        said = " ".join(rule.say.format_map(parts).split()).replace(" ,", ",")
        claim = Claim(
            said[:1].upper() + said[1:] if said.startswith(self.grammar.user[0]) else said,
            quote,
            rule.type,
            rule.topic,
            rule.about_speaker,
            rule.confidence,
            rule.corrects and not self._is_bygone(place),
            rule.is_wish,
            slot=self._slot(rule.slot.format_map(parts)),
            language=self.grammar.language,
        )
        if claim.slot == "called" and parts["name"].casefold() == self.who.casefold():
            return None  # that is no news
        if rule.dated == "yearly" or rule.topic in _TIMELESS:
            return end, claim
        dates = self._dates(lead, match.endpos + shift, rule.ahead)
        date = next((date for date in dates if place <= date.place < end), None)
        if date is None and (date := next((date for date in dates if date.place < place), None)):
            claim = replace(claim, text=f"{claim.text}, {date.text}", quote=self.text[lead:end].strip())
        elif (
            date is None
            and (rule.dated or rule.ahead or (parts["verb"] and rule.topic != "name"))
            and (date := next((date for date in dates if _DAY_ON.fullmatch(self.seen, end, date.place)), None))
        ):
            said, end = self.text[end : date.place + len(date.text)], date.place + len(date.text)
            claim = replace(claim, text=f"{claim.text} {said.strip()}", quote=self.text[place:end].strip())
        if date is None:
            return (end, claim) if rule.dated != "at" else None
        return end, _dated(claim, rule, date, self.at)

    def _slot(self, filled: str) -> str:
        """Return a slot by the words that tell it from others; it is none where what it should end with is missing."""
        if not filled or filled.endswith(" "):
            return ""
        words = [word for word in filled.translate(_ACCENTS).lower().replace(",", "").split() if word not in _SLOTLESS]
        return self.grammar.slots.get(slot := " ".join(words), slot)

    def _dates(self, start: int, end: int, ahead: bool) -> list[Date]:
        """Return the times that a sentence tells a fact by, by their places in the message; an hour without its day is none."""
        if not self.grammar.timely().search(self.heard, start, end):
            return []
        dates = find_dates(self.text[start:end], self.at, self.grammar.language, ahead=ahead)
        return [
            date._replace(place=start + date.place)
            for date in dates
            if date.end - date.start > timedelta(hours=1) or date.start.date() != self.at.date()
        ]

    def _is_bygone(self, place: int) -> bool:
        """Tell whether the sentence goes on about what was so once: who moved in the nineties may have moved since."""
        stop = _STOP.search(self.seen, place)
        return self.grammar.bygone().search(self.seen, place, stop.start() if stop else len(self.seen)) is not None

    def _own_words(self, seen: str) -> str:
        """Return the message with what others wrote, and code, blanked out."""

        def blank(match: re.Match[str]) -> str:
            return re.sub(r"[^\n]", _BLANK, match[0])

        def quoted(match: re.Match[str]) -> str:
            inside = next(part for part in match.groups() if part is not None)
            is_a_name = len(inside.split()) <= 5 and not self.grammar.first_person().search(inside)
            return match[0] if is_a_name else blank(match)

        signs = set(seen)
        if not signs.isdisjoint(_PASTED_SIGNS):
            seen = _PASTED.sub(blank, seen)
        return _QUOTED.sub(quoted, seen) if not signs.isdisjoint(_QUOTE_SIGNS) else seen

    def _end_of_thing(self, start: int, stop: int) -> int:
        if cut := self.grammar.ends().search(self.seen, start, stop):
            stop = cut.start()
        if self.seen.count(" ", start, stop) > 3 * _LONGEST_THING:
            return start
        while tail := self.grammar.tails().search(self.seen[start:stop]):
            stop = start + tail.start()
        return stop if self.seen.count(" ", start, stop) < _LONGEST_THING else start

    def _third(self, verb: str) -> str:
        """Return a verb of the first person in the third; of several words the first, and what may come before it."""
        words = verb.split(" ")
        for place, word in enumerate(words):
            bare = word.translate(_ACCENTS)
            turned = self.grammar.irregular.get(bare)
            if turned is None:
                turned = next((p.sub(ending, word, count=1) for p, ending in self.grammar.endings if p.search(word)), word)
            words[place] = turned
            if bare not in _BEFORE_VERBS:
                break
        return " ".join(words)

    def _turned(self, thing: str) -> str:
        """Return a thing as somebody else would speak of it: my house is their house."""

        def turned(match: re.Match[str]) -> str:
            is_a_name = match[0].istitle() and len(match[0]) > 1 and match[0].isalpha()  # Mía, unlike mía
            is_a_name = is_a_name or (match[0].isupper() and len(match[0]) > 1 and not self.text.isupper())  # US, unlike us
            is_a_name = is_a_name or thing[: match.start()].lower().endswith("the ")  # works in the mine
            around = thing[: match.start()][-1:], thing[match.end() :][:2]
            is_a_name = is_a_name or around[0] == "." or re.match(r"\.\w", around[1]) is not None  # I.T.
            return match[0] if is_a_name else self.grammar.turned.get(match[0].lower(), match[0]).replace("{who}", self.who)

        return self.grammar.turns().sub(turned, thing)


def _says_no_more(said: str, already: str) -> bool:
    words = set(re.findall(r"\w+", said.casefold()))
    return words <= set(re.findall(r"\w+", already.casefold()))


def _dated(claim: Claim, rule: Rule, date: Date, now: datetime) -> Claim:
    """Return a claim with its date beside the words for it, and as a moment where the rule says what happens then."""
    shown, start = _shown(date, claim.language), date.start
    place = claim.text.casefold().find(date.text.casefold()) + len(date.text)
    if shown and f"{start:%Y}" not in date.text and place >= len(date.text):
        claim = replace(claim, text=f"{claim.text[:place]} ({shown}){claim.text[place:]}")
    if claim.corrects and rule.corrects and now - start > _OLD_NEWS:
        claim = replace(claim, corrects=False)
    if date.either or date.side in ("before", "after") or not (date.is_sure or date.side == "vague"):
        return claim
    if rule.dated == "from":
        return replace(claim, valid_until=date.end) if date.side == "until" else replace(claim, valid_from=start)
    is_told = date.side != "until" and (rule.dated == "at" or rule.ahead or start <= now)
    return replace(claim, happened_at=start) if is_told else claim


def _shown(date: Date, language: str) -> str:
    """Return a date as exact as it is, or nothing where the words for it are all that is known."""
    if not date.is_sure or date.side == "span" or date.grain in ("decade", "century"):
        return ""
    first, last = date.start, date.end - timedelta(seconds=1)
    week, other, to = ("semana del", "o", "a") if language == "es" else ("week of", "or", "to")
    if date.grain in ("year", "half", "quarter"):
        return f"{first:%Y}" if first.year == last.year else f"{first:%Y} {to} {last:%Y}"
    if date.grain == "month":
        return f"{first:%Y-%m}"
    if date.grain == "week":
        return f"{week} {first - timedelta(days=first.weekday()):%Y-%m-%d}"
    if date.either:
        first, second = sorted((first, date.either))
        return f"{first:%Y-%m-%d} {other} {second:%Y-%m-%d}"
    is_one = date.grain in ("weekend", "part", "hour", "clock") or first.date() == last.date()
    return f"{first:%Y-%m-%d}" if is_one else f"{first:%Y-%m-%d} {to} {last:%Y-%m-%d}"
