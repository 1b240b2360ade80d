"""The one file that goes beyond what pg8000 documents, for the sake of round trips.

``pg8000.native.Connection.run`` waits for the server three times for a statement with parameters,
and two times more for BEGIN and COMMIT around it. Here all of that goes out at once, several
statements in one exchange: a search waits 4 times and not 39 (docs/decisions: 0029 and 0054 have
what was measured). Used beyond the documentation: the messages and ``Context`` of ``pg8000.core``,
``message_types``, ``handle_messages``, ``_sock`` and ``_transaction_status``, and ``to_statement``.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    EMPTY_QUERY_RESPONSE,
    EXECUTE_MSG,
    FLUSH_MSG,
    PARSE,
    READY_FOR_QUERY,
    STATEMENT,
    SYNC_MSG,
    TERMINATE_MSG,
    Context,
)
from pg8000.exceptions import DatabaseError, InterfaceError
from pg8000.native import Connection, to_statement

_END = b"\x00"
_UNNAMED = _END
_NONE = struct.pack("!h", 0)
_NULL = struct.pack("!i", -1)
_HEAD = struct.Struct("!ci")
_DONE = (COMMAND_COMPLETE, EMPTY_QUERY_RESPONSE)
_parsed = lru_cache(maxsize=512)(to_statement)
"""pg8000 parses ``:name`` placeholders character by character in Python, on each call."""


Statement = tuple[str, Mapping[str, object]]
"""SQL with ``:name`` for each parameter, and the parameters."""
Statements = Sequence[Statement]


@dataclass(frozen=True, slots=True)
class SentStatements:
    """What replies are read into, and how many statements come before those that it is of."""

    contexts: list[Context]
    before: int


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

    def send(self, statements: Statements, before: Statements = ()) -> SentStatements:
        """Sends statements behind others, all at once; ``read`` gives the rows of ``statements``.

        The others may have none. The server skips what follows an error. Of several statements no
        one but the last may have parameters or rows that fill the buffers of a socket.
        """
        # The server says early that the first one is done: here I am.
        pieces = [*_without_rows(self, before), FLUSH_MSG] if before else []
        contexts = []
        for sql, parameters in statements:
            statement, arrange = _parsed(sql)
            values = make_params(self.py_types, arrange(parameters))
            pieces += _pieces(statement, values, _DESCRIBE)
            contexts.append(Context(statement))
        self._sock.write(b"".join([*pieces, SYNC_MSG]))
        self._sock.flush()
        return SentStatements(contexts, len(before))

    def read(self, sent: SentStatements, when_begun: Callable[[], None]) -> list[Context]:
        """Reads all replies. Raises what the server says, with the statement that it says it of.

        ``when_begun`` is called as soon as the first statement of all is done.
        """
        done, code, context = 0, b"", sent.contexts[0]
        while code != READY_FOR_QUERY:
            code, length = _HEAD.unpack(self._read(_HEAD.size))
            self.message_types[code](self._read(length - 4), context)
            if code in _DONE:
                done += 1
                if done == 1:
                    when_begun()
                context = sent.contexts[min(max(0, done - sent.before), len(sent.contexts) - 1)]
        for each in sent.contexts:
            if isinstance(each.error, DatabaseError):
                raise DatabaseError(each.error.args[0], each.statement)
            if each.error is not None:
                raise each.error
        return sent.contexts

    def handle_messages(self, context: Any) -> None:
        """Reads to the end; the original copies every message twice."""
        self.read(SentStatements([context], 0), lambda: None)

    def close(self) -> None:
        """Says goodbye and closes, whatever state the line is in.

        The original raises on a dead line, which hides the error that it is called for, and
        leaves unsent bytes that fail once more when they are collected.
        """
        with contextlib.suppress(OSError):
            self._sock.write(TERMINATE_MSG)
        with contextlib.suppress(OSError):
            self._sock.close()

    def _read(self, size: int) -> bytes:
        read: bytes = self._sock.read(size)
        if len(read) < size:
            raise InterfaceError("network error")
        return read


def _without_rows(session: Session, statements: Statements) -> Iterator[bytes]:
    for sql, parameters in statements:
        if parameters:
            statement, arrange = _parsed(sql)
            yield from _pieces(statement, make_params(session.py_types, arrange(parameters)))
        else:
            yield _without_values(sql)


@lru_cache(maxsize=256)
def _without_values(sql: str) -> bytes:
    return b"".join(_pieces(sql, ()))


@lru_cache(maxsize=512)
def _parse(statement: str) -> bytes:
    return _message(PARSE, _UNNAMED + statement.encode() + _END + _NONE)


def _pieces(
    statement: str, values: tuple[str | None, ...], describe: bytes = b""
) -> Iterator[bytes]:
    yield _parse(statement)
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


_DESCRIBE = _message(DESCRIBE, STATEMENT + _UNNAMED)


def _moment(text: str) -> Any:
    """Reads ISO 8601 as Postgres writes it; pg8000's ``strptime`` takes 25 µs for each value."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # infinity, BC, years of five digits
        return timestamptz_in(text)


def _array(values: list[Any]) -> str:
    """Writes an array; pg8000 looks at each character of its strings in Python."""
    if set(map(type, values)) != {str}:
        return str(array_out(values))
    text = "".join(values)  # thousands at once
    if "\\" in text or '"' in text:
        values = [value.replace("\\", "\\\\").replace('"', '\\"') for value in values]
    return '{"' + '","'.join(values) + '"}'


_AS_TEXT = {
    JSON: string_in,
    JSONB: string_in,
    JSON_ARRAY: string_array_in,
    JSONB_ARRAY: string_array_in,
}
