"""Arguments by which agents filter: one or two for each field, flat, as models read them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import count

from context_search.core.errors import InvalidInputError
from context_search.core.filters import (
    MAX_NUMBER,
    MAX_VALUE,
    All,
    Condition,
    Filter,
    Operator,
    Scalar,
    kind,
    scalar,
    to_text,
)
from context_search.searching.rules.searched import SeenFields
from context_search.text.plain_text import hidden_character, without_hidden_characters

MAX_ENUM = 20
"""Maximum number of values that are listed as all there are."""
MAX_EXAMPLES = 5
MAX_SHOWN_CHARS = 64
"""Maximum length of a value that agents are shown; it is text of a document."""
_LENGTH = 64
"""Maximum length of an argument's name, of ``[a-zA-Z0-9_.-]``, for the strictest of clients."""
_MIN, _MAX = "_min", "_max"
_TAKEN = frozenset({"query", "top_k"})
_OTHER_RUN = re.compile(r"[^A-Za-z0-9_.-]+")


def keys_of(names: Sequence[str]) -> Mapping[str, str]:
    """Returns the argument of each field, by what the fields are called and nothing else.

    No two of them are equal, also with ``_min`` and ``_max`` behind them, nor one of ``_TAKEN``.

    >>> keys_of(["year", "author/name", "作者", "query"])
    {'year': 'year', 'author/name': 'author_name', '作者': 'field_3', 'query': 'query_2'}
    """
    keys: dict[str, str] = {}
    taken = set(_TAKEN)
    for number, name in enumerate(names, 1):
        readable = _OTHER_RUN.sub("_", name).strip("_") or f"field_{number}"
        key = next(each for each in _candidates(readable) if taken.isdisjoint(_all_of(each)))
        taken.update(_all_of(key))
        keys[name] = key
    return keys


def _candidates(readable: str) -> Iterator[str]:
    longest = _LENGTH - len(_MIN)
    yield readable[:longest]
    yield from (f"{readable[: longest - 4]}_{number}" for number in count(2))


def _all_of(key: str) -> tuple[str, str, str]:
    return key, f"{key}{_MIN}", f"{key}{_MAX}"


def names_of_arguments(names: Sequence[str]) -> tuple[str, ...]:
    """Returns every argument that a call may have, whatever the values of the fields are."""
    return tuple(argument for key in keys_of(names).values() for argument in _all_of(key))


# ---- What models read.


def properties_of(names: Sequence[str], seen: SeenFields) -> dict[str, object]:
    """Returns the JSON Schemas of the arguments, by the values that were seen of each field.

    A field with strings, or without any value, has a string; one with numbers the least and the
    greatest number; else a boolean.
    """
    properties: dict[str, object] = {}
    for name, key in keys_of(names).items():
        values = list(_values(name, seen))  # not a set, to which True and 1 are the same
        kinds = {kind(value) for value in values}
        shown = f"“{without_hidden_characters(name)}”"
        if "string" in kinds or not kinds:
            properties[key] = _string(shown, values, are_all=seen.are_all)
        elif "number" in kinds:
            properties |= _range(key, shown, values)
        else:
            properties[key] = {"type": "boolean", "description": _is_this(shown)}
    return properties


def _values(name: str, seen: SeenFields) -> Iterator[Scalar]:
    for fields in seen.of:
        value = fields.get(name, ())
        yield from value if isinstance(value, tuple) else (value,)


def _is_this(shown: str) -> str:
    return f"Only passages whose {shown} is this, or is a list with this in it."


def _string(shown: str, values: Sequence[Scalar], *, are_all: bool) -> dict[str, object]:
    strings = Counter(value for value in values if isinstance(value, str))
    listed = sorted(filter(_may_be_shown, strings), key=lambda value: (-strings[value], value))
    schema: dict[str, object] = {"type": "string", "description": _is_this(shown)}
    if are_all and 0 < len(listed) == len(strings) <= MAX_ENUM:
        return {**schema, "enum": sorted(listed)}
    schema["maxLength"] = MAX_VALUE
    if listed:
        examples = (json.dumps(value, ensure_ascii=False) for value in listed[:MAX_EXAMPLES])
        schema["description"] = f"{_is_this(shown)} For example: {', '.join(examples)}."
    return schema


def _may_be_shown(value: str) -> bool:
    """Whether a value looks like nothing but itself; an empty one is refused by some clients."""
    return 1 <= len(value) <= MAX_SHOWN_CHARS and hidden_character(value) is None


def _range(key: str, shown: str, values: Sequence[Scalar]) -> dict[str, object]:
    numbers = [Decimal(value) for value in values if kind(value) == "number"]
    seen = f"Seen: {to_text(min(numbers))} to {to_text(max(numbers))}."
    return {
        f"{key}{_MIN}": {
            "type": "number",
            "description": f"Only passages whose {shown} is at least this. {seen}",
        },
        f"{key}{_MAX}": {
            "type": "number",
            "description": f"Only passages whose {shown} is at most this. {seen}",
        },
    }


# ---- What they give.


def parse_conditions(names: Sequence[str], arguments: Mapping[str, object]) -> Filter | None:
    """Returns the filter that the arguments of a call ask for; None without any of them.

    Raises InvalidInputError for a value that no field has: it does not look at those of documents.
    """
    conditions: list[Filter] = []
    for name, key in keys_of(names).items():
        for argument, operator in zip(_all_of(key), _OPERATORS, strict=True):
            if argument in arguments:
                given = arguments[argument]
                value = _same(key, given) if operator == "eq" else _bound(argument, given)
                conditions.append(Condition(name, operator, value))
    return All(tuple(conditions)) if conditions else None


_OPERATORS: tuple[Operator, ...] = ("eq", "gte", "lte")


def _same(key: str, given: object) -> Scalar:
    if isinstance(given, bool):
        return given
    if not isinstance(given, str) or len(given) > MAX_VALUE:
        raise InvalidInputError(
            f"{key} must be a string of at most {MAX_VALUE} characters, or a boolean; numbers go"
            f" into {key}{_MIN} and {key}{_MAX}"
        )
    if "\x00" in given or any("\ud800" <= char <= "\udfff" for char in given):
        raise InvalidInputError(f"{key} holds U+0000 or half a surrogate pair")
    return given


def _bound(argument: str, given: object) -> Scalar:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    value = scalar(given) if is_number else None
    if value is None:
        raise InvalidInputError(f"{argument} must be a number of at most {MAX_NUMBER} digits")
    return value
