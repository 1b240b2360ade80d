"""What is kept of a string, beside a release before and beside other programs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from context_search.adapters.postgres.pool import Database
from context_search.adapters.postgres.store import PostgresStore
from context_search.domain.model import ChunkSet, Claim, Index
from context_search.domain.text.analysis import tokens
from context_search.ports.searching.keywords import ChunkTokens
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
    with bench.store.for_all("test") as work:
        work.keywords.put([ChunkTokens(one.id, tokens(one.text)) for one in old.chunks])
    bench.sql(
        "UPDATE context_table SET data = jsonb_build_object('a', CAST(:text AS text))"
        " WHERE id = :id RETURNING 1",
        text="".join([*LINES, english(60, seed=77)]),
        id=table.id,
    )
    [node_id] = bench.enumerate(index)
    return index, old, bench.claim(node_id)


# A release before does not see a partial set, and builds one with all chunks.
_AS_BEFORE = """
    INSERT INTO chunk_set (node_id, content_hash, state, chunks_count)
    SELECT node_id, content_hash, 'building', chunks_count FROM chunk_set WHERE id = :set
    RETURNING id
"""
_CHUNKS_AS_BEFORE = """
    INSERT INTO chunks (table_id, set_id, json_pointer, chunk_index, total_chunks, chunk_text,
        char_start, char_end, content_hash, turbopuffer_namespace, turbopuffer_doc_id, input_hash)
    SELECT table_id, :into, json_pointer, CAST(:index AS int), :total, :text, 0, 0, content_hash,
        turbopuffer_namespace, CAST(:doc_id AS text), input_hash
    FROM chunks WHERE set_id = :set LIMIT 1 RETURNING 1
"""


@pytest.mark.parametrize("is_last", [True, False])
def test_a_whole_set_counts_where_a_release_before_made_one_too(
    bench: Workbench, *, is_last: bool
) -> None:
    index, _, claim = edited(bench)
    partial = bench.begin(claim)
    assert partial.kept
    [[whole]] = bench.sql(_AS_BEFORE, set=partial.id)
    for chunk in partial.chunks:
        bench.sql(
            _CHUNKS_AS_BEFORE,
            set=partial.id,
            into=whole,
            index=chunk.index,
            total=len(partial.chunks),
            text=chunk.text,
            doc_id=f"before.{chunk.index}",
        )
    moved = partial.id if is_last else whole  # to the end of the table
    bench.sql("UPDATE chunk_set SET created_at = now() WHERE id = :id RETURNING 1", id=moved)
    again = bench.begin(claim)
    assert (again.id, again.kept, len(again.chunks)) == (whole, (), len(partial.chunks))
    bench.mark(again)
    with bench.store.for_all("test") as work:
        assert not work.chunks.activate([(claim, replace(partial, kept=()))])
        assert work.chunks.activate([(claim, again)])
    with bench.store.for_all("test") as work:
        assert work.node_counts.progress(index, "", silent_s=9).chunks_count == len(again.chunks)


def test_words_that_are_deleted_during_the_swap_are_noted(bench: Workbench) -> None:
    index, old, claim = edited(bench)
    new = bench.begin(claim)
    bench.mark(new)

    def swap() -> set[int]:
        with bench.store.for_all("test") as work:
            return work.chunks.activate([(claim, new)])

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
    with bench.store.for_all("test") as work:
        taken = work.words_backlog.take(limit=1_000)
    lost = {chunk.id for one in taken for chunk in one.chunks}
    assert {one.id for one in new.kept} <= lost
    assert {one.id for one in new.kept} <= {one.id for one in old.chunks}


def test_a_table_that_somebody_holds_keeps_no_other_of_a_deleted_project(
    bench: Workbench,
) -> None:
    held, free = bench.table({}), bench.table({})
    with bench.store.for_all("test") as work:
        work.projects.mark_deleted(bench.project.id)
    with ThreadPoolExecutor(1) as threads, bench.tx() as tx:
        tx.run("SELECT FROM context_table WHERE id = :id FOR UPDATE", id=held.id)

        def mark() -> int:
            with bench.store.for_all("test") as work:
                return work.removals.mark_tables(limit=99)

        assert threads.submit(mark).result() == 1
    rows = bench.sql("SELECT id FROM context_table WHERE context_search_remove_at IS NOT NULL")
    assert rows == [[free.id]]
