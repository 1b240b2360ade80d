"""Which indexes have to be compared with their documents, for which scopes, and how that went."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from context_search.adapters.postgres.catalog.presence import TOOL_IS_THERE, TOOL_MAY_RETURN
from context_search.adapters.postgres.indexing.following import UNCOMPARED, Following

# The caller has it compared; cleanup need not.
_NOTE_ORDER = """
    UPDATE comparison SET ordered_at = clock_timestamp()
    FROM covered JOIN index_generation AS generation ON generation.index_id = covered.index_id
    WHERE comparison.generation_id = generation.id AND generation.state IN ('active', 'building')
"""


@dataclass(frozen=True, slots=True)
class Comparisons(Following):
    """The part of the port ``Indexes`` that keeps indexes those of their documents and tools."""

    def cover(self, index_id: int, *, tool_id: int, scope: str) -> None:
        self.tx.run(
            f"""
            WITH covered AS (
                INSERT INTO coverage (tool_id, index_id, scope) VALUES (:tool, :index, :scope)
                RETURNING index_id)
            {_NOTE_ORDER}
            """,
            tool=tool_id,
            index=index_id,
            scope=scope,
        )

    def uncover(self, tool_id: int) -> None:
        self.tx.run(
            f"""
            WITH covered AS (DELETE FROM coverage WHERE tool_id = :tool RETURNING index_id)
            {_NOTE_ORDER}
            """,
            tool=tool_id,
        )

    def scopes(self, index_id: int) -> list[str]:
        rows = self.tx.run(
            """
            SELECT scope FROM needed_scope WHERE index_id = :index ORDER BY scope COLLATE "C"
            """,
            index=index_id,
        )
        return [scope for [scope] in rows]

    def may_be_needed(self, index_id: int) -> bool:
        rows = self.tx.run(
            f"""
            SELECT FROM search_index WHERE id = :index AND (table_id IS NULL OR EXISTS (
                SELECT FROM coverage JOIN tool ON tool.id = coverage.tool_id
                WHERE coverage.index_id = search_index.id AND {TOOL_MAY_RETURN}))
            """,
            index=index_id,
        )
        return bool(rows)

    def note_failed(self, index_id: int, error: Mapping[str, object]) -> None:
        self.tx.run(
            f"""
            UPDATE search_index SET order_error = CAST(:error AS jsonb)
                || jsonb_build_object('at', clock_timestamp())
            WHERE id = :index AND EXISTS (  -- or somebody else has compared it meanwhile
                SELECT {UNCOMPARED} AND generation.index_id = :index)
            """,
            index=index_id,
            error=json.dumps(error),
        )

    def note_refused(self, index_id: int, table_id: int, error: Mapping[str, object]) -> None:
        self.tx.run(
            """
            INSERT INTO comparison (generation_id, table_id, refused)
            SELECT id, :table, CAST(:error AS jsonb) || jsonb_build_object(
                'table_id', CAST(:table AS bigint), 'at', clock_timestamp())
            FROM index_generation WHERE index_id = :index AND state IN ('active', 'building')
            ON CONFLICT (generation_id, table_id) DO UPDATE SET refused = excluded.refused
            """,
            index=index_id,
            table=table_id,
            error=json.dumps(error),
        )

    def with_unsettled_tools(self, *, limit: int) -> list[int]:
        rows = self.tx.run(
            f"""
            WITH chosen AS (
                SELECT id, summarised_at FROM search_index WHERE EXISTS (
                    SELECT FROM coverage JOIN tool ON tool.id = coverage.tool_id
                    WHERE coverage.index_id = search_index.id AND {TOOL_IS_THERE}
                      AND (tool.metadata -> 'search_index' ->> 'status') IS DISTINCT FROM
                          CASE WHEN search_index.evicted_at IS NULL THEN 'ready' ELSE 'evicted' END)
                ORDER BY summarised_at NULLS FIRST, id LIMIT :limit FOR UPDATE SKIP LOCKED),
            taken AS (
                UPDATE search_index SET summarised_at = statement_timestamp()
                WHERE id IN (SELECT id FROM chosen))
            SELECT id FROM chosen ORDER BY summarised_at NULLS FIRST, id
            """,
            limit=limit,
        )
        return [index_id for [index_id] in rows]
