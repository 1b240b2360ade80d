"""How large an index is, and which words of a question are common in it, from a sample of it.

A word that every tenth chunk has takes GIN longer to list than all the rest of a search, and only
its share counts: docs/decisions/0072-common-words-from-a-sample.md has what that saves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from context_search.core.model import Generation
from context_search.postgres.session import Statement
from context_search.searching.sql.keyword_ranking import COUNTED_MATCHES, Size

SAMPLED = 2_000
"""Number of chunks in the sample of an index with more than COUNTED_MATCHES, about."""
MEASURED = 1_000
"""Number of chunks from which the mean length is computed: of the sample if it has so many."""
MOST_PAGES = 1_024
"""Maximum number of pages that are read for it. Where other indexes lie between, it is smaller."""

_PAGE = "CAST((CAST(CAST(ctid AS text) AS point))[0] AS bigint)"
# Whole pages, evenly spread from the first of the generation to its last. OFFSET fences the
# subquery: pulled up, it would read the whole table for each page.
_STATISTICS = f"""
    WITH place AS MATERIALIZED (
        SELECT (SELECT CAST(COALESCE(sum(chunks), 0) AS bigint) FROM chunk_tally
                WHERE namespace = :namespace) AS chunks,
               (SELECT {_PAGE} FROM chunk_words WHERE generation_id >= :generation
                ORDER BY generation_id LIMIT 1) AS first_page,
               (SELECT {_PAGE} + 1 FROM chunk_words WHERE generation_id <= :generation
                ORDER BY generation_id DESC LIMIT 1) AS end_page),
    looked_at AS (
        SELECT first_page + (end_page - first_page) * number / pages AS page
        FROM (SELECT *, LEAST({MOST_PAGES}, end_page - first_page,
                              (end_page - first_page) * {SAMPLED} / chunks) AS pages
              FROM place WHERE chunks > {COUNTED_MATCHES}) AS place,
             generate_series(0, pages - 1) AS number),
    word AS MATERIALIZED (
        SELECT number, CAST(query AS tsquery) AS query
        FROM unnest(CAST(:queries AS text[])) WITH ORDINALITY AS word (query, number)),
    looked_for AS (
        SELECT number, count(*) AS sampled, count(*) FILTER (WHERE words @@ query) AS having_it,
               CAST(avg(token_count) AS float8) AS mean_length
        FROM looked_at CROSS JOIN LATERAL (
            SELECT token_count, words FROM chunk_words
            WHERE ctid >= CAST(format('(%s,0)', page) AS tid)
              AND ctid < CAST(format('(%s,0)', page + 1) AS tid)
              AND generation_id = :generation OFFSET 0) AS chunk LEFT JOIN word ON true
        GROUP BY number)
    SELECT chunks,
           COALESCE(
               (SELECT max(mean_length) FROM looked_for WHERE sampled >= {MEASURED}),
               (SELECT CAST(avg(token_count) AS float8) FROM (
                    SELECT token_count FROM chunk_words WHERE generation_id = :generation
                    LIMIT {MEASURED}) AS measured),
               1),
           (SELECT CAST(GREATEST(1, reltuples / GREATEST(1, relpages)) AS float8)
            FROM pg_class WHERE oid = CAST('chunk_words' AS regclass)),
           (SELECT max(sampled) FROM looked_for),
           ARRAY(SELECT having_it FROM looked_for ORDER BY number)
    FROM place
"""


def statistics_statement(generation: Generation, queries: Sequence[str]) -> Statement:
    """Returns the statement for a row of ``size_of``; each query is for chunks with one word."""
    return _STATISTICS, {
        "namespace": generation.namespace,
        "generation": generation.id,
        "queries": list(queries),
    }


def size_of(row: Sequence[Any], words: Sequence[str]) -> Size:
    """Returns the size of an index, and how many chunks of the sample have each of the words."""
    chunks, mean_length, chunks_per_page, sampled, having = row
    # Of a question without such words nothing is counted; without a sample nothing at all.
    known = dict(zip(words, having, strict=False))
    return Size(chunks, mean_length, chunks_per_page, sampled or 0, known)
