"""Attribute types: their names, what may be inferred, and which values they take.

Source: turbopuffer.com/docs/write (schema). Values are kept in one canonical form, so that
filters compare like with like: uuids as lower-case text, datetimes as UTC text with
milliseconds (which sorts by time), floats as floats.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from local.turbopuffer.errors import ApiError, invalid, unsupported

I64 = 2**63
U64 = 2**64
MAX_DIMENSIONS = 10_752
_VECTOR = re.compile(r"\[(\d+)\](f32|f16)\Z")
_ELSEWHERE = re.compile(r"bytes|\{\}f16|\[\d+\]i8|\[\]\[\d+\]f\d+|\[\]bytes")


class Kind(StrEnum):
    """The scalar under an attribute type."""

    STRING = "string"
    INT = "int"
    UINT = "uint"
    FLOAT = "float"
    BOOL = "bool"
    UUID = "uuid"
    DATETIME = "datetime"
    VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class AttributeType:
    """A declared type, for example ``[]string`` or ``[512]f32``.

    ``dimensions`` and ``width`` (bits per element, 32 or 16) are set for vectors only.
    """

    kind: Kind
    is_array: bool = False
    dimensions: int = 0
    width: int = 0

    def __str__(self) -> str:
        """The type as the service spells it."""
        if self.kind is Kind.VECTOR:
            return f"[{self.dimensions}]f{self.width}"
        return f"[]{self.kind}" if self.is_array else str(self.kind)


def parse_type(text: str) -> AttributeType:
    """The type that ``text`` names; 400 for one this server does not know."""
    if match := _VECTOR.match(text):
        dimensions = int(match[1])
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise invalid(f"a vector has 1 to {MAX_DIMENSIONS} dimensions, not {dimensions}")
        return AttributeType(Kind.VECTOR, dimensions=dimensions, width=int(match[2][1:]))
    if _ELSEWHERE.fullmatch(text):
        raise unsupported(f"attribute type {text}")
    name = text.removeprefix("[]")
    if name not in {kind.value for kind in Kind if kind is not Kind.VECTOR}:
        raise invalid(f"unknown attribute type {text!r}")
    return AttributeType(Kind(name), is_array=text.startswith("[]"))


def infer_type(name: str, value: Any) -> AttributeType:
    """The type of an undeclared attribute: string, int, bool or an array of one of them."""
    sample = value[0] if isinstance(value, list) and value else value
    match sample:
        case bool():
            kind = Kind.BOOL
        case str():
            kind = Kind.STRING
        case int():
            kind = Kind.INT
        case float():
            raise invalid(f"attribute {name!r}: a float is not a signed 64-bit integer; declare it")
        case _:
            raise invalid(f"attribute {name!r}: no type can be inferred, declare it in the schema")
    return AttributeType(kind, is_array=isinstance(value, list))


def canonical_scalar(name: str, kind: Kind, value: Any) -> Any:
    """``value`` in the form it is kept and compared in; 400 when it is not of ``kind``."""
    match kind:
        case Kind.STRING if type(value) is str:
            canonical: Any = value
        case Kind.INT if type(value) is int and -I64 <= value < I64:
            canonical = value
        case Kind.UINT if type(value) is int and 0 <= value < U64:
            canonical = value
        case Kind.BOOL if type(value) is bool:
            canonical = value
        case Kind.FLOAT if type(value) is float or type(value) is int:
            canonical = float(value)
        case Kind.UUID if type(value) is str:
            canonical = _canonical_uuid(name, value)
        case Kind.DATETIME if type(value) is str:
            canonical = _canonical_datetime(name, value)
        case _:
            raise wrong_type(name, str(kind), value)
    return canonical


def canonical_value(name: str, attribute_type: AttributeType, value: Any) -> Any:
    """``value`` (not null, not a vector) checked against its type; 400 when it does not fit."""
    if not attribute_type.is_array:
        return canonical_scalar(name, attribute_type.kind, value)
    if type(value) is not list:
        raise wrong_type(name, str(attribute_type), value)
    kind = attribute_type.kind
    if kind is Kind.STRING:  # token arrays are long, so they get the fast check
        if set(map(type, value)) - {str}:
            raise invalid(f"attribute {name!r} takes strings only")
        return value
    return [canonical_scalar(name, kind, element) for element in value]


def wrong_type(name: str, expected: str, value: Any) -> ApiError:
    """The 400 for a value that is not of the declared type."""
    return invalid(f"attribute {name!r} is of type {expected}, not {type(value).__name__}")


def _canonical_uuid(name: str, value: str) -> str:
    try:
        return str(uuid.UUID(value))
    except ValueError:
        raise wrong_type(name, "uuid", value) from None


def _canonical_datetime(name: str, value: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise wrong_type(name, "datetime", value) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
