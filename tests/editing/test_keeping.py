"""What cleanup does with plans."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.health import CleanupLimits
from context_search_editing.keeping import PLANS_EMPTIED_PER_STEP, PLANS_PER_STEP, keep_plans
from context_search_editing.rules.edits import Edit
from context_search_editing.rules.plans import (
    TEXTS_OUTLIVE_S,
    NewPlan,
    Plan,
    PlannedString,
    PlannedTable,
    ReplaceScope,
)
from context_search_editing.rules.replacing import ReplaceRequest
from tests.editing.replacing import BusyStore
from tests.system import SILENT_S, System

HOUR_S, DAY_S = 3_600.0, 86_400.0


class PlanSystem(System):
    """A system with plans."""

    def plan(self, *, undoes: int | None = None, **changes: object) -> Plan:
        """A plan of one string, and what became of it."""
        request = ReplaceRequest("a", "b") if undoes is None else None
        new = NewPlan(
            self.principal.project_id,
            request,
            ReplaceScope(),
            b"hmac",
            "",
            lifetime_s=HOUR_S,
            actor=None,
            undoes=undoes,
        )
        edits = (Edit(0, "a", "b"),)
        with self.store.for_all("test") as work:
            plan = work.plans.add(new)
            assert plan is not None
            string = PlannedString(4, 0, "", 1, 1, b"1", b"2", b"2", edits=edits)
            work.plans.add_tables(plan.id, [PlannedTable(4, 1, 1, 1)], [string])
            work.plans.save(replace(plan, **changes))  # type: ignore[arg-type]
        return plan

    def done(self, **more: int | None) -> Plan:
        """A plan that was executed and can be undone for a month."""
        until = self.clock.now() + timedelta(days=30)
        return self.plan(state="done", undo_until=until, **more)

    def now(self, plan: Plan) -> Plan | None:
        with self.store.for_all("test") as work:
            return work.plans.lock(plan.id)

    def has_texts(self, plan: Plan) -> bool:
        """Whether something of its strings is stored."""
        with self.store.for_all("test") as work:
            return bool(work.plans.strings(plan.id, 4))

    def clean(self) -> CleanupReport:
        return self.scheduled(CleanupLimits(SILENT_S)).run(self.deadline())


@pytest.fixture
def system() -> PlanSystem:
    made = PlanSystem()
    with made.store.for_all("test") as work:
        assert work.projects.add("p").id == made.principal.project_id
    return made


def test_a_plan_that_nobody_executes_expires_and_then_loses_its_texts(system: PlanSystem) -> None:
    plan = system.plan(state="ready")
    system.clock.advance(HOUR_S - 1)
    assert not system.clean().has_worked
    system.clock.advance(1)
    assert system.clean().plans_expired == 1
    assert system.has_texts(plan)
    system.clock.advance(TEXTS_OUTLIVE_S)
    report = system.clean()
    assert (report.plans_expired, report.plan_texts_forgotten) == (0, 1)
    assert not system.has_texts(plan)
    now = system.now(plan)
    assert now is not None
    assert (now.state, now.request, now.request_hmac) == ("expired", None, b"hmac")


def test_an_undo_that_begins_in_the_last_moment_has_the_texts(system: PlanSystem) -> None:
    plan = system.done()
    system.clock.advance(30 * DAY_S + 1)

    def undo() -> None:
        system.plan(undoes=plan.id, state="executing")

    keep_plans(BusyStore(system.store, 2, undo), silent_s=SILENT_S)
    assert system.has_texts(plan)
    keep_plans(system.store, silent_s=SILENT_S)
    assert system.has_texts(plan)


def test_a_silent_plan_is_ordered_again_once_in_that_time(system: PlanSystem) -> None:
    previewing, executing = system.plan(), system.plan(state="executing")
    system.clock.advance(SILENT_S)
    assert system.clean().plans_revived == 0
    system.clock.advance(1)
    assert system.clean().plans_revived == 2
    assert system.clean().plans_revived == 0
    sent = [message["plan_id"] for message in system.queue.messages if message["kind"] == "plan"]
    assert sorted(map(str, sent)) == sorted([str(previewing.id), str(executing.id)])
    system.clock.advance(SILENT_S + 1)
    assert system.clean().plans_revived == 2
    with system.model_store.for_all("test") as work:
        assert work.outbox.waiting(limit=9) == []


def test_more_plans_than_a_step_takes_are_done_in_one_run(system: PlanSystem) -> None:
    many = max(PLANS_PER_STEP, 2 * PLANS_EMPTIED_PER_STEP) + 1
    plans = [system.plan(state="ready") for _ in range(many)]
    system.clock.advance(HOUR_S + TEXTS_OUTLIVE_S)
    report = system.clean()
    assert (report.plans_expired, report.plan_texts_forgotten) == (many, many)
    assert report.is_complete
    assert not any(map(system.has_texts, plans))


def test_a_deleted_project_goes_with_its_plans(system: PlanSystem) -> None:
    plan = system.done()
    system.done(undoes=plan.id)
    with system.store.for_all("test") as work:
        assert work.projects.mark_deleted(system.principal.project_id)
    report = system.clean()
    assert (report.plans_removed, report.rows_removed) == (2, 1)
    assert system.now(plan) is None
