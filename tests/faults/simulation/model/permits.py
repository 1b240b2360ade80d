"""Leased permits in memory."""

from __future__ import annotations

from datetime import timedelta

from context_search.budgets.sql.permits import Permits
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.rows import PermitRow


class ModelPermits(Model, Permits):
    """``Permits`` over rows in memory."""

    def take(self, pool: str, *, size: int, count: int, lease_s: float) -> str | None:
        now = self.clock.now()
        free = [
            number
            for number in range(1, size + 1)
            if (row := self.rows.permits.get((pool, number))) is None or row.lease_until <= now
        ]
        if len(free) < count:
            return None
        holder = str(self.rows.new_id())
        for number in free[:count]:
            until = now + timedelta(seconds=lease_s)
            self.rows.permits[pool, number] = PermitRow(holder, until)
        return holder

    def renew(self, pool: str, holder: str, *, lease_s: float) -> bool:
        until = self.clock.now() + timedelta(seconds=lease_s)
        held = [
            key for key, row in self.rows.permits.items() if key[0] == pool and row.holder == holder
        ]
        for key in held:
            self.rows.permits[key] = PermitRow(holder, until)
        return bool(held)

    def give_back(self, pool: str, holder: str) -> None:
        for key, row in list(self.rows.permits.items()):
            if key[0] == pool and row.holder == holder:
                self.rows.permits[key] = PermitRow(None, self.clock.now())
