"""The HTTP side: who may connect, what a body must look like, how an answer is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from context_search.wire.mcp.contract import McpRequest, McpResponse
from context_search.wire.mcp.jsonrpc import (
    INVALID_REQUEST,
    RequestId,
    RpcError,
    error_body,
    to_bytes,
)

MAX_BODY_BYTES = 1_000_000

_JSON = "application/json"
_ACCEPTS_JSON = {_JSON, "application/*", "*/*"}


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


def admit(
    request: McpRequest, *, allowed_origins: Collection[str], allowed_hosts: Collection[str] | None
) -> None:
    """Check method, Host and Origin. Raises RefusedError 405, 421 or 403.

    A browser sends ``Origin``, other clients do not, so only a present one is judged.
    Host is judged only with ``allowed_hosts``; both guard against DNS rebinding. An allowed
    value may end in ``:*`` for any port.
    """
    if request.method != "POST":
        # Neither era needs another method: there are no streams to open and no sessions to end.
        raise RefusedError(McpResponse(405, {"allow": "POST"}))
    if allowed_hosts is not None and not _listed(request.headers.get("host", ""), allowed_hosts):
        raise refused(421, RpcError(INVALID_REQUEST, "this Host is not served here"))
    origin = request.headers.get("origin")
    if origin is not None and not _listed(origin, allowed_origins):
        raise refused(403, RpcError(INVALID_REQUEST, "this Origin is not allowed"))


def _listed(value: str, allowed: Collection[str]) -> bool:
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
    accepted = _media_types(request.headers.get("accept", "*/*"))
    if not accepted & _ACCEPTS_JSON:
        raise refused(406, RpcError(INVALID_REQUEST, f"Accept must allow {_JSON}"))


def _media_types(value: str) -> set[str]:
    return {part.partition(";")[0].strip().lower() for part in value.split(",")}
