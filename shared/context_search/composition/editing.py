"""Search and replace, for the functions that preview, execute and undo."""

from __future__ import annotations

from context_search.catalog.rules.uploads import longest_document
from context_search.catalog.versions import RecordVersions
from context_search.composition.parts import Parts
from context_search.integrations.patterns.re2_patterns import Re2Patterns
from context_search_editing.executing import ExecutePlans
from context_search_editing.executing_in_worker import OneByOne, PlanWorker
from context_search_editing.previewing import MAX_DOCUMENT_BYTES, PreviewLimits, PreviewReplacements
from context_search_editing.rules.plans import MEMORY_A_CHANGED_BYTE
from context_search_editing.showing import ShowMatches
from context_search_editing.undoing import UndoPlans
from context_search_editing.write_documents import WriteDocuments


class Editing:
    """The use cases of editing. ``longest_document``: bytes of one that the memory has room for."""

    def __init__(self, parts: Parts) -> None:
        settings, patterns = parts.settings, Re2Patterns()
        store, clock = parts.store, parts.clock
        writer = WriteDocuments(bounds=settings.project_bounds)
        self.parts = parts
        self.longest_document = longest_document(settings.memory_bytes, MEMORY_A_CHANGED_BYTE)
        limits = PreviewLimits(document_bytes=min(MAX_DOCUMENT_BYTES, self.longest_document))
        self.preview = PreviewReplacements(
            store, parts.patient_store, patterns, parts.hash_of, clock, limits
        )
        self.matches = ShowMatches(store, patterns, clock)
        self.execute = ExecutePlans(store, patterns, clock, writer)
        self.undo = UndoPlans(store, clock, writer)


def plan_worker(parts: Parts) -> PlanWorker:
    """Returns what workers do with a plan; its documents may take what the memory has room for."""
    editing = Editing(parts)
    recorder = RecordVersions(editing.longest_document)
    writer = WriteDocuments(recorder, bounds=parts.settings.project_bounds)
    documents = OneByOne(parts.store, parts.patient_store, writer)
    return PlanWorker(
        parts.store, editing.preview.run, editing.execute, editing.undo.rewriting, documents
    )
