"""Cleanup rests where nothing is due, and works as soon as something is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest

from context_search.core.errors import DatabaseUnavailableError
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.scheduled_cleanup import ScheduledCleanup
from context_search.store import UnitOfWork
from tests.stores import StoreInFront
from tests.system import SILENT_S, System, prose

HOUR = 3_600.0
GRACE_S = 1_800.0


@dataclass
class Watched(StoreInFront):
    """A store that counts its transactions, and may be away, or go away after some of them."""

    asked: int = 0
    is_away: bool = False
    away_after: int | None = None

    def around(
        self, opened: AbstractContextManager[UnitOfWork]
    ) -> AbstractContextManager[UnitOfWork]:
        self.asked += 1
        if self.is_away or (self.away_after is not None and self.asked > self.away_after):
            raise DatabaseUnavailableError("away")
        return opened


class Scheduled(System):
    """A deployment with its schedule, and a database that is watched."""

    def __init__(self, idle_s: float = HOUR) -> None:
        super().__init__()
        self.watched = Watched(self.model_store)
        self.store = OutboxDelivery(self.watched, self.queue, self.report)
        self.limits = CleanupLimits(SILENT_S, GRACE_S, idle_s=idle_s)
        self.scheduled_cleanup = self.environment()

    def environment(self) -> ScheduledCleanup:
        return ScheduledCleanup(self.scheduled(self.limits), self.clock)

    def scheduled_run(self) -> CleanupReport:
        return self.scheduled_cleanup.run(self.deadline())

    def runs(self, seconds: float) -> list[CleanupReport]:
        """A run every minute for so long; returns those that worked."""
        worked = []
        for _ in range(int(seconds // 60)):
            self.clock.advance(60)
            report = self.scheduled_run()
            if not report.is_resting:
                worked.append(report)
        return worked


def quiet(system: Scheduled) -> Scheduled:
    """A tool that is indexed, and cleanup has nothing left to do."""
    system.tool(system.table({"a": prose(500)}))
    system.work()
    while not system.scheduled_run().rests_s:
        system.clock.advance(60)
    return system


def test_a_run_that_rests_asks_nobody_and_says_so() -> None:
    system = quiet(Scheduled())
    asked = system.watched.asked
    system.clock.advance(60)
    report = system.scheduled_run()
    assert (report.is_resting, report.rests_s) == (True, HOUR - 60)
    assert system.watched.asked == asked


def test_a_rest_ends_after_the_idle_time_and_another_begins() -> None:
    system = quiet(Scheduled())
    assert len(system.runs(10 * HOUR)) == 10


def test_with_the_usual_idle_time_every_run_works_and_nobody_reads_the_schedule() -> None:
    system = Scheduled(idle_s=60)
    system.tool(system.table({"a": prose(500)}))
    system.work()
    assert len(system.runs(HOUR)) == 60
    asked = system.watched.asked
    system.scheduled_run()
    usual = system.watched.asked - asked
    system.scheduled(system.limits).run(system.deadline())
    assert system.watched.asked - asked == 2 * usual - 1  # only the schedule notes its run


def test_a_new_process_and_a_run_by_hand_look_at_once() -> None:
    system = quiet(Scheduled())
    system.clock.advance(60)
    assert not system.environment().run(system.deadline()).is_resting
    assert not system.scheduled_cleanup.run(system.deadline(), may_idle=False).is_resting


def test_work_that_goes_on_and_failures_allow_no_rest() -> None:
    system = Scheduled()
    system.tool(system.table({"a": prose(500)}))  # no worker has handled the message yet
    assert len(system.runs(600)) >= 3
    system.work()
    system.watched.is_away = True
    reports = system.runs(600)
    assert len(reports) >= 9
    assert all(report.errors for report in reports)


def test_a_run_that_cannot_find_out_what_is_due_says_so_and_the_next_one_works() -> None:
    system = quiet(Scheduled())
    asked = system.watched.asked
    system.scheduled(system.limits).run(system.deadline())
    steps = system.watched.asked - asked
    system.watched.away_after = system.watched.asked + steps  # all steps, and then nothing
    report = system.environment().run(system.deadline())
    assert (report.errors, report.rests_s) == (["rest: DATABASE_UNAVAILABLE"], 0)


def test_what_is_deleted_leaves_for_good_as_soon_as_its_grace_is_over() -> None:
    system = quiet(Scheduled())
    system.runs(HOUR)  # the next run looks
    system.scheduled_cleanup.rests_until = None
    table = next(iter(system.model_store.rows.tables))
    system.delete_table(system.principal, table)
    worked = system.runs(GRACE_S + 180)
    assert not system.vectors.namespaces
    assert 2 <= len(worked) < 8  # the grace was a rest
    assert not system.model_store.rows.tables


def test_a_change_by_plain_sql_is_found_when_the_rest_is_over_and_not_later() -> None:
    system = quiet(Scheduled())
    [table] = system.model_store.rows.tables.values()
    system.model_store.rows.change(
        system.model_store.rows.tables, table.id, revision=table.revision + 1, data_json="{}"
    )
    assert system.runs(HOUR - 60) == []
    [report] = system.runs(60)
    assert report.comparisons_ordered == 1


@pytest.mark.parametrize("idle_s", [60.0, HOUR])
def test_namespaces_are_swept_no_more_often_than_cleanup_looks(idle_s: float) -> None:
    limits = CleanupLimits(SILENT_S, idle_s=idle_s)
    rounds = Scheduled().scheduled(limits).sweep_rounds
    assert rounds.swept_after_s == max(idle_s, SILENT_S)
