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

PROJECT_FULL = "PROJECT_FULL"
"""The code of a node that was skipped until its project has room."""


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
    states: Mapping[NodeState, int],
    *,
    behind: bool,
    stalled: bool,
    full: bool = False,
    rebuilding: bool = False,
    evicted: bool = False,
) -> IndexStatus:
    """Derives the status from the nodes' states; it is never stored as truth.

    ``behind``: a change of the table waits to be compared. ``stalled``: an unfinished node has
    been silent for too long. ``full``: a node waits for room in the project.
    """
    if evicted:
        return "evicted"
    if stalled:
        return "stalled"
    if behind or states.get("queued", 0) or states.get("claimed", 0):
        return "indexing"
    if full or states.get("quarantined", 0):
        return "degraded"
    return "rebuilding" if rebuilding else "ready"


def eviction_reason(evicted_at: datetime | None) -> dict[str, object] | None:
    """Returns what is shown as the last error of an evicted index; None when it is not."""
    if evicted_at is None:
        return None
    return {
        "code": "INDEX_EVICTED",
        "message": "the project was over its limit, and this index the longest without a search;"
        " the next search has it built again",
        "retryable": True,
        "at": evicted_at.isoformat(),
    }
