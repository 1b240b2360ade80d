"""The graveyard in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.adapters.postgres.pool import Transaction
from context_search.ports.delivery import SweepCursor, Tombstone

CHUNKS_PER_DELETE = 20_000


@dataclass(frozen=True, slots=True)
class PostgresGraveyard:
    """The port ``Graveyard``."""

    tx: Transaction

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        """See the port."""
        rows = self.tx.run(
            """
            SELECT namespace, doc_id, window_count FROM tombstone
            WHERE deleted_at IS NULL
               OR created_at < statement_timestamp() - make_interval(secs => :age)
            ORDER BY created_at LIMIT :limit
            """,
            age=older_than_s,
            limit=limit,
        )
        return [Tombstone(*row) for row in rows]

    def note_deleted(self, tombstones: Sequence[Tombstone], *, older_than_s: float) -> int:
        """See the port."""
        rows = self.tx.run(
            """
            WITH named AS (
                SELECT ctid, created_at < statement_timestamp() - make_interval(secs => :age)
                             AND deleted_at IS NOT NULL AS is_final
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

    def remove_deleted_tables(self, *, limit: int) -> int:
        """See the port."""
        # The tables first, as workers take them; one that a worker has waits for the next run.
        going = [
            table_id
            for [table_id] in self.tx.run(
                """
                SELECT id FROM context_table WHERE deleted_at IS NOT NULL
                ORDER BY id FOR UPDATE SKIP LOCKED
                """
            )
        ]
        removed = self._remove_nodes(
            "table_id = ANY(CAST(:tables AS bigint[]))", limit, tables=going
        )
        self.tx.run(
            """
            UPDATE index_generation SET state = 'retired', retired_at = clock_timestamp()
            WHERE state <> 'retired' AND (
                index_id IS NULL  -- somebody deleted the table itself
                OR index_id IN (
                    SELECT search_index.id FROM search_index
                    JOIN context_table ON context_table.id = search_index.table_id
                    WHERE deleted_at IS NOT NULL))
            """
        )
        self.tx.run(
            """
            DELETE FROM context_table WHERE id = ANY(CAST(:tables AS bigint[]))
              AND NOT EXISTS (SELECT FROM node WHERE table_id = context_table.id)
            """,
            tables=going,
        )
        return removed

    def remove_retired_nodes(self, *, limit: int) -> int:
        """See the port."""
        return self._remove_nodes(
            "generation_id IN (SELECT id FROM index_generation WHERE state = 'retired')", limit
        )

    def _remove_nodes(self, condition: str, limit: int, **values: object) -> int:
        # The chunks go with their nodes: a few nodes of many chunks are as much as many small ones.
        rows = self.tx.run(
            f"""
            WITH found AS (
                SELECT id FROM node WHERE {condition} ORDER BY id LIMIT :limit
                FOR UPDATE SKIP LOCKED),
            counted AS (
                SELECT found.id, COALESCE(chunks_count, 0) AS own,
                    sum(COALESCE(chunks_count, 0)) OVER (ORDER BY found.id, chunk_set.id) AS total
                FROM found LEFT JOIN chunk_set ON chunk_set.node_id = found.id)
            DELETE FROM node WHERE id IN (SELECT id FROM counted WHERE total - own < :chunks)
            RETURNING 1
            """,
            limit=limit,
            chunks=CHUNKS_PER_DELETE,
            **values,
        )
        return len(rows)

    def retired(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """See the port."""
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

    def forget_generation(self, generation_id: int) -> None:
        """See the port."""
        rows = self.tx.run(
            "DELETE FROM index_generation WHERE id = :id RETURNING namespace", id=generation_id
        )
        for [namespace] in rows:
            self.tx.run("DELETE FROM tombstone WHERE namespace = :name", name=namespace)
