"""How a project is, and when cleanup worked last, in memory."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from context_search.maintenance.rules.cleanup_runs import CleanupRun
from context_search.maintenance.rules.health import ErrorCount, ProjectReadings
from context_search.maintenance.sql.cleanup_runs import CleanupRuns
from context_search.maintenance.sql.health import Health
from tests.faults.simulation.model.indexes import MemoryIndexes
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.node_counts import MemoryNodeCounts
from tests.faults.simulation.model.outbox import is_due
from tests.faults.simulation.model.rows import GenerationRow


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


class MemoryCleanupRuns(Model, CleanupRuns):
    """``CleanupRuns`` over rows in memory."""

    def note(self, run: CleanupRun) -> None:
        self.rows.cleanup_runs[0] = run

    def last(self) -> CleanupRun | None:
        return self.rows.cleanup_runs.get(0)
