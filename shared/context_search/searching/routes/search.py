"""Search with a tool over HTTP: bodies, answers, routes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter
from pydantic import Field, WithJsonSchema

from context_search.core.callers import Internal
from context_search.core.config import Strategy
from context_search.core.model import HydratedChunk
from context_search.core.progress import IndexStatus
from context_search.ranking.search import (
    MAX_PLACES,
    Degradation,
    Hint,
    Hit,
    LegName,
    QuestionLimits,
    SearchResult,
    Target,
)
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.targets import Searches
from context_search.text.analysis import match_spans
from context_search.text.analysis.matches import Span
from context_search.web.callers import InternalOnly, MaySearch, ToolId, part
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    Filtered,
    Listed,
    NotSearched,
    OnlyTrue,
    Question,
    Relevance,
    Score,
    example,
    filter_of,
    source,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["search"])

MAX_RESULTS = 20
CiteText = Annotated[str, Field(description="Names this passage to those who reopen it.")]


class SearchBody(Body):
    """``POST …/search``"""

    model_config = example(query="Who counted comets?", top_k=3)
    query: Question
    top_k: Annotated[int, Field(ge=1, le=MAX_RESULTS)] | None = None
    filter: Filtered = None
    context_hint: bool = False
    highlights: bool = False
    collapse: bool = False

    @property
    def limits(self) -> QuestionLimits:
        """What the request limits. Raises FilterInvalidError."""
        wanted = filter_of(self.filter)
        return QuestionLimits(top_k=self.top_k, collapse=self.collapse, filter=wanted)


class ChunkAnswer(AnswerModel):
    """A passage and its place; where it is stored unless the tool leaves that out."""

    id: int
    table_id: int
    json_pointer: Annotated[
        str,
        Field(description="Where the string is in the table's document (RFC 6901, absolute)."),
    ]
    chunk_index: Count
    total_chunks: Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]
    chunk_text: Annotated[str, Field(description="The passage, unchanged unless redacted.")]
    char_start: Annotated[
        Count, Field(description="First code point of the passage in the string.")
    ]
    char_end: Annotated[Count, Field(description="One past its last code point.")]
    content_hash: Absent[str] = None
    turbopuffer_namespace: Absent[str] = None
    turbopuffer_doc_id: Absent[str] = None


_WITHOUT_METADATA: Mapping[str, None] = dict.fromkeys(
    ("content_hash", "turbopuffer_namespace", "turbopuffer_doc_id")
)


class HitAnswer(AnswerModel):
    """A passage that was found."""

    score: Annotated[Score, Field(description="Fused rank score; compare within one answer.")]
    relevance: Annotated[
        Relevance,
        Field(description="Calibrated, comparable between answers; cut thresholds on this."),
    ]
    json_path: Annotated[str, Field(description="json_pointer relative to the tool's scope.")]
    cite: CiteText
    chunk: ChunkAnswer
    stale: Annotated[
        OnlyTrue, Field(description="The string has changed since it was indexed.")
    ] = None
    preview: Annotated[
        Absent[str], Field(description="The passage's beginning, if so configured.")
    ] = None

    @classmethod
    def of(cls, hit: Hit, answer: SearchResult, **further: Any) -> Self:
        """Returns a hit as the tool is configured to show it."""
        search, chunk = answer.target.search, hit.chunk
        left_out = {} if search.include_metadata else _WITHOUT_METADATA
        length = search.max_chunk_preview
        return cls(
            score=hit.score,
            relevance=hit.relevance,
            json_path=hit.json_path,
            cite=str(chunk.cite),
            chunk=ChunkAnswer.about(chunk, **left_out),
            stale=chunk.stale,
            preview=None if length is None else chunk.chunk_text[:length],
            **further,
        )


class SpanAnswer(AnswerModel):
    """Code points of a text that is shown, the end exclusive."""

    start: Count
    end: Count

    @classmethod
    def all(cls, spans: Sequence[Span]) -> list[SpanAnswer]:
        """Returns what a question matches of a text."""
        return [cls(start=start, end=end) for start, end in spans]


class PlaceAnswer(AnswerModel):
    """Where a chunk is."""

    id: int
    table_id: int
    json_pointer: str
    chunk_index: Count
    char_start: Count
    char_end: Count
    cite: CiteText
    stale: Annotated[
        OnlyTrue, Field(description="The string has changed since it was indexed.")
    ] = None


class CollapsedAnswer(AnswerModel):
    """The near-duplicates of a hit that are not shown for themselves."""

    total: Count
    places: Annotated[
        list[PlaceAnswer],
        Field(max_length=MAX_PLACES, description="Those that ranked best."),
    ]

    @classmethod
    def of(cls, hit: Hit, *, is_redacted: bool = False) -> CollapsedAnswer | None:
        """Returns the duplicates of a hit, None without any; a cite has no digest if redacted."""
        if not hit.duplicates_total:
            return None
        cites = [copy.cite.bare if is_redacted else copy.cite for copy in hit.duplicates]
        places = [
            PlaceAnswer.about(copy, cite=str(cite))
            for copy, cite in zip(hit.duplicates, cites, strict=True)
        ]
        return cls(total=hit.duplicates_total, places=places)


class HintedHitAnswer(HitAnswer):
    """A hit that tells a person's program where to read on, and what to mark."""

    context_hint: Absent[str] = None
    highlights: Annotated[
        Absent[list[SpanAnswer]],
        Field(description="What of chunk_text the question matches, if asked for."),
    ] = None
    duplicates: Absent[CollapsedAnswer] = None

    @classmethod
    def marked(cls, hit: Hit, answer: SearchResult, **further: Any) -> Self:
        """Returns a hit with the words of the question marked."""
        spans = match_spans(hit.chunk.chunk_text, answer.query)
        return cls.of(hit, answer, highlights=SpanAnswer.all(spans), **further)


def context_hint(chunk: HydratedChunk) -> str:
    """Returns which piece of its string a chunk is, and where that string stands, in Chinese.

    It gives data, no instruction: a pointer holds a document's own keys, and agents read hints.
    """
    pointer = json.dumps(chunk.json_pointer, ensure_ascii=False)
    return (
        f"第 {chunk.chunk_index + 1}/{chunk.total_chunks} 段；"
        f"全文位置：table_id={chunk.table_id}, json_pointer={pointer}"
    )


class WarningAnswer(AnswerModel):
    """Keywords stand in for meaning."""

    code: str
    fallback: Literal["fts"]


_WARNINGS: Mapping[Degradation, str] = {
    "embed_timeout": "SEARCH_TIMEOUT",
    "embed_unavailable": "EMBEDDING_UNAVAILABLE",
    "backend_timeout": "SEARCH_TIMEOUT",
    "backend_unavailable": "VECTOR_STORE_UNAVAILABLE",
    "backend_busy": "VECTOR_STORE_UNAVAILABLE",
    "namespace_missing": "NAMESPACE_MISSING",
}


class RetrievalAnswer(AnswerModel):
    """How an answer was found."""

    mode_requested: Strategy
    mode_used: Strategy
    legs: Annotated[list[LegName], source("found", "legs"), Listed]
    degraded: Annotated[
        list[str],
        Listed,
        Field(description="Why the answer is not what was asked for; empty if it is."),
    ]
    warning: Absent[WarningAnswer] = None

    @classmethod
    def of(cls, answer: SearchResult) -> RetrievalAnswer:
        """Returns how an answer was found; with a warning when keywords stand in for meaning."""
        code = next((_WARNINGS[name] for name in answer.degraded if name in _WARNINGS), None)
        warning = None if code is None else WarningAnswer(code=code, fallback="fts")
        return cls.about(answer, warning=warning)


class IndexStateAnswer(AnswerModel):
    """The index that was asked."""

    status: IndexStatus
    not_searched: NotSearched = None


_HINT = (
    "Why there are no results. With scope_missing, no_long_strings and nothing_indexed this tool "
    "never has any: tell whoever set it up."
)
EmptyResultHint = Annotated[Absent[Hint], Field(description=_HINT)]


class ToolResultAnswer(AnswerModel):
    """What an agent gets of a search."""

    query: str
    results: Annotated[Sequence[HitAnswer], Field(max_length=MAX_RESULTS)]
    retrieval: RetrievalAnswer
    index: IndexStateAnswer
    hint: EmptyResultHint = None
    omitted: Annotated[
        Absent[Annotated[int, WithJsonSchema({"type": "integer", "minimum": 1})]],
        Field(description="Hits left out at the end because the result would be too long."),
    ] = None

    @classmethod
    def of(cls, answer: SearchResult) -> ToolResultAnswer:
        """Returns all hits of an answer."""
        return cls(results=[HitAnswer.of(hit, answer) for hit in answer.hits], **around(answer))


class SearchAnswer(ToolResultAnswer):
    """What a person's program gets, with hints where to read on if it wants them."""

    results: Annotated[Sequence[HintedHitAnswer], Field(max_length=MAX_RESULTS)]

    @classmethod
    def hinted(cls, answer: SearchResult, body: SearchBody) -> SearchAnswer:
        """Returns all hits of an answer, with what the request wants of each."""
        results = [
            HintedHitAnswer.of(
                hit,
                answer,
                context_hint=context_hint(hit.chunk) if body.context_hint else None,
                highlights=SpanAnswer.all(match_spans(hit.chunk.chunk_text, body.query))
                if body.highlights
                else None,
                duplicates=CollapsedAnswer.of(hit),
            )
            for hit in answer.hits
        ]
        return cls(results=results, **around(answer))


def around(answer: SearchResult) -> dict[str, Any]:
    """Returns the members that stand around the hits of a search."""
    return {
        "query": answer.query,
        "retrieval": RetrievalAnswer.of(answer),
        "index": answer.target,
        "hint": answer.hint,
    }


@dataclass(frozen=True, slots=True)
class SearchUseCases:
    """What searches and explanations call; ``titles`` are by chunk id, of one table."""

    search: Searches
    explain: Searches
    titles: Callable[[Target, Sequence[HydratedChunk]], Mapping[int, str]]


Use = Annotated[SearchUseCases, part("searching.search")]


@router.post("/api/v1/tools/{tool_id}/search", responses=refused(429))
async def search_tool(
    tool_id: ToolId, body: SearchBody, caller: MaySearch, use: Use
) -> SearchAnswer:
    """Returns the best passages of a tool's scope for a question."""
    answer = use.search.search(SearchedTool.by(caller, tool_id), body.query, body.limits)
    return SearchAnswer.hinted(answer, body)


@router.post(
    "/internal/tools/{tool_id}/search", dependencies=[InternalOnly], responses=refused(429)
)
async def search_tool_internally(tool_id: ToolId, body: SearchBody, use: Use) -> SearchAnswer:
    """Searches with a tool, for trusted services that have checked their user themselves."""
    answer = use.search.search(SearchedTool.by(Internal(), tool_id), body.query, body.limits)
    return SearchAnswer.hinted(answer, body)
