"""What workers do with their messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from context_search.budgets.spending import Spending
from context_search.catalog.imports import ImportDocument
from context_search.catalog.rules.uploads import longest_document
from context_search.catalog.versions import RecordVersions
from context_search.composition.parts import Parts
from context_search.indexing.calibrate import Calibrator
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.completion import IndexCompletion
from context_search.indexing.indexer import Indexer, IndexLimits
from context_search.indexing.vector_rows import ChunkVectors
from context_search.indexing.worker import Worker, WorkerOutbox
from context_search.integrations.ports import Deadline

if TYPE_CHECKING:
    from context_search_editing.executing import PlanWorker

EMBED_TIMEOUT_S = 30.0


@dataclass
class IndexNodeFunction:
    """The use cases of ``index_node``, one for each kind of message."""

    parts: Parts

    @cached_property
    def worker(self) -> Worker:
        """What begins, handles and ends messages."""
        store = self.parts.store
        return Worker(
            WorkerOutbox(store),
            self.indexer.index,
            self.comparer.compare,
            self._import_upload,
            self._execute_plan,
            self.calibrator.run,
            store.on_failure,
        )

    @cached_property
    def indexer(self) -> Indexer:
        """The messages ``node`` and ``nodes``."""
        parts, settings = self.parts, self.parts.settings
        spending = Spending(parts.store, parts.clock, settings.daily_limits)
        return Indexer(
            store=parts.store,
            vectors=parts.vectors,
            chunk_vectors=ChunkVectors(
                parts.store, parts.vectors, parts.embedder_of, EMBED_TIMEOUT_S, spending
            ),
            completion=self._completion,
            clock=parts.clock,
            limits=IndexLimits(lease_s=settings.index_lease_s, project=settings.project_limits),
        )

    @cached_property
    def comparer(self) -> Comparer:
        """The message ``enumerate``."""
        settings = self.parts.settings
        limits = Limits(settings.max_node_chars, settings.max_node_chunks)
        return Comparer(self.parts.store, self._completion, limits)

    @property
    def _completion(self) -> IndexCompletion:
        return IndexCompletion(self.parts.store, self.parts.settings.silent_after_s)

    @cached_property
    def import_document(self) -> ImportDocument:
        """The message ``import``. Few are of this kind, and the client of S3 takes 150 ms."""
        parts, settings = self.parts, self.parts.settings
        return ImportDocument(
            parts.store,
            parts.patient_store,
            parts.objects,
            RecordVersions(longest_document(settings.memory_bytes)),
            settings.upload_max_bytes,
            settings.memory_bytes,
            settings.project_bounds,
        )

    def _import_upload(self, upload_id: int) -> str:
        return self.import_document.run(upload_id)

    def _execute_plan(self, plan_id: int, deadline: Deadline) -> str:
        return self._plan_worker.run(plan_id, deadline)

    @cached_property
    def _plan_worker(self) -> PlanWorker:
        """The message ``plan``. Few messages are of this kind, so its modules load with the
        first."""
        from context_search.composition.editing import plan_worker  # noqa: PLC0415

        return plan_worker(self.parts)

    @cached_property
    def calibrator(self) -> Calibrator:
        """The message ``calibrate``."""
        parts = self.parts
        return Calibrator(
            parts.store, parts.vectors, parts.embedder_of, parts.clock, EMBED_TIMEOUT_S
        )
