"""Which indexes have to be compared with their documents, for which scopes, and how that went."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from context_search.adapters.postgres.pool import Transaction
from context_search.domain.model import Index

_ORDER_COMPARISON = """
    UPDATE index_generation SET enumerated_revision = NULL, ordered_at = clock_timestamp()
    FROM covered WHERE index_generation.index_id = covered.index_id
      AND state IN ('active', 'building')
"""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The part of the port ``Indexes`` that keeps indexes those of their documents and tools."""

    tx: Transaction

    def cover(self, index_id: int, *, tool_id: int, scope: str) -> None:
        """See the port."""
        self.tx.run(
            f"""
            WITH covered AS (
                INSERT INTO coverage (tool_id, index_id, scope) VALUES (:tool, :index, :scope)
                RETURNING index_id)
            {_ORDER_COMPARISON}
            """,
            tool=tool_id,
            index=index_id,
            scope=scope,
        )

    def uncover(self, tool_id: int) -> None:
        """See the port."""
        self.tx.run(
            f"""
            WITH covered AS (DELETE FROM coverage WHERE tool_id = :tool RETURNING index_id)
            {_ORDER_COMPARISON}
            """,
            tool=tool_id,
        )

    def scopes(self, index_id: int) -> list[str]:
        """See the port."""
        rows = self.tx.run(
            "SELECT DISTINCT scope FROM coverage WHERE index_id = :index ORDER BY scope",
            index=index_id,
        )
        return [scope for [scope] in rows]

    def mark_enumerated(self, index: Index, revision: int) -> None:
        """See the port."""
        self.tx.run(
            "UPDATE index_generation SET enumerated_revision = :revision WHERE id = :generation",
            revision=revision,
            generation=index.generation_id,
        )
        self.tx.run(
            """
            UPDATE search_index SET order_error = NULL
            WHERE id = :index AND order_error IS NOT NULL
            """,
            index=index.id,
        )

    def note_failed(self, index_id: int, error: Mapping[str, object]) -> None:
        """See the port."""
        self.tx.run(
            """
            UPDATE search_index SET order_error = CAST(:error AS jsonb)
                || jsonb_build_object('at', clock_timestamp()) WHERE id = :index
            """,
            index=index_id,
            error=json.dumps(error),
        )

    def behind(self, *, silent_s: float, limit: int) -> list[int]:
        """See the port."""
        rows = self.tx.run(
            """
            UPDATE index_generation SET ordered_at = clock_timestamp() WHERE id IN (
                SELECT generation.id FROM index_generation AS generation
                JOIN search_index ON search_index.id = generation.index_id
                JOIN context_table ON context_table.id = search_index.table_id
                WHERE generation.state IN ('active', 'building') AND evicted_at IS NULL
                  AND deleted_at IS NULL AND enumerated_revision IS DISTINCT FROM revision
                  AND GREATEST(updated_at, generation.created_at, ordered_at)
                      < statement_timestamp() - make_interval(secs => :silent)
                ORDER BY generation.id LIMIT :limit FOR UPDATE OF generation SKIP LOCKED)
            RETURNING index_id
            """,
            silent=silent_s,
            limit=limit,
        )
        return sorted({index_id for [index_id] in rows})

    def with_unsettled_tools(self, *, limit: int) -> list[int]:
        """See the port."""
        rows = self.tx.run(
            """
            WITH chosen AS (
                SELECT id, summarised_at FROM search_index WHERE EXISTS (
                    SELECT FROM coverage JOIN tool ON tool.id = coverage.tool_id
                    WHERE coverage.index_id = search_index.id AND tool.deleted_at IS NULL
                      AND (metadata -> 'search_index' ->> 'status') IS DISTINCT FROM
                          CASE WHEN evicted_at IS NULL THEN 'ready' ELSE 'evicted' END)
                ORDER BY summarised_at NULLS FIRST, id LIMIT :limit FOR UPDATE SKIP LOCKED),
            taken AS (
                UPDATE search_index SET summarised_at = statement_timestamp()
                WHERE id IN (SELECT id FROM chosen))
            SELECT id FROM chosen ORDER BY summarised_at NULLS FIRST, id
            """,
            limit=limit,
        )
        return [index_id for [index_id] in rows]
