"""What a model notes in its replies (K5, K6, C6): facts, lore, and what it holds for the session.

A note counts only as far as it rests on what a person just said. Else it may come from anything the model was shown, and is
trusted as little as the least of that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from reverie.learn import quarantine
from reverie.learn.facts import attributed, drawn_from, subject_of
from reverie.learn.ground import grounded
from reverie.learn.ingest import author_of
from reverie.learn.tags import strip_tags, titled
from reverie.memory import check, working
from reverie.memory.episodic import later
from reverie.memory.language import language_of, words_of
from reverie.memory.scope import narrowed, within
from reverie.memory.semantic import LORE
from reverie.memory.trace import DEFAULT_CONFIDENCE, MICROSECOND, Memory, less_trusted
from reverie.memory.working import State
from reverie.recall.show import says_tags
from reverie.store.base import Draft, Store, View, Where, key_of

RECENT = 20  # turns that a model's note may have come from
LORE_CONFIDENCE = 0.72

_NOTES = re.compile(r"<\s*+/?+\s*+(?:(?:chat-|working-)?memory|chat-context)|^[ \t]*+memory line[ \t]*+:", re.I | re.M)
_LORE_LINE = re.compile(r"^[ \t]*+memory line[ \t]*+:[ \t]*+(?P<line>\S[^\n]*+)", re.I | re.M)


def has_notes(reply: str) -> bool:
    """Tell whether a reply may hold notes."""
    return _NOTES.search(reply) is not None


def notes_in(draft: Draft, store: Store, turn: Memory) -> list[Memory]:
    """Put what a model noted for the session in its place, and return the facts it wrote down."""
    facts: list[Memory] = []
    stripped = strip_tags(turn.text)
    written = [(tag.name, *titled(tag.text)) for tag in stripped.tags]
    lines = _LORE_LINE.finditer(stripped.text)
    written += [("lore", None, f"Memory line: {found['line'].rstrip('.')}.") for found in lines]
    before = _before(draft, turn) if written else []
    for name, title, text in written:
        if name == "working-memory":
            _hold(draft, turn, before, "working", f"{title}: {text}" if title else text)
        elif name == "chat-context":
            _hold(draft, turn, before, "context", f"{title}: {text}" if title else text)
        else:
            facts += filter(None, [_noted(draft, store, turn, before, name, title, text)])
    return facts


def _hold(draft: Draft, turn: Memory, before: Sequence[Memory], kind: str, text: str) -> None:
    """Replace what is held for the session, unless something newer stands there or not all of the session may read it."""
    place, at = working.place_of(turn.origin), turn.happened_at or draft.at
    held = draft.state(kind, place)
    if within(place, turn.audience) and (held is None or held.updated_at <= at):
        kept = check.text(text)  # a tag taken out may have held a secret's halves apart
        value = working.to_value(working.parse(kept)) if kind == "working" else {"text": kept}
        telling = {word for word in words_of(kept) if len(word) > 4}
        drawn_on = [one.id for one in before if telling & words_of(one.text)]  # erased, they take it with them
        draft.put_state([State(kind, place, "", {**value, "rests_on": [turn.id, *drawn_on]}, at)])


def _before(view: View, turn: Memory) -> list[Memory]:
    """Return the turns that a reply may have drawn on, newest first."""
    origin, at = turn.origin, turn.happened_at
    room = None if origin.session else origin.channel
    until = None if at is None else later(at, MICROSECOND)
    where = Where(origin, ("turn",), session=origin.session, channel=room, between=(None, until))
    turns = view.fetch([match.key for match in view.newest(where, RECENT + 1)])
    return [one for one in turns if one.id != turn.id][:RECENT]


def _noted(
    draft: Draft, store: Store, turn: Memory, before: Sequence[Memory], name: str, title: str | None, text: str
) -> Memory | None:
    """Return a model's note as the fact it would become; it is put aside where it may come from nobody's own words.

    It is worth as much as the message it answers says of it. Else it may come from anything the model was shown, and is
    trusted as little as the least of that.
    """
    replied = (one for one in before if turn.reply_to and one.message_id == turn.reply_to)
    asked = next(replied, None) or next((one for one in before if one.role == "user"), None)
    is_said = asked is not None and asked.trust in ("hand", "user") and grounded(text, asked.text)
    trust = "agent" if is_said else less_trusted("agent", *(one.trust for one in before), *_shown_trusts(draft, store, turn))
    audience, room = turn.audience, turn.origin.channel
    if is_said and asked is not None and room is not None:  # in a room it is what somebody said, not what is so
        text, trust = attributed(text, asked, language_of(asked.text)), "other"
        audience = narrowed(audience, channel=room)
    if name == "chat-memory" and turn.origin.session:
        audience = narrowed(audience, session=turn.origin.session)
    cited = [turn, asked] if is_said and asked is not None else [turn]
    is_lore = name == "lore"
    sure, extra = LORE_CONFIDENCE if is_lore else DEFAULT_CONFIDENCE, {"type": "lore" if is_lore else "other", "learned": name}
    note = replace(drawn_from(cited, text, text, audience, trust, sure, extra), title=title, subject=LORE if is_lore else None)
    if trust == "agent" and asked is not None:
        about = replace(note, subject=subject_of(asked))
        if any(found.retired_seq is None for found in draft.find_key(key_of(about) or b"")):
            note = about  # what they said themselves, said again
    reason = None
    if asked is not None and says_tags(asked.text):
        reason = "the message it answers held the tag: the model only repeated it"
    elif not is_said and trust != "agent":
        reason = f"a model wrote it down while it read what is trusted as {trust!r} only"
    if reason is None:
        return note
    quarantine.put(draft, note, reason, author_of(turn))
    return None


def _shown_trusts(view: View, store: Store, turn: Memory) -> list[str]:
    """Return the trust of what was last recalled where a model speaks: it may have been shown any of it."""
    last = store.last_recalled(turn.origin)
    recalled = store.recalled(last) if last else None
    found = (view.get(id, Where(turn.origin)) for id in (recalled.ids if recalled else ()))
    return [memory.trust for memory in found if memory is not None]
