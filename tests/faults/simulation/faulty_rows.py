"""Repositories with one protection taken out, for ``mutants.py``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

from context_search.core.filters import Filter, matches
from context_search.core.ids import first_row_id
from context_search.core.model import (
    ChunkSet,
    Claim,
    HydratedChunk,
    Index,
    KeptChunk,
    PlannedChunk,
    Reach,
    kept_chunks,
)
from context_search.indexing.rules.chunks import WORDS_WAIT_S, Unkeyed
from context_search.integrations.ports import MessageBody
from context_search.maintenance.rules.removals import Tombstone
from tests.faults.simulation.model.chunks import ModelChunks
from tests.faults.simulation.model.comparisons import ModelComparisons
from tests.faults.simulation.model.indexes import ModelIndexes
from tests.faults.simulation.model.live_chunks import ModelLiveChunks
from tests.faults.simulation.model.outbox import ModelOutbox
from tests.faults.simulation.model.removals import ModelRemovals, remove_sets
from tests.faults.simulation.model.rows import GenerationRow, NodeRow, TableRow, TombstoneRow


class SectionsOfOtherScopes(ModelComparisons):
    """Sections are believed, whatever the nodes were compared for since."""

    def basis(self, index: Index, table_id: int, scopes: Sequence[str]) -> bytes | None:
        del scopes
        noted, kept = self.rows.sections.get((index.generation.id, table_id), (None, {}))
        return None if noted is None else sha256(repr(sorted(kept)).encode()).digest()


class ChunksWithoutReread(ModelChunks):
    """The swap does not look whether the text is still wanted.

    The fence alone would do, because an edit raises it; so the mutant leaves the worker its fence.
    """

    def _activate(self, claim: Claim, chunk_set: ChunkSet) -> bool:
        node = self.rows.nodes[claim.node_id]
        return super()._activate(replace(claim, content_hash=node.content_hash), chunk_set)


class ContentIds(ModelChunks):
    """Two incarnations of a text have the same document ids."""

    def _doc_id(self, claim: Claim, set_id: int, chunk_index: int) -> str:
        return super()._doc_id(claim, 0, chunk_index)


class ContentIdsThatCancelTombstones(ContentIds):
    """The same, with the obvious repair: what is wanted again is not to be deleted.

    A cleanup that had read the tombstone before still deletes the document.
    """

    def _insert(
        self, claim: Claim, planned: Sequence[PlannedChunk], kept: Sequence[KeptChunk]
    ) -> int:
        set_id = super()._insert(claim, planned, kept)
        for chunk in planned:
            key = (claim.namespace, self._doc_id(claim, set_id, chunk.index))
            self.rows.tombstones.pop(key, None)
        return set_id


class ChunksWithoutTombstones(ModelChunks):
    """The swap forgets which documents the old set had."""

    def _activate(self, claim: Claim, chunk_set: ChunkSet) -> bool:
        kept = dict(self.rows.tombstones)
        activated = super()._activate(claim, chunk_set)
        self.rows.tombstones.become(kept)
        return activated


class OldSetFirst(ModelChunks):
    """The old version goes before the new one is there."""

    def _begin_set(self, claim: Claim, planned: Sequence[PlannedChunk]) -> ChunkSet:
        old = [
            row.id
            for row in self.rows.sets.values()
            if row.node_id == claim.node_id and row.content_hash != claim.content_hash
        ]
        remove_sets(self.rows, self.clock, old)
        if self.rows.nodes[claim.node_id].active_set_id in old:
            self.rows.change(self.rows.nodes, claim.node_id, active_set_id=None)
        return super()._begin_set(claim, planned)


class KeptUnderAnotherHeading(ModelChunks):
    """A chunk is kept for its own text, whatever it stands under by now."""

    def _kept_of(self, claim: Claim, planned: Sequence[PlannedChunk]) -> list[KeptChunk]:
        active = self.of_sets([self.rows.nodes[claim.node_id].active_set_id or 0])
        alike = [replace(chunk, rows_hash=chunk.input_hash) for chunk in planned]
        return kept_chunks(alike, sorted((row.id, row.input_hash) for row in active))


class KeptWhereItWas(ModelChunks):
    """A chunk that is kept does not learn its new place."""

    def _take_rows_over(self, claim: Claim, chunk_set: ChunkSet) -> None:
        rows = self.rows.chunks
        as_before = [
            replace(one, index=rows[one.id].index, start=rows[one.id].start, end=rows[one.id].end)
            for one in chunk_set.kept
        ]
        super()._take_rows_over(claim, replace(chunk_set, kept=tuple(as_before)))


class KeptAndDeleted(ModelChunks):
    """The set before goes with all documents that it ever had."""

    def _take_rows_over(self, claim: Claim, chunk_set: ChunkSet) -> None:
        super()._take_rows_over(claim, chunk_set)
        for one in chunk_set.kept:
            row = self.rows.chunks[one.id]
            stone = TombstoneRow(row.namespace, row.doc_id, row.window_count, self.clock.now())
            self.rows.tombstones[row.namespace, row.doc_id] = stone


class TakenForWhole(ModelChunks):
    """A set that takes over chunks is found again without them, and nobody counts."""

    def _is_complete(self, node: NodeRow, chunk_set: ChunkSet) -> bool:
        return all(row.present for row in self.of_sets([chunk_set.id]))

    def _begin_set(self, claim: Claim, planned: Sequence[PlannedChunk]) -> ChunkSet:
        found = self._set_of(claim)
        begun = super()._begin_set(claim, planned)
        if found is None or found.state != "partial":
            return begun
        stays = {one.id for one in begun.kept}
        own = tuple(chunk for chunk in begun.chunks if chunk.id not in stays)
        return replace(begun, chunks=own, kept=())


class WordsForgottenInSteps(ModelChunks):
    """What a step has no room for is forgotten with what it takes."""

    def take_wordless(self, *, limit: int, wait_s: float = WORDS_WAIT_S) -> list[Unkeyed]:
        taken = super().take_wordless(limit=min(limit, 1), wait_s=wait_s)
        for set_id in list(self.rows.words_backlog):
            del self.rows.words_backlog[set_id]
        return taken


class UnhydratedChunks(ModelLiveChunks):
    """A search believes turbopuffer."""

    def hydrate(
        self, index: Index, reach: Reach, doc_ids: Sequence[str], *, texts: bool = True
    ) -> dict[str, HydratedChunk]:
        nodes = {row.id: row for row in self.rows.nodes.values()}
        return {
            chunk.doc_id: HydratedChunk(
                chunk.id,
                chunk.table_id,
                chunk.json_pointer,
                chunk.index,
                chunk.total,
                chunk.text if texts else "",
                chunk.start,
                chunk.end,
                chunk.content_hash,
                chunk.namespace,
                chunk.doc_id,
                nodes[self.rows.sets[chunk.set_id].node_id].changed_at,
            )
            for chunk in self.rows.chunks.values()
            if chunk.doc_id in doc_ids
        }


class BelievesNotedFields(ModelLiveChunks):
    """A search looks at what is noted of the fields, whatever the document says by now."""

    def _lets_through(self, index: Index, node: NodeRow, wanted: Filter | None) -> bool:
        if node.fields is None:
            return super()._lets_through(index, node, wanted)
        return wanted is None or matches(wanted, node.fields)


class OrphansWhileBuilt(ModelChunks):
    """The sweep takes what is being built for orphans."""

    def without_row(self, namespace: str, doc_ids: Sequence[str]) -> list[str]:
        present = {row.doc_id for row in self.rows.chunks.values() if row.present}
        return [name for name in doc_ids if first_row_id(name) not in present]


class ForgetsWindows(ModelRemovals):
    """Only the first document of a chunk is deleted."""

    def tombstones(self, *, older_than_s: float, limit: int) -> list[Tombstone]:
        found = super().tombstones(older_than_s=older_than_s, limit=limit)
        return [replace(stone, window_count=1) for stone in found]


class ForgetfulOutbox(ModelOutbox):
    """Messages are sent, and forgotten before anybody knows that they arrived."""

    def take(self, project_id: int, *, window: int) -> list[tuple[int, MessageBody]]:
        taken = super().take(project_id, window=window)
        for message_id, _ in taken:
            self.finish(message_id)
        return taken

    def begin(self, message_id: int) -> int | None:
        return super().begin(message_id) or 0


class ActiveOnly(ModelIndexes):
    """Edits do not reach the generation that is being built."""

    def live(self, index_id: int) -> list[Index]:
        return [index for index in super().live(index_id) if index.generation.state == "active"]


class ToolsUnseen(ModelComparisons):
    """What the API does to tools has an index compared again, what other programs do has not."""

    def _note_order(self, index_id: int) -> None:
        for generation_id in self._generations_of(index_id):
            self.order_comparisons(generation_id)

    def _behind(self) -> Iterator[tuple[GenerationRow, TableRow]]:
        for generation, table in super()._behind():
            revision, _ = self.rows.compared.get((generation.id, table.id), (None, ()))
            if revision != table.revision:
                yield generation, table
