"""One PostgreSQL connection that is closed as soon as its protocol may be out of step.

pg8000 keeps a connection usable after an exception in the middle of an exchange, with unread
replies on the socket: later calls then return nothing, or the rows of an earlier caller
(docs/decisions/0002-pg8000-guarded.md). Here an exchange either ends with the server's own word,
or the connection is closed. What fails while pg8000 sends has the same effect, so values that
Postgres or pg8000 would choke on are found before.

The socket is opened here too. pg8000's own TLS set-up does not verify the certificate by default,
and goes on in plain text when the server has no TLS.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pg8000.exceptions import DatabaseError, InterfaceError

from context_search.core.errors import InvalidInputError
from context_search.postgres.errors import (
    PostgresUnavailableError,
    StatementRejectedError,
    from_server,
    keeps_connection,
)
from context_search.postgres.session import Session, Statements
from context_search.postgres.url import DatabaseUrl

_GOODBYE_S = 1.0
# Everything with its schema: nothing that others have put on that path is called.
_PATH = "SELECT CAST(pg_catalog.current_schemas(false) AS pg_catalog.text[])"
# What only we use lies in a schema of its own: docs/decisions/0028-where-tables-live.md
_OURS = ("context_search", "public")
_SSL_REQUEST = struct.pack("!ii", 8, 80877103)
"""https://www.postgresql.org/docs/current/protocol-message-formats.html, SSLRequest."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one statement gave: rows, and how many rows it touched (-1: not said)."""

    rows: list[list[Any]]
    row_count: int


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
        self._socket = _open_socket(url, timeout_s)
        self._session: Session | None = None
        self.path: tuple[str, ...] = ()
        """The schemas that a program of this role finds tables in, in order."""
        try:
            with self._guard():
                self._session = Session(
                    user=url.user,
                    password=url.password,
                    host=url.host,
                    database=url.database,
                    application_name=application_name,
                    ssl_context=False,
                    sock=self._socket,
                )
                [[path]] = self._session.run(_PATH)
                self.path = tuple(path)
        except BaseException as error:
            self.close()
            if isinstance(error, StatementRejectedError):
                message = f"login refused: {error.message}"
                raise PostgresUnavailableError(message, sqlstate=error.sqlstate) from None
            raise

    @property
    def is_healthy(self) -> bool:
        """False once the connection is closed, by the caller or by a failed exchange."""
        return self._session is not None

    @property
    def transaction_status(self) -> str:
        """``I`` idle, ``T`` in a transaction, ``E`` in one that failed, ``""`` closed."""
        return "" if self._session is None else self._session.status

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> Reply:
        """Runs ``sql``; ``:name`` stands for ``parameters["name"]``.

        Without parameters ``sql`` may hold several statements.
        Raises InvalidInputError (nothing was sent), StatementRejectedError and its subclasses
        (the transaction has failed, the connection is good), PostgresUnavailableError.
        """
        if parameters:
            return self.exchange([(sql, parameters)])[0]
        session = self._opened()
        with self._guard():
            return Reply(session.run(sql) or [], session.row_count)

    def exchange(
        self,
        statements: Statements,
        *,
        before: Statements = (),
        when_begun: Callable[[], None] = lambda: None,
    ) -> list[Reply]:
        """Runs statements behind others in one round trip; an error skips the rest. See ``query``.

        Replies are those of ``statements``. ``when_begun`` is called as soon as the first statement
        of all is answered.
        """
        session = self._opened()
        for _, parameters in [*before, *statements]:
            for name, value in parameters.items():
                _check(name, value)
        with self._guard():
            contexts = session.read(session.send(statements, before), when_begun)
            return [Reply(context.rows or [], context.row_count) for context in contexts]

    def wait_at_most(self, timeout_s: float | None) -> None:
        """Sets how long the server may take for each reply from now on; None means for ever.

        It must be above the statement timeout that the server keeps: a socket that times out
        does not stop the query.
        """
        if self.is_healthy:
            self._socket.settimeout(timeout_s)

    def close(self) -> None:
        """Ends the session; closing twice is allowed."""
        session, self._session = self._session, None
        if session is not None:
            self._socket.settimeout(_GOODBYE_S)
            session.close()
        self._socket.close()

    def _opened(self) -> Session:
        if self._session is None:
            raise PostgresUnavailableError("the connection is closed")
        return self._session

    def _abandon(self) -> None:
        # Shut down first, so that closing cannot wait for a peer that has stopped reading.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.close()

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            fields = _server_fields(error)
            if fields is None or not keeps_connection(fields):
                self._abandon()
            if fields is not None:
                raise from_server(fields, *error.args[1:]) from None
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


def _check(name: str, value: object) -> None:
    """Raises InvalidInputError for text with NUL or a lone surrogate, also inside of lists."""
    if isinstance(value, list | tuple):
        if set(map(type, value)) == {str}:
            value = ["".join(value)]  # thousands at once
        for item in value:
            _check(name, item)
    elif isinstance(value, dict):
        # pg8000 would write it with json.dumps, which lets NaN through.
        raise TypeError(f"parameter {name}: pass JSON as json_text(value)")
    elif isinstance(value, str):
        if "\x00" in value:
            raise InvalidInputError(f"{name} holds the character U+0000")
        try:
            if not value.isascii():
                value.encode()
        except UnicodeEncodeError:
            raise InvalidInputError(f"{name} holds a lone surrogate") from None


def _open_socket(url: DatabaseUrl, timeout_s: float) -> socket.socket:
    """Returns a socket on which the PostgreSQL protocol can start; the caller closes it.

    ``timeout_s`` bounds each step: resolve and connect, TLS request, handshake.
    Raises PostgresUnavailableError when the server is not reached, has no TLS although the URL
    asks for it, or shows a certificate that is not trusted for this host.
    """
    try:
        if url.socket_dir is not None:
            return _unix_socket(f"{url.socket_dir}/.s.PGSQL.{url.port}", timeout_s)
        plain = socket.create_connection((url.host, url.port), timeout_s)
    except OSError as error:
        raise PostgresUnavailableError(f"no connection: {type(error).__name__}") from None
    try:
        # Without it a statement that fills a segment waits for a delayed acknowledgement (40 ms).
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return plain if url.sslmode == "disable" else _secured(plain, url)
    except BaseException as error:
        plain.close()
        if isinstance(error, OSError):
            raise PostgresUnavailableError(f"no TLS connection: {_reason(error)}") from None
        raise


def _unix_socket(path: str, timeout_s: float) -> socket.socket:
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        unix.settimeout(timeout_s)
        unix.connect(path)
    except BaseException:
        unix.close()
        raise
    return unix


def _secured(plain: socket.socket, url: DatabaseUrl) -> socket.socket:
    context = _tls_context(url.sslrootcert)
    plain.sendall(_SSL_REQUEST)
    # One byte and not more: what came with it would be read as if it had been encrypted
    # (CVE-2021-23222).
    if plain.recv(1) != b"S":
        raise PostgresUnavailableError("the server refuses TLS, and the URL requires it")
    return context.wrap_socket(plain, server_hostname=url.host)


@lru_cache(maxsize=8)
def _tls_context(sslrootcert: str | None) -> ssl.SSLContext:
    # Once per process: loading the certificates takes longer than the handshake.
    context = ssl.create_default_context(cafile=sslrootcert)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Python 3.13 began to refuse authorities whose certificates miss an extension, as many that
    # were made for one company do. Chain, dates and host name are verified as before.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate not trusted ({error.verify_message})"
    return type(error).__name__


@lru_cache(maxsize=16)
def search_path(path: tuple[str, ...]) -> str:
    """Returns our path for a transaction, which comes before the role's own ``path``.

    Triggers of the tables' owner run here too, and find behind ours what they find elsewhere.
    What anybody may create there hides nothing that our statements name. Nor do temporary tables,
    which would come first if they were not named last. Postgres's own schema, unnamed, is first.
    """
    others = [name for name in path if name not in _OURS and not name.startswith("pg_")]
    return ", ".join(map(quoted, (*_OURS, *others, "pg_temp")))


def quoted(name: str) -> str:
    """Returns a name of the schema as SQL."""
    return name if name in _OURS else '"' + name.replace('"', '""') + '"'
