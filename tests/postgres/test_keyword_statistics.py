"""What a sample of a large index says of it, and of the words of a question."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from context_search.core.model import Index, Reach
from context_search.postgres.pool import Database
from context_search.searching.sql.keywords import (
    COUNTED_MATCHES,
    SAMPLED,
    Size,
    size_of,
    statistics_statement,
    word_query,
)
from testing.grown_index import GrownIndex
from testing.grown_rows import WORDS, write_words

STRINGS = 5_000


@pytest.fixture
def grown(module_database: Database) -> GrownIndex:
    """An index of many strings; each of them has the word x."""
    grown = GrownIndex.of(module_database, STRINGS)
    write_words(module_database, grown.index, grown.table.id)
    return grown


def size(database: Database, index: Index, words: Sequence[str]) -> Size:
    queries = [word_query(index.id, word) for word in words]
    sql, parameters = statistics_statement(index.generation, queries)
    with database.transaction() as tx:
        [row] = tx.run(sql, **parameters)
    return size_of(row, words)


def having(database: Database, index: Index, word: str) -> int:
    """How many chunks of an index have a word, counted."""
    with database.transaction() as tx:
        [[count]] = tx.run(
            "SELECT count(*) FROM chunk_words WHERE words @@ CAST(:query AS tsquery)",
            query=word_query(index.id, word),
        )
    return int(count)


def shuffle(database: Database) -> None:
    """Writes the rows of all indexes in an order of its own: each page has some of each."""
    with database.transaction() as tx:
        tx.run("SET LOCAL session_replication_role = replica")
        tx.run("CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM chunk_words")
        tx.run("TRUNCATE chunk_words")
        tx.run("INSERT INTO chunk_words SELECT * FROM kept ORDER BY md5(CAST(chunk_id AS text))")


def test_a_sample_knows_the_share_of_a_common_word(
    grown: GrownIndex, module_database: Database
) -> None:
    found = size(module_database, grown.index, ["zyzzyva", "x", "w1"])
    assert found.chunks == STRINGS
    assert found.mean_length == WORDS + 2
    assert found.sampled == pytest.approx(SAMPLED, rel=0.1)
    assert found.having["x"] == found.sampled
    assert found.having["zyzzyva"] == 0
    assert found.estimated("x") == STRINGS
    exact = having(module_database, grown.index, "w1")
    assert found.having["w1"] / found.sampled == pytest.approx(exact / STRINGS, rel=0.15)


def test_a_sample_has_chunks_of_its_own_generation_only(
    grown: GrownIndex, module_database: Database
) -> None:
    other = GrownIndex.of(module_database, STRINGS)
    write_words(module_database, other.index, other.table.id)
    shuffle(module_database)
    for index in (grown.index, other.index):
        found = size(module_database, index, ["x"])
        assert found.sampled == pytest.approx(SAMPLED, rel=0.2)
        assert found.having["x"] == found.sampled
    assert size(module_database, other.index, []).sampled == found.sampled


def test_a_small_index_has_no_sample(module_database: Database) -> None:
    small = GrownIndex.of(module_database, COUNTED_MATCHES)
    write_words(module_database, small.index, small.table.id)
    found = size(module_database, small.index, ["x"])
    assert found == Size(COUNTED_MATCHES, WORDS + 2, found.chunks_per_page)


def test_an_index_whose_words_come_later_has_no_sample(module_database: Database) -> None:
    without = GrownIndex.of(module_database, STRINGS)
    found = size(module_database, without.index, ["x"])
    assert found == Size(STRINGS, 1.0, found.chunks_per_page)


def test_a_word_of_the_sample_is_looked_for_beside_a_rare_one(grown: GrownIndex) -> None:
    with grown.store.for_project(grown.owner.project_id) as work:
        words = {"x": 1.0, "4711": 1.0}
        ranked = work.keywords.best(grown.index, Reach(), words, 9, timeout_s=9)
        hydrated = work.live_chunks.hydrate(grown.index, Reach(), [ranked[0].doc_id])
    [first] = hydrated.values()
    assert first.json_pointer == "/strings/4711"
    assert len(ranked) == 9
    assert ranked[0].score > ranked[1].score > 0
