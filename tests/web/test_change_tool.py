"""A Search Tool is changed: its name, what agents read of it, how it ranks and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.builders import english
from tests.web.agent import agent
from tests.web.api import SMALL, Api, answer, problem

DOCUMENT = {"letters": [{"text": english(300), "status": "public"}, {"text": english(200, 2)}]}
QUESTION = "harbour winter ledger"


def path_of(tool: dict[str, Any]) -> str:
    return f"/api/v1/tools/{tool['tool_id']}"


def change(api: Api, tool: dict[str, Any], body: object, tag: str | None = None) -> Any:
    headers = {} if tag is None else {"if-match": tag}
    return api("PATCH", path_of(tool), json=body, headers=headers)


def explained(api: Api, tool: dict[str, Any]) -> dict[str, Any]:
    body = {"query": QUESTION, "top_k": 20}
    return answer(api("POST", f"{path_of(tool)}/search/explain", json=body), 200)


def test_what_is_left_out_stays(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT), {**SMALL, "top_k": 7}, description="Letters.")
    before = answer(api("GET", path_of(tool)), 200)
    changed = answer(change(api, tool, {"search_config": {"fusion": "linear"}}), 200)
    config = {**before["search_config"], "fusion": "linear"}
    assert changed == {**before, "search_config": config}
    renamed = answer(change(api, tool, {"name": "letters", "description": None}), 200)
    assert renamed == {**changed, "name": "letters", "description": None}
    assert answer(api("GET", path_of(tool)), 200) == renamed


def test_the_next_search_ranks_by_it_and_nothing_is_indexed_again(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    before = explained(api, tool)  # the target is kept from now on
    index = answer(api("GET", f"{path_of(tool)}/search-index"), 200)
    config = {"fusion": "linear", "bm25_weight": 0.2, "vector_weight": 0.2, "recency_weight": 0.6}
    answer(change(api, tool, {"search_config": config}), 200)
    assert api.parts.queue.messages == []
    after = explained(api, tool)
    assert after["explain"]["fusion"] == {
        "kind": "linear",
        "weights": {"keyword": 0.2, "vector": 0.2, "recency": 0.6},
        "weights_from": "tool",
    }
    assert [hit["score"] for hit in after["results"]] != [hit["score"] for hit in before["results"]]
    assert {**answer(api("GET", f"{path_of(tool)}/search-index"), 200)} == {
        **index,
        "weights": {"vector": 0.2, "keyword": 0.2},
        "weights_from": "tool",
    }


def test_both_weights_that_are_taken_away_are_found_again(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT), {**SMALL, "vector_weight": 0.5, "bm25_weight": 0.5})
    one = answer(change(api, tool, {"search_config": {"vector_weight": 0.3}}), 200)
    assert one["search_config"]["bm25_weight"] == 0.5
    none = {"vector_weight": None, "bm25_weight": None}
    found = answer(change(api, tool, {"search_config": none}), 200)["search_config"]
    assert (found["vector_weight"], found["bm25_weight"]) == (None, None)
    assert explained(api, tool)["explain"]["fusion"]["weights_from"] == "model"


def test_what_was_read_may_be_sent_back_until_somebody_else_changes_it(api: Api) -> None:
    config = {**SMALL, "filterable": ["status"], "agents_may_filter": True}
    tool = api.tool(api.table(DOCUMENT), {**config, "where": {"status": {"exists": True}}})
    read = api("GET", path_of(tool))
    body = {name: read.json()[name] for name in ("name", "description", "search_config")}
    tag = read.headers["etag"]
    again = change(api, tool, body, tag)
    assert (answer(again, 200), again.headers["etag"]) == (read.json(), tag)
    other = change(api, tool, {"description": "mine"}, tag)
    assert other.headers["etag"] != tag
    problem(change(api, tool, {"description": "theirs"}, tag), 409, "CONFLICT")


@pytest.mark.parametrize(
    ("name", "value"),
    [("storage", "lean"), ("chunk_threshold", 21), ("chunk_size", 101), ("chunk_overlap", 0)],
)
def test_what_makes_the_index_is_another_tool(api: Api, name: str, value: object) -> None:
    tool = api.tool(api.table(DOCUMENT))
    config = {name: value, "top_k": 3}
    refused = problem(change(api, tool, {"search_config": config}), 422, "INDEX_SETTING_FIXED")
    assert name in refused["detail"]
    assert answer(api("GET", path_of(tool)), 200)["search_config"]["top_k"] == 5


def test_the_tag_is_of_the_settings_and_not_of_the_state(api: Api) -> None:
    table = api.table(DOCUMENT)
    body = {"project_id": api.project_id, "table_id": table["id"], "name": "search"}
    made = api("POST", "/api/v1/tools/search", json={**body, "search_config": SMALL})
    api.parts.work()
    read = api("GET", f"/api/v1/tools/{made.json()['tool_id']}")
    assert read.headers["etag"] == made.headers["etag"]


def test_a_field_that_becomes_filterable_is_read_and_nothing_is_embedded(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    wanted = {"query": QUESTION, "filter": {"status": {"eq": "public"}}}
    search = f"{path_of(tool)}/search"
    problem(api("POST", search, json=wanted), 422, "FILTER_INVALID")
    answer(change(api, tool, {"search_config": {"filterable": ["status"]}}), 200)
    api.parts.work()
    found = answer(api("POST", search, json=wanted), 200)
    assert {hit["chunk"]["json_pointer"] for hit in found["results"]} == {"/letters/0/text"}
    assert found["retrieval"]["degraded"] == []


def test_it_is_told_whose_agents_replace_in_what_a_tool_returns(api: Api) -> None:
    tool = api.unindexed_tool(api.table(DOCUMENT))
    someone, _ = agent(api, tool), agent(api, tool, replace="off")
    changed = answer(change(api, tool, {"search_config": {"where": None}}), 200)
    reported = {"id": someone.mcp["id"], "name": "agents", "replace": "execute"}
    assert changed.pop("replacing_mcps") == [reported]
    assert changed == answer(api("GET", path_of(tool)), 200)
    someone.allow(replace="off")
    assert "replacing_mcps" not in answer(change(api, tool, {"name": "x"}), 200)


def test_a_where_hides_at_once(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    assert len(api.search(tool, QUESTION)["results"]) > 1
    where = {"status": {"eq": "nobody"}}
    answer(change(api, tool, {"search_config": {"where": where}}), 200)
    assert api.search(tool, QUESTION)["results"] == []
    answer(change(api, tool, {"search_config": {"where": None}}), 200)
    api.parts.work()
    assert api.search(tool, QUESTION)["results"]


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"vector_weight": 0, "bm25_weight": 0}, "INVALID_INPUT"),
        ({"agents_may_filter": True}, "INVALID_INPUT"),
        ({"top_k": None}, "INVALID_INPUT"),
        ({"enable_hybrid": False}, "INVALID_INPUT"),
        ({"rerank": {"model": "somebody/elses"}}, "INVALID_INPUT"),
        ({"where": {"status": "public"}}, "FILTER_INVALID"),
        ({"filterable": ["and"]}, "FILTER_INVALID"),
    ],
)
def test_a_broken_change_changes_nothing(api: Api, config: object, code: str) -> None:
    tool = api.unindexed_tool(api.table(DOCUMENT))
    before = answer(api("GET", path_of(tool)), 200)
    problem(change(api, tool, {"name": "new", "search_config": config}), 422, code)
    for body in ({"name": None}, {"name": ""}, {"table_id": 1}, {"json_path": ""}):
        problem(change(api, tool, body), 422, "INVALID_INPUT")
    assert answer(api("GET", path_of(tool)), 200) == before


def test_what_its_owner_keeps_beside_our_settings_stays(api: Api) -> None:
    tool = api.tool(api.table(DOCUMENT))
    theirs = json.dumps({"enable_hybrid": False, "theirs": [1], "where": {"status": {"eq": "x"}}})
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE tool SET search_config = CAST(:config AS jsonb) WHERE tool.id = :tool",
            config=theirs,
            tool=tool["tool_id"],
        )
    body = {"search_config": {"where": None, "strategy": "hybrid"}}
    changed = answer(change(api, tool, body), 200)["search_config"]
    assert (changed["strategy"], changed["where"]) == ("hybrid", None)
    with api.parts.postgres.database.transaction() as tx:
        [[kept]] = tx.run(
            "SELECT CAST(tool.search_config AS text) FROM tool WHERE tool.id = :tool",
            tool=tool["tool_id"],
        )
    stored = json.loads(kept)
    assert stored["theirs"] == [1]
    assert "enable_hybrid" not in stored
    assert stored["where"] is None
