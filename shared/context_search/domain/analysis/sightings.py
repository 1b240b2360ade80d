"""Where the words of a question are in a text: cheaper than a list of all its tokens."""

from __future__ import annotations

from collections.abc import Collection

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

    def __call__(self, text: str) -> list[Sighting]:
        """Returns those of ``tokens(text)`` that are words of the question, in their order."""
        if not self._words:
            return []
        found: list[Sighting] = []
        at = 0
        normalized = normalize(text)
        has_runs = has_unspaced(normalized)
        for piece in PIECE.findall(normalized):
            if has_runs and is_unspaced(piece):
                if not self._first.isdisjoint(piece):
                    found += self._in_run(piece, at)
                at += 2 * len(piece) - 1
            else:
                names = piece_tokens(piece)
                if not self._words.isdisjoint(names):
                    found += [(i, name) for i, name in enumerate(names, at) if name in self._words]
                at += len(names)
        return found

    def _in_run(self, run: str, at: int) -> list[Sighting]:
        """The same for a run of an unspaced script; see ``characters_and_bigrams``."""
        words = self._words
        starts = [i for i, character in enumerate(run) if character in self._first]
        pairs = ((at + len(run) + i, run[i : i + 2]) for i in starts if i + 1 < len(run))
        return [
            *((at + i, run[i]) for i in starts if run[i] in words),
            *((place, pair) for place, pair in pairs if pair in words),
        ]
