"""Search Tools in Postgres, and tools that other programs made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.catalog.rules.tools import Unowned, UnservedTool
from context_search.core.config import SearchConfig
from context_search.core.model import Scope, SearchTool, ToolRecord, ToolSettings
from context_search.core.pages import Page
from context_search.postgres.pool import Transaction
from context_search.postgres.tool_rows import (
    TABLE_OF_TOOL,
    TOOL_COLUMNS,
    TOOL_NAME,
    TOOL_TABLES,
    tool_of,
)
from context_search.postgres.visible_rows import LIVE, TOOL_OF_CALLER

_UNSERVED = "NOT EXISTS (SELECT FROM coverage WHERE tool_id = tool.id)"


_TOOL = f"SELECT {TOOL_COLUMNS} FROM {TOOL_TABLES}"


@dataclass(frozen=True, slots=True)
class Tools:
    """Search Tools.

    Invisible are those that are deleted, or whose table is, and those whose table or index is not
    in their project: another program has moved one of them.
    """

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
        """Creates a Search Tool and returns its id."""
        [[tool_id]] = self.tx.run(
            """
            INSERT INTO tool (project_id, table_id, json_path, type, name, description,
                              search_config, created_at)
            VALUES (:project, :table, :scope, 'search', :name, :description,
                    CAST(:config AS jsonb), now()) RETURNING id
            """,
            project=project_id,
            table=scope.table_id,
            scope=scope.json_pointer,
            name=name,
            description=description,
            config=search.to_json(),
        )
        return int(tool_id)

    def change(self, tool_id: int, settings: ToolSettings) -> None:
        """Writes the settings of a Search Tool; what else its row holds stays."""
        # Its owner may keep more in search_config. The strategy stands for ``enable_hybrid``.
        self.tx.run(
            f"""
            UPDATE tool SET name = :name, description = :description, search_config =
                (CASE WHEN jsonb_typeof(tool.search_config) = 'object' THEN tool.search_config
                      ELSE '{{}}' END
                 - 'enable_hybrid')
                || CAST(:config AS jsonb)
            WHERE tool.id = :tool AND {TOOL_OF_CALLER}
            """,
            tool=tool_id,
            name=settings.name,
            description=settings.description,
            config=settings.search.to_json(),
        )

    def find(self, tool_id: int, *, project_id: int | None) -> SearchTool | None:
        """Returns a live Search Tool; ``project_id`` None is for trusted internal callers."""
        rows = self.tx.run(
            f"""
            {_TOOL} WHERE {LIVE} AND tool.id = :tool
              AND (CAST(:project AS bigint) IS NULL OR tool.project_id = :project)
            """,
            tool=tool_id,
            project=project_id,
        )
        return tool_of(rows[0]) if rows else None

    def page(
        self,
        project_id: int,
        *,
        mcp_id: int | None = None,
        table_id: int | None = None,
        after: int,
        limit: int,
    ) -> list[SearchTool]:
        """Returns live Search Tools with ids above ``after``, ascending.

        Of an MCP, those bound; of one table, if it is named.
        """
        rows = self.tx.run(
            f"""
            {_TOOL} WHERE {LIVE} AND tool.project_id = :project AND tool.id > :after
              AND (CAST(:mcp AS bigint) IS NULL OR EXISTS (
                  SELECT FROM mcp_binding
                  WHERE mcp_id = :mcp AND tool_id = tool.id AND mcp_binding.status))
              AND (CAST(:table AS bigint) IS NULL OR tool.table_id = :table)
            ORDER BY tool.id LIMIT :limit
            """,
            project=project_id,
            mcp=mcp_id,
            table=table_id,
            after=after,
            limit=limit,
        )
        return [tool_of(row) for row in rows]

    def named(
        self,
        project_id: int,
        part_of_name: str,
        *,
        table_id: int | None = None,
        after: int,
        limit: int,
        among: int,
    ) -> Page[SearchTool]:
        """Returns those of ``page`` whose names hold a text, in upper or lower case.

        Looks at ``among`` names at most, so a page may be short or empty while there is more.
        """
        [[looked_at, last, wanted]] = self.tx.run(
            f"""
            SELECT count(*), max(id), array_agg(id ORDER BY id) FILTER (
                WHERE strpos(lower(name), lower(CAST(:q AS text))) > 0)
            FROM (SELECT tool.id, {TOOL_NAME} AS name FROM {TOOL_TABLES}
                  WHERE {LIVE} AND tool.project_id = :project AND tool.id > :after
                    AND (CAST(:table AS bigint) IS NULL OR tool.table_id = :table)
                  ORDER BY tool.id LIMIT :among) AS looked_at
            """,
            q=part_of_name,
            project=project_id,
            table=table_id,
            after=after,
            among=among,
        )
        found = list(wanted or [])
        rows = self.tx.run(
            f"{_TOOL} WHERE {LIVE} AND tool.id = ANY(CAST(:tools AS bigint[])) ORDER BY tool.id",
            tools=found[:limit],
        )
        if len(found) > limit:
            return Page([tool_of(row) for row in rows], found[limit - 1])
        return Page([tool_of(row) for row in rows], last if looked_at == among else None)

    def first_of_names(self, project_id: int, names: Sequence[str]) -> dict[str, int]:
        """Returns for each name the lowest id of the project's live tools that have it.

        Names are in lower case; those of tools match whatever case their ASCII letters are in.
        """
        rows = self.tx.run(
            f"""
            SELECT lower({TOOL_NAME} COLLATE "C"), min(tool.id) FROM tool
            JOIN context_table ON {TABLE_OF_TOOL}
            WHERE {LIVE} AND tool.project_id = :project
              AND lower({TOOL_NAME} COLLATE "C") = ANY(CAST(:names AS text[])) GROUP BY 1
            """,
            project=project_id,
            names=list(names),
        )
        return {row[0]: row[1] for row in rows}

    def records(self, tool_ids: Sequence[int]) -> dict[int, ToolRecord]:
        """Returns what the main service keeps with tools; of missing ones nothing."""
        rows = self.tx.run(
            f"""
            SELECT id, alias, metadata FROM tool
            WHERE id = ANY(CAST(:ids AS bigint[])) AND {TOOL_OF_CALLER}
            """,
            ids=list(tool_ids),
        )
        return {row[0]: ToolRecord(row[1], _object(row[2])) for row in rows}

    def fields_of_index(self, index_id: int) -> list[str]:
        """Returns the names of the fields that live tools of an index filter by, each once."""
        # Locks no tool, unlike ``of_index``: who deletes one waits for its index.
        rows = self.tx.run(f"{_TOOL} WHERE {LIVE} AND coverage.index_id = :index", index=index_id)
        return sorted({name for row in rows for name in tool_of(row).search.fields})

    def of_index(self, index_id: int, *, tool_id: int | None = None) -> list[SearchTool]:
        """Returns the live tools that an index serves, by id; ``tool_id`` asks for that one only.

        Keeps others from writing their summaries until the transaction ends.
        """
        rows = self.tx.run(
            f"""
            {_TOOL} WHERE {LIVE} AND coverage.index_id = :index
              AND (CAST(:tool AS bigint) IS NULL OR tool.id = :tool)
            ORDER BY tool.id FOR NO KEY UPDATE OF tool
            """,
            index=index_id,
            tool=tool_id,
        )
        return [tool_of(row) for row in rows]

    def mark_incomplete(self, index_id: int) -> None:
        """Makes ``ready`` in the summaries of an index' tools ``indexing``: it changes."""
        # Locked in the order of ``of_index``, so that the two cannot wait for each other.
        self.tx.run(
            """
            UPDATE tool SET metadata = jsonb_set(
                metadata, '{search_index,status}', CAST('"indexing"' AS jsonb))
            WHERE id IN (
                SELECT tool.id FROM tool JOIN coverage ON coverage.tool_id = tool.id
                WHERE coverage.index_id = :index
                  AND tool.metadata -> 'search_index' ->> 'status' = 'ready'
                ORDER BY tool.id FOR NO KEY UPDATE OF tool)
            """,
            index=index_id,
        )

    def mark_deleted(self, tool_id: int) -> None:
        """Makes a tool invisible at once."""
        self.tx.run(
            f"""
            UPDATE tool SET context_search_remove_at = clock_timestamp()
            WHERE id = :tool AND {TOOL_OF_CALLER}
            """,
            tool=tool_id,
        )

    def write_summary(self, tool_id: int, summary: Mapping[str, object]) -> None:
        """Writes ``metadata.search_index``."""
        self.tx.run(
            f"""
            UPDATE tool SET metadata = jsonb_set(
                CASE WHEN jsonb_typeof(metadata) = 'object' THEN metadata ELSE '{{}}' END,
                '{{search_index}}', CAST(:summary AS jsonb))
            WHERE id = :tool AND {TOOL_OF_CALLER}
            """,
            tool=tool_id,
            summary=json.dumps(summary),
        )

    def unserved(self, project_id: int, *, after: int, limit: int) -> list[UnservedTool]:
        """Returns tools with ids above ``after``, ascending, that are there and have no index.

        A tool that names no project is of its table's.
        """
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
        """Returns unserved tools that name no project that is there, and whose table has none."""
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
        """Makes an unserved tool one of the project; False when it is gone, or served by now."""
        rows = self.tx.run(
            f"""
            UPDATE tool SET project_id = :project WHERE id = :tool AND {LIVE} AND {_UNSERVED}
              AND COALESCE(project_id, :project) = :project RETURNING 1
            """,
            tool=tool_id,
            project=project_id,
        )
        return bool(rows)


def _object(text: str | None) -> Mapping[str, object] | None:
    """A program that keeps anything but an object there keeps nothing that has a name."""
    value = json.loads(text or "null")
    return value if isinstance(value, dict) else None
