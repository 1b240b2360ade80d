"""Contract of ``Plans``: a plan, what becomes of it, and who may begin one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.core.messages import ExecutePlan
from context_search_editing.rules.edits import LeftOut
from context_search_editing.rules.plans import (
    Choice,
    OpenPlans,
    PlanCounts,
    PlanState,
    ReplaceScope,
)
from tests.contract.store.bench import Bench, PostgresBench, only_postgres
from tests.contract.store.planned import ASKED, LATER, added, asked, read, saved, table, undo_of


def test_a_plan_begins_as_it_was_asked_for(bench: Bench) -> None:
    project = bench.project().id
    scope = ReplaceScope(table_ids=(9, 4), json_pointer="/章/𠮷~0")
    plan = added(bench, project, scope=scope, mcp_id=5, request_id="a-request")
    assert (plan.project_id, plan.state, plan.request, plan.scope) == (
        project,
        "previewing",
        ASKED,
        scope,
    )
    assert (plan.request_hmac, plan.engine, plan.previewed_by) == (b"\0hmac\xff", "re2 1", "key:7")
    assert (plan.mcp_id, plan.request_id, plan.undoes, plan.undone_by) == (
        5,
        "a-request",
        None,
        None,
    )
    assert (plan.expires_at - plan.created_at).total_seconds() == 600
    assert (plan.counts, plan.choice, plan.digest, plan.runs) == (PlanCounts(), None, None, 0)
    assert read(bench, plan) == plan


@pytest.mark.parametrize(
    "scope",
    [
        ReplaceScope(),
        ReplaceScope(table_ids=()),
        ReplaceScope(table_ids=(1,)),
        ReplaceScope(places=()),
        ReplaceScope(places=((4, ""), (4, "/a"), (2, "/b"))),
    ],
)
def test_every_scope_is_kept(bench: Bench, scope: ReplaceScope) -> None:
    assert read(bench, added(bench, bench.project().id, scope=scope)).scope == scope


@pytest.mark.parametrize(
    "choice",
    [
        Choice(),
        Choice(only=frozenset()),
        Choice(only=frozenset({3, 1}), leave_tables=frozenset({2**53 + 1})),
        Choice(leave=frozenset(range(1, 10_001)), on_conflict="skip"),
    ],
)
def test_every_choice_is_kept(bench: Bench, choice: Choice) -> None:
    plan = added(bench, bench.project().id)
    assert saved(bench, plan, choice=choice).choice == choice


def test_what_may_change_is_saved_and_nothing_else(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    counts = PlanCounts(
        3, 5, 7, 50_000_000, 10, 10**12, 10**10, LeftOut(1, 2, 3, 4), ("MATCHES_AGAIN",)
    )
    changed = replace(
        plan,
        state="partial",
        after_table=2**40,
        digest=bytes(range(16)),
        counts=counts,
        choice=Choice(),
        executed_by="token:ab",
        executed_at=LATER,
        undo_until=LATER,
        runs=2,
        last_error={"code": "X", "message": "中"},
    )
    others = replace(changed, request=None, engine="x", previewed_by="x", mcp_id=9, undoes=1)
    bench.work.plans.save(others)
    assert read(bench, plan) == changed
    again = replace(
        changed, state="ready", digest=None, choice=None, undo_until=None, last_error=None
    )
    bench.work.plans.save(again)
    assert read(bench, plan) == again


def test_a_plan_is_found_in_its_project_only(bench: Bench) -> None:
    plan, project = added(bench, bench.project().id), bench.project().id
    with bench.store.for_all("test") as work:
        assert work.plans.find(plan.id, project_id=plan.project_id) == plan
        assert work.plans.find(plan.id, project_id=project) is None
        assert work.plans.find(10**9, project_id=plan.project_id) is None
        assert work.plans.lock(10**9) is None
        assert work.plans.page(project, below=None, limit=9) == []


def test_plans_are_listed_from_the_newest(bench: Bench) -> None:
    project = bench.project().id
    plans = [added(bench, project) for _ in range(3)]
    added(bench, bench.project().id)
    undo = undo_of(bench, saved(bench, plans[0], state="done"))
    assert undo is not None
    first = replace(read(bench, plans[0]), undone_by=undo.id)
    assert bench.work.plans.page(project, below=undo.id, limit=2) == [plans[2], plans[1]]
    assert bench.work.plans.page(project, below=plans[1].id, limit=2) == [first]


def test_open_plans_and_previews_are_counted(bench: Bench) -> None:
    project = bench.project().id

    def counted() -> OpenPlans:
        return bench.work.plans.open(project)

    assert counted() == OpenPlans(0, 0)
    plans = [added(bench, project) for _ in range(8)]
    added(bench, bench.project().id)
    states: list[PlanState] = ["ready", "executing", "done", "failed", "cancelled", "expired"]
    for plan, state in zip(plans, states, strict=False):
        saved(bench, plan, state=state)
    assert counted() == OpenPlans(plans=2, previews=2)  # one is ready and has nothing to do
    saved(bench, plans[0], state="ready", counts=PlanCounts(matches=1))
    assert counted() == OpenPlans(plans=3, previews=2)
    bench.pass_time(601)
    added(bench, project)
    assert counted() == OpenPlans(plans=1, previews=1)


def test_one_plan_of_a_project_is_executed_at_a_time(bench: Bench) -> None:
    project = bench.project().id
    first, second, others = added(bench, project), added(bench, project), bench.project().id
    elsewhere = added(bench, others)
    with bench.store.for_all("test") as work:
        assert work.plans.begin(replace(first, state="executing"))
        assert work.plans.begin(replace(first, state="executing"))
        assert not work.plans.begin(replace(second, state="executing"))
        assert work.plans.begin(replace(elsewhere, state="executing"))
    assert read(bench, first) == replace(first, state="executing")
    assert read(bench, second) == second
    assert not bench.work.plans.begin(replace(second, state="executing"))
    bench.work.plans.save(replace(first, state="done"))
    assert bench.work.plans.begin(replace(second, state="executing"))


def test_a_plan_is_undone_once_unless_that_came_to_nothing(bench: Bench) -> None:
    plan = saved(bench, added(bench, bench.project().id), state="done")
    in_vain: tuple[PlanState, ...] = ("failed", "cancelled", "expired")
    for state in in_vain:
        undo = undo_of(bench, plan)
        assert undo is not None
        assert (undo.state, undo.undoes, undo.request) == ("ready", plan.id, None)
        assert read(bench, plan).undone_by == undo.id
        assert undo_of(bench, plan) is None
        saved(bench, undo, state=state)
        assert read(bench, plan).undone_by is None
    undo = undo_of(bench, plan)
    assert undo is not None
    undo = saved(bench, undo, state="partial")
    assert undo_of(bench, plan) is None
    redo = undo_of(bench, undo)
    assert redo is not None
    assert read(bench, undo).undone_by == redo.id


def test_plans_that_fell_silent_are_told_once_in_that_time(bench: Bench) -> None:
    states: list[PlanState] = ["previewing", "executing", "ready", "done"]
    plans = [added(bench, bench.project().id) for _ in range(6)]
    for plan, state in zip(plans, states, strict=False):
        saved(bench, plan, state=state)
    bench.work.plans.add_tables(plans[4].id, [table(4)])
    bench.pass_time(100)
    saved(bench, plans[5])
    bench.work.plans.save_tables(plans[4].id, [table(4)])

    def silent(limit: int = 9) -> list[int]:
        return bench.work.plans.silent(silent_s=60, limit=limit)

    assert silent(limit=1) + silent() == [plans[0].id, plans[1].id]
    assert silent() == []
    bench.pass_time(61)
    assert silent() == [plans[number].id for number in (0, 1, 4, 5)]


def test_the_order_of_a_plan_is_its_projects(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    with bench.store.for_all("test") as work:
        work.send(ExecutePlan(plan.id), ExecutePlan(plan.id))
        assert work.to_deliver() == [plan.project_id]
        assert work.outbox.waiting(limit=9) == [plan.project_id]
    [order] = bench.messages()
    assert order["plan_id"] == plan.id


def test_what_was_replaced_is_counted_by_plan(bench: Bench) -> None:
    project = bench.project()
    plans = [added(bench, project.id).id for _ in range(3)]
    with bench.store.for_project(project.id) as work:
        work.plans.add_tables(plans[0], [table(1, replaced=2), table(2, replaced=5), table(3)])
        work.plans.add_tables(plans[1], [table(1)])
        assert work.plans.replaced(plans) == {plans[0]: 7, plans[1]: 0}
        assert work.plans.replaced(plans[1:]) == {plans[1]: 0}
        assert work.plans.replaced([]) == {}
    with bench.store.for_project(bench.project().id) as work:
        assert work.plans.replaced([]) == {}


@only_postgres
def test_a_plan_that_ends_in_its_transaction_makes_room(bench: PostgresBench) -> None:
    project = bench.project().id
    first, second = added(bench, project), added(bench, project)
    with bench.store.for_all("test") as work:
        assert work.plans.begin(replace(first, state="executing"))
        work.plans.save(first)
    assert bench.work.plans.begin(replace(second, state="executing"))


@only_postgres
def test_who_counts_open_plans_counts_those_of_everybody_before(bench: PostgresBench) -> None:
    project = bench.project().id

    def count_and_add(_: int) -> int:
        with bench.store.for_all("test") as work:
            before = work.plans.open(project).plans
            work.plans.add(asked(project))
            return before

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(count_and_add, range(8))) == list(range(8))


@only_postgres
def test_who_waited_for_a_plan_sees_what_became_of_it(bench: PostgresBench) -> None:
    plan = added(bench, bench.project().id)
    with bench.store.for_all("test") as work:
        assert work.plans.lock(plan.id)
        seen = bench.begun(read, bench, plan)
        assert not seen.done()
        undo = work.plans.add(asked(plan.project_id, None, undoes=plan.id))
    assert undo
    assert seen.result().undone_by == undo.id
