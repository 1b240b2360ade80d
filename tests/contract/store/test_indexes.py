"""Contract of ``Indexes``."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from context_search.catalog.tools import ManageTools, NewSearchTool
from context_search.core.config import SearchConfig
from context_search.core.model import Scope, Table
from context_search.indexing.comparing import Limits
from context_search.indexing.outbox_delivery import OutboxDelivery
from testing.in_memory.queue import ListQueue, unexpected
from tests.builders import english
from tests.contract.store.bench import OTHER, TEXT, Bench, PostgresBench, only_postgres
from tests.steps import SMALL, table_of

LARGER = replace(SMALL, chunk_size=200)


def test_equal_configurations_share_an_index(bench: Bench) -> None:
    table = bench.table({})
    _, one = bench.tool(table)
    _, same = bench.tool(table, "/a")
    _, other = bench.tool(table, config=LARGER)
    assert one.id == same.id != other.id


def test_tables_do_not_share_an_index(bench: Bench) -> None:
    project = bench.project()
    _, one = bench.tool(bench.table({}, project))
    _, other = bench.tool(bench.table({}, project))
    assert one.id != other.id
    assert one.generation.namespace != other.generation.namespace


def test_a_new_index_answers_through_its_first_generation(bench: Bench) -> None:
    _, index = bench.tool(bench.table({}))
    assert (index.generation.state, index.generation.number) == ("active", 1)
    assert not bench.is_compared(index)
    assert (index.config, index.is_rebuilding) == (SMALL, False)
    assert bench.index(index.id) == index


def test_the_first_index_of_a_table_has_the_short_namespace(bench: Bench) -> None:
    table = bench.table({})
    _, first = bench.tool(table)
    _, second = bench.tool(table, config=LARGER)
    name = f"{bench.work.sweeps.namespace_prefix()}{table.project_id}_table_{table.id}"
    assert first.generation.namespace == name
    assert second.generation.namespace == f"{name}_i{second.id}_g1"


def test_a_namespace_is_not_given_again_while_its_documents_may_be_there(bench: Bench) -> None:
    table = bench.table({})
    _, first = bench.tool(table)
    bench.work.indexes.retire(first.id)
    _, second = bench.tool(table)
    assert second.id != first.id
    assert second.generation.namespace != first.generation.namespace


def test_an_index_being_rebuilt_to_a_configuration_is_the_one(bench: Bench) -> None:
    table = bench.table({})
    _, index = bench.tool(table)
    bench.work.indexes.start_rebuild(index, LARGER, at_once=2)
    _, found = bench.tool(table, config=LARGER)
    assert found.id == index.id


def test_what_is_not_there_is_not_found(bench: Bench) -> None:
    assert bench.work.indexes.find(10**9) is None
    assert bench.work.indexes.live(10**9) == []


def test_scopes_are_those_of_tools_each_once(bench: Bench) -> None:
    table = bench.table({})
    one, index = bench.tool(table, "/b")
    bench.tool(table, "/b")
    bench.tool(table, "")
    assert sorted(bench.work.comparisons.scopes(index.id)) == ["", "/b"]
    bench.work.comparisons.uncover(one.id)
    assert sorted(bench.work.comparisons.scopes(index.id)) == ["", "/b"]


def test_a_scope_that_no_tool_needs_is_gone(bench: Bench) -> None:
    tool, index = bench.tool(bench.table({}), "/b")
    with bench.store.for_all("test") as work:
        work.comparisons.uncover(tool.id)
        work.comparisons.uncover(tool.id)
        assert work.comparisons.scopes(index.id) == []
        assert work.tools.find(tool.id, project_id=None) is None


def test_the_compared_revision_is_that_of_a_generation(bench: Bench) -> None:
    _, index = bench.tool(bench.table({}))
    with bench.store.for_all("test") as work:
        building = work.indexes.start_rebuild(index, SMALL, at_once=2)
        work.comparisons.note_compared(building, table_of(index), 1, [""])
        assert [each.generation.number for each in work.indexes.live(index.id)] == [1, 2]
        assert work.comparisons.is_compared(building)
        assert not work.comparisons.is_compared(index)
        assert work.comparisons.uncompared(index.id) == [index.table_id]
        work.comparisons.note_compared(index, table_of(index), 1, [""])
        assert work.comparisons.uncompared(index.id) == []


def test_live_generations_are_the_active_and_the_building_one(bench: Bench) -> None:
    _, index = bench.tool(bench.table({}))
    with bench.store.for_all("test") as work:
        building = work.indexes.start_rebuild(index, SMALL, at_once=1)
        assert [each.generation.state for each in work.indexes.live(index.id)] == [
            "active",
            "building",
        ]
        work.indexes.switch(building)
        [only] = work.indexes.live(index.id)
    assert (only.generation.id, only.generation.state) == (building.generation.id, "active")


def test_a_retired_index_is_gone_and_its_documents_follow(bench: Bench) -> None:
    _, index = bench.indexed({"a": TEXT, "b": OTHER})
    stored = bench.ids(index)
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        assert work.indexes.find(index.id) is None
        assert work.indexes.live(index.id) == []
        assert work.removals.remove_retired_nodes(limit=1) > 0
        while work.removals.remove_retired_nodes(limit=1):
            pass
    assert sorted(stone.doc_id for stone in bench.tombstones()) == sorted(stored)


def test_retiring_twice_changes_nothing(bench: Bench) -> None:
    _, index = bench.tool(bench.table({}))
    for _ in range(2):
        bench.work.indexes.retire(index.id)
        bench.pass_time(10)
    [cursor] = bench.work.removals.retired(older_than_s=15, limit=9)
    assert cursor.namespace == index.generation.namespace


def creation(bench: PostgresBench) -> ManageTools:
    store = OutboxDelivery(bench.store, ListQueue(), unexpected)
    return ManageTools(store, Limits(), 180.0)


def wanted(table: Table, name: str = "search") -> NewSearchTool:
    scope = Scope(table.id, "")
    return NewSearchTool(table.project_id, name, None, scope, SMALL, SearchConfig())


@only_postgres
def test_thirty_tools_created_at_once_share_one_index(bench: PostgresBench) -> None:
    table = bench.table({"list": [english(200, seed) for seed in range(5)]})
    use_case = creation(bench).create
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda n: use_case(wanted(table, f"tool {n}")), range(30)))
    assert len({status.index.id for status in made}) == 1
    assert len({status.tool.id for status in made}) == 30
    assert {len(status.nodes) for status in made} == {5}
    rows = {name: bench.count(name) for name in ("search_index", "index_generation", "node")}
    assert rows == {"search_index": 1, "index_generation": 1, "node": 5}
    assert (bench.count("tool"), bench.count("coverage")) == (30, 30)
    assert bench.sql("SELECT count(*), count(sent_at) FROM outbox") == [[5, 5]]  # all were sent


@only_postgres
def test_creating_and_retiring_at_once_never_leaves_a_tool_without_index(
    bench: PostgresBench,
) -> None:
    table = bench.table({"a": english(200)})
    use_case = creation(bench).create

    def create_and_delete(number: int) -> None:
        status = use_case(wanted(table))
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
    alive = bench.work.tools.page(table.project_id, after=0, limit=99)
    assert len(alive) == 8
    assert bench.count("search_index") == 1
    assert {tool.index_id for tool in alive} == {
        row[0] for row in bench.sql("SELECT id FROM search_index")
    }
