"""The routes of retrieval: passages for a language model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse

from context_search.services.searching.retrieve import Retrieve
from context_search.services.searching.targets import SearchedProject, SearchedTool
from context_search.web.dependencies import Internal, ProjectId, SearchCaller, ToolId
from context_search.web.retrieve_answers import retrieval_answer
from context_search.web.retrieve_requests import RetrieveBody
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["retrieval"])


@dataclass(frozen=True, slots=True)
class RetrieveUseCases:
    """What the routes of this file call."""

    from_tool: Retrieve
    from_project: Retrieve


async def _use_cases(request: Request) -> RetrieveUseCases:
    return cast(RetrieveUseCases, request.app.state.use_cases.retrieve)


Use = Annotated[RetrieveUseCases, Depends(_use_cases)]


@router.post("/api/v1/tools/{tool_id}/retrieve")
async def retrieve(
    tool_id: ToolId, body: RetrieveBody, caller: SearchCaller, use: Use
) -> JSONResponse:
    """Returns the relevant passages of a tool's scope that fit into a budget of tokens."""
    searched = SearchedTool.by(caller, tool_id)
    found = use.from_tool.passages(searched, body.query, body.limits)
    return JSONResponse(retrieval_answer(found))


@router.post("/internal/tools/{tool_id}/retrieve", dependencies=[Internal])
async def retrieve_internally(tool_id: ToolId, body: RetrieveBody, use: Use) -> JSONResponse:
    """The same, for trusted services that have checked their user themselves."""
    searched = SearchedTool.by(None, tool_id)
    found = use.from_tool.passages(searched, body.query, body.limits)
    return JSONResponse(retrieval_answer(found))


@router.post("/api/v1/projects/{project_id}/retrieve")
async def retrieve_from_project(
    project_id: ProjectId, body: RetrieveBody, caller: SearchCaller, use: Use
) -> JSONResponse:
    """The same from every string of the project, once its search index is switched on."""
    searched = SearchedProject.by(caller, project_id)
    found = use.from_project.passages(searched, body.query, body.limits)
    return JSONResponse(retrieval_answer(found))
