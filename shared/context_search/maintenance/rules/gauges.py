"""What the metrics of a deployment are read from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Readings:
    """Counts over the whole database, and the age of the oldest message that is not in the queue.

    Chunks of the generations that answer, nodes in quarantine, evicted indexes.
    ``outbox_age_s``: seconds for which the oldest message that has a place in its window has been
    missing from the queue; 0: none is. The time counts from when it was to be sent first. In a
    project that has nothing in the queue, and of which nobody took anything, it counts from when
    the message was added or was due. A message that waits for a place in its window does not count.
    ``row_security``: whether the database's own policies bind the role that asks.
    """

    active_chunks: int
    quarantined_nodes: int
    evicted_indexes: int
    outbox_age_s: float
    row_security: bool = True
