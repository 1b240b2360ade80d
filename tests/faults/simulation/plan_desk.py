"""Search and replace in a world: its use cases, and the conditions that make them hard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from context_search.integrations.ports import Clock
from context_search.store import Store
from context_search.text.pattern_matches import PatternMatches
from context_search_editing.executing_in_worker import PlanWorker
from context_search_editing.previewing import PreviewLimits, PreviewReplacements
from context_search_editing.rules.plans import MAX_ATOMIC_BYTES, Plan, PlannedString, PlannedTable
from testing.in_memory.patterns import RePattern, RePatterns
from tests.faults.simulation.model.plans import ModelPlans
from tests.faults.simulation.model.rows import Rows
from tests.faults.simulation.model.store import ModelUnitOfWork
from tests.faults.simulation.mutation import Mutation

PREVIEWED_BYTES = (0, 400, 1_000_000, 1_000_000)


@dataclass
class SimPatterns(RePatterns):
    """Another release of the engine, for as long as ``is_other``, finds no match at a beginning."""

    is_other: bool = False

    @contextmanager
    def compiled(
        self, pattern: str, *, case_sensitive: bool, timeout_s: float
    ) -> Iterator[RePattern]:
        with super().compiled(
            pattern, case_sensitive=case_sensitive, timeout_s=timeout_s
        ) as compiled:
            yield _OtherPattern(compiled.compiled) if self.is_other else compiled


class _OtherPattern(RePattern):
    def _matches_in(self, text: str, groups: list[int]) -> PatternMatches:  # type: ignore[override]
        found = super()._matches_in(text, groups)
        width = 2 + 2 * len(groups)
        return PatternMatches(found.offsets[width:], width, found.empty)


@dataclass
class PlanDesk:
    """The use cases of plans; ``engine`` is the one that executes."""

    store: Store
    clock: Clock
    mutation: Mutation
    previewed_bytes: int
    engine: SimPatterns = field(default_factory=SimPatterns)

    def __post_init__(self) -> None:
        store, writer = self.store, self.mutation.writer()
        limits = PreviewLimits(bytes=self.previewed_bytes)
        self.previews = PreviewReplacements(
            store, store, SimPatterns(), lambda text: f"{len(text):016x}", self.clock, limits
        )
        self.executes = self.mutation.executes(store, self.engine, self.clock, writer)
        self.undos = self.mutation.undos(store, self.clock, writer)
        documents = self.mutation.one_by_one(store, store, writer)
        worker = PlanWorker(
            store, self.previews.run, self.executes, self.undos.rewriting, documents
        )
        self.run_plan = worker.run


def as_large(unit_of_work: type[ModelUnitOfWork]) -> type[ModelUnitOfWork]:
    """Returns a unit of work where every plan is too large for one transaction."""

    class Large(unit_of_work):  # type: ignore[misc, valid-type]
        def __init__(self, rows: Rows, clock: Clock) -> None:
            super().__init__(rows, clock)
            self.plans: ModelPlans = _large_plans(type(self.plans))(rows, clock)

    return Large


def _large_plans(usual: type[ModelPlans]) -> type[ModelPlans]:
    class LargePlans(usual):  # type: ignore[misc, valid-type]
        def save(self, plan: Plan) -> None:
            large = replace(plan.counts, planned_bytes=MAX_ATOMIC_BYTES + 1)
            usual.save(self, replace(plan, counts=large))

        def add_tables(
            self,
            plan_id: int,
            tables: Sequence[PlannedTable],
            strings: Sequence[PlannedString] = (),
        ) -> None:
            large = [replace(table, bytes=MAX_ATOMIC_BYTES + 1) for table in tables]
            usual.add_tables(self, plan_id, large, strings)

    return LargePlans
