"""The tokens of chunks in Postgres."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_search.adapters.postgres.errors import PostgresUnavailableError
from context_search.adapters.postgres.pool import Transaction, bulk
from context_search.adapters.postgres.searching.keyword_queries import lexemes
from context_search.adapters.postgres.searching.keyword_search import KeywordSearch
from context_search.domain.errors import KeywordTimeoutError
from context_search.domain.model import Index, Reach
from context_search.ports.outside import Ranked
from context_search.ports.searching import ChunkTokens, Unkeyed

_CANCELLED = "57014"


@dataclass(frozen=True, slots=True)
class PostgresKeywords:
    """The port ``Keywords``."""

    tx: Transaction

    def put(self, chunks: Sequence[ChunkTokens]) -> None:
        """Reads where the chunks are, then writes their lexemes in bulk."""
        places = self.tx.run(
            """
            SELECT chunks.id, chunks.table_id, chunks.json_pointer, set_id, generation_id, index_id
            FROM chunks JOIN chunk_set ON chunk_set.id = set_id JOIN node ON node.id = node_id
            JOIN index_generation ON index_generation.id = generation_id
            WHERE chunks.id = ANY(CAST(:ids AS bigint[])) AND index_id IS NOT NULL
            ORDER BY chunks.id
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
        """Runs a ``KeywordSearch`` that ends in time."""
        try:
            search = KeywordSearch(self.tx, index, time.monotonic() + timeout_s)
            return search.best(reach, words, limit)
        except PostgresUnavailableError as error:
            if error.sqlstate != _CANCELLED:
                raise
            raise KeywordTimeoutError("the keyword search took too long") from None

    def unkeyed(self, *, limit: int) -> list[Unkeyed]:
        """Takes chunk sets from the backlog, with their chunks that have no tokens."""
        waiting = self.tx.run(
            "SELECT set_id FROM words_backlog ORDER BY set_id LIMIT :limit", limit=limit + 1
        )
        rows = self.tx.run(
            """
            SELECT chunks.id, chunk_text, chunks.set_id
            FROM chunks JOIN chunk_set ON chunk_set.id = set_id JOIN node ON node.id = node_id
            JOIN index_generation ON index_generation.id = generation_id
            WHERE set_id = ANY(CAST(:sets AS bigint[])) AND index_id IS NOT NULL
              AND NOT EXISTS (SELECT FROM chunk_words WHERE chunk_id = chunks.id)
            ORDER BY chunks.set_id, chunks.id LIMIT :limit
            """,
            sets=[set_id for [set_id] in waiting],
            limit=limit,
        )
        first_open = rows[-1][2] if len(rows) == limit else math.inf
        done = [set_id for [set_id] in waiting if set_id < first_open]
        self.tx.run(
            "DELETE FROM words_backlog WHERE set_id = ANY(CAST(:done AS bigint[]))", done=done
        )
        return [Unkeyed(chunk_id, text) for chunk_id, text, _ in rows]


def _row(place: Sequence[Any], tokens: Sequence[str]) -> dict[str, object]:
    chunk_id, table_id, json_pointer, set_id, generation_id, index_id = place
    return {
        "i": chunk_id,
        "s": set_id,
        "g": generation_id,
        "n": len(tokens),
        "w": lexemes(index_id, table_id, json_pointer, tokens),
    }
