"""Evictions in Postgres, while others are at the same index.

The rest of the contract is in ``tests/contract/store/test_quotas.py``.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.limits import ProjectLimits
from context_search.core.model import Index
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, english, until

NOTHING = ProjectLimits(max_chunks=0, idle_s=3600.0)


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


def cold_index(bench: Workbench) -> Index:
    """An index with chunks that was created two hours ago and never searched."""
    _, index = bench.tool(bench.table({"a": english(500)}))
    bench.indexed(index)
    bench.sql("UPDATE search_index SET created_at = now() - interval '2 hours'")
    return bench.index(index.id)


def evicted(bench: Workbench, index: Index) -> bool:
    with bench.store.for_all("test") as work:
        assert work.indexes.lock(index)
        return work.indexes.give_up(index, NOTHING)


def test_one_of_many_brings_an_evicted_index_back(bench: Workbench) -> None:
    index = cold_index(bench)
    evicted(bench, index)

    def revive(_: int) -> bool:
        return bench.work.indexes.revive(index.id)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(revive, range(8))) == [False] * 7 + [True]
    now = bench.index(index.id)
    assert (now.evicted_at, now.is_idle) == (None, False)
    assert not evicted(bench, now)


def test_an_eviction_waits_for_a_search_that_is_being_noted(bench: Workbench) -> None:
    index = cold_index(bench)
    waiting = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
    with ThreadPoolExecutor(2) as pool:
        with bench.store.for_all("test") as work:
            work.indexes.note_search(index.id)
            eviction = pool.submit(evicted, bench, index)
            until(lambda: pool.submit(bench.sql, waiting).result())
        assert eviction.result() is False
    assert bench.index(index.id).evicted_at is None
