"""What callers are told to whose COMMIT nobody replied: what was committed, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pytest

from context_search.core.errors import (
    CommitUnknownError,
    DatabaseUnavailableError,
    UndoExpiredError,
)
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


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("is_undo", [False, True], ids=["execute", "undo"])
@pytest.mark.parametrize("is_large", [False, True], ids=["small", "large"])
def test_a_fault_anywhere_leaves_all_or_nothing_and_says_which(
    fault: str, *, is_undo: bool, is_large: bool
) -> None:
    """Of a large plan, the message for a worker is all."""
    for at in range(1, 20):
        desk = desk_of()
        tables = desk.make(["a x"], ["b x"])
        plan = desk.preview(LETTERS)
        if is_undo:
            plan = desk.execute(plan).plan
        if is_large and is_undo:
            desk.enlarge(plan)
        elif is_large:
            plan = desk.as_large(plan)
        before, faulty, reported = desk.state(tables), desk.with_fault(fault, at), None
        with suppress(StoppedError, DatabaseUnavailableError, CommitUnknownError):
            reported = faulty.undo(plan) if is_undo else faulty.execute(plan)
        if is_large:
            check_message(desk, reported, fault)
        else:
            check_documents(desk, plan, before, reported, fault)
        assert isinstance(faulty.store, FaultyStore)
        if at > faulty.store.begun:
            assert reported is not None
            return
    raise AssertionError("a request has fewer transactions")


def check_message(desk: Desk, reported: ExecutedPlan | None, fault: str) -> None:
    waiting = desk.messages()
    if reported is not None:
        assert (reported.plan.state, reported.replayed) == ("executing", False)
        assert waiting == [reported.plan.id]
    elif fault in ("lost", "dropped"):
        assert waiting == []


def check_documents(
    desk: Desk,
    plan: Plan,
    before: Mapping[int, tuple[int, str]],
    reported: ExecutedPlan | None,
    fault: str,
) -> None:
    now = {table: desk.work.tables.read(table) for table in before}
    changed = [now[table] != before[table] for table in before]
    is_done = all(changed)
    assert is_done == any(changed)
    if reported is not None or fault == "lost":
        # A lost reply is asked for: whoever is told an error may say the same again.
        assert (reported is not None) == is_done
    if plan.state == "done":
        assert (desk.plan(plan).undone_by is not None) == is_done
    else:
        assert desk.execute(plan).replayed == is_done
    texts = [text for _, text in desk.documents().values()]
    assert texts in (['["a x"]', '["b x"]'], ['["a yy"]', '["b yy"]'])


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
