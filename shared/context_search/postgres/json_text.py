"""JSON of documents as text, in SQL: how much it is, and a part of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from context_search.core.errors import DocumentTooLargeError
from context_search.postgres.visible_rows import TABLE_OF_CALLER

# Postgres keeps ``1e-999`` in twelve bytes and writes it in a thousand: 6 MB of such numbers are a
# text of 820 MB, which takes a backend to 2.4 GB only to count its bytes. Our border lets no such
# document in; a program that writes ``data`` by SQL might.
MAX_NUMBERS_BYTES = 256_000_000
"""Maximum bytes of a document's numbers as text: a whole upload, and what they may grow by."""
# 2 kB cannot come to that, unless compressed: 7,000 times 1e131071 take less, and 917 MB as text.
# An array, because jsonb_path_query takes time that grows with the square of what it finds. An
# eighth of the memory of the whole text. Not below 5,000 levels: what follows a path calls itself
# for each.
_NUMBERS = """
    CASE WHEN pg_column_size({value}) < 2000 AND pg_column_compression({value}) IS NULL
    THEN 0 ELSE (
        SELECT COALESCE(sum(octet_length(number)), 0)
        FROM jsonb_array_elements_text(jsonb_path_query_array(
            {value}, 'strict $.**{{0 to 5000}} ? (@.type() == "number")')) AS numbers (number))
    END
"""
NUMBERS_OF_DATA = _NUMBERS.format(value="data")
"""SQL for the bytes of the numbers of ``data`` as text; 0 where there can only be few."""
NUMBERS_OF_VALUE = _NUMBERS.format(value="value")
"""SQL for the bytes of the numbers of ``value`` as text."""
READABLE = f"""
    CASE WHEN {NUMBERS_OF_DATA} <= {MAX_NUMBERS_BYTES} THEN CAST(data AS text) END,
    data IS NOT NULL
"""
"""Columns for ``text_of``."""
# What C's strtol takes for a number, but no index of RFC 6901 is.
_NO_INDEX = re.compile(r"(?!(?:0|[1-9][0-9]*)\Z)[ \t\n\v\f\r]*[+-]?[0-9]+\Z")
# ``#>`` takes more for an index of an array than a JSON pointer does.
# ``OFFSET 0``: each is computed once, and not written down as a materialized CTE of megabytes is.
PART = f"""(
        SELECT revision, pg_column_size(data) AS stored,
               COALESCE(data, 'null') #> CAST(:path AS text[]) AS value
        FROM context_table WHERE id = :table AND {TABLE_OF_CALLER} AND NOT EXISTS (
            SELECT FROM unnest(CAST(:cuts AS int[])) AS cut
            WHERE jsonb_typeof(data #> trim_array(CAST(:path AS text[]), cut)) = 'array')
        OFFSET 0) AS part
"""


def text_of(text: str | None, has_document: bool) -> str:  # noqa: FBT001  a column
    """Returns the JSON text of a document. Raises DocumentTooLargeError for what has none."""
    if text is not None:
        return text
    if has_document:
        raise DocumentTooLargeError(
            f"the numbers of the document, written out, are over {MAX_NUMBERS_BYTES} bytes"
        )
    return "null"


def cuts_of(path: Sequence[str]) -> list[int]:
    """Returns the parameter ``cuts`` of ``PART``."""
    return [len(path) - at for at, token in enumerate(path) if _NO_INDEX.match(token)]
