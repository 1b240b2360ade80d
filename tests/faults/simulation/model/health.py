"""How the deployment is, and cleanup's runs, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from context_search.maintenance.rules.health import CleanupLimits, CleanupRun, Readings
from context_search.maintenance.sql.health import Health
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.outbox import is_due


class ModelHealth(Model, Health):
    """``Health`` over rows in memory."""

    def readings(self) -> Readings:
        active = {
            row.namespace
            for row in self.rows.generations.values()
            if row.state == "active" and row.index_id
        }
        now = self.clock.now()
        ages = [(now - since).total_seconds() for since in self._waiting_since(now)]
        return Readings(
            active_chunks=sum(row.namespace in active for row in self.rows.chunks.values()),
            quarantined_nodes=sum(node.state == "quarantined" for node in self.rows.nodes.values()),
            evicted_indexes=sum(row.evicted_at is not None for row in self.rows.indexes.values()),
            outbox_age_s=max(ages, default=0.0),
        )

    def _waiting_since(self, now: datetime) -> Iterator[datetime]:
        outbox = [row for _, row in sorted(self.rows.outbox.items())]
        for project_id in {row.project_id for row in outbox}:
            own = [row for row in outbox if row.project_id == project_id]
            taken = [row.claimed_at for row in own if row.claimed_at and not row.sent_at]
            yield from taken
            if not taken and not any(row.sent_at and is_due(row, now) for row in own):
                untaken = [row for row in own if is_due(row, now)][:1]
                yield from (max(row.created_at, row.due_at or row.created_at) for row in untaken)

    def note_cleanup(self, run: CleanupRun) -> None:
        self.rows.cleanup_runs[0] = run

    def due_in_s(self, repositories: Iterable[Any], limits: CleanupLimits) -> float | None:
        times = [at for each in repositories for at in each.due_at(limits)]
        return (min(times) - self.clock.now()).total_seconds() if times else None
