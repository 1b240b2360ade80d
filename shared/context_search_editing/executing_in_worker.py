"""Previews, executes and undoes in a worker the plans that are too large for a request.

``PlanWorker`` takes the turn with a plan, and ``OneByOne`` goes through its documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Literal

from context_search.budgets.shares import exclusive
from context_search.core.errors import (
    CommitUnknownError,
    ContextSearchError,
    DocumentTooLargeError,
    ProjectFullError,
    ReplaceBusyError,
)
from context_search.core.json_text import fits
from context_search.core.messages import ExecutePlan
from context_search.core.pages import PAGE
from context_search.indexing.node_report import RetryLater
from context_search.integrations.ports import Deadline
from context_search.store import Store, UnitOfWork
from context_search_editing.executing import ExecutePlans
from context_search_editing.matching import WORKER_TEXT_S
from context_search_editing.rules.plans import (
    MAX_PLANNED_TABLES,
    MAX_RUNS,
    Plan,
    PlannedTable,
    SkipReason,
)
from context_search_editing.write_documents import (
    Outcome,
    PlanCause,
    Refused,
    Rewriting,
    Rewritten,
    WriteDocuments,
    refused,
    skipped_table,
    stale,
)

BUSY_WORKER_S = 8.0
"""After so many seconds a worker looks again whether another one is done with a plan. The queue
gives a message up after 20 times, and the other one lives for two minutes.
"""
RESERVE_S = 60.0
"""A worker with less time than this leaves all but his first document to another one."""
PRELOADS = 3
"""How often a document that keeps changing is computed without a lock."""
LEASE_S = 10.0
"""Lease of a plan in seconds. For as long a killed worker keeps the others from it."""
BYTES_A_S = 1_000_000
"""How fast a worker does a document at least: for a larger one the lease is longer."""
TurnResult = Literal["done", "failed", "goes_on", "nothing_to_do"]


@dataclass(frozen=True, slots=True)
class PlanWorker:
    """Previews, executes and undoes plans that are too large for a request.

    ``undo`` returns what an undo does to documents, as ``UndoPlans.rewriting`` does.
    """

    store: Store
    preview: Callable[[int], str]
    execute: ExecutePlans
    undo: Callable[[Plan], AbstractContextManager[Rewriting]]
    documents: OneByOne

    def run(self, plan_id: int, deadline: Deadline) -> str:
        """Returns what was done. Raises RetryLater, and what is worth another try.

        A plan that cannot go on ends: ``failed``, or ``partial`` where something is done.
        """
        with self.store.for_all("execute a plan") as work:
            plan = work.plans.lock(plan_id)
        if plan is None:
            return "nothing_to_do"
        if plan.state == "previewing":
            return self.preview(plan_id)
        if plan.state != "executing":
            return "nothing_to_do"
        with self._turn(plan, deadline) as turn:
            done = self._go_on(turn)
        if done == "goes_on":  # the next worker comes when the plan is free
            with self.store.for_project(plan.project_id) as work:
                work.send(ExecutePlan(plan.id))
        return done

    @contextmanager
    def _turn(self, plan: Plan, deadline: Deadline) -> Iterator[Turn]:
        """Of two workers with one plan, one comes again later, for it may be the only one then.

        Else the second would take the first one for dead in the document that both are at.
        """
        pool = f"documents of plan {plan.id}"
        with exclusive(self.store, plan.project_id, pool, lease_s=LEASE_S) as holder:
            if holder is None:
                raise RetryLater(BUSY_WORKER_S)
            with self.store.for_project(plan.project_id) as work:
                # The worker that had the plan before has gone on with it.
                now = work.plans.find(plan.id, project_id=plan.project_id)
                work.send(ExecutePlan(plan.id))  # who takes the plan if this worker is killed
            yield Turn(now or plan, deadline, pool, holder)

    def _go_on(self, turn: Turn) -> str:
        plan = turn.plan
        try:
            with self._rewriting(plan) as task:
                return self.documents.run(turn, task)
        except CommitUnknownError:
            raise  # the rows know; the next run looks at them
        except ContextSearchError as error:
            if error.retryable or not error.is_for_callers:
                raise
            return self.documents.stop(turn, "replace" if plan.undoes is None else "undo", error)

    def _rewriting(self, plan: Plan) -> AbstractContextManager[Rewriting]:
        if plan.undoes is not None:
            return self.undo(plan)
        return self.execute.rewriting(plan, WORKER_TEXT_S)


@dataclass(frozen=True, slots=True)
class Turn:
    """A worker's turn with a plan. No other worker writes meanwhile.

    It ends with the worker's time, or when the worker was silent for so long that another one has
    taken the plan. ``holder`` of ``pool`` is the permit for it.
    """

    plan: Plan
    deadline: Deadline
    pool: str
    holder: str

    def go_on(self, work: UnitOfWork, document: PlannedTable | None = None) -> None:
        """Keeps the turn, and everybody away until the transaction ends.

        In a document in which a worker has stopped before, the next one has all its time: the
        first one may only have been slow. Raises ReplaceBusyError when the turn has ended.
        """
        lease_s = LEASE_S
        if document is not None:
            lease_s += document.bytes / BYTES_A_S
            if document.runs > 1:
                lease_s = max(lease_s, self.deadline.left_s())
        if not work.permits.renew(self.pool, self.holder, lease_s=lease_s):
            raise ReplaceBusyError("another worker has the plan by now", retry_after_s=LEASE_S)


@dataclass(slots=True)
class _Time:
    """The time of a worker. It has some for one document, however late it began: a plan that was
    handed on without a step further would be so for ever.
    """

    deadline: Deadline
    _is_begun: bool = False

    def is_left(self) -> bool:
        """Asked before each document."""
        is_first, self._is_begun = not self._is_begun, True
        return is_first or self.deadline.left_s() >= RESERVE_S


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Executes or undoes the documents of a plan that is ``executing``, whatever is killed.

    Each is written in a transaction of its own, together with its row in the plan, and only while
    that is ``pending``. A worker that stops three times without a word in one document skips it.
    ``patient`` is the store with a time limit for large documents.
    """

    store: Store
    patient: Store
    writer: WriteDocuments

    def run(self, turn: Turn, task: Rewriting) -> TurnResult:
        """Goes on with a plan until it ends, or time does: then its message has to be sent again.

        Raises what is worth another try.
        """
        plan, time = turn.plan, _Time(turn.deadline)
        if plan.choice is not None and plan.choice.on_conflict == "abort":
            looked = self._look_at_all(turn, task, time)
            if looked is not None:
                return looked
        while pending := self._tables(plan, after=0, is_pending=True):
            for planned in pending:
                if not time.is_left():
                    return "goes_on"
                self._execute(turn, task, planned)
        return self._end(turn)

    def _tables(self, plan: Plan, *, after: int, is_pending: bool) -> list[PlannedTable]:
        with self.store.for_project(plan.project_id) as work:
            state: Literal["pending"] | None = "pending" if is_pending else None
            return work.plans.tables(plan.id, after=after, limit=PAGE, state=state)

    @contextmanager
    def _writing(self, turn: Turn) -> Iterator[UnitOfWork]:
        with self.store.for_project(turn.plan.project_id) as work:
            turn.go_on(work)
            yield work

    # ---- Before the first document is written: whether all of them are as they were.

    def _look_at_all(self, turn: Turn, task: Rewriting, time: _Time) -> TurnResult | None:
        """None: nothing is in the way. What was looked at is not looked at again."""
        plan, after = turn.plan, turn.plan.after_table
        while page := self._tables(plan, after=after, is_pending=False):
            wrong: list[Outcome] = []
            for planned in page:
                if not time.is_left():
                    break
                after = planned.table_id
                if found := self._conflict(turn, task, planned):
                    wrong.append(found)
            with self._writing(turn) as work:
                locked = work.plans.lock(plan.id)
                if locked is None or locked.state != "executing":
                    return "nothing_to_do"
                work.plans.save(replace(locked, after_table=max(after, locked.after_table)))
                if wrong:
                    return self._fail(work, locked, task, wrong)
            if after < page[-1].table_id:
                return "goes_on"
        return None

    def _conflict(self, turn: Turn, task: Rewriting, planned: PlannedTable) -> Outcome | None:
        """Reads a document only if it has changed, or if an agent's tools may hide it."""
        plan = turn.plan
        with self.store.for_project(plan.project_id) as work:
            table = work.tables.find(planned.table_id, project_id=plan.project_id)
        is_same = table is not None and table.revision == planned.revision_seen
        if is_same and plan.bounded_by is None:
            return None
        begun = self._begin(turn, task, planned)
        if begun is None:
            return None
        try:
            result = self._preload(plan, task, begun)
        except ContextSearchError as error:
            if error.retryable:
                self._give_back(plan, planned)
            raise
        self._give_back(plan, planned)
        if not result.conflicts:
            return None
        reason = result.reason if isinstance(result, Refused) else "CHANGED"
        return Outcome(skipped_table(planned, reason, task.cause), conflicts=result.conflicts)

    def _fail(
        self, work: UnitOfWork, plan: Plan, task: Rewriting, wrong: Sequence[Outcome]
    ) -> TurnResult:
        work.plans.save_tables(plan.id, [each.table for each in wrong])
        error = stale(task.cause, [conflict for each in wrong for conflict in each.conflicts])
        work.plans.save(plan.failed(error.code, error.message))
        return "failed"

    # ---- One document.

    def _execute(self, turn: Turn, task: Rewriting, planned: PlannedTable) -> None:
        begun = self._begin(turn, task, planned)
        if begun is None:
            return
        try:
            for last in (*[False] * (PRELOADS - 1), True):
                ahead = self._preload(turn.plan, task, begun)
                if self._write(turn, task, ahead, may_compute=last):
                    return
        except CommitUnknownError:
            raise  # the row knows; the next run looks at it
        except DocumentTooLargeError:
            self._skip(turn, task, begun, "TOO_LARGE")
        except ProjectFullError:
            self._skip(turn, task, begun, "PROJECT_FULL")
        except ContextSearchError as error:
            if error.retryable:
                self._give_back(turn.plan, begun)
            raise

    def _begin(self, turn: Turn, task: Rewriting, planned: PlannedTable) -> PlannedTable | None:
        """Notes that a worker begins a document; None: there is nothing to do."""
        plan = turn.plan
        with self.store.for_project(plan.project_id) as work:
            locked = work.plans.lock_table(plan.id, planned.table_id)
            if locked is None or locked.state != "pending":
                return None
            begun = replace(locked, runs=locked.runs + 1)
            turn.go_on(work, begun)
            if begun.runs > MAX_RUNS:
                skipped = skipped_table(locked, "ATTEMPTS_EXHAUSTED", task.cause)
                work.plans.save_tables(plan.id, [skipped])
                return None
            work.plans.save_tables(plan.id, [begun])
            return begun

    def _preload(self, plan: Plan, task: Rewriting, planned: PlannedTable) -> Rewritten | Refused:
        with self.patient.for_project(plan.project_id) as work:
            source = task.read(work, planned, max_bytes=self.writer.max_bytes)
        result = task.rewritten(source)
        if isinstance(result, Rewritten) and not fits(result.after or "", self.writer.max_bytes):
            return refused(result.source, "TOO_LARGE")  # no worker could read it to undo the plan
        return result

    def _write(
        self, turn: Turn, task: Rewriting, ahead: Rewritten | Refused, *, may_compute: bool
    ) -> bool:
        """Returns False where the document has another revision."""
        plan, planned = turn.plan, ahead.source.planned
        with self.patient.for_project(plan.project_id) as work:
            turn.go_on(work, planned)
            row = work.plans.lock_table(plan.id, planned.table_id)
            if row is None or row.state != "pending":
                return True
            max_bytes = self.writer.max_bytes if may_compute else None
            locked = self.writer.lock(work, task, ahead, max_bytes=max_bytes)
            if locked is None:
                return False
            self.writer.write(work, task, plan, locked)
            work.send_waiting(plan.project_id)  # a trigger has ordered the comparisons
            return True

    def _skip(self, turn: Turn, task: Rewriting, planned: PlannedTable, reason: SkipReason) -> None:
        with self._writing(turn) as work:
            locked = work.plans.lock_table(turn.plan.id, planned.table_id)
            if locked is not None and locked.state == "pending":
                skipped = skipped_table(locked, reason, task.cause)
                work.plans.save_tables(turn.plan.id, [skipped])

    def _give_back(self, plan: Plan, planned: PlannedTable) -> None:
        """A run that failed for a reason was not stopped without a word.

        A worker that has lost the plan may do it, too: it takes back what its own run has counted.
        """
        with suppress(ContextSearchError), self.store.for_project(plan.project_id) as work:
            locked = work.plans.lock_table(plan.id, planned.table_id)
            if locked is not None and locked.state == "pending":
                given_back = replace(locked, runs=max(0, locked.runs - 1))
                work.plans.save_tables(plan.id, [given_back])

    # ---- The plan.

    def stop(self, turn: Turn, cause: PlanCause, error: ContextSearchError) -> TurnResult:
        """Ends a plan that cannot go on. Documents that are not done stay as they are."""
        plan_id = turn.plan.id
        with self._writing(turn) as work:
            pending = work.plans.tables(plan_id, limit=MAX_PLANNED_TABLES, state="pending")
            skipped = [skipped_table(each, "MATCHES_DIFFER", cause) for each in pending]
            work.plans.save_tables(plan_id, skipped)
        reported = {"code": error.code, "message": error.message}
        return self._end(replace(turn, plan=replace(turn.plan, last_error=reported)))

    def _end(self, turn: Turn) -> TurnResult:
        plan = turn.plan
        with self._writing(turn) as work:
            locked = work.plans.lock(plan.id)
            if locked is None or locked.state != "executing":
                return "nothing_to_do"
            tables = work.plans.tables(plan.id, limit=MAX_PLANNED_TABLES)
            is_whole = all(each.state == "done" and not each.kept for each in tables)
            is_begun = any(each.replaced for each in tables)
            locked = replace(locked, last_error=plan.last_error)
            locked = locked.ended(is_whole=is_whole, is_begun=is_begun)
            work.plans.save(locked)
        return "failed" if locked.state == "failed" else "done"
