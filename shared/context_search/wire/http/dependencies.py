"""What routes are given: the use cases of their function, and who is calling.

Everything is ``async def`` although the use cases block: a Lambda instance serves one request at a
time, and FastAPI would move plain functions to a thread pool for nothing.
"""

from __future__ import annotations

from typing import Annotated, Protocol, cast

from fastapi import Depends, Path, Request

from context_search.domain.errors import PermissionDeniedError
from context_search.domain.model import Principal
from context_search.services.authenticate import Authenticate, AuthenticateInternal

TableId = Annotated[int, Path(ge=1, le=2**63 - 1)]
ProjectId = Annotated[int, Path(ge=1, le=2**63 - 1)]
ToolId = Annotated[int, Path(ge=1, le=2**63 - 1)]


class UseCases(Protocol):
    """What every function's bundle of use cases has."""

    @property
    def authenticate(self) -> Authenticate: ...
    @property
    def authenticate_internal(self) -> AuthenticateInternal: ...
    def check_ready(self) -> None: ...


def bearer_key(request: Request) -> str | None:
    """Returns the key of ``Authorization: Bearer <key>``, or None."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return (key.strip() or None) if scheme.lower() == "bearer" else None


def use_cases_of(request: Request) -> UseCases:
    """Returns what the function was put together from."""
    return cast(UseCases, request.app.state.use_cases)


async def _principal(request: Request) -> Principal:
    principal = use_cases_of(request).authenticate(bearer_key(request))
    if principal.mcp_id is not None:
        raise PermissionDeniedError("an MCP key opens MCP only; this route wants a project key")
    return principal


async def _internal(request: Request) -> None:
    use_cases_of(request).authenticate_internal(request.headers.get("x-internal-secret"))


Caller = Annotated[Principal, Depends(_principal)]
"""The project of the bearer key; 401 without a good one, 403 for the key of an MCP instance."""

Internal = Depends(_internal)
"""For routes of trusted callers: 401 without the right ``X-Internal-Secret``."""
