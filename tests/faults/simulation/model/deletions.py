"""What is deleted in memory."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from context_search.maintenance.rules.deletions import Tombstone
from context_search.maintenance.rules.schedule import CleanupLimits
from context_search.maintenance.rules.sweeps import SweepCursor
from context_search.maintenance.sql.deletions import Deletions
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.removals import remove_some
from tests.faults.simulation.model.schedule import Times


class MemoryDeletions(Model, Deletions):
    """``Deletions`` over rows in memory."""

    def due_at(self, limits: CleanupLimits) -> Times:
        """After the grace; at once where a first delete or nodes are left."""
        now = self.clock.now()
        for stone in self.rows.tombstones.values():
            yield stone.created_at + timedelta(seconds=limits.grace_s) if stone.deleted_at else now
        used = {node.generation_id for node in self.rows.nodes.values()}
        for row in self.rows.generations.values():
            if row.retired_at:
                yield now if row.id in used else row.retired_at + timedelta(seconds=limits.grace_s)

    def _before(self, seconds: float) -> datetime:
        return self.clock.now() - timedelta(seconds=seconds)

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        before = self._before(older_than_s)
        return [
            Tombstone(row.namespace, row.doc_id, row.window_count)
            for row in sorted(self.rows.tombstones.values(), key=lambda row: row.created_at)
            if row.deleted_at is None or row.created_at < before
        ][:limit]

    def note_deleted(self, tombstones: Sequence[Tombstone], *, older_than_s: float) -> int:
        before, forgotten = self._before(older_than_s), 0
        retired = {row.namespace for row in self.rows.generations.values() if row.retired_at}
        for stone in tombstones:
            key = (stone.namespace, stone.doc_id)
            row = self.rows.tombstones.get(key)
            if row and (
                stone.namespace in retired
                or (row.deleted_at is not None and row.created_at < before)
            ):
                del self.rows.tombstones[key]
                forgotten += 1
            elif row:
                now = self.clock.now()
                self.rows.change(self.rows.tombstones, key, deleted_at=now)
        return forgotten

    def remove_retired_nodes(self, *, limit: int) -> int:
        retired = {row.id for row in self.rows.generations.values() if row.retired_at}
        return remove_some(self.rows, self.clock, lambda node: node.generation_id in retired, limit)

    def retired(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        before = self._before(older_than_s)
        used = {node.generation_id for node in self.rows.nodes.values()}
        return [
            SweepCursor(row.id, row.namespace, "")
            for _, row in sorted(self.rows.generations.items())
            if row.retired_at and row.retired_at < before and row.id not in used
        ][:limit]

    def purge_generation(self, generation_id: int) -> None:
        row = self.rows.generations.pop(generation_id, None)
        rows = self.rows
        for noted in rows.of_comparisons:
            for of_generation in [key for key in noted if key[0] == generation_id]:
                noted.pop(of_generation)
        for key in list(self.rows.tombstones):
            if row and key[0] == row.namespace:
                del self.rows.tombstones[key]
