"""tools/list and tools/call, the same for all revisions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from context_search.mcp.contract import (
    ClientInput,
    InputRequired,
    RequestStateError,
    ServerIdentity,
    Toolbox,
    ToolDescription,
    ToolFailure,
    ToolResult,
    UnknownToolError,
)
from context_search.mcp.elicitation import input_required
from context_search.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError, to_text

_INTERNAL = {"code": "INTERNAL", "message": "internal error", "retryable": False}


@dataclass(frozen=True, slots=True)
class CallContext:
    """What calls are answered from: the caller's tools, our name, where surprises are reported."""

    toolbox: Toolbox
    server: ServerIdentity
    on_error: Callable[[Exception], None]


def list_tools(context: CallContext, params: Mapping[str, object]) -> dict[str, object]:
    """Answer ``tools/list``. Raises RpcError -32602 for a bad cursor, -32603 if the owner fails."""
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise RpcError(INVALID_PARAMS, '"cursor" must be a string')
    try:
        page = context.toolbox.list_tools(cursor=cursor)
    except ToolFailure as failure:
        _log_internal(context, failure)
        code = INVALID_PARAMS if failure.status == 422 else INTERNAL_ERROR
        raise RpcError(code, failure.message, failure_report(failure)) from failure
    except Exception as error:
        context.on_error(error)
        raise RpcError(INTERNAL_ERROR, "internal error", _INTERNAL) from error
    result: dict[str, object] = {"tools": [_shown(tool) for tool in page.tools]}
    if page.next_cursor is not None:
        result["nextCursor"] = page.next_cursor
    return result


def _shown(tool: ToolDescription) -> dict[str, object]:
    shown: dict[str, object] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }
    if tool.output_schema is not None:
        shown["outputSchema"] = tool.output_schema
    if tool.annotations:
        shown["annotations"] = tool.annotations
    return shown


def call_tool(
    context: CallContext, params: Mapping[str, object], client: ClientInput
) -> dict[str, object]:
    """Answer ``tools/call``; what fails inside the tool is a result with ``isError``.

    Raises RpcError -32602 for an unknown tool, for malformed params and for a bad state.
    """
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise RpcError(INVALID_PARAMS, '"name" must be a string')
    if arguments is not None and not isinstance(arguments, dict):
        raise RpcError(INVALID_PARAMS, '"arguments" must be an object')
    try:
        given = context.toolbox.call_tool(name, arguments or {}, client)
        return input_required(given, client) if isinstance(given, InputRequired) else _result(given)
    except UnknownToolError as error:
        raise RpcError(INVALID_PARAMS, f"Unknown tool: {name[:128]}") from error
    except RequestStateError as error:
        raise RpcError(INVALID_PARAMS, error.message) from error
    except ToolFailure as failure:
        _log_internal(context, failure)
        return _failed(failure_report(failure))
    except Exception as error:  # noqa: BLE001 - the border: nothing internal may leave
        context.on_error(error)
        return _failed(_INTERNAL)


def _log_internal(context: CallContext, failure: ToolFailure) -> None:
    if failure.status == 500:
        context.on_error(failure.reason)


def _result(result: ToolResult) -> dict[str, object]:
    if result.is_error:
        return _failed(result.structured)
    return {
        "content": [{"type": "text", "text": to_text(result.structured)}],
        "structuredContent": result.structured,
        "isError": False,
    }


def _failed(report: Mapping[str, object]) -> dict[str, object]:
    # Text only: the TypeScript SDK throws away an error whose structuredContent does not match
    # the tool's output schema, and the agent would never read it.
    return {"content": [{"type": "text", "text": to_text(report)}], "isError": True}


def failure_report(failure: ToolFailure) -> dict[str, object]:
    """``{code, message, retryable, retryAfterMs?}`` and further members."""
    report: dict[str, object] = {
        **failure.members,
        "code": failure.code,
        "message": failure.message,
        "retryable": failure.retryable,
    }
    if failure.retry_after_s is not None:
        report["retryAfterMs"] = math.ceil(failure.retry_after_s * 1000)
    return report
