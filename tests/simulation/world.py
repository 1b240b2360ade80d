"""One history: users, workers, cleanup and searches over the real services."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass

from context_search.adapters.in_memory.clock import ManualClock
from context_search.adapters.in_memory.store import MemoryStore, MemoryUnitOfWork
from context_search.adapters.in_memory.vectors import DictVectors
from context_search.domain.config import IndexConfig, SearchConfig
from context_search.domain.errors import ContextSearchError
from context_search.domain.model import Principal, Scope
from context_search.ports.time import Deadline
from context_search.services.chunk_vectors import ChunkVectors
from context_search.services.cleanup import Cleanup, CleanupLimits
from context_search.services.create_search_tool import CreateSearchTool, NewSearchTool
from context_search.services.enumeration import EnumerateIndex, Limits
from context_search.services.index_node import IndexLimits, IndexNode, RetryLater
from context_search.services.outgoing import Deliver, RelayOutbox
from context_search.services.rebuild import Model, RollBack, SettleIndex, StartRebuild
from context_search.services.search_tool import Answer, SearchWithTool
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
from tests.simulation.scheduler import Killed, Scheduler

LAMBDA_S = 900.0
LEASE_S = 120.0
SILENT_S = 300.0
GRACE_S = LAMBDA_S + NETWORK_S + LEASE_S
VISIBILITY_S = 600.0
KEEP_S = 1200.0
MAX_RECEIVES = 5
MAX_WORKERS = 3
MAX_USERS = 3
CONFIG = IndexConfig("in-memory/words", 16, threshold=20, chunk_size=40, chunk_overlap=4)
SCOPES = ("", "/a", "/b", "/b/c")
TEXTS = [
    "the quick brown fox jumps over the lazy dog. " * 2,
    "pack my box with five dozen liquor jugs. " * 3,
    "how vexingly quick daft zebras jump! ",
    "敏捷的棕色狐狸跳过了懒狗。" * 5,
    "short",
]


@dataclass
class Mutation:
    """What a faulty variant changes; the design itself changes nothing."""

    name: str = "the design"
    unit_of_work: type[MemoryUnitOfWork] = MemoryUnitOfWork
    index_node: type[IndexNode] = IndexNode
    delete_tool: type[DeleteTool] = DeleteTool
    cleanup: type[Cleanup] = Cleanup
    grace_s: float = GRACE_S
    acknowledges_first: bool = False


class World:
    """The parts, the services, and everything that may happen next."""

    def __init__(self, seed: int, mutation: Mutation) -> None:
        self.random = random.Random(seed)
        self.mutation = mutation
        self.clock = ManualClock()
        self.scheduler = Scheduler()
        self.weather = Weather(self.random)
        self.network = Network(self.clock)
        self.memory = MemoryStore(self.clock, mutation.unit_of_work)
        self.documents = DictVectors()
        self.history: list[str] = []
        self.is_damaged = False
        self.on_answer: Callable[[Answer], None] = lambda _: None
        self.after_step: Callable[[], None] = lambda: None
        self.queue = SimQueue(self.clock, self.scheduler, self.weather)
        self._build()
        self._populate()

    def _build(self) -> None:
        store = SimStore(self.memory, self.scheduler, self.weather)
        vectors = SimVectors(self.documents, self.scheduler, self.weather, self.network)
        embedder = SimEmbedder(self.scheduler, self.weather)
        deliver = Deliver(store, self.queue)
        relay = RelayOutbox(store, deliver)
        limits = Limits()
        settle = SettleIndex(store, SILENT_S)
        self.start_rebuild = StartRebuild(store, deliver, Model(CONFIG.model, CONFIG.dimensions))
        self.roll_back = RollBack(store, deliver)
        self.create_tool = CreateSearchTool(store, deliver, limits, SILENT_S)
        self.enumerate_index = EnumerateIndex(store, deliver, limits)
        self.index_node = self.mutation.index_node(
            store=store,
            vectors=vectors,
            chunk_vectors=ChunkVectors(store, vectors, lambda _: embedder, 30),
            deliver=deliver,
            settle=settle,
            clock=self.clock,
            limits=IndexLimits(lease_s=LEASE_S, max_attempts=50, batch_chunks=2),
        )
        self.cleanup = self.mutation.cleanup(
            store,
            vectors,
            self.queue,
            relay,
            settle,
            SweepNamespace(store, vectors, deliver, page=3),
            CleanupLimits(SILENT_S, self.mutation.grace_s, KEEP_S),
        )
        self.search = SearchWithTool(store, vectors, lambda _: embedder, SILENT_S)
        self.replace_document = ReplaceDocument(store, relay)
        self.delete_tool = self.mutation.delete_tool(store, deliver)
        self.delete_table = DeleteTable(store)
        self.store = store

    def _populate(self) -> None:
        """In fair weather: a project with one table."""
        weather, self.weather.chance = self.weather.chance, 0.0
        project, _ = CreateProject(self.store)("p")
        self.principal = Principal(project.id)
        document = self._document()
        self.table = CreateTable(self.store)(self.principal, "t", None, document)
        self.weather.chance = weather

    def _document(self) -> dict[str, object]:
        pick = self.random.choice
        return {"a": pick(TEXTS), "b": {"c": [pick(TEXTS), pick(TEXTS)], "d": pick(TEXTS)}}

    def step(self) -> None:
        """Lets one thing happen."""
        actions: list[tuple[float, Callable[[], None]]] = [
            (40, self._resume_one),
            (10, self._receive_one),
            (1, self._kill_one),
            (3, self._pass_time),
            (1, self._arrive_late),
        ]
        if len(self.scheduler.tasks) - self._running("work") < MAX_USERS:
            actions += [
                (2, self._edit),
                (2, self._create_tool),
                (2, self._search),
                (1, self._clean_up),
                (0.7, self._delete_tool),
                (0.5, self._rebuild),
                (0.3, self._roll_back),
                (0.02, self._delete_table),
            ]
        weights = [weight for weight, _ in actions]
        [(_, action)] = self.random.choices(actions, weights)
        action()
        self._kill_overdue()
        self.network.deliver_overdue()
        self.after_step()

    def _running(self, kind: str) -> int:
        return sum(task.name.startswith(kind) for task in self.scheduler.tasks)

    def _note(self, what: str) -> None:
        self.history.append(f"{self.clock.monotonic():8.0f} {what}")

    def _spawn(
        self,
        name: str,
        run: Callable[[], object],
        ended: Callable[[BaseException | None], None] | None = None,
    ) -> None:
        def end(error: BaseException | None) -> None:
            self._note(f"{name}: {'done' if error is None else repr(error)}")
            if ended:
                ended(error)
            elif error is not None and not isinstance(error, ContextSearchError | Killed):
                raise error

        self._note(f"{name}: starts")
        self.scheduler.spawn(name, self.clock.monotonic(), run, end)

    def _resume_one(self) -> None:
        if self.scheduler.tasks:
            self.scheduler.resume(self.random.choice(self.scheduler.tasks))

    def _kill_one(self) -> None:
        if self.scheduler.tasks:
            self.scheduler.kill(self.random.choice(self.scheduler.tasks))

    def _kill_overdue(self) -> None:
        for task in list(self.scheduler.tasks):
            if self.clock.monotonic() - task.started_s > LAMBDA_S:
                self.scheduler.kill(task)

    def _pass_time(self) -> None:
        self.clock.advance(self.random.choice([1, 5, 30, 60, 150, 400]))

    def _arrive_late(self) -> None:
        if self.network.late:
            self.network.deliver(self.random.randrange(len(self.network.late)))

    def _edit(self) -> None:
        document = self._document()
        if self.random.random() < 0.2:
            del document["a"]
        run = lambda: self.replace_document(self.principal, self.table.id, document)  # noqa: E731
        self._spawn(f"edit {json.dumps(document)[:60]}", run)

    def _create_tool(self) -> None:
        scope = Scope(self.table.id, self.random.choice(SCOPES))
        wanted = NewSearchTool(
            self.principal.project_id, "s", None, scope, CONFIG, SearchConfig(strategy="hybrid")
        )
        self._spawn(f"create tool {scope.json_pointer!r}", lambda: self.create_tool(wanted))

    def _some_tool(self) -> int | None:
        live = [tool.id for tool in self.memory.rows.tools.values() if not tool.deleted]
        return self.random.choice(live) if live else None

    def _delete_tool(self) -> None:
        tool_id = self._some_tool()
        if tool_id is not None:
            self._spawn(f"delete tool {tool_id}", lambda: self.delete_tool(self.principal, tool_id))

    def _rebuild(self) -> None:
        tool_id = self._some_tool()
        if tool_id is not None:
            run = lambda: self.start_rebuild(tool_id, self.principal)  # noqa: E731
            self._spawn(f"rebuild {tool_id}", run)

    def _roll_back(self) -> None:
        tool_id = self._some_tool()
        if tool_id is not None:
            run = lambda: self.roll_back(tool_id, self.principal)  # noqa: E731
            self._spawn(f"roll back {tool_id}", run)

    def _delete_table(self) -> None:
        self._spawn("delete table", lambda: self.delete_table(self.principal, self.table.id))

    def _search(self) -> None:
        tool_id = self._some_tool()
        query = self.random.choice(["quick fox", "zebras", "狐狸", "box"])
        if tool_id is not None:
            self._spawn(
                f"search {tool_id}",
                lambda: self.on_answer(self.search(tool_id, self.principal, query, 20)),
            )

    def _clean_up(self) -> None:
        deadline = Deadline(self.clock, self.clock.monotonic() + LAMBDA_S)
        self._spawn("cleanup", lambda: self.cleanup(deadline))

    def _receive_one(self) -> None:
        deliverable = self.queue.deliverable()
        if deliverable and self._running("work") < MAX_WORKERS:
            self.receive(self.random.choice(deliverable))

    def receive(self, envelope: Envelope) -> None:
        """Starts a worker on a message."""
        envelope.receives += 1
        envelope.in_flight = True
        if self.mutation.acknowledges_first and envelope in self.queue.waiting:
            self.queue.waiting.remove(envelope)

        def ended(error: BaseException | None) -> None:
            envelope.in_flight = False
            self._settle(envelope, error)

        self._spawn(f"work {dict(envelope.body)}", lambda: self._carry_out(envelope), ended)

    def _carry_out(self, envelope: Envelope) -> None:
        deadline = Deadline(self.clock, self.clock.monotonic() + LAMBDA_S)
        if envelope.body["kind"] == "node":
            self.index_node(int(str(envelope.body["node_id"])), deadline)
        else:
            self.enumerate_index(int(str(envelope.body["index_id"])))

    def _settle(self, envelope: Envelope, error: BaseException | None) -> None:
        if envelope not in self.queue.waiting:
            return
        duplicated = self.weather.fault("duplicate") is not None
        if (error is None and not duplicated) or envelope.receives >= MAX_RECEIVES:
            self.queue.waiting.remove(envelope)
            return
        delay_s = error.after_s if isinstance(error, RetryLater) else VISIBILITY_S
        envelope.visible_at = self.clock.monotonic() + delay_s
        if error is not None and not isinstance(error, RetryLater | ContextSearchError | Killed):
            raise error

    def finish_tasks(self) -> None:
        """Runs every task to its end."""
        while self.scheduler.tasks:
            self.scheduler.resume(self.scheduler.tasks[0])
            self.after_step()

    def heal(self) -> None:
        """No more faults: everything that is under way arrives and ends, cleanup runs on."""
        self.weather.chance = 0.0
        self.finish_tasks()
        self._lose_documents()
        for _ in range(14):
            self.clock.advance(SILENT_S + 1)
            self.network.deliver_overdue()
            self._clean_up()
            self.finish_tasks()
            for envelope in self.queue.deliverable():
                self.receive(envelope)
                self.finish_tasks()

    def _lose_documents(self) -> None:
        """In one history of three: somebody else damages or drops a namespace."""
        damage = self.random.choice(["none", "none", "documents", "namespace"])
        names = sorted(self.documents.namespaces)
        if damage == "none" or not names:
            return
        self.is_damaged = True
        name = self.random.choice(names)
        if damage == "namespace":
            del self.documents.namespaces[name]
            return
        for doc_id in sorted(self.documents.namespaces[name])[::2]:
            del self.documents.namespaces[name][doc_id]

    def replay(self) -> None:
        """Carries out every message that was ever sent once more."""
        for body in list(self.queue.ever_sent):
            self.receive(Envelope(body, 0.0))
            self.finish_tasks()
