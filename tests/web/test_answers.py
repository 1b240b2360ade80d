"""The shapes of answers, without any part behind them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import ValidationError

from context_search.core.cites import Cite
from context_search.core.config import SearchConfig
from context_search.core.model import HydratedChunk, Reach, Scope, SearchTool
from context_search.core.progress import NodeProgress, Progress
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
    revision=4,
)
ANSWER = SearchResult(
    query="what",
    target=Target(an_index(), Reach("/articles"), SearchConfig(), "ready"),
    hits=[Hit(score=0.123456789, relevance=0.98765, json_path="/0/text", chunk=CHUNK)],
    mode_requested="hybrid",
    found=LegResults(legs=["keyword"]),
    degraded=["embed_timeout"],
)


def sent(answer: AnswerModel) -> dict[str, Any]:
    """The JSON of an answer."""
    return dict(json.loads(bytes(answer.response().body)))


def search_answer(answer: SearchResult, *, with_hints: bool = False) -> dict[str, Any]:
    body = SearchBody(query=answer.query, context_hint=with_hints)
    return sent(SearchAnswer.hinted(answer, body))


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
                "cite": str(Cite.of(2, "/articles/0/text", 4, 900, "an exact passage", 916)),
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


def test_a_tool_may_leave_storage_names_out_and_put_a_preview_in() -> None:
    search = SearchConfig(include_metadata=False, max_chunk_preview=8)
    [result] = search_answer(replace(ANSWER, target=replace(ANSWER.target, search=search)))[
        "results"
    ]

    assert result["preview"] == "an exact"
    hidden = {"content_hash", "turbopuffer_namespace", "turbopuffer_doc_id"}
    assert hidden.isdisjoint(result["chunk"])
    assert result["chunk"]["chunk_text"] == CHUNK.chunk_text


def test_the_state_of_an_index_lists_what_is_not_in_it() -> None:
    error = {"code": "PROJECT_FULL", "message": "full", "retryable": True, "at": NOW.isoformat()}
    waiting = NodeProgress(
        "/a", 11_000, "queued", None, {**error, "chunks": 12}, attempts=3, next_attempt_at=NOW
    )
    progress = Progress(
        status="degraded",
        nodes_count=3,
        states={"indexed": 1, "queued": 1, "skipped": 1},
        chunks_count=3,
        indexed_chunks_count=2,
        indexed_at=NOW,
        last_error=error,
        next_attempt_at=NOW,
    )
    tool = SearchTool(9, 1, "kb", None, None, Scope(2), SearchConfig(), 4, NOW, 10_000)
    answer = sent(SearchIndexAnswer.of(ToolStatus(tool, an_index(), progress, [], None, [waiting])))
    assert (answer["status"], answer["indexed_chunks_count"]) == ("degraded", 2)
    assert (answer["not_indexed_count"], answer["next_attempt_at"]) == (2, NOW.isoformat())
    shown = {"json_pointer": "/a", "char_count": 11_000, "state": "queued", "attempts": 3}
    assert answer["not_indexed"] == [
        {**shown, "next_attempt_at": NOW.isoformat(), "last_error": error}
    ]
