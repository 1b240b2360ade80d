"""Readings of the whole store."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.adapters.in_memory.rows import Rows
from context_search.ports.gauges import Readings
from context_search.ports.time import Clock


@dataclass(frozen=True, slots=True)
class MemoryGauges:
    """The port ``Gauges``."""

    rows: Rows
    clock: Clock

    def read(self) -> Readings:
        """See the port."""
        active = {
            row.namespace
            for row in self.rows.generations.values()
            if row.state == "active" and row.index_id
        }
        now = self.clock.now()
        ages = [
            (now - row.claimed_at).total_seconds()
            for row in self.rows.outbox.values()
            if row.claimed_at and row.sent_at is None
        ]
        return Readings(
            active_chunks=sum(row.namespace in active for row in self.rows.chunks.values()),
            quarantined_nodes=sum(node.state == "quarantined" for node in self.rows.nodes.values()),
            evicted_indexes=sum(row.evicted_at is not None for row in self.rows.indexes.values()),
            outbox_age_s=max(ages, default=0.0),
        )
