"""What a caller sees: the Search Tools that it may use, and the strings that they can return."""

from __future__ import annotations

from context_search.core.callers import McpKey, Principal
from context_search.core.model import SearchTool, ToolsQuery
from context_search.core.pages import PAGE
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.store import UnitOfWork


def visible_to(
    work: UnitOfWork, principal: Principal, *, table_id: int | None = None
) -> VisibleStrings:
    """Returns what searches of a caller can return now: an agent has the tools of its instance.

    ``table_id``: only of that table.
    """
    mcp_id = principal.mcp_id if isinstance(principal, McpKey) else None
    return VisibleStrings(_tools(work, principal.project_id, ToolsQuery(table_id, mcp_id)))


def visible_strings(
    work: UnitOfWork, project_id: int, mcp_id: int, *, only: int | None = None
) -> VisibleStrings:
    """Returns what searches with the enabled tools of an MCP instance can return now.

    ``only``: narrowed to what the tool with that id can return.
    """
    return VisibleStrings(_tools(work, project_id, ToolsQuery(mcp_id=mcp_id)), only)


def _tools(work: UnitOfWork, project_id: int, wanted: ToolsQuery) -> list[SearchTool]:
    tools: list[SearchTool] = []
    while True:
        after = tools[-1].id if tools else 0
        page = work.tools.page(project_id, wanted, after=after, limit=PAGE)
        tools += page
        if len(page) < PAGE:
            return tools
