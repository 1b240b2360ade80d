"""What workers do with their orders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from context_search.budgets.spending import Spending
from context_search.catalog.imports import ImportDocument
from context_search.catalog.record_versions import RecordVersions
from context_search.catalog.rules.uploads import longest_document
from context_search.composition.editing import Editing
from context_search.composition.parts import Parts
from context_search.indexing.calibrate import Calibrator
from context_search.indexing.chunk_vectors import ChunkVectors
from context_search.indexing.completion import Settler
from context_search.indexing.enumeration import Comparer, Limits
from context_search.indexing.indexer import Indexer, IndexLimits
from context_search.indexing.worker import OrderBook, Worker
from context_search_editing.one_by_one import OneByOne
from context_search_editing.plan_worker import CarryOutPlans
from context_search_editing.write_documents import WriteDocuments

EMBED_TIMEOUT_S = 30.0


@dataclass
class IndexNodeFunction:
    """The use cases of ``index_node``, one for each kind of order."""

    parts: Parts

    @cached_property
    def worker(self) -> Worker:
        """What begins, carries out and ends orders."""
        store = self.parts.store
        return Worker(
            OrderBook(store),
            self.indexer.index,
            self.comparer.compare,
            self.import_document.run,
            self.carry_out_plans.run,
            self.calibrator.run,
            store.on_failure,
        )

    @cached_property
    def indexer(self) -> Indexer:
        """The orders ``node`` and ``nodes``."""
        parts, settings = self.parts, self.parts.settings
        spending = Spending(parts.store, parts.clock, settings.daily_limits)
        return Indexer(
            store=parts.store,
            vectors=parts.vectors,
            chunk_vectors=ChunkVectors(
                parts.store, parts.vectors, parts.embedder_of, EMBED_TIMEOUT_S, spending
            ),
            settler=self._settler,
            clock=parts.clock,
            limits=IndexLimits(lease_s=settings.index_lease_s, project=settings.project_limits),
        )

    @cached_property
    def comparer(self) -> Comparer:
        """The order ``enumerate``."""
        settings = self.parts.settings
        limits = Limits(settings.max_node_chars, settings.max_node_chunks)
        return Comparer(self.parts.store, self._settler, limits)

    @property
    def _settler(self) -> Settler:
        return Settler(self.parts.store, self.parts.settings.silent_after_s)

    @cached_property
    def import_document(self) -> ImportDocument:
        """The order ``import``."""
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

    @cached_property
    def carry_out_plans(self) -> CarryOutPlans:
        """The order ``plan``, for documents of any size that the memory has room for."""
        parts, editing = self.parts, Editing(self.parts)
        recorder = RecordVersions(editing.longest_document)
        writer = WriteDocuments(recorder, bounds=parts.settings.project_bounds)
        documents = OneByOne(parts.store, parts.patient_store, writer)
        return CarryOutPlans(
            parts.store, editing.preview.run, editing.execute, editing.undo, documents
        )

    @cached_property
    def calibrator(self) -> Calibrator:
        """The order ``calibrate``."""
        parts = self.parts
        return Calibrator(
            parts.store, parts.vectors, parts.embedder_of, parts.clock, EMBED_TIMEOUT_S
        )
