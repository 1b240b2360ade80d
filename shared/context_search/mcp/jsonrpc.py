"""JSON-RPC 2.0 messages as MCP narrows them: string or integer ids, object params, UTF-8."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_PROTOCOL_VERSION = -32022

RequestId: TypeAlias = str | int


class RpcError(Exception):
    """A JSON-RPC error to answer with; ``data`` is a JSON object or None."""

    def __init__(self, code: int, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


@dataclass(frozen=True, slots=True)
class Call:
    """A request: it has an id and is owed exactly one answer."""

    id: RequestId
    method: str
    params: Mapping[str, object] = field(default_factory=dict)

    @property
    def meta(self) -> object:
        """The ``_meta`` of the params, of any JSON type, or None."""
        return self.params.get("_meta")


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification: no id, never answered."""

    method: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A client's answer to a server request. This server sends none, so it is dropped."""


Message: TypeAlias = Call | Notice | Reply


def parse_json(body: bytes) -> object:
    """Decode UTF-8 JSON.

    Raises RpcError -32700, also for NaN, Infinity, absurd nesting and a key that comes twice.
    """
    try:
        return json.loads(
            body.decode("utf-8"), object_pairs_hook=_members, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, "the body is not valid UTF-8 JSON") from None


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RpcError(PARSE_ERROR, "an object has the same key twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def parse_message(value: object) -> Message:
    """Read one message. Raises RpcError -32600 that names the broken rule."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise RpcError(INVALID_REQUEST, 'a message is an object with "jsonrpc": "2.0"')
    if "method" not in value and "id" in value and ("result" in value or "error" in value):
        return Reply()
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, '"method" must be a string')
    if params is not None and not isinstance(params, dict):
        raise RpcError(INVALID_REQUEST, '"params" must be an object')
    if "id" not in value:
        return Notice(method)
    request_id = readable_id(value)
    if request_id is None:
        raise RpcError(INVALID_REQUEST, '"id" must be a string or an integer')
    return Call(request_id, method, params or {})


def readable_id(value: object) -> RequestId | None:
    """The id of a message, also of a broken one, or None where there is no valid id."""
    found = value.get("id") if isinstance(value, dict) else None
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return found


def result_body(request_id: RequestId, result: Mapping[str, object]) -> dict[str, object]:
    """The success envelope."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def error_body(request_id: RequestId | None, error: RpcError) -> dict[str, object]:
    """The error envelope; ``id`` is null where the request's id could not be read."""
    content: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        content["data"] = error.data
    return {"jsonrpc": "2.0", "id": request_id, "error": content}


def to_text(value: object) -> str:
    """Compact JSON text, non-ASCII as it is. Raises TypeError or ValueError if not JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_bytes(value: object) -> bytes:
    """Compact JSON in UTF-8; a lone surrogate from the client stays a \\u escape."""
    try:
        return to_text(value).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii")
