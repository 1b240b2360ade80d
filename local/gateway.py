"""The HTTP API of the local stack: sockets in front of the functions that would be deployed.

An integration has 30 seconds, and a request line with its headers 10,240 bytes, as at API Gateway.
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
API Gateway answers under its own names only. This one answers under those of this machine: a web
page whose name its owner leads here (DNS rebinding) comes with that name.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import socket
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from functools import partial

import uvicorn
from starlette.datastructures import Headers

from context_search.mcp.transport import is_listed
from local.fair_threads import FairThreads
from local.http_events import (
    HttpRequest,
    HttpResponse,
    Message,
    Receive,
    fits_an_event,
    has_two_lengths,
    head_bytes,
    read_body,
    request_event,
    response_of,
)
from local.invocation import LambdaFunction
from local.loopback_only import LOOPBACK_HOSTS
from local.routes import RouteMatch, RouteTable

Send = Callable[[Message], Awaitable[None]]

INTEGRATION_TIMEOUT_S = 30.0
MAX_HEAD_BYTES = 10_240
"""The request line and all headers together."""
# A caller has a little more than the 64 searches a project may have in flight, so that admission
# control is what answers a crowd, at once, and there are always some for the others.
CALLER_THREADS = 72
HANDLER_THREADS = 96
HELD_BACK_S = 1.0
"""How long the answer is held back that tells of too many expensive requests. Callers who do not
wait for ``retryAfterMs`` would else take the processor from everybody else on this machine.
"""
_TOO_MANY = b'"MANAGEMENT_BACKPRESSURE"'
_START_DEADLINE_S = 10.0
_STOP_GRACE_S = 5

logger = logging.getLogger(__name__)


class GatewayApp:
    """ASGI application: one HTTP request in, one handler invocation, one response out."""

    def __init__(
        self,
        functions: Iterable[LambdaFunction],
        threads: FairThreads,
        hosts: Collection[str] = LOOPBACK_HOSTS,
        timeout_s: float = INTEGRATION_TIMEOUT_S,
    ) -> None:
        self._hosts = hosts
        self._routes = RouteTable(functions)
        self._threads = threads
        self._timeout_s = timeout_s

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection event; anything but HTTP is refused."""
        if scope["type"] != "http":
            raise RuntimeError(f"an HTTP API does not speak {scope['type']}")
        try:
            body = await read_body(receive)
        except ConnectionResetError:
            return
        if has_two_lengths(scope):
            response = _BAD_LENGTH
        elif head_bytes(scope) > MAX_HEAD_BYTES:
            response = _message(431, "Request Header Fields Too Large")
        elif not is_listed(Headers(scope=scope).get("host", ""), self._hosts):
            response = _message(421, "Misdirected Request")
        else:
            response = await self._respond(scope, body)
        if response.status == 429 and _TOO_MANY in response.body:
            await asyncio.sleep(HELD_BACK_S)
        headers = [
            *response.headers,
            (b"content-length", str(len(response.body)).encode()),
            (b"apigw-requestid", uuid.uuid4().hex[:16].encode()),
        ]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})

    async def _respond(self, scope: Message, body: bytes | None) -> HttpResponse:
        if body is None or not fits_an_event(body):
            return _message(413, "Request Entity Too Large")
        match = self._routes.match(scope["method"], scope["path"])
        if match is None:
            return _message(404, "Not Found")
        request = _request(scope, body)
        call = self._threads.submit(_caller(request), partial(_invoke, request, match))
        try:
            # Shielded: a handler cannot be stopped from outside, its thread goes on.
            waiting = asyncio.shield(asyncio.wrap_future(call))
            return await asyncio.wait_for(waiting, self._timeout_s)
        except TimeoutError:
            call.cancel()
            logger.warning("%s took over %s s", match.route_key, self._timeout_s)
            return _message(503, "Service Unavailable")


def _caller(request: HttpRequest) -> str:
    """Who has a turn of its own: a key or a secret, of which only the hash is kept."""
    headers = dict(request.headers)
    secret = headers.get("authorization") or headers.get("x-internal-secret") or request.path
    return hashlib.sha256(secret.encode()).hexdigest()


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


_BAD_LENGTH = _message(400, "Bad Request")
_BAD_LENGTH = replace(_BAD_LENGTH, headers=(*_BAD_LENGTH.headers, (b"connection", b"close")))


class Gateway:
    """A running HTTP API on a socket that already listens. Use as a context manager."""

    def __init__(
        self,
        functions: Iterable[LambdaFunction],
        listener: socket.socket,
        hosts: Collection[str] = LOOPBACK_HOSTS,
        timeout_s: float = INTEGRATION_TIMEOUT_S,
    ) -> None:
        self._threads = FairThreads(HANDLER_THREADS, CALLER_THREADS)
        self._listener = listener
        self._server = uvicorn.Server(
            uvicorn.Config(
                GatewayApp(functions, self._threads, hosts, timeout_s),
                lifespan="off",
                ws="none",  # an HTTP API serves the request and lets the upgrade be
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
        self._threads.shutdown()
