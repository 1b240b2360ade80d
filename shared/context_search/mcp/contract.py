"""What the MCP endpoint takes, gives, and needs from the owner of the tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol


class ToolFailure(Exception):  # noqa: N818 - a failure that is told, and no error of the protocol
    """Why the owner of the tools refuses, or cannot: in words that a client may read.

    ``status`` is what HTTP would answer: 401, 403 and 404 where the caller may not connect, 422
    for a mistake in what was asked, 500 for a fault that the client can do nothing about.
    ``code`` is stable, ``members`` are more of what a program may want to know, as plain JSON.
    ``raise ToolFailure(…) from error`` lets ``on_error`` see the error itself.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after_s: float | None = None,
        members: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.members = members or {}

    @property
    def reason(self) -> Exception:
        """The error behind it, or itself where there is none."""
        return self.__cause__ if isinstance(self.__cause__, Exception) else self


class UnknownToolError(ToolFailure):
    """No tool of that name is visible to this caller; answered as JSON-RPC -32602."""

    def __init__(self, message: str) -> None:
        super().__init__(404, "NOT_FOUND", message)


class RequestStateError(ToolFailure):
    """The state that came with a call is not one of ours, or not for this call, or too old.

    Answered as JSON-RPC -32602, without a word about which of these it is.
    """

    def __init__(self) -> None:
        super().__init__(422, "REQUEST_STATE_INVALID", "Invalid or expired requestState")


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


@dataclass(frozen=True, slots=True)
class Form:
    """A question that a client puts before its user (``elicitation/create``, form mode).

    ``schema`` is a JSON Schema of a flat object of plain values. Never for secrets.
    """

    message: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class InputRequired:
    """What a tool gives back when it has to ask first: the client calls it again with answers.

    Only for clients that take forms. ``state`` comes back with the answers, from any caller: the
    owner of the tools checks its integrity, its age and its caller.
    """

    forms: Mapping[str, Form]
    state: str


Action = Literal["accept", "decline", "cancel"]
"""What a user did with a form: filled it in, said no, or went away."""


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """A user's answer to a form. ``content`` is unchecked."""

    action: Action
    content: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientInput:
    """What a client sends with a call beside its arguments.

    ``answers`` are by the names of the forms, also of forms that were not asked for.
    """

    takes_forms: bool = False
    answers: Mapping[str, FormAnswer] = field(default_factory=dict)
    state: str | None = None


class Toolbox(Protocol):
    """The tools one authenticated caller may see and call."""

    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """Give the page at ``cursor`` (None: the first), in the same order every time.

        Raises ToolFailure 422 for a cursor that was never handed out. A failing backend must
        raise too: an empty page would tell the agent that it has no tools.
        """
        ...

    def call_tool(
        self, name: str, arguments: Mapping[str, object], client: ClientInput
    ) -> ToolResult | InputRequired:
        """Call one tool; the owner checks ``arguments`` against the tool's input schema.

        Raises UnknownToolError and RequestStateError. Any other ToolFailure becomes a result with
        ``isError`` holding its code and message, any other exception one that only says
        "internal error".
        """
        ...
