"""Documents on their way into a namespace: rows of a write, checked and made canonical."""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.errors import invalid, malformed
from local.turbopuffer.schema import ID, VECTOR, Schema, check_id

Matrix = NDArray[np.float32]
# Squares of larger elements overflow f32; NaN compares as larger too.
_MAX_ELEMENT = 1e15


@dataclass(frozen=True, slots=True)
class DocumentBatch:
    """Whole documents: ids, attributes without nulls and vectors, and a row of the matrix each."""

    ids: Sequence[str]
    attributes: Sequence[Mapping[str, Any]]
    vectors: Matrix

    def __len__(self) -> int:
        """How many documents."""
        return len(self.ids)


def read_documents(rows: Sequence[Mapping[str, Any]], schema: Schema) -> DocumentBatch:
    """Whole documents for an upsert; 400 or 422 when any of them is wrong."""
    if any(ID not in row for row in rows):
        raise malformed("missing field `id`")
    if any(row.get(VECTOR) is None for row in rows):
        raise invalid(f"{VECTOR!r} is missing from a document")
    return DocumentBatch(
        [check_id(row[ID]) for row in rows],
        [_read_attributes(row, schema) for row in rows],
        _as_kept(read_vectors([row[VECTOR] for row in rows], schema.dimensions), schema),
    )


def _as_kept(vectors: Matrix, schema: Schema) -> Matrix:
    """Vectors as the column keeps them: those of f16 are rounded, 400 where they do not fit."""
    if schema.number_bytes == np.dtype(np.float32).itemsize:
        return vectors
    with np.errstate(over="ignore"):
        rounded = vectors.astype(np.float16).astype(np.float32)
    if not np.isfinite(rounded).all():
        raise invalid("a vector has an element that does not fit into f16")
    return rounded


def _read_attributes(row: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    return {
        name: schema.attribute(name, "upsert_rows").canonical(name, value)
        for name, value in row.items()
        if value is not None and name not in (ID, VECTOR)
    }


def read_vectors(values: Sequence[Any], dimensions: int) -> Matrix:
    """One row per vector, numbers or base64 of little-endian f32; 400 for what does not fit."""
    raw = b"".join(_read_vector(value, dimensions) for value in values)
    matrix = np.frombuffer(raw, "<f4").reshape(len(values), dimensions)
    if not (np.abs(matrix) < _MAX_ELEMENT).all():
        raise invalid(f"a vector has an element that is no number below {_MAX_ELEMENT:g}")
    return matrix


def _read_vector(value: Any, dimensions: int) -> bytes:
    if isinstance(value, str):
        try:
            raw = binascii.a2b_base64(value, strict_mode=True)
        except (binascii.Error, ValueError):
            raise invalid("a vector is not base64") from None
    elif isinstance(value, list) and set(map(type, value)) <= {int, float}:
        with np.errstate(over="ignore"):
            raw = np.array(value, "<f4").tobytes()
    else:
        raise invalid("a vector is an array of numbers or base64")
    if len(raw) != 4 * dimensions:
        raise invalid(f"the vector has {dimensions} dimensions, not {len(raw) // 4}")
    return raw
