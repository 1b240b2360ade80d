"""What Postgres says, as errors of ours.

A message holds the SQLSTATE, the names of constraint and table, and a piece of our own SQL text.
The server's message, detail and context are left out: they may quote rows
(https://www.postgresql.org/docs/current/protocol-error-fields.html).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from context_search.core.errors import (
    ContextSearchError,
    DatabaseUnavailableError,
    DocumentTooLargeError,
    InvalidInputError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABORTED = frozenset({"40001", "40P01"})
_UNAVAILABLE_CLASSES = ("08", "53", "57P")
_UNAVAILABLE = frozenset({"25006", "25P03", "55P03", "57014"})
_TOO_LARGE = "54000"  # a jsonb string, or all elements of an array or object: 268,435,455 bytes
_UNSTORABLE_TEXT = frozenset({"22021", "22P05"})


class PostgresUnavailableError(DatabaseUnavailableError, is_for_callers=False):
    """Not reached, lost, overloaded, or out of time; ``sqlstate`` is empty when nobody said why."""

    def __init__(self, message: str, *, sqlstate: str = "") -> None:
        super().__init__(message)
        self.sqlstate = sqlstate


class TransactionAbortedError(PostgresUnavailableError):
    """Serialization failure or deadlock: the whole transaction may be run again at once."""


class StatementRejectedError(ContextSearchError, is_for_callers=False):
    """A definite no of the server. ``constraint`` and ``table`` are empty when not concerned."""

    def __init__(
        self, message: str, *, sqlstate: str, constraint: str = "", table: str = ""
    ) -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.constraint = constraint
        self.table = table


class UniqueViolationError(StatementRejectedError):
    """A row with this key exists (23505)."""


class ForeignKeyViolationError(StatementRejectedError, code="FOREIGN_KEY_VIOLATION"):
    """The row that is referred to does not exist, or is still referred to (23503)."""


_CONSTRAINTS = {"23505": UniqueViolationError, "23503": ForeignKeyViolationError}


def from_server(fields: Mapping[str, str], statement: str = "") -> ContextSearchError:
    """Returns the error for the fields of an ErrorResponse to ``statement``."""
    sqlstate = fields["C"]
    message = _message(fields, statement)
    if sqlstate in _ABORTED:
        return TransactionAbortedError(message, sqlstate=sqlstate)
    if sqlstate in _UNAVAILABLE or sqlstate.startswith(_UNAVAILABLE_CLASSES):
        return PostgresUnavailableError(message, sqlstate=sqlstate)
    if sqlstate in _UNSTORABLE_TEXT:
        return InvalidInputError("text holds a character that Postgres cannot store (NUL)")
    if sqlstate == _TOO_LARGE:
        return DocumentTooLargeError("the value is larger than Postgres can hold")
    return _CONSTRAINTS.get(sqlstate, StatementRejectedError)(
        message, sqlstate=sqlstate, constraint=fields.get("n", ""), table=fields.get("t", "")
    )


def keeps_connection(fields: Mapping[str, str]) -> bool:
    """Tells whether a connection can go on after this ErrorResponse.

    FATAL ends it, class 08 means that the two sides disagree about the protocol, and 25006 (read
    only) after a failover means that it leads to the old writer.
    """
    sqlstate = fields["C"]
    is_fatal = fields.get("V", fields.get("S")) != "ERROR"
    return not (is_fatal or sqlstate.startswith("08") or sqlstate == "25006")


def _message(fields: Mapping[str, str], statement: str) -> str:
    parts = [f"SQLSTATE {fields['C']}"]
    parts += [f"{name} {fields[key]}" for key, name in _NAMED_FIELDS.items() if key in fields]
    if position := int(fields.get("P", "0")):
        line = statement.count("\n", 0, position) + 1
        near = statement[position - 1 : position + 39].split("\n", 1)[0]
        parts.append(f"line {line} at {near!r}")
    return ", ".join(parts)


_NAMED_FIELDS = {"n": "constraint", "t": "table"}
