"""Indexes and their generations in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from context_search.core.config import IndexConfig
from context_search.core.ids import table_namespace
from context_search.core.model import Generation, Index
from context_search.indexing.sql.indexes import Indexes
from context_search.integrations.ports import Clock
from tests.faults.simulation.model.generations import add, retire
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import DEPLOYMENT, GenerationRow, IndexRow, Rows


class MemoryIndexes(Model, Indexes):
    """``Indexes`` over rows in memory."""

    def find_or_add(self, *, project_id: int, table_id: int, config: IndexConfig) -> Index:
        for row in self.rows.indexes.values():
            pending = [
                generation.config
                for generation in self.rows.generations.values()
                if generation.index_id == row.id and generation.state in ("queued", "building")
            ]
            if row.table_id == table_id and config in (row.config, *pending):
                return self._index(row)
        name = table_namespace(DEPLOYMENT, project_id=project_id, table_id=table_id)
        is_taken = any(name == row.namespace for row in self.rows.generations.values())
        return self._add(project_id, table_id, config, None if is_taken else name)

    def page(self, *, after: int, limit: int) -> list[Index]:
        there = [
            self._index(row)
            for _, row in sorted(self.rows.indexes.items())
            if row.id > after and row.project_id not in self.rows.project_removals
        ]
        return there[:limit]

    def of_project(self, project_id: int) -> Index | None:
        for row in self.rows.indexes.values():
            if row.project_id == project_id and row.table_id is None:
                return self._index(row)
        return None

    def add_to_project(self, project_id: int, config: IndexConfig) -> Index:
        return self._add(project_id, None, config, None)

    def _add(
        self, project_id: int, table_id: int | None, config: IndexConfig, namespace: str | None
    ) -> Index:
        index = IndexRow(self.rows.new_id(), project_id, table_id, config, 0, self.clock.now())
        generation = add(self.rows, self.clock, index, config, "active", namespace)
        self.rows.indexes[index.id] = replace(index, generation_id=generation.id)
        return self._index(self.rows.indexes[index.id])

    def find(self, index_id: int) -> Index | None:
        row = self.rows.indexes.get(index_id)
        return self._index(row) if row else None

    def lock(self, index: Index) -> bool:
        """A transaction is alone anyway."""
        row = self.rows.indexes.get(index.id)
        if row is None or index.table_id is None:
            return row is not None
        table = self.rows.tables.get(index.table_id)
        return table is not None and table.is_there

    def share(self, index: Index) -> None:
        """A transaction is alone anyway."""

    def name_fields(self, index_id: int, names: Sequence[str]) -> None:
        self.rows.change(self.rows.indexes, index_id, fields=tuple(names))

    def live(self, index_id: int) -> list[Index]:
        return [
            view(self.rows, self.clock, generation)
            for _, generation in sorted(self.rows.generations.items())
            if generation.index_id == index_id and generation.state in ("active", "building")
        ]

    def _index(self, row: IndexRow) -> Index:
        return view(self.rows, self.clock, self.rows.generations[row.generation_id])

    def with_incomplete_tools(self, *, limit: int) -> list[int]:
        incomplete: set[int] = set()
        for tool_id, covered in self.rows.coverage.items():
            tool = self.rows.tools[tool_id]
            is_evicted = self.rows.indexes[covered.index_id].evicted_at is not None
            settled = "evicted" if is_evicted else "ready"
            if tool.is_there and (tool.summary or {}).get("status") != settled:
                incomplete.add(covered.index_id)
        indexes, never = self.rows.indexes, datetime.min.replace(tzinfo=UTC)
        chosen = sorted(incomplete, key=lambda each: (indexes[each].summarised_at or never, each))
        for index_id in chosen[:limit]:
            self.rows.change(indexes, index_id, summarised_at=self.clock.now())
        return chosen[:limit]

    def retire(self, index_id: int) -> None:
        retire(self.rows, self.clock, lambda row: row.index_id == index_id)
        for row in list(self.rows.generations.values()):
            if row.index_id == index_id:
                self.rows.change(self.rows.generations, row.id, index_id=None)
        for tool_id in [
            each for each, row in self.rows.coverage.items() if row.index_id == index_id
        ]:
            del self.rows.coverage[tool_id]
        self.rows.indexes.pop(index_id, None)


def view(rows: Rows, clock: Clock, generation: GenerationRow) -> Index:
    """Returns an index seen through a generation; the generation must belong to one."""
    index = rows.indexes[generation.index_id or 0]
    return Index(
        id=index.id,
        project_id=index.project_id,
        table_id=index.table_id,
        config=generation.config,
        generation=Generation(
            generation.id,
            generation.namespace,
            generation.state,
            generation.number,
            generation.calibration,
        ),
        is_rebuilding=any(
            other.index_id == index.id and other.state in ("queued", "building")
            for other in rows.generations.values()
        ),
        evicted_at=index.evicted_at,
        evicted_by=index.evicted_by,
        fields=index.fields,
        is_idle=index.used_at < clock.now() - timedelta(minutes=1),
    )
