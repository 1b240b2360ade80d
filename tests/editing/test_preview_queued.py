"""A preview that takes longer than a request goes on in the queue, whatever happens to it."""

from __future__ import annotations

import pytest

from context_search.core.errors import DatabaseUnavailableError, PatternTooSlowError
from context_search.integrations.patterns.re2_patterns import Re2Patterns
from context_search_editing.previewing import PreviewLimits
from context_search_editing.rules.plans import Plan
from tests.editing.novel import FACTORY, NOVEL, WAREHOUSE, TickingClock, asked_for
from tests.editing.replacing import BusyStore, Desk, StoppedError, counts


def finished(desk: Desk, plan: Plan) -> Plan:
    """Runs workers until a plan is ready; each is sent by the one before."""
    for _ in range(100):
        if desk.messages() != [plan.id]:
            break
        desk.previews.run(plan.id)
    return desk.read(plan.id)


def same(one: Plan, other: Plan) -> bool:
    return (one.digest, one.counts, one.state) == (other.digest, other.counts, other.state)


def test_what_takes_too_long_goes_on_in_the_queue(desk: Desk) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    late = desk.having(limits=PreviewLimits(request_s=1.5), clock=TickingClock(1)).previews
    shown = late.start(desk.principal, asked_for(WAREHOUSE, FACTORY))
    assert (shown.plan.state, shown.matches) == ("previewing", ())
    assert (shown.plan.counts.scanned_tables, shown.tables_in_scope) == (1, 4)
    assert same(finished(desk, shown.plan), whole)
    assert desk.strings(shown.plan.id) == desk.strings(whole.id)


def test_each_worker_goes_on_where_the_last_one_ended(desk: Desk) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    slow = desk.having(
        limits=PreviewLimits(request_s=1.5, queue_s=1.5), clock=TickingClock(1)
    ).previews
    plan = slow.start(desk.principal, asked_for(WAREHOUSE, FACTORY)).plan
    desk = desk.having(limits=PreviewLimits(queue_s=2.5), clock=TickingClock(1))
    done = finished(desk, plan)
    assert same(done, whole)
    assert done.runs == 0


@pytest.mark.parametrize("last", range(1, 16))
def test_a_killed_preview_goes_on_and_shows_the_same(desk: Desk, last: int) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    killed = desk.with_fault("before", last).previews
    with pytest.raises(StoppedError):
        killed.start(desk.principal, asked_for(WAREHOUSE, FACTORY))
    begun = [p for p in desk.previews.page(desk.principal, below=None).rows if p.id != whole.id]
    assert len(begun) == (last > 3)  # two permits come first
    for plan in begun:
        if plan.state == "previewing":
            assert desk.previews.run(plan.id) == "ready"
        assert same(desk.read(plan.id), whole)
        assert desk.strings(plan.id) == desk.strings(whole.id)
        assert desk.previews.run(plan.id) == "nothing_to_do"


@pytest.mark.parametrize("last", range(1, 11))
def test_a_killed_worker_leaves_nothing_twice(desk: Desk, last: int) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE, FACTORY).plan
    with pytest.raises(StoppedError):
        desk.with_fault("before", last).previews.run(plan.id)
    desk.previews.run(plan.id)
    assert same(desk.read(plan.id), whole)
    assert desk.strings(plan.id) == desk.strings(whole.id)


def test_three_silent_ends_are_the_last(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    for _ in range(3):
        with pytest.raises(StoppedError):
            desk.with_fault("before", 3).previews.run(plan.id)
    assert desk.previews.run(plan.id) == "failed"
    assert desk.failure(plan)["code"] == "ATTEMPTS_EXHAUSTED"


def test_a_document_that_does_not_fit_into_the_memory_ends_the_plan(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    assert desk.having(limits=PreviewLimits(document_bytes=10)).previews.run(plan.id) == "failed"
    assert desk.failure(plan)["code"] == "DOCUMENT_TOO_LARGE"


def test_a_preview_that_comes_further_each_time_is_not_given_up(model: Desk) -> None:
    model.make(*["x"] * 8)
    plan = model.having(limits=PreviewLimits(bytes=0)).start("x").plan
    for _ in range(6):  # begins, lists, reads one and stores it, reads the next one
        with pytest.raises(StoppedError):
            model.with_fault("before", 5).previews.run(plan.id)
    assert model.previews.run(plan.id) == "ready"


def test_a_run_that_could_not_is_no_silent_end(desk: Desk) -> None:
    desk.make(*NOVEL)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE).plan
    for _ in range(5):
        with pytest.raises(DatabaseUnavailableError):
            desk.with_fault("away", 3).previews.run(plan.id)
    assert desk.previews.run(plan.id) == "ready"


def test_a_request_that_fails_leaves_no_preview_behind(desk: Desk) -> None:
    desk.make(*NOVEL)
    with pytest.raises(DatabaseUnavailableError):
        desk.with_fault("away", 5).start(WAREHOUSE)
    [plan] = desk.previews.page(desk.principal, below=None).rows
    assert plan.state == "failed"


def test_a_worker_that_fails_for_good_says_why(desk: Desk) -> None:
    desk.make("x" * 5_001)
    plan = desk.having(limits=PreviewLimits(bytes=0)).start("x", "y" * 10_000).plan
    assert desk.previews.run(plan.id) == "failed"
    assert desk.failure(plan)["code"] == "REPLACE_TOO_LARGE"


def test_a_large_document_is_left_to_the_queue(model: Desk) -> None:
    model.make("x", "x" * 100, "x")
    small = model.having(limits=PreviewLimits(bytes=50)).previews
    plan = small.start(model.principal, asked_for("x", "y")).plan
    assert (plan.state, plan.counts.scanned_tables) == ("previewing", 1)
    assert finished(model, plan).counts.matches == 102


@pytest.mark.parametrize("case_sensitive", [True, False])
def test_documents_without_a_match_are_counted_and_bounded_as_others(
    desk: Desk, *, case_sensitive: bool
) -> None:
    desk.make("y" * 90, "x", "y" * 70, "y")
    small = desk.having(limits=PreviewLimits(bytes=150)).previews
    asked = asked_for("x", "z", case_sensitive=case_sensitive)
    plan = small.start(desk.principal, asked).plan
    assert (plan.state, plan.counts.scanned_tables) == ("previewing", 2)
    done = finished(desk, plan).counts
    assert (done.scanned_tables, done.tables, done.matches) == (4, 1, 1)
    with desk.store.for_all("test") as work:
        ids = work.tables.ids(desk.principal.project_id, after=0, limit=10)
        sizes = [len(work.tables.read(table_id)[1].encode()) for table_id in ids]
    assert done.scanned_bytes == sum(sizes)


def test_tables_that_go_and_come_during_a_preview(desk: Desk) -> None:
    first, second = desk.make("x", "x")
    plan = desk.having(limits=PreviewLimits(bytes=0)).start("x").plan
    desk.tables.delete(desk.principal, first.id)
    third, *_ = desk.make("x")
    shown = desk.previews.read(desk.principal, finished(desk, plan).id)
    assert [row.table_id for row in shown.tables.rows] == [second.id, third.id]
    assert shown.plan.counts.scanned_tables == 2


def test_named_tables_are_looked_through_once_and_while_they_are_there(desk: Desk) -> None:
    tables = desk.make("x", "x", "x", "x")
    named = tuple(table.id for table in reversed(tables[:3]))
    late = desk.having(limits=PreviewLimits(request_s=1.5), clock=TickingClock(1)).previews
    plan = late.start(desk.principal, asked_for("x", tables=named)).plan
    assert (plan.state, counts(plan)) == ("previewing", (1, 1, 1))
    desk.tables.delete(desk.principal, tables[1].id)
    shown = desk.previews.read(desk.principal, finished(desk, plan).id)
    assert [row.table_id for row in shown.tables.rows] == [tables[0].id, tables[2].id]
    assert (shown.plan.counts.scanned_tables, shown.tables_in_scope) == (2, 3)


def test_a_table_that_is_gone_costs_one_transaction(desk: Desk) -> None:
    used = []
    for count in (20, 40):
        *tables, there = desk.make(*["x"] * count, "x")
        named = tuple(table.id for table in (*tables, there))
        small = desk.having(limits=PreviewLimits(bytes=0)).previews
        plan = small.start(desk.principal, asked_for("x", tables=named)).plan
        for table in tables:
            desk.tables.delete(desk.principal, table.id)
        store = BusyStore(desk.store, 0, lambda: None)
        assert desk.having(store=store).previews.run(plan.id) == "ready"
        used.append(store.begun)
    assert used[1] - used[0] == 20


def test_a_worker_advances_by_a_document_however_late_it_began(desk: Desk) -> None:
    desk.make(*NOVEL)
    whole = desk.start(WAREHOUSE, FACTORY).plan
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE, FACTORY).plan
    late = desk.having(limits=PreviewLimits(queue_s=0)).previews
    assert [late.run(plan.id) for _ in range(4)] == [*["previewing"] * 3, "ready"]
    assert same(desk.read(plan.id), whole)


@pytest.mark.parametrize("queue_s", [2.5, 60])
def test_two_workers_on_one_plan_do_not_both_write(desk: Desk, queue_s: float) -> None:
    desk.make(*NOVEL)
    other = desk.having(limits=PreviewLimits(queue_s=queue_s), clock=TickingClock(1)).previews
    whole = desk.start(WAREHOUSE, FACTORY).plan
    plan = desk.having(limits=PreviewLimits(bytes=0)).start(WAREHOUSE, FACTORY).plan

    def overtake() -> None:
        """Another worker does some of it in between, or all."""
        assert other.run(plan.id) in ("previewing", "ready")

    late = desk.having(store=BusyStore(desk.store, 4, overtake)).previews
    assert late.run(plan.id) == "nothing_to_do"
    desk.previews.run(plan.id)
    assert same(desk.read(plan.id), whole)
    assert desk.strings(plan.id) == desk.strings(whole.id)


def test_a_document_that_takes_too_long_is_left_to_the_queue(desk: Desk) -> None:
    desk.make("x", ["x"] * 9, "x")
    whole = desk.start("x+", "y", regex=True).plan
    timely = PreviewLimits(request_s=5.5)
    late = desk.having(limits=timely, clock=TickingClock(1)).previews
    plan = late.start(desk.principal, asked_for("x+", "y", regex=True)).plan
    assert (plan.state, counts(plan)) == ("previewing", (1, 1, 1))
    desk = desk.having(
        limits=PreviewLimits(queue_s=6.5, queue_document_s=40), clock=TickingClock(1)
    )
    assert same(finished(desk, plan), whole)


def test_a_document_that_takes_all_the_time_of_a_worker_ends_the_plan(desk: Desk) -> None:
    desk.make("x", ["x"] * 9)
    late = desk.having(limits=PreviewLimits(bytes=0)).previews
    plan = late.start(desk.principal, asked_for("x+", "y", regex=True)).plan
    desk = desk.having(
        limits=PreviewLimits(queue_s=6.5, queue_document_s=6.5), clock=TickingClock(1)
    )
    assert counts(finished(desk, plan)) == (1, 1, 1)
    assert desk.failure(plan)["code"] == "PATTERN_TOO_SLOW"


def test_warnings_are_kept_from_run_to_run(desk: Desk) -> None:
    desk.make("[1]", "x]", "x]")
    late = desk.having(limits=PreviewLimits(request_s=1.5), clock=TickingClock(1)).previews
    plan = late.start(desk.principal, asked_for("]", ")")).plan
    assert (plan.state, plan.counts.warnings) == ("previewing", ("BREAKS_JSON",))
    assert finished(desk, plan).counts.warnings == ("BREAKS_JSON",)


QUADRATIC = "a.*?z|a"
"""Looks for a z from every a on."""


@pytest.mark.slow
def test_a_text_that_takes_too_long_is_left_out(model: Desk) -> None:
    desk = model.having(patterns=Re2Patterns())
    desk.make(["aaz", "a" * 1_000_000, "bab"])
    desk = desk.having(limits=PreviewLimits(text_s=0.5))
    plan = desk.start(QUADRATIC, "x", regex=True).plan
    assert (plan.state, plan.engine.partition(" ")[0]) == ("ready", "re2")
    assert counts(plan) == (1, 2, 2)
    assert plan.counts.left_out.too_slow == 1
    [matches] = [desk.matches.page(desk.principal, plan.id).rows]
    assert [match.json_pointer for match in matches] == ["/0", "/2"]


@pytest.mark.slow
def test_a_pattern_that_is_too_slow_everywhere_ends_the_plan(model: Desk) -> None:
    desk = model.having(patterns=Re2Patterns())
    desk.make(*["a" * 1_000_000] * 3)
    desk = desk.having(limits=PreviewLimits(text_s=0.2, queue_text_s=0.2))
    with pytest.raises(PatternTooSlowError):
        desk.start(QUADRATIC, "x", regex=True)
    [failed] = desk.previews.page(desk.principal, below=None).rows
    assert desk.failure(failed)["code"] == "PATTERN_TOO_SLOW"
    queued = desk.having(limits=PreviewLimits(bytes=0)).start(QUADRATIC, "x", regex=True)
    assert desk.previews.run(queued.plan.id) == "failed"
    assert desk.failure(queued.plan)["code"] == "PATTERN_TOO_SLOW"
