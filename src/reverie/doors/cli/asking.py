"""What is shown, and asked, before something goes: previews of an erase or a wide forget, and proposals chosen by number."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from reverie.doors.cli.call import Call, agreed
from reverie.doors.cli.show import Page, a_preview, a_wish, coloured
from reverie.doors.verbs import BY_NAME, Verb
from reverie.errors import BadInput, NotFound

if TYPE_CHECKING:
    from reverie.memory.scope import Scope
    from reverie.memory.trace import Memory
    from reverie.mind import Mind

PREVIEW = 10
NUMBER = re.compile("[0-9]{1,9}")


def going(verb: Verb, mind: Mind, scope: Scope | None, plan: Any) -> list[Memory]:
    """Return the memories that a dry run names, as they last were: an erase takes forgotten ones too."""
    ids = plan.erased if verb.destructive else plan.retired
    return [mind.history(id, scope=scope)[-1] for id in ids]


def may_go_on(call: Call, verb: Verb, mind: Mind, scope: Scope | None, arguments: dict[str, Any], yes: bool) -> bool:
    """Show what is about to go and ask; an erase without anyone to ask needs --yes, what can be undone does not.

    What was only found by asking is put among the arguments.
    """
    if verb.name in ("approve", "reject"):
        return _decided(call, verb, mind, arguments, yes)
    wide = verb.name == "forget" and "query" in arguments
    if yes or arguments.get("dry_run") or not (verb.destructive or wide):
        return True
    if not sys.stdin.isatty():
        if verb.destructive:
            raise BadInput("an erase cannot be undone and nobody can be asked here; look at it with --dry-run, then say --yes")
        return True
    memories = going(verb, mind, scope, verb.call(mind, scope, {**arguments, "dry_run": True}, call.zone))
    person = arguments.get("person")
    if not memories and person is None:
        arguments["dry_run"] = True  # nothing to ask about; and nothing may go that was not shown
        return True
    page = _before(call)
    a_preview(page, verb.name, memories, person, PREVIEW)
    how = "Erase these for good" if verb.destructive else "Forget these (it can be undone)"
    return _agreed(page, f"{how}: {len(memories):,} in all?" if memories else f"Erase all that is held for {person} for good?")


def _decided(call: Call, verb: Verb, mind: Mind, arguments: dict[str, Any], yes: bool) -> bool:
    """Put the proposal that a number stands for in its place; unless a hash says what was seen, show it and ask."""
    if not NUMBER.fullmatch(arguments["id"]):
        if verb.name == "approve" and "hash" not in arguments:
            raise BadInput("an approval by id needs the hash that was shown with it; a number in reverie proposals does not")
        return True
    scope = call.scope(BY_NAME["proposals"], {})
    waiting, number = mind.proposals(scope), int(arguments["id"])
    if not 1 <= number <= len(waiting):
        raise NotFound(f"no proposal {number} here; there are {len(waiting)}")
    proposal = waiting[number - 1]
    arguments["id"] = proposal.id
    if "hash" in arguments:
        return True
    if verb.name == "approve":
        arguments["hash"] = proposal.hash
    page = _before(call)
    a_wish(page, proposal)
    return yes or not sys.stdin.isatty() or _agreed(page, f"{verb.name.capitalize()} it?")


def _before(call: Call) -> Page:
    return Page(sys.stderr, coloured(sys.stderr), call.zone, bool(call.full))


def _agreed(page: Page, question: str) -> bool:
    if agreed(question):
        return True
    page.line("nothing was changed")
    return False
