"""Contract of ``Permits``."""

from __future__ import annotations

from tests.contract.store.bench import Bench


def take(bench: Bench, count: int = 1, *, pool: str = "a", size: int = 3) -> str | None:
    with bench.store.transaction() as work:
        return work.permits.take(pool, size=size, count=count, lease_s=30)


def give_back(bench: Bench, holder: str | None, *, pool: str = "a") -> None:
    assert holder is not None
    with bench.store.transaction() as work:
        work.permits.give_back(pool, holder)


def forget(bench: Bench, *, limit: int = 100) -> int:
    with bench.store.transaction() as work:
        return work.permits.forget_unused(unused_s=60, limit=limit)


def test_a_pool_has_so_many_permits_and_no_more(bench: Bench) -> None:
    assert all([take(bench), take(bench), take(bench)])
    assert take(bench) is None
    assert take(bench, pool="b") is not None


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


def test_a_pool_may_grow_and_shrink(bench: Bench) -> None:
    take(bench, 2, size=2)
    assert take(bench, size=2) is None
    assert take(bench, size=3) is not None
    assert take(bench, size=1) is None


def test_permits_that_nobody_takes_are_forgotten(bench: Bench) -> None:
    give_back(bench, take(bench, 2))
    take(bench, 1)
    assert forget(bench) == 0
    bench.pass_time(45)
    take(bench, 1)
    bench.pass_time(20)
    assert forget(bench, limit=1) == 1
    assert take(bench, 2) is not None
