"""Chunks around hits, and how projects retrieve, in Postgres."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_search.adapters.postgres.pool import Transaction
from context_search.domain.retrieval import ChunkText, RetrievalSettings, StoredSettings


@dataclass(frozen=True, slots=True)
class PostgresSurroundings:
    """The port ``Surroundings``."""

    tx: Transaction

    def around(self, chunk_ids: Sequence[int], *, reach: int) -> list[ChunkText]:
        """See the port."""
        rows = self.tx.run(
            """
            SELECT id, set_id, chunk_index, total_chunks, char_start, char_end, chunk_text
            FROM chunks WHERE id IN (
                SELECT near.id FROM chunks AS hit
                JOIN chunk_set ON chunk_set.id = hit.set_id AND chunk_set.state = 'active'
                JOIN chunks AS near ON near.set_id = hit.set_id AND near.chunk_index
                    BETWEEN hit.chunk_index - :reach AND hit.chunk_index + :reach
                WHERE hit.id = ANY(CAST(:ids AS bigint[])))
            ORDER BY set_id, chunk_index
            """,
            ids=list(chunk_ids),
            reach=reach,
        )
        return [ChunkText(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class PostgresRetrievalSettings:
    """The port ``RetrievalSettingsRows``. A row at version 0 is there to be locked."""

    tx: Transaction

    def read(self, project_id: int) -> StoredSettings:
        """See the port."""
        rows = self.tx.run(
            "SELECT version, settings FROM retrieval_settings WHERE project_id = :project",
            project=project_id,
        )
        return _stored(rows[0]) if rows else StoredSettings()

    def lock(self, project_id: int) -> StoredSettings:
        """See the port."""
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
        """See the port."""
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
