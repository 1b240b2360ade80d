"""The real pipeline on one machine: services, PostgreSQL, turbopuffer SDK and model."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from context_search.budgets.spending import NO_LIMITS, Spending
from context_search.catalog.tables import ManageTables
from context_search.catalog.tools import ManageTools, NewSearchTool
from context_search.core.callers import ProjectKey
from context_search.core.config import IndexConfig, Precision, SearchConfig
from context_search.core.errors import QueryEmptyError, SearchUnavailableError
from context_search.core.messages import MESSAGE_ID, message_from_json
from context_search.core.model import Index, Scope, SearchTool
from context_search.indexing.calibrate import Calibrator
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.completion import LEAST_CHUNKS, IndexCompletion
from context_search.indexing.indexer import Indexer, IndexLimits
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.indexing.use_index import IndexUse
from context_search.indexing.vector_rows import ChunkVectors
from context_search.indexing.worker import Worker, WorkerOutbox
from context_search.integrations.ports import Deadline, Embedder, SystemClock
from context_search.integrations.turbopuffer import TurbopufferVectors
from context_search.postgres.migrations import apply
from context_search.postgres.pool import Database
from context_search.postgres.url import DatabaseUrl
from context_search.ranking.measures import DEPTH, TextRange
from context_search.ranking.search import Question, QuestionLimits
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search import Searcher, SearchLimits, searcher
from context_search.store import PostgresStore
from context_search.text.analysis import query_weights
from evaluation.candidates import JudgedQuestion
from local.postgres import PostgresServer
from testing.in_memory.queue import ListQueue, unexpected
from testing.in_memory.reranker import no_reranker

PRINCIPAL = ProjectKey(1)
WINDOW_TOKENS = 250
ASKED = QuestionLimits(top_k=DEPTH, is_whole=True, seconds=120.0)
SILENT_S = 600.0
RUN_S = 36_000.0
"""A transformer without its vectors' file takes an hour for a large set."""


class Pipeline:
    """Indexes documents with threshold 1 and answers questions about them.

    With ``calibrates`` an index calibrates itself as a deployment's does.
    """

    def __init__(
        self,
        database: Database,
        turbopuffer_url: str,
        embedder: Embedder,
        config: IndexConfig,
        *,
        calibrates: bool = True,
    ) -> None:
        self._clock = SystemClock()
        self._database = database
        self._queue = ListQueue()
        self._store = OutboxDelivery(PostgresStore(database), self._queue, unexpected)
        self._vectors = TurbopufferVectors(api_key="evaluation", base_url=turbopuffer_url)
        self._embedder = embedder
        self._config = config
        self._calibrates_from = LEAST_CHUNKS if calibrates else None

    def index(self, name: str, document: object) -> int:
        """Indexes a document, and returns the id of its table."""
        table_id = ManageTables(self._store).create(PRINCIPAL, name, None, document).id
        self.tool(table_id, SearchConfig())
        while self._queue.messages:
            body = self._queue.messages.pop(0)
            message, message_id = message_from_json(body), int(str(body[MESSAGE_ID]))
            assert message is not None  # noqa: S101 - all kinds are of this release
            deadline = Deadline(self._clock, self._clock.monotonic() + RUN_S)
            done = self._worker.execute(message, deadline, message_id=message_id)
            if done.error is not None:
                raise done.error
        return table_id

    def tool(self, table_id: int, search: SearchConfig) -> SearchTool:
        """Returns a new Search Tool over a whole table; all share its index."""
        tools = ManageTools(self._store, Limits(), SILENT_S)
        new = NewSearchTool(1, "search", None, Scope(table_id), self._config, search)
        return tools.create(new).tool

    def ask(self, tool: SearchTool, text: str) -> JudgedQuestion | None:
        """Returns the answer to a question with every hit; None where search refuses it.

        Raises SearchUnavailableError when a part failed: such an answer says nothing.
        """
        searched = SearchedTool.by(PRINCIPAL, tool.id)
        try:
            answer = self._searcher.search(searched, text, ASKED)
        except QueryEmptyError:
            return None
        if answer.degraded:
            failed = f"the search was degraded: {', '.join(answer.degraded)}"
            raise SearchUnavailableError(failed, retry_after_s=1)
        question = Question(
            text=text,
            words=query_weights(text),
            strategy=answer.target.search.strategy,
            candidates=ASKED.candidates,
            asked_at=self._clock.now(),
        )
        return JudgedQuestion(answer, question)

    def chunks(self, tool: SearchTool) -> dict[TextRange, str]:
        """Returns every chunk of a tool's index, for a baseline on the same chunks."""
        with self._database.transaction() as tx:
            rows = tx.run(
                "SELECT json_pointer, char_start, char_end, chunk_text FROM chunks"
                " WHERE table_id = :id",
                id=tool.scope.table_id,
            )
        return {TextRange(pointer, start, end): text for pointer, start, end, text in rows}

    @property
    def _completion(self) -> IndexCompletion:
        return IndexCompletion(self._store, SILENT_S, self._calibrates_from)

    @cached_property
    def _worker(self) -> Worker:
        compare = Comparer(self._store, self._completion, Limits()).compare
        outbox = WorkerOutbox(self._store)
        calibrator = Calibrator(self._store, self._vectors, self._embedder_of, self._clock, RUN_S)
        return Worker(
            outbox,
            self._indexer.index,
            compare,
            _no_uploads,
            _no_plans,
            calibrator.run,
            unexpected,
        )

    @cached_property
    def _indexer(self) -> Indexer:
        return Indexer(
            store=self._store,
            vectors=self._vectors,
            chunk_vectors=ChunkVectors(
                self._store,
                self._vectors,
                self._embedder_of,
                RUN_S,
                Spending(self._store, self._clock),
            ),
            completion=self._completion,
            clock=self._clock,
            limits=IndexLimits(),
        )

    @cached_property
    def _searcher(self) -> Searcher:
        use_index = IndexUse(self._store, self._calibrates_from)
        return searcher(
            self._store,
            self._vectors,
            self._embedder_of,
            no_reranker,
            use_index,
            self._clock,
            time.sleep,
            SearchLimits(SILENT_S, Timeouts(), NO_LIMITS),
        )

    def _embedder_of(self, _: IndexConfig | Index) -> Embedder:
        return self._embedder


def _no_uploads(upload_id: int) -> str:
    raise ValueError(f"nobody uploaded {upload_id}")


def _no_plans(plan_id: int, _: Deadline) -> str:
    raise ValueError(f"nobody has planned {plan_id}")


def config_for(
    embedder: Embedder, window_tokens: int = WINDOW_TOKENS, precision: Precision = "f32"
) -> IndexConfig:
    """Returns what an index is built with: every string is long enough."""
    return IndexConfig(
        embedder.model,
        embedder.dimensions,
        threshold=1,
        window_tokens=window_tokens,
        precision=precision,
    )


@contextmanager
def running(
    embedder: Embedder, config: IndexConfig, *, calibrates: bool = True
) -> Iterator[Pipeline]:
    """Gives a pipeline over servers of its own, which stop with it."""
    with tempfile.TemporaryDirectory() as directory, _database(Path(directory)) as database:
        command = [sys.executable, "-m", "local.child", "local.turbopuffer"]
        with subprocess.Popen(
            [*command, "--data", directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stdout is not None  # noqa: S101 - a pipe was asked for
            try:
                url = server.stdout.readline().split()[-1]
                yield Pipeline(database, url, embedder, config, calibrates=calibrates)
            finally:
                server.terminate()


@contextmanager
def _database(directory: Path) -> Iterator[Database]:
    """Gives an empty database with one project, whose server and files go at the end."""
    server = PostgresServer(directory / "postgres")
    server.start()
    try:
        url = DatabaseUrl.parse(server.url)
        apply(url)
        database = Database(url)
        ManageTables(PostgresStore(database)).create_project("evaluation")
        yield database
        database.close()
    finally:
        server.wipe()
