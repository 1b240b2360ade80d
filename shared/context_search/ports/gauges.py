"""How the system stands, for whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Readings:
    """Chunks of the generations that answer, nodes in quarantine, indexes that are evicted, and
    for how many seconds the queue has not taken the oldest order that there was a place for in its
    project's window (0: there is none). An order that waits for a place does not count.
    """

    active_chunks: int
    quarantined_nodes: int
    evicted_indexes: int
    outbox_age_s: float


class Gauges(Protocol):
    """Cheap enough to be read every minute."""

    def read(self) -> Readings:
        """Returns the present readings, over all projects."""
        ...
