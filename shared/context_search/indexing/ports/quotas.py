"""How much a project holds, and what it may still take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.core.limits import Held, ProjectLimits, Usage
from context_search.core.model import Claim


class Quotas(Protocol):
    """What counts is every chunk row of generations that are not retired.

    An index is cold when it was neither searched nor created in the last ``idle_s`` seconds.
    """

    def used(self, project_id: int) -> Usage:
        """Returns what a project holds."""
        ...

    def held(self, project_id: int, kind: Held) -> int:
        """Returns how much of a kind a project holds; keys are those that are good.

        The bytes of uploads that are being imported count as stored.
        """
        ...

    def room(self, index_id: int, limits: ProjectLimits) -> Usage:
        """Returns what an index may still take; below zero when the project is over its limit.

        What the project would give up for it counts as free: earlier generations, and indexes
        that are cold and were not searched since this one was.
        """
        ...

    def new_among(self, claims: Sequence[Claim]) -> list[Claim]:
        """Returns the claims that the limit applies to: new nodes of an answering generation.

        A new node has no chunks. A rebuild and a new version of a text are not limited, so that
        what is searchable stays searchable.
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

    def count_parts(self) -> bool:
        """Has parts of indexes counted apart, a step at a time, each first in its transaction.

        Returns whether another step can follow at once.
        """
        ...
