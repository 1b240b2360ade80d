"""A project whose documents are searched, replaced and taken back, over any store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from context_search.catalog.rules.versions import HistoryLimits, Version
from context_search.catalog.tables import ManageTables
from context_search.catalog.versions import RecordVersions
from context_search.core.callers import McpKey, Principal, ProjectKey
from context_search.core.config import SearchConfig
from context_search.core.documents import parse_exact, strings_at
from context_search.core.errors import (
    CommitUnknownError,
    ContextSearchError,
    DatabaseUnavailableError,
)
from context_search.core.filters import stored_filter
from context_search.core.limits import ProjectBounds
from context_search.core.model import Table
from context_search.integrations.patterns.ports import Patterns
from context_search.integrations.ports import Clock, Deadline
from context_search.reading.visible import visible_to
from context_search.store import Store, UnitOfWork
from context_search_editing.executing import ExecutedPlan, ExecutePlans
from context_search_editing.executing_in_worker import OneByOne, PlanWorker
from context_search_editing.previewing import (
    AskedReplacement,
    PreviewLimits,
    PreviewReplacements,
    ShownPlan,
)
from context_search_editing.rules.plans import Choice, OnConflict, Plan, PlannedString, PlannedTable
from context_search_editing.rules.replacing import ReplaceRequest
from context_search_editing.showing import ShowMatches
from context_search_editing.undoing import UndoPlans
from context_search_editing.write_documents import MAX_HELD_CHARS, WriteDocuments
from testing.in_memory.patterns import RePattern, RePatterns
from tests.catalog.history import text_at, versions_of
from tests.editing.novel import asked_for, hashed
from tests.steps import SMALL, Steps
from tests.stores import StoreInFront

ALL = Choice()
SKIP = Choice(on_conflict="skip")
STORY: Sequence[object] = (
    {"title": "第一章", "text": "林小雨站在废弃仓库前。废弃仓库的门开着。"},
    {
        "title": "废弃仓库",
        "scenes": [{"text": "雨停了。"}, {"text": "废弃仓库里没有人，林小雨想。"}],
    },
    {
        "title": "第三章",
        "text": "她离开废弃仓库，又回到废弃仓库，最后还是废弃仓库。",
        "words": 1.10,
    },
)
"""Three documents in which the warehouse stands seven times."""
WAREHOUSE = ReplaceRequest("废弃仓库", "荒废工厂")


@dataclass
class Desk(Steps):
    """Use cases of editing with one caller."""

    store: Store
    clock: Clock
    patterns: Patterns = field(default_factory=RePatterns)
    recorder: RecordVersions = field(default_factory=RecordVersions)
    held_chars: int = MAX_HELD_CHARS
    limits: PreviewLimits = field(default_factory=PreviewLimits)
    bounds: ProjectBounds = field(default_factory=ProjectBounds)

    @cached_property
    def principal(self) -> ProjectKey:
        """The caller, in a project of its own."""
        return ProjectKey(self.work.projects.add("p").id, key_id=7)

    @property
    def tables(self) -> ManageTables:
        return ManageTables(self.store, recorder=self.recorder)

    @property
    def previews(self) -> PreviewReplacements:
        return PreviewReplacements(
            self.store, self.store, self.patterns, hashed, self.clock, self.limits
        )

    @property
    def writer(self) -> WriteDocuments:
        return WriteDocuments(self.recorder, self.held_chars, self.bounds)

    @property
    def matches(self) -> ShowMatches:
        return ShowMatches(self.store, self.patterns, self.clock)

    @property
    def plans(self) -> ExecutePlans:
        return ExecutePlans(self.store, self.patterns, self.clock, self.writer)

    @property
    def undos(self) -> UndoPlans:
        return UndoPlans(self.store, self.clock, self.writer)

    @property
    def worker(self) -> PlanWorker:
        documents = OneByOne(self.store, self.store, self.writer)
        return PlanWorker(
            self.store, self.previews.run, self.plans, self.undos.rewriting, documents
        )

    def having(self, **parts: Any) -> Desk:
        """Returns the same desk with other parts."""
        other = replace(self, **parts)
        other.__dict__["principal"] = self.principal
        return other

    def with_fault(self, fault: str, at: int) -> Desk:
        return self.having(store=FaultyStore(self.store, fault, at))

    def while_somebody(self, at: int, act: Callable[[], object]) -> Desk:
        """Returns the same desk, with somebody who acts before one of its transactions."""
        return self.having(store=BusyStore(self.store, at, act))

    def make(self, *documents: object) -> list[Table]:
        return [self.tables.create(self.principal, "t", None, each) for each in documents]

    def write(self, table: Table, text: str) -> Table:
        """What another program writes: JSON text."""
        changed = self.work.tables.replace(table.id, text, expected_revision=None)
        assert changed is not None
        return changed

    def put(self, table: Table, document: object, pointer: str = "") -> Table:
        """What a person saves meanwhile."""
        return self.tables.replace(self.principal, table.id, document, pointer=pointer)

    def preview(self, request: ReplaceRequest = WAREHOUSE, **more: object) -> Plan:
        """Makes a plan over the project that is ready."""
        asked = AskedReplacement(request, **more)  # type: ignore[arg-type]
        plan = self.previews.start(self.principal, asked, request_id="previewed").plan
        if plan.state == "previewing":
            assert self.run_plan(plan) == "ready"
        return self.plan(plan)

    def start(self, find: str, replace_with: str = "×", **asked: Any) -> ShownPlan:
        """Previews a replacement in the project, as far as a request goes."""
        return self.previews.start(self.principal, asked_for(find, replace_with, **asked))

    def execute(
        self, plan: Plan, choice: Choice = ALL, principal: Principal | None = None
    ) -> ExecutedPlan:
        assert plan.digest is not None
        caller = principal or self.principal
        return self.plans.execute(caller, plan.id, plan.digest, choice, request_id="executed")

    def undo(
        self, plan: Plan, on_conflict: OnConflict = "abort", *, dry_run: bool = False
    ) -> ExecutedPlan:
        return self.undos.undo(
            self.principal, plan.id, on_conflict=on_conflict, dry_run=dry_run, request_id="undone"
        )

    def run_plan(self, plan: Plan, left_s: float = 900) -> str:
        """Does what the message of a plan asks for."""
        return self.worker.run(plan.id, Deadline(self.clock, self.clock.monotonic() + left_s))

    def plan(self, plan: Plan) -> Plan:
        found = self.work.plans.find(plan.id, project_id=plan.project_id)
        assert found is not None
        return found

    def read(self, plan_id: int) -> Plan:
        """Returns a plan as its owner sees it."""
        return self.previews.read(self.principal, plan_id).plan

    def failure(self, plan: Plan) -> Mapping[str, object]:
        """Returns the error of a plan that has failed."""
        failed = self.read(plan.id)
        assert failed.state == "failed"
        assert failed.last_error is not None
        return failed.last_error

    def strings(self, plan_id: int) -> list[PlannedString]:
        """Returns all strings of a plan, in their order."""
        return self.work.plans.strings_of_matches(plan_id, after=0, limit=100_000)

    def rows(self, plan: Plan) -> list[PlannedTable]:
        return self.work.plans.tables(plan.id, limit=10_000)

    def text(self, table: Table) -> str:
        """Returns the text of a document as the store writes it."""
        return self.work.tables.read(table.id)[1]

    def state(self, tables: Sequence[Table]) -> Mapping[int, tuple[int, str]]:
        return {table.id: self.work.tables.read(table.id) for table in tables}

    def documents(self) -> dict[int, tuple[int, str]]:
        """Every document of the project, with its revision."""
        with self.store.for_all("test") as work:
            ids = work.tables.ids(self.principal.project_id, after=0, limit=100_000)
            return {table_id: work.tables.read(table_id) for table_id in ids}

    def texts(self) -> list[tuple[int, str, str]]:
        """Every string of the project: table, pointer, text; in the order of matches."""
        return [
            (table_id, string.json_pointer, string.text)
            for table_id, (_, text) in self.documents().items()
            for string in strings_at(parse_exact(text), [""])
        ]

    def messages(self) -> list[object]:
        """The plans that wait for a worker; their messages are done then."""
        with self.store.for_all("test") as work:
            taken = work.outbox.take(self.principal.project_id, window=1_000)
            for message_id, _ in taken:
                work.outbox.begin(message_id)
                work.outbox.finish(message_id)
        return [body["plan_id"] for _, body in taken if body["kind"] == "plan"]

    def versions(self, table: Table) -> list[Version]:
        """Returns the newest versions of a table."""
        return [*versions_of(self.store, table).rows]

    def version(self, table: Table, revision: int) -> str:
        """Returns the recorded text of a revision."""
        return text_at(self.store, table, revision)

    def keep(self, limits: HistoryLimits) -> None:
        """Says how much of the past is kept."""
        with self.store.for_project(self.principal.project_id) as work:
            work.projects.lock_settings(HistoryLimits, self.principal.project_id)
            work.projects.write_settings(self.principal.project_id, limits)

    def agent(
        self, *tables: Table, scope: str = "", threshold: int = 1, where: object = None
    ) -> McpKey:
        """Returns an agent with a tool for each of some tables."""
        search = SearchConfig(where=stored_filter(where))
        config = replace(SMALL, threshold=threshold)
        tools = [self.tool(each, scope, config=config, search=search)[0] for each in tables]
        with self.store.for_all("test") as work:
            mcp = work.mcp_instances.add(self.principal.project_id, "agents")
            for tool in tools:
                work.mcp_instances.bind(mcp.id, tool.id, status=True)
        return McpKey(self.principal.project_id, mcp.id)

    def preview_by(
        self, agent: McpKey, request: ReplaceRequest = WAREHOUSE, **more: object
    ) -> ShownPlan:
        """Makes a plan of an agent, as far as a request goes."""
        with self.store.for_project(agent.project_id) as work:
            scopes = visible_to(work, agent).scopes
        places = tuple((scope.table_id, scope.json_pointer) for scope in scopes)
        asked = AskedReplacement(request, places=places, mcp_id=agent.mcp_id, **more)  # type: ignore[arg-type]
        return self.previews.start(agent, asked)

    def as_large(self, plan: Plan) -> Plan:
        """Makes the store say that a plan is too large for one transaction."""

        with self.store.for_all("test") as work:
            large = replace(plan, counts=replace(plan.counts, planned_bytes=10**9))
            work.plans.save(large)
        return self.plan(plan)

    def enlarge(self, plan: Plan) -> None:
        """Makes a document of a plan too large for the transaction of an undo."""
        with self.store.for_all("test") as work:
            [first, *_] = work.plans.tables(plan.id, limit=1)
            strings = work.plans.strings(plan.id, first.table_id)
            work.plans.add_tables(plan.id, [replace(first, bytes=10**9)], strings)


def counts(plan: Plan) -> tuple[int, int, int]:
    return plan.counts.tables, plan.counts.strings, plan.counts.matches


def changed_in(error: ContextSearchError) -> list[dict[str, object]]:
    """What a caller is told to be in the way."""
    changed = error.members["changed"]
    assert isinstance(changed, list)
    return changed


@dataclass
class BusyStore(StoreInFront):
    """A store in which somebody does something before transaction number ``at``, from 1."""

    at: int
    act: Callable[[], object]
    begun: int = 0

    def around(
        self, opened: AbstractContextManager[UnitOfWork]
    ) -> AbstractContextManager[UnitOfWork]:
        self.begun += 1
        if self.begun == self.at:
            self.act()
        return opened


@dataclass
class OtherEngine(RePatterns):
    """Another release of the engine of patterns, to which each one means ``meaning``."""

    meaning: str

    @contextmanager
    def compiled(
        self, pattern: str, *, case_sensitive: bool, timeout_s: float
    ) -> Iterator[RePattern]:
        assert pattern != self.meaning
        with super().compiled(
            self.meaning, case_sensitive=case_sensitive, timeout_s=timeout_s
        ) as compiled:
            yield compiled


class StoppedError(BaseException):
    """The process ends here."""


@dataclass
class FaultyStore(StoreInFront):
    """A store with a fault at transaction number ``at``, counted from 1.

    ``fault``: the process ends ``before`` or ``after`` it, the database is ``away``, or the reply
    to its COMMIT is ``lost``; ``dropped``: so is the COMMIT.
    """

    fault: str
    at: int
    begun: int = 0

    @contextmanager
    def around(self, opened: AbstractContextManager[UnitOfWork]) -> Iterator[UnitOfWork]:
        self.begun += 1
        fault = self.fault if self.begun == self.at else None
        if fault == "before":
            raise StoppedError
        if fault == "away":
            raise DatabaseUnavailableError("away")
        with opened as work:
            yield work
            if fault == "dropped":
                raise CommitUnknownError("nothing was committed")
        if fault == "after":
            raise StoppedError
        if fault == "lost":
            raise CommitUnknownError("the reply was lost")
