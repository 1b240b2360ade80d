"""When cleanup has work next, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from context_search.integrations.ports import Clock
from context_search.maintenance.ports.schedule import CleanupLimits

Times = Iterator[datetime]
"""When a repository has work."""


@dataclass(frozen=True, slots=True)
class MemorySchedule:
    """The port ``Schedule``: the union of what the repositories say in ``due_at``."""

    clock: Clock

    def due_in_s(self, repositories: Iterable[Any], limits: CleanupLimits) -> float | None:
        times = [at for each in repositories for at in each.due_at(limits)]
        return (min(times) - self.clock.now()).total_seconds() if times else None
