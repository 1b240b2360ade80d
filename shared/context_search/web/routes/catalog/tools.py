"""The routes of Search Tools and of the state of their indexes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from context_search.domain.errors import ContextSearchError
from context_search.domain.model import Scope
from context_search.services.catalog.create_search_tool import CreateSearchTool, NewSearchTool
from context_search.services.catalog.tables import DeleteTool
from context_search.services.indexing.rebuild import Model
from context_search.services.indexing.status import ReadStatus
from context_search.services.indexing.wait import WaitUntilSettled
from context_search.web.answers import created_tool_answer, search_index_answer, tool_answer
from context_search.web.dependencies import Caller, Internal, ReadCaller, ToolId, own_project
from context_search.web.idempotency import Once
from context_search.web.metrics import emit_created
from context_search.web.query_parameters import Decimal
from context_search.web.requests import CreateSearchToolBody
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["tools"])


@dataclass(frozen=True, slots=True)
class ToolUseCases:
    """What the routes of this file call, and the model that new indexes are built with."""

    create_search_tool: CreateSearchTool
    read_status: ReadStatus
    wait_until_settled: WaitUntilSettled
    delete_tool: DeleteTool
    model: Model


async def _use_cases(request: Request) -> ToolUseCases:
    return cast(ToolUseCases, request.app.state.use_cases.tools)


Use = Annotated[ToolUseCases, Depends(_use_cases)]


@router.post("/api/v1/tools/search", status_code=201)
async def create_search_tool(
    body: CreateSearchToolBody,
    caller: Caller,
    use: Use,
    once: Once,
    wait: Annotated[int, Query(ge=0, le=25), Decimal] = 0,
) -> Response:
    """Creates a Search Tool and orders the indexing of its scope; ``wait`` holds the answer.

    Answers ``ready`` or ``indexing``, with what was found; counts are null until they are known.
    """
    own_project(caller, body.project_id)
    wanted = NewSearchTool(
        project_id=caller.project_id,
        name=body.name,
        description=body.description,
        scope=Scope(body.table_id, body.scope),
        index=body.search_config.to_index_config(use.model),
        search=body.search_config.to_search_config(),
    )

    def create() -> JSONResponse:
        status = use.create_search_tool(wanted)
        emit_created(status.progress)
        # The tool is there, whatever becomes of the waiting: who asks again would make another.
        with suppress(ContextSearchError):
            status = use.wait_until_settled(status.tool.id, caller, timeout_s=wait)
        return JSONResponse(created_tool_answer(status), 201)

    return once(caller.project_id, create)


@router.get("/api/v1/tools/{tool_id}")
async def read_tool(tool_id: ToolId, caller: ReadCaller, use: Use) -> JSONResponse:
    """Returns a Search Tool with the summary of its index."""
    return JSONResponse(tool_answer(use.read_status(tool_id, caller)))


@router.delete("/api/v1/tools/{tool_id}", status_code=204)
async def delete_tool(tool_id: ToolId, caller: Caller, use: Use) -> Response:
    """Deletes a Search Tool; it answers nothing from now on."""
    use.delete_tool(caller, tool_id)
    return Response(status_code=204)


@router.get("/api/v1/tools/{tool_id}/search-index")
async def read_search_index(tool_id: ToolId, caller: ReadCaller, use: Use) -> JSONResponse:
    """Returns the counters, errors and skipped strings of a tool's index."""
    return JSONResponse(search_index_answer(use.read_status(tool_id, caller)))


@router.get("/internal/tools/{tool_id}/chunks/stats", dependencies=[Internal])
async def read_chunk_stats(tool_id: ToolId, use: Use) -> JSONResponse:
    """The same, for trusted services."""
    return JSONResponse(search_index_answer(use.read_status(tool_id, None)))
