"""How much of the past projects keep, in Postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_search.catalog.rules.versions import HistoryLimits, StoredHistoryLimits
from context_search.postgres.pool import Transaction


@dataclass(frozen=True, slots=True)
class PostgresHistorySettings:
    """The port ``HistorySettings``. A row at version 0 is there to be locked."""

    tx: Transaction

    def read(self, project_id: int) -> StoredHistoryLimits:
        """Reads the row; a project without one has the defaults."""
        rows = self.tx.run(
            "SELECT version, settings FROM history_settings WHERE project_id = :project",
            project=project_id,
        )
        return _stored(rows[0]) if rows else StoredHistoryLimits()

    def lock(self, project_id: int) -> StoredHistoryLimits:
        """Makes the row where there is none, and locks it."""
        self.tx.run(
            "INSERT INTO history_settings (project_id) VALUES (:project) ON CONFLICT DO NOTHING",
            project=project_id,
        )
        [row] = self.tx.run(
            """
            SELECT version, settings FROM history_settings WHERE project_id = :project FOR UPDATE
            """,
            project=project_id,
        )
        return _stored(row)

    def write(self, project_id: int, settings: HistoryLimits) -> StoredHistoryLimits:
        """Writes the row that ``lock`` has locked."""
        [[version]] = self.tx.run(
            """
            UPDATE history_settings SET version = version + 1,
                settings = CAST(:settings AS jsonb), updated_at = clock_timestamp()
            WHERE project_id = :project RETURNING version
            """,
            project=project_id,
            settings=settings.to_json(),
        )
        # In the order in which plans write documents: they would wait for each other else.
        self.tx.run(
            """
            UPDATE table_history SET due_at = now() FROM (
                SELECT table_id FROM table_history WHERE project_id = :project
                ORDER BY table_id FOR UPDATE) AS locked
            WHERE project_id = :project AND table_history.table_id = locked.table_id
            """,
            project=project_id,
        )
        return StoredHistoryLimits(version, settings)


def _stored(row: Sequence[Any]) -> StoredHistoryLimits:
    version, settings = row
    return StoredHistoryLimits(version, HistoryLimits.from_mapping(json.loads(settings)))
