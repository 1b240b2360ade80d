"""Dense vectors: reading them from JSON or base64, and exact distances.

Source: turbopuffer.com/docs/write#vectors: base64 is little-endian f32 whatever the column's
width; on the way out it has the column's own width. The service's ANN is approximate, this
one is exact.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.attribute_types import AttributeType
from local.turbopuffer.errors import invalid, malformed
from local.turbopuffer.growing import GrowingArray, Rows

Matrix = NDArray[np.float32]
EUCLIDEAN = "euclidean_squared"
# Squares of larger elements overflow f32; NaN compares as larger too.
MAX_ELEMENT = 1e15
# Below this share of all rows, gathering the selected ones beats multiplying the whole matrix.
_GATHER_SHARE = 0.3
# The same vector in two rows must tie whatever BLAS rounds, so that ids decide the order.
_DISTANCE_DECIMALS = 6


def read_vectors(name: str, column: AttributeType, values: Sequence[Any]) -> Matrix:
    """One row per value, rounded to the column's width; 400 on a wrong length or number."""
    if not values:
        return np.empty((0, column.dimensions), np.float32)
    raw = b"".join(_raw(name, column, value) for value in values)
    matrix = np.frombuffer(raw, "<f4").reshape(len(values), column.dimensions)
    if column.width == 16:
        matrix = _to_f16(matrix).astype(np.float32)
    if not (np.abs(matrix) < MAX_ELEMENT).all():
        raise invalid(f"vector {name!r} has an element that is no number below {MAX_ELEMENT:g}")
    return matrix


def read_query_vector(name: str, column: AttributeType, operand: Any) -> Matrix:
    """The operand of ANN or kNN; 422 when it is no vector at all."""
    is_numbers = isinstance(operand, list) and operand and set(map(type, operand)) <= {int, float}
    if not is_numbers and not isinstance(operand, str):
        raise malformed("data did not match any variant of untagged enum RankInput (vector)")
    row: Matrix = read_vectors(name, column, [operand])[0]
    return row


def dimensions_of(name: str, value: Any) -> int:
    """The dimensions of an undeclared vector; 400 when it is none."""
    if isinstance(value, list):
        return len(value)
    return len(_decode(name, value)) // 4


def to_wire(vector: Matrix, column: AttributeType, encoding: str) -> Any:
    """A stored vector as a response shows it: numbers, or base64 at the column's width."""
    if encoding == "float":
        return vector
    narrow = _to_f16(vector) if column.width == 16 else vector
    return base64.b64encode(narrow.tobytes()).decode()


class VectorColumn:
    """The vectors of one attribute, by row, with their squared norms."""

    def __init__(self, dimensions: int, metric: str) -> None:
        self._metric = metric
        self._vectors = GrowingArray(np.float32, dimensions)
        self._squares = GrowingArray(np.float32)

    @property
    def vectors(self) -> Matrix:
        """All rows, without a copy."""
        return self._vectors.view

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
        vectors, squares = self._vectors.view, self._squares.view[rows]
        if len(rows) < _GATHER_SHARE * len(vectors):
            dots = vectors[rows] @ query
        else:
            dots = (vectors @ query)[rows]
        square = float(query @ query)
        if self._metric == EUCLIDEAN:
            distances = np.maximum(squares - 2 * dots + square, 0)
        else:
            norms = np.sqrt(squares) * math.sqrt(square)
            distances = 1 - np.divide(dots, norms, out=np.zeros_like(dots), where=norms > 0)
        return np.round(distances, _DISTANCE_DECIMALS) + np.float32(0)  # no negative zero


def _raw(name: str, column: AttributeType, value: Any) -> bytes:
    """A vector as little-endian f32 bytes of exactly the column's length."""
    if isinstance(value, str):
        raw = _decode(name, value)
    elif isinstance(value, list) and set(map(type, value)) <= {int, float}:
        with np.errstate(over="ignore"):
            raw = np.array(value, "<f4").tobytes()
    else:
        raise invalid(f"vector {name!r} takes an array of numbers or base64")
    if len(raw) != 4 * column.dimensions:
        raise invalid(f"vector {name!r} has {column.dimensions} dimensions, not {len(raw) // 4}")
    return raw


def _decode(name: str, value: Any) -> bytes:
    if not isinstance(value, str):
        raise invalid(f"vector {name!r} takes an array of numbers or base64")
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except (binascii.Error, ValueError):
        raise invalid(f"vector {name!r} is not base64") from None


def _to_f16(matrix: Matrix) -> NDArray[np.float16]:
    with np.errstate(over="ignore"):
        return matrix.astype(np.float16)
