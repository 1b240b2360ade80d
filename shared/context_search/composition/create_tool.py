"""What is managed over HTTP: access, documents, Search Tools, indexes, replacements, health."""

from __future__ import annotations

import time
from functools import cached_property, partial

from context_search.access.keys import SignIn
from context_search.catalog.judged_sets import ManageJudgedSets
from context_search.catalog.project_settings import ManageSettings, prune_histories
from context_search.catalog.routes.tools import ToolUseCases
from context_search.catalog.rules.versions import HistoryLimits
from context_search.catalog.tables import MAX_CHANGED_BYTES, ManageTables
from context_search.catalog.tools import ManageTools
from context_search.catalog.uploads import ManageUploads
from context_search.catalog.versions import CompareVersions, ManageVersions
from context_search.composition.access import Access
from context_search.composition.editing import Editing
from context_search.composition.parts import Parts
from context_search.indexing.comparing import Limits
from context_search.indexing.operations import IndexOperations
from context_search.indexing.project_index import ProjectIndexes, project_config
from context_search.indexing.rebuilds import RebuildAll, Rebuilds
from context_search.indexing.status import WaitForIndex
from context_search.integrations.ports import Embedder
from context_search.maintenance.part_checks import PartCheck, Readiness, ask_database
from context_search.maintenance.project_health import ReadProjectHealth
from context_search.maintenance.redrive import Redrive
from context_search.maintenance.sweep import PAGE, SweepRounds
from context_search.searching.rules.retrieval import RetrievalSettings


class CreateToolFunction:
    """The use cases of ``create_tool``, under the names by which its routes find them."""

    def __init__(self, parts: Parts) -> None:
        store, settings, bounds = parts.store, parts.settings, parts.settings.project_bounds
        self.parts, self.access, self.editing = parts, Access(parts), Editing(parts)
        self.sign_in = SignIn(store, bounds)

        most = min(MAX_CHANGED_BYTES, self.editing.longest_document)
        self.tables = ManageTables(store, max_changed_bytes=most, bounds=bounds)
        self.versions = ManageVersions(store, bounds=bounds)
        self.compare_versions = CompareVersions(store)
        self.history_settings = ManageSettings(store, HistoryLimits, prune_histories)
        self.judged_sets = ManageJudgedSets(store)

        self.tools = _tools(parts)
        self.retrieval_settings = ManageSettings(store, RetrievalSettings)
        self.project_indexes = ProjectIndexes(
            store, settings.model, settings.silent_after_s, settings.daily_limits
        )
        self.rebuilds = Rebuilds(store, settings.model, settings.daily_limits)
        self.rebuild_all = RebuildAll(store, self.rebuilds)
        self.index_operations = IndexOperations(store, settings.silent_after_s)
        self.sweep_rounds = _sweep_rounds(parts)
        self.redrive = Redrive(store, parts.queue)
        self.project_health = ReadProjectHealth(
            store, settings, parts.clock, self._integration_checks
        )

    @cached_property
    def uploads(self) -> ManageUploads:
        """Uploads, which need a client of S3."""
        parts, settings = self.parts, self.parts.settings
        most, bounds = settings.upload_max_bytes, settings.project_bounds
        return ManageUploads(parts.store, parts.objects, most, bounds)

    @cached_property
    def readiness(self) -> Readiness:
        """Whether Postgres answers, and what else is asked of no model."""
        parts = self.parts
        ask = partial(ask_database, parts.store, parts.clock)
        database = PartCheck("database", ask, parts.clock, parts.answers_within_s)
        vectors, _, queue = self._integration_checks
        return Readiness(database, (vectors, queue))

    @cached_property
    def _integration_checks(self) -> tuple[PartCheck, PartCheck, PartCheck]:
        """The vector store, the model and the queue."""
        clock, within_s = self.parts.clock, self.parts.answers_within_s
        return (
            PartCheck("vector_store", self._ask_vectors, clock, within_s),
            PartCheck("embedder", self._ask_model, clock, within_s, self._load_model),
            PartCheck("queue", self.parts.queue.is_empty, clock, within_s),
        )

    def _ask_vectors(self) -> None:
        self.parts.vectors.ping(timeout_s=self.parts.answers_within_s)

    def _ask_model(self) -> None:
        self._model.embed_query("ping", timeout_s=self.parts.answers_within_s)

    def _load_model(self) -> None:
        self._model.warm_up()

    @property
    def _model(self) -> Embedder:
        return self.parts.embedder_of(project_config(self.parts.settings.model))


def _tools(parts: Parts) -> ToolUseCases:
    settings = parts.settings
    silent_s = settings.silent_after_s
    limits = Limits(settings.max_node_chars, settings.max_node_chunks)
    return ToolUseCases(
        tools=ManageTools(
            parts.store, limits, silent_s, settings.project_bounds, settings.daily_limits
        ),
        wait_for_index=WaitForIndex(
            parts.store, silent_s, parts.clock, time.sleep, settings.create_wait_s
        ),
        model=settings.model,
        rerank_models=settings.rerank_models,
    )


def _sweep_rounds(parts: Parts) -> SweepRounds:
    settings = parts.settings
    silent_s, idle_s = settings.silent_after_s, settings.cleanup_idle_s
    return SweepRounds(parts.store, settings.cleanup_every_s, silent_s, idle_s, PAGE)
