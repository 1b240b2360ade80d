"""Documents as text, where that is not many times what is stored.

Postgres keeps ``1e-999`` in twelve bytes and writes it in a thousand: 6 MB of such numbers are a
text of 820 MB, which takes a backend to 2.4 GB only to count its bytes. Our border lets no such
document in; a program that writes ``data`` by SQL might.
"""

from __future__ import annotations

from context_search.domain.errors import DocumentTooLargeError

MAX_NUMBERS_BYTES = 256_000_000
"""What the numbers of one document may take: all of an upload, and what they may grow by."""

# Under 2 kB, also compressed to a ninetieth, it cannot come to that. An array, because
# jsonb_path_query takes time that grows with the square of what it finds. An eighth of the memory
# of the whole text. Not below 5,000 levels: what follows a path calls itself for each.
_NUMBERS = """
    CASE WHEN pg_column_size({value}) < 2000 THEN 0 ELSE (
        SELECT COALESCE(sum(octet_length(number)), 0)
        FROM jsonb_array_elements_text(jsonb_path_query_array(
            {value}, 'strict $.**{{0 to 5000}} ? (@.type() == "number")')) AS numbers (number))
    END
"""
NUMBERS_OF_DATA = _NUMBERS.format(value="data")
"""SQL for how many bytes the numbers of ``data`` take as text; 0 where they can only be few."""

NUMBERS_OF_VALUE = _NUMBERS.format(value="value")
"""The same of ``value``."""

READABLE = f"""
    CASE WHEN {NUMBERS_OF_DATA} <= {MAX_NUMBERS_BYTES} THEN CAST(data AS text) END,
    data IS NOT NULL
"""
"""Columns for ``text_of``."""


def text_of(text: str | None, has_document: bool) -> str:  # noqa: FBT001  a column
    """Returns the JSON text of a document. Raises DocumentTooLargeError for what has none."""
    if text is not None:
        return text
    if has_document:
        raise DocumentTooLargeError(
            f"the numbers of the document, written out, are over {MAX_NUMBERS_BYTES} bytes"
        )
    return "null"
