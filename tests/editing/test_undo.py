"""Undo and redo of plans: byte for byte, and never over somebody's words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from context_search.catalog.rules.versions import HistoryLimits
from context_search.catalog.versions import RecordVersions
from context_search.core.errors import (
    ConflictError,
    NotFoundError,
    PlanNotReadyError,
    PlanUsedError,
    ReplaceBusyError,
    ReplaceStaleError,
    ReplaceTooLargeError,
    UndoExpiredError,
)
from context_search_editing.rules.plans import OnConflict
from context_search_editing.rules.replacing import ReplaceRequest
from context_search_editing.write_documents import KeptPlace
from testing.in_memory.clock import ManualClock
from tests.editing.replacing import STORY, Desk

DAY_S = 86_400.0
LETTERS = ReplaceRequest("x", "yy")


@pytest.fixture
def desk(model: Desk) -> Desk:
    return model


GROWS = ReplaceRequest("x", "y" * 1_000)


@pytest.mark.parametrize("on_conflict", ["abort", "skip"])
def test_a_worker_undoes_a_document_that_grew_too_large_for_a_request(
    desk: Desk, on_conflict: OnConflict
) -> None:
    request = desk.having(recorder=RecordVersions(5_000))
    [table] = request.make(["x" * 10])
    before = desk.text(table)
    plan = request.execute(request.preview(GROWS)).plan
    assert request.undo(plan, dry_run=True).done_count == 10
    undone = request.undo(plan, on_conflict)
    assert undone.plan.state == "executing"
    assert desk.run_plan(undone.plan) == "done"
    assert desk.text(table) == before
    assert desk.plan(plan).undone_by == undone.plan.id


def test_a_dry_run_that_cannot_read_a_document_says_so(desk: Desk) -> None:
    request = desk.having(recorder=RecordVersions(5_000))
    [table] = request.make({"text": "x" * 10, "more": ""})
    plan = request.execute(request.preview(GROWS)).plan
    desk.put(table, "mine", "/more")
    with pytest.raises(ReplaceTooLargeError):
        request.undo(plan, "skip", dry_run=True)


@pytest.mark.parametrize("by_worker", [False, True])
def test_an_undo_that_brings_nothing_back_does_not_use_the_undo_up(
    desk: Desk, *, by_worker: bool
) -> None:
    [table] = desk.make(["x"])
    plan = desk.execute(desk.preview(LETTERS)).plan
    desk.put(table, ["mine"])
    if by_worker:
        desk.enlarge(plan)
    undone = desk.undo(plan, "skip").plan
    if by_worker:
        assert desk.run_plan(undone) == "failed"
    assert desk.failure(undone)["code"] == "REPLACE_STALE"
    desk.put(table, ["yy"])
    again = desk.undo(plan, "skip").plan
    if by_worker:
        desk.run_plan(again)
    assert json.loads(desk.text(table)) == ["x"]
    assert desk.plan(plan).undone_by == again.id


@pytest.mark.parametrize("cancelled", [0, 1, 2])
def test_a_forgotten_plan_is_forgotten_with_its_undo_and_redo(desk: Desk, cancelled: int) -> None:
    tables = desk.make(*STORY)
    first = desk.execute(desk.preview()).plan
    undone = desk.undo(first).plan
    plans = [first, undone, desk.undo(undone).plan]
    desk.previews.cancel(desk.principal, plans[cancelled].id)
    for plan in plans:
        assert not any(desk.work.plans.strings(plan.id, table.id) for table in tables)
        with pytest.raises(UndoExpiredError):
            desk.undo(plan)


def test_an_undo_brings_every_byte_back_and_a_redo_does_it_again(desk: Desk) -> None:
    tables = desk.make(*STORY)
    before = [desk.text(table) for table in tables]
    plan = desk.execute(desk.preview()).plan
    after = [desk.text(table) for table in tables]
    undone = desk.undo(plan)
    assert (undone.plan.state, undone.plan.undoes) == ("done", plan.id)
    assert (undone.done_count, undone.kept_count, undone.kept) == (7, 0, [])
    assert [desk.text(table) for table in tables] == before
    redone = desk.undo(undone.plan)
    assert redone.done_count == 7
    assert [desk.text(table) for table in tables] == after
    again = desk.undo(redone.plan)
    assert [desk.text(table) for table in tables] == before
    causes = [(v.cause, v.plan_id) for v in desk.versions(tables[0])]
    ids = [again.plan.id, redone.plan.id, undone.plan.id]
    assert causes == [*[("undo", each) for each in ids], ("replace", plan.id), ("create", None)]


def test_a_plan_is_undone_once(desk: Desk) -> None:
    desk.make(*STORY)
    plan = desk.execute(desk.preview()).plan
    undone = desk.undo(plan)
    with pytest.raises(UndoExpiredError) as reported:
        desk.undo(plan)
    assert reported.value.members == {"undone_by": undone.plan.id}
    assert reported.value.message == (f"plan {plan.id} is undone already, by plan {undone.plan.id}")
    desk.undo(undone.plan)
    with pytest.raises(UndoExpiredError):
        desk.undo(plan)


def test_a_dry_run_counts_and_writes_nothing(desk: Desk) -> None:
    tables = desk.make(*STORY)
    plan = desk.execute(desk.preview()).plan
    desk.put(tables[0], "别处", "/text")
    before = desk.state(tables)
    counted = desk.undo(plan, dry_run=True)
    assert (counted.done_count, counted.kept_count) == (5, 2)
    assert {place.json_pointer for place in counted.kept} == {"/text"}
    assert desk.state(tables) == before
    assert desk.plan(plan) == plan
    done = desk.undo(plan, "skip")
    assert [(row.replaced, row.kept) for row in done.tables] == [
        (row.replaced, row.kept) for row in counted.tables
    ]
    assert done.kept == counted.kept


def test_what_somebody_wrote_stays_and_is_told(desk: Desk) -> None:
    [table, other] = desk.make({"a": "x", "b": "x"}, ["x"])
    plan = desk.execute(desk.preview(LETTERS)).plan
    desk.put(table, "mine", "/a")
    before = desk.state([table, other])
    with pytest.raises(ReplaceStaleError) as reported:
        desk.undo(plan)
    assert reported.value.members["changed"] == [
        {"table_id": table.id, "json_pointer": "/a", "reason": "EDITED_SINCE", "revision": 3}
    ]
    assert desk.state([table, other]) == before
    assert desk.plan(plan).undone_by is None
    undone = desk.undo(plan, "skip")
    assert undone.plan.state == "partial"
    assert (undone.done_count, undone.kept_count) == (2, 1)
    assert undone.kept == [KeptPlace(table.id, "/a", 0)]
    assert json.loads(desk.text(table)) == {"a": "mine", "b": "x"}
    assert json.loads(desk.text(other)) == ["x"]


def test_a_string_that_was_edited_since_stays_with_all_its_places(desk: Desk) -> None:
    [table] = desk.make(["x and x", "x"])
    plan = desk.execute(desk.preview(LETTERS)).plan
    desk.put(table, ["yy and yy, mine", "yy"])
    with pytest.raises(ReplaceStaleError) as reported:
        desk.undo(plan)
    assert reported.value.members["changed"] == [
        {"table_id": table.id, "json_pointer": "/0", "reason": "EDITED_SINCE", "revision": 3}
    ]
    undone = desk.undo(plan, "skip")
    assert undone.kept == [KeptPlace(table.id, "/0", 0), KeptPlace(table.id, "/0", 7)]
    assert json.loads(desk.text(table)) == ["yy and yy, mine", "x"]


def test_of_two_plans_in_one_string_the_later_one_is_undone_first(desk: Desk) -> None:
    [table] = desk.make(["a x"])
    first = desk.execute(desk.preview(LETTERS)).plan
    second = desk.execute(desk.preview(ReplaceRequest("a", "b"))).plan
    with pytest.raises(ReplaceStaleError):
        desk.undo(first)
    desk.undo(second)
    assert json.loads(desk.text(table)) == ["a yy"]
    assert desk.undo(first).done_count == 1
    assert json.loads(desk.text(table)) == ["a x"]


def test_a_deleted_document_stays_deleted_and_keeps_its_places(desk: Desk) -> None:
    [gone, there] = desk.make(["x x"], ["x"])
    plan = desk.execute(desk.preview(LETTERS)).plan
    desk.tables.delete(desk.principal, gone.id)
    with pytest.raises(ReplaceStaleError):
        desk.undo(plan)
    undone = desk.undo(plan, "skip")
    assert [(row.state, row.reason, row.kept) for row in undone.tables] == [
        ("skipped", "GONE", 2),
        ("done", None, 0),
    ]
    assert json.loads(desk.text(there)) == ["x"]


def test_an_undo_has_its_time(desk: Desk, clock: ManualClock) -> None:
    desk.make(*STORY)
    desk.keep(HistoryLimits(keep_days=2))
    plan = desk.execute(desk.preview()).plan
    clock.advance(2 * DAY_S - 1)
    assert desk.undo(plan, dry_run=True).done_count == 7
    clock.advance(1)
    with pytest.raises(UndoExpiredError):
        desk.undo(plan)


def test_what_was_not_executed_is_not_undone(desk: Desk) -> None:
    desk.make(*STORY)
    plan = desk.preview()
    with pytest.raises(ConflictError):
        desk.undo(plan)
    with pytest.raises(NotFoundError):
        desk.undo(replace(plan, id=plan.id + 1))
    desk.execute(desk.as_large(plan))
    with pytest.raises(PlanNotReadyError):
        desk.undo(plan)


def test_an_undo_waits_for_no_other_plan(desk: Desk) -> None:
    desk.make(*STORY)
    plan = desk.execute(desk.preview()).plan
    desk.execute(desk.as_large(desk.preview(ReplaceRequest("雨", "雪"))))
    with pytest.raises(ReplaceBusyError):
        desk.undo(plan)
    assert desk.plan(plan).undone_by is None


def test_an_undo_is_no_plan_to_execute(desk: Desk) -> None:
    desk.make(*STORY)
    undone = desk.undo(desk.execute(desk.preview()).plan)
    with pytest.raises(PlanUsedError):
        desk.execute(replace(undone.plan, digest=bytes(16)))
