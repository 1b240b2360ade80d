"""What still has to leave turbopuffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A document that must leave turbopuffer."""

    namespace: str
    doc_id: str
    window_count: int


@dataclass(frozen=True, slots=True)
class SweepCounts:
    """What a sweep of a namespace has found so far, in documents."""

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


class Deletions(Protocol):
    """What is deleted in Postgres and must follow in turbopuffer."""

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        """Returns tombstones never deleted yet, or old enough for their last delete."""
        ...

    def note_deleted(self, tombstones: Sequence[Tombstone], *, older_than_s: float) -> int:
        """Notes a delete in turbopuffer; forgets those past the grace and returns their number."""
        ...

    def retired(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns generations that were retired that long ago and have no node left."""
        ...

    def remove_retired_nodes(self, *, limit: int) -> int:
        """Deletes nodes of retired generations, at most ``limit``."""
        ...

    def forget_generation(self, generation_id: int) -> None:
        """Forgets a generation whose namespace is deleted, with its tombstones."""
        ...


class Sweeps(Protocol):
    """Comparing namespaces with their rows, both ways, page by page."""

    def due(self, *, older_than_s: float, limit: int) -> list[SweepCursor]:
        """Returns live generations in the middle of a sweep, or whose last one is that old."""
        ...

    def present_after(self, namespace: str, after: str, limit: int) -> list[tuple[str, int]]:
        """Returns ids and window counts of chunks that should be there, ascending by id (bytes)."""
        ...

    def requeue_missing(self, namespace: str, doc_ids: Sequence[str]) -> list[int]:
        """Notes that documents of present chunks are gone; returns the nodes to index again."""
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

    def unknown(self, namespaces: Sequence[str]) -> list[str]:
        """Returns those that belong to no generation, in whatever state, ascending."""
        ...

    def reports(self, index_id: int | None) -> list[dict[str, object]]:
        """Returns the last complete report of each live generation, of one index or of all."""
        ...
