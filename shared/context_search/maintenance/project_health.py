"""How a project is: for its owner, who is woken at night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from context_search.core.callers import Principal
from context_search.core.limits import HELD_KINDS, Spent, Usage
from context_search.integrations.ports import Clock, Deadline
from context_search.maintenance.part_checks import PartCheck, PartHealth
from context_search.maintenance.rules.health import CleanupRun, ProjectReadings
from context_search.settings import Settings
from context_search.store import Store

UNKNOWN_PERIOD_S = 86_400.0
"""What counts as cleanup's period where its schedule does not tell."""

SPENT_DAYS = 31
"""Number of days whose spending is shown."""


@dataclass(frozen=True, slots=True)
class ProjectHealth:
    """The readings of a project ``at`` a moment, what it holds, and when cleanup worked last.

    ``stalled``: how many indexes have strings that wait, and no worker at the project's. ``spent``:
    on the latest days on which something was, the newest first. ``parts`` are all that the project
    stands on.
    """

    at: datetime
    readings: ProjectReadings
    stalled: int
    usage: Usage
    held: Mapping[str, int]
    spent: Sequence[Spent]
    cleanup: CleanupRun | None
    parts: Sequence[PartHealth]


@dataclass(frozen=True, slots=True)
class ReadProjectHealth:
    """Reads it in one transaction, and asks the parts outside meanwhile."""

    store: Store
    settings: Settings
    clock: Clock
    integrations: Sequence[PartCheck]

    def read(self, principal: Principal) -> ProjectHealth:
        """Returns how the caller's project is; what hangs holds it up for seconds only."""
        project_id, silent_s = principal.project_id, self.settings.silent_after_s
        for check in self.integrations:
            check.begin()
        within_s = max(check.within_s for check in self.integrations)
        deadline = Deadline(self.clock, self.clock.monotonic() + within_s)
        with self.store.for_project(project_id, deadline) as work:
            stalled = work.node_counts.stalled(project_id, silent_s=silent_s)
            readings = work.health.of_project(project_id)
            usage = work.quotas.used(project_id)
            held: dict[str, int] = {kind: work.quotas.held(project_id, kind) for kind in HELD_KINDS}
            spent = work.ledger.days(project_id, limit=SPENT_DAYS)
            cleanup = work.health.last_cleanup()
        outside = [check.result(deadline.ends_at) for check in self.integrations]
        at = self.clock.now()
        parts = [
            PartHealth("database", checked_at=at),
            *(_queue(part, readings, silent_s) for part in outside),
            _indexes(readings, stalled, at),
            _cleanup(cleanup, at, self.settings.cleanup_every_s or UNKNOWN_PERIOD_S),
        ]
        return ProjectHealth(at, readings, stalled, usage, held, spent, cleanup, parts)


def _queue(part: PartHealth, readings: ProjectReadings, silent_s: float) -> PartHealth:
    """Returns a queue that answers and does not take the project's messages as failing."""
    if part.name != "queue" or part.state != "ok" or readings.oldest_message_s <= silent_s:
        return part
    return PartHealth("queue", "failing", "ORDERS_WAIT", part.checked_at)


def _indexes(readings: ProjectReadings, stalled: int, at: datetime) -> PartHealth:
    if stalled:
        return PartHealth("indexes", "failing", "INDEX_STALLED", at)
    if readings.errors:
        return PartHealth("indexes", "failing", readings.errors[0].code, at)
    return PartHealth("indexes", checked_at=at)


def _cleanup(run: CleanupRun | None, at: datetime, every_s: float) -> PartHealth:
    """Returns how cleanup is; it is overdue when it is later than twice its period."""
    if run is None:
        return PartHealth("cleanup", "unknown", "CLEANUP_NEVER_RAN", at)
    due_at = max(run.finished_at, run.rests_until or run.finished_at)
    overdue_at = due_at + timedelta(seconds=2 * every_s + run.seconds)
    if at > overdue_at:
        return PartHealth("cleanup", "failing", "CLEANUP_OVERDUE", at, since=overdue_at)
    if run.errors:
        return PartHealth("cleanup", "failing", run.errors[0], at, since=run.finished_at)
    return PartHealth("cleanup", checked_at=at, since=run.finished_at)
