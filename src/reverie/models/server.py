"""What is alike about all servers that are asked over HTTP: their address, their key, and what they say when they refuse.

A key goes to its server and is shown nowhere: not in `repr`, logs or errors, even if the server repeats it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from reverie.errors import BadInput

LONGEST_WAIT_S = 60.0  # a server that asks for more is reported instead of waited for


def address(url: str) -> tuple[str, str]:
    """Return where to ask, without a slash at its end, and the place as part of a name."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in ("http", "https") or parts.query or parts.fragment:
        raise BadInput("the url of a server must look like https://api.openai.com/v1 or http://localhost:11434/v1")
    if parts.username is not None:
        raise BadInput("the url of a server must not hold a name or password; the key has a setting of its own")
    host = f"[{host}]" if ":" in host else host
    place = host if port is None else f"{host}:{port}"
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{place}{path}", place + path.removesuffix("/v1")


def checked_key(key: str | None, setting: str, wanted_by: str | None) -> str | None:
    """Return a key that can be sent, or None unless somebody wants one; `setting` is what the user sets it by."""
    key = key.strip() if key else None
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise BadInput(f"the key in {setting} holds characters that no key has; copy it again")
    if not key and wanted_by:
        raise BadInput(f"{wanted_by} wants a key and none is set; set {setting}")
    return key or None


def one_line(text: str, key: str | None) -> str:
    """Return what a server said, in one short line without the key."""
    if key:
        text = text.replace(key, "[key]")
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:2000]).split())
    return line if len(line) <= 200 else f"{line[:199]}…"
