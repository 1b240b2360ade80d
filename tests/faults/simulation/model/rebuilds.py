"""Generations in memory."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from context_search.core.config import IndexConfig
from context_search.core.model import GenerationState, Index
from context_search.indexing.rules.rebuilds import Size, UnderWay
from context_search.indexing.sql.rebuilds import Rebuilds
from context_search.maintenance.rules.schedule import CleanupLimits
from tests.faults.simulation.model.comparisons import MemoryComparisons
from tests.faults.simulation.model.generations import add, retire
from tests.faults.simulation.model.indexes import view
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import GenerationRow
from tests.faults.simulation.model.schedule import Times


class MemoryRebuilds(Model, Rebuilds):
    """``Rebuilds`` over rows in memory."""

    def due_at(self, limits: CleanupLimits) -> Times:
        """At once while one waits or builds; a previous generation when its time is over."""
        for row in self.rows.generations.values():
            if row.state in ("queued", "building"):
                yield self.clock.now()
            if row.state == "previous" and row.switched_at:
                yield row.switched_at + timedelta(seconds=limits.keep_previous_s)

    def _of(self, index_id: int, states: Collection[str]) -> list[GenerationRow]:
        return [
            row
            for _, row in sorted(self.rows.generations.items())
            if row.index_id == index_id and row.state in states
        ]

    def _has_room(self, project_id: int, at_once: int) -> bool:
        building = [
            row
            for row in self.rows.generations.values()
            if row.state == "building"
            and row.index_id is not None
            and self.rows.indexes[row.index_id].project_id == project_id
        ]
        return len(building) < at_once

    def start(self, index: Index, config: IndexConfig, *, at_once: int) -> Index:
        has_room = self._has_room(index.project_id, at_once)
        state: GenerationState = "building" if has_room else "queued"
        of = self.rows.indexes[index.id]
        return view(self.rows, self.clock, add(self.rows, self.clock, of, config, state))

    def pending(self, index_id: int) -> Index | None:
        found = self._of(index_id, ("queued", "building"))
        return view(self.rows, self.clock, found[-1]) if found else None

    def previous(self, index_id: int) -> Index | None:
        found = self._of(index_id, ("previous",))
        return view(self.rows, self.clock, found[-1]) if found else None

    def has_index(self, table_id: int | None, config: IndexConfig) -> bool:
        indexes = self.rows.indexes.values()
        return table_id is not None and any(
            (row.table_id, row.config) == (table_id, config) for row in indexes
        )

    def is_unfinished(self, index: Index) -> bool:
        return any(
            node.generation_id == index.generation.id
            and node.state in ("queued", "claimed", "quarantined")
            for node in self.rows.nodes.values()
        )

    def switch(self, to: Index) -> None:
        now = self.clock.now()
        generations = self.rows.generations
        retire(
            self.rows,
            self.clock,
            lambda row: (
                (row.index_id, row.state) == (to.id, "previous") and row.id != to.generation.id
            ),
        )
        for row in self._of(to.id, ("active",)):
            self.rows.change(generations, row.id, state="previous", switched_at=now)
        if generations[to.generation.id].state != "building":
            MemoryComparisons(self.rows, self.clock).order_comparisons(to.generation.id)
        self.rows.change(generations, to.generation.id, state="active")
        self.rows.change(self.rows.indexes, to.id, generation_id=to.generation.id, config=to.config)

    def promote(self, *, at_once: int) -> list[int]:
        promoted = []
        for _, row in sorted(self.rows.generations.items()):
            if row.state != "queued" or row.index_id is None:
                continue
            if self._has_room(self.rows.indexes[row.index_id].project_id, at_once):
                self.rows.change(self.rows.generations, row.id, state="building")
                promoted.append(row.index_id)
        return promoted

    def under_way(self) -> UnderWay:
        states = [row.state for row in self.rows.generations.values() if row.index_id is not None]
        return UnderWay(states.count("building"), states.count("queued"))

    def building(self, *, limit: int) -> list[int]:
        rows = self.rows.generations.values()
        found = {row.index_id for row in rows if row.state == "building" and row.index_id}
        return sorted(found)[:limit]

    def _outdated(self, older_than_s: float) -> list[GenerationRow]:
        before = self.clock.now() - timedelta(seconds=older_than_s)
        old = [
            (row.switched_at, row.id, row)
            for row in self.rows.generations.values()
            if row.state == "previous" and row.index_id
            if row.switched_at and row.switched_at <= before
        ]
        return [row for _, _, row in sorted(old, key=lambda each: each[:2])]

    def outdated(self, *, older_than_s: float, limit: int) -> list[Index]:
        found = self._outdated(older_than_s)[:limit]
        return [view(self.rows, self.clock, row) for row in found]

    def retire_previous(self, index_id: int, *, older_than_s: float) -> bool:
        old = {row.id for row in self._outdated(older_than_s) if row.index_id == index_id}
        return retire(self.rows, self.clock, lambda row: row.id in old)

    def size(self, index: Index) -> Size:
        nodes = [
            node for node in self.rows.nodes.values() if node.generation_id == index.generation.id
        ]
        sets = {node.active_set_id for node in nodes}
        texts = [chunk.text for chunk in self.rows.chunks.values() if chunk.set_id in sets]
        return Size(
            nodes=len(nodes),
            chunks=len(texts),
            characters=sum(len(text) for text in texts),
            bytes=sum(len(text.encode()) for text in texts),
        )
