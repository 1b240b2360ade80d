"""Several small nodes at once: the same way into the index, in few statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from context_search.domain.model import ChunkSet, Claim, PlannedChunk


class Batches(Protocol):
    """What ``Nodes`` and ``Chunks`` do for one node, for many.

    Taking and holding never wait for a row that another transaction has: such a node is left out.
    So two transactions that want the same nodes cannot block each other, in whatever order.
    """

    def claim(
        self, node_ids: Sequence[int], *, max_chars: int, max_attempts: int, lease_s: float
    ) -> list[Claim]:
        """Takes those nodes that may be claimed, by id.

        Left out are longer ones, those that were claimed ``max_attempts`` times in vain, and those
        whose text only their chunks hold.
        """
        ...

    def char_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        """Returns how long the strings are, by id of their nodes."""
        ...

    def unfinished(self, node_ids: Sequence[int]) -> list[int]:
        """Returns those that are queued or claimed, by id."""
        ...

    def hold(self, claims: Sequence[Claim], *, lease_s: float) -> list[Claim]:
        """Locks the claimed nodes, renews their leases, and returns the claims that still hold."""
        ...

    def begin_sets(self, planned: Sequence[tuple[Claim, Sequence[PlannedChunk]]]) -> list[ChunkSet]:
        """Does ``Chunks.begin_set`` for each; positions of argument and result correspond."""
        ...

    def mark_present(self, sets: Sequence[ChunkSet]) -> None:
        """Notes that turbopuffer acknowledged the chunks that these sets lacked when they began."""
        ...

    def activate(self, sets: Sequence[tuple[Claim, int]]) -> set[int]:
        """Does ``Chunks.activate`` for each set id; returns the nodes that have swapped."""
        ...
