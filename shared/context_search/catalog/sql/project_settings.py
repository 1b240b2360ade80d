"""The settings of projects, in Postgres."""

from __future__ import annotations

import json
from dataclasses import dataclass

from context_search.catalog.rules.settings import S, StoredSettings
from context_search.postgres.pool import Transaction

_READ = """
    SELECT version, settings FROM project_settings WHERE project_id = :project AND kind = :kind
"""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """Settings of projects by their kind; a project without some has the defaults, at version 0.

    A row at version 0 is there to be locked.
    """

    tx: Transaction

    def read(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        """Returns the settings of a project."""
        rows = self.tx.run(_READ, project=project_id, kind=kind.KIND)
        [version, settings] = rows[0] if rows else (0, "{}")
        return StoredSettings(version, kind.from_mapping(json.loads(settings)))

    def lock(self, kind: type[S], project_id: int) -> StoredSettings[S]:
        """Returns the settings, and keeps others from changing them until the transaction ends."""
        self.tx.run(
            """
            INSERT INTO project_settings (project_id, kind) VALUES (:project, :kind)
            ON CONFLICT DO NOTHING
            """,
            project=project_id,
            kind=kind.KIND,
        )
        self.tx.run(f"{_READ} FOR UPDATE", project=project_id, kind=kind.KIND)
        return self.read(kind, project_id)

    def write(self, project_id: int, settings: S) -> StoredSettings[S]:
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
