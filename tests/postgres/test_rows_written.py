"""How often indexing writes a row, and what a step of removing reads: by counts, not by time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from context_search.postgres.pool import Database
from testing.grown_index import GrownIndex
from tests.builders import Workbench, english

if TYPE_CHECKING:
    from tests.stack import DatabaseFactory

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
            assert work.removals.remove_nodes(limit=STEP) == STEP
    return _blocks(database) - before


def _blocks(database: Database) -> int:
    with database.transaction() as tx:
        tx.run("SELECT pg_stat_force_next_flush()")
    with database.transaction() as tx:
        [[blocks]] = tx.run(_HEAP_OF_NODES)
    return int(blocks)
