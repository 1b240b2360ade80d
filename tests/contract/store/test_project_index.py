"""Contract of the index over all tables of a project, on both stores."""

from __future__ import annotations

import pytest

from context_search.core.callers import ProjectKey
from context_search.core.config import Model
from context_search.core.limits import ProjectLimits
from context_search.core.messages import CompareIndex
from context_search.core.model import Index, Project, Reach, Table
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.indexing.project_index import ProjectIndexes
from context_search.maintenance.cleanup import remove_absent_nodes
from context_search.postgres.errors import StatementRejectedError
from context_search.store import UnitOfWork
from testing.in_memory.queue import ListQueue, unexpected
from tests.builders import present
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL


def switched_on(bench: Bench, *documents: object) -> tuple[Index, list[Table]]:
    """A project with such tables and its index; all is compared and indexed."""
    project = bench.project()
    tables = [bench.table(document, project) for document in documents]
    index = bench.project_index(project.id)
    for table in tables:
        for node_id in bench.compare(index, table):
            bench.finish(node_id)
    return index, tables


def uncompared(bench: Bench, index: Index) -> list[int]:
    return bench.work.comparisons.uncompared(index.id)


def shown(bench: Bench, index: Index, tables: tuple[int, ...] | None = None) -> set[int]:
    """The tables of what a search may show."""
    ids = bench.ids(index)
    found = bench.work.live_chunks.hydrate(index, Reach("", tables), ids)
    return {chunk.table_id for chunk in found.values()}


def test_a_project_has_one_index_without_a_table(bench: Bench) -> None:
    project, stranger = bench.project(), bench.project()
    index = bench.project_index(project.id)
    assert index.table_id is None
    assert index.generation.namespace.endswith(f"_project_{project.id}_search_i{index.id}_g1")
    with bench.store.for_all("test") as work:
        assert work.indexes.of_project(project.id) == index == work.indexes.find(index.id)
        assert work.indexes.of_project(stranger.id) is None
        assert work.comparisons.scopes(index.id) == [""]
        assert work.indexes.lock(index)
        assert work.projects.lock(project.id)
        assert not work.projects.lock(10**9)


def test_the_same_pointer_of_two_tables_is_two_nodes(bench: Bench) -> None:
    index, [one, other] = switched_on(bench, {"a": TEXT}, {"a": TEXT})
    assert len(bench.work.nodes.known(index.generation.id, one.id)) == 1
    assert len(bench.work.nodes.known(index.generation.id, other.id)) == 1
    assert bench.work.node_counts.progress(index, "", silent_s=1e9).states == {"indexed": 2}
    assert shown(bench, index) == {one.id, other.id}
    assert shown(bench, index, (other.id,)) == {other.id}


def test_comparing_one_table_leaves_the_nodes_of_others(bench: Bench) -> None:
    index, [one, other] = switched_on(bench, {"a": TEXT}, {"a": TEXT})
    bench.change(one, {})
    assert bench.compare(index, one) == []
    assert bench.work.nodes.known(index.generation.id, one.id) == []
    assert len(bench.work.nodes.known(index.generation.id, other.id)) == 1


def test_it_is_compared_when_every_table_is(bench: Bench) -> None:
    project = bench.project()
    tables = [bench.table({"a": TEXT}, project) for _ in range(2)]
    bench.table({"a": TEXT})
    index = bench.project_index(project.id)
    assert uncompared(bench, index) == [table.id for table in tables]
    bench.compare(index, tables[0])
    assert uncompared(bench, index) == [tables[1].id]
    assert not bench.is_compared(index)
    assert bench.work.node_counts.state(index, "", silent_s=1e9).status == "indexing"
    bench.compare(index, tables[1])
    assert bench.is_compared(index)


def test_new_and_changed_tables_are_ordered_by_themselves(bench: Bench) -> None:
    project = bench.project()
    table = bench.table({"a": 1}, project)
    index = bench.project_index(project.id)
    assert bench.messages() == []
    later = bench.table({"a": 1}, project)
    bench.change(table, {"a": 2})
    bench.change(bench.table({"a": 1}), {"a": 2})
    assert bench.messages() == [
        CompareIndex(index.id, later.id).to_json(),
        CompareIndex(index.id, table.id).to_json(),
    ]


def test_a_table_that_nobody_compared_is_found_after_a_while(bench: Bench) -> None:
    index, [table] = switched_on(bench, {"a": TEXT})
    later = bench.table({"a": TEXT}, project=None)
    added = bench.work.tables.add(index.project_id, "t", None, "{}")
    assert bench.work.comparisons.behind(silent_s=300, limit=9) == []
    bench.change(table, {"a": OTHER})
    assert later.project_id != index.project_id
    bench.pass_time(301)
    with bench.store.for_all("test") as work:  # what the outbox has a message for is not lost
        assert work.comparisons.behind(silent_s=300, limit=9) == []
    bench.lose_messages()
    found = bench.work.comparisons.behind(silent_s=300, limit=9)
    assert found == [(index.id, table.id), (index.id, added.id)]
    assert bench.work.comparisons.behind(silent_s=300, limit=9) == []


def test_a_deleted_table_is_not_shown_and_its_nodes_go(bench: Bench) -> None:
    index, [one, other] = switched_on(bench, {"a": TEXT}, {"a": TEXT})
    bench.delete(one)
    assert shown(bench, index) == {other.id}
    assert bench.is_compared(index)
    with bench.store.for_all("test") as work:
        assert remove_absent_nodes(work, limit=9) == 1
    assert bench.work.indexes.find(index.id) == index
    assert bench.work.node_counts.progress(index, "", silent_s=1e9).nodes_count == 1
    assert len(bench.tombstones()) == 3
    assert uncompared(bench, index) == []


def test_a_changed_table_is_read_anew_and_others_are_not_stale(bench: Bench) -> None:
    index, [one, other] = switched_on(bench, {"a": TEXT, "b": TEXT}, {"a": TEXT})
    bench.change(one, {"a": OTHER})
    ids = bench.ids(index)
    found = bench.work.live_chunks.hydrate(index, Reach(), ids).values()
    assert {(each.table_id, each.json_pointer, each.stale) for each in found} == {
        (one.id, "/a", True),
        (other.id, "/a", False),
    }


def test_a_new_generation_follows_every_table(bench: Bench) -> None:
    index, tables = switched_on(bench, {"a": TEXT}, {"a": TEXT})
    building = bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    assert not bench.work.indexes.has_index(None, SMALL)
    assert building.generation.namespace.endswith(
        f"_project_{index.project_id}_search_i{index.id}_g2"
    )
    assert uncompared(bench, index) == [table.id for table in tables]
    assert not bench.is_compared(building)
    for table in tables:
        bench.compare(index, table)
    assert bench.is_compared(building)
    bench.work.indexes.switch(building)
    bench.work.indexes.switch(present(bench.work.indexes.previous(index.id)))
    assert uncompared(bench, index) == [table.id for table in tables]


def test_one_over_the_limit_gives_way_and_comes_back_empty(bench: Bench) -> None:
    index, tables = switched_on(bench, {"a": TEXT}, {"a": TEXT})
    bench.pass_time(100)
    tight = ProjectLimits(max_chunks=1, idle_s=10)
    going = present(bench.work.indexes.next_to_go(tight))
    assert bench.work.indexes.give_up(going, tight)
    evicted = bench.index(index.id)
    assert evicted.generation.namespace.endswith(
        f"_project_{index.project_id}_search_i{index.id}_g2"
    )
    assert bench.work.node_counts.state(evicted, "", silent_s=1e9).status == "evicted"
    assert bench.work.comparisons.behind(silent_s=0, limit=9) == []
    assert bench.work.indexes.revive(index.id)
    assert uncompared(bench, index) == [table.id for table in tables]


def test_what_waits_for_room_comes_back_unless_its_table_is_deleted(bench: Bench) -> None:
    project = bench.project()
    tables = [bench.table({"a": TEXT}, project) for _ in range(2)]
    index = bench.project_index(project.id)
    full = {"code": "PROJECT_FULL", "message": "m", "chunks": 3, "vector_bytes": 3 * 16 * 4}
    nodes = [node_id for table in tables for node_id in bench.compare(index, table)]
    for node_id in nodes:
        bench.work.nodes.skip(bench.claim(node_id), full)
    bench.delete(tables[0])
    bench.work.quotas.readmit(ProjectLimits(), limit=9)
    assert bench.try_claim(nodes[0]) is None
    assert bench.claim(nodes[1]).table_id == tables[1].id


def test_switched_off_it_is_gone_with_all_that_it_held(bench: Bench) -> None:
    index, [table] = switched_on(bench, {"a": TEXT})
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        assert work.indexes.of_project(index.project_id) is None
        assert not work.indexes.lock(index)
        assert work.comparisons.uncompared(index.id) == []
        assert work.removals.remove_retired_nodes(limit=9) == 1
    bench.change(table, {"a": OTHER})
    assert bench.messages() == []
    assert bench.project_index(index.project_id).id != index.id


INSERT = "INSERT INTO context_table (project_id, name, data) VALUES (:project, 't', '[\"text\"]')"


def switch_on(bench: Bench, project: Project) -> Index:
    indexes = ProjectIndexes(bench.store, Model(SMALL.model, SMALL.dimensions), 180.0)
    return indexes.switch_on(ProjectKey(project.id)).index


def handled(bench: PostgresBench, index: Index) -> list[int]:
    """Handles every message; returns the tables whose strings are nodes then."""
    queue = ListQueue()
    store = OutboxDelivery(bench.store, queue, unexpected)
    run = Comparer(store, IndexCompletion(bench.store, 180.0), Limits()).compare
    queue.send(bench.messages())
    run(index.id)
    while queue.messages:
        message = queue.messages.pop(0)
        if message["kind"] == "enumerate":
            run(index.id, message.get("table_id"))  # type: ignore[arg-type]
    return [table for [table] in bench.sql("SELECT DISTINCT table_id FROM node ORDER BY 1")]


@only_postgres
def test_it_waits_for_a_table_that_is_just_being_added(bench: PostgresBench) -> None:
    project = bench.project()
    with bench.tx() as tx:
        tx.run(INSERT, project=project.id)
        switched = bench.begun(switch_on, bench, project)
        assert not switched.done()
    assert handled(bench, switched.result()) == [1]


@only_postgres
def test_a_table_that_comes_meanwhile_waits_and_is_ordered(bench: PostgresBench) -> None:
    project = bench.project()
    with bench.tx() as tx:
        work = UnitOfWork(tx)
        assert work.projects.lock(project.id)
        index = work.indexes.add_to_project(project.id, SMALL)
        inserted = bench.begun(bench.sql, f"{INSERT} RETURNING id", project=project.id)
        assert not inserted.done()
    [[table_id]] = inserted.result()
    assert bench.messages() == [CompareIndex(index.id, table_id).to_json()]


@only_postgres
def test_a_change_that_is_not_committed_yet_is_not_missed(bench: PostgresBench) -> None:
    project = bench.project()
    table = bench.table({}, project)
    with bench.tx() as tx:
        tx.run("UPDATE context_table SET data = '[\"x\"]' WHERE id = :id", id=table.id)
        index = bench.begun(switch_on, bench, project).result()
        tables = bench.begun(handled, bench, index)
        assert not tables.done()
    assert tables.result() == [table.id]


@only_postgres
def test_a_project_has_one_such_index_whoever_comes_first(bench: PostgresBench) -> None:
    project = bench.project()
    with bench.tx() as tx:
        work = UnitOfWork(tx)
        assert work.projects.lock(project.id)
        switched = bench.begun(switch_on, bench, project)
        assert not switched.done()
        index = work.indexes.add_to_project(project.id, SMALL)
    assert switched.result().id == index.id
    with pytest.raises(StatementRejectedError):
        bench.project_index(project.id)


@only_postgres
def test_two_comparisons_do_not_wait_but_a_switch_does(bench: PostgresBench) -> None:
    index = bench.project_index(bench.project().id)
    with bench.tx() as tx:
        UnitOfWork(tx).indexes.share(index)
        assert bench.begun(bench.work.indexes.share, index).done()
        locked = bench.begun(bench.work.indexes.lock, index)
        assert not locked.done()
    assert locked.result()


@only_postgres
def test_a_table_that_moved_to_another_project_is_not_shown(bench: PostgresBench) -> None:
    index, [table] = switched_on(bench, {"a": TEXT})
    assert shown(bench, index) == {table.id}
    bench.move(table, bench.project().id)
    assert shown(bench, index) == set()
