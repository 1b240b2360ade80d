"""HTTP to API Gateway's payload format 2.0 and back.

Shapes: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
What the page leaves open follows what was observed on AWS and recorded by the emulators of AWS
(aws-lambda-dotnet's test tool) and MiniStack: ``rawPath`` is decoded, ``rawQueryString`` is not,
and only a short list of content types reaches a function as text.
"""

from __future__ import annotations

import base64
import json
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from local.invocation import ACCOUNT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from local.routes import RouteMatch

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
    """What goes back to the client; header names are lower case, Set-Cookie may repeat."""

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
    """What API Gateway makes of a handler's return value.

    Without ``statusCode`` the whole value is the body of a 200 in JSON (text goes as it is).
    Raises MalformedResponseError for what API Gateway answers with 500.
    """
    try:
        if not isinstance(result, dict) or "statusCode" not in result:
            text = result if isinstance(result, str) else json.dumps(result)
            return HttpResponse(200, ((b"content-type", b"application/json"),), text.encode())
        return _structured(result)
    except (TypeError, ValueError, AttributeError) as error:
        raise MalformedResponseError(f"not a payload 2.0 response: {error}") from error


def _structured(result: dict[str, Any]) -> HttpResponse:
    headers = {str(k).lower(): _text(v) for k, v in (result.get("headers") or {}).items()}
    headers.setdefault("content-type", "text/plain;charset=UTF-8")
    # The gateway counts the body itself; a wrong length would break the connection.
    sent = [pair for pair in headers.items() if pair[0] not in _HOP_BY_HOP | {"content-length"}]
    sent += [("set-cookie", str(cookie)) for cookie in result.get("cookies") or []]
    body = result.get("body")
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    raw = base64.b64decode(text) if result.get("isBase64Encoded") else text.encode("utf-8")
    return HttpResponse(int(result["statusCode"]), tuple(map(_header, sent)), raw)


def _header(pair: tuple[str, str]) -> tuple[bytes, bytes]:
    if "\n" in pair[1] or "\r" in pair[1]:
        raise ValueError(f"line break in header {pair[0]}")
    return pair[0].encode("latin-1"), pair[1].encode("latin-1")


def _text(value: Any) -> str:
    """A header value: JSON's spelling for numbers and booleans."""
    return value if isinstance(value, str) else json.dumps(value)
