"""The parts and services of one history, and how an invocation begins and ends."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from context_search.budgets.spending import Spending
from context_search.catalog.project_settings import ManageSettings, prune_histories
from context_search.catalog.rules.versions import HistoryLimits
from context_search.catalog.tables import ManageTables
from context_search.catalog.versions import ManageVersions
from context_search.core.callers import Principal, ProjectKey
from context_search.core.config import Model
from context_search.core.errors import ContextSearchError
from context_search.core.filters import Filter
from context_search.core.messages import (
    MESSAGE_ID,
    CalibrateIndex,
    CompareIndex,
    ExecutePlan,
    Message,
    message_from_json,
)
from context_search.core.model import Table
from context_search.indexing.comparing import Comparer, Limits
from context_search.indexing.indexer import IndexLimits
from context_search.indexing.node_report import NodeReport, RetryLater
from context_search.indexing.outbox_delivery import OutboxDelivery
from context_search.indexing.project_index import ProjectIndexes
from context_search.indexing.rebuilds import Rebuilds
from context_search.indexing.vector_rows import ChunkVectors
from context_search.indexing.worker import BegunMessage, Worker, WorkerOutbox
from context_search.integrations.ports import Deadline, MessageBody
from context_search.maintenance.redrive import Redrive
from context_search.maintenance.rules.health import CleanupLimits
from context_search.maintenance.scheduled_cleanup import ScheduledCleanup
from context_search.maintenance.sweep import SweepRounds
from context_search.ranking.search import QuestionLimits, SearchResult
from context_search.searching.rules.searched import SearchedTool
from context_search_editing.keeping import keep_plans_step
from testing.in_memory.clock import ManualClock
from testing.in_memory.vectors import DictVectors
from tests.faults.simulation import conditions
from tests.faults.simulation.calibrating import (
    CALIBRATES_FROM,
    CALIBRATING_SEEDS,
    WatchedCalibrator,
)
from tests.faults.simulation.conditions import (
    CONFIG,
    IDLE_S,
    LAMBDA_S,
    LEASE_S,
    LONG_IDLE_S,
    LONG_IDLE_SEEDS,
    SILENT_S,
    VISIBILITY_S,
    WINDOW,
)
from tests.faults.simulation.fault_chances import FaultChances, Network
from tests.faults.simulation.fields import Filters
from tests.faults.simulation.messages import Envelope, SimQueue, joining
from tests.faults.simulation.model.store import ModelStore, ModelUnitOfWork
from tests.faults.simulation.mutation import Mutation
from tests.faults.simulation.parts import SimEmbedder, SimStore, SimVectors
from tests.faults.simulation.plan_desk import PREVIEWED_BYTES, PlanDesk, as_large
from tests.faults.simulation.scheduler import Killed, Kind, Scheduler
from tests.faults.simulation.searching import simulated_search


@dataclass
class WatchedOutbox:
    """The outbox; somebody is told of what is begun."""

    outbox: WorkerOutbox
    on_begin: Callable[[BegunMessage], None]

    def begin(self, message_id: int) -> BegunMessage | None:
        """See ``WorkerOutbox``."""
        begun = self.outbox.begin(message_id)
        if begun is not None:
            self.on_begin(begun)
        return begun

    def finish(self, begun: BegunMessage) -> None:
        """See ``WorkerOutbox``."""
        self.outbox.finish(begun)

    def delay(self, begun: BegunMessage, after_s: float) -> bool:
        """See ``WorkerOutbox``."""
        return self.outbox.delay(begun, after_s)


def order_of(body: MessageBody) -> Message:
    """What a message says."""
    message = message_from_json(body)
    assert message is not None
    return message


def _named(message: Message, body: MessageBody) -> tuple[Kind, str]:
    if isinstance(message, CompareIndex):
        return "enumerate", f"enumerate {message.index_id}"
    if isinstance(message, ExecutePlan):
        return "plan", f"plan {message.plan_id}"
    if isinstance(message, CalibrateIndex):
        return "calibrate", f"calibrate {message.generation_id}"
    return "node", f"index {body}"


def _no_uploads(upload_id: int) -> str:
    raise AssertionError(f"nobody uploaded {upload_id}")


class World:
    """One table, its tools, and every part between them and turbopuffer.

    In a small world the document has one string, so that the same texts come and go in the same
    place.
    """

    def __init__(self, seed: int, mutation: Mutation) -> None:
        self.random = random.Random(seed)
        self.idle_s = IDLE_S
        if seed % 8 in LONG_IDLE_SEEDS or mutation.scheduled_cleanup is not ScheduledCleanup:
            self.idle_s = LONG_IDLE_S
        self.mutation = mutation
        # Not chosen at random: histories without it stay as they were.
        self.edits = mutation.edits or (mutation.name == Mutation.name and seed % 3 == 0)
        is_of_tables = mutation.name == Mutation.name and not mutation.has_project_index
        self.replaces = mutation.replaces or (is_of_tables and seed % 2 == 1)
        calibrates = mutation.name == Mutation.name and seed % 8 in CALIBRATING_SEEDS
        self.calibrates_from = CALIBRATES_FROM if calibrates else None
        self.filters = Filters(
            seed, are_there=mutation.filters or (mutation.name == Mutation.name and seed % 8 < 2)
        )
        self.sql_revisions: set[tuple[int, int]] = set()
        self.erased: set[tuple[int, int]] = set()
        self._choose()
        self.clock = ManualClock()
        self.scheduler = Scheduler(self.random)
        self.fault_chances = FaultChances(self.random)
        self.network = Network(self.clock)
        self.model_store = ModelStore(self.clock, self._unit_of_work())
        self.documents = DictVectors()
        self.history: list[str] = []
        self.is_damaged = False
        self.on_answer: Callable[[SearchResult], None] = lambda _: None
        self.on_begin: Callable[[BegunMessage], None] = lambda _: None
        self.after_step: Callable[[], None] = lambda: None
        self.queue = SimQueue(self.clock, self.scheduler, self.fault_chances, self.has_neighbour)
        self.plain_store = SimStore(self.model_store, self.scheduler, self.fault_chances)
        self.store = OutboxDelivery(self.plain_store, self.queue, self._report, WINDOW)
        self.vectors = SimVectors(self.documents, self.scheduler, self.fault_chances, self.network)
        self.embedder = SimEmbedder(self.scheduler, self.fault_chances)
        self.desk = PlanDesk(self.store, self.clock, mutation, self.previewed_bytes)
        self._build_indexing()
        self._build_management()
        self.principal = self._add_project("p")
        if not self.keeps_history:
            off = HistoryLimits(keep_count=0)
            self.history_settings.change(self.principal, lambda _: off)
        create_table = ManageTables(self.store).create
        self.table = create_table(self.principal, "t", None, self.document())
        self.chapters: list[Table] = []
        if self.replaces:
            self._add_chapters()
        self.neighbour: Principal | None = None
        if self.has_neighbour:
            self.neighbour = self._add_project("n")
            self.next_door = create_table(self.neighbour, "t", None, self.document())

    def _unit_of_work(self) -> type[ModelUnitOfWork]:
        usual = (
            as_large(self.mutation.unit_of_work) if self.is_large else self.mutation.unit_of_work
        )
        return joining(usual) if self.joins else usual

    def _add_project(self, name: str) -> Principal:
        with self.store.for_all("create a project") as work:
            return ProjectKey(work.projects.add(name).id)

    def _add_chapters(self) -> None:
        """Tables that no tool searches, so that plans have several."""
        for _ in range(2):
            chapter = self.tables.create(self.principal, "t", None, self.document())
            self.chapters.append(chapter)

    @property
    def seen(self) -> Counter[str]:
        """What has happened to this world, and how often."""
        return self.fault_chances.seen

    def _choose(self) -> None:
        pick = self.random.choice
        is_narrow = self.mutation.is_seen_in_small
        self.limits = conditions.NO_LIMITS if is_narrow else pick(conditions.LIMITS)
        self.is_crowded = self.limits is not conditions.NO_LIMITS
        self.is_small = not self.is_crowded and pick((True, is_narrow))
        self.max_node_chars = pick(conditions.MAX_NODE_CHARS)
        self.joins = pick((True, False, False))
        is_alone = self.is_crowded or self.is_small or self.mutation.has_project_index
        self.has_neighbour = not is_alone and pick((True, False))
        has_edits = pick((True, True, False))  # and not only other texts
        self.texts = conditions.RELATED_TEXTS if has_edits else conditions.TEXTS
        if self.is_small:
            few = conditions.RELATED_TEXTS if has_edits else conditions.LONG_TEXTS
            self.texts = self.random.sample(few, 2)
        self.keep_s = pick(conditions.KEEP_S)
        self.model = Model(CONFIG.model, CONFIG.dimensions, pick(conditions.REBUILT_WINDOWS))
        self.is_large, self.keeps_history, self.previewed_bytes = False, True, 0
        if self.replaces:
            self.is_large = pick((True, False)) or self.mutation.leaves_to_worker
            self.keeps_history = self.edits or pick((True, True, False))
            self.previewed_bytes = pick(PREVIEWED_BYTES)

    def _build_indexing(self) -> None:
        store, vectors, mutation = self.store, self.vectors, self.mutation
        completion = mutation.completion(store, SILENT_S, self.calibrates_from)
        limits = Limits(self.max_node_chars)
        self.comparer = Comparer(store, completion, limits)
        self.indexer = mutation.indexer(
            store=store,
            vectors=vectors,
            chunk_vectors=ChunkVectors(
                store, vectors, lambda _: self.embedder, 30, Spending(store, self.clock)
            ),
            completion=completion,
            clock=self.clock,
            limits=IndexLimits(
                lease_s=LEASE_S,
                max_attempts=50,
                batch_nodes=3,
                attempts_together=2,
                batch_chunks=4 if self.is_small else 2,
                project=self.limits,
            ),
        )
        self.calibrator = WatchedCalibrator(
            store,
            vectors,
            lambda _: self.embedder,
            self.clock,
            30,
            CALIBRATES_FROM,
            seen=self.seen,
        )
        outbox = WatchedOutbox(mutation.outbox(store), self._begun)
        self.worker = Worker(
            outbox,  # type: ignore[arg-type]
            self.indexer.index,
            self.comparer.compare,
            _no_uploads,
            self.desk.run_plan,
            self.calibrator.run,
            self._report,
        )
        cleanup_limits = CleanupLimits(
            SILENT_S, mutation.grace_s, self.keep_s, self.limits, idle_s=self.idle_s
        )
        sweep = mutation.sweep(store, vectors, page=3)
        self.cleanup = mutation.cleanup(
            store,
            vectors,
            completion,
            sweep,
            SweepRounds(store, 0.0, SILENT_S, self.idle_s, sweep.page),
            cleanup_limits,
            [keep_plans_step(store, silent_s=SILENT_S)],
        )
        self.scheduled_cleanup = mutation.scheduled_cleanup(self.cleanup, self.clock)

    def _build_management(self) -> None:
        store = self.store
        self.rebuilds = Rebuilds(store, self.model)
        self.project_indexes = ProjectIndexes(store, self.model, SILENT_S)
        tools = self.mutation.tools(store, Limits(self.max_node_chars), SILENT_S)
        self.create_tool, self.delete_tool = tools.create, tools.delete
        self.searcher = simulated_search(
            store, self.vectors, self.embedder, self.clock, SILENT_S, self.calibrates_from
        )
        self.tables = tables = ManageTables(store)
        self.replace_document = tables.replace
        self.delete_table, self.delete_project = tables.delete, tables.delete_project
        self.versions = ManageVersions(store)
        self.history_settings = ManageSettings(store, HistoryLimits, prune_histories)
        self.redrive = Redrive(store, self.queue).run

    def document(self) -> dict[str, object]:
        """Returns some document."""
        texts = [self.random.choice(self.texts) for _ in range(4)]
        if self.is_small:
            return self.filters.fielded({"a": texts[0]})
        return self.filters.fielded({"a": texts[0], "b": {"c": texts[1:3], "d": texts[3]}})

    def search(
        self,
        tool_id: int,
        principal: Principal,
        query: str,
        top_k: int,
        wanted: Filter | None = None,
    ) -> SearchResult:
        """Returns the best hits of a tool."""
        searched = SearchedTool.by(principal, tool_id)
        limits = QuestionLimits(top_k=top_k, filter=wanted)
        return self.searcher.search(searched, query, limits)

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
        """Starts an invocation."""

        def end(error: BaseException | None) -> None:
            self.note(f"{name}: {'done' if error is None else repr(error)}")
            if ended:
                ended(error)
            if error is not None and not isinstance(
                error, ContextSearchError | Killed | RetryLater
            ):
                raise error

        self.note(f"{name}: starts")
        self.scheduler.spawn(kind, name, now_s=self.clock.monotonic(), run=run, ended=end)

    def deadline(self) -> Deadline:
        """Returns when an invocation that starts now is stopped."""
        return Deadline(self.clock, self.clock.monotonic() + LAMBDA_S)

    def clean_up(self) -> None:
        """Starts a run of cleanup, which may rest."""
        deadline, scheduled = self.deadline(), self.scheduled_cleanup

        def run() -> None:
            report = scheduled.run(deadline)
            if report.is_resting:
                self.seen["cleanup: rested"] += 1

        self.spawn("cleanup", "cleanup", run)

    def receive(self, envelope: Envelope) -> None:
        """Starts a worker on a message."""
        envelope.receives += 1
        envelope.in_flight = True
        if self.mutation.acknowledges_first and envelope in self.queue.waiting:
            self.queue.waiting.remove(envelope)

        def ended(error: BaseException | None) -> None:
            again_s = error.after_s if isinstance(error, RetryLater) else VISIBILITY_S
            self.queue.settle(envelope, None if error is None else again_s)

        message, deadline = order_of(envelope.body), self.deadline()
        kind, name = _named(message, envelope.body)
        self.spawn(kind, name, lambda: self._execute(message, envelope.body, deadline), ended)

    def repeat(self, body: MessageBody) -> None:
        """Starts a worker that does what a message says, whatever the outbox says of it."""
        message, deadline = order_of(body), self.deadline()
        kind, name = _named(message, body)

        def handle() -> None:
            with suppress(RetryLater, ContextSearchError):
                self.worker.handle(message, deadline, self._count)

        self.spawn(kind, name, handle)

    def _execute(self, message: Message, body: MessageBody, deadline: Deadline) -> None:
        """Handles a message as the function does."""
        message_id = body.get(MESSAGE_ID)
        assert isinstance(message_id, int)
        done = self.worker.execute(message, deadline, message_id=message_id, on_report=self._count)
        if done.error is None:
            return
        if not isinstance(done.error, RetryLater | ContextSearchError):
            raise done.error
        if done.again_in_s is None:
            self.seen["message: delayed in the outbox"] += 1
            return
        self.seen["message: delayed in the queue"] += 1
        raise RetryLater(done.again_in_s) from done.error

    def _report(self, error: ContextSearchError) -> None:
        self.seen[f"told: {error.code}"] += 1

    def _begun(self, begun: BegunMessage) -> None:
        self.on_begin(begun)

    def _count(self, report: NodeReport) -> None:
        if report.nodes > 1:
            self.seen[f"together: {report.outcome}"] += 1

    def finish_tasks(self) -> None:
        """Runs every task to its end."""
        while self.scheduler.tasks:
            self.scheduler.resume(self.scheduler.tasks[0])
            self.after_step()
