"""The real use cases over the model of the store, with one table and hands to work with."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from context_search.access.lookup import live_tool, opened_for
from context_search.budgets.spending import NO_LIMITS, Spending
from context_search.catalog.imports import ImportDocument
from context_search.catalog.tables import ManageTables
from context_search.catalog.tools import ManageTools, NewSearchTool
from context_search.core.callers import Caller, ProjectKey
from context_search.core.config import IndexConfig, Model, SearchConfig
from context_search.core.errors import ContextSearchError
from context_search.core.messages import message_from_json
from context_search.core.model import Scope, Table
from context_search.indexing.calibrate import Calibrator
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.completion import LEAST_CHUNKS, IndexCompletion
from context_search.indexing.indexer import Indexer, IndexLimits
from context_search.indexing.node_report import RetryLater
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.indexing.rebuilds import Rebuilds
from context_search.indexing.status import ToolStatus, WaitForIndex, tool_status
from context_search.indexing.use_index import IndexUse
from context_search.indexing.vector_rows import ChunkVectors
from context_search.indexing.worker import HandledMessage, Worker, WorkerOutbox
from context_search.integrations.ports import Deadline, Embedder, MessageBody, Reranker
from context_search.maintenance.cleanup import Cleanup, Step
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.sweep import Sweep, SweepRounds
from context_search.ranking.search import QuestionLimits, SearchResult
from context_search.searching.rules.searched import SearchedTool
from context_search.searching.rules.timeouts import Timeouts
from context_search.searching.search import Searcher, SearchLimits, searcher
from context_search.searching.targets import Searches
from context_search.store import Store
from context_search_editing.executing import ExecutePlans
from context_search_editing.executing_in_worker import OneByOne, PlanWorker
from context_search_editing.keeping import keep_plans_step
from context_search_editing.previewing import PreviewReplacements
from context_search_editing.undoing import UndoPlans
from context_search_editing.write_documents import WriteDocuments
from testing.in_memory.clock import ManualClock
from testing.in_memory.embedder import WordEmbedder
from testing.in_memory.objects import DictObjects
from testing.in_memory.patterns import RePatterns
from testing.in_memory.queue import ListQueue
from testing.in_memory.reranker import no_reranker
from testing.in_memory.vectors import DictVectors
from tests.faults.simulation.model.store import ModelStore

SILENT_S = 60.0
WORDS = re.findall(
    r"\w+",
    """harbour winter garden meadow notary quarry railway tenant valley orchard ledger kitchen
    inquiry estate engine dividend century carrier budget archive""",
)


class MoodyEmbedder(WordEmbedder):
    """Raises the errors that it was given, one per call, before it works again.

    ``refused`` are texts that it never takes; ``calls`` says how many came at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[ContextSearchError] = []
        self.refused: dict[str, ContextSearchError] = {}
        self.calls: list[int] = []

    def embed_passages(self, texts: Sequence[str], *, timeout_s: float) -> list[list[float]]:
        self.calls.append(len(texts))
        if self.errors:
            raise self.errors.pop(0)
        for text in texts:
            if text in self.refused:
                raise self.refused[text]
        return super().embed_passages(texts, timeout_s=timeout_s)


class System:
    """Everything that a test of the services touches, over ``store`` or else the model."""

    def __init__(
        self,
        queue: ListQueue | None = None,
        *,
        store: Store | None = None,
        calibrates_from: int | None = LEAST_CHUNKS,
        **config: object,
    ) -> None:
        self.clock = ManualClock()
        self.model_store = ModelStore(self.clock)
        self.vectors = DictVectors()
        self.queue = queue or ListQueue()
        self.undelivered: list[ContextSearchError] = []
        self.report = self.undelivered.append
        self.store = OutboxDelivery(store or self.model_store, self.queue, self.report)
        self.objects = DictObjects()
        self.embedder = MoodyEmbedder()
        self.principal = ProjectKey(1)
        self.config = IndexConfig(
            "in-memory/words",
            self.embedder.dimensions,
            **{"threshold": 20, "chunk_size": 100, "chunk_overlap": 10, **config},  # type: ignore[arg-type]
        )
        self.outbox = WorkerOutbox(self.store)
        tables, tools = ManageTables(self.store), ManageTools(self.store, Limits(), SILENT_S)
        self.create_table = tables.create
        self.replace = tables.replace
        self.delete_tool = tools.delete
        self.delete_table = tables.delete
        self.create_tool = tools.create
        self.completion = IndexCompletion(self.store, SILENT_S, calibrates_from)
        self.enumerate = Comparer(self.store, self.completion, Limits()).compare
        model = Model(self.config.model, self.config.dimensions, price=0.02)
        self.rebuilds = Rebuilds(self.store, model)
        self.sweep = Sweep(self.store, self.vectors)
        self.wait_for_index = WaitForIndex(self.store, SILENT_S, self.clock, self.clock.advance)
        self.searches = self.searcher(self.embedder)
        self.indexer = self.worker()
        self.calibrator = Calibrator(
            self.store, self.vectors, lambda _: self.embedder, self.clock, 30
        )
        self.import_document = ImportDocument(self.store, self.store, self.objects)

    def worker(self, **limits: float) -> Indexer:
        """Returns a worker with other limits."""
        return Indexer(
            store=self.store,
            vectors=self.vectors,
            chunk_vectors=ChunkVectors(
                self.store,
                self.vectors,
                lambda _: self.embedder,
                30,
                Spending(self.store, self.clock),
            ),
            completion=self.completion,
            clock=self.clock,
            limits=IndexLimits(**limits),  # type: ignore[arg-type]
        )

    def scheduled(self, limits: CleanupLimits, *further: Step, every_s: float = 0.0) -> Cleanup:
        """Returns the scheduled run; ``every_s``: how often it is said to run."""
        return Cleanup(
            store=self.store,
            vectors=self.vectors,
            completion=self.completion,
            sweep=self.sweep,
            sweep_rounds=SweepRounds(
                self.store, every_s, limits.silent_s, limits.idle_s, self.sweep.page
            ),
            limits=limits,
            further=[*further, keep_plans_step(self.store, silent_s=limits.silent_s)],
        )

    def searcher(
        self,
        embedder: Embedder,
        use_index: IndexUse | None = None,
        reranker_of: Callable[[str], Reranker] = no_reranker,
    ) -> Searcher:
        """Returns a search, as a process of its own, that embeds questions with ``embedder``."""
        return searcher(
            self.store,
            self.vectors,
            lambda _: embedder,
            reranker_of,
            use_index or IndexUse(self.store),
            self.clock,
            self.clock.advance,
            SearchLimits(SILENT_S, Timeouts(), NO_LIMITS),
        )

    def search(
        self, tool_id: int, caller: Caller, query: str, top_k: int | None = None
    ) -> SearchResult:
        """Returns the best hits of a tool."""
        return search(self.searches, tool_id, caller, query, top_k)

    def read_status(self, tool_id: int, caller: Caller) -> ToolStatus:
        """Returns how far the index of a tool is."""
        with opened_for(self.store, caller) as work:
            return tool_status(work, live_tool(work, tool_id, caller), silent_s=SILENT_S)

    def ranked(self, tool_id: int, query: str) -> SearchResult:
        """Returns every hit of a tool that was ranked."""
        searched = SearchedTool.by(self.principal, tool_id)
        return self.searches.search(searched, query, QuestionLimits(is_whole=True))

    def table(self, document: object) -> Table:
        """Stores a document."""
        return self.create_table(self.principal, "table", None, document)

    def tool(self, table: Table, scope: str = "", **search: object) -> ToolStatus:
        """Creates a Search Tool."""
        return self.create_tool(
            NewSearchTool(
                project_id=self.principal.project_id,
                name="search",
                description=None,
                scope=Scope(table.id, scope),
                index=self.config,
                search=SearchConfig(**search),  # type: ignore[arg-type]
            )
        )

    def work(self, worker: Indexer | None = None) -> None:
        """Handles all messages, those that come back later included."""
        while self.queue.messages:
            message = self.queue.messages.pop(0)
            done = self.execute(message, worker)
            if isinstance(done.error, RetryLater):
                self.clock.advance(done.error.after_s + 1)
                self.queue.messages.append(message)
            elif done.error is not None:
                raise done.error

    def execute(self, body: MessageBody, worker: Indexer | None = None) -> HandledMessage:
        """Handles one message."""
        message = message_from_json(body)
        assert message is not None
        indexer = worker or self.indexer
        hands = Worker(
            self.outbox,
            indexer.index,
            self.enumerate,
            self.import_document.run,
            self.execute_plan,
            self.calibrator.run,
            self.report,
        )
        return hands.execute(message, self.deadline(), message_id=int(str(body["order"])))

    def execute_plan(self, plan_id: int, deadline: Deadline) -> str:
        """Does what the message of a plan asks for."""
        patterns = RePatterns()
        preview = PreviewReplacements(self.store, self.store, patterns, text_hash, self.clock)
        execute = ExecutePlans(self.store, patterns, self.clock)
        undo = UndoPlans(self.store, self.clock)
        documents = OneByOne(self.store, self.store, WriteDocuments())
        plans = PlanWorker(self.store, preview.run, execute, undo.rewriting, documents)
        return plans.run(plan_id, deadline)

    def deadline(self, seconds: float = 900) -> Deadline:
        """Returns a deadline from now."""
        return Deadline(self.clock, self.clock.monotonic() + seconds)

    def documents(self) -> set[str]:
        """Returns the ids of everything in turbopuffer."""
        return {name for names in self.vectors.namespaces.values() for name in names}

    def rows(self) -> set[str]:
        """Returns the document ids of all chunk rows."""
        return {chunk.doc_id for chunk in self.model_store.rows.chunks.values()}


def search(
    searches: Searches, tool_id: int, caller: Caller, query: str, top_k: int | None
) -> SearchResult:
    """Returns the best hits of a tool."""
    searched = SearchedTool.by(caller, tool_id)
    return searches.search(searched, query, QuestionLimits(top_k=top_k))


@lru_cache(maxsize=100)
def prose(characters: int, seed: int = 1) -> str:
    """Returns sentences in paragraphs, different for each seed."""
    choose = random.Random(seed)
    text = ""
    while len(text) < characters:
        for _ in range(choose.randint(3, 7)):
            words = [choose.choice(WORDS) for _ in range(choose.randint(5, 14))]
            text += " ".join(words).capitalize() + f" {choose.randint(1, 9999)}. "
        text += "\n\n"
    return text[:characters]


def text_hash(text: str) -> str:
    """Returns 16 hex digits, as logs have them instead of texts."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
