"""Limits of a project: what it holds, how much room is left, and what it gives up first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.domain.limits import ProjectLimits, Usage
from context_search.domain.model import Claim, Index


class Quotas(Protocol):
    """What counts is every chunk row of generations that are not retired.

    An index is cold when it was neither searched nor created in the last ``idle_s`` seconds.
    """

    def used(self, project_id: int) -> Usage:
        """Returns what a project holds."""
        ...

    def room(self, index_id: int, limits: ProjectLimits) -> Usage:
        """Returns what an index may still take; below zero when the project is over its limit.

        What the project would give up for it counts as free: earlier generations, and indexes
        that are cold and were not searched since this one was.
        """
        ...

    def new_among(self, claims: Sequence[Claim]) -> list[Claim]:
        """Returns those that the limit concerns: the generation answers, the node has no chunks.

        A rebuild and a new version of a text take their room: what is searchable stays so.
        """
        ...

    def readmit(self, limits: ProjectLimits, *, limit: int) -> list[int]:
        """Queues nodes that were skipped as PROJECT_FULL where there is room now.

        At most ``limit`` of the most recently searched index of each project; returns their ids.
        """
        ...

    def compact(self) -> None:
        """Keeps counting cheap."""
        ...


class Evictions(Protocol):
    """Indexes that give way, and their return."""

    def next_to_go(self, limits: ProjectLimits) -> Index | None:
        """Returns what a project over its limit gives up next.

        A previous generation, or else a generation of its coldest index: the active one, or one
        that is being built and holds chunks while the active one holds none.
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
