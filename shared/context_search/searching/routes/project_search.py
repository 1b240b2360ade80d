"""Project search: bodies, answers, routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field, JsonValue

from context_search.core.callers import Principal
from context_search.core.config import Strategy
from context_search.core.json_pointer import split
from context_search.core.model import Reach
from context_search.ranking.search import Hit, QuestionLimits
from context_search.searching.routes.explain import ExplanationAnswer, ScoreBreakdownAnswer
from context_search.searching.routes.observed import SearchLog
from context_search.searching.routes.search import (
    ChunkAnswer,
    CiteText,
    CollapsedAnswer,
    EmptyResultHint,
    IndexStateAnswer,
    RetrievalAnswer,
    SpanAnswer,
)
from context_search.searching.search_project import ProjectPage, ProjectQuestion, SearchProject
from context_search.searching.titles import Label
from context_search.text.analysis.matches import snippet
from context_search.web.callers import SearchOwner, part
from context_search.web.fields import (
    Absent,
    AnswerModel,
    Body,
    Count,
    Filtered,
    Id,
    JsonPointer,
    LeftOut,
    NotNull,
    OnlyTrue,
    Question,
    Relevance,
    Score,
    Time,
    example,
    filter_of,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["project search"])


# Said to clients only: the service answers what is none with a code of its own.
_CURSOR: dict[str, JsonValue] = {"pattern": r"^[0-9a-f]{32}\.[0-9]{1,6}$"}


_Tables = Annotated[list[Id], Field(min_length=1, max_length=1_000)]


class ProjectExplainBody(Body):
    """``POST /api/v1/projects/{project_id}/search/explain``; ``candidates`` are per leg."""

    model_config = example(query="Who counted comets?", strategy="keyword", tables=[1])
    query: Question
    strategy: Strategy = "hybrid"
    tables: Annotated[_Tables | LeftOut, NotNull] = None
    json_pointer: JsonPointer = ""
    filter: Filtered = None
    candidates: Annotated[int, Field(ge=1, le=5_000)] = 200
    include_low_score: bool = False
    collapse: bool = False

    def question(self, cursor: str | None = None) -> ProjectQuestion:
        """Returns what is asked, of its first page or that of a cursor.

        Raises InvalidPointerError and FilterInvalidError.
        """
        split(self.json_pointer)
        tables = None if self.tables is None else tuple(sorted(set(self.tables)))
        return ProjectQuestion(
            query=self.query,
            strategy=self.strategy,
            reach=Reach(self.json_pointer, tables),
            limits=QuestionLimits(
                candidates=self.candidates,
                min_score=0.0 if self.include_low_score else None,
                collapse=self.collapse,
                filter=filter_of(self.filter),
            ),
            cursor=cursor,
        )


class ProjectSearchBody(ProjectExplainBody):
    """``POST /api/v1/projects/{project_id}/search``.

    ``explain`` explains a first page: which candidates there were is not kept.
    """

    cursor: Annotated[str, Field(max_length=100, json_schema_extra=_CURSOR)] | None = None
    explain: bool = False


class ResultAnswer(AnswerModel):
    """A passage of a project."""

    score: Score
    relevance: Relevance
    score_breakdown: Annotated[
        ScoreBreakdownAnswer | None, Field(serialization_alias="scoreBreakdown")
    ]
    title: str
    type: str
    updated_at: Annotated[Time, Field(serialization_alias="updatedAt")]
    json_path: str
    cite: CiteText
    snippet: str
    highlights: list[SpanAnswer]
    chunk: ChunkAnswer
    stale: Annotated[
        OnlyTrue, Field(description="The string has changed since it was indexed.")
    ] = None
    duplicates: Absent[CollapsedAnswer] = None

    @classmethod
    def of(cls, hit: Hit, label: Label, query: str) -> ResultAnswer:
        """Returns a hit with the words of the question marked."""
        shown = snippet(hit.chunk.chunk_text, query)
        return cls.about(
            score=hit.score,
            relevance=hit.relevance,
            score_breakdown=hit.evidence,
            title=label.title,
            type=label.type,
            updated_at=hit.chunk.changed_at,
            json_path=hit.json_path,
            cite=str(hit.chunk.cite),
            snippet=shown.text,
            highlights=SpanAnswer.all(shown.highlights),
            chunk=hit.chunk,
            stale=hit.chunk.stale,
            duplicates=CollapsedAnswer.of(hit),
        )


class PageCountsAnswer(AnswerModel):
    """How many there are beside those that are shown."""

    ranked: Count
    hidden: Count
    gone: Count


class ProjectSearchAnswer(AnswerModel):
    """A page of results."""

    query: str
    results: list[ResultAnswer]
    has_more: Annotated[bool, Field(serialization_alias="hasMore")]
    cursor: str | None
    truncated: bool
    counts: PageCountsAnswer
    retrieval: RetrievalAnswer
    index: IndexStateAnswer
    hint: EmptyResultHint = None
    explain: Absent[ExplanationAnswer] = None

    @classmethod
    def of(cls, page: ProjectPage, *, with_explanation: bool) -> ProjectSearchAnswer:
        """Returns a page; which candidates there were is known of a first one."""
        answer, whole = page.answer, page.whole if with_explanation else None
        titles = {chunk_id: label.title for chunk_id, label in page.labels.items()}
        return cls.about(
            page,
            query=answer.query,
            results=[
                ResultAnswer.of(hit, page.labels[hit.chunk.id], answer.query) for hit in answer.hits
            ],
            has_more=page.cursor is not None,
            counts=PageCountsAnswer(ranked=answer.ranked, hidden=page.hidden, gone=answer.gone),
            retrieval=RetrievalAnswer.of(answer),
            index=answer.target,
            explain=None if whole is None else ExplanationAnswer.of(whole, answer.hits, titles),
        )


class ExplainedProjectAnswer(ProjectSearchAnswer):
    """A first page, and how its ranking came about."""

    explain: ExplanationAnswer


@dataclass(frozen=True, slots=True)
class ProjectSearchUseCases:
    """What the routes of this file call."""

    search: SearchProject
    log: SearchLog

    def page(self, principal: Principal, asked: ProjectQuestion) -> ProjectPage:
        """Returns a page, and leaves its trace in logs and metrics."""
        with self.log.counting_errors():
            page = self.search.page(principal, asked)
        self.log.note(principal.project_id, page.answer)
        return page


Use = Annotated[ProjectSearchUseCases, part("searching.project_search")]


@router.post("/api/v1/projects/{project_id}/search", responses=refused(409, 429))
async def search_project(
    body: ProjectSearchBody, owner: SearchOwner, use: Use
) -> ProjectSearchAnswer:
    """Returns at most 50 results from every string of every table, and a cursor for the next."""
    page = use.page(owner, body.question(body.cursor))
    return ProjectSearchAnswer.of(page, with_explanation=body.explain)


@router.post(
    "/api/v1/projects/{project_id}/search/explain",
    response_model=ExplainedProjectAnswer,
    responses=refused(409, 429),
)
async def explain_project_search(
    body: ProjectExplainBody, owner: SearchOwner, use: Use
) -> Response:
    """Returns the first page of a project search with its candidates, cuts, scores and timings."""
    page = use.page(owner, body.question())
    return ProjectSearchAnswer.of(page, with_explanation=True).response()
