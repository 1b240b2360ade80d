"""Contract of ``Plans``: what expires, is forgotten and goes with its project or table."""

from __future__ import annotations

from dataclasses import replace

from context_search.maintenance.rules.removals import Removal
from context_search_editing.rules.edits import Edit
from context_search_editing.rules.plans import PLAN_KEPT_S, TEXTS_OUTLIVE_S, PlanState
from tests.contract.store.bench import Bench
from tests.contract.store.planned import LATER, added, read, saved, string, table, undo_of


def test_a_removed_plan_takes_all_that_it_has_with_it(bench: Bench) -> None:
    plan, other = (saved(bench, added(bench, bench.project().id), state="done") for _ in range(2))
    undo = undo_of(bench, plan)
    assert undo is not None
    with bench.store.for_all("test") as work:
        for each in (plan, undo, other):
            work.plans.add_tables(each.id, [table(4)], [string(4, 0, 1)])
        work.plans.remove(plan.id)
    with bench.store.for_all("test") as work:
        for gone in (plan, undo):
            assert work.plans.lock(gone.id) is None
            assert work.plans.tables(gone.id, limit=1) == []
            assert work.plans.strings(gone.id, 4) == []
        assert len(work.plans.strings(other.id, 4)) == 1


def test_forgotten_texts_are_gone_and_counts_stay(bench: Bench) -> None:
    plan = saved(bench, added(bench, bench.project().id), state="done", undo_until=LATER)
    undo = undo_of(bench, plan)
    assert undo is not None
    undo = saved(bench, undo, state="done", undo_until=LATER)
    for each in (plan, undo):
        with bench.store.for_all("test") as work:
            edited = string(4, 0, 1, edits=(Edit(0, "a", "b"),))
            work.plans.add_tables(each.id, [table(4)], [edited])
            work.plans.purge_texts(each.id)
            assert work.plans.strings(each.id, 4) == []
            assert work.plans.tables(each.id, limit=1) == [table(4)]
        left = replace(each, request=None, undo_until=None, undone_by=read(bench, each).undone_by)
        assert read(bench, each) == left


def test_plans_that_were_not_executed_in_their_time_expire(bench: Bench) -> None:
    project = bench.project().id
    old = [added(bench, project, lifetime_s=60.0 + number) for number in range(4)]
    saved(bench, old[1], state="ready")
    saved(bench, old[2], state="executing")
    bench.pass_time(120)
    young = added(bench, project, lifetime_s=60.0)
    assert bench.work.plans.expire(limit=2) == 2
    assert [read(bench, plan).state for plan in (*old, young)] == [
        "expired",
        "expired",
        "executing",
        "previewing",
        "previewing",
    ]
    assert bench.work.plans.expire(limit=2) == 1
    assert bench.work.plans.expire(limit=2) == 0


def outlived(bench: Bench, *, limit: int = 9) -> list[int]:
    """Plans that need their texts no more."""
    return bench.work.plans.outlived(limit=limit)


def purgeable(bench: Bench, *, limit: int = 9) -> list[int]:
    """Plans that are not needed any more."""
    return bench.work.plans.purgeable(limit=limit)


def test_texts_are_outlived_when_nobody_can_use_them_any_more(bench: Bench) -> None:
    project = bench.project().id
    states: list[PlanState] = ["expired", "cancelled", "failed", "ready", "executing", "done"]
    plans = {state: added(bench, project, lifetime_s=100.0) for state in states}
    for state, plan in plans.items():
        saved(bench, plan, state=state)
    done = saved(bench, plans["done"], state="done", undo_until=LATER)
    bench.pass_time(99 + TEXTS_OUTLIVE_S)
    assert outlived(bench) == []
    bench.pass_time(2)
    never = [plans[state].id for state in ("expired", "cancelled", "failed")]
    assert outlived(bench) == never
    assert len(outlived(bench, limit=2)) == 2
    for plan_id in never:
        bench.work.plans.purge_texts(plan_id)
    assert outlived(bench) == []
    saved(bench, done, undo_until=read(bench, done).created_at)
    saved(bench, plans["failed"], state="failed")  # its texts are gone, whatever is saved
    assert outlived(bench) == [done.id]


def test_texts_stay_while_somebody_undoes_what_they_did(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    plan = saved(bench, plan, state="done", undo_until=plan.created_at)
    undo = undo_of(bench, plan)
    assert undo is not None
    saved(bench, undo, state="executing")
    assert outlived(bench) == []
    saved(bench, undo, state="done", undo_until=LATER)
    assert outlived(bench) == [plan.id]


def test_plans_are_forgettable_after_a_year_undos_first(bench: Bench) -> None:
    project = bench.project().id
    plan, open_one, other = (added(bench, project) for _ in range(3))
    saved(bench, plan, state="done")
    saved(bench, other, state="cancelled")
    undo = undo_of(bench, plan)
    assert undo is not None
    saved(bench, undo, state="done")
    bench.pass_time(PLAN_KEPT_S - 10)
    saved(bench, added(bench, project), state="done")
    assert purgeable(bench) == []
    bench.pass_time(20)
    assert purgeable(bench) == [other.id, undo.id]
    assert len(purgeable(bench, limit=1)) == 1
    bench.work.plans.remove(undo.id)
    bench.work.plans.remove(other.id)
    assert purgeable(bench) == [plan.id]
    saved(bench, open_one, state="expired")
    assert purgeable(bench) == [plan.id, open_one.id]


def test_plans_of_a_deleted_project_go_before_it(bench: Bench) -> None:
    project, others = bench.project().id, bench.project().id
    plan = saved(bench, added(bench, project), state="executing")
    added(bench, others)
    undo = undo_of(bench, plan)
    assert undo is not None
    assert bench.work.projects.mark_deleted(project)
    assert bench.work.removals.due(limit=9) == []
    assert purgeable(bench) == [undo.id]
    bench.work.plans.remove(undo.id)
    assert purgeable(bench) == [plan.id]
    with bench.store.for_all("test") as work:
        work.plans.remove(plan.id)
        assert work.removals.due(limit=9) == [Removal("project", project)]
        assert work.removals.remove(Removal("project", project)) == "removed"
        assert len(work.plans.page(others, below=None, limit=9)) == 1


def test_a_project_takes_the_plans_with_it_that_came_last(bench: Bench) -> None:
    project = bench.project().id
    plan = saved(bench, added(bench, project), state="done")
    undo = undo_of(bench, plan)
    assert undo is not None
    with bench.store.for_all("test") as work:
        work.plans.add_tables(undo.id, [table(4)], [string(4, 0, 1)])
        assert work.projects.mark_deleted(project)
        assert work.removals.remove(Removal("project", project)) == "removed"
        assert work.plans.lock(plan.id) is None
        assert work.plans.strings(undo.id, 4) == []


def test_a_table_takes_the_strings_with_it_that_came_last(bench: Bench) -> None:
    gone, kept = bench.table({}), bench.table({})
    plan = added(bench, gone.project_id)
    bench.delete(gone)
    with bench.store.for_all("test") as work:
        for each in (gone, kept):
            work.plans.add_tables(plan.id, [table(each.id)], [string(each.id, 0, 1)])
        assert work.removals.remove(Removal("table", gone.id)) == "removed"
    assert bench.work.plans.strings(plan.id, gone.id) == []
    assert len(bench.work.plans.strings(plan.id, kept.id)) == 1


def test_strings_of_a_deleted_table_go_before_it(bench: Bench) -> None:
    gone, kept = bench.table({}), bench.table({})
    plan = added(bench, gone.project_id)
    with bench.store.for_all("test") as work:
        for each in (gone, kept):
            strings = [string(each.id, position, 1 + position) for position in range(3)]
            work.plans.add_tables(plan.id, [table(each.id)], strings)
        assert work.plans.purge_strings(limit=9) == 0
    bench.delete(gone)
    with bench.store.for_all("test") as work:
        assert work.plans.purge_strings(limit=2) == 2
        assert Removal("table", gone.id) not in work.removals.due(limit=9)
        assert work.plans.purge_strings(limit=2) == 1
        assert work.plans.purge_strings(limit=2) == 0
        assert work.removals.due(limit=9) == [Removal("table", gone.id)]
        assert work.removals.remove(Removal("table", gone.id)) == "removed"
        assert len(work.plans.strings(plan.id, kept.id)) == 3
        rest = [each.table_id for each in work.plans.tables(plan.id, limit=9)]
        assert rest == [gone.id, kept.id]
