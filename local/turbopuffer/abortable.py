"""HTTP over connections that an application can cut, which ASGI itself does not offer."""

from __future__ import annotations

import asyncio

from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

_ABORT = "local.abort"
"""The ASGI extension: a function without arguments that closes the connection at once."""


class AbortableProtocol(H11Protocol):
    """uvicorn's protocol, which also hands its transport's ``abort`` to the application."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Put the extension into the scope of every request on this connection."""
        super().connection_made(transport)
        app = self.app

        async def abortable(scope: Scope, receive: Receive, send: Send) -> None:
            extensions = {**scope.get("extensions", {}), _ABORT: transport.abort}
            await app({**scope, "extensions": extensions}, receive, send)

        self.app = abortable


class BrokenReply(Response):
    """No reply at all: the connection is cut."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Cut the connection and wait until it is gone; needs ``AbortableProtocol``."""
        del send
        scope["extensions"][_ABORT]()
        while (await receive())["type"] != "http.disconnect":
            continue
