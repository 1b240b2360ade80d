"""A client of an application in this process."""

from __future__ import annotations

import asyncio

import httpx2
from fastapi import FastAPI

from tests.web.contracted import hold_to_contract


def client_of(app: FastAPI, *, has_contract: bool = True) -> httpx2.Client:
    """A client that keeps no credentials; an error that nothing answers is a 500.

    Every answer is held to the OpenAPI document, unless rows are odd.
    """
    return httpx2.Client(
        transport=InProcess(app),
        base_url="http://testserver",
        event_hooks={"response": [hold_to_contract] if has_contract else []},
    )


class InProcess(httpx2.BaseTransport):
    """Serves each request in the thread that sends it, in an event loop of its own.

    So do the functions. Starlette's TestClient changes threads seven times for a request.
    """

    def __init__(self, app: FastAPI) -> None:
        self._asgi = httpx2.ASGITransport(app, raise_app_exceptions=False)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return asyncio.run(self._serve(request))

    async def _serve(self, request: httpx2.Request) -> httpx2.Response:
        served = await self._asgi.handle_async_request(request)
        body = httpx2.ByteStream(b"".join([piece async for piece in served.aiter_raw()]))
        return httpx2.Response(served.status_code, headers=served.headers, stream=body)
