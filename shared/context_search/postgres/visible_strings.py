"""Which strings a search may return, as SQL conditions: by scope, and by their fields."""

from __future__ import annotations

import json
from collections.abc import Mapping

from context_search.core.filters import All, Condition, Filter, Not, Operator, names_of, to_text


def in_scope(pointer: str) -> str:
    """Returns the condition that a column's pointer is the parameter ``scope``, or lies below."""
    return f"(:scope = '' OR {pointer} = :scope OR starts_with({pointer}, :scope || '/'))"


# Of all fields that a filter looks at.
FIELDS_ARE_KNOWN = "comparison.fields @> CAST(:names AS text[])"


# Fields that are not stored yet may match; the caller must check the document.
MAY_MATCH = f"""
    (CAST(:path AS jsonpath) IS NULL OR NOT COALESCE({FIELDS_ARE_KNOWN}, false)
     OR node.fields IS NULL OR node.fields @@ CAST(:path AS jsonpath))
"""
"""Of a node and its comparison, with ``filter_parameters``: the filter may let it through."""


def filter_parameters(wanted: Filter | None) -> dict[str, object]:
    """Returns the parameters of a filter: its path, and the names of its fields."""
    if wanted is None:
        return {"path": None, "names": None}
    return {"path": json_path(wanted), "names": sorted(names_of(wanted))}


def json_path(wanted: Filter, *, is_true: bool = True) -> str:
    """Returns a SQL/JSON path over ``node.fields`` that is true where a filter holds, or else
    where it does not.

    Of values of different kinds a path says neither, and neither does its negation.
    """
    if isinstance(wanted, Not):
        return json_path(wanted.of, is_true=not is_true)
    if isinstance(wanted, Condition):
        path = _path_of(wanted)
        return f"({path})" if is_true else f"(!({path}) || (({path}) is unknown))"
    parts = [json_path(one, is_true=is_true) for one in wanted.of]
    are_all = isinstance(wanted, All) is is_true
    if not parts:
        return "(1 == 1)" if are_all else "(1 == 2)"
    return f"({(' && ' if are_all else ' || ').join(parts)})"


_SIGNS: Mapping[Operator, str] = {
    **dict.fromkeys(("eq", "in", "contains"), "=="),
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
    "prefix": "starts with",
}


def _path_of(wanted: Condition) -> str:
    """A value and an array of it are compared alike: a path looks at each element."""
    key, value = f"$.{json.dumps(wanted.field)}", wanted.value
    if wanted.operator == "exists":
        return f"exists({key})" if value else f"!exists({key})"
    values = value if isinstance(value, tuple) else (value,)
    sign = _SIGNS[wanted.operator]
    path = " || ".join(f"{key} {sign} {to_text(each)}" for each in values)
    return f'{key}.type() == "array" && {path}' if wanted.operator == "contains" else path
