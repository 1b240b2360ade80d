"""The routes of project search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse
from pydantic import Field, JsonValue

from context_search.domain.config import Strategy
from context_search.domain.json_pointer import split
from context_search.domain.model import Principal, Reach
from context_search.domain.search import QuestionLimits
from context_search.domain.text.analysis import query_tokens
from context_search.services.searching.search_project import (
    ProjectPage,
    ProjectQuestion,
    SearchProject,
)
from context_search.web.dependencies import SearchOwner
from context_search.web.explain import explanation
from context_search.web.left_out import LeftOut, NotNull
from context_search.web.observed import SearchLog
from context_search.web.project_answers import project_answer
from context_search.web.requests import Body, Id, JsonPointer
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["project search"])


# Said to clients only: the service answers what is none with a code of its own.
_CURSOR: dict[str, JsonValue] = {"pattern": r"^[0-9a-f]{32}\.[0-9]{1,6}$"}


_Tables = Annotated[list[Id], Field(min_length=1, max_length=1_000)]


class ProjectExplainBody(Body):
    """``POST /api/v1/projects/{project_id}/search/explain``; ``candidates`` are per leg."""

    query: Annotated[str, Field(min_length=1, max_length=2_000)]
    strategy: Strategy = "hybrid"
    tables: Annotated[_Tables | LeftOut, NotNull] = None
    json_pointer: JsonPointer = ""
    candidates: Annotated[int, Field(ge=1, le=5_000)] = 200
    include_low_score: bool = False

    def question(self, cursor: str | None = None) -> ProjectQuestion:
        """Returns what is asked, of its first page or that of a cursor.

        Raises InvalidPointerError.
        """
        split(self.json_pointer)
        tables = None if self.tables is None else tuple(sorted(set(self.tables)))
        return ProjectQuestion(
            query=self.query,
            strategy=self.strategy,
            reach=Reach(self.json_pointer, tables),
            limits=QuestionLimits(
                candidates=self.candidates, min_score=0.0 if self.include_low_score else None
            ),
            cursor=cursor,
        )


class ProjectSearchBody(ProjectExplainBody):
    """``POST /api/v1/projects/{project_id}/search``.

    ``explain`` explains a first page: which candidates there were is not kept.
    """

    cursor: Annotated[str, Field(max_length=100, json_schema_extra=_CURSOR)] | None = None
    explain: bool = False


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


async def _use_cases(request: Request) -> ProjectSearchUseCases:
    return cast(ProjectSearchUseCases, request.app.state.use_cases.project_search)


Use = Annotated[ProjectSearchUseCases, Depends(_use_cases)]


@router.post("/api/v1/projects/{project_id}/search")
async def search(body: ProjectSearchBody, owner: SearchOwner, use: Use) -> JSONResponse:
    """Returns at most 50 results from every string of every table, and a cursor for the next."""
    page = use.page(owner, body.question(body.cursor))
    return JSONResponse(_explained(page) if body.explain else project_answer(page))


@router.post("/api/v1/projects/{project_id}/search/explain")
async def explain(body: ProjectExplainBody, owner: SearchOwner, use: Use) -> JSONResponse:
    """The same search, its first page, with its candidates, cuts, scores and timings."""
    return JSONResponse(_explained(use.page(owner, body.question())))


def _explained(page: ProjectPage) -> dict[str, object]:
    said = project_answer(page)
    if page.whole is not None:
        words, shown = query_tokens(page.answer.query), len(page.answer.hits)
        said["explain"] = explanation(page.whole, words, shown)
    return said
