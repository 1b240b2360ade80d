"""Whole documents that were read from somewhere, as the JSON text that Postgres stores."""

from __future__ import annotations

import io

from context_search.domain.documents import MAX_DEPTH
from context_search.domain.errors import InvalidDocumentError
from context_search.domain.json_number import Numbers
from context_search.domain.looked_at import look_at
from context_search.domain.uploads import UploadFormat


def document_text(content: bytes | bytearray, form: UploadFormat) -> str:
    """Returns the JSON text of a document that passes the border (``parse_json``).

    JSON Lines become the array of their values; empty lines are none. The text is as it was
    written: the values in it are only looked at, of JSON Lines one line's at a time.
    Raises InvalidDocumentError, which names the line.
    """
    numbers = Numbers()
    if form == "json":
        return _checked(content, numbers, MAX_DEPTH)
    lines = enumerate(io.BytesIO(content), start=1)
    checked = (_checked_line(line, at, numbers) for at, line in lines if line.strip())
    return f"[{','.join(checked)}]"


def _checked(content: bytes | bytearray, numbers: Numbers, max_depth: int) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidDocumentError("the body is not UTF-8") from None
    look_at(text, numbers, max_depth=max_depth)
    return text


def _checked_line(line: bytes, at: int, numbers: Numbers) -> str:
    try:
        # It will be inside of an array.
        return _checked(line, numbers, MAX_DEPTH - 1).strip()
    except InvalidDocumentError as error:
        raise type(error)(f"line {at}: {error.message}") from None
