"""An undo never changes a string that its plan did not write, wherever it stands by now."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.versions import HistoryLimits
from context_search_editing.rules.replacing import ReplaceRequest
from testing.in_memory.clock import ManualClock
from testing.in_memory.store import MemoryStore
from tests.editing.replacing import WAREHOUSE, Desk
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
    desk = Desk(MemoryStore(clock), clock)
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
        ([DOOR], ["荒废工厂在北边", f"{DOOR_AFTER}，关着"]),
        ([DOOR], ["荒废工厂在北边", DOOR_AFTER[:-1]]),
        ([DOOR], ["荒废工厂在北边"]),
        ([DOOR], ["荒废工厂的墙"]),
        ([DOOR], ["荒废工厂的门神", f"{DOOR_AFTER}，关着"]),
        (["废弃仓库"], ["荒废工厂在北边"]),
        (["废弃仓库废弃仓库"], ["荒废工厂荒废工厂在北边"]),
        (["废弃仓库" * 20], ["荒废工厂" * 21]),
        ([DOOR, "荒废工厂的门牌"], ["荒废工厂的门牌"]),
        ([DOOR, "荒废工厂的门牌"], ["荒废工厂的门牌。"]),
        ([DOOR, "荒废工厂的门牌"], ["荒废工厂的门牌!", f"{DOOR_AFTER}?"]),
        ({"a": DOOR, "b": "荒废工厂的门牌"}, {"a": "荒废工厂的门牌", "c": f"{DOOR_AFTER}。"}),
        ({"a": DOOR}, {"a": "荒废工厂在北边", "b": f"很久以前，{DOOR_AFTER}。"}),
        ([{"t": DOOR}], [{"t": "荒废工厂在北边"}, {"t": f"{DOOR_AFTER}。"}]),
        ([DOOR, DOOR_AFTER], [DOOR_AFTER]),
        ([DOOR, DOOR_AFTER, "雨停了"], [DOOR_AFTER, "雨停了"]),
        (["雨停了", DOOR, DOOR_AFTER], [DOOR_AFTER, DOOR_AFTER]),
        ([DOOR_AFTER, DOOR], ["雨停了", DOOR_AFTER, DOOR_AFTER]),
        ([DOOR], [DOOR_AFTER, DOOR_AFTER]),
        ([{"n": 1, "t": DOOR}], [{"n": 2, "t": DOOR_AFTER}, {"n": 1, "t": DOOR_AFTER}]),
        (
            [{"n": 1, "t": DOOR}, {"n": 2, "t": DOOR_AFTER}],
            [{"n": 2, "t": DOOR_AFTER}, {"n": 1, "t": DOOR_AFTER}],
        ),
        (
            [{"n": 1, "t": DOOR_AFTER}, {"n": 2, "t": DOOR}],
            [{"n": 2, "t": DOOR_AFTER}, {"n": 1, "t": f"{DOOR_AFTER}，关着"}],
        ),
    ],
)
def test_a_string_of_somebody_stays(document: object, present: object) -> None:
    assert undone(document, present) == present


@pytest.mark.parametrize(
    ("document", "present", "expected"),
    [
        ([DOOR], [f"{DOOR_AFTER}，关着"], [f"{DOOR}，关着"]),
        ([DOOR], [f"那{DOOR_AFTER}"], [f"那{DOOR}"]),
        ([DOOR, "雨停了"], [f"{DOOR_AFTER}，关着", "雨又停了"], [f"{DOOR}，关着", "雨又停了"]),
        ([DOOR, "雨停了"], [f"{DOOR_AFTER}，关着"], [f"{DOOR}，关着"]),
        ([DOOR], ["荒废工厂在北边", DOOR_AFTER], ["荒废工厂在北边", DOOR]),
        ({"a": DOOR}, {"b": DOOR_AFTER}, {"b": DOOR}),
        ([DOOR, "雨停了"], ["雨停了", DOOR_AFTER], ["雨停了", DOOR]),
        ([DOOR, DOOR_AFTER], [DOOR_AFTER, "雨停了"], [DOOR, "雨停了"]),
        ([DOOR, DOOR_AFTER], [DOOR_AFTER, "雨停了", DOOR_AFTER], [DOOR, "雨停了", DOOR_AFTER]),
        ([DOOR, DOOR, "雨停了"], [DOOR_AFTER, "雨停了"], [DOOR, "雨停了"]),
        (
            [{"n": 1, "t": DOOR}],
            [{"n": 1, "t": DOOR_AFTER}, {"n": 2, "t": DOOR_AFTER}],
            [{"n": 1, "t": DOOR}, {"n": 2, "t": DOOR_AFTER}],
        ),
    ],
)
def test_a_string_of_the_plan_comes_back(
    document: object, present: object, expected: object
) -> None:
    assert undone(document, present) == expected


@pytest.mark.parametrize(
    ("document", "present", "expected"),
    [
        (["雨停了", DOOR, DOOR_AFTER], [DOOR_AFTER, DOOR_AFTER], [DOOR_AFTER, DOOR_AFTER]),
        ([[DOOR]], [[DOOR_AFTER, DOOR_AFTER]], [[DOOR_AFTER, DOOR_AFTER]]),
        ([DOOR, DOOR], [DOOR_AFTER, DOOR_AFTER, "雨停了"], [DOOR, DOOR, "雨停了"]),
        (
            {"a": DOOR, "b": DOOR_AFTER},
            {"a": DOOR_AFTER, "b": DOOR_AFTER, "c": ""},
            {"a": DOOR, "b": DOOR_AFTER, "c": ""},
        ),
    ],
)
def test_without_a_record_a_string_in_a_list_is_known_if_no_other_is_like_it(
    document: object, present: object, expected: object
) -> None:
    assert undone(document, present, limits=HistoryLimits(keep_count=0)) == expected


@pytest.mark.parametrize("present", [["ZZ", "ZZ"], ["ZZ"]])
def test_no_string_becomes_what_another_one_was(present: list[str]) -> None:
    request = ReplaceRequest("q", "ZZ", case_sensitive=False)
    assert undone(["雨停了", "Q", "q"], present, request) == present


def test_a_long_string_is_known_by_what_is_around_one_place() -> None:
    text = "The harbour at night x and the long winter garden. "
    present = f"Once: {text.replace('x', 'yy')} And no more."
    request = ReplaceRequest("x", "yy")
    assert undone([text], [present], request) == [present.replace("yy", "x")]


# ---- Whatever others do: a shadow of the document says who wrote each string.

PLAIN = "门墙北"
THEIRS = "甲乙丙"


@dataclass
class Written:
    """A string, and whether the plan wrote it; ``is_edited``: somebody wrote in it afterwards."""

    text: str
    by_plan: bool
    is_edited: bool = False


def left_by_plan(text: str) -> str:
    """What the plan makes of a text."""
    return text.replace("Q", "ZZ")


def texts(alphabet: str, part: str, *, parts: int = 3) -> st.SearchStrategy[str]:
    """Texts of an alphabet, and of the text that the plan found or made."""
    return st.lists(st.sampled_from([*alphabet, part]), min_size=1, max_size=parts).map("".join)


@st.composite
def histories(draw: st.DrawFn, alphabet: str) -> tuple[list[str], list[Written]]:
    """Strings before the plan, and what others have made of those that it left.

    They delete, insert, move and swap elements, and write into them; what they insert has no
    character in common with the strings of before but those of ``alphabet`` and the plan's.
    """
    plans, own = texts(PLAIN, "Q"), texts(PLAIN, "ZZ")
    of_then = st.lists(plans | own, min_size=1, max_size=3, unique_by=left_by_plan)
    before = draw(of_then)
    now = [Written(left_by_plan(text), "Q" in text) for text in before]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(now)))
        act = draw(st.sampled_from(["insert", "edit", "delete", "move", "swap"]))
        if act == "insert":
            new = draw(texts(alphabet, "ZZ", parts=5))
            if alphabet == THEIRS and set(new) <= {"Z"}:
                new += THEIRS[0]  # else it may be what the plan wrote, and at one place
            if alphabet == PLAIN and draw(st.booleans()):
                new = left_by_plan(draw(st.sampled_from(before))) + new[-1]
            now.insert(at, Written(new, by_plan=False))
        elif now:
            one, other = (draw(st.integers(0, len(now) - 1)) for _ in "12")
            if act == "edit" and not now[one].is_edited:
                put = draw(st.integers(0, len(now[one].text)))
                text = now[one].text[:put] + draw(texts(THEIRS, "ZZ")) + now[one].text[put:]
                now[one] = Written(text, now[one].by_plan, is_edited=True)
            elif act == "delete" and alphabet == THEIRS:
                del now[one]
            elif act == "move":
                now.insert(other, now.pop(one))
            elif act == "swap":
                now[one], now[other] = now[other], now[one]
    return before, now


def check_others_stay(before: list[str], now: list[Written], *, keyed: bool) -> None:
    """Everybody's strings are as they were, and of the plan's only its text was exchanged."""
    document: object = dict(zip("abcdefghijkl", before, strict=False)) if keyed else before
    present_texts = [each.text for each in now]
    present: object = dict(zip("abcdefghijkl", present_texts, strict=False))
    result = undone(document, present if keyed else present_texts, ReplaceRequest("Q", "ZZ"))
    after = [*result.values()] if isinstance(result, dict) else cast("list[str]", result)
    assert len(after) == len(now)
    for written, text in zip(now, after, strict=True):
        if not written.by_plan and present_texts.count(written.text) == 1:
            left = [left_by_plan(each) for each in before if "Q" in each]
            assert text == written.text or written.text in left
        assert left_by_plan(text) == written.text


def test_what_the_plan_made_may_be_written_into_another_string() -> None:
    now = [Written("门", by_plan=False), Written("门ZZ门", by_plan=False, is_edited=True)]
    check_others_stay(["门门", "门Q", "门"], now, keyed=False)


@settings(max_examples=examples(300))
@given(histories(THEIRS), st.booleans())
def test_no_new_string_is_taken_for_one_of_the_plan(
    history: tuple[list[str], list[Written]],
    keyed: bool,  # noqa: FBT001
) -> None:
    check_others_stay(*history, keyed=keyed)


@settings(max_examples=examples(300))
@given(histories(PLAIN), st.booleans())
def test_no_string_is_taken_for_one_of_the_plan_that_is_still_there(
    history: tuple[list[str], list[Written]],
    keyed: bool,  # noqa: FBT001
) -> None:
    check_others_stay(*history, keyed=keyed)
