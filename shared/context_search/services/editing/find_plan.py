"""A plan, as the caller may see it."""

from __future__ import annotations

from context_search.domain.access import McpKey, Principal
from context_search.domain.editing.plans import Plan
from context_search.domain.errors import NotFoundError
from context_search.ports.store import UnitOfWork


def is_visible(principal: Principal, plan: Plan) -> bool:
    """Says whether a plan of the caller's project is his: an agent has those of its instance."""
    return not isinstance(principal, McpKey) or plan.mcp_id == principal.mcp_id


def find_plan(work: UnitOfWork, principal: Principal, plan_id: int) -> Plan:
    """Returns a plan of the caller's. Raises NotFoundError; a foreign one looks like no plan."""
    plan = work.plans.find(plan_id, project_id=principal.project_id)
    if plan is None or not is_visible(principal, plan):
        raise NotFoundError("there is no such plan")
    return plan


def locked_plan(work: UnitOfWork, principal: Principal, plan_id: int) -> Plan:
    """Does what ``find_plan`` does, and keeps others from changing it in this transaction."""
    find_plan(work, principal, plan_id)
    plan = work.plans.lock(plan_id)
    if plan is None:
        raise NotFoundError("there is no such plan")
    return plan
