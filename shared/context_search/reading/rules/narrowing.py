"""Pieces of a literal, one of which is in every text that it stands in: Postgres looks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from context_search.text.literals import Literal, fold

MAX_PIECE_CHARS = 32
MAX_SPELLINGS = 8
"""Maximum number of spellings of a piece: each is looked for by itself."""
CASED = range(0x80, 0x1F000)
"""Where the characters are that are in upper case and not ASCII."""
_MAX_HINTS = 2
_SELECTIVE_CHARS = 8
_KELVIN = "\u212a"  # whose lower case is k; no other letter of ASCII has such another


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What a text must hold so that a literal may stand in it.

    One of ``pieces``, once the ASCII letters of the text are in lower case where it ``is_folded``:
    pieces without such letters need not wait for that.
    """

    pieces: Sequence[str]
    is_folded: bool

    @classmethod
    def of(cls, literal: Literal, *, case_sensitive: bool) -> Narrowing:
        """Returns the pieces of a literal."""
        pieces = {
            piece
            for form in literal.forms
            for piece in ([form[:MAX_PIECE_CHARS]] if case_sensitive else _spellings(form))
        }
        has_letters = any(char.isascii() and char.isalpha() for char in "".join(pieces))
        return cls(sorted(pieces), has_letters and not case_sensitive)

    @property
    def longest(self) -> int:
        """Returns the length of the longest piece."""
        return max(map(len, self.pieces))

    @property
    def hints(self) -> Sequence[str]:
        """Returns two texts at most, one of which is in each piece; none where pieces are few.

        Most texts have none of them, and need not be looked through for so many pieces.
        """
        if len(self.pieces) < MAX_SPELLINGS:
            return ()
        shortest = min(map(len, self.pieces))
        parts = [
            {piece[start:end] for piece in self.pieces}
            for start, end in combinations(range(shortest + 1), 2)
        ]
        few = [part for part in parts if len(part) <= _MAX_HINTS]
        return sorted(max(few, key=lambda part: (len(min(part)), len(part)), default=()))

    @property
    def is_in_ascii(self) -> bool:
        """Whether a text of ASCII may hold a piece."""
        return any(piece.isascii() for piece in self.pieces)


def _spellings(form: str) -> Iterable[str]:
    """Returns how the most telling run of a folded text may be spelt, but for ASCII letters."""
    ways = [_ways(char) for char in form]
    _, start, end = max(_runs(ways), key=lambda run: run[0])
    spelt = [""]
    for each in ways[start:end]:
        spelt = [before + char for before in spelt for char in each]
    return spelt


def _runs(ways: Sequence[Sequence[str]]) -> Iterable[tuple[tuple[int, int, int], int, int]]:
    """Yields the longest run from each character on, with what it is worth."""
    for start in range(len(ways)):
        spellings, end = 1, start
        while end < min(len(ways), start + MAX_PIECE_CHARS):
            if spellings * len(ways[end]) > MAX_SPELLINGS:
                break
            spellings *= len(ways[end])
            end += 1
        length = end - start
        yield (min(length, _SELECTIVE_CHARS), -spellings, length), start, end


def _ways(char: str) -> Sequence[str]:
    """Returns the characters that fold to one, with ASCII letters in lower case."""
    if char.isascii():
        return (char, _KELVIN) if char == "k" else (char,)
    return (char, *_others().get(char, ()))


@cache
def _others() -> Mapping[str, Sequence[str]]:
    """Returns by each character those others, beyond ASCII, that fold to it."""
    others: dict[str, list[str]] = {}
    for char in map(chr, CASED):
        if (char.lower() != char or char == "ς") and (folded := fold(char)) != char:
            others.setdefault(folded, []).append(char)
    return others
