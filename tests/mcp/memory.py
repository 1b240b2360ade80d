"""A Toolbox in memory and requests to throw at it, shared by the tests of this folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_search.agents.tools.toolboxes import as_mcp_errors
from context_search.core.errors import InvalidInputError
from context_search.mcp.contract import (
    ClientInput,
    InputRequired,
    McpRequest,
    McpResponse,
    ServerIdentity,
    ToolDescription,
    ToolPage,
    ToolResult,
    UnknownToolError,
)
from context_search.mcp.endpoint import handle

SERVER = ServerIdentity("context-search", "Context search", "1.2.3", "Search before you answer.")
MODERN = "2026-07-28"

Behaviour = Callable[[Mapping[str, object]], ToolResult]
Asking = Callable[[ClientInput], ToolResult | InputRequired]


@dataclass
class MemoryToolbox:
    """Tools are a name and a function; ``page_size`` tools are listed at a time.

    Those that ask are not listed.
    """

    tools: Mapping[str, tuple[ToolDescription, Behaviour]]
    page_size: int = 100
    asking: Mapping[str, Asking] = field(default_factory=dict)
    calls: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)

    @as_mcp_errors
    def list_tools(self, *, cursor: str | None) -> ToolPage:
        if cursor is not None and not cursor.isdecimal():
            raise InvalidInputError("this cursor was never handed out")
        start = int(cursor or 0)
        end = start + self.page_size
        shown = [description for description, _ in self.tools.values()]
        return ToolPage(shown[start:end], str(end) if end < len(shown) else None)

    @as_mcp_errors
    def call_tool(
        self, name: str, arguments: Mapping[str, object], client: ClientInput
    ) -> ToolResult | InputRequired:
        if name in self.asking:
            return self.asking[name](client)
        if name not in self.tools:
            raise UnknownToolError(name)
        self.calls.append((name, arguments))
        return self.tools[name][1](arguments)


def describe(name: str, **more: Any) -> ToolDescription:
    return ToolDescription(name, name.title(), f"The tool {name}.", {"type": "object"}, **more)


def toolbox(page_size: int = 100, /, **behaviours: Behaviour) -> MemoryToolbox:
    return MemoryToolbox({n: (describe(n), b) for n, b in behaviours.items()}, page_size)


def echo(arguments: Mapping[str, object]) -> ToolResult:
    return ToolResult({"echo": dict(arguments)})


def raising(error: Exception) -> Behaviour:
    def behave(arguments: Mapping[str, object]) -> ToolResult:
        raise error

    return behave


def request(body: object, *, method: str = "POST", **headers: str | None) -> McpRequest:
    """A request with a JSON body (bytes go as they are); header ``None`` removes one."""
    sent: dict[str, str | None] = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return McpRequest(method, {n: v for n, v in sent.items() if v is not None}, raw)


def call(method: str, params: object = None, request_id: object = 1) -> dict[str, object]:
    """A legacy request message."""
    message: dict[str, object] = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else message | {"params": params}


def modern(
    method: str,
    params: Mapping[str, object] | None = None,
    capabilities: Mapping[str, object] | None = None,
    **headers: str | None,
) -> Any:
    """A well-formed request of 2026-07-28."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities or {},
    }
    sent: dict[str, Any] = {"mcp_protocol_version": MODERN, "mcp_method": method}
    if params and isinstance(params.get("name"), str):
        sent["mcp_name"] = str(params["name"])
    return request(call(method, {"_meta": meta, **(params or {})}), **(sent | headers))


@dataclass
class Answered:
    """A response, and what was reported as unexpected while it was made."""

    response: McpResponse
    surprises: Sequence[Exception]

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def json(self) -> Any:
        assert self.response.body is not None
        assert self.response.headers["content-type"] == "application/json"
        return json.loads(self.response.body)

    @property
    def result(self) -> Any:
        return self.json["result"]

    @property
    def error(self) -> Any:
        return self.json["error"]


def ask(sent: McpRequest, tools: MemoryToolbox | None = None, **options: Any) -> Answered:
    """Send one request to the endpoint."""
    surprises: list[Exception] = []
    box = tools if tools is not None else toolbox(echo=echo)
    given: dict[str, Any] = {
        "authenticate": lambda: box,
        "server": SERVER,
        "on_error": surprises.append,
    }
    given |= options
    given["authenticate"] = as_mcp_errors(given["authenticate"])
    return Answered(handle(sent, **given), surprises)
