"""What may stand in the way of a plan by the time it is executed, and what may not."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from context_search.catalog.rules.versions import HistoryLimits
from context_search.core.errors import ReplaceStaleError
from context_search_editing.keeping import keep_plans
from context_search_editing.rules.plans import Choice
from context_search_editing.rules.replacing import ReplaceRequest
from tests.editing.replacing import SKIP, STORY, Desk, OtherEngine, changed_in


@pytest.fixture
def desk(memory: Desk) -> Desk:
    return memory


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
