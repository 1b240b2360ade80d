"""An undo restores strings whose text is exactly what the plan wrote, and leaves all others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_search.catalog.rules.versions import HistoryLimits
from context_search_editing.rules.edits import Edit, apply_edits, string_hash
from context_search_editing.rules.replacing import ReplaceRequest
from context_search_editing.rules.undo import exact_undo
from testing.in_memory.clock import ManualClock
from tests.editing.brute_force import random_executed
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


# ---- Whatever others do.

TEXTS = st.sampled_from(["Q", "QQ", "ZZ", "门Q", "门ZZ", "门", "ZZ门", "Z"])
"""Before the plan; what it makes of some is what others are."""


def left_by_plan(text: str) -> str:
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


RANDOM = st.randoms(use_true_random=False)


class Executed:
    """Edits of a text, what they make of it, and the hashes that a plan keeps."""

    def __init__(self, before: str, edits: Sequence[Edit]) -> None:
        self.edits = tuple(edits)
        self.after = apply_edits(before, edits)
        self.before_hash = string_hash(before)

    def undo(self) -> tuple[Edit, ...]:
        return exact_undo(self.after, self.edits, before_hash=self.before_hash)

    def undone(self) -> str:
        return apply_edits(self.after, self.undo())


def chosen(random: Random, edits: list[Edit] | tuple[Edit, ...]) -> list[Edit]:
    share = random.choice([0.2, 0.5, 1.0])
    return [edit for edit in edits if random.random() < share]


@settings(max_examples=examples(500))
@given(RANDOM)
def test_undo_of_any_choice_is_the_text_before_and_redo_the_text_after(random: Random) -> None:
    before, edits, _ = random_executed(random)
    string = Executed(before, chosen(random, edits))
    assert string.undone() == before
    undo = Executed(string.after, string.undo())
    assert undo.after == before
    assert undo.undo() == string.edits


def test_edits_that_a_plan_did_not_do_are_refused() -> None:
    string = Executed("a b a", [Edit(0, "a", "x"), Edit(4, "a", "x")])
    for edits in [string.edits[:1], (Edit(0, "c", "x"), Edit(4, "a", "x")), (Edit(1, "a", "x"),)]:
        with pytest.raises(ValueError, match=r"does not fit|do not make the text before"):
            exact_undo(string.after, edits, before_hash=string.before_hash)


@pytest.mark.slow
def test_a_hundred_thousand_edits_of_fifty_million_characters_are_undone() -> None:
    unit = "林" * 498 + "ab"
    edits = [Edit(500 * n + 498, "ab", "c" if n % 2 else "") for n in range(100_000)]
    string = Executed(unit * 100_000, edits)
    assert len(string.undo()) == 100_000


# ---- Strings that moved.
