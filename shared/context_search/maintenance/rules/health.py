"""What a project waits for, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_search.core.progress import NodeState


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many strings, documents and indexes wait or stay out because of an error.

    ``latest_at``: ISO time.
    """

    code: str
    count: int
    latest_at: str | None


@dataclass(frozen=True, slots=True)
class ProjectReadings:
    """How the work on a project stands, over the generations that answer.

    ``oldest_wait_s``: for how long a string that is due has waited at most; 0: none waits.
    ``orders``: how many messages are not in the queue yet, counted to 1,000, and for how long the
    first that is due has waited. ``indexes`` are those that are not evicted, ``stalled`` those of
    them whose strings wait although no worker is at the project's. ``integrity``: the
    last whole comparison of each live namespace, oldest first, 100 at most. ``errors``: 20 at most.
    ``row_security``: whether the database's own policies bind the role that asks.
    """

    nodes: Mapping[NodeState, int]
    oldest_wait_s: float
    orders: int
    oldest_order_s: float
    indexes: int
    building: int
    evicted: int
    stalled: int
    integrity: Sequence[Mapping[str, object]]
    errors: Sequence[ErrorCount]
    row_security: bool = True
