"""Calibrations in memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from context_search.core.model import Index, IndexCalibration
from context_search.indexing.rules.calibrations import SampledRow
from context_search.indexing.sql.calibrations import Calibrations
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import ChunkRow


class MemoryCalibrations(Model, Calibrations):
    """``Calibrations`` over rows in memory."""

    def chunks(self, index: Index) -> int:
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

    def note(self, index: Index, found: IndexCalibration) -> bool:
        row = self.rows.generations.get(index.generation.id)
        if row is None or row.state != "active":
            return False
        self.rows.change(self.rows.generations, row.id, calibration=found)
        return True

    def asked(self, model: str, dimensions: int, questions: bytes) -> list[Sequence[float]]:
        return list(self.rows.asked.get((model, dimensions, questions), ()))

    def keep_asked(
        self, model: str, dimensions: int, questions: bytes, vectors: Sequence[Sequence[float]]
    ) -> None:
        for key in [key for key in self.rows.asked if key[:2] == (model, dimensions)]:
            del self.rows.asked[key]
        form = struct.Struct(f"<{dimensions}f")
        kept = [form.unpack(form.pack(*vector)) for vector in vectors]
        self.rows.asked[model, dimensions, questions] = kept
