"""Statements on tables that may be an adopter's keep projects apart without his policies.

As the owner of all tables: row-level security does not bind it, so that only the statements count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from context_search.core.config import SearchConfig
from context_search.core.errors import NotFoundError
from context_search.core.model import Index, Reach, SearchTool, ToolSettings
from context_search.postgres.pool import Database
from context_search.store import PostgresStore, UnitOfWork
from tests.builders import Workbench, english


@dataclass(frozen=True)
class Things:
    """A table with a tool and an index, and the names of what was indexed."""

    bench: Workbench
    tool: SearchTool
    index: Index
    doc_ids: list[str]

    @property
    def table_id(self) -> int:
        return self.tool.scope.table_id


@pytest.fixture
def things(module_database: Database) -> Things:
    bench = Workbench.of(PostgresStore(module_database))
    tool, index = bench.tool(bench.table({"a": english(300)}))
    doc_ids = [chunk.doc_id for made in bench.indexed(index) for chunk in made.chunks]
    # Ahead of its comparison: what was found is looked up in the document.
    bench.sql(
        """UPDATE context_table SET data = data || '{"b": 1}' WHERE id = :table""",
        table=tool.scope.table_id,
    )
    return Things(bench, tool, index, doc_ids)


def _read(work: UnitOfWork, its: Things) -> object:
    try:
        return work.tables.read(its.table_id)
    except NotFoundError:
        return None


READS: dict[str, Callable[[UnitOfWork, Things], object]] = {
    "lock": lambda work, its: work.tables.lock(its.table_id),
    "lock with project": lambda work, its: work.tables.lock(its.table_id, with_project=True),
    "size": lambda work, its: work.tables.size(its.table_id),
    "read": _read,
    "part": lambda work, its: work.tables.part(its.table_id, ["a"], max_bytes=10_000),
    "strings_at": lambda work, its: work.tables.strings_at(its.table_id, [], measured=True),
    "window": lambda work, its: work.tables.window(its.table_id, ["a"], start=0, length=9),
    "children": lambda work, its: work.tables.children(
        its.table_id, [], after=-1, limit=9, most_chars=9
    ),
    "beginnings": lambda work, its: work.tables.beginnings(its.table_id, ["/a"], chars=9),
    "found chunks, looked up": lambda work, its: work.live_chunks.hydrate(
        its.index, Reach(), its.doc_ids
    ),
    "small": lambda work, its: work.comparisons.small_document(its.table_id),
    "changes": lambda work, its: work.comparisons.changed_sections(its.index, its.table_id, [""]),
    "records": lambda work, its: work.tools.records([its.tool.id]),
}
WRITES: dict[str, Callable[[UnitOfWork, Things], object]] = {
    "replace": lambda work, its: work.tables.replace(its.table_id, "1", expected_revision=None),
    "change": lambda work, its: work.tools.change(
        its.tool.id, ToolSettings("taken", None, SearchConfig())
    ),
    "write_summary": lambda work, its: work.tools.write_summary(its.tool.id, {"x": 1}),
    "mark_deleted of a tool": lambda work, its: work.tools.mark_deleted(its.tool.id),
    "mark_deleted of a table": lambda work, its: work.tables.mark_deleted(its.table_id),
}


@pytest.mark.parametrize("name", READS)
def test_what_a_transaction_for_another_project_reads_is_not_there(
    things: Things, name: str
) -> None:
    store = things.bench.store
    with store.for_project(things.bench.project.id) as work:
        assert READS[name](work, things)
    with store.for_all("test") as work:
        assert READS[name](work, things)
    with store.for_project(things.bench.project.id + 1) as work:
        assert not READS[name](work, things)


@pytest.mark.parametrize("name", WRITES)
def test_what_a_transaction_for_another_project_writes_changes_nothing(
    things: Things, name: str
) -> None:
    store = things.bench.store
    before = _rows(things)
    with store.for_project(things.bench.project.id + 1) as work:
        WRITES[name](work, things)
    assert _rows(things) == before
    with store.for_project(things.bench.project.id) as work:
        WRITES[name](work, things)
    assert _rows(things) != before


def _rows(things: Things) -> list[Any]:
    return things.bench.sql(
        """
        SELECT CAST(context_table AS text), CAST(tool AS text) FROM context_table
        JOIN tool ON tool.table_id = context_table.id WHERE context_table.id = :table
        """,
        table=things.table_id,
    )


def test_who_owns_the_tables_is_told_that_policies_do_not_bind_it(
    module_database: Database, application_database: Database
) -> None:
    for database, row_security in ((module_database, False), (application_database, True)):
        bench = Workbench.of(PostgresStore(database))
        with bench.store.for_project(bench.project.id) as work:
            assert work.health.readings().row_security is row_security
            health = work.health.of_project(bench.project.id)
        assert health.row_security is row_security
