"""Indexes, generations and coverage in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_search.adapters.postgres.pool import Transaction
from context_search.domain.config import IndexConfig
from context_search.domain.ids import table_namespace
from context_search.domain.model import Index

INDEX = """
    SELECT search_index.id, search_index.project_id, search_index.table_id, generation.config,
           generation.id, generation.namespace, generation.enumerated_revision, generation.state,
           generation.number,
           EXISTS (SELECT FROM index_generation AS pending WHERE pending.index_id = search_index.id
                   AND pending.state IN ('queued', 'building')),
           search_index.evicted_at,
           COALESCE(search_index.last_searched_at, search_index.created_at)
               < clock_timestamp() - interval '1 minute'
    FROM search_index JOIN index_generation AS generation ON generation.index_id = search_index.id
"""
_ACTIVE = "generation.id = search_index.active_generation_id"
_ORDER_COMPARISON = """
    UPDATE index_generation SET enumerated_revision = NULL, ordered_at = clock_timestamp()
    FROM covered WHERE index_generation.index_id = covered.index_id
      AND state IN ('active', 'building')
"""


@dataclass(frozen=True, slots=True)
class PostgresIndexes:
    """The port ``Indexes``."""

    tx: Transaction

    def find_or_add(self, *, project_id: int, table_id: int, config: IndexConfig) -> Index:
        """See the port. The caller holds the table's lock, so two cannot add the same index."""
        found = self._of_config(table_id, config)
        return found or self._add(project_id, table_id, config)

    def _of_config(self, table_id: int, config: IndexConfig) -> Index | None:
        """An index that is being rebuilt to the configuration counts too: it will have it soon."""
        rows = self.tx.run(
            f"""
            {INDEX} WHERE {_ACTIVE} AND search_index.table_id = :table AND (
                config_hash = :hash OR EXISTS (
                    SELECT FROM index_generation AS pending
                    WHERE pending.index_id = search_index.id
                      AND pending.state IN ('queued', 'building')
                      AND pending.config = CAST(:config AS jsonb)))
            ORDER BY search_index.id
            """,
            table=table_id,
            hash=config.config_hash,
            config=config.to_json(),
        )
        return index_of_row(rows[0]) if rows else None

    def _add(self, project_id: int, table_id: int, config: IndexConfig) -> Index:
        [[index_id]] = self.tx.run(
            """
            INSERT INTO search_index (project_id, table_id, config, config_hash)
            VALUES (:project, :table, CAST(:config AS jsonb), :hash) RETURNING id
            """,
            project=project_id,
            table=table_id,
            config=config.to_json(),
            hash=config.config_hash,
        )
        namespace = table_namespace(project_id=project_id, table_id=table_id)
        if self.tx.run("SELECT FROM index_generation WHERE namespace = :name", name=namespace):
            namespace = table_namespace(
                project_id=project_id, table_id=table_id, index_id=index_id, number=1
            )
        [[generation_id]] = self.tx.run(
            """
            INSERT INTO index_generation (index_id, number, namespace, state, config)
            VALUES (:index, 1, :namespace, 'active', CAST(:config AS jsonb)) RETURNING id
            """,
            index=index_id,
            namespace=namespace,
            config=config.to_json(),
        )
        self.tx.run(
            "UPDATE search_index SET active_generation_id = :generation WHERE id = :index",
            generation=generation_id,
            index=index_id,
        )
        return Index(index_id, project_id, table_id, config, generation_id, namespace, None)

    def find(self, index_id: int) -> Index | None:
        """See the port."""
        rows = self.tx.run(f"{INDEX} WHERE {_ACTIVE} AND search_index.id = :index", index=index_id)
        return index_of_row(rows[0]) if rows else None

    def live(self, index_id: int) -> list[Index]:
        """See the port."""
        rows = self.tx.run(
            f"""
            {INDEX} WHERE search_index.id = :index AND generation.state IN ('active', 'building')
            ORDER BY generation.number
            """,
            index=index_id,
        )
        return [index_of_row(row) for row in rows]

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
            SELECT DISTINCT coverage.index_id FROM coverage JOIN tool ON tool.id = coverage.tool_id
            JOIN search_index ON search_index.id = coverage.index_id
            WHERE tool.deleted_at IS NULL
              AND (metadata -> 'search_index' ->> 'status') IS DISTINCT FROM
                  CASE WHEN evicted_at IS NULL THEN 'ready' ELSE 'evicted' END
            ORDER BY 1 LIMIT :limit
            """,
            limit=limit,
        )
        return [index_id for [index_id] in rows]

    def retire(self, index_id: int) -> None:
        """See the port."""
        self.tx.run(
            """
            UPDATE index_generation SET state = 'retired', retired_at = clock_timestamp()
            WHERE index_id = :index AND state <> 'retired'
            """,
            index=index_id,
        )
        self.tx.run("DELETE FROM search_index WHERE id = :index", index=index_id)


def index_of_row(row: Sequence[Any]) -> Index:
    """Returns the index of a row of ``INDEX``."""
    index_id, project_id, table_id, config, *generation = row
    return Index(index_id, project_id, table_id, IndexConfig.from_json(config), *generation)
