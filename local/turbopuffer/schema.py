"""A namespace's schema: what each attribute is, how it is indexed, which values it takes.

Source: turbopuffer.com/docs/write (schema). Every attribute is declared; nothing is inferred.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from local.turbopuffer.bodies import Declaration
from local.turbopuffer.errors import ApiError, invalid, unsupported

ID = "id"
VECTOR = "vector"
MAX_ID_BYTES = 64
_MAX_FILTERABLE_BYTES = 4_096
_MAX_DIMENSIONS = 10_752
_I64 = 2**63
_SCALARS = ("string", "int", "datetime")
_TEXTS = "[]string"
COSINE = "cosine_distance"
EUCLIDEAN = "euclidean_squared"
_VECTOR_TYPE = re.compile(r"\[(\d+)\](f16|f32)\Z")
_NUMBER_BYTES = {"f16": 2, "f32": 4}


@dataclass(frozen=True, slots=True)
class Attribute:
    """How one attribute is stored and indexed. ``type`` as the service spells it."""

    type: str
    is_filterable: bool
    is_full_text: bool = False

    @property
    def dimensions(self) -> int:
        """Of a vector; 0 for any other type."""
        match = _VECTOR_TYPE.match(self.type)
        return int(match[1]) if match else 0

    @property
    def number_bytes(self) -> int:
        """Of a number of a vector; 0 for any other type."""
        match = _VECTOR_TYPE.match(self.type)
        return _NUMBER_BYTES[match[2]] if match else 0

    def canonical(self, name: str, value: Any) -> Any:
        """``value`` (not null, not a vector) as it is kept; 400 when it is not of this type."""
        match self.type, value:
            case "string", str():
                self._check_size(name, [value])
            case "int", int() if type(value) is int and -_I64 <= value < _I64:
                pass
            case "datetime", str():
                return _in_utc(name, value)
            case "[]string", list() if set(map(type, value)) <= {str}:
                self._check_size(name, value)
            case _:
                raise _wrong_type(name, self.type, value)
        return value

    def _check_size(self, name: str, texts: list[str]) -> None:
        # Four bytes a character at most: what is short need not be encoded.
        if self.is_filterable and any(
            4 * len(text) > _MAX_FILTERABLE_BYTES and len(text.encode()) > _MAX_FILTERABLE_BYTES
            for text in texts
        ):
            raise invalid(f"attribute {name!r}: a filterable value has at most 4 KiB")


@dataclass(frozen=True, slots=True)
class Schema:
    """All attributes of a namespace, ``vector`` among them and ``id`` (a string) not.

    ``metric`` is how far its vectors are from each other, as the service spells it.
    """

    attributes: Mapping[str, Attribute]
    metric: str = COSINE

    @property
    def dimensions(self) -> int:
        """Of the vector column."""
        return self.attributes[VECTOR].dimensions

    @property
    def number_bytes(self) -> int:
        """Of a number of the vector column: 2 for f16, 4 for f32."""
        return self.attributes[VECTOR].number_bytes

    def attribute(self, name: str, role: str) -> Attribute:
        """The attribute, or 400: every use of an undeclared attribute is an error."""
        if name not in self.attributes:
            raise invalid(
                f'attribute "{name}" not found in schema, cannot be part of `{role}`; known: '
                + ", ".join([ID, *self.attributes])
            )
        return self.attributes[name]

    def with_declared(self, declared: Mapping[str, Declaration]) -> Schema:
        """This schema and what a write declares; 400 for a change of what is declared already."""
        added = {name: _attribute(name, reported) for name, reported in declared.items()}
        for name, attribute in added.items():
            if self.attributes.get(name, attribute) != attribute:
                raise unsupported(f"a change of attribute {name!r}")
        schema = Schema({**self.attributes, **added}, self.metric)
        if VECTOR not in schema.attributes:
            raise invalid(f"the schema must declare {VECTOR!r}")
        return schema

    def to_json(self) -> dict[str, Any]:
        """A form for the disk."""
        return {
            "attributes": {
                name: {"type": a.type, "filterable": a.is_filterable, "full_text": a.is_full_text}
                for name, a in self.attributes.items()
            },
            "metric": self.metric,
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Schema:
        """The inverse of ``to_json``."""
        return cls(
            {
                name: Attribute(a["type"], a["filterable"], bool(a["full_text"]))
                for name, a in saved["attributes"].items()
            },
            saved.get("metric", COSINE),
        )

    def view(self) -> dict[str, Any]:
        """The body of ``GET /v1/namespaces/{name}/schema``.

        Of a full-text index only the tokenizer is told: what else the service shows of one with
        ready tokens is not known.
        """
        tokens = {"tokenizer": "pre_tokenized_array"}
        shown: dict[str, Any] = {ID: {"type": "string", "filterable": None}}
        for name, attribute in self.attributes.items():
            shown[name] = {"type": attribute.type, "filterable": attribute.is_filterable}
            shown[name]["full_text_search"] = tokens if attribute.is_full_text else None
        shown[ID]["full_text_search"] = shown[VECTOR]["filterable"] = None
        shown[VECTOR]["ann"] = True
        return shown


def check_id(value: Any) -> str:
    """The id of a document; 400 unless it is a string of at most 64 bytes."""
    if not isinstance(value, str):
        raise _wrong_type(ID, "string", value)
    if len(value.encode()) > MAX_ID_BYTES:
        raise invalid(f"an id is at most {MAX_ID_BYTES} bytes long")
    return value


def _attribute(name: str, declared: Declaration) -> Attribute:
    if name == ID or not name or name.startswith("$"):
        raise unsupported(f"an attribute {name!r}")
    text = declared.full_text_search is not None
    attribute = Attribute(
        declared.type,
        is_filterable=not (text or declared.ann)
        if declared.filterable is None
        else declared.filterable,
        is_full_text=text,
    )
    is_vector = 1 <= attribute.dimensions <= _MAX_DIMENSIONS
    if not is_vector and declared.type not in (*_SCALARS, _TEXTS):
        raise unsupported(f"attribute {name!r}: type {declared.type}")
    if (name == VECTOR) != is_vector or is_vector != bool(declared.ann):
        raise unsupported(f"attribute {name!r}: ann or a vector type but for {VECTOR!r}")
    if text and declared.type != _TEXTS:
        raise invalid(f"attribute {name!r}: pre_tokenized_array needs {_TEXTS}")
    return attribute


def _wrong_type(name: str, expected: str, value: Any) -> ApiError:
    return invalid(f"attribute {name!r} is of type {expected}, not {type(value).__name__}")


def _in_utc(name: str, value: str) -> str:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise _wrong_type(name, "datetime", value) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
