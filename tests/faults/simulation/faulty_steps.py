"""Services with one protection taken out, for ``mutants.py``."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from context_search.domain.access import Principal
from context_search.domain.errors import VectorStoreUnavailableError
from context_search.domain.ids import vector_row_id, window_ids
from context_search.domain.model import ChunkSet, Claim, Index, StoredChunk
from context_search.ports.outside import Deadline
from context_search.ports.searching import ChunkTokens
from context_search.ports.store import UnitOfWork
from context_search.ports.upkeep import SweepCursor
from context_search.services.catalog.tables import DeleteTool
from context_search.services.indexing.chunk_documents import chunk_documents, chunk_tokens, plan
from context_search.services.indexing.index_node import IndexNode
from context_search.services.indexing.index_together import Begun, IndexTogether
from context_search.services.indexing.node_report import NodeRun, Outcome
from context_search.services.indexing.settle import SettleIndex
from context_search.services.upkeep.cleanup import TOMBSTONES_PER_STEP, Cleanup
from context_search.services.upkeep.cleanup_report import CleanupReport
from context_search.services.upkeep.sweep import SweepNamespace


class NoReconciler(Cleanup):
    """Nobody looks for messages that never arrived and nodes that nobody works on."""

    def _relay(self, report: CleanupReport) -> bool:
        return False

    def _revive(self, report: CleanupReport) -> bool:
        return False


class NoComparison(Cleanup):
    """Nobody looks for comparisons that were ordered and never made."""

    def _compare(self, report: CleanupReport) -> bool:
        return False


class TombstonesForgottenFirst(Cleanup):
    """A kill between the two steps leaves documents that nobody knows."""

    def _bury(self, report: CleanupReport) -> bool:
        with self.store.for_all("test") as work:
            found = work.deletions.tombstones(
                older_than_s=self.limits.grace_s, limit=TOMBSTONES_PER_STEP
            )
            for stone in found:
                work.deletions.note_deleted([stone], older_than_s=self.limits.grace_s)
        for stone in found:
            self.vectors.delete(stone.namespace, window_ids(stone.doc_id, stone.window_count))
        return False


class NamespaceForgottenFirst(Cleanup):
    """The same with a whole namespace."""

    def _delete_namespaces(self, report: CleanupReport) -> bool:
        with self.store.for_all("test") as work:
            retired = work.deletions.retired(older_than_s=self.limits.grace_s, limit=1)
            for generation in retired:
                work.deletions.forget_generation(generation.generation_id)
        for generation in retired:
            self.vectors.delete_namespace(generation.namespace)
        return bool(retired)


class BelievesAnOldList(SweepNamespace):
    """Rows are read after the documents, and a missing one is not asked for by name."""

    def _page(self, cursor: SweepCursor) -> object:  # type: ignore[override]
        ids = self._listed(cursor)
        with self.store.for_all("test") as work:
            rows = work.sweeps.present_after(cursor.namespace, cursor.after, self.page)
        last = ids[-1] if len(ids) == self.page else "~"
        missing = [doc_id for doc_id, _ in rows if doc_id not in ids and doc_id <= last]
        self._requeue(cursor.namespace, missing)
        return super()._page(cursor)


class VectorsBeforeRows(IndexNode):
    """A kill after the write leaves documents that no row names."""

    def _index(self, run: NodeRun, deadline: Deadline) -> Outcome:
        claim = run.claim
        early = _early_set(claim).chunks
        vectors, _ = self.chunk_vectors(claim, early)
        keyed, now = chunk_tokens(early), self.clock.now()
        documents = list(chunk_documents(claim, 0, early, vectors, keyed, now))
        self.vectors.upsert(claim.namespace, documents, config=claim.config)
        return super()._index(run, deadline)


def _early_set(claim: Claim) -> ChunkSet:
    planned = plan(claim)
    chunks = [
        StoredChunk(
            index=chunk.index,
            id=0,
            doc_id=_early_id(claim, chunk.index),
            text=chunk.text,
            total=len(planned),
            present=False,
            input_hash=chunk.input_hash,
            window_count=chunk.window_count,
        )
        for chunk in planned
    ]
    return ChunkSet(0, tuple(chunks))


def _early_id(claim: Claim, chunk_index: int) -> str:
    return vector_row_id(
        table_id=claim.table_id,
        json_pointer=claim.json_pointer,
        content_hash=claim.content_hash,
        set_id=10**6 + claim.fence,
        chunk_index=chunk_index,
    )


class PresentOnTimeout(IndexNode):
    """No answer is taken for yes."""

    def _write_batch(self, run: NodeRun, chunk_set: ChunkSet, batch: Sequence[StoredChunk]) -> None:
        try:
            super()._write_batch(run, chunk_set, batch)
        except VectorStoreUnavailableError:
            with self.store.for_all("test") as work:
                work.nodes.hold(run.claim, lease_s=self.limits.lease_s)
                work.chunks.mark_present(chunk_set.id, [chunk.index for chunk in batch])


class PresentOnTimeoutTogether(IndexTogether):
    """The same for many strings at once."""

    def _write(self, run: NodeRun, begun: Begun) -> list[ChunkTokens]:
        with suppress(VectorStoreUnavailableError):
            return super()._write(run, begun)
        return []


class VectorsBeforeRowsTogether(IndexTogether):
    """What is written first are the documents of sets whose rows are rolled back, or never come."""

    def _begin(self, claims: Sequence[Claim]) -> Begun:
        run = NodeRun(claims[0], self.one.clock)
        self._write(run, [(claim, _early_set(claim)) for claim in claims])
        return super()._begin(claims)


class SwapsWithoutHolding(IndexTogether):
    """Nobody asks whether the claims still hold when many texts are swapped."""

    def _swap(self, begun: Begun, keyed: Sequence[ChunkTokens]) -> set[int]:
        with self.one.store.for_all("test") as work:
            work.chunks.mark_all_present([chunk_set for _, chunk_set in begun])
            work.keywords.put(keyed)
            return work.chunks.activate([(claim, each.id) for claim, each in begun])


@dataclass(frozen=True, slots=True)
class DeleteSharedChunks(DeleteTool):
    """Deleting a tool takes what other tools still need."""

    def __call__(self, principal: Principal, tool_id: int) -> None:
        with self.store.for_all("test") as work:
            tool = work.tools.find(tool_id, project_id=principal.project_id)
            index = work.indexes.find(tool.index_id) if tool else None
            if index:
                work.nodes.remove(
                    [node.id for node in work.nodes.known(index.generation_id, index.table_id or 0)]
                )
        DeleteTool.__call__(self, principal, tool_id)


@dataclass(frozen=True, slots=True)
class SwitchesUnseen(SettleIndex):
    """The switch does not ask which revision the new generation was compared with."""

    def _switch(self, work: UnitOfWork, index: Index) -> bool:
        pending = work.rebuilds.pending(index.id)
        if pending is None or pending.state != "building" or work.rebuilds.is_unfinished(pending):
            return False
        work.rebuilds.switch(pending)
        return True
