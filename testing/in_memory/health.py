"""How projects and the deployment are, and cleanup's runs, in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from context_search.maintenance.rules.health import (
    CleanupLimits,
    CleanupRun,
    ErrorCount,
    ProjectReadings,
    Readings,
)
from context_search.maintenance.sql.health import Health
from testing.in_memory.indexes import MemoryIndexes
from testing.in_memory.model import Model
from testing.in_memory.node_counts import MemoryNodeCounts
from testing.in_memory.outbox import is_due
from testing.in_memory.rows import GenerationRow


class MemoryHealth(Model, Health):
    """``Health`` over rows in memory."""

    def of_project(self, project_id: int, *, silent_s: float) -> ProjectReadings:
        now = self.clock.now()
        live = self._live(project_id)
        answering = {row.id for row in live if row.state == "active"}
        nodes = [row for row in self.rows.nodes.values() if row.generation_id in answering]
        due = [row.next_at for row in nodes if row.state == "queued" and row.next_at <= now]
        outbox = [
            row for _, row in sorted(self.rows.outbox.items()) if row.project_id == project_id
        ]
        waiting = [row for row in outbox if row.sent_at is None]
        first = next((row for row in waiting if is_due(row, now)), None)
        indexes = [row for row in self.rows.indexes.values() if row.project_id == project_id]
        evicted = sum(row.evicted_at is not None for row in indexes)
        reports = [{**row.integrity, "namespace": row.namespace} for row in live if row.integrity]
        return ProjectReadings(
            nodes=Counter(row.state for row in nodes),
            oldest_wait_s=max([(now - at).total_seconds() for at in due], default=0.0),
            orders=len(waiting),
            oldest_order_s=(now - max(first.created_at, first.due_at or now)).total_seconds()
            if first
            else 0.0,
            indexes=len(indexes) - evicted,
            building=sum(row.state == "building" for row in live),
            evicted=evicted,
            stalled=self._stalled(project_id, silent_s),
            integrity=sorted(reports, key=lambda report: str(report["at"])),
            errors=self._errors(project_id),
        )

    def _stalled(self, project_id: int, silent_s: float) -> int:
        counts = MemoryNodeCounts(self.rows, self.clock)
        every = MemoryIndexes(self.rows, self.clock).page(after=0, limit=len(self.rows.indexes))
        return sum(
            index.project_id == project_id
            and counts.state(index, "", silent_s=silent_s).status == "stalled"
            for index in every
        )

    def _live(self, project_id: int) -> list[GenerationRow]:
        own = {row.id for row in self.rows.indexes.values() if row.project_id == project_id}
        found = (row for _, row in sorted(self.rows.generations.items()))
        return [row for row in found if row.index_id in own and row.state in ("active", "building")]

    def _errors(self, project_id: int) -> list[ErrorCount]:
        found: dict[str, list[str]] = defaultdict(list)
        for code, at in self._failed(project_id):
            found[code].append(at)
        counted = [ErrorCount(code, len(times), max(times)) for code, times in found.items()]
        return sorted(counted, key=lambda each: (-each.count, each.code))

    def _failed(self, project_id: int) -> Iterator[tuple[str, str]]:
        live = {row.id for row in self._live(project_id)}
        out = [row for row in self.rows.nodes.values() if row.state != "indexed"]
        indexes = [row for row in self.rows.indexes.values() if row.project_id == project_id]
        errors = [row.last_error for row in out if row.generation_id in live]
        errors += [row.order_error for row in indexes]
        yield from ((str(each["code"]), str(each.get("at", ""))) for each in errors if each)

    def readings(self) -> Readings:
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

    def due_in_s(self, repositories: Iterable[Any], limits: CleanupLimits) -> float | None:
        times = [at for each in repositories for at in each.due_at(limits)]
        return (min(times) - self.clock.now()).total_seconds() if times else None

    def note_cleanup(self, run: CleanupRun) -> None:
        self.rows.cleanup_runs[0] = run

    def last_cleanup(self) -> CleanupRun | None:
        return self.rows.cleanup_runs.get(0)
