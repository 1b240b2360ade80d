"""From a document to exact answers, over HTTP and over MCP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.library import PLACES, QUESTIONS, check_hit, library
from tests.e2e.running import Era, Running, Tenant

pytestmark = pytest.mark.stack
DOCUMENT = library()
SENTENCES = pytest.mark.parametrize("sentence", PLACES, ids=["comets", "violin", "沙漠", "鲸鱼"])
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@pytest.fixture(scope="module")
def reader(stack: Running) -> Tenant:
    """The project of the tests that change nothing."""
    return stack.project()


@pytest.fixture(scope="module")
def table_id(reader: Tenant) -> int:
    return reader.table(DOCUMENT)


@pytest.fixture(scope="module")
def tool(reader: Tenant, table_id: int) -> dict[str, Any]:
    """A tool over everything, ready."""
    made = reader.tool(table_id, description="Searches the library.")
    assert (made["status"], made["chunks_created"]) == ("indexing", None)
    found = {node["json_pointer"]: node["char_count"] for node in made["large_nodes_detected"]}
    assert found["/书/a~1b~0"] == len(DOCUMENT["书"]["a/b~"])
    assert found.keys() == {pointer for pointer, _ in PLACES.values()} | {"/books2"}
    reader.ready(made)
    return made


@SENTENCES
def test_a_planted_sentence_is_found_at_its_exact_place(
    reader: Tenant, tool: dict[str, Any], sentence: str
) -> None:
    pointer, at = PLACES[sentence]
    found = reader.search(tool, QUESTIONS[sentence])
    best = found["results"][0]
    assert (best["chunk"]["json_pointer"], best["json_path"]) == (pointer, pointer)
    assert best["chunk"]["char_start"] <= at < best["chunk"]["char_end"]
    assert sentence[:12] in best["chunk"]["chunk_text"]
    for hit in found["results"]:
        check_hit(DOCUMENT, hit)
    assert found["retrieval"] == {
        "mode_requested": "hybrid",
        "mode_used": "hybrid",
        "legs": ["vector", "keyword"],
        "degraded": [],
    }


@ERAS
@SENTENCES
def test_an_agent_finds_it_too(
    reader: Tenant, tool: dict[str, Any], sentence: str, era: Era
) -> None:
    arguments: dict[str, Any] = {"query": QUESTIONS[sentence], "top_k": 3}
    before = reader.search(tool, **arguments)
    result = reader.call_tool(era, "search_library", arguments)
    assert result.is_error is False
    # The index is calibrated at any moment after it is complete, and that moves the relevance.
    assert result.structured_content in (before, reader.search(tool, **arguments))
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    assert sentence[:12] in str(result.structured_content["results"][0])


@pytest.mark.parametrize(
    ("scope", "inside"),
    [
        ("/books", {"/0/text", "/1/text"}),
        ("/books/1", {"/text"}),
        ("/书/a~1b~0", {""}),
        ("/books2", {""}),
        ("/short", set()),
    ],
)
def test_a_scope_is_all_that_a_tool_sees(
    reader: Tenant, tool: dict[str, Any], table_id: int, scope: str, inside: set[str]
) -> None:
    scoped = reader.tool(table_id, name="scoped", json_path=scope)
    assert scoped["status"] == "ready"  # the same index has it all
    for question in QUESTIONS.values():
        results = reader.search(scoped, question, top_k=20)["results"]
        assert {hit["json_path"] for hit in results} <= inside
        assert bool(results) == bool(inside)
        for hit in results:
            check_hit(DOCUMENT, hit, scope)
