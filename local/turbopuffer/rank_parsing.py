"""Reads ``rank_by`` from JSON (turbopuffer.com/docs/query#param-rank_by).

422 for a shape that no version of the service could read, 400 for what makes no sense with this
schema or is not supported here.
"""

from __future__ import annotations

import math
from typing import Any

from local.turbopuffer.errors import ApiError, invalid, malformed, unsupported
from local.turbopuffer.ranking import (
    Bm25,
    ByAttributes,
    ByText,
    ByVector,
    Combined,
    Ranking,
    TextScore,
    Weighted,
)
from local.turbopuffer.schema import ID, Schema
from local.turbopuffer.vectors import read_query_vector

MAX_ORDERS = 8
_ELSEWHERE = {"SparseKNN", "Embed", "Attribute", "Saturate", "Decay", "Dist", "VectorDist"}


def parse_rank_by(raw: Any, schema: Schema, *, filtered: bool) -> Ranking:
    """The ranking; ``filtered`` says whether the query has filters, which kNN must have."""
    match raw:
        case []:
            raise invalid("rank_by must not be empty")
        case [str() as name, "ANN" | "kNN" as op, operand]:
            if op == "kNN" and not filtered:
                raise invalid("kNN requires filters")
            return _by_vector(name, operand, schema)
        case [str() as name, "asc" | "desc" as direction]:
            return _by_attributes([[name, direction]], schema)
        case [[*_], *_]:
            return _by_attributes(raw, schema)
        case [*_]:
            return ByText(_text_score(raw, schema))
    raise _no_variant()


def _by_vector(name: str, operand: Any, schema: Schema) -> ByVector:
    attribute = schema.attribute(name, "rank_by")
    if not attribute.is_vector:
        raise invalid(f"attribute {name!r} is no vector")
    if isinstance(operand, list) and operand and operand[0] == "Embed":
        raise unsupported("embedding in the query")
    return ByVector(name, read_query_vector(name, attribute.type, operand))


def _by_attributes(raw: list[Any], schema: Schema) -> ByAttributes:
    if len(raw) > MAX_ORDERS:
        raise invalid(f"rank_by takes at most {MAX_ORDERS} attributes")
    order = []
    for item in raw:
        match item:
            case [str() as name, "asc" | "desc" as direction]:
                order.append((name, direction == "desc"))
            case _:
                raise _no_variant()
        attribute = schema.attribute(name, "rank_by")
        if attribute.type.is_array or (name != ID and not attribute.filterable):
            raise invalid(f"attribute {name!r} has no order: it is an array or not filterable")
    return ByAttributes(order)


def _text_score(raw: Any, schema: Schema) -> TextScore:
    match raw:
        case ["Sum" | "Max" as op, [_, *_] as parts]:
            return Combined([_text_score(part, schema) for part in parts], op == "Max")
        case ["Product", weight, [*_] as part] | ["Product", [*_] as part, weight]:
            return Weighted(_weight(weight), _text_score(part, schema))
        case [str() as name, "BM25", operand]:
            attribute = schema.attribute(name, "rank_by")
            if attribute.full_text is None:
                raise invalid(f"attribute {name!r} has no full-text index")
            return Bm25(name, attribute.full_text.query_tokens(name, operand))
        case [str(), "BM25", _, dict()]:
            raise unsupported("BM25 with options")
        case [str(), "ANN" | "kNN", _]:
            raise invalid("a vector distance cannot be combined with text scores")
        case [str() as first, *rest] if first in _ELSEWHERE or _names_operator(rest):
            raise unsupported(f"rank_by {first}")
    raise _no_variant()


def _names_operator(rest: list[Any]) -> bool:
    return bool(rest) and isinstance(rest[0], str) and rest[0] in _ELSEWHERE


def _weight(raw: Any) -> float:
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        raise malformed("the weight of a Product is a number")
    if raw < 0:
        raise invalid("the weight of a Product must not be negative")
    return float(raw)


def _no_variant() -> ApiError:
    return malformed("data did not match any variant of untagged enum RankInput")
