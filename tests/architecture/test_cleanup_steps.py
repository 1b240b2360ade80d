"""Each step of cleanup says what makes it due, and who is named there says when."""

from __future__ import annotations

import inspect

from context_search.composition.cleanup import CleanupFunction
from context_search.maintenance.cleanup import Cleanup, Step
from context_search.maintenance.rules.health import CleanupLimits
from context_search.store import REPOSITORIES, UnitOfWork
from testing.in_memory.clock import ManualClock
from tests.faults.simulation.model.rows import Rows
from tests.faults.simulation.model.store import ModelUnitOfWork
from tests.system import System
from tests.web.api import LocalParts


def named(cleanup: Cleanup) -> set[str]:
    return {name for step in cleanup.steps() for name in step.due}


def test_a_step_cannot_be_made_without_saying_what_makes_it_due() -> None:
    assert inspect.signature(Step).parameters["due"].default is inspect.Parameter.empty


def test_the_repositories_that_steps_name_say_when_they_have_work_and_no_others() -> None:
    in_postgres = UnitOfWork(None)  # type: ignore[arg-type]
    with_due = {name for name in REPOSITORIES if hasattr(getattr(in_postgres, name), "DUE")}
    assert with_due == named(CleanupFunction(LocalParts()).cleanup)


def test_so_do_those_of_the_model() -> None:
    in_memory = ModelUnitOfWork(Rows(), ManualClock())
    assert {
        name
        for name in vars(in_memory).keys() & REPOSITORIES.keys()
        if hasattr(getattr(in_memory, name), "due_at")
    } == named(System().scheduled(CleanupLimits()))
