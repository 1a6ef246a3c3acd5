"""How text becomes the numbers that BERT models read: uncased WordPiece, id for id that of the original.

Each character is looked at by itself (accents dropped, case folded, ideographs and punctuation set apart), so one table of
characters does the whole clean-up; then the longest known piece is taken off the front of each word, again and again.
Words are not cached: most are one look into the vocabulary, and what was erased must not live on here.
"""

from __future__ import annotations

import string
import unicodedata
from pathlib import Path

from reverie.errors import ModelError

_LONGEST = 100  # characters of a word; the original takes longer ones for unknown. So many for each id are read of a text
_CACHED = 1 << 14  # characters; few texts hold more different ones, and a hostile one must not fill the memory
_UNSEEN = ("Cc", "Cf", "Co", "Cs")
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """A vocabulary and the cutting of texts into its pieces."""

    def __init__(self, vocabulary: Path) -> None:
        try:
            pieces = vocabulary.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as exc:
            raise ModelError(f"cannot read the vocabulary {vocabulary}: {exc}") from exc
        ids = {piece: number for number, piece in enumerate(pieces)}
        try:
            self._start, self._end, self._unknown = ids["[CLS]"], ids["[SEP]"], ids["[UNK]"]
        except KeyError as exc:
            raise ModelError(f"the vocabulary {vocabulary} lacks {exc}; it is not one of an uncased BERT model") from exc
        self._first = ids
        self._further = {piece[2:]: number for piece, number in ids.items() if piece.startswith("##")}
        self._longest = max(map(len, ids))
        self._characters = _Characters()

    def encode(self, text: str, limit: int = 512) -> list[int]:
        """Return the ids of `text` between those of [CLS] and [SEP], cut so that there are at most `limit`."""
        return [self._start, *self._pieces(text, limit - 2), self._end]

    def _pieces(self, text: str, limit: int) -> list[int]:
        found: list[int] = []
        for word in text[: limit * _LONGEST].translate(self._characters).split():
            if len(found) >= limit:
                break
            whole = self._first.get(word)
            if whole is None:
                found += self._taken_apart(word)
            else:
                found.append(whole)
        return found[:limit]

    def _taken_apart(self, word: str) -> list[int]:
        if len(word) > _LONGEST:
            return [self._unknown]
        found, start, known = [], 0, self._first
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = known.get(word[start:end])
                if piece is not None:
                    break
            else:
                return [self._unknown]
            found.append(piece)
            start, known = end, self._further
        return found


class _Characters(dict[int, str]):
    """What each character is read as; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        read = _read(chr(code))
        if len(self) < _CACHED:
            self[code] = read
        return read


def _read(character: str) -> str:
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character) in _UNSEEN:
        return ""
    if character.isspace():
        return " "
    if any(low <= ord(character) <= high for low, high in _IDEOGRAPHS):
        return f" {character} "
    bare = "".join(part.lower() for part in unicodedata.normalize("NFD", character) if unicodedata.category(part) != "Mn")
    return "".join(f" {part} " if part in string.punctuation or unicodedata.category(part)[0] == "P" else part for part in bare)
