"""A whole database in memory, with transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from context_search.core.errors import DatabaseUnavailableError
from context_search.integrations.ports import Clock, Deadline
from context_search.store import UnitOfWork
from tests.faults.simulation.model.catalog import ModelProjects, ModelTables
from tests.faults.simulation.model.chunks import ModelChunks
from tests.faults.simulation.model.comparisons import ModelComparisons
from tests.faults.simulation.model.health import ModelHealth
from tests.faults.simulation.model.indexes import ModelIndexes
from tests.faults.simulation.model.keywords import ModelKeywords
from tests.faults.simulation.model.ledger import ModelLedger
from tests.faults.simulation.model.live_chunks import ModelLiveChunks
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.node_counts import ModelNodeCounts
from tests.faults.simulation.model.nodes import ModelNodes
from tests.faults.simulation.model.outbox import ModelOutbox
from tests.faults.simulation.model.permits import ModelPermits
from tests.faults.simulation.model.plans import ModelPlans
from tests.faults.simulation.model.quotas import ModelQuotas
from tests.faults.simulation.model.removals import ModelRemovals
from tests.faults.simulation.model.rows import Rows
from tests.faults.simulation.model.sweeps import ModelSweeps
from tests.faults.simulation.model.tools import ModelTools
from tests.faults.simulation.model.versions import ModelVersions


class ModelUnitOfWork(UnitOfWork):
    """A transaction that has the repositories of the simulation and no others."""

    def __init__(self, rows: Rows, clock: Clock) -> None:
        self.projects = ModelProjects(rows, clock)
        self.tables = ModelTables(rows, clock)
        self.tools = ModelTools(rows, clock)
        self.indexes = ModelIndexes(rows, clock)
        self.comparisons = ModelComparisons(rows, clock)
        self.nodes = ModelNodes(rows, clock)
        self.node_counts = ModelNodeCounts(rows, clock)
        self.chunks = ModelChunks(rows, clock)
        self.live_chunks = ModelLiveChunks(rows, clock)
        self.keywords = ModelKeywords(rows, clock)
        self.outbox = ModelOutbox(rows, clock)
        self.removals = ModelRemovals(rows, clock)
        self.sweeps = ModelSweeps(rows, clock)
        self.quotas = ModelQuotas(rows, clock)
        self.permits = ModelPermits(rows, clock)
        self.health = ModelHealth(rows, clock)
        self.versions = ModelVersions(rows, clock)
        self.plans = ModelPlans(rows, clock)
        self.ledger = ModelLedger(rows, clock)
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
