"""Requests mean what they say: no null for everything, nothing named twice, arrays, hints."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english
from tests.web.api import Api, answer, problem


def data(table: dict[str, Any]) -> str:
    return f"/api/v1/tables/{table['id']}/data"


@pytest.mark.parametrize("name", ["json_path", "json_pointer"])
def test_null_is_not_the_whole_document(api: Api, name: str) -> None:
    body = {"project_id": api.project_id, "table_id": api.table({})["id"], "name": "s"}
    problem(api("POST", "/api/v1/tools/search", json={**body, name: None}), 422, "INVALID_INPUT")
    answer(api("POST", "/api/v1/tools/search", json={**body, name: ""}), 201)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("projects/{project}/search", {"query": "x", "tables": None}),
        ("projects/{project}/search", {"query": "x", "json_pointer": None}),
        ("projects/{project}/search/explain", {"query": "x", "tables": None}),
        ("projects/{project}/keys", {"scopes": None}),
        ("projects/{project}/keys", {"expires_in": None}),
        ("mcps/{mcp}/keys", {"expires_in": None}),
        ("tables/{table}/uploads", {"format": "json", "size": None}),
        ("tables/{table}/uploads", {"format": "json", "size": 1, "sha256": None}),
    ],
)
def test_null_is_not_everything(api: Api, path: str, body: dict[str, Any]) -> None:
    where = path.format(project=api.project_id, mcp=api.mcp()["id"], table=api.table(1)["id"])
    refused = problem(api("POST", f"/api/v1/{where}", json=body), 422, "INVALID_INPUT")
    assert refused["errors"][0]["field"] == f"body.{next(n for n in body if body[n] is None)}"


@pytest.mark.parametrize(("camel", "snake"), [("topK", "top_k"), ("maxTokens", "max_tokens")])
def test_a_field_under_both_of_its_names_is_told_so(api: Api, camel: str, snake: str) -> None:
    path = f"/api/v1/tools/{api.tool(api.table({'a': english(50)}))['tool_id']}/retrieve"
    refused = api("POST", path, json={"query": "harbour", camel: 3, snake: 4})
    detail = problem(refused, 422, "INVALID_INPUT")["detail"]
    assert f"{camel} and {snake} are the same field" in detail
    for name in (camel, snake):
        answer(api("POST", path, json={"query": "harbour", name: 3}), 200)


def test_a_checksum_may_have_capital_letters(api: Api) -> None:
    path = f"/api/v1/tables/{api.table(1)['id']}/uploads"
    said = {"format": "json", "size": 1}
    answer(api("POST", path, json=said | {"sha256": "AB" * 32}), 201)
    problem(api("POST", path, json=said | {"sha256": "x" * 64}), 422, "INVALID_INPUT")


def test_elements_are_appended_and_taken_out(api: Api) -> None:
    table = api.table({"list": [1, 2, 3], "-": {"a/b": 1, "c": 2}})
    put = api("PUT", f"{data(table)}?pointer=/list/-", content=b'{"new": []}')
    assert (answer(put, 200)["revision"], put.headers["etag"]) == (2, '"2"')
    answer(api("PUT", f"{data(table)}?pointer=/list/3/new/-", content=b"4"), 200)
    for pointer in ("/list/0", "/list/0", "/-/a~1b"):
        answer(api("DELETE", f"{data(table)}?pointer={pointer}"), 200)
    assert api("GET", data(table)).json() == {"list": [3, {"new": [4]}], "-": {"c": 2}}
    assert api("PUT", f"{data(table)}?pointer=/-", content=b"7").json()["revision"] == 7
    assert api("GET", f"{data(table)}?pointer=/-").json() == 7


@pytest.mark.parametrize(
    ("pointer", "status", "code"),
    [
        ("/list/-", 404, "NOT_FOUND"),
        ("/list/3", 404, "NOT_FOUND"),
        ("/list/01", 404, "NOT_FOUND"),
        ("/nothing", 404, "NOT_FOUND"),
        ("/text/0", 404, "NOT_FOUND"),
        ("list", 422, "INVALID_POINTER"),
        ("", 422, "INVALID_INPUT"),
    ],
)
def test_what_is_not_there_is_not_taken_out(api: Api, pointer: str, status: int, code: str) -> None:
    document = {"list": [1, 2, 3], "text": "x"}
    table = api.table(document)
    problem(api("DELETE", f"{data(table)}?pointer={pointer}"), status, code)
    problem(api("DELETE", data(table)), 422, "INVALID_INPUT")
    assert api("GET", data(table)).json() == document


def hints(api: Api, tool: dict[str, Any]) -> dict[str, Any]:
    path = f"/api/v1/tools/{tool['tool_id']}/search-index"
    state = answer(api("GET", path), 200)
    found = api.search(tool, "harbour")
    retrieved = answer(
        api("POST", f"/api/v1/tools/{tool['tool_id']}/retrieve", json={"query": "harbour"}), 200
    )
    assert found["results"] == retrieved["results"] == []
    assert found["hint"] == retrieved["hint"] == state["hint"]
    return {name: state[name] for name in ("hint", "longest_string") if name in state}


def test_a_scope_that_does_not_exist_is_told(api: Api) -> None:
    table = api.table({"a": english(60), "list": ["x"]})
    for scope in ("/zz", "/list/1", "/list/-1", "/list/00", "/a/0"):
        tool = api.tool(table, json_path=scope)
        assert (tool["status"], tool["hint"]) == ("ready", "scope_missing")
        assert hints(api, tool) == {"hint": "scope_missing"}
    assert "hint" not in api.tool(table, json_path="/a")


def test_strings_that_are_too_short_are_told_with_the_longest(api: Api) -> None:
    table = api.table({"short": ["x" * 7, "\U0001f600" * 9], "none": [1, {}]})
    tool = api.tool(table)
    expected = {"hint": "no_long_strings", "longest_string": 9}
    assert {name: tool[name] for name in expected} == expected
    assert hints(api, tool) == expected
    nothing = api.tool(table, json_path="/none")
    assert hints(api, nothing) == {"hint": "no_long_strings", "longest_string": 0}


def test_strings_that_nothing_becomes_of_are_told(api: Api) -> None:
    table = api.table({"blank": [" \n" * 300, "\u3000" * 300], "short": "x"})
    tool = api.tool(table)
    api.parts.work()
    assert hints(api, tool) == {"hint": "nothing_indexed"}
    answer(api("PUT", f"{data(table)}?pointer=/blank/-", json=english(60)), 200)
    api.parts.work()
    state = answer(api("GET", f"/api/v1/tools/{tool['tool_id']}/search-index"), 200)
    assert "hint" not in state
    assert api.search(tool, "zebra")["index"] == {"status": "ready", "not_searched": 1}
    # At creation too, where everything is known already.
    assert "hint" not in api.tool(table)
    assert api.tool(table, json_path="/blank/0")["hint"] == "nothing_indexed"


def test_a_value_that_is_too_large_names_the_way_out(api: Api) -> None:
    parts = ["y" * 5_000_000] * 2
    table = api.table({"list": parts[:1], "text": "x"})
    answer(api("PUT", f"{data(table)}?pointer=/list/-", json=parts[1]), 200)
    refused = problem(api("GET", data(table)), 413, "DOCUMENT_TOO_LARGE")
    assert "ask for parts of it with pointer" in refused["detail"]
    quotes = '"' * 2_500_000
    answer(api("PUT", f"{data(table)}?pointer=/text", json=quotes), 200)
    refused = problem(api("GET", f"{data(table)}?pointer=/text"), 413, "DOCUMENT_TOO_LARGE")
    assert "one string is read in windows" in refused["detail"]
    body = b'"' + b"x" * 6_000_000 + b'"'
    refused = problem(api("PUT", data(table), content=body), 413, "DOCUMENT_TOO_LARGE")
    assert "/uploads" in refused["detail"]
