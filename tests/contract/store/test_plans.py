"""Plans, their documents and strings: what becomes of them, and what goes when."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.core.messages import ExecutePlan
from context_search.maintenance.rules.removals import Removal
from context_search_editing.rules.edits import Edit, LeftOut, string_hash
from context_search_editing.rules.plans import (
    MAX_PLANNED_STRINGS,
    MAX_PLANNED_TABLES,
    PLAN_KEPT_S,
    TEXTS_OUTLIVE_S,
    Choice,
    OpenPlans,
    PlanCounts,
    PlannedString,
    PlanState,
    ReplaceScope,
)
from context_search_editing.rules.replacing import MAX_MATCHES
from tests.builders import present
from tests.contract.store.bench import Bench, PostgresBench, only_postgres
from tests.contract.store.planned import (
    ASKED,
    LATER,
    added,
    asked,
    read,
    saved,
    string,
    table,
    undo_of,
)


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
    undo = present(undo_of(bench, saved(bench, plans[0], state="done")))
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
    assert bench.work.plans.begin(replace(first, state="executing"))
    assert bench.work.plans.begin(replace(first, state="executing"))
    assert not bench.work.plans.begin(replace(second, state="executing"))
    assert bench.work.plans.begin(replace(elsewhere, state="executing"))
    assert read(bench, first) == replace(first, state="executing")
    assert read(bench, second) == second
    assert not bench.work.plans.begin(replace(second, state="executing"))
    bench.work.plans.save(replace(first, state="done"))
    assert bench.work.plans.begin(replace(second, state="executing"))


def test_a_plan_is_undone_once_unless_that_came_to_nothing(bench: Bench) -> None:
    plan = saved(bench, added(bench, bench.project().id), state="done")
    in_vain: tuple[PlanState, ...] = ("failed", "cancelled", "expired")
    for state in in_vain:
        undo = present(undo_of(bench, plan))
        assert (undo.state, undo.undoes, undo.request) == ("ready", plan.id, None)
        assert read(bench, plan).undone_by == undo.id
        assert undo_of(bench, plan) is None
        saved(bench, undo, state=state)
        assert read(bench, plan).undone_by is None
    undo = present(undo_of(bench, plan))
    undo = saved(bench, undo, state="partial")
    assert undo_of(bench, plan) is None
    redo = present(undo_of(bench, undo))
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


def test_tables_are_read_in_order_and_by_state(bench: Bench) -> None:
    plan, other = (added(bench, bench.project().id) for _ in range(2))
    tables = [table(number, matches=number, bytes=10**12) for number in (30, 4, 100, 9)]
    bench.work.plans.add_tables(plan.id, tables)
    bench.work.plans.add_tables(other.id, [table(5)])
    bench.work.plans.add_tables(other.id, [])
    ordered = sorted(tables, key=lambda each: each.table_id)
    done = replace(
        ordered[1],
        state="skipped",
        reason="MATCHES_DIFFER",
        revision_before=7,
        revision_after=8,
        replaced=3,
        kept=2,
        runs=1,
    )
    with bench.store.for_all("test") as work:
        assert work.plans.tables(plan.id, limit=9) == ordered
        assert work.plans.tables(plan.id, after=4, limit=2) == ordered[1:3]
        work.plans.save_tables(plan.id, [replace(done, revision_seen=99, matches=99, bytes=99)])
        assert work.plans.lock_table(plan.id, 9) == done
        assert work.plans.lock_table(plan.id, 5) is None
        assert work.plans.tables(plan.id, limit=9, state="skipped") == [done]
        rest = [ordered[0], *ordered[2:]]
        assert work.plans.tables(plan.id, limit=9, state="pending") == rest
        assert work.plans.tables(plan.id, after=4, limit=1, state="pending") == [ordered[2]]


def test_as_many_tables_as_there_may_be_are_added_at_once(bench: Bench) -> None:
    plan, other = (added(bench, bench.project().id) for _ in range(2))
    done = table(
        2**53 + 1,
        revision_seen=2**60,
        bytes=10**12,
        state="skipped",
        reason="TOO_LARGE",
        revision_before=2**60,
        revision_after=2**60 + 1,
        replaced=5,
        kept=6,
        runs=2,
    )
    tables = [*(table(number, matches=number) for number in range(1, MAX_PLANNED_TABLES)), done]
    in_both = [string(1, 0, 1), string(done.table_id, 0, 2)]
    bench.work.plans.add_tables(plan.id, tables, in_both)
    assert bench.work.plans.tables(plan.id, limit=MAX_PLANNED_TABLES + 1) == tables
    read_back = [bench.work.plans.strings(plan.id, each.table_id) for each in in_both]
    assert read_back == [[each] for each in in_both]
    assert bench.work.plans.tables(other.id, limit=1) == []


def test_strings_are_read_in_the_order_of_the_document(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    strings = [string(4, position, 1 + position) for position in (0, 3, 20, 100)]
    bench.work.plans.add_tables(plan.id, [table(4)], list(reversed(strings)))
    bench.work.plans.add_tables(plan.id, [table(5)], [string(5, 0, 200)])
    assert bench.work.plans.strings(plan.id, 4) == strings
    assert bench.work.plans.strings(plan.id, 6) == []
    bench.work.plans.write_strings(plan.id, [])


def test_what_was_executed_is_written_and_what_is_new_added(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    shown = [string(4, 0, 1), string(4, 1, 2)]
    edits = (Edit(0, "𠮷\0\ud7ff👩‍🚒", ""), Edit(9, '"\\', "\u2028 'x'"))
    executed = replace(shown[1], final_hash=string_hash("z"), edits=edits)
    new = string(4, 2, 3, edits=(), final_hash=string_hash(""))
    bench.work.plans.add_tables(plan.id, [table(4)], shown)
    bench.work.plans.write_strings(plan.id, [replace(executed, json_pointer="/other"), new])
    assert bench.work.plans.strings(plan.id, 4) == [shown[0], executed, new]


def test_a_plan_holds_as_many_strings_and_edits_as_it_may(bench: Bench) -> None:
    plan = added(bench, bench.project().id)
    strings = [string(4, position, 1 + position) for position in range(MAX_PLANNED_STRINGS)]
    dice = random.Random(7)
    edits = tuple(
        Edit(10 * number, chr(dice.randrange(0x10000, 0x110000)), str(number))
        for number in range(MAX_MATCHES)
    )
    many = string(5, 0, 20_001, MAX_MATCHES, edits=edits, final_hash=string_hash("f"))
    with bench.store.for_all("test") as work:
        work.plans.add_tables(plan.id, [table(4)], strings)
        work.plans.add_tables(plan.id, [table(5)], [many])
        assert work.plans.strings(plan.id, 4) == strings
        assert work.plans.strings(plan.id, 5) == [many]
        shown = work.plans.strings_of_matches(plan.id, after=19_999, limit=5)
        for behind_all in (2**31, 2**63 - 1):
            assert work.plans.strings_of_matches(plan.id, after=behind_all, limit=5) == []
        assert shown == [strings[-1], replace(many, edits=None)]


def test_strings_are_found_by_their_matches(bench: Bench) -> None:
    plan, other = (added(bench, bench.project().id) for _ in range(2))
    in_four = [string(4, 0, 1, 3), string(4, 7, 4, 0), string(4, 8, 4, 1)]
    in_nine = [string(9, 0, 5, 10), string(9, 1, 15, 2)]
    with bench.store.for_all("test") as work:
        work.plans.add_tables(plan.id, [table(4)], in_four)
        work.plans.add_tables(plan.id, [table(9)], in_nine)
        work.plans.add_tables(other.id, [table(4)], [string(4, 0, 1, 50)])

        def found(after: int, limit: int = 9, table_id: int | None = None) -> list[PlannedString]:
            return work.plans.strings_of_matches(
                plan.id, after=after, limit=limit, table_id=table_id
            )

        assert found(0) == [in_four[0], in_four[2], *in_nine]
        assert found(0, limit=2) == [in_four[0], in_four[2]]
        assert found(2) == [in_four[0], in_four[2], *in_nine]
        assert found(3) == [in_four[2], *in_nine]
        assert found(14) == in_nine[1:]
        assert found(16) == []
        assert found(0, table_id=9) == in_nine
        assert found(14, table_id=9) == in_nine[1:]
        assert found(3, table_id=4) == [in_four[2]]
        assert found(4, table_id=4) == []


def test_a_removed_plan_takes_all_that_it_has_with_it(bench: Bench) -> None:
    plan, other = (saved(bench, added(bench, bench.project().id), state="done") for _ in range(2))
    undo = present(undo_of(bench, plan))
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
    undo = present(undo_of(bench, plan))
    undo = saved(bench, undo, state="done", undo_until=LATER)
    for each in (plan, undo):
        edited = string(4, 0, 1, edits=(Edit(0, "a", "b"),))
        bench.work.plans.add_tables(each.id, [table(4)], [edited])
        bench.work.plans.purge_texts(each.id)
        assert bench.work.plans.strings(each.id, 4) == []
        assert bench.work.plans.tables(each.id, limit=1) == [table(4)]
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
    undo = present(undo_of(bench, plan))
    saved(bench, undo, state="executing")
    assert outlived(bench) == []
    saved(bench, undo, state="done", undo_until=LATER)
    assert outlived(bench) == [plan.id]


def test_plans_are_forgettable_after_a_year_undos_first(bench: Bench) -> None:
    project = bench.project().id
    plan, open_one, other = (added(bench, project) for _ in range(3))
    saved(bench, plan, state="done")
    saved(bench, other, state="cancelled")
    undo = present(undo_of(bench, plan))
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
    undo = present(undo_of(bench, plan))
    assert bench.work.projects.mark_deleted(project)
    assert bench.work.removals.due(limit=9) == []
    assert purgeable(bench) == [undo.id]
    bench.work.plans.remove(undo.id)
    assert purgeable(bench) == [plan.id]
    bench.work.plans.remove(plan.id)
    assert bench.work.removals.due(limit=9) == [Removal("project", project)]
    assert bench.work.removals.remove(Removal("project", project)) == "removed"
    assert len(bench.work.plans.page(others, below=None, limit=9)) == 1


def test_a_project_takes_the_plans_with_it_that_came_last(bench: Bench) -> None:
    project = bench.project().id
    plan = saved(bench, added(bench, project), state="done")
    undo = present(undo_of(bench, plan))
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
