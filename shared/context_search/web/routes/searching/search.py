"""The routes of search: HTTP for programs, MCP for agents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers

from context_search import __version__
from context_search.domain.errors import PermissionDeniedError
from context_search.domain.model import Principal
from context_search.domain.search import QuestionLimits
from context_search.domain.text.analysis import query_tokens
from context_search.mcp import McpRequest, ServerIdentity, Toolbox, handle
from context_search.services.access.authenticate import Authenticate, AuthenticateBearer
from context_search.services.catalog.list_tools import ListTools
from context_search.services.searching.targets import SearchedTool, Searches
from context_search.web.answers import search_answer
from context_search.web.border import request_id
from context_search.web.dependencies import Internal, SearchCaller, ToolId, bearer_key
from context_search.web.errors import log_text
from context_search.web.explain import explained
from context_search.web.requests import ExplainBody, SearchBody
from context_search.web.routes.access.protected_resource import mcp_metadata_address
from context_search.web.search_toolbox import SearchToolbox
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["search"])
ANY = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
IDENTITY = ServerIdentity(
    name="context-search",
    title="context-search",
    version=__version__,
    instructions="Each tool searches the long texts of one JSON table.",
)


@dataclass(frozen=True, slots=True)
class SearchUseCases:
    """What the routes of this file call."""

    authenticate: AuthenticateBearer
    authenticate_key: Authenticate
    search: Searches
    explain: Searches
    list_tools: ListTools
    allowed_origins: tuple[str, ...]
    allowed_hosts: tuple[str, ...] | None


async def _use_cases(request: Request) -> SearchUseCases:
    return cast(SearchUseCases, request.app.state.use_cases.search)


Use = Annotated[SearchUseCases, Depends(_use_cases)]


@router.post("/api/v1/tools/{tool_id}/search")
async def search(tool_id: ToolId, body: SearchBody, caller: SearchCaller, use: Use) -> JSONResponse:
    """Returns the best passages of a tool's scope for a question."""
    limits = QuestionLimits(top_k=body.top_k)
    answer = use.search.search(SearchedTool.by(caller, tool_id), body.query, limits)
    return JSONResponse(search_answer(answer, with_hints=body.context_hint))


@router.post("/internal/tools/{tool_id}/search", dependencies=[Internal])
async def search_internally(tool_id: ToolId, body: SearchBody, use: Use) -> JSONResponse:
    """The same, for trusted services that have checked their user themselves."""
    limits = QuestionLimits(top_k=body.top_k)
    answer = use.search.search(SearchedTool.by(None, tool_id), body.query, limits)
    return JSONResponse(search_answer(answer, with_hints=body.context_hint))


@router.post("/api/v1/tools/{tool_id}/search/explain")
async def explain(
    tool_id: ToolId, body: ExplainBody, caller: SearchCaller, use: Use
) -> JSONResponse:
    """The same search with its candidates, cuts, scores and timings."""
    limits = QuestionLimits(top_k=body.top_k, is_whole=True)
    answer = use.explain.search(SearchedTool.by(caller, tool_id), body.query, limits)
    shown = limits.shown(answer.target.search)
    return JSONResponse(explained(answer, query_tokens(body.query), shown))


@router.api_route("/mcp", methods=ANY, include_in_schema=False)
async def mcp(request: Request, use: Use) -> Response:
    """MCP with the key or token in the Authorization header."""
    authenticate = partial(use.authenticate, bearer_key(request))
    return await _mcp(request, use, authenticate, mcp_metadata_address(request))


@router.api_route("/api/v1/mcp/server/{api_key}", methods=ANY, include_in_schema=False)
async def mcp_by_path(request: Request, api_key: str, use: Use) -> Response:
    """MCP for clients that can only be given an address."""
    return await _mcp(request, use, partial(use.authenticate_key, api_key), None)


async def _mcp(
    request: Request,
    use: SearchUseCases,
    caller: Callable[[], Principal],
    resource_metadata: str | None,
) -> Response:
    def authenticate() -> Toolbox:
        principal = caller()
        if "search" not in principal.permissions:
            raise PermissionDeniedError("the key has not the scope search")
        return SearchToolbox(principal, use.list_tools, use.search)

    answer = handle(
        McpRequest(request.method, _joined(request.headers), await request.body()),
        authenticate=authenticate,
        server=IDENTITY,
        on_error=lambda error: request.app.state.log.error(
            "MCP request failed", extra={"request_id": request_id(), "trace": log_text(error)}
        ),
        allowed_origins=use.allowed_origins,
        allowed_hosts=use.allowed_hosts,
        resource_metadata=resource_metadata,
    )
    return Response(answer.body, answer.status, dict(answer.headers))


def _joined(headers: Headers) -> dict[str, str]:
    """Returns headers with repeated ones joined, so that no copy of one can hide."""
    return {name: ", ".join(headers.getlist(name)) for name in headers}
