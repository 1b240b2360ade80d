"""Chunk sets and chunks in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from context_search.core.ids import first_row_id, vector_row_id
from context_search.core.model import (
    ChunkSet,
    Claim,
    EmbeddedChunk,
    KeptChunk,
    PlannedChunk,
    StoredChunk,
    kept_chunks,
)
from context_search.indexing.sql.chunks import Chunks
from tests.faults.simulation.model.model import Model
from tests.faults.simulation.model.nodes import note_indexed
from tests.faults.simulation.model.removals import remove_sets
from tests.faults.simulation.model.rows import ChunkRow, NodeRow, SetRow


class MemoryChunks(Model, Chunks):
    """``Chunks`` over rows in memory."""

    def begin_sets(self, planned: Sequence[tuple[Claim, Sequence[PlannedChunk]]]) -> list[ChunkSet]:
        return [self._begin_set(claim, chunks) for claim, chunks in planned]

    def _begin_set(self, claim: Claim, planned: Sequence[PlannedChunk]) -> ChunkSet:
        unfinished = [
            row.id
            for row in self.rows.sets.values()
            if row.node_id == claim.node_id
            and row.state != "active"
            and row.content_hash != claim.content_hash
        ]
        remove_sets(self.rows, self.clock, unfinished)
        found = self._set_of(claim)
        is_whole = found is not None and found.state == "active"
        kept = [] if is_whole else self._kept_of(claim, planned)
        own = [row.index for row in self.of_sets([found.id])] if found else []
        places = sorted([*own, *(one.index for one in kept)])
        if found and not is_whole and places != list(range(len(planned))):
            remove_sets(self.rows, self.clock, [found.id])
            found = None
        set_id = found.id if found else self._insert(claim, planned, kept)
        chunks = [_stored(row) for row in self.of_sets([set_id])]
        chunks += [replace(_stored(self.rows.chunks[one.id]), index=one.index) for one in kept]
        chunks.sort(key=lambda chunk: chunk.index)
        return ChunkSet(set_id, tuple(chunks), is_new=found is None, kept=tuple(kept))

    def _set_of(self, claim: Claim) -> SetRow | None:
        wanted = (claim.node_id, claim.content_hash)
        same = (row for row in self.rows.sets.values() if (row.node_id, row.content_hash) == wanted)
        return next(same, None)

    def _kept_of(self, claim: Claim, planned: Sequence[PlannedChunk]) -> list[KeptChunk]:
        node = self.rows.nodes[claim.node_id]
        active = sorted(self.of_sets([node.active_set_id or 0]), key=lambda row: row.index)
        return kept_chunks(planned, [(row.id, row.rows_hash) for row in active])

    def of_sets(self, set_ids: Sequence[int]) -> list[ChunkRow]:
        """Returns the chunks of sets."""
        return [row for row in self.rows.chunks.values() if row.set_id in set_ids]

    def _insert(
        self, claim: Claim, planned: Sequence[PlannedChunk], kept: Sequence[KeptChunk]
    ) -> int:
        set_id = self.rows.new_id()
        self.rows.sets[set_id] = SetRow(
            set_id, claim.node_id, claim.content_hash, "partial", len(planned)
        )
        stays = {one.index for one in kept}
        for chunk in planned:
            if chunk.index in stays:
                continue
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
                rows_hash=chunk.rows_hash,
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

    def embedded(
        self, claims: Sequence[Claim], input_hashes: Sequence[bytes]
    ) -> list[EmbeddedChunk]:
        wanted, tables = set(input_hashes), {claim.table_id for claim in claims}
        found = {
            row.input_hash: EmbeddedChunk(
                row.input_hash, row.namespace, row.doc_id, row.window_count
            )
            for row in self.rows.chunks.values()
            if row.present and row.table_id in tables and row.input_hash in wanted
        }
        return list(found.values())

    def mark_present(self, chunk_ids: Sequence[int]) -> None:
        last: dict[int, int] = {}
        for row in [self.rows.chunks[each] for each in chunk_ids if each in self.rows.chunks]:
            last[row.set_id] = max(row.index, last.get(row.set_id, 0))
            self._mark(row)
        # What stands before a chunk in an unfinished set is there as well.
        unfinished = [each for each in last if self.rows.sets[each].state != "active"]
        for row in self.of_sets(unfinished):
            if row.index < last[row.set_id]:
                self._mark(row)

    def _mark(self, row: ChunkRow) -> None:
        if not row.present:
            self.rows.change(self.rows.chunks, row.id, present=True)

    def activate(
        self, sets: Sequence[tuple[Claim, ChunkSet]], acknowledged: Collection[int] = ()
    ) -> set[int]:
        for chunk_id in set(acknowledged) & set(self.rows.chunks):
            self.rows.change(self.rows.chunks, chunk_id, present=True)
        return {claim.node_id for claim, each in sets if self._activate(claim, each)}

    def _activate(self, claim: Claim, chunk_set: ChunkSet) -> bool:
        node, set_id = self.rows.nodes.get(claim.node_id), chunk_set.id
        if node is None or node.content_hash != claim.content_hash:
            return False
        if set_id not in self.rows.sets or not self._is_complete(node, chunk_set):
            return False
        self._take_rows_over(claim, chunk_set)
        others = [
            row.id
            for row in self.rows.sets.values()
            if row.node_id == claim.node_id and row.id != set_id
        ]
        remove_sets(self.rows, self.clock, others)
        self.rows.change(self.rows.sets, set_id, state="active")
        note_indexed(self.rows, self.clock, node.id, set_id)
        return True

    def _is_complete(self, node: NodeRow, chunk_set: ChunkSet) -> bool:
        own = self.of_sets([chunk_set.id])
        kept = [
            row
            for one in chunk_set.kept
            if (row := self.rows.chunks.get(one.id)) and row.set_id == node.active_set_id
        ]
        count = self.rows.sets[chunk_set.id].chunks_count
        return len(own) + len(kept) == count and all(row.present for row in (*own, *kept))

    def _take_rows_over(self, claim: Claim, chunk_set: ChunkSet) -> None:
        """Moves chunks, with their words, into the set that keeps them."""
        before = {self.rows.chunks[one.id].set_id for one in chunk_set.kept}
        if before & set(self.rows.words_backlog):
            self.rows.words_backlog[chunk_set.id] = self.clock.now()
        for one in chunk_set.kept:
            self.rows.change(
                self.rows.chunks,
                one.id,
                set_id=chunk_set.id,
                index=one.index,
                start=one.start,
                end=one.end,
                total=self.rows.sets[chunk_set.id].chunks_count,
                content_hash=claim.content_hash,
            )

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
        present=row.present,
        input_hash=row.input_hash,
        window_count=row.window_count,
    )
