"""Indexes that give way, and their return, in Postgres."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.domain.limits import ProjectLimits, Usage
from context_search.domain.model import Index
from tests.builders import SMALL, Workbench, english, until

HOUR = 3600.0
NOTHING = ProjectLimits(max_chunks=0, idle_s=HOUR)


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


def aged(bench: Workbench, index: Index, seconds: float, *, searched: bool = False) -> None:
    """As if the index had been created, or searched, that long ago."""
    column = "last_searched_at" if searched else "created_at"
    bench.sql(
        f"UPDATE search_index SET {column} = now() - make_interval(secs => :age) WHERE id = :index",
        age=seconds,
        index=index.id,
    )


def indexed(bench: Workbench, age_s: float, seed: int = 0) -> Index:
    """An index with chunks that was created so long ago."""
    _, index = bench.tool(bench.table({"a": english(500, seed)}))
    bench.indexed(index)
    aged(bench, index, age_s)
    return bench.index(index.id)


def next_to_go(bench: Workbench, limits: ProjectLimits = NOTHING) -> Index | None:
    with bench.store.transaction() as work:
        return work.evictions.next_to_go(limits)


def evicted(bench: Workbench, index: Index, limits: ProjectLimits = NOTHING) -> bool:
    with bench.store.transaction() as work:
        work.tables.lock(index.table_id)
        return work.evictions.give_up(index, limits)


def test_nothing_goes_while_a_project_is_within_its_limits(bench: Workbench) -> None:
    indexed(bench, 2 * HOUR)
    with bench.store.transaction() as work:
        held = work.quotas.used(bench.project.id)
    exact = ProjectLimits(held.chunks, held.vector_bytes, HOUR)
    assert next_to_go(bench, exact) is None
    assert next_to_go(bench, ProjectLimits(held.chunks - 1, held.vector_bytes, HOUR))
    assert next_to_go(bench, ProjectLimits(held.chunks, held.vector_bytes - 1, HOUR))


def test_the_coldest_goes_first_and_nothing_that_is_in_use(bench: Workbench) -> None:
    searched, old, older, hot = (
        indexed(bench, age, seed) for seed, age in enumerate([9 * HOUR, 2 * HOUR, 3 * HOUR, 60])
    )
    aged(bench, searched, 10, searched=True)
    for expected in (older, old):
        going = next_to_go(bench)
        assert going == bench.index(expected.id)
        assert evicted(bench, going)
    assert next_to_go(bench) is None
    assert not evicted(bench, hot)
    assert not evicted(bench, searched)


def test_projects_are_looked_at_one_by_one(bench: Workbench) -> None:
    indexed(bench, 2 * HOUR)
    other = Workbench.of(bench.store)
    for seed in (1, 2):
        indexed(other, 3 * HOUR, seed)
    with bench.store.transaction() as work:
        held = work.quotas.used(bench.project.id)
    going = next_to_go(bench, ProjectLimits(max_chunks=held.chunks, idle_s=HOUR))
    assert going is not None
    assert going.project_id == other.project.id


def test_an_evicted_index_is_there_empty_and_its_rows_wait_for_cleanup(bench: Workbench) -> None:
    index = indexed(bench, 2 * HOUR)
    assert evicted(bench, index)
    now = bench.index(index.id)
    assert (now.number, now.state, now.config) == (2, "active", SMALL)
    assert now.namespace == f"{index.namespace}_i{index.id}_g2"
    assert now.enumerated_revision is None
    assert now.evicted_at is not None
    with bench.store.transaction() as work:
        assert work.quotas.used(bench.project.id) == Usage(0, 0)
        assert work.nodes.status(now, stalled_s=180) == "evicted"
        progress = work.nodes.progress(now, "", stalled_s=180)
        assert work.graveyard.remove_retired_nodes(limit=10) == 1
        [gone] = work.graveyard.retired(older_than_s=-1, limit=10)
        assert gone.namespace == index.namespace
        work.graveyard.forget_generation(gone.generation_id)
    assert (progress.status, progress.nodes_count) == ("evicted", 0)
    assert progress.last_error is not None
    assert progress.last_error["code"] == "INDEX_EVICTED"
    assert bench.index(index.id) == now
    assert not evicted(bench, now)


def test_a_previous_generation_goes_before_any_index(bench: Workbench) -> None:
    indexed(bench, 9 * HOUR, 1)
    hot = indexed(bench, 60, 2)
    with bench.store.transaction() as work:
        work.tables.lock(hot.table_id)
        new = work.rebuilds.start(hot, SMALL, at_once=2)
    for node_id in bench.enumerate(hot):
        bench.finish(bench.claim(node_id))
    with bench.store.transaction() as work:
        work.rebuilds.switch(new)
    going = next_to_go(bench)
    assert going is not None
    assert (going.generation_id, going.state) == (hot.generation_id, "previous")
    assert evicted(bench, going)
    now = bench.index(hot.id)
    assert (now.generation_id, now.evicted_at) == (new.generation_id, None)
    with bench.store.transaction() as work:
        assert work.rebuilds.previous(hot.id) is None


def test_all_generations_of_an_evicted_index_are_retired(bench: Workbench) -> None:
    index = indexed(bench, 2 * HOUR)
    with bench.store.transaction() as work:
        work.tables.lock(index.table_id)
        work.rebuilds.start(index, SMALL, at_once=2)
    assert evicted(bench, index)
    states = bench.sql("SELECT number, state FROM index_generation ORDER BY number")
    assert states == [[1, "retired"], [2, "retired"], [3, "active"]]
    assert not bench.index(index.id).is_rebuilding


def test_one_of_many_brings_an_evicted_index_back(bench: Workbench) -> None:
    index = indexed(bench, 2 * HOUR)
    evicted(bench, index)

    def revive(_: int) -> bool:
        with bench.store.transaction() as work:
            return work.evictions.revive(index.id)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(revive, range(8))) == [False] * 7 + [True]
    now = bench.index(index.id)
    assert (now.evicted_at, now.is_idle) == (None, False)
    assert not evicted(bench, now)


def test_a_search_is_noted_once_a_minute(bench: Workbench) -> None:
    index = indexed(bench, 30)
    assert not index.is_idle

    def noted(age_s: float) -> bool:
        aged(bench, index, age_s, searched=True)
        is_idle = bench.index(index.id).is_idle
        with bench.store.transaction() as work:
            work.evictions.note_search(index.id)
        [[age]] = bench.sql(
            "SELECT extract(epoch FROM now() - last_searched_at)::float8 FROM search_index"
        )
        assert is_idle == (age < age_s)
        return is_idle

    assert (noted(30), noted(90)) == (False, True)


def test_an_eviction_waits_for_a_search_that_is_being_noted(bench: Workbench) -> None:
    index = indexed(bench, 2 * HOUR)
    waiting = "SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
    with ThreadPoolExecutor(2) as pool:
        with bench.store.transaction() as work:
            work.evictions.note_search(index.id)
            eviction = pool.submit(evicted, bench, index)
            until(lambda: pool.submit(bench.sql, waiting).result())
        assert eviction.result() is False
    assert bench.index(index.id).evicted_at is None
