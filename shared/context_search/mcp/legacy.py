"""Revisions 2024-11-05 to 2025-11-25, without a session: ``initialize`` leaves nothing behind.

Errors of a request travel with HTTP status 200, as these revisions' clients expect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from context_search.mcp.contract import McpResponse
from context_search.mcp.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Call,
    RpcError,
    error_body,
    parse_message,
    readable_id,
    result_body,
)
from context_search.mcp.modern import server_info
from context_search.mcp.tools import Desk, call_tool, list_tools
from context_search.mcp.transport import error_response, json_response
from context_search.mcp.versions import BATCHING, LEGACY, VERSION_HEADER, header

# A body of 1 MB could otherwise hold ten thousand searches.
MAX_BATCH = 20


def answer(call: Call, desk: Desk) -> McpResponse:
    """Answer one request."""
    return json_response(200, _envelope(call, desk))


def _envelope(call: Call, desk: Desk) -> dict[str, object]:
    try:
        return result_body(call.id, _result(call, desk))
    except RpcError as error:
        return error_body(call.id, error)


def _result(call: Call, desk: Desk) -> dict[str, object]:
    match call.method:
        case "initialize":
            return _initialize(call, desk)
        case "ping":
            return {}
        case "tools/list":
            return list_tools(desk, call.params)
        case "tools/call":
            return call_tool(desk, call.params)
        case _:
            raise RpcError(METHOD_NOT_FOUND, "Method not found")


def _initialize(call: Call, desk: Desk) -> dict[str, object]:
    requested = call.params.get("protocolVersion")
    if not isinstance(requested, str):
        raise RpcError(INVALID_PARAMS, '"protocolVersion" must be a string')
    return {
        "protocolVersion": requested if requested in LEGACY else LEGACY[0],
        "capabilities": {"tools": {}},
        "serverInfo": server_info(desk.server),
        "instructions": desk.server.instructions,
    }


def answer_batch(items: Sequence[object], headers: Mapping[str, str], desk: Desk) -> McpResponse:
    """Answer a JSON-RPC batch: 400 outside 2025-03-26, 202 if nothing in it is owed an answer."""
    if header(headers, VERSION_HEADER) not in (None, BATCHING):
        error = RpcError(INVALID_REQUEST, f"batches exist in revision {BATCHING} only")
        return error_response(400, None, error)
    if not 1 <= len(items) <= MAX_BATCH:
        error = RpcError(INVALID_REQUEST, f"a batch has 1 to {MAX_BATCH} messages")
        return error_response(400, None, error)
    answers = [body for item in items if (body := _batched(item, desk)) is not None]
    return json_response(200, answers) if answers else McpResponse(202)


def _batched(item: object, desk: Desk) -> dict[str, object] | None:
    try:
        message = parse_message(item)
        if not isinstance(message, Call):
            return None
        if message.method == "initialize":
            raise RpcError(INVALID_REQUEST, "initialize must not be part of a batch")
    except RpcError as error:
        return error_body(readable_id(item), error)
    return _envelope(message, desk)
