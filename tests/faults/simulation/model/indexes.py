"""Indexes and their generations in memory."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from context_search.core.config import IndexConfig
from context_search.core.ids import namespace_prefix, table_namespace
from context_search.core.limits import ProjectLimits, Usage
from context_search.core.model import Generation, GenerationState, Index, IndexCalibration
from context_search.core.progress import EvictionCause
from context_search.indexing.rules.indexes import SampledRow, Size, UnderWay
from context_search.indexing.sql.indexes import Indexes
from context_search.integrations.ports import Clock
from context_search.maintenance.rules.health import CleanupLimits
from tests.faults.simulation.model.comparisons import ModelComparisons
from tests.faults.simulation.model.generations import add, retire
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.quotas import counted, is_cold, total, usage_of
from tests.faults.simulation.model.rows import DEPLOYMENT, ChunkRow, GenerationRow, IndexRow, Rows


class ModelIndexes(Model, Indexes):
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

    def namespace_prefix(self) -> str:
        return namespace_prefix(DEPLOYMENT)

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

    def of_tables(self, table_ids: Sequence[int]) -> list[int]:
        return [row.id for row in self.rows.indexes.values() if row.table_id in table_ids]

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

    def retire_absent(self) -> None:
        marked = {row.id for row in self.rows.tables.values() if row.remove_at}
        gone = {None, *(row.id for row in self.rows.indexes.values() if row.table_id in marked)}
        retire(self.rows, self.clock, lambda row: row.index_id in gone)

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

    def due_at(self, limits: CleanupLimits) -> Times:
        """At once while a generation waits or builds, or a project holds more than it may.

        A previous generation when its time is over.
        """
        for row in self.rows.generations.values():
            if row.state in ("queued", "building"):
                yield self.clock.now()
            if row.state == "previous" and row.switched_at:
                yield row.switched_at + timedelta(seconds=limits.keep_previous_s)
        yield from self._evictions_due_at(limits)

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

    def start_rebuild(self, index: Index, config: IndexConfig, *, at_once: int) -> Index:
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
            ModelComparisons(self.rows, self.clock).order_comparisons(to.generation.id)
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

    def rebuilds_under_way(self) -> UnderWay:
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

    def _evictions_due_at(self, limits: CleanupLimits) -> Times:
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

    def chunk_count(self, index: Index) -> int:
        namespace = index.generation.namespace
        return sum(row.namespace == namespace for row in self.rows.chunks.values())

    def sample(self, index: Index, *, limit: int) -> list[SampledRow]:
        active = {
            node.active_set_id
            for node in self.rows.nodes.values()
            if node.generation_id == index.generation.id
        }
        rows = [row for row in self.rows.chunks.values() if row.set_id in active and row.present]
        first: dict[bytes, ChunkRow] = {}
        for row in sorted(rows, key=lambda row: (row.json_pointer, row.index, row.id)):
            first.setdefault(row.input_hash, row)
        return [
            SampledRow(
                row.text, row.table_id, row.json_pointer, row.index, row.doc_id, row.window_count
            )
            for _, row in sorted(first.items())[:limit]
        ]

    def note_calibration(self, index: Index, found: IndexCalibration) -> bool:
        row = self.rows.generations.get(index.generation.id)
        if row is None or row.state != "active":
            return False
        self.rows.change(self.rows.generations, row.id, calibration=found)
        return True

    def asked_vectors(self, model: str, dimensions: int, questions: bytes) -> list[Sequence[float]]:
        return list(self.rows.asked.get((model, dimensions, questions), ()))

    def keep_asked_vectors(
        self, model: str, dimensions: int, questions: bytes, vectors: Sequence[Sequence[float]]
    ) -> None:
        for key in [key for key in self.rows.asked if key[:2] == (model, dimensions)]:
            del self.rows.asked[key]
        form = struct.Struct(f"<{dimensions}f")
        kept = [form.unpack(form.pack(*vector)) for vector in vectors]
        self.rows.asked[model, dimensions, questions] = kept


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
