"""How far an index is: counters, and the status that is derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

NodeState = Literal["queued", "claimed", "indexed", "quarantined", "skipped"]
IndexStatus = Literal[
    "pending", "indexing", "ready", "rebuilding", "degraded", "stalled", "evicted", "error"
]


@dataclass(frozen=True, slots=True)
class NodeProgress:
    """One node of a tool's scope, for the create answer and the status."""

    json_pointer: str
    char_count: int
    state: NodeState
    chunks_count: int | None
    last_error: dict[str, object] | None


@dataclass(frozen=True, slots=True)
class Progress:
    """Counters over the nodes of a scope.

    ``chunks_count`` counts the chunks cut so far, ``indexed_chunks_count`` those that turbopuffer
    has acknowledged.
    """

    status: IndexStatus
    nodes_count: int
    states: dict[NodeState, int]
    chunks_count: int
    indexed_chunks_count: int
    indexed_at: datetime | None
    last_error: dict[str, object] | None


def index_status(
    states: Mapping[NodeState, int], *, behind: bool, stalled: bool, rebuilding: bool = False
) -> IndexStatus:
    """Derives the status from the nodes' states; it is never stored as truth.

    ``behind``: a change of the table waits to be compared. ``stalled``: an unfinished node has
    been silent for too long.
    """
    if stalled:
        return "stalled"
    if behind or states.get("queued", 0) or states.get("claimed", 0):
        return "indexing"
    if states.get("quarantined", 0):
        return "degraded"
    return "rebuilding" if rebuilding else "ready"
