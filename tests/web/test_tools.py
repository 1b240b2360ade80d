"""Search Tools over HTTP: made, indexed, watched, deleted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI

from context_search.catalog.routes.search_config import SearchConfigBody
from tests.builders import chinese, english
from tests.web.api import CANARY, SMALL, Api, answer, problem
from tests.web.in_process import client_of

AT = "2026-11-22T12:00:00+00:00"
MODEL = {"model": "in-memory/words"}
DOCUMENT = {"a": {"t": f"{CANARY} {english(240)}", "short": "no node"}, "ab": chinese(350)}


def wanted(api: Api, table: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The body of a create that needs no more."""
    return {"project_id": api.project_id, "table_id": table["id"], "name": "search", **more}


def create(api: Api, body: object, **more: Any) -> Any:
    return api("POST", "/api/v1/tools/search", json=body, **more)


def test_creating_answers_at_once_with_what_was_found(api: Api) -> None:
    table = api.table(DOCUMENT)
    made = answer(create(api, wanted(api, table, search_config={"chunk_threshold": 20})), 201)
    assert made.pop("tool_id") > 0
    name = f"_project_{api.project_id}_table_{table['id']}"
    assert made.pop("namespace").endswith(name)
    assert made == {
        "name": "search",
        "status": "indexing",
        "chunks_created": None,
        "large_nodes_detected": [
            {"json_pointer": "/a/t", "char_count": 241 + len(CANARY), "chunks_count": None},
            {"json_pointer": "/ab", "char_count": 350, "chunks_count": None},
        ],
    }


def test_with_nothing_to_index_a_tool_is_ready_and_finds_nothing(api: Api) -> None:
    made = answer(create(api, wanted(api, api.table(DOCUMENT))), 201)  # 10,000 is the default
    assert (made["status"], made["chunks_created"]) == ("ready", 0)
    assert made["large_nodes_detected"] == []
    found = api.search(made, "anything at all")
    assert (found["results"], found["index"]) == ([], {"status": "ready", "not_searched": 3})
    assert found["retrieval"]["degraded"] == []


def test_the_same_again_is_a_second_tool_that_is_ready_at_once(api: Api) -> None:
    table = api.table(DOCUMENT)
    first = api.tool(table)
    again = api.tool(table)
    assert again["tool_id"] != first["tool_id"]
    assert (again["status"], again["namespace"]) == ("ready", first["namespace"])
    assert again["chunks_created"] > 0


def test_a_tool_is_read_with_the_summary_of_its_index(api: Api) -> None:
    table = api.table(DOCUMENT)
    made = api.tool(table, description="Finds words.", json_path="/a")
    read = answer(api("GET", f"/api/v1/tools/{made['tool_id']}"), 200)
    assert (read["id"], read["project_id"], read["table_id"]) == (
        made["tool_id"],
        api.project_id,
        table["id"],
    )
    assert (read["type"], read["json_path"], read["description"]) == (
        "search",
        "/a",
        "Finds words.",
    )
    summary = read["metadata"]["search_index"]
    assert (summary["status"], summary["nodes_count"], summary["last_error"]) == ("ready", 1, None)
    assert summary["chunks_count"] == summary["indexed_chunks_count"] > 0
    assert summary["configured_at"] <= summary["indexed_at"]


def test_a_tool_shows_every_setting_that_its_create_took(api: Api) -> None:
    wanted: dict[str, object] = {"storage": "lean", "top_k": 7, "strategy": "semantic"}
    wanted |= {"fusion": "rrf", "vector_weight": 0.5, "bm25_weight": 0.25, "recency_weight": 0.5}
    wanted |= {"chunk_threshold": 50, "chunk_size": 300, "chunk_overlap": 30}
    wanted |= {"include_metadata": False, "max_chunk_preview": 9}
    wanted |= {"rerank": {"model": "in-memory/words", "candidates": 7, "blend": 0.25}}
    wanted |= {"filterable": ["year"], "where": {"status": {"eq": "public"}}}
    wanted |= {"agents_may_filter": True}
    assert wanted.keys() == SearchConfigBody.model_fields.keys() - {"enable_hybrid"}
    made = api.tool(api.table(DOCUMENT), wanted)
    assert answer(api("GET", f"/api/v1/tools/{made['tool_id']}"), 200)["search_config"] == wanted


def test_the_state_of_an_index_is_the_same_for_owners_and_trusted_services(api: Api) -> None:
    made = api.tool(api.table(DOCUMENT))
    owners = answer(api("GET", f"/api/v1/tools/{made['tool_id']}/search-index"), 200)
    services = api.internally("GET", f"/internal/tools/{made['tool_id']}/chunks/stats")
    assert answer(services, 200) == owners
    assert (owners["status"], owners["nodes"], owners["not_indexed"]) == (
        "ready",
        {"indexed": 2},
        [],
    )


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ({"code": 5, "message": {"a": CANARY}, "retryable": "no", "at": AT}, {"at": AT}),
        ({"code": "X", "message": None, "attempt": CANARY}, {"code": "X"}),
        ({}, {}),
    ],
    ids=["types", "members", "empty"],
)
def test_what_is_wrong_in_a_stored_error_is_left_out_without_a_warning(
    api: Api, app: FastAPI, stored: dict[str, Any], shown: dict[str, Any]
) -> None:
    made = api.tool(api.table(DOCUMENT))
    with api.parts.postgres.database.transaction() as tx:
        tx.run(
            "UPDATE node SET last_error = CAST(:error AS jsonb) WHERE generation_id IN"
            " (SELECT id FROM index_generation WHERE namespace = :name)",
            name=made["namespace"],
            error=json.dumps(stored),
        )
    # Warnings are errors here; in a function they would be lines of its log, with the value.
    path = f"/api/v1/tools/{made['tool_id']}"
    reader = replace(api, http=client_of(app, has_contract=False))
    for where in (path, f"{path}/search-index"):
        state = answer(reader("GET", where), 200)
        state = state.get("metadata", {}).get("search_index", state)
        assert state["last_error"] == shown


def test_the_tools_of_a_project_are_listed_with_the_status_that_each_has(api: Api) -> None:
    indexed, waiting = api.table(DOCUMENT), api.table({"b": english(400)})
    whole = api.tool(indexed, name="whole", description="All.")
    part = api.tool(indexed, name="part", json_path="/a")
    other = api.unindexed_tool(waiting, name="other", json_path="/b")
    listed = answer(api("GET", "/api/v1/tools"), 200)
    assert listed["cursor"] is None
    assert [list(tool.values())[:-1] for tool in listed["tools"]] == [
        [whole["tool_id"], "whole", "All.", indexed["id"], "", "ready"],
        [part["tool_id"], "part", None, indexed["id"], "/a", "ready"],
        [other["tool_id"], "other", None, waiting["id"], "/b", "indexing"],
    ]
    for tool in listed["tools"]:
        index = answer(api("GET", f"/api/v1/tools/{tool['id']}/search-index"), 200)
        assert tool["search_index"] == {name: index[name] for name in tool["search_index"]}
    assert [tool["search_index"]["nodes"] for tool in listed["tools"]] == [
        {"indexed": 2},
        {"indexed": 1},
        {"queued": 1},
    ]


def test_tools_are_found_by_a_part_of_their_name(api: Api) -> None:
    table, other = api.table(DOCUMENT), api.table(DOCUMENT)
    letters = api.unindexed_tool(table, name="search_Letters")["tool_id"]
    api.unindexed_tool(table, name="search_notes")
    theirs = api.unindexed_tool(other, name="letters2")["tool_id"]
    for query, found in (
        ("q=LETTERS", [letters, theirs]),
        ("q=search_l", [letters]),
        (f"q=letters&table_id={other['id']}", [theirs]),
        ("q=%25", []),
    ):
        page = answer(api("GET", f"/api/v1/tools?{query}"), 200)
        assert ([tool["id"] for tool in page["tools"]], page["cursor"]) == (found, None)
    first = answer(api("GET", "/api/v1/tools?q=letters&limit=1"), 200)
    then = answer(api("GET", f"/api/v1/tools?q=letters&cursor={first['cursor']}"), 200)
    assert [tool["id"] for page in (first, then) for tool in page["tools"]] == [letters, theirs]
    assert answer(api.stranger()("GET", "/api/v1/tools?q=letters"), 200)["tools"] == []


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=101", "limit=x", "cursor=-1", "table_id=0", "q=", f"q={'x' * 201}"]
)
def test_a_list_with_a_broken_query_is_refused(reader: Api, query: str) -> None:
    problem(reader("GET", f"/api/v1/tools?{query}"), 422, "INVALID_INPUT")


def test_a_deleted_tool_is_gone_at_once_everywhere(api: Api) -> None:
    made = api.tool(api.table(DOCUMENT))
    path = f"/api/v1/tools/{made['tool_id']}"
    assert api("DELETE", path).status_code == 204
    for method, where in (
        ("GET", path),
        ("DELETE", path),
        ("GET", f"{path}/search-index"),
        ("POST", f"{path}/search"),
    ):
        body = {"query": "x"} if method == "POST" else None
        problem(api(method, where, json=body), 404, "NOT_FOUND")


def test_tools_of_a_deleted_table_are_gone_at_once(api: Api) -> None:
    table = api.table(DOCUMENT)
    made = api.tool(table)
    assert api("DELETE", f"/api/v1/tables/{table['id']}").status_code == 204
    problem(api("GET", f"/api/v1/tools/{made['tool_id']}"), 404, "NOT_FOUND")
    problem(create(api, wanted(api, table)), 404, "NOT_FOUND")


def test_waiting_holds_the_answer_until_the_index_is_built(api: Api) -> None:
    table = api.table(DOCUMENT)
    api.tool(table)
    body = wanted(api, table, search_config=SMALL)
    assert answer(create(api, body, params={"wait": 25}), 201)["status"] == "ready"
    fresh = wanted(api, api.table(DOCUMENT), search_config=SMALL)
    assert answer(create(api, fresh, params={"wait": 1}), 201)["status"] == "indexing"


@pytest.mark.parametrize("wait", ["-1", "26", "x", "1.5", "true", "", "５"])
def test_waiting_times_beyond_lambdas_are_refused(api: Api, wait: str) -> None:
    body = wanted(api, api.table(1))
    problem(create(api, body, params={"wait": wait}), 422, "INVALID_INPUT")


@pytest.mark.parametrize("name", ["json_path", "json_pointer"])
def test_the_scope_has_two_names(api: Api, name: str) -> None:
    made = api.tool(api.table(DOCUMENT), **{name: "/a"})
    assert [node["json_pointer"] for node in made["large_nodes_detected"]] == ["/a/t"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        *(({"name": value}, "INVALID_INPUT") for value in ("", "x" * 129, 7, None)),
        *(({"json_path": value}, "INVALID_POINTER") for value in ("a", "/~", "#/a")),
        ({"json_path": "/a", "json_pointer": "/ab"}, "INVALID_INPUT"),
    ],
)
def test_a_name_or_a_scope_that_is_none_is_refused(
    api: Api, more: dict[str, object], code: str
) -> None:
    problem(create(api, wanted(api, api.table(DOCUMENT), **more)), 422, code)


@pytest.mark.parametrize(
    "config",
    [
        *({"top_k": value} for value in (0, 21, "5", 5.0, True)),
        {"strategy": "fuzzy"},
        {"strategy": "keyword", "enable_hybrid": True},
        {"storage": "FULL"},
        {"fusion": "sum"},
        {"recency_weight": 2},
        {"vector_weight": 0, "bm25_weight": 0},
        *({"vector_weight": value} for value in (-0.1, 1.1)),
        {"chunk_threshold": 0},
        *({"chunk_size": value} for value in (99, 8_001)),
        {"chunk_size": 100, "chunk_overlap": 51},
        {"chunk_overlap": -1},
        {"include_metadata": 1},
        {"max_chunk_preview": 0},
        {"rerank": {}},
        {"rerank": "in-memory/words"},
        *({"rerank": {"model": value}} for value in ("", "x" * 201, 7)),
        *({"rerank": {**MODEL, "candidates": value}} for value in (0, 51, 5.0, True)),
        *({"rerank": {**MODEL, "blend": value}} for value in (-0.1, 1.1, "half")),
        {"rerank": {**MODEL, "api_base": "http://169.254.169.254"}},
        {"model": "openai/gpt"},
        {"api_base": "http://169.254.169.254"},
        [],
        "hybrid",
        None,
    ],
    ids=repr,
)
def test_a_configuration_out_of_bounds_is_refused(api: Api, config: object) -> None:
    body = wanted(api, api.table(1), search_config=config)
    refused = problem(create(api, body), 422, "INVALID_INPUT")
    assert any("search_config" in error["field"] for error in refused["errors"])


def test_a_configuration_says_what_it_was_not_told(api: Api) -> None:
    config = {"enable_hybrid": False, "include_metadata": False, "max_chunk_preview": 10}
    made = api.tool(api.table(DOCUMENT), {**config, "chunk_threshold": 20})
    read = answer(api("GET", f"/api/v1/tools/{made['tool_id']}"), 200)
    assert read["search_config"] == {
        "top_k": 5,
        "strategy": "semantic",
        "fusion": "convex",
        "vector_weight": None,
        "bm25_weight": None,
        "recency_weight": 0.1,
        "include_metadata": False,
        "max_chunk_preview": 10,
        "rerank": None,
        "filterable": [],
        "where": None,
        "agents_may_filter": False,
        "storage": "full",
        "chunk_threshold": 20,
        "chunk_size": 1_000,
        "chunk_overlap": 100,
    }
    [hit, *_] = api.search(made, "harbour")["results"]
    assert hit["preview"] == hit["chunk"]["chunk_text"][:10]
    assert "content_hash" not in hit["chunk"]
