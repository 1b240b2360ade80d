"""A project with one thing of every kind, and what the store holds of whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from context_search.core.cites import Cite
from context_search.reading.rules.found_text import FindCursor, WantedMatches
from tests.builders import english
from tests.web.access.matrix import Ids
from tests.web.api import CANARY, Api, answer

STRINGS = 60
"""More than a page of project search holds."""
NOWHERE = 2**62
FOUND = WantedMatches("harbour")
_PAGES: Ids = {
    **dict.fromkeys(["after_index", "after_planned", "after_match", "after_difference"], 0),
    **dict.fromkeys(["after_child", "after_chunk"], "0"),
    "after_string": "1.",
}
"""Pages that go on after a place, which every list has: they are nobody's."""
MISSING: Ids = {
    **_PAGES,
    **dict.fromkeys(["project_id", "table_id", "tool_id", "free_tool_id"], NOWHERE),
    **dict.fromkeys(["upload_id", "mcp_id", "key_id", "mcp_key_id", "revision"], NOWHERE),
    # A page after a number begins with the next id, so only 0 is like a number of somebody else's.
    **dict.fromkeys(["after_tool", "after_key", "after_mcp_key", "after_mcp", "after_binding"], 0),
    **dict.fromkeys(["after_table", "after_project"], 0),
    "below_revision": NOWHERE,
    "plan_id": NOWHERE,
    "digest": "0" * 32,
    "below_plan": 1,  # nobody has a plan below it, as nobody has one below that of who came first
    "cursor": f"{'0' * 32}.50",
    "api_key": CANARY,
    "set_name": "mine",
    "after_collection": "0",
    "cite": str(Cite.of(NOWHERE, "/a", 1, 0, None, 9)),
    "match": str(FindCursor.at(NOWHERE, None, 0, 0, FOUND.digest)),
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
    key = api.new_key(name="second")
    judged = api("PUT", f"/api/v1/projects/{api.project_id}/judged-sets/mine", json={"lines": ""})
    assert judged.status_code == 201
    uploads = f"/api/v1/tables/{table['id']}/uploads"
    upload = answer(api("POST", uploads, json={"format": "json", "size": 1}), 201)
    return {
        **_PAGES,
        "project_id": api.project_id,
        "after_project": api.project_id,
        "table_id": table["id"],
        "after_table": table["id"],
        "revision": changes,
        "below_revision": changes + 9,  # whoever's it is, the whole list is below
        "tool_id": made[0]["tool_id"],
        "after_tool": made[0]["tool_id"],
        "after_collection": str(made[0]["tool_id"]),
        "free_tool_id": made[1]["tool_id"],
        "key_id": key["id"],
        "after_key": key["id"],
        "upload_id": upload["upload_id"],
        "upload_url": upload["url"],
        "set_name": "mine",
        "cite": str(Cite.of(table["id"], "/a", changes, 0, None, 9)),
        "match": str(FindCursor.at(table["id"], None, 0, 0, FOUND.digest)),
        "cursor": _searched(api, table["id"])["cursor"],
        **_of_agents(api, mcp),
        **_of_plan(api),
    }


def _searched(api: Api, table_id: int) -> dict[str, Any]:
    """The first page of a search of the project."""
    question = {"query": "harbour", "tables": [table_id], "strategy": "keyword"}
    page = answer(api("POST", f"/api/v1/projects/{api.project_id}/search", json=question), 200)
    assert page["hasMore"]
    return page


def _of_agents(api: Api, mcp: dict[str, Any]) -> Ids:
    path = f"/api/v1/mcps/{mcp['id']}"
    keys = answer(api("GET", f"{path}/keys"), 200)["keys"]
    bindings = answer(api("GET", f"{path}/bindings"), 200)["bindings"]
    return {
        "mcp_id": mcp["id"],
        "after_mcp": mcp["id"],
        "api_key": mcp["api_key"],
        "mcp_key_id": keys[0]["id"],
        "after_mcp_key": keys[0]["id"],
        "after_binding": bindings[0]["id"],
    }


def _of_plan(api: Api) -> Ids:
    replacement = {"find": "harbour", "replace_with": "haven"}
    path = f"/api/v1/projects/{api.project_id}/replace/preview"
    plan = answer(api("POST", path, json=replacement), 200)
    return {
        "plan_id": plan["plan_id"],
        "below_plan": plan["plan_id"],
        "digest": plan["digest"],
    }


@dataclass(frozen=True)
class Tenant:
    """A project, its view of the API, and the ids of what it has."""

    api: Api
    ids: dict[str, Any]
