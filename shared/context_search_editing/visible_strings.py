"""What an agent may see and change: read anew before each use, for tools change meanwhile."""

from __future__ import annotations

from context_search.core.callers import McpKey
from context_search.core.model import SearchTool
from context_search.core.pages import PAGE
from context_search.store import Store, UnitOfWork
from context_search_editing.rules.visible_strings import VisibleStrings


def visible_to(store: Store, agent: McpKey) -> VisibleStrings:
    """Returns what searches with the tools of an agent can return now."""
    with store.for_project(agent.project_id) as work:
        return visible_strings(work, agent.project_id, agent.mcp_id)


def visible_strings(
    work: UnitOfWork, project_id: int, mcp_id: int, *, only: int | None = None
) -> VisibleStrings:
    """Returns what searches with the enabled tools of an MCP instance can return now.

    ``only``: narrowed to what the tool with that id can return.
    """
    tools: list[SearchTool] = []
    while True:
        after = tools[-1].id if tools else 0
        page = work.tools.page(project_id, mcp_id=mcp_id, after=after, limit=PAGE)
        tools += page
        if len(page) < PAGE:
            return VisibleStrings(tools, only)
