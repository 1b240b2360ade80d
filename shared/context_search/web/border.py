"""What holds for every request: an id that follows it, and how long its body may be."""

from __future__ import annotations

import re
import uuid
from contextvars import ContextVar

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from context_search.domain.errors import PayloadTooLargeError

QUESTION_BYTES = 1_000_000
"""The body of a route that asks something; documents may be as long as the platform lets them."""
_ASKING = ("/search", "/explain", "/retrieve")
_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_request_id: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    """The id of the request that is being answered; empty outside of one."""
    return _request_id.get()


def with_request_ids(app: ASGIApp) -> ASGIApp:
    """Returns ``app`` with an id for every request: its ``X-Request-Id`` if safe, else a new one.

    Safe are 1 to 64 letters, digits, ``.``, ``_`` and ``-``: nothing that could forge a line of a
    log. The answer carries it, problems and logs name it.
    """

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        chosen = given if _SAFE_ID.fullmatch(given) else uuid.uuid4().hex
        _request_id.set(chosen)  # a request has a task, and so a context, of its own

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Request-Id"] = chosen
            await send(message)

        await app(scope, receive, answer)

    return serve


def check_length(path: str, body: bytes) -> None:
    """Raises PayloadTooLargeError for a question's body of over 1,000,000 bytes."""
    if len(body) > QUESTION_BYTES and path.endswith(_ASKING):
        raise PayloadTooLargeError("the body of a question is over 1,000,000 bytes")
