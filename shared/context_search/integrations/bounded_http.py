"""HTTP clients whose replies end: one deadline for a whole exchange, and a maximum of bytes.

A client's own timeout is for each read alone. A server that sends a little of a head, or of
nothing, again and again would hold it for ever.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

MAX_REPLY_BYTES = 128 << 20
"""No reply of a provider that is one is longer, unpacked; many vectors are the longest."""
MAX_BYTES = "max_bytes"
"""Extension of a request: the maximum for its reply."""
Client = TypeVar("Client")


class ReplyTooLongError(Exception):
    """A reply has more bytes than any that is one."""


class _End(threading.local):
    """When what this thread asks for has to be over, on the monotonic clock.

    ``at`` is of the present request, ``latest`` of all that the thread does at present.
    """

    at = math.inf
    latest = math.inf


_END = _End()


@contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """Ends the requests of this thread in time whose client is told no timeout, or a longer one."""
    _END.latest = time.monotonic() + seconds
    try:
        yield
    finally:
        _END.latest = math.inf


def bounded(client: Client, library: Any, *, max_bytes: int = MAX_REPLY_BYTES) -> Client:
    """Returns an HTTP client whose requests end with their read timeout, however they are answered.

    ``library`` is httpx or httpx2, whose ReadTimeout is raised; a reply that is too long raises
    ReplyTooLongError. The whole reply is read before the client returns it.
    """
    _Bounds(library, max_bytes).put_on(client)
    return client


class _Bounds:
    """The bounds of one client."""

    def __init__(self, library: Any, max_bytes: int) -> None:
        self._library = library
        self._max_bytes = max_bytes

    def put_on(self, client: Any) -> None:
        """Puts the bounds on a client."""
        # The client hands no backend on. Those of proxies in the environment are among them.
        for transport in (client._transport, *client._mounts.values()):
            if isinstance(transport, self._library.HTTPTransport):
                pool: Any = transport._pool
                pool._network_backend = _EndingBackend(pool._network_backend, self)
        hooks = client.event_hooks
        client.event_hooks = {
            "request": [*hooks["request"], self._begin],
            "response": [*hooks["response"], self._read],
        }

    def left_s(self, timeout_s: float | None) -> float | None:
        """Returns how long to wait for the socket. Raises ReadTimeout when the time is over."""
        if _END.at == math.inf:
            return timeout_s
        left_s = _END.at - time.monotonic()
        if left_s <= 0:
            raise self._library.ReadTimeout("the reply had no end in time")
        return left_s if timeout_s is None else min(timeout_s, left_s)

    def _begin(self, request: Any) -> None:
        read_s = request.extensions.get("timeout", {}).get("read")
        usual = math.inf if read_s is None else time.monotonic() + read_s
        _END.at = min(usual, _END.latest)

    def _read(self, response: Any) -> None:
        """Reads the body, as ``read`` of the response does, and no further than it may be long."""
        most = response.request.extensions.get(MAX_BYTES, self._max_bytes)
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if len(content) > most:
                raise ReplyTooLongError(f"the reply has more than {most} bytes")
        response._content = bytes(content)


class _EndingStream:
    """A connection that ends with the request."""

    def __init__(self, inner: Any, bounds: _Bounds) -> None:
        self._inner, self._bounds = inner, bounds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Waits no longer than the request may take."""
        read: bytes = self._inner.read(max_bytes, self._bounds.left_s(timeout))
        return read

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Waits no longer than the request may take."""
        self._inner.write(buffer, self._bounds.left_s(timeout))

    def start_tls(self, *args: Any, **more: Any) -> _EndingStream:
        """Returns the same, encrypted."""
        return _EndingStream(self._inner.start_tls(*args, **more), self._bounds)


class _EndingBackend:
    """What httpcore opens connections with; they end with their requests."""

    def __init__(self, inner: Any, bounds: _Bounds) -> None:
        self._inner, self._bounds = inner, bounds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, **more: Any) -> _EndingStream:
        """Returns a connection of the inner backend."""
        return _EndingStream(self._inner.connect_tcp(*args, **more), self._bounds)
