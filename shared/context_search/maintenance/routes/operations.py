"""What operators see and do without a tool: integrity of the vectors, redrive."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from context_search.indexing.routes.search_index import IntegrityAnswer
from context_search.maintenance.redrive import Redrive
from context_search.maintenance.sweep import SweepRounds
from context_search.web.callers import InternalOnly, Stored, part
from context_search.web.fields import AnswerModel, Count
from context_search.web.problems import refused
from context_search.web.query_parameters import Decimal
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(
    prefix="/internal",
    route_class=StrictJsonRoute,
    tags=["operations"],
    dependencies=[InternalOnly],
)


class SweepRoundAnswer(AnswerModel):
    """How long it takes to compare every live namespace once.

    ``seconds`` is how old a whole comparison becomes at today's size; null where nobody said how
    often ``cleanup`` runs. ``oldest_seconds`` is how old the oldest one is, or a namespace that was
    never compared whole.
    """

    vector_rows: Count
    pages: Count
    seconds: Count | None
    oldest_seconds: Count


class NamespacesAnswer(AnswerModel):
    """The last complete report of every namespace, and how old one becomes."""

    namespaces: list[IntegrityAnswer]
    sweep: SweepRoundAnswer


class RedrivenAnswer(AnswerModel):
    """What came back."""

    messages: Count
    nodes: Count


@router.get("/integrity")
async def read_integrity(
    rounds: Annotated[SweepRounds, part("sweep_rounds")], store: Stored
) -> NamespacesAnswer:
    """Returns the last complete report of every namespace that answers."""
    with store.for_all("maintenance") as work:
        reports = work.sweeps.reports(None)
    sweep = rounds.read()
    return NamespacesAnswer.about(
        namespaces=reports,
        sweep=SweepRoundAnswer(
            vector_rows=sweep.vector_rows,
            pages=sweep.pages,
            seconds=None if sweep.seconds is None else round(sweep.seconds),
            oldest_seconds=round(sweep.oldest_s),
        ),
    )


@router.post("/index/redrive", responses=refused(409))
async def redrive(
    use: Annotated[Redrive, part("redrive")],
    limit: Annotated[int, Query(ge=1, le=1000), Decimal] = 100,
) -> RedrivenAnswer:
    """Brings messages of the dead-letter queue back, and quarantined nodes to work again."""
    return RedrivenAnswer.about(use.run(limit))
