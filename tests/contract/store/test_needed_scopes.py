"""Contract of ``Indexes``: what live tools need, whoever deletes the others."""

from __future__ import annotations

from context_search.core.model import Index, SearchTool
from context_search.indexing.comparing import Limits, compare
from context_search.maintenance.rules.health import CleanupLimits
from tests.contract.store.bench import OTHER, TEXT, Bench


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
            index = work.indexes.find(index_id)
            assert index is not None
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
    table = bench.table({"a": TEXT, "b": OTHER})
    _, index = bench.tool(table)
    bench.enumerate(index)
    inner, _ = bench.tool(table, "/a")
    assert bench.is_compared(index)
    mark_deleted(bench, inner)
    assert bench.is_compared(index)


def test_the_short_strings_of_a_new_scope_are_counted_later(bench: Bench) -> None:
    table = bench.table({"a": [TEXT, "short", " "], "b": "short, too"})
    _, index = bench.tool(table)
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
    claim = bench.claim(node_id)
    bench.work.nodes.quarantine(claim, {"code": "EMBEDDING_REJECTED"})
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


def test_a_longer_name_is_another_scope(bench: Bench) -> None:
    table = bench.table({"a": TEXT, "a2": OTHER})
    _, index = bench.tool(table, "/a")
    bench.enumerate(index)
    bench.tool(table, "/a2")
    assert not bench.is_compared(index)
