"""What the MCP endpoint takes, gives, and needs from whoever owns the tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from context_search.domain.errors import NotFoundError


class UnknownToolError(NotFoundError):
    """No tool of that name is visible to this caller; answered as JSON-RPC -32602."""


@dataclass(frozen=True, slots=True)
class McpRequest:
    """One HTTP request. ``headers`` has lower-cased names, repeated ones joined by a comma."""

    method: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class McpResponse:
    """One HTTP answer. ``headers`` has lower-cased names; a ``body`` is always JSON in UTF-8."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """How the server names itself to clients; ``instructions`` is guidance for the model."""

    name: str
    title: str
    version: str
    instructions: str


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """One tool as ``tools/list`` shows it.

    ``name`` should be 1 to 128 characters of ``[A-Za-z0-9_.-]`` (specification, Tool Names).
    Both schemas are JSON Schema 2020-12 with an object at the root and are passed on verbatim,
    so they are plain dicts and lists;
    ``x-mcp-header`` annotations are not supported (their headers would not be checked).
    ``annotations`` are the hints of the specification, e.g. ``{"readOnlyHint": True}``.
    """

    name: str
    title: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | None = None
    annotations: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolPage:
    """One page of tools; ``next_cursor`` is opaque to the client and None on the last page."""

    tools: Sequence[ToolDescription]
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back: a JSON object that matches the tool's output schema.

    ``structured`` is made of plain dicts, lists and scalars; not JSON is an internal error.
    With ``is_error`` the object is an error report and goes out as text only.
    """

    structured: Mapping[str, object]
    is_error: bool = False


class Toolbox(Protocol):
    """The tools one authenticated caller may see and call."""

    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """Give the page at ``cursor`` (None: the first), in the same order every time.

        Raises InvalidInputError for a cursor that was never handed out. A failing backend must
        raise too: an empty page would tell the agent that it has no tools.
        """
        ...

    def call_tool(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Call one tool; the owner checks ``arguments`` against the tool's input schema.

        Raises UnknownToolError. Any other ContextSearchError becomes a result with ``isError``
        holding its code and message, any other exception one that only says "internal error".
        """
        ...
