"""Keyword search in Postgres: the tokens of chunks, and one search among them.

What is in the GIN index for a chunk, and what a question asks of it: every lexeme begins with the
index's id, so that words of one index are looked up without reading those of others. ``7:word`` is
a word of index 7, ``7/key`` a pointer that the chunk lies below, ``7#5`` its table.
array_to_tsvector and quoted operands keep them as they are; Postgres parses nothing.

A search counts the words, takes candidates by the rarest and scores these.
docs/decisions/0014-postgres-keywords.md has the reasons and the measurements.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_search.core.errors import KeywordTimeoutError
from context_search.core.ids import ancestor_keys, scope_key
from context_search.core.model import Index, Reach
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.integrations.ports import Ranked
from context_search.postgres.errors import PostgresUnavailableError
from context_search.postgres.pool import Transaction, bulk
from context_search.ranking.bm25 import K1, B, idf
from context_search.searching.sql.keyword_ranking import (
    COUNTED_MATCHES,
    MOST_MATCHES,
    Candidate,
    Counted,
    Size,
    Term,
    affordable,
    bound,
    is_common,
    rescored,
    selective,
)
from context_search.searching.sql.keyword_statistics import (
    size_of,
    statistics_statement,
)
from context_search.searching.sql.live_chunks import MAY_MATCH, filter_parameters
from context_search.text.keywords import keys, keys_of


def lexemes(index_id: int, table_id: int, json_pointer: str, tokens: Iterable[str]) -> list[str]:
    """Returns the lexemes of a chunk, without positions.

    A token has at most 254 bytes and a chunk 8,000 characters, so the limits of tsvector (2,046
    bytes a lexeme, 1 MB in all) are far away.
    """
    return [
        *(f"{index_id}:{key}" for key in keys(tokens)),
        *(f"{index_id}/{key}" for key in ancestor_keys(json_pointer)),
        f"{index_id}#{table_id}",
    ]


def word_query(index_id: int, word: str) -> str:
    """Returns the tsquery for the chunks that may have a word."""
    return " & ".join(_quoted(f"{index_id}:{key}") for key in keys_of(word))


def narrowed(query: str, index_id: int, reach: Reach) -> str:
    """Returns a tsquery that is limited to a reach."""
    parts = [f"({query})"]
    if reach.json_pointer:
        parts.append(_quoted(f"{index_id}/{scope_key(reach.json_pointer)}"))
    if reach.table_ids:
        parts.append(_any_of([f"{index_id}#{table_id}" for table_id in reach.table_ids]))
    return " & ".join(parts)


def _any_of(names: Sequence[str]) -> str:
    return f"({' | '.join(map(_quoted, names))})"


def _quoted(lexeme: str) -> str:
    escaped = lexeme.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


RESCORED = 150
"""Number of candidates whose text is read, to count words and see which are neighbours."""

# Not by the index on generation_id, which the planner may like better: only GIN is bounded.
_OF_GENERATION = "generation_id + 0 = :generation"
_LIVE = f"""
    SELECT turbopuffer_doc_id, chunk_text FROM node JOIN chunks ON chunks.id = scored.chunk_id
    LEFT JOIN comparison ON comparison.generation_id = node.generation_id
                        AND comparison.table_id = node.table_id
    WHERE active_set_id = scored.set_id AND node.generation_id = :generation
      AND (:scope = '' OR chunks.json_pointer = :scope
           OR starts_with(chunks.json_pointer, :scope || '/'))
      AND (CAST(:tables AS bigint[]) IS NULL OR chunks.table_id = ANY(CAST(:tables AS bigint[])))
      AND {MAY_MATCH}
    LIMIT 1
"""


# A table that was never analysed looks small: all of it would be read, and unpacked. In a large one
# the planner would compile a statement for longer than it takes. Without rows: neither is NULL.
_PLANNING = """
    SELECT WHERE concat(set_config('enable_seqscan', 'off', true),
                        set_config('jit', 'off', true)) IS NULL
"""


@dataclass(frozen=True, slots=True)
class KeywordSearch:
    """Searches an index until ``deadline`` of the monotonic clock."""

    tx: Transaction
    index: Index
    deadline: float

    def best(self, reach: Reach, words: Mapping[str, float], limit: int) -> list[Ranked]:
        """Returns what ``Keywords.best`` does. Behind the first candidates a word counts once."""
        self.tx.queue(_PLANNING)
        wanted = selective(words)
        size = self._size([word for word in wanted if len(keys_of(word)) == 1])
        terms = self._terms(wanted, size)
        if not terms:
            return []
        found = self._candidates(reach, affordable(terms), words, size, max(limit, RESCORED))
        ranked = rescored(found[:RESCORED], terms, words, size)
        ranked += [Ranked(one.doc_id, one.score) for one in found[RESCORED:]]
        return sorted(ranked, key=lambda one: (-one.score, one.doc_id))[:limit]

    def _size(self, words: Sequence[str]) -> Size:
        queries = [word_query(self.index.id, word) for word in words]
        sql, parameters = statistics_statement(self.index.generation, queries)
        [row] = self._run(sql, **parameters)
        return size_of(row, words)

    def _terms(self, wanted: Sequence[str], size: Size) -> list[Term]:
        """Returns the words whose keys some chunk has; only what is not common is counted."""
        known = {word: matching for word in wanted if (matching := size.estimated(word))}
        single = [word for word in wanted if len(keys_of(word)) == 1]
        known |= self._counted([word for word in single if word not in known], size)
        pairs = [word for word in wanted if len(keys_of(word)) > 1]
        known |= {word: bound(word, known) for word in pairs if is_common(word, known)}
        known |= self._counted([word for word in pairs if word not in known], size)
        return [
            Term(word, word_query(self.index.id, word), known[word])
            for word in wanted
            if word in known
        ]

    def _counted(self, words: Sequence[str], size: Size) -> dict[str, int]:
        if not words:
            return {}
        rows = self._run(
            f"""
            SELECT word, matching, first_row, last_row
            FROM unnest(CAST(:words AS text[]), CAST(:queries AS text[])) AS term (word, query)
            CROSS JOIN LATERAL (
                SELECT count(*) AS matching, CAST(min(row) AS text) AS first_row,
                       CAST(max(row) AS text) AS last_row
                FROM (SELECT ctid AS row FROM chunk_words
                      WHERE words @@ CAST(query AS tsquery) AND {_OF_GENERATION}
                      LIMIT :counted) AS chunk) AS counted
            WHERE matching > 0
            """,
            words=list(words),
            queries=[word_query(self.index.id, word) for word in words],
            generation=self.index.generation.id,
            counted=COUNTED_MATCHES,
        )
        return {
            word: Counted(matching, _page(last) - _page(first) + 1).estimated(size)
            for word, matching, first, last in rows
        }

    def _candidates(
        self,
        reach: Reach,
        terms: Sequence[Term],
        words: Mapping[str, float],
        size: Size,
        limit: int,
    ) -> list[Candidate]:
        rows = self._run(
            f"""
            WITH having_it AS (
                SELECT chunk_id, set_id, token_count, number, worth
                FROM unnest(CAST(:queries AS text[]), CAST(:worths AS float8[]))
                    WITH ORDINALITY AS term (query, worth, number)
                CROSS JOIN LATERAL (
                    SELECT chunk_id, set_id, token_count FROM chunk_words
                    WHERE words @@ CAST(query AS tsquery) AND {_OF_GENERATION}
                    LIMIT :most) AS chunk),
            scored AS (
                SELECT chunk_id, set_id, token_count,
                       bit_or(CAST(1 AS bigint) << CAST(number AS int)) AS numbers,
                       sum(worth / (CAST(:base AS float8) + CAST(:slope AS float8) * token_count))
                           AS score
                FROM having_it GROUP BY chunk_id, set_id, token_count)
            SELECT turbopuffer_doc_id, score, numbers, token_count, chunk_text
            FROM (SELECT * FROM scored ORDER BY score DESC, chunk_id) AS scored
            CROSS JOIN LATERAL ({_LIVE}) AS live
            ORDER BY score DESC, chunk_id LIMIT :limit
            """,
            queries=[narrowed(term.query, self.index.id, reach) for term in terms],
            worths=[
                words[term.word] * idf(term.matching, size.chunks) * (K1 + 1) for term in terms
            ],
            base=1 + K1 * (1 - B),
            slope=K1 * B / (size.mean_length or 1.0),
            most=MOST_MATCHES,
            generation=self.index.generation.id,
            scope=reach.json_pointer,
            tables=None if reach.table_ids is None else list(reach.table_ids),
            limit=limit,
            **filter_parameters(reach.filter),
        )
        return [
            Candidate(doc_id, score, _of_bits(numbers, terms), length, text)
            for doc_id, score, numbers, length, text in rows
        ]

    def _run(self, sql: str, **parameters: object) -> list[list[Any]]:
        left_ms = int((self.deadline - time.monotonic()) * 1000)
        if left_ms <= 0:
            raise KeywordTimeoutError("no time is left for the keyword search")
        self.tx.queue(f"SET LOCAL statement_timeout = {left_ms:d}")
        return self.tx.run(sql, **parameters)


def _of_bits(numbers: int, terms: Sequence[Term]) -> frozenset[str]:
    """Returns the words whose bits are set; they are counted from 1."""
    return frozenset(term.word for n, term in enumerate(terms, 1) if numbers >> n & 1)


def _page(row: str) -> int:
    """Returns the page of the table that a row is in; ``(page,number)`` is its place."""
    return int(row[1:].partition(",")[0])


_CANCELLED = "57014"


@dataclass(frozen=True, slots=True)
class Keywords:
    """Keyword search in Postgres: for lean storage, and while turbopuffer is down."""

    tx: Transaction

    def put(self, chunks: Sequence[ChunkTokens]) -> None:
        """Keeps the tokens of chunks; of those that have some already, or are gone, nothing."""
        places = self.tx.run(
            """
            SELECT chunks.id, chunks.table_id, chunks.json_pointer, set_id, generation_id, index_id
            FROM chunks JOIN chunk_set ON chunk_set.id = set_id JOIN node ON node.id = node_id
            JOIN index_generation ON index_generation.id = generation_id
            WHERE chunks.id = ANY(CAST(:ids AS bigint[])) AND index_id IS NOT NULL
            ORDER BY chunks.id FOR KEY SHARE OF chunks  -- that none moves to another set meanwhile
            """,
            ids=[chunk.chunk_id for chunk in chunks],
        )
        tokens_of = {chunk.chunk_id: chunk.tokens for chunk in chunks}
        bulk(
            self.tx,
            """
            INSERT INTO chunk_words (chunk_id, set_id, generation_id, token_count, words)
            SELECT i, s, g, n, array_to_tsvector(ARRAY(SELECT jsonb_array_elements_text(w)))
            FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS row (
                i bigint, s bigint, g bigint, n int, w jsonb)
            ON CONFLICT DO NOTHING
            """,
            (_row(place, tokens_of[place[0]]) for place in places),
        )

    def best(
        self,
        index: Index,
        reach: Reach,
        words: Mapping[str, float],
        limit: int,
        *,
        timeout_s: float,
    ) -> list[Ranked]:
        """Returns up to ``limit`` chunks that have any of ``words``, by BM25, ties by id.

        A word's BM25 is multiplied by its value, what it counts.

        Only active chunks of the index's generation within ``reach``; its filter holds for the
        fields that are stored, or that nobody has stored yet. A statement that takes
        longer than ``timeout_s`` raises KeywordTimeoutError and ends the transaction; the limit
        is that of the transaction from then on, so it should do nothing else.
        """
        try:
            search = KeywordSearch(self.tx, index, time.monotonic() + timeout_s)
            return search.best(reach, words, limit)
        except PostgresUnavailableError as error:
            if error.sqlstate != _CANCELLED:
                raise
            raise KeywordTimeoutError("the keyword search took too long") from None


def _row(place: Sequence[Any], tokens: Sequence[str]) -> dict[str, object]:
    chunk_id, table_id, json_pointer, set_id, generation_id, index_id = place
    return {
        "i": chunk_id,
        "s": set_id,
        "g": generation_id,
        "n": len(tokens),
        "w": lexemes(index_id, table_id, json_pointer, tokens),
    }
