"""Projects in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.catalog.ports.projects import MOST_COUNTED, ListedProject
from context_search.catalog.sql.tools import TOOL_TABLES
from context_search.core.model import Project
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import (
    LIVE,
    TABLE_IS_THERE,
    project_is_there,
)

_PRESENT = f"SELECT FROM project WHERE id = :project AND {project_is_there('project.id')}"

_PAGE = f"""
    SELECT listed.id, listed.name,
           (SELECT count(*) FROM (
                SELECT FROM context_table
                WHERE context_table.project_id = listed.id AND {TABLE_IS_THERE}
                LIMIT {MOST_COUNTED}) AS few),
           (SELECT count(*) FROM (
                SELECT FROM {TOOL_TABLES}
                WHERE tool.project_id = listed.id AND {LIVE} LIMIT {MOST_COUNTED}) AS few),
           (SELECT count(*) FROM index_generation
            JOIN search_index ON search_index.id = index_generation.index_id
            WHERE search_index.project_id = listed.id AND state IN ('building', 'queued'))
    FROM (SELECT id, name FROM project WHERE id > :after AND {project_is_there("project.id")}
          ORDER BY id LIMIT :limit) AS listed
    ORDER BY listed.id
"""


@dataclass(frozen=True, slots=True)
class PostgresProjects:
    """The port ``Projects``."""

    tx: Transaction

    def add(self, name: str) -> Project:
        [[project_id]] = self.tx.run(
            "INSERT INTO project (name) VALUES (:name) RETURNING id", name=name
        )
        return Project(project_id, name)

    def exists(self, project_id: int) -> bool:
        return bool(self.tx.run(_PRESENT, project=project_id))

    def name(self, project_id: int) -> str | None:
        rows = self.tx.run("SELECT name FROM project WHERE id = :project", project=project_id)
        return rows[0][0] if rows else None

    def page(self, *, after: int, limit: int) -> list[ListedProject]:
        rows = self.tx.run(_PAGE, after=after, limit=limit)
        return [ListedProject(*row) for row in rows]

    def lock(self, project_id: int) -> bool:
        """The trigger on new tables takes the lock that this one waits for.

        Presence is asked in a second statement: the first may have waited for the deletion, and
        would not see its mark.
        """
        rows = self.tx.run("SELECT FROM project WHERE id = :project FOR UPDATE", project=project_id)
        return bool(rows) and self.exists(project_id)

    def mark_deleted(self, project_id: int) -> bool:
        if not self.lock(project_id):
            return False
        self.tx.run(
            "INSERT INTO project_removal (project_id) VALUES (:project)", project=project_id
        )
        return True
