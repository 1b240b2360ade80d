"""Projects in Postgres, and their settings."""

from __future__ import annotations

import json
from dataclasses import dataclass

from context_search.catalog.rules.projects import MOST_COUNTED, ListedProject
from context_search.catalog.rules.settings import S, StoredSettings
from context_search.core.model import Project
from context_search.postgres.pool import Transaction
from context_search.postgres.tool_rows import TOOL_TABLES
from context_search.postgres.visible_rows import LIVE, TABLE_IS_THERE, project_is_there

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

_SETTINGS = """
    SELECT version, settings FROM project_settings WHERE project_id = :project AND kind = :kind
"""


@dataclass(frozen=True, slots=True)
class Projects:
    """Tenants. Deleted ones are not there.

    Each has settings of several kinds; without some it has the defaults, at version 0. A row of
    settings at version 0 is there to be locked.
    """

    tx: Transaction

    def add(self, name: str) -> Project:
        """Creates a project."""
        [[project_id]] = self.tx.run(
            "INSERT INTO project (name) VALUES (:name) RETURNING id", name=name
        )
        return Project(project_id, name)

    def exists(self, project_id: int) -> bool:
        """Says whether there is such a project."""
        return bool(self.tx.run(_PRESENT, project=project_id))

    def name(self, project_id: int) -> str | None:
        """Returns what a project is called; None also where another program gave no name."""
        rows = self.tx.run("SELECT name FROM project WHERE id = :project", project=project_id)
        return rows[0][0] if rows else None

    def page(self, *, after: int, limit: int) -> list[ListedProject]:
        """Returns projects with ids above ``after``, ascending."""
        rows = self.tx.run(_PAGE, after=after, limit=limit)
        return [ListedProject(*row) for row in rows]

    def lock(self, project_id: int) -> bool:
        """Keeps tables from being added until the transaction ends; False without the project.

        Tables that are being added at the moment are visible afterwards.

        The trigger on new tables takes the lock that this one waits for.

        Presence is asked in a second statement: the first may have waited for the deletion, and
        would not see its mark.
        """
        rows = self.tx.run("SELECT FROM project WHERE id = :project FOR UPDATE", project=project_id)
        return bool(rows) and self.exists(project_id)

    def mark_deleted(self, project_id: int) -> bool:
        """Notes that a project is deleted: its keys and tokens are refused from the commit on.

        False: there is no such project.
        """
        if not self.lock(project_id):
            return False
        self.tx.run(
            "INSERT INTO project_removal (project_id) VALUES (:project)", project=project_id
        )
        return True

    def settings(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        """Returns the settings of a project."""
        rows = self.tx.run(_SETTINGS, project=project_id, kind=kind.KIND)
        [version, settings] = rows[0] if rows else (0, "{}")
        return StoredSettings(version, kind.from_mapping(json.loads(settings)))

    def lock_settings(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        """Returns the settings, and keeps others from changing them until the transaction ends."""
        self.tx.run(
            """
            INSERT INTO project_settings (project_id, kind) VALUES (:project, :kind)
            ON CONFLICT DO NOTHING
            """,
            project=project_id,
            kind=kind.KIND,
        )
        self.tx.run(f"{_SETTINGS} FOR UPDATE", project=project_id, kind=kind.KIND)
        return self.settings(kind, project_id)

    def write_settings(self, project_id: int, settings: S) -> StoredSettings[S]:
        """Writes the settings as the next version. The caller holds the lock."""
        [[version]] = self.tx.run(
            """
            UPDATE project_settings SET version = version + 1,
                settings = CAST(:settings AS jsonb), updated_at = clock_timestamp()
            WHERE project_id = :project AND kind = :kind RETURNING version
            """,
            project=project_id,
            kind=settings.KIND,
            settings=settings.to_json(),
        )
        return StoredSettings(version, settings)
