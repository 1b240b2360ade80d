"""Rows of a write, checked against the schema and made canonical."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from local.turbopuffer.attribute_types import Kind, canonical_value
from local.turbopuffer.document_batch import DocumentBatch
from local.turbopuffer.errors import invalid, malformed
from local.turbopuffer.ids import Id, canonical_id
from local.turbopuffer.schema import ID, Attribute, Schema
from local.turbopuffer.vectors import read_vectors

MAX_FILTERABLE_BYTES = 4_096
MAX_VALUE_BYTES = 8 * 1024 * 1024
_UTF8_MAX = 4  # bytes a character
Row = Mapping[str, Any]


def rows_of(rows: Sequence[Row] | None, columns: Mapping[str, list[Any]] | None) -> list[Row]:
    """Rows given as rows, as columns, or both; 400 when the columns do not fit together."""
    found = list(rows or [])
    if columns is None:
        return found
    if ID not in columns:
        raise invalid("columns require an id array")
    if len({len(column) for column in columns.values()}) > 1:
        raise invalid("all columns must be of the same length")
    names = list(columns)
    return found + [
        dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]


def row_ids(rows: Sequence[Row], schema: Schema) -> list[Id]:
    """The canonical ids; 422 for a row without one."""
    if any(ID not in row for row in rows):
        raise malformed("missing field `id`")
    return [canonical_id(row[ID], schema.id_kind) for row in rows]


def read_documents(rows: Sequence[Row], schema: Schema) -> DocumentBatch:
    """Whole documents for an upsert; every declared vector must be there."""
    vectors = schema.vectors
    for name in vectors:
        if any(row.get(name) is None for row in rows):
            raise invalid(f"vector {name!r} is missing from a document")
    return DocumentBatch(
        row_ids(rows, schema),
        [
            {
                name: value
                for name, value in read_attributes(row, schema).items()
                if value is not None
            }
            for row in rows
        ],
        {
            name: read_vectors(name, attribute.type, [row[name] for row in rows])
            for name, attribute in vectors.items()
        },
    )


def read_patches(rows: Sequence[Row], schema: Schema) -> list[dict[str, Any]]:
    """Attributes to set; None clears one. 400 for a vector, which cannot be patched."""
    for name in schema.vectors:
        if any(name in row for row in rows):
            raise invalid(f"vector {name!r} cannot be patched")
    return [read_attributes(row, schema) for row in rows]


def read_attributes(row: Row, schema: Schema) -> dict[str, Any]:
    """The row's attributes in canonical form, without id and vectors, nulls included."""
    attributes = schema.attributes
    found: dict[str, Any] = {}
    for name, value in row.items():
        if value is None:
            if name != ID:
                found[name] = None
        elif name != ID and not attributes[name].is_vector:
            found[name] = _checked(name, attributes[name], value)
    return found


def _checked(name: str, attribute: Attribute, value: Any) -> Any:
    canonical = canonical_value(name, attribute.type, value)
    if attribute.type.kind is not Kind.STRING:
        return canonical
    texts = canonical if attribute.type.is_array else [canonical]
    if attribute.filterable and any(_exceed([text], MAX_FILTERABLE_BYTES) for text in texts):
        raise invalid(f"attribute {name!r}: a filterable value has at most 4 KiB")
    if _exceed(texts, MAX_VALUE_BYTES):
        raise invalid(f"attribute {name!r}: a value has at most 8 MiB")
    return canonical


def _exceed(texts: Sequence[str], limit: int) -> bool:
    """Whether the texts have more than ``limit`` bytes together; what is short is not encoded."""
    if _UTF8_MAX * sum(map(len, texts)) <= limit:
        return False
    return sum(len(text.encode()) for text in texts) > limit
