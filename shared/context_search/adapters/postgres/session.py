"""pg8000's side of the protocol, as far as it is used and where it is changed."""

from __future__ import annotations

import contextlib
from datetime import datetime
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
from pg8000.core import TERMINATE_MSG, CoreConnection

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
_UNNAMED = b"\x00"


class Session(CoreConnection):  # type: ignore[misc]  # pg8000 has no types
    """pg8000's session, except for what it does badly or too eagerly."""

    def one_round_trip(self, statement: str, values: tuple[str | None, ...]) -> Any:
        """Runs a statement with parameters.

        ``execute_unnamed`` waits for the server three times: 308 against 86 microseconds on
        loopback, and three times the distance over a network.
        """
        self.send_PARSE(_UNNAMED, statement)
        self.send_DESCRIBE_STATEMENT(_UNNAMED)
        return self.execute_named(_UNNAMED, values, None, None, statement)

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
