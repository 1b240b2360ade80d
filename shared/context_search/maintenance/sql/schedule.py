"""When cleanup has work next, in Postgres."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from context_search.maintenance.rules.schedule import CleanupLimits
from context_search.postgres.pool import Transaction


@dataclass(frozen=True, slots=True)
class Schedule:
    """When ``cleanup`` has work next, as far as the database knows now.

    The union of what the repositories say in ``DUE``.
    """

    tx: Transaction

    def due_in_s(self, repositories: Iterable[Any], limits: CleanupLimits) -> float | None:
        """Returns in how many seconds a repository has work; None: nothing that is known.

        0 or less: now, or whenever work that is under way ends. ``repositories`` are those of the
        transaction. Each says when it has work beside the statements that find it: ``DUE`` in SQL,
        ``due_at`` in memory.
        """
        due = " UNION ALL ".join(f"({each.DUE})" for each in repositories)
        [[seconds]] = self.tx.run(
            "SELECT CAST(extract(epoch FROM min(due_at) - now()) AS float8)"
            f" FROM ({due}) AS due (due_at)",
            silent=limits.silent_s,
            grace=limits.grace_s,
            keep=limits.keep_previous_s,
            chunks=limits.project.max_chunks,
            bytes=limits.project.max_vector_bytes,
        )
        return None if seconds is None else float(seconds)
