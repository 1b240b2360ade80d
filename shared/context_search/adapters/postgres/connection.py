"""One PostgreSQL connection that is closed as soon as its protocol may be out of step.

pg8000 keeps a connection usable after an exception in the middle of an exchange, with unread
replies on the socket: later calls then return nothing, or the rows of an earlier caller
(docs/decisions/0002-pg8000-guarded.md). Here an exchange either ends with the server's own word,
or the connection is closed.
"""

from __future__ import annotations

import contextlib
import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pg8000.converters import make_params
from pg8000.exceptions import DatabaseError, InterfaceError
from pg8000.native import to_statement

from context_search.adapters.postgres.errors import (
    PostgresUnavailableError,
    StatementRejectedError,
    from_server,
    keeps_connection,
)
from context_search.adapters.postgres.parameters import check_parameters
from context_search.adapters.postgres.session import Session
from context_search.adapters.postgres.transport import open_socket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from context_search.adapters.postgres.url import DatabaseUrl

_GOODBYE_S = 1.0
_statement = lru_cache(maxsize=512)(to_statement)
"""pg8000 parses ``:name`` placeholders character by character in Python, on each call."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one statement gave: rows, and how many rows it touched (-1: not said)."""

    rows: list[list[Any]]
    row_count: int

    @classmethod
    def of(cls, context: Any) -> Reply:
        """What a session has read."""
        return cls(context.rows or [], context.row_count)


class Connection:
    """Not for two threads at once. ``json`` and ``jsonb`` values arrive as text, never parsed."""

    def __init__(
        self,
        url: DatabaseUrl,
        *,
        application_name: str = "context-search",
        timeout_s: float = 5.0,
    ) -> None:
        """Connects and logs in.

        ``timeout_s`` bounds each step of that, and each reply until ``wait_at_most`` is called.
        Raises PostgresUnavailableError.
        """
        self._socket = open_socket(url, timeout_s)
        self._session: Any = None
        try:
            with self._guard():
                self._session = Session(
                    url.user,
                    password=url.password,
                    host=url.host,
                    database=url.database,
                    application_name=application_name,
                    ssl_context=False,
                    sock=self._socket,
                )
        except BaseException as error:
            self.close()
            if isinstance(error, StatementRejectedError):
                message = f"login refused: {error.message}"
                raise PostgresUnavailableError(message, sqlstate=error.sqlstate) from None
            raise
        self._session.convert_our_way()

    @property
    def is_healthy(self) -> bool:
        """False once the connection is closed, by the caller or by a failed exchange."""
        return self._session is not None

    @property
    def transaction_status(self) -> str:
        """``I`` idle, ``T`` in a transaction, ``E`` in one that failed, ``""`` closed."""
        if self._session is None:
            return ""
        status: bytes | None = self._session._transaction_status
        return (status or b"I").decode()

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> Reply:
        """Runs ``sql``; ``:name`` stands for ``parameters["name"]``.

        Without parameters ``sql`` may hold several statements.
        Raises InvalidInputError (nothing was sent), StatementRejectedError and its subclasses
        (the transaction has failed, the connection is good), PostgresUnavailableError.
        """
        if parameters:
            return self.query_between(sql, parameters)
        session = self._opened()
        with self._guard(sql):
            return Reply.of(session.execute_simple(sql))

    def query_between(
        self,
        sql: str,
        parameters: Mapping[str, object],
        *,
        before: tuple[str, ...] = (),
        after: tuple[str, ...] = (),
        when_begun: Callable[[], None] = lambda: None,
    ) -> Reply:
        """Runs ``sql`` between others in one round trip; an error skips the rest. See ``query``.

        ``when_begun`` is called as soon as the first of ``before`` is answered.
        """
        session = self._opened()
        check_parameters(parameters)
        statement, arrange = _statement(sql)
        values = make_params(session.py_types, arrange(parameters))
        with self._guard(statement):
            context = session.send(statement, values, before, after)
            if before:
                session.until_first_done(context)
                when_begun()
            session.handle_messages(context)
            return Reply.of(context)

    def wait_at_most(self, timeout_s: float | None) -> None:
        """Sets how long the server may take for each reply from now on; None means for ever.

        It must be above the statement timeout that the server keeps: a socket that times out
        does not stop the query.
        """
        self._socket.settimeout(timeout_s)

    def close(self) -> None:
        """Ends the session; closing twice is allowed."""
        session, self._session = self._session, None
        if session is not None:
            self._socket.settimeout(_GOODBYE_S)
            session.close()
        self._socket.close()

    def _opened(self) -> Any:
        if not self.is_healthy:
            raise PostgresUnavailableError("the connection is closed")
        return self._session

    def _abandon(self) -> None:
        # Shut down first, so that closing cannot wait for a peer that has stopped reading.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.close()

    @contextlib.contextmanager
    def _guard(self, statement: str = "") -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            fields = _server_fields(error)
            if fields is None or not keeps_connection(fields):
                self._abandon()
            if fields is not None:
                raise from_server(fields, statement) from None
            if isinstance(error, InterfaceError | OSError):
                raise PostgresUnavailableError(f"connection lost: {type(error).__name__}") from None
            if isinstance(error, Exception):
                # Its text may quote the value that could not be converted.
                raise StatementRejectedError(
                    f"unreadable reply: {type(error).__name__}", sqlstate=""
                ) from None
            raise


def _server_fields(error: BaseException) -> dict[str, str] | None:
    """Returns the fields of an ErrorResponse, or None when the server has not spoken."""
    if isinstance(error, DatabaseError) and isinstance(error.args[0], dict):
        fields: dict[str, str] = error.args[0]
        return fields if fields.get("C") else None
    return None
