"""The HTTP API of the local stack: sockets in front of the functions that would be deployed.

Limits are API Gateway's: 10 MB a request, 30 seconds an integration.
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import uvicorn

from local.http_events import HttpRequest, HttpResponse, request_event, response_of
from local.routes import RouteMatch, RouteTable

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterable

    from local.invocation import LambdaFunction

    Message = dict[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

MAX_BODY_BYTES = 10 * 1024 * 1024
MAX_EVENT_BYTES = 6 * 1024 * 1024
INTEGRATION_TIMEOUT_S = 30.0
# A little more than the 64 searches a project may have in flight, so that admission control is
# what answers a crowd and not the queue of this pool.
HANDLER_THREADS = 72
_START_DEADLINE_S = 10.0
_STOP_GRACE_S = 5

logger = logging.getLogger(__name__)


class GatewayApp:
    """ASGI application: one HTTP request in, one handler invocation, one response out."""

    def __init__(
        self,
        functions: Iterable[LambdaFunction],
        threads: ThreadPoolExecutor,
        timeout_s: float = INTEGRATION_TIMEOUT_S,
    ) -> None:
        self._routes = RouteTable(functions)
        self._threads = threads
        self._timeout_s = timeout_s

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection event; anything but HTTP is refused."""
        if scope["type"] != "http":
            raise RuntimeError(f"an HTTP API does not speak {scope['type']}")
        try:
            body = await _read_body(receive)
        except ConnectionResetError:
            return
        response = await self._respond(scope, body)
        headers = [
            *response.headers,
            (b"content-length", str(len(response.body)).encode()),
            (b"apigw-requestid", uuid.uuid4().hex[:16].encode()),
        ]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})

    async def _respond(self, scope: Message, body: bytes | None) -> HttpResponse:
        if body is None or not _fits_an_event(body):
            return _message(413, "Request Entity Too Large")
        match = self._routes.match(scope["method"], scope["path"])
        if match is None:
            return _message(404, "Not Found")
        loop = asyncio.get_running_loop()
        call = loop.run_in_executor(self._threads, _invoke, _request(scope, body), match)
        try:
            # Shielded: a handler cannot be stopped from outside, its thread goes on.
            return await asyncio.wait_for(asyncio.shield(call), self._timeout_s)
        except TimeoutError:
            logger.warning("%s took over %s s", match.route_key, self._timeout_s)
            return _message(503, "Service Unavailable")


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body, or None for one over the limit (read to its end, so the client hears us).

    Raises ConnectionResetError when the client goes away before the end.
    """
    pieces: list[bytes] = []
    size = 0
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("the client went away")
        piece = message.get("body", b"")
        size += len(piece)
        if size <= MAX_BODY_BYTES:
            pieces.append(piece)
        more = message.get("more_body", False)
    return b"".join(pieces) if size <= MAX_BODY_BYTES else None


def _fits_an_event(body: bytes) -> bool:
    """Lambda takes 6 MB, and the body travels as a JSON string, its quotes escaped."""
    if len(body) <= MAX_EVENT_BYTES // 3:
        return True
    text = body.decode("utf-8", "replace")
    return len(json.dumps(text, ensure_ascii=False).encode()) <= MAX_EVENT_BYTES


def _request(scope: Message, body: bytes) -> HttpRequest:
    return HttpRequest(
        method=scope["method"],
        path=scope["path"],
        query=scope["query_string"].decode("latin-1"),
        headers=tuple((k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"]),
        body=body,
        source_ip=scope["client"][0] if scope.get("client") else "127.0.0.1",
        protocol=f"HTTP/{scope['http_version']}",
    )


def _invoke(request: HttpRequest, match: RouteMatch) -> HttpResponse:
    """Run the handler in this thread. Every failure is the 500 that API Gateway gives."""
    try:
        return response_of(match.function.invoke(request_event(request, match)))
    except Exception:
        logger.exception("%s failed", match.route_key)
        return _message(500, "Internal Server Error")


def _message(status: int, message: str) -> HttpResponse:
    body = json.dumps({"message": message}, separators=(",", ":")).encode()
    return HttpResponse(status, ((b"content-type", b"application/json"),), body)


class Gateway:
    """A running HTTP API on a socket that already listens. Use as a context manager."""

    def __init__(
        self,
        functions: Iterable[LambdaFunction],
        listener: socket.socket,
        timeout_s: float = INTEGRATION_TIMEOUT_S,
    ) -> None:
        self._threads = ThreadPoolExecutor(HANDLER_THREADS, thread_name_prefix="function")
        self._listener = listener
        self._server = uvicorn.Server(
            uvicorn.Config(
                GatewayApp(functions, self._threads, timeout_s),
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=75,  # longer than the pools of usual clients
                timeout_graceful_shutdown=_STOP_GRACE_S,
            )
        )
        # Not the main thread: there uvicorn would take the signals for itself.
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="gateway", daemon=True
        )

    def __enter__(self) -> Gateway:
        """Start serving; returns when requests are accepted."""
        self._thread.start()
        deadline = time.monotonic() + _START_DEADLINE_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError("the gateway did not start")
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop accepting, give running requests 5 seconds, drop the rest."""
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
