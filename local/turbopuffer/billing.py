"""What the service would bill: logical bytes that are written, queried and returned.

Source: turbopuffer.com/pricing (September 2026). What that page leaves open is as its SDK's own
tests show it: a row that is returned counts its id, four bytes of distance and what is included.
Discounts are no matter of bytes but of their price, so they are not here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from local.turbopuffer.documents import DocumentBatch
from local.turbopuffer.schema import ID, VECTOR, Schema

LEAST_WRITTEN = 10_000
LEAST_QUERIED = 1_280_000_000
_NUMBER = 8
_DISTANCE = "$dist"
# Whatever a vector is kept as, writing it is billed as four bytes a dimension; so is a distance.
_SINGLE = 4


def written_bytes(batch: DocumentBatch, schema: Schema, deletes: Iterable[str]) -> int:
    """Returns what one write is billed."""
    vectors = len(batch) * schema.dimensions * _SINGLE
    rows = sum(plain_bytes(batch, schema), vectors)
    return max(LEAST_WRITTEN, rows + sum(_size(each) for each in deletes))


def kept_bytes(batch: DocumentBatch, schema: Schema) -> list[int]:
    """Returns the size of each row of a batch as the namespace keeps it."""
    vector = schema.dimensions * schema.number_bytes
    return [vector + size for size in plain_bytes(batch, schema)]


def queried_bytes(namespace_bytes: int, queries: int) -> int:
    """Returns what so many queries of a namespace are billed."""
    return queries * max(LEAST_QUERIED, namespace_bytes)


def returned_bytes(results: Iterable[Sequence[Mapping[str, Any]]], schema: Schema) -> int:
    """Returns the size of all rows of an answer."""
    shown = [row for rows in results for row in rows]
    columns = Counter(chain.from_iterable(shown))
    return sum(_column(name, count, shown, schema) for name, count in columns.items())


def plain_bytes(batch: DocumentBatch, schema: Schema) -> Iterable[int]:
    """Yields the size of each row of a batch without its vector."""
    return (
        _size(identity) + sum(_value(name, value, schema) for name, value in attributes.items())
        for identity, attributes in zip(batch.ids, batch.attributes, strict=True)
    )


def _column(name: str, count: int, rows: Iterable[Mapping[str, Any]], schema: Schema) -> int:
    if name == _DISTANCE:
        return count * _SINGLE
    if name == ID:
        return _size([row[ID] for row in rows])  # thousands at once
    return sum(_value(name, row[name], schema) for row in rows if name in row)


def _value(name: str, value: Any, schema: Schema) -> int:
    if name == VECTOR:
        return schema.dimensions * schema.number_bytes
    is_text = schema.attributes[name].type in ("string", "[]string")
    return _size(value) if is_text else _NUMBER


def _size(text: str | list[str]) -> int:
    return len("".join(text).encode())
