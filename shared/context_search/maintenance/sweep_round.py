"""How long a whole round of sweeps takes at today's size, and whether it takes longer."""

from __future__ import annotations

from dataclasses import dataclass

from context_search.maintenance.rules.sweeps import SweepExtent
from context_search.store import Store

PAGES_PER_RUN = 50
LATE_FACTOR = 2.0
"""A round that takes so many times as long as it should is late: sizes change while it is going."""


@dataclass(frozen=True, slots=True)
class SweepRound:
    """A round compares every live namespace with its rows.

    ``seconds``: how long one takes from its beginning to the beginning of the next, so how old a
    whole sweep becomes; None: nobody said how often cleanup runs. ``oldest_s``: how old the oldest
    one is now.
    """

    vector_rows: int
    pages: int
    seconds: float | None
    oldest_s: float

    @classmethod
    def of(cls, extent: SweepExtent, *, every_s: float, swept_after_s: float) -> SweepRound:
        """Returns the round of cleanup that runs every so many seconds; 0: not known.

        The first run after ``swept_after_s`` begins it, and it is one of the runs that it takes.
        """
        runs = -(-extent.pages // PAGES_PER_RUN)
        seconds = swept_after_s + max(1, runs) * every_s if every_s else None
        return cls(extent.vector_rows, extent.pages, seconds, extent.oldest_s)

    @property
    def is_late(self) -> bool:
        """Whether the oldest whole sweep is far older than it should be."""
        return self.seconds is not None and self.oldest_s > LATE_FACTOR * self.seconds


@dataclass(frozen=True, slots=True)
class SweepRounds:
    """The rounds of a deployment.

    ``every_s``: seconds between two runs of cleanup; 0: not known. ``silent_s``: seconds after
    which silence is a failure. ``idle_s``: for how many seconds cleanup may rest. ``page``: vector
    rows of a page.
    """

    store: Store
    every_s: float
    silent_s: float
    idle_s: float
    page: int

    @property
    def swept_after_s(self) -> float:
        """Seconds after which a namespace is swept again: not more often than cleanup looks."""
        return max(self.silent_s, self.idle_s)

    def read(self) -> SweepRound:
        """Returns the round at today's size."""
        with self.store.for_all("maintenance") as work:
            extent = work.sweeps.extent(page=self.page)
        return SweepRound.of(extent, every_s=self.every_s, swept_after_s=self.swept_after_s)
