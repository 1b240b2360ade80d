"""The guard between tenants: what a caller names is looked up as the caller may see it."""

from __future__ import annotations

from contextlib import AbstractContextManager

from context_search.core.callers import Caller, Internal, Principal
from context_search.core.errors import NotFoundError, ProjectIndexOffError
from context_search.core.model import Index, SearchTool, Table
from context_search.store import Store, UnitOfWork


def opened_for(store: Store, caller: Caller) -> AbstractContextManager[UnitOfWork]:
    """Opens a transaction that sees what the caller may see."""
    if isinstance(caller, Internal):
        return store.for_all("answer an internal caller")
    return store.for_project(caller.project_id)


def project_of(caller: Caller) -> int | None:
    """Returns the one project whose rows the caller may see; None are those of all projects."""
    return None if isinstance(caller, Internal) else caller.project_id


def live_tool(work: UnitOfWork, tool_id: int, caller: Caller) -> SearchTool:
    """Returns a live Search Tool that the caller may see.

    Raises NotFoundError; a foreign tool looks like a missing one.
    """
    tool = work.tools.find(tool_id, project_id=project_of(caller))
    if tool is None:
        raise NotFoundError("there is no such tool")
    return tool


def live_table(work: UnitOfWork, principal: Principal, table_id: int) -> Table:
    """Returns a live table of the caller's project.

    Raises NotFoundError; a foreign table looks like a missing one.
    """
    table = work.tables.find(table_id, project_id=principal.project_id)
    if table is None:
        raise NotFoundError("there is no such table")
    return table


def index_of(work: UnitOfWork, tool: SearchTool) -> Index:
    """Returns the index that serves a tool. Raises NotFoundError when it went away meanwhile."""
    index = work.indexes.find(tool.index_id)
    if index is None:
        raise NotFoundError("there is no such tool")
    return index


def project_index(work: UnitOfWork, principal: Principal) -> Index:
    """Returns the index over all tables of a project. Raises ProjectIndexOffError."""
    index = work.indexes.of_project(principal.project_id)
    if index is None:
        raise ProjectIndexOffError("the search index of the project has to be made first")
    return index
