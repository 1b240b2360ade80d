"""The vectors of a namespace, and exact cosine distances; the service's ANN approximates them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.documents import Matrix
from local.turbopuffer.growing import GrowingArray, Rows

# Below this share of all rows, gathering the selected ones beats multiplying the whole matrix.
_GATHER_SHARE = 0.3
# The same vector in two rows must tie whatever BLAS rounds, so that ids decide the order.
_DISTANCE_DECIMALS = 6


class VectorColumn:
    """Vectors by row, with their squared norms."""

    def __init__(self, dimensions: int) -> None:
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
        vectors = self._vectors.view
        if len(rows) < _GATHER_SHARE * len(vectors):
            dots = vectors[rows] @ query
        else:
            dots = (vectors @ query)[rows]
        norms = np.sqrt(self._squares.view[rows]) * math.sqrt(float(query @ query))
        distances = 1 - np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
        rounded: NDArray[np.float32] = np.round(distances, _DISTANCE_DECIMALS)
        return rounded + np.float32(0)  # no negative zero
