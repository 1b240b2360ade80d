"""Document ids: u64, uuid or string of at most 64 bytes; one kind per namespace."""

from __future__ import annotations

from typing import Any

from local.turbopuffer.attribute_types import U64, Kind, canonical_scalar
from local.turbopuffer.errors import invalid, malformed

MAX_ID_BYTES = 64
Id = str | int


def check_shape(value: Any) -> Id:
    """The raw id; 422 when it is neither a string nor a u64 (bool, float, null, negative)."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise malformed("data did not match any variant of untagged enum Id")
    if isinstance(value, int) and not 0 <= value < U64:
        raise malformed("an integer id is an unsigned 64-bit integer")
    if isinstance(value, str) and len(value.encode()) > MAX_ID_BYTES:
        raise invalid(f"an id is at most {MAX_ID_BYTES} bytes long")
    return value


def infer_kind(value: Id) -> Kind:
    """The kind of a namespace whose first document has this id. A uuid must be declared."""
    return Kind.UINT if isinstance(value, int) else Kind.STRING


def canonical_id(value: Any, kind: Kind) -> Id:
    """The id as it is kept; 400 when it is not of the namespace's kind."""
    checked: Id = canonical_scalar("id", kind, check_shape(value))
    return checked


def id_from_text(text: str, kind: Kind) -> Id:
    """The id that was stored as ``str(id)``."""
    return int(text) if kind is Kind.UINT else text
