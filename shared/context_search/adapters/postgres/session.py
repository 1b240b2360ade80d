"""The one file that goes beyond what pg8000 documents, for the sake of round trips.

``pg8000.native.Connection.run`` waits for the server three times for a statement with parameters,
and two times more for BEGIN and COMMIT around it. Here all of that goes out at once: a search waits
10 times and not 39 (docs/decisions/0029-pipelined-statements.md has what else was measured). Used
beyond the documentation: the messages and ``Context`` of ``pg8000.core``, ``message_types``,
``handle_messages``, ``_sock`` and ``_transaction_status``, and ``to_statement``.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from pg8000.converters import (
    JSON,
    JSON_ARRAY,
    JSONB,
    JSONB_ARRAY,
    TIMESTAMPTZ,
    array_out,
    make_params,
    string_array_in,
    string_in,
    timestamptz_in,
)
from pg8000.core import (
    BIND,
    COMMAND_COMPLETE,
    DESCRIBE,
    EXECUTE_MSG,
    FLUSH_MSG,
    PARSE,
    READY_FOR_QUERY,
    STATEMENT,
    SYNC_MSG,
    TERMINATE_MSG,
    Context,
)
from pg8000.exceptions import InterfaceError
from pg8000.native import Connection, to_statement

_END = b"\x00"
_UNNAMED = _END
_NONE = struct.pack("!h", 0)
_NULL = struct.pack("!i", -1)
_HEAD = struct.Struct("!ci")
_parsed = lru_cache(maxsize=512)(to_statement)
"""pg8000 parses ``:name`` placeholders character by character in Python, on each call."""


class Session(Connection):  # type: ignore[misc]  # pg8000 has no types
    """pg8000's connection with statements that are sent at once. It guards nothing."""

    def __init__(self, **options: Any) -> None:
        """Logs in with pg8000's options. ``json`` and ``jsonb`` arrive as text from then on."""
        super().__init__(**options)
        self.register_out_adapter(list, _array)
        self.register_in_adapter(TIMESTAMPTZ, _moment)
        # Parsing can fail on values that are stored.
        for oid, read in _AS_TEXT.items():
            self.register_in_adapter(oid, read)

    @property
    def status(self) -> str:
        """``I`` idle, ``T`` in a transaction, ``E`` in one that failed."""
        status: bytes | None = self._transaction_status
        return (status or b"I").decode()

    def exchange(
        self,
        sql: str,
        parameters: Mapping[str, object],
        before: tuple[str, ...] = (),
        after: tuple[str, ...] = (),
    ) -> tuple[bytes, Any]:
        """Returns a statement as ``send`` takes it, between others, and the context of its reply.

        The server skips what follows an error. ``read_until_begun`` and ``handle_messages`` fill
        the context, with the rows of ``sql``: the others may have none.
        """
        statement, arrange = _parsed(sql)
        values = make_params(self.py_types, arrange(parameters))
        # The server says early that BEGIN is done: here I am.
        pieces = [_without_values(before), FLUSH_MSG] if before else []
        pieces += _pieces(statement, values, _message(DESCRIBE, STATEMENT + _UNNAMED))
        return b"".join([*pieces, _without_values(after), SYNC_MSG]), Context(statement)

    def send(self, messages: bytes) -> None:
        """Sends all of an exchange at once."""
        self._sock.write(messages)
        self._sock.flush()

    def read_until_begun(self, context: Any) -> None:
        """Reads until the first of the statements is done. Raises what the server says if not."""
        self._read_until((COMMAND_COMPLETE, READY_FOR_QUERY), context)

    def handle_messages(self, context: Any) -> None:
        """Reads to the end; the original copies every message twice."""
        self._read_until((READY_FOR_QUERY,), context)

    def close(self) -> None:
        """Says goodbye and closes, whatever state the line is in.

        The original raises on a dead line, which hides the error that it is called for, and
        leaves unsent bytes that fail once more when they are collected.
        """
        with contextlib.suppress(OSError):
            self._sock.write(TERMINATE_MSG)
        with contextlib.suppress(OSError):
            self._sock.close()

    def _read_until(self, ends: tuple[bytes, ...], context: Any) -> None:
        code = b""
        while code not in ends:
            code, length = _HEAD.unpack(self._read(_HEAD.size))
            self.message_types[code](self._read(length - 4), context)
        if context.error is not None:
            raise context.error

    def _read(self, size: int) -> bytes:
        read: bytes = self._sock.read(size)
        if len(read) < size:
            raise InterfaceError("network error")
        return read


@lru_cache(maxsize=256)
def _without_values(statements: tuple[str, ...]) -> bytes:
    return b"".join(piece for sql in statements for piece in _pieces(sql, ()))


def _pieces(
    statement: str, values: tuple[str | None, ...], describe: bytes = b""
) -> Iterator[bytes]:
    yield _message(PARSE, _UNNAMED + statement.encode() + _END + _NONE)
    yield describe
    bound = [_UNNAMED, _UNNAMED, _NONE, struct.pack("!H", len(values))]
    for value in values:
        if value is None:
            bound.append(_NULL)
        else:
            encoded = value.encode()
            bound += struct.pack("!i", len(encoded)), encoded
    bound.append(_NONE)
    # Not joined to a message first: a value may be a document of 250 MB.
    yield _HEAD.pack(BIND, sum(map(len, bound)) + 4)
    yield from bound
    yield EXECUTE_MSG


def _message(code: bytes, body: bytes) -> bytes:
    return _HEAD.pack(code, len(body) + 4) + body


def _moment(text: str) -> Any:
    """Reads ISO 8601 as Postgres writes it; pg8000's ``strptime`` takes 25 µs for each value."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # infinity, BC, years of five digits
        return timestamptz_in(text)


def _array(values: list[Any]) -> str:
    """Writes an array; pg8000 looks at each character of its strings in Python."""
    if not values or any(type(value) is not str for value in values):
        return str(array_out(values))
    escaped = [value.replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return '{"' + '","'.join(escaped) + '"}'


_AS_TEXT = {
    JSON: string_in,
    JSONB: string_in,
    JSON_ARRAY: string_array_in,
    JSONB_ARRAY: string_array_in,
}
