"""Uploaded documents as the JSON text that Postgres stores: looked at, and never kept as values.

An object becomes one number as soon as it was read, so many small values take no memory.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection

from context_search.catalog.rules.uploads import UploadFormat
from context_search.core.documents import (
    MAX_DEPTH,
    TOO_DEEP,
    check_string,
    members,
    refuse_constant,
)
from context_search.core.errors import DocumentTooLargeError, InvalidDocumentError
from context_search.core.json_number import Numbers, integer

MAX_JSONB_BYTES = 268_435_455
"""All elements of one array or object in Postgres."""
_ENTRY_BYTES = 4
"""What ``jsonb`` keeps of each key and value beside them, and of each container."""
_NUMBER_BYTES = 6
"""The shortest: 0. The size is never over the true one, so nothing is refused that would fit."""
_MARK = 1 << 9
"""A mark is the size of a value times this, and how many levels it has."""
_NUMBER = _NUMBER_BYTES * _MARK


def document_text(
    content: bytes | bytearray, form: UploadFormat, most: int = MAX_JSONB_BYTES
) -> str:
    """Returns the JSON text of a document that passes the border (``parse_json``).

    JSON Lines become the array of their values; empty lines are none, and one value at least is
    needed. The text is as it was written. Raises InvalidDocumentError, which names the line, and
    DocumentTooLargeError also for an array or an object of over ``most`` bytes, which Postgres
    would refuse.
    """
    look = _Look(most)
    if form == "json":
        return look.look_at(content, MAX_DEPTH)[0]
    texts, size = io.StringIO(), 0
    for at, line in enumerate(io.BytesIO(content), start=1):
        if not line.strip():
            continue
        try:
            # It will be inside of an array.
            text, size_of_line = look.look_at(line, MAX_DEPTH - 1)
            size += _ENTRY_BYTES + size_of_line
            look.check(size)
        except InvalidDocumentError as error:
            raise type(error)(f"line {at}: {error.message}") from None
        texts.write("," if texts.tell() else "[")
        texts.write(text.strip())
    if not texts.tell():
        raise InvalidDocumentError("the upload has no line with a JSON value")
    texts.write("]")
    return texts.getvalue()


class _Look:
    """Makes marks of the values of one document, whose arrays and objects have ``most`` bytes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers = Numbers()
        self._with_strings = False

    def look_at(self, content: bytes | bytearray, max_depth: int) -> tuple[str, int]:
        """The text of a JSON value that passes, and the bytes that Postgres needs at least."""
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidDocumentError("the body is not UTF-8") from None
        # An escape is the only way in for NUL and lone surrogates.
        self._with_strings = "\\u" in text
        try:
            value: object = json.loads(
                text,
                object_pairs_hook=self.object_mark,
                parse_int=self.integer_mark,
                parse_float=self.number_mark,
                parse_constant=refuse_constant,
            )
            mark = self.mark(value)
        except json.JSONDecodeError as error:
            raise InvalidDocumentError(f"the body is not JSON (at character {error.pos})") from None
        except RecursionError:
            raise InvalidDocumentError(TOO_DEEP) from None
        if mark % _MARK > max_depth:
            raise InvalidDocumentError(TOO_DEEP)
        return text, mark // _MARK

    def integer_mark(self, text: str) -> int:
        integer(text)
        return _NUMBER

    def number_mark(self, text: str) -> int:
        self._numbers.finite(text)
        return _NUMBER

    def object_mark(self, pairs: list[tuple[str, object]]) -> int:
        found = members(pairs)
        return self._container([*found, *found.values()])

    def mark(self, value: object) -> int:
        if type(value) is int:  # a number, or an object that was read
            return value
        if isinstance(value, str):
            if self._with_strings:
                check_string(value)
            return (len(value) if value.isascii() else len(value.encode())) * _MARK
        return self._container(value) if isinstance(value, list) else 0

    def _container(self, values: Collection[object]) -> int:
        size, levels = _ENTRY_BYTES * (1 + len(values)), 0
        for value in values:
            mark = self.mark(value)
            size += mark // _MARK
            levels = max(levels, mark % _MARK)
        self.check(size)
        return size * _MARK + min(levels + 1, _MARK - 1)

    def check(self, size: int) -> None:
        if size > self._most:
            raise DocumentTooLargeError(
                f"an array or an object takes over {self._most} bytes in Postgres"
            )
