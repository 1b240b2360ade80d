"""Searching over HTTP: exact places, honest about how they were found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import chinese, english, planted
from tests.web.api import CANARY, SMALL, Api, answer, problem

SENTENCE = f"The lighthouse keeper counted nine comets {CANARY}."
CHINESE = "灯塔看守人数了九颗彗星。"
TEXT = planted(english(3_000), SENTENCE, 1_500)
DOCUMENT = {
    "a": {"t": TEXT},
    "ab": planted(chinese(3_000), CHINESE, 700),
    "list": ["short", english(600, seed=4)],
}


@pytest.fixture(scope="module")
def tool(reader: Api) -> dict[str, Any]:
    return reader.tool(reader.table(DOCUMENT))


def hits(found: dict[str, Any]) -> list[str]:
    return [hit["json_path"] for hit in found["results"]]


def test_a_hit_is_the_exact_place_of_its_text(reader: Api, tool: dict[str, Any]) -> None:
    found = reader.search(tool, "who counted comets at the lighthouse?")
    best = found["results"][0]
    chunk = best["chunk"]
    assert chunk["chunk_text"] == TEXT[chunk["char_start"] : chunk["char_end"]]
    assert chunk["char_start"] <= 1_500 + len(SENTENCE) // 2 < chunk["char_end"]
    assert (best["json_path"], chunk["json_pointer"]) == ("/a/t", "/a/t")
    assert chunk["chunk_index"] < chunk["total_chunks"]
    assert chunk["turbopuffer_namespace"] == tool["namespace"]
    assert 0 <= best["relevance"] <= 1
    assert found["query"] == "who counted comets at the lighthouse?"
    assert found["retrieval"] == {
        "mode_requested": "hybrid",
        "mode_used": "hybrid",
        "legs": ["vector", "keyword"],
        "degraded": [],
    }
    assert found["index"] == {"status": "ready", "not_searched": 1}


@pytest.mark.parametrize(
    ("config", "mode", "legs"),
    [
        ({}, "hybrid", ["vector", "keyword"]),
        ({"strategy": "semantic"}, "semantic", ["vector"]),
        ({"strategy": "keyword"}, "keyword", ["keyword"]),
        ({"storage": "lean"}, "hybrid", ["vector", "keyword"]),
        ({"storage": "lean", "strategy": "keyword"}, "keyword", ["keyword"]),
        ({"storage": "lean", "enable_hybrid": False}, "semantic", ["vector"]),
        ({"fusion": "linear"}, "hybrid", ["vector", "keyword"]),
        ({"fusion": "rrf"}, "hybrid", ["vector", "keyword"]),
        ({"vector_weight": 0, "bm25_weight": 1}, "hybrid", ["vector", "keyword"]),
    ],
    ids=repr,
)
def test_every_way_of_searching_finds_the_sentence(
    api: Api, config: dict[str, object], mode: str, legs: list[str]
) -> None:
    tool = api.tool(api.table(DOCUMENT), {**SMALL, **config})
    found = api.search(tool, "lighthouse keeper comets")
    assert found["retrieval"] == {
        "mode_requested": mode,
        "mode_used": mode,
        "legs": legs,
        "degraded": [],
    }
    assert SENTENCE[4:20] in found["results"][0]["chunk"]["chunk_text"]


def test_an_explanation_is_the_same_search_with_its_reasons(
    reader: Api, tool: dict[str, Any]
) -> None:
    body = {"query": "lighthouse keeper comets", "top_k": 2}
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    plain = answer(reader("POST", path, json={**body, "highlights": True}), 200)
    reported = answer(reader("POST", f"{path}/explain", json=body), 200)
    explain = reported.pop("explain")
    assert [hit.pop("title") for hit in reported["results"]] == ["table", "table"]
    assert reported == plain
    assert explain["query_tokens"] == ["lighthous", "keeper", "comet"]
    assert explain["counts"]["shown"] == len(plain["results"]) == 2
    assert explain["counts"]["ranked"] == len(explain["candidates"]) > 2
    assert {"embed", "turbopuffer", "read", "rank", "total"} <= set(explain["milliseconds"])
    for each in explain["candidates"]:
        assert sum(each["parts"].values()) == pytest.approx(each["score"], abs=1e-5)
    best, *_ = explain["candidates"]
    assert best["legs"]["keyword"]["rank"] == 1
    assert best["matched_terms"] == explain["query_tokens"]
    assert best["score"] == plain["results"][0]["score"]
    assert [each["shown"] for each in explain["candidates"][:3]] == [True, True, False]


def test_trusted_services_search_without_a_key(reader: Api, tool: dict[str, Any]) -> None:
    path = f"/internal/tools/{tool['tool_id']}/search"
    body = {"query": "lighthouse", "top_k": 3}
    assert answer(reader.internally("POST", path, json=body), 200) == reader.search(
        tool, "lighthouse", top_k=3
    )


def test_every_answer_of_a_tool_says_how_many_strings_it_does_not_search(api: Api) -> None:
    table = api.table({"a": [TEXT, "short", "shorter", " "], "b": "short, too"})
    tool = api.tool(table, json_path="/a")
    path = f"/api/v1/tools/{tool['tool_id']}"

    def reported() -> set[int]:
        asked = [
            answer(api("POST", f"{path}/{way}", json={"query": "lighthouse"}), 200)["index"]
            for way in ("search", "search/explain", "retrieve")
        ]
        return {
            each["not_searched"]
            for each in [*asked, answer(api("GET", f"{path}/search-index"), 200)]
        }

    assert reported() == {2}
    api("PUT", f"/api/v1/tables/{table['id']}/data", params={"pointer": "/a/1"}, json=english(400))
    api.parts.work()
    assert reported() == {1}


@pytest.mark.parametrize(
    ("scope", "inside"), [("/a", {"/t"}), ("/a/t", {""}), ("/ab", {""}), ("/list", {"/1"})]
)
def test_a_tool_finds_nothing_outside_of_its_scope(api: Api, scope: str, inside: set[str]) -> None:
    table = api.table(DOCUMENT)
    api.tool(table)  # another tool keeps everything indexed
    scoped = api.tool(table, json_path=scope)
    found = api.search(scoped, f"harbour comets 彗星 {CHINESE}", top_k=20)
    assert set(hits(found)) == inside


def test_a_text_that_changed_is_stale_until_the_new_one_answers(api: Api) -> None:
    table = api.table(DOCUMENT)
    tool = api.tool(table)
    path = f"/api/v1/tables/{table['id']}/data"
    api("PUT", path, params={"pointer": "/a/t"}, json=english(400, seed=8))
    [best, *_] = api.search(tool, "lighthouse keeper comets")["results"]
    assert (best["stale"], best["chunk"]["json_pointer"]) == (True, "/a/t")
    api.parts.work()
    found = api.search(tool, "lighthouse keeper comets", top_k=20)
    assert not any("lighthouse" in hit["chunk"]["chunk_text"] for hit in found["results"])
    assert not any("stale" in hit for hit in found["results"])


def test_a_string_that_was_removed_is_gone_at_once(api: Api) -> None:
    table = api.table(DOCUMENT)
    tool = api.tool(table)
    api("PUT", f"/api/v1/tables/{table['id']}/data", json={"ab": DOCUMENT["ab"]})
    assert set(hits(api.search(tool, "lighthouse keeper comets", top_k=20))) <= {"/ab"}


@pytest.mark.parametrize("query", [" ", "\u200b", "。！？", "…", "\t\n", "🙂", "\u0301"])
def test_a_question_needs_a_letter_or_a_number(
    reader: Api, tool: dict[str, Any], query: str
) -> None:
    response = reader("POST", f"/api/v1/tools/{tool['tool_id']}/search", json={"query": query})
    problem(response, 422, "QUERY_EMPTY")


@pytest.mark.parametrize(
    "body",
    [
        *({"query": value} for value in ("", "x" * 2_001, None, 7, ["x"])),
        *({"query": "x", "top_k": value} for value in (0, 21, "5", 5.0, True)),
        *({"query": "x", "fusion": "rrf"}, {"query": "x", "vector_weight": 1}),
        {"query": "x", "where": {"a": {"eq": 1}}},
        *({}, [], "x", None),
    ],
    ids=lambda body: repr(body)[:40],
)
def test_whatever_an_agent_may_not_say_is_refused(
    reader: Api, tool: dict[str, Any], body: object
) -> None:
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    refused = problem(reader("POST", path, json=body), 422, "INVALID_INPUT")
    assert refused["errors"]
    internal = f"/internal/tools/{tool['tool_id']}/search"
    problem(reader.internally("POST", internal, json=body), 422, "INVALID_INPUT")


def test_a_program_may_ask_for_hints(reader: Api, tool: dict[str, Any]) -> None:
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    body = {"query": "who counted comets?", "top_k": 1, "context_hint": True}
    [hit] = answer(reader("POST", path, json=body), 200)["results"]
    assert str(hit["chunk"]["chunk_index"] + 1) in hit["context_hint"]
    problem(reader("POST", path, json={**body, "context_hint": "yes"}), 422, "INVALID_INPUT")
    problem(reader("POST", f"{path}/explain", json=body), 422, "INVALID_INPUT")


def test_highlights_are_what_the_question_matches(reader: Api, tool: dict[str, Any]) -> None:
    path = f"/api/v1/tools/{tool['tool_id']}/search"
    for query, marked in (("counted comets?", {"counted", "comets"}), ("彗星", {"彗星"})):
        body = {"query": query, "highlights": True, "top_k": 1}
        [best] = answer(reader("POST", path, json=body), 200)["results"]
        text = best["chunk"]["chunk_text"]
        spans = [text[span["start"] : span["end"]] for span in best["highlights"]]
        assert set(spans) == marked
    [plain] = reader.search(tool, "comets", top_k=1)["results"]
    assert "highlights" not in plain
