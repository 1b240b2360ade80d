"""The parts and services of one history, and how an invocation begins and ends."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from context_search.adapters.in_memory.clock import ManualClock
from context_search.adapters.in_memory.store import MemoryStore, MemoryUnitOfWork
from context_search.adapters.in_memory.vectors import DictVectors
from context_search.domain.config import IndexConfig
from context_search.domain.errors import ContextSearchError
from context_search.domain.limits import ProjectLimits
from context_search.domain.model import Principal
from context_search.ports.time import Deadline
from context_search.services.chunk_vectors import ChunkVectors
from context_search.services.cleanup import Cleanup
from context_search.services.cleanup_report import CleanupLimits
from context_search.services.create_search_tool import CreateSearchTool
from context_search.services.enumeration import EnumerateIndex, Limits
from context_search.services.evict import UseIndex
from context_search.services.index_node import IndexLimits, IndexNode, RetryLater
from context_search.services.outgoing import Deliver, RelayOutbox
from context_search.services.rebuild import Model, RollBack, StartRebuild
from context_search.services.searching.answer import Answer
from context_search.services.searching.assembly import run_search
from context_search.services.searching.search_tool import SearchWithTool
from context_search.services.settle import SettleIndex
from context_search.services.sweep import SweepNamespace
from context_search.services.tables import (
    CreateProject,
    CreateTable,
    DeleteTable,
    DeleteTool,
    ReplaceDocument,
)
from tests.simulation.parts import (
    NETWORK_S,
    Envelope,
    Network,
    SimEmbedder,
    SimQueue,
    SimStore,
    SimVectors,
    Weather,
)
from tests.simulation.scheduler import Killed, Kind, Scheduler

LAMBDA_S = 900.0
LEASE_S = 120.0
SILENT_S = 300.0
GRACE_S = LAMBDA_S + NETWORK_S + LEASE_S
VISIBILITY_S = 600.0
KEEP_S = (600.0, 50_000.0)
MAX_RECEIVES = 5
SLOW_PACES = (0.1, 0.03, 0.003)
MAX_SLOW = 2
CONFIG = IndexConfig("in-memory/words", 16, threshold=20, chunk_size=40, chunk_overlap=4)
NO_LIMITS = ProjectLimits()
LIMITS = (
    *[NO_LIMITS] * 4,
    ProjectLimits(max_chunks=6, idle_s=20.0),
    ProjectLimits(max_chunks=10, idle_s=100.0),
    ProjectLimits(max_vector_bytes=8 * 16 * 4, idle_s=20.0),
)
WITH_WINDOWS = IndexConfig(
    "in-memory/words", 16, threshold=40, chunk_size=60, chunk_overlap=0, window_tokens=8
)
TEXTS = [
    "the quick brown fox jumps over the lazy dog. " * 2,
    "pack my box with five dozen liquor jugs. " * 3,
    "how vexingly quick daft zebras jump! ",
    "敏捷的棕色狐狸跳过了懒狗。" * 5,
    "short",
]


@dataclass
class Mutation:
    """What a faulty variant changes; the design itself changes nothing.

    ``seed`` is one that catches it as the code stands; where that has changed, one of the first
    ``within`` seeds does.
    """

    name: str = "the design"
    unit_of_work: type[MemoryUnitOfWork] = MemoryUnitOfWork
    index_node: type[IndexNode] = IndexNode
    delete_tool: type[DeleteTool] = DeleteTool
    cleanup: type[Cleanup] = Cleanup
    settle: type[SettleIndex] = SettleIndex
    sweep: type[SweepNamespace] = SweepNamespace
    grace_s: float = GRACE_S
    acknowledges_first: bool = False
    seed: int = 0
    within: int = 100


class World:
    """One table, its tools, and every part between them and turbopuffer."""

    def __init__(self, seed: int, mutation: Mutation) -> None:
        self.random = random.Random(seed)
        self.limits = random.Random(f"limits {seed}").choice(LIMITS)
        self.is_crowded = self.limits is not NO_LIMITS
        self.mutation = mutation
        self.clock = ManualClock()
        self.scheduler = Scheduler()
        self.weather = Weather(self.random, 0.0)
        self.network = Network(self.clock)
        self.memory = MemoryStore(self.clock, mutation.unit_of_work)
        self.documents = DictVectors()
        self.history: list[str] = []
        self.is_damaged = False
        self.on_answer: Callable[[Answer], None] = lambda _: None
        self.after_step: Callable[[], None] = lambda: None
        self.queue = SimQueue(self.clock, self.scheduler, self.weather)
        self.store = SimStore(self.memory, self.scheduler, self.weather)
        self.vectors = SimVectors(self.documents, self.scheduler, self.weather, self.network)
        self.embedder = SimEmbedder(self.scheduler, self.weather)
        self._build_indexing()
        self._build_management()
        project, _ = CreateProject(self.store)("p")
        self.principal = Principal(project.id)
        self.table = CreateTable(self.store)(self.principal, "t", None, self.document())

    def _build_indexing(self) -> None:
        store, vectors, mutation = self.store, self.vectors, self.mutation
        self.deliver = Deliver(store, self.queue)
        self.relay = RelayOutbox(store, self.deliver)
        settle = mutation.settle(store, SILENT_S)
        self.enumerate_index = EnumerateIndex(store, self.deliver, settle, Limits())
        self.index_node = mutation.index_node(
            store=store,
            vectors=vectors,
            chunk_vectors=ChunkVectors(store, vectors, lambda _: self.embedder, 30),
            deliver=self.deliver,
            settle=settle,
            clock=self.clock,
            limits=IndexLimits(
                lease_s=LEASE_S, max_attempts=50, batch_chunks=2, project=self.limits
            ),
        )
        self.cleanup = mutation.cleanup(
            store,
            vectors,
            self.queue,
            self.relay,
            settle,
            mutation.sweep(store, vectors, self.deliver, page=3),
            CleanupLimits(SILENT_S, mutation.grace_s, self.random.choice(KEEP_S), self.limits),
        )

    def _build_management(self) -> None:
        store, deliver = self.store, self.deliver
        self.start_rebuild = StartRebuild(store, deliver, Model(CONFIG.model, CONFIG.dimensions))
        self.roll_back = RollBack(store, deliver)
        self.create_tool = CreateSearchTool(store, deliver, Limits(), SILENT_S)
        run = run_search(
            store,
            self.vectors,
            lambda _: self.embedder,
            UseIndex(store, deliver),
            self.clock,
            self.clock.advance,
        )
        # Giving its place back is no step of a search: an answer is judged as of its last read.
        run = replace(run, admission=replace(run.admission, store=self.memory))
        self.search = SearchWithTool(run, SILENT_S)
        self.replace_document = ReplaceDocument(store, self.relay)
        self.delete_tool = self.mutation.delete_tool(store, deliver)
        self.delete_table = DeleteTable(store)

    def document(self) -> dict[str, object]:
        """Returns some document."""
        pick = self.random.choice
        return {"a": pick(TEXTS), "b": {"c": [pick(TEXTS), pick(TEXTS)], "d": pick(TEXTS)}}

    def note(self, what: str) -> None:
        """Adds a line to the history."""
        self.history.append(f"{self.clock.monotonic():8.0f} {what}")

    def spawn(
        self,
        kind: Kind,
        name: str,
        run: Callable[[], object],
        ended: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        """Starts an invocation; one in four is slow."""

        def end(error: BaseException | None) -> None:
            self.note(f"{name}: {'done' if error is None else repr(error)}")
            if ended:
                ended(error)
            if error is not None and not isinstance(
                error, ContextSearchError | Killed | RetryLater
            ):
                raise error

        self.note(f"{name}: starts")
        slow = sum(task.pace < 1 for task in self.scheduler.tasks)
        is_slow = slow < MAX_SLOW and self.random.random() < 0.25
        pace = self.random.choice(SLOW_PACES) if is_slow else 1.0
        self.scheduler.spawn(
            kind, name, now_s=self.clock.monotonic(), pace=pace, run=run, ended=end
        )

    def deadline(self) -> Deadline:
        """Returns when an invocation that starts now is stopped."""
        return Deadline(self.clock, self.clock.monotonic() + LAMBDA_S)

    def clean_up(self) -> None:
        """Starts a run of cleanup."""
        deadline = self.deadline()
        self.spawn("cleanup", "cleanup", lambda: self.cleanup(deadline))

    def receive(self, envelope: Envelope) -> None:
        """Starts a worker on a message."""
        envelope.receives += 1
        envelope.in_flight = True
        if self.mutation.acknowledges_first and envelope in self.queue.waiting:
            self.queue.waiting.remove(envelope)
        body, deadline = envelope.body, self.deadline()
        if body["kind"] == "node":
            node_id = int(str(body["node_id"]))
            run: Callable[[], object] = lambda: self.index_node(node_id, deadline)  # noqa: E731
            self.spawn("node", f"index {node_id}", run, lambda e: self._settle(envelope, e))
        else:
            index_id = int(str(body["index_id"]))
            run = lambda: self.enumerate_index(index_id)  # noqa: E731
            self.spawn(
                "enumerate", f"enumerate {index_id}", run, lambda e: self._settle(envelope, e)
            )

    def _settle(self, envelope: Envelope, error: BaseException | None) -> None:
        envelope.in_flight = False
        if envelope not in self.queue.waiting:
            return
        duplicated = self.weather.fault("duplicate") is not None
        if (error is None and not duplicated) or envelope.receives >= MAX_RECEIVES:
            self.queue.waiting.remove(envelope)
            return
        delay_s = error.after_s if isinstance(error, RetryLater) else VISIBILITY_S
        envelope.visible_at = self.clock.monotonic() + delay_s

    def finish_tasks(self) -> None:
        """Runs every task to its end."""
        while self.scheduler.tasks:
            self.scheduler.resume(self.scheduler.tasks[0])
            self.after_step()
