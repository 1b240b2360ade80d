"""Undo and redo of a plan's edits, where its strings are as it left them."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_search_editing.rules.edits import Edit, apply_edits, string_hash
from context_search_editing.rules.undo import (
    exact_undo,
)
from tests.editing.brute_force import random_executed
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
