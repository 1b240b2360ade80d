"""How far the comparison of Postgres with turbopuffer is."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SweepCounts:
    """What a sweep of a namespace has found so far, in vector rows."""

    checked: int = 0
    orphans: int = 0
    missing: int = 0
    repaired: int = 0

    def plus(self, other: SweepCounts) -> SweepCounts:
        """Returns the sums."""
        return SweepCounts(
            self.checked + other.checked,
            self.orphans + other.orphans,
            self.missing + other.missing,
            self.repaired + other.repaired,
        )


@dataclass(frozen=True, slots=True)
class SweepCursor:
    """Where the sweep of a namespace stands, and what it has found since it began."""

    generation_id: int
    namespace: str
    after: str
    counts: SweepCounts = field(default_factory=SweepCounts)


@dataclass(frozen=True, slots=True)
class SweepExtent:
    """How much a whole round of sweeps is today, and how old the oldest whole sweep is.

    ``pages``: what all live namespaces take, each one at least. ``oldest_s``: seconds since the
    end of the last whole sweep of the namespace for which that is longest ago, or since a namespace
    was begun that was never swept whole; 0: there are none.
    """

    vector_rows: int
    pages: int
    oldest_s: float


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
