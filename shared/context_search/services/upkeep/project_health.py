"""How a project is: for its owner, who is woken at night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from context_search.domain.access import Principal
from context_search.domain.limits import (
    HELD,
    DailyLimits,
    ProjectBounds,
    ProjectLimits,
    Spent,
    Usage,
)
from context_search.ports.outside import Clock
from context_search.ports.store import Store
from context_search.ports.upkeep.cleanup_runs import CleanupRun
from context_search.ports.upkeep.health import ProjectReadings

SPENT_DAYS = 31
"""Number of days whose spending is shown."""


@dataclass(frozen=True, slots=True)
class ProjectHealth:
    """The readings of a project ``at`` a moment, what it holds, and when cleanup worked last.

    ``spent``: on the latest days on which something was, the newest first.
    """

    at: datetime
    readings: ProjectReadings
    usage: Usage
    held: Mapping[str, int]
    spent: Sequence[Spent]
    cleanup: CleanupRun | None


@dataclass(frozen=True, slots=True)
class ReadProjectHealth:
    """Reads it in one transaction; the limits are those of every project."""

    store: Store
    limits: ProjectLimits
    bounds: ProjectBounds
    daily: DailyLimits
    clock: Clock

    def read(self, principal: Principal) -> ProjectHealth:
        """Returns how the caller's project is."""
        with self.store.for_project(principal.project_id) as work:
            return ProjectHealth(
                at=self.clock.now(),
                readings=work.health.of_project(principal.project_id),
                usage=work.quotas.used(principal.project_id),
                held={kind: work.quotas.held(principal.project_id, kind) for kind in HELD},
                spent=work.ledger.days(principal.project_id, limit=SPENT_DAYS),
                cleanup=work.cleanup_runs.last(),
            )
