"""The tools that a caller finds over MCP: listed and called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from context_search.agents.list_tools import RESERVED_NAMES, ListTools
from context_search.agents.mcp_instances import own_mcp
from context_search.agents.tools.results import fitted, fitted_and_redacted, trimmed
from context_search.agents.tools.search_tools import described_tool, parse_search_arguments
from context_search.core.callers import McpInstance, McpKey, Principal, Replacing
from context_search.core.errors import ContextSearchError, InvalidInputError
from context_search.mcp.contract import (
    ClientInput,
    InputRequired,
    ToolDescription,
    ToolFailure,
    ToolPage,
    ToolResult,
    UnknownToolError,
)
from context_search.ranking.search import QuestionLimits, SearchResult
from context_search.searching.routes.search import ToolResultAnswer
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.targets import Searches
from context_search.store import Store
from context_search.web.problems import public_message

if TYPE_CHECKING:
    from context_search.searching.retrieve import RedactHits

P = ParamSpec("P")
T = TypeVar("T")


def as_mcp_errors(call: Callable[P, T]) -> Callable[P, T]:
    """Returns a function that tells of our errors by ToolFailure, with the status of HTTP."""

    @wraps(call)
    def reported(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except ContextSearchError as error:
            raise ToolFailure(
                error.status,
                error.code,
                public_message(error),
                retryable=error.retryable,
                retry_after_s=error.retry_after_s,
                members=trimmed(error.members, *error.members),
            ) from error

    return reported


@dataclass(frozen=True, slots=True)
class SearchToolbox:
    """Implements ``Toolbox`` for one authenticated caller."""

    principal: Principal
    tools: ListTools
    search: Searches
    redaction: RedactHits

    @as_mcp_errors
    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """See ``Toolbox``. The cursor is the id of the last tool of the page before."""
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
            raise InvalidInputError("the cursor is not one of ours")
        page, last = self.tools.page(self.principal, after=int(cursor or 0))
        seen = self.tools.seen_fields([named.tool for named in page])
        described = [
            described_tool(named.name, named.tool, seen.get(named.tool.id)) for named in page
        ]
        return ToolPage(described, None if last is None else str(last))

    @as_mcp_errors
    def call_tool(
        self, name: str, arguments: Mapping[str, object], client: ClientInput
    ) -> ToolResult:
        """See ``Toolbox``. A search never asks."""
        del client
        tool = self.tools.find(self.principal, name)
        if tool is None:
            raise UnknownToolError("there is no such tool")
        query, top_k, wanted = parse_search_arguments(arguments, tool.search.agents_fields)
        searched = SearchedTool.by(self.principal, tool.id)
        limits = QuestionLimits(top_k=top_k, filter=wanted)
        answer = self.search.search(searched, query, limits)
        return ToolResult(self._shown(answer))

    def _shown(self, answer: SearchResult) -> dict[str, Any]:
        shown = ToolResultAnswer.of(answer).model_dump(mode="json")
        if not isinstance(self.principal, McpKey) or not self.principal.redacts:
            return fitted(shown)
        chunks = [hit.chunk for hit in answer.hits]
        excerpts = self.redaction.excerpts(self.principal.project_id, chunks)
        return fitted_and_redacted(shown, excerpts)


class FurtherTools(Protocol):
    """Tools that agents of an instance have beside its Search Tools."""

    def tools_of(self, replacing: Replacing) -> Sequence[ToolDescription]:
        """Returns the tools that such an instance has."""
        ...

    def call(
        self,
        principal: McpKey,
        instance: McpInstance,
        client: ClientInput,
        name: str,
        arguments: Mapping[str, object],
    ) -> ToolResult | InputRequired:
        """Call a tool. Raises UnknownToolError for one that the instance does not have."""
        ...


@dataclass(frozen=True, slots=True)
class AgentToolbox:
    """Implements ``Toolbox`` for an agent with a key of an MCP instance.

    The instance's row decides at each list, and at each call of a tool that replaces. What
    replaces is loaded when an instance has it: most never do.
    """

    principal: McpKey
    search: SearchToolbox
    store: Store
    further: Callable[[], FurtherTools]

    @as_mcp_errors
    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """See ``Toolbox``. The first page begins with the tools that replace."""
        page = self.search.list_tools(cursor=cursor)
        instance = self._instance()
        if cursor is not None or instance.replacing == "off":
            return page
        tools = self.further().tools_of(instance.replacing)
        return ToolPage([*tools, *page.tools], page.next_cursor)

    @as_mcp_errors
    def call_tool(
        self, name: str, arguments: Mapping[str, object], client: ClientInput
    ) -> ToolResult | InputRequired:
        """See ``Toolbox``."""
        if name not in RESERVED_NAMES:
            return self.search.call_tool(name, arguments, client)
        instance = self._instance()
        if instance.replacing == "off":
            raise UnknownToolError("there is no such tool")
        return self.further().call(self.principal, instance, client, name, arguments)

    def _instance(self) -> McpInstance:
        with self.store.for_project(self.principal.project_id) as work:
            return own_mcp(work, self.principal, self.principal.mcp_id)
