"""How projects retrieve, in Postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_search.postgres.pool import Transaction
from context_search.searching.rules.retrieval import RetrievalSettings, StoredSettings


@dataclass(frozen=True, slots=True)
class PostgresProjectSettings:
    """The port ``ProjectSettings``. A row at version 0 is there to be locked."""

    tx: Transaction

    def read(self, project_id: int) -> StoredSettings:
        """Reads the row; a project without one has the defaults."""
        rows = self.tx.run(
            "SELECT version, settings FROM retrieval_settings WHERE project_id = :project",
            project=project_id,
        )
        return _stored(rows[0]) if rows else StoredSettings()

    def lock(self, project_id: int) -> StoredSettings:
        """Makes the row where there is none, and locks it."""
        self.tx.run(
            "INSERT INTO retrieval_settings (project_id) VALUES (:project) ON CONFLICT DO NOTHING",
            project=project_id,
        )
        [row] = self.tx.run(
            """
            SELECT version, settings FROM retrieval_settings WHERE project_id = :project FOR UPDATE
            """,
            project=project_id,
        )
        return _stored(row)

    def write(self, project_id: int, settings: RetrievalSettings) -> StoredSettings:
        """Writes the row that ``lock`` has locked."""
        [[version]] = self.tx.run(
            """
            UPDATE retrieval_settings SET version = version + 1,
                settings = CAST(:settings AS jsonb), updated_at = clock_timestamp()
            WHERE project_id = :project RETURNING version
            """,
            project=project_id,
            settings=settings.to_json(),
        )
        return StoredSettings(version, settings)


def _stored(row: Sequence[Any]) -> StoredSettings:
    version, settings = row
    return StoredSettings(version, RetrievalSettings.from_mapping(json.loads(settings)))
