"""For the operators of indexes, rebuild, roll back, empty, check, redrive: answers and routes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Response

from context_search.domain.access import Internal
from context_search.domain.model import GenerationState, Index
from context_search.services.indexing.rebuilds import Rebuilds
from context_search.services.upkeep.operations import Operate, Redrive
from context_search.web.border import StrictJsonRoute
from context_search.web.callers import InternalOnly, Owner, ToolId, part
from context_search.web.fields import Answer, Count, KnownId, Number
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal, TrueOrFalse
from context_search.web.routes.indexing.search_index import IntegrityAnswer

router = APIRouter(route_class=StrictJsonRoute, tags=["operations"])


class GenerationAnswer(Answer):
    """The generation that comes: of a rebuild and a roll-back."""

    index_id: KnownId
    generation: KnownId
    namespace: str
    state: GenerationState

    @classmethod
    def of(cls, index: Index) -> GenerationAnswer:
        """Returns the generation that an index is seen through."""
        return cls(
            index_id=index.id,
            generation=index.generation.number,
            namespace=index.generation.namespace,
            state=index.generation.state,
        )


class GenerationsAnswer(Answer):
    """One for each index of a project."""

    generations: list[GenerationAnswer]


class EstimateAnswer(Answer):
    """What a rebuild would take; without a price no cost."""

    nodes: Count
    chunks: Count
    tokens: Count
    cost: Number | None
    seconds: Count


class EmptiedIndexAnswer(Answer):
    """How many chunks answered until now, for which tools."""

    index_id: KnownId
    namespace: str
    chunks: Count
    tools: list[KnownId]


class SweepRoundAnswer(Answer):
    """How long it takes to compare every live namespace once.

    ``seconds`` is how old a whole comparison becomes at today's size; null where nobody said how
    often ``cleanup`` runs. ``oldest_seconds`` is how old the oldest one is, or a namespace that was
    never compared whole.
    """

    vector_rows: Count
    pages: Count
    seconds: Count | None
    oldest_seconds: Count


class NamespacesAnswer(Answer):
    """The last complete report of every namespace, and how old one becomes."""

    namespaces: list[IntegrityAnswer]
    sweep: SweepRoundAnswer


class RedrivenAnswer(Answer):
    """What came back."""

    messages: Count
    nodes: Count


@dataclass(frozen=True, slots=True)
class OperationUseCases:
    """What the routes of this file call."""

    rebuilds: Rebuilds
    operate: Operate
    redrive: Redrive


Use = Annotated[OperationUseCases, part("operations")]


@router.post(
    "/internal/tools/{tool_id}/chunks/rebuild",
    dependencies=[InternalOnly],
    status_code=202,
    response_model=GenerationAnswer,
    responses={200: {"description": "Of a dry run", "model": EstimateAnswer}, **refused(409)},
)
async def rebuild(
    tool_id: ToolId, use: Use, *, dry_run: Annotated[bool, Query(), TrueOrFalse] = False
) -> Response:
    """Builds the tool's index anew beside the one that answers; ``dry_run`` only estimates."""
    if dry_run:
        return EstimateAnswer(**asdict(use.rebuilds.estimate(tool_id, Internal()))).response()
    return GenerationAnswer.of(use.rebuilds.start(tool_id, Internal())).response(202)


@router.post(
    "/internal/tools/{tool_id}/chunks/rollback", dependencies=[InternalOnly], responses=refused(409)
)
async def roll_back(tool_id: ToolId, use: Use) -> GenerationAnswer:
    """Lets the generation before the last switch answer again."""
    return GenerationAnswer.of(use.rebuilds.roll_back(tool_id, Internal()))


@router.delete(
    "/internal/tools/{tool_id}/chunks", dependencies=[InternalOnly], responses=refused(409)
)
async def delete_chunks(
    tool_id: ToolId, use: Use, *, shared: Annotated[bool, Query(), TrueOrFalse] = False
) -> EmptiedIndexAnswer:
    """Empties the tool's index; the next search or rebuild has it built again.

    Refused when other tools need the same chunks, unless ``shared``.
    """
    return EmptiedIndexAnswer(**asdict(use.operate.clear_index(tool_id, Internal(), shared=shared)))


@router.post("/api/v1/projects/{project_id}/reindex", status_code=202, responses=refused(409))
async def reindex(owner: Owner, use: Use) -> GenerationsAnswer:
    """Rebuilds every index of the project, two at a time."""
    indexes = use.rebuilds.reindex(owner)
    return GenerationsAnswer(generations=[GenerationAnswer.of(index) for index in indexes])


@router.get("/internal/integrity", dependencies=[InternalOnly])
async def read_integrity(use: Use) -> NamespacesAnswer:
    """Returns the last complete report of every namespace that answers."""
    reports, sweep = use.operate.read_integrity(), use.operate.read_sweep_round()
    return NamespacesAnswer(
        namespaces=[IntegrityAnswer.stored(one) for one in reports],
        sweep=SweepRoundAnswer(
            vector_rows=sweep.vector_rows,
            pages=sweep.pages,
            seconds=None if sweep.seconds is None else round(sweep.seconds),
            oldest_seconds=round(sweep.oldest_s),
        ),
    )


@router.post("/internal/index/redrive", dependencies=[InternalOnly], responses=refused(409))
async def redrive(
    use: Use, limit: Annotated[int, Query(ge=1, le=1000), Decimal] = 100
) -> RedrivenAnswer:
    """Brings messages of the dead-letter queue back, and quarantined nodes to work again."""
    return RedrivenAnswer(**asdict(use.redrive.run(limit)))
