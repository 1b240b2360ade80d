"""Values of one attribute by row, in numpy arrays that grow by doubling.

Appending n rows copies O(n) in total.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.documents import Matrix
from local.turbopuffer.schema import EUCLIDEAN

Scalar = TypeVar("Scalar", bound=np.generic)
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
# Below this share of all rows, gathering the selected ones beats multiplying the whole matrix.
_GATHER_SHARE = 0.3
# The same vector in two rows must tie whatever BLAS rounds, so that ids decide the order.
_DISTANCE_DECIMALS = 6
_BLOCK = 8_192


class GrowingArray(Generic[Scalar]):
    """Rows of ``dtype``: scalars, or vectors of ``width`` elements."""

    def __init__(self, dtype: type[Scalar], width: int | None = None) -> None:
        self._tail = () if width is None else (width,)
        self._buffer: NDArray[Any] = np.empty((0, *self._tail), dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        """Rows in use."""
        return self._size

    @property
    def view(self) -> NDArray[Scalar]:
        """The rows in use, without a copy; valid until the next ``extend`` or ``keep``."""
        return self._buffer[: self._size]

    def extend(self, values: NDArray[Any]) -> None:
        """Append ``values``."""
        needed = self._size + len(values)
        if needed > len(self._buffer):
            grown = np.empty((max(needed, 2 * len(self._buffer)), *self._tail), self._buffer.dtype)
            grown[: self._size] = self.view
            self._buffer = grown
        self._buffer[self._size : needed] = values
        self._size = needed

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` (ascending) and renumber them from 0."""
        self._buffer = self._buffer[rows]
        self._size = len(rows)


class IntColumn:
    """An int attribute by row, and which rows have a value."""

    def __init__(self) -> None:
        self._values = GrowingArray(np.int64)
        self._present = GrowingArray(np.bool_)

    def extend(self, values: Sequence[int | None]) -> None:
        """Append one value (or None) per new row."""
        self._values.extend(np.array([0 if v is None else v for v in values], np.int64))
        self._present.extend(np.array([value is not None for value in values], np.bool_))

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` (ascending) and renumber them from 0."""
        self._values.keep(rows)
        self._present.keep(rows)

    def any_of(self, values: Sequence[int]) -> Mask:
        """Rows whose value is one of ``values``."""
        return np.isin(self._values.view, np.array(values, np.int64)) & self._present.view


class VectorColumn:
    """Vectors with their squared norms, and exact distances (the service's ANN approximates)."""

    def __init__(self, dimensions: int, metric: str) -> None:
        self._metric = metric
        self._vectors = GrowingArray(np.float32, dimensions)
        self._squares = GrowingArray(np.float32)

    def vector(self, row: int) -> Matrix:
        """A copy of one row."""
        vector: Matrix = self._vectors.view[row].copy()
        return vector

    def extend(self, matrix: Matrix) -> None:
        """Append one row per document."""
        self._vectors.extend(matrix)
        self._squares.extend(np.einsum("ij,ij->i", matrix, matrix))

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` (ascending) and renumber them from 0."""
        self._vectors.keep(rows)
        self._squares.keep(rows)

    def distances(self, query: Matrix, rows: Rows) -> NDArray[np.float32]:
        """The distance from ``query`` to each of ``rows``; lower is nearer."""
        if self._metric == EUCLIDEAN:
            return self._squared(query, rows)
        vectors = self._vectors.view
        # A row at a time takes half of what BLAS takes for the matrix.
        if len(rows) < _GATHER_SHARE * len(vectors):
            dots = np.vecdot(vectors[rows], query)
        else:
            dots = np.vecdot(vectors, query)[rows]
        norms = np.sqrt(self._squares.view[rows]) * math.sqrt(float(query @ query))
        distances = 1 - np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
        rounded: NDArray[np.float32] = np.round(distances, _DISTANCE_DECIMALS)
        return rounded + np.float32(0)  # no negative zero

    def _squared(self, query: Matrix, rows: Rows) -> NDArray[np.float32]:
        """Squared differences, and not squares less products: those cancel far from the origin."""
        found = np.empty(len(rows), np.float32)
        for first in range(0, len(rows), _BLOCK):
            some = slice(first, first + _BLOCK)
            away = self._vectors.view[rows[some]] - query
            np.einsum("ij,ij->i", away, away, out=found[some])
        return found
