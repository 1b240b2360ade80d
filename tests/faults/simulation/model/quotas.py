"""What projects hold, and how much room is left, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from context_search.core.limits import HeldKind, ProjectLimits, Usage
from context_search.core.model import Claim
from context_search.core.progress import PROJECT_FULL
from context_search.indexing.sql.quotas import Quotas
from context_search.integrations.ports import Clock
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.nodes import queue
from tests.faults.simulation.model.rows import GenerationRow, IndexRow, NodeRow, Rows


class ModelQuotas(Model, Quotas):
    """``Quotas`` over rows in memory."""

    def used(self, project_id: int) -> Usage:
        return total(usage_of(self.rows, row) for row in counted(self.rows, project_id))

    def held(self, project_id: int, kind: HeldKind) -> int:
        rows = self.rows
        tables = [t for t in rows.tables.values() if t.project_id == project_id and t.is_there]
        if kind == "tables":
            return len(tables)
        if kind == "tools":
            return sum(t.project_id == project_id and t.is_there for t in rows.tools.values())
        assert kind == "document_bytes"
        return sum(len(table.data_json.encode()) for table in tables)

    def room(self, index_id: int, limits: ProjectLimits) -> Usage:
        mine = self.rows.indexes[index_id]
        used = total(
            usage_of(self.rows, row)
            for row in counted(self.rows, mine.project_id)
            if row.state != "previous" and not self._gives_way(row, mine, limits)
        )
        return Usage(limits.max_chunks - used.chunks, limits.max_vector_bytes - used.vector_bytes)

    def _gives_way(self, generation: GenerationRow, mine: IndexRow, limits: ProjectLimits) -> bool:
        index = self.rows.indexes[generation.index_id or 0]
        is_colder = index.id != mine.id and index.used_at < mine.used_at
        return is_colder and is_cold(self.clock, index, limits)

    def new_among(self, claims: Sequence[Claim]) -> list[Claim]:
        return [claim for claim in claims if self._is_new(claim)]

    def _is_new(self, claim: Claim) -> bool:
        node = self.rows.nodes[claim.node_id]
        return self.rows.generations[node.generation_id].state == "active" and not any(
            row.node_id == node.id
            and (row.state == "active" or row.content_hash == claim.content_hash)
            for row in self.rows.sets.values()
        )

    def readmit(self, limits: ProjectLimits, *, limit: int) -> list[int]:
        fitting: dict[int, list[int]] = {}
        for index_id, nodes in self._waiting().items():
            found = self._fitting(nodes, self.room(index_id, limits))
            if found:
                fitting[index_id] = found[:limit]
        indexes = [self.rows.indexes[index_id] for index_id in fitting]
        hottest: dict[int, int] = {}
        for index in sorted(indexes, key=lambda row: (row.used_at, -row.id)):
            hottest[index.project_id] = index.id
        queued = [node_id for index_id in hottest.values() for node_id in fitting[index_id]]
        queue(self.rows, self.clock, queued)
        return queued

    def _waiting(self) -> dict[int, list[NodeRow]]:
        waiting: dict[int, list[NodeRow]] = {}
        for _, node in sorted(self.rows.nodes.items()):
            generation = self.rows.generations[node.generation_id]
            is_live = generation.state == "active" and self.rows.tables[node.table_id].is_there
            if is_live and generation.index_id and _needed(node):
                waiting.setdefault(generation.index_id, []).append(node)
        return waiting

    def _fitting(self, nodes: list[NodeRow], room: Usage) -> list[int]:
        """Returns the first nodes that fit together, of those that fit alone."""
        taken: list[int] = []
        running = Usage(0, 0)
        for node in nodes:
            needed = _needed(node)
            if needed and needed.fits(room):
                running = total([running, needed])
                if running.fits(room):
                    taken.append(node.id)
        return taken


def counted(rows: Rows, project_id: int) -> list[GenerationRow]:
    """Returns the generations of a project that are not retired."""
    return [
        row
        for row in rows.generations.values()
        if row.state != "retired"
        and row.index_id is not None
        and rows.indexes[row.index_id].project_id == project_id
    ]


def usage_of(rows: Rows, generation: GenerationRow) -> Usage:
    """Returns what a generation holds."""
    chunks = [chunk for chunk in rows.chunks.values() if chunk.namespace == generation.namespace]
    return Usage.of(
        chunks=len(chunks),
        rows=sum(chunk.window_count for chunk in chunks),
        dimensions=generation.config.dimensions,
    )


def is_cold(clock: Clock, index: IndexRow, limits: ProjectLimits) -> bool:
    """Tells whether an index was not used for so long that it may be evicted."""
    return index.used_at < clock.now() - timedelta(seconds=limits.idle_s)


def total(parts: Iterable[Usage]) -> Usage:
    """Returns the sums."""
    chunks = vector_bytes = 0
    for part in parts:
        chunks += part.chunks
        vector_bytes += part.vector_bytes
    return Usage(chunks, vector_bytes)


def _needed(node: NodeRow) -> Usage | None:
    reason = node.last_error or {}
    if node.state != "skipped" or reason.get("code") != PROJECT_FULL:
        return None
    return Usage(int(str(reason["chunks"])), int(str(reason["vector_bytes"])))
