"""How a project is: answers and route."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date
from typing import Annotated

from fastapi import APIRouter

from context_search.core.limits import HELD
from context_search.core.progress import NodeState
from context_search.indexing.routes.search_index import IntegrityAnswer
from context_search.maintenance.part_checks import PartState, verdict
from context_search.maintenance.ports.cleanup_runs import CleanupRun
from context_search.maintenance.ports.health import ProjectReadings
from context_search.maintenance.project_health import ReadProjectHealth
from context_search.maintenance.routes.health import PartAnswer
from context_search.web.callers import ReadOwner, part
from context_search.web.fields import Answer, Count, KnownId, Time, TimeText
from context_search.web.problems import refused
from context_search.web.request_body import StrictJsonRoute

router = APIRouter(route_class=StrictJsonRoute, tags=["operations"])


class WaitingOrdersAnswer(Answer):
    """Orders that are not in the queue yet, counted to 1,000, and how old the first is."""

    waiting: Count
    oldest_seconds: Count


class CleanupRunAnswer(Answer):
    """The last run of cleanup that worked; it rests until ``rests_until``."""

    at: Time
    seconds: Count
    is_complete: bool
    errors: list[str]
    rests_until: Time | None

    @classmethod
    def of(cls, run: CleanupRun | None) -> CleanupRunAnswer | None:
        """Returns a run."""
        if run is None:
            return None
        return cls(
            at=run.finished_at,
            seconds=round(run.seconds),
            is_complete=run.is_complete,
            errors=list(run.errors),
            rests_until=run.rests_until,
        )


class StoredAnswer(Answer):
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


class SpentAnswer(Answer):
    """What was spent on models in a day (UTC): by indexing, and by reranked searches."""

    day: date
    embedding_tokens: Count
    reranks: Count


class DailyLimitsAnswer(Answer):
    """What may be spent in a day; null: there is no limit."""

    embedding_tokens: Count | None
    reranks: Count | None


class IndexCountsAnswer(Answer):
    """Indexes that are there, being built, that gave way, and that no worker moves."""

    live: Count
    building: Count
    evicted: Count
    stalled: Count


class ErrorCountAnswer(Answer):
    """How many strings, documents and indexes an error holds up."""

    code: str
    count: Count
    latest_at: TimeText | None


class ProjectHealthAnswer(Answer):
    """How a project is. The verdict is ``ok`` only if every part was asked and is well.

    ``row_security``: whether the database itself keeps the rows of projects apart, too.
    """

    project_id: KnownId
    at: Time
    verdict: PartState
    parts: list[PartAnswer]
    nodes: dict[NodeState, Count]
    oldest_wait_seconds: Count
    outbox: WaitingOrdersAnswer
    cleanup: CleanupRunAnswer | None
    usage: StoredAnswer
    limits: StoredAnswer
    spent: list[SpentAnswer]
    daily_limits: DailyLimitsAnswer
    indexes: IndexCountsAnswer
    integrity: list[IntegrityAnswer]
    errors: list[ErrorCountAnswer]
    row_security: bool


Use = Annotated[ReadProjectHealth, part("project_health")]


@router.get("/api/v1/projects/{project_id}/health", responses=refused(409))
async def read_project_health(caller: ReadOwner, use: Use) -> ProjectHealthAnswer:
    """Returns what is waiting, what failed, what is stored, and when cleanup worked last."""
    health, limits = use.read(caller), use.limits.project
    readings: ProjectReadings = health.readings
    return ProjectHealthAnswer(
        project_id=caller.project_id,
        at=health.at,
        verdict=verdict(health.parts),
        parts=[PartAnswer.of(part) for part in health.parts],
        nodes=dict(readings.nodes),
        oldest_wait_seconds=round(readings.oldest_wait_s),
        outbox=WaitingOrdersAnswer(
            waiting=readings.orders, oldest_seconds=round(readings.oldest_order_s)
        ),
        cleanup=CleanupRunAnswer.of(health.cleanup),
        usage=StoredAnswer(
            chunks=health.usage.chunks, vector_bytes=health.usage.vector_bytes, **health.held
        ),
        limits=StoredAnswer(
            chunks=limits.max_chunks,
            vector_bytes=limits.max_vector_bytes,
            **{kind: getattr(use.limits.bounds, kind) for kind in HELD},
        ),
        spent=[SpentAnswer(**asdict(each)) for each in health.spent],
        daily_limits=DailyLimitsAnswer(**asdict(use.limits.daily)),
        indexes=IndexCountsAnswer(
            live=readings.indexes,
            building=readings.building,
            evicted=readings.evicted,
            stalled=readings.stalled,
        ),
        integrity=[IntegrityAnswer.stored(report) for report in readings.integrity],
        errors=[
            ErrorCountAnswer(code=each.code, count=each.count, latest_at=each.latest_at)
            for each in readings.errors
        ],
        row_security=readings.row_security,
    )
