"""What is deleted in Postgres, and the triggers that fill it and the outbox."""

from __future__ import annotations

import pytest

from context_search.core.messages import CompareIndex
from context_search.core.model import Index
from context_search.integrations.ports import MessageBody
from context_search.maintenance.cleanup import RemoveDeleted
from context_search.maintenance.rules.removals import Tombstone
from context_search.maintenance.rules.sweeps import SweepCursor
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, english
from tests.steps import table_of

HOUR = 3600.0


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    """These steps work on all projects, so each test begins with none."""
    return Workbench.alone(PostgresStore(module_database))


def taken(bench: Workbench, index: Index) -> list[MessageBody]:
    """Takes the messages of an index' project that wait."""
    return [body for _, body in bench.work.outbox.take(index.project_id, window=99)]


def built(bench: Workbench, strings: int = 1) -> Index:
    """An indexed table of so many strings, each of a few chunks."""
    _, index = bench.tool(bench.table([english(250, seed) for seed in range(strings)]))
    bench.indexed(index)
    return index


def to_delete(bench: Workbench, older_than_s: float = HOUR, limit: int = 99) -> list[Tombstone]:
    found = bench.work.removals.tombstones(older_than_s=older_than_s, limit=limit)
    return sorted(found, key=lambda stone: stone.doc_id)


def let_pass(bench: Workbench, table: str, column: str, seconds: float = HOUR + 1) -> None:
    """Moves what was noted into the past."""
    bench.sql(f"UPDATE {table} SET {column} = {column} - make_interval(secs => :s)", s=seconds)


def test_a_change_by_plain_sql_orders_a_comparison_of_every_index(bench: Workbench) -> None:
    index = built(bench)
    untouched = built(bench)
    sql = "UPDATE context_table SET data = '[\"new\"]' WHERE id = :id"
    bench.sql(sql, id=index.table_id)
    assert taken(bench, index) == [CompareIndex(index.id, index.table_id).to_json()]
    bench.sql(sql, id=index.table_id)  # the same again is no change
    bench.sql("UPDATE context_table SET name = 'x' WHERE id = :id", id=untouched.table_id)
    assert taken(bench, index) == taken(bench, untouched) == []


def test_the_order_and_the_change_commit_together_or_not_at_all(bench: Workbench) -> None:
    index = built(bench)

    def change_and_fail() -> None:
        with bench.tx() as tx:
            tx.run("UPDATE context_table SET data = '1' WHERE id = :id", id=index.table_id)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_and_fail()
    assert taken(bench, index) == []


def test_a_deleted_table_is_emptied_in_steps_and_then_goes(bench: Workbench) -> None:
    index, kept = built(bench, strings=3), built(bench)
    bench.work.tables.mark_deleted(table_of(index))
    assert [bench.work.removals.remove_nodes(limit=2) for _ in range(3)] == [2, 1, 0]
    assert RemoveDeleted(bench.store).run() == (2, [])
    assert bench.sql("SELECT id FROM context_table") == [[kept.table_id]]
    assert {stone.namespace for stone in to_delete(bench)} == {index.generation.namespace}
    states = bench.sql("SELECT id, state, index_id FROM index_generation ORDER BY id")
    assert states == [
        [index.generation.id, "retired", None],
        [kept.generation.id, "active", kept.id],
    ]


def test_a_table_deleted_by_plain_sql_leaves_no_namespace_behind(bench: Workbench) -> None:
    index, kept = built(bench), built(bench)
    bench.sql("DELETE FROM context_table WHERE id = :id", id=index.table_id)
    bench.work.removals.remove_nodes(limit=9)
    let_pass(bench, "index_generation", "retired_at")
    found = bench.work.removals.retired(older_than_s=HOUR, limit=9)
    assert found == [SweepCursor(index.generation.id, index.generation.namespace, "")]
    assert bench.sql("SELECT id FROM search_index") == [[kept.id]]
