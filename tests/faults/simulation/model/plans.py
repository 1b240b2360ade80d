"""Plans to replace in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from context_search.integrations.ports import Clock
from context_search.maintenance.rules.health import CleanupLimits
from context_search_editing.rules.plans import (
    PLAN_KEPT_S,
    TEXTS_OUTLIVE_S,
    NewPlan,
    OpenPlans,
    Plan,
    PlannedString,
    PlannedTable,
    PlannedTableState,
)
from context_search_editing.sql.plans import Plans
from tests.faults.simulation.model.model import Model, Times
from tests.faults.simulation.model.rows import PlanRow, Rows

_OPEN = ("previewing", "ready")
_WORKED_ON = ("previewing", "executing")
_IN_VAIN = ("failed", "cancelled", "expired")
_OUTLIVE = timedelta(seconds=TEXTS_OUTLIVE_S)


class ModelPlans(Model, Plans):
    """``Plans`` over rows in memory. A transaction is alone anyway."""

    def due_at(self, limits: CleanupLimits) -> Times:
        """When it falls silent, expires, outlives its texts, or is to go."""
        undone = {row.plan.undoes for row in self.rows.plans.values()}
        for plan_id, row in self.rows.plans.items():
            if row.plan.state in ("previewing", "executing"):
                yield row.saved_at + timedelta(seconds=limits.silent_s)
            if row.plan.state in ("previewing", "ready"):
                yield row.plan.expires_at
            if row.texts_until is not None:
                yield row.texts_until
            if plan_id not in undone:
                yield row.kept_until

    def open(self, project_id: int) -> OpenPlans:
        now = self.clock.now()
        found = [
            plan.state
            for plan in self._plans()
            if plan.project_id == project_id and plan.state in _OPEN and plan.expires_at > now
            if plan.state != "ready" or plan.counts.matches
        ]
        return OpenPlans(len(found), found.count("previewing"))

    def add(self, new: NewPlan) -> Plan | None:
        if new.undoes is not None and self._undone_by(new.undoes) is not None:
            return None
        now = self.clock.now()
        plan = Plan(
            id=self.rows.new_id(),
            project_id=new.project_id,
            state=new.state,
            request=new.request,
            scope=new.scope,
            request_hmac=new.request_hmac,
            engine=new.engine,
            created_at=now,
            expires_at=now + timedelta(seconds=new.lifetime_s),
            mcp_id=new.mcp_id,
            undoes=new.undoes,
            previewed_by=new.actor,
            request_id=new.request_id,
        )
        kept_until = now + timedelta(seconds=PLAN_KEPT_S)
        self.rows.plans[plan.id] = PlanRow(plan, now, plan.expires_at + _OUTLIVE, kept_until)
        return plan

    def find(self, plan_id: int, *, project_id: int) -> Plan | None:
        plan = self.lock(plan_id)
        return plan if plan is not None and plan.project_id == project_id else None

    def lock(self, plan_id: int) -> Plan | None:
        row = self.rows.plans.get(plan_id)
        return None if row is None else replace(row.plan, undone_by=self._undone_by(plan_id))

    def page(self, project_id: int, *, below: int | None, limit: int) -> list[Plan]:
        found = [
            replace(plan, undone_by=self._undone_by(plan.id))
            for plan in reversed(self._plans())
            if plan.project_id == project_id and (below is None or plan.id < below)
        ]
        return found[:limit]

    def save(self, plan: Plan) -> None:
        if (row := self.rows.plans.get(plan.id)) is None:
            return
        changed = replace(
            row.plan,
            state=plan.state,
            after_table=plan.after_table,
            digest=plan.digest,
            counts=plan.counts,
            choice=plan.choice,
            executed_by=plan.executed_by,
            executed_at=plan.executed_at,
            undo_until=plan.undo_until,
            request_id=plan.request_id,
            runs=plan.runs,
            last_error=plan.last_error,
        )
        until = row.texts_until and (plan.undo_until or row.plan.expires_at + _OUTLIVE)
        self.rows.plans[plan.id] = replace(
            row, plan=changed, saved_at=self.clock.now(), texts_until=until
        )

    def begin(self, plan: Plan) -> bool:
        row = self.rows.plans.get(plan.id)
        if row is None or any(
            other.project_id == plan.project_id and other.state == "executing"
            for other in self._plans()
            if other.id != plan.id
        ):
            return False
        begun = replace(row.plan, state=plan.state)
        self.rows.plans[plan.id] = replace(row, plan=begun, saved_at=self.clock.now())
        return True

    def remove(self, plan_id: int) -> None:
        remove_plan(self.rows, plan_id)

    def purge_texts(self, plan_id: int) -> None:
        if (row := self.rows.plans.get(plan_id)) is None:
            return
        forgotten = replace(row.plan, request=None, undo_until=None)
        self.rows.plans[plan_id] = replace(row, plan=forgotten, texts_until=None)
        _remove_strings(self.rows, plan_id)

    def add_tables(
        self, plan_id: int, tables: Sequence[PlannedTable], strings: Sequence[PlannedString] = ()
    ) -> None:
        for table in tables:
            self.rows.planned_tables[plan_id, table.table_id] = table
        self.write_strings(plan_id, strings)

    def tables(
        self, plan_id: int, *, after: int = 0, limit: int, state: PlannedTableState | None = None
    ) -> list[PlannedTable]:
        found = [
            table
            for (plan, table_id), table in sorted(self.rows.planned_tables.items())
            if plan == plan_id and table_id > after and state in (None, table.state)
        ]
        return found[:limit]

    def replaced(self, plan_ids: Sequence[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        for (plan_id, _), table in self.rows.planned_tables.items():
            if plan_id in plan_ids:
                found[plan_id] = found.get(plan_id, 0) + table.replaced
        return found

    def lock_table(self, plan_id: int, table_id: int) -> PlannedTable | None:
        return self.rows.planned_tables.get((plan_id, table_id))

    def save_tables(self, plan_id: int, tables: Sequence[PlannedTable]) -> None:
        for table in tables:
            self.rows.change(
                self.rows.planned_tables,
                (plan_id, table.table_id),
                state=table.state,
                reason=table.reason,
                revision_before=table.revision_before,
                revision_after=table.revision_after,
                replaced=table.replaced,
                kept=table.kept,
                runs=table.runs,
            )
        self.rows.change(self.rows.plans, plan_id, saved_at=self.clock.now())

    def strings(self, plan_id: int, table_id: int) -> list[PlannedString]:
        rows = sorted(self.rows.planned_strings.items())
        return [string for key, string in rows if key[:2] == (plan_id, table_id)]

    def write_strings(self, plan_id: int, strings: Sequence[PlannedString]) -> None:
        for string in strings:
            key = (plan_id, string.table_id, string.position)
            known = self.rows.planned_strings.get(key, string)
            self.rows.planned_strings[key] = replace(
                known, final_hash=string.final_hash, is_only=string.is_only, edits=string.edits
            )

    def strings_of_matches(
        self, plan_id: int, *, after: int, limit: int, table_id: int | None = None
    ) -> list[PlannedString]:
        found = [
            replace(string, edits=None)
            for (plan, table, _), string in self.rows.planned_strings.items()
            if plan == plan_id
            and table_id in (None, table)
            and string.matches > 0
            and string.last_match > after
        ]
        return sorted(found, key=lambda string: string.first_match)[:limit]

    def expire(self, *, limit: int) -> int:
        now = self.clock.now()
        due = [plan for plan in self._plans() if plan.as_of(now) is not plan]
        for plan in sorted(due, key=lambda plan: plan.expires_at)[:limit]:
            self.rows.change(self.rows.plans, plan.id, plan=plan.as_of(now))
        return len(due[:limit])

    def outlived(self, *, limit: int) -> list[int]:
        now = self.clock.now()
        needed = {plan.undoes for plan in self._plans() if plan.state in ("ready", "executing")}
        due = [
            (row.texts_until, plan_id)
            for plan_id, row in self.rows.plans.items()
            if row.texts_until is not None and row.texts_until <= now
            if _has_ended(row.plan) and plan_id not in needed
        ]
        return sorted(plan_id for _, plan_id in sorted(due)[:limit])

    def purge_strings(self, *, limit: int) -> int:
        deleted = {row.id for row in self.rows.tables.values() if row.remove_at is not None}
        found = [key for key in self.rows.planned_strings if key[1] in deleted][:limit]
        for key in found:
            del self.rows.planned_strings[key]
        return len(found)

    def purgeable(self, *, limit: int) -> list[int]:
        now, undone = self.clock.now(), {plan.undoes for plan in self._plans()}
        found = [
            (row.kept_until, plan_id)
            for plan_id, row in self.rows.plans.items()
            if (_has_ended(row.plan) and row.kept_until <= now)
            or row.plan.project_id in self.rows.project_removals
            if plan_id not in undone
        ]
        return sorted(plan_id for _, plan_id in sorted(found)[:limit])

    def silent(self, *, silent_s: float, limit: int) -> list[int]:
        before = self.clock.now() - timedelta(seconds=silent_s)
        silent = [
            (row.saved_at, plan_id)
            for plan_id, row in self.rows.plans.items()
            if row.plan.state in _WORKED_ON and row.saved_at < before
        ]
        found = sorted(plan_id for _, plan_id in sorted(silent)[:limit])
        for plan_id in found:
            self.rows.change(self.rows.plans, plan_id, saved_at=self.clock.now())
        return found

    def _plans(self) -> list[Plan]:
        return [row.plan for _, row in sorted(self.rows.plans.items())]

    def ended(self) -> list[Plan]:
        """Returns the plans that were executed, of all projects."""
        return [plan for plan in self._plans() if plan.state in ("done", "partial")]

    def _undone_by(self, plan_id: int) -> int | None:
        for plan in self._plans():
            if plan.undoes == plan_id and plan.state not in _IN_VAIN:
                return plan.id
        return None


def remove_plans(rows: Rows, project_id: int) -> None:
    """Deletes all plans of a project."""
    for row in [row for row in rows.plans.values() if row.plan.project_id == project_id]:
        remove_plan(rows, row.plan.id)


def remove_plan(rows: Rows, plan_id: int) -> None:
    """Deletes a plan with all that it has, and the plans that undid it."""
    for later in [row.plan.id for row in rows.plans.values() if row.plan.undoes == plan_id]:
        remove_plan(rows, later)
    _remove_strings(rows, plan_id)
    for key in [key for key in rows.planned_tables if key[0] == plan_id]:
        del rows.planned_tables[key]
    rows.plans.pop(plan_id, None)


def _remove_strings(rows: Rows, plan_id: int) -> None:
    for key in [key for key in rows.planned_strings if key[0] == plan_id]:
        del rows.planned_strings[key]


def _has_ended(plan: Plan) -> bool:
    return plan.state not in ("previewing", "ready", "executing")


def is_needed(rows: Rows, clock: Clock, version: tuple[int, int, int]) -> bool:
    """Says whether a plan that can still be undone replaced a revision of a table of a project."""
    table_id, project_id, revision = version
    plans = ModelPlans(rows, clock)
    done = [
        plans.find(plan_id, project_id=project_id)
        for (plan_id, planned_id), table in rows.planned_tables.items()
        if planned_id == table_id and table.state == "done" and table.revision_before == revision
    ]
    undone = {plan.undoes for plan in plans.ended()}
    return any(
        plan.state == "executing" or (plan.undo_until and plan.undo_until > clock.now())
        for plan in done
        if plan is not None and plan.id not in undone
    )
