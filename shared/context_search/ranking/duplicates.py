"""Near-duplicates among the hits of a search, each shown once.

Filings, contracts and manuals repeat their sections word by word or nearly so. Of such hits the
best is shown, and of the others where they are: docs/quality.md has what that gains and costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import add

from context_search.core.model import HydratedChunk
from context_search.ranking.search import MAX_PLACES, Hit
from context_search.text.analysis.normalization import normalize
from context_search.text.analysis.terms import PIECE, is_unspaced

ALIKE = 0.8
"""Least share of the shingles of two texts that both have (Jaccard), for them to be duplicates."""
_MARKS = 1_024


def shingles(text: str) -> frozenset[str]:
    """Returns the pairs of neighbouring words of a text, stop words too, and of Han and the like.

    >>> sorted(shingles("Rain is not covered: 不包括"))
    ['covered 不包括', 'is not', 'not covered', 'rain is', '不包', '包括']
    """
    words = PIECE.findall(normalize(text).casefold())
    found = set(map(" ".join, pairwise(words))) or set(words)
    for word in words:
        if is_unspaced(word):
            found.update(map(add, word, word[1:]))
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class _Text:
    """The shingles of a text, and a mark for each: see ``is_like``."""

    shingles: frozenset[str]
    marks: int

    @classmethod
    def of(cls, text: str) -> _Text:
        """Analyses a text."""
        found, marks = shingles(text), bytearray(_MARKS)
        for shingle in found:
            marks[hash(shingle) % _MARKS] = 1
        return cls(found, int.from_bytes(marks))

    def is_like(self, other: _Text) -> bool:
        """Says whether both have nearly the same shingles.

        What differs in so many marks differs in at least as many of them, and numbers are compared
        faster than sets.
        """
        both = len(self.shingles) + len(other.shingles)
        most = both * (1.0 - ALIKE) / (1.0 + ALIKE)  # shingles that only one of them has
        if (self.marks ^ other.marks).bit_count() > most:
            return False
        common = len(self.shingles & other.shingles)
        return common >= ALIKE * (both - common) > 0


@dataclass(slots=True)
class _Shown:
    hit: Hit
    words: frozenset[str]
    text: _Text
    places: list[HydratedChunk] = field(default_factory=list)


def collapsed(hits: Sequence[Hit], shown: int | None = None) -> list[Hit]:
    """Returns the best hits that are no duplicates of one before; None: all of those.

    A duplicate has nearly the same text and no word of the question that the hit before has not.
    Each hit has the first MAX_PLACES of its duplicates, best first, and their number. Hits without
    a text, as there are behind the first ones of a long linear ranking, are duplicates of nothing.
    """
    kept, compared = list[_Shown](), list[_Shown]()
    for hit in hits:
        words = frozenset(hit.evidence.matched if hit.evidence else ())
        # Thousands may have no text: they are compared with nothing, and nothing with them.
        others = compared if hit.chunk.chunk_text else ()
        near, has_room = [one for one in others if words <= one.words], len(kept) != shown
        if not (near or has_room):
            continue
        text = _Text.of(hit.chunk.chunk_text)
        if alike := next((one for one in near if one.text.is_like(text)), None):
            alike.places.append(hit.chunk)
        elif has_room:
            kept.append(_Shown(hit, words, text))
            if text.shingles:
                compared.append(kept[-1])
    return [
        replace(one.hit, duplicates=one.places[:MAX_PLACES], duplicates_total=len(one.places))
        for one in kept
    ]
