"""Agents and plans that a worker goes on with: a preview that is looked at again, and its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from context_search.agents.mcp_instances import own_mcp
from context_search.composition.agents import AgentEditing
from context_search.core.callers import McpKey
from context_search.mcp.contract import ClientInput, ToolResult
from context_search_editing.agents.replacing import AgentReplacing
from context_search_editing.previewing import PreviewLimits
from context_search_editing.rules.plans import MAX_ATOMIC_BYTES
from tests.web.agent import Agent, agent, named
from tests.web.api import Api

OLD, NEW = "废弃仓库", "荒废工厂"
REQUEST = {"find": OLD, "replace_with": NEW}


def hurried(someone: Agent) -> AgentReplacing:
    """The same agent where a request looks through one byte of documents."""
    parts = someone.api.parts
    principal = McpKey(someone.api.project_id, someone.mcp["id"])
    use = AgentEditing(parts).replace_tools()
    use = replace(use, preview=replace(use.preview, limits=PreviewLimits(bytes=1)))
    with parts.store.for_project(principal.project_id) as work:
        instance = own_mcp(work, principal, principal.mcp_id)
    return AgentReplacing(principal, instance, ClientInput(), use)


def structured(given: object) -> dict[str, Any]:
    assert isinstance(given, ToolResult)
    return dict(given.structured)


def test_a_long_preview_is_looked_at_again(api: Api) -> None:
    tables = [api.table({"x": OLD}, name=str(number)) for number in range(3)]
    someone = agent(
        api, *(api.tool_of_every_string(each, name=f"t{each['id']}") for each in tables)
    )
    begun = structured(hurried(someone).call("replace_preview", REQUEST))
    assert (begun["state"], "digest" in begun, begun["matches"]) == ("previewing", False, [])
    assert f"plan_id {begun['plan_id']}" in begun["next"]
    unread = {"plan_id": begun["plan_id"], "digest": "0" * 32}
    assert someone.refused("replace_execute", unread)["code"] == "PLAN_NOT_READY"
    again = {**REQUEST, "plan_id": begun["plan_id"]}
    assert someone.done("replace_preview", again)["state"] == "previewing"
    api.parts.use_cases.editing.preview.run(begun["plan_id"])
    ready = someone.done("replace_preview", again)
    assert (ready["state"], ready["matches_count"], len(ready["matches"])) == ("ready", 3, 3)
    assert someone.done("replace_execute", named(ready))["replaced_count"] == 3


def test_a_preview_that_failed_says_why(api: Api) -> None:
    someone = agent(api, api.tool_of_every_string(api.table({"x": ["a"] * 1_001})))
    request = {"find": "a", "replace_with": "b"}
    begun = structured(hurried(someone).call("replace_preview", request))
    api.parts.use_cases.editing.preview.run(begun["plan_id"])
    report = someone.refused("replace_preview", {**request, "plan_id": begun["plan_id"]})
    assert report["code"] == "TOO_MANY_MATCHES"


def left_to_a_worker(api: Api, plan_id: int) -> None:
    """Makes a plan, and its undo, too large for one transaction."""
    large = MAX_ATOMIC_BYTES + 1
    with api.parts.store.for_all("test") as work:
        plan = work.plans.lock(plan_id)
        assert plan is not None
        work.plans.save(replace(plan, counts=replace(plan.counts, planned_bytes=large)))
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE replace_table SET bytes = :bytes WHERE plan_id = :id", bytes=large, id=plan_id
        )


def test_what_a_worker_executes_is_asked_for_by_the_same_call(api: Api) -> None:
    tables = [api.table({"x": OLD}) for _ in range(3)]
    tools = [api.tool_of_every_string(each, name=f"t{each['id']}") for each in tables]
    someone = agent(api, *tools)
    plan = someone.previewed(OLD, NEW)
    left_to_a_worker(api, plan["plan_id"])
    ordered = someone.done("replace_execute", named(plan))
    assert (ordered["state"], ordered["replaced_count"]) == ("executing", 0)
    assert "again" in ordered["next"]
    api.parts.work()
    done = someone.done("replace_execute", named(plan))
    assert (done["state"], done["replaced_count"]) == ("done", len(tables))
    undone = someone.done("replace_undo", {"plan_id": plan["plan_id"]})
    assert undone["state"] == "executing"
    api.parts.work()
    report = someone.refused("replace_undo", {"plan_id": plan["plan_id"]})
    assert (report["code"], report["undone_by"]) == ("UNDO_EXPIRED", undone["plan_id"])
