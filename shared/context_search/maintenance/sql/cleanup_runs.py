"""When cleanup worked last, in Postgres."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.maintenance.rules.cleanup_runs import CleanupRun
from context_search.postgres.pool import Transaction


@dataclass(frozen=True, slots=True)
class CleanupRuns:
    """The last run of cleanup that worked."""

    tx: Transaction

    def note(self, run: CleanupRun) -> None:
        """Puts a run in the place of the one before."""
        self.tx.run(
            """
            INSERT INTO cleanup_run (finished_at, seconds, is_complete, errors, rests_until)
            VALUES (:at, :seconds, :complete, CAST(:errors AS text[]),
                    CAST(:rests_until AS timestamptz))
            ON CONFLICT (id) DO UPDATE SET
                finished_at = excluded.finished_at, seconds = excluded.seconds,
                is_complete = excluded.is_complete, errors = excluded.errors,
                rests_until = excluded.rests_until
            """,
            at=run.finished_at,
            seconds=run.seconds,
            complete=run.is_complete,
            errors=list(run.errors),
            rests_until=run.rests_until,
        )

    def last(self) -> CleanupRun | None:
        """Returns the last run; None before the first."""
        rows = self.tx.run(
            "SELECT finished_at, seconds, is_complete, errors, rests_until FROM cleanup_run"
        )
        return CleanupRun(*rows[0]) if rows else None
