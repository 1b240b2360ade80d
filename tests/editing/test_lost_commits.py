"""What callers are told to whose COMMIT nobody replied: what was committed, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from context_search.core.errors import DatabaseUnavailableError, UndoExpiredError
from context_search_editing.executing import ExecutedPlan
from context_search_editing.rules.plans import Plan
from context_search_editing.rules.replacing import ReplaceRequest
from testing.in_memory.clock import ManualClock
from tests.editing.replacing import BusyStore, Desk, FaultyStore, StoppedError
from tests.faults.simulation.model.store import ModelStore

LETTERS = ReplaceRequest("x", "yy")
FAULTS = ["before", "after", "away", "lost", "dropped"]


def desk_of() -> Desk:
    clock = ManualClock()
    return Desk(ModelStore(clock), clock)


def executed(desk: Desk, plan: Plan) -> ExecutedPlan:
    return desk.execute(plan)


def undone(desk: Desk, plan: Plan) -> ExecutedPlan:
    return desk.undo(plan)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("order", [executed, undone])
def test_a_fault_anywhere_leaves_an_order_or_nothing_and_says_which(
    fault: str, order: Callable[[Desk, Plan], ExecutedPlan]
) -> None:
    for at in range(1, 20):
        desk = desk_of()
        desk.make(["a x"], ["b x"])
        plan = desk.preview(LETTERS)
        if order is undone:
            plan = desk.execute(plan).plan
            desk.enlarge(plan)
        else:
            plan = desk.as_large(plan)
        faulty = desk.with_fault(fault, at)
        reported = None
        with suppress(StoppedError, DatabaseUnavailableError):
            reported = order(faulty, plan)
        waiting = desk.messages()
        if reported is not None:
            assert (reported.plan.state, reported.replayed) == ("executing", False)
            assert waiting == [reported.plan.id]
        elif fault in ("lost", "dropped"):
            assert waiting == []
        assert isinstance(faulty.store, FaultyStore)
        if at > faulty.store.begun:
            assert reported is not None
            return
    raise AssertionError("a request has fewer transactions")


@pytest.mark.parametrize("is_large", [False, True])
def test_an_undo_that_was_not_committed_is_not_taken_for_another(*, is_large: bool) -> None:
    """Somebody else undoes the plan while it is not known what became of ours."""
    for at in range(1, 20):
        desk = desk_of()
        desk.make(["a x"], ["b x"])
        plan = desk.execute(desk.preview(LETTERS)).plan
        if is_large:
            desk.enlarge(plan)
        busy = desk.while_somebody(at + 1, lambda desk=desk, plan=plan: desk.undo(plan))  # type: ignore[misc]
        faulty = busy.with_fault("dropped", at)
        assert isinstance(busy.store, BusyStore)
        try:
            reported = faulty.undo(plan)
        except (DatabaseUnavailableError, UndoExpiredError):
            continue
        assert reported.plan.id == desk.plan(plan).undone_by
        assert at >= busy.store.begun
        return
    raise AssertionError("a request has fewer transactions")


def test_an_undo_names_the_places_that_it_left_alone_also_after_a_lost_reply() -> None:
    desk = desk_of()
    [table] = desk.make({"a": "x", "b": "x"})
    plan = desk.execute(desk.preview(LETTERS)).plan
    desk.put(table, "mine", "/a")
    known = desk.undos.undo(
        desk.principal, plan.id, on_conflict="skip", dry_run=True, request_id=None
    )
    assert [place.json_pointer for place in known.kept] == ["/a"]
    for at in range(1, 20):
        faulty = desk.with_fault("lost", at)
        with suppress(DatabaseUnavailableError):
            reported = faulty.undo(plan, "skip")
            assert (reported.kept, reported.kept_count, reported.done_count) == (known.kept, 1, 1)
            return
    raise AssertionError("no reply is lost")
