"""What leaves the histories of tables, in Postgres."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from context_search.catalog.rules.histories import TableHistory
from context_search.catalog.rules.versions import HistoryLimits, Pruned
from context_search.postgres.pool import Transaction

_EXPIRED_AT_ONCE = 1_000
_USUAL = HistoryLimits()
# What a plan replaced that can still be undone, or has not ended; an undo may fail until it has.
_IS_NEEDED = """
    EXISTS (
        SELECT FROM replace_table JOIN replace_plan AS plan ON plan.id = plan_id
        WHERE replace_table.table_id = table_version.table_id
          AND revision_before = table_version.revision AND replace_table.state = 'done'
          AND plan.project_id = table_version.project_id
          AND (plan.state = 'executing' OR undo_until > clock_timestamp())
          AND NOT EXISTS (
            SELECT FROM replace_plan AS undo WHERE undo.undoes = plan.id
              AND undo.state IN ('done', 'partial')))
"""
_MAY_LEAVE = f"sha256 IS NOT NULL AND label IS NULL AND NOT {_IS_NEEDED}"
_WITH_SETTINGS = """
    LEFT JOIN project_settings
        ON project_settings.project_id = table_history.project_id AND kind = 'history'
"""
_MAX_BYTES = "COALESCE(CAST(settings ->> 'max_bytes' AS bigint), :usual)"


@dataclass(frozen=True, slots=True)
class Histories:
    """What leaves the histories of tables."""

    DUE: ClassVar = """
        SELECT now() WHERE EXISTS (SELECT FROM table_history WHERE due_at <= now())
    """
    tx: Transaction

    def over_limit(self, *, limit: int) -> list[int]:
        """Returns projects whose pieces take more bytes than they may: first the most too many.

        Only those of which a version may leave: others would stand before these for ever.
        """
        rows = self.tx.run(
            f"""
            SELECT table_history.project_id FROM table_history
            {_WITH_SETTINGS}
            GROUP BY table_history.project_id, settings
            HAVING sum(bytes) > {_MAX_BYTES} AND EXISTS (
                SELECT FROM table_version
                WHERE table_version.project_id = table_history.project_id AND {_MAY_LEAVE})
            ORDER BY sum(bytes) - {_MAX_BYTES} DESC, table_history.project_id LIMIT :limit
            """,
            usual=_USUAL.max_bytes,
            limit=limit,
        )
        return [project_id for [project_id] in rows]

    def expire_oldest(self, project_id: int) -> int:
        """Deletes the versions of a project that were overwritten first, but no labelled ones.

        Nor what a plan replaced that can still be undone.

        As many as hold the bytes that are too many, at most 1,000; returns how many.
        """
        # Together they hold at least what is too much: pieces take no more bytes than their text.
        # Histories in the order in which plans write documents, who would wait for each other else.
        rows = self.tx.run(
            f"""
            WITH too_many AS (
                SELECT sum(bytes) - {_MAX_BYTES} AS bytes FROM table_history
                {_WITH_SETTINGS}
                WHERE table_history.project_id = :project GROUP BY settings),
            oldest AS (
                SELECT id, bytes, sum(bytes) OVER (ORDER BY overwritten_at, id) AS total FROM (
                    SELECT id, bytes, overwritten_at FROM table_version
                    WHERE project_id = :project AND {_MAY_LEAVE}
                    ORDER BY overwritten_at, id LIMIT :limit) AS first),
            gone AS (
                DELETE FROM table_version WHERE id IN (
                    SELECT oldest.id FROM oldest, too_many
                    WHERE total - oldest.bytes < too_many.bytes)
                RETURNING table_id),
            due AS (
                UPDATE table_history SET due_at = now() FROM (
                    SELECT table_id FROM table_history
                    WHERE project_id = :project AND table_id IN (SELECT table_id FROM gone)
                    ORDER BY table_id FOR UPDATE) AS locked
                WHERE project_id = :project AND table_history.table_id = locked.table_id)
            SELECT count(*) FROM gone
            """,
            project=project_id,
            usual=_USUAL.max_bytes,
            limit=_EXPIRED_AT_ONCE,
        )
        return int(rows[0][0])

    def due(self, *, limit: int) -> list[TableHistory]:
        """Returns histories of which something may have to leave; of deleted tables everything."""
        rows = self.tx.run(
            """
            (SELECT table_id, project_id FROM table_history
             WHERE due_at <= statement_timestamp() ORDER BY due_at LIMIT :limit)
            UNION
            (SELECT table_id, project_id FROM table_history WHERE EXISTS (
                SELECT FROM context_table WHERE context_table.id = table_history.table_id
                    AND context_table.context_search_remove_at IS NOT NULL)
             LIMIT :limit)
            """,
            limit=limit,
        )
        return [TableHistory(*row) for row in rows]

    def look_at_all(self, project_id: int) -> None:
        """Makes every history of a project due."""
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

    def prune(self, history: TableHistory, *, limit: int) -> Pruned:
        """Deletes versions that are too old or too many, at most ``limit``, then unused pieces.

        What a plan replaced that can still be undone is never too many.
        Does nothing while somebody records into the history.
        """
        rows = self.tx.run(
            """
            SELECT (SELECT settings FROM project_settings
                    WHERE project_id = :project AND kind = 'history'),
                   context_table.revision, context_table.context_search_remove_at IS NOT NULL
            FROM table_history JOIN context_table ON context_table.id = table_history.table_id
            WHERE table_history.table_id = :table AND table_history.project_id = :project
            FOR UPDATE OF table_history SKIP LOCKED
            """,
            table=history.table_id,
            project=history.project_id,
        )
        if not rows:
            return Pruned()
        [[stored, live, is_deleted]] = rows
        settings = HistoryLimits.from_mapping(json.loads(stored or "{}"))
        is_gone = is_deleted or settings.is_off
        versions = self._expire(history, settings, live, limit, is_gone=is_gone)
        pieces, freed = self._collect(history, limit)
        is_done = versions < limit and pieces < limit
        self._look_again(history, settings, live, freed, is_done=is_done)
        return Pruned(versions, pieces, is_done)

    def _expire(
        self,
        history: TableHistory,
        settings: HistoryLimits,
        live: int,
        limit: int,
        *,
        is_gone: bool,
    ) -> int:
        return self.tx.execute(
            f"""
            DELETE FROM table_version WHERE id IN (
                SELECT id FROM (
                    SELECT id, {_IS_NEEDED} AS is_needed,
                        COALESCE(overwritten_at, created_at, '-infinity') AS since,
                        row_number() OVER (PARTITION BY sha256 IS NULL ORDER BY revision DESC)
                            AS place
                    FROM table_version
                    WHERE table_id = :table AND project_id = :project
                      AND (CAST(:all AS boolean) OR label IS NULL AND revision <> :live)) AS past
                WHERE CAST(:all AS boolean) OR place > :count AND NOT is_needed
                   OR since < clock_timestamp() - make_interval(days => :days)
                LIMIT :limit)
            """,
            table=history.table_id,
            project=history.project_id,
            all=is_gone,
            live=live,
            count=settings.keep_count,
            days=settings.keep_days,
            limit=limit,
        )

    def _collect(self, history: TableHistory, limit: int) -> tuple[int, int]:
        """Deletes pieces that no version names; whoever could name one waits for the lock.

        Returns how many, and their bytes.
        """
        [[count, freed]] = self.tx.run(
            """
            WITH gone AS (
                DELETE FROM version_piece
                WHERE table_id = :table AND project_id = :project AND sha256 IN (
                    SELECT sha256 FROM version_piece
                    WHERE table_id = :table AND project_id = :project
                    EXCEPT
                    SELECT unnest(pieces) FROM table_version
                    WHERE table_id = :table AND project_id = :project
                    LIMIT :limit)
                RETURNING octet_length(content) AS bytes)
            SELECT count(*), CAST(COALESCE(sum(bytes), 0) AS bigint) FROM gone
            """,
            table=history.table_id,
            project=history.project_id,
            limit=limit,
        )
        return int(count), int(freed)

    def _look_again(
        self,
        history: TableHistory,
        settings: HistoryLimits,
        live: int,
        freed: int,
        *,
        is_done: bool,
    ) -> None:
        """When the next version is too old; what is recorded until then says so itself."""
        # The only change of the row here: at a second one Postgres checks its foreign key, and
        # waits for whoever writes the table, while he waits for the row.
        self.tx.run(
            """
            UPDATE table_history SET bytes = table_history.bytes - :freed,
                due_at = CASE WHEN NOT :done THEN now() ELSE COALESCE(
                (SELECT min(COALESCE(overwritten_at, created_at)) FROM table_version
                 WHERE table_id = :table AND project_id = :project AND label IS NULL
                   AND revision <> :live) + make_interval(days => :days),
                'infinity') END
            WHERE table_id = :table AND project_id = :project
            """,
            table=history.table_id,
            project=history.project_id,
            live=live,
            freed=freed,
            days=settings.keep_days,
            done=is_done,
        )
