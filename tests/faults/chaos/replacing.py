"""Projects whose documents are replaced, and what must hold of each, whoever died over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from context_search.catalog.rules.versions import Version
from context_search.core.callers import Principal
from context_search.core.model import Table
from context_search_editing.rules.plans import MAX_ATOMIC_BYTES, Plan, PlannedTable
from tests.catalog.history import text_at, versions_of
from tests.faults.chaos.deployment import Deployment
from tests.faults.chaos.killing import LONG, Place, indexed

FIND, BECOMES = "e", "E"
SECOND = {"x": f"the end, {LONG}", "n": [1.10, "the end"]}


@dataclass
class Case:
    """A project of two documents, the first of them indexed, and a plan over both."""

    owner: Principal
    place: Place
    second: Table
    before: list[str] = field(default_factory=list)
    plan_id: int = 0
    digest: str = ""

    @property
    def tables(self) -> list[Table]:
        """The documents, by their ids."""
        return [self.place[0], self.second]


@dataclass
class Writers:
    """Healthy hands that make projects, and look at what became of them."""

    deployment: Deployment
    cases: list[Case] = field(default_factory=list)

    def case(self) -> Case:
        """A new project; a plan would keep others of its project waiting."""
        owner = self.deployment.project()
        made = Case(owner, indexed(self.deployment, owner), self.deployment.table(owner, SECOND))
        made.before = self.texts(made)
        self.cases.append(made)
        return made

    def previewed(self, *, as_large: bool = False) -> Case:
        """A project with a plan that is ready."""
        made = self.case()
        parts = self.deployment.parts
        made.plan_id = parts.preview(made.owner.project_id, FIND, BECOMES, 10**6)
        self.shown(made)
        if as_large:
            self.make_large(made)
        return made

    def executed(self) -> Case:
        """A project with a plan that is done."""
        made = self.previewed()
        assert self.execute(made) == "done"
        self.deployment.work()
        return made

    def shown(self, case: Case) -> None:
        """Takes the digest of a plan that is ready."""
        plan = self.plan(case)
        assert plan.digest is not None
        assert plan.counts.matches == sum(text.count(FIND) for text in case.before)
        case.digest = plan.digest.hex()

    def make_large(self, case: Case) -> None:
        """Leaves a plan, and its undo, to a worker."""
        with self.deployment.parts.store.for_all("test") as work:
            plan = work.plans.lock(case.plan_id)
            assert plan is not None
            large = replace(plan.counts, planned_bytes=MAX_ATOMIC_BYTES + 1)
            work.plans.save(replace(plan, counts=large))
        with self.deployment.parts.database.transaction() as tx:
            tx.run(
                "UPDATE replace_table SET bytes = :bytes WHERE plan_id = :plan",
                bytes=MAX_ATOMIC_BYTES + 1,
                plan=case.plan_id,
            )

    def execute(self, case: Case) -> str:
        """Executes a plan, or asks what became of it."""
        done = self.deployment.parts.execute(case.owner.project_id, case.plan_id, case.digest)
        return done.plan.state

    # ---- What is there.

    def plan(self, case: Case, plan_id: int | None = None) -> Plan:
        """The plan of a case."""
        with self.deployment.parts.store.for_all("test") as work:
            plan = work.plans.lock(plan_id or case.plan_id)
        assert plan is not None
        return plan

    def rows(self, plan_id: int) -> list[PlannedTable]:
        """The documents of a plan."""
        with self.deployment.parts.store.for_all("test") as work:
            return work.plans.tables(plan_id, limit=10)

    def texts(self, case: Case) -> list[str]:
        """The documents as Postgres writes them."""
        with self.deployment.parts.store.for_all("test") as work:
            return [work.tables.read(table.id)[1] for table in case.tables]

    def versions(self, table: Table) -> Sequence[Version]:
        """The versions of a document, the newest first."""
        return versions_of(self.deployment.parts.store, table).rows

    def is_written(self, case: Case, plan_id: int, texts: Sequence[str]) -> list[bool]:
        """Which documents a plan has made of ``texts``. R1, R5, R6, R8.

        Each is old, or it is new with its row in the plan, its edits, and what it was before.
        """
        rows = {row.table_id: row for row in self.rows(plan_id)}
        return [
            self._is_written(table, rows.get(table.id), plan_id, text)
            for table, text in zip(case.tables, texts, strict=True)
        ]

    def _is_written(self, table: Table, row: PlannedTable | None, plan_id: int, text: str) -> bool:
        parts = self.deployment.parts
        with parts.store.for_all("test") as work:
            revision, now = work.tables.read(table.id)
            strings = work.plans.strings(plan_id, table.id)
        of_plan = [each for each in self.versions(table) if each.plan_id == plan_id]
        edits = [edit for string in strings for edit in string.edits or ()]
        if row is None or row.state == "pending":
            assert (now, of_plan, edits) == (text, [], [])
            return False
        assert row.state == "done"
        assert [each.revision for each in of_plan] == [row.revision_after] == [revision]
        assert row.revision_before is not None
        assert len(edits) == row.replaced
        assert text_at(parts.store, table, row.revision_before) == text
        return True

    def are_replaced(self, case: Case) -> bool:
        """Whether documents are what the plan made of them, by another way to the same."""
        after = [text.replace(FIND, BECOMES) for text in case.before]
        return self.texts(case) == after

    def is_taken_back(self, case: Case, undo: int) -> None:
        """R3: byte for byte, with versions of both ways."""
        after = [text.replace(FIND, BECOMES) for text in case.before]
        assert self.plan(case, undo).state == "done"
        assert self.is_written(case, undo, after) == [True, True]
        assert self.texts(case) == case.before
