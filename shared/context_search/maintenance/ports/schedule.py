"""What cleanup has to do."""

from __future__ import annotations

from typing import Protocol

from context_search.core.limits import ProjectLimits


class Schedule(Protocol):
    """When ``cleanup`` has work next, as far as the database knows now."""

    def due_in_s(
        self, *, silent_s: float, grace_s: float, keep_previous_s: float, limits: ProjectLimits
    ) -> float | None:
        """Returns in how many seconds something is due; None: nothing that is known.

        0 or less: now, or whenever work that is under way ends. Sweeps, and rows that only take
        room when they are old, are not counted. The times are those of ``cleanup``.
        """
        ...
