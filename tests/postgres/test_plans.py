"""Plans in Postgres: two at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from context_search_editing.rules.plans import NewPlan, Plan, ReplaceScope
from tests.builders import Workbench
from tests.stack import eventually

WAITING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def added(bench: Workbench, undoes: int | None = None) -> Plan | None:
    new = NewPlan(bench.project.id, None, ReplaceScope(), b"", "", 600, actor=None, undoes=undoes)
    return bench.work.plans.add(new)


def test_of_two_plans_at_the_same_time_one_is_refused_at_once(
    bench: Workbench, hasty: PostgresStore
) -> None:
    first, second, elsewhere = added(bench), added(bench), added(Workbench.of(bench.store))
    assert first
    assert second
    assert elsewhere
    with bench.store.for_all("test") as work:
        assert work.plans.begin(replace(first, state="executing"))
        with hasty.for_all("test") as other:
            assert not other.plans.begin(replace(second, state="executing"))
            assert other.plans.begin(replace(elsewhere, state="executing"))
    with hasty.for_all("test") as other:
        assert not other.plans.begin(replace(second, state="executing"))


def test_a_plan_that_ends_in_its_transaction_makes_room(
    bench: Workbench, hasty: PostgresStore
) -> None:
    first, second = added(bench), added(bench)
    assert first
    assert second
    with bench.store.for_all("test") as work:
        assert work.plans.begin(replace(first, state="executing"))
        work.plans.save(first)
    with hasty.for_all("test") as other:
        assert other.plans.begin(replace(second, state="executing"))


def test_who_counts_open_plans_counts_those_of_everybody_before(bench: Workbench) -> None:
    def count_and_add() -> int:
        new = NewPlan(bench.project.id, None, ReplaceScope(), b"", "", 600, actor=None)
        with bench.store.for_all("test") as work:
            before = work.plans.open(bench.project.id).plans
            work.plans.add(new)
            return before

    with ThreadPoolExecutor(4) as threads:
        counts = [threads.submit(count_and_add) for _ in range(8)]
        assert sorted(count.result() for count in counts) == list(range(8))


def test_of_two_undos_at_the_same_time_one_is_added(bench: Workbench) -> None:
    plan = added(bench)
    assert plan
    with ThreadPoolExecutor(4) as threads:
        undos = [threads.submit(added, bench, plan.id) for _ in range(4)]
        assert sum(undo.result() is not None for undo in undos) == 1


def test_who_waited_for_a_plan_sees_what_became_of_it(
    bench: Workbench, hasty: PostgresStore
) -> None:
    plan = added(bench)
    assert plan

    def waits() -> bool:
        with hasty.database.transaction() as tx:
            return tx.run(WAITING) == [[1]]

    def locked() -> Plan | None:
        return bench.work.plans.lock(plan.id)

    with ThreadPoolExecutor(1) as threads:
        with bench.store.for_all("test") as work:
            assert work.plans.lock(plan.id)
            waiting = threads.submit(locked)
            assert eventually(waits)
            undo = work.plans.add(
                NewPlan(plan.project_id, None, ReplaceScope(), b"", "", 60, None, undoes=plan.id)
            )
        seen = waiting.result()
    assert seen
    assert undo
    assert seen.undone_by == undo.id
