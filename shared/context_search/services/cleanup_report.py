"""What a run of ``cleanup`` may wait for, and what it did."""

from __future__ import annotations

from dataclasses import dataclass, field

from context_search.domain.limits import ProjectLimits
from context_search.ports.gauges import Readings


@dataclass(frozen=True, slots=True)
class CleanupLimits:
    """After how many seconds something silent is taken up again, something deleted is final, and
    the generation before the last switch is given up; and what a project may hold.
    """

    silent_s: float = 180.0
    grace_s: float = 1800.0
    keep_previous_s: float = 86_400.0
    project: ProjectLimits = field(default_factory=ProjectLimits)


@dataclass(slots=True)
class CleanupReport:
    """What a run did, in counts, and how the system stands after it.

    ``indexes_evicted`` counts earlier generations that were given up for room as well. ``errors``
    holds the code of each step that failed.
    """

    messages_relayed: int = 0
    nodes_revived: int = 0
    comparisons_ordered: int = 0
    generations_switched: int = 0
    indexes_evicted: int = 0
    nodes_readmitted: int = 0
    chunks_keyed: int = 0
    nodes_removed: int = 0
    documents_deleted: int = 0
    namespaces_deleted: int = 0
    documents_checked: int = 0
    orphans_deleted: int = 0
    missing_requeued: int = 0
    requests_forgotten: int = 0
    summaries_written: int = 0
    imports_revived: int = 0
    uploads_forgotten: int = 0
    readings: Readings | None = None
    is_complete: bool = True
    errors: list[str] = field(default_factory=list)
