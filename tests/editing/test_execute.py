"""Executing plans: what was shown, nothing else, and nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from context_search.catalog.rules.versions import HistoryLimits
from context_search.core.callers import McpKey
from context_search.core.errors import (
    ContextSearchError,
    DigestMismatchError,
    InvalidInputError,
    NotFoundError,
    PlanExpiredError,
    PlanNotReadyError,
    PlanUsedError,
    ReplaceStaleError,
)
from context_search_editing.keeping import keep_plans
from context_search_editing.previewing import AskedReplacement
from context_search_editing.rules.plans import Choice, Plan
from context_search_editing.rules.replacing import ReplaceRequest
from testing.in_memory.clock import ManualClock
from tests.editing.replacing import SKIP, STORY, WAREHOUSE, Desk, OtherEngine, changed_in


@pytest.fixture
def desk(model: Desk) -> Desk:
    return model


def test_seven_places_in_three_documents_are_shown_and_done(desk: Desk) -> None:
    tables = desk.make(*STORY)
    before = [desk.text(table) for table in tables]
    plan = desk.preview()
    assert (plan.counts.tables, plan.counts.matches) == (3, 7)
    executed = desk.execute(plan)
    assert (executed.plan.state, executed.done_count, executed.replayed) == ("done", 7, False)
    after = [desk.text(table) for table in tables]
    assert after == [text.replace("废弃仓库", "荒废工厂") for text in before]
    assert [row.replaced for row in executed.tables] == [2, 2, 3]
    assert desk.rows(plan) == list(executed.tables)
    for table, text in zip(tables, before, strict=True):
        live, past = desk.versions(table)
        assert (live.cause, live.plan_id, live.actor) == ("replace", plan.id, "key:7")
        assert live.request_id == "executed"
        assert desk.version(table, past.revision) == text


def test_the_chosen_matches_are_replaced_and_no_other(desk: Desk) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview()
    executed = desk.execute(
        plan, Choice(leave=frozenset({1, 7}), leave_tables=frozenset({tables[1].id}))
    )
    assert [(row.replaced, row.revision_after) for row in executed.tables] == [
        (1, 2),
        (0, None),
        (2, 2),
    ]
    first, second, third = (json.loads(desk.text(table)) for table in tables)
    assert first["text"] == "林小雨站在废弃仓库前。荒废工厂的门开着。"
    assert second == STORY[1]
    assert third["text"] == "她离开荒废工厂，又回到荒废工厂，最后还是废弃仓库。"


def test_the_same_again_is_answered_with_the_first_result(desk: Desk, clock: ManualClock) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview(lifetime_s=60)
    first = desk.execute(plan)
    before = desk.state(tables)
    clock.advance(600)
    again = desk.execute(plan)
    assert again.replayed
    assert (again.plan, list(again.tables)) == (desk.plan(plan), list(first.tables))
    for other in (SKIP, Choice(leave=frozenset({1}))):
        with pytest.raises(PlanUsedError):
            desk.execute(plan, other)
    with pytest.raises(PlanUsedError):
        desk.execute(replace(plan, digest=bytes(16)))
    assert desk.state(tables) == before


def test_a_plan_ends_with_its_last_second_or_when_it_is_cancelled(
    desk: Desk, clock: ManualClock
) -> None:
    desk.make(*STORY)
    plan, done, cancelled = (desk.preview(lifetime_s=60) for _ in range(3))
    desk.execute(done)
    desk.previews.cancel(desk.principal, cancelled.id)
    clock.advance(59)
    assert desk.read(plan.id).state == "ready"
    clock.advance(1)
    assert desk.read(plan.id).state == "expired"
    page = desk.previews.page(desk.principal, below=None).rows
    assert [each.state for each in page] == ["cancelled", "done", "expired"]
    for over in (plan, cancelled):
        with pytest.raises(PlanExpiredError):
            desk.execute(over)


def test_a_plan_of_which_nothing_is_chosen_is_not_used_up(desk: Desk) -> None:
    first, *others = [table.id for table in desk.make(*STORY)]
    plan = desk.preview()
    for choice in (
        Choice(only=frozenset()),
        Choice(leave=frozenset(range(1, 8))),
        Choice(leave_tables=frozenset({first, *others})),
        Choice(only=frozenset({1, 2}), leave_tables=frozenset({first})),
        Choice(leave=frozenset({1, 2}), leave_tables=frozenset(others)),
    ):
        with pytest.raises(InvalidInputError, match="no match is chosen"):
            desk.execute(plan, choice)
    assert desk.execute(plan).done_count == 7


def refusals() -> list[tuple[type[ContextSearchError], Callable[[Desk, Plan], object]]]:
    return [
        (DigestMismatchError, lambda desk, plan: desk.execute(replace(plan, digest=bytes(16)))),
        (NotFoundError, lambda desk, plan: desk.execute(replace(plan, id=plan.id + 1))),
        (
            NotFoundError,
            lambda desk, plan: desk.execute(plan, principal=McpKey(plan.project_id, 9)),
        ),
        (InvalidInputError, lambda desk, plan: desk.execute(plan, Choice(leave=frozenset({8})))),
        (InvalidInputError, lambda desk, plan: desk.execute(plan, Choice(only=frozenset({0})))),
        (
            InvalidInputError,
            lambda desk, plan: desk.execute(plan, Choice(leave_tables=frozenset({0}))),
        ),
    ]


@pytest.mark.parametrize(("error", "ask"), refusals())
def test_what_is_refused_changes_nothing(
    desk: Desk, error: type[ContextSearchError], ask: Callable[[Desk, Plan], object]
) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview()
    before = desk.state(tables)
    with pytest.raises(error):
        ask(desk, plan)
    assert desk.state(tables) == before
    assert desk.plan(plan) == plan


def test_a_preview_that_goes_on_is_not_executed(desk: Desk) -> None:
    desk.make(*STORY)
    plan = desk.preview()
    desk.work.plans.save(replace(plan, state="previewing"))
    with pytest.raises(PlanNotReadyError):
        desk.execute(plan)


def test_the_digest_of_a_plan_that_differs_in_anything_is_refused(desk: Desk) -> None:
    tables = desk.make(["x y"], ["x"])
    asked = ReplaceRequest("x", "z")
    plan = desk.preview(asked)
    others = [
        desk.preview(replace(asked, **change))  # type: ignore[arg-type]
        for change in [
            {"replace_with": "Z"},
            {"find": "x "},
            {"case_sensitive": False},
            {"whole_word": True},
            {"regex": True},
            {"whole_characters": False},
        ]
    ]
    others.append(desk.preview(asked, tables=(tables[0].id,)))
    desk.put(tables[0], ["x Y"])
    others.append(desk.preview(asked))
    for other in others:
        with pytest.raises(DigestMismatchError):
            desk.execute(replace(plan, digest=other.digest))


@pytest.mark.parametrize(
    "request_",
    [
        WAREHOUSE,
        ReplaceRequest("HERO", "x", case_sensitive=False),
        ReplaceRequest("[cbh]at", "dog", regex=True, whole_word=True),
        ReplaceRequest(r"(\w)(\d)", "${2}$1", regex=True),
        ReplaceRequest("$3.50", "$4"),
    ],
)
def test_any_kind_of_request_is_executed_as_shown(desk: Desk, request_: ReplaceRequest) -> None:
    text = "废弃仓库 hero Hero cat bat hat scatter a1 b2 costs $3.50, 废弃仓库"
    [table] = desk.make({"a": text})
    plan = desk.preview(request_)
    shown = desk.previews.start(desk.principal, AskedReplacement(request_)).matches
    executed = desk.execute(plan)
    assert executed.done_count == plan.counts.matches == len(shown) > 0
    expected = text
    for match in reversed(shown):
        edit = match.edit
        expected = expected[: edit.start] + edit.becomes + expected[edit.end :]
    assert json.loads(desk.text(table)) == {"a": expected}


def test_a_string_that_was_saved_meanwhile_is_told_by_name(desk: Desk) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview()
    desk.put(tables[0], "她又来到废弃仓库。", "/text")
    before = desk.state(tables)
    with pytest.raises(ReplaceStaleError) as reported:
        desk.execute(plan)
    assert reported.value.members == {
        "changed_count": 1,
        "changed": [
            {"table_id": tables[0].id, "json_pointer": "/text", "reason": "CHANGED", "revision": 2}
        ],
    }
    assert reported.value.message == (
        "1 string or document is not as it was shown"
        f" (CHANGED, in table {tables[0].id}): preview again"
    )
    assert desk.state(tables) == before
    assert desk.plan(plan).state == "ready"


def test_what_is_in_the_way_is_told_apart(desk: Desk) -> None:
    tables = desk.make(["a x"], ["b x"], ["c x"], ["d x"])
    plan = desk.preview(ReplaceRequest("x", "y"))
    desk.put(tables[0], ["new", "a x"])
    desk.put(tables[1], [])
    desk.put(tables[2], ["c x", "c x too"])
    desk.tables.delete(desk.principal, tables[3].id)
    with pytest.raises(ReplaceStaleError) as reported:
        desk.execute(plan)
    assert changed_in(reported.value) == [
        {
            "table_id": tables[0].id,
            "json_pointer": "/0",
            "reason": "MOVED",
            "revision": 2,
            "moved_to": "/1",
        },
        {"table_id": tables[1].id, "json_pointer": "/0", "reason": "GONE", "revision": 2},
        {"table_id": tables[3].id, "json_pointer": "", "reason": "GONE"},
    ]
    executed = desk.execute(plan, SKIP)
    assert [(row.state, row.reason) for row in executed.tables] == [
        ("skipped", "MOVED"),
        ("skipped", "GONE"),
        ("done", None),
        ("skipped", "GONE"),
    ]
    assert executed.plan.state == "partial"
    assert json.loads(desk.text(tables[2])) == ["c y", "c x too"]


def test_a_deleted_document_is_in_the_way_when_its_strings_are_forgotten_too(desk: Desk) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview()
    desk.tables.delete(desk.principal, tables[0].id)
    keep_plans(desk.store, silent_s=60)
    with pytest.raises(ReplaceStaleError) as reported:
        desk.execute(plan)
    gone = {"table_id": tables[0].id, "json_pointer": "", "reason": "GONE"}
    assert changed_in(reported.value) == [gone]
    executed = desk.execute(plan, SKIP)
    assert [(row.state, row.reason) for row in executed.tables] == [
        ("skipped", "GONE"),
        ("done", None),
        ("done", None),
    ]
    assert (executed.plan.state, executed.done_count) == ("partial", 5)


def test_a_deleted_document_that_is_left_out_is_in_nobodys_way(desk: Desk) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview()
    desk.tables.delete(desk.principal, tables[0].id)
    keep_plans(desk.store, silent_s=60)
    executed = desk.execute(plan, Choice(leave_tables=frozenset([tables[0].id])))
    assert (executed.plan.state, executed.done_count) == ("done", 5)


def test_a_string_of_which_nothing_is_chosen_may_change(desk: Desk) -> None:
    tables = desk.make(*STORY)
    plan = desk.preview()
    desk.put(tables[0], "别处", "/text")
    assert desk.execute(plan, Choice(leave=frozenset({1, 2}))).done_count == 5
    assert json.loads(desk.text(tables[0]))["text"] == "别处"


def test_a_document_that_cannot_be_recorded_stays_as_it_was(desk: Desk) -> None:
    small, large = desk.make(["a hero " + "1" * 9], ["hero " + "2" * 90])
    plan = desk.preview(ReplaceRequest("hero", "villain"))
    desk.recorder = replace(desk.recorder, max_bytes=60)
    before = desk.state([small, large])
    with pytest.raises(ReplaceStaleError) as reported:
        desk.execute(plan)
    [changed] = changed_in(reported.value)
    assert desk.state([small, large]) == before
    executed = desk.execute(plan, SKIP)
    assert [row.reason for row in executed.tables] == [None, "TOO_LARGE"]
    assert desk.text(large) == before[large.id][1]
    assert "villain" in desk.text(small)
    assert changed["reason"] == "TOO_LARGE"


def test_a_full_history_is_no_snapshot(desk: Desk) -> None:
    [first, second] = desk.make(["x " + "1" * 500], ["x"])
    desk.put(first, ["x " + "2" * 500])
    plan = desk.preview(ReplaceRequest("x", "y"))
    desk.keep(HistoryLimits(max_bytes=1))
    before = desk.state([first, second])
    with pytest.raises(ReplaceStaleError) as reported:
        desk.execute(plan)
    assert {each["reason"] for each in changed_in(reported.value)} == {"SNAPSHOT_FAILED"}
    executed = desk.execute(plan, SKIP)
    assert [row.reason for row in executed.tables] == ["SNAPSHOT_FAILED"] * 2
    assert desk.state([first, second]) == before


def test_an_engine_that_finds_something_else_by_now_does_nothing(desk: Desk) -> None:
    tables = desk.make(["x y"], ["x X"])
    plan = desk.preview(ReplaceRequest("x", "z", regex=True))
    before = desk.state(tables)
    desk.patterns = OtherEngine("[xX]")
    with pytest.raises(ReplaceStaleError) as reported:
        desk.execute(plan)
    assert changed_in(reported.value) == [
        {"table_id": tables[1].id, "json_pointer": "", "reason": "MATCHES_DIFFER", "revision": 1}
    ]
    assert desk.state(tables) == before
    assert [row.reason for row in desk.execute(plan, SKIP).tables] == [None, "MATCHES_DIFFER"]
    assert desk.text(tables[1]) == '["x X"]'


def test_an_engine_that_finds_as_much_at_other_places_does_nothing(desk: Desk) -> None:
    [table] = desk.make(["x y"])
    plan = desk.preview(ReplaceRequest("x", "z", regex=True))
    desk.patterns = OtherEngine("y")
    with pytest.raises(ReplaceStaleError) as reported:
        desk.execute(plan)
    assert [each["reason"] for each in changed_in(reported.value)] == ["MATCHES_DIFFER"]
    assert desk.text(table) == '["x y"]'
