"""The shapes of answers, without any part behind them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import ValidationError

from context_search.catalog.routes.tables import TableAnswer
from context_search.catalog.routes.tools import NewSearchToolAnswer, SearchToolAnswer
from context_search.core.config import SearchConfig
from context_search.core.model import HydratedChunk, Reach, Scope, SearchTool, Table
from context_search.core.progress import IndexStatus, NodeProgress, Progress
from context_search.indexing.routes.search_index import SearchIndexAnswer
from context_search.indexing.status import ToolStatus
from context_search.ranking.search import Hit, LegResults, SearchResult, Target
from context_search.searching.routes.search import SearchAnswer, SearchBody
from context_search.web.fields import AnswerModel, source
from tests.builders import an_index

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
CHUNK = HydratedChunk(
    id=5,
    table_id=2,
    json_pointer="/articles/0/text",
    chunk_index=1,
    total_chunks=3,
    chunk_text="an exact passage",
    char_start=900,
    char_end=916,
    content_hash="a" * 64,
    turbopuffer_namespace="project_1_table_2",
    turbopuffer_doc_id="2.x.a.1.1",
    changed_at=NOW,
)
ANSWER = SearchResult(
    query="what",
    target=Target(an_index(), Reach("/articles"), SearchConfig(), "ready"),
    hits=[Hit(score=0.123456789, relevance=0.98765, json_path="/0/text", chunk=CHUNK)],
    mode_requested="hybrid",
    found=LegResults(legs=["keyword"]),
    degraded=["embed_timeout"],
)
TOOL = SearchTool(
    id=9,
    project_id=1,
    name="kb",
    description=None,
    table_name="Articles",
    scope=Scope(2, "/articles"),
    search=SearchConfig(),
    index_id=4,
    created_at=NOW,
    threshold=10_000,
)
REJECTED: dict[str, object] = {
    "code": "EMBEDDING_REJECTED",
    "message": "the model refused it",
    "retryable": False,
    "at": "2026-01-01T00:00:00+00:00",
}
FULL: dict[str, object] = {**REJECTED, "code": "PROJECT_FULL", "retryable": True}
NODES = [
    NodeProgress("/articles/0/text", 12_000, "indexed", 3, None),
    NodeProgress("/articles/1/text", 90_000_000, "skipped", None, {"code": "NODE_TOO_LARGE"}),
    NodeProgress("/articles/2/text", 11_000, "quarantined", None, REJECTED),
]

WAITING = NodeProgress(
    "/articles/1/text",
    11_000,
    "queued",
    None,
    {**FULL, "chunks": 12},
    attempts=3,
    next_attempt_at=NOW,
)


def sent(answer: AnswerModel) -> dict[str, Any]:
    """The JSON of an answer."""
    return dict(json.loads(bytes(answer.response().body)))


def search_answer(answer: SearchResult, *, with_hints: bool = False) -> dict[str, Any]:
    body = SearchBody(query=answer.query, context_hint=with_hints)
    return sent(SearchAnswer.hinted(answer, body))


def status(word: IndexStatus = "ready") -> ToolStatus:
    progress = Progress(
        status=word,
        nodes_count=3,
        states={"indexed": 1, "skipped": 1, "quarantined": 1},
        chunks_count=3,
        indexed_chunks_count=2,
        indexed_at=NOW,
        last_error=REJECTED,
        next_attempt_at=NOW,
    )
    return ToolStatus(TOOL, an_index(), progress, NODES, None, [WAITING, NODES[2]])


def the_result(answer: SearchResult) -> dict[str, Any]:
    """The only result of an answer."""
    [result] = search_answer(answer)["results"]
    return dict(result)


class Seen(AnswerModel):
    name: str
    version: Annotated[int | None, source("settings", "version")]


@dataclass(frozen=True)
class Settings:
    version: int


@dataclass(frozen=True)
class Thing:
    name: str
    settings: Settings | None


def test_an_answer_takes_attributes_of_the_first_source_that_has_them() -> None:
    thing = Thing("first", Settings(7))
    assert sent(Seen.about(thing)) == {"name": "first", "version": 7}
    assert sent(Seen.about(Settings(0), thing, name="said")) == {"name": "said", "version": 7}


def test_a_field_is_null_where_its_way_leads_through_null() -> None:
    assert sent(Seen.about(Thing("thing", None))) == {"name": "thing", "version": None}


def test_an_answer_is_not_made_of_a_thing_that_lacks_an_attribute() -> None:
    with pytest.raises(ValidationError):
        Seen.about(Settings(1))


def test_a_search_answer_has_the_shape_of_the_contract() -> None:
    assert search_answer(ANSWER) == {
        "query": "what",
        "results": [
            {
                "score": 0.123457,
                "relevance": 0.9877,
                "json_path": "/0/text",
                "chunk": {
                    "id": 5,
                    "table_id": 2,
                    "json_pointer": "/articles/0/text",
                    "chunk_index": 1,
                    "total_chunks": 3,
                    "chunk_text": "an exact passage",
                    "char_start": 900,
                    "char_end": 916,
                    "content_hash": "a" * 64,
                    "turbopuffer_namespace": "project_1_table_2",
                    "turbopuffer_doc_id": "2.x.a.1.1",
                },
            }
        ],
        "retrieval": {
            "mode_requested": "hybrid",
            "mode_used": "keyword",
            "legs": ["keyword"],
            "degraded": ["embed_timeout"],
            "warning": {"code": "SEARCH_TIMEOUT", "fallback": "fts"},
        },
        "index": {"status": "ready"},
    }


def test_a_hint_where_to_read_on_is_there_on_request() -> None:
    [result] = search_answer(ANSWER, with_hints=True)["results"]
    assert result["context_hint"] == (
        '第 2/3 段；全文位置：table_id=2, json_pointer="/articles/0/text"'
    )
    assert "context_hint" not in the_result(ANSWER)


def test_stale_is_said_only_when_it_is_so() -> None:
    stale = replace(ANSWER.hits[0], chunk=CHUNK._replace(stale=True))
    assert the_result(replace(ANSWER, hits=[stale]))["stale"] is True
    assert "stale" not in the_result(ANSWER)


def test_a_tool_may_leave_storage_names_out_and_put_a_preview_in() -> None:
    search = SearchConfig(include_metadata=False, max_chunk_preview=8)
    result = the_result(replace(ANSWER, target=replace(ANSWER.target, search=search)))
    assert result["preview"] == "an exact"
    hidden = {"content_hash", "turbopuffer_namespace", "turbopuffer_doc_id"}
    assert hidden.isdisjoint(result["chunk"])
    assert result["chunk"]["chunk_text"] == CHUNK.chunk_text


def test_a_table_is_shown_without_its_document() -> None:
    table = Table(2, 1, "Articles", None, 7, NOW)
    assert sent(TableAnswer.about(table)) == {
        "id": 2,
        "project_id": 1,
        "name": "Articles",
        "description": None,
        "revision": 7,
        "updated_at": "2026-11-22T12:00:00+00:00",
    }


@pytest.mark.parametrize(("word", "chunks"), [("ready", 3), ("indexing", None)])
def test_counts_are_null_until_they_are_known(word: IndexStatus, chunks: int | None) -> None:
    answer = sent(NewSearchToolAnswer.of(status(word)))
    assert (answer["tool_id"], answer["status"], answer["chunks_created"]) == (9, word, chunks)
    assert answer["namespace"] == an_index().generation.namespace
    assert answer["large_nodes_detected"] == [
        {"json_pointer": "/articles/0/text", "char_count": 12_000, "chunks_count": 3},
        {"json_pointer": "/articles/1/text", "char_count": 90_000_000, "chunks_count": None},
        {"json_pointer": "/articles/2/text", "char_count": 11_000, "chunks_count": None},
    ]


def test_a_tool_is_shown_with_the_summary_of_its_index() -> None:
    answer = sent(SearchToolAnswer.of(status()))
    assert answer["metadata"] == {
        "search_index": {
            "status": "ready",
            "configured_at": NOW.isoformat(),
            "indexed_at": NOW.isoformat(),
            "nodes_count": 3,
            "chunks_count": 3,
            "indexed_chunks_count": 2,
            "last_error": REJECTED,
        }
    }
    assert (answer["type"], answer["json_path"]) == ("search", "/articles")


def test_the_state_of_an_index_lists_what_is_not_in_it() -> None:
    answer = sent(SearchIndexAnswer.of(status("degraded")))
    assert (answer["status"], answer["indexed_chunks_count"]) == ("degraded", 2)
    assert (answer["not_indexed_count"], answer["next_attempt_at"]) == (2, NOW.isoformat())
    assert answer["not_indexed"] == [
        {
            "json_pointer": "/articles/1/text",
            "char_count": 11_000,
            "state": "queued",
            "attempts": 3,
            "next_attempt_at": NOW.isoformat(),
            "last_error": FULL,
        },
        {
            "json_pointer": "/articles/2/text",
            "char_count": 11_000,
            "state": "quarantined",
            "attempts": 0,
            "next_attempt_at": None,
            "last_error": REJECTED,
        },
    ]
