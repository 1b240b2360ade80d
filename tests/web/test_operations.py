"""What operators ask for over HTTP: estimates, rebuilds, the way back, empty indexes, redrive."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english
from tests.web.api import Api, answer, problem

DOCUMENT = {"a": english(300), "b": english(200, 2)}


def of(tool: dict[str, Any], end: str) -> str:
    return f"/internal/tools/{tool['tool_id']}/chunks{end}"


def status(api: Api, tool: dict[str, Any]) -> dict[str, Any]:
    return answer(api("GET", f"/api/v1/tools/{tool['tool_id']}/search-index"), 200)


def test_a_rebuild_is_estimated_made_and_taken_back(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    estimate = answer(api.internally("POST", of(tool, "/rebuild?dry_run=true")), 200)
    assert (estimate["nodes"], estimate["chunks"]) == (2, status(api, tool)["chunks_count"])
    assert estimate["cost"] is None  # no price is configured
    problem(api.internally("POST", of(tool, "/rollback")), 409, "CONFLICT")

    started = answer(api.internally("POST", of(tool, "/rebuild")), 202)
    assert (started["generation"], started["state"]) == (2, "building")
    assert answer(api.internally("POST", of(tool, "/rebuild")), 202) == started
    found = api.search(tool, "harbour winter ledger")
    assert found["index"] == {"status": "rebuilding", "not_searched": 0}
    assert {hit["chunk"]["turbopuffer_namespace"] for hit in found["results"]} == {
        tool["namespace"]
    }
    api.parts.work()
    assert status(api, tool)["namespace"] == started["namespace"]

    back = answer(api.internally("POST", of(tool, "/rollback")), 200)
    assert (back["namespace"], back["state"]) == (tool["namespace"], "active")


def test_a_project_is_rebuilt_two_at_a_time(api: Api) -> None:
    for seed in range(3):
        api.tool(api.table({"a": english(200, seed)}))
    path = f"/api/v1/projects/{api.project_id}/reindex"
    generations = answer(api("POST", path), 202)["generations"]
    assert [each["state"] for each in generations] == ["building", "building", "queued"]
    problem(api.stranger()("POST", path), 404, "NOT_FOUND")


def test_chunks_that_others_need_are_not_deleted_silently(api: Api) -> None:
    table = api.table(DOCUMENT)
    one, other = api.tool(table), api.tool(table)
    refused = problem(api.internally("DELETE", of(one, "")), 409, "CONFLICT")
    assert str(other["tool_id"]) in refused["detail"]
    assert status(api, one)["status"] == "ready"
    gone = answer(api.internally("DELETE", of(one, "?shared=true")), 200)
    assert gone["tools"] == [one["tool_id"], other["tool_id"]]
    assert status(api, other)["status"] == "evicted"


def test_a_string_that_waits_is_listed_with_what_comes_next(api: Api) -> None:
    body = {
        "project_id": api.project_id,
        "table_id": api.table(DOCUMENT)["id"],
        "name": "search",
        "search_config": {"chunk_threshold": 250, "chunk_size": 100, "chunk_overlap": 10},
    }
    tool = answer(api("POST", "/api/v1/tools/search", json=body), 201)
    reported = status(api, tool)
    [waiting] = reported["not_indexed"]
    assert (reported["not_indexed_count"], waiting["json_pointer"]) == (1, "/a")
    assert (waiting["state"], waiting["attempts"], waiting["last_error"]) == ("queued", 0, None)
    assert reported["next_attempt_at"] == waiting["next_attempt_at"] is not None
    assert answer(api.internally("GET", of(tool, "/stats")), 200) == reported
    api.parts.work()
    reported = status(api, tool)
    assert (reported["not_indexed_count"], reported["not_indexed"]) == (0, [])
    assert reported["next_attempt_at"] is None


@pytest.mark.parametrize("limit", ["0", "1001", "x"])
def test_a_redrive_is_bounded(api: Api, limit: str) -> None:
    path = f"/internal/index/redrive?limit={limit}"
    problem(api.internally("POST", path), 422, "INVALID_INPUT")
