"""Indexes that give way to others, and their return."""

from __future__ import annotations

from typing import Protocol

from context_search.core.limits import ProjectLimits
from context_search.core.model import Index


class Evictions(Protocol):
    """Indexes that give way, and their return."""

    def next_to_go(self, limits: ProjectLimits) -> Index | None:
        """Returns the generation that a project over its limit gives up next.

        A previous generation goes first, then a generation of its coldest index: the active one, or
        the one being built, if that holds chunks and the active one holds none.
        """
        ...

    def give_up(self, going: Index, limits: ProjectLimits) -> bool:
        """Retires a previous generation, or evicts an index; False when it is searched again.

        An evicted index keeps an empty active generation. The caller holds the index' lock.
        """
        ...

    def clear(self, index: Index) -> bool:
        """Evicts an index because an operator wants it, whether it is cold or not.

        False when it was evicted already. The caller holds the table's lock.
        """
        ...

    def revive(self, index_id: int) -> bool:
        """Makes an evicted index an ordinary one, which is empty; False when it was not evicted."""
        ...

    def note_search(self, index_id: int) -> None:
        """Notes that an index was searched, at most once a minute."""
        ...
