"""What cleanup has to do later, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from context_search.core.limits import ProjectLimits, Usage
from context_search.core.progress import PROJECT_FULL
from context_search.integrations.ports import Clock
from testing.in_memory.comparisons import MemoryComparisons
from testing.in_memory.quotas import counted, total, usage_of
from testing.in_memory.rows import NodeRow, Rows


@dataclass(frozen=True, slots=True)
class MemorySchedule:
    """The port ``Schedule``."""

    rows: Rows
    clock: Clock

    def due_in_s(
        self, *, silent_s: float, grace_s: float, keep_previous_s: float, limits: ProjectLimits
    ) -> float | None:
        now = self.clock.now()
        if self._is_under_way(limits):
            return 0.0
        grace, silent = timedelta(seconds=grace_s), timedelta(seconds=silent_s)
        times = [
            *self._orders(now, silent),
            *(r.created_at + grace if r.deleted_at else now for r in self.rows.tombstones.values()),
            *self._generations(now, grace, timedelta(seconds=keep_previous_s)),
            *(row.remove_at for row in self.rows.tools.values() if row.remove_at),
            *(row.remove_at for row in self.rows.tables.values() if row.remove_at),
            *self.rows.project_removals.values(),
            *self._plans(silent),
        ]
        return (min(times) - now).total_seconds() if times else None

    def _is_under_way(self, limits: ProjectLimits) -> bool:
        rows, generations = self.rows, self.rows.generations.values()
        allowed = Usage(limits.max_chunks, limits.max_vector_bytes)
        return (
            any(self._is_open(node) for node in rows.nodes.values())
            or any(
                row.state in ("queued", "building")
                or (row.state != "retired" and row.index_id is None)
                for row in generations
            )
            or any(not self._is_there(node.table_id) for node in rows.nodes.values())
            or any(self._lacks_words(set_id) for set_id in rows.words_backlog)
            or any(due_at <= self.clock.now() for due_at in rows.histories.values())
            or any(row.upload.state == "importing" for row in rows.uploads.values())
            or MemoryComparisons(rows, self.clock).is_lagging()
            or not all(
                total(usage_of(rows, row) for row in counted(rows, project_id)).fits(allowed)
                for project_id in rows.projects
            )
        )

    def _is_open(self, node: NodeRow) -> bool:
        if self.rows.generations[node.generation_id].state not in ("active", "building"):
            return False
        waits = (node.last_error or {}).get("code") == PROJECT_FULL
        is_waiting = node.state == "skipped" and waits
        return is_waiting or node.state in ("queued", "claimed", "quarantined")

    def _lacks_words(self, set_id: int) -> bool:
        node = self.rows.nodes[self.rows.sets[set_id].node_id]
        return self.rows.generations[node.generation_id].state == "active"

    def _is_there(self, table_id: int) -> bool:
        table = self.rows.tables.get(table_id)
        return table is None or table.is_there

    def _plans(self, silent: timedelta) -> Iterator[datetime]:
        undone = {row.plan.undoes for row in self.rows.plans.values()}
        for plan_id, row in self.rows.plans.items():
            if row.plan.state in ("previewing", "executing"):
                yield row.saved_at + silent
            if row.plan.state in ("previewing", "ready"):
                yield row.plan.expires_at
            if row.texts_until is not None:
                yield row.texts_until
            if plan_id not in undone:
                yield row.kept_until

    def _orders(self, now: datetime, silent: timedelta) -> Iterator[datetime]:
        for row in self.rows.outbox.values():
            if row.sent_at:
                known = (row.sent_at, row.begun_at, row.due_at)
                yield max(at for at in known if at) + silent
            else:
                yield max((at for at in (row.due_at, row.claimed_until) if at), default=now)

    def _generations(self, now: datetime, grace: timedelta, keep: timedelta) -> Iterator[datetime]:
        used = {node.generation_id for node in self.rows.nodes.values()}
        for row in self.rows.generations.values():
            if row.state == "previous" and row.switched_at:
                yield row.switched_at + keep
            if row.retired_at:
                yield now if row.id in used else row.retired_at + grace
