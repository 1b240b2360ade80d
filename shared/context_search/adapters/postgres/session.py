"""pg8000's side of the protocol, as far as it is used and where it is changed."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Sequence
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
    CoreConnection,
)
from pg8000.exceptions import InterfaceError

_JSON_AS_TEXT = {
    JSON: string_in,
    JSONB: string_in,
    JSON_ARRAY: string_array_in,
    JSONB_ARRAY: string_array_in,
}


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


_READ_OTHERWISE = {**_JSON_AS_TEXT, TIMESTAMPTZ: _moment}
Values = Sequence[str | None]
_END = b"\x00"
_UNNAMED = _END
_NONE = struct.pack("!h", 0)
_NULL = struct.pack("!i", -1)
_HEAD = struct.Struct("!ci")


class Session(CoreConnection):  # type: ignore[misc]  # pg8000 has no types
    """pg8000's session, except for what it does badly or too eagerly."""

    def send(
        self, statement: str, values: Values, before: tuple[str, ...], after: tuple[str, ...]
    ) -> Any:
        """Sends a statement with parameters, and others before and after it, all at once.

        The server skips what follows an error. ``execute_unnamed`` waits for the server three
        times and has it answer in pieces: 308 against 70 microseconds on loopback, and three times
        the distance over a network.
        Returns what ``until_first_done`` and ``handle_messages`` fill, with the rows of
        ``statement``: the others may have none.
        """
        pieces = [_without_values(before), FLUSH_MSG] if before else []  # it says early: here I am
        pieces += _pieces(statement, values, _message(DESCRIBE, STATEMENT + _UNNAMED))
        try:
            self._sock.write(b"".join([*pieces, _without_values(after), SYNC_MSG]))
            self._sock.flush()
        except OSError as error:
            raise InterfaceError("network error") from error
        return Context(statement)

    def until_first_done(self, context: Any) -> None:
        """Reads until the first of the statements is done. Raises what the server says if not."""
        self._read_until((COMMAND_COMPLETE, READY_FOR_QUERY), context)

    def handle_messages(self, context: Any) -> None:
        """Reads to the end; the original copies every message twice."""
        self._read_until((READY_FOR_QUERY,), context)

    def _read_until(self, ends: Sequence[bytes], context: Any) -> None:
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

    def convert_our_way(self) -> None:
        """From now on ``json`` and ``jsonb`` arrive as text; parsing can fail on stored values.

        And timestamps and arrays of strings are converted fast.
        """
        self.register_out_adapter(list, _array)
        for oid, read in _READ_OTHERWISE.items():
            self.register_in_adapter(oid, read)

    def close(self) -> None:
        """Says goodbye and closes, whatever state the line is in.

        The original raises on a dead line, which hides the error that it is called for, and
        leaves unsent bytes that fail once more when they are collected.
        """
        with contextlib.suppress(OSError):
            self._sock.write(TERMINATE_MSG)
        with contextlib.suppress(OSError):
            self._sock.close()


@lru_cache(maxsize=256)
def _without_values(statements: tuple[str, ...]) -> bytes:
    return b"".join(piece for sql in statements for piece in _pieces(sql, ()))


def _pieces(statement: str, values: Values, describe: bytes = b"") -> Iterator[bytes]:
    yield _message(PARSE, _UNNAMED + statement.encode() + _END + _NONE)
    yield describe
    bound = [_UNNAMED, _UNNAMED, _NONE, struct.pack("!H", len(values))]
    for value in values:
        if value is None:
            bound.append(_NULL)
        else:
            encoded = value.encode()
            bound += struct.pack("!i", len(encoded)), encoded
    yield _message(BIND, b"".join([*bound, _NONE]))
    yield EXECUTE_MSG


def _message(code: bytes, body: bytes) -> bytes:
    return _HEAD.pack(code, len(body) + 4) + body
