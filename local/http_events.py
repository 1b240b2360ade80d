"""HTTP to API Gateway's payload format 2.0 and back, and how long it may be.

Shapes: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
What the page leaves open follows what was observed on AWS and recorded by the emulators of AWS
(aws-lambda-dotnet's test tool) and MiniStack: ``rawPath`` is decoded, ``rawQueryString`` is not,
and only a short list of content types reaches a function as text.
Limits: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from local.invocation import ACCOUNT
from local.routes import RouteMatch

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]

MAX_BODY_BYTES = 10 * 1024 * 1024
MAX_EVENT_BYTES = 6 * 1024 * 1024
_TEXT_TYPES = {"application/json", "application/xml", "application/javascript"}
# Meaningful for one connection only, so API Gateway forwards them in neither direction.
_HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as the gateway received it. ``path`` decoded, ``query`` raw, header names lower."""

    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    source_ip: str
    protocol: str


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What goes back to the client; header names are lower case."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class MalformedResponseError(Exception):
    """The handler returned something that API Gateway answers with 500."""


def request_event(request: HttpRequest, match: RouteMatch) -> dict[str, Any]:
    """The payload 2.0 event. Absent parts (query, cookies, body, parameters) are left out."""
    now = time.time()
    headers = _joined(pair for pair in request.headers if pair[0] not in _HOP_BY_HOP)
    cookies = headers.pop("cookie", None)
    headers["x-forwarded-for"] = ", ".join(
        filter(None, [headers.get("x-forwarded-for"), request.source_ip])
    )
    headers.setdefault("x-forwarded-proto", "http")
    headers["x-amzn-trace-id"] = f"Root=1-{int(now):08x}-{uuid.uuid4().hex[:24]}"
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": match.route_key,
        "rawPath": request.path,
        "rawQueryString": request.query,
        "headers": headers,
        "requestContext": _context(request, match.route_key, headers, now),
        "isBase64Encoded": False,
    }
    if cookies:
        event["cookies"] = [cookie.strip() for cookie in cookies.split(";")]
    if request.query:
        event["queryStringParameters"] = _joined(parse_qsl(request.query, keep_blank_values=True))
    if match.path_parameters:
        event["pathParameters"] = dict(match.path_parameters)
    if request.body:
        _put_body(event, request.body, headers.get("content-type", ""))
    return event


def _context(
    request: HttpRequest, route_key: str, headers: Mapping[str, str], now: float
) -> dict[str, Any]:
    domain = headers.get("host", "localhost")
    return {
        "accountId": ACCOUNT,
        "apiId": "local",
        "domainName": domain,
        "domainPrefix": domain.partition(".")[0],
        "http": {
            "method": request.method,
            "path": request.path,
            "protocol": request.protocol,
            "sourceIp": request.source_ip,
            "userAgent": headers.get("user-agent", ""),
        },
        "requestId": str(uuid.uuid4()),
        "routeKey": route_key,
        "stage": "$default",
        "time": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(now)),
        "timeEpoch": int(now * 1000),
    }


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """One value a name, repeated ones joined by a comma."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _put_body(event: dict[str, Any], body: bytes, content_type: str) -> None:
    essence = content_type.partition(";")[0].strip().lower()
    if essence.startswith("text/") or essence in _TEXT_TYPES:
        try:
            event["body"] = body.decode("utf-8")
        except UnicodeDecodeError:
            pass
        else:
            return
    event["body"] = base64.b64encode(body).decode("ascii")
    event["isBase64Encoded"] = True


def response_of(result: Any) -> HttpResponse:
    """What API Gateway makes of a handler's return value, which has a ``statusCode``.

    Raises MalformedResponseError for what API Gateway answers with 500.
    """
    try:
        headers = {name.lower(): value for name, value in (result.get("headers") or {}).items()}
        headers.setdefault("content-type", "text/plain;charset=UTF-8")
        # The gateway counts the body itself; a wrong length would break the connection.
        sent = [pair for pair in headers.items() if pair[0] not in _HOP_BY_HOP | {"content-length"}]
        text = result.get("body") or ""
        body = base64.b64decode(text) if result.get("isBase64Encoded") else text.encode("utf-8")
        return HttpResponse(int(result["statusCode"]), tuple(map(_header, sent)), body)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise MalformedResponseError(f"not a payload 2.0 response: {error}") from error


def _header(pair: tuple[str, str]) -> tuple[bytes, bytes]:
    if "\n" in pair[1] or "\r" in pair[1]:
        raise ValueError(f"line break in header {pair[0]}")
    return pair[0].encode("latin-1"), pair[1].encode("latin-1")


async def read_body(receive: Receive) -> bytes | None:
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


def has_two_lengths(scope: Message) -> bool:
    """Whether servers on the way may disagree about where the body ends (RFC 9112, 6.1)."""
    names = {name for name, _ in scope["headers"]}
    return {b"content-length", b"transfer-encoding"} <= names


def head_bytes(scope: Message) -> int:
    """How long the request line and the header lines are together, without line ends."""
    target = len(scope["raw_path"]) + len(scope["query_string"]) + 1
    lines = sum(len(name) + len(value) + 2 for name, value in scope["headers"])
    return len(scope["method"]) + target + len(" HTTP/1.1") + 1 + lines


def fits_an_event(body: bytes) -> bool:
    """Lambda takes 6 MB, and the body travels as a JSON string, its quotes escaped."""
    if len(body) <= MAX_EVENT_BYTES // 3:
        return True
    text = body.decode("utf-8", "replace")
    return len(json.dumps(text, ensure_ascii=False).encode()) <= MAX_EVENT_BYTES
