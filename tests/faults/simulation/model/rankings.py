"""Kept rankings in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from context_search.integrations.ports import Clock
from context_search.searching.sql.rankings import Rankings
from tests.faults.simulation.model.journal import Journaled
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import Rows


@dataclass(frozen=True, slots=True)
class RankingRow:
    project_id: int
    body_json: str
    created_at: datetime


class MemoryRankings(Model, Rankings):
    """``Rankings`` over rows in memory."""

    _kept: Journaled[str, RankingRow]

    def __init__(self, rows: Rows, clock: Clock) -> None:
        super().__init__(rows, clock)
        kept: Journaled[str, RankingRow] = Journaled(rows.journal)
        vars(self).update(_kept=kept)

    def keep(self, project_id: int, body: Mapping[str, object], *, at_most: int) -> str:
        name = f"{self.rows.new_id():032x}"
        self._kept[name] = RankingRow(project_id, json.dumps(body), self.clock.now())
        own = [key for key, row in self._kept.items() if row.project_id == project_id]
        for outdated in sorted(own, reverse=True)[at_most:]:
            del self._kept[outdated]
        return name

    def find(self, project_id: int, name: str, *, max_age_s: float) -> dict[str, object] | None:
        row = self._kept.get(name)
        since = self.clock.now() - timedelta(seconds=max_age_s)
        if row is None or row.project_id != project_id or row.created_at <= since:
            return None
        found: dict[str, object] = json.loads(row.body_json)
        return found

    def delete_expired(self, *, older_than_s: float) -> int:
        since = self.clock.now() - timedelta(seconds=older_than_s)
        old = [name for name, row in self._kept.items() if row.created_at <= since]
        for name in old:
            del self._kept[name]
        return len(old)
