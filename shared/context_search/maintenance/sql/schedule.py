"""What cleanup has to do later, in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.core.limits import ProjectLimits
from context_search.indexing.sql.comparisons import LAGGING
from context_search.postgres.pool import Transaction
from context_search.postgres.visible_rows import TABLE_IS_THERE

# Work that is waiting or under way: when it ends, there may be more.
_UNDER_WAY = f"""
    SELECT now() WHERE EXISTS (
        SELECT FROM node JOIN index_generation ON index_generation.id = generation_id
        WHERE index_generation.state IN ('active', 'building')
          AND (node.state IN ('queued', 'claimed', 'quarantined')
               OR node.state = 'skipped' AND last_error ->> 'code' = 'PROJECT_FULL'))
    UNION ALL SELECT now() WHERE EXISTS (
        SELECT FROM index_generation
        WHERE state IN ('queued', 'building') OR state <> 'retired' AND index_id IS NULL)
    UNION ALL SELECT now() WHERE EXISTS (
        SELECT FROM context_table WHERE NOT ({TABLE_IS_THERE})
          AND EXISTS (SELECT FROM node WHERE table_id = context_table.id))
    UNION ALL SELECT now() WHERE EXISTS (SELECT FROM words_backlog) AND EXISTS (
        SELECT FROM index_generation CROSS JOIN LATERAL (
            SELECT FROM words_backlog WHERE generation_id = index_generation.id LIMIT 1) AS waiting
        WHERE state = 'active')
    UNION ALL SELECT now() WHERE EXISTS (SELECT FROM table_history WHERE due_at <= now())
    UNION ALL SELECT now() WHERE EXISTS (SELECT FROM upload WHERE state = 'importing')
    UNION ALL SELECT now() WHERE EXISTS (SELECT {LAGGING})
    UNION ALL SELECT now() WHERE EXISTS (SELECT FROM counted_part WHERE is_due)
    UNION ALL SELECT now() WHERE EXISTS (
        SELECT FROM needed_part WHERE NOT EXISTS (
            SELECT FROM counted_part WHERE counted_part.generation_id = needed_part.generation_id
                                       AND counted_part.scope = needed_part.scope))
    UNION ALL SELECT now() WHERE EXISTS (
        SELECT FROM generation_usage GROUP BY project_id
        HAVING sum(chunks) > :chunks OR sum(vector_bytes) > :bytes)
"""
# What has a time of its own.
_LATER = """
    SELECT GREATEST(sent_at, begun_at, due_at) + make_interval(secs => :silent) FROM outbox
    WHERE sent_at IS NOT NULL
    UNION ALL SELECT COALESCE(GREATEST(due_at, claimed_until), now()) FROM outbox
    WHERE sent_at IS NULL
    UNION ALL SELECT CASE WHEN deleted_at IS NULL THEN now()
        ELSE created_at + make_interval(secs => :grace) END FROM tombstone
    UNION ALL SELECT switched_at + make_interval(secs => :keep) FROM index_generation
    WHERE state = 'previous'
    UNION ALL SELECT CASE WHEN EXISTS (SELECT FROM node WHERE generation_id = index_generation.id)
        THEN now() ELSE retired_at + make_interval(secs => :grace) END FROM index_generation
    WHERE state = 'retired'
    UNION ALL SELECT context_search_remove_at FROM tool
    WHERE context_search_remove_at IS NOT NULL
    UNION ALL SELECT context_search_remove_at FROM context_table
    WHERE context_search_remove_at IS NOT NULL
    UNION ALL SELECT remove_at FROM project_removal
    UNION ALL SELECT saved_at + make_interval(secs => :silent) FROM replace_plan
    WHERE state IN ('previewing', 'executing')
    UNION ALL SELECT min(expires_at) FROM replace_plan WHERE state IN ('previewing', 'ready')
    UNION ALL SELECT min(texts_until) FROM replace_plan WHERE texts_until IS NOT NULL
    UNION ALL (
        SELECT kept_until FROM replace_plan AS plan
        WHERE NOT EXISTS (SELECT FROM replace_plan WHERE undoes = plan.id)
        ORDER BY kept_until LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class PostgresSchedule:
    """The port ``Schedule``."""

    tx: Transaction

    def due_in_s(
        self, *, silent_s: float, grace_s: float, keep_previous_s: float, limits: ProjectLimits
    ) -> float | None:
        [[seconds]] = self.tx.run(
            f"""
            SELECT CAST(extract(epoch FROM min(due_at) - now()) AS float8)
            FROM ({_UNDER_WAY} UNION ALL {_LATER}) AS due (due_at)
            """,
            silent=silent_s,
            grace=grace_s,
            keep=keep_previous_s,
            chunks=limits.max_chunks,
            bytes=limits.max_vector_bytes,
        )
        return None if seconds is None else float(seconds)
