"""What people, cleanup and indexing read and write, in blocks and rows: no more with more strings.

``python -m bench scale`` has the operations over indexes of any size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from context_search.core.callers import Internal
from context_search.core.progress import NodeState
from context_search.indexing.comparing import preload
from context_search.indexing.rules.large_strings import StringPlace
from context_search.indexing.sql.indexes import SIZED_NODES
from context_search.maintenance.cleanup import remove_absent_nodes
from context_search.postgres.connection import Connection
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.store import PostgresStore
from testing.grown_index import GrownIndex
from testing.grown_operations import COMPARE, EDIT, PAGE, edit_one, operations, operations_of_a_part
from testing.one_process import OneProcess
from testing.postgres_cost import Cost, measured
from tests.builders import Workbench, english, present
from tests.stack import DatabaseFactory
from tests.steps import SMALL as SMALL_CHUNKS

SMALL, LARGE = 20_000, 60_000
# A page is as many rows, and in the larger index each lies in a block of its own.
OWN_ROWS = {"a page of the sweep": PAGE, "hydrate 100": 400, "dry run of a rebuild": SIZED_NODES}


def costs(databases: DatabaseFactory, count: int) -> tuple[dict[str, Cost], int]:
    """What the operations cost, and how many strings are parsed and hashed after an edit."""
    with databases.migrated() as url:
        database = Database(url, statement_timeout_ms=0)
        found: dict[str, Cost] = {}
        grown = GrownIndex.of(database, count)
        for name, operation in operations(grown).items():
            operation()  # what is read once is read now
            found[name] = measured(database, operation)
        edit_one(grown, count)
        strings = compared_strings(grown)
        for name, operation in operations_of_a_part(grown).items():
            operation()
            found[name] = measured(database, operation)
        database.close()
    return found, strings


def compared_strings(grown: GrownIndex) -> int:
    document = present(preload(grown.store, grown.index.id))
    return len(document.desired(document.scopes, grown.index).strings)


def grown_blocks(costs: dict[str, Cost], name: str) -> int:
    """The blocks of an operation; a document is one row, which is written as a whole."""
    return costs[name].blocks - (costs[EDIT].blocks if name == COMPARE else 0)


@pytest.mark.slow
def test_three_times_as_many_strings_cost_no_more(databases: DatabaseFactory) -> None:
    small, strings = costs(databases, SMALL)
    large, strings_of_large = costs(databases, LARGE)
    found = {name: (grown_blocks(small, name), grown_blocks(large, name)) for name in small}
    grown = {
        name: (before, after)
        for name, (before, after) in found.items()
        if name != EDIT and after > 1.5 * before + OWN_ROWS.get(name, 0)
    }
    assert grown == {}
    assert 0 < strings_of_large <= strings < SMALL / 50


PIECES = [
    "a page of strings",
    "a later page of strings",
    "a page of quarantined strings",
    "strings below 101 places",
    "progress of one string",
    "chunks of one string",
]
OF_ALL: dict[str, tuple[NodeState | None, str]] = {
    "of all tables": (None, ""),
    "of all tables, from the middle on": (None, "/strings/5"),
    "of all tables, in quarantine": ("quarantined", "/strings/5"),
}


def pages_of_all(grown: GrownIndex) -> dict[str, Callable[[], object]]:
    """Pages of an index without a scope, by name."""

    def page(state: NodeState | None, pointer: str) -> None:
        after = StringPlace(grown.table.id, pointer, 1)
        with grown.store.for_project(grown.owner.project_id) as work:
            found = work.large_strings.page(
                grown.index, None, state=state, after=after, limit=100, among=100
            )
            assert len(found.rows) == (0 if state else 100)

    return {name: partial(page, *asked) for name, asked in OF_ALL.items()}


def test_pieces_cost_no_more_for_a_role_that_policies_bind(databases: DatabaseFactory) -> None:
    found: dict[str, list[int]] = {name: [] for name in [*PIECES, *OF_ALL]}
    for count in (2_000, 6_000):
        with databases.migrated() as url, databases.application_of(url) as role:
            grown = GrownIndex.of(Database(url), count)
            application = Database(role)
            of_role = replace(grown, store=PostgresStore(application))
            bound = {**operations(of_role), **pages_of_all(of_role)}
            for name, blocks in found.items():
                bound[name]()
                blocks.append(measured(application, bound[name]).blocks)
            application.close()
            grown.store.database.close()
    assert {name: few for name, few in found.items() if few[1] > 1.2 * few[0]} == {}


FEW_TABLES, MANY_TABLES = 200, 1_000
TABLES = """
    WITH added AS (
        INSERT INTO context_table (project_id, name, data)
        SELECT :project, number, '{}' FROM generate_series(1, :count) AS number
        RETURNING id, revision)
    INSERT INTO comparison (generation_id, table_id, revision, scopes)
    SELECT :generation, id, revision, '{""}' FROM added
"""


def test_the_status_of_a_projects_index_costs_the_same_with_more_tables(bench: Workbench) -> None:
    with bench.store.for_all("test") as work:
        assert work.projects.lock(bench.project.id)
        index = work.indexes.add_to_project(bench.project.id, SMALL_CHUNKS)
    of = {"project": bench.project.id, "generation": index.generation.id}

    def statuses() -> tuple[int, int]:
        """Blocks of a status at rest, and of one while a string waits."""
        bench.sql("TRUNCATE outbox")
        bench.sql("ANALYZE context_table")
        bench.sql("ANALYZE comparison")
        found = []
        for state in ("indexed", "queued"):
            bench.sql("UPDATE node SET state = :state", state=state)

            def status(expected: str = "ready" if state == "indexed" else "indexing") -> None:
                assert bench.work.node_counts.state(index, "", silent_s=999).status == expected

            status()
            found.append(measured(bench.store.database, status).blocks)
        return found[0], found[1]

    bench.sql(TABLES, **of, count=FEW_TABLES)
    bench.sql(
        """
        INSERT INTO node (generation_id, table_id, json_pointer, pointer_sha256, content_hash,
                          char_count, state)
        SELECT :generation, min(id), '/a', sha256('/a'), '', 1, 'indexed' FROM context_table
        """,
        generation=index.generation.id,
    )
    few = statuses()
    bench.sql(TABLES, **of, count=MANY_TABLES - FEW_TABLES)
    many = statuses()
    assert all(after <= 1.5 * before for before, after in zip(few, many, strict=True)), (few, many)


_WRITTEN = """
    SELECT relname, n_tup_ins, n_tup_upd FROM pg_stat_user_tables
    WHERE relname IN ('chunks', 'chunk_words', 'words_backlog')
"""
_HEAP_OF_NODES = """
    SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = 'node'
"""
STEP = 200


def written(bench: Workbench) -> dict[str, tuple[int, int]]:
    """Rows that were inserted, and versions of rows that were added, by table."""
    with bench.tx() as tx:
        tx.run("SELECT pg_stat_force_next_flush()")
    with bench.tx() as tx:
        return {name: (inserted, updated) for name, inserted, updated in tx.run(_WRITTEN)}


def test_the_row_of_a_chunk_is_written_once(bench: Workbench) -> None:
    _, index = bench.tool(bench.table([english(2_000), english(900, seed=2)]))
    claims = [bench.claim(node_id) for node_id in bench.enumerate(index)]
    before = written(bench)
    for claim in claims:
        built = bench.begin(claim)
        first, *rest = (chunk.id for chunk in built.chunks)
        with bench.store.for_all("test") as work:
            work.chunks.mark_present([first])
            assert work.chunks.activate([(claim, built)], rest)
    after = written(bench)
    [[chunks]] = bench.sql("SELECT count(*) FROM chunks WHERE table_id = :id", id=index.table_id)
    assert after["chunks"] == (before["chunks"][0] + chunks, before["chunks"][1])
    assert after["chunk_words"] == before["chunk_words"]


@pytest.mark.slow
def test_a_late_step_of_removing_reads_no_more_than_the_first(databases: DatabaseFactory) -> None:
    with databases.migrated() as url:
        database = Database(url, statement_timeout_ms=0)
        grown = GrownIndex.of(database, 20_000)
        with grown.store.for_all("test") as work:
            work.tables.mark_deleted(grown.table.id)
        first = _read_by(database, grown, 5)
        _read_by(database, grown, 85)
        last = _read_by(database, grown, 5)
        database.close()
    assert last < 1.5 * first  # what was deleted last is looked at once more; 1.9 without an index


def _read_by(database: Database, grown: GrownIndex, steps: int) -> int:
    """Blocks of the table of strings that some steps read."""
    before = _blocks(database)
    for _ in range(steps):
        with grown.store.for_all("test") as work:
            assert remove_absent_nodes(work, limit=STEP) == STEP
    return _blocks(database) - before


def _blocks(database: Database) -> int:
    with database.transaction() as tx:
        tx.run("SELECT pg_stat_force_next_flush()")
    with database.transaction() as tx:
        [[blocks]] = tx.run(_HEAP_OF_NODES)
    return int(blocks)


STRINGS = 300
BYTES = """
    SELECT CAST(sum(pg_total_relation_size(oid)) AS bigint) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = CAST('context_search' AS regnamespace)
"""


def ask(parts: OneProcess, statement: str) -> Any:
    """The only value of a statement."""
    with parts.postgres.database.transaction() as tx:
        [[value]] = tx.run(statement)
    return value


def vacuum(parts: OneProcess) -> None:
    """Does what autovacuum does when it comes by."""
    connection = Connection(DatabaseUrl.parse(parts.settings.database_url))
    connection.query("VACUUM")
    connection.close()


def rebuilt(parts: OneProcess, tool_id: int) -> int:
    """Rebuilds, with a run of cleanup before and after; returns the bytes of all tables."""
    parts.use_cases.rebuilds.start(tool_id, Internal())
    for _ in range(2):
        parts.clean()
        vacuum(parts)
        assert ask(parts, "SELECT count(DISTINCT generation_id) FROM node") <= 2
        assert ask(parts, "SELECT count(*) FROM tombstone") == 0
    assert ask(parts, "SELECT count(*) FROM index_generation WHERE state = 'previous'") == 1
    return int(ask(parts, BYTES))


@pytest.mark.slow
def test_a_later_rebuild_takes_no_more_space_than_the_second(one_process: OneProcess) -> None:
    texts = {str(number): english(400, number) for number in range(STRINGS)}
    [tool_id] = one_process.ready_tools(one_process.table(texts), [""])
    _, second, *_, last = [rebuilt(one_process, tool_id) for _ in range(6)]
    assert last <= 1.05 * second, (second, last)
