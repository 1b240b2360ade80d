"""Judged sets in memory."""

from __future__ import annotations

from dataclasses import replace

from context_search.catalog.rules.judged_sets import JudgedSet
from context_search.catalog.sql.judged_sets import JudgedSets
from tests.faults.simulation.model.model import Model


class MemoryJudgedSets(Model, JudgedSets):
    """``JudgedSets`` over rows in memory."""

    def of_project(self, project_id: int) -> list[JudgedSet]:
        found = sorted(self.rows.judged_sets.items())
        return [replace(row, lines="") for (owner, _), row in found if owner == project_id]

    def find(self, project_id: int, name: str) -> JudgedSet | None:
        return self.rows.judged_sets.get((project_id, name))

    def write(self, project_id: int, name: str, lines: str, *, questions: int) -> JudgedSet:
        now, before = self.clock.now(), self.find(project_id, name)
        version = max(round(now.timestamp() * 1e6), before.version + 1 if before else 0)
        written = JudgedSet(name, version, questions, len(lines.encode()), now, lines)
        self.rows.judged_sets[project_id, name] = written
        return written

    def remove(self, project_id: int, name: str) -> None:
        del self.rows.judged_sets[project_id, name]
