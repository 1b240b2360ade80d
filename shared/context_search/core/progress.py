"""How far an index is: counters, and the status that is derived from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

NodeState = Literal["queued", "claimed", "indexed", "quarantined", "skipped"]
IndexStatus = Literal["indexing", "ready", "rebuilding", "degraded", "stalled", "evicted", "error"]

EvictionCause = Literal["limit", "operator"]

PROJECT_FULL = "PROJECT_FULL"
"""Code of a node that is skipped until its project has room."""

MOST_REFUSED = 200
"""Maximum number of refused documents in a status."""


@dataclass(frozen=True, slots=True)
class NodeProgress:
    """One node of a tool's scope, for the create answer and the status.

    ``attempts`` counts runs without progress. ``next_attempt_at``: when a queued node may be
    claimed. A time in the past means that the node waits for its turn.
    """

    json_pointer: str
    char_count: int
    state: NodeState
    chunks_count: int | None
    last_error: dict[str, object] | None
    attempts: int = 0
    next_attempt_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Counters over the nodes of a scope.

    ``chunks_count`` counts the chunks cut so far, ``indexed_chunks_count`` those that turbopuffer
    has acknowledged. ``next_attempt_at`` is the earliest of a queued node. ``refused`` says of
    which tables of the index the document cannot be indexed as it is, and why: with ``table_id``,
    the latest first, at most MOST_REFUSED. ``not_searched``: see ``IndexState``.
    """

    status: IndexStatus
    nodes_count: int
    states: dict[NodeState, int]
    chunks_count: int
    indexed_chunks_count: int
    indexed_at: datetime | None
    last_error: dict[str, object] | None
    next_attempt_at: datetime | None = None
    refused: list[dict[str, object]] = field(default_factory=list)
    not_searched: int | None = None


@dataclass(frozen=True, slots=True)
class IndexState:
    """How an index is when a search asks it.

    ``not_searched``: number of strings of a scope that no search finds, because they are shorter
    than the threshold, too long, or given up. Blank ones do not count. None: not counted yet.
    """

    status: IndexStatus
    not_searched: int | None


def given_up(states: Mapping[NodeState, int]) -> int:
    """Returns how many nodes workers leave alone until something changes."""
    return states.get("quarantined", 0) + states.get("skipped", 0)


def index_status(
    states: Mapping[NodeState, int],
    *,
    behind: bool,
    stalled: bool,
    full: bool = False,
    rebuilding: bool = False,
    evicted: bool = False,
    refused: bool = False,
) -> IndexStatus:
    """Derives the status from the nodes' states; it is never stored as truth.

    ``behind``: a change of the table waits to be compared. ``stalled``: an unfinished node has
    been silent for too long. ``full``: a node waits for room in the project. ``refused``: a
    document cannot be indexed as it is.
    """
    if evicted:
        return "evicted"
    if stalled:
        return "stalled"
    if behind or states.get("queued", 0) or states.get("claimed", 0):
        return "indexing"
    if refused:
        return "error"
    if full or states.get("quarantined", 0):
        return "degraded"
    return "rebuilding" if rebuilding else "ready"


_FROM_BEST: Sequence[IndexStatus] = (
    "ready",
    "rebuilding",
    "indexing",
    "evicted",
    "degraded",
    "stalled",
    "error",
)


def worst_status(statuses: Iterable[IndexStatus]) -> IndexStatus | None:
    """Returns the status that needs attention first; None where there is no status.

    >>> worst_status(["ready", "stalled", "indexing"])
    'stalled'
    """
    return max(statuses, key=_FROM_BEST.index, default=None)


_EVICTED: dict[EvictionCause, tuple[str, str]] = {
    "limit": (
        "INDEX_EVICTED",
        "the project was over its limit, and this index the longest without a search;"
        " the next search has it built again",
    ),
    "operator": (
        "INDEX_DELETED",
        "deleted by an operator; the next search or a rebuild has it built again",
    ),
}


def eviction_reason(
    evicted_at: datetime | None, cause: EvictionCause | None
) -> dict[str, object] | None:
    """Returns what is shown as the last error of an evicted index; None when it is not."""
    if evicted_at is None:
        return None
    code, message = _EVICTED[cause or "limit"]
    return {"code": code, "message": message, "retryable": True, "at": evicted_at.isoformat()}


def shown_error(error: Mapping[str, object] | None) -> dict[str, object] | None:
    """Returns an error without what only ``cleanup`` reads in it."""
    if error is None:
        return None
    return {name: error[name] for name in ("code", "message", "retryable", "at") if name in error}
