"""Collections: Search Tools under the names that agents call them by."""

from __future__ import annotations

from context_search.agents.list_tools import ListTools, unique_names
from context_search.core.callers import Principal
from context_search.core.errors import InvalidInputError
from context_search.core.model import SearchTool
from context_search.store import UnitOfWork

LISTED = 20
"""Number of collections that a refusal names."""


def named_collection(tools: ListTools, principal: Principal, name: str) -> SearchTool:
    """Returns a caller's collection. Raises InvalidInputError that names those that exist."""
    found = tools.find(principal, name) if name else None
    if found is not None:
        return found
    page, following = tools.page(principal)
    names = [each.name for each in page][:LISTED]
    if not names:
        raise InvalidInputError("collection: there is none here")
    more = " and others" if following is not None or len(page) > LISTED else ""
    raise InvalidInputError(f"collection: unknown name; known names: {', '.join(names)}{more}")


def name_of(work: UnitOfWork, tool: SearchTool) -> str | None:
    """Returns what agents call a tool; None for project search, which is no collection."""
    return unique_names(work, [tool])[tool.id] if tool.id else None
