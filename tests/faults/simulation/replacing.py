"""Search and replace in the simulation: what users, agents and other programs do with it."""

from __future__ import annotations

import json
from collections.abc import Callable

from context_search.core.callers import McpKey, Principal
from context_search.core.json_text import to_json
from context_search_editing.executing import ExecutedPlan
from context_search_editing.previewing import AskedReplacement
from context_search_editing.rules.plans import Choice, OnConflict, Plan
from tests.faults.simulation.finding import REQUESTS
from tests.faults.simulation.invariants import check
from tests.faults.simulation.model.rows import TableRow
from tests.faults.simulation.world import World

LIFETIMES_S = (60.0, 3_600.0, 86_400.0)
POINTERS = ("", "", "", "/b", "/b/c", "/a")
ADDED = ("box ", "jugs, ", "。", "Box")
NEW_FIRST = "an element before all others"
AGENTS = (1, 2)


class Replacers:
    """Whoever replaces; each call is a task of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random

    def moves(self) -> list[tuple[float, Callable[[], object]]]:
        """Returns what they do, and how often."""
        if not self.world.replaces:
            return []
        return [
            (1.5, self._preview),
            (5, self._execute),
            (3, self._undo),
            (0.2, self._cancel),
            (0.5, self._edit_a_string),
        ]

    def others(self) -> list[tuple[float, Callable[[], object]]]:
        """Returns what other programs do."""
        if not self.world.replaces:
            return []
        return [(0.3, self._edit_a_string_by_sql), (0.05, self._deploy)]

    # ---- Plans.

    def _somebody(self) -> Principal:
        """A person as a rule, or one of two agents."""
        if self.random.random() < 0.7:
            return self.world.principal
        return McpKey(self.world.principal.project_id, self.random.choice(AGENTS))

    def _owner(self, plan: Plan) -> Principal:
        """Whose plan it is, as a rule."""
        if plan.mcp_id is None or self.random.random() < 0.2:
            return self._somebody()
        return McpKey(plan.project_id, plan.mcp_id)

    def _preview(self) -> None:
        world, who, pick = self.world, self._somebody(), self.random.choice
        tables = [world.table.id, *(table.id for table in world.chapters)]
        asked = AskedReplacement(
            pick(REQUESTS),
            tables=pick((None, None, tuple(self.random.sample(tables, 2)))),
            json_pointer=pick(POINTERS),
            lifetime_s=pick(LIFETIMES_S),
            mcp_id=who.mcp_id if isinstance(who, McpKey) else None,
        )

        def preview() -> None:
            shown = world.desk.previews.start(who, asked)
            world.seen[f"plan: {shown.plan.state} in the request"] += 1

        world.spawn("user", f"preview {asked.request.find!r}", preview)

    def _some_plan(self, *states: str) -> Plan | None:
        """Returns a plan, in one of these states as a rule."""
        plans = [row.plan for row in self.world.model_store.rows.plans.values()]
        of_states = [plan for plan in plans if plan.state in states]
        chosen = of_states if self.random.random() < 0.8 else plans
        return self.random.choice(chosen) if chosen else None

    def _choice(self, plan: Plan) -> Choice:
        if plan.choice is not None and self.random.random() < 0.7:
            return plan.choice
        numbers = range(1, plan.counts.matches + 1)
        some = frozenset(number for number in numbers if self.random.random() < 0.4)
        on_conflict: OnConflict = self.random.choice(("abort", "skip"))
        return self.random.choice(
            (
                Choice(on_conflict=on_conflict),
                Choice(leave=some, on_conflict=on_conflict),
                Choice(only=some, on_conflict=on_conflict),
                Choice(leave_tables=frozenset([self.world.table.id]), on_conflict=on_conflict),
            )
        )

    def _execute(self) -> None:
        plan = self._some_plan("ready", "ready", "executing")
        if plan is None:
            return
        world, who, choice = self.world, self._owner(plan), self._choice(plan)
        is_right = self.random.random() < 0.95
        digest = plan.digest if plan.digest and is_right else b"another digest"

        def execute() -> None:
            done = world.desk.executes.execute(who, plan.id, digest, choice, request_id=None)
            check(digest == plan.digest, "R2 executed what was not shown", plan)
            self._reported(done)
            world.seen["plan: replayed"] += done.replayed

        world.spawn("user", f"execute {plan.id}", execute)

    def _undo(self) -> None:
        plan = self._some_plan("done", "partial")
        if plan is None:
            return
        world, who = self.world, self._owner(plan)
        on_conflict: OnConflict = self.random.choice(("abort", "skip"))
        dry_run = self.random.random() < 0.25

        def undo() -> None:
            done = world.desk.undos.undo(
                who, plan.id, on_conflict=on_conflict, dry_run=dry_run, request_id=None
            )
            if dry_run:
                world.seen["plan: undone for a look"] += 1
            else:
                self._reported(done)

        world.spawn("user", f"undo {plan.id}{' for a look' * dry_run}", undo)

    def _reported(self, done: ExecutedPlan) -> None:
        """R6: whoever is told of a plan that has ended is told what is stored of it, for good."""
        if done.plan.state == "executing":
            return
        rows = self.world.model_store.rows
        stored = [row for key, row in sorted(rows.planned_tables.items()) if key[0] == done.plan.id]
        check([*done.tables] == stored, "R6 told what was not done", (done, stored))

    def _cancel(self) -> None:
        plan = self._some_plan("previewing", "ready")
        if plan is not None:
            world, who = self.world, self._owner(plan)
            run = lambda: world.desk.previews.cancel(who, plan.id)  # noqa: E731
            world.spawn("user", f"cancel {plan.id}", run)

    # ---- Others, who write into what plans have shown.

    def _edited(self, row: TableRow) -> dict[str, object]:
        """Returns a document in which somebody wrote a little."""
        document: dict[str, object] = json.loads(row.data_json)
        inner = document.get("b")
        if isinstance(inner, dict) and self.random.random() < 0.2:
            inner["c"].insert(0, NEW_FIRST)
            del inner["c"][4:]
        elif isinstance(inner, dict) and self.random.random() < 0.5:
            inner["d"] = self._with_a_word(inner["d"])
        elif isinstance(document.get("a"), str):
            document["a"] = self._with_a_word(str(document["a"]))
        return document

    def _with_a_word(self, text: str) -> str:
        at = self.random.choice((0, len(text), self.random.randint(0, len(text))))
        taken = self.random.choice((0, 0, 5))
        return text[:at] + self.random.choice(ADDED) + text[at + taken :]

    def _some_row(self) -> TableRow | None:
        rows = self.world.model_store.rows
        ids = [self.world.table.id, *(table.id for table in self.world.chapters)]
        return rows.tables.get(self.random.choice(ids))

    def _edit_a_string(self) -> None:
        """PUT or PATCH: the latter replaces one member only, whatever the others are by then."""
        row = self._some_row()
        if row is None:
            return
        world, document = self.world, self._edited(row)
        if self.random.random() < 0.5:
            run = lambda: world.tables.replace(world.principal, row.id, document)  # noqa: E731
            world.spawn("user", f"put {row.id}", run)
        else:
            patch = {"a": document.get("a")}
            run = lambda: world.tables.merge(world.principal, row.id, patch)  # noqa: E731
            world.spawn("user", f"patch {row.id}", run)

    def _edit_a_string_by_sql(self) -> bool:
        row = self._some_row()
        if row is None:
            return False
        world, text = self.world, to_json(self._edited(row))
        world.note(f"other program: edit a string of {row.id}")
        with world.model_store.for_all("test") as work:
            changed = work.tables.replace(row.id, text, expected_revision=None)
            if changed and changed.revision > row.revision:
                world.sql_revisions.add((changed.id, changed.revision))
        return True

    def _deploy(self) -> None:
        """Another release of the engine carries out what this one has shown, or the other way."""
        engine = self.world.desk.engine
        engine.is_other = not engine.is_other
        self.world.note(f"deployed: {'another' if engine.is_other else 'the same'} engine")
