"""What our API deleted goes, what its owner put away stays; what leaves turbopuffer, and when."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.core.model import Index, Reach, SearchTool, Table
from context_search.indexing.comparing import Limits, compare
from context_search.maintenance import cleanup
from context_search.maintenance.cleanup import RemoveDeleted
from context_search.maintenance.rules.removals import Removal
from context_search.maintenance.rules.sweeps import SweepCursor
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL


def remove_nodes(bench: Bench, *, limit: int = 100) -> int:
    with bench.store.for_all("test") as work:
        return cleanup.remove_absent_nodes(work, limit=limit)


def due(bench: Bench, *, limit: int = 9) -> Sequence[Removal]:
    return bench.work.removals.due(limit=limit)


def indexed(bench: Bench, document: object) -> tuple[Table, SearchTool, Index]:
    table = bench.table(document)
    tool, index = bench.tool(table)
    bench.finish_all(index)
    return table, tool, index


def test_a_deleted_table_is_emptied_in_steps_and_then_goes(bench: Bench) -> None:
    table, tool, index = indexed(bench, {"a": TEXT, "b": OTHER, "c": "short"})
    stored = bench.ids(index)
    assert remove_nodes(bench) == 0
    bench.delete(table)
    assert remove_nodes(bench, limit=1) == 1
    assert Removal("table", table.id) not in due(bench)
    assert remove_nodes(bench, limit=1) == 1
    assert remove_nodes(bench, limit=1) == 0
    assert due(bench) == [Removal("tool", tool.id), Removal("table", table.id)]
    assert due(bench, limit=1) == [Removal("tool", tool.id)]
    assert RemoveDeleted(bench.store).run() == (2, [])
    assert due(bench) == []
    assert sorted(stone.doc_id for stone in bench.tombstones()) == stored
    with bench.store.for_all("test") as work:
        assert not work.indexes.lock(index)
        assert work.indexes.find(index.id) is None
        assert work.tools.find(tool.id, project_id=None) is None
        [retired] = work.removals.retired(older_than_s=-1, limit=9)
    assert (retired.generation_id, retired.namespace) == (
        index.generation.id,
        index.generation.namespace,
    )


def test_other_tables_stay(bench: Bench) -> None:
    project = bench.project()
    gone, kept = bench.table({"a": TEXT}, project), bench.table({"a": TEXT}, project)
    bench.enumerate(bench.tool(gone)[1])
    _, index = bench.tool(kept)
    [node_id] = bench.enumerate(index)
    bench.delete(gone)
    assert remove_nodes(bench) == 1
    assert RemoveDeleted(bench.store).run() == (2, [])
    bench.finish(node_id)
    assert len(bench.ids(index)) == 3


def test_a_deleted_tool_goes_and_its_table_stays(bench: Bench) -> None:
    table, tool, index = indexed(bench, {"a": TEXT})
    bench.work.tools.mark_deleted(tool.id)
    assert RemoveDeleted(bench.store).run() == (1, [])
    assert not bench.is_compared(index)
    with bench.store.for_all("test") as work:
        assert work.tables.find(table.id, project_id=table.project_id) == table
        compare(work, index, table.id, Limits(), None)
        assert work.indexes.find(index.id) is None


@pytest.mark.parametrize("kind", ["table", "tool"])
def test_nothing_is_removed_that_our_api_did_not_delete(bench: Bench, kind: str) -> None:
    table, tool, _ = indexed(bench, {"a": TEXT})
    removal = Removal("table", table.id) if kind == "table" else Removal("tool", tool.id)
    bench.put_away(table)
    bench.put_away(tool)
    bench.work.removals.delay(removal, retry_in_s=-1)
    assert bench.work.removals.remove(removal) == "left"
    assert bench.work.removals.remove(Removal(removal.kind, 10**9)) == "left"
    assert due(bench) == []
    bench.put_away(table, back=True)
    bench.put_away(tool, back=True)
    assert bench.work.tools.find(tool.id, project_id=None) == tool


def test_what_is_put_off_is_due_later_and_keeps_no_other(bench: Bench) -> None:
    project = bench.project()
    first, second = bench.table({}, project), bench.table({}, project)
    for table in (first, second):
        bench.delete(table)
    bench.work.removals.delay(Removal("table", first.id), retry_in_s=100)
    assert due(bench) == [Removal("table", second.id)]
    bench.pass_time(101)
    assert set(due(bench)) == {Removal("table", first.id), Removal("table", second.id)}


def test_a_table_in_its_owners_trash_is_not_there_and_comes_back_whole(bench: Bench) -> None:
    table, tool, index = indexed(bench, {"a": TEXT, "b": OTHER})
    stored = bench.ids(index)
    bench.put_away(table)
    with bench.store.for_all("test") as work:
        assert work.tables.find(table.id, project_id=table.project_id) is None
        assert work.tables.lock(table.id) is None
        assert work.tools.find(tool.id, project_id=None) is None
        assert work.live_chunks.hydrate(index, Reach(), stored) == {}
    bench.pass_time(10_000)
    assert remove_nodes(bench) == 2
    assert ordered(bench) == []
    assert RemoveDeleted(bench.store).run() == (0, [])
    bench.lose_messages()
    bench.put_away(table, back=True)
    assert not bench.is_compared(index)
    assert [order["kind"] for order in bench.messages()] == ["enumerate"]
    bench.finish_all(index)
    assert bench.work.tools.find(tool.id, project_id=None) is not None
    assert len(bench.ids(index)) == len(stored)
    assert bench.is_compared(index)


def test_the_summary_of_a_tool_is_not_ready_when_its_table_comes_back(bench: Bench) -> None:
    table, tool, _ = indexed(bench, {"a": TEXT})
    bench.work.tools.write_summary(tool.id, {"status": "ready", "nodes_count": 1})
    bench.put_away(table)
    remove_nodes(bench)
    bench.put_away(table, back=True)
    assert bench.work.indexes.with_incomplete_tools(limit=9) == [tool.index_id]


def ordered(bench: Bench) -> list[tuple[int, int]]:
    """What ``cleanup`` has compared now."""
    return bench.work.comparisons.behind(silent_s=300, limit=9)


def test_the_last_tool_of_an_index_comes_back_from_its_owners_trash(bench: Bench) -> None:
    table, tool, index = indexed(bench, {"a": TEXT})
    bench.put_away(tool)
    bench.pass_time(10_000)
    assert ordered(bench) == [(index.id, table.id)]
    with bench.store.for_all("test") as work:
        assert work.comparisons.scopes(index.id) == []
        assert work.comparisons.may_be_needed(index.id)
        compare(work, index, table.id, Limits(), None)
    assert bench.ids(index) == []
    bench.pass_time(10_000)
    assert ordered(bench) == []
    bench.put_away(tool, back=True)
    assert ordered(bench) == [(index.id, table.id)]
    bench.finish_all(index)
    assert len(bench.ids(index)) == 3


def test_an_index_goes_when_a_tool_in_the_trash_is_deleted(bench: Bench) -> None:
    table, tool, index = indexed(bench, {"a": TEXT})
    bench.put_away(tool)
    with bench.store.for_all("test") as work:
        compare(work, index, table.id, Limits(), None)
        work.tools.mark_deleted(tool.id)
        assert not work.comparisons.may_be_needed(index.id)
    assert RemoveDeleted(bench.store).run() == (1, [])
    bench.pass_time(10_000)
    assert ordered(bench) == [(index.id, table.id)]
    with bench.store.for_all("test") as work:
        compare(work, index, table.id, Limits(), None)
        assert work.indexes.find(index.id) is None


def delete_project(bench: Bench, project_id: int) -> bool:
    return bench.work.projects.mark_deleted(project_id)


def mark_tables(bench: Bench, *, limit: int = 9) -> int:
    return bench.work.tables.mark_of_deleted_projects(limit=limit)


def test_a_deleted_project_is_not_there(bench: Bench) -> None:
    table, _, _ = indexed(bench, {"a": TEXT})
    other = bench.project()
    assert delete_project(bench, table.project_id)
    assert not delete_project(bench, table.project_id)
    assert not delete_project(bench, 10**9)
    with bench.store.for_all("test") as work:
        assert not work.projects.exists(table.project_id)
        assert not work.projects.lock(table.project_id)
        assert work.projects.exists(other.id)


def test_a_deleted_projects_tables_are_marked_in_steps(bench: Bench) -> None:
    project = bench.project()
    tables = [bench.table({"a": TEXT}, project) for _ in range(3)]
    tool, _ = bench.tool(tables[0])
    bench.put_away(tables[1])
    kept = bench.table({"a": TEXT})
    assert mark_tables(bench) == 0
    delete_project(bench, project.id)
    assert [mark_tables(bench, limit=2) for _ in range(3)] == [2, 1, 0]
    assert bench.work.tools.find(tool.id, project_id=None) is None
    assert bench.work.tables.find(kept.id, project_id=kept.project_id) == kept
    late = bench.table({"a": TEXT}, project)  # of a request that had begun before
    assert mark_tables(bench) == 1
    assert bench.work.tables.find(late.id, project_id=project.id) is None


def test_a_deleted_project_goes_after_its_tables(bench: Bench) -> None:
    table, tool, index = indexed(bench, {"a": TEXT})
    of_project = bench.project_index(table.project_id)
    stored = bench.ids(index)
    delete_project(bench, table.project_id)
    assert due(bench) == []
    mark_tables(bench)
    assert remove_nodes(bench) == 1
    assert due(bench) == [Removal("tool", tool.id), Removal("table", table.id)]
    assert RemoveDeleted(bench.store).run() == (2, [])
    assert due(bench) == [Removal("project", table.project_id)]
    assert RemoveDeleted(bench.store).run() == (1, [])
    assert due(bench) == []
    remove_nodes(bench)
    assert sorted(stone.doc_id for stone in bench.tombstones()) == stored
    assert bench.work.removals.remove(Removal("project", table.project_id)) == "left"
    assert bench.work.indexes.find(of_project.id) is None
    retired = bench.work.removals.retired(older_than_s=-1, limit=9)
    assert bench.work.outbox.waiting(limit=9) == []
    namespaces = {index.generation.namespace, of_project.generation.namespace}
    assert {generation.namespace for generation in retired} == namespaces


def test_a_project_that_our_api_did_not_delete_stays(bench: Bench) -> None:
    project = bench.project()
    assert bench.work.removals.remove(Removal("project", project.id)) == "left"
    assert not bench.work.removals.delay(Removal("project", project.id), retry_in_s=60)
    assert bench.work.projects.exists(project.id)


def test_a_project_that_could_not_be_removed_is_due_later(bench: Bench) -> None:
    project = bench.project()
    delete_project(bench, project.id)
    removal = Removal("project", project.id)
    assert bench.work.removals.delay(removal, retry_in_s=60)
    assert due(bench) == []
    bench.pass_time(61)
    assert due(bench) == [removal]


@only_postgres
def test_a_held_table_keeps_no_other_of_a_deleted_project(bench: PostgresBench) -> None:
    project = bench.project()
    held, free = bench.table({}, project), bench.table({}, project)
    delete_project(bench, project.id)
    with ThreadPoolExecutor(1) as threads, bench.tx() as tx:
        tx.run("SELECT FROM context_table WHERE id = :id FOR UPDATE", id=held.id)
        assert threads.submit(mark_tables, bench).result() == 1
    rows = bench.sql("SELECT id FROM context_table WHERE context_search_remove_at IS NOT NULL")
    assert rows == [[free.id]]


@only_postgres
def test_a_table_deleted_by_plain_sql_leaves_no_namespace_behind(bench: PostgresBench) -> None:
    table, _, index = indexed(bench, {"a": TEXT})
    _, _, kept = indexed(bench, {"a": TEXT})
    bench.sql("DELETE FROM context_table WHERE id = :id", id=table.id)
    remove_nodes(bench)
    found = bench.work.removals.retired(older_than_s=-1, limit=9)
    assert found == [SweepCursor(index.generation.id, index.generation.namespace, "")]
    assert bench.sql("SELECT id FROM search_index") == [[kept.id]]


def to_delete(bench: Bench, *, config: object = SMALL) -> Index:
    """An index whose only node was removed."""
    _, index = bench.tool(bench.table({"a": TEXT}), config=config)  # type: ignore[arg-type]
    [node_id] = bench.enumerate(index)
    bench.finish(node_id)
    bench.work.nodes.remove([node_id])
    return index


def note(bench: Bench, *, grace_s: float) -> int:
    """Deletes what may be deleted; returns how many tombstones are forgotten."""
    stones = bench.tombstones(older_than_s=grace_s)
    return bench.work.removals.note_deleted(stones, older_than_s=grace_s) if stones else 0


def test_a_tombstone_says_what_to_delete(bench: Bench) -> None:
    index = to_delete(bench, config=replace(SMALL, window_tokens=10))
    stones = bench.tombstones()
    assert {stone.namespace for stone in stones} == {index.generation.namespace}
    assert min(stone.window_count for stone in stones) > 1


def test_a_document_is_deleted_twice_with_the_grace_between(bench: Bench) -> None:
    to_delete(bench)
    assert len(bench.tombstones(older_than_s=100)) == 3
    assert note(bench, grace_s=100) == 0
    bench.pass_time(90)
    assert bench.tombstones(older_than_s=100) == []
    bench.pass_time(11)
    assert len(bench.tombstones(older_than_s=100)) == 3
    assert note(bench, grace_s=100) == 3
    assert bench.tombstones(older_than_s=100) == []


def test_a_document_that_was_never_deleted_is_still_deleted_twice(bench: Bench) -> None:
    to_delete(bench)
    bench.pass_time(1000)
    assert note(bench, grace_s=100) == 0
    assert note(bench, grace_s=100) == 3
    assert note(bench, grace_s=100) == 0


def test_a_document_of_a_retired_generation_is_deleted_once(bench: Bench) -> None:
    index = to_delete(bench)
    to_delete(bench)
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        stones = work.removals.tombstones(older_than_s=100, limit=99)
        of_retired = [stone for stone in stones if stone.namespace == index.generation.namespace]
        others = [stone for stone in stones if stone not in of_retired]
        assert len(of_retired) == len(others) == 3
        assert work.removals.note_deleted(of_retired, older_than_s=100) == 3
        assert work.removals.note_deleted(others, older_than_s=100) == 0
    assert {stone.namespace for stone in bench.tombstones(older_than_s=-1)} == {others[0].namespace}


def test_what_was_never_deleted_is_not_held_up_by_what_waits(bench: Bench) -> None:
    to_delete(bench)
    with bench.store.for_all("test") as work:
        for _ in range(3):
            [stone] = work.removals.tombstones(older_than_s=100, limit=1)
            assert work.removals.note_deleted([stone], older_than_s=100) == 0
        assert work.removals.tombstones(older_than_s=100, limit=1) == []


def test_old_tombstones_come_first_and_not_too_many(bench: Bench) -> None:
    old = to_delete(bench)
    bench.pass_time(10)
    to_delete(bench)
    stones = bench.work.removals.tombstones(older_than_s=0, limit=3)
    assert [stone.namespace for stone in stones] == [old.generation.namespace] * 3


def retired(bench: Bench, *, older_than_s: float, limit: int = 9) -> list[int]:
    found = bench.work.removals.retired(older_than_s=older_than_s, limit=limit)
    return [each.generation_id for each in found]


def test_a_retired_generation_waits_for_its_nodes_and_its_time(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT})
    bench.work.indexes.retire(index.id)
    bench.pass_time(100)
    assert retired(bench, older_than_s=50) == []
    assert bench.work.removals.remove_retired_nodes(limit=9) == 1
    assert bench.work.removals.remove_retired_nodes(limit=9) == 0
    assert retired(bench, older_than_s=150) == []
    assert retired(bench, older_than_s=50) == [index.generation.id]
    assert retired(bench, older_than_s=50, limit=0) == []


def test_a_forgotten_generation_takes_its_tombstones_along(bench: Bench) -> None:
    index = to_delete(bench)
    to_delete(bench)
    bench.work.indexes.retire(index.id)
    bench.work.removals.purge_generation(index.generation.id)
    bench.work.removals.purge_generation(index.generation.id)
    assert len(bench.tombstones()) == 3
    assert index.generation.namespace not in {stone.namespace for stone in bench.tombstones()}
    assert retired(bench, older_than_s=-1) == []
