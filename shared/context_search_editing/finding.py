"""Finds and locks the plans of a caller, and finds the strings that an agent sees."""

from __future__ import annotations

from context_search.core.callers import McpKey, Principal
from context_search.core.errors import NotFoundError
from context_search.core.model import SearchTool, ToolsQuery
from context_search.core.pages import PAGE
from context_search.reading.rules.visible_strings import VisibleStrings
from context_search.store import Store, UnitOfWork
from context_search_editing.rules.plans import Plan


def is_visible(principal: Principal, plan: Plan) -> bool:
    """Says whether a plan of the caller's project is his: an agent has those of its instance."""
    return not isinstance(principal, McpKey) or plan.mcp_id == principal.mcp_id


def find_plan(work: UnitOfWork, principal: Principal, plan_id: int) -> Plan:
    """Returns a plan of the caller's. Raises NotFoundError; a foreign one looks like no plan."""
    plan = work.plans.find(plan_id, project_id=principal.project_id)
    if plan is None or not is_visible(principal, plan):
        raise NotFoundError("there is no such plan")
    return plan


def locked_chain(work: UnitOfWork, plan: Plan) -> list[Plan]:
    """Returns the plan that was executed first, its undo, and so on; ``plan`` is one of them.

    No other transaction changes them, or undoes the last, until this one ends.
    """
    first: Plan | None = plan
    while first is not None and first.undoes is not None:
        plan, first = first, work.plans.find(first.undoes, project_id=plan.project_id)
    at = (first or plan).id
    chain: list[Plan] = []
    while work.plans.lock(at) is not None:
        # Read after the lock: who had it may have undone the plan.
        locked = work.plans.find(at, project_id=plan.project_id)
        if locked is None:
            break
        chain.append(locked)
        if locked.undone_by is None:
            break
        at = locked.undone_by
    return chain


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
        page = work.tools.page(project_id, ToolsQuery(mcp_id=mcp_id), after=after, limit=PAGE)
        tools += page
        if len(page) < PAGE:
            return VisibleStrings(tools, only)
