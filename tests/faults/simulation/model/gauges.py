"""Readings of the whole store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from context_search.maintenance.rules.gauges import Readings
from context_search.maintenance.sql.gauges import Gauges
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.outbox import is_due


class MemoryGauges(Model, Gauges):
    """``Gauges`` over rows in memory."""

    def read(self) -> Readings:
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
