"""Filters on the fields of a document: what they may say, and which strings they let through.

A field belongs to a string: it is a member of the nearest object around the string that has it.
A field that is there has one value or a list of values; an operator holds if it holds for one of
them. What it is compared with has to be of the same kind: ``"1"`` and 1 and true are three values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

from context_search.core.errors import FilterInvalidError, InvalidPointerError
from context_search.core.json_pointer import resolve, split

Scalar = str | bool | int | Decimal
Value = Scalar | tuple[Scalar, ...]
Fields = Mapping[str, Value]
"""The fields of a string by name; what is missing has no member."""
Operator = Literal["eq", "in", "lt", "lte", "gt", "gte", "prefix", "contains", "exists"]

MAX_FIELDS = 16
"""Maximum number of fields that a tool, or a project, may name."""
MAX_NAME = 128
MAX_VALUE = 256
"""Maximum length of a value, in characters; a longer one is as if it were missing."""
MAX_NUMBER = 64
"""Maximum length of a number without an exponent, in characters."""
MAX_ELEMENTS = 64
"""Maximum number of values of one field."""
MAX_IN = 100
MAX_CONDITIONS = 64
MAX_OPERANDS = 500
"""Maximum number of values in a whole filter: Postgres compares each string with each of them."""
MAX_DEPTH = 8
_WORDS = ("and", "or", "not")
OPERATORS: tuple[Operator, ...] = get_args(Operator)


@dataclass(frozen=True, slots=True)
class Condition:
    """One field and what is said of it; ``value`` of ``in`` is a tuple, of ``exists`` a bool."""

    field: str
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class All:
    """Holds if each of its filters does; without any, always."""

    of: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """Holds if one of its filters does; without any, never."""

    of: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    """Holds if its filter does not; so it holds where the field is missing."""

    of: Filter


Filter = Condition | All | Some | Not
NOTHING = Some()
"""The filter that holds nowhere. It stands for a stored rule that cannot be read."""


def both(first: Filter | None, second: Filter | None) -> Filter | None:
    """Returns the filter that holds where both do; None is no filter."""
    if first is None or second is None:
        return second if first is None else first
    return All((first, second))


def names_of(wanted: Filter | None) -> frozenset[str]:
    """Returns the names of the fields that a filter looks at."""
    return frozenset(one.field for one in _conditions(wanted)) if wanted else frozenset()


def _conditions(wanted: Filter) -> Iterator[Condition]:
    if isinstance(wanted, Condition):
        yield wanted
    elif isinstance(wanted, Not):
        yield from _conditions(wanted.of)
    else:
        for one in wanted.of:
            yield from _conditions(one)


# ---- Does it hold?


def matches(wanted: Filter, fields: Fields) -> bool:
    """Says whether a filter holds for a string with these fields. Never fails."""
    if isinstance(wanted, All):
        return all(matches(one, fields) for one in wanted.of)
    if isinstance(wanted, Some):
        return any(matches(one, fields) for one in wanted.of)
    if isinstance(wanted, Not):
        return not matches(wanted.of, fields)
    return _holds(wanted, fields.get(wanted.field))


def _holds(wanted: Condition, found: Value | None) -> bool:
    if wanted.operator == "exists":
        return (found is not None) == wanted.value
    if found is None or (wanted.operator == "contains" and not isinstance(found, tuple)):
        return False
    values, operands = _each(found), _each(wanted.value)
    if wanted.operator in _EQUALITIES:
        known = {(kind(value), value) for value in values}
        return not known.isdisjoint((kind(operand), operand) for operand in operands)
    holds = _ORDERS[wanted.operator]
    return any(
        holds(value, operand)
        for value in values
        for operand in operands
        if kind(value) == kind(operand)
    )


def _each(value: Value) -> tuple[Scalar, ...]:
    return value if isinstance(value, tuple) else (value,)


def kind(value: Scalar) -> Literal["boolean", "string", "number"]:
    """Returns what a value is compared with: values of its own kind."""
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


# Strings in the order of their code points; numbers exact, so -0 is 0 and 1.0 is 1.
_EQUALITIES = ("eq", "in", "contains")
_ORDERS: Mapping[str, Callable[..., bool]] = {
    "lt": lambda value, operand: value < operand,
    "lte": lambda value, operand: value <= operand,
    "gt": lambda value, operand: value > operand,
    "gte": lambda value, operand: value >= operand,
    "prefix": lambda value, operand: value.startswith(operand),
}


# ---- From JSON and back.


def parse_filter(given: object) -> Filter:
    """Returns the filter of a JSON object.

    ``{"year": {"gte": 2020, "lt": 2024}, "tags": {"contains": "new"}}`` holds if all of it does;
    ``and`` and ``or`` have arrays of filters, ``not`` has one.
    Raises FilterInvalidError for anything else, and over 64 conditions, 500 values or 8 levels.
    """
    parsed = _parsed(given, depth=1)
    operands = [len(_each(one.value)) for one in _conditions(parsed)]
    if len(operands) > MAX_CONDITIONS:
        raise FilterInvalidError(f"a filter has at most {MAX_CONDITIONS} conditions")
    if sum(operands) > MAX_OPERANDS:
        raise FilterInvalidError(f"a filter has at most {MAX_OPERANDS} values")
    return parsed


def _parsed(given: object, *, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise FilterInvalidError(f"a filter has at most {MAX_DEPTH} levels")
    if not isinstance(given, Mapping) or not 1 <= len(given) <= MAX_CONDITIONS:
        raise FilterInvalidError("a filter is an object that names fields, or and, or, not")
    parts = [part for name, said in given.items() for part in _parts(name, said, depth=depth)]
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _parts(name: object, said: object, *, depth: int) -> Iterator[Filter]:
    if name == "not":
        yield Not(_parsed(said, depth=depth + 1))
    elif name in ("and", "or"):
        if not isinstance(said, list) or not 1 <= len(said) <= MAX_CONDITIONS:
            raise FilterInvalidError(f"and, or: an array of 1 to {MAX_CONDITIONS} filters")
        inner = tuple(_parsed(each, depth=depth + 1) for each in said)
        yield All(inner) if name == "and" else Some(inner)
    else:
        field = field_name(name)
        if not isinstance(said, Mapping) or not 1 <= len(said) <= len(OPERATORS):
            raise FilterInvalidError("of a field an object is said, such as {'eq': 1}")
        for operator, value in said.items():
            yield _condition(field, operator, value)


def field_name(name: object) -> str:
    """Returns the name of a field, as it is: keys below an object, joined as in a JSON pointer.

    Raises FilterInvalidError when it is none, too long, or a word of filters.
    """
    if not isinstance(name, str) or not 1 <= len(name) <= MAX_NAME or name in _WORDS:
        raise FilterInvalidError(
            f"a field has a name of 1 to {MAX_NAME} characters, and not and, or, not"
        )
    _check_text(name)
    try:
        split(f"/{name}")
    except InvalidPointerError:
        raise FilterInvalidError(
            "'~' in a field's name must be followed by 0 or 1, as in a JSON pointer"
        ) from None
    return name


def _condition(field: str, operator: object, value: object) -> Condition:
    if operator not in OPERATORS:
        raise FilterInvalidError(f"operators are {', '.join(OPERATORS)}")
    if operator == "exists":
        if not isinstance(value, bool):
            raise FilterInvalidError("exists: true or false")
        return Condition(field, operator, value)
    if operator == "in":
        if not isinstance(value, list) or not 1 <= len(value) <= MAX_IN:
            raise FilterInvalidError(f"in: an array of 1 to {MAX_IN} values")
        return Condition(field, operator, tuple(map(_operand, value)))
    operand = _operand(value)
    if operator == "prefix" and (not isinstance(operand, str) or not operand):
        raise FilterInvalidError("prefix: a string of at least one character")
    if operator in ("lt", "lte", "gt", "gte") and isinstance(operand, bool):
        raise FilterInvalidError("lt, lte, gt, gte: a number or a string")
    return Condition(field, operator, operand)


def _operand(value: object) -> Scalar:
    known = scalar(value)
    if known is None:
        raise FilterInvalidError(
            f"a value is a string of at most {MAX_VALUE} characters, a number of at most"
            f" {MAX_NUMBER} digits, or a boolean"
        )
    if isinstance(known, str):
        _check_text(known)
    return known


def _check_text(text: str) -> None:
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise FilterInvalidError("a filter holds U+0000 or half a surrogate pair")


def to_mapping(wanted: Filter) -> dict[str, object]:
    """Returns the JSON object that ``parse_filter`` reads; numbers that are no int are Decimal."""
    if isinstance(wanted, Condition):
        value = list(wanted.value) if isinstance(wanted.value, tuple) else wanted.value
        return {wanted.field: {wanted.operator: value}}
    if isinstance(wanted, Not):
        return {"not": to_mapping(wanted.of)}
    return {"and" if isinstance(wanted, All) else "or": [to_mapping(one) for one in wanted.of]}


def to_text(value: object) -> str:
    """Returns canonical JSON text of filters and fields, with every digit: keys are sorted."""
    if isinstance(value, Mapping):
        members = (f"{json.dumps(name)}:{to_text(each)}" for name, each in sorted(value.items()))
        return f"{{{','.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(to_text, value))}]"
    return f"{value:f}" if isinstance(value, Decimal) else json.dumps(value)


def stored_filter(given: object) -> Filter | None:
    """Returns a stored filter. One that cannot be read holds nowhere; null is no filter."""
    try:
        return None if given is None else parse_filter(given)
    except FilterInvalidError:
        return NOTHING


def stored_names(given: object) -> tuple[str, ...]:
    """Returns stored names of fields; none, where they are no names."""
    try:
        return parse_names(given) if isinstance(given, list) else ()
    except FilterInvalidError:
        return ()


def stored_fields(text: str) -> Fields:
    """Returns the fields that ``to_text`` wrote."""
    found = json.loads(text, parse_float=Decimal)
    return {name: tuple(each) if isinstance(each, list) else each for name, each in found.items()}


# ---- The fields of a string.


def parse_names(given: Iterable[object], where: Filter | None = None) -> tuple[str, ...]:
    """Returns the names of filterable fields, each once, in order.

    Raises FilterInvalidError when they are over 16 with those of ``where``, or no names.
    """
    names = tuple(dict.fromkeys(map(field_name, given)))
    if len(names_of(where).union(names)) > MAX_FIELDS:
        raise FilterInvalidError(f"there are at most {MAX_FIELDS} filterable fields")
    return names


def scalar(value: object) -> Scalar | None:
    """Returns a single value as filters compare it; None when it is none, or too long."""
    if isinstance(value, str):
        return value if len(value) <= MAX_VALUE else None
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        return _short(value)
    return value if isinstance(value, int) and abs(value) < 10**MAX_NUMBER else None


def _short(number: Decimal) -> int | Decimal | None:
    """Returns a number that is not too long; -0 is 0."""
    if not number:
        return 0
    if not number.is_finite() or not -MAX_NUMBER <= number.adjusted() < MAX_NUMBER:
        return None
    return number if len(f"{number:f}") <= MAX_NUMBER + len("-.") else None


def field_value(value: object) -> Value | None:
    """Returns what filters see of a JSON value; None where it counts as missing.

    That is null, an object, a value over its limit, and an array with one of those, with an array,
    or with over 64 elements.
    """
    if not isinstance(value, list):
        return scalar(value)
    if len(value) > MAX_ELEMENTS:
        return None
    found = tuple(known for each in value if (known := scalar(each)) is not None)
    return found if len(found) == len(value) else None


def fields_of(document: object, tokens: Sequence[str], names: Iterable[str]) -> dict[str, Value]:
    """Returns the fields of the value that ``tokens`` lead to, as far as they are there.

    Of each name it takes the nearest object around the value that has it. Tokens that lead nowhere
    have the fields of the objects that they lead through.
    """
    around = list(_objects(document, tokens))[::-1]
    found = ((name, _nearest(around, split(f"/{name}"))) for name in names)
    return {name: known for name, value in found if (known := field_value(value)) is not None}


def lets_through(wanted: Filter, document: object, json_pointer: str) -> bool:
    """Says whether a filter holds for what is at a place of a document."""
    return matches(wanted, fields_of(document, split(json_pointer), names_of(wanted)))


def _objects(document: object, tokens: Sequence[str]) -> Iterator[Mapping[str, object]]:
    value = document
    for token in tokens:
        if isinstance(value, dict):
            yield value
        try:
            value = resolve(value, [token])
        except KeyError:
            return


def _nearest(around: Iterable[Mapping[str, object]], keys: Sequence[str]) -> object:
    for outer in around:
        value: object = outer
        for key in keys:
            if not isinstance(value, dict) or key not in value:
                break
            value = value[key]
        else:
            return value
    return None
