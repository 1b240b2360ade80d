"""Project search on and off over HTTP."""

from __future__ import annotations

from context_search.indexing.comparing import MAX_POINTER_CHARS
from tests.web.api import Api, answer, problem


def path(api: Api) -> str:
    return f"/api/v1/projects/{api.project_id}/search-index"


def test_it_is_off_until_it_is_switched_on_and_after_it_was_switched_off(api: Api) -> None:
    problem(api("GET", path(api)), 409, "PROJECT_INDEX_OFF")
    answer(api("POST", path(api)), 202)
    answer(api("GET", path(api)), 200)
    assert api("DELETE", path(api)).status_code == 204
    problem(api("GET", path(api)), 409, "PROJECT_INDEX_OFF")
    problem(api("DELETE", path(api)), 409, "PROJECT_INDEX_OFF")


def test_every_table_is_followed_also_one_that_comes_later(api: Api) -> None:
    api.table({"a": "one", "b": ["two"]})
    assert answer(api("POST", path(api)), 202)["status"] == "indexing"
    api.parts.work()
    api.table({"c": "three"})
    assert answer(api("GET", path(api)), 200)["status"] == "indexing"
    api.parts.work()
    state = answer(api("GET", path(api)), 200)
    assert (state["status"], state["nodes_count"], state["nodes"]) == ("ready", 3, {"indexed": 3})
    assert state["indexed_chunks_count"] == state["chunks_count"] == 3
    model = answer(api("GET", "/api/v1/whoami"), 200)["model"]
    assert state["model"].items() <= model.items()
    tool = api.unindexed_tool(api.table({"a": "one"}))
    of_tool = answer(api("GET", f"/api/v1/tools/{tool['tool_id']}/search-index"), 200)
    assert of_tool["model"] == state["model"]
    assert state["model"].keys() == {"name", "dimensions", "window_tokens"}
    assert f"_project_{api.project_id}_search_i" in state["namespace"]


def test_each_document_that_is_refused_says_so_until_it_is_mended(api: Api) -> None:
    key = "k" * 2_900_000
    too_large = {key: ["a"] * (MAX_POINTER_CHARS // len(key) + 2)}
    one, other = (api.table(too_large)["id"] for _ in range(2))
    answer(api("POST", path(api)), 202)
    api.parts.work()
    state = answer(api("GET", path(api)), 200)
    assert {error["table_id"] for error in state["refused"]} == {one, other}
    assert state["status"] == "error"
    latest = {**state["refused"][0]}
    del latest["table_id"]
    assert state["last_error"] == latest
    assert (latest["code"], latest["retryable"]) == ("DOCUMENT_TOO_LARGE", False)
    answer(api("PUT", f"/api/v1/tables/{other}/data", content=b'{"a": "mended"}'), 200)
    api.parts.work()
    state = answer(api("GET", path(api)), 200)
    assert [error["table_id"] for error in state["refused"]] == [one]


def test_it_is_rebuilt_and_rolled_back_by_trusted_services(api: Api) -> None:
    api.table({"a": "one"})
    internal = f"/internal/projects/{api.project_id}/search-index"
    problem(api.internally("POST", f"{internal}/rebuild"), 409, "PROJECT_INDEX_OFF")
    problem(api("POST", f"{internal}/rebuild"), 401, "UNAUTHENTICATED")
    first = answer(api("POST", path(api)), 202)["namespace"]
    problem(api.internally("POST", f"{internal}/rollback"), 409, "CONFLICT")
    api.parts.work()
    second = answer(api.internally("POST", f"{internal}/rebuild"), 202)["namespace"]
    rebuild = answer(api("GET", path(api)), 200)["rebuild"]
    assert (rebuild["generation"], rebuild["state"]) == (2, "building")
    api.parts.work()
    assert answer(api("GET", path(api)), 200)["namespace"] == second != first
    assert answer(api.internally("POST", f"{internal}/rollback"), 200)["namespace"] == first
