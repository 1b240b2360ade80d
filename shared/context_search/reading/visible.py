"""What a caller sees: the Search Tools that it may use, and the strings that they can return."""

from __future__ import annotations

from context_search.core.callers import McpKey, Principal
from context_search.core.config import SearchConfig
from context_search.core.model import Index, Scope, SearchTool, ToolsQuery
from context_search.core.pages import PAGE
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.store import UnitOfWork


def visible_to(
    work: UnitOfWork, principal: Principal, *, table_id: int | None = None
) -> VisibleStrings:
    """Returns what searches of a caller can return now: an agent has the tools of its instance.

    ``table_id``: only of that table, and with it what project search returns of it, which is open
    to everybody but agents.
    """
    mcp_id = principal.mcp_id if isinstance(principal, McpKey) else None
    tools = _tools(work, principal.project_id, ToolsQuery(table_id, mcp_id))
    if table_id is not None and mcp_id is None:
        tools += _project_search(work, principal.project_id, table_id)
    return VisibleStrings(tools)


def visible_strings(
    work: UnitOfWork, project_id: int, mcp_id: int, *, only: int | None = None
) -> VisibleStrings:
    """Returns what searches with the enabled tools of an MCP instance can return now.

    ``only``: narrowed to what the tool with that id can return.
    """
    return VisibleStrings(_tools(work, project_id, ToolsQuery(mcp_id=mcp_id)), only)


def _project_search(work: UnitOfWork, project_id: int, table_id: int) -> list[SearchTool]:
    """Returns what searches all of a table where the project has an index of all its tables."""
    index = work.indexes.of_project(project_id)
    if index is None or work.tables.find(table_id, project_id=project_id) is None:
        return []
    return [whole_table(index, table_id)]


def whole_table(index: Index, table_id: int) -> SearchTool:
    """Returns what searches all of a table with the index of its project."""
    return SearchTool(
        id=0,
        project_id=index.project_id,
        name="",
        description=None,
        table_name=None,
        scope=Scope(table_id),
        search=SearchConfig(),
        index_id=index.id,
        created_at=None,
        threshold=index.config.threshold,
    )


def _tools(work: UnitOfWork, project_id: int, wanted: ToolsQuery) -> list[SearchTool]:
    tools: list[SearchTool] = []
    while True:
        after = tools[-1].id if tools else 0
        page = work.tools.page(project_id, wanted, after=after, limit=PAGE)
        tools += page
        if len(page) < PAGE:
            return tools
