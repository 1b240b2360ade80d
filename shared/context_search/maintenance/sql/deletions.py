"""What is deleted in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from context_search.maintenance.rules.deletions import Tombstone
from context_search.maintenance.rules.sweeps import SweepCursor
from context_search.maintenance.sql.removals import remove_nodes
from context_search.postgres.pool import Transaction


@dataclass(frozen=True, slots=True)
class Deletions:
    """What is deleted in Postgres and must follow in turbopuffer."""

    DUE: ClassVar = """
        SELECT CASE WHEN deleted_at IS NULL THEN now()
            ELSE created_at + make_interval(secs => :grace) END FROM tombstone
        UNION ALL SELECT
            CASE WHEN EXISTS (SELECT FROM node WHERE generation_id = index_generation.id)
                THEN now() ELSE retired_at + make_interval(secs => :grace) END
        FROM index_generation WHERE state = 'retired'
    """
    tx: Transaction

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        """Returns tombstones never deleted yet, or old enough for their last delete."""
        rows = self.tx.run(
            """
            SELECT namespace, doc_id, window_count FROM (
                (SELECT * FROM tombstone WHERE deleted_at IS NULL
                 ORDER BY created_at LIMIT :limit)
                UNION ALL  -- apart: together, all that wait for their second delete were read
                (SELECT * FROM tombstone WHERE deleted_at IS NOT NULL
                   AND created_at < statement_timestamp() - make_interval(secs => :age)
                 ORDER BY created_at LIMIT :limit)) AS found
            ORDER BY created_at LIMIT :limit
            """,
            age=older_than_s,
            limit=limit,
        )
        return [Tombstone(*row) for row in rows]

    def note_deleted(self, tombstones: Sequence[Tombstone], *, older_than_s: float) -> int:
        """Notes a delete in one namespace; forgets what is past the grace and returns how many.

        All of a retired generation are forgotten: its namespace goes after the grace.
        """
        rows = self.tx.run(
            """
            WITH named AS (
                SELECT ctid, created_at < statement_timestamp() - make_interval(secs => :age)
                             AND deleted_at IS NOT NULL
                    OR EXISTS (SELECT FROM index_generation  -- all of it goes after the grace
                               WHERE namespace = :namespace AND state = 'retired') AS is_final
                FROM tombstone
                WHERE namespace = :namespace AND doc_id = ANY(CAST(:ids AS text[])) FOR UPDATE),
            noted AS (
                UPDATE tombstone SET deleted_at = clock_timestamp()
                WHERE ctid IN (SELECT ctid FROM named WHERE NOT is_final))
            DELETE FROM tombstone WHERE ctid IN (SELECT ctid FROM named WHERE is_final) RETURNING 1
            """,
            age=older_than_s,
            namespace=tombstones[0].namespace,
            ids=[tombstone.doc_id for tombstone in tombstones],
        )
        return len(rows)

    def remove_retired_nodes(self, *, limit: int) -> int:
        """Deletes nodes of retired generations, at most ``limit``."""
        return remove_nodes(
            self.tx,
            """
            SELECT of_generation.id FROM index_generation AS retired CROSS JOIN LATERAL (
                SELECT id FROM node WHERE generation_id = retired.id
                LIMIT :limit FOR UPDATE SKIP LOCKED) AS of_generation
            WHERE retired.state = 'retired' LIMIT :limit
            """,
            limit,
        )

    def retired(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns generations that were retired that long ago and have no node left."""
        rows = self.tx.run(
            """
            SELECT id, namespace, '' FROM index_generation
            WHERE state = 'retired'
              AND retired_at < statement_timestamp() - make_interval(secs => :age)
              AND NOT EXISTS (SELECT FROM node WHERE generation_id = index_generation.id)
            ORDER BY id LIMIT :limit
            """,
            age=older_than_s,
            limit=limit,
        )
        return [SweepCursor(*row) for row in rows]

    def purge_generation(self, generation_id: int) -> None:
        """Forgets a generation whose namespace is deleted, with its tombstones."""
        rows = self.tx.run(
            "DELETE FROM index_generation WHERE id = :id RETURNING namespace", id=generation_id
        )
        for [namespace] in rows:
            self.tx.run("DELETE FROM tombstone WHERE namespace = :name", name=namespace)
