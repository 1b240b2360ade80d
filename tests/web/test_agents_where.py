"""What an agent replaces is what a search with its tools can return: ``where`` and lengths hold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.web.agent import Agent, agent, data_of, named
from tests.web.api import Api, answer

SECRET = "SALARY-OF-CEO is 12345"
PUBLIC: Mapping[str, Any] = {"status": {"eq": "public"}}
STORY = {
    "articles": [
        {"status": "public", "text": "The dog Rex is well known to everybody here."},
        {"status": "draft", "text": f"{SECRET}, says Rex, and nobody may know that."},
    ],
    "users": [{"status": "public", "password_hint": "the name of my dog is Rex"}],
}
TOOL = {"chunk_threshold": 30, "where": PUBLIC}


def story(api: Api, *more: Mapping[str, Any], **opted_in: Any) -> tuple[dict[str, Any], Agent]:
    """A document, and an agent whose tool ``pub`` hides drafts and short strings."""
    table = api.table(STORY)
    tools = [api.tool_of_every_string(table, name="pub", config=TOOL)]
    tools += [api.tool_of_every_string(table, **each) for each in more]
    return table, agent(api, *tools, **opted_in)


@pytest.mark.parametrize("narrowed", [{}, {"search_tool": "pub"}])
@pytest.mark.parametrize(
    "request_",
    [
        {"find": "(?s)^.{1,60}", "replace_with": "x", "regex": True},
        {"find": "Rex", "replace_with": "Max"},
        {"find": "salary.{0,60}|Rex", "replace_with": "", "regex": True, "case_sensitive": False},
    ],
)
def test_a_preview_shows_no_draft_and_no_short_string(
    api: Api, request_: dict[str, Any], narrowed: dict[str, Any]
) -> None:
    _, someone = story(api, replace="propose")
    plan = someone.done("replace_preview", request_ | narrowed)
    assert [match["json_pointer"] for match in plan["matches"]] == ["/articles/0/text"]
    assert (plan["matches_count"], plan["strings_count"]) == (1, 1)
    assert "SALARY" not in json.dumps(plan)
    assert "password" not in json.dumps(plan)


def test_a_replacement_changes_no_draft_and_no_short_string(api: Api) -> None:
    table, someone = story(api)
    plan = someone.previewed("Rex", "Max")
    assert someone.done("replace_execute", named(plan))["replaced_count"] == 1
    expected = json.loads(json.dumps(STORY).replace("dog Rex", "dog Max"))
    assert data_of(api, table) == expected
    assert someone.done("replace_undo", {"plan_id": plan["plan_id"]})["reverted_count"] == 1
    assert data_of(api, table) == STORY


def test_an_agent_does_not_open_the_gate_to_a_draft(api: Api) -> None:
    whole = {"name": "whole", "json_path": "/articles/1"}
    table, someone = story(api, whole)
    for more in ({}, {"search_tool": "whole"}):
        plan = someone.previewed("draft", "public", **more)
        assert (plan["state"], plan["matches_count"]) == ("cancelled", 0)
    plan = someone.previewed("^.*$", "public", regex=True, search_tool="whole")
    assert [match["json_pointer"] for match in plan["matches"]] == ["/articles/1/text"]
    assert data_of(api, table) == STORY


def test_a_plan_is_held_to_the_where_of_now(api: Api) -> None:
    table, someone = story(api)
    plan, done = someone.previewed("well known", "unknown"), someone.previewed("Rex", "Max")
    someone.done("replace_execute", named(done))
    before = data_of(api, table)
    [pub] = answer(api("GET", f"/api/v1/mcps/{someone.mcp['id']}/bindings"), 200)["bindings"]
    changed = {"search_config": {"where": {"status": {"eq": "draft"}}}}
    answer(api("PATCH", f"/api/v1/tools/{pub['tool_id']}", json=changed), 200)
    again = {"find": "well known", "replace_with": "unknown", "plan_id": plan["plan_id"]}
    for client, name, given in (
        (someone, "replace_preview", again),
        (someone, "replace_execute", named(plan)),
        (someone, "replace_undo", {"plan_id": done["plan_id"]}),
        (someone.with_forms(), "replace_undo", {"plan_id": done["plan_id"]}),
    ):
        report = client.refused(name, given)
        [hidden] = report["changed"]
        reported = report["code"], hidden["table_id"], hidden["json_pointer"], hidden["reason"]
        assert reported == ("REPLACE_STALE", table["id"], "", "OUT_OF_REACH")
    assert data_of(api, table) == before


def test_a_change_of_a_tool_says_whose_agents_replace_in_what_it_returns(api: Api) -> None:
    table, someone = story(api)
    [pub] = answer(api("GET", f"/api/v1/mcps/{someone.mcp['id']}/bindings"), 200)["bindings"]
    agent(api, {"tool_id": pub["tool_id"]}, replace="off")
    path = f"/api/v1/tools/{pub['tool_id']}"
    changed = answer(api("PATCH", path, json={"search_config": {"where": None}}), 200)
    reported = {"id": someone.mcp["id"], "name": "agents", "replace": "execute"}
    assert changed.pop("replacing_mcps") == [reported]
    assert changed == answer(api("GET", path), 200)
    assert someone.previewed("SALARY", "x")["matches_count"] == 1
    someone.allow(replace="off")
    again = answer(api("PATCH", path, json={"search_config": {"where": PUBLIC}}), 200)
    assert "replacing_mcps" not in again
    assert data_of(api, table) == STORY


def test_a_person_is_not_held_to_what_an_agent_sees(api: Api) -> None:
    table, _ = story(api)
    path = f"/api/v1/projects/{api.project_id}/replace/preview"
    plan = answer(api("POST", path, json={"find": "Rex", "replace_with": "Max"}), 200)
    assert plan["matches_count"] == 3
    assert table["id"] == plan["tables"][0]["table_id"]
