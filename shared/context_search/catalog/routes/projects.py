"""Projects: body, answers, routes. For operators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from context_search.access.routes.idempotency import OPERATORS, Idempotent
from context_search.catalog.tables import ManageTables
from context_search.core.callers import Operator
from context_search.core.pages import page_of
from context_search.web.audit import Audited
from context_search.web.callers import InternalOnly, ProjectId, Stored, part
from context_search.web.fields import (
    AnswerModel,
    Body,
    Count,
    Cursor,
    KnownId,
    Name,
    PageCursor,
    Rows,
    example,
    source,
)
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, dependencies=[InternalOnly])

LISTED_PROJECTS = 50
"""Number of projects on a page. The tables and tools of each are counted."""


class CreateProjectBody(Body):
    """``POST /api/v1/projects``"""

    model_config = example(name="acme")
    name: Name


class NewProjectAnswer(AnswerModel):
    """A project with its first API key."""

    id: KnownId
    name: str
    api_key: str


class ListedProjectAnswer(AnswerModel):
    """A project in a list. ``tables_count`` and ``tools_count`` count to 1,000.

    ``building``: generations of its indexes that are being built, or wait for it.
    """

    id: Annotated[KnownId, source("project_id")]
    name: str | None
    tables_count: Count
    tools_count: Count
    building: Count


class ProjectsAnswer(AnswerModel):
    """A page of projects."""

    projects: Annotated[list[ListedProjectAnswer], Rows]
    cursor: PageCursor


Use = Annotated[ManageTables, part("tables")]


@router.post(
    "/api/v1/projects",
    tags=["tables"],
    status_code=201,
    response_model=NewProjectAnswer,
    responses=refused(409),
)
async def create_project(body: CreateProjectBody, use: Use, once: Idempotent) -> Response:
    """Creates a project with its first API key, which is shown this once."""

    def create() -> JSONResponse:
        project, key = use.create_project(body.name)
        made = NewProjectAnswer(id=project.id, name=project.name, api_key=key.text)
        return made.response(201)

    return once.answer(OPERATORS, create)


@router.delete("/api/v1/projects/{project_id}", tags=["tables"], status_code=204)
async def delete_project(project_id: ProjectId, use: Use, audit: Audited) -> Response:
    """Deletes a project with all that it has; its keys are refused at once."""
    use.delete_project(project_id)
    audit.report("project deleted", Operator(project_id), project_id)
    return Response(status_code=204)


@router.get("/internal/projects", tags=["operations"])
async def list_projects(store: Stored, cursor: Cursor = 0) -> ProjectsAnswer:
    """Returns the projects of the deployment by id, 50 a page."""
    with store.for_all("list the projects") as work:
        rows = work.projects.page(after=cursor, limit=LISTED_PROJECTS + 1)
    return ProjectsAnswer.about(page_of(rows, lambda listed: listed.project_id, LISTED_PROJECTS))
