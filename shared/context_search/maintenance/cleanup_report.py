"""What a run of cleanup did, and how the system stands after it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from context_search.maintenance.rules.health import CleanupRun, Readings
from context_search.maintenance.rules.sweeps import SweepCounts, SweepRound

WORK = (
    "messages_relayed",
    "nodes_revived",
    "comparisons_ordered",
    "generations_switched",
    "indexes_evicted",
    "nodes_readmitted",
    "chunks_keyed",
    "nodes_removed",
    "rows_removed",
    "documents_deleted",
    "namespaces_deleted",
    "orphans_deleted",
    "missing_requeued",
    "requests_forgotten",
    "keys_forgotten",
    "summaries_written",
    "imports_revived",
    "uploads_forgotten",
    "plans_revived",
    "plans_expired",
    "plan_texts_forgotten",
    "plans_removed",
    "versions_pruned",
    "pieces_removed",
)
"""Counts of what was done; all others say what was looked at."""


@dataclass(slots=True)
class CleanupReport:
    """What a run did, in counts, and how the system stands after it.

    ``indexes_evicted`` counts earlier generations that were given up for room as well.
    ``unknown_namespaces`` is None when the listing failed or turbopuffer's key may not list;
    ``unknown_examples`` names the first of them. ``rows_removed`` are projects, tables and
    tools that our API deleted. ``errors`` holds the code of each failed step, and which row stays.
    ``is_resting``: it did nothing, because an earlier run knew that nothing is due. ``rests_s``:
    seconds in which further runs do the same; 0: the next one works.
    """

    messages_relayed: int = 0
    nodes_revived: int = 0
    comparisons_ordered: int = 0
    generations_switched: int = 0
    indexes_evicted: int = 0
    nodes_readmitted: int = 0
    chunks_keyed: int = 0
    nodes_removed: int = 0
    rows_removed: int = 0
    documents_deleted: int = 0
    namespaces_deleted: int = 0
    documents_checked: int = 0
    orphans_deleted: int = 0
    missing_requeued: int = 0
    requests_forgotten: int = 0
    keys_forgotten: int = 0
    summaries_written: int = 0
    imports_revived: int = 0
    uploads_forgotten: int = 0
    plans_revived: int = 0
    plans_expired: int = 0
    plan_texts_forgotten: int = 0
    plans_removed: int = 0
    versions_pruned: int = 0
    pieces_removed: int = 0
    unknown_namespaces: int | None = None
    unknown_examples: list[str] = field(default_factory=list)
    readings: Readings | None = None
    sweep_round: SweepRound | None = None
    is_resting: bool = False
    rests_s: float = 0.0
    is_complete: bool = True
    errors: list[str] = field(default_factory=list)

    def add_sweep(self, found: SweepCounts) -> None:
        """Adds a page of a sweep."""
        self.documents_checked += found.checked
        self.orphans_deleted += found.orphans
        self.missing_requeued += found.repaired

    @property
    def has_worked(self) -> bool:
        """Whether it did more than look: what it did may have made more to do."""
        return any(getattr(self, name) for name in WORK)

    def as_run(self, finished_at: datetime, seconds: float) -> CleanupRun:
        """Returns what every project may know of the run."""
        codes = sorted({code for each in self.errors if (code := _code_of(each))})
        rests_until = finished_at + timedelta(seconds=self.rests_s) if self.rests_s else None
        return CleanupRun(finished_at, seconds, self.is_complete, codes, rests_until)


_CODE = re.compile(r": ([A-Z_]+)")


def _code_of(error: str) -> str | None:
    """The code in what stands in ``errors``: ``step: CODE``, or ``remove_tool 7: CODE (why)``."""
    found = _CODE.search(error)
    return found[1] if found else None
