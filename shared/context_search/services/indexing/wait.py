"""Waits for an index, for callers who would rather wait than ask again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from context_search.domain.access import Principal
from context_search.ports.outside import Clock
from context_search.services.indexing.status import ReadStatus, ToolStatus

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class WaitUntilSettled:
    """Reads the status until the index is not being built any more, or time is up."""

    read_status: ReadStatus
    clock: Clock
    sleep: Callable[[float], None]

    def __call__(self, tool_id: int, principal: Principal, *, timeout_s: float) -> ToolStatus:
        """Returns the last status; raises NotFoundError when the tool goes away meanwhile."""
        ends_at = self.clock.monotonic() + timeout_s
        while True:
            status = self.read_status(tool_id, principal)
            left_s = ends_at - self.clock.monotonic()
            if status.progress.status != "indexing" or left_s <= 0:
                return status
            self.sleep(min(POLL_S, left_s))
