"""Going back to an earlier generation while ``cleanup`` is about to retire it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.model import Index
from context_search.indexing.rebuilds import retire_outdated
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, until
from tests.steps import SMALL

DAY = 86_400.0


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


def switched_long_ago(bench: Workbench) -> Index:
    """An index that has switched once; returns the generation before, which is outdated."""
    _, index = bench.tool(bench.table({}))
    with bench.store.for_all("test") as work:
        work.indexes.lock(index)
        work.indexes.switch(work.indexes.start_rebuild(index, SMALL, at_once=2))
    bench.sql("UPDATE index_generation SET switched_at = now() - interval '2 days'")
    return index


def states(bench: Workbench) -> list[list[object]]:
    return bench.sql("SELECT number, state, retired_at FROM index_generation ORDER BY number")


def someone_waits(bench: Workbench) -> bool:
    [[waiting]] = bench.sql("SELECT count(*) FROM pg_locks WHERE NOT granted")
    return bool(waiting)


def test_a_generation_that_somebody_goes_back_to_is_not_retired(bench: Workbench) -> None:
    index = switched_long_ago(bench)
    with ThreadPoolExecutor(2) as threads:
        with bench.store.for_all("test") as work:
            work.indexes.lock(index)
            previous = work.indexes.previous(index.id)
            retiring = threads.submit(retire_outdated, bench.store, older_than_s=DAY)
            threads.submit(until, lambda: someone_waits(bench)).result()
            assert previous is not None
            work.indexes.switch(previous)
        assert retiring.result() == 0
    assert states(bench) == [[1, "active", None], [2, "previous", None]]


def test_a_retired_generation_is_none_to_go_back_to(bench: Workbench) -> None:
    index = switched_long_ago(bench)
    assert retire_outdated(bench.store, older_than_s=DAY) == 1
    with bench.store.for_all("test") as work:
        work.indexes.lock(index)
        assert work.indexes.previous(index.id) is None
    assert [state for _, state, _ in states(bench)] == ["retired", "active"]


def test_a_table_that_is_busy_for_long_does_not_keep_the_others_waiting(
    bench: Workbench,
) -> None:
    busy, free = switched_long_ago(bench), switched_long_ago(bench)
    with bench.store.for_all("test") as work, ThreadPoolExecutor(1) as threads:
        work.indexes.lock(busy)
        retiring = threads.submit(retire_outdated, bench.store, older_than_s=DAY)
        assert retiring.result() == 1
    with bench.store.for_all("test") as work:
        assert work.indexes.previous(free.id) is None
        assert work.indexes.previous(busy.id) is not None
