"""Nodes and chunks: the way of a string into the index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from context_search.domain.documents import StringNode
from context_search.domain.model import (
    ChunkSet,
    Claim,
    EmbeddedChunk,
    Index,
    KnownNode,
    PlannedChunk,
)


@dataclass(frozen=True, slots=True)
class NodeUpsert:
    """A node as the document has it now; ``skip_reason`` is set when it breaks a limit.

    The store adds ``at`` to the reason.
    """

    node: StringNode
    content_hash: str
    skip_reason: Mapping[str, object] | None = None


class Nodes(Protocol):
    """Big strings and their way through the index: queued, claimed, indexed.

    What takes or holds many never waits for a row that another transaction has: such a node is left
    out. So two transactions that want the same nodes cannot block each other, in whatever order.
    """

    def known(self, generation_id: int, table_id: int) -> list[KnownNode]:
        """Returns every node that a generation has of a table."""
        ...

    def upsert(self, index: Index, table_id: int, nodes: Sequence[NodeUpsert]) -> list[int]:
        """Inserts or overwrites nodes of a table: queued, or skipped without sets.

        Returns those that are queued.
        """
        ...

    def remove(self, node_ids: Sequence[int]) -> None:
        """Deletes nodes; their chunks become tombstones."""
        ...

    def claim(self, node_id: int, *, lease_s: float) -> Claim | None:
        """Takes a node that is due or whose lease has run out; None when there is none."""
        ...

    def claim_many(
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

    def due_in(self, node_id: int) -> float | None:
        """Returns in how many seconds a queued node may be claimed; None when it is not queued."""
        ...

    def hold(self, claim: Claim, *, lease_s: float) -> None:
        """Locks the claimed node and renews its lease. Raises LeaseLostError."""
        ...

    def hold_many(self, claims: Sequence[Claim], *, lease_s: float) -> list[Claim]:
        """Locks the claimed nodes, renews their leases, and returns the claims that still hold."""
        ...

    def release(
        self,
        claim: Claim,
        *,
        retry_in_s: float,
        error: Mapping[str, object] | None,
        progressed: bool,
    ) -> None:
        """Gives a claimed node back as queued; progress resets the count of attempts."""
        ...

    def quarantine(self, claim: Claim, error: Mapping[str, object]) -> None:
        """Takes a node out of work for good, its active chunks untouched."""
        ...

    def skip(self, claim: Claim, reason: Mapping[str, object]) -> None:
        """Takes a node out of work over a limit; its text is kept, its active chunks untouched."""
        ...

    def pardon(self, *, limit: int) -> list[int]:
        """Queues quarantined nodes again, their attempts forgotten; returns their ids."""
        ...

    def abandoned(self, *, silent_s: float, limit: int) -> list[int]:
        """Returns nodes whose lease or due time passed ``silent_s`` ago, and takes them once.

        Only nodes of generations that follow their document: others cannot be claimed. A queued
        node waits for its turn, and is not abandoned, while the order book has an order for nodes
        of its project that is not younger and does not rest: it may be this one's.
        """
        ...


class Chunks(Protocol):
    """Chunk sets and chunk rows."""

    def begin_sets(self, planned: Sequence[tuple[Claim, Sequence[PlannedChunk]]]) -> list[ChunkSet]:
        """Finds or inserts the building sets of claimed contents, rows first, vectors later.

        Sets of the nodes for other contents that are still building are deleted. Positions of
        argument and result correspond.
        """
        ...

    def embedded(self, claim: Claim, input_hashes: Sequence[bytes]) -> list[EmbeddedChunk]:
        """Returns chunks of the claimed node's table that turbopuffer has, one per input."""
        ...

    def mark_present(self, set_id: int, chunk_indexes: Sequence[int]) -> None:
        """Notes that turbopuffer acknowledged these chunks, all windows.

        That is progress: the node's attempts are counted from zero again.
        """
        ...

    def mark_all_present(self, sets: Sequence[ChunkSet]) -> None:
        """Notes that turbopuffer acknowledged the chunks that these sets lacked when they began."""
        ...

    def activate(self, sets: Sequence[tuple[Claim, int]]) -> set[int]:
        """Makes complete sets, by id, the active ones of their nodes, and deletes those before.

        Returns the nodes that have swapped. One that wants another content by now is left as it is.
        """
        ...

    def without_row(self, namespace: str, doc_ids: Sequence[str]) -> list[str]:
        """Returns those ids that no chunk row and no tombstone of the namespace knows."""
        ...
