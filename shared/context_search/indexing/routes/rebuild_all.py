"""The rebuild of all indexes of a deployment: answers and routes. For operators."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from context_search.indexing.rebuilds import RebuildAll
from context_search.indexing.routes.rebuilds import EstimateAnswer, GenerationAnswer
from context_search.web.callers import InternalOnly, Stored, part
from context_search.web.fields import AnswerModel, Count, Cursor, KnownId, PageCursor
from context_search.web.problems import refused
from context_search.web.query_parameters import TrueOrFalse
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(
    prefix="/internal",
    route_class=StrictJsonRoute,
    tags=["operations"],
    dependencies=[InternalOnly],
)


class OrderedRebuildsAnswer(AnswerModel):
    """What became of a page of indexes: ``generations`` are under way, the others stay.

    ``refused``: indexes whose table has another one with the configuration to come.
    """

    generations: list[GenerationAnswer]
    up_to_date: Count
    evicted: Count
    refused: list[KnownId]
    cursor: PageCursor


class EstimatedRebuildsAnswer(EstimateAnswer):
    """What the rebuilds of a page of indexes would take together."""

    indexes: Count
    cursor: PageCursor


class UnderWayAnswer(AnswerModel):
    """How many generations of all projects are being built, and how many wait for it."""

    building: Count
    queued: Count


Use = Annotated[RebuildAll, part("rebuild_all")]
_OF_A_REBUILD: dict[int | str, dict[str, Any]] = {
    200: {"description": "Of a dry run", "model": EstimatedRebuildsAnswer},
    **refused(409),
}


@router.post(
    "/rebuild", status_code=202, response_model=OrderedRebuildsAnswer, responses=_OF_A_REBUILD
)
async def rebuild_all(
    use: Use,
    cursor: Cursor = 0,
    *,
    outdated: Annotated[bool, Query(), TrueOrFalse] = True,
    dry_run: Annotated[bool, Query(), TrueOrFalse] = False,
) -> Response:
    """Rebuilds the indexes of all projects, 50 a call: those that today's settings would change.

    With ``outdated=false`` every one. ``dry_run`` only estimates.
    """
    if dry_run:
        found = use.estimate(after=cursor, outdated=outdated)
        return EstimatedRebuildsAnswer.about(found, found.estimate).response()
    done = use.start(after=cursor, outdated=outdated)
    return OrderedRebuildsAnswer.about(done).response(202)


@router.get("/rebuild")
async def read_rebuilds(store: Stored) -> UnderWayAnswer:
    """Returns how many generations of all projects are being built, or wait for it."""
    with store.for_all("change a generation") as work:
        found = work.indexes.rebuilds_under_way()
    return UnderWayAnswer.about(found)
