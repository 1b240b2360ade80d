"""The deployed parts with short patience, and every outside call behind a gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from context_search.catalog.tools import NewSearchTool
from context_search.catalog.versions import prune_versions
from context_search.composition.parts import Parts
from context_search.core.callers import Internal, ProjectKey
from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.messages import MESSAGE_ID, message_from_json
from context_search.core.model import Scope
from context_search.indexing.indexer import Indexer
from context_search.integrations.ports import Deadline, Embedder, MessageBody, Queue
from context_search.integrations.turbopuffer import TurbopufferVectors
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.settings import Settings
from context_search.store import PostgresStore
from context_search_editing.keeping import keep_plans
from context_search_editing.previewing import AskedReplacement, PreviewLimits
from context_search_editing.rules.plans import Choice
from context_search_editing.rules.replacing import ReplaceRequest
from testing.in_memory.embedder import WordEmbedder
from testing.use_cases import EveryUseCase
from tests.faults.chaos.gate import Gate, GatedEmbedder, GatedQueue, GatedStore, GatedVectors

if TYPE_CHECKING:
    from context_search.maintenance.cleanup import Cleanup
    from context_search_editing.executing import ExecutedPlan

KEY = "chaos-of-32-characters-or-more!!"
DIMENSIONS = 16
CONFIG = IndexConfig(
    "in-memory/words", DIMENSIONS, threshold=20, chunk_size=60, chunk_overlap=6, window_tokens=8
)
LEASE_S = 1.5
SILENT_S = 0.3
GRACE_S = 0.3
KEEP_S = 0.5
CHUNKS_PER_BATCH = 1
LAMBDA_S = 120.0


class ImpatientUseCases(EveryUseCase):
    """With small batches, small pages and little patience."""

    @cached_property
    def indexer(self) -> Indexer:
        """With small batches, so that there are several."""
        usual = super().indexer
        return replace(usual, limits=replace(usual.limits, batch_chunks=CHUNKS_PER_BATCH))

    @cached_property
    def cleanup(self) -> Cleanup:
        """With small pages and little patience."""
        usual = super().cleanup
        return replace(
            usual,
            sweep=replace(usual.sweep, page=5),
            limits=replace(usual.limits, keep_previous_s=KEEP_S),
        )


class ChaosParts(Parts):
    """One process: its own connections, its own gate."""

    def __init__(
        self,
        database_url: str,
        turbopuffer_url: str,
        queue: Queue,
        *,
        connections: int = 2,
        application_name: str = "chaos",
    ) -> None:
        super().__init__(
            Settings(
                database_url=database_url,
                queue_url="",
                dead_letter_queue_url="",
                turbopuffer_api_key=KEY,
                turbopuffer_base_url=turbopuffer_url,
                embedding_model=CONFIG.model,
                embedding_dimensions=DIMENSIONS,
                embedding_window_tokens=CONFIG.window_tokens,
                internal_secret=KEY,
                query_hash_key=KEY,
                index_lease_s=LEASE_S,
                index_concurrency=12,  # room for what every killed worker began
                silent_after_s=SILENT_S,
                delete_grace_s=GRACE_S,
            )
        )
        self.gate = Gate()
        self.database = Database(
            DatabaseUrl.parse(database_url),
            max_connections=connections,
            acquire_timeout_s=60,
            statement_timeout_ms=30_000,  # a busy machine is no fault of the code
            lock_timeout_ms=30_000,
            application_name=application_name,
        )
        self.embedder: Embedder | None = None
        self._queue = queue

    @cached_property
    def postgres(self) -> GatedStore:  # type: ignore[override]
        """Postgres."""
        return GatedStore(PostgresStore(self.database), self.gate)

    @cached_property
    def patient_postgres(self) -> GatedStore:  # type: ignore[override]
        """Postgres, behind the same gate."""
        return self.postgres

    @cached_property
    def vectors(self) -> GatedVectors:  # type: ignore[override]
        """turbopuffer."""
        url = self.settings.turbopuffer_base_url
        return GatedVectors(TurbopufferVectors(api_key=KEY, base_url=url), self.gate)

    @cached_property
    def queue(self) -> GatedQueue:  # type: ignore[override]
        """The queue that the caller gave."""
        return GatedQueue(self._queue, self.gate)

    def embedder_of(self, config: IndexConfig) -> Embedder:
        """Vectors from words, unless a test put another embedder there."""
        return GatedEmbedder(self.embedder or WordEmbedder(config.dimensions), self.gate)

    @cached_property
    def use_cases(self) -> ImpatientUseCases:
        """What all functions do with these parts."""
        return ImpatientUseCases(self)

    def in_time(self) -> Deadline:
        """A deadline from now."""
        return Deadline(self.clock, self.clock.monotonic() + LAMBDA_S)

    def handle(self, body: MessageBody) -> None:
        """Does what a message says, as the function does. Raises what the services raise."""
        order = message_from_json(body)
        assert order is not None
        message_id = body.get(MESSAGE_ID)
        assert isinstance(message_id, int)
        done = self.use_cases.worker.execute(order, self.in_time(), message_id=message_id)
        if done.error is not None:
            raise done.error

    @cached_property
    def orders(self) -> dict[str, Callable[..., object]]:
        """All that a test may have done by a process or over a connection that will not live."""
        use = self.use_cases
        tables, tools, rebuilds, cleanup = use.tables, use.tools, use.rebuilds, use.cleanup
        return {
            "handle": self.handle,
            "cleanup": lambda: cleanup.run(self.in_time()),
            "create_tool": lambda project, table, scope: tools.tools.create(
                wanted_tool(project, table, scope)
            ),
            "replace": lambda project, table, document: tables.replace(
                ProjectKey(project), table, document
            ),
            "delete_table": lambda project, table: tables.delete(ProjectKey(project), table),
            "delete_tool": lambda project, tool: tools.tools.delete(ProjectKey(project), tool),
            "start_rebuild": lambda tool: rebuilds.start(tool, Internal()),
            "roll_back": lambda tool: rebuilds.roll_back(tool, Internal()),
            "restore": lambda project, table, revision: use.versions.restore(
                ProjectKey(project), table, revision
            ),
            "preview": self.preview,
            "execute": self.execute,
            "undo": self.undo,
            "forget": self.forget,
        }

    def preview(self, project: int, find: str, replace_with: str, max_bytes: int) -> int:
        """Previews a replacement and returns the plan; a worker looks through what is larger."""
        usual = self.use_cases.editing.preview
        previews = replace(usual, limits=PreviewLimits(bytes=max_bytes))
        asked = AskedReplacement(ReplaceRequest(find, replace_with))
        return previews.start(ProjectKey(project), asked).plan.id

    def execute(self, project: int, plan: int, digest: str) -> ExecutedPlan:
        """Executes all matches of a plan."""
        return self.use_cases.editing.execute.execute(
            ProjectKey(project), plan, bytes.fromhex(digest), Choice(), request_id=None
        )

    def undo(self, project: int, plan: int) -> ExecutedPlan:
        """Undoes a plan."""
        return self.use_cases.editing.undo.undo(
            ProjectKey(project), plan, on_conflict="abort", dry_run=False, request_id=None
        )

    def forget(self) -> None:
        """What cleanup does with plans and versions that nobody needs any more."""
        keep_plans(self.store, silent_s=SILENT_S)
        prune_versions(self.store)


def wanted_tool(
    project_id: int, table_id: int, scope: str = "", config: IndexConfig = CONFIG
) -> NewSearchTool:
    """What a caller asks for who wants a tool."""
    return NewSearchTool(
        project_id=project_id,
        name="search",
        description=None,
        scope=Scope(table_id, scope),
        index=config,
        search=SearchConfig(),
    )
