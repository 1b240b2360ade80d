"""A whole database in memory, with transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from context_search.core.errors import DatabaseUnavailableError
from context_search.integrations.ports import Clock, Deadline
from context_search.store import UnitOfWork
from testing.in_memory.catalog import MemoryProjects, MemoryTables
from testing.in_memory.chunks import MemoryChunks
from testing.in_memory.comparisons import MemoryComparisons
from testing.in_memory.health import MemoryHealth
from testing.in_memory.idempotency_keys import MemoryIdempotencyKeys
from testing.in_memory.indexes import MemoryIndexes
from testing.in_memory.judged_sets import MemoryJudgedSets
from testing.in_memory.keys import MemoryKeys
from testing.in_memory.keywords import MemoryKeywords
from testing.in_memory.large_strings import MemoryLargeStrings
from testing.in_memory.ledger import MemoryLedger
from testing.in_memory.live_chunks import MemoryLiveChunks
from testing.in_memory.mcp_instances import MemoryMcpInstances
from testing.in_memory.node_counts import MemoryNodeCounts
from testing.in_memory.nodes import MemoryNodes
from testing.in_memory.outbox import MemoryOutbox
from testing.in_memory.outlines import MemoryOutlines
from testing.in_memory.permits import MemoryPermits
from testing.in_memory.plans import MemoryPlans
from testing.in_memory.project_settings import MemoryProjectSettings
from testing.in_memory.quotas import MemoryQuotas
from testing.in_memory.rankings import MemoryRankings
from testing.in_memory.removals import MemoryRemovals
from testing.in_memory.rows import Rows
from testing.in_memory.sweeps import MemorySweeps
from testing.in_memory.tools import MemoryTools
from testing.in_memory.uploads import MemoryUploads
from testing.in_memory.versions import MemoryVersions


class MemoryUnitOfWork(UnitOfWork):
    """A transaction that has the repositories of the simulation and no others."""

    def __init__(self, rows: Rows, clock: Clock) -> None:
        self.projects = MemoryProjects(rows, clock)
        self.keys = MemoryKeys(rows, clock)
        self.mcp_instances = MemoryMcpInstances(rows, clock)
        self.tables = MemoryTables(rows, clock)
        self.outlines = MemoryOutlines(rows, clock)
        self.tools = MemoryTools(rows, clock)
        self.indexes = MemoryIndexes(rows, clock)
        self.comparisons = MemoryComparisons(rows, clock)
        self.nodes = MemoryNodes(rows, clock)
        self.node_counts = MemoryNodeCounts(rows, clock)
        self.large_strings = MemoryLargeStrings(rows, clock)
        self.chunks = MemoryChunks(rows, clock)
        self.live_chunks = MemoryLiveChunks(rows, clock)
        self.keywords = MemoryKeywords(rows, clock)
        self.outbox = MemoryOutbox(rows, clock)
        self.removals = MemoryRemovals(rows, clock)
        self.sweeps = MemorySweeps(rows, clock)
        self.quotas = MemoryQuotas(rows, clock)
        self.idempotency_keys = MemoryIdempotencyKeys(rows, clock)
        self.permits = MemoryPermits(rows, clock)
        self.project_settings = MemoryProjectSettings(rows, clock)
        self.rankings = MemoryRankings(rows, clock)
        self.health = MemoryHealth(rows, clock)
        self.uploads = MemoryUploads(rows, clock)
        self.judged_sets = MemoryJudgedSets(rows, clock)
        self.versions = MemoryVersions(rows, clock)
        self.plans = MemoryPlans(rows, clock)
        self.ledger = MemoryLedger(rows, clock)
        self._to_deliver: set[int] = set()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise AttributeError(f"the model has no {name}")

    def begin(self) -> None:
        """The same rows serve the next transaction."""
        self._to_deliver.clear()


class MemoryStore:
    """The port ``Store``: one transaction at a time. Between two, ``rows`` is what is committed."""

    def __init__(
        self, clock: Clock, unit_of_work: type[MemoryUnitOfWork] = MemoryUnitOfWork
    ) -> None:
        self.rows = Rows()
        self._work = unit_of_work(self.rows, clock)
        self._is_busy = False

    def for_project(
        self,
        project_id: int,  # noqa: ARG002 - no net here
        deadline: Deadline | None = None,
    ) -> AbstractContextManager[MemoryUnitOfWork]:
        return self._opened(deadline)

    def for_all(
        self,
        reason: str,  # noqa: ARG002 - for the reader
        deadline: Deadline | None = None,
    ) -> AbstractContextManager[MemoryUnitOfWork]:
        return self._opened(deadline)

    @contextmanager
    def _opened(self, deadline: Deadline | None) -> Iterator[MemoryUnitOfWork]:
        """An error, or a kill, leaves ``rows`` as they were; all takes no time.

        Raises RuntimeError inside of a transaction, as Postgres' does.
        """
        if self._is_busy:
            raise RuntimeError("transactions do not nest")
        if deadline is not None and not deadline.left_s():
            raise DatabaseUnavailableError("no time is left for a transaction")
        self._is_busy = True
        self._work.begin()
        try:
            yield self._work
            self.rows.commit()
        finally:
            self.rows.roll_back()
            self._is_busy = False
