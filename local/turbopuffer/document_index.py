"""Everything that a namespace's queries need in memory, by row.

Rows are only appended: a new version of a document is a new row and the old one gets an end of
life. So a query can also be answered as of a moment ago, which is what the lag fault does.
When a quarter of the rows is dead they are compacted away (and with them that past).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from local.turbopuffer.array_column import ArrayColumn
from local.turbopuffer.attribute_types import AttributeType
from local.turbopuffer.column import Column
from local.turbopuffer.document_batch import DocumentBatch
from local.turbopuffer.growing import GrowingArray, Mask, Rows
from local.turbopuffer.ids import Id
from local.turbopuffer.number_column import NumberColumn
from local.turbopuffer.schema import ID, Attribute, Schema
from local.turbopuffer.text_column import TextColumn
from local.turbopuffer.text_index import TextIndex
from local.turbopuffer.vectors import VectorColumn

ALWAYS = -math.inf
_COMPACT_ROWS = 1_024
_COMPACT_SHARE = 0.25


class DocumentIndex:
    """Rows of documents with their columns, text indexes and vectors. Callers do the locking."""

    def __init__(self, schema: Schema) -> None:
        self.ids: list[Id] = []
        self.row_of: dict[Id, int] = {}
        self.columns: dict[str, Column] = {ID: _new_column(AttributeType(schema.id_kind))}
        self.texts: dict[str, TextIndex] = {}
        self.vectors: dict[str, VectorColumn] = {}
        self._born = GrowingArray(np.float64)
        self._died = GrowingArray(np.float64)
        self._metric = schema.distance_metric
        self.adopt(schema)

    def adopt(self, schema: Schema) -> None:
        """Add what new attributes need; existing rows have no value for them."""
        for name, attribute in schema.attributes.items():
            self._adopt_attribute(name, attribute)

    def replace(self, removed: Iterable[Id], batch: DocumentBatch, at: float) -> None:
        """End the life of ``removed`` and of older versions, and add ``batch``, as of ``at``."""
        for identity in (*removed, *batch.ids):
            row = self.row_of.pop(identity, None)
            if row is not None:
                self._died.view[row] = at
        first = len(self.ids)
        self.ids.extend(batch.ids)
        self.row_of.update(zip(batch.ids, range(first, len(self.ids)), strict=True))
        self._born.extend(np.full(len(batch), at))
        self._died.extend(np.full(len(batch), math.inf))
        self._extend_columns(batch)
        self._compact_if_worth_it()

    def visible(self, as_of: float | None = None) -> Mask:
        """Rows that are alive, or were at the moment ``as_of``."""
        if as_of is None:
            return np.isposinf(self._died.view)
        return (self._born.view <= as_of) & (self._died.view > as_of)

    def rows(self, ids: Iterable[Id]) -> Rows:
        """The live rows of ``ids``, which all exist."""
        return np.array([self.row_of[identity] for identity in ids], np.intp)

    def _adopt_attribute(self, name: str, attribute: Attribute) -> None:
        nothing: list[Any] = [None] * len(self.ids)
        if attribute.has_column and name not in self.columns:
            self.columns[name] = _new_column(attribute.type)
            self.columns[name].extend(nothing)
        if attribute.full_text and name not in self.texts:
            self.texts[name] = TextIndex(attribute.full_text)
            self.texts[name].extend(nothing)
        if attribute.is_vector and name not in self.vectors:
            self.vectors[name] = VectorColumn(attribute.type.dimensions, str(self._metric))

    def _extend_columns(self, batch: DocumentBatch) -> None:
        for name, column in self.columns.items():
            column.extend(batch.ids if name == ID else [a.get(name) for a in batch.attributes])
        for name, text in self.texts.items():
            text.extend([attributes.get(name) for attributes in batch.attributes])
        if len(batch):
            for name, vectors in self.vectors.items():
                vectors.extend(batch.vectors[name])

    def _compact_if_worth_it(self) -> None:
        dead = len(self.ids) - len(self.row_of)
        if dead <= max(_COMPACT_ROWS, _COMPACT_SHARE * len(self.ids)):
            return
        alive = np.flatnonzero(self.visible())
        self.ids = [self.ids[row] for row in alive.tolist()]
        self.row_of = {identity: row for row, identity in enumerate(self.ids)}
        parts: list[Any] = [self._born, self._died]
        parts += [*self.columns.values(), *self.texts.values(), *self.vectors.values()]
        for part in parts:
            part.keep(alive)


def _new_column(attribute_type: AttributeType) -> Column:
    if attribute_type.is_array:
        return ArrayColumn()
    if NumberColumn.takes(attribute_type.kind):
        return NumberColumn(attribute_type.kind)
    return TextColumn()
