"""What is spent on models for projects, in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.core.limits import DailyLimits, Spent
from context_search.postgres.pool import Transaction

_TODAY = "CAST(clock_timestamp() AT TIME ZONE 'UTC' AS date)"
# A limit of NULL is none: a comparison with it is not false.
_SPEND = f"""
    WITH mine AS (SELECT project_id FROM search_index WHERE id = :index),
    noted AS (
        INSERT INTO ledger (project_id, day, embedding_tokens, reranks)
        SELECT project_id, {_TODAY}, :tokens, :reranks FROM mine
        ON CONFLICT (project_id, day) DO UPDATE
        SET embedding_tokens = ledger.embedding_tokens + EXCLUDED.embedding_tokens,
            reranks = ledger.reranks + EXCLUDED.reranks
        WHERE (EXCLUDED.embedding_tokens > 0
               AND ledger.embedding_tokens >= CAST(:most_tokens AS bigint)
               OR EXCLUDED.reranks > 0
               AND ledger.reranks >= CAST(:most_reranks AS bigint)) IS NOT TRUE
        RETURNING 1)
    SELECT (SELECT count(*) FROM noted) = (SELECT count(*) FROM mine)
"""


@dataclass(frozen=True, slots=True)
class Ledger:
    """A row for each project and day (UTC)."""

    tx: Transaction

    def spend(
        self, index_id: int, limits: DailyLimits, *, tokens: int = 0, reranks: int = 0
    ) -> bool:
        """Notes what is about to be spent for the project of an index, unless it has no more.

        False, and nothing is noted, where what is asked for has reached its limit today. What
        takes it over the limit is the last that is noted. True where the index is gone.
        A transaction by itself: nothing else may run in it.

        Looks and notes in one statement, which holds the row for a moment only.
        """
        [[is_noted]] = self.tx.run_and_commit(
            _SPEND,
            index=index_id,
            tokens=tokens,
            reranks=reranks,
            most_tokens=limits.embedding_tokens,
            most_reranks=limits.reranks,
        )
        return bool(is_noted)

    def spent_for_s(self, project_id: int, limits: DailyLimits) -> float | None:
        """Returns for how many seconds a project has no tokens more; None where it has some."""
        rows = self.tx.run(
            f"""
            SELECT CAST(extract(epoch FROM (day + 1) - clock_timestamp() AT TIME ZONE 'UTC')
                        AS float8)
            FROM ledger WHERE project_id = :project AND day = {_TODAY}
              AND embedding_tokens >= CAST(:most AS bigint)
            """,
            project=project_id,
            most=limits.embedding_tokens,
        )
        return rows[0][0] if rows else None

    def days(self, project_id: int, *, limit: int) -> list[Spent]:
        """Returns the latest days on which something was spent, the newest first."""
        rows = self.tx.run(
            """
            SELECT day, embedding_tokens, reranks FROM ledger
            WHERE project_id = :project ORDER BY day DESC LIMIT :limit
            """,
            project=project_id,
            limit=limit,
        )
        return [Spent(*row) for row in rows]

    def delete_expired(self, *, older_than_days: int, limit: int) -> int:
        """Deletes rows of days that are so long ago; returns how many."""
        return self.tx.execute(
            f"""
            DELETE FROM ledger WHERE (project_id, day) IN (
                SELECT project_id, day FROM ledger WHERE day < {_TODAY} - CAST(:days AS int)
                LIMIT :limit)
            """,
            days=older_than_days,
            limit=limit,
        )
