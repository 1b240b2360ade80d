"""Contract of ``Tools``."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from context_search.catalog.rules.tools import Unowned
from context_search.core.callers import ProjectKey
from context_search.core.config import SearchConfig
from context_search.core.model import Index, Scope
from context_search.searching.rules.searched import SearchedTool
from context_search.store import UnitOfWork
from tests.contract.store.bench import Bench, PostgresBench, only_postgres
from tests.steps import SMALL

READY = {"status": "ready", "nodes_count": 1}


def searched_index(work: UnitOfWork, tool_id: int, project_id: int | None) -> Index | None:
    target = work.live_chunks.read_target(
        SearchedTool(tool_id, project_id), work.node_counts, silent_s=60
    )
    return None if target is None else target.index


def test_a_tool_is_found_as_it_was_added(bench: Bench) -> None:
    table = bench.table({})
    search = SearchConfig(
        top_k=7, strategy="keyword", vector_weight=0.25, bm25_weight=0.5, max_chunk_preview=80
    )
    with bench.store.for_all("test") as work:
        work.tables.lock(table.id)
        index = work.indexes.find_or_add(
            project_id=table.project_id, table_id=table.id, config=SMALL
        )
        tool_id = work.tools.add(
            project_id=table.project_id,
            name="find",
            description="finds",
            scope=Scope(table.id, "/a~1b"),
            search=search,
        )
        work.comparisons.cover(index.id, tool_id=tool_id, scope="/a~1b")
        tool = work.tools.find(tool_id, project_id=None)
    assert tool is not None
    assert (tool.id, tool.project_id, tool.index_id) == (tool_id, table.project_id, index.id)
    assert (tool.name, tool.description, tool.table_name) == ("find", "finds", "t")
    assert (tool.scope, tool.search) == (Scope(table.id, "/a~1b"), search)
    assert tool.threshold == SMALL.threshold


def test_a_project_finds_its_own_tools_only(bench: Bench) -> None:
    table, stranger = bench.table({}), bench.project()
    tool, _ = bench.tool(table)
    with bench.store.for_all("test") as work:
        assert work.tools.find(tool.id, project_id=table.project_id) == tool
        assert work.tools.find(tool.id, project_id=None) == tool
        assert work.tools.find(tool.id, project_id=stranger.id) is None
        index = work.indexes.find(tool.index_id)
        assert searched_index(work, tool.id, table.project_id) == index
        assert searched_index(work, tool.id, None) == index
        assert searched_index(work, tool.id, stranger.id) is None


def test_a_deleted_tool_is_invisible_at_once(bench: Bench) -> None:
    table = bench.table({})
    tool, index = bench.tool(table)
    kept, _ = bench.tool(table, "/kept")
    with bench.store.for_all("test") as work:
        work.tools.mark_deleted(tool.id)
        assert work.tools.find(tool.id, project_id=None) is None
        assert searched_index(work, tool.id, None) is None
        assert work.tools.of_index(index.id) == [kept]
        assert work.tools.page(table.project_id, after=0, limit=9) == [kept]
        assert work.tools.first_of_names(bench.principal(table).project_id, ["search"]) == {
            "search": kept.id
        }


def test_a_tool_without_its_table_or_its_index_in_its_project_is_invisible(bench: Bench) -> None:
    table, other = bench.table({}), bench.project()
    tool, index = bench.tool(table)

    def is_seen_by(project_id: int) -> set[bool]:
        caller = ProjectKey(project_id)
        with bench.store.for_all("test") as work:
            return {
                work.tools.find(tool.id, project_id=project_id) is not None,
                searched_index(work, tool.id, project_id) is not None,
                bool(work.tools.page(caller.project_id, after=0, limit=9)),
                bool(work.tools.first_of_names(caller.project_id, ["search"])),
            }

    bench.move(table, other.id)
    assert is_seen_by(table.project_id) == is_seen_by(other.id) == {False}
    assert bench.work.tools.find(tool.id, project_id=None) is None
    assert bench.work.tools.of_index(index.id) == []
    bench.move(tool, other.id)  # both, but the index is not there
    with bench.store.for_all("test") as work:
        assert work.tools.find(tool.id, project_id=None) is None
        assert searched_index(work, tool.id, other.id) is None
        assert work.tools.page(ProjectKey(other.id).project_id, after=0, limit=9) == []
    bench.move(table, table.project_id)
    bench.move(tool, table.project_id)
    assert is_seen_by(table.project_id) == {True}


@only_postgres
def test_a_tool_that_no_index_serves_is_its_projects(bench: Bench) -> None:
    table = bench.table({})
    tool, _ = bench.tool(table)
    bench.work.comparisons.uncover(tool.id)
    [unserved] = bench.work.tools.unserved(table.project_id, after=0, limit=9)
    assert unserved.id == tool.id
    assert bench.work.tools.of_no_project(limit=9) == Unowned(0, [])


def test_pages_go_up_by_id_and_begin_after_the_one_before(bench: Bench) -> None:
    table = bench.table({})
    tools = [bench.tool(table, f"/{number}")[0] for number in range(5)]
    bench.tool(bench.table({}))
    caller = bench.principal(table)
    assert bench.work.tools.page(caller.project_id, after=0, limit=3) == tools[:3]
    assert bench.work.tools.page(caller.project_id, after=tools[2].id, limit=3) == tools[3:]
    assert bench.work.tools.page(caller.project_id, after=tools[-1].id, limit=3) == []


@only_postgres
def test_a_page_of_names_looks_at_so_many_and_says_where_to_go_on(bench: Bench) -> None:
    table = bench.table({})
    names = ["Needle", "hay", "hay", "a needle", "needles"]
    tools = [bench.tool(table, f"/{at}", name=name)[0] for at, name in enumerate(names)]
    project = table.project_id

    def named(after: int, *, limit: int = 9, among: int = 9) -> tuple[list[object], int | None]:
        page = bench.work.tools.named(project, "NEEDLE", after=after, limit=limit, among=among)
        return [*page.rows], page.next_after

    assert named(0) == ([tools[0], *tools[3:]], None)
    assert named(0, limit=2) == ([tools[0], tools[3]], tools[3].id)
    assert named(tools[0].id, among=2) == ([], tools[2].id)
    assert named(tools[2].id, among=3) == (tools[3:], None)
    page = bench.work.tools.named(project, "a", table_id=table.id + 1, after=0, limit=9, among=9)
    assert (list(page.rows), page.next_after) == ([], None)


def test_the_first_of_a_name_is_that_with_the_lowest_id(bench: Bench) -> None:
    table = bench.table({})
    first, _ = bench.tool(table, name="a")
    bench.tool(table, name="a")
    other, _ = bench.tool(table, name="b")
    caller = bench.principal(table)
    named = bench.work.tools.first_of_names(caller.project_id, ["a", "b", "c"])
    assert named == {"a": first.id, "b": other.id}
    assert bench.work.tools.first_of_names(caller.project_id, []) == {}
    assert bench.work.tools.first_of_names(caller.project_id + 999, ["a"]) == {}


def test_tools_of_an_index_come_by_id(bench: Bench) -> None:
    table = bench.table({})
    one, index = bench.tool(table)
    other, same = bench.tool(table, "/x")
    bench.tool(table, config=replace(SMALL, chunk_size=50))
    assert same.id == index.id
    assert bench.work.tools.of_index(index.id) == [one, other]
    assert bench.work.tools.of_index(index.id, tool_id=other.id) == [other]
    assert bench.work.tools.of_index(10**9) == []


def incomplete(bench: Bench) -> list[int]:
    return bench.work.indexes.with_incomplete_tools(limit=100)


def test_a_tool_is_unsettled_until_its_summary_says_ready(bench: Bench) -> None:
    tool, index = bench.tool(bench.table({}))
    assert incomplete(bench) == [index.id]
    for summary, expected in (({"status": "degraded"}, [index.id]), (READY, [])):
        bench.work.tools.write_summary(tool.id, summary)
        assert incomplete(bench) == expected


def test_what_changes_is_no_longer_ready(bench: Bench) -> None:
    table = bench.table({})
    tools = [bench.tool(table, scope)[0] for scope in ("", "/a")]
    other, _ = bench.tool(bench.table({}))
    with bench.store.for_all("test") as work:
        for tool in (*tools, other):
            work.tools.write_summary(tool.id, READY)
        work.tools.mark_incomplete(tools[0].index_id)
    assert incomplete(bench) == [tools[0].index_id]


def test_a_tool_without_a_summary_stays_without_one(bench: Bench) -> None:
    tool, index = bench.tool(bench.table({}))
    bench.work.tools.mark_incomplete(index.id)
    assert bench.work.tools.of_index(index.id) == [tool]
    assert incomplete(bench) == [index.id]


def test_deleted_tools_are_settled(bench: Bench) -> None:
    table = bench.table({})
    tool, _ = bench.tool(table)
    bench.work.tools.mark_deleted(tool.id)
    assert incomplete(bench) == []


def test_unsettled_indexes_take_turns(bench: Bench) -> None:
    one, two, three = [bench.tool(bench.table({}))[1].id for _ in range(3)]
    turns = []
    for _ in range(3):
        turns.append(bench.work.indexes.with_incomplete_tools(limit=2))
        bench.pass_time(1)
    assert turns == [[one, two], [three, one], [two, one]]


@only_postgres
def test_rows_of_another_type_are_no_tools_of_ours(bench: PostgresBench) -> None:
    table = bench.table({})
    (tool, index), (other, _) = bench.tool(table), bench.tool(table)
    bench.sql("UPDATE tool SET type = 'other' WHERE id = :id", id=other.id)
    assert bench.work.tools.page(table.project_id, after=0, limit=9) == [tool]
    assert bench.work.tools.of_index(index.id) == [tool]


@only_postgres
@pytest.mark.parametrize(
    "before", [None, "null", "[1]", '"x"', "{}", '{"owner": "me", "search_index": {"status": "x"}}']
)
def test_the_summary_leaves_other_metadata_alone(bench: PostgresBench, before: str | None) -> None:
    tool, _ = bench.tool(bench.table({}))
    bench.sql("UPDATE tool SET metadata = CAST(:json AS jsonb)", json=before)
    bench.work.tools.write_summary(tool.id, {**READY, "last_error": None})
    [[text]] = bench.sql("SELECT metadata FROM tool")
    kept = {"owner": "me"} if before and "owner" in before else {}
    assert json.loads(text) == {**kept, "search_index": {**READY, "last_error": None}}


@only_postgres
def test_a_scope_that_is_changed_beside_us_changes_nothing(bench: PostgresBench) -> None:
    tool, _ = bench.tool(bench.table({}), "/a")
    bench.sql("UPDATE tool SET json_path = '/b'")
    assert bench.work.tools.find(tool.id, project_id=None) == tool
