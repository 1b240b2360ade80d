"""How a ranking came about, for people who ask why: body, answers, route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from context_search.core.config import WeightsFrom
from context_search.core.errors import PermissionDeniedError
from context_search.ranking.fusion import rounded
from context_search.ranking.search import Evidence, Hit, QuestionLimits, SearchResult
from context_search.searching.routes.search import (
    MAX_RESULTS,
    HintedHitAnswer,
    SpanAnswer,
    ToolResultAnswer,
    Use,
    around,
)
from context_search.searching.rules.searched import SearchedTool
from context_search.text.analysis import query_tokens
from context_search.text.analysis.matches import snippet
from context_search.web.callers import MaySearch, ToolId
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    Filtered,
    KnownId,
    LeftOut,
    NotNull,
    Number,
    Question,
    RankingBody,
    Relevance,
    Score,
    Share,
    example,
    filter_of,
    rounded_to,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["search"])

LISTED_CANDIDATES = 200


class ExplainBody(Body):
    """``POST …/search/explain``. ``config``: as if the tool ranked like this; needs ``manage``."""

    model_config = example(query="Who counted comets?", top_k=3)
    query: Question
    top_k: Annotated[int, Field(ge=1, le=MAX_RESULTS)] | None = None
    filter: Filtered = None
    config: Annotated[RankingBody | LeftOut, NotNull] = None


class ScoreBreakdownAnswer(AnswerModel):
    """Each part of a score in 0..1, as the fusion weighed it."""

    bm25: Annotated[Number, rounded_to(4)]
    semantic: Annotated[Number, rounded_to(4)]
    recency: Annotated[Share, rounded_to(4)]


class RankedAnswer(AnswerModel):
    """Where a leg ranked a candidate, and its own score."""

    rank: KnownId
    score: Number


class UnrankedAnswer(AnswerModel):
    """A leg that did not rank the candidate."""

    rank: None
    score: None


def _leg(rank: int | None, score: float | None) -> RankedAnswer | UnrankedAnswer:
    if rank is None or score is None:
        return UnrankedAnswer(rank=None, score=None)
    return RankedAnswer(rank=rank, score=score)


class LegsAnswer(AnswerModel):
    """What both legs made of a candidate."""

    vector: RankedAnswer | UnrankedAnswer
    keyword: RankedAnswer | UnrankedAnswer


class CandidateAnswer(AnswerModel):
    """One candidate, shown or not."""

    rank: KnownId
    shown: bool
    chunk_id: KnownId
    json_pointer: str
    chunk_index: Count
    char_start: Count
    char_end: Count
    snippet: str
    highlights: Annotated[
        list[SpanAnswer], Field(description="What of snippet the question matches.")
    ]
    score: Score
    relevance: Relevance
    stale: bool
    score_breakdown: Annotated[
        Absent[ScoreBreakdownAnswer], Field(serialization_alias="scoreBreakdown")
    ] = None
    fused: Annotated[
        Absent[Number], Field(description="The score of the legs alone, before the second look.")
    ] = None
    fused_parts: Annotated[
        Absent[dict[str, Number]],
        Field(description="What each leg has added; their sum is fused."),
    ] = None
    parts: Annotated[
        Absent[dict[str, Number]],
        Field(description="What each part has added; their sum is the score."),
    ] = None
    legs: Absent[LegsAnswer] = None
    opinion: Annotated[
        Absent[Number], Field(description="A reranking model's score, as the model gives it.")
    ] = None
    matched_terms: Absent[Sequence[str]] = None
    title: Annotated[
        Absent[str], Field(description="As a result has it; of a project, of its results only.")
    ] = None

    @classmethod
    def of(
        cls, place: int, hit: Hit, query: str, *, is_shown: bool, title: str | None
    ) -> CandidateAnswer:
        """Returns the candidate at a place of the ranking."""
        chunk, shown = hit.chunk, snippet(hit.chunk.chunk_text, query)
        return cls.about(
            rank=place,
            shown=is_shown,
            chunk_id=chunk.id,
            json_pointer=chunk.json_pointer,
            chunk_index=chunk.chunk_index,
            char_start=chunk.char_start,
            char_end=chunk.char_end,
            snippet=shown.text,
            highlights=SpanAnswer.all(shown.highlights),
            score=hit.score,
            relevance=hit.relevance,
            stale=chunk.stale,
            **({} if hit.evidence is None else _why(hit.score, hit.evidence)),
            title=title,
        )


def _why(score: float, evidence: Evidence) -> dict[str, object]:
    return {
        "score_breakdown": evidence,
        "fused": round(evidence.fused, 6),
        "fused_parts": rounded(evidence.fused, evidence.fused_parts, 6),
        "parts": rounded(score, evidence.parts, 6),
        "legs": LegsAnswer(
            vector=_leg(evidence.vector_rank, evidence.raw_semantic),
            keyword=_leg(evidence.keyword_rank, evidence.raw_bm25),
        ),
        "opinion": evidence.reranker,
        "matched_terms": list(evidence.matched),
    }


class FusionAnswer(AnswerModel):
    """How the legs were weighed, and whether the tool, the calibration or the model says so."""

    kind: str
    weights: dict[str, Number]
    weights_from: WeightsFrom


class ExplanationAnswer(AnswerModel):
    """The candidates, cuts, scores and timings of a ranking."""

    query_tokens: list[str]
    fusion: FusionAnswer
    keywords_from: str | None
    errors: list[str]
    counts: dict[str, Count]
    milliseconds: dict[str, Number]
    candidates: list[CandidateAnswer]
    is_draft: Annotated[
        Absent[bool], Field(description="Ranked as the request said, not as the tool does.")
    ] = None

    @classmethod
    def of(
        cls,
        answer: SearchResult,
        hits: Sequence[Hit],
        titles: Mapping[int, str],
        *,
        is_draft: bool = False,
    ) -> ExplanationAnswer:
        """Explains an answer of which these hits are shown; at most 200 candidates.

        ``titles`` are by chunk id.
        """
        shown = {hit.chunk.id for hit in hits}
        search, found = answer.target.search, answer.found
        used = answer.target.weights
        weights = {"keyword": used.bm25, "vector": used.vector}
        if search.fusion == "linear":
            weights["recency"] = used.recency
        if search.rerank is not None:
            weights["reranker"] = search.rerank.blend
        return cls(
            query_tokens=query_tokens(answer.query),
            fusion=FusionAnswer(kind=search.fusion, weights=weights, weights_from=used.source),
            keywords_from=found.keywords_from,
            errors=list(found.errors),
            counts={
                "vector": len(found.vector),
                "keyword": len(found.keyword),
                "candidates": len(found.ids),
                "gone": answer.gone,
                "ranked": answer.ranked,
                "shown": len(hits),
                "words_left_out": found.words_left_out,
            },
            milliseconds={stage: round(s * 1000, 2) for stage, s in answer.seconds.items()},
            candidates=[
                CandidateAnswer.of(
                    place,
                    hit,
                    answer.query,
                    is_shown=hit.chunk.id in shown,
                    title=titles.get(hit.chunk.id),
                )
                for place, hit in enumerate(answer.hits[:LISTED_CANDIDATES], start=1)
            ],
            is_draft=is_draft or None,
        )


class ExplainedHitAnswer(HintedHitAnswer):
    """A hit with what to mark in it, and what it is called."""

    title: Annotated[
        str,
        Field(
            description="title or name of the nearest object around the string that has one, "
            "else the table's name."
        ),
    ]


class ExplainedAnswer(ToolResultAnswer):
    """A search's answer with what to mark in it, and how its ranking came about."""

    results: Annotated[Sequence[ExplainedHitAnswer], Field(max_length=MAX_RESULTS)]
    explain: ExplanationAnswer


@router.post("/api/v1/tools/{tool_id}/search/explain", responses=refused(429))
async def explain_search(
    tool_id: ToolId, body: ExplainBody, caller: MaySearch, use: Use
) -> ExplainedAnswer:
    """Returns a tool's search with its candidates, cuts, scores and timings."""
    draft = None if body.config is None else body.config.change()
    if draft is not None and "manage" not in caller.permissions:
        raise PermissionDeniedError("only a key with the scope manage may try other settings")
    limits = QuestionLimits(top_k=body.top_k, is_whole=True, filter=filter_of(body.filter))
    answer = use.explain.search(SearchedTool.by(caller, tool_id, draft), body.query, limits)
    shown = answer.hits[: limits.shown(answer.target.search)]
    listed = [hit.chunk for hit in answer.hits[:LISTED_CANDIDATES]]
    titles = use.titles(answer.target, listed)
    return ExplainedAnswer(
        results=[
            ExplainedHitAnswer.marked(hit, answer, title=titles[hit.chunk.id]) for hit in shown
        ],
        **around(answer),
        explain=ExplanationAnswer.of(answer, shown, titles, is_draft=draft is not None),
    )
