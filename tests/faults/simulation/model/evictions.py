"""Indexes that give way, and their return, in memory."""

from __future__ import annotations

from datetime import datetime, timedelta

from context_search.core.limits import ProjectLimits, Usage
from context_search.core.model import Index
from context_search.core.progress import EvictionCause
from context_search.indexing.sql.evictions import Evictions
from context_search.maintenance.rules.schedule import CleanupLimits
from tests.faults.simulation.model.generations import add, retire
from tests.faults.simulation.model.indexes import view
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.quotas import counted, is_cold, total, usage_of
from tests.faults.simulation.model.rows import GenerationRow, IndexRow
from tests.faults.simulation.model.schedule import Times


class MemoryEvictions(Model, Evictions):
    """``Evictions`` over rows in memory."""

    def due_at(self, limits: CleanupLimits) -> Times:
        """At once while a project holds more than it may."""
        allowed = Usage(limits.project.max_chunks, limits.project.max_vector_bytes)
        for project_id in self.rows.projects:
            used = total(usage_of(self.rows, row) for row in counted(self.rows, project_id))
            if not used.fits(allowed):
                yield self.clock.now()

    def next_to_go(self, limits: ProjectLimits) -> Index | None:
        allowed = Usage(limits.max_chunks, limits.max_vector_bytes)
        candidates: list[GenerationRow] = []
        for project_id in self.rows.projects:
            generations = counted(self.rows, project_id)
            if not total(usage_of(self.rows, row) for row in generations).fits(allowed):
                candidates += [row for row in generations if self._may_go(row, limits)]
        chosen = min(candidates, key=self._order, default=None)
        return view(self.rows, self.clock, chosen) if chosen else None

    def _may_go(self, generation: GenerationRow, limits: ProjectLimits) -> bool:
        if not usage_of(self.rows, generation).chunks:
            return False
        index = self.rows.indexes[generation.index_id or 0]
        return generation.state == "previous" or is_cold(self.clock, index, limits)

    def _order(self, generation: GenerationRow) -> tuple[bool, datetime | None, int, int]:
        index = self.rows.indexes[generation.index_id or 0]
        is_previous = generation.state == "previous"
        since = generation.switched_at if is_previous else index.used_at
        return not is_previous, since, index.id, generation.id

    def give_up(self, going: Index, limits: ProjectLimits) -> bool:
        index = self.rows.indexes[going.id]
        if going.generation.state == "previous":
            retire(self.rows, self.clock, lambda row: row.id == going.generation.id)
            return True
        return is_cold(self.clock, index, limits) and self._evict_index(index, "limit")

    def clear(self, index: Index) -> bool:
        return self._evict_index(self.rows.indexes[index.id], "operator")

    def _evict_index(self, index: IndexRow, cause: EvictionCause) -> bool:
        if index.evicted_at is not None:
            return False
        retire(self.rows, self.clock, lambda row: row.index_id == index.id)
        fresh = add(self.rows, self.clock, index, index.config, "active").id
        now = self.clock.now()
        self.rows.change(
            self.rows.indexes, index.id, generation_id=fresh, evicted_at=now, evicted_by=cause
        )
        return True

    def revive(self, index_id: int) -> bool:
        index = self.rows.indexes.get(index_id)
        if index is None or index.evicted_at is None:
            return False
        now = self.clock.now()
        self.rows.change(
            self.rows.indexes, index_id, evicted_at=None, evicted_by=None, last_searched_at=now
        )
        return True

    def note_search(self, index_id: int) -> None:
        index, now = self.rows.indexes.get(index_id), self.clock.now()
        if index and index.used_at < now - timedelta(minutes=1):
            self.rows.change(self.rows.indexes, index_id, last_searched_at=now)
