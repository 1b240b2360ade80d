"""How a project is: answers and route."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter
from pydantic import BeforeValidator

from context_search.core.limits import HELD_KINDS
from context_search.core.progress import NodeState
from context_search.indexing.routes.search_index import IntegrityAnswer
from context_search.maintenance.part_checks import PartState, verdict
from context_search.maintenance.project_health import ReadProjectHealth
from context_search.maintenance.routes.health import PartAnswer
from context_search.web.callers import ReadOwner, part
from context_search.web.fields import AnswerModel, Count, KnownId, Listed, Time, TimeText, source
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["operations"])


class WaitingOrdersAnswer(AnswerModel):
    """Orders that are not in the queue yet, counted to 1,000, and how old the first is."""

    waiting: Count
    oldest_seconds: Count


class CleanupRunAnswer(AnswerModel):
    """The last run of cleanup that worked; it rests until ``rests_until``."""

    at: Annotated[Time, source("finished_at")]
    seconds: Annotated[Count, BeforeValidator(round)]
    is_complete: bool
    errors: Annotated[list[str], Listed]
    rests_until: Time | None


class StoredAnswer(AnswerModel):
    """What a project holds, or may hold. Keys are those that are good.

    Bytes of documents are those that Postgres stores.
    """

    chunks: Count
    vector_bytes: Count
    tables: Count
    document_bytes: Count
    tools: Count
    keys: Count
    mcps: Count


class SpentAnswer(AnswerModel):
    """What was spent on models in a day (UTC): by indexing, and by reranked searches."""

    day: date
    embedding_tokens: Count
    reranks: Count


class DailyLimitsAnswer(AnswerModel):
    """What may be spent in a day; null: there is no limit."""

    embedding_tokens: Count | None
    reranks: Count | None


class IndexCountsAnswer(AnswerModel):
    """Indexes that are there, being built, that gave way, and that no worker moves."""

    live: Annotated[Count, source("indexes")]
    building: Count
    evicted: Count
    stalled: Count


class ErrorCountAnswer(AnswerModel):
    """How many strings, documents and indexes an error holds up."""

    code: str
    count: Count
    latest_at: TimeText | None


class ProjectHealthAnswer(AnswerModel):
    """How a project is. The verdict is ``ok`` only if every part was asked and is well.

    ``row_security``: whether the database itself keeps the rows of projects apart, too.
    """

    project_id: KnownId
    at: Time
    verdict: PartState
    parts: Annotated[list[PartAnswer], Listed]
    nodes: dict[NodeState, Count]
    oldest_wait_seconds: Count
    outbox: WaitingOrdersAnswer
    cleanup: CleanupRunAnswer | None
    usage: StoredAnswer
    limits: StoredAnswer
    spent: Annotated[list[SpentAnswer], Listed]
    daily_limits: DailyLimitsAnswer
    indexes: IndexCountsAnswer
    integrity: Annotated[list[IntegrityAnswer], Listed]
    errors: Annotated[list[ErrorCountAnswer], Listed]
    row_security: bool


Use = Annotated[ReadProjectHealth, part("project_health")]


@router.get("/api/v1/projects/{project_id}/health", responses=refused(409))
async def read_project_health(caller: ReadOwner, use: Use) -> ProjectHealthAnswer:
    """Returns what is waiting, what failed, what is stored, and when cleanup worked last."""
    health, settings = use.read(caller), use.settings
    readings = health.readings
    return ProjectHealthAnswer.about(
        health,
        readings,
        project_id=caller.project_id,
        verdict=verdict(health.parts),
        nodes=dict(readings.nodes),
        oldest_wait_seconds=round(readings.oldest_wait_s),
        outbox=WaitingOrdersAnswer(
            waiting=readings.messages, oldest_seconds=round(readings.oldest_message_s)
        ),
        usage=StoredAnswer.about(health.usage, **health.held),
        limits=StoredAnswer(
            chunks=settings.project_limits.max_chunks,
            vector_bytes=settings.project_limits.max_vector_bytes,
            **{kind: getattr(settings.project_bounds, kind) for kind in HELD_KINDS},
        ),
        daily_limits=settings.daily_limits,
        indexes=IndexCountsAnswer.about(readings, stalled=health.stalled),
    )
