"""An index for each configuration, whoever comes first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from context_search.catalog.tools import ManageTools, NewSearchTool
from context_search.core.config import SearchConfig
from context_search.core.model import Scope, Table
from context_search.indexing.comparing import Limits
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from testing.in_memory.queue import ListQueue, unexpected
from tests.builders import Workbench, count, english
from tests.steps import SMALL


def creation(bench: Workbench) -> ManageTools:
    store = OutboxDelivery(bench.store, ListQueue(), unexpected)
    return ManageTools(store, Limits(), 180.0)


def wanted(bench: Workbench, table: Table, name: str = "search") -> NewSearchTool:
    scope = Scope(table.id, "")
    return NewSearchTool(bench.project.id, name, None, scope, SMALL, SearchConfig())


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
    alive = bench.work.tools.page(bench.principal.project_id, after=0, limit=99)
    assert len(alive) == 8
    assert count(bench, "search_index") == 1
    assert {tool.index_id for tool in alive} == {
        row[0] for row in bench.sql("SELECT id FROM search_index")
    }
