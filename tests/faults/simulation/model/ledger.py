"""What is spent on models for projects, in memory."""

from __future__ import annotations

from context_search.budgets.spending import seconds_left_of_day
from context_search.budgets.sql.ledger import Ledger
from context_search.core.limits import DailyLimits, Spent
from tests.faults.simulation.model.model import Model


class ModelLedger(Model, Ledger):
    """``Ledger`` over rows in memory."""

    def spend(
        self, index_id: int, limits: DailyLimits, *, tokens: int = 0, reranks: int = 0
    ) -> bool:
        index, day = self.rows.indexes.get(index_id), self.clock.now().date()
        if index is None:
            return True
        before = self.rows.ledger.get((index.project_id, day), Spent(day, 0, 0))
        is_over = (
            tokens > 0
            and limits.embedding_tokens is not None
            and before.embedding_tokens >= limits.embedding_tokens
        ) or (reranks > 0 and limits.reranks is not None and before.reranks >= limits.reranks)
        if not is_over:
            self.rows.ledger[index.project_id, day] = Spent(
                day, before.embedding_tokens + tokens, before.reranks + reranks
            )
        return not is_over

    def spent_for_s(self, project_id: int, limits: DailyLimits) -> float | None:
        now = self.clock.now()
        spent = self.rows.ledger.get((project_id, now.date()))
        most = limits.embedding_tokens
        if spent is None or most is None or spent.embedding_tokens < most:
            return None
        return seconds_left_of_day(now)

    def days(self, project_id: int, *, limit: int) -> list[Spent]:
        spent = [row for (owner, _), row in self.rows.ledger.items() if owner == project_id]
        return sorted(spent, key=lambda row: row.day, reverse=True)[:limit]
