"""Rebuild, roll back, empty, retry: bodies, answers and routes.

What the owner of a tool does with a project key and what an operator does with the internal secret
is the same, at two addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from context_search.access.routes.idempotency import Idempotent
from context_search.core.callers import Caller, Internal
from context_search.core.model import GenerationState
from context_search.indexing.operations import IndexOperations
from context_search.indexing.rebuilds import Rebuilds
from context_search.web.callers import InternalOnly, MayManage, Owner, ToolId, part
from context_search.web.fields import (
    AnswerModel,
    Body,
    Count,
    JsonPointer,
    KnownId,
    LeftOut,
    NotNull,
    Number,
    example,
    source,
)
from context_search.web.problems import refused
from context_search.web.query_parameters import TrueOrFalse
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["operations"])


class GenerationAnswer(AnswerModel):
    """The generation that comes: of a rebuild and a roll-back."""

    index_id: Annotated[KnownId, source("id")]
    generation: Annotated[KnownId, source("generation", "number")]
    namespace: Annotated[str, source("generation", "namespace")]
    state: Annotated[GenerationState, source("generation", "state")]


class GenerationsAnswer(AnswerModel):
    """One for each index of a project."""

    generations: list[GenerationAnswer]


class EstimateAnswer(AnswerModel):
    """What a rebuild would take. ``cost`` is of what is embedded; without a price there is none."""

    nodes: Count
    chunks: Count
    tokens: Count
    vectors_kept: Annotated[
        Count, Field(description="Chunks whose vectors are read back and not embedded.")
    ]
    cost: Number | None
    seconds: Count


class EmptiedIndexAnswer(AnswerModel):
    """How many chunks answered until now, for which tools."""

    index_id: KnownId
    namespace: str
    chunks: Count
    tools: list[KnownId]


class RetryBody(Body):
    """``POST …/search-index/retry``: one string, or without it all of the tool's scope."""

    model_config = example(json_pointer="/letters/0/text")
    json_pointer: Annotated[JsonPointer | LeftOut, NotNull] = None


class RetriedAnswer(AnswerModel):
    """How many strings are tried again, and how many stay in quarantine."""

    nodes: Count
    left: Count


UseRebuilds = Annotated[Rebuilds, part("rebuilds")]
UseOperations = Annotated[IndexOperations, part("index_operations")]


@dataclass(frozen=True, slots=True)
class Actions:
    """What may be done to the index of a tool that the caller sees."""

    rebuilds: Rebuilds
    operations: IndexOperations
    caller: Caller

    def rebuild(self, tool_id: int) -> JSONResponse:
        """Orders a generation."""
        return GenerationAnswer.about(self.rebuilds.start(tool_id, self.caller)).response(202)

    def estimate(self, tool_id: int) -> JSONResponse:
        """Says what a rebuild would take."""
        return EstimateAnswer.about(self.rebuilds.estimate(tool_id, self.caller)).response()

    def roll_back(self, tool_id: int) -> JSONResponse:
        """Lets the generation before answer."""
        return GenerationAnswer.about(self.rebuilds.roll_back(tool_id, self.caller)).response()

    def clear(self, tool_id: int, *, shared: bool) -> JSONResponse:
        """Empties the index."""
        gone = self.operations.clear(tool_id, self.caller, shared=shared)
        return EmptiedIndexAnswer.about(gone).response()


async def _owners(caller: MayManage, rebuilds: UseRebuilds, operations: UseOperations) -> Actions:
    return Actions(rebuilds, operations, caller)


async def _operators(rebuilds: UseRebuilds, operations: UseOperations) -> Actions:
    return Actions(rebuilds, operations, Internal())


OwnersActions = Annotated[Actions, Depends(_owners)]
OperatorsActions = Annotated[Actions, Depends(_operators)]
DryRun = Annotated[bool, Query(), TrueOrFalse]
Shared = Annotated[bool, Query(), TrueOrFalse]
_OF_A_REBUILD: dict[int | str, dict[str, Any]] = {
    200: {"description": "Of a dry run", "model": EstimateAnswer},
    **refused(409),
}


@router.post(
    "/api/v1/tools/{tool_id}/search-index/rebuild",
    status_code=202,
    response_model=GenerationAnswer,
    responses=_OF_A_REBUILD,
)
async def rebuild_index(
    tool_id: ToolId,
    caller: MayManage,
    actions: OwnersActions,
    once: Idempotent,
    *,
    dry_run: DryRun = False,
) -> Response:
    """Builds the tool's index anew beside the one that answers; ``dry_run`` only estimates."""
    if dry_run:
        return actions.estimate(tool_id)
    return once.answer(caller.project_id, lambda: actions.rebuild(tool_id))


@router.post(
    "/api/v1/tools/{tool_id}/search-index/rollback",
    response_model=GenerationAnswer,
    responses=refused(409),
)
async def roll_back_index(
    tool_id: ToolId, caller: MayManage, actions: OwnersActions, once: Idempotent
) -> Response:
    """Lets the generation before the last switch answer again."""
    return once.answer(caller.project_id, lambda: actions.roll_back(tool_id))


@router.post(
    "/api/v1/tools/{tool_id}/search-index/clear",
    response_model=EmptiedIndexAnswer,
    responses=refused(409),
)
async def clear_index(
    tool_id: ToolId,
    caller: MayManage,
    actions: OwnersActions,
    once: Idempotent,
    *,
    shared: Shared = False,
) -> Response:
    """Empties the tool's index; the next search or rebuild has it built again.

    Refused when other tools need the same chunks, unless ``shared``.
    """
    return once.answer(caller.project_id, lambda: actions.clear(tool_id, shared=shared))


@router.post(
    "/api/v1/tools/{tool_id}/search-index/retry",
    response_model=RetriedAnswer,
    responses=refused(409),
)
async def retry_strings(
    tool_id: ToolId,
    caller: MayManage,
    operations: UseOperations,
    once: Idempotent,
    body: RetryBody | None = None,
) -> Response:
    """Lets strings in quarantine be tried again: one, or 1,000 of the tool's scope."""

    def retry() -> JSONResponse:
        pointer = None if body is None else body.json_pointer
        return RetriedAnswer.about(operations.retry(tool_id, caller, pointer)).response()

    return once.answer(caller.project_id, retry)


@router.post(
    "/internal/tools/{tool_id}/chunks/rebuild",
    dependencies=[InternalOnly],
    status_code=202,
    response_model=GenerationAnswer,
    responses=_OF_A_REBUILD,
)
async def rebuild_index_internally(
    tool_id: ToolId, actions: OperatorsActions, *, dry_run: DryRun = False
) -> Response:
    """Builds the tool's index anew beside the one that answers; ``dry_run`` only estimates."""
    return actions.estimate(tool_id) if dry_run else actions.rebuild(tool_id)


@router.post(
    "/internal/tools/{tool_id}/chunks/rollback",
    dependencies=[InternalOnly],
    response_model=GenerationAnswer,
    responses=refused(409),
)
async def roll_back_index_internally(tool_id: ToolId, actions: OperatorsActions) -> Response:
    """Lets the generation before the last switch answer again."""
    return actions.roll_back(tool_id)


@router.delete(
    "/internal/tools/{tool_id}/chunks",
    dependencies=[InternalOnly],
    response_model=EmptiedIndexAnswer,
    responses=refused(409),
)
async def delete_chunks(
    tool_id: ToolId, actions: OperatorsActions, *, shared: Shared = False
) -> Response:
    """Empties the tool's index; the next search or rebuild has it built again.

    Refused when other tools need the same chunks, unless ``shared``.
    """
    return actions.clear(tool_id, shared=shared)


@router.post("/api/v1/projects/{project_id}/reindex", status_code=202, responses=refused(409))
async def reindex(owner: Owner, rebuilds: UseRebuilds) -> GenerationsAnswer:
    """Rebuilds every index of the project, two at a time."""
    indexes = rebuilds.reindex(owner)
    return GenerationsAnswer.about(generations=indexes)
