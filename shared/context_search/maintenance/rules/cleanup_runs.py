"""What the last cleanup did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class CleanupRun:
    """A run of cleanup that worked, as every project may know of it: no ids, no counts.

    ``errors`` are codes, each once. ``rests_until``: it does not work before then, because nothing
    is due; None: the next run works.
    """

    finished_at: datetime
    seconds: float
    is_complete: bool
    errors: Sequence[str]
    rests_until: datetime | None
