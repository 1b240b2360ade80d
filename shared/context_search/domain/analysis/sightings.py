"""Where the words of a question are in a text: cheaper than a list of all its tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from .normalization import normalize
from .pieces import PIECE, has_unspaced, is_unspaced
from .terms import piece_tokens

Sighting = tuple[int, str]
"""A token and its place among all tokens of a text."""


class Lookout:
    """Finds the tokens of a question in texts."""

    def __init__(self, words: Collection[str]) -> None:
        self._words = frozenset(words)
        self._first = frozenset(word[0] for word in words)
        self._pairs = frozenset(word for word in words if len(word) == 2)

    def __call__(self, text: str) -> list[Sighting]:
        """Returns those of ``tokens(text)`` that are words of the question, in their order."""
        if not self._words:
            return []
        normalized = normalize(text)
        pieces = PIECE.findall(normalized)
        if has_unspaced(normalized):
            return self._in_mixed(pieces)
        return self._among(list(chain.from_iterable(map(piece_tokens, pieces))), 0)

    def _in_mixed(self, pieces: Sequence[str]) -> list[Sighting]:
        found: list[Sighting] = []
        at = 0
        for piece in pieces:
            if is_unspaced(piece):
                if not self._first.isdisjoint(piece):
                    found += self._in_run(piece, at)
                at += 2 * len(piece) - 1
            else:
                names = piece_tokens(piece)
                found += self._among(names, at)
                at += len(names)
        return found

    def _in_run(self, run: str, at: int) -> list[Sighting]:
        """Only what begins as a word does; see ``characters_and_bigrams``."""
        words, pairs_at = self._words, at + len(run)
        starts = [i for i, character in enumerate(run) if character in self._first]
        found = [(at + i, run[i]) for i in starts if run[i] in words]
        return found + [
            (pairs_at + i, run[i : i + 2]) for i in starts if run[i : i + 2] in self._pairs
        ]

    def _among(self, names: Sequence[str], at: int) -> list[Sighting]:
        words = self._words
        if words.isdisjoint(names):
            return []
        return [(i, name) for i, name in enumerate(names, at) if name in words]
