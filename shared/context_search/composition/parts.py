"""Everything that a function can be asked to do, each part made on first use."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from context_search.composition.access import AccessParts
from context_search.core.billed import BillingMeter
from context_search.core.config import IndexConfig, Model
from context_search.core.errors import ContextSearchError
from context_search.indexing.outbox_delivery import Deliver, OnUse, SendingStore
from context_search.integrations.ports import Deadline, Embedder
from context_search.integrations.secrets import with_secrets
from context_search.live_settings import LiveSettings
from context_search.postgres.pool import Database
from context_search.postgres.store import PostgresStore
from context_search.postgres.url import DatabaseUrl
from context_search.ranking.search import query_hash
from context_search.settings import Settings, environment
from context_search.store import Store

if TYPE_CHECKING:
    from context_search.catalog.compare_versions import CompareVersions
    from context_search.catalog.history_settings import ManageHistorySettings
    from context_search.catalog.imports import ImportDocument
    from context_search.catalog.routes.tools import ToolUseCases
    from context_search.catalog.tables import ManageTables
    from context_search.catalog.uploads import ManageUploads
    from context_search.catalog.versions import ManageVersions
    from context_search.composition.reading import ReadingParts
    from context_search.composition.searching import SearchingParts
    from context_search.indexing.completion import Settler
    from context_search.indexing.enumeration import Comparer, Limits
    from context_search.indexing.indexer import Indexer
    from context_search.indexing.rebuilds import Rebuilds
    from context_search.indexing.worker import Worker
    from context_search.integrations.ports import Objects
    from context_search.integrations.sqs import SqsQueue
    from context_search.integrations.turbopuffer import TurbopufferVectors
    from context_search.maintenance.cleanup import Cleanup, CleanupLimits
    from context_search.maintenance.part_checks import PartCheck
    from context_search.maintenance.readiness import Readiness
    from context_search.maintenance.routes.project_index import ProjectIndexUseCases
    from context_search.maintenance.routes.rebuilds import OperationUseCases
    from context_search.maintenance.scheduled_cleanup import ScheduledCleanup
    from context_search.maintenance.sweep_round import SweepRounds
    from context_search_editing.composition import EditingParts

STATEMENT_MS = 10_000
# Postgres takes 5 s for 250 MB on a fast machine; the function has 120.
IMPORT_STATEMENT_MS = 80_000
EMBED_TIMEOUT_S = 30.0


class Parts(LiveSettings):
    """The outside parts of a process, and the use cases over them."""

    answers_within_s = 5.0
    """Seconds that a part has to say that it is well; all are asked at once."""

    def __init__(
        self, settings: Settings, read_again: Callable[[], Settings] | None = None
    ) -> None:
        super().__init__(settings, read_again)
        self._embedders: dict[tuple[str, int], Embedder] = {}
        self.meter = BillingMeter()

    @cached_property
    def postgres(self) -> PostgresStore:
        """Postgres, which delivers nothing."""
        return PostgresStore(self._connecting(STATEMENT_MS))

    @property
    def deliver(self) -> Deliver:
        """Sends orders; those of twice as many as there are workers at once."""
        window = 2 * self.settings.index_concurrency
        return Deliver(self.postgres, OnUse(lambda: self.queue), _tell_of, window)

    @property
    def store(self) -> Store:
        """Postgres; what a transaction sends leaves when it has committed."""
        return SendingStore(self.postgres, self.deliver)

    def _connecting(self, statement_timeout_ms: int) -> Database:
        return Database(
            DatabaseUrl.parse(self.settings.database_url),
            max_connections=self.settings.database_connections,
            connect_timeout_s=self.settings.database_connect_s,
            statement_timeout_ms=statement_timeout_ms,
            instead_of=lambda refused: self.instead_of(
                refused, lambda settings: DatabaseUrl.parse(settings.database_url)
            ),
        )

    @cached_property
    def vectors(self) -> TurbopufferVectors:
        """turbopuffer."""
        from context_search.integrations.turbopuffer import TurbopufferVectors  # noqa: PLC0415

        return TurbopufferVectors(
            api_key=self.settings.turbopuffer_api_key,
            region=self.settings.turbopuffer_region,
            base_url=self.settings.turbopuffer_base_url,
            instead_of=lambda refused: self.instead_of(
                refused, lambda settings: settings.turbopuffer_api_key
            ),
            on_billed=self.meter.add,
        )

    @cached_property
    def queue(self) -> SqsQueue:
        """SQS."""
        from context_search.integrations.sqs import SqsQueue, sqs_client  # noqa: PLC0415

        settings = self.settings
        return SqsQueue(sqs_client(), settings.queue_url, settings.dead_letter_queue_url)

    def embedder_of(self, config: IndexConfig) -> Embedder:
        """The embedding model that an index was built with."""
        from context_search.composition.models import embedder  # noqa: PLC0415

        key = (config.model, config.dimensions)
        if key not in self._embedders:
            self._embedders[key] = embedder(config, self, self.meter.add)
        return self._embedders[key]

    def deadline(self, context: Any) -> Deadline:
        """Returns when Lambda will stop this invocation."""
        left_s = context.get_remaining_time_in_millis() / 1000
        return Deadline(self.clock, self.clock.monotonic() + left_s)

    @cached_property
    def objects(self) -> Objects:
        """S3."""
        from context_search.integrations.s3 import S3Objects, s3_client  # noqa: PLC0415

        return S3Objects(s3_client(), self.settings.upload_bucket)

    @cached_property
    def patient_postgres(self) -> PostgresStore:
        """Postgres, with time for a large document: a connection of its own."""
        return PostgresStore(self._connecting(IMPORT_STATEMENT_MS))

    @property
    def patient_store(self) -> Store:
        """The patient Postgres, with its delivery."""
        return SendingStore(self.patient_postgres, self.deliver)

    @cached_property
    def import_document(self) -> ImportDocument:
        """The order ``import``."""
        from context_search.catalog.imports import ImportDocument  # noqa: PLC0415
        from context_search.catalog.record_versions import RecordVersions  # noqa: PLC0415
        from context_search.catalog.rules.uploads import longest_document  # noqa: PLC0415

        return ImportDocument(
            self.store,
            self.patient_store,
            self.objects,
            RecordVersions(longest_document(self.settings.memory_bytes)),
            self.settings.upload_max_bytes,
            self.settings.memory_bytes,
            self.settings.project_bounds,
        )

    @cached_property
    def uploads(self) -> ManageUploads:
        """The use cases of uploads."""
        from context_search.catalog.uploads import ManageUploads  # noqa: PLC0415

        return ManageUploads(
            self.store, self.objects, self.settings.upload_max_bytes, self.settings.project_bounds
        )

    # What the queue and the schedule ask for

    @property
    def worker(self) -> Worker:
        """What workers do with their orders; each kind is made for its first one."""
        from context_search.composition.indexing import worker_of  # noqa: PLC0415

        return worker_of(self, _tell_of)

    @property
    def limits(self) -> Limits:
        """What one node may be at most."""
        from context_search.indexing.enumeration import Limits  # noqa: PLC0415

        return Limits(self.settings.max_node_chars, self.settings.max_node_chunks)

    @property
    def model(self) -> Model:
        """What new indexes are built with."""
        return Model(
            name=self.settings.embedding_model,
            dimensions=self.settings.embedding_dimensions,
            window_tokens=self.settings.embedding_window_tokens,
            price=self.settings.embedding_price,
            precision=self.settings.vector_precision,
        )

    @property
    def settler(self) -> Settler:
        """What follows when a node is done."""
        from context_search.indexing.completion import Settler  # noqa: PLC0415

        return Settler(self.store, self.settings.silent_after_s)

    @cached_property
    def indexer(self) -> Indexer:
        """The orders ``node`` and ``nodes``."""
        from context_search.budgets.spending import Spending  # noqa: PLC0415
        from context_search.indexing.chunk_vectors import ChunkVectors  # noqa: PLC0415
        from context_search.indexing.indexer import Indexer, IndexLimits  # noqa: PLC0415

        return Indexer(
            store=self.store,
            vectors=self.vectors,
            chunk_vectors=ChunkVectors(
                self.store,
                self.vectors,
                self.embedder_of,
                EMBED_TIMEOUT_S,
                Spending(self.store, self.clock, self.settings.daily_limits),
            ),
            settler=self.settler,
            clock=self.clock,
            limits=IndexLimits(
                lease_s=self.settings.index_lease_s, project=self.settings.project_limits
            ),
        )

    @cached_property
    def comparer(self) -> Comparer:
        """The order ``enumerate``."""
        from context_search.indexing.enumeration import Comparer  # noqa: PLC0415

        return Comparer(self.store, self.settler, self.limits)

    @cached_property
    def cleanup(self) -> Cleanup:
        """The scheduled run."""
        from context_search.indexing.outbox_delivery import RelayOutbox  # noqa: PLC0415
        from context_search.maintenance.cleanup import Cleanup  # noqa: PLC0415
        from context_search.maintenance.sweep import Sweep  # noqa: PLC0415
        from context_search_editing.executing import keep_plans_step  # noqa: PLC0415

        return Cleanup(
            store=self.store,
            vectors=self.vectors,
            relay=RelayOutbox(self.store, self.deliver),
            settler=self.settler,
            sweep=Sweep(self.store, self.vectors),
            sweep_rounds=self._sweep_rounds,
            uploads=self.uploads,
            limits=self._cleanup_limits,
            further=[keep_plans_step(self.store, silent_s=self.settings.silent_after_s)],
        )

    @property
    def _cleanup_limits(self) -> CleanupLimits:
        from context_search.maintenance.cleanup import CleanupLimits  # noqa: PLC0415

        return CleanupLimits(
            self.settings.silent_after_s,
            self.settings.delete_grace_s,
            project=self.settings.project_limits,
            deletes_unknown=self.settings.delete_unknown_namespaces,
            idle_s=60.0 * self.settings.cleanup_idle_minutes,
        )

    @property
    def _sweep_rounds(self) -> SweepRounds:
        from context_search.maintenance.sweep import PAGE  # noqa: PLC0415
        from context_search.maintenance.sweep_round import SweepRounds  # noqa: PLC0415

        every_s, swept_after_s = self.settings.cleanup_every_s, self._cleanup_limits.swept_after_s
        return SweepRounds(self.store, every_s, swept_after_s, PAGE)

    @cached_property
    def scheduled_cleanup(self) -> ScheduledCleanup:
        """When the scheduled run works and when it rests."""
        from context_search.maintenance.scheduled_cleanup import ScheduledCleanup  # noqa: PLC0415

        return ScheduledCleanup(self.cleanup, self.clock)

    # Whole projects

    @cached_property
    def project_index(self) -> ProjectIndexUseCases:
        """The use cases of the index over all tables of a project."""
        from context_search.indexing.project_index import ProjectIndexes  # noqa: PLC0415
        from context_search.maintenance.routes.project_index import ProjectIndexUseCases  # noqa: PLC0415

        indexes = ProjectIndexes(
            self.store, self.model, self.settings.silent_after_s, self.settings.daily_limits
        )
        return ProjectIndexUseCases(
            indexes, self._rebuilds, self.reading.strings, self.operations.operate
        )

    @property
    def _rebuilds(self) -> Rebuilds:
        from context_search.indexing.rebuilds import Rebuilds  # noqa: PLC0415

        return Rebuilds(self.store, self.model, self.settings.daily_limits)

    # The features

    @cached_property
    def access(self) -> AccessParts:
        """Who may do what."""
        return AccessParts(self.store, self)

    @cached_property
    def searching(self) -> SearchingParts:
        """Searches over HTTP and MCP."""
        from context_search.composition.searching import SearchingParts  # noqa: PLC0415

        return SearchingParts(
            self.store,
            self,
            self.access,
            lambda: self.vectors,
            self.embedder_of,
            self.meter.add,
            self.hash_of,
            lambda: self.editing.agent_tools,
        )

    @cached_property
    def editing(self) -> EditingParts:
        """Search and replace."""
        from context_search_editing.composition import EditingParts  # noqa: PLC0415

        return EditingParts(self.store, self, self.patient_store, self.hash_of)

    # What is asked over HTTP and MCP

    @cached_property
    def reading(self) -> ReadingParts:
        """What a console stands on."""
        from context_search.composition.reading import ReadingParts  # noqa: PLC0415

        issuer = self.access.token_issuer
        return ReadingParts(
            self.store, self.settings, self.model, issuer, self.clock, self._outside_checks
        )

    @cached_property
    def readiness(self) -> Readiness:
        """Whether Postgres answers, and what else is asked of no model."""
        from context_search.maintenance.part_checks import PartCheck  # noqa: PLC0415
        from context_search.maintenance.readiness import Readiness, ask_database  # noqa: PLC0415

        database = PartCheck(
            "database",
            lambda: ask_database(self.store, self.clock),
            self.clock,
            self.answers_within_s,
        )
        vectors, _, queue = self._outside_checks
        return Readiness(database, (vectors, queue))

    @cached_property
    def _outside_checks(self) -> tuple[PartCheck, PartCheck, PartCheck]:
        """The vector store, the model and the queue."""
        from context_search.indexing.project_index import project_config  # noqa: PLC0415
        from context_search.maintenance.part_checks import PartCheck  # noqa: PLC0415

        within_s = self.answers_within_s
        config = project_config(self.model)
        return (
            PartCheck(
                "vector_store",
                lambda: self.vectors.ping(timeout_s=within_s),
                self.clock,
                within_s,
            ),
            PartCheck(
                "embedder",
                lambda: self.embedder_of(config).embed_query("ping", timeout_s=within_s),
                self.clock,
                within_s,
                prepare=lambda: self.embedder_of(config).warm_up(),
            ),
            PartCheck(
                "queue",
                lambda: self.queue.is_empty(),  # noqa: PLW0108 - lazily
                self.clock,
                within_s,
            ),
        )

    @cached_property
    def tables(self) -> ManageTables:
        """The use cases of projects and tables."""
        from context_search.catalog.tables import (  # noqa: PLC0415
            MAX_CHANGED_BYTES,
            ManageTables,
        )

        most = min(MAX_CHANGED_BYTES, self.editing.longest_document)
        bounds = self.settings.project_bounds
        return ManageTables(self.store, max_changed_bytes=most, bounds=bounds)

    @property
    def versions(self) -> ManageVersions:
        """The use cases of versions."""
        from context_search.catalog.versions import ManageVersions  # noqa: PLC0415

        return ManageVersions(self.store, bounds=self.settings.project_bounds)

    @property
    def compare_versions(self) -> CompareVersions:
        """The differences of versions."""
        from context_search.catalog.compare_versions import CompareVersions  # noqa: PLC0415

        return CompareVersions(self.store)

    @property
    def history_settings(self) -> ManageHistorySettings:
        """How much of the past a project keeps."""
        from context_search.catalog.history_settings import ManageHistorySettings  # noqa: PLC0415

        return ManageHistorySettings(self.store)

    @cached_property
    def tools(self) -> ToolUseCases:
        """The use cases of Search Tools."""
        from context_search.catalog.routes.tools import ToolUseCases  # noqa: PLC0415
        from context_search.catalog.tools import ManageTools  # noqa: PLC0415
        from context_search.indexing.status import ToolStatuses  # noqa: PLC0415

        silent_s = self.settings.silent_after_s
        return ToolUseCases(
            tools=ManageTools(
                self.store,
                self.limits,
                silent_s,
                self.settings.project_bounds,
                self.settings.daily_limits,
            ),
            statuses=ToolStatuses(
                self.store, silent_s, self.clock, time.sleep, self.settings.create_wait_s
            ),
            model=self.model,
            rerank_models=self.settings.rerank_models,
        )

    @cached_property
    def operations(self) -> OperationUseCases:
        """The use cases of operators."""
        from context_search.catalog.list_projects import ListProjects  # noqa: PLC0415
        from context_search.indexing.rebuild_all import RebuildAll  # noqa: PLC0415
        from context_search.maintenance.operations import Operate, Redrive  # noqa: PLC0415
        from context_search.maintenance.routes.rebuilds import OperationUseCases  # noqa: PLC0415

        return OperationUseCases(
            rebuilds=self._rebuilds,
            operate=Operate(self.store, self.settings.silent_after_s, self._sweep_rounds),
            redrive=Redrive(self.store, self.queue),
            projects=ListProjects(self.store),
            everywhere=RebuildAll(self.store, self._rebuilds),
        )

    def hash_of(self, query: str) -> str:
        """What logs say instead of a question."""
        return query_hash(self.fresh_settings.query_hash_key, query)


def _tell_of(error: ContextSearchError) -> None:
    """Writes why orders wait for ``cleanup``."""
    fields = {"code": error.code, "detail": error.message}
    logging.getLogger(__name__).warning("orders wait in the book", extra=fields)


@lru_cache(maxsize=1)
def parts() -> Parts:
    """Returns the parts of this process, made from its environment."""
    return Parts(_settings(), _settings)


def _settings() -> Settings:
    """Returns the settings as they are now. Raises ContextSearchError for unusable ones."""
    settings = Settings.from_environ(with_secrets(environment()))
    DatabaseUrl.parse(settings.database_url)  # rather here than when a connection is needed
    return settings
