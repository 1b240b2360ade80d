"""Words and identifiers: where a joined piece is cut, and what token each part becomes."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from Stemmer import Stemmer

from .stop_words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TOKEN_CHARACTERS = 128
MAX_TOKEN_BYTES = 254
"""turbopuffer drops tokens over ``max_token_length``: 39 bytes by default, 254 at most."""

# A name is cut at each of these in turn: what encloses names, what joins them, what joins
# their words, then between letters and digits, then where ASCII case changes (HTTP|Server, URLs).
_SEPARATORS = tuple(re.compile(f"[^{characters}]++") for characters in ("/@&", ".'", "_-"))
_DIGITS = re.compile("[0-9]++|[^0-9]++")
_HUMPS = re.compile("[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LEVELS = (*_SEPARATORS, _DIGITS, _HUMPS)
_MAX_UNSEPARATED_PARTS = 12  # of one name; more of them make a hash or base64, not words


class _PerThread(threading.local):
    """PyStemmer: "must not be called concurrently". Its cache is slower than stemming."""

    def __init__(self) -> None:
        self.stem = Stemmer("english", 0).stemWord


_ENGLISH = _PerThread()


def token_of(name: str) -> str:
    """Case-folded, stemmed where it is all ASCII letters, cut to the limits; "" for stop words."""
    folded = name[:MAX_TOKEN_CHARACTERS].casefold()[:MAX_TOKEN_CHARACTERS]
    if folded in STOP_WORDS:
        return ""
    if folded.isascii():
        return str(_ENGLISH.stem(folded)) if folded.isalpha() else folded
    return folded.encode()[:MAX_TOKEN_BYTES].decode(errors="ignore")


def is_plain_word(piece: str) -> bool:
    """Says that the whole is the only name in a piece; most words are ``plain`` or ``Plain``."""
    return piece.isascii() and piece.isalpha() and (len(piece) == 1 or piece[1:].islower())


def name_spans(piece: str) -> Iterator[tuple[int, int]]:
    """Spans of the names in a piece, the whole first, then its parts level by level.

    ``docs/read_v2.md``: all of it, ``docs``, ``read_v2.md``, ``read_v2``, ``read``, ``v2``,
    ``v``, ``2``, ``md``. A possessive 's is left out; a contraction has no spans.
    """
    if piece.casefold() in STOP_WORDS:
        return iter(())
    end = len(piece) - 2 if piece.endswith(("'s", "'S")) else len(piece)
    return _spans(piece, 0, end, 0)


def _spans(piece: str, start: int, end: int, level: int) -> Iterator[tuple[int, int]]:
    if level == len(_LEVELS):
        yield start, end
        return
    parts = _parts(piece, start, end, level)
    if len(parts) != 1:
        yield start, end
    for part in parts:
        yield from _spans(piece, *part, level + 1)


def _parts(piece: str, start: int, end: int, level: int) -> list[tuple[int, int]]:
    """The parts of a name at one level; none for digits alone or what is not made of words."""
    cut = _LEVELS[level]
    if cut is _HUMPS and not piece[start:end].isascii():
        return [(start, end)]
    parts = [match.span() for match in cut.finditer(piece, start, end)]
    return parts if cut in _SEPARATORS or len(parts) <= _MAX_UNSEPARATED_PARTS else []
