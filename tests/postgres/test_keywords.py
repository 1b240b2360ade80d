"""Keyword search in Postgres: rows from before it, its time limit, and many candidates."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from context_search.core.errors import DatabaseUnavailableError, KeywordTimeoutError
from context_search.core.model import Index, Reach
from context_search.indexing.rules.chunks import Unkeyed
from context_search.indexing.vector_rows import tokens_of
from context_search.integrations.ports import Ranked
from context_search.postgres.pool import Database
from context_search.searching.sql.keywords import RESCORED
from context_search.store import PostgresStore
from context_search.text.analysis import query_weights
from tests.builders import Workbench, count, english, until
from tests.steps import write_words


@pytest.fixture
def bench(module_database: Database) -> Workbench:
    return Workbench.alone(PostgresStore(module_database))


def indexed(bench: Workbench, *texts: str) -> Index:
    """An index of these strings, all of which wait for their words."""
    _, index = bench.tool(bench.table(list(texts)))
    bench.indexed(index)
    bench.sql(
        "INSERT INTO words_backlog (set_id, generation_id)"
        " SELECT chunk_set.id, generation_id FROM chunk_set JOIN node ON node.id = node_id"
    )
    return index


def keep(bench: Workbench, limit: int = 500) -> int:
    """What cleanup does with sets that wait; returns how many chunks it did."""
    return write_words(bench.store, limit)


def best(
    bench: Workbench, index: Index, query: str, limit: int = 50, timeout_s: float = 9
) -> list[Ranked]:
    with bench.store.for_all("test") as work:
        words = query_weights(query)
        return work.keywords.best(index, Reach(), words, limit, timeout_s=timeout_s)


def test_older_chunks_are_found_once_cleanup_has_passed(bench: Workbench) -> None:
    index = indexed(bench, english(250), english(250, seed=2))
    assert best(bench, index, english(250)) == []
    assert keep(bench) == 6
    assert len(best(bench, index, english(250))) == 6
    assert keep(bench) == count(bench, "words_backlog") == 0


DELETE = "DELETE FROM node WHERE char_count = 250 RETURNING 1"


def test_who_deletes_a_string_waits_until_its_words_are_written(bench: Workbench) -> None:
    indexed(bench, english(250))
    waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE%'"
    with ThreadPoolExecutor(2) as threads:
        with bench.store.for_all("test") as work:
            [taken] = work.chunks.take_wordless(limit=500)
            deleting = threads.submit(bench.sql, DELETE)
            until(lambda: threads.submit(bench.sql, waiting).result())
            work.keywords.put(tokens_of(taken))
        assert deleting.result() == [[1]]
    assert count(bench, "chunk_words") == count(bench, "words_backlog") == 0


def test_a_string_that_is_being_deleted_is_left_out(bench: Workbench) -> None:
    indexed(bench, english(250), english(180, seed=2))
    with ThreadPoolExecutor(1) as thread:
        with bench.tx() as deleting:
            deleting.run(DELETE)
            assert thread.submit(keep, bench).result() == 2
        assert count(bench, "words_backlog") == 0


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_older_chunks_are_taken_a_few_at_a_time(bench: Workbench, limit: int) -> None:
    indexed(bench, english(250), english(180, seed=2), english(90, seed=3))
    done = []
    while step := keep(bench, limit):
        done.append(step)
    assert sum(done) == count(bench, "chunk_words") == 6
    assert max(done) <= limit
    assert count(bench, "words_backlog") == 0


def test_a_run_that_fails_takes_nothing(bench: Workbench) -> None:
    indexed(bench, english(250))
    with pytest.raises(DatabaseUnavailableError), bench.store.for_all("test") as work:
        _give_up(work.chunks.take_wordless(limit=500))
    assert keep(bench) == 3


def _give_up(taken: list[Unkeyed]) -> None:
    raise DatabaseUnavailableError(f"a kill before chunks of {len(taken)} strings are done")


def test_chunks_of_an_index_that_is_gone_wait_for_nobody(bench: Workbench) -> None:
    index = indexed(bench, english(250))
    with bench.store.for_all("test") as work:
        work.indexes.retire(index.id)
        work.removals.remove_retired_nodes(limit=10)
    assert keep(bench) == count(bench, "words_backlog") == 0


def test_words_go_with_their_chunks(bench: Workbench) -> None:
    index = indexed(bench, english(250))
    keep(bench)
    bench.sql("DELETE FROM context_table WHERE id = :id", id=index.table_id)
    assert count(bench, "chunk_words") == 0


def test_a_search_that_takes_too_long_is_ended(bench: Workbench) -> None:
    index = indexed(bench, english(250))
    keep(bench)
    with bench.tx() as tx, ThreadPoolExecutor(1) as other:
        tx.run("LOCK TABLE chunk_words IN ACCESS EXCLUSIVE MODE")
        search = other.submit(best, bench, index, "ferry", timeout_s=0.2)
        with pytest.raises(KeywordTimeoutError) as raised:
            search.result()
    assert raised.value.retryable
    assert best(bench, index, english(250), 2) != []


def test_there_may_be_more_hits_than_texts_are_read(bench: Workbench) -> None:
    index = indexed(bench, english(40_000))
    while keep(bench):
        pass
    ranked = best(bench, index, "harbour ferry season tenant quarry", 1_000)
    assert len(ranked) > RESCORED
    assert len({one.doc_id for one in ranked}) == len(ranked)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)
    assert best(bench, index, "harbour ferry season tenant quarry", 20) == ranked[:20]
