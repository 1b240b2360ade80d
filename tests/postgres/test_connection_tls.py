"""TLS is verified or there is no connection: no fall back, and no password before trust."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from context_search.postgres.connection import Connection
from context_search.postgres.errors import PostgresUnavailableError
from context_search.postgres.url import DatabaseUrl
from tests.postgres.certificates import self_signed, server_context
from tests.postgres.relay import Relay

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def url(postgres_url: str) -> DatabaseUrl:
    return DatabaseUrl.parse(postgres_url)


def test_a_certificate_that_is_trusted_for_the_host_carries_the_session(
    url: DatabaseUrl, tmp_path: Path
) -> None:
    certificate = self_signed(tmp_path, "127.0.0.1")
    with Relay(url, server_context(certificate)) as relay:
        secured = replace(relay.url, sslmode="verify-full", sslrootcert=str(certificate))
        connection = Connection(secured)
        assert connection.query("SELECT :n::int", {"n": 7}).rows == [[7]]
        connection.close()


@pytest.mark.parametrize("trusted", ["system", "another"])
def test_a_certificate_of_an_unknown_authority_is_refused(
    trusted: str, url: DatabaseUrl, tmp_path: Path
) -> None:
    another = str(self_signed(tmp_path, "127.0.0.2"))
    with Relay(url, server_context(self_signed(tmp_path, "127.0.0.1"))) as relay:
        secured = replace(
            relay.url, sslmode="verify-full", sslrootcert=another if trusted == "another" else None
        )
        with pytest.raises(PostgresUnavailableError, match="certificate not trusted"):
            Connection(secured)


def test_a_certificate_for_another_host_is_refused(url: DatabaseUrl, tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, "127.0.0.2")
    with Relay(url, server_context(certificate)) as relay:
        secured = replace(relay.url, sslmode="verify-full", sslrootcert=str(certificate))
        with pytest.raises(PostgresUnavailableError, match="IP address mismatch"):
            Connection(secured)


def test_a_server_without_tls_is_refused(url: DatabaseUrl) -> None:
    with pytest.raises(PostgresUnavailableError, match="refuses TLS"):
        Connection(replace(url, sslmode="verify-full"))


@pytest.mark.parametrize("answer", [b"N", b"E", b""])
def test_a_server_that_declines_tls_hears_nothing_more(answer: bytes, url: DatabaseUrl) -> None:
    heard: list[bytes] = []

    def decline(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client:
            heard.append(client.recv(1024))
            client.sendall(answer)
            client.shutdown(socket.SHUT_WR)
            heard.append(client.recv(1024))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=decline, args=(listener,))
        server.start()
        port = listener.getsockname()[1]
        with pytest.raises(PostgresUnavailableError, match="refuses TLS"):
            Connection(replace(url, port=port, sslmode="verify-full"))
        server.join()
    assert heard == [b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b""]


def test_a_missing_file_of_authorities_is_an_error_and_not_the_systems(
    url: DatabaseUrl, tmp_path: Path
) -> None:
    missing = replace(url, sslmode="verify-full", sslrootcert=str(tmp_path / "none.pem"))
    with pytest.raises(PostgresUnavailableError, match="FileNotFoundError"):
        Connection(missing)


def test_nobody_listening_is_an_unavailable_database(url: DatabaseUrl, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for gone in (replace(url, port=port), replace(url, socket_dir=str(tmp_path))):
        with pytest.raises(PostgresUnavailableError, match="no connection"):
            Connection(gone)


def test_a_wrong_password_is_an_unavailable_database(url: DatabaseUrl) -> None:
    with pytest.raises(PostgresUnavailableError, match="login refused: SQLSTATE 28P01"):
        Connection(replace(url, password="wrong"))
