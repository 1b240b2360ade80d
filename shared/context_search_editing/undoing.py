"""Takes plans back: an undo is a plan of its own, whose undo is the redo."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from context_search.budgets.shares import managing
from context_search.core.callers import McpKey, Principal
from context_search.core.errors import (
    CommitUnknownError,
    ConflictError,
    DatabaseUnavailableError,
    PlanNotReadyError,
    ReplaceTooLargeError,
    UndoExpiredError,
)
from context_search.core.messages import ExecutePlan
from context_search.integrations.ports import Clock
from context_search.store import Store, UnitOfWork
from context_search_editing.executing import BUSY_S, ExecutedPlan, busy, finish, preload
from context_search_editing.finding import find_plan
from context_search_editing.rules.edits import Edit, string_at
from context_search_editing.rules.plans import (
    DEFAULT_LIFETIME_S,
    MAX_PLANNED_TABLES,
    MAX_PREVIEWED_BYTES,
    Choice,
    NewPlan,
    OnConflict,
    Plan,
    PlanCounts,
    PlannedString,
    PlannedTable,
)
from context_search_editing.rules.undo import exact_undo, places_as_left, reversed_edits
from context_search_editing.write_documents import (
    ChangedString,
    KeptPlace,
    PlanCause,
    Refused,
    Rewriting,
    Rewritten,
    Source,
    WriteDocuments,
    check_reach,
    executed_string,
    parsed,
    read_document,
    refused,
    rewritten_with,
    skipped_table,
    undo_until,
)


@dataclass(frozen=True, slots=True)
class UndoPlans:
    """Takes back plans of the caller's project; an MCP key reaches those of its instance only.

    Undoing follows the limits of executing: up to 100 documents and 20 MB in one transaction of
    the request. A worker undoes larger plans, and documents that are now too large for a request.
    """

    store: Store
    clock: Clock
    writer: WriteDocuments = field(default_factory=WriteDocuments)

    def undo(
        self,
        principal: Principal,
        plan_id: int,
        *,
        on_conflict: OnConflict,
        dry_run: bool,
        request_id: str | None,
    ) -> ExecutedPlan:
        """Undoes an executed plan, or sends it to a worker; an undo, too, which does it again.

        ``dry_run``: counts, writes nothing, and returns the plan itself. Raises NotFoundError,
        PlanNotReadyError while it is executed, ConflictError before, UndoExpiredError,
        ReplaceBusyError, ReplaceStaleError, for an agent also when its tools cannot return one of
        the strings now, and ReplaceTooLargeError for a dry run of documents that changed since and
        are too large for a request: 20 MB each, 50 MB together. A dry run
        raises ManagementBackpressureError, too.
        """
        with self.store.for_project(principal.project_id) as work:
            plan = find_plan(work, principal, plan_id)
            self._check(plan)
            tables = _to_undo(work, plan)
        mcp_id = principal.mcp_id if isinstance(principal, McpKey) else None
        task = RevertDocument(plan, bounded_by=None if plan.scope.places is None else mcp_id)
        if dry_run:
            with managing(self.store, principal.project_id):
                return self._counted(plan, tables, task)
        new = replace(
            _new_plan(plan),
            actor=principal.actor,
            mcp_id=mcp_id,
            request_id=request_id,
        )
        asked = _AskedUndo(new, tables, on_conflict)
        if asked.counts.is_atomic:
            ahead = preload(self.store, plan, task, tables, self.writer)
            if not any(_is_too_large(each) for each in ahead):
                return self._write(plan, asked, task, ahead)
        return self._committed(plan, asked, _send)

    @contextmanager
    def rewriting(self, plan: Plan) -> Iterator[Rewriting]:
        """Returns what an undo does to documents. Raises UndoExpiredError when it cannot."""
        with self.store.for_project(plan.project_id) as work:
            undone = plan.undoes and work.plans.find(plan.undoes, project_id=plan.project_id)
        if not undone:
            raise UndoExpiredError("what was executed is forgotten")
        yield RevertDocument(undone, bounded_by=plan.bounded_by)

    def _check(self, plan: Plan) -> None:
        if plan.state == "executing":
            raise PlanNotReadyError("the plan is being executed", retry_after_s=BUSY_S)
        if plan.state not in ("done", "partial"):
            raise ConflictError("the plan was not executed")
        if plan.undone_by is not None:
            raise UndoExpiredError(
                f"plan {plan.id} is undone already, by plan {plan.undone_by}",
                members={"undone_by": plan.undone_by},
            )
        if plan.undo_until is None or plan.undo_until <= self.clock.now():
            raise UndoExpiredError(f"the texts of plan {plan.id} are forgotten")

    def _counted(
        self, plan: Plan, tables: Sequence[PlannedTable], task: RevertDocument
    ) -> ExecutedPlan:
        untouched: set[int] = set()
        if task.bounded_by is None:
            with self.store.for_project(plan.project_id) as work:
                untouched = {each.table_id for each in tables if _is_as_left(work, plan, each)}
        changed = [each for each in tables if each.table_id not in untouched]
        if sum(each.bytes for each in changed) > MAX_PREVIEWED_BYTES:
            raise ReplaceTooLargeError("too much changed since to be counted in a request")
        counted = [
            replace(each, state="done", replaced=each.matches)
            for each in tables
            if each.table_id in untouched
        ]
        kept: list[KeptPlace] = []
        ahead = preload(self.store, plan, task, changed, self.writer)
        if any(_is_too_large(each) for each in ahead):
            raise ReplaceTooLargeError("a document is too large to be counted in a request")
        check_reach(task, ahead)
        for result in ahead:
            planned = result.source.planned
            if isinstance(result, Rewritten):
                kept += result.kept
                stays = len(result.kept)
                counted.append(replace(planned, state="done", replaced=result.done, kept=stays))
            else:
                counted.append(skipped_table(planned, result.reason, task.cause))
        counted.sort(key=lambda table: table.table_id)
        return ExecutedPlan(plan, counted, kept)

    def _begun(self, work: UnitOfWork, plan: Plan, asked: _AskedUndo) -> Plan:
        locked = work.plans.lock(plan.id)
        if locked is None:
            raise UndoExpiredError(f"what plan {plan.id} executed is forgotten")
        self._check(locked)
        added = work.plans.add(asked.new)
        if added is None:
            raise UndoExpiredError(f"plan {plan.id} is undone already")
        now = self.clock.now()
        begun = replace(added, counts=asked.counts).begun(
            Choice(on_conflict=asked.on_conflict),
            added.previewed_by,
            now=now,
            undo_until=undo_until(work, plan.project_id, now),
        )
        if not work.plans.begin(begun):
            raise busy()
        work.plans.add_tables(begun.id, asked.tables)
        return begun

    def _write(
        self,
        plan: Plan,
        asked: _AskedUndo,
        task: Rewriting,
        ahead: Sequence[Rewritten | Refused],
    ) -> ExecutedPlan:
        def write(work: UnitOfWork, begun: Plan) -> ExecutedPlan:
            return finish(work, begun, self.writer.write_all(work, task, begun, ahead))

        return self._committed(plan, asked, write)

    def _committed(
        self, plan: Plan, asked: _AskedUndo, act: Callable[[UnitOfWork, Plan], ExecutedPlan]
    ) -> ExecutedPlan:
        """Begins an undo and acts, in one transaction. Reads the outcome if the answer is lost."""
        done = None
        try:
            with self.store.for_project(plan.project_id) as work:
                done = act(work, self._begun(work, plan, asked))
        except CommitUnknownError:
            if done is None or not self._is_there(plan, done.plan):
                raise DatabaseUnavailableError(
                    "nothing was undone: the connection was lost"
                ) from None
        return done

    def _is_there(self, plan: Plan, undo: Plan) -> bool:
        with self.store.for_project(plan.project_id) as work:
            work.plans.lock(plan.id)  # whose COMMIT goes on holds it
            return work.plans.find(undo.id, project_id=undo.project_id) is not None


def _send(work: UnitOfWork, begun: Plan) -> ExecutedPlan:
    work.plans.save(begun)
    work.send(ExecutePlan(begun.id))
    return ExecutedPlan(begun)


@dataclass(frozen=True, slots=True)
class _AskedUndo:
    new: NewPlan
    tables: Sequence[PlannedTable]
    on_conflict: OnConflict

    @property
    def counts(self) -> PlanCounts:
        return PlanCounts(
            tables=len(self.tables),
            matches=sum(table.matches for table in self.tables),
            planned_bytes=sum(table.bytes for table in self.tables),
        )


def _new_plan(undone: Plan) -> NewPlan:
    return NewPlan(
        project_id=undone.project_id,
        request=None,
        scope=undone.scope,
        request_hmac=undone.request_hmac,
        engine=undone.engine,
        lifetime_s=DEFAULT_LIFETIME_S,
        actor=None,
        undoes=undone.id,
    )


def _to_undo(work: UnitOfWork, plan: Plan) -> list[PlannedTable]:
    """Returns the documents that a plan changed, as an undo has to find them."""
    done = work.plans.tables(plan.id, limit=MAX_PLANNED_TABLES, state="done")
    return [
        PlannedTable(each.table_id, each.revision_after, each.replaced, each.bytes)
        for each in done
        if each.replaced and each.revision_after is not None
    ]


def _is_too_large(result: Rewritten | Refused) -> bool:
    """Says whether a worker may do more with a document than a request, which reads less."""
    return isinstance(result, Refused) and result.reason == "TOO_LARGE"


def _is_as_left(work: UnitOfWork, plan: Plan, planned: PlannedTable) -> bool:
    table = work.tables.find(planned.table_id, project_id=plan.project_id)
    return table is not None and table.revision == planned.revision_seen


@dataclass(frozen=True, slots=True)
class RevertDocument:
    """``Rewriting`` of an undo: strings that are as the plan left them become what they were.

    Byte for byte, also where one moved to another place (``places_as_left``). Every other string
    is a conflict, and stays. What an agent replaced does not come back where it moved out of the
    places of its plan. ``bounded_by``: the MCP instance that undoes it.
    """

    undone: Plan
    bounded_by: int | None = None

    @property
    def cause(self) -> PlanCause:
        """The plan is an undo."""
        return "undo"

    def read(self, work: UnitOfWork, planned: PlannedTable, *, max_bytes: int) -> Source:
        """Returns the document, and the strings that the plan changed in it."""
        strings = work.plans.strings(self.undone.id, planned.table_id)
        source = Source(planned, [string for string in strings if string.edits])
        return read_document(
            work, self.undone.project_id, source, bounded_by=self.bounded_by, max_bytes=max_bytes
        )

    def rewritten(self, source: Source) -> Rewritten | Refused:
        """Returns what becomes of a document."""
        document = parsed(source)
        if isinstance(document, Refused):
            return document
        places = self._places(source, document)
        there = [places.get(each.position, each.json_pointer) for each in source.strings]
        texts = [string_at(document, place) for place in there]
        if not source.may_change(document, zip(there, texts, strict=True)):
            return refused(source, "OUT_OF_REACH")
        done: list[tuple[PlannedString, str]] = []
        kept: list[KeptPlace] = []
        conflicts: list[ChangedString] = []
        for string, place, text in zip(source.strings, there, texts, strict=True):
            if text is None or string.position not in places:
                kept += _kept(string)
                conflicts.append(_conflict(source, string))
                continue
            present = replace(
                string,
                json_pointer=place,
                before_hash=string.final_hash or b"",
                after_hash=string.before_hash,
            )
            done.append(executed_string(present, text, self._back(string, text)))
        if not done:
            return Rewritten(source, kept=kept, conflicts=conflicts)
        return rewritten_with(source, document, done, kept, conflicts)

    def _places(self, source: Source, document: object) -> dict[int, str]:
        scope, table_id = self.undone.scope, source.planned.table_id
        return {
            position: place
            for position, place in places_as_left(document, source.strings).items()
            if scope.places is None or scope.contains(table_id, place)
        }

    def _back(self, string: PlannedString, text: str) -> Sequence[Edit]:
        return exact_undo(text, string.edits or (), before_hash=string.before_hash)


def _kept(string: PlannedString) -> list[KeptPlace]:
    places = reversed_edits(string.edits or ())
    return [KeptPlace(string.table_id, string.json_pointer, place.start) for place in places]


def _conflict(source: Source, string: PlannedString) -> ChangedString:
    pointer = string.json_pointer
    return ChangedString(source.planned.table_id, pointer, "EDITED_SINCE", source.revision)
