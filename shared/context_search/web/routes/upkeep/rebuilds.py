"""The routes for the operators of indexes: rebuild, roll back, empty, integrity, redrive."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from context_search.domain.model import Index
from context_search.services.indexing.estimate_rebuild import EstimateRebuild
from context_search.services.indexing.rebuild import ReindexProject, RollBack, StartRebuild
from context_search.services.upkeep.clear_index import ClearIndex
from context_search.services.upkeep.integrity import ReadIntegrity
from context_search.services.upkeep.redrive import Redrive
from context_search.web.dependencies import Internal, Owner, ToolId
from context_search.web.query_parameters import Decimal, TrueOrFalse
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["operations"])


@dataclass(frozen=True, slots=True)
class OperationUseCases:
    """What the routes of this file call."""

    estimate_rebuild: EstimateRebuild
    start_rebuild: StartRebuild
    reindex_project: ReindexProject
    roll_back: RollBack
    read_integrity: ReadIntegrity
    redrive: Redrive
    clear_index: ClearIndex


async def _use_cases(request: Request) -> OperationUseCases:
    return cast(OperationUseCases, request.app.state.use_cases.operations)


Use = Annotated[OperationUseCases, Depends(_use_cases)]


@router.post("/internal/tools/{tool_id}/chunks/rebuild", dependencies=[Internal], status_code=202)
async def rebuild(
    tool_id: ToolId, use: Use, *, dry_run: Annotated[bool, Query(), TrueOrFalse] = False
) -> Response:
    """Builds the tool's index anew beside the one that answers; ``dry_run`` only estimates."""
    if dry_run:
        return JSONResponse(asdict(use.estimate_rebuild(tool_id, None)))
    return JSONResponse(generation_answer(use.start_rebuild(tool_id, None)), 202)


@router.post("/internal/tools/{tool_id}/chunks/rollback", dependencies=[Internal])
async def roll_back(tool_id: ToolId, use: Use) -> JSONResponse:
    """Lets the generation before the last switch answer again."""
    return JSONResponse(generation_answer(use.roll_back(tool_id, None)))


@router.delete("/internal/tools/{tool_id}/chunks", dependencies=[Internal])
async def delete_chunks(
    tool_id: ToolId, use: Use, *, shared: Annotated[bool, Query(), TrueOrFalse] = False
) -> JSONResponse:
    """Empties the tool's index; the next search or rebuild has it built again.

    Refused when other tools need the same chunks, unless ``shared``.
    """
    return JSONResponse(asdict(use.clear_index(tool_id, None, shared=shared)))


@router.post("/api/v1/projects/{project_id}/reindex", status_code=202)
async def reindex(owner: Owner, use: Use) -> JSONResponse:
    """Rebuilds every index of the project, two at a time."""
    generations = [generation_answer(index) for index in use.reindex_project(owner)]
    return JSONResponse({"generations": generations}, 202)


@router.get("/internal/integrity", dependencies=[Internal])
async def read_integrity(use: Use) -> JSONResponse:
    """Returns the last complete report of every namespace that answers."""
    return JSONResponse({"namespaces": use.read_integrity()})


@router.post("/internal/index/redrive", dependencies=[Internal])
async def redrive(
    use: Use, limit: Annotated[int, Query(ge=1, le=1000), Decimal] = 100
) -> JSONResponse:
    """Brings messages of the dead-letter queue back, and quarantined nodes to work again."""
    return JSONResponse(asdict(use.redrive(limit)))


def generation_answer(index: Index) -> dict[str, object]:
    """Returns what a rebuild and a roll-back answer: the generation that comes."""
    return {
        "index_id": index.id,
        "generation": index.number,
        "namespace": index.namespace,
        "state": index.state,
    }
