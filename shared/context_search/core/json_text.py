"""Documents as JSON text, with every digit of their numbers."""

from __future__ import annotations

import msgspec

from context_search.core.errors import InvalidDocumentError

_WRITER = msgspec.json.Encoder(decimal_format="number")


def to_json(document: object) -> str:
    """Returns compact JSON text, the form in which documents are sent to Postgres.

    Numbers keep their digits. Raises InvalidDocumentError for a document that is too deep to
    write.
    """
    try:
        return _WRITER.encode(document).decode()
    except RecursionError:
        raise InvalidDocumentError("the document is too deep to be written") from None


def fits(text: str, max_bytes: int) -> bool:
    """Says whether a text has at most so many bytes as UTF-8."""
    # A character has at most four bytes: what is far below the limit is not encoded.
    return 4 * len(text) <= max_bytes or len(text.encode()) <= max_bytes
