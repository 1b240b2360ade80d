"""Cleanup deletes rows that only take room when they are old."""

from __future__ import annotations

from context_search.core.limits import DailyLimits
from context_search.maintenance.cleanup import LEDGER_DAYS, delete_expired_step
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.searching.admission import UNUSED_S
from tests.contract.store.bench import PostgresBench

DAY_S = 86_400.0


def clean_up(bench: PostgresBench) -> None:
    assert not delete_expired_step(bench.store).do(CleanupReport())


def test_permits_go_that_nobody_took_for_a_day(bench: PostgresBench) -> None:
    def take(pool: str) -> None:
        assert bench.work.permits.take(pool, size=3, count=1, lease_s=30)

    take("searched yesterday")
    bench.pass_time(UNUSED_S + 31)
    take("searched today")
    clean_up(bench)
    with bench.database.transaction() as tx:
        assert {pool for (pool,) in tx.run("SELECT pool FROM permit")} == {"searched today"}


def test_what_was_spent_goes_after_a_year(bench: PostgresBench) -> None:
    index, _ = bench.node()

    def days() -> int:
        return len(bench.work.ledger.days(index.project_id, limit=9))

    assert bench.work.ledger.spend(index.id, DailyLimits(), tokens=7)
    bench.pass_time(LEDGER_DAYS * DAY_S)
    clean_up(bench)
    assert days() == 1
    bench.pass_time(DAY_S)
    clean_up(bench)
    assert days() == 0
