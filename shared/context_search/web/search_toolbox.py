"""The Search Tools of a caller as MCP tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from context_search.domain.errors import InvalidInputError
from context_search.domain.model import Principal
from context_search.domain.search import QuestionLimits
from context_search.mcp.contract import ToolPage, ToolResult, UnknownToolError
from context_search.services.catalog.list_tools import ListTools
from context_search.services.searching.targets import SearchedTool, Searches
from context_search.web.answers import search_answer
from context_search.web.fitting import fitted
from context_search.web.search_arguments import parse_search_arguments
from context_search.web.search_schema import described_tool


@dataclass(frozen=True, slots=True)
class SearchToolbox:
    """The port ``Toolbox`` for one authenticated caller."""

    principal: Principal
    tools: ListTools
    search: Searches

    def list_tools(self, *, cursor: str | None) -> ToolPage:
        """See ``Toolbox``. The cursor is the id of the last tool of the page before."""
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
            raise InvalidInputError("the cursor is not one of ours")
        page, last = self.tools(self.principal, after=int(cursor or 0))
        described = [described_tool(named.name, named.tool) for named in page]
        return ToolPage(described, None if last is None else str(last))

    def call_tool(self, name: str, arguments: Mapping[str, object]) -> ToolResult:
        """See ``Toolbox``."""
        tool = self.tools.find(self.principal, name)
        if tool is None:
            raise UnknownToolError("there is no such tool")
        query, top_k = parse_search_arguments(arguments)
        searched = SearchedTool.by(self.principal, tool.id)
        answer = self.search.search(searched, query, QuestionLimits(top_k=top_k))
        return ToolResult(fitted(search_answer(answer)))
