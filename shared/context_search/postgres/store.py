"""Postgres as the store: one transaction, all repositories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from context_search.core.messages import Order
from context_search.integrations.ports import Deadline
from context_search.postgres.pool import Database, Transaction

if TYPE_CHECKING:
    from context_search.access.sql.idempotency_keys import PostgresIdempotencyKeys
    from context_search.access.sql.keys import PostgresKeys
    from context_search.agents.sql.mcp_instances import PostgresMcpInstances
    from context_search.budgets.sql.ledger import PostgresLedger
    from context_search.budgets.sql.permits import PostgresPermits
    from context_search.catalog.sql.histories import PostgresHistories
    from context_search.catalog.sql.judged_sets import PostgresJudgedSets
    from context_search.catalog.sql.outlines import PostgresOutlines
    from context_search.catalog.sql.project_settings import PostgresProjectSettings
    from context_search.catalog.sql.projects import PostgresProjects
    from context_search.catalog.sql.tables import PostgresTables
    from context_search.catalog.sql.tools import PostgresTools
    from context_search.catalog.sql.uploads import PostgresUploads
    from context_search.catalog.sql.versions import PostgresVersions
    from context_search.indexing.sql.calibrations import PostgresCalibrations
    from context_search.indexing.sql.chunks import PostgresChunks
    from context_search.indexing.sql.comparisons import PostgresComparisons
    from context_search.indexing.sql.evictions import PostgresEvictions
    from context_search.indexing.sql.indexes import PostgresIndexes
    from context_search.indexing.sql.large_strings import PostgresLargeStrings
    from context_search.indexing.sql.node_counts import PostgresNodeCounts
    from context_search.indexing.sql.nodes import PostgresNodes
    from context_search.indexing.sql.outbox import PostgresOutbox
    from context_search.indexing.sql.quotas import PostgresQuotas
    from context_search.indexing.sql.rebuilds import PostgresRebuilds
    from context_search.indexing.sql.sections import PostgresSections
    from context_search.indexing.sql.words_backlog import PostgresWordsBacklog
    from context_search.maintenance.sql.cleanup_runs import PostgresCleanupRuns
    from context_search.maintenance.sql.deletions import PostgresDeletions
    from context_search.maintenance.sql.gauges import PostgresGauges
    from context_search.maintenance.sql.health import PostgresHealth
    from context_search.maintenance.sql.removals import PostgresRemovals
    from context_search.maintenance.sql.schedule import PostgresSchedule
    from context_search.maintenance.sql.sweeps import PostgresSweeps
    from context_search.searching.ports.live_chunks import Reading
    from context_search.searching.sql.keywords import PostgresKeywords
    from context_search.searching.sql.live_chunks import PostgresLiveChunks
    from context_search.searching.sql.rankings import PostgresRankings
    from context_search_editing.sql.plans import PostgresPlans

REPOSITORIES = {
    "context_search.access": ("idempotency_keys", "keys"),
    "context_search.agents": ("mcp_instances",),
    "context_search.budgets": ("ledger", "permits"),
    "context_search.catalog": (
        "histories",
        "judged_sets",
        "outlines",
        "project_settings",
        "projects",
        "tables",
        "tools",
        "uploads",
        "versions",
    ),
    "context_search.indexing": (
        "calibrations",
        "chunks",
        "comparisons",
        "evictions",
        "indexes",
        "large_strings",
        "node_counts",
        "nodes",
        "outbox",
        "quotas",
        "rebuilds",
        "sections",
        "words_backlog",
    ),
    "context_search.searching": ("keywords", "live_chunks", "rankings"),
    "context_search.maintenance": (
        "cleanup_runs",
        "deletions",
        "gauges",
        "health",
        "removals",
        "schedule",
        "sweeps",
    ),
    "context_search_editing": ("plans",),
}
"""Names of the repositories by package: ``PostgresKeys`` is in ``access/sql/keys.py``."""


class PostgresUnitOfWork:
    """The port ``UnitOfWork`` over one open transaction.

    A repository is loaded and made when it is asked for: a transaction needs a few of them.
    """

    idempotency_keys: PostgresIdempotencyKeys
    keys: PostgresKeys
    mcp_instances: PostgresMcpInstances
    judged_sets: PostgresJudgedSets
    outlines: PostgresOutlines
    projects: PostgresProjects
    tables: PostgresTables
    tools: PostgresTools
    uploads: PostgresUploads
    histories: PostgresHistories
    plans: PostgresPlans
    versions: PostgresVersions
    calibrations: PostgresCalibrations
    chunks: PostgresChunks
    comparisons: PostgresComparisons
    evictions: PostgresEvictions
    indexes: PostgresIndexes
    large_strings: PostgresLargeStrings
    node_counts: PostgresNodeCounts
    nodes: PostgresNodes
    outbox: PostgresOutbox
    quotas: PostgresQuotas
    rebuilds: PostgresRebuilds
    sections: PostgresSections
    keywords: PostgresKeywords
    live_chunks: PostgresLiveChunks
    permits: PostgresPermits
    project_settings: PostgresProjectSettings
    rankings: PostgresRankings
    words_backlog: PostgresWordsBacklog
    schedule: PostgresSchedule
    cleanup_runs: PostgresCleanupRuns
    deletions: PostgresDeletions
    gauges: PostgresGauges
    health: PostgresHealth
    ledger: PostgresLedger
    removals: PostgresRemovals
    sweeps: PostgresSweeps

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._to_deliver: set[int] = set()

    if not TYPE_CHECKING:  # the annotations above say what there is

        def __getattr__(self, name: str) -> object:
            repository = _repository(name)(self._tx)
            setattr(self, name, repository)
            return repository

    def send(self, *orders: Order) -> None:
        self._to_deliver.update(self.outbox.add(order.to_json() for order in orders))

    def send_waiting(self, *project_ids: int) -> None:
        self._to_deliver.update(project_ids)

    def to_deliver(self) -> list[int]:
        return sorted(self._to_deliver)

    def foresee(self, reading: Reading) -> None:
        self.live_chunks.ask_ahead(reading)


@dataclass(frozen=True, slots=True)
class PostgresStore:
    """The port ``Store``."""

    database: Database

    @contextmanager
    def for_project(
        self, project_id: int, deadline: Deadline | None = None
    ) -> Iterator[PostgresUnitOfWork]:
        with self.database.transaction(project_id=project_id, deadline=deadline) as tx:
            yield PostgresUnitOfWork(tx)

    @contextmanager
    def for_all(
        self,
        reason: str,  # noqa: ARG002 - for the reader
        deadline: Deadline | None = None,
    ) -> Iterator[PostgresUnitOfWork]:
        with self.database.transaction(deadline=deadline) as tx:
            yield PostgresUnitOfWork(tx)


@cache
def _repository(name: str) -> Callable[[Transaction], object]:
    """Loads a repository's class; raises AttributeError where there is none of that name."""
    for package, names in REPOSITORIES.items():
        if name in names:
            module = import_module(f"{package}.sql.{name}")
            class_name = "".join(word.capitalize() for word in name.split("_"))
            return getattr(module, f"Postgres{class_name}")  # type: ignore[no-any-return]
    raise AttributeError(name)
