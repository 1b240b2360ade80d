"""How Postgres counts strings: exact, whoever writes or deletes the rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from context_search.core.model import Index, Table
from context_search.maintenance.rules.sweeps import SweepCounts, SweepCursor
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, english

TALLIED = "SELECT generation_id, sum(nodes) FROM node_tally GROUP BY 1 HAVING sum(nodes) <> 0"
COUNTED = "SELECT generation_id, count(*) FROM node GROUP BY 1"


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


def is_exact(bench: Workbench) -> bool:
    return sorted(bench.sql(TALLIED)) == sorted(bench.sql(COUNTED))


def of_strings(bench: Workbench, count: int) -> Index:
    _, index = bench.tool(bench.table([english(200, seed) for seed in range(count)]))
    bench.enumerate(index)
    return index


def sweep_ends(bench: Workbench, index: Index) -> None:
    generation = index.generation
    with bench.store.for_all("test") as work:
        cursor = SweepCursor(generation.id, generation.namespace, "")
        work.sweeps.note(cursor, after="", found=SweepCounts())


def test_strings_count_from_their_row_to_its_end(bench: Workbench) -> None:
    index, other = of_strings(bench, 5), of_strings(bench, 2)
    assert is_exact(bench)
    bench.sql("UPDATE node SET content_hash = 'other' WHERE generation_id = :id", id=other.id)
    bench.enumerate(index)  # the same again
    assert is_exact(bench)
    bench.sql("DELETE FROM node WHERE id IN (SELECT min(id) FROM node)")
    assert is_exact(bench)
    bench.sql("DELETE FROM context_table WHERE id = :id", id=index.table_id)
    assert is_exact(bench)
    bench.sql("DELETE FROM index_generation")
    assert bench.sql("SELECT FROM node_tally") == []


def test_compacting_changes_no_sum_and_leaves_a_row_a_generation(bench: Workbench) -> None:
    index = of_strings(bench, 3)
    of_strings(bench, 2)
    bench.sql("DELETE FROM node WHERE id IN (SELECT min(id) FROM node)")
    bench.work.quotas.compact()
    assert is_exact(bench)
    assert bench.sql("SELECT count(*) FROM node_tally") == [[2]]
    rows = bench.sql("SELECT nodes FROM node_tally WHERE generation_id = :id", id=index.id)
    assert rows == [[2]]


def test_the_end_of_a_sweep_mends_what_was_written_past_the_triggers(bench: Workbench) -> None:
    index = of_strings(bench, 4)
    with bench.tx() as tx:
        tx.run("SET LOCAL session_replication_role = replica")
        tx.run("DELETE FROM node WHERE id IN (SELECT id FROM node ORDER BY id LIMIT 3)")
    assert not is_exact(bench)
    sweep_ends(bench, index)
    assert is_exact(bench)
    sweep_ends(bench, index)
    assert is_exact(bench)


def test_it_is_mended_and_compacted_while_others_write(bench: Workbench) -> None:
    index = of_strings(bench, 1)
    tables = [bench.table([english(200, 100 + seed)]) for seed in range(12)]

    def compact() -> None:
        bench.work.quotas.compact()

    def enumerate_tool(table: Table) -> None:
        bench.enumerate(bench.tool(table)[1])

    orders: list[Callable[[], None]] = [partial(enumerate_tool, table) for table in tables]
    orders += [compact] * 8 + [partial(sweep_ends, bench, index)] * 8
    with ThreadPoolExecutor(6) as pool:
        for done in [pool.submit(order) for order in orders]:
            done.result()
    assert is_exact(bench)
