"""A namespace's schema: what each attribute is and how it is indexed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from local.turbopuffer.attribute_types import AttributeType, Kind, parse_type
from local.turbopuffer.errors import invalid
from local.turbopuffer.full_text import FullText

MAX_ATTRIBUTES = 1_024
MAX_VECTORS = 8
MAX_NAME_BYTES = 128
ID = "id"


@dataclass(frozen=True, slots=True)
class Attribute:
    """How one attribute is stored and indexed."""

    type: AttributeType
    filterable: bool = True
    glob: bool = False
    full_text: FullText | None = None

    @property
    def is_vector(self) -> bool:
        """True for a dense vector column."""
        return self.type.kind is Kind.VECTOR

    @property
    def has_column(self) -> bool:
        """True when filters need its values in memory."""
        return not self.is_vector and (self.filterable or self.glob)

    def to_json(self) -> dict[str, Any]:
        """The declaration that makes this attribute again."""
        return {
            "type": str(self.type),
            "filterable": self.filterable,
            "glob": self.glob,
            "full_text": self.full_text and self.full_text.model_dump(),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Attribute:
        """The inverse of ``to_json``."""
        text = saved["full_text"]
        return cls(
            parse_type(saved["type"]), saved["filterable"], saved["glob"], text and FullText(**text)
        )


@dataclass(frozen=True, slots=True)
class Schema:
    """All attributes of a namespace. ``id_kind`` is string, uint or uuid; the distance metric is
    None where there are no vectors."""

    id_kind: Kind
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    distance_metric: str | None = None

    @property
    def vectors(self) -> dict[str, Attribute]:
        """The vector columns, in declaration order."""
        return {name: a for name, a in self.attributes.items() if a.is_vector}

    def attribute(self, name: str, role: str) -> Attribute:
        """The attribute, or 400: every use of an undeclared attribute is an error."""
        if name == ID:
            return Attribute(AttributeType(self.id_kind))
        if name not in self.attributes:
            raise invalid(
                f'attribute "{name}" not found in schema, cannot be part of `{role}`; known: '
                + ", ".join([ID, *self.attributes])
            )
        return self.attributes[name]

    def with_attributes(self, declared: Mapping[str, Attribute]) -> Schema:
        """This schema with attributes added or replaced; 400 on a type change or a bad name."""
        for name, attribute in declared.items():
            _check_change(name, self.attributes.get(name), attribute)
        merged = {**self.attributes, **declared}
        if len(merged) > MAX_ATTRIBUTES:
            raise invalid(f"a namespace has at most {MAX_ATTRIBUTES} attributes")
        schema = replace(self, attributes=merged)
        if len(schema.vectors) > MAX_VECTORS:
            raise invalid(f"a namespace has at most {MAX_VECTORS} vector attributes")
        return schema

    def to_json(self) -> dict[str, Any]:
        """A form for the disk."""
        return {
            "id_kind": self.id_kind,
            "distance_metric": self.distance_metric,
            "attributes": {name: a.to_json() for name, a in self.attributes.items()},
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Schema:
        """The inverse of ``to_json``."""
        attributes = {n: Attribute.from_json(a) for n, a in saved["attributes"].items()}
        return cls(Kind(saved["id_kind"]), attributes, saved["distance_metric"])

    def view(self) -> dict[str, Any]:
        """The body of ``GET /v1/namespaces/{name}/schema``."""
        shown: dict[str, Any] = {
            ID: {"type": str(self.id_kind), "filterable": None, "full_text_search": None}
        }
        for name, attribute in self.attributes.items():
            text = attribute.full_text
            shown[name] = {
                "type": str(attribute.type),
                "filterable": attribute.filterable,
                "full_text_search": text.model_dump() if text else None,
            }
            shown[name] |= {"ann": True} if attribute.is_vector else {}
            shown[name] |= {"glob": True} if attribute.glob else {}
        return shown

    def metadata_view(self) -> dict[str, Any]:
        """The schema as metadata shows it: without nulls, ``ann`` with its metric."""
        shown = self.view()
        for name in self.vectors:
            shown[name]["ann"] = {"distance_metric": self.distance_metric}
        return {
            name: {key: value for key, value in options.items() if value is not None}
            for name, options in shown.items()
        }


def _check_change(name: str, current: Attribute | None, declared: Attribute) -> None:
    if current is not None:
        if current.type != declared.type:
            raise invalid(
                f"attribute {name!r}: type cannot change from {current.type} to {declared.type}"
            )
        return
    if not name or name.startswith("$") or len(name.encode()) > MAX_NAME_BYTES:
        raise invalid(f"attribute name {name!r}: 1 to {MAX_NAME_BYTES} bytes, no leading $")
