"""A TCP relay in front of PostgreSQL that can lose replies, fall silent, or speak TLS."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from dataclasses import replace
from typing import Self

from pg8000.core import EXECUTE_MSG, QUERY

from context_search.postgres.url import DatabaseUrl


class Relay:
    """Forwards bytes between clients and ``target``, each connection by two threads.

    ``requests`` counts what clients sent: one for all that is shorter than 64 KiB and sent at once.
    ``statements`` counts what they asked the server to carry out.
    """

    def __init__(self, target: DatabaseUrl, tls: ssl.SSLContext | None = None) -> None:
        self._target = target
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._silenced: set[socket.socket] = set()
        self._last_words: bytes | None = None
        self._bytes_left: int | None = None
        self.requests = self.statements = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> DatabaseUrl:
        """The target's URL by way of this relay."""
        return replace(self._target, host="127.0.0.1", port=self._listener.getsockname()[1])

    def cut_the_line_after(self, words: bytes) -> None:
        """The server hears ``words``, and its answer gets lost together with the connection."""
        self._last_words = words

    def cut_the_line_after_reply_bytes(self, count: int | None) -> None:
        """Of what the server says from now on ``count`` bytes arrive, once; None: all do."""
        self._bytes_left = count

    def fall_silent(self) -> None:
        """Connections that exist now stay open and never deliver a byte again."""
        self._silenced.update(self._sockets)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            with contextlib.suppress(OSError):
                self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        if self._tls is not None:
            client.recv(8)
            client.sendall(b"S")
            client = self._tls.wrap_socket(client, server_side=True)
            self._sockets.append(client)
        server = socket.create_connection((self._target.host, self._target.port))
        self._sockets.append(server)
        cut = threading.Event()
        for pump in (self._requests, self._replies):
            threading.Thread(target=pump, args=(client, server, cut), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while block := client.recv(65536):
                self.requests += 1
                self.statements += block.count(EXECUTE_MSG) + block.startswith(QUERY)
                if self._last_words is not None and self._last_words in block:
                    cut.set()
                server.sendall(block)
        # It carries out what it has heard: a server whose replies are refused may stop before.
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _replies(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while block := server.recv(65536):
                if not cut.is_set() and client not in self._silenced:
                    client.sendall(self._as_far_as_it_comes(block, cut))
                if cut.is_set():
                    _hang_up(client)
        _hang_up(client)

    def _as_far_as_it_comes(self, block: bytes, cut: threading.Event) -> bytes:
        if self._bytes_left is None:
            return block
        if len(block) < self._bytes_left:
            self._bytes_left -= len(block)
            return block
        block, self._bytes_left = block[: self._bytes_left], None
        cut.set()
        return block


def _hang_up(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)
