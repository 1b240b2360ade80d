"""How a project is: for its owner, who is woken at night."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from context_search.domain.access import Principal
from context_search.domain.limits import ProjectLimits, Usage
from context_search.ports.outside import Clock
from context_search.ports.store import Store
from context_search.ports.upkeep.cleanup_runs import CleanupRun
from context_search.ports.upkeep.health import ProjectReadings


@dataclass(frozen=True, slots=True)
class ProjectHealth:
    """The readings of a project ``at`` a moment, what it holds, and when cleanup worked last."""

    at: datetime
    readings: ProjectReadings
    usage: Usage
    cleanup: CleanupRun | None


@dataclass(frozen=True, slots=True)
class ReadProjectHealth:
    """Reads it in one transaction; ``limits`` are those of every project."""

    store: Store
    limits: ProjectLimits
    clock: Clock

    def read(self, principal: Principal) -> ProjectHealth:
        """Returns how the caller's project is."""
        with self.store.for_project(principal.project_id) as work:
            return ProjectHealth(
                at=self.clock.now(),
                readings=work.health.of_project(principal.project_id),
                usage=work.quotas.used(principal.project_id),
                cleanup=work.cleanup_runs.last(),
            )
