"""Where agents replace: in the scopes of their tools as they are now, and nowhere else."""

from __future__ import annotations

import json

import pytest

from tests.web.agent import agent, data_of, named
from tests.web.api import Api, answer
from tests.web.test_agents_replace import NEW, OLD, STORY, story


def test_an_agent_reaches_the_scopes_of_its_tools_and_nothing_beside(api: Api) -> None:
    table, tool = story(api)
    other = api.table({"x": OLD})
    someone = agent(api, tool)
    plan = someone.previewed(OLD, NEW)
    assert {match["json_pointer"] for match in plan["matches"]} == {"/a/text", "/a/more/0"}
    someone.done("replace_execute", named(plan))
    after = data_of(api, table)
    assert (after["ab"], after["b"], data_of(api, other)) == (OLD, {"text": OLD}, {"x": OLD})


def test_a_string_that_moved_out_of_the_scope_is_left_alone(api: Api) -> None:
    table, tool = story(api)
    someone = agent(api, tool)
    plan = someone.previewed(OLD, NEW)
    someone.done("replace_execute", named(plan))
    later = someone.previewed("灰尘", "尘土")
    moved = {**STORY, "a": {"more": []}, "c": data_of(api, table)["a"]["text"]}
    assert api("PUT", f"/api/v1/tables/{table['id']}/data", json=moved).status_code == 200
    undone = someone.done("replace_undo", {"plan_id": plan["plan_id"]})
    assert (undone["reverted_count"], undone["kept_count"]) == (0, 2)
    report = someone.refused("replace_execute", named(later))
    assert (report["code"], report["changed"][0]["reason"]) == ("REPLACE_STALE", "MOVED")
    assert "/c" not in json.dumps(report)
    assert data_of(api, table) == moved


def test_a_string_that_moved_within_the_scope_comes_back(api: Api) -> None:
    table, tool = story(api)
    someone = agent(api, tool)
    plan = someone.previewed(OLD, NEW)
    someone.done("replace_execute", named(plan))
    moved = {**STORY, "a": {"b": data_of(api, table)["a"]["text"], "more": [NEW]}}
    assert api("PUT", f"/api/v1/tables/{table['id']}/data", json=moved).status_code == 200
    undone = someone.done("replace_undo", {"plan_id": plan["plan_id"]})
    assert (undone["reverted_count"], undone["kept_count"]) == (2, 0)
    assert data_of(api, table)["a"] == {"b": "他走进了废弃仓库，满地灰尘。", "more": [OLD]}


def test_several_tools_are_one_scope_and_one_can_be_named(api: Api) -> None:
    table, tool = story(api)
    whole = api.tool_of_every_string(api.table({"x": OLD}), name="whole")
    inner = api.tool_of_every_string(table, name="inner", json_path="/a/more")
    beside = api.tool_of_every_string(table, name="beside", json_path="/b")
    someone = agent(api, tool, whole, inner)
    assert someone.previewed(OLD, NEW)["matches_count"] == 3
    assert someone.previewed(OLD, NEW, search_tool="inner")["matches_count"] == 1
    assert someone.previewed(OLD, NEW, search_tool="whole")["matches_count"] == 1
    arguments = {"find": OLD, "replace_with": NEW, "search_tool": "beside"}
    assert someone.refused("replace_preview", arguments)["code"] == "INVALID_INPUT"
    assert beside["tool_id"]


def test_an_instance_without_tools_has_nowhere_to_replace(api: Api) -> None:
    story(api)
    arguments = {"find": OLD, "replace_with": NEW}
    assert agent(api).refused("replace_preview", arguments)["code"] == "CONFLICT"


@pytest.mark.parametrize("how", ["unbound", "disabled", "tool deleted"])
def test_a_scope_that_has_gone_is_not_written_to(api: Api, how: str) -> None:
    table, tool = story(api)
    someone = agent(api, tool, api.tool_of_every_string(api.table({"x": OLD}), name="kept"))
    plan, executed = someone.previewed(OLD, NEW), someone.previewed("nothing", "something")
    someone.done("replace_execute", named(executed))
    before = data_of(api, table)
    binding = f"/api/v1/mcps/{someone.mcp['id']}/bindings/{tool['tool_id']}"
    gone = {
        "unbound": lambda: api("DELETE", binding),
        "disabled": lambda: api("PATCH", binding, json={"status": False}),
        "tool deleted": lambda: api("DELETE", f"/api/v1/tools/{tool['tool_id']}"),
    }[how]()
    assert gone.status_code in {200, 204}
    assert someone.refused("replace_execute", named(plan))["code"] == "REPLACE_STALE"
    report = someone.refused("replace_undo", {"plan_id": executed["plan_id"]})
    assert report["code"] == "REPLACE_STALE"
    assert data_of(api, table) == before


def test_an_instance_reaches_no_plan_of_others(api: Api) -> None:
    table, tool = story(api)
    mine, other = agent(api, tool), agent(api, tool)
    stranger = api.stranger()
    _, foreign_tool = story(stranger)
    path = f"/api/v1/projects/{api.project_id}/replace/preview"
    of_project = answer(api("POST", path, json={"find": OLD, "replace_with": NEW}), 200)
    plans = [
        mine.previewed(OLD, NEW),
        agent(stranger, foreign_tool).previewed(OLD, NEW),
        {"plan_id": of_project["plan_id"], "digest": of_project["digest"]},
        {"plan_id": 2**40, "digest": "0" * 32},
    ]
    for plan in plans:
        arguments = {"find": OLD, "replace_with": NEW, "plan_id": plan["plan_id"]}
        for name, given in (
            ("replace_preview", arguments),
            ("replace_execute", named(plan)),
            ("replace_undo", {"plan_id": plan["plan_id"]}),
        ):
            for client in (other, other.with_forms()):
                assert client.refused(name, given) == {
                    "code": "NOT_FOUND",
                    "message": "there is no such plan",
                    "retryable": False,
                }
    assert data_of(api, table) == STORY
