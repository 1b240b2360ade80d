"""What is spent on models for projects, by day."""

from __future__ import annotations

from typing import Protocol

from context_search.core.limits import DailyLimits, Spent


class Ledger(Protocol):
    """A row for each project and day (UTC)."""

    def spend(
        self, index_id: int, limits: DailyLimits, *, tokens: int = 0, reranks: int = 0
    ) -> bool:
        """Notes what is about to be spent for the project of an index, unless it has no more.

        False, and nothing is noted, where what is asked for has reached its limit today. What
        takes it over the limit is the last that is noted. True where the index is gone.
        A transaction by itself: nothing else may run in it.
        """
        ...

    def spent_for_s(self, project_id: int, limits: DailyLimits) -> float | None:
        """Returns for how many seconds a project has no tokens more; None where it has some."""
        ...

    def days(self, project_id: int, *, limit: int) -> list[Spent]:
        """Returns the latest days on which something was spent, the newest first."""
        ...

    def forget(self, *, older_than_days: int, limit: int) -> int:
        """Deletes rows of days that are so long ago; returns how many."""
        ...
