"""Agents that replace over MCP: opted in, within the scopes of their tools, with consent."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from context_search.agents.tools.results import MAX_RESULT_BYTES
from context_search.mcp.jsonrpc import to_bytes
from tests.web.agent import Agent, agent, data_of, named
from tests.web.api import SMALL, Api, answer, exposed

TOOLS = ["replace_preview", "replace_execute", "replace_undo"]
STORY = {
    "a": {"text": "他走进了废弃仓库，满地灰尘。", "more": ["废弃仓库", "nothing"]},
    "ab": "废弃仓库",
    "b": {"text": "废弃仓库"},
}
OLD, NEW = "废弃仓库", "荒废工厂"


def story(api: Api) -> tuple[dict[str, Any], dict[str, Any]]:
    """A document, and a tool that searches below ``/a``."""
    table = api.table(STORY, name="第三章")
    return table, api.tool_of_every_string(table, json_path="/a")


@pytest.fixture(scope="module")
def of_reader(reader: Api) -> Agent:
    return agent(reader, story(reader)[1])


# ---- Who sees the tools


def calls(plan: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        "replace_preview": {"find": OLD, "replace_with": NEW},
        "replace_execute": named(plan),
        "replace_undo": {"plan_id": plan["plan_id"]},
    }


def test_what_an_instance_has_not_opted_in_to_is_unknown_to_it_at_once(api: Api) -> None:
    table, tool = story(api)
    someone = agent(api, tool)
    plan = someone.previewed(OLD, NEW)
    for replace, visible in (("propose", TOOLS[:1]), ("off", [])):
        someone.allow(replace=replace)
        for name, arguments in calls(plan).items():
            if name not in visible:
                assert someone.error(name, arguments)["code"] == -32602
    assert data_of(api, table) == STORY
    someone.allow(replace="execute", confirm="client")
    assert someone.done("replace_execute", named(plan))["replaced_count"] == 2
    someone.allow(replace="propose")
    assert someone.error("replace_undo", {"plan_id": plan["plan_id"]})["code"] == -32602


def test_the_tools_say_what_they_do_and_take_nothing_else(of_reader: Agent) -> None:
    listed = of_reader.listed()
    for name in TOOLS:
        shown = listed[name]
        schema = shown["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator.check_schema(shown["outputSchema"])
        assert schema["additionalProperties"] is False
        kinds = {part["type"] for part in schema["properties"].values()}
        assert kinds <= {"string", "boolean", "integer"}
        assert all(part["description"] for part in schema["properties"].values())
        assert "$ref" not in json.dumps(shown)
    annotations = [listed[name]["annotations"] for name in TOOLS]
    assert [each["destructiveHint"] for each in annotations] == [False, True, True]
    assert [each["readOnlyHint"] for each in annotations] == [True, False, False]
    assert {(each["idempotentHint"], each["openWorldHint"]) for each in annotations} == {
        (True, True)
    }
    assert [each["title"] for each in annotations] == [listed[name]["title"] for name in TOOLS]


# ---- Preview, execute, undo


def test_an_agent_previews_executes_undoes_and_does_it_again(api: Api) -> None:
    table, tool = story(api)
    someone = agent(api, tool)
    plan = someone.previewed(OLD, NEW)
    assert (plan["state"], plan["matches_count"], plan["tables_count"]) == ("ready", 2, 1)
    assert plan["tables"] == [{"table_id": table["id"], "name": "第三章", "matches_count": 2}]
    second = plan["matches"][1]
    shown = [second[part] for part in ("json_pointer", "before", "found", "becomes", "after")]
    assert shown == ["/a/text", "他走进了", OLD, NEW, "，满地灰尘。"]
    assert data_of(api, table) == STORY
    done = someone.done("replace_execute", named(plan))
    assert (done["state"], done["replaced_count"], done["replayed"]) == ("done", 2, False)
    changed = data_of(api, table)
    assert changed["a"] == {"text": STORY["a"]["text"].replace(OLD, NEW), "more": [NEW, "nothing"]}  # type: ignore[index]
    assert (changed["ab"], changed["b"]) == (STORY["ab"], STORY["b"])
    undone = someone.done("replace_undo", {"plan_id": plan["plan_id"]})
    results = {"replace_preview": plan, "replace_execute": done, "replace_undo": undone}
    listed = someone.listed()
    for name, result in results.items():
        jsonschema.Draft202012Validator(listed[name]["outputSchema"]).validate(result)
    assert (undone["state"], undone["undoes"]) == ("done", plan["plan_id"])
    assert (undone["reverted_count"], undone["kept_count"]) == (2, 0)
    assert data_of(api, table) == STORY
    someone.done("replace_undo", {"plan_id": undone["plan_id"]})
    assert data_of(api, table) == changed


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"find": "", "replace_with": "x"},
        {"find": "x"},
        {"find": "x" * 1_001, "replace_with": "y"},
        {"find": "x", "replace_with": "y" * 10_001},
        {"find": "x", "replace_with": "y", "regex": "true"},
        {"find": "x", "replace_with": "y", "tables": [1]},
        {"find": "x", "replace_with": "y", "json_pointer": ""},
        {"find": "x", "replace_with": "y", "plan_id": "1"},
        {"find": 1, "replace_with": "y"},
        {"find": "\ud800", "replace_with": "y"},
        {"find": "x", "replace_with": "\ud800"},
        {"find": "x", "replace_with": "y", "search_tool": "nobody"},
    ],
    ids=range(13),
)
def test_a_mistake_is_a_result_that_names_the_argument(
    of_reader: Agent, arguments: dict[str, Any]
) -> None:
    report = of_reader.refused("replace_preview", arguments)
    assert report["code"] == "INVALID_INPUT"
    assert "\ud800" not in report["message"]


def test_nothing_found_says_so(of_reader: Agent) -> None:
    plan = of_reader.previewed("废弃仓库！", NEW)
    assert (plan["matches_count"], plan["matches"], plan["state"]) == (0, [], "cancelled")
    assert "Nothing would change" in plan["next"]
    assert "digest" not in plan


def open_plans(api: Api) -> list[int]:
    """The plans of a project that may be executed."""
    plans = answer(api("GET", f"{api.project}/replace"), 200)["plans"]
    return [plan["plan_id"] for plan in plans if plan["state"] == "ready"]


def test_agents_leave_room_for_the_plans_of_people(api: Api) -> None:
    _, tool = story(api)
    someone, other = agent(api, tool), agent(api, tool)
    others = other.previewed(OLD, NEW)
    made = [someone.previewed(OLD, f"{NEW} {n}") for n in range(12)]
    newest = [plan["plan_id"] for plan in reversed(made[2:])]
    assert open_plans(api) == [*newest, others["plan_id"]]
    assert someone.refused("replace_execute", named(made[1]))["code"] == "PLAN_EXPIRED"
    assert someone.done("replace_execute", named(made[2]))["replaced_count"] == 2
    for n in range(25):
        someone.previewed(f"nothing like {n}", "x")
    assert open_plans(api) == [*newest[:-1], others["plan_id"]]


def test_a_preview_can_be_looked_at_again_with_the_same_request_only(api: Api) -> None:
    _, tool = story(api)
    someone = agent(api, tool, api.tool_of_every_string(api.table({"x": OLD}), name="kept"))
    plan = someone.previewed(OLD, NEW)
    again = {"find": OLD, "replace_with": NEW, "plan_id": plan["plan_id"]}
    assert someone.done("replace_preview", again) == plan
    other = {**again, "replace_with": "x"}
    assert someone.refused("replace_preview", other)["code"] == "INVALID_INPUT"
    binding = f"/api/v1/mcps/{someone.mcp['id']}/bindings/{tool['tool_id']}"
    assert api("DELETE", binding).status_code == 204
    report = someone.refused("replace_preview", again)
    assert report["code"] == "PLAN_EXPIRED"
    assert "仓库" not in json.dumps(report, ensure_ascii=False)


def test_no_further_preview_takes_a_proposal_from_the_person_who_may_execute_it(api: Api) -> None:
    _, tool = story(api)
    someone = agent(api, tool, replace="propose")
    plans = [someone.previewed(OLD, f"{NEW}{number}") for number in range(10)]
    report = someone.refused("replace_preview", {"find": OLD, "replace_with": NEW})
    assert (report["code"], report["retryable"]) == ("REPLACE_BUSY", True)
    root = f"{api.project}/replace"
    states = {answer(api("GET", f"{root}/{each['plan_id']}"), 200)["state"] for each in plans}
    assert states == {"ready"}
    assert api("DELETE", f"{root}/{plans[0]['plan_id']}").status_code == 204
    assert someone.previewed(OLD, NEW)["state"] == "ready"


def test_a_person_executes_what_an_agent_proposes(api: Api) -> None:
    table, tool = story(api)
    someone = agent(api, tool, replace="propose")
    plan = someone.previewed(OLD, NEW)
    assert str(plan["plan_id"]) in plan["next"]
    assert f"/projects/{api.project_id}/replace/execute" in plan["next"]
    found = answer(api("GET", f"{api.project}/replace/{plan['plan_id']}"), 200)
    assert (found["mcp_id"], found["digest"]) == (someone.mcp["id"], plan["digest"])
    assert data_of(api, table) == STORY


def test_what_an_agent_does_is_logged_without_a_word_of_the_texts(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    _, tool = story(api)
    someone = agent(api, tool)
    plan = someone.previewed(OLD, NEW)
    someone.done("replace_execute", named(plan))
    undone = someone.done("replace_undo", {"plan_id": plan["plan_id"]})
    reported = [record.__dict__ for record in caplog.records if record.msg.startswith("agent ")]
    assert [each["msg"] for each in reported] == [
        "agent previewed",
        "agent executed",
        "agent undid",
    ]
    plan_ids = [plan["plan_id"], plan["plan_id"], undone["plan_id"]]
    assert [each["plan_id"] for each in reported] == plan_ids
    assert {(each["mcp_id"], each["places"]) for each in reported} == {(someone.mcp["id"], 2)}
    written = exposed(caplog.records)
    assert not any(text in written for text in (OLD, NEW, "/a/text", "灰尘"))


# ---- Scopes


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
    long = api.tool(table, {**SMALL, "chunk_threshold": 9}, name="long")
    someone = agent(api, tool, whole, inner, long)
    assert someone.previewed(OLD, NEW)["matches_count"] == 3
    assert someone.previewed(OLD, NEW, search_tool="inner")["matches_count"] == 1
    assert someone.previewed(OLD, NEW, search_tool="whole")["matches_count"] == 1
    assert someone.previewed(OLD, NEW, search_tool="long")["matches_count"] == 1
    arguments = {"find": OLD, "replace_with": NEW, "search_tool": "beside"}
    assert someone.refused("replace_preview", arguments)["code"] == "INVALID_INPUT"
    assert beside["tool_id"]
    arguments = {"find": OLD, "replace_with": NEW}
    assert agent(api).refused("replace_preview", arguments)["code"] == "CONFLICT"  # it has no tool


def test_an_instance_reaches_no_plan_of_others(api: Api) -> None:
    table, tool = story(api)
    mine, other = agent(api, tool), agent(api, tool)
    stranger = api.stranger()
    _, foreign_tool = story(stranger)
    of_project = answer(
        api("POST", f"{api.project}/replace/preview", json={"find": OLD, "replace_with": NEW}), 200
    )
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


# ---- Sizes


def test_an_agent_changes_a_thousand_places_at_most(api: Api) -> None:
    table = api.table({"a": ["x"] * 1_001})
    someone = agent(api, api.tool_of_every_string(table, json_path="/a"))
    arguments = {"find": "x", "replace_with": "y"}
    assert someone.refused("replace_preview", arguments)["code"] == "TOO_MANY_MATCHES"
    fewer = api.table({"a": ["x"] * 1_000})
    someone = agent(api, api.tool_of_every_string(fewer, name="fewer"))
    plan = someone.previewed("x", "y")
    assert (plan["matches_count"], len(plan["matches"])) == (1_000, 20)


def test_a_result_is_as_long_as_models_can_read(api: Api) -> None:
    deep = "k" * 5_000
    tables = [api.table({deep: {deep: OLD * 3}}, name=f"{n}" + "名" * 190) for n in range(30)]
    tools = [api.tool_of_every_string(table, name=f"t{n}") for n, table in enumerate(tables)]
    plan = agent(api, *tools).previewed(OLD, NEW)
    assert len(to_bytes(plan)) <= MAX_RESULT_BYTES
    assert (plan["matches_count"], plan["tables_count"]) == (90, 30)
    assert 0 < len(plan["matches"]) < 20
    assert len(plan["tables"]) == 30
