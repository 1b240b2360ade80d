"""Each step of cleanup says what makes it due, and who is named there says when."""

from __future__ import annotations

import inspect

from context_search.maintenance.cleanup import Step
from context_search.maintenance.rules.health import CleanupLimits
from context_search.store import REPOSITORIES, UnitOfWork
from testing.in_memory.clock import ManualClock
from testing.in_memory.rows import Rows
from testing.in_memory.store import MemoryUnitOfWork
from tests.system import System

NAMED = {name for step in System().scheduled(CleanupLimits()).steps() for name in step.due}


def test_a_step_cannot_be_made_without_saying_what_makes_it_due() -> None:
    assert inspect.signature(Step).parameters["due"].default is inspect.Parameter.empty


def test_the_repositories_that_steps_name_say_when_they_have_work_and_no_others() -> None:
    in_memory = MemoryUnitOfWork(Rows(), ManualClock())
    in_postgres = UnitOfWork(None)  # type: ignore[arg-type]
    assert {name for name in REPOSITORIES if hasattr(getattr(in_postgres, name), "DUE")} == NAMED
    assert {
        name
        for name in vars(in_memory).keys() & REPOSITORIES.keys()
        if hasattr(getattr(in_memory, name), "due_at")
    } == NAMED
