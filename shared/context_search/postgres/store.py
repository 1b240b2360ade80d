"""Postgres as the store: one transaction, all repositories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from context_search.adapters.postgres.catalog.tools import tool_statement
from context_search.adapters.postgres.indexing.indexes import project_statement
from context_search.adapters.postgres.indexing.node_counts import moving_statement
from context_search.adapters.postgres.pool import Database, Transaction
from context_search.adapters.postgres.searching.live_chunks import chunks_statement
from context_search.domain.orders import Order
from context_search.ports.outside import Deadline

if TYPE_CHECKING:
    from context_search.adapters.postgres.access.idempotency_keys import PostgresIdempotencyKeys
    from context_search.adapters.postgres.access.keys import PostgresKeys
    from context_search.adapters.postgres.access.mcp_instances import PostgresMcpInstances
    from context_search.adapters.postgres.catalog.judged_sets import PostgresJudgedSets
    from context_search.adapters.postgres.catalog.outlines import PostgresOutlines
    from context_search.adapters.postgres.catalog.projects import PostgresProjects
    from context_search.adapters.postgres.catalog.tables import PostgresTables
    from context_search.adapters.postgres.catalog.tools import PostgresTools
    from context_search.adapters.postgres.catalog.uploads import PostgresUploads
    from context_search.adapters.postgres.editing.histories import PostgresHistories
    from context_search.adapters.postgres.editing.history_settings import PostgresHistorySettings
    from context_search.adapters.postgres.editing.plans import PostgresPlans
    from context_search.adapters.postgres.editing.versions import PostgresVersions
    from context_search.adapters.postgres.indexing.calibrations import PostgresCalibrations
    from context_search.adapters.postgres.indexing.chunks import PostgresChunks
    from context_search.adapters.postgres.indexing.comparisons import PostgresComparisons
    from context_search.adapters.postgres.indexing.evictions import PostgresEvictions
    from context_search.adapters.postgres.indexing.indexes import PostgresIndexes
    from context_search.adapters.postgres.indexing.large_strings import PostgresLargeStrings
    from context_search.adapters.postgres.indexing.node_counts import PostgresNodeCounts
    from context_search.adapters.postgres.indexing.nodes import PostgresNodes
    from context_search.adapters.postgres.indexing.outbox import PostgresOutbox
    from context_search.adapters.postgres.indexing.quotas import PostgresQuotas
    from context_search.adapters.postgres.indexing.rebuilds import PostgresRebuilds
    from context_search.adapters.postgres.indexing.sections import PostgresSections
    from context_search.adapters.postgres.searching.keywords import PostgresKeywords
    from context_search.adapters.postgres.searching.live_chunks import PostgresLiveChunks
    from context_search.adapters.postgres.searching.permits import PostgresPermits
    from context_search.adapters.postgres.searching.project_settings import PostgresProjectSettings
    from context_search.adapters.postgres.searching.rankings import PostgresRankings
    from context_search.adapters.postgres.searching.words_backlog import PostgresWordsBacklog
    from context_search.adapters.postgres.upkeep.agenda import PostgresAgenda
    from context_search.adapters.postgres.upkeep.cleanup_runs import PostgresCleanupRuns
    from context_search.adapters.postgres.upkeep.deletions import PostgresDeletions
    from context_search.adapters.postgres.upkeep.gauges import PostgresGauges
    from context_search.adapters.postgres.upkeep.health import PostgresHealth
    from context_search.adapters.postgres.upkeep.ledger import PostgresLedger
    from context_search.adapters.postgres.upkeep.removals import PostgresRemovals
    from context_search.adapters.postgres.upkeep.sweeps import PostgresSweeps
    from context_search.ports.searching.live_chunks import Reading

REPOSITORIES = {
    "access": ("idempotency_keys", "keys", "mcp_instances"),
    "catalog": ("judged_sets", "outlines", "projects", "tables", "tools", "uploads"),
    "editing": ("histories", "history_settings", "plans", "versions"),
    "indexing": (
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
    ),
    "searching": (
        "keywords",
        "live_chunks",
        "permits",
        "project_settings",
        "rankings",
        "words_backlog",
    ),
    "upkeep": (
        "agenda",
        "cleanup_runs",
        "deletions",
        "gauges",
        "health",
        "ledger",
        "removals",
        "sweeps",
    ),
}
"""Names of the repositories by their rooms: ``PostgresKeys`` lies in ``access/keys.py``."""


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
    history_settings: PostgresHistorySettings
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
    agenda: PostgresAgenda
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
        index, project_id = reading.index, reading.project_id
        searched = (
            project_statement(index.project_id)
            if reading.tool_id is None
            else tool_statement(reading.tool_id, project_id)
        )
        chunks = chunks_statement(index, reading.reach, reading.doc_ids, texts=reading.texts)
        self._tx.ask_ahead([searched, moving_statement(index, reading.reach.json_pointer), chunks])


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
    for room, names in REPOSITORIES.items():
        if name in names:
            module = import_module(f"context_search.adapters.postgres.{room}.{name}")
            class_name = "".join(word.capitalize() for word in name.split("_"))
            return getattr(module, f"Postgres{class_name}")  # type: ignore[no-any-return]
    raise AttributeError(name)
