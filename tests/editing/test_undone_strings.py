"""Undo and redo of a plan's edits, where its strings are as it left them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_search.core.documents import parse_exact
from context_search_editing.rules.edits import Edit, apply_edits, string_hash
from context_search_editing.rules.replacing import Allowance, LiteralReplacer, ReplaceRequest
from context_search_editing.rules.undo import (
    exact_undo,
    moved_to,
)
from tests.editing.brute_force import random_case, random_executed
from tests.profile import examples

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


@settings(max_examples=examples(500))
@given(RANDOM)
def test_what_a_request_did_is_undone(random: Random) -> None:
    before, request = random_case(random)
    edits = LiteralReplacer(request).edits_of(before, Allowance()).edits
    assert Executed(before, chosen(random, edits)).undone().encode() == before.encode()


def test_edits_that_a_plan_did_not_do_are_refused() -> None:
    string = Executed("a b a", [Edit(0, "a", "x"), Edit(4, "a", "x")])
    for edits in [string.edits[:1], (Edit(0, "c", "x"), Edit(4, "a", "x")), (Edit(1, "a", "x"),)]:
        with pytest.raises(ValueError, match=r"does not fit|do not make the text before"):
            exact_undo(string.after, edits, before_hash=string.before_hash)


def test_deletions_side_by_side_come_back_in_their_order() -> None:
    edits = [Edit(1, "one", ""), Edit(4, "two", ""), Edit(7, "three", "3"), Edit(12, "four", "")]
    string = Executed("[onetwothreefour]", edits)
    assert string.after == "[3]"
    assert string.undo() == (
        Edit(1, "", "one"),
        Edit(1, "", "two"),
        Edit(1, "3", "three"),
        Edit(2, "", "four"),
    )
    assert string.undone() == "[onetwothreefour]"


@pytest.mark.parametrize(
    "before", ["aXbXXc", "XX", "林X雨", "😀X😀", "e\u0301Xe\u0301", "X\u0301", "🇩X🇪", "X\r\nX"]
)
def test_insertions_into_any_text_are_taken_back(before: str) -> None:
    edits = LiteralReplacer(ReplaceRequest("X", "", whole_characters=False)).edits_of(
        before, Allowance()
    )
    string = Executed(before, edits.edits)
    assert string.after == before.replace("X", "")
    assert string.undone() == before


@pytest.mark.slow
def test_a_hundred_thousand_edits_of_fifty_million_characters_are_undone() -> None:
    unit = "林" * 498 + "ab"
    edits = [Edit(500 * n + 498, "ab", "c" if n % 2 else "") for n in range(100_000)]
    string = Executed(unit * 100_000, edits)
    assert len(string.undo()) == 100_000


# ---- Strings that moved.


def moved_in(document: object, *sought: str) -> dict[str, str]:
    """Pointers of the texts that are sought, where they are now."""
    value = parse_exact(json.dumps(document))
    found = moved_to(value, [], [string_hash(text) for text in sought])
    return {text: found[string_hash(text)] for text in sought if string_hash(text) in found}


def test_a_string_is_found_where_an_element_was_inserted_before_it() -> None:
    assert moved_in(["new", "one", {"x": "two"}], "one", "two") == {"one": "/1", "two": "/2/x"}


def test_a_string_that_is_there_twice_did_not_move() -> None:
    assert moved_in(["one", "one", "two"], "one", "two") == {"two": "/2"}
    assert moved_in(["one", "one", "one"], "one") == {}


def test_one_string_is_not_found_for_two() -> None:
    assert moved_in(["one", "two"], "one", "one", "two") == {"two": "/1"}


def test_another_text_of_its_length_is_not_the_string() -> None:
    assert moved_in(["abc", "abd", "ab", "abcd"], "abe") == {}
    assert moved_in(["", "x"], "") == {"": "/0"}
