"""When cleanup worked last, in memory."""

from __future__ import annotations

from context_search.maintenance.rules.cleanup_runs import CleanupRun
from context_search.maintenance.sql.cleanup_runs import CleanupRuns
from tests.faults.simulation.model.model import Model


class MemoryCleanupRuns(Model, CleanupRuns):
    """``CleanupRuns`` over rows in memory."""

    def note(self, run: CleanupRun) -> None:
        self.rows.cleanup_runs[0] = run
