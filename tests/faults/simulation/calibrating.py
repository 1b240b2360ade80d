"""Calibration in some of the histories: no generation is calibrated by two workers at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from context_search.core.model import Index
from context_search.indexing.calibrate import Calibrator

CALIBRATES_FROM = 2
"""Least number of chunks."""
CALIBRATING_SEEDS = (1, 2, 4, 5, 7)  # of each eight


@dataclass(frozen=True, slots=True)
class WatchedCalibrator(Calibrator):
    """``seen`` counts what was done, ``under_way`` are generations that a worker is at."""

    seen: Counter[str] = field(default_factory=Counter)
    under_way: set[int] = field(default_factory=set)

    def calibrate(self, index: Index, chunks: int) -> str:
        """See ``Calibrator``; a worker that is killed leaves ``under_way`` too."""
        generation_id = index.generation.id
        if generation_id in self.under_way:
            raise AssertionError(f"two workers calibrate generation {generation_id}")
        self.under_way.add(generation_id)
        try:
            done = Calibrator.calibrate(self, index, chunks)
        finally:
            self.under_way.remove(generation_id)
        self.seen[f"calibrate: {done}"] += 1
        return done
