"""Where the words of a question are in a text: cheaper than a list of all its tokens."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import chain

from .normalization import normalize
from .pieces import PIECE, has_unspaced, is_unspaced
from .terms import piece_tokens

Occurrence = tuple[int, str]
"""Where a token is among all tokens of a text, and the token."""
_STEM_ENDING = 2
_MOST_LOOKED_FOR = 64
"""Beginnings of words; each takes a pass over the text, and all its tokens cost about as much."""


class TermFinder:
    """Finds the tokens of a question in texts."""

    def __init__(self, words: Collection[str]) -> None:
        self._words = frozenset(words)
        self._pairs = frozenset(word for word in words if len(word) == 2)
        self._beginnings = sorted({beginning(word) for word in words}, key=len)
        self._first = re.compile("|".join(map(re.escape, sorted({word[0] for word in words}))))

    def find(self, text: str) -> list[Occurrence]:
        """Returns those of ``tokens(text)`` that are words of the question, in their order."""
        normalized = normalize(text)
        if len(self._beginnings) <= _MOST_LOOKED_FOR:
            folded = normalized.casefold()
            if not any(each in folded for each in self._beginnings):
                return []
        pieces = PIECE.findall(normalized)
        if has_unspaced(normalized):
            return self._in_mixed(pieces)
        return self._among(list(chain.from_iterable(map(piece_tokens, pieces))), 0)

    def _in_mixed(self, pieces: Sequence[str]) -> list[Occurrence]:
        found: list[Occurrence] = []
        at = 0
        for piece in pieces:
            if is_unspaced(piece):
                found += self._in_run(piece, at)
                at += 2 * len(piece) - 1
            else:
                names = piece_tokens(piece)
                found += self._among(names, at)
                at += len(names)
        return found

    def _in_run(self, run: str, at: int) -> list[Occurrence]:
        """Only what begins as a word does; see ``characters_and_bigrams``."""
        words, pairs, pairs_at = self._words, self._pairs, at + len(run)
        starts = [match.start() for match in self._first.finditer(run)]
        if not starts:
            return []
        found = [(at + i, run[i]) for i in starts if run[i] in words]
        found += [(pairs_at + i, pair) for i in starts if (pair := run[i : i + 2]) in pairs]
        return found

    def _among(self, names: Sequence[str], at: int) -> list[Occurrence]:
        words = self._words
        if words.isdisjoint(names):
            return []
        return [(i, name) for i, name in enumerate(names, at) if name in words]


def beginning(word: str) -> str:
    """Returns what every text that has the token has, too, when its case is folded.

    A stem ends otherwise than its words in two letters at most (``abl`` of ability, ``die`` of
    dying), and begins as they do; other tokens are in the text as they are.
    """
    return word[: max(1, len(word) - _STEM_ENDING)] if word.isascii() and word.isalpha() else word
