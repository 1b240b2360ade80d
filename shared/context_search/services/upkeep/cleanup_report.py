"""What a run of ``cleanup`` may wait for, and what it did."""

from __future__ import annotations

from dataclasses import dataclass, field

from context_search.domain.limits import ProjectLimits
from context_search.ports.upkeep import Readings, SweepCounts


@dataclass(frozen=True, slots=True)
class CleanupLimits:
    """After how many seconds something silent is taken up again, something deleted is final, and
    the generation before the last switch is given up; what a project may hold; and whether
    namespaces that no generation knows are deleted, which a shared account does not allow.
    """

    silent_s: float = 180.0
    grace_s: float = 1800.0
    keep_previous_s: float = 86_400.0
    project: ProjectLimits = field(default_factory=ProjectLimits)
    deletes_unknown: bool = False


@dataclass(slots=True)
class CleanupReport:
    """What a run did, in counts, and how the system stands after it.

    ``indexes_evicted`` counts earlier generations that were given up for room as well.
    ``unknown_namespaces`` is None when the listing failed or turbopuffer's key may not list;
    ``unknown_examples`` names the first of them. ``rows_removed`` are tables and tools that our
    API deleted. ``errors`` holds the code of each failed step, and which table or tool stays.
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
    summaries_written: int = 0
    imports_revived: int = 0
    uploads_forgotten: int = 0
    unknown_namespaces: int | None = None
    unknown_examples: list[str] = field(default_factory=list)
    readings: Readings | None = None
    is_complete: bool = True
    errors: list[str] = field(default_factory=list)

    def add_sweep(self, found: SweepCounts) -> None:
        """Adds a page of a sweep."""
        self.documents_checked += found.checked
        self.orphans_deleted += found.orphans
        self.missing_requeued += found.repaired
