"""The tools that a caller finds over MCP: listed and called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

from context_search.agents.list_tools import REPLACE_NAMES, RESERVED_NAMES, ListTools, NamedTool
from context_search.agents.mcp_instances import own_mcp
from context_search.agents.tools.results import fitted, fitted_and_redacted, trimmed
from context_search.agents.tools.search_tools import described_tool, parse_search_arguments
from context_search.core.callers import (
    NEW_MCP,
    McpInstance,
    McpKey,
    McpSettings,
    Principal,
    Replacing,
    TextsOf,
)
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

MOST_NAMED = 51
"""Number of collections that are named to those who describe tools."""
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
    """The Search Tools of one authenticated caller, each by its name."""

    principal: Principal
    tools: ListTools
    search: Searches
    redaction: RedactHits
    reading: Callable[[], ReadingTools]

    def list_tools(self, *, cursor: str | None, texts: TextsOf) -> ToolPage:
        """Returns a page; the cursor is the id of the last tool of the page before.

        ``texts``: whose they find.
        """
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
            raise InvalidInputError("the cursor is not one of ours")
        page, last = self.tools.page(self.principal, after=int(cursor or 0))
        seen = self.tools.seen_fields([named.tool for named in page])
        described = [
            described_tool(named.name, named.tool, seen.get(named.tool.id), texts=texts)
            for named in page
        ]
        return ToolPage(described, None if last is None else str(last))

    def call_tool(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """Calls one. Raises UnknownToolError, and what the search raises."""
        tool = self.tools.find(self.principal, name)
        if tool is None:
            raise UnknownToolError("there is no such tool")
        query, top_k, wanted = parse_search_arguments(arguments, tool.search.agents_fields)
        searched = SearchedTool.by(self.principal, tool.id)
        limits = QuestionLimits(top_k=top_k, filter=wanted)
        answer = self.search.search(searched, query, limits)
        if not tool.search.include_metadata:
            return ToolResult(self.reading().concise(self.principal, NamedTool(name, tool), answer))
        return ToolResult(self._shown(answer))

    def _shown(self, answer: SearchResult) -> dict[str, Any]:
        shown = ToolResultAnswer.of(answer).model_dump(mode="json")
        if not self.principal.redacts:
            return fitted(shown)
        chunks = [hit.chunk for hit in answer.hits]
        excerpts = self.redaction.excerpts(self.principal.project_id, chunks)
        return fitted_and_redacted(shown, excerpts)


class ReadingTools(Protocol):
    """Tools that read, and those that search everything at once."""

    def described(self, offer: Offer, collections: Sequence[str]) -> Sequence[ToolDescription]:
        """Returns the tools of an offer, always in the same order."""
        ...

    def call(
        self, principal: Principal, offer: Offer, name: str, arguments: Mapping[str, object]
    ) -> Mapping[str, object]:
        """Calls a tool. Raises UnknownToolError for one that is not offered."""
        ...

    def concise(
        self, principal: Principal, named: NamedTool, answer: SearchResult
    ) -> Mapping[str, object]:
        """Returns the answer of a Search Tool as passages, without records of chunks."""
        ...


class ReplaceTools(Protocol):
    """Tools that replace."""

    def tools_of(self, replacing: Replacing, texts: TextsOf) -> Sequence[ToolDescription]:
        """Returns the tools that such an instance has; ``texts``: whose they show."""
        ...

    def call(
        self,
        principal: McpKey,
        instance: McpInstance,
        client: ClientInput,
        name: str,
        arguments: Mapping[str, object],
    ) -> ToolResult | InputRequired:
        """Calls a tool. Raises UnknownToolError for one that the instance does not have."""
        ...


Offer = McpInstance | McpSettings
"""What decides which tools a caller has: its instance, or for a project key what a new one has."""


@dataclass(frozen=True, slots=True)
class AgentToolbox:
    """Implements ``Toolbox``: searches by name, or one for all, and tools that read and replace.

    The instance's row decides at each list, and at each call. What reads and what replaces is
    loaded when it is asked for.
    """

    principal: Principal
    search: SearchToolbox
    store: Store
    reading: Callable[[], ReadingTools]
    replacing: Callable[[], ReplaceTools]

    @as_mcp_errors
    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """See ``Toolbox``. The first page begins with the tools that replace, and that read."""
        offer = self._offer()
        page = ToolPage([])
        if offer.offers == "named":
            page = self.search.list_tools(cursor=cursor, texts=offer.texts)
        if cursor is not None:
            return page
        further: list[ToolDescription] = []
        if offer.replacing != "off" and offer.offers != "connector":
            further += self.replacing().tools_of(offer.replacing, offer.texts)
        names = self.search.tools.names(self.principal, most=MOST_NAMED)
        if offer.offers != "named" or (offer.reads and names):
            further += self.reading().described(offer, names)
        return ToolPage([*further, *page.tools], page.next_cursor)

    @as_mcp_errors
    def call_tool(
        self, name: str, arguments: Mapping[str, object], client: ClientInput
    ) -> ToolResult | InputRequired:
        """See ``Toolbox``."""
        if name not in RESERVED_NAMES:
            if isinstance(self.principal, McpKey) and self.principal.offers != "named":
                raise UnknownToolError("there is no such tool")
            return self.search.call_tool(name, arguments)
        offer = self._offer()
        if name in REPLACE_NAMES:
            can_replace = offer.replacing != "off" and offer.offers != "connector"
            if not can_replace or not isinstance(offer, McpInstance):
                raise UnknownToolError("there is no such tool")
            agent = cast(McpKey, self.principal)
            return self.replacing().call(agent, offer, client, name, arguments)
        return ToolResult(self.reading().call(self.principal, offer, name, arguments))

    def _offer(self) -> Offer:
        if not isinstance(self.principal, McpKey):
            return NEW_MCP
        with self.store.for_project(self.principal.project_id) as work:
            return own_mcp(work, self.principal, self.principal.mcp_id)
