"""The deployed parts in one process over a real Postgres; all else outside is in memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from context_search.catalog.tools import NewSearchTool
from context_search.composition.parts import Parts
from context_search.core.callers import ProjectKey
from context_search.core.config import IndexConfig, SearchConfig
from context_search.core.messages import MESSAGE_ID, message_from_json
from context_search.core.model import Scope
from context_search.integrations.ports import Deadline
from context_search.settings import Settings
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.queue import ListQueue
from testing.in_memory.vectors import DictVectors
from testing.use_cases import EveryUseCase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_search.core.model import Table
    from context_search.integrations.ports import Embedder

CONFIG = IndexConfig("in-memory/words", 16, threshold=20, chunk_size=300, chunk_overlap=0)
LAMBDA_S = 900.0


class OneProcess(Parts):
    """Creates, works and cleans up one after the other."""

    def __init__(self, database_url: str) -> None:
        """``database_url``: where the tables are."""
        super().__init__(
            Settings(
                database_url=database_url,
                queue_url="",
                dead_letter_queue_url="",
                turbopuffer_api_key="unused",
                turbopuffer_base_url="http://127.0.0.1:9",
                embedding_model=CONFIG.model,
                embedding_dimensions=CONFIG.dimensions,
                internal_secret="unused" * 6,  # nobody else can ask
                query_hash_key="unused" * 6,
            )
        )

    @cached_property
    def vectors(self) -> DictVectors:  # type: ignore[override]
        """turbopuffer in memory."""
        return DictVectors()

    @cached_property
    def queue(self) -> ListQueue:  # type: ignore[override]
        """The queue in memory."""
        return ListQueue()

    def embedder_of(self, config: IndexConfig) -> Embedder:
        """A model that costs nothing."""
        return WordEmbedder(config.dimensions)

    @cached_property
    def use_cases(self) -> EveryUseCase:
        """What all functions do with these parts."""
        return EveryUseCase(self)

    def table(self, document: object) -> Table:
        """Returns a new table of a new project."""
        with self.store.for_all("create a project") as work:
            owner = ProjectKey(work.projects.add("project").id)
        return self.use_cases.tables.create(owner, "table", None, document)

    def ready_tools(self, table: Table, scopes: Sequence[str]) -> list[int]:
        """Returns new Search Tools over parts of a table, complete; all of them share an index."""
        tools = [
            NewSearchTool(
                table.project_id, "search", None, Scope(table.id, scope), CONFIG, SearchConfig()
            )
            for scope in scopes
        ]
        made = [self.use_cases.tools.tools.create(tool).tool.id for tool in tools]
        self.work()
        self.clean()
        return made

    def work(self) -> None:
        """Handles messages until there are none. Raises what a worker reports."""
        worker, messages = self.use_cases.worker, self.queue.messages
        while messages:
            body = messages.pop(0)
            message, message_id = message_from_json(body), body.get(MESSAGE_ID)
            if message is None or not isinstance(message_id, int):
                raise ValueError("an order that nobody can read")
            done = worker.execute(message, self._in_time(), message_id=message_id)
            if done.error is not None:
                raise done.error

    def clean(self) -> None:
        """Runs cleanup, and what it orders. Raises RuntimeError when a step fails."""
        report = self.use_cases.cleanup.run(self._in_time())
        if report.errors:
            raise RuntimeError(f"cleanup: {report.errors}")
        self.work()

    def close(self) -> None:
        """Closes the connections."""
        for store in (self.postgres, self.patient_postgres):
            store.database.close()

    def _in_time(self) -> Deadline:
        return Deadline(self.clock, self.clock.monotonic() + LAMBDA_S)
