"""What an error advises, in the words of each door: the library names its calls, a terminal has commands, a model tools."""

from __future__ import annotations

import re
from collections.abc import Mapping

COMMANDS: Mapping[str, str] = {
    r"recall\(\) and scan\(\) list": "reverie recall and reverie list show",
    r"proposals\(\)": "reverie proposals",
    r"quarantine\(\)": "reverie quarantine",
    r"where a person may allow\(\) it": "where you may allow it",
    r"patterns\(\)\.list\(\) shows": "reverie patterns shows",
    r"history\(\)": "reverie history",
    r"restore\(\)": "reverie restore",
    r"log\(\)": "reverie log",
    r"export\(\)": "reverie export",
    r"clear\(\)": "reverie working clear",
    r"observe\(\)'s": "observe's",
    r"observe\(\)": "reverie observe",
    r"people\.alias\(id, name\)": "reverie people alias ID NAME",
    r"people\.optout\(id, False\)": "reverie people optout ID --no-out",
    r"reverie\.recover\(BACKUP, HOME\)": "reverie recover BACKUP",
    r"as Scope\.owner\('[^']*'\)": "with --owner",
    r"open it with embedder='local' \(or another\)": "set one (reverie config set embedder local)",
    r"Scope\(([^()]*)\)": r"(\1)",
    r"audience= only": "audience only",
    r"leave it out \(None\)": "leave it out",
}
TOOLS: Mapping[str, str] = {
    r"recall\(\) and scan\(\) list": "recall finds",
    r"; (log|history)\(\) lists them": "",
    r"restore\(\) brings it back, history\(\) shows it": "a person can bring it back",
    r"clear\(\)": "working_clear",
    r"observe\(\)": "observe",
    r"it waits in quarantine as q-[\w-]+, where a person may allow\(\) it": "it was not kept, but put aside for a person",
    r"it needs a person's approval": "a person has to add it (a pattern by reverie patterns add)",
    r"people\.optout\(id, False\) allows": "a person can allow",
}


def in_words_of(tables: tuple[Mapping[str, str], ...], message: str) -> str:
    """Return an error's message with the library's calls in a door's words."""
    for table in tables:
        for call, words in table.items():
            message = re.sub(rf"(?<!\w){call}", words, message)
    return message


def at_terminal(message: str) -> str:
    """Return a message for somebody at a command line."""
    return in_words_of((COMMANDS,), message)


def for_model(message: str) -> str:
    """Return a message for a model; what no tool does is a person's to do, by a command."""
    return in_words_of((TOOLS, COMMANDS), message)
