"""Limits of a project with one thing wrong, for ``mutants.py``."""

from __future__ import annotations

from dataclasses import replace

from context_search.core.limits import ProjectLimits
from context_search.core.model import Index
from tests.faults.simulation.model.indexes import ModelIndexes
from tests.faults.simulation.model.quotas import ModelQuotas


class EvictsWhatIsInUse(ModelIndexes):
    """Nobody looks when an index was searched."""

    def next_to_go(self, limits: ProjectLimits) -> Index | None:
        return super().next_to_go(replace(limits, idle_s=-1.0))

    def give_up(self, going: Index, limits: ProjectLimits) -> bool:
        return super().give_up(going, replace(limits, idle_s=-1.0))


class EvictsWithoutNeed(ModelIndexes):
    """What is cold goes, full or not."""

    def next_to_go(self, limits: ProjectLimits) -> Index | None:
        return super().next_to_go(replace(limits, max_chunks=0))


class RevivesUnordered(ModelIndexes):
    """An index comes back, and nobody is told to fill it."""

    def revive(self, index_id: int) -> bool:
        super().revive(index_id)
        return False


class EvictedFollows(ModelIndexes):
    """A change of the document is indexed in an evicted index too."""

    def find(self, index_id: int) -> Index | None:
        index = super().find(index_id)
        return replace(index, evicted_at=None) if index else None


class WaitsForEver(ModelQuotas):
    """Who was turned away stays away."""

    def readmit(self, limits: ProjectLimits, *, limit: int) -> list[int]:
        return []
