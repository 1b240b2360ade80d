"""Names that the parts of the system know each other by, all derived from ids and hashes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from context_search.core.json_pointer import ancestors

KEY_BYTES = 16
"""How many bytes of a pointer's sha256 are kept with a section; no two pointers have the same."""
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_PARTS = 5  # of the id of a vector row, see ``vector_row_id``


def base36(number: int) -> str:
    """Returns a non-negative number in base 36, at most 13 digits for a bigint.

    >>> base36(0), base36(35), base36(36)
    ('0', 'z', '10')
    """
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _BASE36[rest] + digits
        if number == 0:
            return digits


def pointer_sha256(json_pointer: str) -> bytes:
    """Returns the 32 bytes that stand for a pointer in an index (pointers have no length limit)."""
    return hashlib.sha256(json_pointer.encode()).digest()


def pointer_key(json_pointer: str) -> str:
    """Returns 10 characters of base32 that stand for a pointer in a turbopuffer id."""
    return base64.b32encode(pointer_sha256(json_pointer))[:10].decode().lower()


def scope_key(json_pointer: str) -> str:
    """Returns the 16 hex digits that stand for a pointer in the ``ancestors`` attribute."""
    return hashlib.sha256(json_pointer.encode()).hexdigest()[:16]


def ancestor_keys(json_pointer: str) -> list[str]:
    """Returns the scope keys of every pointer that contains ``json_pointer``, the root first."""
    return [scope_key(pointer) for pointer in ancestors(json_pointer)]


def vector_row_id(
    *, table_id: int, json_pointer: str, content_hash: str, set_id: int, chunk_index: int
) -> str:
    """Returns the id of a chunk's first vector row (at most 58 bytes).

    Made from the chunk's row as it was inserted: a later set that takes the chunk over leaves it
    its id. The set number makes it unique for each incarnation of a text, so a late write or delete
    of an earlier incarnation can never hit a later one.
    """
    of_set = vector_rows_of(
        table_id=table_id, json_pointer=json_pointer, content_hash=content_hash, set_id=set_id
    )
    return of_set + base36(chunk_index)


def vector_rows_of(*, table_id: int, json_pointer: str, content_hash: str, set_id: int) -> str:
    """Returns how the ids of a set's chunks begin; what follows is ``base36`` of their index."""
    pointer = pointer_key(json_pointer)
    return f"{base36(table_id)}.{pointer}.{content_hash[:12]}.{base36(set_id)}."


def window_ids(doc_id: str, window_count: int) -> list[str]:
    """Returns the ids of all vector rows of a chunk, one a window: its own, then ``….w1``, …"""
    return [doc_id] + [f"{doc_id}.w{base36(number)}" for number in range(1, window_count)]


def first_row_id(window_id: str) -> str:
    """Returns the id of the first vector row of the chunk that a vector row belongs to.

    >>> first_row_id("1.njinzbmecn.0123456789ab.5.w"), first_row_id("1.a.0.5.w.w2")
    ('1.njinzbmecn.0123456789ab.5.w', '1.a.0.5.w')
    """
    # Counted, not searched for ".w": a number or a pointer's key may begin with w as well.
    return window_id if window_id.count(".") < _PARTS else window_id[: window_id.rindex(".")]


def first_row_ids(window_ids: Sequence[str]) -> Sequence[str]:
    """Returns ``first_row_id`` of each; of thousands at once, as a rule without a window.

    Raises ValueError for ids that are none of vector rows.
    """
    dots = "".join(window_ids).count(".")
    # None has fewer, so that many are those of first rows alone.
    if dots < (_PARTS - 1) * len(window_ids):
        raise ValueError("these are no ids of vector rows")
    return (
        window_ids if dots == (_PARTS - 1) * len(window_ids) else [*map(first_row_id, window_ids)]
    )


def namespace_prefix(deployment: str) -> str:
    """Returns how the names of all namespaces of a deployment begin.

    ``deployment`` is the id that the database keeps for itself, so deployments can share a
    turbopuffer account.
    """
    return f"{deployment}_project_"


def table_namespace(deployment: str, *, project_id: int, table_id: int) -> str:
    """Returns the turbopuffer namespace of the first generation of a table's first index."""
    return f"{namespace_prefix(deployment)}{project_id}_table_{table_id}"


def generation_namespace(
    deployment: str, *, project_id: int, table_id: int | None, index_id: int, number: int
) -> str:
    """Returns the namespace of any generation; ``table_id`` None is the index of the project."""
    of = "search" if table_id is None else f"table_{table_id}"
    return f"{namespace_prefix(deployment)}{project_id}_{of}_i{index_id}_g{number}"
