"""What is deleted in Postgres, and the triggers that fill it and the outbox."""

from __future__ import annotations

import json

import pytest

from context_search.core.messages import CompareIndex
from context_search.core.model import Index
from context_search.integrations.ports import MessageBody
from context_search.maintenance.cleanup import RemoveDeleted
from context_search.maintenance.rules.removals import Tombstone
from context_search.maintenance.rules.sweeps import SweepCounts, SweepCursor
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench, count, english
from tests.steps import table_of

HOUR = 3600.0


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    """These steps work on all projects, so each test begins with none."""
    return Workbench.alone(PostgresStore(module_database))


def taken(bench: Workbench, index: Index) -> list[MessageBody]:
    """Takes the messages of an index' project that wait."""
    with bench.store.for_all("test") as work:
        return [body for _, body in work.outbox.take(index.project_id, window=99)]


def built(bench: Workbench, strings: int = 1) -> Index:
    """An indexed table of so many strings, each of a few chunks."""
    _, index = bench.tool(bench.table([english(250, seed) for seed in range(strings)]))
    bench.indexed(index)
    return index


def to_delete(bench: Workbench, older_than_s: float = HOUR, limit: int = 99) -> list[Tombstone]:
    with bench.store.for_all("test") as work:
        found = work.removals.tombstones(older_than_s=older_than_s, limit=limit)
    return sorted(found, key=lambda stone: stone.doc_id)


def note_deleted(bench: Workbench, found: list[Tombstone]) -> int:
    with bench.store.for_all("test") as work:
        return work.removals.note_deleted(found, older_than_s=HOUR)


def let_pass(bench: Workbench, table: str, column: str, seconds: float = HOUR + 1) -> None:
    """Moves what was noted into the past."""
    bench.sql(f"UPDATE {table} SET {column} = {column} - make_interval(secs => :s)", s=seconds)


def delete_all_nodes(bench: Workbench) -> None:
    bench.sql("DELETE FROM node")


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


def test_a_document_is_deleted_twice_before_its_tombstone_goes(bench: Workbench) -> None:
    built(bench)
    chunks = count(bench, "chunks")
    delete_all_nodes(bench)
    first = to_delete(bench)
    assert len(first) == chunks
    assert note_deleted(bench, first) == 0
    assert to_delete(bench) == []  # deleted once, and not old enough for the second time
    let_pass(bench, "tombstone", "created_at")
    again = to_delete(bench)
    assert again == first
    assert note_deleted(bench, again) == chunks
    assert count(bench, "tombstone") == 0


def test_a_tombstone_that_grew_old_undeleted_is_still_deleted_twice(bench: Workbench) -> None:
    built(bench)
    delete_all_nodes(bench)
    let_pass(bench, "tombstone", "created_at")
    found = to_delete(bench)
    assert note_deleted(bench, found) == 0
    assert note_deleted(bench, to_delete(bench)) == len(found)


def test_what_was_never_deleted_is_not_held_up_by_what_waits(bench: Workbench) -> None:
    built(bench, strings=2)
    delete_all_nodes(bench)
    for _ in range(count(bench, "tombstone")):
        [next_one] = to_delete(bench, limit=1)
        note_deleted(bench, [next_one])
    assert to_delete(bench, limit=1) == []


def test_a_deleted_table_is_emptied_in_steps_and_then_goes(bench: Workbench) -> None:
    index, kept = built(bench, strings=3), built(bench)
    with bench.store.for_all("test") as work:
        work.tables.mark_deleted(table_of(index))
    removed = []
    for _ in range(3):
        with bench.store.for_all("test") as work:
            removed.append(work.removals.remove_nodes(limit=2))
    assert removed == [2, 1, 0]
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
    with bench.store.for_all("test") as work:
        work.removals.remove_nodes(limit=9)
    let_pass(bench, "index_generation", "retired_at")
    with bench.store.for_all("test") as work:
        found = work.removals.retired(older_than_s=HOUR, limit=9)
    assert found == [SweepCursor(index.generation.id, index.generation.namespace, "")]
    assert bench.sql("SELECT id FROM search_index") == [[kept.id]]


def test_a_retired_generation_is_forgotten_when_empty_and_old(bench: Workbench) -> None:
    index, other = built(bench, strings=2), built(bench)
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)

    def retired() -> list[SweepCursor]:
        with bench.store.for_all("test") as work:
            return work.removals.retired(older_than_s=HOUR, limit=9)

    let_pass(bench, "index_generation", "retired_at")
    assert retired() == []  # it still has nodes
    with bench.store.for_all("test") as work:
        assert work.removals.remove_retired_nodes(limit=1) == 1
        assert work.removals.remove_retired_nodes(limit=9) == 1
        assert work.removals.remove_retired_nodes(limit=9) == 0
    assert retired() == [SweepCursor(index.generation.id, index.generation.namespace, "")]
    with bench.store.for_all("test") as work:
        work.removals.purge_generation(index.generation.id)
        work.removals.purge_generation(index.generation.id)
    assert retired() == []
    assert count(bench, "tombstone") == 0
    assert bench.sql("SELECT namespace FROM index_generation") == [[other.generation.namespace]]


def test_a_young_retired_generation_waits(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({}))
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        assert work.removals.retired(older_than_s=HOUR, limit=9) == []
        assert len(work.removals.retired(older_than_s=0, limit=9)) == 1


def test_a_sweep_goes_on_where_it_stopped_and_rests_when_it_is_done(bench: Workbench) -> None:
    first, second = built(bench), built(bench)

    def next_to_sweep(older_than_s: float = HOUR) -> list[SweepCursor]:
        with bench.store.for_all("test") as work:
            return work.sweeps.due(older_than_s=older_than_s, limit=9)

    def note(cursor: SweepCursor, after: str) -> None:
        with bench.store.for_all("test") as work:
            work.sweeps.note(cursor, after=after, found=SweepCounts(checked=3))

    one, two = next_to_sweep()
    assert (one, two) == (
        SweepCursor(first.generation.id, first.generation.namespace, ""),
        SweepCursor(second.generation.id, second.generation.namespace, ""),
    )
    note(one, after="m")
    note(two, after="")
    [halfway] = next_to_sweep()
    assert halfway == SweepCursor(
        first.generation.id, first.generation.namespace, "m", SweepCounts(checked=3)
    )
    note(halfway, after="")
    assert next_to_sweep() == []
    assert len(next_to_sweep(older_than_s=0)) == 2
    [[report]] = bench.sql("SELECT integrity FROM index_generation ORDER BY id LIMIT 1")
    counts = {key: value for key, value in json.loads(report).items() if key != "at"}
    assert counts == {"checked": 6, "orphans": 0, "missing": 0, "repaired": 0}
    with bench.store.for_all("test") as work:
        work.indexes.retire(first.id)
    assert len(next_to_sweep(older_than_s=0)) == 1
