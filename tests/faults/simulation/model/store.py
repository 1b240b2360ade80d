"""A whole database in memory, with transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from context_search.core.errors import DatabaseUnavailableError
from context_search.integrations.ports import Clock, Deadline
from context_search.store import UnitOfWork
from tests.faults.simulation.model.catalog import MemoryProjects, MemoryTables
from tests.faults.simulation.model.chunks import MemoryChunks
from tests.faults.simulation.model.comparisons import MemoryComparisons
from tests.faults.simulation.model.health import MemoryHealth
from tests.faults.simulation.model.indexes import MemoryIndexes
from tests.faults.simulation.model.keywords import MemoryKeywords
from tests.faults.simulation.model.ledger import MemoryLedger
from tests.faults.simulation.model.live_chunks import MemoryLiveChunks
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.node_counts import MemoryNodeCounts
from tests.faults.simulation.model.nodes import MemoryNodes
from tests.faults.simulation.model.outbox import MemoryOutbox
from tests.faults.simulation.model.permits import MemoryPermits
from tests.faults.simulation.model.plans import MemoryPlans
from tests.faults.simulation.model.quotas import MemoryQuotas
from tests.faults.simulation.model.removals import MemoryRemovals
from tests.faults.simulation.model.rows import Rows
from tests.faults.simulation.model.sweeps import MemorySweeps
from tests.faults.simulation.model.tools import MemoryTools
from tests.faults.simulation.model.versions import MemoryVersions


class ModelUnitOfWork(UnitOfWork):
    """A transaction that has the repositories of the simulation and no others."""

    def __init__(self, rows: Rows, clock: Clock) -> None:
        self.projects = MemoryProjects(rows, clock)
        self.tables = MemoryTables(rows, clock)
        self.tools = MemoryTools(rows, clock)
        self.indexes = MemoryIndexes(rows, clock)
        self.comparisons = MemoryComparisons(rows, clock)
        self.nodes = MemoryNodes(rows, clock)
        self.node_counts = MemoryNodeCounts(rows, clock)
        self.chunks = MemoryChunks(rows, clock)
        self.live_chunks = MemoryLiveChunks(rows, clock)
        self.keywords = MemoryKeywords(rows, clock)
        self.outbox = MemoryOutbox(rows, clock)
        self.removals = MemoryRemovals(rows, clock)
        self.sweeps = MemorySweeps(rows, clock)
        self.quotas = MemoryQuotas(rows, clock)
        self.permits = MemoryPermits(rows, clock)
        self.health = MemoryHealth(rows, clock)
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


def work_with(**repositories: type[Model]) -> type[ModelUnitOfWork]:
    """Returns a unit of work in which these repositories stand in for those of their names."""

    class Mutated(ModelUnitOfWork):
        def __init__(self, rows: Rows, clock: Clock) -> None:
            super().__init__(rows, clock)
            vars(self).update({name: made(rows, clock) for name, made in repositories.items()})

    return Mutated


class ModelStore:
    """Implements ``Store``: one transaction at a time; between two, ``rows`` is committed."""

    def __init__(self, clock: Clock, unit_of_work: type[ModelUnitOfWork] = ModelUnitOfWork) -> None:
        self.rows = Rows()
        self._work = unit_of_work(self.rows, clock)
        self._is_busy = False

    def for_project(
        self,
        project_id: int,
        deadline: Deadline | None = None,
    ) -> AbstractContextManager[ModelUnitOfWork]:
        return self._opened(deadline)

    def for_all(
        self,
        reason: str,
        deadline: Deadline | None = None,
    ) -> AbstractContextManager[ModelUnitOfWork]:
        return self._opened(deadline)

    @contextmanager
    def _opened(self, deadline: Deadline | None) -> Iterator[ModelUnitOfWork]:
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
