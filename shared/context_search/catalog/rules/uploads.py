"""Documents that come through S3 because they are too large for a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from context_search.catalog.rules.versions import Cause, Origin
from context_search.core.limits import MAX_UPLOAD_BYTES

UploadFormat = Literal["json", "jsonl"]
UploadState = Literal["pending", "importing", "done", "failed"]

CONTENT_TYPES: Mapping[UploadFormat, str] = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
}
MEMORY_A_BYTE = 6
"""Bytes of memory that the import takes for each byte of a JSON document: measured with many small
records.
"""
FUNCTION_BYTES = 250_000_000
"""Bytes of memory that the function takes without a document."""


def import_memory(size: int) -> int:
    """Returns how many bytes of memory the import of a document of ``size`` bytes takes.

    Lists of nothing but empty objects or lists take more.
    """
    return FUNCTION_BYTES + MEMORY_A_BYTE * size


def longest_document(memory: int | None, memory_a_byte: int = MEMORY_A_BYTE) -> int:
    """Returns how many bytes of JSON a document may have in a function with that memory.

    ``memory`` None: on one machine. Each byte of it takes ``memory_a_byte``: those of an import.
    """
    if memory is None:
        return 2 * MAX_UPLOAD_BYTES
    return max(0, memory - FUNCTION_BYTES) // memory_a_byte


@dataclass(frozen=True, slots=True)
class NewUpload:
    """What a caller says of a document before it is there.

    S3 takes exactly ``size`` bytes. ``sha256`` (hex) is checked when the document is read, where it
    is given; ``if_revision`` is the revision that the table must have then. ``from_revision``: the
    document is a version of the table, and is there already. ``actor`` and ``request_id`` say who
    asked.
    """

    project_id: int
    table_id: int
    format: UploadFormat
    size: int
    sha256: str | None = None
    if_revision: int | None = None
    from_revision: int | None = None
    actor: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """One document on its way into a table, and how far it has come.

    ``table_id`` is None when the table is gone for good. ``size`` was announced, ``bytes`` is the
    length of what was uploaded, ``revision`` the table's after the import, ``runs`` how many
    imports began without having ended so far. ``last_error`` is ``{code, message, retryable}``.
    """

    id: int
    project_id: int
    table_id: int | None
    format: UploadFormat
    state: UploadState
    created_at: datetime
    size: int
    sha256: str | None = None
    if_revision: int | None = None
    bytes: int | None = None
    revision: int | None = None
    runs: int = 0
    last_error: Mapping[str, object] | None = None
    from_revision: int | None = None
    actor: str | None = None
    request_id: str | None = None

    @property
    def origin(self) -> Origin:
        """Where the revision comes from that the import makes."""
        cause: Cause = "import" if self.from_revision is None else "restore"
        return Origin(cause, self.actor, self.request_id)

    @property
    def key(self) -> str:
        """The name of its object: ids only."""
        return f"uploads/{self.project_id}/{self.id}"
