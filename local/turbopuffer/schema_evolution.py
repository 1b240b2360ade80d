"""The schema after a write: what it declares, plus what its documents let us infer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from local.turbopuffer.attribute_types import AttributeType, Kind, infer_type
from local.turbopuffer.declarations import declared_attributes, declared_id_kind
from local.turbopuffer.errors import invalid
from local.turbopuffer.ids import check_shape, infer_kind
from local.turbopuffer.schema import ID, Attribute, Schema
from local.turbopuffer.vectors import dimensions_of

VECTOR = "vector"  # the one name whose type is inferred as a vector
Row = Mapping[str, Any]


def evolve(
    current: Schema | None,
    declared: Mapping[str, Any],
    distance_metric: str | None,
    rows: Iterable[Row],
) -> Schema:
    """The schema that ``rows`` are written under; 400 when it contradicts the ``current`` one."""
    rows = list(rows)
    metric = _metric(current, distance_metric)
    base = current or Schema(_first_id_kind(declared, rows))
    if current and declared_id_kind(declared) not in (None, current.id_kind):
        raise invalid(f"the type of id cannot change from {current.id_kind}")
    schema = base.with_attributes(declared_attributes(declared, current, metric))
    schema = schema.with_attributes(_inferred(schema, rows))
    if current and len(schema.vectors) > len(current.vectors):
        raise invalid("vector attributes cannot be added to an existing namespace")
    if schema.vectors and metric is None:
        raise invalid("distance_metric is required when a namespace gets its first vectors")
    return replace(schema, distance_metric=metric if schema.vectors else None)


def _metric(current: Schema | None, given: str | None) -> str | None:
    known = current.distance_metric if current else None
    if known and given not in (None, known):
        raise invalid(f"distance_metric mismatch: the namespace has {known}")
    return known or given


def _first_id_kind(declared: Mapping[str, Any], rows: list[Row]) -> Kind:
    kind = declared_id_kind(declared)
    if kind is not None:
        return kind
    if not rows:
        raise invalid("an empty namespace needs the type of id in its schema")
    return infer_kind(check_shape(rows[0].get(ID)))


def _inferred(schema: Schema, rows: Iterable[Row]) -> dict[str, Attribute]:
    """Attributes that the schema lacks, from the first row with a value for them."""
    found: dict[str, Attribute] = {}
    for row in rows:
        for name in row.keys() - schema.attributes.keys() - found.keys() - {ID}:
            if row[name] is not None:
                found[name] = _infer(name, row[name])
    return found


def _infer(name: str, value: Any) -> Attribute:
    if name != VECTOR:
        return Attribute(infer_type(name, value))
    dimensions = dimensions_of(name, value)
    if not dimensions:
        raise invalid("a vector must not be empty")
    return Attribute(AttributeType(Kind.VECTOR, dimensions=dimensions, width=32), filterable=False)
