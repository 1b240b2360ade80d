"""The HTTP side: who may connect, what a body must look like, how an answer is written."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from context_search.mcp.contract import McpRequest, McpResponse
from context_search.mcp.jsonrpc import (
    INVALID_REQUEST,
    RequestId,
    RpcError,
    error_body,
    to_bytes,
)

MAX_BODY_BYTES = 1_000_000

_JSON = "application/json"
# RFC 9110, 12.4.2: a weight of 0 is "not acceptable".
_REFUSED = re.compile(r";[ \t]*q=0(\.0*)?[ \t]*(;|$)", re.IGNORECASE)
_ACCEPTS_JSON = {_JSON, "application/*", "*/*"}


# Fetch standard, "CORS protocol": what a page may send, and what it may read of an answer.
_PREFLIGHT = {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "authorization, content-type, mcp-protocol-version, "
    "mcp-method, mcp-name, mcp-session-id, last-event-id, x-request-id",
    "access-control-max-age": "3600",
}
_READABLE = "www-authenticate, retry-after, x-request-id"


class RefusedError(Exception):
    """The request is answered before its message is looked at."""

    def __init__(self, response: McpResponse) -> None:
        super().__init__(response.status)
        self.response = response


def json_response(
    status: int, body: object, headers: Mapping[str, str] | None = None
) -> McpResponse:
    """An answer with a JSON body."""
    return McpResponse(status, {"content-type": _JSON, **(headers or {})}, to_bytes(body))


def error_response(status: int, request_id: RequestId | None, error: RpcError) -> McpResponse:
    """An answer whose body is a JSON-RPC error."""
    return json_response(status, error_body(request_id, error))


def refused(status: int, error: RpcError, headers: Mapping[str, str] | None = None) -> RefusedError:
    """A refusal with a JSON-RPC error that belongs to no request."""
    return RefusedError(json_response(status, error_body(None, error), headers))


def challenge(reason: str | None, resource_metadata: str | None) -> dict[str, str]:
    """The header that tells a client what credentials to bring (RFC 6750, 3; RFC 9728, 5.1).

    The scope is the one that MCP needs, so that a client asks its issuer for no more.
    """
    parts = ['Bearer realm="mcp"']
    parts += [f'error="{reason}"'] if reason else []
    parts += (
        ['scope="search"', f'resource_metadata="{resource_metadata}"'] if resource_metadata else []
    )
    return {"www-authenticate": ", ".join(parts)}


def admit(
    request: McpRequest, *, allowed_origins: Collection[str], allowed_hosts: Collection[str] | None
) -> None:
    """Check method, Host and Origin. Raises RefusedError 405, 421 or 403.

    The question of a browser whether a page may call (OPTIONS) is answered with 204.
    A browser sends ``Origin``, other clients do not, so only a present one is judged.
    Host is judged only with ``allowed_hosts``; both guard against DNS rebinding. An allowed
    value may end in ``:*`` for any port. Besides, pages of the server itself may call.
    """
    is_preflight = (
        request.method == "OPTIONS" and "access-control-request-method" in request.headers
    )
    if request.method != "POST" and not is_preflight:
        # No revision needs another method: there are no streams to open and no sessions to end.
        raise RefusedError(McpResponse(405, {"allow": "POST"}))
    if allowed_hosts is not None and not is_listed(request.headers.get("host", ""), allowed_hosts):
        raise refused(421, RpcError(INVALID_REQUEST, "this Host is not served here"))
    origin = request.headers.get("origin")
    is_foreign = origin is not None and not is_listed(origin, allowed_origins)
    if is_foreign and not _is_own(request, judged=allowed_hosts is not None):
        raise refused(403, RpcError(INVALID_REQUEST, "this Origin is not allowed"))
    if is_preflight:
        raise RefusedError(McpResponse(204, _PREFLIGHT))


def _is_own(request: McpRequest, *, judged: bool) -> bool:
    """Tells whether a page of this very server calls: its Origin is the Host that it asks for.

    A Host that was not ``judged`` counts over https only: a foreign name that leads here has no
    certificate.
    """
    scheme, _, authority = request.headers.get("origin", "").strip().lower().partition("://")
    host = request.headers.get("host", "").strip().lower()
    is_safe = scheme == "https" or (scheme == "http" and judged)
    return is_safe and bool(host) and authority == host


def shared_with_page(
    request: McpRequest, response: McpResponse, allowed_origins: Collection[str]
) -> McpResponse:
    """The answer, readable for a web page whose origin is allowed; for others as it was."""
    origin = request.headers.get("origin")
    if origin is None or not is_listed(origin, allowed_origins):
        return response
    shared = {
        "access-control-allow-origin": origin.strip(),
        "access-control-expose-headers": _READABLE,
        "vary": "origin",
    }
    return replace(response, headers={**response.headers, **shared})


def is_listed(value: str, allowed: Collection[str]) -> bool:
    """Returns whether a ``Host`` or an ``Origin`` is allowed; ``:*``: with any port, or none."""
    value = value.strip().lower()
    base, colon, port = value.rpartition(":")
    any_port = f"{base}:*" if colon and port.isdecimal() else f"{value}:*"
    return any(entry.lower() in (value, any_port) for entry in allowed)


def require_json(request: McpRequest) -> None:
    """Check size, Content-Type and Accept. Raises RefusedError 413, 415 or 406."""
    if len(request.body) > MAX_BODY_BYTES:
        message = f"the body is over {MAX_BODY_BYTES} bytes"
        raise refused(413, RpcError(INVALID_REQUEST, message))
    if _media_types(request.headers.get("content-type", "")) != {_JSON}:
        raise refused(415, RpcError(INVALID_REQUEST, f"Content-Type must be {_JSON}"))
    accepted = _media_types(request.headers.get("accept", "*/*"), refused=_REFUSED)
    if not accepted & _ACCEPTS_JSON:
        raise refused(406, RpcError(INVALID_REQUEST, f"Accept must allow {_JSON}"))


def _media_types(value: str, *, refused: re.Pattern[str] | None = None) -> set[str]:
    parts = [part for part in value.split(",") if not (refused and refused.search(part))]
    return {part.partition(";")[0].strip().lower() for part in parts}
