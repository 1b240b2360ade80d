"""What is kept of a string, beside other programs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.model import ChunkSet, Claim, Index
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.postgres.pool import Database
from context_search.store import PostgresStore
from context_search.text.analysis import tokens
from tests.builders import Workbench, english
from tests.stack import eventually

LINES = [f"{english(60, seed=number)}\n\n" for number in range(12)]


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


def edited(bench: Workbench) -> tuple[Index, ChunkSet, Claim]:
    """A string that is indexed with words, and a claim of its next version."""
    table = bench.table({"a": "".join(LINES)})
    _, index = bench.tool(table)
    [old] = bench.indexed(index)
    bench.work.keywords.put([ChunkTokens(one.id, tokens(one.text)) for one in old.chunks])
    bench.sql(
        "UPDATE context_table SET data = jsonb_build_object('a', CAST(:text AS text))"
        " WHERE id = :id RETURNING 1",
        text="".join([*LINES, english(60, seed=77)]),
        id=table.id,
    )
    [node_id] = bench.enumerate(index)
    return index, old, bench.claim(node_id)


def test_words_that_are_deleted_during_the_swap_are_noted(bench: Workbench) -> None:
    index, old, claim = edited(bench)
    new = bench.begin(claim)
    bench.mark(new)

    def swap() -> set[int]:
        return bench.work.chunks.activate([(claim, new)])

    waiting = (
        "SELECT FROM pg_stat_activity WHERE datname = current_database()"
        " AND wait_event_type = 'Lock' AND query LIKE '%UPDATE chunk_words%'"
    )
    with ThreadPoolExecutor(2) as threads:
        with bench.tx() as tx:
            tx.run("DELETE FROM chunk_words WHERE generation_id = :id", id=index.generation.id)
            swapped = threads.submit(swap)
            assert threads.submit(eventually, lambda: bool(bench.sql(waiting))).result()
        assert swapped.result()
    taken = bench.work.chunks.take_wordless(limit=1_000)
    lost = {chunk.id for one in taken for chunk in one.chunks}
    assert {one.id for one in new.kept} <= lost
    assert {one.id for one in new.kept} <= {one.id for one in old.chunks}


def test_a_table_that_somebody_holds_keeps_no_other_of_a_deleted_project(
    bench: Workbench,
) -> None:
    held, free = bench.table({}), bench.table({})
    bench.work.projects.mark_deleted(bench.project.id)
    with ThreadPoolExecutor(1) as threads, bench.tx() as tx:
        tx.run("SELECT FROM context_table WHERE id = :id FOR UPDATE", id=held.id)

        def mark() -> int:
            return bench.work.removals.mark_tables(limit=99)

        assert threads.submit(mark).result() == 1
    rows = bench.sql("SELECT id FROM context_table WHERE context_search_remove_at IS NOT NULL")
    assert rows == [[free.id]]
