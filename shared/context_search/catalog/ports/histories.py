"""What histories of documents take, and which are too long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from context_search.catalog.ports.versions import Pruned


@dataclass(frozen=True, slots=True)
class TableHistory:
    """The history of one table in one project. A table that changes its owner begins a new one."""

    table_id: int
    project_id: int


class Histories(Protocol):
    """What leaves the histories of tables."""

    def over_limit(self, *, limit: int) -> list[int]:
        """Returns projects whose pieces take more bytes than they may: first the most too many.

        Only those of which a version may leave: others would stand before these for ever.
        """
        ...

    def expire_oldest(self, project_id: int) -> int:
        """Deletes the versions of a project that were overwritten first, but no labelled ones.

        Nor what a plan replaced that can still be undone.

        As many as hold the bytes that are too many, at most 1,000; returns how many.
        """
        ...

    def due(self, *, limit: int) -> list[TableHistory]:
        """Returns histories of which something may have to leave; of deleted tables everything."""
        ...

    def look_at_all(self, project_id: int) -> None:
        """Makes every history of a project due."""
        ...

    def prune(self, history: TableHistory, *, limit: int) -> Pruned:
        """Deletes versions that are too old or too many, at most ``limit``, then unused pieces.

        What a plan replaced that can still be undone is never too many.
        Does nothing while somebody records into the history.
        """
        ...
