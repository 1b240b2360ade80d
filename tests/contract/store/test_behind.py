"""Contract of ``Comparisons.behind``: messages to compare that were sent and never handled."""

from __future__ import annotations

from context_search.core.model import Index, Table
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL, table_of


def behind(bench: Bench, *, limit: int = 9) -> list[int]:
    with bench.store.for_all("test") as work:
        found = work.comparisons.behind(silent_s=300, limit=limit)
        for index_id, table_id in found:
            index = work.indexes.find(index_id)
            assert index is not None
            assert index.table_id == table_id
    return [index_id for index_id, _ in found]


def compared(bench: Bench) -> tuple[Table, Index]:
    """A table and an index that is up to date, for a long time."""
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table)
    bench.finish_all(index)
    bench.pass_time(10_000)
    return table, index


def uncompared(bench: Bench, index: Index) -> list[int]:
    return bench.work.comparisons.uncompared(index.id)


def test_what_was_compared_is_not_behind(bench: Bench) -> None:
    compared(bench)
    assert behind(bench) == []


def test_a_change_whose_order_is_lost_is_found_after_a_while(bench: Bench) -> None:
    table, index = compared(bench)
    bench.change(table, {"a": OTHER})
    bench.pass_time(290)
    assert behind(bench) == []
    bench.pass_time(11)
    assert behind(bench) == []
    bench.lose_messages()
    assert behind(bench) == [index.id]
    bench.enumerate(index)
    bench.pass_time(301)
    assert behind(bench) == []


def test_an_index_is_taken_once_in_a_while(bench: Bench) -> None:
    table, index = compared(bench)
    bench.change(table, {"a": OTHER})
    bench.lose_messages()
    bench.pass_time(301)
    assert behind(bench) == [index.id]
    assert behind(bench) == []
    bench.pass_time(301)
    assert behind(bench) == [index.id]


def test_there_is_an_order_and_a_limit(bench: Bench) -> None:
    indexes = []
    for _ in range(3):
        table, index = compared(bench)
        bench.change(table, {"a": OTHER})
        indexes.append(index.id)
    bench.lose_messages()
    bench.pass_time(10_000)
    assert behind(bench, limit=2) == sorted(indexes)[:2]
    assert behind(bench, limit=2) == sorted(indexes)[2:]


def test_a_scope_inside_of_another_needs_no_comparison(bench: Bench) -> None:
    table = bench.table({"a": {"b": TEXT}})
    _, index = bench.tool(table, "/a")
    bench.enumerate(index)
    bench.tool(table, "/a/b")
    bench.tool(table, "/a")
    assert uncompared(bench, index) == []
    for scope in ("/a2", ""):
        bench.tool(table, scope)
        assert uncompared(bench, index) == [table.id]
        bench.enumerate(index)


def test_another_scope_has_to_be_compared(bench: Bench) -> None:
    table = bench.table({"a": TEXT})
    _, index = bench.tool(table, "/b")
    bench.enumerate(index)
    tool, _ = bench.tool(table, "/a")
    assert not bench.is_compared(index)
    bench.pass_time(301)
    assert behind(bench) == [index.id]
    bench.enumerate(index)
    bench.work.comparisons.uncover(tool.id)
    bench.pass_time(301)
    assert behind(bench) == [index.id]


def test_an_index_that_no_tool_needs_has_to_be_compared(bench: Bench) -> None:
    table = bench.table({"a": TEXT})
    tool, index = bench.tool(table)
    bench.enumerate(index)
    bench.work.tools.mark_deleted(tool.id)
    bench.work.comparisons.uncover(tool.id)
    bench.pass_time(301)
    assert behind(bench) == [index.id]


def test_a_new_generation_has_to_be_compared(bench: Bench) -> None:
    _, index = compared(bench)
    building = bench.work.indexes.start_rebuild(index, SMALL, at_once=2)
    assert behind(bench) == []
    bench.pass_time(301)
    assert behind(bench) == [index.id]
    bench.enumerate(index)
    bench.work.indexes.switch(building)
    bench.pass_time(301)
    assert behind(bench) == []


def test_a_generation_that_comes_back_has_to_be_compared(bench: Bench) -> None:
    _, index = compared(bench)
    with bench.store.for_all("test") as work:
        work.indexes.switch(work.indexes.start_rebuild(index, SMALL, at_once=2))
        previous = work.indexes.previous(index.id)
        assert previous is not None
        work.indexes.switch(previous)
    assert not bench.is_compared(index)
    bench.pass_time(301)
    assert behind(bench) == [index.id]


def test_deleted_tables_and_retired_indexes_are_left_alone(bench: Bench) -> None:
    for leave in ("table", "index"):
        table, index = compared(bench)
        bench.change(table, {"a": OTHER})
        if leave == "table":
            bench.work.tables.mark_deleted(table.id)
        else:
            bench.work.indexes.retire(index.id)
    bench.pass_time(10_000)
    assert behind(bench) == []


def test_a_table_whose_node_was_deleted_by_hand_is_compared_again(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT, "b": OTHER})
    kept, lost = bench.node_at(index, "/a"), bench.node_at(index, "/b")
    before = bench.ids(index)
    assert bench.is_compared(index)
    bench.delete_by_hand(lost)
    assert not bench.is_compared(index)
    bench.pass_time(100)
    assert bench.work.comparisons.behind(silent_s=60, limit=9) == [(index.id, table_of(index))]
    [again] = bench.enumerate(index)
    assert again not in (kept, lost)
    assert bench.is_compared(index)
    bench.finish(again)
    assert bench.node_at(index, "/a") == kept
    assert len(bench.ids(index)) == len(before)
