"""Chunk sets and chunks in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.domain.ids import first_row_id, vector_row_id
from context_search.domain.model import (
    ChunkSet,
    Claim,
    EmbeddedChunk,
    PlannedChunk,
    StoredChunk,
)
from context_search.ports.outside import Clock
from testing.in_memory.removals import remove_sets
from testing.in_memory.rows import ChunkRow, Rows, SetRow


@dataclass(frozen=True, slots=True)
class MemoryChunks:
    """The port ``Chunks``."""

    rows: Rows
    clock: Clock

    def begin_sets(self, planned: Sequence[tuple[Claim, Sequence[PlannedChunk]]]) -> list[ChunkSet]:
        return [self._begin_set(claim, chunks) for claim, chunks in planned]

    def _begin_set(self, claim: Claim, planned: Sequence[PlannedChunk]) -> ChunkSet:
        of_node = [row for row in self.rows.sets.values() if row.node_id == claim.node_id]
        other = [
            row.id
            for row in of_node
            if row.state == "building" and row.content_hash != claim.content_hash
        ]
        remove_sets(self.rows, self.clock, other)
        same = [row.id for row in of_node if row.content_hash == claim.content_hash]
        set_id = same[0] if same else self._insert(claim, planned)
        chunks = sorted(self.of_sets([set_id]), key=lambda row: row.index)
        return ChunkSet(set_id, tuple(_stored(row) for row in chunks), is_new=not same)

    def of_sets(self, set_ids: Sequence[int]) -> list[ChunkRow]:
        """Returns the chunks of sets."""
        return [row for row in self.rows.chunks.values() if row.set_id in set_ids]

    def _insert(self, claim: Claim, planned: Sequence[PlannedChunk]) -> int:
        set_id = self.rows.new_id()
        self.rows.sets[set_id] = SetRow(
            set_id, claim.node_id, claim.content_hash, "building", len(planned)
        )
        for chunk in planned:
            row = ChunkRow(
                id=self.rows.new_id(),
                table_id=claim.table_id,
                set_id=set_id,
                json_pointer=claim.json_pointer,
                index=chunk.index,
                total=len(planned),
                text=chunk.text,
                start=chunk.start,
                end=chunk.end,
                content_hash=claim.content_hash,
                namespace=claim.namespace,
                doc_id=self._doc_id(claim, set_id, chunk.index),
                input_hash=chunk.input_hash,
                window_count=chunk.window_count,
            )
            self.rows.chunks[row.id] = row
        return set_id

    def _doc_id(self, claim: Claim, set_id: int, chunk_index: int) -> str:
        return vector_row_id(
            table_id=claim.table_id,
            json_pointer=claim.json_pointer,
            content_hash=claim.content_hash,
            set_id=set_id,
            chunk_index=chunk_index,
        )

    def embedded(self, claim: Claim, input_hashes: Sequence[bytes]) -> list[EmbeddedChunk]:
        wanted = set(input_hashes)
        found = {
            row.input_hash: EmbeddedChunk(
                row.input_hash, row.namespace, row.doc_id, row.window_count
            )
            for row in self.rows.chunks.values()
            if row.present and row.table_id == claim.table_id and row.input_hash in wanted
        }
        return list(found.values())

    def mark_present(self, chunk_ids: Sequence[int]) -> None:
        for chunk_id in set(chunk_ids) & set(self.rows.chunks):
            self.rows.change(self.rows.chunks, chunk_id, present=True)

    def activate(self, sets: Sequence[tuple[Claim, int]]) -> set[int]:
        return {claim.node_id for claim, set_id in sets if self._activate(claim, set_id)}

    def _activate(self, claim: Claim, set_id: int) -> bool:
        node = self.rows.nodes.get(claim.node_id)
        complete = set_id in self.rows.sets and all(row.present for row in self.of_sets([set_id]))
        if node is None or node.content_hash != claim.content_hash or not complete:
            return False
        others = [
            row.id
            for row in self.rows.sets.values()
            if row.node_id == claim.node_id and row.id != set_id
        ]
        remove_sets(self.rows, self.clock, others)
        self.rows.change(self.rows.sets, set_id, state="active")
        self.rows.change(
            self.rows.nodes,
            node.id,
            state="indexed",
            active_set_id=set_id,
            content=None,
            attempt=0,
            lease_until=None,
            last_error=None,
            indexed_at=self.clock.now(),
        )
        return True

    def without_row(self, namespace: str, doc_ids: Sequence[str]) -> list[str]:
        known = {row.doc_id for row in self.rows.chunks.values() if row.namespace == namespace}
        known |= {doc_id for name, doc_id in self.rows.tombstones if name == namespace}
        return [doc_id for doc_id in doc_ids if first_row_id(doc_id) not in known]


def _stored(row: ChunkRow) -> StoredChunk:
    return StoredChunk(
        index=row.index,
        id=row.id,
        doc_id=row.doc_id,
        text=row.text,
        total=row.total,
        present=row.present,
        input_hash=row.input_hash,
        window_count=row.window_count,
    )
