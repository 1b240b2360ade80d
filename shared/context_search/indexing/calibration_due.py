"""When an index is calibrated: once it is complete, and again when it has grown."""

from __future__ import annotations

from context_search.core.messages import CalibrateIndex
from context_search.core.model import Index
from context_search.store import UnitOfWork

LEAST_CHUNKS = 20
"""Least number of chunks of an index that is calibrated."""
_ANY_S = 86_400.0  # whoever waits does so, silent or not
GROWTH = 2
"""How many times as many chunks as before make it worth another time."""


def is_due(work: UnitOfWork, index: Index, least_chunks: int = LEAST_CHUNKS) -> bool:
    """Says whether an index was never calibrated, or has twice as many chunks since."""
    found = index.generation.calibration
    least = least_chunks if found is None else max(least_chunks, GROWTH * found.chunks)
    return work.calibrations.chunks(index) >= least


def send_if_due(work: UnitOfWork, index: Index, least_chunks: int | None = LEAST_CHUNKS) -> None:
    """Orders the calibration of an index in which nothing waits; ``least_chunks`` None: never."""
    if (
        least_chunks is not None
        and index.evicted_at is None
        and is_due(work, index, least_chunks)
        and work.node_counts.state(index, "", silent_s=_ANY_S).status not in ("indexing", "stalled")
    ):
        work.send(CalibrateIndex(index.id, index.generation.id))
