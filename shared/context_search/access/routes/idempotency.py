"""``Idempotency-Key``: a creating request that comes again gets the first answer.

After draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import WithJsonSchema

from context_search.access.idempotency import Idempotency, IdempotentRequest
from context_search.core.errors import InvalidInputError
from context_search.web.callers import access_of, bearer_key

OPERATORS = 0
"""Id that stands for internal callers in the rows of keys. No project has it."""
_KEY = re.compile(r"[!-~]{1,255}")
_SCHEMA = {"type": "string", "pattern": "^[!-~]{1,255}$", "examples": ["7c1f1f6e-import-42"]}
_KEPT_HEADERS = ("etag", "location")


@dataclass(frozen=True, slots=True)
class Repeatable:
    """A request that is executed once for each ``Idempotency-Key``; always without one."""

    idempotency: Idempotency
    secret: Callable[[], str] = field(repr=False)
    key: str | None = field(repr=False)
    route: str
    body: bytes = field(repr=False)

    def answer(self, project_id: int, execute: Callable[[], JSONResponse]) -> Response:
        """Returns the answer; one from before says ``Idempotency-Replayed: true``."""
        if self.key is None:
            return execute()
        request = self._request(project_id, self.key)
        packed, is_replayed = self.idempotency.answer(request, lambda: _packed(execute()))
        status, headers, body = json.loads(packed)
        response = Response(body, status, headers, media_type="application/json")
        return _replayed(response) if is_replayed else response

    def answer_by_id(
        self, project_id: int, make: Callable[[], int], answer: Callable[[int], Response]
    ) -> Response:
        """Keeps the id of what is made and nothing else: what comes again is answered anew.

        For answers with texts that somebody may want to be forgotten.
        """
        if self.key is None:
            return answer(make())
        request = self._request(project_id, self.key)
        made, is_replayed = self.idempotency.answer(request, lambda: str(make()).encode())
        response = answer(int(made))
        return _replayed(response) if is_replayed else response

    def _request(self, project_id: int, key: str) -> IdempotentRequest:
        return IdempotentRequest(project_id, self.secret(), key, self.route, self.body)


def _replayed(response: Response) -> Response:
    response.headers["Idempotency-Replayed"] = "true"
    return response


def _packed(response: JSONResponse) -> bytes:
    headers = {name: text for name, text in response.headers.items() if name in _KEPT_HEADERS}
    return json.dumps([response.status_code, headers, bytes(response.body).decode()]).encode()


async def _repeatable(
    request: Request,
    # A list, because FastAPI takes an empty header for none, and repeated ones for the last.
    idempotency_key: Annotated[
        list[str] | None,
        WithJsonSchema(_SCHEMA),
        Header(description="1 to 255 visible ASCII characters; the answer is kept for 24 hours"),
    ] = None,
) -> Repeatable:
    key: str | None = None
    if idempotency_key is not None:
        key = ",".join(idempotency_key).strip()
        if not _KEY.fullmatch(key):
            raise InvalidInputError("Idempotency-Key must be 1 to 255 visible ASCII characters")
    return Repeatable(
        access_of(request).idempotency,
        lambda: _secret_of_caller(request),
        key,
        _route_of(request),
        b"" if key is None else await request.body(),
    )


def _route_of(request: Request) -> str:
    """What is asked for beside the body: another query is another request."""
    query = request.scope["query_string"].decode("latin-1")
    path = f"{request.scope['path']}?{query}".rstrip("?")
    return f"{request.method} {path} {request.headers.get('if-match', '')}".rstrip()


def _secret_of_caller(request: Request) -> str:
    bearer = bearer_key(request)
    if bearer is None:
        return request.headers.get("x-internal-secret") or ""
    return access_of(request).bearers.secret_of(bearer)


Idempotent = Annotated[Repeatable, Depends(_repeatable)]
"""For routes that create something; 422 when the header is no good."""
