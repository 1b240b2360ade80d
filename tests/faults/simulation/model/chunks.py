"""Chunk sets and chunks in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from context_search.core.documents import text_of_chunks
from context_search.core.ids import first_row_id, vector_row_id
from context_search.core.model import (
    ChunkSet,
    Claim,
    EmbeddedChunk,
    Generation,
    Index,
    KeptChunk,
    PlannedChunk,
    StoredChunk,
    kept_chunks,
)
from context_search.indexing.rules.chunks import (
    TEXTS_ABOVE,
    WORDS_WAIT_S,
    Unkeyed,
    UnkeyedChunk,
)
from context_search.indexing.sql.chunks import Chunks
from context_search.maintenance.rules.health import CleanupLimits
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.nodes import note_indexed, queue
from tests.faults.simulation.model.removals import remove_sets
from tests.faults.simulation.model.rows import ChunkRow, GenerationRow, NodeRow, SetRow


class ModelChunks(Model, Chunks):
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

    def due_at(self, _: CleanupLimits) -> Times:
        """At once while words of an active generation are missing."""
        for set_id in self.rows.words_backlog:
            node = self.rows.nodes[self.rows.sets[set_id].node_id]
            if self.rows.generations[node.generation_id].state == "active":
                yield self.clock.now()

    def requeue_missing(self, namespace: str, doc_ids: Sequence[str]) -> list[int]:
        wanted, sets = set(doc_ids), set()
        for row in list(self.rows.chunks.values()):
            if row.namespace == namespace and row.present and row.doc_id in wanted:
                self.rows.change(self.rows.chunks, row.id, present=False)
                sets.add(row.set_id)
        lacking = sorted({self.rows.sets[set_id].node_id for set_id in sets})
        queued = [node_id for node_id in lacking if self.rows.nodes[node_id].state == "indexed"]
        queue(self.rows, self.clock, queued)
        return queued

    def postpone_words(self, set_ids: Sequence[int]) -> None:
        for set_id in set(set_ids) & set(self.rows.sets):
            self.rows.words_backlog.setdefault(set_id, self.clock.now())

    def lacks_words(self, index: Index) -> bool:
        return bool(self._of(index.generation))

    def take_wordless(self, *, limit: int, wait_s: float = WORDS_WAIT_S) -> list[Unkeyed]:
        taken: list[Unkeyed] = []
        before = self.clock.now() - timedelta(seconds=wait_s)
        for set_id in list(self.rows.words_backlog):
            if self._waits(set_id, before):
                continue
            chunks = sorted(self._chunks(set_id), key=lambda row: row.index)
            missing = [row for row in chunks if row.tokens is None]
            some = [row for row in missing[:limit] if row.index < missing[0].index + TEXTS_ABOVE]
            limit -= len(some)
            if some:
                taken.append(_unkeyed(chunks, some))
            if len(some) == len(missing):
                del self.rows.words_backlog[set_id]
        return taken

    def _waits(self, set_id: int, before: datetime) -> bool:
        generation = self._generation(set_id)
        if generation.state != "active" or generation.index_id is None:
            return True
        oldest = min(self.rows.words_backlog[each] for each in self._of(generation))
        return oldest >= before and self._is_busy(self.rows.indexes[generation.index_id].project_id)

    def _is_busy(self, project_id: int) -> bool:
        return any(
            node.state in ("queued", "claimed") and self._project(node.generation_id) == project_id
            for node in self.rows.nodes.values()
        )

    def _project(self, generation_id: int) -> int | None:
        index_id = self.rows.generations[generation_id].index_id
        return None if index_id is None else self.rows.indexes[index_id].project_id

    def _of(self, generation: GenerationRow | Generation) -> list[int]:
        return [
            each for each in self.rows.words_backlog if self._generation(each).id == generation.id
        ]

    def _generation(self, set_id: int) -> GenerationRow:
        node = self.rows.nodes[self.rows.sets[set_id].node_id]
        return self.rows.generations[node.generation_id]

    def _chunks(self, set_id: int) -> Iterator[ChunkRow]:
        return (row for row in self.rows.chunks.values() if row.set_id == set_id)


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


def _unkeyed(chunks: Sequence[ChunkRow], missing: Sequence[ChunkRow]) -> Unkeyed:
    first, last = missing[0].index, missing[-1].index
    around = [row for row in chunks if first - TEXTS_ABOVE <= row.index <= last]
    begin = around[0].start
    return Unkeyed(
        text_of_chunks((row.start - begin, row.text) for row in around),
        [UnkeyedChunk(row.id, row.start - begin, row.end - begin) for row in missing],
    )
