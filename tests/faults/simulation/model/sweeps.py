"""Sweeps in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta

from context_search.maintenance.rules.sweeps import SweepCounts, SweepCursor, SweepExtent
from context_search.maintenance.sql.sweeps import Sweeps
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import GenerationRow

FIRST = datetime.min.replace(tzinfo=UTC)


class ModelSweeps(Model, Sweeps):
    """``Sweeps`` over rows in memory."""

    def due(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        before = self.clock.now() - timedelta(seconds=older_than_s)
        due = [
            row
            for row in self.rows.generations.values()
            if row.state in ("active", "building")
            and (row.sweep_after or row.swept_at is None or row.swept_at < before)
        ]
        due.sort(
            key=lambda row: (
                row.swept_at != FIRST,
                row.swept_at is not None,
                row.swept_at,
                row.id,
            )
        )
        return [
            SweepCursor(row.id, row.namespace, row.sweep_after, row.sweep_counts)
            for row in due[:limit]
        ]

    def extent(self, *, page: int) -> SweepExtent:
        live = [r for r in self.rows.generations.values() if r.state in ("active", "building")]
        sizes = dict.fromkeys((row.namespace for row in live), 0)
        for chunk in self.rows.chunks.values():
            if chunk.namespace in sizes:
                sizes[chunk.namespace] += chunk.window_count
        now = self.clock.now()
        return SweepExtent(
            vector_rows=sum(sizes.values()),
            pages=sum(size // page + 1 for size in sizes.values()),
            oldest_s=max(((now - _swept_whole(row)).total_seconds() for row in live), default=0.0),
        )

    def present_after(self, namespace: str, after: str, limit: int) -> list[tuple[str, int]]:
        return sorted(
            (row.doc_id, row.window_count)
            for row in self.rows.chunks.values()
            if row.namespace == namespace and row.present and row.doc_id > after
        )[:limit]

    def note(self, cursor: SweepCursor, *, after: str, found: SweepCounts) -> None:
        now, counts = self.clock.now(), cursor.counts.plus(found)
        if after:
            self.rows.change(
                self.rows.generations, cursor.generation_id, sweep_after=after, sweep_counts=counts
            )
            return
        self.rows.change(
            self.rows.generations,
            cursor.generation_id,
            sweep_after="",
            swept_at=now,
            sweep_counts=SweepCounts(),
            integrity={**asdict(counts), "at": now.isoformat()},
        )

    def put_first(self, generation_id: int) -> None:
        self.rows.change(
            self.rows.generations,
            generation_id,
            swept_at=FIRST,
            sweep_after="",
            sweep_counts=SweepCounts(),
        )

    def note_failed(self, cursor: SweepCursor) -> None:
        now = self.clock.now()
        self.rows.change(self.rows.generations, cursor.generation_id, swept_at=now)

    def unknown(self, namespaces: Sequence[str]) -> list[str]:
        return sorted(set(namespaces) - {row.namespace for row in self.rows.generations.values()})

    def reports(self, index_id: int | None) -> list[dict[str, object]]:
        return [
            {"namespace": row.namespace, **row.integrity}
            for _, row in sorted(self.rows.generations.items())
            if row.integrity and row.state in ("active", "building") and row.index_id
            if index_id in (None, row.index_id)
        ]


def _swept_whole(row: GenerationRow) -> datetime:
    return datetime.fromisoformat(str(row.integrity["at"])) if row.integrity else row.created_at
