"""What must hold of plans: R1 to R8, R15, R18 and R20 of docs/consistency.md, after every step."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from context_search_editing.rules.plans import Choice, Plan, PlannedString, PlannedTable
from tests.faults.simulation.finding import Place, ShownHit, shown_by, texts_of, with_places
from tests.faults.simulation.invariants import check
from tests.faults.simulation.model.rows import Rows
from tests.faults.simulation.world import World

IN_VAIN = ("failed", "cancelled", "expired")
EXECUTED = ("done", "partial")
ENDED = (*EXECUTED, *IN_VAIN)
MAY_BECOME = {
    "previewing": {"ready", "failed", "cancelled", "expired"},
    "ready": {"executing", "done", "partial", "cancelled", "expired"},
    "executing": {"done", "partial", "failed"},
}


class PlanWatch:
    """Compares what plans do with a model of its own; remembers every text that was there."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.texts: dict[tuple[int, int], str] = {}
        self.plans: dict[int, Plan] = {}
        self.tables: dict[tuple[int, int], PlannedTable] = {}
        self.shown: dict[int, list[ShownHit]] = {}
        self.versions: set[tuple[int, int, int]] = set()
        self.checked = -1
        self._others = world.after_step
        if world.replaces:
            world.after_step = self.after_step

    def after_step(self) -> None:
        """Checks what was written; a step is one transaction at most."""
        self._others()
        rows = self.world.model_store.rows
        if rows.version == self.checked:
            return
        self.checked = rows.version
        for table in rows.tables.values():
            self.texts.setdefault((table.id, table.revision), table.data_json)
        self._plans(rows)
        for key, row in rows.planned_tables.items():
            if row is not self.tables.get(key):
                self._table_changed(rows, key, self.tables.get(key), row)
        self._revisions_are_of_plans(rows)
        self._undoable_is_recorded(rows)
        self.plans = {key: row.plan for key, row in rows.plans.items()}
        self.tables = dict(rows.planned_tables)

    # ---- Plans.

    def _plans(self, rows: Rows) -> None:
        at_work = Counter(
            row.plan.project_id for row in rows.plans.values() if row.plan.state == "executing"
        )
        check(max(at_work.values(), default=0) < 2, "R6 two plans of a project execute", at_work)
        for plan_id, row in rows.plans.items():
            plan, before = row.plan, self.plans.get(plan_id)
            if before is not None and before.state == plan.state:
                continue
            state = before.state if before else "ready" if plan.undoes else "previewing"
            if state != plan.state:
                in_vain = plan.undoes is not None and (state, plan.state) == ("ready", "failed")
                may_be = in_vain or plan.state in MAY_BECOME.get(state, ())
                check(may_be, f"R6 a plan that was {state} is {plan.state}", plan)
            if plan.state == "ready" and plan.request is not None:
                self._shows(rows, plan)
            if plan.choice is not None and state == "ready":
                self._may_be_executed(rows, plan)
            if plan.state in ENDED:
                self.world.seen[f"plan: {plan.state}{' undo' if plan.undoes else ''}"] += 1
                if plan.undoes is not None and rows.plans[plan.undoes].plan.undoes is not None:
                    self.world.seen["plan: redone"] += plan.state in EXECUTED
                self._ended(_tables(rows, plan_id), plan)

    def _shows(self, rows: Rows, plan: Plan) -> None:
        """R7: a plan shows what is there, under the numbers of its places."""
        there = {row.id for row in rows.tables.values() if row.remove_at is None}
        read = [(row.table_id, row.revision_seen) for row in _tables(rows, plan.id)]
        documents = [(table_id, self.texts[table_id, seen]) for table_id, seen in read]
        assert plan.request is not None
        shown = shown_by(plan.request, plan.scope.json_pointer, documents)
        self.shown[plan.id] = shown
        first: dict[tuple[int, str], int] = {}
        count = Counter[tuple[int, str]]()
        for each in shown:
            first.setdefault((each.table_id, each.pointer), each.number)
            count[each.table_id, each.pointer] += 1
        expected = [(*of, first[of], count[of]) for of in first if of[0] in there]
        stored = [
            (string.table_id, string.json_pointer, string.first_match, string.matches)
            for key, string in sorted(rows.planned_strings.items())
            if key[0] == plan.id and key[1] in there  # others leave with their document
        ]
        check(stored == expected, "R7 a plan shows what is not there", (stored, expected))
        check(plan.counts.matches == len(shown), "R7 matches are not counted", plan)

    def _may_be_executed(self, rows: Rows, plan: Plan) -> None:
        now = self.world.clock.now()
        check(plan.undoes is not None or plan.expires_at > now, "executed after its time", plan)
        of = plan if plan.undoes is None else rows.plans[plan.undoes].plan
        if (plan.executed_by or "").startswith("mcp:"):
            is_own = plan.executed_by == f"mcp:{of.mcp_id}"
            check(is_own, "R15 an agent has executed a plan of another one", (plan, of))
        if plan.counts.is_atomic:
            check(plan.state != "executing", "R5 an atomic plan is half done", plan)
        else:
            self.world.seen["plan: left to a worker"] += 1

    def _ended(self, tables: list[PlannedTable], plan: Plan) -> None:
        """R7, R20: what was shown is done or skipped; a plan in vain has done nothing."""
        if plan.state not in EXECUTED:
            undone = [row for row in tables if row.replaced or row.revision_after is not None]
            check(not undone, f"R20 a {plan.state} plan has done something", undone)
            return
        for row in tables:
            check(row.state != "pending", "R7 a plan has ended without a document", (plan, row))
            check(row.state == "done" or not row.replaced, "R7 skipped, and replaced", row)
            if plan.undoes is not None:
                is_whole = row.replaced + row.kept == row.matches
            else:
                wanted = self._chosen(plan.choice or Choice(), plan.id, row.table_id)
                is_whole = row.state == "skipped" or row.replaced == len(wanted)
            check(is_whole, "R7 shown, and neither done nor skipped", (plan, row))

    def _chosen(self, choice: Choice, plan_id: int, table_id: int) -> list[ShownHit]:
        if table_id in choice.leave_tables:
            return []
        return [
            each
            for each in self.shown[plan_id]
            if each.table_id == table_id and each.number not in choice.leave
            if choice.only is None or each.number in choice.only
        ]

    # ---- Their documents.

    def _table_changed(
        self,
        rows: Rows,
        key: tuple[int, int],
        before: PlannedTable | None,
        row: PlannedTable,
    ) -> None:
        plan = rows.plans[key[0]].plan
        if before is not None and before.state != "pending":
            check(row == before, "R6 what is done was done again", (before, row))
            return
        if row.state == "pending":
            return
        may_write = plan.state in ("executing", *EXECUTED) or row.revision_after is None
        check(may_write, "R5 a document without its plan", (plan, row))
        self.world.seen[f"document of a plan: {row.reason or row.state}"] += 1
        if row.revision_after is not None:
            self._written(rows, plan, row)

    def _written(self, rows: Rows, plan: Plan, row: PlannedTable) -> None:
        """R1, R3, R4, R5, R8: the document, what it was before, and its edits, at one time."""
        table, earlier = rows.tables[row.table_id], row.revision_before or 0
        check(table.revision == row.revision_after, "R5 done, and not written", (table, row))
        check(earlier + 1 == row.revision_after, "R5 another revision in between", row)
        before, after = texts_of(self.texts[table.id, earlier]), texts_of(table.data_json)
        edited = [
            string
            for key, string in sorted(rows.planned_strings.items())
            if key[:2] == (plan.id, table.id) and string.edits
        ]
        recorded = [
            (string.json_pointer, Place(edit.start, edit.found, edit.becomes))
            for string in edited
            for edit in string.edits or ()
        ]
        check(len(recorded) == row.replaced, "R5 done, and not as many edits", (row, recorded))
        if plan.undoes is None:
            chosen = self._chosen(plan.choice or Choice(), plan.id, table.id)
            places = [(each.pointer, each.place) for each in chosen]
            self._was_shown(row, {each.pointer for each in chosen}, before)
        else:
            self._takes_back(rows, plan, row, edited)
            places = recorded
        check(recorded == places, "R5 other edits than those that were chosen", recorded)
        expected = with_places(before, places)
        check(after == expected, "R1 not what was chosen, or a text of others", (expected, after))
        self._is_recorded(rows, (table.id, table.project_id, earlier))

    def _was_shown(self, row: PlannedTable, pointers: set[str], before: dict[str, str]) -> None:
        seen = texts_of(self.texts[row.table_id, row.revision_seen])
        changed = {each for each in pointers if before.get(each) != seen[each]}
        check(not changed, "R2 changed since it was shown", changed)

    def _takes_back(
        self, rows: Rows, plan: Plan, row: PlannedTable, edited: list[PlannedString]
    ) -> None:
        """R3, R4: what the plan left comes back byte for byte, and nothing else changes."""
        of = (plan.undoes or 0, row.table_id)
        undone = rows.planned_tables[of]
        before = texts_of(self.texts[row.table_id, row.revision_before or 0])
        left = texts_of(self.texts[row.table_id, undone.revision_after or 0])
        origin = texts_of(self.texts[row.table_id, undone.revision_before or 0])
        after = texts_of(rows.tables[row.table_id].data_json)
        places: dict[int, str] = {}
        for key, string in rows.planned_strings.items():
            pointer = string.json_pointer
            if key[:2] != of or not string.edits:
                continue
            text = left[pointer]
            now = [place for place, present in before.items() if present == text]
            if pointer in now:
                places[string.position] = pointer
            elif len(now) == 1 and [*left.values()].count(text) == 1:
                places[string.position] = now[0]
            if place := places.get(string.position):
                is_back = after[place] == origin[pointer]
                check(is_back, "R3 not what it was before", (place, after, origin))
        changed = {string.position: string.json_pointer for string in edited}
        check(changed == places, "R4 an undo changed another string", (changed, places))

    def _is_recorded(self, rows: Rows, of: tuple[int, int, int]) -> None:
        """R8, unless somebody erased it, or nothing is kept."""
        if not self.world.keeps_history:
            return
        version = rows.versions.get(of)
        digest = hashlib.sha256(self.texts[of[0], of[2]].encode()).digest()
        is_there = version is not None and (
            version.gap == "erased"
            or (version.content is not None and version.content.sha256 == digest)
        )
        check(is_there, "R8 replaced, and not recorded", (of, version))

    def _undoable_is_recorded(self, rows: Rows) -> None:
        now = self.world.clock.now()
        undone = {row.plan.undoes for row in rows.plans.values() if row.plan.state not in IN_VAIN}
        for (plan_id, table_id), row in rows.planned_tables.items():
            plan, table = rows.plans[plan_id].plan, rows.tables.get(table_id)
            is_undoable = plan.undo_until is not None and plan.undo_until > now
            is_needed = row.revision_before and is_undoable and plan_id not in undone
            if is_needed and table is not None and table.is_there:
                self._is_recorded(rows, (table_id, table.project_id, row.revision_before or 0))

    def _revisions_are_of_plans(self, rows: Rows) -> None:
        """R5, R20: whatever names a plan was written together with the plan's row of it."""
        for key in set(rows.versions) - self.versions:
            origin = rows.versions[key].origin
            if origin is not None and origin.plan_id is not None:
                row = rows.planned_tables[origin.plan_id, key[0]]
                is_of = row.state == "done" and row.revision_after == key[2]
                check(is_of, "R5 written, and not done", (key, row))
                is_undo = rows.plans[origin.plan_id].plan.undoes is not None
                check(origin.cause == ("undo" if is_undo else "replace"), "R10 cause", origin)
        self.versions = set(rows.versions)


def _tables(rows: Rows, plan_id: int) -> list[PlannedTable]:
    return [row for key, row in sorted(rows.planned_tables.items()) if key[0] == plan_id]


def at_rest(rows: Rows) -> None:
    """R18: whatever was begun has ended."""
    for row in rows.plans.values():
        at_work = row.plan.state in ("previewing", "executing")
        check(not at_work, "R18 a plan has not ended", row.plan)


def documents(rows: Rows) -> str:
    """Returns all documents, to see whether one changes."""
    return json.dumps([[row.id, row.revision, row.data_json] for row in rows.tables.values()])
