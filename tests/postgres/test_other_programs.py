"""Other programs that write to the tables that we share with them, by plain SQL."""

from __future__ import annotations

import json

import pytest

from context_search.core.config import SearchConfig
from context_search.core.model import Scope
from context_search.indexing.comparing import Comparer, Limits, compare
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.vector_rows import plan
from tests.builders import Workbench, english
from tests.steps import SMALL


def test_an_index_goes_when_its_tool_is_deleted(bench: Workbench) -> None:
    tool, index = bench.tool(bench.table({"a": english(250)}))
    bench.indexed(index)
    bench.sql("DELETE FROM tool WHERE id = :id", id=tool.id)
    with bench.store.for_all("test") as work:
        assert work.comparisons.uncompared(index.id) == [index.table_id]
        compare(work, index, tool.scope.table_id, Limits(), None)
        assert work.removals.remove_retired_nodes(limit=9) == 1
    to_delete = bench.sql(
        "SELECT FROM tombstone WHERE namespace = :name", name=index.generation.namespace
    )
    assert len(to_delete) == 3


def test_an_index_rests_while_its_table_is_in_another_project(bench: Workbench) -> None:
    table = bench.table({"a": english(250)})
    _, index = bench.tool(table)
    bench.indexed(index)
    other = bench.work.projects.add("other").id
    move = "UPDATE context_table SET project_id = :to, data = CAST(:data AS jsonb) WHERE id = :id"
    bench.sql(move, to=other, data='{"a": "short"}', id=table.id)
    order = Comparer(bench.store, IndexCompletion(bench.store, 60), Limits())
    order.compare(index.id, table.id)
    bench.sql("DELETE FROM outbox")  # it is done
    assert (index.id, table.id) not in bench.work.comparisons.behind(silent_s=-60, limit=99)
    assert bench.work.comparisons.uncompared(index.id) == []
    bench.sql(move, to=table.project_id, data='{"a": "short"}', id=table.id)
    assert bench.work.comparisons.uncompared(index.id) == [table.id]


@pytest.mark.parametrize("step", ["begin", "mark", "activate", "skip"])
def test_whoever_deletes_a_table_waits_for_a_worker_and_not_the_worker_for_him(
    bench: Workbench, step: str
) -> None:
    table = bench.table({"a": english(250)})
    _, index = bench.tool(table)
    [node_id] = bench.enumerate(index)
    claim = bench.claim(node_id)
    begun = None if step == "begin" else bench.begin(claim)
    if begun and step == "activate":
        bench.mark(begun)
    with bench.store.for_all("test") as work:
        assert work.nodes.hold([claim], lease_s=60) == [claim]
        deleted = bench.begun(bench.sql, "DELETE FROM context_table WHERE id = :id", id=table.id)
        assert not deleted.done()
        if step == "skip":
            work.nodes.skip(claim, {"code": "PROJECT_FULL"})
        elif begun is None:
            work.chunks.begin_sets([(claim, plan(claim))])
        elif step == "mark":
            work.chunks.mark_present([begun.chunks[0].id])
        else:
            assert work.chunks.activate([(claim, begun)]) == {claim.node_id}
    deleted.result()
    assert bench.sql("SELECT FROM chunks WHERE table_id = :id", id=table.id) == []


@pytest.mark.parametrize("work_on", ["tool", "comparison"])
def test_whoever_deletes_a_project_waits_for_who_works_on_it_and_not_the_other_way_round(
    bench: Workbench, work_on: str
) -> None:
    table = bench.table({"a": english(250)})
    index = bench.tool(table)[1] if work_on == "comparison" else None
    with bench.store.for_all("test") as work:
        assert work.tables.lock(table.id, with_project=index is None) == 1
        deleted = bench.begun(bench.sql, "DELETE FROM project WHERE id = :id", id=bench.project.id)
        assert not deleted.done()
        if index:
            compare(work, index, table.id, Limits(), None)
        else:
            index = work.indexes.find_or_add(
                project_id=bench.project.id, table_id=table.id, config=SMALL
            )
            tool_id = work.tools.add(
                project_id=bench.project.id,
                name="search",
                description=None,
                scope=Scope(table.id, ""),
                search=SearchConfig(),
            )
            work.comparisons.cover(index.id, tool_id=tool_id, scope="")
    deleted.result()
    for name in ("tool", "search_index", "context_table", "node"):
        assert bench.count(name) == 0


@pytest.mark.parametrize("state", ["active", "building"])
def test_a_chunk_that_is_deleted_by_hand_has_its_string_indexed_anew(
    bench: Workbench, state: str
) -> None:
    table = bench.table({"a": english(400), "b": english(300, 2)})
    _, index = bench.tool(table)
    kept, lost = bench.enumerate(index)
    other = bench.finish(bench.claim(kept))
    claim = bench.claim(lost)
    broken = bench.finish(claim) if state == "active" else bench.begin(claim)
    assert bench.work.comparisons.is_compared(index)
    where = "WHERE set_id = :set AND chunk_index = 1"
    bench.sql(f"DELETE FROM chunks {where} RETURNING id", set=broken.id)
    assert not bench.work.comparisons.is_compared(index)
    assert not bench.work.chunks.activate([(claim, broken)])
    stones = {each.doc_id for each in bench.work.removals.tombstones(older_than_s=0, limit=9_999)}
    assert {chunk.doc_id for chunk in broken.chunks} <= stones
    [again] = bench.enumerate(index)
    assert again not in (kept, lost)
    whole = bench.finish(bench.claim(again))
    assert [chunk.text for chunk in whole.chunks] == [chunk.text for chunk in broken.chunks]
    sets = bench.sql("SELECT DISTINCT set_id FROM chunks WHERE table_id = :id", id=table.id)
    assert sorted(sets) == sorted([[other.id], [whole.id]])


def test_what_goes_with_its_table_or_its_set_is_nobodys_gap(bench: Workbench) -> None:
    table = bench.table({"a": english(400)})
    _, index = bench.tool(table)
    [node_id] = bench.enumerate(index)
    bench.finish(bench.claim(node_id))
    bench.sql(
        "UPDATE context_table SET data = CAST(:data AS jsonb) WHERE id = :id",
        data=json.dumps({"a": english(300, 2)}),
        id=table.id,
    )
    assert bench.enumerate(index) == [node_id]
    bench.finish(bench.claim(node_id))  # the chunks of before went with their set
    assert bench.work.comparisons.is_compared(index)
    bench.sql("DELETE FROM context_table WHERE id = :id", id=table.id)
    assert bench.sql("SELECT FROM node WHERE table_id = :id", id=table.id) == []
