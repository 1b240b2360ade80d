"""Several nodes at once in memory: one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from context_search.domain.errors import LeaseLostError
from context_search.domain.model import ChunkSet, Claim, PlannedChunk
from testing.in_memory.chunks import MemoryChunks
from testing.in_memory.nodes import NodeWork


@dataclass(frozen=True, slots=True)
class MemoryBatches:
    """The port ``Batches``."""

    nodes: NodeWork
    chunks: MemoryChunks

    def claim(
        self, node_ids: Sequence[int], *, max_chars: int, max_attempts: int, lease_s: float
    ) -> list[Claim]:
        """See the port."""
        rows = [self.nodes.rows.nodes.get(node_id) for node_id in sorted(set(node_ids))]
        claims = [
            self.nodes.claim(row.id, lease_s=lease_s)
            for row in rows
            if row is not None and row.content is not None
            if row.char_count <= max_chars and row.attempt < max_attempts
        ]
        return [claim for claim in claims if claim is not None]

    def char_counts(self, node_ids: Sequence[int]) -> dict[int, int]:
        """See the port."""
        nodes = self.nodes.rows.nodes
        return {node_id: nodes[node_id].char_count for node_id in node_ids if node_id in nodes}

    def unfinished(self, node_ids: Sequence[int]) -> list[int]:
        """See the port."""
        rows = [self.nodes.rows.nodes.get(node_id) for node_id in sorted(set(node_ids))]
        return [row.id for row in rows if row is not None and row.state in ("queued", "claimed")]

    def hold(self, claims: Sequence[Claim], *, lease_s: float) -> list[Claim]:
        """See the port."""
        held: list[Claim] = []
        for claim in claims:
            with suppress(LeaseLostError):
                self.nodes.hold(claim, lease_s=lease_s)
                held.append(claim)
        return held

    def begin_sets(self, planned: Sequence[tuple[Claim, Sequence[PlannedChunk]]]) -> list[ChunkSet]:
        """See the port."""
        return [self.chunks.begin_set(claim, chunks) for claim, chunks in planned]

    def mark_present(self, sets: Sequence[ChunkSet]) -> None:
        """See the port."""
        lacked = {(each.id, chunk.index) for each in sets for chunk in each.missing}
        for row in self.chunks.of_sets([each.id for each in sets]):
            if (row.set_id, row.index) in lacked:
                self.chunks.rows.change(self.chunks.rows.chunks, row.id, present=True)

    def activate(self, sets: Sequence[tuple[Claim, int]]) -> set[int]:
        """See the port."""
        return {claim.node_id for claim, set_id in sets if self.chunks.activate(claim, set_id)}
