"""An inverted index in memory: term -> (rows, counts), rows ascending.

Every batch becomes one immutable sorted segment; segments of like size are merged, so each
posting is copied O(log n) times (the logarithmic method of O'Neil et al., LSM-tree, 1996).
A posting is one int64 ``term number << 32 | row``, which makes lookup two binary searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.columns import Rows

_ROW_BITS = 32
_ROW_MASK = np.int64((1 << _ROW_BITS) - 1)


@dataclass(frozen=True, slots=True)
class _Segment:
    """Sorted keys and how often each term occurs in its row."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, term: int) -> slice:
        first, last = np.searchsorted(self.keys, [term << _ROW_BITS, (term + 1) << _ROW_BITS])
        return slice(int(first), int(last))


class Postings:
    """Terms and the rows that hold them. Rows are numbered by the caller."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}
        self._segments: list[_Segment] = []

    def add(self, first_row: int, bags: Sequence[Sequence[str]]) -> None:
        """Index ``bags[i]`` as row ``first_row + i``; rows must only ever grow."""
        numbers = self._numbers(list(chain.from_iterable(bags)))
        if not len(numbers):
            return
        lengths = np.fromiter(map(len, bags), np.int64, len(bags))
        rows = np.repeat(np.arange(first_row, first_row + len(bags), dtype=np.int64), lengths)
        keys, counts = np.unique((numbers << _ROW_BITS) | rows, return_counts=True)
        self._segments.append(_Segment(keys, counts.astype(np.int32)))
        while len(self._segments) > 1 and len(self._segments[-2]) < 2 * len(self._segments[-1]):
            newer = self._segments.pop()
            self._segments.append(_merge(self._segments.pop(), newer))

    def lookup(self, term: str) -> tuple[Rows, NDArray[np.int32]]:
        """Rows that hold ``term``, ascending, and its count in each."""
        number = self._terms.get(term)
        if number is None:
            return np.empty(0, np.intp), np.empty(0, np.int32)
        found = [(segment, segment.find(number)) for segment in self._segments]
        rows = [segment.keys[where] & _ROW_MASK for segment, where in found]
        counts = [segment.counts[where] for segment, where in found]
        return np.concatenate(rows).astype(np.intp, copy=False), np.concatenate(counts)

    def lookup_any(self, terms: Sequence[str]) -> Rows:
        """Rows that hold one of the terms; a row may come several times."""
        return np.concatenate([np.empty(0, np.intp), *(self.lookup(term)[0] for term in terms)])

    def keep(self, rows: Rows, total: int) -> None:
        """Keep ``rows`` (ascending) of ``total`` and renumber them from 0."""
        renumbered = np.full(total, -1, np.int64)
        renumbered[rows] = np.arange(len(rows))
        kept = [_renumber(segment, renumbered) for segment in self._segments]
        self._segments = [segment for segment in kept if len(segment)]

    def _numbers(self, terms: Sequence[str]) -> NDArray[np.int64]:
        known = self._terms
        for term in set(terms).difference(known):
            known[term] = len(known)
        return np.fromiter(map(known.__getitem__, terms), np.int64, len(terms))


def _merge(older: _Segment, newer: _Segment) -> _Segment:
    """One sorted segment of two, in linear time for the older."""
    places = np.searchsorted(older.keys, newer.keys) + np.arange(len(newer))
    keys = np.empty(len(older) + len(newer), np.int64)
    counts = np.empty(len(keys), np.int32)
    from_older = np.ones(len(keys), np.bool_)
    from_older[places] = False
    keys[places], counts[places] = newer.keys, newer.counts
    keys[from_older], counts[from_older] = older.keys, older.counts
    return _Segment(keys, counts)


def _renumber(segment: _Segment, renumbered: NDArray[np.int64]) -> _Segment:
    rows = renumbered[segment.keys & _ROW_MASK]
    kept = rows >= 0
    return _Segment((segment.keys[kept] & ~_ROW_MASK) | rows[kept], segment.counts[kept])
