"""What an explanation shows adds up, marks what matched, and may be of settings that are tried."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import chinese, english
from tests.web.api import SMALL, Api, answer, problem

ARTICLES = {
    "harbour": {"title": "The harbour", "text": english(400)},
    "ledger": {"title": "A ledger in winter", "text": english(300, 2)},
    "tiny": "harbour winter ledger of the ferry",
    "zh": chinese(300) + "冬天的港口",
    "fish": "🐡 puffer 🐡 " + english(60, 5),
}
QUESTION = "harbour winter ledger"


@pytest.fixture(scope="module")
def tool(reader: Api) -> dict[str, Any]:
    return reader.tool(reader.table(ARTICLES))


def explained(api: Api, tool: dict[str, Any], **body: Any) -> dict[str, Any]:
    path = f"/api/v1/tools/{tool['tool_id']}/search/explain"
    return answer(api("POST", path, json={"query": QUESTION, **body}), 200)


def millionths(number: float) -> int:
    whole = round(number * 1_000_000)
    assert number == whole / 1_000_000  # nothing is behind the sixth digit
    return whole


@pytest.mark.parametrize(
    "config",
    [
        None,
        {"fusion": "linear", "recency_weight": 0.3},
        {"fusion": "rrf"},
        {"strategy": "keyword"},
    ],
    ids=str,
)
@pytest.mark.parametrize("query", [QUESTION, "冬天的港口"])
def test_the_parts_that_are_shown_sum_to_what_is_shown(
    reader: Api, tool: dict[str, Any], config: dict[str, Any] | None, query: str
) -> None:
    body = {} if config is None else {"config": config}
    candidates = explained(reader, tool, query=query, **body)["explain"]["candidates"]
    assert candidates
    for each in candidates:
        assert sum(map(millionths, each["parts"].values())) == millionths(each["score"])
        assert sum(map(millionths, each["fused_parts"].values())) == millionths(each["fused"])
        assert each["fused_parts"].keys() <= {"keyword", "vector", "recency"}


def test_hits_and_candidates_are_marked(reader: Api, tool: dict[str, Any]) -> None:
    reported = explained(reader, tool, query="puffer harbour", top_k=20)
    search = f"/api/v1/tools/{tool['tool_id']}/search"
    body = {"query": "puffer harbour", "top_k": 20, "highlights": True}
    titles = [hit.pop("title") for hit in reported["results"]]
    assert set(titles) == {"The harbour", "A ledger in winter", "table"}
    assert reported["results"] == answer(reader("POST", search, json=body), 200)["results"]
    chunks = {hit["chunk"]["id"]: hit["chunk"] for hit in reported["results"]}
    shown = [each for each in reported["explain"]["candidates"] if each["chunk_id"] in chunks]
    assert shown
    for each in shown:
        chunk = chunks[each["chunk_id"]]
        assert (each["char_start"], each["char_end"]) == (chunk["char_start"], chunk["char_end"])
        assert each["snippet"] in chunk["chunk_text"]
        marked = [each["snippet"][one["start"] : one["end"]] for one in each["highlights"]]
        assert {text.lower() for text in marked} <= {"puffer", "harbour"}
        assert bool(marked) == bool(each["matched_terms"])


def test_hits_and_candidates_are_called_as_in_a_project_search(api: Api) -> None:
    long = english(300)
    document = {
        "title": "  The lighthouse ",
        "chapters": [
            {"name": "Arrival", "title": 3, "parts": {"of": [[long], {"title": " ", "t": long}]}},
            {"title": "x" * 300, "text": {"a": {"b": {"c": {"d": {"e": long}}}}}},
            long,
        ],
    }
    table = api.table(document)
    tool = api.tool(table)
    reported = explained(api, tool, top_k=20)
    assert {each["json_pointer"]: each["title"] for each in reported["explain"]["candidates"]} == {
        "/chapters/0/parts/of/0/0": "Arrival",
        "/chapters/0/parts/of/1/t": "Arrival",
        "/chapters/1/title": "x" * 200,
        "/chapters/1/text/a/b/c/d/e": "The lighthouse",
        "/chapters/2": "The lighthouse",
    }
    by_chunk = {each["chunk_id"]: each["title"] for each in reported["explain"]["candidates"]}
    assert [hit["title"] for hit in reported["results"]] == [
        by_chunk[hit["chunk"]["id"]] for hit in reported["results"]
    ]
    answer(api("POST", f"{api.project}/search-index"), 202)
    api.parts.work()
    body = {"query": QUESTION, "include_low_score": True, "explain": True}
    found = answer(api("POST", f"{api.project}/search", json=body), 200)
    titles = {hit["chunk"]["json_pointer"]: hit["title"] for hit in found["results"]}
    of_tool = {each["json_pointer"]: each["title"] for each in reported["explain"]["candidates"]}
    assert of_tool.items() <= titles.items()
    for each in found["explain"]["candidates"]:
        assert each.get("title") == (titles[each["json_pointer"]] if each["shown"] else None)


def test_what_lies_outside_of_the_scope_is_no_title(api: Api) -> None:
    private = {"title": "for managers alone", "public": {"text": english(300, 2)}}
    table = api.table({"name": "the owner's", "part": private})
    tool = api.tool(table, json_path="/part/public")
    reported = explained(api, tool)
    assert {hit["title"] for hit in reported["results"]} == {"table"}


def test_a_draft_ranks_as_the_tool_would(api: Api) -> None:
    table = api.table(ARTICLES)
    config = {"fusion": "linear", "bm25_weight": 0.9, "vector_weight": 0.1, "recency_weight": 0}
    plain, other = api.tool(table), api.tool(table, {**SMALL, **config})
    tried, real = explained(api, plain, config=config), explained(api, other)
    assert tried["explain"].pop("is_draft") is True
    for reported in (tried, real):
        del reported["explain"]["milliseconds"]
        for each in reported["explain"]["candidates"]:  # the question was asked a moment later
            del each["scoreBreakdown"]
    assert tried == real
    assert "is_draft" not in explained(api, plain)["explain"]
    read = answer(api("GET", f"/api/v1/tools/{plain['tool_id']}"), 200)["search_config"]
    assert read["fusion"] == "convex"
    assert explained(api, plain)["explain"]["fusion"]["kind"] == "convex"


def test_a_draft_is_for_who_may_change_the_tool(reader: Api, tool: dict[str, Any]) -> None:
    path = f"/api/v1/tools/{tool['tool_id']}/search/explain"
    key = reader.new_key(scopes=["search"])["api_key"]
    body = {"query": QUESTION, "config": {}}
    problem(reader("POST", path, key=key, json=body), 403, "PERMISSION_DENIED")
    answer(reader("POST", path, key=key, json={"query": QUESTION}), 200)


@pytest.mark.parametrize(
    "config",
    [
        {"top_k": 3},
        {"where": {}},
        {"chunk_size": 500},
        {"fusion": "x"},
        {"vector_weight": 0, "bm25_weight": 0},
        None,
        [],
    ],
    ids=str,
)
def test_only_a_ranking_is_tried(reader: Api, tool: dict[str, Any], config: object) -> None:
    path = f"/api/v1/tools/{tool['tool_id']}/search/explain"
    body = {"query": QUESTION, "config": config}
    problem(reader("POST", path, json=body), 422, "INVALID_INPUT")


def test_no_other_route_takes_a_draft(reader: Api, tool: dict[str, Any]) -> None:
    body = {"query": QUESTION, "config": {}}
    for path in (
        f"/api/v1/tools/{tool['tool_id']}/search",
        f"/api/v1/tools/{tool['tool_id']}/retrieve",
        f"{reader.project}/search/explain",
    ):
        problem(reader("POST", path, json=body), 422, "INVALID_INPUT")
