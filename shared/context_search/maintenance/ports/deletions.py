"""Rows of turbopuffer that are to be deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.maintenance.ports.sweeps import SweepCursor


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A vector row that must leave turbopuffer."""

    namespace: str
    doc_id: str
    window_count: int


class Deletions(Protocol):
    """What is deleted in Postgres and must follow in turbopuffer."""

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        """Returns tombstones never deleted yet, or old enough for their last delete."""
        ...

    def note_deleted(self, tombstones: Sequence[Tombstone], *, older_than_s: float) -> int:
        """Notes a delete in one namespace; forgets what is past the grace and returns how many.

        All of a retired generation are forgotten: its namespace goes after the grace.
        """
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
