"""When cleanup has work next, in Postgres."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from context_search.maintenance.ports.schedule import CleanupLimits
from context_search.postgres.pool import Transaction


@dataclass(frozen=True, slots=True)
class PostgresSchedule:
    """The port ``Schedule``: the union of what the repositories say in ``DUE``."""

    tx: Transaction

    def due_in_s(self, repositories: Iterable[Any], limits: CleanupLimits) -> float | None:
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
