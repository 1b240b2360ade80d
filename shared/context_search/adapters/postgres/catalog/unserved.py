"""Tools of type ``search`` that other programs made, in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.adapters.postgres.catalog.presence import LIVE
from context_search.adapters.postgres.pool import Transaction
from context_search.ports.catalog import Unowned, UnservedTool

_UNSERVED = "NOT EXISTS (SELECT FROM coverage WHERE tool_id = tool.id)"


@dataclass(frozen=True, slots=True)
class UnservedTools:
    """The part of the port ``Tools`` about those that no index serves."""

    tx: Transaction

    def unserved(self, project_id: int, *, after: int, limit: int) -> list[UnservedTool]:
        rows = self.tx.run(
            f"""
            SELECT tool.id, tool.table_id, tool.json_path, CAST(tool.search_config AS text)
            FROM tool LEFT JOIN context_table ON context_table.id = tool.table_id
            WHERE {LIVE} AND {_UNSERVED} AND tool.id > :after
              AND COALESCE(tool.project_id, context_table.project_id) = :project
            ORDER BY tool.id LIMIT :limit
            """,
            project=project_id,
            after=after,
            limit=limit,
        )
        return [UnservedTool(*row) for row in rows]

    def of_no_project(self, *, limit: int) -> Unowned:
        rows = self.tx.run(
            f"""
            SELECT count(*) OVER (), tool.id, tool.name
            FROM tool LEFT JOIN context_table ON context_table.id = tool.table_id
            WHERE {LIVE} AND {_UNSERVED} AND NOT EXISTS (
                SELECT FROM project
                WHERE project.id = COALESCE(tool.project_id, context_table.project_id))
            ORDER BY tool.id LIMIT :limit
            """,
            limit=limit,
        )
        return Unowned(rows[0][0] if rows else 0, [(row[1], row[2]) for row in rows])

    def take_over(self, tool_id: int, *, project_id: int) -> bool:
        rows = self.tx.run(
            f"""
            UPDATE tool SET project_id = :project WHERE id = :tool AND {LIVE} AND {_UNSERVED}
              AND COALESCE(project_id, :project) = :project RETURNING 1
            """,
            tool=tool_id,
            project=project_id,
        )
        return bool(rows)
