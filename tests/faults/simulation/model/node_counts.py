"""How far nodes are, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from context_search.core.model import Index
from context_search.core.progress import (
    MOST_REFUSED,
    PROJECT_FULL,
    IndexState,
    IndexStatus,
    NodeProgress,
    Progress,
    eviction_reason,
    given_up,
    index_status,
)
from context_search.indexing.sql.node_counts import NodeCounts
from context_search.maintenance.rules.health import CleanupLimits
from tests.faults.simulation.model.comparisons import ModelComparisons, tables_of
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.nodes import of_generation
from tests.faults.simulation.model.rows import NodeRow, SetRow


class ModelNodeCounts(Model, NodeCounts):
    """``NodeCounts`` over rows in memory."""

    def due_at(self, _: CleanupLimits) -> Times:
        """Nothing is counted ahead here."""
        yield from ()

    def compact(self) -> None:
        """Rows are counted one by one anyway."""

    def count_parts(self) -> bool:
        return False

    def state(self, index: Index, scope: str, *, silent_s: float) -> IndexState:
        nodes = of_generation(self.rows, index.generation.id)
        within = of_generation(self.rows, index.generation.id, scope)
        return IndexState(
            self._status(index, nodes, silent_s), self._not_searched(index, scope, within)
        )

    def _not_searched(self, index: Index, scope: str, nodes: Sequence[NodeRow]) -> int | None:
        key = index.generation.id, index.table_id or 0
        short = self.rows.short_strings.get(key, {}).get(scope)
        return None if short is None else short + given_up(Counter(row.state for row in nodes))

    def _is_stalled(self, index: Index, silent_s: float) -> bool:
        now = self.clock.now()
        since = now - timedelta(seconds=silent_s)
        own = {row.id for row in self.rows.indexes.values() if row.project_id == index.project_id}
        served = {row.id for row in self.rows.generations.values() if row.index_id in own}
        return any(
            row.state in ("queued", "claimed") and (row.lease_until or row.next_at) < since
            for row in of_generation(self.rows, index.generation.id)
        ) and not any(
            (row.state == "claimed" and row.lease_until and row.lease_until > now)
            or (row.indexed_at and row.indexed_at > since)
            for row in self.rows.nodes.values()
            if row.generation_id in served
        )

    def _status(self, index: Index, nodes: Sequence[NodeRow], silent_s: float) -> IndexStatus:
        return index_status(
            Counter(row.state for row in nodes),
            behind=not ModelComparisons(self.rows, self.clock).is_compared(index),
            full=any(
                row.state == "skipped" and (row.last_error or {}).get("code") == PROJECT_FULL
                for row in nodes
            ),
            rebuilding=index.is_rebuilding,
            stalled=self._is_stalled(index, silent_s),
            evicted=index.evicted_at is not None,
            refused=bool(self._refused(index)),
        )

    def _set_of(self, node_id: int) -> SetRow | None:
        sets = [row for row in self.rows.sets.values() if row.node_id == node_id]
        return min(sets, key=lambda row: row.state, default=None)

    def progress(self, index: Index, scope: str, *, silent_s: float) -> Progress:
        nodes = of_generation(self.rows, index.generation.id, scope)
        sets = [row for row in (self._set_of(node.id) for node in nodes) if row]
        set_ids = {row.id for row in sets}
        chunks = self.rows.chunks.values()
        errors = [dict(node.last_error) for node in nodes if node.last_error]
        return Progress(
            status=self._status(index, nodes, silent_s),
            nodes_count=len(nodes),
            states=dict(Counter(node.state for node in nodes)),
            chunks_count=sum(row.chunks_count for row in sets),
            indexed_chunks_count=sum(c.present for c in chunks if c.set_id in set_ids),
            indexed_at=max((n.indexed_at for n in nodes if n.indexed_at), default=None),
            next_attempt_at=min((n.next_at for n in nodes if n.state == "queued"), default=None),
            last_error=eviction_reason(index.evicted_at, index.evicted_by)
            or next(iter(self._refused(index)), None)
            or self._order_error(index)
            or max(errors, key=lambda error: str(error.get("at", "")), default=None),
            refused=self._refused(index),
            not_searched=self._not_searched(index, scope, nodes),
        )

    def _order_error(self, index: Index) -> dict[str, object] | None:
        error = self.rows.indexes[index.id].order_error
        return None if error is None else dict(error)

    def _refused(self, index: Index) -> list[dict[str, object]]:
        """A table that is gone is no trouble."""
        found = [
            dict(error)
            for table in tables_of(self.rows, self.rows.indexes[index.id])
            if (error := self.rows.refused.get((index.generation.id, table.id))) is not None
        ]
        return sorted(found, key=lambda error: str(error["at"]), reverse=True)[:MOST_REFUSED]

    def progress_of(
        self, index: Index, scopes: Sequence[str], *, silent_s: float
    ) -> dict[str, Progress]:
        return {scope: self.progress(index, scope, silent_s=silent_s) for scope in scopes}

    def not_indexed(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        nodes = [
            n for n in of_generation(self.rows, index.generation.id, scope) if n.state != "indexed"
        ]
        nodes.sort(key=lambda row: row.state in ("queued", "claimed"))
        return [self._node_progress(node) for node in nodes[:limit]]

    def has_any(self, index: Index, scope: str) -> bool:
        for node in of_generation(self.rows, index.generation.id, scope):
            current = self._set_of(node.id)
            if node.state not in ("indexed", "skipped") or (current and current.chunks_count):
                return True
        return False

    def in_scope(self, index: Index, scope: str, *, limit: int) -> list[NodeProgress]:
        nodes = sorted(
            of_generation(self.rows, index.generation.id, scope), key=lambda row: row.json_pointer
        )
        return [self._node_progress(node) for node in nodes[:limit]]

    def _node_progress(self, node: NodeRow) -> NodeProgress:
        current = self._set_of(node.id)
        return NodeProgress(
            node.json_pointer,
            node.char_count,
            node.state,
            current.chunks_count if current else None,
            dict(node.last_error) if node.last_error else None,
            node.attempt,
            node.next_at if node.state == "queued" else None,
        )
