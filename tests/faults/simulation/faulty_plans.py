"""Plans to replace with one thing wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

from context_search.catalog.rules.versions import Overwritten, Pruned, TableHistory
from context_search.catalog.versions import RecordVersions
from context_search.core.callers import Principal, ProjectKey
from context_search.core.model import Table
from context_search.integrations.ports import Deadline
from context_search.maintenance.cleanup import Cleanup
from context_search.maintenance.cleanup_report import CleanupReport
from context_search.store import UnitOfWork
from context_search_editing.executing import ExecutedPlan, ExecutePlans, Replace, finish, preload
from context_search_editing.executing_in_worker import OneByOne, Turn
from context_search_editing.rules.edits import Edit, apply_edits, string_at, string_hash
from context_search_editing.rules.plans import Choice, Plan, PlannedString
from context_search_editing.rules.replacing import Allowance
from context_search_editing.rules.undo import reversed_edits
from context_search_editing.undoing import RevertDocument, UndoPlans
from context_search_editing.write_documents import (
    Locked,
    Refused,
    Rewriting,
    Rewritten,
    Source,
    WriteDocuments,
)
from tests.faults.simulation.model.plans import ModelPlans
from tests.faults.simulation.model.versions import ModelVersions


@dataclass(frozen=True, slots=True)
class _Unhashed(Replace):
    """Takes whatever it finds for what was shown."""

    def _done(
        self, strings: Sequence[PlannedString], texts: Sequence[str]
    ) -> list[tuple[PlannedString, str]] | None:
        believed = []
        for string, text in zip(strings, texts, strict=True):
            [all_of] = self.replacer.edits_in([text], Allowance())
            after = string_hash(apply_edits(text, all_of.edits))
            believed.append(replace(string, after_hash=after, matches=len(all_of.edits)))
        return Replace._done(self, believed, texts)


@dataclass(frozen=True, slots=True)
class _Unread(_Unhashed):
    """Nor does it look whether the text is the one that was shown."""

    def rewritten(self, source: Source) -> Rewritten | Refused:
        document = json.loads(source.text or "null")
        found = [(each, string_at(document, each.json_pointer)) for each in source.strings]
        strings = [
            each if text is None else replace(each, before_hash=string_hash(text))
            for each, text in found
        ]
        return Replace.rewritten(self, replace(source, strings=strings))


class ExecutesWithoutLooking(ExecutePlans):
    """No hash of what was shown is compared."""

    @contextmanager
    def rewriting(self, plan: Plan, text_timeout_s: float) -> Iterator[Rewriting]:
        with ExecutePlans.rewriting(self, plan, text_timeout_s) as task:
            assert isinstance(task, Replace)
            yield _Unread(task.plan, task.choice, task.replacer)


class ExecutesWithAnyEngine(ExecutePlans):
    """What another release of the engine makes of a text is taken for what was shown."""

    @contextmanager
    def rewriting(self, plan: Plan, text_timeout_s: float) -> Iterator[Rewriting]:
        with ExecutePlans.rewriting(self, plan, text_timeout_s) as task:
            assert isinstance(task, Replace)
            yield _Unhashed(task.plan, task.choice, task.replacer)


@dataclass(frozen=True, slots=True)
class _NextOne(Choice):
    def takes(self, table_id: int, match: int) -> bool:
        return Choice.takes(self, table_id, match - 1)


class ExecutesTheNextOne(ExecutePlans):
    """Matches are counted from 0 here, and from 1 there."""

    @contextmanager
    def rewriting(self, plan: Plan, text_timeout_s: float) -> Iterator[Rewriting]:
        with ExecutePlans.rewriting(self, plan, text_timeout_s) as task:
            assert isinstance(task, Replace)
            yield Replace(
                task.plan,
                _NextOne(**{each.name: getattr(task.choice, each.name) for each in fields(Choice)}),
                task.replacer,
            )


class ExecutesTooLate(ExecutePlans):
    """Nobody looks at the time."""

    def _before(self, work: UnitOfWork, plan: Plan, asked: Any) -> ExecutedPlan | None:
        late = replace(plan, expires_at=self.clock.now() + timedelta(hours=1))
        return ExecutePlans._before(self, work, late, asked)


@dataclass(frozen=True, slots=True)
class _Disguised(ProjectKey):
    name: str | None = None

    @property
    def actor(self) -> str | None:
        return self.name


class ExecutesForAnyone(ExecutePlans):
    """An agent reaches the plans of all instances."""

    def execute(self, principal: Principal, *args: Any, **more: Any) -> ExecutedPlan:
        anyone = _Disguised(principal.project_id, name=principal.actor)
        return ExecutePlans.execute(self, anyone, *args, **more)


class EndsThePlanLater(ExecutePlans):
    """Documents are written, and what became of the plan is in a transaction of its own."""

    def _write(
        self, plan: Plan, asked: Any, task: Rewriting, ahead: Sequence[Rewritten | Refused]
    ) -> ExecutedPlan:
        with self.store.for_project(plan.project_id) as work:
            begun = self._locked(work, plan, asked)
            if isinstance(begun, ExecutedPlan):
                return begun
            outcomes = self.writer.write_all(work, task, begun, ahead)
            work.plans.save(plan)
        with self.store.for_project(plan.project_id) as work:
            return finish(work, begun, outcomes)


class WritesWhatItRead(WriteDocuments):
    """Reads without a lock, and writes without a look at the revision."""

    def lock(
        self,
        work: UnitOfWork,
        task: Rewriting,
        ahead: Rewritten | Refused,
        *,
        max_bytes: int | None,
    ) -> Locked | None:
        locked = WriteDocuments.lock(self, work, task, ahead, max_bytes=max_bytes or self.max_bytes)
        return locked and replace(locked, result=ahead)


@dataclass(frozen=True, slots=True)
class _ForgetsToRecord(RecordVersions):
    def record(self, work: UnitOfWork, changed: Table, before: Overwritten) -> None:
        """Does nothing."""


@dataclass(frozen=True, slots=True)
class RecordsNothing(WriteDocuments):
    """A path that writes and forgets what it overwrites."""

    recorder: RecordVersions = field(default_factory=_ForgetsToRecord)


@dataclass(frozen=True, slots=True)
class _RecordsNext(RecordVersions):
    waiting: list[tuple[Table, Overwritten]] = field(default_factory=list)

    def record(self, work: UnitOfWork, changed: Table, before: Overwritten) -> None:
        self.waiting.append((changed, before))


class RecordsAfterwards(ExecutePlans):
    """The versions of what was overwritten follow in a transaction of their own."""

    def _write(
        self, plan: Plan, asked: Any, task: Rewriting, ahead: Sequence[Rewritten | Refused]
    ) -> ExecutedPlan:
        later = _RecordsNext()
        other = replace(self, writer=WriteDocuments(later))
        done = ExecutePlans._write(other, plan, asked, task, ahead)
        with self.store.for_project(plan.project_id) as work:
            for changed, before in later.waiting:
                self.writer.recorder.record(work, changed, before)
        return done


class DoneBeforeItIs(OneByOne):
    """A document is done in its plan, and then it is written."""

    def _write(
        self, turn: Turn, task: Rewriting, ahead: Rewritten | Refused, *, may_compute: bool
    ) -> bool:
        if isinstance(ahead, Rewritten) and ahead.after is not None:
            plan, planned = turn.plan, ahead.source.planned
            with self.store.for_project(plan.project_id) as work:
                done = replace(planned, state="done", replaced=ahead.done, runs=0)
                work.plans.save_tables(plan.id, [done])
            with self.patient.for_project(plan.project_id) as work:
                locked = self.writer.lock(work, task, ahead, max_bytes=self.writer.max_bytes)
                assert locked is not None
                self.writer.write(work, task, plan, locked)
                work.send_waiting(plan.project_id)
            return True
        return OneByOne._write(self, turn, task, ahead, may_compute=may_compute)


class ManyAtOnce(ModelPlans):
    """Nobody looks whether another plan of the project executes."""

    def begin(self, plan: Plan) -> bool:
        hidden = {key: row for key, row in self.rows.plans.items() if row.plan.state == "executing"}
        for key in hidden:
            del self.rows.plans[key]
        begun = ModelPlans.begin(self, plan)
        for key, row in hidden.items():
            self.rows.plans[key] = row
        return begun


class PrunesWhatUndosNeed(ModelVersions):
    """Versions leave by their number, whoever may still need them."""

    def prune(self, history: TableHistory, *, limit: int) -> Pruned:
        hidden = dict(self.rows.planned_tables)
        for key in hidden:
            del self.rows.planned_tables[key]
        pruned = ModelVersions.prune(self, history, limit=limit)
        for key, row in hidden.items():
            self.rows.planned_tables[key] = row
        return pruned


class _RevertsBlindly(RevertDocument):
    def _places(self, source: Source, document: object) -> dict[int, str]:
        return {each.position: each.json_pointer for each in source.strings}

    def _back(self, string: PlannedString, text: str) -> Sequence[Edit]:
        return [
            replace(edit, found=text[edit.start : edit.end])
            for edit in reversed_edits(string.edits or ())
            if edit.end <= len(text)
        ]


class UndoesWithoutLooking(UndoPlans):
    """Whatever stands where the plan wrote is taken for its text."""

    def _write(
        self, plan: Plan, asked: Any, task: Rewriting, ahead: Sequence[Rewritten | Refused]
    ) -> ExecutedPlan:
        task = _RevertsBlindly(plan)
        ahead = preload(self.store, plan, task, asked.tables, self.writer)
        return UndoPlans._write(self, plan, asked, task, ahead)


class NeverRevived(Cleanup):
    """A plan that its worker left is left for good."""

    def run(self, deadline: Deadline) -> CleanupReport:
        return Cleanup.run(replace(self, further=()), deadline)
