"""Executes a plan in a request, in one transaction: what was shown, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from context_search.core.callers import Principal
from context_search.core.errors import (
    CommitUnknownError,
    DatabaseUnavailableError,
    DigestMismatchError,
    InvalidInputError,
    NotFoundError,
    PlanExpiredError,
    PlanNotReadyError,
    PlanUsedError,
    ReplaceBusyError,
)
from context_search.core.messages import ExecutePlan
from context_search.integrations.patterns.ports import Patterns
from context_search.integrations.ports import Clock
from context_search.store import Store, UnitOfWork
from context_search_editing.finding import find_plan
from context_search_editing.matching import REQUEST_TEXT_S, Replacer, replacer_of
from context_search_editing.rules.edits import apply_edits, string_at, string_hash
from context_search_editing.rules.plans import (
    MAX_PLANNED_TABLES,
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
    undo_until,
)

BUSY_S = 1.0


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
        """Executes the chosen matches of a plan, or sends it to a worker.

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
                return self._send(plan, asked)
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

    def _send(self, plan: Plan, asked: _Asked) -> ExecutedPlan:
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
        """Returns what was committed, after the answer to the commit was lost."""
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
        """Returns None where the rules or the engine have changed since, and give other texts."""
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
