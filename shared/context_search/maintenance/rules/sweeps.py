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
