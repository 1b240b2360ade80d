"""Ranked lists: what ``rank_by`` may say, and the best rows for it.

Distances are better when lower, BM25 scores when higher; equal ones are ordered by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.column import Ranks, ScalarColumn
from local.turbopuffer.document_index import DocumentIndex
from local.turbopuffer.growing import Mask, Rows
from local.turbopuffer.schema import ID
from local.turbopuffer.text_index import Scores
from local.turbopuffer.vectors import Matrix

Hit = tuple[int, Any]
"""A row, and its distance or score as numpy.float32 (None when ordered by attributes)."""


class Ranking(Protocol):
    """An order on rows."""

    def best(self, index: DocumentIndex, visible: Mask, matching: Mask, count: int) -> list[Hit]:
        """The first ``count`` of the ``matching`` rows (a part of the ``visible`` ones)."""
        ...


class TextScore(Protocol):
    """A score per row, made of BM25 clauses."""

    def scores(self, index: DocumentIndex, visible: Mask) -> Scores:
        """The score of every row; 0 for no match."""
        ...


@dataclass(frozen=True, slots=True)
class ByVector:
    """Nearest first. ANN and kNN alike are exact here."""

    name: str
    vector: Matrix

    def best(self, index: DocumentIndex, visible: Mask, matching: Mask, count: int) -> list[Hit]:
        """The nearest rows."""
        del visible
        rows = np.flatnonzero(matching)
        distances = index.vectors[self.name].distances(self.vector, rows)
        return _lowest(index, rows, distances, count)


@dataclass(frozen=True, slots=True)
class ByText:
    """Highest score first; rows that score nothing are left out."""

    score: TextScore

    def best(self, index: DocumentIndex, visible: Mask, matching: Mask, count: int) -> list[Hit]:
        """The rows that score best."""
        scores = self.score.scores(index, visible)
        rows = np.flatnonzero(matching & (scores > 0))
        lowest = _lowest(index, rows, -scores[rows].astype(np.float32), count)
        return [(row, -score) for row, score in lowest]


@dataclass(frozen=True, slots=True)
class ByAttributes:
    """In the order of attributes (name, descending); null comes first ascending."""

    order: Sequence[tuple[str, bool]]

    def best(self, index: DocumentIndex, visible: Mask, matching: Mask, count: int) -> list[Hit]:
        """The first rows."""
        del visible
        rows = np.flatnonzero(matching)
        keys = [
            -_ranks(index, name)[rows] if descending else _ranks(index, name)[rows]
            for name, descending in self.order
        ]
        ordered = rows[np.lexsort((_ranks(index, ID)[rows], *reversed(keys)))[:count]]
        return [(int(row), None) for row in ordered]


@dataclass(frozen=True, slots=True)
class Bm25:
    """One text clause."""

    name: str
    tokens: Sequence[str]

    def scores(self, index: DocumentIndex, visible: Mask) -> Scores:
        """The clause's score per row."""
        return index.texts[self.name].scores(self.tokens, visible)


@dataclass(frozen=True, slots=True)
class Combined:
    """The sum or the maximum of clauses."""

    parts: Sequence[TextScore]
    maximum: bool

    def scores(self, index: DocumentIndex, visible: Mask) -> Scores:
        """The combined score per row."""
        combine = np.maximum if self.maximum else np.add
        total = np.zeros(len(index.ids))
        for part in self.parts:
            total = combine(total, part.scores(index, visible))
        return total


@dataclass(frozen=True, slots=True)
class Weighted:
    """A clause times a number."""

    weight: float
    part: TextScore

    def scores(self, index: DocumentIndex, visible: Mask) -> Scores:
        """The weighted score per row."""
        return self.weight * self.part.scores(index, visible)


def _ranks(index: DocumentIndex, name: str) -> Ranks:
    return cast(ScalarColumn, index.columns[name]).ranks()


def _lowest(index: DocumentIndex, rows: Rows, values: NDArray[np.float32], count: int) -> list[Hit]:
    """The ``count`` rows with the lowest values; all that tie with the last are weighed by id."""
    if len(rows) > count:
        threshold = np.partition(values, count - 1)[count - 1]
        near = values <= threshold
        rows, values = rows[near], values[near]
    hits: list[Hit] = list(zip(rows.tolist(), values, strict=True))
    hits.sort(key=lambda hit: (hit[1], index.ids[hit[0]]))
    return hits[:count]
