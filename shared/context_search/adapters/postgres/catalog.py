"""Projects, tables and tools in Postgres."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_search.adapters.postgres.pool import Transaction
from context_search.domain.config import SearchConfig
from context_search.domain.model import Principal, Project, Scope, SearchTool, Table


@dataclass(frozen=True, slots=True)
class PostgresProjects:
    """The port ``Projects``."""

    tx: Transaction

    def add(self, name: str) -> Project:
        """See the port."""
        [[project_id]] = self.tx.run(
            "INSERT INTO project (name) VALUES (:name) RETURNING id", name=name
        )
        return Project(project_id, name)

    def add_key(self, project_id: int, *, prefix: str, key_hash: bytes) -> None:
        """See the port."""
        self.tx.run(
            "INSERT INTO api_key (project_id, prefix, key_hash) VALUES (:project, :prefix, :hash)",
            project=project_id,
            prefix=prefix,
            hash=key_hash,
        )

    def principal_of_key(self, key_hash: bytes) -> Principal | None:
        """See the port."""
        rows = self.tx.run(
            """
            SELECT project_id, CAST(NULL AS bigint) FROM api_key
            WHERE key_hash = :hash AND revoked_at IS NULL
              AND (expires_at IS NULL OR expires_at > clock_timestamp())
            UNION ALL
            SELECT project_id, id FROM mcp WHERE api_key_hash = :hash AND status
            """,
            hash=key_hash,
        )
        return Principal(*rows[0]) if rows else None


_TABLE = "id, project_id, name, description, revision, updated_at"


@dataclass(frozen=True, slots=True)
class PostgresTables:
    """The port ``Tables``."""

    tx: Transaction

    def add(self, project_id: int, name: str, description: str | None, data_json: str) -> Table:
        """See the port."""
        [row] = self.tx.run(
            f"""
            INSERT INTO context_table (project_id, name, description, data)
            VALUES (:project, :name, :description, CAST(:data AS jsonb)) RETURNING {_TABLE}
            """,
            project=project_id,
            name=name,
            description=description,
            data=data_json,
        )
        return Table(*row)

    def find(self, table_id: int, *, project_id: int) -> Table | None:
        """See the port."""
        rows = self.tx.run(
            f"""
            SELECT {_TABLE} FROM context_table
            WHERE id = :table AND project_id = :project AND deleted_at IS NULL
            """,
            table=table_id,
            project=project_id,
        )
        return Table(*rows[0]) if rows else None

    def lock(self, table_id: int) -> int | None:
        """See the port. The size of a document that is large even when compressed is estimated."""
        # Two transactions may share the row lock; only one at a time may compare an index.
        self.tx.run("SELECT pg_advisory_xact_lock(:table)", table=table_id)
        rows = self.tx.run(
            """
            SELECT CASE WHEN pg_column_size(data) > 5000000 THEN pg_column_size(data)
                        ELSE octet_length(CAST(data AS text)) END
            FROM context_table WHERE id = :table AND deleted_at IS NULL FOR SHARE
            """,
            table=table_id,
        )
        return int(rows[0][0] or 0) if rows else None

    def lock_for_change(self, table_id: int) -> None:
        """See the port."""
        self.tx.run("SELECT FROM context_table WHERE id = :table FOR UPDATE", table=table_id)

    def read(self, table_id: int) -> tuple[int, str]:
        """See the port."""
        [[revision, text]] = self.tx.run(
            "SELECT revision, CAST(data AS text) FROM context_table WHERE id = :table",
            table=table_id,
        )
        return revision, "null" if text is None else text

    def replace(
        self, table_id: int, data_json: str, *, expected_revision: int | None
    ) -> Table | None:
        """See the port."""
        rows = self.tx.run(
            f"""
            UPDATE context_table SET data = CAST(:data AS jsonb)
            WHERE id = :table AND deleted_at IS NULL
              AND (CAST(:revision AS bigint) IS NULL OR revision = :revision)
            RETURNING {_TABLE}
            """,
            table=table_id,
            data=data_json,
            revision=expected_revision,
        )
        return Table(*rows[0]) if rows else None

    def mark_deleted(self, table_id: int) -> None:
        """See the port."""
        self.tx.run(
            "UPDATE context_table SET deleted_at = clock_timestamp() WHERE id = :table",
            table=table_id,
        )


_TOOL = """
    SELECT tool.id, tool.project_id, tool.name, tool.description, context_table.name,
           tool.table_id, tool.json_path, tool.search_config, coverage.index_id, tool.created_at
    FROM tool
    JOIN context_table ON context_table.id = tool.table_id AND context_table.deleted_at IS NULL
    JOIN coverage ON coverage.tool_id = tool.id
"""
_LIVE = "tool.type = 'search' AND tool.deleted_at IS NULL"


@dataclass(frozen=True, slots=True)
class PostgresTools:
    """The port ``Tools``."""

    tx: Transaction

    def add(
        self,
        *,
        project_id: int,
        name: str,
        description: str | None,
        scope: Scope,
        search: SearchConfig,
    ) -> int:
        """See the port."""
        [[tool_id]] = self.tx.run(
            """
            INSERT INTO tool
                (project_id, table_id, json_path, type, name, description, search_config)
            VALUES (:project, :table, :scope, 'search', :name, :description,
                    CAST(:config AS jsonb)) RETURNING id
            """,
            project=project_id,
            table=scope.table_id,
            scope=scope.json_pointer,
            name=name,
            description=description,
            config=search.to_json(),
        )
        return int(tool_id)

    def find(self, tool_id: int, *, project_id: int | None) -> SearchTool | None:
        """See the port."""
        rows = self.tx.run(
            f"""
            {_TOOL} WHERE {_LIVE} AND tool.id = :tool
              AND (CAST(:project AS bigint) IS NULL OR tool.project_id = :project)
            """,
            tool=tool_id,
            project=project_id,
        )
        return _tool(rows[0]) if rows else None

    def page(self, principal: Principal, *, after: int, limit: int) -> list[SearchTool]:
        """See the port."""
        rows = self.tx.run(
            f"""
            {_TOOL} WHERE {_LIVE} AND tool.project_id = :project AND tool.id > :after
              AND (CAST(:mcp AS bigint) IS NULL OR EXISTS (
                  SELECT FROM mcp_binding
                  WHERE mcp_id = :mcp AND tool_id = tool.id AND mcp_binding.status))
            ORDER BY tool.id LIMIT :limit
            """,
            project=principal.project_id,
            mcp=principal.mcp_id,
            after=after,
            limit=limit,
        )
        return [_tool(row) for row in rows]

    def first_of_names(self, principal: Principal, names: Sequence[str]) -> dict[str, int]:
        """See the port."""
        rows = self.tx.run(
            f"""
            SELECT tool.name, min(tool.id) FROM tool
            JOIN context_table ON context_table.id = table_id AND context_table.deleted_at IS NULL
            WHERE {_LIVE} AND tool.project_id = :project
              AND tool.name = ANY(CAST(:names AS text[])) GROUP BY tool.name
            """,
            project=principal.project_id,
            names=list(names),
        )
        return {row[0]: row[1] for row in rows}

    def of_index(self, index_id: int) -> list[SearchTool]:
        """See the port."""
        rows = self.tx.run(
            f"{_TOOL} WHERE {_LIVE} AND coverage.index_id = :index ORDER BY tool.id", index=index_id
        )
        return [_tool(row) for row in rows]

    def mark_deleted(self, tool_id: int) -> None:
        """See the port."""
        self.tx.run("UPDATE tool SET deleted_at = clock_timestamp() WHERE id = :tool", tool=tool_id)

    def write_summary(self, tool_id: int, summary: Mapping[str, object]) -> None:
        """See the port."""
        self.tx.run(
            """
            UPDATE tool SET metadata = jsonb_set(
                COALESCE(metadata, '{}'), '{search_index}', CAST(:summary AS jsonb))
            WHERE id = :tool
            """,
            tool=tool_id,
            summary=json.dumps(summary),
        )


def _tool(row: Sequence[Any]) -> SearchTool:
    tool_id, project_id, name, description, table_name, table_id, scope, config, index_id, at = row
    return SearchTool(
        id=tool_id,
        project_id=project_id,
        name=name,
        description=description,
        table_name=table_name,
        scope=Scope(table_id, scope),
        search=SearchConfig.from_mapping(json.loads(config or "{}")),
        index_id=index_id,
        created_at=at,
    )
