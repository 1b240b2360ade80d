"""Postgres as the store: one transaction, all repositories."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from context_search.adapters.postgres.access.idempotency_keys import PostgresIdempotencyKeys
from context_search.adapters.postgres.access.keys import PostgresKeys
from context_search.adapters.postgres.access.mcp_instances import PostgresMcpInstances
from context_search.adapters.postgres.catalog.projects import PostgresProjects
from context_search.adapters.postgres.catalog.tables import PostgresTables
from context_search.adapters.postgres.catalog.tools import PostgresTools, tool_statement
from context_search.adapters.postgres.indexing.chunks import PostgresChunks
from context_search.adapters.postgres.indexing.comparisons import PostgresComparisons
from context_search.adapters.postgres.indexing.evictions import PostgresEvictions
from context_search.adapters.postgres.indexing.indexes import PostgresIndexes, project_statement
from context_search.adapters.postgres.indexing.node_counts import (
    PostgresNodeCounts,
    moving_statement,
)
from context_search.adapters.postgres.indexing.nodes import PostgresNodes
from context_search.adapters.postgres.indexing.outbox import PostgresOutbox
from context_search.adapters.postgres.indexing.quotas import PostgresQuotas
from context_search.adapters.postgres.indexing.rebuilds import PostgresRebuilds
from context_search.adapters.postgres.pool import Database, Transaction
from context_search.adapters.postgres.searching.keywords import PostgresKeywords
from context_search.adapters.postgres.searching.live_chunks import (
    PostgresLiveChunks,
    chunks_statement,
)
from context_search.adapters.postgres.searching.permits import PostgresPermits
from context_search.adapters.postgres.searching.project_settings import PostgresProjectSettings
from context_search.adapters.postgres.searching.rankings import PostgresRankings
from context_search.adapters.postgres.upkeep.agenda import PostgresAgenda
from context_search.adapters.postgres.upkeep.deletions import PostgresDeletions
from context_search.adapters.postgres.upkeep.gauges import PostgresGauges
from context_search.adapters.postgres.upkeep.removals import PostgresRemovals
from context_search.adapters.postgres.upkeep.sweeps import PostgresSweeps
from context_search.domain.orders import Order
from context_search.ports.outside import Deadline
from context_search.ports.searching import Reading

if TYPE_CHECKING:
    from context_search.adapters.postgres.catalog.judged_sets import PostgresJudgedSets
    from context_search.adapters.postgres.catalog.outlines import PostgresOutlines
    from context_search.adapters.postgres.catalog.uploads import PostgresUploads
    from context_search.adapters.postgres.editing.histories import PostgresHistories
    from context_search.adapters.postgres.editing.history_settings import PostgresHistorySettings
    from context_search.adapters.postgres.editing.plans import PostgresPlans
    from context_search.adapters.postgres.editing.versions import PostgresVersions
    from context_search.adapters.postgres.indexing.calibrations import PostgresCalibrations
    from context_search.adapters.postgres.indexing.large_strings import PostgresLargeStrings
    from context_search.adapters.postgres.indexing.sections import PostgresSections
    from context_search.adapters.postgres.searching.words_backlog import PostgresWordsBacklog
    from context_search.adapters.postgres.upkeep.cleanup_runs import PostgresCleanupRuns
    from context_search.adapters.postgres.upkeep.health import PostgresHealth


class PostgresUnitOfWork:
    """The port ``UnitOfWork`` over one open transaction."""

    def __init__(self, tx: Transaction) -> None:
        self.projects = PostgresProjects(tx)
        self.keys = PostgresKeys(tx)
        self.mcp_instances = PostgresMcpInstances(tx)
        self.tables = PostgresTables(tx)
        self.tools = PostgresTools(tx)
        self.indexes = PostgresIndexes(tx)
        self.comparisons = PostgresComparisons(tx)
        self.rebuilds = PostgresRebuilds(tx)
        self.nodes = PostgresNodes(tx)
        self.node_counts = PostgresNodeCounts(tx)
        self.chunks = PostgresChunks(tx)
        self.live_chunks = PostgresLiveChunks(tx)
        self.keywords = PostgresKeywords(tx)
        self.outbox = PostgresOutbox(tx)
        self.deletions = PostgresDeletions(tx)
        self.removals = PostgresRemovals(tx)
        self.sweeps = PostgresSweeps(tx)
        self.quotas = PostgresQuotas(tx)
        self.evictions = PostgresEvictions(tx)
        self.idempotency_keys = PostgresIdempotencyKeys(tx)
        self.permits = PostgresPermits(tx)
        self.project_settings = PostgresProjectSettings(tx)
        self.rankings = PostgresRankings(tx)
        self.gauges = PostgresGauges(tx)
        self.agenda = PostgresAgenda(tx)
        self._tx = tx
        self._to_deliver: set[int] = set()

    @property
    def calibrations(self) -> PostgresCalibrations:
        """Loaded when it is needed: a search reads what was found with its target."""
        from context_search.adapters.postgres.indexing.calibrations import (  # noqa: PLC0415
            PostgresCalibrations,
        )

        return PostgresCalibrations(self._tx)

    @property
    def sections(self) -> PostgresSections:
        """Loaded when it is needed: only a comparison reads sections."""
        from context_search.adapters.postgres.indexing.sections import (  # noqa: PLC0415
            PostgresSections,
        )

        return PostgresSections(self._tx)

    @property
    def words_backlog(self) -> PostgresWordsBacklog:
        """Loaded when it is needed: by a search only while turbopuffer does not answer."""
        from context_search.adapters.postgres.searching.words_backlog import (  # noqa: PLC0415
            PostgresWordsBacklog,
        )

        return PostgresWordsBacklog(self._tx)

    @property
    def large_strings(self) -> PostgresLargeStrings:
        """Loaded when it is needed: only people look at strings one by one."""
        from context_search.adapters.postgres.indexing.large_strings import (  # noqa: PLC0415
            PostgresLargeStrings,
        )

        return PostgresLargeStrings(self._tx)

    @property
    def outlines(self) -> PostgresOutlines:
        """Loaded when it is needed: only people look at documents."""
        from context_search.adapters.postgres.catalog.outlines import PostgresOutlines  # noqa: PLC0415

        return PostgresOutlines(self._tx)

    @property
    def uploads(self) -> PostgresUploads:
        from context_search.adapters.postgres.catalog.uploads import PostgresUploads  # noqa: PLC0415

        return PostgresUploads(self._tx)

    @property
    def judged_sets(self) -> PostgresJudgedSets:
        from context_search.adapters.postgres.catalog.judged_sets import (  # noqa: PLC0415
            PostgresJudgedSets,
        )

        return PostgresJudgedSets(self._tx)

    @property
    def health(self) -> PostgresHealth:
        from context_search.adapters.postgres.upkeep.health import PostgresHealth  # noqa: PLC0415

        return PostgresHealth(self._tx)

    @property
    def cleanup_runs(self) -> PostgresCleanupRuns:
        from context_search.adapters.postgres.upkeep.cleanup_runs import (  # noqa: PLC0415
            PostgresCleanupRuns,
        )

        return PostgresCleanupRuns(self._tx)

    # The room ``editing`` is loaded when it is needed: a search does without it.

    @property
    def versions(self) -> PostgresVersions:
        from context_search.adapters.postgres.editing.versions import PostgresVersions  # noqa: PLC0415

        return PostgresVersions(self._tx)

    @property
    def histories(self) -> PostgresHistories:
        from context_search.adapters.postgres.editing.histories import PostgresHistories  # noqa: PLC0415

        return PostgresHistories(self._tx)

    @property
    def history_settings(self) -> PostgresHistorySettings:
        from context_search.adapters.postgres.editing.history_settings import (  # noqa: PLC0415
            PostgresHistorySettings,
        )

        return PostgresHistorySettings(self._tx)

    @property
    def plans(self) -> PostgresPlans:
        from context_search.adapters.postgres.editing.plans import PostgresPlans  # noqa: PLC0415

        return PostgresPlans(self._tx)

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
        self._tx.ask_ahead([searched, moving_statement(index), chunks])


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
