"""Services with one protection taken out, for ``mutants.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.catalog.tools import ManageTools
from context_search.core.callers import Principal
from context_search.core.errors import VectorStoreUnavailableError
from context_search.core.ids import vector_row_id, window_ids
from context_search.core.model import Claim, Index, StoredChunk
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.indexer import Batch, Begun, Indexer, NodeRun, Plans
from context_search.indexing.rules.chunks import ChunkTokens
from context_search.maintenance.cleanup import TOMBSTONES_PER_STEP, Cleanup
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.maintenance.rules.sweeps import SweepCursor
from context_search.maintenance.scheduled_cleanup import ScheduledCleanup
from context_search.maintenance.sweep import Sweep
from context_search.store import UnitOfWork


class RestsOverWhatIsDue(ScheduledCleanup):
    """Nobody asks what is due later."""

    def _due_in_s(self) -> float | None:
        return None


class RestsAfterWork(ScheduledCleanup):
    """Nobody asks what is due later, or whether this run has made more to do."""

    def _idle_s(self, report: CleanupReport) -> float:
        return self.cleanup.limits.idle_s


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

    def _delete_documents(self, report: CleanupReport) -> bool:
        with self.store.for_all("test") as work:
            found = work.removals.tombstones(
                older_than_s=self.limits.grace_s, limit=TOMBSTONES_PER_STEP
            )
            for stone in found:
                work.removals.note_deleted([stone], older_than_s=self.limits.grace_s)
        for stone in found:
            self.vectors.delete(stone.namespace, window_ids(stone.doc_id, stone.window_count))
        return False


class NamespaceForgottenFirst(Cleanup):
    """The same with a whole namespace."""

    def _delete_namespaces(self, report: CleanupReport) -> bool:
        with self.store.for_all("test") as work:
            retired = work.removals.retired(older_than_s=self.limits.grace_s, limit=1)
            for generation in retired:
                work.removals.purge_generation(generation.generation_id)
        for generation in retired:
            self.vectors.delete_namespace(generation.namespace)
        return bool(retired)


class BelievesAnOldList(Sweep):
    """Rows are read after the documents, and a missing one is not asked for by name."""

    def _page(self, cursor: SweepCursor) -> object:  # type: ignore[override]
        ids = self._listed(cursor)
        with self.store.for_all("test") as work:
            rows = work.sweeps.present_after(cursor.namespace, cursor.after, self.page)
        last = ids[-1] if len(ids) == self.page else "~"
        missing = [doc_id for doc_id, _ in rows if doc_id not in ids and doc_id <= last]
        self._requeue(cursor.namespace, missing)
        return super()._page(cursor)


class VectorsBeforeRows(Indexer):
    """What is written first are the documents of sets whose rows are rolled back, or never come."""

    def _begin(self, run: NodeRun, plans: Plans) -> Begun:
        if run.is_alone:
            self._write_early(run, plans)
        return super()._begin(run, plans)

    def _write_early(self, run: NodeRun, plans: Plans) -> None:
        batch = [(claim, chunk) for claim in plans for chunk in _early(claim, plans)]
        self._upsert(run, plans, batch)


class VectorsBeforeRowsTogether(VectorsBeforeRows):
    """The same for many strings at once."""

    def _begin(self, run: NodeRun, plans: Plans) -> Begun:
        if not run.is_alone:
            self._write_early(run, plans)
        return Indexer._begin(self, run, plans)


def _early(claim: Claim, plans: Plans) -> list[StoredChunk]:
    return [
        StoredChunk(
            index=chunk.index,
            id=0,
            doc_id=_early_id(claim, chunk.index),
            text=chunk.text,
            present=False,
            input_hash=chunk.input_hash,
            window_count=chunk.window_count,
        )
        for chunk in plans[claim]
    ]


def _early_id(claim: Claim, chunk_index: int) -> str:
    return vector_row_id(
        table_id=claim.table_id,
        json_pointer=claim.json_pointer,
        content_hash=claim.content_hash,
        set_id=10**6 + claim.fence,
        chunk_index=chunk_index,
    )


class PresentOnTimeout(Indexer):
    """No answer is taken for yes."""

    def _upsert(self, run: NodeRun, plans: Plans, batch: Batch) -> list[ChunkTokens]:
        try:
            return super()._upsert(run, plans, batch)
        except VectorStoreUnavailableError:
            if not self._is_taken_for_yes(run):
                raise
            return []

    def _is_taken_for_yes(self, run: NodeRun) -> bool:
        return run.is_alone


class PresentOnTimeoutTogether(PresentOnTimeout):
    """The same for many strings at once."""

    def _is_taken_for_yes(self, run: NodeRun) -> bool:
        return not run.is_alone


class SwapsWithoutHolding(Indexer):
    """Nobody asks whether the claims still hold when texts are swapped."""

    def _acknowledge(
        self,
        run: NodeRun,
        begun: Begun,
        batch: Batch,
        keyed: Sequence[ChunkTokens],
        *,
        is_last: bool,
    ) -> tuple[list[Claim], set[int]]:
        if not is_last:
            return super()._acknowledge(run, begun, batch, keyed, is_last=is_last)
        with self.store.for_all("test") as work:
            acknowledged = [chunk.id for _, chunk in batch]
            return list(begun), work.chunks.activate(list(begun.items()), acknowledged)


@dataclass(frozen=True, slots=True)
class DeleteSharedChunks(ManageTools):
    """Deleting a tool takes what other tools still need."""

    def delete(self, principal: Principal, tool_id: int, *, if_version: int | None = None) -> None:
        with self.store.for_all("test") as work:
            tool = work.tools.find(tool_id, project_id=principal.project_id)
            index = work.indexes.find(tool.index_id) if tool else None
            if index:
                work.nodes.remove(
                    [node.id for node in work.nodes.known(index.generation.id, index.table_id or 0)]
                )
        ManageTools.delete(self, principal, tool_id, if_version=if_version)


@dataclass(frozen=True, slots=True)
class SwitchesUnseen(IndexCompletion):
    """The switch does not ask which revision the new generation was compared with."""

    def _switch(self, work: UnitOfWork, index: Index) -> bool:
        pending = work.indexes.pending(index.id)
        if (
            pending is None
            or pending.generation.state != "building"
            or work.indexes.is_unfinished(pending)
        ):
            return False
        work.indexes.switch(pending)
        return True
