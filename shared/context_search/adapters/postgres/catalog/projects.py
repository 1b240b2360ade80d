"""Projects in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.adapters.postgres.catalog.presence import project_is_there
from context_search.adapters.postgres.pool import Transaction
from context_search.domain.model import Project

_PRESENT = f"SELECT FROM project WHERE id = :project AND {project_is_there('project.id')}"


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
