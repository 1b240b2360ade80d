"""The index over all tables of a project, on, off, state, rebuild: answers and routes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Response

from context_search.domain.access import Operator
from context_search.domain.filters import parse_names
from context_search.domain.progress import IndexStatus, NodeState
from context_search.services.indexing.project_index import ProjectIndexes, ProjectIndexStatus
from context_search.services.indexing.rebuilds import Rebuilds
from context_search.web.border import StrictJsonRoute
from context_search.web.callers import InternalOnly, Owner, ProjectId, ReadOwner, part
from context_search.web.fields import (
    Answer,
    Body,
    Count,
    Filterable,
    KnownId,
    LeftOut,
    NotNull,
    Time,
    TimeText,
    example,
)
from context_search.web.polled import NOT_MODIFIED, IfNoneMatch
from context_search.web.problems import refused
from context_search.web.routes.indexing.search_index import (
    CalibrationAnswer,
    IntegrityAnswer,
    LastErrorAnswer,
    counters,
)
from context_search.web.routes.upkeep.rebuilds import GenerationAnswer

router = APIRouter(route_class=StrictJsonRoute, tags=["project search"])


class ProjectIndexBody(Body):
    """``POST …/search-index``; without ``filterable`` it stays as it is, at first empty."""

    model_config = example(filterable=["status", "author/name"])
    filterable: Annotated[Filterable | LeftOut, NotNull] = None


class RefusedTableAnswer(Answer):
    """A table whose document cannot be indexed as it is, and why."""

    at: TimeText
    code: str
    message: str
    table_id: KnownId
    retryable: bool


class ProjectIndexAnswer(Answer):
    """The state of the index over all tables of a project."""

    project_id: KnownId
    namespace: str
    status: IndexStatus
    indexed_at: Time | None
    nodes_count: Count
    chunks_count: Count
    indexed_chunks_count: Count
    last_error: LastErrorAnswer | None
    refused: list[RefusedTableAnswer]
    nodes: dict[NodeState, Count]
    integrity: IntegrityAnswer | None
    calibration: CalibrationAnswer | None
    filterable: list[str]

    @classmethod
    def of(cls, status: ProjectIndexStatus) -> ProjectIndexAnswer:
        """Returns counters, errors and what cannot be indexed."""
        progress = status.progress
        return cls(
            project_id=status.index.project_id,
            namespace=status.index.generation.namespace,
            **counters(progress),
            refused=[RefusedTableAnswer.stored(one) for one in progress.refused],
            nodes=progress.states,
            integrity=IntegrityAnswer.of(status.integrity),
            calibration=CalibrationAnswer.of(status.index),
            filterable=list(status.index.fields),
        )


@dataclass(frozen=True, slots=True)
class ProjectIndexUseCases:
    """What the routes of this file call."""

    indexes: ProjectIndexes
    rebuilds: Rebuilds


Use = Annotated[ProjectIndexUseCases, part("project_index")]


@router.post("/api/v1/projects/{project_id}/search-index", status_code=202, responses=refused(409))
async def switch_on(
    owner: Owner, use: Use, body: ProjectIndexBody | None = None
) -> ProjectIndexAnswer:
    """Indexes every string of every table, now and later; the same again changes nothing."""
    named = None if body is None or body.filterable is None else parse_names(body.filterable)
    return ProjectIndexAnswer.of(use.indexes.switch_on(owner, named))


@router.get(
    "/api/v1/projects/{project_id}/search-index",
    response_model=ProjectIndexAnswer,
    responses={**NOT_MODIFIED, **refused(409)},
)
async def read(owner: ReadOwner, use: Use, polled: IfNoneMatch) -> Response:
    """Returns the state of the index; 409 ``PROJECT_INDEX_OFF`` while there is none."""
    return polled.response(ProjectIndexAnswer.of(use.indexes.read(owner)))


@router.delete(
    "/api/v1/projects/{project_id}/search-index", status_code=204, responses=refused(409)
)
async def switch_off(owner: Owner, use: Use) -> Response:
    """Removes the index; project search answers nothing from now on."""
    use.indexes.switch_off(owner)
    return Response(status_code=204)


@router.post(
    "/internal/projects/{project_id}/search-index/rebuild",
    dependencies=[InternalOnly],
    status_code=202,
    responses=refused(409),
)
async def rebuild(project_id: ProjectId, use: Use) -> GenerationAnswer:
    """Builds the index anew beside the one that answers."""
    return GenerationAnswer.of(use.rebuilds.start_of_project(Operator(project_id)))


@router.post(
    "/internal/projects/{project_id}/search-index/rollback",
    dependencies=[InternalOnly],
    responses=refused(409),
)
async def roll_back(project_id: ProjectId, use: Use) -> GenerationAnswer:
    """Lets the generation before the last switch answer again."""
    return GenerationAnswer.of(use.rebuilds.roll_back_of_project(Operator(project_id)))
