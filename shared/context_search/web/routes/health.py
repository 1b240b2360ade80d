"""Is it up, is it ready, what does it speak?"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from context_search.services.upkeep.readiness import Readiness
from context_search.web.callers import part
from context_search.web.fields import Answer
from context_search.web.problems import refused

router = APIRouter(tags=["health"])


class HealthAnswer(Answer):
    """That it is up, or ready."""

    status: Literal["ok", "ready"]


Use = Annotated[Readiness, part("readiness")]


@router.get("/healthz")
async def is_up() -> HealthAnswer:
    """Answers as soon as the function serves at all."""
    return HealthAnswer(status="ok")


@router.get("/readyz", responses=refused(503))
async def is_ready(use: Use) -> HealthAnswer:
    """Answers 200 when the database serves, 503 otherwise."""
    use.check()
    return HealthAnswer(status="ready")


@router.get("/openapi.json", include_in_schema=False)
async def contract(request: Request) -> JSONResponse:
    """The OpenAPI document of all functions together."""
    return JSONResponse(cast(dict[str, Any], request.app.state.contract()))
