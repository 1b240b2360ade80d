"""Somebody saves while a plan is executed or undone, between any two of its transactions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest

from context_search.core.errors import ReplaceStaleError
from context_search.core.model import Table
from context_search.integrations.ports import Deadline
from context_search_editing.executing import ExecutedPlan
from context_search_editing.rules.plans import Choice, OnConflict, Plan
from context_search_editing.rules.replacing import ReplaceRequest
from testing.in_memory.clock import ManualClock
from tests.editing.novel import TickingClock
from tests.editing.replacing import ALL, BusyStore, Desk
from tests.faults.simulation.model.store import ModelStore

LETTERS = ReplaceRequest("x", "yy")


@pytest.fixture
def desk(model: Desk) -> Desk:
    return model


ACTS: Mapping[str, Callable[[Desk, Plan], object]] = {
    "execute": lambda desk, plan: desk.execute(plan),
    "undo": lambda desk, plan: desk.undo(plan),
    "worker": lambda desk, plan: desk.run_plan(plan),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("at", range(1, 16))
def test_what_is_saved_beside_a_shown_string_is_not_lost(desk: Desk, act: str, at: int) -> None:
    tables = desk.make({"a": "x", "b": "o"}, ["x"])
    plan = desk.preview(LETTERS)
    if act == "worker":
        plan = desk.execute(desk.as_large(plan)).plan
    elif act == "undo":
        plan = desk.execute(plan).plan
    save = desk.while_somebody(at, lambda: desk.put(tables[0], "mine", "/b"))
    ACTS[act](save, plan)
    assert isinstance(save.store, BusyStore)
    becomes = "x" if act == "undo" else "yy"
    b = "mine" if save.store.begun >= at else "o"
    assert [json.loads(desk.text(table)) for table in tables] == [{"a": becomes, "b": b}, [becomes]]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_what_is_saved_in_a_shown_string_or_deleted_stops_all_of_it(*, is_deleted: bool) -> None:
    for at in range(1, 20):
        clock = ManualClock()
        desk = Desk(ModelStore(clock), clock)
        tables = desk.make({"a": "x", "b": "o"}, ["x"])
        plan = desk.preview(LETTERS)
        busy = desk.while_somebody(at, partial(spoil, desk, tables[0], is_deleted=is_deleted))
        assert isinstance(busy.store, BusyStore)
        with suppress(ReplaceStaleError):
            assert busy.execute(plan).done_count == 2
            assert busy.store.begun < at
            return
        assert json.loads(desk.text(tables[1])) == ["x"]
        assert desk.plan(plan).state == "ready"
    raise AssertionError("a request has fewer transactions")


def spoil(desk: Desk, table: Table, *, is_deleted: bool) -> None:
    if is_deleted:
        desk.tables.delete(desk.principal, table.id)
    else:
        desk.put(table, "mine x", "/a")


@pytest.mark.parametrize("is_undone", [False, True])
@pytest.mark.parametrize("on_conflict", ["abort", "skip"])
def test_documents_that_grew_are_read_again_in_as_much_memory_as_before(
    desk: Desk, on_conflict: OnConflict, *, is_undone: bool
) -> None:
    tables = desk.make(*({"a": "x"} for _ in range(4)))
    plan = desk.preview(LETTERS)
    if is_undone:
        plan = desk.execute(plan).plan

    def grow() -> None:
        for table in tables[:3]:
            desk.put(table, "o" * 400, "/b")

    # A look at the plan, then at each of four documents: before the sixth all of it is computed.
    busy = replace(desk.while_somebody(6, grow), held_chars=1_000)
    busy.__dict__["principal"] = desk.principal

    def act() -> ExecutedPlan:
        if is_undone:
            return busy.undo(plan, on_conflict)
        return busy.execute(plan, Choice(on_conflict=on_conflict))

    was, becomes = ("yy", "x") if is_undone else ("x", "yy")
    if on_conflict == "skip":
        assert [table.reason for table in act().tables] == [None, None, "TOO_LARGE", None]
        written = [becomes, becomes, was, becomes]
    else:
        with pytest.raises(ReplaceStaleError) as refused:
            act()
        changed = refused.value.members["changed"]
        assert isinstance(changed, list)
        reported = [(each["table_id"], each["reason"]) for each in changed]
        assert reported == [(tables[2].id, "TOO_LARGE")]
        written = [was] * 4
    assert [json.loads(desk.text(table))["a"] for table in tables] == written


@pytest.mark.parametrize("at", range(1, 16))
def test_a_worker_skips_a_string_that_is_saved_after_the_first_look(desk: Desk, at: int) -> None:
    tables = desk.make({"a": "x", "b": "o"}, ["x"])
    plan = desk.as_large(desk.preview(LETTERS))
    desk.execute(plan, ALL)
    save = desk.while_somebody(at, lambda: desk.put(tables[0], "mine", "/a"))
    ended = save.run_plan(plan)
    texts = [json.loads(desk.text(table)) for table in tables]
    assert (ended, texts, desk.plan(plan).state) in [
        ("failed", [{"a": "mine", "b": "o"}, ["x"]], "failed"),
        ("done", [{"a": "mine", "b": "o"}, ["yy"]], "partial"),
        ("done", [{"a": "mine", "b": "o"}, ["yy"]], "done"),  # when it had been written
        ("done", [{"a": "yy", "b": "o"}, ["yy"]], "done"),  # nobody saved
    ]


@pytest.mark.parametrize("looks", range(1, 9))
def test_a_plan_of_which_documents_are_written_does_not_fail(desk: Desk, looks: int) -> None:
    tables = desk.make(["x"], ["x"], ["x"])
    plan = desk.as_large(desk.preview(LETTERS))
    desk.execute(plan, ALL)

    def another_worker_and_somebody() -> None:
        clock = TickingClock(800 / looks)
        desk.worker.run(plan.id, Deadline(clock, clock.monotonic() + 870))
        desk.put(tables[2], ["mine"])

    desk.while_somebody(2, another_worker_and_somebody).run_plan(plan)
    texts = [json.loads(desk.text(table)) for table in tables]
    assert texts[2] == ["mine"]
    if desk.plan(plan).state == "failed":
        assert texts[:2] == [["x"], ["x"]]
    else:
        assert texts[:2] == [["yy"], ["yy"]]
        desk.undo(desk.plan(plan), "skip")
