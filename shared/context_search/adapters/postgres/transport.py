"""The socket below a connection: TCP or Unix, verified TLS or plain, never one for the other.

pg8000's own TLS set-up is not used: its default does not verify the certificate, and it goes on in
plain text when the server has no TLS (``pg8000.core._make_socket``).
"""

from __future__ import annotations

import socket
import ssl
import struct
from functools import lru_cache
from typing import TYPE_CHECKING

from context_search.adapters.postgres.errors import PostgresUnavailableError

if TYPE_CHECKING:
    from context_search.adapters.postgres.url import DatabaseUrl

_SSL_REQUEST = struct.pack("!ii", 8, 80877103)
"""https://www.postgresql.org/docs/current/protocol-message-formats.html, SSLRequest."""


def open_socket(url: DatabaseUrl, timeout_s: float) -> socket.socket:
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
