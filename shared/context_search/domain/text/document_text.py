"""Whole documents that were read from somewhere, as the JSON text that Postgres stores."""

from __future__ import annotations

import io

from context_search.domain.documents import MAX_DEPTH, parse_json
from context_search.domain.errors import InvalidDocumentError
from context_search.domain.json_number import Numbers
from context_search.domain.uploads import UploadFormat


def document_text(content: bytes | bytearray, form: UploadFormat) -> str:
    """Returns the JSON text of a document that passes the border (``parse_json``).

    JSON Lines become the array of their values; empty lines are none. The text is as it was
    written: the values in it are only looked at, of JSON Lines one line's at a time.
    Raises InvalidDocumentError, which names the line.
    """
    numbers = Numbers(keeps=False)
    if form == "json":
        parse_json(content, numbers=numbers)
        return content.decode("utf-8-sig")
    lines = enumerate(io.BytesIO(content), start=1)
    checked = (_checked(line, at, numbers) for at, line in lines if line.strip())
    return f"[{','.join(checked)}]"


def _checked(line: bytes, at: int, numbers: Numbers) -> str:
    try:
        # It will be inside of an array.
        parse_json(line, max_depth=MAX_DEPTH - 1, numbers=numbers)
    except InvalidDocumentError as error:
        raise type(error)(f"line {at}: {error.message}") from None
    return line.decode("utf-8-sig").strip()
