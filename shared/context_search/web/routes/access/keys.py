"""The routes of keys: a project's, and those of its MCP instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from context_search.domain.model import Principal
from context_search.services.access.keys import (
    CreateKey,
    KeyOptions,
    ListKeys,
    RevokeKey,
    RotateKey,
)
from context_search.web.access_answers import key_answer, page_answer, shown_key_answer
from context_search.web.access_requests import CreateKeyBody, CreateMcpKeyBody, RotateKeyBody
from context_search.web.dependencies import Caller, KeyId, McpId, Owner, OwnerOrOperator
from context_search.web.idempotency import Once
from context_search.web.query_parameters import Decimal
from context_search.web.strict_json import StrictJsonRoute

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute, tags=["keys"])
Cursor = Annotated[int, Query(ge=0, le=2**63 - 1), Decimal]


@dataclass(frozen=True, slots=True)
class KeyUseCases:
    """What the routes of this file call."""

    create: CreateKey
    list: ListKeys
    revoke: RevokeKey
    rotate: RotateKey


async def _use_cases(request: Request) -> KeyUseCases:
    return cast(KeyUseCases, request.app.state.use_cases.keys)


Use = Annotated[KeyUseCases, Depends(_use_cases)]


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys that a path is about."""

    use: KeyUseCases
    caller: Principal
    mcp_id: int | None

    def create(self, once: Once, options: KeyOptions) -> Response:
        def create() -> JSONResponse:
            made = self.use.create(self.caller, self.mcp_id, options)
            return JSONResponse(shown_key_answer(made), 201)

        return once(self.caller.project_id, create)

    def page(self, cursor: int) -> JSONResponse:
        page = self.use.list(self.caller, self.mcp_id, after=cursor)
        return JSONResponse(page_answer("keys", page, key_answer))

    def revoke(self, key_id: int) -> Response:
        self.use.revoke(self.caller, self.mcp_id, key_id)
        return Response(status_code=204)

    def rotate(self, once: Once, key_id: int, body: RotateKeyBody | None) -> Response:
        old_expires_in_s = (body or RotateKeyBody()).old_expires_in

        def rotate() -> JSONResponse:
            made = self.use.rotate(
                self.caller, self.mcp_id, key_id, old_expires_in_s=old_expires_in_s
            )
            return JSONResponse(shown_key_answer(made), 201)

        return once(self.caller.project_id, rotate)


async def _of_project(owner: Owner, use: Use) -> _Keys:
    return _Keys(use, owner, None)


async def _of_mcp(mcp_id: McpId, caller: Caller, use: Use) -> _Keys:
    return _Keys(use, caller, mcp_id)


ProjectKeys = Annotated[_Keys, Depends(_of_project)]
McpKeys = Annotated[_Keys, Depends(_of_mcp)]


@router.post("/projects/{project_id}/keys", status_code=201)
async def create_key(
    caller: OwnerOrOperator, use: Use, body: CreateKeyBody, once: Once
) -> Response:
    """Makes a key for the project, which is shown this once; with the internal secret the first."""
    return _Keys(use, caller, None).create(once, body.options())


@router.get("/projects/{project_id}/keys")
async def list_keys(keys: ProjectKeys, cursor: Cursor = 0) -> JSONResponse:
    """Returns the project's keys without their texts, revoked and expired ones too."""
    return keys.page(cursor)


@router.delete("/projects/{project_id}/keys/{key_id}", status_code=204)
async def revoke_key(keys: ProjectKeys, key_id: KeyId) -> Response:
    """Revokes a key: the next request with it is answered 401."""
    return keys.revoke(key_id)


@router.post("/projects/{project_id}/keys/{key_id}/rotate", status_code=201)
async def rotate_key(
    keys: ProjectKeys, key_id: KeyId, once: Once, body: RotateKeyBody | None = None
) -> Response:
    """Makes a key like this one, which goes on for ``old_expires_in`` seconds."""
    return keys.rotate(once, key_id, body)


@router.post("/mcps/{mcp_id}/keys", status_code=201)
async def create_mcp_key(keys: McpKeys, body: CreateMcpKeyBody, once: Once) -> Response:
    """Makes a further key for an MCP instance, which is shown this once."""
    return keys.create(once, body.options())


@router.get("/mcps/{mcp_id}/keys")
async def list_mcp_keys(keys: McpKeys, cursor: Cursor = 0) -> JSONResponse:
    """Returns the keys of an MCP instance without their texts."""
    return keys.page(cursor)


@router.delete("/mcps/{mcp_id}/keys/{key_id}", status_code=204)
async def revoke_mcp_key(keys: McpKeys, key_id: KeyId) -> Response:
    """Revokes a key of an MCP instance."""
    return keys.revoke(key_id)


@router.post("/mcps/{mcp_id}/keys/{key_id}/rotate", status_code=201)
async def rotate_mcp_key(
    keys: McpKeys, key_id: KeyId, once: Once, body: RotateKeyBody | None = None
) -> Response:
    """The same for a key of an MCP instance."""
    return keys.rotate(once, key_id, body)
