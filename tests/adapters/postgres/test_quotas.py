"""What projects hold and how much room is left, in Postgres: exact whatever deletes the rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.domain.limits import ProjectLimits, Usage
from context_search.domain.model import Index
from context_search.ports.gauges import Readings
from context_search.services.index_node import plan
from tests.builders import SMALL, Workbench, english

HOUR = 3600.0
A_CHUNK = SMALL.dimensions * 4


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


def used(bench: Workbench) -> Usage:
    with bench.store.transaction() as work:
        return work.quotas.used(bench.project.id)


def room(bench: Workbench, index: Index, limits: ProjectLimits) -> Usage:
    with bench.store.transaction() as work:
        return work.quotas.room(index.id, limits)


def counted(bench: Workbench) -> Usage:
    """The same as ``used``, from the rows themselves."""
    [row] = bench.sql(
        """
        SELECT count(*), COALESCE(sum(window_count), 0) FROM chunks
        JOIN index_generation ON namespace = turbopuffer_namespace AND state <> 'retired'
        """
    )
    return Usage.of(chunks=row[0], documents=int(row[1]), dimensions=SMALL.dimensions)


def aged(bench: Workbench, index: Index, seconds: float) -> None:
    """As if the index had been used that long ago."""
    bench.sql(
        """
        UPDATE search_index SET created_at = now() - make_interval(secs => :age),
            last_searched_at = NULL WHERE id = :index
        """,
        age=seconds,
        index=index.id,
    )


def indexed(bench: Workbench, characters: int, seed: int = 0) -> tuple[Index, int]:
    """An index of one string, and the number of its chunks."""
    _, index = bench.tool(bench.table({"a": english(characters, seed)}))
    return index, sum(len(chunk_set.chunks) for chunk_set in bench.indexed(index))


def test_nothing_is_used_by_a_project_without_chunks(bench: Workbench) -> None:
    assert used(bench) == Usage(0, 0)


def test_chunks_count_when_they_are_written_and_no_more_when_they_are_gone(
    bench: Workbench,
) -> None:
    _, index = bench.tool(bench.table({"a": english(900), "b": english(500, 1)}))
    first, second = bench.enumerate(index)
    bench.begin(bench.claim(first))
    assert used(bench) == counted(bench) != Usage(0, 0)
    bench.finish(bench.claim(second))
    assert used(bench) == counted(bench)
    with bench.store.transaction() as work:
        work.nodes.remove([first])
    assert used(bench) == counted(bench)
    bench.sql("DELETE FROM node")
    assert used(bench) == counted(bench) == Usage(0, 0)


def test_every_window_is_a_vector(bench: Workbench) -> None:
    index, chunks = indexed(bench, 500)
    bench.sql("UPDATE chunk_tally SET documents = 3 * documents")
    assert used(bench) == Usage(chunks, 3 * chunks * A_CHUNK)
    assert index.config.dimensions * 4 == A_CHUNK


def test_a_rolled_back_transaction_has_counted_nothing(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": english(500)}))
    claim = bench.claim(bench.enumerate(index)[0])

    def cut_and_fail() -> None:
        with bench.store.transaction() as work:
            work.chunks.begin_set(claim, plan(claim))
            assert work.quotas.used(bench.project.id) != Usage(0, 0)
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        cut_and_fail()
    assert used(bench) == Usage(0, 0)


def test_a_table_that_somebody_deletes_takes_its_count_with_it(bench: Workbench) -> None:
    indexed(bench, 500)
    bench.sql("DELETE FROM context_table")
    assert used(bench) == Usage(0, 0)
    bench.sql("DELETE FROM index_generation")
    assert bench.sql("SELECT FROM chunk_tally") == []


def test_a_generation_that_somebody_deletes_takes_its_count_with_it(bench: Workbench) -> None:
    indexed(bench, 500)
    bench.sql("DELETE FROM index_generation")
    assert bench.sql("SELECT FROM chunk_tally") == []
    assert bench.sql("SELECT FROM chunks") == []


def test_compacting_changes_no_sum_and_leaves_a_row_a_namespace(bench: Workbench) -> None:
    index, _ = indexed(bench, 900)
    indexed(bench, 500, 1)
    bench.sql("DELETE FROM node WHERE generation_id = :id", id=index.generation_id)
    before = used(bench)
    for _ in range(2):
        with bench.store.transaction() as work:
            work.quotas.compact()
        assert used(bench) == before == counted(bench)
    assert bench.sql("SELECT count(*) FROM chunk_tally") == [[2]]


def test_two_may_compact_while_others_write(bench: Workbench) -> None:
    _, index = bench.tool(bench.table([english(300, seed) for seed in range(12)]))
    claims = [bench.claim(node_id) for node_id in bench.enumerate(index)]

    def compact(_: int) -> None:
        with bench.store.transaction() as work:
            work.quotas.compact()

    with ThreadPoolExecutor(6) as pool:
        work = [pool.submit(bench.finish, claim) for claim in claims]
        work += [pool.submit(compact, number) for number in range(12)]  # type: ignore[arg-type]
        for each in work:
            each.result()
    assert used(bench) == counted(bench) != Usage(0, 0)


def test_room_is_what_the_limits_leave(bench: Workbench) -> None:
    index, chunks = indexed(bench, 500)
    limits = ProjectLimits(max_chunks=100, max_vector_bytes=1_000, idle_s=HOUR)
    assert room(bench, index, limits) == Usage(100 - chunks, 1_000 - chunks * A_CHUNK)


def test_what_is_colder_counts_as_room_and_what_is_in_use_does_not(bench: Workbench) -> None:
    limits = ProjectLimits(max_chunks=100, idle_s=HOUR)
    cold, cold_chunks = indexed(bench, 500, 1)
    middle, middle_chunks = indexed(bench, 700, 2)
    hot, hot_chunks = indexed(bench, 900, 3)
    aged(bench, cold, 5 * HOUR)
    aged(bench, middle, 2 * HOUR)
    assert room(bench, hot, limits).chunks == 100 - hot_chunks
    assert room(bench, middle, limits).chunks == 100 - hot_chunks - middle_chunks
    everything = cold_chunks + middle_chunks + hot_chunks
    assert room(bench, cold, limits).chunks == 100 - everything
    assert used(bench).chunks == everything


def test_an_index_that_is_gone_has_all_the_room(bench: Workbench) -> None:
    index, _ = indexed(bench, 500)
    with bench.store.transaction() as work:
        work.indexes.retire(index.id)
        assert work.quotas.room(index.id, ProjectLimits(7, 8)) == Usage(7, 8)


def test_only_a_node_without_chunks_is_new(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({"a": english(500)}))
    claim = bench.claim(bench.enumerate(index)[0], lease_s=0)
    with bench.store.transaction() as work:
        assert work.quotas.is_new(claim)
    bench.begin(claim)
    with bench.store.transaction() as work:
        assert not work.quotas.is_new(claim)
    claim = bench.claim(claim.node_id)
    bench.finish(claim)
    bench.sql("UPDATE node SET content_hash = 'another', state = 'queued'")
    claim = bench.claim(claim.node_id)
    with bench.store.transaction() as work:
        assert not work.quotas.is_new(claim)


def test_a_node_of_a_rebuild_is_not_new(bench: Workbench) -> None:
    index, _ = indexed(bench, 500)
    with bench.store.transaction() as work:
        work.tables.lock(index.table_id)
        work.rebuilds.start(index, SMALL, at_once=2)
    claim = bench.claim(bench.enumerate(index)[0])
    with bench.store.transaction() as work:
        assert not work.quotas.is_new(claim)


def skipped(bench: Workbench, index: Index, *needs: int) -> list[int]:
    """Nodes of an index that wait for so many chunks each."""
    nodes = bench.enumerate(index)
    assert len(nodes) == len(needs)
    for node_id, chunks in zip(nodes, needs, strict=True):
        claim = bench.claim(node_id)
        reason = {"code": "PROJECT_FULL", "chunks": chunks, "vector_bytes": chunks * A_CHUNK}
        with bench.store.transaction() as work:
            work.nodes.skip(claim, reason)
    return nodes


def readmitted(bench: Workbench, limits: ProjectLimits, limit: int = 100) -> list[int]:
    with bench.store.transaction() as work:
        return work.quotas.readmit(limits, limit=limit)


def test_a_skipped_node_keeps_its_text_and_comes_back_when_there_is_room(bench: Workbench) -> None:
    text = english(300)
    _, index = bench.tool(bench.table({"a": text}))
    [node_id] = skipped(bench, index, 4)
    assert bench.sql("SELECT state, content FROM node") == [["skipped", text]]
    assert readmitted(bench, ProjectLimits(max_chunks=3)) == []
    assert readmitted(bench, ProjectLimits(max_vector_bytes=4 * A_CHUNK - 1)) == []
    assert readmitted(bench, ProjectLimits(max_chunks=4)) == [node_id]
    assert readmitted(bench, ProjectLimits(max_chunks=4)) == []
    assert bench.claim(node_id).content == text


def test_as_many_come_back_as_fit_together_past_those_that_never_fit(bench: Workbench) -> None:
    _, index = bench.tool(bench.table([english(100, seed) for seed in range(5)]))
    _, *nodes = skipped(bench, index, 50, 4, 3, 3, 1)
    assert readmitted(bench, ProjectLimits(max_chunks=8)) == nodes[:2]


def test_at_most_so_many_come_back_at_a_time(bench: Workbench) -> None:
    _, index = bench.tool(bench.table([english(100, seed) for seed in range(5)]))
    nodes = skipped(bench, index, 1, 1, 1, 1, 1)
    assert readmitted(bench, ProjectLimits(), limit=2) == nodes[:2]
    assert readmitted(bench, ProjectLimits(), limit=9) == nodes[2:]


def test_the_index_that_was_searched_last_comes_first(bench: Workbench) -> None:
    limits = ProjectLimits(max_chunks=4, idle_s=HOUR)
    _, one = bench.tool(bench.table({"a": english(100, 1)}))
    _, other = bench.tool(bench.table({"a": english(100, 2)}))
    [first], [second] = skipped(bench, one, 3), skipped(bench, other, 3)
    aged(bench, one, 10)
    aged(bench, other, 20)
    assert readmitted(bench, limits) == [first]
    assert readmitted(bench, limits) == [second]  # nothing is cut yet: the worker looks again


def test_no_node_of_a_deleted_table_or_a_retired_generation_comes_back(bench: Workbench) -> None:
    tables = [bench.table({"a": english(100, seed)}) for seed in (1, 2)]
    indexes = [bench.tool(table)[1] for table in tables]
    for index in indexes:
        skipped(bench, index, 1)
    with bench.store.transaction() as work:
        work.tables.mark_deleted(tables[0].id)
        work.indexes.retire(indexes[1].id)
    assert readmitted(bench, ProjectLimits()) == []


def test_the_readings_are_those_of_all_projects(bench: Workbench) -> None:
    with bench.store.transaction() as work:
        assert work.gauges.read() == Readings(0, 0, 0, 0.0)
    _, chunks = indexed(bench, 500)
    other = Workbench.of(bench.store)
    index, more = indexed(other, 700)
    _, sick = other.tool(other.table({"a": english(100)}))
    claim = other.claim(other.enumerate(sick)[0])
    with bench.store.transaction() as work:
        work.nodes.quarantine(claim, {"code": "X"})
        work.outbox.add([{"kind": "enumerate", "index_id": index.id}])
    bench.sql("UPDATE outbox SET created_at = now() - interval '90 s'")
    bench.sql("UPDATE search_index SET evicted_at = now() WHERE id = :id", id=sick.id)
    with bench.store.transaction() as work:
        readings = work.gauges.read()
    assert (readings.active_chunks, readings.quarantined_nodes) == (chunks + more, 1)
    assert (readings.evicted_indexes, readings.outbox_age_s >= 90) == (1, True)
