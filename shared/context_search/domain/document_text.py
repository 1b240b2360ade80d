"""Whole documents that were read from somewhere, as the JSON text that Postgres stores."""

from __future__ import annotations

import io

from context_search.domain.documents import MAX_DEPTH, parse_json
from context_search.domain.errors import InvalidDocumentError
from context_search.domain.uploads import UploadFormat


def document_text(content: bytes | bytearray, form: UploadFormat) -> str:
    """Returns the JSON text of a document that passes the border (``parse_json``).

    JSON Lines become the array of their values; empty lines are none. The text is as it was
    written: the values in it are only looked at, of JSON Lines one line's at a time.
    Raises InvalidDocumentError, which names the line.
    """
    if form == "json":
        parse_json(content)
        return content.decode("utf-8-sig")
    lines = enumerate(io.BytesIO(content), start=1)
    return f"[{','.join(_checked(line, number) for number, line in lines if line.strip())}]"


def _checked(line: bytes, number: int) -> str:
    try:
        parse_json(line, max_depth=MAX_DEPTH - 1)  # it will be inside of an array
    except InvalidDocumentError as error:
        raise InvalidDocumentError(f"line {number}: {error.message}") from None
    return line.decode("utf-8-sig").strip()
