"""Projects, keys, tables and tools in Postgres: what is visible to whom, and from when."""

from __future__ import annotations

import json

import pytest

from context_search.catalog.sql.tables import Tables
from context_search.core.config import SearchConfig
from context_search.core.errors import InvalidInputError
from context_search.core.model import Table
from context_search.postgres.errors import ForeignKeyViolationError
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from tests.builders import Workbench

SEARCH = SearchConfig(
    top_k=7, strategy="semantic", vector_weight=0.25, bm25_weight=0.5, max_chunk_preview=80
)


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.of(PostgresStore(module_database))


def found(bench: Workbench, table: Table) -> Table | None:
    return bench.work.tables.find(table.id, project_id=bench.project.id)


def test_a_table_is_found_by_its_own_project_until_it_is_deleted(bench: Workbench) -> None:
    table = bench.table({"a": 1})
    stranger = Workbench.of(bench.store)
    assert found(bench, table) == table
    assert found(stranger, table) is None
    bench.work.tables.mark_deleted(table.id)
    assert found(bench, table) is None
    with bench.store.for_all("test") as work:
        assert work.tables.lock(table.id) is None
        assert work.tables.replace(table.id, "{}", expected_revision=None) is None


def test_a_revision_lets_only_the_first_of_two_writers_through(bench: Workbench) -> None:
    table = bench.table({"a": 1})
    with bench.store.for_all("test") as work:
        changed = work.tables.replace(table.id, '{"a": 2}', expected_revision=1)
        assert changed is not None
        assert changed.revision == 2
        assert work.tables.replace(table.id, '{"a": 3}', expected_revision=1) is None
        assert work.tables.read(table.id) == (2, '{"a": 2}')


def test_a_revision_counts_changes_and_not_writes(bench: Workbench) -> None:
    table = bench.table({"a": 1, "b": [1.0]})
    same = bench.work.tables.replace(table.id, '{"b":[1.0],"a":1}', expected_revision=None)
    assert same is not None
    assert (same.revision, same.updated_at) == (1, table.updated_at)


def test_plain_sql_moves_the_revision_too(bench: Workbench) -> None:
    table = bench.table({"a": 1})
    bench.sql(
        "UPDATE context_table SET data = jsonb_set(data, '{a}', '2') WHERE id = :id", id=table.id
    )
    bench.sql("UPDATE context_table SET name = 'other' WHERE id = :id", id=table.id)
    changed = found(bench, table)
    assert changed is not None
    assert (changed.revision, changed.name) == (2, "other")
    assert table.updated_at
    assert changed.updated_at
    assert changed.updated_at > table.updated_at


def test_the_size_of_a_document_is_that_of_its_text(bench: Workbench) -> None:
    text = "中" * 1000
    table, large = bench.table([text]), bench.table(["x" * 6_000_000])
    bench.sql("UPDATE context_table SET data = NULL WHERE id = :id", id=bench.table(1).id)
    with bench.store.for_all("test") as work:
        assert work.tables.size(table.id) == len(json.dumps([text], ensure_ascii=False).encode())
        assert work.tables.size(large.id) > 5_000_000
        assert work.tables.size(2**62) == 0


def test_a_row_without_data_reads_as_null(bench: Workbench) -> None:
    table = bench.table(1)
    bench.sql("UPDATE context_table SET data = NULL WHERE id = :id", id=table.id)
    with bench.store.for_all("test") as work:
        assert work.tables.read(table.id) == (2, "null")
        assert work.tables.size(table.id) == 0


@pytest.mark.parametrize("text", ['"\\u0000"', '{"\\u0000": 1}', '"a\x00b"'])
def test_nul_is_an_invalid_input_and_not_a_broken_database(bench: Workbench, text: str) -> None:
    with pytest.raises(InvalidInputError), bench.store.for_all("test") as work:
        work.tables.add(bench.project.id, "t", None, text)


def test_a_tool_comes_back_as_it_was_made(bench: Workbench) -> None:
    table = bench.table({})
    tool, index = bench.tool(table, "/a~1b", name="文档 search", search=SEARCH)
    assert (tool.project_id, tool.name, tool.table_name) == (
        bench.project.id,
        "文档 search",
        "table",
    )
    assert (tool.scope.table_id, tool.scope.json_pointer) == (table.id, "/a~1b")
    assert (tool.search, tool.index_id) == (SEARCH, index.id)


def test_a_tool_is_invisible_to_strangers_and_after_it_or_its_table_is_deleted(
    bench: Workbench,
) -> None:
    kept, gone, orphaned = (bench.tool(bench.table({}))[0] for _ in range(3))
    with bench.store.for_all("test") as work:
        work.tools.mark_deleted(gone.id)
        work.tables.mark_deleted(orphaned.scope.table_id)
        own = bench.project.id
        assert work.tools.find(kept.id, project_id=own) == kept
        assert work.tools.find(kept.id, project_id=None) == kept
        assert work.tools.find(kept.id, project_id=own + 1) is None
        for tool in (gone, orphaned):
            assert work.tools.find(tool.id, project_id=own) is None
            assert work.tools.find(tool.id, project_id=None) is None
            assert work.tools.of_index(tool.index_id) == []
        assert work.tools.page(bench.principal.project_id, after=0, limit=9) == [kept]


def test_tools_are_paged_by_id(bench: Workbench) -> None:
    table = bench.table({})
    tools = [bench.tool(table)[0] for _ in range(5)]
    bench.sql("UPDATE tool SET type = 'other' WHERE id = :id", id=tools[2].id)
    del tools[2]
    with bench.store.for_all("test") as work:
        assert work.tools.page(bench.principal.project_id, after=0, limit=3) == tools[:3]
        assert work.tools.page(bench.principal.project_id, after=tools[1].id, limit=9) == tools[2:]
        assert work.tools.of_index(tools[0].index_id) == tools


def test_the_first_tool_of_a_name_is_the_oldest_that_lives(bench: Workbench) -> None:
    gone, orphaned, first, _second = (
        bench.tool(bench.table({}), name=name)[0] for name in ["a"] * 4
    )
    other, _ = bench.tool(bench.table({}), name="b")
    stranger = Workbench.of(bench.store)
    with bench.store.for_all("test") as work:
        work.tools.mark_deleted(gone.id)
        work.tables.mark_deleted(orphaned.scope.table_id)
        names = work.tools.first_of_names(bench.principal.project_id, ["a", "b", "c"])
        assert names == {"a": first.id, "b": other.id}
        assert work.tools.first_of_names(stranger.principal.project_id, ["a"]) == {}


def test_the_summary_leaves_other_metadata_alone(bench: Workbench) -> None:
    tool, _ = bench.tool(bench.table({}))
    for before in (None, '{"owner": "me", "search_index": {"status": "old"}}'):
        bench.sql(
            "UPDATE tool SET metadata = CAST(:json AS jsonb) WHERE id = :id",
            json=before,
            id=tool.id,
        )
        bench.work.tools.write_summary(tool.id, {"status": "ready", "last_error": None})
        [[text]] = bench.sql("SELECT metadata FROM tool WHERE id = :id", id=tool.id)
        kept = {"owner": "me"} if before else {}
        assert json.loads(text) == {
            **kept,
            "search_index": {"status": "ready", "last_error": None},
        }


def test_a_table_of_no_project_is_refused_by_the_database(bench: Workbench) -> None:
    with pytest.raises(ForeignKeyViolationError), bench.store.for_all("test") as work:
        work.tables.add(2**62, "t", None, "{}")


def test_the_patience_for_a_table_ends_with_its_lock(bench: Workbench) -> None:
    table = bench.table({})
    limit = "SELECT current_setting('lock_timeout')"
    with bench.tx() as tx:
        usual = tx.run(limit)
        assert Tables(tx).lock(table.id) == 1
        assert tx.run(limit) == usual != [["9s"]]
