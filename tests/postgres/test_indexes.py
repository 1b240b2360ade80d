"""Indexes, generations and coverage in Postgres: one per configuration, whoever comes first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.catalog.tools import ManageTools, NewSearchTool
from context_search.core.config import SearchConfig
from context_search.core.model import Index, Scope, Table
from context_search.indexing.comparing import Limits
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from testing.in_memory.queue import ListQueue, unexpected
from tests.builders import Workbench, count, english
from tests.steps import SMALL, table_of

OTHER = replace(SMALL, chunk_size=200)


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def state_of(bench: Workbench, index: Index) -> list[object]:
    [row] = bench.sql(
        "SELECT state, index_id, retired_at IS NULL FROM index_generation WHERE id = :id",
        id=index.generation.id,
    )
    return row


def retired(bench: Workbench, index: Index) -> None:
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)


def creation(bench: Workbench) -> ManageTools:
    store = OutboxDelivery(bench.store, ListQueue(), unexpected)
    return ManageTools(store, Limits(), 180.0)


def wanted(bench: Workbench, table: Table, name: str = "search") -> NewSearchTool:
    scope = Scope(table.id, "")
    return NewSearchTool(bench.project.id, name, None, scope, SMALL, SearchConfig())


def test_equal_configurations_share_an_index_and_others_get_their_own(bench: Workbench) -> None:
    table = bench.table({})
    _, first = bench.tool(table)
    _, same = bench.tool(table, "/scope")
    _, other = bench.tool(table, config=OTHER)
    assert same == first == bench.index(first.id)
    assert first.generation.namespace.endswith(f"_project_{bench.project.id}_table_{table.id}")
    assert other.generation.namespace == f"{first.generation.namespace}_i{other.id}_g1"
    assert (other.config, first.config) == (OTHER, SMALL)


def test_the_scopes_of_an_index_are_those_of_its_tools(bench: Workbench) -> None:
    table = bench.table({})
    tools = [bench.tool(table, scope)[0] for scope in ("/b", "", "/b", "/a")]
    with bench.store.for_all("test") as work:
        assert work.comparisons.scopes(tools[0].index_id) == ["", "/a", "/b"]
        work.comparisons.uncover(tools[0].id)
        work.comparisons.uncover(tools[1].id)
        assert work.comparisons.scopes(tools[0].index_id) == ["/a", "/b"]
        assert work.comparisons.scopes(2**62) == []


def test_the_compared_revision_is_kept(bench: Workbench) -> None:
    _, index = bench.tool(bench.table({}))
    with bench.store.for_all("test") as work:
        assert not work.comparisons.is_compared(index)
        work.comparisons.note_compared(index, table_of(index), 1, [""])
        assert work.comparisons.is_compared(index)


def test_a_retired_index_is_gone_and_its_generation_waits_to_be_swept(bench: Workbench) -> None:
    table = bench.table({"a": english(200)})
    tool, index = bench.tool(table)
    bench.indexed(index)
    retired(bench, index)
    retired(bench, index)  # a second time changes nothing
    with bench.store.for_all("test") as work:
        assert work.indexes.find(index.id) is None
        assert work.tools.find(tool.id, project_id=None) is None
    assert state_of(bench, index) == ["retired", None, False]


def test_an_index_made_again_never_shares_the_namespace_of_its_predecessor(
    bench: Workbench,
) -> None:
    table = bench.table({})
    _, old = bench.tool(table)
    retired(bench, old)
    _, new = bench.tool(table)
    assert new.id != old.id
    assert new.generation.namespace == f"{old.generation.namespace}_i{new.id}_g1"
    assert state_of(bench, new) == ["active", new.id, True]


def test_only_indexes_with_a_summary_to_write_are_named(module_database: Database) -> None:
    bench = Workbench.alone(PostgresStore(module_database))
    never, ready, stale, deleted = (bench.tool(bench.table({})) for _ in range(4))
    with bench.store.for_all("test") as work:
        work.tools.write_summary(ready[0].id, {"status": "ready"})
        work.tools.write_summary(stale[0].id, {"status": "indexing"})
        work.tools.mark_deleted(deleted[0].id)
        assert work.indexes.with_incomplete_tools(limit=9) == [never[1].id, stale[1].id]


def test_thirty_tools_created_at_once_share_one_index(module_database: Database) -> None:
    bench = Workbench.alone(PostgresStore(module_database))
    table = bench.table({"list": [english(200, seed) for seed in range(5)]})
    use_case = creation(bench).create
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda n: use_case(wanted(bench, table, f"tool {n}")), range(30)))
    assert len({status.index.id for status in made}) == 1
    assert len({status.tool.id for status in made}) == 30
    assert {len(status.nodes) for status in made} == {5}
    rows = {name: count(bench, name) for name in ("search_index", "index_generation", "node")}
    assert rows == {"search_index": 1, "index_generation": 1, "node": 5}
    assert (count(bench, "tool"), count(bench, "coverage")) == (30, 30)
    assert bench.sql("SELECT count(*), count(sent_at) FROM outbox") == [[5, 5]]  # all were sent


def test_creating_and_retiring_at_once_never_leaves_a_tool_without_index(
    module_database: Database,
) -> None:
    bench = Workbench.alone(PostgresStore(module_database))
    table = bench.table({"a": english(200)})
    use_case = creation(bench).create

    def create_and_delete(number: int) -> None:
        status = use_case(wanted(bench, table))
        if number % 3:
            with bench.store.for_all("test") as work:
                work.tools.mark_deleted(status.tool.id)
                work.comparisons.uncover(status.tool.id)
            with bench.store.for_all("test") as work:
                work.tables.lock(table.id)
                if not work.comparisons.scopes(status.index.id):
                    work.indexes.retire(status.index.id)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(create_and_delete, range(24)))
    with bench.store.for_all("test") as work:
        alive = work.tools.page(bench.principal.project_id, after=0, limit=99)
    assert len(alive) == 8
    assert count(bench, "search_index") == 1
    assert {tool.index_id for tool in alive} == {
        row[0] for row in bench.sql("SELECT id FROM search_index")
    }
