"""Is it up, is it ready, what does it speak?"""

from __future__ import annotations

from typing import Any, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from context_search.web.dependencies import use_cases_of

router = APIRouter(tags=["health"])


@router.get("/healthz")
async def is_up() -> dict[str, str]:
    """Answers as soon as the function serves at all."""
    return {"status": "ok"}


@router.get("/readyz")
async def is_ready(request: Request) -> dict[str, str]:
    """Answers 200 when the database serves, 503 otherwise."""
    use_cases_of(request).check_ready()
    return {"status": "ready"}


@router.get("/openapi.json", include_in_schema=False)
async def contract(request: Request) -> JSONResponse:
    """The OpenAPI document of all functions together."""
    return JSONResponse(cast(dict[str, Any], request.app.state.contract()))
