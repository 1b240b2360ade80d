"""A project with one thing of every kind, and what the store holds of whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.builders import english
from tests.web.access.matrix import Ids
from tests.web.api import CANARY, Api, answer

STRINGS = 60
"""More than a page of project search holds."""
NOWHERE = 2**62
MISSING: Ids = {
    **dict.fromkeys(["project_id", "table_id", "tool_id", "free_tool_id"], NOWHERE),
    **dict.fromkeys(["upload_id", "mcp_id", "key_id", "mcp_key_id", "revision"], NOWHERE),
    # A page after a number begins with the next id, so only 0 is like a number of somebody else's.
    **dict.fromkeys(["after_tool", "after_key", "after_mcp_key", "after_mcp", "after_binding"], 0),
    **dict.fromkeys(["after_table", "after_project", "after_index"], 0),
    **dict.fromkeys(["after_child", "after_chunk"], "0"),
    "after_string": "1.",
    "below_revision": NOWHERE,
    "plan_id": NOWHERE,
    "digest": "0" * 32,
    "below_plan": 1,  # nobody has a plan below it, as nobody has one below that of who came first
    "after_planned": 0,
    "after_match": 0,
    "after_difference": 0,
    "cursor": f"{'0' * 32}.50",
    "api_key": CANARY,
    "set_name": "mine",
}


def things_of(api: Api, settle: Callable[[], None], *, changes: int = 1) -> dict[str, Any]:
    """Makes one of everything; ``settle`` returns when what was ordered is indexed.

    The table is changed so many times: with more, its last recorded revision is no other's.
    """
    strings = [f"harbour number {number}" for number in range(STRINGS)]
    table = api.table({"a": english(200), "strings": strings})
    for number in range(changes):
        path = f"/api/v1/tables/{table['id']}/data"
        answer(api("PATCH", path, json={"changes": number}), 200)
    api.table({"also": "harbour"})  # what a plan changes without the other table
    made = [api.unindexed_tool(table, name=f"secret_{name}") for name in ("one", "two")]
    mcp = api.mcp(made[0], name="agents")
    answer(api("POST", f"/api/v1/projects/{api.project_id}/search-index"), 202)
    settle()
    keys = answer(api("GET", f"/api/v1/mcps/{mcp['id']}/keys"), 200)["keys"]
    bindings = answer(api("GET", f"/api/v1/mcps/{mcp['id']}/bindings"), 200)["bindings"]
    uploads = f"/api/v1/tables/{table['id']}/uploads"
    question = {"query": "harbour", "tables": [table["id"]], "strategy": "keyword"}
    page = answer(api("POST", f"/api/v1/projects/{api.project_id}/search", json=question), 200)
    assert page["hasMore"]
    key = api.new_key(name="second")
    judged = api("PUT", f"/api/v1/projects/{api.project_id}/judged-sets/mine", json={"lines": ""})
    assert judged.status_code == 201
    upload = answer(api("POST", uploads, json={"format": "json"}), 201)
    replacement = {"find": "harbour", "replace_with": "haven"}
    plans = f"/api/v1/projects/{api.project_id}/replace/preview"
    plan = answer(api("POST", plans, json=replacement), 200)
    return {
        "project_id": api.project_id,
        "table_id": table["id"],
        "revision": changes,
        "below_revision": changes + 9,  # whoever's it is, the whole list is below
        "after_difference": 0,
        "plan_id": plan["plan_id"],
        "digest": plan["digest"],
        "below_plan": plan["plan_id"],
        "after_planned": 0,
        "after_match": 0,
        "set_name": "mine",
        "tool_id": made[0]["tool_id"],
        "free_tool_id": made[1]["tool_id"],
        "upload_id": upload["upload_id"],
        "mcp_id": mcp["id"],
        "key_id": key["id"],
        "mcp_key_id": keys[0]["id"],
        "after_table": table["id"],
        "after_project": api.project_id,
        "after_index": 0,
        "after_child": "0",
        "after_chunk": "0",
        "after_string": "1.",
        "after_tool": made[0]["tool_id"],
        "after_key": key["id"],
        "after_mcp_key": keys[0]["id"],
        "after_mcp": mcp["id"],
        "after_binding": bindings[0]["id"],
        "cursor": page["cursor"],
        "api_key": mcp["api_key"],
        "upload_url": upload["url"],
    }


@dataclass(frozen=True)
class Tenant:
    """A project, its view of the API, and the ids of what it has."""

    api: Api
    ids: dict[str, Any]
