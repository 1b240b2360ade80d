"""What holds for every request: an id follows it, its body is JSON and not too long.

The key is checked before a body is read, so a caller without one costs nothing.

The rules of JSON: see ``core.documents.parse_json``.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from context_search.core.documents import MAX_DEPTH, parse_json
from context_search.core.errors import (
    ContextSearchError,
    DocumentTooLargeError,
    PayloadTooLargeError,
    UnsupportedMediaTypeError,
)
from context_search.core.limits import MAX_INLINE_BYTES
from context_search.web.callers import credential_checks

BODY_BYTES = 64_000
"""How many bytes a body holds at most, on every route that is not below."""
QUESTION_BYTES = 1_000_000
"""The same of a question, and of what names a string by a pointer of any length."""
MEASURED_BYTES = 5_000_000
"""The same of judged questions with the places of their hits."""
SIGN_IN_BYTES = 1_000
"""The same of the one route that parses a body of a caller without credentials."""
# A judged set has lines of 1,000,000 bytes, which are longer as a JSON string.
_DOCUMENTS = ("/api/v1/tables", "/data", "/data/replace", "/data/merge", "/{set_name}")
_QUESTIONS = (
    *("/search", "/explain", "/retrieve", "/preview", "/execute", "/undo"),
    *("/data/read", "/data/remove", "/outline", "/text", "/chunks", "/retry", "/tools/{tool_id}"),
)
_JSON = re.compile(r"application/([!#$&^_.+a-z0-9-]+\+)?json")  # RFC 6839: +json
# Answers hold documents and keys. What a route says itself stays.
_ON_EVERY_ANSWER = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_request_id: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    """The id of the request that is being answered; empty outside of one."""
    return _request_id.get()


def with_request_ids(app: ASGIApp) -> ASGIApp:
    """Returns ``app`` with an id for every request: its ``X-Request-Id`` if safe, else a new one.

    Safe are 1 to 64 letters, digits, ``.``, ``_`` and ``-``: nothing that could forge a line of a
    log. The answer carries it, problems and logs name it. No answer is stored on its way, or taken
    for another type than it says, unless its route allows it.
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
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = chosen
                for name, text in _ON_EVERY_ANSWER.items():
                    headers.setdefault(name, text)
            await send(message)

        await app(scope, receive, answer)

    return serve


def body_limit(route: str) -> int:
    """Returns how many bytes a body holds at most; ``route`` is a path with its parameters."""
    if route.endswith("/console/sign-in"):
        return SIGN_IN_BYTES
    if route.endswith("/measures"):
        return MEASURED_BYTES
    if route.endswith(_DOCUMENTS):
        return MAX_INLINE_BYTES
    return QUESTION_BYTES if route.endswith(_QUESTIONS) else BODY_BYTES


class BodyRefusedError(HTTPException):
    """Carries the reason through FastAPI, which turns every other error of a body into a 400."""

    def __init__(self, reason: ContextSearchError) -> None:
        super().__init__(422)
        self.reason = reason


class StrictJsonRequest(Request):
    """A request whose JSON is read under the border rules; see ``body_limit``."""

    max_bytes = MAX_INLINE_BYTES

    async def body(self) -> bytes:
        """Raises BodyRefusedError over the limit of its route; Lambda lets few more through."""
        body = await super().body()
        if len(body) > self.max_bytes < MAX_INLINE_BYTES:
            message = f"the body has {len(body):,} bytes; this route takes {self.max_bytes:,}"
            raise BodyRefusedError(PayloadTooLargeError(message))
        if len(body) > MAX_INLINE_BYTES:
            message = (
                f"a body may have {MAX_INLINE_BYTES} bytes; a larger document goes through"
                " POST /api/v1/tables/{table_id}/uploads"
            )
            raise BodyRefusedError(DocumentTooLargeError(message))
        return body

    async def check_media_type(self) -> None:
        """Raises UnsupportedMediaTypeError for a body that is not said to be JSON.

        Also without any Content-Type: browsers send such bodies to foreign sites without asking.
        """
        name = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not _JSON.fullmatch(name) and await self.body():
            raise UnsupportedMediaTypeError("the Content-Type of a body must be application/json")

    async def json(self) -> Any:
        """Raises BodyRefusedError."""
        try:
            # A document in a field of the body is one level further down than by itself.
            return parse_json(await self.body(), max_depth=MAX_DEPTH + 1)
        except ContextSearchError as error:
            raise BodyRefusedError(error) from error


class StrictJsonRoute(APIRoute):
    """A route that reads its body with ``StrictJsonRequest``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own hook for custom requests."""
        original = super().get_route_handler()
        takes_body = self.body_field is not None or self.path.endswith("/data")
        checks, max_bytes = credential_checks(self.dependant), body_limit(self.path)

        async def handler(request: Request) -> Response:
            strict = StrictJsonRequest(request.scope, request.receive)
            strict.max_bytes = max_bytes
            if takes_body:
                for check in checks:
                    await check(strict)
                await strict.check_media_type()
            return await original(strict)

        return handler
