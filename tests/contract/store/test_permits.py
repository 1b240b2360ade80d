"""Contract of ``Permits``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from context_search.budgets.sql.permits import Permits
from context_search.postgres.pool import Database, Transaction
from tests.builders import present
from tests.contract.store.bench import Bench, only_postgres


def take(bench: Bench, count: int = 1, *, pool: str = "a", size: int = 3) -> str | None:
    return bench.work.permits.take(pool, size=size, count=count, lease_s=30)


def give_back(bench: Bench, holder: str | None, *, pool: str = "a") -> None:
    assert holder is not None
    bench.work.permits.give_back(pool, holder)


def renew(bench: Bench, holder: str | None, *, pool: str = "a") -> bool:
    assert holder is not None
    return bench.work.permits.renew(pool, holder, lease_s=30)


def forget(bench: Bench, *, limit: int = 100) -> int:
    return bench.work.permits.delete_unused(unused_s=60, limit=limit)


def test_a_pool_has_so_many_permits_and_no_more(bench: Bench) -> None:
    assert all([take(bench), take(bench), take(bench)])
    assert take(bench) is None
    assert take(bench, pool="b") is not None


@only_postgres
def test_the_first_of_a_pool_to_come_at_once_all_get_a_permit(bench: Bench) -> None:
    with ThreadPoolExecutor(8) as threads:
        for number in range(12):
            first = partial(take, bench, pool=f"new {number}", size=64)
            assert None not in list(threads.map(lambda _, take=first: take(), range(8)))


@only_postgres
def test_a_pool_of_which_half_was_forgotten_is_whole_again_when_it_is_asked(bench: Bench) -> None:
    give_back(bench, take(bench, 3))
    bench.pass_time(70)
    assert forget(bench, limit=2) == 2
    assert take(bench, 3) is not None


def test_what_was_given_back_is_free_again_at_once(bench: Bench) -> None:
    first, _ = take(bench, 2), take(bench)
    give_back(bench, first)
    assert take(bench, 2) is not None
    give_back(bench, first)  # once more: it holds nothing now
    assert take(bench) is None


def test_all_or_none(bench: Bench) -> None:
    take(bench, 2)
    assert take(bench, 2) is None
    assert take(bench, 1) is not None


def test_a_lease_ends(bench: Bench) -> None:
    first = take(bench, 3)
    bench.pass_time(31)
    assert take(bench, 3) is not None
    give_back(bench, first)  # too late: they are somebody else's
    assert take(bench) is None


def test_who_renews_a_lease_keeps_it_until_somebody_else_has_it(bench: Bench) -> None:
    first = take(bench, 2)
    bench.pass_time(25)
    assert renew(bench, first)
    bench.pass_time(25)
    assert take(bench, 2) is None
    bench.pass_time(6)
    assert renew(bench, first)  # nobody wanted it meanwhile
    assert not renew(bench, first, pool="b")
    bench.pass_time(31)
    second = take(bench, 3)
    assert not renew(bench, first)
    assert renew(bench, second)
    give_back(bench, second)
    assert not renew(bench, second)


@only_postgres
def test_nobody_takes_what_is_being_renewed(bench: Bench) -> None:
    holder = present(take(bench, 3))
    bench.pass_time(31)
    with bench.store.for_all("test") as work:
        assert work.permits.renew("a", holder, lease_s=0)
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(take, bench, 3).result() is None
    bench.pass_time(1)
    assert take(bench, 3) is not None


def test_a_pool_may_grow_and_shrink(bench: Bench) -> None:
    take(bench, 2, size=2)
    assert take(bench, size=2) is None
    assert take(bench, size=3) is not None
    assert take(bench, size=1) is None


@only_postgres
def test_permits_that_nobody_takes_are_forgotten(bench: Bench) -> None:
    give_back(bench, take(bench, 2))
    take(bench, 1)
    assert forget(bench) == 0
    bench.pass_time(45)
    take(bench, 1)
    bench.pass_time(20)
    assert forget(bench, limit=1) == 1
    assert take(bench, 2) is not None


class Repeated(Transaction):
    """Commits each statement twice, as when a line breaks before its answer."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run_and_commit(self, sql: str, /, **parameters: object) -> list[list[Any]]:
        for _ in range(2):
            with self._database.transaction() as tx:
                rows = tx.run_and_commit(sql, **parameters)
        return rows


def test_who_takes_the_last_permits_twice_has_them(database: Database) -> None:
    with database.transaction() as tx:
        Permits(tx).take("a", size=2, count=0, lease_s=60)  # makes the rows
    holder = present(Permits(Repeated(database)).take("a", size=2, count=2, lease_s=60))
    with database.transaction() as tx:
        assert Permits(tx).take("a", size=2, count=1, lease_s=60) is None
    for _ in range(2):
        with database.transaction() as tx:
            Permits(tx).give_back("a", holder)
    with database.transaction() as tx:
        assert Permits(tx).take("a", size=2, count=2, lease_s=60) is not None
