"""Reads filters from JSON: ``["And", […]]``, ``["Not", f]``, ``["attr", "Op", operand]``.

422 for what no version of the service could read, 400 for what makes no sense with this schema
or is not supported here (turbopuffer.com/docs/query#filtering; statuses as observed live).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from local.turbopuffer.attribute_types import Kind, canonical_scalar
from local.turbopuffer.errors import invalid, malformed, unsupported
from local.turbopuffer.filters import (
    AllOf,
    AnyOf,
    Compared,
    Filter,
    HasTokens,
    IsNull,
    Matching,
    Not,
    OneOf,
)
from local.turbopuffer.glob_pattern import compile_glob
from local.turbopuffer.schema import Attribute, Schema

_ELSEWHERE = {
    *("AnyLt", "AnyLte", "AnyGt", "AnyGte", "NotIGlob", "Regex", "Fuzzy", "ContainsTokenSequence"),
}
_REF_NEW = "$ref_new"


def parse_filter(raw: Any, schema: Schema, new: Mapping[str, Any] | None = None) -> Filter:
    """The filter that ``raw`` describes. ``new`` is the document that ``$ref_new`` reads."""
    match raw:
        case ["And", [*parts]]:
            return AllOf([parse_filter(part, schema, new) for part in parts])
        case ["Or", [*parts]]:
            return AnyOf([parse_filter(part, schema, new) for part in parts])
        case ["Not", part]:
            return Not(parse_filter(part, schema, new))
        case []:
            raise invalid("a filter must not be empty")
        case [str() as name, str() as op, operand]:
            return _parse_leaf(name, op, _resolve(operand, schema, new), schema)
        case [str(), str() as op, _, *_] if op in _LEAVES or op in _ELSEWHERE:
            raise unsupported(f"{op} with options")
    raise malformed("data did not match any variant of untagged enum Filter")


def mentions_new(raw: Any) -> bool:
    """True when the condition reads the document being written (``{"$ref_new": "attr"}``)."""
    if isinstance(raw, list):
        return any(map(mentions_new, raw))
    return isinstance(raw, dict) and _REF_NEW in raw


def _resolve(operand: Any, schema: Schema, new: Mapping[str, Any] | None) -> Any:
    if not isinstance(operand, dict):
        return operand
    name = operand.get(_REF_NEW)
    if new is None or not isinstance(name, str) or len(operand) != 1:
        raise malformed(f"only a write's condition may hold an object, {_REF_NEW}")
    schema.attribute(name, _REF_NEW)
    return new.get(name)


def _parse_leaf(name: str, op: str, operand: Any, schema: Schema) -> Filter:
    if op in _ELSEWHERE:
        raise unsupported(f"filter operator {op}")
    if op not in _LEAVES:
        raise malformed(f"unknown filter operator {op!r}")
    attribute = schema.attribute(name, "filters")
    return _LEAVES[op](name, op, attribute, operand)


def _equal(name: str, op: str, attribute: Attribute, operand: Any) -> Filter:
    _need_filterable(name, attribute)
    if operand is None:
        found: Filter = IsNull(name)
    elif attribute.type.is_array:
        raise invalid(f"attribute {name!r} is an array: use Contains")
    else:
        found = OneOf(name, [canonical_scalar(name, attribute.type.kind, operand)])
    return Not(found) if op == "NotEq" else found


def _one_of(name: str, op: str, attribute: Attribute, operand: Any) -> Filter:
    _need_filterable(name, attribute)
    if op.endswith("ContainsAny") and not attribute.type.is_array:
        raise invalid(f"attribute {name!r} is no array: use In")
    if not isinstance(operand, list) or len({_shape(value) for value in operand}) > 1:
        raise malformed(f"{op} takes a list of values of one type")
    if operand and _shape(operand[0]) in (None, list, dict):
        raise malformed(f"{op} takes no nulls and no nested lists")
    kind = attribute.type.kind
    found = OneOf(name, [canonical_scalar(name, kind, value) for value in operand])
    return Not(found) if op.startswith("Not") else found


def _contains(name: str, op: str, attribute: Attribute, operand: Any) -> Filter:
    _need_filterable(name, attribute)
    if not attribute.type.is_array:
        raise invalid(f"attribute {name!r} is no array: use Eq")
    found = OneOf(name, [canonical_scalar(name, attribute.type.kind, operand)])
    return Not(found) if op == "NotContains" else found


def _range(name: str, op: str, attribute: Attribute, operand: Any) -> Filter:
    _need_filterable(name, attribute)
    if attribute.type.is_array:
        raise invalid(f"attribute {name!r} is an array and has no order")
    null = IsNull(name)
    if operand is None:
        below: dict[str, Filter] = {"Lt": AnyOf([]), "Lte": null, "Gt": Not(null), "Gte": AllOf([])}
        return below[op]
    compared = Compared(name, op, canonical_scalar(name, attribute.type.kind, operand))
    return AnyOf([compared, null]) if op in ("Lt", "Lte") else compared


def _glob(name: str, op: str, attribute: Attribute, operand: Any) -> Filter:
    if attribute.type.kind is not Kind.STRING or not attribute.has_column:
        raise invalid(f"attribute {name!r} has no glob index; declare it with glob: true")
    if not isinstance(operand, str):
        raise invalid(f"{op} takes a pattern")
    pattern = compile_glob(operand, ignore_case=op == "IGlob")
    found = Matching(name, lambda text: pattern.fullmatch(text) is not None)
    return Not(found) if op == "NotGlob" else found


def _tokens(name: str, op: str, attribute: Attribute, operand: Any) -> Filter:
    if attribute.full_text is None:
        raise invalid(f"attribute {name!r} has no full-text index")
    tokens = attribute.full_text.query_tokens(name, operand)
    return HasTokens(name, tokens, every=op == "ContainsAllTokens")


def _need_filterable(name: str, attribute: Attribute) -> None:
    if not attribute.filterable:
        reason = "likely because bm25 is enabled" if attribute.full_text else "as declared"
        raise invalid(f"attribute {name!r} isn't filterable; {reason}")


def _shape(value: Any) -> type | None:
    """What must not be mixed in one list; ints and floats may."""
    if value is None:
        return None
    return float if type(value) is int else type(value)


_LEAVES: dict[str, Callable[[str, str, Attribute, Any], Filter]] = {
    **dict.fromkeys(("Eq", "NotEq"), _equal),
    **dict.fromkeys(("In", "NotIn", "ContainsAny", "NotContainsAny"), _one_of),
    **dict.fromkeys(("Contains", "NotContains"), _contains),
    **dict.fromkeys(("Lt", "Lte", "Gt", "Gte"), _range),
    **dict.fromkeys(("Glob", "NotGlob", "IGlob"), _glob),
    **dict.fromkeys(("ContainsAllTokens", "ContainsAnyToken"), _tokens),
}
