"""An undo restores strings whose text is exactly what the plan wrote, and leaves all others."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.versions import HistoryLimits
from context_search_editing.rules.replacing import ReplaceRequest
from testing.in_memory.clock import ManualClock
from tests.editing.replacing import WAREHOUSE, Desk
from tests.faults.simulation.model.store import ModelStore
from tests.profile import examples

DOOR, DOOR_AFTER = "废弃仓库的门", "荒废工厂的门"


def undone(
    document: object,
    present: object,
    request: ReplaceRequest = WAREHOUSE,
    limits: HistoryLimits | None = None,
) -> object:
    """What an undo makes of a document that somebody wrote over what a plan had left."""
    clock = ManualClock()
    desk = Desk(ModelStore(clock), clock)
    desk.keep(limits or HistoryLimits())
    [table] = desk.make(document)
    plan = desk.execute(desk.preview(request)).plan
    desk.put(table, present)
    done = desk.undo(plan, "skip")
    assert done.done_count + done.kept_count == plan.counts.matches
    assert {place.reason for place in done.kept} <= {"EDITED_SINCE"}
    result: object = json.loads(desk.text(table))
    return result


@pytest.mark.parametrize(
    ("document", "present"),
    [
        ([DOOR], ["荒废工厂在北边"]),
        ([DOOR], [f"{DOOR_AFTER}，关着"]),
        ([DOOR], [DOOR_AFTER[:-1]]),
        ([DOOR], [[DOOR_AFTER + "!"], 1, None]),
        ([DOOR, "荒废工厂的门牌"], ["荒废工厂的门牌"]),
        ({"a": DOOR}, {"a": "荒废工厂在北边", "b": f"很久以前，{DOOR_AFTER}。"}),
        ({"a": DOOR}, {"b": DOOR_AFTER, "c": DOOR_AFTER}),
        ({"a": DOOR, "b": DOOR_AFTER}, {"a": "雨停了", "b": DOOR_AFTER}),
        ({"a": DOOR, "b": DOOR_AFTER}, {"c": DOOR_AFTER}),
        ([DOOR, DOOR], ["雨停了", "雨又停了", DOOR_AFTER]),
        (["雨停了", DOOR, DOOR], [DOOR_AFTER]),
    ],
)
def test_another_text_stays_and_one_that_may_be_anothers(document: object, present: object) -> None:
    assert undone(document, present) == present


@pytest.mark.parametrize(
    ("document", "present", "expected"),
    [
        ([DOOR], ["荒废工厂在北边", DOOR_AFTER], ["荒废工厂在北边", DOOR]),
        ({"a": DOOR}, {"b": DOOR_AFTER}, {"b": DOOR}),
        ({"a": DOOR}, {"b": [{"c": DOOR_AFTER}]}, {"b": [{"c": DOOR}]}),
        ({"a": DOOR}, DOOR_AFTER, DOOR),
        ([DOOR, "雨停了"], ["雨停了", DOOR_AFTER], ["雨停了", DOOR]),
        ([DOOR, f"{DOOR}。"], [f"{DOOR_AFTER}。", DOOR_AFTER], [f"{DOOR}。", DOOR]),
        ([DOOR, DOOR], ["雨停了", DOOR_AFTER], ["雨停了", DOOR]),
        ([DOOR, DOOR], [DOOR_AFTER, "雨停了", DOOR_AFTER], [DOOR, "雨停了", DOOR_AFTER]),
        ([DOOR, DOOR_AFTER], [DOOR_AFTER, "雨停了"], [DOOR, "雨停了"]),
        ([DOOR], [DOOR_AFTER, DOOR_AFTER], [DOOR, DOOR_AFTER]),
    ],
)
@pytest.mark.parametrize("limits", [HistoryLimits(), HistoryLimits(keep_count=0)])
def test_a_text_at_its_place_comes_back_and_one_that_stands_at_one_other(
    document: object, present: object, expected: object, limits: HistoryLimits
) -> None:
    assert undone(document, present, limits=limits) == expected


@pytest.mark.parametrize("present", [["雨停了", "ZZ", "ZZ!"], ["ZZ", "ZZ"]])
def test_of_two_strings_that_became_one_text_only_that_at_its_place_comes_back(
    present: list[str],
) -> None:
    request = ReplaceRequest("q", "ZZ", case_sensitive=False)
    expected = [present[0], "Q", *present[2:]]
    assert undone(["雨停了", "Q", "q"], present, request) == expected


# ---- Whatever others do.

TEXTS = st.sampled_from(["Q", "QQ", "ZZ", "门Q", "门ZZ", "门", "ZZ门", "Z"])
"""Before the plan; what it makes of some is what others are."""


def left_by_plan(text: str) -> str:
    """What the plan makes of a text."""
    return text.replace("Q", "ZZ")


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Strings before the plan, and what others have made of those that it left.

    They delete, insert, move and swap elements, and write into them.
    """
    before = [*draw(st.lists(TEXTS, max_size=3)), draw(st.sampled_from(["Q", "门Q"]))]
    now = [left_by_plan(text) for text in before]
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(now)))
        act = draw(st.sampled_from(["insert", "edit", "delete", "move", "swap"]))
        if act == "insert":
            now.insert(at, left_by_plan(draw(TEXTS)))
        elif now:
            one, other = (draw(st.integers(0, len(now) - 1)) for _ in "12")
            if act == "edit":
                now[one] = left_by_plan(draw(TEXTS))
            elif act == "delete":
                del now[one]
            elif act == "move":
                now.insert(other, now.pop(one))
            else:
                now[one], now[other] = now[other], now[one]
    return before, now


def expected_of(before: list[str], now: list[str]) -> list[str]:
    """The rule, said again."""
    after, left = [*now], [left_by_plan(text) for text in before]
    for at, text in enumerate(left):
        if "Q" in before[at]:
            if now[at : at + 1] == [text]:
                after[at] = before[at]
            elif left.count(text) == now.count(text) == 1:
                after[now.index(text)] = before[at]
    return after


@settings(max_examples=examples(600))
@given(histories(), st.booleans())
def test_strings_come_back_by_the_rule_whatever_others_wrote(
    history: tuple[list[str], list[str]],
    keyed: bool,  # noqa: FBT001
) -> None:
    before, now = history
    expected = expected_of(before, now)
    shape = (lambda texts: dict(zip("abcdefghijkl", texts, strict=False))) if keyed else list
    assert undone(shape(before), shape(now), ReplaceRequest("Q", "ZZ")) == shape(expected)
