"""Tables and their documents in Postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from context_search.catalog.rules.tables import (
    MOST_COUNTED_TOOLS,
    ListedTable,
    Part,
    StringsAt,
    TablePage,
)
from context_search.catalog.rules.versions import BY_SQL, Origin
from context_search.core.errors import NotFoundError
from context_search.core.model import Table
from context_search.postgres.json_text import (
    NUMBERS_OF_DATA,
    NUMBERS_OF_VALUE,
    PART,
    READABLE,
    cuts_of,
    text_of,
)
from context_search.postgres.locks import lock_table
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import LIVE, TABLE_IS_THERE, TABLE_OF_CALLER

# For the trigger that adds the version of the new revision.
_REPORTED = "set_config('context_search.origin', :origin, true) AS reported"
# An owner's column may be without a time zone.
_TABLE = """
    context_table.id, context_table.project_id, context_table.name, context_table.description,
    context_table.revision, CAST(context_table.updated_at AS timestamptz)
"""


@dataclass(frozen=True, slots=True)
class Tables:
    """JSON documents. Deleted tables are invisible."""

    tx: Transaction

    def add(
        self,
        project_id: int,
        name: str,
        description: str | None,
        data_json: str,
        *,
        origin: Origin = BY_SQL,
    ) -> Table:
        """Creates a table with its document."""
        [row] = self.tx.run(
            f"""
            INSERT INTO context_table (project_id, name, description, data, updated_at)
            SELECT :project, :name, :description, CAST(:data AS jsonb), now() FROM {_REPORTED}
            RETURNING {_TABLE}
            """,
            origin=_reported(origin, None),
            project=project_id,
            name=name,
            description=description,
            data=data_json,
        )
        return Table(*row)

    def find(self, table_id: int, *, project_id: int) -> Table | None:
        """Returns a live table of that project."""
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
        """Returns the names of those that are live tables of a project."""
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

    def ids(self, project_id: int, *, after: int, limit: int) -> list[int]:
        """Returns live tables of a project with higher ids, ascending."""
        rows = self.tx.run(
            f"""
            SELECT id FROM context_table
            WHERE project_id = :project AND id > :after AND {TABLE_IS_THERE}
            ORDER BY id LIMIT :limit
            """,
            project=project_id,
            after=after,
            limit=limit,
        )
        return [table_id for [table_id] in rows]

    def page(
        self,
        project_id: int,
        *,
        after: int,
        limit: int,
        among: int,
        part_of_name: str | None = None,
    ) -> TablePage:
        """Returns live tables of a project with higher ids, at most ``limit``, of those ``among``.

        ``part_of_name``: only those whose name contains it, whatever the case. A page may be short,
        or empty, while there is more to look at. Reads no document.
        """
        [[looked_at, last, wanted]] = self.tx.run(
            f"""
            SELECT count(*), max(id), array_agg(id ORDER BY id) FILTER (
                WHERE CAST(:q AS text) IS NULL
                   OR strpos(lower(name), lower(CAST(:q AS text))) > 0)
            FROM (SELECT context_table.id, context_table.name FROM context_table
                  WHERE context_table.project_id = :project AND context_table.id > :after
                    AND {TABLE_IS_THERE}
                  ORDER BY context_table.project_id, context_table.id LIMIT :among) AS looked_at
            """,
            project=project_id,
            after=after,
            among=among if part_of_name is not None else limit + 1,
            q=part_of_name,
        )
        found = list(wanted or [])
        shown = found[:limit]
        if len(found) > limit:
            return TablePage(self._listed(project_id, shown), shown[-1])
        is_last = part_of_name is None or looked_at < among
        return TablePage(self._listed(project_id, shown), None if is_last else last)

    def _listed(self, project_id: int, table_ids: Sequence[int]) -> list[ListedTable]:
        rows = self.tx.run(
            f"""
            SELECT {_TABLE}, COALESCE(pg_column_size(context_table.data), 0),
                   counted.tools_count, counted.index_ids
            FROM context_table CROSS JOIN LATERAL (
                SELECT count(*) AS tools_count, array_agg(DISTINCT index_id) AS index_ids
                FROM (SELECT coverage.index_id FROM tool
                      JOIN coverage ON coverage.tool_id = tool.id
                      JOIN search_index ON search_index.id = coverage.index_id
                                       AND search_index.project_id = tool.project_id
                      WHERE tool.table_id = context_table.id
                        AND tool.project_id = context_table.project_id AND {LIVE}
                      LIMIT {MOST_COUNTED_TOOLS}) AS few) AS counted
            WHERE context_table.id = ANY(CAST(:tables AS bigint[]))
              AND context_table.project_id = :project ORDER BY context_table.id
            """,
            tables=list(table_ids),
            project=project_id,
        )
        return [
            ListedTable(Table(*row[:-3]), stored, tools, index_ids or ())
            for row in rows
            for stored, tools, index_ids in [row[-3:]]
        ]

    def count(self, project_id: int) -> int:
        """Returns how many live tables a project has."""
        [[count]] = self.tx.run(
            f"""
            SELECT count(*) FROM context_table WHERE project_id = :project AND {TABLE_IS_THERE}
            """,
            project=project_id,
        )
        return int(count)

    def lock(self, table_id: int, *, with_project: bool = False) -> int | None:
        """Keeps the document from changing until the transaction ends; returns its revision.

        None when the table is gone or deleted. One at a time has the lock, and it never reads the
        document, so that many can take it one after another. ``with_project`` keeps the project
        from being deleted, too: for those who add what refers to it, in the order in which a
        delete takes them.
        """
        return lock_table(self.tx, table_id, with_project=with_project)

    def size(self, table_id: int) -> int:
        """Returns how many bytes the JSON text has, about; 0 when the table is gone.

        Of a document that is large even when compressed it is that size.
        """
        rows = self.tx.run(
            f"""
            SELECT CASE WHEN sized.stored > 5000000 THEN sized.stored
                        WHEN sized.numbers > 5000000 THEN sized.numbers
                        ELSE octet_length(CAST(data AS text)) END
            FROM context_table, LATERAL (
                SELECT pg_column_size(data) AS stored, {NUMBERS_OF_DATA} AS numbers) AS sized
            WHERE id = :table AND {TABLE_OF_CALLER}
            """,
            table=table_id,
        )
        return int(rows[0][0] or 0) if rows else 0

    def read(self, table_id: int) -> tuple[int, str]:
        """Returns the revision and the JSON text of the document.

        Raises NotFoundError, and DocumentTooLargeError when the numbers in it, written out, take
        over 256,000,000 bytes.
        """
        rows = self.tx.run(
            f"""
            SELECT {READABLE}, revision FROM context_table
            WHERE id = :table AND {TABLE_OF_CALLER}
            """,
            table=table_id,
        )
        if not rows:
            raise NotFoundError("there is no such table")
        return rows[0][2], text_of(*rows[0][:2])

    def replace(
        self,
        table_id: int,
        data_json: str,
        *,
        expected_revision: int | None,
        origin: Origin = BY_SQL,
    ) -> Table | None:
        """Writes a new document; None when the revision is another one.

        The caller records what is overwritten. Without ``origin`` it is what another program does.
        """
        rows = self.tx.run(
            f"""
            UPDATE context_table SET data = CAST(:data AS jsonb) FROM {_REPORTED}
            WHERE id = :table AND {TABLE_OF_CALLER} AND {TABLE_IS_THERE}
              AND (CAST(:revision AS bigint) IS NULL OR revision = :revision)
            RETURNING {_TABLE}
            """,
            table=table_id,
            data=data_json,
            revision=expected_revision,
            origin=_reported(origin, table_id),
        )
        return Table(*rows[0]) if rows else None

    def part(
        self, table_id: int, path: Sequence[str], *, max_bytes: int, holding: Sequence[str] = ()
    ) -> Part | None:
        """Returns the value at an unescaped path, its text if that has at most so many bytes.

        With ``holding``, pieces of JSON text as Postgres writes it, only a text that has one of
        them. None when the path leads nowhere. Never takes more of a document than it returns.
        """
        rows = self.tx.run(
            f"""
            SELECT revision, COALESCE(octet_length(text), numbers),
                   CASE WHEN octet_length(text) <= :most AND NOT lacks THEN text END,
                   jsonb_typeof(value) = 'string', lacks
            FROM {PART},
                LATERAL (SELECT {NUMBERS_OF_VALUE} AS numbers OFFSET 0) AS sized,
                LATERAL (SELECT CASE WHEN numbers <= :most THEN CAST(value AS text) END AS text
                         OFFSET 0) AS written,
                LATERAL (SELECT COALESCE(
                    octet_length(text) <= :most AND CAST(:holding AS text[]) <> '{{}}'
                    AND NOT EXISTS (
                        SELECT FROM unnest(CAST(:holding AS text[])) AS pieces (piece)
                        WHERE strpos(text, piece) > 0), false) AS lacks OFFSET 0) AS searched
            WHERE value IS NOT NULL
            """,
            table=table_id,
            path=list(path),
            cuts=cuts_of(path),
            most=max_bytes,
            holding=list(holding),
        )
        return Part(*rows[0]) if rows else None

    def strings_at(self, table_id: int, path: Sequence[str], *, measured: bool) -> StringsAt | None:
        """Returns the strings at an unescaped path, None when it leads nowhere.

        Measures them if so wanted, of documents that take up to 5 MB.
        """
        rows = self.tx.run(
            f"""
            SELECT CASE WHEN CAST(:measured AS boolean) AND stored <= 5000000 THEN (
                SELECT COALESCE(max(char_length(string)), 0)
                FROM jsonb_array_elements_text(jsonb_path_query_array(
                    value, 'strict $.**{{0 to 5000}} ? (@.type() == "string")'))
                    AS strings (string)) END
            FROM {PART} WHERE value IS NOT NULL
            """,
            table=table_id,
            path=list(path),
            cuts=cuts_of(path),
            measured=measured,
        )
        return StringsAt(rows[0][0]) if rows else None

    def mark_deleted(self, table_id: int) -> None:
        """Makes a table and its tools invisible at once."""
        # Its Search Tools by themselves: an owner's foreign key may not let them go with it.
        self.tx.run(
            f"""
            WITH marked AS (
                UPDATE context_table SET context_search_remove_at = clock_timestamp()
                WHERE id = :table AND {TABLE_OF_CALLER} RETURNING id, project_id)
            UPDATE tool SET context_search_remove_at = clock_timestamp()
            FROM marked, coverage WHERE tool.table_id = marked.id AND coverage.tool_id = tool.id
              AND tool.project_id = marked.project_id
            """,
            table=table_id,
        )

    def mark_of_deleted_projects(self, *, limit: int) -> int:
        """Marks tables of deleted projects, at most ``limit``; returns how many.

        Also those in their owner's trash.
        """
        rows = self.tx.run(
            """
            SELECT context_table.id FROM context_table JOIN project_removal USING (project_id)
            WHERE context_search_remove_at IS NULL
            ORDER BY context_table.id LIMIT :limit
            FOR NO KEY UPDATE OF context_table SKIP LOCKED
            """,
            limit=limit,
        )
        for [table_id] in rows:
            self.mark_deleted(table_id)
        return len(rows)


def _reported(origin: Origin, table_id: int | None) -> str:
    return json.dumps({"table_id": table_id, **asdict(origin)})
