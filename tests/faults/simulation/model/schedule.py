"""When cleanup has work next, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from context_search.maintenance.rules.schedule import CleanupLimits
from context_search.maintenance.sql.schedule import Schedule
from tests.faults.simulation.model.model import Model

Times = Iterator[datetime]
"""When a repository has work."""


class MemorySchedule(Model, Schedule):
    """``Schedule`` over rows in memory: the union of what the repositories say in ``due_at``."""

    def due_in_s(self, repositories: Iterable[Any], limits: CleanupLimits) -> float | None:
        times = [at for each in repositories for at in each.due_at(limits)]
        return (min(times) - self.clock.now()).total_seconds() if times else None
