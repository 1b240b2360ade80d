"""Which tables have to be compared, for which scopes, and why one cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from context_search.core.model import Index, SearchTool, Table
from context_search.indexing.comparing import Limits, compare
from context_search.maintenance.rules.health import CleanupLimits
from tests.builders import present
from tests.contract.store.bench import OTHER, TEXT, Bench
from tests.steps import SMALL, table_of


def behind(bench: Bench, *, limit: int = 9) -> list[int]:
    with bench.store.for_all("test") as work:
        found = work.comparisons.behind(silent_s=300, limit=limit)
        for index_id, table_id in found:
            index = present(work.indexes.find(index_id))
            assert index.table_id == table_id
    return [index_id for index_id, _ in found]


def compared(bench: Bench) -> tuple[Table, Index]:
    """A table and an index that is up to date, for a long time."""
    table, index = bench.served({"a": TEXT})
    bench.finish_all(index)
    bench.pass_time(10_000)
    return table, index


def uncompared(bench: Bench, index: Index) -> list[int]:
    return bench.work.comparisons.uncompared(index.id)


def test_a_change_whose_order_is_lost_is_found_after_a_while(bench: Bench) -> None:
    table, index = compared(bench)
    bench.change(table, {"a": OTHER})
    bench.pass_time(290)
    assert behind(bench) == []
    bench.pass_time(11)
    assert behind(bench) == []
    bench.lose_messages()
    for _ in range(2):  # once in a while
        assert behind(bench) == [index.id]
        assert behind(bench) == []
        bench.pass_time(301)
    bench.enumerate(index)
    bench.pass_time(301)
    assert behind(bench) == []


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
    bench.work.indexes.switch(bench.work.indexes.start_rebuild(index, SMALL, at_once=2))
    bench.work.indexes.switch(present(bench.work.indexes.previous(index.id)))
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


def two_tools(bench: Bench) -> tuple[list[SearchTool], Index]:
    """Two tools on one index that is up to date, each with a string of its own."""
    table = bench.table({"a": TEXT, "b": OTHER})
    tools = [bench.tool(table, scope)[0] for scope in ("/a", "/b")]
    index = bench.index(tools[0].index_id)
    bench.finish_all(index)
    assert bench.is_compared(index)
    bench.pass_time(10_000)
    return tools, index


def mark_deleted(bench: Bench, tool: SearchTool) -> None:
    """As another program does: nobody says that the index has to be compared."""
    bench.work.tools.mark_deleted(tool.id)


def execute(bench: Bench) -> None:
    """What ``cleanup`` orders."""
    with bench.store.for_all("test") as work:
        for index_id, table_id in work.comparisons.behind(silent_s=300, limit=9):
            index = present(work.indexes.find(index_id))
            compare(work, index, table_id, Limits(), None)


def test_strings_of_a_tool_that_somebody_marked_deleted_go(bench: Bench) -> None:
    tools, index = two_tools(bench)
    mark_deleted(bench, tools[0])
    assert not bench.is_compared(index)
    assert bench.work.comparisons.scopes(index.id) == ["/b"]
    execute(bench)
    assert bench.is_compared(index)
    nodes = bench.work.node_counts.in_scope(index, "", limit=9)
    assert [node.json_pointer for node in nodes] == ["/b"]


def test_an_index_whose_last_tool_somebody_marked_deleted_goes(bench: Bench) -> None:
    tools, index = two_tools(bench)
    for tool in tools:
        mark_deleted(bench, tool)
    execute(bench)
    assert bench.work.indexes.find(index.id) is None
    assert bench.work.removals.remove_retired_nodes(limit=9) == 2


def test_a_tool_inside_another_one_comes_and_goes_without_a_comparison(bench: Bench) -> None:
    table, index = bench.served({"a": TEXT, "b": OTHER})
    bench.enumerate(index)
    inner, _ = bench.tool(table, "/a")
    assert bench.is_compared(index)
    mark_deleted(bench, inner)
    assert bench.is_compared(index)


def test_the_short_strings_of_a_new_scope_are_counted_later(bench: Bench) -> None:
    table, index = bench.served({"a": [TEXT, "short", " "], "b": "short, too"})
    bench.enumerate(index)
    assert not_searched(bench, index) == {"": 2, "/a": None}
    bench.tool(table, "/a")
    bench.lose_messages()
    bench.pass_time(10_000)
    with bench.store.for_all("test") as work:
        assert not work.comparisons.follows(index.id)
        assert work.comparisons.behind(silent_s=60, limit=9) == [(index.id, table.id)]
        assert work.health.due_in_s([work.comparisons], CleanupLimits()) is not None
    assert bench.enumerate(index) == []
    assert not_searched(bench, index) == {"": 2, "/a": 1}
    assert bench.work.comparisons.follows(index.id)
    assert bench.work.comparisons.behind(silent_s=0, limit=9) == []


def test_strings_that_are_given_up_are_not_searched(bench: Bench) -> None:
    _, index = bench.tool(bench.table({"a": [TEXT, "short"], "b": OTHER}), "/a")
    [node_id] = bench.enumerate(index)
    bench.work.nodes.quarantine(bench.claim(node_id), {"code": "EMBEDDING_REJECTED"})
    assert not_searched(bench, index) == {"": None, "/a": 2}


def not_searched(bench: Bench, index: Index) -> dict[str, int | None]:
    """What a search and the status say of each scope: the same."""
    searched = {
        scope: bench.work.node_counts.state(index, scope, silent_s=60).not_searched
        for scope in ("", "/a")
    }
    reported = bench.work.node_counts.progress_of(index, ["", "/a"], silent_s=60)
    assert {scope: each.not_searched for scope, each in reported.items()} == searched
    return searched


def test_what_remains_of_two_tools_is_compared_when_the_larger_one_goes(bench: Bench) -> None:
    table = bench.table({"a": TEXT, "b": OTHER})
    outer, index = bench.tool(table)
    bench.tool(table, "/a")
    bench.enumerate(index)
    mark_deleted(bench, outer)
    assert not bench.is_compared(index)


LARGE = {"code": "DOCUMENT_TOO_LARGE", "message": "too large", "retryable": False}
DEEP = {"code": "INVALID_DOCUMENT", "message": "too deep", "retryable": False}


class Shelf:
    """Tables of one project, all compared, and the index over them."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        project = bench.project()
        self.tables = [bench.table({"a": 1}, project) for _ in range(3)]
        self.index = bench.project_index(project.id)
        for table in self.tables:
            self.mark(table)

    def mark(self, table: Table, index: Index | None = None) -> None:
        self.bench.work.comparisons.note_compared(index or self.index, table.id, 1, [""])

    def refuse(self, table: Table, error: dict[str, object]) -> None:
        self.bench.pass_time(1)
        self.bench.work.comparisons.note_refused(self.index.id, table.id, error)

    def reported(self, index: Index | None = None) -> list[tuple[object, object]]:
        """Table and code of each reason, the latest first."""
        seen = index or self.index
        progress = self.bench.work.node_counts.progress(seen, "", silent_s=999)
        status = self.bench.work.node_counts.state(seen, "", silent_s=999).status
        assert progress.status == status == ("error" if progress.refused else "ready")
        assert progress.last_error == (progress.refused[0] if progress.refused else None)
        return [(error["table_id"], error["code"]) for error in progress.refused]


@pytest.fixture
def shelf(bench: Bench) -> Shelf:
    return Shelf(bench)


def test_each_table_has_a_reason_of_its_own_until_it_is_compared_again(shelf: Shelf) -> None:
    one, other, third = shelf.tables
    assert shelf.reported() == []
    shelf.refuse(one, {**LARGE})
    shelf.refuse(other, {**DEEP})
    both = [(other.id, "INVALID_DOCUMENT"), (one.id, "DOCUMENT_TOO_LARGE")]
    assert shelf.reported() == both
    shelf.mark(third)
    assert shelf.reported() == both
    shelf.mark(other)
    assert shelf.reported() == both[1:]
    shelf.refuse(one, {**DEEP})
    assert shelf.reported() == [(one.id, "INVALID_DOCUMENT")]
    shelf.mark(one)
    assert shelf.reported() == []


def test_a_table_that_is_gone_takes_its_reason_with_it(shelf: Shelf, bench: Bench) -> None:
    one, other, _ = shelf.tables
    shelf.refuse(one, {**LARGE})
    shelf.refuse(other, {**LARGE})
    bench.delete(one)
    assert shelf.reported() == [(other.id, "DOCUMENT_TOO_LARGE")]
    bench.put_away(other)
    assert shelf.reported() == []
    bench.put_away(other, back=True)
    assert shelf.reported() == [(other.id, "DOCUMENT_TOO_LARGE")]


def test_a_failure_that_passes_hides_no_reason_and_ends_alone(shelf: Shelf, bench: Bench) -> None:
    one, other, _ = shelf.tables
    shelf.refuse(one, {**LARGE})
    bench.change(other, {"a": TEXT})
    bench.work.comparisons.note_failed(
        shelf.index.id, {"code": "X", "message": "x", "retryable": True}
    )
    reported = bench.work.node_counts.progress(shelf.index, "", silent_s=999)
    assert (reported.status, reported.last_error) == ("indexing", reported.refused[0])
    bench.work.comparisons.note_compared(shelf.index, other.id, 2, [""])
    assert bench.work.comparisons.follows(shelf.index.id)
    assert shelf.reported() == [(one.id, "DOCUMENT_TOO_LARGE")]


def test_generations_that_follow_the_document_are_refused_together(
    shelf: Shelf, bench: Bench
) -> None:
    one, *_ = shelf.tables
    building = bench.work.indexes.start_rebuild(
        shelf.index, replace(SMALL, chunk_size=50), at_once=2
    )
    for table in shelf.tables:
        shelf.mark(table, building)
    shelf.refuse(one, {**LARGE})
    seen = [
        bench.work.node_counts.progress(each, "", silent_s=999).refused[0]["table_id"]
        for each in (shelf.index, building)
    ]
    assert seen == [one.id, one.id]
