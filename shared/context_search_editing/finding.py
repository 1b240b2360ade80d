"""Finds and locks the plans of a caller."""

from __future__ import annotations

from context_search.core.callers import McpKey, Principal
from context_search.core.errors import NotFoundError
from context_search.store import UnitOfWork
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
