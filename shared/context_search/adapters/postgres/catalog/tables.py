"""Projects and tables in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.catalog.parts import Parts
from context_search.adapters.postgres.catalog.presence import TABLE_IS_THERE
from context_search.adapters.postgres.catalog.written import (
    NUMBERS_OF_DATA,
    READABLE,
    text_of,
)
from context_search.domain.errors import NotFoundError
from context_search.domain.model import Table

# An owner's column may be without a time zone.
_TABLE = "id, project_id, name, description, revision, CAST(updated_at AS timestamptz)"


@dataclass(frozen=True, slots=True)
class PostgresTables(Parts):
    """The port ``Tables``: documents as a whole, and from ``Parts`` what is in them."""

    def add(self, project_id: int, name: str, description: str | None, data_json: str) -> Table:
        [row] = self.tx.run(
            f"""
            INSERT INTO context_table (project_id, name, description, data, updated_at)
            VALUES (:project, :name, :description, CAST(:data AS jsonb), now()) RETURNING {_TABLE}
            """,
            project=project_id,
            name=name,
            description=description,
            data=data_json,
        )
        return Table(*row)

    def find(self, table_id: int, *, project_id: int) -> Table | None:
        rows = self.tx.run(
            f"""
            SELECT {_TABLE} FROM context_table
            WHERE id = :table AND project_id = :project AND {TABLE_IS_THERE}
            """,
            table=table_id,
            project=project_id,
        )
        return Table(*rows[0]) if rows else None

    def names(self, project_id: int, table_ids: Sequence[int]) -> dict[int, str]:
        rows = self.tx.run(
            f"""
            SELECT id, COALESCE(name, '') FROM context_table
            WHERE id = ANY(CAST(:tables AS bigint[])) AND project_id = :project
              AND {TABLE_IS_THERE}
            """,
            tables=list(table_ids),
            project=project_id,
        )
        return dict(rows)

    def lock(self, table_id: int, *, with_project: bool = False) -> int | None:
        # Two transactions may share the row lock; only one at a time may compare an index.
        # Fifty who create tools of one table take turns; a request has 29 seconds for it. What
        # the transaction locks afterwards is waited for as long as usual.
        [[usual, _]] = self.tx.run(
            "SELECT current_setting('lock_timeout'), set_config('lock_timeout', '9s', true)"
        )
        self.tx.run(
            "SELECT pg_advisory_xact_lock(hashtextextended('context_search.table', :table))",
            table=table_id,
        )
        self.tx.run("SELECT set_config('lock_timeout', :usual, true)", usual=usual)
        if with_project:
            self.tx.run(
                """
                SELECT FROM project
                WHERE id = (SELECT project_id FROM context_table WHERE id = :table) FOR KEY SHARE
                """,
                table=table_id,
            )
        rows = self.tx.run(
            f"""
            SELECT revision FROM context_table WHERE id = :table AND {TABLE_IS_THERE} FOR SHARE
            """,
            table=table_id,
        )
        return int(rows[0][0]) if rows else None

    def size(self, table_id: int) -> int:
        """Of a document that is large even when compressed it is that size."""
        rows = self.tx.run(
            f"""
            SELECT CASE WHEN sized.stored > 5000000 THEN sized.stored
                        WHEN sized.numbers > 5000000 THEN sized.numbers
                        ELSE octet_length(CAST(data AS text)) END
            FROM context_table, LATERAL (
                SELECT pg_column_size(data) AS stored, {NUMBERS_OF_DATA} AS numbers) AS sized
            WHERE id = :table
            """,
            table=table_id,
        )
        return int(rows[0][0] or 0) if rows else 0

    def lock_for_change(self, table_id: int) -> None:
        self.tx.run("SELECT FROM context_table WHERE id = :table FOR UPDATE", table=table_id)

    def read(self, table_id: int) -> tuple[int, str]:
        sql = f"SELECT {READABLE}, revision FROM context_table WHERE id = :table"
        if not (rows := self.tx.run(sql, table=table_id)):
            raise NotFoundError("there is no such table")
        return rows[0][2], text_of(*rows[0][:2])

    def replace(
        self, table_id: int, data_json: str, *, expected_revision: int | None
    ) -> Table | None:
        rows = self.tx.run(
            f"""
            UPDATE context_table SET data = CAST(:data AS jsonb)
            WHERE id = :table AND {TABLE_IS_THERE}
              AND (CAST(:revision AS bigint) IS NULL OR revision = :revision)
            RETURNING {_TABLE}
            """,
            table=table_id,
            data=data_json,
            revision=expected_revision,
        )
        return Table(*rows[0]) if rows else None

    def mark_deleted(self, table_id: int) -> None:
        # Its Search Tools by themselves: an owner's foreign key may not let them go with it.
        self.tx.run(
            """
            WITH marked AS (
                UPDATE context_table SET context_search_remove_at = clock_timestamp()
                WHERE id = :table RETURNING id, project_id)
            UPDATE tool SET context_search_remove_at = clock_timestamp()
            FROM marked, coverage WHERE tool.table_id = marked.id AND coverage.tool_id = tool.id
              AND tool.project_id = marked.project_id
            """,
            table=table_id,
        )
