"""How far the comparison of Postgres with turbopuffer is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


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


class Sweeps(Protocol):
    """Comparing namespaces with their rows, both ways, page by page."""

    def due(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns live generations in the middle of a sweep, or whose last one is that old.

        First comes what was ordered, then the one whose last whole sweep, or failed one, is longest
        ago; it stays first until its end. So a round takes as many pages as all namespaces have
        together.
        """
        ...

    def extent(self, *, page: int) -> SweepExtent:
        """Returns how much a round is, in pages of so many vector rows."""
        ...

    def present_after(self, namespace: str, after: str, limit: int) -> list[tuple[str, int]]:
        """Returns ids and window counts of chunks that should be there, ascending by id (bytes)."""
        ...

    def requeue_missing(self, namespace: str, doc_ids: Sequence[str]) -> list[int]:
        """Notes that vector rows of present chunks are gone; returns the nodes to index again."""
        ...

    def note(self, cursor: SweepCursor, *, after: str, found: SweepCounts) -> None:
        """Moves the cursor; ``after`` ``""`` means the end, and the sums become the report."""
        ...

    def order(self, generation_id: int) -> None:
        """Makes a generation the next to be compared, from its beginning."""
        ...

    def note_failed(self, cursor: SweepCursor) -> None:
        """Puts a namespace that could not be compared behind the others."""
        ...

    def namespace_prefix(self) -> str:
        """Returns how the names of this deployment's namespaces begin; see ``core.ids``."""
        ...

    def unknown(self, namespaces: Sequence[str]) -> list[str]:
        """Returns those that belong to no generation, in whatever state, ascending."""
        ...

    def reports(self, index_id: int | None) -> list[dict[str, object]]:
        """Returns the last complete report of each live generation, of one index or of all."""
        ...
