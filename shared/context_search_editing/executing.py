"""Executes plans: what was shown, and nothing else.

``ExecutePlans`` executes a plan in a request, in one transaction. ``PlanWorker`` does so in a
worker, one document at a time (``OneByOne``), and ``keep_plans`` lets
them go on and end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from context_search.budgets.exclusive import exclusive
from context_search.core.callers import Principal
from context_search.core.errors import (
    CommitUnknownError,
    ContextSearchError,
    DatabaseUnavailableError,
    DigestMismatchError,
    DocumentTooLargeError,
    InvalidInputError,
    NotFoundError,
    PlanExpiredError,
    PlanNotReadyError,
    PlanUsedError,
    ProjectFullError,
    ReplaceBusyError,
)
from context_search.core.json_text import fits
from context_search.core.messages import ExecutePlan
from context_search.indexing.node_report import RetryLater
from context_search.integrations.ports import Clock, Deadline
from context_search.maintenance.cleanup import Step
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.store import Store, UnitOfWork
from context_search_editing.ports import Patterns
from context_search_editing.previewing import (
    REQUEST_TEXT_S,
    WORKER_TEXT_S,
    Replacer,
    find_plan,
    replacer_of,
)
from context_search_editing.rules.edits import apply_edits, string_at, string_hash
from context_search_editing.rules.plans import (
    MAX_PLANNED_TABLES,
    MAX_RUNS,
    Choice,
    Plan,
    PlannedString,
    PlannedTable,
    SkipReason,
)
from context_search_editing.rules.replacing import Allowance
from context_search_editing.rules.undo import moved_to
from context_search_editing.write_documents import (
    ChangedString,
    KeptPlace,
    Outcome,
    PlanCause,
    Refused,
    Rewriting,
    Rewritten,
    Source,
    WriteDocuments,
    executed_string,
    parsed,
    read_document,
    refused,
    rewritten_with,
    skipped_table,
    stale,
    undo_until,
)

BUSY_S = 1.0
BUSY_WORKER_S = 8.0
"""After so many seconds a worker looks again whether another one is done with a plan. The queue
gives a message up after 20 times, and the other one lives for two minutes.
"""
RESERVE_S = 60.0
"""A worker with less time than this leaves all but his first document to another one."""
PAGE = 100
PRELOADS = 3
"""So often a document is computed without a lock, while somebody keeps changing it."""
Carried = Literal["done", "failed", "goes_on", "nothing_to_do"]
LEASE_S = 10.0
"""Lease of a plan in seconds. For as long a killed worker keeps the others from it."""
BYTES_A_S = 1_000_000
"""How fast a worker does a document at least: for a larger one the lease is longer."""
PLANS_PER_STEP = 100
PLANS_EMPTIED_PER_STEP = 20
"""Each may have 20,000 strings."""
STRINGS_PER_STEP = 20_000


@dataclass(frozen=True, slots=True)
class ExecutedPlan:
    """A plan after it was executed or undone, or while a worker does it, with its documents.

    ``kept`` are the places that an undo left alone, as long as a request tells of them.
    ``replayed``: it was executed before.
    """

    plan: Plan
    tables: Sequence[PlannedTable] = ()
    kept: Sequence[KeptPlace] = ()
    replayed: bool = False

    @property
    def done_count(self) -> int:
        """How many places were exchanged."""
        return sum(table.replaced for table in self.tables)

    @property
    def kept_count(self) -> int:
        """How many places an undo left alone."""
        return sum(table.kept for table in self.tables)


@dataclass(frozen=True, slots=True)
class ExecutePlans:
    """Executes plans of the caller's project; an MCP key reaches those of its instance only.

    One of up to 100 documents and 20 MB is executed here, all of it in one transaction; a worker
    does others, a document at a time.
    """

    store: Store
    patterns: Patterns
    clock: Clock
    writer: WriteDocuments = field(default_factory=WriteDocuments)

    def execute(
        self,
        principal: Principal,
        plan_id: int,
        digest: bytes,
        choice: Choice,
        *,
        request_id: str | None,
    ) -> ExecutedPlan:
        """Executes the chosen matches of a plan, or orders that.

        The same again, with the same digest and choice, returns what became of it. Raises
        NotFoundError, PlanNotReadyError, PlanUsedError, PlanExpiredError, DigestMismatchError,
        InvalidInputError for a choice of what is not there, ReplaceBusyError, and
        ReplaceStaleError, for an agent also when its tools cannot return one of the strings now.
        """
        asked = _Asked(digest, choice, principal.actor, request_id)
        with self.store.for_project(principal.project_id) as work:
            plan = find_plan(work, principal, plan_id)
            if before := self._before(work, plan, asked):
                return before
            is_atomic = plan.counts.is_atomic
            tables = work.plans.tables(plan.id, limit=MAX_PLANNED_TABLES) if is_atomic else []
        try:
            if not is_atomic:
                return self._order(plan, asked)
            begun = replace(plan, choice=choice, executed_by=principal.actor)
            with self.rewriting(begun, REQUEST_TEXT_S) as task:
                ahead = preload(self.store, plan, task, tables, self.writer)
                return self._write(plan, asked, task, ahead)
        except CommitUnknownError:
            return self._look(plan, asked)

    @contextmanager
    def rewriting(self, plan: Plan, text_timeout_s: float) -> Iterator[Rewriting]:
        """Returns what a plan with a choice does to documents, in one thread.

        Raises PlanExpiredError when its texts are forgotten, and as ``replacer_of`` does.
        """
        if plan.request is None or plan.choice is None:
            raise PlanExpiredError("the texts of the plan are forgotten")
        with replacer_of(plan.request, self.patterns, text_timeout_s=text_timeout_s) as replacer:
            yield Replace(plan, plan.choice, replacer)

    def _before(self, work: UnitOfWork, plan: Plan, asked: _Asked) -> ExecutedPlan | None:
        """Returns what became of a plan that was executed with the same words."""
        if plan.state == "previewing":
            raise PlanNotReadyError("the preview goes on", retry_after_s=BUSY_S)
        if plan.undoes is not None:
            raise PlanUsedError("the plan is an undo: it is executed already")
        if plan.choice is not None:
            if plan.choice != asked.choice or plan.digest != asked.digest:
                raise PlanUsedError("the plan was executed with another choice")
            tables = work.plans.tables(plan.id, limit=MAX_PLANNED_TABLES)
            return ExecutedPlan(plan, tables, replayed=True)
        if plan.state != "ready" or plan.expires_at <= self.clock.now():
            raise PlanExpiredError("the plan is over: preview again")
        if plan.digest != asked.digest:
            raise DigestMismatchError("the plan shows something else than this digest stands for")
        _check_choice(work, plan, asked.choice)
        return None

    def _locked(self, work: UnitOfWork, plan: Plan, asked: _Asked) -> Plan | ExecutedPlan:
        """Makes a plan the one that is executed, if it still may be."""
        locked = work.plans.lock(plan.id)
        if locked is None:
            raise NotFoundError("there is no such plan")
        if before := self._before(work, locked, asked):
            return before
        now = self.clock.now()
        begun = locked.begun(
            asked.choice,
            asked.actor,
            now=now,
            undo_until=undo_until(work, plan.project_id, now),
            request_id=asked.request_id,
        )
        if not work.plans.begin(begun):
            raise busy()
        return begun

    def _order(self, plan: Plan, asked: _Asked) -> ExecutedPlan:
        with self.store.for_project(plan.project_id) as work:
            begun = self._locked(work, plan, asked)
            if isinstance(begun, ExecutedPlan):
                return begun
            work.plans.save(begun)
            work.send(ExecutePlan(begun.id))
            return ExecutedPlan(begun)

    def _write(
        self, plan: Plan, asked: _Asked, task: Rewriting, ahead: Sequence[Rewritten | Refused]
    ) -> ExecutedPlan:
        with self.store.for_project(plan.project_id) as work:
            begun = self._locked(work, plan, asked)
            if isinstance(begun, ExecutedPlan):
                return begun
            outcomes = self.writer.write_all(work, task, begun, ahead)
            return finish(work, begun, outcomes)

    def _look(self, plan: Plan, asked: _Asked) -> ExecutedPlan:
        """What was committed, after nobody said whether it was."""
        with self.store.for_project(plan.project_id) as work:
            locked = work.plans.lock(plan.id)
            if locked is not None and (before := self._before(work, locked, asked)):
                return replace(before, replayed=False)
        raise DatabaseUnavailableError("nothing was executed: the connection was lost")


@dataclass(frozen=True, slots=True)
class _Asked:
    digest: bytes
    choice: Choice
    actor: str | None
    request_id: str | None


def busy() -> ReplaceBusyError:
    """Returns that another plan of the project is executed."""
    return ReplaceBusyError("another plan of the project is executed", retry_after_s=BUSY_S)


def preload(
    store: Store,
    plan: Plan,
    task: Rewriting,
    tables: Sequence[PlannedTable],
    writer: WriteDocuments,
) -> list[Rewritten | Refused]:
    """Returns what becomes of documents, of each in a transaction of its own, without locks.

    Those that became much larger than they were when the plan was made are too large.
    """
    ahead = []
    left = writer.max_held_chars
    for planned in tables:
        with store.for_project(plan.project_id) as work:
            source = task.read(work, planned, max_bytes=min(writer.max_bytes, left))
        left -= min(left, source.chars)
        ahead.append(task.rewritten(source))
    return ahead


def finish(work: UnitOfWork, plan: Plan, outcomes: Sequence[Outcome]) -> ExecutedPlan:
    """Ends a plan all of whose documents are written, in their transaction."""
    tables = [outcome.table for outcome in outcomes]
    is_partial = any(table.state == "skipped" or table.kept for table in tables)
    is_begun = any(table.replaced for table in tables)
    plan = plan.ended(is_whole=not is_partial, is_begun=is_begun)
    work.plans.save(plan)
    work.send_waiting(plan.project_id)  # triggers have ordered the comparisons
    return ExecutedPlan(plan, tables, [place for each in outcomes for place in each.kept])


def _check_choice(work: UnitOfWork, plan: Plan, choice: Choice) -> None:
    numbers = choice.leave | (choice.only or frozenset())
    if any(number not in range(1, plan.counts.matches + 1) for number in numbers):
        raise InvalidInputError(f"the plan has the matches 1 to {plan.counts.matches}")
    if choice == Choice(on_conflict=choice.on_conflict):
        return
    tables = work.plans.tables(plan.id, limit=MAX_PLANNED_TABLES)
    if choice.leave_tables - {table.table_id for table in tables}:
        raise InvalidInputError("except_tables names a table that the plan does not change")
    shown = (table.table_id for table in tables for _ in range(table.matches))
    if not any(choice.takes(table_id, match) for match, table_id in enumerate(shown, start=1)):
        raise InvalidInputError("no match is chosen: nothing would be executed")


@dataclass(frozen=True, slots=True)
class Replace:
    """``Rewriting`` of a plan to replace: the chosen ones of the matches that were shown."""

    plan: Plan
    choice: Choice
    replacer: Replacer

    @property
    def cause(self) -> PlanCause:
        """The plan is one to replace."""
        return "replace"

    def read(self, work: UnitOfWork, planned: PlannedTable, *, max_bytes: int) -> Source:
        """Returns the document, and those of its strings in which something is chosen."""
        if planned.table_id in self.choice.leave_tables:
            return Source(planned, ())
        strings = work.plans.strings(self.plan.id, planned.table_id)
        chosen = [string for string in strings if self._is_chosen(string)]
        source = Source(planned, chosen, is_purged=not strings)
        if not chosen:
            return source
        bounded_by = self.plan.bounded_by
        return read_document(
            work, self.plan.project_id, source, bounded_by=bounded_by, max_bytes=max_bytes
        )

    def _is_chosen(self, string: PlannedString) -> bool:
        numbers = range(string.first_match, string.first_match + string.matches)
        return any(self.choice.takes(string.table_id, number) for number in numbers)

    def rewritten(self, source: Source) -> Rewritten | Refused:
        """Finds the matches again: nothing is done to a string that was not shown."""
        if not source.strings:
            return refused(source, "GONE") if source.is_purged else Rewritten(source)
        document = parsed(source)
        if isinstance(document, Refused):
            return document
        texts = [string_at(document, string.json_pointer) for string in source.strings]
        if conflicts := _changed(source, document, texts):
            return Refused(source, conflicts)
        present = [text for text in texts if text is not None]
        done = self._done(source.strings, present)
        if done is None:
            return refused(source, "MATCHES_DIFFER")
        return rewritten_with(source, document, done)

    def _done(
        self, strings: Sequence[PlannedString], texts: Sequence[str]
    ) -> list[tuple[PlannedString, str]] | None:
        """None when the rules, or the engine, make something else of the texts by now."""
        done = []
        try:
            found = self.replacer.edits_in(texts, Allowance())
            for string, text, all_of in zip(strings, texts, found, strict=True):
                edits = all_of.edits
                if string_hash(apply_edits(text, edits)) != string.after_hash:
                    return None
                chosen = [
                    edit
                    for number, edit in enumerate(edits, start=string.first_match)
                    if self.choice.takes(string.table_id, number)
                ]
                if len(edits) != string.matches or not chosen:
                    return None
                done.append(executed_string(string, text, chosen))
        except InvalidInputError:  # a pattern that is too slow now, more matches than there may be
            return None
        return done


def _changed(
    source: Source, document: object, texts: Sequence[str | None]
) -> Sequence[ChangedString]:
    """Returns the strings that are not as they were shown; of what is out of reach no place."""
    pointers = (string.json_pointer for string in source.strings)
    if not source.may_change(document, zip(pointers, texts, strict=True)):
        return refused(source, "OUT_OF_REACH").conflicts
    wrong = [
        string
        for string, text in zip(source.strings, texts, strict=True)
        if text is None or string_hash(text) != string.before_hash
    ]
    if not wrong:
        return []
    missed = {string.json_pointer for string in wrong}
    at_home = (each.json_pointer for each in source.strings if each.json_pointer not in missed)
    moved = moved_to(document, at_home, [string.before_hash for string in wrong])
    there = {
        string.json_pointer
        for string, text in zip(source.strings, texts, strict=True)
        if text is not None
    }

    def reported(string: PlannedString) -> ChangedString:
        place = moved.get(string.before_hash)
        reason: SkipReason = "CHANGED" if string.json_pointer in there else "GONE"
        return ChangedString(
            source.planned.table_id,
            string.json_pointer,
            "MOVED" if place is not None else reason,
            source.revision,
            place,
        )

    return [reported(string) for string in wrong]


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
        if done == "goes_on":  # whoever does comes when nobody has the plan
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
                # Whoever had it until now has gone on with it.
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
    """A worker's turn with a plan, in which nobody else writes.

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

    def run(self, turn: Turn, task: Rewriting) -> Carried:
        """Goes on with a plan until it ends, or time does: then it has to be ordered again.

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

    def _look_at_all(self, turn: Turn, task: Rewriting, time: _Time) -> Carried | None:
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
        """Reads a document only if it is another one by now, or an agent's tools may hide it."""
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
    ) -> Carried:
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
        """False: the document has another revision by now."""
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

        Whoever has lost the plan may do it, too: it takes back what this run has counted.
        """
        with suppress(ContextSearchError), self.store.for_project(plan.project_id) as work:
            locked = work.plans.lock_table(plan.id, planned.table_id)
            if locked is not None and locked.state == "pending":
                given_back = replace(locked, runs=max(0, locked.runs - 1))
                work.plans.save_tables(plan.id, [given_back])

    # ---- The plan.

    def stop(self, turn: Turn, cause: PlanCause, error: ContextSearchError) -> Carried:
        """Ends a plan that cannot go on: what is not done by now stays as it is."""
        plan_id = turn.plan.id
        with self._writing(turn) as work:
            pending = work.plans.tables(plan_id, limit=MAX_PLANNED_TABLES, state="pending")
            skipped = [skipped_table(each, "MATCHES_DIFFER", cause) for each in pending]
            work.plans.save_tables(plan_id, skipped)
        reported = {"code": error.code, "message": error.message}
        return self._end(replace(turn, plan=replace(turn.plan, last_error=reported)))

    def _end(self, turn: Turn) -> Carried:
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


@dataclass(frozen=True, slots=True)
class KeptPlans:
    """What became of plans, in counts. ``is_done``: nothing more has to."""

    revived: int
    expired: int
    texts_purged: int
    removed: int
    is_done: bool


def keep_plans(store: Store, *, silent_s: float) -> KeptPlans:
    """Does what time has brought about, each plan in a transaction of its own.

    Plans that were not executed in their time expire. Those that a worker has to go on with, and
    that were silent for so long, are ordered again. Texts go that nobody can use any more, strings
    of deleted tables, and whole plans that are a year old or of deleted projects.
    """
    with store.for_all("maintenance") as work:
        expired = work.plans.expire(limit=PLANS_PER_STEP)
        silent = work.plans.silent(silent_s=silent_s, limit=PLANS_PER_STEP)
        work.send(*(ExecutePlan(plan_id) for plan_id in silent))
        strings = work.plans.purge_strings(limit=STRINGS_PER_STEP)
        outlived = work.plans.outlived(limit=PLANS_EMPTIED_PER_STEP)
        purgeable = work.plans.purgeable(limit=PLANS_EMPTIED_PER_STEP)
    for plan_id in outlived:
        with store.for_all("maintenance") as work:
            if not _is_being_undone(work, plan_id):
                work.plans.purge_texts(plan_id)
    for plan_id in purgeable:
        with store.for_all("maintenance") as work:
            work.plans.remove(plan_id)
    is_done = (
        max(expired, len(silent)) < PLANS_PER_STEP
        and len(outlived) < PLANS_EMPTIED_PER_STEP
        and not purgeable
        and strings < STRINGS_PER_STEP
    )
    return KeptPlans(len(silent), expired, len(outlived), len(purgeable), is_done)


def keep_plans_step(store: Store, *, silent_s: float) -> Step:
    """Return the step of cleanup."""

    def keep(report: CleanupReport) -> bool:
        kept = keep_plans(store, silent_s=silent_s)
        report.plans_revived += kept.revived
        report.plans_expired += kept.expired
        report.plan_texts_forgotten += kept.texts_purged
        report.plans_removed += kept.removed
        return not kept.is_done

    return Step("keep_plans", keep, due=("plans",))


def _is_being_undone(work: UnitOfWork, plan_id: int) -> bool:
    """Locks a plan: somebody may have begun to undo it since it was listed, and needs its texts."""
    plan = work.plans.lock(plan_id)
    if plan is None or plan.undone_by is None:
        return False
    undo = work.plans.find(plan.undone_by, project_id=plan.project_id)
    return undo is not None and undo.state in ("ready", "executing")
