"""Generations of an index that are built, switched and given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from context_search.core.config import IndexConfig
from context_search.core.model import Index


@dataclass(frozen=True, slots=True)
class Size:
    """How much an index holds; ``bytes`` are of the chunks' text in UTF-8.

    Of a large index ``characters`` and ``bytes`` are estimated, by the texts of 5,000 chunks.
    """

    nodes: int
    chunks: int
    characters: int
    bytes: int


@dataclass(frozen=True, slots=True)
class UnderWay:
    """How many generations are being built, and how many wait until their project has room."""

    building: int
    queued: int


class Rebuilds(Protocol):
    """What happens to generations. The caller holds the index' lock."""

    def start(self, index: Index, config: IndexConfig, *, at_once: int) -> Index:
        """Adds a generation; ``queued`` when the project builds ``at_once`` others already."""
        ...

    def pending(self, index_id: int) -> Index | None:
        """Returns the generation that is being built or waits to be."""
        ...

    def previous(self, index_id: int) -> Index | None:
        """Returns the generation that answered before the last switch, while it is kept."""
        ...

    def has_index(self, table_id: int | None, config: IndexConfig) -> bool:
        """Tells whether the table has an index whose active generation has this configuration.

        False without a table: a project has one index at most.
        """
        ...

    def is_unfinished(self, index: Index) -> bool:
        """Tells whether a generation lacks a node: one that waits, or has failed for good."""
        ...

    def switch(self, to: Index) -> None:
        """Makes a generation the active one, and the one before it the previous one.

        An earlier one that comes back has to be compared with the document again.
        """
        ...

    def promote(self, *, at_once: int) -> list[int]:
        """Lets queued generations begin where the project has room; returns their indexes."""
        ...

    def under_way(self) -> UnderWay:
        """Returns how many generations of all projects are not finished."""
        ...

    def building(self, *, limit: int) -> list[int]:
        """Returns indexes with a generation that is being built."""
        ...

    def outdated(self, *, older_than_s: float, limit: int) -> list[Index]:
        """Returns generations that were switched away from that long ago, the oldest first."""
        ...

    def retire_previous(self, index_id: int, *, older_than_s: float) -> bool:
        """Retires the generation of an index that was switched away from that long ago, if any."""
        ...

    def size(self, index: Index) -> Size:
        """Returns what a generation holds."""
        ...
