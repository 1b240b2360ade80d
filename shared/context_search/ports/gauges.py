"""How the system stands, for whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Readings:
    """Chunks of the generations that answer, nodes in quarantine, indexes that are evicted, and
    for how many seconds the oldest order that there is a place for has not been in the queue
    (0: there is none). Counted from when it was to be sent first; in a project that has nothing in
    the queue, and of which nobody took anything, from when it was added or was due. An order that
    waits for a place in its project's window does not count.
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
