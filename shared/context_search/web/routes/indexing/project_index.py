"""The routes of the index over all tables of a project: on, off, state, rebuild, roll back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse

from context_search.domain.model import Principal
from context_search.services.indexing.project_index import (
    ProjectIndexStatus,
    ReadProjectIndex,
    SwitchProjectIndexOff,
    SwitchProjectIndexOn,
)
from context_search.services.indexing.rebuild import RollBack, StartRebuild
from context_search.services.indexing.status import shown_error
from context_search.web.dependencies import Internal, Owner, ProjectId, ReadOwner
from context_search.web.routes.upkeep.rebuilds import generation_answer
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["project search"])


@dataclass(frozen=True, slots=True)
class ProjectIndexUseCases:
    """What the routes of this file call."""

    switch_on: SwitchProjectIndexOn
    switch_off: SwitchProjectIndexOff
    read: ReadProjectIndex
    start_rebuild: StartRebuild
    roll_back: RollBack


async def _use_cases(request: Request) -> ProjectIndexUseCases:
    return cast(ProjectIndexUseCases, request.app.state.use_cases.project_index)


Use = Annotated[ProjectIndexUseCases, Depends(_use_cases)]


@router.post("/api/v1/projects/{project_id}/search-index", status_code=202)
async def switch_on(owner: Owner, use: Use) -> JSONResponse:
    """Indexes every string of every table, now and later; the same again changes nothing."""
    return JSONResponse(_answer(use.switch_on(owner)), 202)


@router.get("/api/v1/projects/{project_id}/search-index")
async def read(owner: ReadOwner, use: Use) -> JSONResponse:
    """Returns the state of the index; 409 ``PROJECT_INDEX_OFF`` while there is none."""
    return JSONResponse(_answer(use.read(owner)))


@router.delete("/api/v1/projects/{project_id}/search-index", status_code=204)
async def switch_off(owner: Owner, use: Use) -> Response:
    """Removes the index; project search answers nothing from now on."""
    use.switch_off(owner)
    return Response(status_code=204)


@router.post(
    "/internal/projects/{project_id}/search-index/rebuild", dependencies=[Internal], status_code=202
)
async def rebuild(project_id: ProjectId, use: Use) -> JSONResponse:
    """Builds the index anew beside the one that answers."""
    return JSONResponse(generation_answer(use.start_rebuild.of_project(Principal(project_id))), 202)


@router.post("/internal/projects/{project_id}/search-index/rollback", dependencies=[Internal])
async def roll_back(project_id: ProjectId, use: Use) -> JSONResponse:
    """Lets the generation before the last switch answer again."""
    return JSONResponse(generation_answer(use.roll_back.of_project(Principal(project_id))))


def _answer(status: ProjectIndexStatus) -> dict[str, object]:
    progress = status.progress
    return {
        "project_id": status.index.project_id,
        "namespace": status.index.namespace,
        "status": progress.status,
        "indexed_at": progress.indexed_at.isoformat() if progress.indexed_at else None,
        "nodes_count": progress.nodes_count,
        "chunks_count": progress.chunks_count,
        "indexed_chunks_count": progress.indexed_chunks_count,
        "last_error": shown_error(progress.last_error),
        "refused": progress.refused,
        "nodes": progress.states,
        "integrity": status.integrity,
    }
