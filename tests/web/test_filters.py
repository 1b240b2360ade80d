"""Filters over HTTP: what tools and projects name, what callers ask for, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import english
from tests.web.api import SMALL, Api, answer, problem

LETTERS = [
    {"status": "draft", "year": 1901, "price": 0.1, "body": f"The ferry left. {english(60, 1)}"},
    {"status": "public", "year": 1902, "price": 1, "body": f"The ferry left. {english(60, 2)}"},
    {"status": "public", "year": 1903, "tags": ["a"], "body": f"A ferry left. {english(60, 3)}"},
]
PUBLIC = {"status": {"eq": "public"}}


def tool(api: Api, table: dict[str, Any], **config: Any) -> str:
    body = {
        "project_id": api.project_id,
        "table_id": table["id"],
        "name": "search_letters",
        "search_config": {**SMALL, **config},
    }
    made = answer(api("POST", "/api/v1/tools/search", json=body), 201)
    api.parts.work()
    return f"/api/v1/tools/{made['tool_id']}"


def found(api: Api, path: str, **body: Any) -> list[str]:
    results = answer(api("POST", path, json={"query": "ferry"} | body), 200)["results"]
    return sorted({hit["json_path"].split("/")[1] for hit in results})


@pytest.mark.parametrize("route", ["search", "search/explain", "retrieve"])
def test_every_search_of_a_tool_takes_a_filter(api: Api, route: str) -> None:
    path = f"{tool(api, api.table(LETTERS), filterable=['status', 'year', 'tags'])}/{route}"
    more = {"minScore": 0} if route == "retrieve" else {}
    assert found(api, path, **more) == ["0", "1", "2"]
    assert found(api, path, filter=PUBLIC, **more) == ["1", "2"]
    assert found(api, path, filter={"year": {"gt": 1901, "lt": 1902.5}}, **more) == ["1"]
    assert found(api, path, filter={"tags": {"contains": "a"}}, **more) == ["2"]
    assert found(api, path, filter={"not": {"tags": {"exists": True}}}, **more) == ["0", "1"]
    for wanted in ({"price": {"exists": True}}, {"status": "public"}, {}):
        refused = api("POST", path, json={"query": "ferry", "filter": wanted})
        problem(refused, 422, "FILTER_INVALID")
    problem(api("POST", path, json={"query": "ferry", "filter": []}), 422, "INVALID_INPUT")


def test_a_trusted_service_is_bound_by_the_tool_too(api: Api) -> None:
    path = tool(api, api.table(LETTERS), where=PUBLIC).replace("/api/v1", "/internal")
    done = api.internally("POST", f"{path}/search", json={"query": "ferry"})
    assert len(answer(done, 200)["results"]) == 2


@pytest.mark.parametrize(
    "config",
    [
        {"filterable": ["a~"]},
        {"where": {"status": "public"}},
        {"filterable": [f"f{n}" for n in range(16)], "where": PUBLIC},
    ],
)
def test_a_tool_with_a_broken_rule_is_not_made(api: Api, config: dict[str, Any]) -> None:
    table = api.table(LETTERS)
    body = {"project_id": api.project_id, "table_id": table["id"], "name": "t"}
    refused = api("POST", "/api/v1/tools/search", json={**body, "search_config": config})
    problem(refused, 422, "FILTER_INVALID")
    assert answer(api("GET", "/api/v1/tools"), 200)["tools"] == []


def test_a_project_is_filtered_by_the_fields_that_it_names(api: Api) -> None:
    api.table(LETTERS)
    index = f"{api.project}/search-index"
    assert answer(api("POST", index), 202)["filterable"] == []
    api.parts.work()
    search, retrieve = (f"{api.project}/{name}" for name in _ROUTES)
    wanted = {"query": "ferry", "filter": PUBLIC}
    problem(api("POST", search, json=wanted), 422, "FILTER_INVALID")
    assert answer(api("POST", index, json={"filterable": ["status"]}), 202)["filterable"] == [
        "status"
    ]
    api.parts.work()
    assert answer(api("POST", index), 202)["filterable"] == ["status"]
    assert found(api, search, filter=PUBLIC, include_low_score=True) == ["1", "2"]
    assert found(api, retrieve, filter=PUBLIC, minScore=0) == ["1", "2"]
    assert answer(api("POST", index, json={"filterable": []}), 202)["filterable"] == []
    problem(api("POST", search, json=wanted), 422, "FILTER_INVALID")


_ROUTES = ("search", "retrieve")


def test_numbers_keep_their_digits(api: Api) -> None:
    near = [{"id": 2**63 + n, "body": f"The ferry left. {english(60, n)}"} for n in range(3)]
    path = tool(api, api.table(near), filterable=["id"], where={"id": {"gte": 2**63 + 1}})
    assert answer(api("GET", path), 200)["search_config"]["where"] == {"id": {"gte": 2**63 + 1}}
    assert found(api, f"{path}/search") == ["1", "2"]
    assert found(api, f"{path}/search", filter={"id": {"eq": 2**63 + 1}}) == ["1"]
