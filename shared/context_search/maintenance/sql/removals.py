"""What leaves Postgres, and must follow in turbopuffer: rows that our API deleted, nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from context_search.core.limits import project_pools
from context_search.maintenance.rules.removals import Removal, RemovalEnd, Tombstone
from context_search.maintenance.rules.sweeps import SweepCursor
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import TABLE_IS_THERE

CHUNKS_PER_DELETE = 20_000
# Never without our mark, whatever the caller says.
_LOCK = """
    SELECT 1 FROM {rows} WHERE id = :id AND context_search_remove_at IS NOT NULL
    FOR UPDATE SKIP LOCKED
"""
_LOCK_MARKED: Mapping[str, str] = {
    "table": _LOCK.format(rows="context_table"),
    "tool": _LOCK.format(rows="tool"),
    # Its mark is the row of project_removal; it goes with the project (ON DELETE CASCADE).
    "project": """
        SELECT 1 FROM project JOIN project_removal AS removal ON removal.project_id = project.id
        WHERE project.id = :id FOR UPDATE OF project SKIP LOCKED
    """,
}
_DELETE: Mapping[str, str] = {
    "table": "DELETE FROM context_table WHERE id = :id RETURNING 1",
    "tool": "DELETE FROM tool WHERE id = :id RETURNING 1",
    "project": "DELETE FROM project WHERE id = :id RETURNING 1",
}
_DELAY = """
    UPDATE {rows} SET context_search_remove_at = clock_timestamp() + make_interval(secs => :wait)
    WHERE id IN (
        SELECT id FROM {rows} WHERE id = :id AND context_search_remove_at IS NOT NULL
        FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING 1
"""
_DELAY_IN: Mapping[str, str] = {
    "table": _DELAY.format(rows="context_table"),
    "tool": _DELAY.format(rows="tool"),
    "project": """
        UPDATE project_removal SET remove_at = clock_timestamp() + make_interval(secs => :wait)
        WHERE project_id = :id RETURNING 1
    """,
}
# Else each step reads the table from its beginning, over all that the steps before have deleted.
_BY_INDEX = "SET LOCAL enable_seqscan = off"
_WITHOUT_FOREIGN_KEY = (
    "DELETE FROM outbox WHERE project_id = :id",
    "DELETE FROM idempotency_key WHERE project_id = :id",
    "DELETE FROM permit WHERE pool = ANY(CAST(:pools AS text[]))",
)


def _delete_nodes(tx: Transaction, which: str, limit: int, **values: object) -> int:
    """Deletes nodes that a query has found and locked, at most ``limit``; returns how many."""
    tx.run(_BY_INDEX)
    # The chunks go with their nodes: a few nodes of many chunks are as much as many small ones.
    rows = tx.run(
        f"""
        WITH found AS ({which}),
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


@dataclass(frozen=True, slots=True)
class Removals:
    """Tools, tables and projects on their way out, and what turbopuffer still has of the deleted.

    Rows that others marked are never among them.
    """

    DUE: ClassVar = f"""
        SELECT context_search_remove_at FROM tool WHERE context_search_remove_at IS NOT NULL
        UNION ALL SELECT context_search_remove_at FROM context_table
        WHERE context_search_remove_at IS NOT NULL
        UNION ALL SELECT remove_at FROM project_removal
        UNION ALL SELECT now() WHERE EXISTS (
            SELECT FROM context_table WHERE NOT ({TABLE_IS_THERE})
              AND EXISTS (SELECT FROM node WHERE table_id = context_table.id))
        UNION ALL SELECT now() WHERE EXISTS (
            SELECT FROM index_generation WHERE state <> 'retired' AND index_id IS NULL)
        UNION ALL SELECT CASE WHEN deleted_at IS NULL THEN now()
            ELSE created_at + make_interval(secs => :grace) END FROM tombstone
        UNION ALL SELECT
            CASE WHEN EXISTS (SELECT FROM node WHERE generation_id = index_generation.id)
                THEN now() ELSE retired_at + make_interval(secs => :grace) END
        FROM index_generation WHERE state = 'retired'
    """
    tx: Transaction

    def absent_tables(self, *, limit: int) -> list[int]:
        """Locks and returns tables that are not there and have nodes, at most ``limit``.

        A table that a worker holds waits for the next run.
        """
        self.tx.run(_BY_INDEX)
        rows = self.tx.run(
            f"""
            SELECT id FROM context_table
            WHERE NOT ({TABLE_IS_THERE})
              AND EXISTS (SELECT FROM node WHERE table_id = context_table.id)
            ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
            """,
            limit=limit,
        )
        return [table_id for [table_id] in rows]

    def remove_nodes_of(self, tables: Sequence[int], *, limit: int) -> int:
        """Deletes nodes of tables, at most ``limit``; returns how many."""
        return _delete_nodes(
            self.tx,
            """
            SELECT id FROM node WHERE table_id = ANY(CAST(:tables AS bigint[]))
            LIMIT :limit FOR UPDATE SKIP LOCKED
            """,
            limit,
            tables=tables,
        )

    def due(self, *, limit: int) -> list[Removal]:
        """Returns what is to be removed now: tools first, then tables, then projects.

        A table is when it has no nodes and no pieces of versions, a project when it has no tables
        and no uploads.
        """
        rows = self.tx.run(
            """
            SELECT kind, id FROM (
                SELECT 'tool' AS kind, id, context_search_remove_at AS remove_at FROM tool
                WHERE context_search_remove_at <= statement_timestamp()
                UNION ALL
                SELECT 'table', id, context_search_remove_at FROM context_table
                WHERE context_search_remove_at <= statement_timestamp()
                  AND NOT EXISTS (SELECT FROM node WHERE table_id = context_table.id)
                  AND NOT EXISTS (
                    SELECT FROM version_piece WHERE table_id = context_table.id)
                  AND NOT EXISTS (
                    SELECT FROM replace_table JOIN replace_string USING (plan_id, table_id)
                    WHERE table_id = context_table.id)
                UNION ALL
                SELECT 'project', project_id, remove_at FROM project_removal AS removal
                WHERE remove_at <= statement_timestamp()
                  AND NOT EXISTS (
                    SELECT FROM context_table WHERE project_id = removal.project_id)
                  AND NOT EXISTS (SELECT FROM upload WHERE project_id = removal.project_id)
                  AND NOT EXISTS (SELECT FROM replace_plan WHERE project_id = removal.project_id)
                ) AS marked
            ORDER BY kind DESC, remove_at, id LIMIT :limit
            """,
            limit=limit,
        )
        return [Removal(kind, row_id) for kind, row_id in rows]

    def remove(self, removal: Removal) -> RemovalEnd:
        """Deletes the row, and what its foreign keys say. Waits for nobody who has it locked.

        With a project go its messages, permits and kept answers, which no foreign key names.

        Raises what the store says when others refer to it and have not said what then: the
        transaction is lost.
        """
        if removal.kind == "table":  # first the history, then its versions, as who prunes them
            self.tx.run(
                "SELECT FROM table_history WHERE table_id = :id ORDER BY project_id FOR UPDATE",
                id=removal.row_id,
            )
        if not self.tx.run(_LOCK_MARKED[removal.kind], id=removal.row_id):
            return "left"
        if not self.tx.run(_DELETE[removal.kind], id=removal.row_id):
            return "kept"
        if removal.kind == "project":
            pools = project_pools(removal.row_id)
            for statement in _WITHOUT_FOREIGN_KEY:
                self.tx.run(statement, id=removal.row_id, pools=pools)
        return "removed"

    def delay(self, removal: Removal, *, retry_in_s: float) -> bool:
        """Lets a row that could not be removed be due again after ``retry_in_s``.

        False when it is gone, or somebody has it locked.
        """
        rows = self.tx.run(_DELAY_IN[removal.kind], id=removal.row_id, wait=retry_in_s)
        return bool(rows)

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
        return _delete_nodes(
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
