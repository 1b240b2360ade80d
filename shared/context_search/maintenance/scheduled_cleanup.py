"""Cleanup rests where nothing is due, so that a database may sleep.

How long it rests is known to one process only, in its memory: a new process looks first.
docs/decisions/0037-cleanup-rests.md
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from context_search.core.errors import ContextSearchError
from context_search.integrations.ports import Clock, Deadline
from context_search.maintenance.cleanup import Cleanup
from context_search.maintenance.cleanup_report import CleanupReport

SHORTEST_S = 60.0
"""A shorter idle time is none: the next run would end it."""


@dataclass(slots=True)
class ScheduledCleanup:
    """Decides of each scheduled run whether it works or rests.

    It rests for ``idle_s`` of the cleanup's limits at most, and never beyond the time at which
    something that the database knows of is due.
    """

    cleanup: Cleanup
    clock: Clock
    rests_until: datetime | None = None

    def run(self, deadline: Deadline, *, may_idle: bool = True) -> CleanupReport:
        """Returns what was done. A run that rests asks nobody, and its report says so."""
        left_s = self._left_s()
        if may_idle and left_s > 0:
            return CleanupReport(is_resting=True, rests_s=left_s)
        self.rests_until = None
        started = self.clock.monotonic()
        report = self.cleanup.run(deadline)
        rest_s = self._idle_s(report)
        if rest_s > SHORTEST_S:
            self.rests_until = self.clock.now() + timedelta(seconds=rest_s)
            report.rests_s = rest_s
        self._note(report, self.clock.monotonic() - started)
        return report

    def _note(self, report: CleanupReport, seconds: float) -> None:
        """Keeps what owners of projects may see of it; a run without it is as good."""
        with suppress(ContextSearchError), self.cleanup.store.for_all("maintenance") as work:
            work.health.note_cleanup(report.as_run(self.clock.now(), seconds))

    def _left_s(self) -> float:
        if self.rests_until is None:
            return 0.0
        return (self.rests_until - self.clock.now()).total_seconds()

    def _idle_s(self, report: CleanupReport) -> float:
        """Returns how long nothing is due; 0 where there is more to do or nobody can say."""
        limits = self.cleanup.limits
        if limits.idle_s <= SHORTEST_S or report.has_worked:
            return 0.0
        if report.errors or not report.is_complete:
            return 0.0
        try:
            due_s = self._due_in_s()
        except ContextSearchError as error:
            report.errors.append(f"rest: {error.code}")
            return 0.0
        return limits.idle_s if due_s is None else min(limits.idle_s, due_s)

    def _due_in_s(self) -> float | None:
        due = dict.fromkeys(name for step in self.cleanup.steps() for name in step.due)
        with self.cleanup.store.for_all("maintenance") as work:
            repositories = [getattr(work, name) for name in due]
            return work.health.due_in_s(repositories, self.cleanup.limits)
