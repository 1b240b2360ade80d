"""A document, read whole where no index knows it as it is now."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.core.documents import parse_fielded
from context_search.core.errors import DocumentTooLargeError, InvalidDocumentError
from context_search.store import UnitOfWork

MAX_DOCUMENT_BYTES = 50_000_000
"""Maximum size of a document that is read while no index knows it as it is now."""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """A document at a revision; ``value`` is null where it is deeper than anything reads."""

    revision: int
    value: object


def read_document(work: UnitOfWork, table_id: int) -> ReadDocument | None:
    """Returns a table's document, of whose numbers a filter knows; None when it is gone.

    Raises DocumentTooLargeError over MAX_DOCUMENT_BYTES.
    """
    part = work.tables.part(table_id, [], max_bytes=MAX_DOCUMENT_BYTES)
    if part is None:
        return None
    if part.text is None:
        raise DocumentTooLargeError(
            f"the index follows a change of a document of over {MAX_DOCUMENT_BYTES} bytes; "
            "until it has, nothing of it can be read"
        )
    try:
        return ReadDocument(part.revision, parse_fielded(part.text))
    except InvalidDocumentError:
        return ReadDocument(part.revision, None)
