"""Plans that a worker carries out, a document at a time, whatever happens to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from functools import partial

import pytest

from context_search.budgets.bounds import UNCOUNTED_CHARS
from context_search.catalog.versions import RecordVersions
from context_search.core.errors import (
    ConflictError,
    ContextSearchError,
    DatabaseUnavailableError,
    ReplaceBusyError,
)
from context_search.core.limits import ProjectBounds
from context_search.core.model import Table
from context_search.indexing.node_report import RetryLater
from context_search.store import UnitOfWork
from context_search_editing.executing_in_worker import BUSY_WORKER_S, LEASE_S
from context_search_editing.rules.plans import MAX_RUNS, Choice, Plan
from context_search_editing.rules.replacing import ReplaceRequest
from context_search_editing.write_documents import MAX_STRING_CHARS
from testing.in_memory.clock import ManualClock
from tests.editing.replacing import ALL, SKIP, STORY, BusyStore, Desk, FaultyStore, StoppedError
from tests.faults.simulation.model.store import ModelStore
from tests.stores import StoreInFront

POOL = "documents of plan {}"
LETTERS = ReplaceRequest("x", "yy")


@dataclass
class SlowStore(StoreInFront):
    """A store whose transactions take ten seconds each."""

    clock: ManualClock

    def around(
        self, opened: AbstractContextManager[UnitOfWork]
    ) -> AbstractContextManager[UnitOfWork]:
        self.clock.advance(10)
        return opened


@dataclass
class KilledStore(StoreInFront):
    """The store of a process that is killed before transaction number ``at``, from 1."""

    at: int
    begun: int = 0

    def around(
        self, opened: AbstractContextManager[UnitOfWork]
    ) -> AbstractContextManager[UnitOfWork]:
        self.begun += 1
        if self.begun >= self.at:
            raise StoppedError
        return opened


@pytest.fixture
def desk(model: Desk) -> Desk:
    return model


def ordered(desk: Desk, choice: Choice = ALL, request: ReplaceRequest = LETTERS) -> Plan:
    """A plan that waits for a worker."""
    plan = desk.as_large(desk.preview(request))
    executed = desk.execute(plan, choice)
    assert executed.plan.state == "executing"
    return plan


def texts(desk: Desk, tables: Sequence[Table]) -> list[object]:
    return [json.loads(desk.text(table)) for table in tables]


def test_a_large_plan_is_ordered_and_done_by_a_worker(desk: Desk) -> None:
    tables = desk.make(*STORY)
    before = [desk.text(table) for table in tables]
    plan = ordered(desk, request=ReplaceRequest("废弃仓库", "荒废工厂"))
    assert [desk.text(table) for table in tables] == before
    assert desk.messages() == [plan.id]
    assert desk.run_plan(plan) == "done"
    assert [desk.text(table) for table in tables] == [
        text.replace("废弃仓库", "荒废工厂") for text in before
    ]
    done = desk.plan(plan)
    assert (done.state, done.executed_by, done.request_id) == ("done", "key:7", "executed")
    assert sum(row.replaced for row in desk.rows(plan)) == 7
    live, past = desk.versions(tables[0])
    assert (live.cause, live.plan_id, live.request_id) == ("replace", plan.id, "executed")
    assert desk.version(tables[0], past.revision) == before[0]
    replayed = desk.execute(plan)
    assert (replayed.replayed, replayed.done_count) == (True, 7)


def test_a_large_plan_is_undone_and_done_again_by_a_worker(desk: Desk) -> None:
    tables = desk.make(*STORY)
    before = [desk.text(table) for table in tables]
    plan = ordered(desk, request=ReplaceRequest("废弃仓库", "荒废工厂"))
    desk.run_plan(plan)
    after = [desk.text(table) for table in tables]
    undo = large_undo(desk, plan)
    assert desk.plan(undo).state == "done"
    assert [desk.text(table) for table in tables] == before
    redo = large_undo(desk, undo)
    assert [desk.text(table) for table in tables] == after
    large_undo(desk, redo)
    assert [desk.text(table) for table in tables] == before


def test_a_document_stays_that_would_grow_too_large_to_be_undone(desk: Desk) -> None:
    small = desk.having(recorder=RecordVersions(5_000))
    [table] = small.make(["x" * 10])
    plan = ordered(small, SKIP, ReplaceRequest("x", "y" * 1_000))
    small.run_plan(plan)
    assert [row.reason for row in small.rows(plan)] == ["TOO_LARGE"]
    assert texts(small, [table]) == [["x" * 10]]


def large_undo(desk: Desk, plan: Plan) -> Plan:
    """Has a worker undo a plan."""
    desk.enlarge(plan)
    undo = desk.undo(plan)
    assert undo.plan.state == "executing"
    assert not undo.tables
    desk.run_plan(undo.plan)
    return undo.plan


def test_texts_are_not_forgotten_while_a_worker_takes_them_back(desk: Desk) -> None:
    tables = desk.make(*STORY)
    before = [desk.text(table) for table in tables]
    plan = desk.execute(desk.preview()).plan
    desk.enlarge(plan)
    undo = desk.undo(plan).plan
    with pytest.raises(ConflictError):
        desk.previews.cancel(desk.principal, plan.id)
    assert desk.run_plan(undo) == "done"
    assert [desk.text(table) for table in tables] == before
    desk.previews.cancel(desk.principal, plan.id)


def overtake(desk: Desk, plan: Plan) -> None:
    """What another worker does that finds the first one silent."""
    assert isinstance(desk.clock, ManualClock)
    desk.clock.advance(LEASE_S + 1)
    desk.run_plan(plan)


@pytest.mark.parametrize("choice", [ALL, SKIP], ids=["abort", "skip"])
def test_another_worker_may_do_it_all_at_any_moment(choice: Choice) -> None:
    """Where the first one has slept through its lease, it writes nothing when it wakes up."""
    for at in range(1, 30):
        clock = ManualClock()
        desk = Desk(ModelStore(clock), clock)
        tables = desk.make(["x"], ["x x"])
        plan = ordered(desk, choice)
        slow = desk.while_somebody(at, partial(overtake, desk, plan))
        with suppress(ReplaceBusyError):
            slow.run_plan(plan)
        assert texts(desk, tables) == [["yy"], ["yy yy"]]
        assert [len(desk.versions(table)) for table in tables] == [2, 2]
        assert [(row.replaced, row.revision_after) for row in desk.rows(plan)] == [(1, 2), (2, 2)]
        assert desk.plan(plan).state == "done"
        assert isinstance(slow.store, BusyStore)
        if at > slow.store.begun:
            return
    raise AssertionError("a worker has fewer transactions")


def ordered_anew(choice: Choice) -> tuple[Desk, Sequence[Table], Plan]:
    """Two documents in a store of their own, a plan for both, and a change of the first since."""
    clock = ManualClock()
    desk = Desk(ModelStore(clock), clock)
    tables = desk.make({"a": "x"}, {"a": "x"})
    plan = ordered(desk, choice)
    desk.put(tables[0], "new", "/b")  # to be looked at, where all are
    return desk, tables, plan


@pytest.mark.parametrize("choice", [ALL, SKIP], ids=["abort", "skip"])
def test_a_worker_writes_nothing_while_another_one_has_the_plan(choice: Choice) -> None:
    for at in range(1, 30):
        desk, tables, plan = ordered_anew(choice)
        found: list[object] = []
        slow = desk.while_somebody(at, partial(take_turn, desk, plan, tables, found))
        with suppress(ReplaceBusyError, RetryLater):
            slow.run_plan(plan)
        if not found:
            assert at > 8
            return
        assert written(desk, plan, tables) == found[0]
    raise AssertionError("a worker has fewer transactions")


def written(desk: Desk, plan: Plan, tables: Sequence[Table]) -> object:
    rows = [(row.state, row.revision_after) for row in desk.rows(plan)]
    return desk.plan(plan).state, rows, texts(desk, tables)


def take_turn(desk: Desk, plan: Plan, tables: Sequence[Table], found: list[object]) -> None:
    """Another worker takes the plan whose worker is silent, and does nothing yet."""
    assert isinstance(desk.clock, ManualClock)
    desk.clock.advance(LEASE_S + 1)
    assert desk.work.permits.take(POOL.format(plan.id), size=1, count=1, lease_s=100)
    found.append(written(desk, plan, tables))


def test_a_worker_that_has_little_time_leaves_the_rest_to_the_next(desk: Desk) -> None:
    tables = desk.make(["x"], ["x"])
    plan = ordered(desk, SKIP)
    assert desk.messages() == [plan.id]
    assert desk.run_plan(plan, left_s=59) == "goes_on"
    assert texts(desk, tables) == [["yy"], ["x"]]
    assert desk.messages() == [plan.id]
    assert desk.run_plan(plan, left_s=61) == "done"
    assert texts(desk, tables) == [["yy"], ["yy"]]


@pytest.mark.parametrize("choice", [ALL, SKIP], ids=["abort", "skip"])
def test_the_next_worker_finds_the_plan_free_as_soon_as_it_is_ordered(choice: Choice) -> None:
    for at in range(1, 30):
        desk, tables, plan = ordered_anew(choice)
        desk.messages()
        busy = desk.while_somebody(at, partial(take_orders, desk, plan))
        assert busy.run_plan(plan, left_s=59) == "goes_on"
        take_orders(desk, plan)
        assert texts(desk, tables) == [{"a": "yy", "b": "new"}, {"a": "yy"}]
        assert isinstance(busy.store, BusyStore)
        if at > busy.store.begun:
            return
    raise AssertionError("a worker has fewer transactions")


def take_orders(desk: Desk, plan: Plan) -> None:
    """What the next worker does, at once; a message that meets another worker comes late."""
    for _ in desk.messages():
        with suppress(RetryLater):
            assert desk.run_plan(plan) in ("done", "nothing_to_do")


@pytest.mark.parametrize("choice", [SKIP, Choice()])
def test_workers_that_all_have_little_time_end_a_plan(desk: Desk, choice: Choice) -> None:
    tables = desk.make(*({"a": "x"} for _ in range(3)))
    plan = ordered(desk, choice)
    for table in tables:
        desk.put(table, "new", "/b")
    outcomes = [desk.run_plan(plan, left_s=1) for _ in range(6)]
    assert "done" in outcomes
    assert texts(desk, tables) == [{"a": "yy", "b": "new"}] * 3


def test_nothing_is_written_when_something_is_stale_at_the_beginning(desk: Desk) -> None:
    tables = desk.make(["x"], ["x"], ["x"])
    plan = ordered(desk)
    desk.put(tables[2], ["mine x"])
    assert desk.run_plan(plan) == "failed"
    assert texts(desk, tables) == [["x"], ["x"], ["mine x"]]
    assert desk.failure(plan)["code"] == "REPLACE_STALE"
    assert [(row.state, row.reason) for row in desk.rows(plan)] == [
        ("pending", None),
        ("pending", None),
        ("skipped", "CHANGED"),
    ]
    assert desk.execute(desk.preview(LETTERS)).done_count == 3


def test_who_looks_at_changed_documents_has_no_more_time_than_others(
    desk: Desk, clock: ManualClock
) -> None:
    tables = desk.make(*({"a": "x"} for _ in range(3)))
    plan = ordered(desk)
    for table in tables:
        desk.put(table, "new", "/b")
    slow = replace(desk, store=SlowStore(desk.store, clock))
    slow.__dict__["principal"] = desk.principal
    assert slow.run_plan(plan, left_s=100) == "goes_on"
    assert desk.plan(plan).after_table == tables[0].id
    while slow.run_plan(plan, left_s=110) == "goes_on":
        pass
    assert texts(desk, tables) == [{"a": "yy", "b": "new"}] * 3


def test_what_changes_while_a_plan_is_executed_is_skipped(desk: Desk) -> None:
    tables = desk.make(["x"], ["x"])
    plan = ordered(desk)
    # The look at all of them is over when the first document is begun.
    faulty = desk.with_fault("before", 9)
    with suppress(StoppedError):
        faulty.run_plan(plan)
    assert desk.plan(plan).after_table == tables[1].id
    assert texts(desk, tables) == [["x"], ["x"]]
    desk.put(tables[1], ["mine x"])
    assert desk.run_plan(plan) == "done"
    assert texts(desk, tables) == [["yy"], ["mine x"]]
    assert desk.plan(plan).state == "partial"
    assert [row.reason for row in desk.rows(plan)] == [None, "CHANGED"]


def test_other_documents_are_done_when_one_is_in_the_way(desk: Desk) -> None:
    tables = desk.make(["x"], ["x"], ["x"])
    plan = ordered(desk, SKIP)
    desk.put(tables[1], ["mine"])
    desk.tables.delete(desk.principal, tables[2].id)
    assert desk.run_plan(plan) == "done"
    assert texts(desk, tables[:2]) == [["yy"], ["mine"]]
    assert desk.plan(plan).state == "partial"
    assert [row.reason for row in desk.rows(plan)] == [None, "CHANGED", "GONE"]


def test_a_document_in_which_workers_die_is_skipped(desk: Desk) -> None:
    tables = desk.make(["x"], ["x"])
    plan = ordered(desk, SKIP)
    # A plan, a place, the plan, a page, the begin of a document: the process ends in the next one.
    for _ in range(MAX_RUNS):
        with pytest.raises(StoppedError):
            desk.with_fault("before", 6).run_plan(plan)
    assert desk.rows(plan)[0].runs == MAX_RUNS
    assert desk.run_plan(plan) == "done"
    assert [row.reason for row in desk.rows(plan)] == ["ATTEMPTS_EXHAUSTED", None]
    assert texts(desk, tables) == [["x"], ["yy"]]


def test_a_plan_has_one_worker_at_a_time(desk: Desk, clock: ManualClock) -> None:
    """A second one would take documents for fatal in which the first one is alive."""
    tables = desk.make(["x"])
    plan = ordered(desk, SKIP)
    assert desk.work.permits.take(POOL.format(plan.id), size=1, count=1, lease_s=100)
    for _ in range(2 * MAX_RUNS):
        with pytest.raises(RetryLater) as later:
            desk.run_plan(plan)
        assert later.value.after_s == BUSY_WORKER_S
    assert texts(desk, tables) == [["x"]]
    clock.advance(100)  # it was killed
    assert desk.run_plan(plan) == "done"
    assert texts(desk, tables) == [["yy"]]


def killed_at(desk: Desk, plan: Plan, at: int) -> None:
    """A worker is killed: it gives nothing back."""
    with pytest.raises(StoppedError):
        desk.having(store=KilledStore(desk.store, at)).run_plan(plan)


def test_a_killed_worker_keeps_a_plan_for_seconds(desk: Desk, clock: ManualClock) -> None:
    assert LEASE_S + BUSY_WORKER_S <= 20
    tables = desk.make(["x"], ["x"], ["x"])
    plan = ordered(desk, SKIP)
    desk.messages()
    killed_at(desk, plan, 9)
    assert [(row.state, row.runs) for row in desk.rows(plan)] == [
        ("done", 0),
        ("pending", 1),
        ("pending", 0),
    ]
    assert desk.messages() == [plan.id]  # of who takes the plan
    with pytest.raises(RetryLater):
        desk.run_plan(plan)
    clock.advance(LEASE_S + 1)
    assert desk.run_plan(plan) == "done"
    assert texts(desk, tables) == [["yy"], ["yy"], ["yy"]]


def test_who_does_a_document_in_which_a_worker_stopped_has_all_its_time(
    desk: Desk, clock: ManualClock
) -> None:
    """The first one may only have been slow: two would stop each other for ever."""
    tables = desk.make(["x"])
    plan = ordered(desk, SKIP)
    for _ in range(2):
        clock.advance(LEASE_S + 1)
        killed_at(desk, plan, 6)
    assert [row.runs for row in desk.rows(plan)] == [2]
    clock.advance(LEASE_S + 1)
    with pytest.raises(RetryLater):
        desk.run_plan(plan)
    clock.advance(900)
    assert desk.run_plan(plan) == "done"
    assert texts(desk, tables) == [["yy"]]


def test_a_plan_that_cannot_go_on_ends_in_few_transactions(desk: Desk) -> None:
    """However many documents it has."""
    desk.make(*[["x"]] * 250)
    plan = ordered(desk, SKIP)
    desk.work.plans.purge_texts(plan.id)
    counted = desk.with_fault("none", 0)
    assert counted.run_plan(plan) == "failed"
    assert desk.plan(plan).state == "failed"
    assert {row.reason for row in desk.rows(plan)} == {"MATCHES_DIFFER"}
    assert isinstance(counted.store, FaultyStore)
    assert counted.store.begun <= 6


def test_a_database_that_is_away_is_no_silent_end(desk: Desk) -> None:
    tables = desk.make(["x"])
    plan = ordered(desk, SKIP)
    for _ in range(2 * MAX_RUNS):
        with pytest.raises(DatabaseUnavailableError):
            desk.with_fault("away", 5).run_plan(plan)
    assert desk.rows(plan)[0].runs == 0
    desk.run_plan(plan)
    assert texts(desk, tables) == [["yy"]]


@pytest.mark.parametrize("fault", ["before", "after", "away", "lost"])
@pytest.mark.parametrize("choice", [ALL, SKIP], ids=["abort", "skip"])
def test_a_fault_anywhere_leaves_each_document_old_or_new(fault: str, choice: Choice) -> None:
    """And the next worker ends what the one before began: nothing is done twice."""
    transactions = 0
    for at in range(1, 40):
        clock = ManualClock()
        desk = Desk(ModelStore(clock), clock)
        tables = desk.make(["a x"], ["b x", "x"], ["c x x"])
        before = [desk.text(table) for table in tables]
        plan = ordered(desk, choice)
        faulty = desk.with_fault(fault, at)
        with suppress(StoppedError, ContextSearchError):
            faulty.run_plan(plan)
        for table, text, row in zip(tables, before, desk.rows(plan), strict=True):
            now = desk.text(table)
            assert now in (text, text.replace("x", "yy"))
            assert (row.state == "done") == (now != text)
        clock.advance(900)  # by then nobody is taken for its worker
        desk.run_plan(plan)
        assert [desk.text(table) for table in tables] == [t.replace("x", "yy") for t in before]
        assert desk.plan(plan).state == "done"
        assert [row.revision_after for row in desk.rows(plan)] == [2, 2, 2]
        assert all(len(desk.versions(table)) == 2 for table in tables)
        assert isinstance(faulty.store, FaultyStore)
        transactions = max(transactions, faulty.store.begun)
        if at > faulty.store.begun:
            break
    assert transactions > 10


@pytest.mark.slow
def test_a_string_does_not_become_longer_than_it_may(desk: Desk) -> None:
    tables = desk.make(["x" + "o" * (MAX_STRING_CHARS - 1)], ["x"])
    plan = ordered(desk, SKIP)
    assert desk.run_plan(plan) == "done"
    assert [row.reason for row in desk.rows(plan)] == ["TOO_LARGE", None]
    assert json.loads(desk.text(tables[1])) == ["yy"]


def test_a_document_that_fills_its_project_stays_and_says_so(desk: Desk) -> None:
    tables = desk.make(["x", "o" * UNCOUNTED_CHARS], ["x"])
    [full, _] = texts(desk, tables)
    plan = ordered(desk, SKIP)
    bounded = desk.having(bounds=ProjectBounds(document_bytes=UNCOUNTED_CHARS))
    assert bounded.run_plan(plan) == "done"
    assert [row.reason for row in desk.rows(plan)] == ["PROJECT_FULL", None]
    assert (desk.plan(plan).state, texts(desk, tables)) == ("partial", [full, ["yy"]])
