"""The routes of MCP instances and their bindings, and what an MCP service asks for by RPC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import JSONResponse

from context_search.services.access.mcp_instances import Bindings, CreateMcp, DescribeMcp, Mcps
from context_search.web.access_answers import binding_answer, mcp_answer, page_answer
from context_search.web.access_requests import (
    BindingBody,
    ChangeBindingBody,
    ChangeMcpBody,
    CreateMcpBody,
)
from context_search.web.dependencies import Caller, Internal, McpId, ToolId, own_project
from context_search.web.idempotency import Once
from context_search.web.routes.access.keys import Cursor
from context_search.web.rpc import mcp_rpc_answer
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["mcps"])


@dataclass(frozen=True, slots=True)
class McpUseCases:
    """What the routes of this file call."""

    create: CreateMcp
    mcps: Mcps
    bindings: Bindings
    describe: DescribeMcp


async def _use_cases(request: Request) -> McpUseCases:
    return cast(McpUseCases, request.app.state.use_cases.mcps)


Use = Annotated[McpUseCases, Depends(_use_cases)]


@router.post("/api/v1/mcps", status_code=201)
async def create_mcp(body: CreateMcpBody, caller: Caller, use: Use, once: Once) -> Response:
    """Creates an MCP instance with its first key, which is shown this once."""
    own_project(caller, body.project_id)

    def create() -> JSONResponse:
        bindings = [(binding.tool_id, binding.status) for binding in body.bindings]
        mcp, key = use.create(caller, body.name, bindings)
        tool_ids = [binding.tool_id for binding in body.bindings]
        return JSONResponse({**mcp_answer(mcp), "tool_ids": tool_ids, "api_key": key.text}, 201)

    return once(caller.project_id, create)


@router.get("/api/v1/mcps")
async def list_mcps(caller: Caller, use: Use, cursor: Cursor = 0) -> JSONResponse:
    """Returns the project's MCP instances."""
    return JSONResponse(page_answer("mcps", use.mcps.page(caller, after=cursor), mcp_answer))


@router.get("/api/v1/mcps/{mcp_id}")
async def read_mcp(mcp_id: McpId, caller: Caller, use: Use) -> JSONResponse:
    """Returns an MCP instance."""
    return JSONResponse(mcp_answer(use.mcps.read(caller, mcp_id)))


@router.patch("/api/v1/mcps/{mcp_id}")
async def change_mcp(mcp_id: McpId, body: ChangeMcpBody, caller: Caller, use: Use) -> JSONResponse:
    """Renames an MCP instance, disables it (its keys open nothing) or enables it again."""
    changed = use.mcps.change(caller, mcp_id, name=body.name, status=body.status)
    return JSONResponse(mcp_answer(changed))


@router.delete("/api/v1/mcps/{mcp_id}", status_code=204)
async def delete_mcp(mcp_id: McpId, caller: Caller, use: Use) -> Response:
    """Deletes an MCP instance with its keys and bindings; the tools stay."""
    use.mcps.delete(caller, mcp_id)
    return Response(status_code=204)


@router.post("/api/v1/mcps/{mcp_id}/bindings", status_code=201)
async def bind_tool(
    mcp_id: McpId, body: BindingBody, caller: Caller, use: Use, once: Once
) -> Response:
    """Puts a Search Tool into an MCP instance."""

    def bind() -> JSONResponse:
        bound = use.bindings.add(caller, mcp_id, body.tool_id, status=body.status)
        return JSONResponse(binding_answer(bound), 201)

    return once(caller.project_id, bind)


@router.get("/api/v1/mcps/{mcp_id}/bindings")
async def list_bindings(
    mcp_id: McpId, caller: Caller, use: Use, cursor: Cursor = 0
) -> JSONResponse:
    """Returns the tools of an MCP instance, disabled ones too, with the names agents see."""
    page = use.bindings.page(caller, mcp_id, after=cursor)
    return JSONResponse(page_answer("bindings", page, binding_answer))


@router.patch("/api/v1/mcps/{mcp_id}/bindings/{tool_id}")
async def change_binding(
    mcp_id: McpId, tool_id: ToolId, body: ChangeBindingBody, caller: Caller, use: Use
) -> JSONResponse:
    """Enables or disables a tool in an MCP instance."""
    bound = use.bindings.set_status(caller, mcp_id, tool_id, status=body.status)
    return JSONResponse(binding_answer(bound))


@router.delete("/api/v1/mcps/{mcp_id}/bindings/{tool_id}", status_code=204)
async def unbind_tool(mcp_id: McpId, tool_id: ToolId, caller: Caller, use: Use) -> Response:
    """Takes a tool out of an MCP instance."""
    use.bindings.remove(caller, mcp_id, tool_id)
    return Response(status_code=204)


@router.get("/internal/mcp-v2/{api_key}", dependencies=[Internal])
async def describe_mcp(api_key: Annotated[str, Path(max_length=200)], use: Use) -> JSONResponse:
    """Returns the instance that a key opens with its enabled tools, for an MCP service."""
    mcp, bound = use.describe(api_key)
    return JSONResponse(mcp_rpc_answer(mcp, api_key, bound))
