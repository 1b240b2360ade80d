"""What the owner of a tool does to its index with a project key: rebuild, back, clear, retry."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english
from tests.web.api import SMALL, Api, answer, problem

DOCUMENT = {"in": {"a": english(300), "b": english(200, 2)}, "out": english(150, 3)}
QUESTION = "harbour winter ledger"


def path_of(tool: dict[str, Any], end: str = "") -> str:
    return f"/api/v1/tools/{tool['tool_id']}/search-index{end}"


def state(api: Api, tool: dict[str, Any]) -> dict[str, Any]:
    return answer(api("GET", path_of(tool)), 200)


def test_a_rebuild_is_estimated_made_and_taken_back(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    chunks = state(api, tool)["chunks_count"]
    estimate = answer(api("POST", path_of(tool, "/rebuild?dry_run=true")), 200)
    assert (estimate["nodes"], estimate["chunks"], estimate["vectors_kept"]) == (3, chunks, chunks)
    assert state(api, tool)["status"] == "ready"
    problem(api("POST", path_of(tool, "/rollback")), 409, "CONFLICT")
    started = answer(api("POST", path_of(tool, "/rebuild")), 202)
    assert (started["generation"], started["state"]) == (2, "building")
    api.parts.work()
    assert state(api, tool)["namespace"] == started["namespace"]
    back = answer(api("POST", path_of(tool, "/rollback")), 200)
    assert (back["namespace"], back["state"]) == (tool["namespace"], "active")


def test_while_an_index_is_rebuilt_both_generations_are_told(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    before = state(api, tool)
    assert "rebuild" not in before
    answer(api("POST", path_of(tool, "/rebuild")), 202)
    api.parts.work_once()  # compares; nothing is embedded
    during = state(api, tool)
    reported = during.pop("rebuild")
    assert (reported["generation"], reported["state"], reported["nodes"]) == (
        2,
        "building",
        {"queued": 3},
    )
    assert (reported["status"], reported["chunks_count"]) == ("indexing", 0)
    assert during == {**before, "status": "rebuilding"}
    api.parts.work()
    assert "rebuild" not in state(api, tool)


def test_of_a_tools_scope_only_is_told_how_far_its_rebuild_is(api: Api) -> None:
    table = api.table(DOCUMENT)
    api.tool(table)
    part = api.tool(table, json_path="/in")
    answer(api("POST", path_of(part, "/rebuild")), 202)
    api.parts.work_once()
    assert state(api, part)["rebuild"]["nodes"] == {"queued": 2}


def test_a_rebuild_that_comes_again_with_its_key_is_not_a_second_one(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    headers = {"idempotency-key": "rebuild-1"}
    first = api("POST", path_of(tool, "/rebuild"), headers=headers)
    api.parts.work()
    again = api("POST", path_of(tool, "/rebuild"), headers=headers)
    assert (answer(again, 202), again.headers["idempotency-replayed"]) == (first.json(), "true")
    assert state(api, tool)["status"] == "ready"
    assert answer(api("POST", path_of(tool, "/rebuild")), 202)["generation"] == 3


def test_a_dry_run_is_not_kept_for_the_key_of_a_rebuild(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    headers = {"idempotency-key": "rebuild-2"}
    answer(api("POST", path_of(tool, "/rebuild?dry_run=true"), headers=headers), 200)
    answer(api("POST", path_of(tool, "/rebuild"), headers=headers), 202)


def test_an_emptied_index_says_why_and_comes_back(api: Api) -> None:
    table = api.table(DOCUMENT)
    tool, other = api.tool(table), api.tool(table)
    refused = problem(api("POST", path_of(tool, "/clear")), 409, "CONFLICT")
    assert str(other["tool_id"]) in refused["detail"]
    gone = answer(api("POST", path_of(tool, "/clear?shared=true")), 200)
    assert gone["tools"] == [tool["tool_id"], other["tool_id"]]
    assert state(api, other)["last_error"]["code"] == "INDEX_DELETED"
    assert api.search(tool, QUESTION)["retrieval"]["degraded"] == ["index_evicted"]
    api.parts.work()
    assert api.search(other, QUESTION)["results"]


@pytest.fixture
def quarantined(api: Api) -> dict[str, Any]:
    """A tool over ``/in`` none of whose strings could be embedded, beside one over all."""
    table = api.table(DOCUMENT)
    with api.parts.refusing():
        api.tool(table)
        tool = api.tool(table, json_path="/in")
    assert {each["state"] for each in state(api, tool)["not_indexed"]} == {"quarantined"}
    return tool


def test_what_is_in_quarantine_is_tried_again_in_the_scope_of_the_tool(
    api: Api, quarantined: dict[str, Any]
) -> None:
    retry = path_of(quarantined, "/retry")
    assert answer(api("POST", retry), 200) == {"nodes": 2, "left": 0}
    api.parts.work()
    assert state(api, quarantined)["nodes"] == {"indexed": 2}
    assert answer(api("POST", retry), 200) == {"nodes": 0, "left": 0}
    whole = answer(api("GET", "/api/v1/tools"), 200)["tools"][0]
    assert state(api, {"tool_id": whole["id"]})["nodes"] == {"indexed": 2, "quarantined": 1}


def test_one_string_is_tried_again(api: Api, quarantined: dict[str, Any]) -> None:
    retry = path_of(quarantined, "/retry")
    one = answer(api("POST", retry, json={"json_pointer": "/in/b"}), 200)
    assert one == {"nodes": 1, "left": 0}
    api.parts.work()
    reported = state(api, quarantined)
    assert reported["nodes"] == {"indexed": 1, "quarantined": 1}
    assert [each["json_pointer"] for each in reported["not_indexed"]] == ["/in/a"]
    for pointer in ("/in", "/out", "/nowhere"):  # none of them is a string of the tool's
        again = answer(api("POST", retry, json={"json_pointer": pointer}), 200)
        assert again == {"nodes": 0, "left": 0}


@pytest.mark.parametrize("pointer", ["in/b", "#/in/b", "/in/~2"])
def test_a_string_at_no_pointer_is_not_tried_again(api: Api, pointer: str) -> None:
    tool = api.unindexed_tool(api.table(DOCUMENT), SMALL)
    body = {"json_pointer": pointer}
    problem(api("POST", path_of(tool, "/retry"), json=body), 422, "INVALID_POINTER")
