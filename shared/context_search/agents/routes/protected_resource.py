"""Where tokens for this API come from: OAuth 2.0 Protected Resource Metadata (RFC 9728).

Only where an issuer is configured: else clients would begin a dance that cannot end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from context_search.core.callers import ALL_PERMISSIONS, MCP_PERMISSIONS, Permission, in_order
from context_search.core.errors import NotFoundError
from context_search.web.callers import access_of
from context_search.web.fields import AnswerModel
from context_search.web.problems import refused

WELL_KNOWN = "/.well-known/oauth-protected-resource"
MCP = "/mcp"
# What a Host may hold goes into a quoted header and into JSON that clients trust.
_ORIGIN = re.compile(r"https?://[A-Za-z0-9._-]+(:[0-9]+)?|https?://\[[0-9a-fA-F:.]+\](:[0-9]+)?")

router = APIRouter(tags=["metadata"])


class ProtectedResourceAnswer(AnswerModel):
    """RFC 9728, section 2."""

    resource: str
    authorization_servers: list[str]
    scopes_supported: list[Permission]
    bearer_methods_supported: list[Literal["header"]]


@router.get(WELL_KNOWN, response_model=ProtectedResourceAnswer, responses=refused(404))
async def describe_api(request: Request) -> JSONResponse:
    """Returns whose tokens the HTTP API takes; 404 where it takes keys only."""
    return _metadata(request, "", in_order(ALL_PERMISSIONS))


@router.get(f"{WELL_KNOWN}{MCP}", response_model=ProtectedResourceAnswer, responses=refused(404))
async def describe_mcp_endpoint(request: Request) -> JSONResponse:
    """Returns whose tokens the MCP endpoint takes; 404 where it takes keys only."""
    return _metadata(request, MCP, in_order(MCP_PERMISSIONS))


def mcp_metadata_address(request: Request) -> str | None:
    """Returns the address of the MCP endpoint's metadata, None where no tokens are taken."""
    origin = _origin(request)
    if origin is None or access_of(request).token_issuer is None:
        return None
    return f"{origin}{WELL_KNOWN}{MCP}"


def _metadata(request: Request, path: str, scopes: Sequence[Permission]) -> JSONResponse:
    issuer, origin = access_of(request).token_issuer, _origin(request)
    if issuer is None or origin is None:
        raise NotFoundError("no tokens are taken here, only keys")
    answer = ProtectedResourceAnswer(
        resource=f"{origin}{path}",
        authorization_servers=[issuer],
        scopes_supported=list(scopes),
        bearer_methods_supported=["header"],
    )
    # For clients in browsers: there is nothing in it that a page may not know.
    return answer.response(headers={"Access-Control-Allow-Origin": "*"})


def _origin(request: Request) -> str | None:
    """The address as the client knows it, which has to find itself in ``resource`` (3.3)."""
    origin = f"{request.scope['scheme']}://{request.headers.get('host', '')}"
    return origin if _ORIGIN.fullmatch(origin) else None
