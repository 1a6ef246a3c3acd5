"""One table of verbs: what each takes and gives, who may call it, and how. Every door is a reading of it.

Arguments come as JSON values (or as Python's own), are read here once, and reach `Mind` by its own names; what is left out
keeps Mind's default. Nothing heavy is loaded until a verb is called, so that a door can list its verbs at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any, Literal

from reverie.errors import BadInput, NotFound

if TYPE_CHECKING:
    from reverie.memory.scope import Scope
    from reverie.mind import Mind

Type = Literal[
    "text", "name", "names", "id", "commit", "number", "share", "shares", "seconds", "tokens", "flag", "moment", "point",
    "path", "object", "audience", "turns",
]  # fmt: skip
HowFar = Literal["own", "room", "all", "proposes", "never"]
Progress = Callable[..., object]

KINDS = (
    "turn", "episode", "fact", "concept", "procedure", "lesson", "pattern", "summary", "event", "agent_note", "goal", "custom",
)  # fmt: skip
REMEMBERED = KINDS[1:]  # a turn is observed
TRUST = ("hand", "user", "agent", "other", "tool", "web", "recalled")
ROLES = ("user", "assistant", "tool", "system")
PROFILES = ("default", "kenobot", "clanker")
WEIGHTINGS = ("default", "kenobot", "clanker")
ORDERS = ("relevance", "time")
SIGNS = ("positive", "negative")

_JSON_TYPES: Mapping[str, dict[str, object]] = {
    "names": {"type": "array", "items": {"type": "string"}},
    "number": {"type": "integer"},
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "shares": {"type": ["number", "object"], "additionalProperties": {"type": "number"}, "minimum": 0, "maximum": 1},
    "seconds": {"type": "number", "minimum": 0},
    "tokens": {"type": "number", "exclusiveMinimum": 0},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "audience": {"type": "object", "properties": {part: {"type": "string"} for part in ("channel", "session", "person")}},
    "turns": {"type": "array", "items": {"type": "object"}},
}


@dataclass(frozen=True, slots=True)
class Argument:
    """One thing a verb is told; `first` stands without its name on a command line, `stdin` may be read from there."""

    name: str
    type: Type
    help: str
    default: object = None
    required: bool = False
    first: bool = False
    stdin: bool = False
    choices: tuple[str, ...] = ()
    for_model: bool = True  # False: never offered to a language model

    def schema(self) -> dict[str, object]:
        """Return the JSON schema of its value."""
        schema = {**_JSON_TYPES.get(self.type, {"type": "string"}), "description": self.help}
        if self.choices and self.type == "names":
            schema["items"] = {"type": "string", "enum": list(self.choices)}
        elif self.choices:
            schema["enum"] = list(self.choices)
        return schema if self.default is None else {**schema, "default": self.default}

    def read(self, value: object, zone: tzinfo = UTC) -> object:
        """Return a value as Mind takes it; times without a zone are in `zone`."""
        match self.type, value:
            case "flag", bool():
                return value
            case "number" | "share" | "shares" | "seconds" | "tokens", bool():
                pass
            case ("number", int()) | ("share" | "shares" | "seconds" | "tokens", int() | float()):
                return value
            case "object" | "audience" | "shares", Mapping():
                return value
            case "names", str() | list() | tuple() | set() | frozenset():
                return tuple(self._chosen(one) for one in ([value] if isinstance(value, str) else value))
            case "turns", Iterable() if not isinstance(value, str | bytes | Mapping):
                return (_timed(turn, zone) for turn in value)
            case "point", str() if value.startswith("c-"):
                return value
            case "moment" | "point", datetime():
                return value
            case "moment" | "point", str():
                return moment(value, self.name, zone)
            case (("text" | "name" | "id" | "commit"), str()):
                return self._chosen(value)
            case "path", _:
                return value
        shape = {
            "flag": "true or false", "number": "a whole number", "share": "a number from 0 to 1", "names": "a list of names",
            "shares": "a number from 0 to 1, or one for each of some words", "seconds": "a number of seconds",
            "tokens": "a number of tokens, or a share of the window such as 0.02",
            "object": "a JSON object", "audience": "an object with channel, session or person", "turns": "a list of turns",
            "moment": "an ISO time such as 2026-03-02T18:30", "point": "an ISO time or the id of a commit",
        }.get(self.type, "text")  # fmt: skip
        raise BadInput(f"{self.name} must be {shape}, not {value!r:.80}")

    def _chosen(self, value: Any) -> Any:
        from reverie.memory import check

        called = self.name.removesuffix("s") if self.type == "names" else self.name
        if not self.choices or value == "turn":  # where that is no choice, Mind says what to do with a turn
            return value
        return check.one_of(value, self.choices, called)


@dataclass(frozen=True, slots=True)
class May:
    """Who may call a verb, and how far it reaches for them: their own, the room's, all; or only as a proposal, or never."""

    member: HowFar
    admin: HowFar
    owner: HowFar
    model: HowFar


READS = May("own", "room", "all", "own")
WRITES = May("own", "room", "all", "own")
CHANGES = May("own", "room", "all", "proposes")
TAKES_BACK = May("own", "room", "all", "never")
ERASES = May("own", "never", "all", "never")
EXPORTS = May("own", "never", "all", "never")
KEEPS = May("never", "never", "all", "never")

Run = Callable[["Mind", "Scope | None", dict[str, Any]], object]


@dataclass(frozen=True, slots=True)
class Verb:
    """One act on a mind."""

    name: str
    help: str
    returns: str
    may: May
    arguments: tuple[Argument, ...] = ()
    example: Mapping[str, object] = field(default_factory=dict)
    command: str = ""  # how the command line says it, where that differs from the name
    # Whom a person at their own terminal acts as, naming no scope; what is about the "whole" home heeds none.
    unscoped: Literal["owner", "member", "every", "whole"] = "owner"
    run: Run | None = None
    progress: bool = False

    @property
    def destructive(self) -> bool:
        """Whether what it removes is gone for good."""
        return self.name == "erase"

    def argument(self, name: str) -> Argument:
        """Return the argument of a name; the error names the nearest."""
        known = {argument.name: argument for argument in self.arguments}
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"nearest is {near[0]!r}" if near else f"it takes {listed(known) if known else 'nothing'}"
            raise BadInput(f"{self.name} takes no {name!r}; {hint}")
        return known[name]

    def schema(self, leave_out: Iterable[str] = (), for_model: bool = False) -> dict[str, object]:
        """Return the JSON schema of its arguments."""
        offered = [a for a in self.arguments if a.name not in set(leave_out) and (a.for_model or not for_model)]
        return {
            "type": "object",
            "properties": {argument.name: argument.schema() for argument in offered},
            "required": [argument.name for argument in offered if argument.required],
            "additionalProperties": False,
        }

    def names_its_space(self, arguments: Mapping[str, object]) -> bool:
        """Tell whether an id among the arguments says which space is meant."""
        given = ((self.argument(name).type, value) for name, value in arguments.items() if value is not None)
        return any(
            (kind in ("id", "commit") and value != LAST) or (kind == "point" and str(value).startswith("c-"))
            for kind, value in given
        )

    def default_scope(self, arguments: Mapping[str, object], space: str) -> Scope | None:
        """Return the scope of a person at their own terminal who names none, in the space they use.

        Given an id, the owner of the space it names. Otherwise they see the whole of the space they use; but nothing is written
        as the owner, and no prompt is filled with the owner's eyes.
        """
        from reverie.memory.scope import Scope

        if self.unscoped in ("every", "whole") or self.names_its_space(arguments):
            return None
        return Scope(space) if self.unscoped == "member" else Scope.owner(space)

    def call(
        self,
        mind: Mind,
        scope: Scope | None,
        arguments: Mapping[str, object],
        zone: tzinfo = UTC,
        progress: Progress | None = None,
    ) -> object:
        """Do it; arguments that are None count as left out."""
        told = [(self.argument(name), value) for name, value in arguments.items()]
        given = {argument.name: argument.read(value, zone) for argument, value in told if value is not None}
        if missing := [a.name for a in self.arguments if a.required and a.name not in given]:
            raise BadInput(f"{self.name} needs {listed(missing)}")
        if isinstance(audience := given.get("audience"), Mapping):
            given["audience"] = _audience(audience, scope)
        if progress is not None and self.progress:
            given["progress"] = progress
        return self.run(mind, scope, given) if self.run else getattr(mind, self.name)(**given, scope=scope)


def listed(names: Iterable[str]) -> str:
    """Return names as people write them."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def moment(text: str, called: str, zone: tzinfo = UTC) -> datetime:
    """Read a time as people type it: ISO, with or without a zone, or a plain date."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as exc:
        raise BadInput(
            f"{called} {text!r:.80} is not a time; write 2026-03-02, 2026-03-02T18:30 or 2026-03-02T18:30+01:00"
        ) from exc
    return found if found.utcoffset() is not None else found.replace(tzinfo=zone)


LISTED = 100  # memories in a listing, unless told otherwise
LAST = "last"  # instead of a recall's id: the newest that is kept


def _audience(parts: Mapping[str, Any], scope: Scope | None) -> Scope:
    from reverie.memory.scope import Scope

    if unknown := set(parts) - {"channel", "session", "person"}:
        raise BadInput(f"audience takes channel, session and person, not {min(unknown)!r}")
    return Scope(scope.space if scope else "default", **parts)


def _timed(turn: object, zone: tzinfo) -> object:
    """Return a turn with its time read; what is no time is left for `observe_many` to refuse by its number."""
    if not isinstance(turn, Mapping) or not isinstance(turn.get("at"), str):
        return turn
    try:
        return {**turn, "at": moment(turn["at"], "at", zone)}
    except BadInput:
        return turn


def _observe_many(mind: Mind, scope: Scope | None, given: dict[str, Any]) -> object:
    def narrowed(turn: Any) -> Any:
        told = isinstance(turn, Mapping) and isinstance(turn.get("audience"), Mapping)
        return {**turn, "audience": _audience(turn["audience"], scope)} if told else turn

    return mind.observe_many(map(narrowed, given.pop("turns")), scope=scope, **given)


def _remember(mind: Mind, scope: Scope | None, given: dict[str, Any]) -> object:
    from reverie.memory.trace import Source

    parts = {name: given.pop(name) for name in ("message_ids", "memory_ids", "quote", "place") if name in given}
    if parts:
        given["source"] = Source(**parts)
    return mind.remember(**given, scope=scope)


def _between(given: dict[str, Any]) -> dict[str, Any]:
    ends = given.pop("since", None), given.pop("until", None)
    return given if ends == (None, None) else {**given, "between": ends}


def _why(mind: Mind, scope: Scope | None, given: dict[str, Any]) -> object:
    return mind.why(_recall_meant(mind, scope, given), scope=scope)


def _why_not(mind: Mind, scope: Scope | None, given: dict[str, Any]) -> object:
    return mind.why_not(_recall_meant(mind, scope, given), given["text"], scope=scope)


def _recall_meant(mind: Mind, scope: Scope | None, given: dict[str, Any]) -> str:
    recall_id = given.get("recall_id", LAST)
    found: str | None = mind.last_recall(scope=scope) if recall_id == LAST else recall_id
    if found is None:
        raise NotFound("no recall is kept here yet; recall something first")
    return found


def _quarantine_show(mind: Mind, scope: Scope | None, given: dict[str, Any]) -> object:
    from reverie.learn import quarantine
    from reverie.memory.scope import Scope

    scopes = [scope] if scope else [Scope.owner(one.space) for one in mind.status().spaces]
    found = (item for here in scopes for item in mind.quarantine(here) if item.id == given["id"])
    if (item := next(found, None)) is None:
        raise quarantine.unknown(given["id"])
    return item


def _recover(mind: Mind, scope: Scope | None, given: dict[str, Any]) -> object:
    raise BadInput("a home is recovered while no mind has it open; use reverie.recover(path, home)")


_ID = Argument("id", "id", "the memory's id", required=True, first=True)
_EITHER_ID = Argument("id", "id", "the memory's id", first=True)
_QUERY = Argument("query", "text", "instead of an id: all that have every one of these words")
_TEXT = Argument("text", "text", "what was said, word for word", required=True, first=True, stdin=True)
_REASON = Argument("reason", "text", "why, for the log")
_DRY_RUN = Argument("dry_run", "flag", "only say what would happen", default=False)
_AS_OF = Argument("as_of", "point", "as it was believed at a moment, or right after a commit")
_NOW = Argument("now", "moment", "the moment that 'yesterday' and 'still true' are judged from")
_AUDIENCE = Argument("audience", "audience", "who may hear it again; only narrower than where it was said")
_TRUST = Argument("trust", "name", "how far the text is trusted; may only be lowered", choices=TRUST, for_model=False)
_VALID_FROM = Argument("valid_from", "moment", "since when it holds in the world")
_VALID_UNTIL = Argument("valid_until", "moment", "until when it holds in the world")
_TAGS = Argument("tags", "names", "labels to find it by")
_EXTRA = Argument("extra", "object", "further values, as a JSON object")
_FILTERS = (
    Argument("kinds", "names", "only these kinds", choices=KINDS),
    Argument("tags", "names", "only what has all these tags"),
    Argument("subject", "name", "only what is about this person or thing"),
    Argument("session", "name", "only what was said in this session"),
    Argument("since", "moment", "only what happened, or still held, from here on"),
    Argument("until", "moment", "only what happened, or held, before this moment"),
)
_TASK = Argument("task", "name", "which task it belongs to")
_NEW_TEXT = Argument("text", "text", "the whole new text", required=True, first=True, stdin=True)
_PERSON = Argument("id", "name", "the person's id", required=True, first=True)
_CALLED = Argument("name", "name", "what they are called", required=True, first=True)
_PATTERN = Argument("named", "name", "the pattern's id, or its trigger", required=True, first=True)
_PROPOSAL = Argument("id", "id", "the proposal's id", required=True, first=True)
_REFUSED = Argument("id", "id", "the quarantined item's id", required=True, first=True)
_FILE_TO_WRITE = Argument("path", "path", "the file to write", required=True, first=True)

# fmt: off
VERBS: tuple[Verb, ...] = (
    # write
    Verb("observe", "Keep what was said, word for word.", "Memory", WRITES, (
        _TEXT,
        Argument("speaker", "name", "who said it; otherwise the scope's person, else the role"),
        Argument("role", "name", "whose turn it was", default="user", choices=ROLES),
        Argument("at", "moment", "when it was said; otherwise now"),
        Argument("message_id", "name", "its id where it came from; the same id with another text is an edit"),
        Argument("reply_to", "name", "the message id that it answers"),
        _TRUST, _AUDIENCE,
        Argument("place", "name", "where a transcript was heard, such as voice-7", for_model=False),
        Argument("certainty", "shares", "how sure a transcript is, 0 to 1: as a whole, or of single words", for_model=False),
    ), {"text": "I moved to Oaxaca in May", "speaker": "Ana"}, unscoped="member"),
    Verb("observe_many", "Keep many turns at once.", "Ingested", WRITES, (
        Argument("turns", "turns", 'turns with observe\'s names, or {"role", "content"} messages', required=True, stdin=True),
    ), {"turns": [{"role": "user", "content": "I moved to Oaxaca in May"}]}, unscoped="member",
        run=_observe_many, progress=True),
    Verb("remember", "Keep a fact, or another thing known; said again, it is the same memory.", "Memory", WRITES, (
        Argument("text", "text", "what to remember, in one sentence", required=True, first=True, stdin=True),
        Argument("kind", "name", "what kind of thing it is", default="fact", choices=REMEMBERED),
        Argument("subject", "name", "whom or what it is about"),
        Argument("title", "text", "a short heading"),
        _TAGS,
        Argument("confidence", "share", "how sure it is, 0 to 1"),
        Argument("happened_at", "moment", "when it happened"),
        _VALID_FROM, _VALID_UNTIL,
        Argument("message_ids", "names", "the messages it came from"),
        Argument("memory_ids", "names", "the memories it came from"),
        Argument("quote", "text", "the words it rests on"),
        Argument("place", "name", "where it stands, such as notes.md:12"),
        _TRUST, _AUDIENCE, _EXTRA,
    ), {"text": "Ana lives in Oaxaca", "subject": "ana", "tags": ["home"]}, unscoped="member", run=_remember),
    Verb("retract", "Take back a message deleted where it came from, and what rests only on it.", "Commit", TAKES_BACK, (
        Argument("message_id", "name", "the id that observe was given", required=True, first=True),
    ), {"message_id": "telegram:42:7"}),
    Verb("end", "Say that a session or task is over; what matters of it is kept as a summary.", "Memory, or nothing", WRITES, (
        Argument("task", "name", "of the scratchpads only this task's; otherwise all of the session's"),
    ), {"task": "release"}, unscoped="member"),
    Verb("new_topic", "Say that what comes next is about something else.", "nothing", WRITES, command="new-topic",
        unscoped="member"),
    Verb("settle", "Learn from what was said, and make vectors, where that is still to be done.", "Settled", KEEPS, (
        Argument("timeout_s", "seconds", "wait no longer than that"),
    ), {"timeout_s": 60}, unscoped="whole", run=lambda mind, scope, given: mind.settle(**given)),
    # read
    Verb("learned", "Show what a turn taught, and the words that rests on.", "Learned", READS, (
        Argument("id", "id", "the turn's id", required=True, first=True),
    ), {"id": "ID"}),
    Verb("recall", "Find what comes to mind for a question.", "Recollection", READS, (
        Argument("cue", "text", "the question, or some words of it", required=True, first=True, stdin=True),
        Argument("limit", "number", "at most so many", default=10),
        *_FILTERS, _NOW, _AS_OF,
        Argument("strict", "flag", "rather nothing than something unlikely", default=False),
        Argument("weighting", "name", "how it is ranked", default="default", choices=WEIGHTINGS, for_model=False),
        Argument("order", "name", "by relevance, or by time: a timeline", default="relevance", choices=ORDERS, for_model=False),
    ), {"cue": "where does Ana live?", "limit": 3},
        run=lambda mind, scope, given: mind.recall(**_between(given), scope=scope)),
    Verb("context", "Put what bears on a question into a text for a prompt, never over its budget.", "Context", READS, (
        Argument("cue", "text", "the question or message; '' where there is none", required=True, first=True, stdin=True),
        Argument("budget", "tokens", "at most so many tokens; 0.02 is that share of the model's window", default=2000),
        Argument("profile", "name", "what goes in, and in which order", default="default", choices=PROFILES, for_model=False),
        _NOW, _AS_OF,
        Argument("window_tokens", "number", "the window that a share is of", default=128_000, for_model=False),
        Argument("retrieval", "flag", "choose by the question; else the newest of all", default=True, for_model=False),
    ), {"cue": "where does Ana live?", "budget": 500}, unscoped="member"),
    Verb("why", "Explain a recall: what was asked, what was found, and the reasons.", "Explanation", READS, (
        Argument("recall_id", "id", "the recall's id, or 'last'", default=LAST, first=True),
    ), {"recall_id": LAST}, run=_why),
    Verb("why_not", "Explain what is missing: where in a recall a memory fell out, and by how much.", "Explanation", READS, (
        Argument("text", "text", "what the memory says, some words of it, or its id", required=True, first=True, stdin=True),
        Argument("recall_id", "id", "the recall's id, or 'last'", default=LAST),
    ), {"text": "Ana lives in Oaxaca", "recall_id": LAST}, command="why-not", run=_why_not),
    Verb("get", "Show one memory.", "Memory", READS, (
        _ID, Argument("version", "number", "one version of it"), _AS_OF,
    ), {"id": "ID", "version": 1}),
    Verb("scan", "List memories, oldest first.", "list of Memory", READS, (
        *_FILTERS, _AS_OF,
        Argument("retired", "flag", "also what was forgotten", default=False),
        Argument("limit", "number", "at most so many", default=LISTED),
        Argument("after", "name", "go on after the memory of this id"),
    ), {"kinds": ["fact"], "limit": 20}, command="list",
        run=lambda mind, scope, given: tuple(mind.scan(scope, **_between({"limit": LISTED, **given})))),
    Verb("history", "Show every version of a memory, oldest first.", "list of Memory", READS, (_ID,), {"id": "ID"}),
    Verb("log", "Show the last changes, newest first.", "list of Commit", READS, (
        Argument("since", "moment", "only from here on"), Argument("limit", "number", "at most so many", default=50),
    ), {"limit": 5}),
    Verb("diff", "Show what changed between two moments or commits.", "Diff", READS, (
        Argument("t0", "point", "the earlier moment or commit", required=True, first=True),
        Argument("t1", "point", "the later one", required=True, first=True),
    ), {"t0": "2026-03-01", "t1": "2026-03-08"}),
    # change
    Verb("update", "Correct a memory: the next version; the old one stays in its history.", "Memory", CHANGES, (
        _ID,
        Argument("text", "text", "what it says from now on", first=True, stdin=True),
        _REASON,
        Argument("expect", "number", "only if it is still at this version"),
        Argument("title", "text", "a short heading"),
        _TAGS, _VALID_FROM, _VALID_UNTIL, _EXTRA,
    ), {"id": "ID", "text": "Ana lives in Puebla", "reason": "she moved"}),
    Verb("forget", "Forget a memory, or all that have every word of a query; it can be undone.", "Commit", CHANGES, (
        _EITHER_ID, _QUERY, Argument("message_id", "name", "instead of an id: the id that observe was given"),
        _REASON, _DRY_RUN,
    ), {"query": "old address", "dry_run": True}),
    Verb("restore", "Bring back what was forgotten.", "Memory", CHANGES, (_ID,), {"id": "ID"}),
    Verb("pin", "Mark a memory as one that matters, or no longer.", "Memory", CHANGES, (
        _ID, Argument("pinned", "flag", "false takes the mark away", default=True),
    ), {"id": "ID"}),
    Verb("undo", "Take back a change, all of it or nothing.", "Commit", CHANGES, (
        Argument("commit", "commit", "the change's id, as the log shows it", required=True, first=True),
    ), {"commit": "COMMIT"}),
    Verb("erase", "Remove for good, with whatever was derived from it; this cannot be undone.", "Proof", ERASES, (
        _EITHER_ID, _QUERY, Argument("person", "name", "instead of an id: what a person said, and what is about them"),
        _DRY_RUN,
    ), {"id": "ID", "dry_run": True}),
    Verb("feedback", "Say that a memory helped or did not; it counts once a day.", "Memory", TAKES_BACK, (
        _ID, Argument("sign", "name", "whether it helped", required=True, first=True, choices=SIGNS),
    ), {"id": "ID", "sign": "positive"}),
    # patterns
    Verb("patterns", "List what to do when something comes up.", "list of Pattern", READS,
        run=lambda mind, scope, given: mind.patterns(scope).list()),
    Verb("patterns_add", "Say what to do when something comes up.", "Pattern", TAKES_BACK, (
        Argument("trigger", "name", "the words that bring it up; of 'a + b' both must", required=True, first=True),
        Argument("response", "text", "what to do then", required=True, first=True, stdin=True),
        Argument("confidence", "share", "how sure it is, 0 to 1", default=0.8),
        Argument("learned_from", "name", "the file, or the id of the memory, that it comes from"),
    ), {"trigger": "n8n + 401", "response": "look at the token in the query first"}, command="patterns add", unscoped="member",
        run=lambda mind, scope, given: mind.patterns(scope).add(**given)),
    Verb("patterns_remove", "Forget a pattern; it can be undone.", "Commit", TAKES_BACK, (_PATTERN,),
        {"named": "n8n + 401"}, command="patterns remove", run=lambda mind, scope, given: mind.patterns(scope).remove(**given)),
    Verb("patterns_match", "Show the patterns that a text brings up, the best first.", "list of Match", READS, (
        Argument("text", "text", "a message", required=True, first=True, stdin=True),
        Argument("limit", "number", "at most so many", default=5),
    ), {"text": "the webhook of n8n gives 401"}, command="patterns match",
        run=lambda mind, scope, given: mind.patterns(scope).match(**given)),
    Verb("patterns_used", "Count that a pattern was followed.", "Pattern", TAKES_BACK, (_PATTERN,),
        {"named": "n8n + 401"}, command="patterns used", run=lambda mind, scope, given: mind.patterns(scope).used(**given)),
    # what is held only for now, and people
    Verb("working", "Show what a session is busy with.", "Working, or nothing", READS, unscoped="member",
        run=lambda mind, scope, given: mind.working(scope).get()),
    Verb("working_replace", "Put down what a session is busy with, in place of what was there.", "Working", WRITES, (
        Argument("task", "text", "what is being done"),
        Argument("context", "names", "what to keep in mind; one or more lines"),
        Argument("pending", "names", "what is still to do; one or more lines"),
        Argument("notes", "text", "anything else"),
        Argument("content", "text", "instead: 'Task:', 'Context:' and 'Pending:' lines, and notes", stdin=True),
    ), {"task": "ship the release", "pending": ["tests", "docs"]}, command="working replace", unscoped="member",
        run=lambda mind, scope, given: mind.working(scope).replace(**given)),
    Verb("working_clear", "Clear what a session is busy with.", "nothing", WRITES, command="working clear",
        unscoped="member", run=lambda mind, scope, given: mind.working(scope).clear()),
    Verb("scratchpad", "Show the scratchpad of a task.", "text, or nothing", READS, (_TASK,), {"task": "release"},
        unscoped="member", run=lambda mind, scope, given: mind.scratchpad(scope, **given).get()),
    Verb("scratchpad_replace", "Write the scratchpad of a task anew.", "text", WRITES, (_NEW_TEXT, _TASK),
        {"text": "tests are green", "task": "release"}, command="scratchpad replace", unscoped="member",
        run=lambda mind, scope, given: mind.scratchpad(scope, given.get("task", "")).replace(given["text"])),
    Verb("scratchpad_clear", "Clear the scratchpad of a task.", "nothing", WRITES, (_TASK,), {"task": "release"},
        command="scratchpad clear", unscoped="member",
        run=lambda mind, scope, given: mind.scratchpad(scope, **given).clear()),
    Verb("chat_context", "Show what kind of chat a session is.", "text, or nothing", READS, command="chat-context",
        unscoped="member", run=lambda mind, scope, given: mind.chat_context(scope).get()),
    Verb("chat_context_replace", "Say what kind of chat a session is.", "text", WRITES, (_NEW_TEXT,),
        {"text": "a group that plans climbing trips"}, command="chat-context replace", unscoped="member",
        run=lambda mind, scope, given: mind.chat_context(scope).replace(given["text"])),
    Verb("chat_context_clear", "Clear what kind of chat a session is.", "nothing", WRITES, command="chat-context clear",
        unscoped="member", run=lambda mind, scope, given: mind.chat_context(scope).clear()),
    Verb("recent", "Show the turns of the last quarter of an hour.", "list of Memory", READS, unscoped="member",
        run=lambda mind, scope, given: mind.recent(scope).get()),
    Verb("recent_clear", "Start the short-term window anew; the turns stay remembered.", "nothing", WRITES,
        command="recent clear", unscoped="member", run=lambda mind, scope, given: mind.recent(scope).clear()),
    Verb("people", "List the people known here.", "list of Person", READS, unscoped="member",
        run=lambda mind, scope, given: mind.people.list(scope)),
    Verb("people_find", "Find people by a name, an account or a mention such as <@283749>.", "list of Person", READS, (
        _CALLED,
    ), {"name": "Ana"}, command="people find", unscoped="member",
        run=lambda mind, scope, given: mind.people.find(**given, scope=scope)),
    Verb("people_alias", "Make a person's name known.", "Person", TAKES_BACK, (_PERSON, _CALLED),
        {"id": "283749", "name": "Ana"}, command="people alias", unscoped="member",
        run=lambda mind, scope, given: mind.people.alias(**given, scope=scope)),
    Verb("people_update", "Say where a person is and which language they speak.", "Person", TAKES_BACK, (
        _PERSON,
        Argument("zone", "name", "an IANA time zone"),
        Argument("language", "name", "a language code"),
        Argument("accounts", "names", "accounts they use"),
    ), {"id": "283749", "zone": "America/Mexico_City", "language": "es"}, command="people update", unscoped="member",
        run=lambda mind, scope, given: mind.people.update(**given, scope=scope)),
    Verb("people_optout", "Keep nothing more of what a person says.", "Person", TAKES_BACK, (
        _PERSON, Argument("out", "flag", "false: keep it again", default=True),
    ), {"id": "283749"}, command="people optout", unscoped="member",
        run=lambda mind, scope, given: mind.people.optout(**given, scope=scope)),
    # proposals
    Verb("proposals", "List changes that wait for a person's yes.", "list of Proposal", KEEPS),
    Verb("propose", "Ask a person to let a memory be forgotten.", "Proposal", WRITES, (
        Argument("verb", "name", "what should be done", required=True, first=True, choices=("forget",)),
        _ID,
        Argument("reason", "text", "why, for the person who decides"),
    ), {"verb": "forget", "id": "ID", "reason": "it is out of date"}, command="proposals add"),
    Verb("approve", "Do what a proposal asks for.", "Commit", KEEPS, (
        _PROPOSAL, Argument("hash", "name", "the hash that was shown with it", required=True, first=True),
    ), {"id": "ID", "hash": "HASH"}, command="proposals approve"),
    Verb("reject", "Turn a proposal down.", "nothing", KEEPS, (_PROPOSAL,), {"id": "ID"}, command="proposals reject"),
    # quarantine
    Verb("quarantine", "List what was refused in the last month, and why.", "list of Quarantined", KEEPS),
    Verb("quarantine_show", "Show one refused item, with all that is known of it.", "Quarantined", KEEPS, (_REFUSED,),
        {"id": "ID"}, command="quarantine show", run=_quarantine_show),
    Verb("allow", "Take a refused item in after all, as told by hand.", "Memory", KEEPS, (_REFUSED,), {"id": "ID"},
        command="quarantine allow"),
    Verb("drop", "Let go of a refused item for good.", "nothing", KEEPS, (_REFUSED,), {"id": "ID"},
        command="quarantine drop"),
    # keep
    Verb("actions", "Show what learning and embedding did last: kinds, ids and codes.", "list of Action", KEEPS, (
        Argument("limit", "number", "at most so many", default=50),
    ), {"limit": 20}, unscoped="whole", run=lambda mind, scope, given: mind.actions(**given)),
    Verb("export", "Write everything, or what a scope sees, as JSON lines.", "path", EXPORTS, (_FILE_TO_WRITE,),
        {"path": "memories.jsonl"}, unscoped="every"),
    Verb("load", "Read an export.", "Loaded", KEEPS, (
        Argument("path", "path", "the file to read", required=True, first=True),
        Argument("format", "name", "what wrote it", default="reverie", choices=("reverie",)),
        _DRY_RUN,
    ), {"path": "memories.jsonl", "dry_run": True}, command="import", unscoped="whole",
        run=lambda mind, scope, given: mind.load(**given)),
    Verb("backup", "Write a copy of every space into one file.", "path", KEEPS, (_FILE_TO_WRITE,),
        {"path": "reverie.backup"}, unscoped="whole", run=lambda mind, scope, given: mind.backup(**given)),
    Verb("recover", "Put a backup's spaces into a home; what is there is put aside.", "list of spaces", KEEPS, (
        Argument("path", "path", "the backup", required=True, first=True),
    ), {"path": "reverie.backup"}, unscoped="whole", run=_recover),
    Verb("reindex", "Make the vectors that are missing, drop those of other embedders.", "Reindexed", KEEPS, unscoped="whole",
        run=lambda mind, scope, given: mind.reindex(**given), progress=True),
    Verb("health", "Look everything over, changing nothing.", "Health", KEEPS, unscoped="whole",
        run=lambda mind, scope, given: mind.health()),
    Verb("status", "Count what is there.", "Status", READS, unscoped="every"),
)
# fmt: on

BY_NAME: Mapping[str, Verb] = {verb.name: verb for verb in VERBS}
