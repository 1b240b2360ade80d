"""Is it up, is it ready, what does it speak?"""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from context_search.maintenance.part_checks import PartName, PartState, Readiness, verdict
from context_search.web.callers import part
from context_search.web.fields import AnswerModel, Listed, Time
from context_search.web.problems import refused

router = APIRouter(tags=["health"])


class HealthAnswer(AnswerModel):
    """That it is up."""

    status: Literal["ok"]


class PartAnswer(AnswerModel):
    """How a part is, since when as far as this process knows, and why if it is not well."""

    name: PartName
    state: PartState
    code: str | None
    checked_at: Time | None
    since: Time | None


class ReadyAnswer(AnswerModel):
    """That it is ready; ``degraded`` if a part that it can do without is not well."""

    status: Literal["ready", "degraded"]
    parts: Annotated[list[PartAnswer], Listed]


Use = Annotated[Readiness, part("readiness")]


@router.get("/healthz")
async def is_up() -> HealthAnswer:
    """Answers as soon as the function serves at all."""
    return HealthAnswer(status="ok")


@router.get("/readyz", responses=refused(503))
async def is_ready(use: Use) -> ReadyAnswer:
    """Answers 200 when the database serves, 503 otherwise, and says how other parts are."""
    parts = use.check()
    status = "ready" if verdict(parts) == "ok" else "degraded"
    return ReadyAnswer.about(status=status, parts=parts)


@router.get("/openapi.json", include_in_schema=False)
async def contract(request: Request) -> JSONResponse:
    """The OpenAPI document of all functions together."""
    return JSONResponse(cast(dict[str, Any], request.app.state.contract()))
