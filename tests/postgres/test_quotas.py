"""How Postgres counts chunks: exact, whoever writes or deletes the rows.

What is done with the counts is in ``tests/contract/store/test_quotas.py``.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.limits import ProjectLimits, Usage
from context_search.core.model import Index
from context_search.indexing.vector_rows import plan
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, english
from tests.steps import SMALL

A_CHUNK = SMALL.dimensions * 4


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


def used(bench: Workbench) -> Usage:
    return bench.work.quotas.used(bench.project.id)


def counted(bench: Workbench) -> Usage:
    """The same as ``used``, from the rows themselves."""
    [row] = bench.sql(
        """
        SELECT count(*), COALESCE(sum(window_count), 0) FROM chunks
        JOIN index_generation ON namespace = turbopuffer_namespace AND state <> 'retired'
        """
    )
    return Usage.of(chunks=row[0], rows=int(row[1]), dimensions=SMALL.dimensions)


def indexed(bench: Workbench, characters: int, seed: int = 0) -> tuple[Index, int]:
    """An index of one string, and the number of its chunks."""
    _, index = bench.tool(bench.table({"a": english(characters, seed)}))
    return index, sum(len(chunk_set.chunks) for chunk_set in bench.indexed(index))


def test_chunks_count_when_they_are_written_and_no_more_when_they_are_gone(
    bench: Workbench,
) -> None:
    _, index = bench.tool(bench.table({"a": english(900), "b": english(500, 1)}))
    first, second = bench.enumerate(index)
    bench.begin(bench.claim(first))
    assert used(bench) == counted(bench) != Usage(0, 0)
    bench.finish(bench.claim(second))
    assert used(bench) == counted(bench)
    bench.work.nodes.remove([first])
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
        with bench.store.for_all("test") as work:
            work.chunks.begin_sets([(claim, plan(claim))])
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
    bench.sql("DELETE FROM node WHERE generation_id = :id", id=index.generation.id)
    before = used(bench)
    for _ in range(2):
        bench.work.quotas.compact()
        assert used(bench) == before == counted(bench)
    assert bench.sql("SELECT count(*) FROM chunk_tally") == [[2]]


def test_two_may_compact_while_others_write(bench: Workbench) -> None:
    _, index = bench.tool(bench.table([english(300, seed) for seed in range(12)]))
    claims = [bench.claim(node_id) for node_id in bench.enumerate(index)]

    def compact(_: int) -> None:
        bench.work.quotas.compact()

    with ThreadPoolExecutor(6) as pool:
        work = [pool.submit(bench.finish, claim) for claim in claims]
        work += [pool.submit(compact, number) for number in range(12)]  # type: ignore[arg-type]
        for each in work:
            each.result()
    assert used(bench) == counted(bench) != Usage(0, 0)


def test_an_index_that_is_gone_has_all_the_room(bench: Workbench) -> None:
    index, _ = indexed(bench, 500)
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        assert work.quotas.room(index.id, ProjectLimits(7, 8)) == Usage(7, 8)
