"""The endpoint behind Starlette and uvicorn, on a free port of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from context_search.agents.tools.toolboxes import as_mcp_errors
from context_search.core.errors import UnauthenticatedError
from context_search.mcp.contract import McpRequest, McpResponse, Toolbox
from context_search.mcp.endpoint import handle
from tests.mcp.memory import SERVER

LOCAL_HOSTS = ("127.0.0.1:*", "localhost:*")
LOCAL_ORIGINS = tuple(f"http://{host}" for host in LOCAL_HOSTS)
METHODS = ["GET", "POST", "DELETE", "PUT", "OPTIONS"]


def _raise(error: Exception) -> None:
    raise error


def mcp_app(toolbox: Toolbox, key: str | None = None) -> Starlette:
    """Serve ``toolbox`` at /mcp, to holders of ``key`` if one is given."""

    def answer(request: McpRequest) -> McpResponse:
        @as_mcp_errors
        def authenticate() -> Toolbox:
            if key is not None and request.headers.get("authorization") != f"Bearer {key}":
                raise UnauthenticatedError("this key is unknown")
            return toolbox

        return handle(
            request,
            authenticate=authenticate,
            server=SERVER,
            on_error=_raise,
            allowed_origins=LOCAL_ORIGINS,
            allowed_hosts=LOCAL_HOSTS,
        )

    async def mcp(request: Request) -> Response:
        headers: dict[str, str] = {}
        for name, value in request.headers.items():
            headers[name] = f"{headers[name]},{value}" if name in headers else value
        sent = McpRequest(request.method, headers, await request.body())
        given = await run_in_threadpool(answer, sent)
        return Response(given.body, given.status, dict(given.headers))

    return Starlette(routes=[Route("/mcp", mcp, methods=METHODS)])


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """Run ``app`` in a thread; gives the URL of its MCP endpoint."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        # The kernel queues connections from here on, so nobody has to wait for uvicorn.
        listener.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join()
