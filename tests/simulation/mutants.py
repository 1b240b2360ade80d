"""The design with one thing wrong: each of these must be caught, or the simulation is blind.

The list is that of the decisions which docs/consistency.md explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from context_search.adapters.in_memory.chunks import MemoryChunks
from context_search.adapters.in_memory.delivery import MemoryOutbox
from context_search.adapters.in_memory.progress import MemoryNodes
from context_search.adapters.in_memory.removal import remove_sets
from context_search.adapters.in_memory.rows import Rows
from context_search.adapters.in_memory.store import MemoryUnitOfWork
from context_search.domain.errors import LeaseLostError, VectorStoreUnavailableError
from context_search.domain.ids import document_id
from context_search.domain.model import (
    ChunkSet,
    Claim,
    HydratedChunk,
    Index,
    PlannedChunk,
    Principal,
    SearchTool,
    StoredChunk,
)
from context_search.ports.indexing import NodeUpsert
from context_search.ports.queue import Message
from context_search.ports.time import Clock, Deadline
from context_search.services.chunk_documents import chunk_documents
from context_search.services.cleanup import Cleanup, CleanupReport
from context_search.services.index_node import IndexNode, plan
from context_search.services.node_report import NodeRun, Outcome
from context_search.services.tables import DeleteTool
from tests.simulation.world import Mutation


def _work(
    *,
    nodes: type[MemoryNodes] = MemoryNodes,
    chunks: type[MemoryChunks] = MemoryChunks,
    outbox: type[MemoryOutbox] = MemoryOutbox,
) -> type[MemoryUnitOfWork]:
    class Mutated(MemoryUnitOfWork):
        def __init__(self, rows: Rows, clock: Clock) -> None:
            super().__init__(rows, clock)
            self.nodes = nodes(rows, clock)
            self.chunks = chunks(rows, clock)
            self.outbox = outbox(rows, clock)

    return Mutated


class NodesWithoutFence(MemoryNodes):
    def _change(self, claim: Claim, **values: object) -> None:
        if claim.node_id not in self.rows.nodes:
            raise LeaseLostError("gone")
        self.rows.change(self.rows.nodes, claim.node_id, **values)


class NodesThatKeepTheirWorker(MemoryNodes):
    """A change of the document does not take the node away from its worker."""

    def upsert(self, index: Index, nodes: Sequence[NodeUpsert]) -> list[int]:
        before = dict(self.rows.nodes)
        queued = super().upsert(index, nodes)
        for node_id in queued:
            old = before.get(node_id)
            if old and old.state == "claimed":
                values = {"fence": old.fence, "state": "claimed", "lease_until": old.lease_until}
                self.rows.change(self.rows.nodes, node_id, **values)
        return queued


class ChunksWithoutReread(MemoryChunks):
    def activate(self, claim: Claim, set_id: int) -> bool:
        node = self.rows.nodes[claim.node_id]
        return super().activate(replace(claim, content_hash=node.content_hash), set_id)


class ContentIds(MemoryChunks):
    def _doc_id(self, claim: Claim, set_id: int, chunk_index: int) -> str:
        return super()._doc_id(claim, 0, chunk_index)


class ContentIdsThatCancelTombstones(ContentIds):
    def _insert(self, claim: Claim, planned: Sequence[PlannedChunk]) -> int:
        set_id = super()._insert(claim, planned)
        for chunk in planned:
            key = (claim.namespace, self._doc_id(claim, set_id, chunk.index))
            self.rows.tombstones.pop(key, None)
        return set_id


class ChunksWithoutTombstones(MemoryChunks):
    def activate(self, claim: Claim, set_id: int) -> bool:
        kept = dict(self.rows.tombstones)
        activated = super().activate(claim, set_id)
        self.rows.tombstones.become(kept)
        return activated


class OldSetFirst(MemoryChunks):
    def begin_set(self, claim: Claim, planned: Sequence[PlannedChunk]) -> ChunkSet:
        old = [
            row.id
            for row in self.rows.sets.values()
            if row.node_id == claim.node_id and row.content_hash != claim.content_hash
        ]
        remove_sets(self.rows, self.clock, old)
        if self.rows.nodes[claim.node_id].active_set_id in old:
            self.rows.change(self.rows.nodes, claim.node_id, active_set_id=None)
        return super().begin_set(claim, planned)


class UnhydratedChunks(MemoryChunks):
    def hydrate(
        self, tool: SearchTool, index: Index, doc_ids: Sequence[str]
    ) -> dict[str, HydratedChunk]:
        nodes = {row.id: row for row in self.rows.nodes.values()}
        return {
            chunk.doc_id: HydratedChunk(
                chunk.id,
                chunk.table_id,
                chunk.json_pointer,
                chunk.index,
                chunk.total,
                chunk.text,
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


class ForgetfulOutbox(MemoryOutbox):
    def add(self, messages: Iterable[Message]) -> list[int]:
        ids = super().add(messages)
        self.remove(ids)
        return ids


class NoReconciler(Cleanup):
    def _relay(self, report: CleanupReport) -> bool:
        return False

    def _revive(self, report: CleanupReport) -> bool:
        return False


class VectorsBeforeRows(IndexNode):
    def _index(self, run: NodeRun, deadline: Deadline) -> Outcome:
        claim = run.claim
        planned = plan(claim)
        early = [
            StoredChunk(
                chunk.index,
                0,
                _early_id(claim, chunk),
                chunk.text,
                len(planned),
                False,
                chunk.input_hash,
                1,
            )
            for chunk in planned
        ]
        vectors, _ = self.chunk_vectors(claim, early)
        documents = list(chunk_documents(claim, 0, early, vectors, self.clock.now()))
        self.vectors.upsert(claim.namespace, documents, config=claim.config)
        return super()._index(run, deadline)


def _early_id(claim: Claim, chunk: PlannedChunk) -> str:
    return document_id(
        table_id=claim.table_id,
        json_pointer=claim.json_pointer,
        content_hash=claim.content_hash,
        set_id=10**6 + claim.fence,
        chunk_index=chunk.index,
    )


class PresentOnTimeout(IndexNode):
    def _write_batch(self, run: NodeRun, chunk_set: ChunkSet, batch: Sequence[StoredChunk]) -> None:
        try:
            super()._write_batch(run, chunk_set, batch)
        except VectorStoreUnavailableError:
            with self.store.transaction() as work:
                work.nodes.hold(run.claim, lease_s=self.limits.lease_s)
                work.chunks.mark_present(chunk_set.id, [chunk.index for chunk in batch])


@dataclass(frozen=True, slots=True)
class DeleteSharedChunks(DeleteTool):
    def __call__(self, principal: Principal, tool_id: int) -> None:
        with self.store.transaction() as work:
            tool = work.tools.find(tool_id, project_id=principal.project_id)
            index = work.indexes.find(tool.index_id) if tool else None
            if index:
                work.nodes.remove([node.id for node in work.nodes.known(index.generation_id)])
        DeleteTool.__call__(self, principal, tool_id)


MUTANTS = [
    Mutation("no fence", unit_of_work=_work(nodes=NodesWithoutFence)),
    Mutation(
        "no re-read at the swap",
        unit_of_work=_work(nodes=NodesThatKeepTheirWorker, chunks=ChunksWithoutReread),
    ),
    Mutation("no grace for tombstones", grace_s=0),
    Mutation("vectors before their rows", index_node=VectorsBeforeRows),
    Mutation("no tombstones", unit_of_work=_work(chunks=ChunksWithoutTombstones)),
    Mutation("acknowledge first, no reconciler", acknowledges_first=True, cleanup=NoReconciler),
    Mutation("no reconciler", cleanup=NoReconciler),
    Mutation(
        "send without outbox, no reconciler",
        unit_of_work=_work(outbox=ForgetfulOutbox),
        cleanup=NoReconciler,
    ),
    Mutation("deleting a tool takes shared chunks", delete_tool=DeleteSharedChunks),
    Mutation("search without hydration", unit_of_work=_work(chunks=UnhydratedChunks)),
    Mutation("old set deleted first", unit_of_work=_work(chunks=OldSetFirst)),
    Mutation("present on a timeout", index_node=PresentOnTimeout),
    Mutation("content ids", unit_of_work=_work(chunks=ContentIds)),
    Mutation(
        "content ids, tombstones cancelled",
        unit_of_work=_work(chunks=ContentIdsThatCancelTombstones),
    ),
]
