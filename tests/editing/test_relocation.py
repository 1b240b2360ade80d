"""An undo takes back what is left of a plan in a text that was edited since, and nothing else."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_search_editing.rules.edits import Edit, apply_edits, string_hash
from context_search_editing.rules.relocation import Kept, SearchAllowance, Undo, relocated
from context_search_editing.rules.undo import exact_undo
from tests.editing.edited_since import (
    faults,
    marked,
    only_marks,
    overlapping,
    random_executed,
    rewritten,
    without_marks,
)
from tests.profile import examples

RANDOM = st.randoms(use_true_random=False)
LEFT, RIGHT = "0123456789abcdef", "ABCDEFGHIJKLMNOP"


def numbers(undo: Undo) -> list[int]:
    return [each.edit for each in undo.kept]


@settings(max_examples=examples(500))
@given(RANDOM)
def test_an_undo_is_what_the_rules_say(random: Random) -> None:
    _, edits, after = random_executed(random)
    present = rewritten(random, after)
    assert [*faults(edits, after, present, relocated(edits, after, present))] == []


@settings(max_examples=examples(300))
@given(RANDOM)
def test_what_others_wrote_is_all_there_and_the_rest_is_as_it_was(random: Random) -> None:
    before, edits, after = random_executed(random)
    present = marked(random, after)
    undo = relocated(edits, after, present)
    result = apply_edits(present, undo.edits)
    assert only_marks(result) == only_marks(present)
    assert without_marks(result) == apply_edits(before, [edits[n] for n in numbers(undo)])


@settings(max_examples=examples(300))
@given(RANDOM)
def test_others_lose_nothing_whatever_they_do(random: Random) -> None:
    _, edits, after = random_executed(random)
    present = rewritten(random, after)
    undo = relocated(edits, after, present)
    result = apply_edits(present, undo.edits)
    assert only_marks(result) == only_marks(present)
    assert len(undo.edits) + len(undo.kept) == len(edits)
    assert {each.reason for each in undo.kept} <= {"EDITED_SINCE"}
    changed = sum(len(edit.becomes) - len(edit.found) for edit in undo.edits)
    assert len(result) == len(present) + changed


@settings(max_examples=examples(200))
@given(RANDOM)
def test_an_undo_of_an_edited_text_can_be_redone(random: Random) -> None:
    _, edits, after = random_executed(random)
    present = rewritten(random, after)
    undo = relocated(edits, after, present)
    result = apply_edits(present, undo.edits)
    hashes = {"before_hash": string_hash(present), "final_hash": string_hash(result)}
    redo = exact_undo(result, undo.edits, **hashes)
    assert redo is not None
    assert apply_edits(result, redo) == present


@settings(max_examples=examples(200))
@given(RANDOM)
def test_redo_in_a_text_edited_since_is_an_undo_too(random: Random) -> None:
    _, edits, after = random_executed(random)
    undone = relocated(edits, after, after)
    before = apply_edits(after, undone.edits)
    present = marked(random, before)
    redo = relocated(undone.edits, before, present)
    result = apply_edits(present, redo.edits)
    assert only_marks(result) == only_marks(present)
    still = [undone.edits[number] for number in numbers(redo)]
    assert without_marks(result) == apply_edits(after, still)


def test_places_ahead_and_behind_of_an_edit_are_where_they_were() -> None:
    edits = [Edit(4, "废弃仓库", "荒废工厂"), Edit(19, "废弃仓库", "荒废工厂")]
    before = "他走进了废弃仓库，满地灰尘。天黑了，那废弃仓库也黑了。"
    after = apply_edits(before, edits)
    present = after.replace("天黑了", "夜深了")
    undo = relocated(edits, after, present)
    assert apply_edits(present, undo.edits) == before.replace("天黑了", "夜深了")
    assert undo.kept == ()


def test_a_place_that_somebody_changed_is_kept() -> None:
    edits = [Edit(4, "废弃仓库", "荒废工厂"), Edit(19, "废弃仓库", "荒废工厂")]
    before = "他走进了废弃仓库，满地灰尘。天黑了，那废弃仓库也黑了。"
    present = apply_edits(before, edits).replace("荒废工厂，", "荒废的工厂，")
    undo = relocated(edits, apply_edits(before, edits), present)
    assert apply_edits(present, undo.edits) == before.replace("废弃仓库，", "荒废的工厂，")
    assert undo.kept == (Kept(0, "EDITED_SINCE"),)


def surrounded(*deleted: str) -> tuple[str, list[Edit], str, str]:
    """A place in the middle of text that was edited on both sides."""
    before = f"<{LEFT}{''.join(deleted)}{RIGHT}>"
    edits, at = [], 1 + len(LEFT)
    for text in deleted:
        edits.append(Edit(at, text, ""))
        at += len(text)
    after = apply_edits(before, edits)
    return before, edits, after, f"①{after[1:-1]}②"


def test_deletions_side_by_side_come_back_in_their_order() -> None:
    before, edits, after, present = surrounded("one", "two", "three")
    undo = relocated(edits, after, present)
    assert apply_edits(present, undo.edits) == f"①{before[1:-1]}②"
    assert undo.left.places == SearchAllowance().places - 1


def test_a_place_is_found_by_sixteen_characters_on_each_side() -> None:
    before, edits, after, _ = surrounded("one")
    for cut in range(1, len(LEFT) + 1):
        present = f"①{after[1 + cut : -1]}②"
        assert relocated(edits, after, present).kept == (Kept(0),)
        assert relocated(edits, after, f"①{after[1 : -1 - cut]}②").kept == (Kept(0),)
    assert before != after


def test_near_an_end_of_the_text_sixteen_characters_are_enough() -> None:
    after = "b" + RIGHT
    edits = [Edit(0, "a", "b")]
    assert relocated(edits, after, f"①{after}②").kept == ()
    assert relocated(edits, after[:-1], f"①{after[:-1]}②").kept == (Kept(0),)


def test_a_short_text_that_was_written_anew_is_not_touched() -> None:
    edits = [Edit(0, "dog", "cat")]
    undo = relocated(edits, "cat", "education")
    assert (undo.edits, undo.kept) == ((), (Kept(0),))


@pytest.mark.parametrize("copied_in", ["present", "after"])
def test_a_place_that_is_there_twice_is_kept(copied_in: str) -> None:
    place = f"{LEFT}x{RIGHT}"
    after = f"<{place}-{place}>" if copied_in == "after" else f"<{place}->"
    present = f"①{place}②" if copied_in == "after" else f"①{place}{place}②"
    undo = relocated([Edit(1 + len(LEFT), "y", "x")], after, present)
    assert (undo.edits, undo.kept) == ((), (Kept(0),))


def test_occurrences_that_overlap_are_two() -> None:
    after, present = "<" + "a" * 33 + ">", "①" + "a" * 34 + "②"
    assert relocated([Edit(17, "b", "a")], after, present).kept == (Kept(0),)


@given(RANDOM)
def test_of_places_that_overlap_now_one_is_reverted(random: Random) -> None:
    (_, edits, after), present = overlapping(random)
    undo = relocated(edits, after, present)
    assert [*faults(edits, after, present, undo)] == []
    assert (len(undo.edits), len(undo.kept)) == (1, 1)


def test_one_part_that_was_moved_is_kept_and_not_all_others() -> None:
    parts = [f"{n}{LEFT}{n}{n}x{n}{n}{RIGHT}{n}" for n in range(1, 6)]
    after = "<" + "".join(parts) + ">"
    edits = [Edit(after.index(f"{n}x{n}") + 1, "y", "x") for n in range(1, 6)]
    present = "①" + "".join([*parts[1:], parts[0]]) + "②"
    undo = relocated(edits, after, present)
    assert numbers(undo) == [0]
    assert apply_edits(present, undo.edits).count("y") == 4


def test_no_more_places_are_looked_for_than_allowed() -> None:
    parts = [f"{n}{LEFT}{n}x{n}{RIGHT}" for n in "123456789"]
    after = "<" + "".join(parts) + ">"
    edits = [Edit(after.index(f"{n}x{n}") + 1, "y", "x") for n in "123456789"]
    present = "①" + "③".join(parts) + "②"
    undo = relocated(edits, after, present, SearchAllowance(places=4))
    assert numbers(undo) == [4, 5, 6, 7, 8]
    assert undo.left.places == 0
    for_two = 2 * (len(after) + len(present))
    undo = relocated(edits, after, present, SearchAllowance(chars=for_two))
    assert numbers(undo) == [2, 3, 4, 5, 6, 7, 8]
    assert 0 <= undo.left.chars < len(after)
    assert relocated(edits, after, present, undo.left).edits == ()


def test_what_is_in_common_ends_costs_no_search() -> None:
    before = "ab" * 1_000
    edits = [Edit(at, "a", "林") for at in range(0, 2_000, 2)]
    after = apply_edits(before, edits)
    for present in ["X" + after, after + "X", after[:500] + "X" + after[500:], after]:
        undo = relocated(edits, after, present)
        assert (undo.left, undo.kept) == (SearchAllowance(), ())


def test_behind_a_found_place_others_are_as_far_as_the_text_goes_on() -> None:
    """Though none of them could be found by itself."""
    after = f"<{LEFT}x{RIGHT}" + ("林" * 40 + "x") * 50 + ">"
    edits = [Edit(hit.start(), "y", "x") for hit in re.finditer("x", after)]
    present = f"①{after[1:600]}②{after[600:-1]}③"
    undo = relocated(edits, after, present)
    assert numbers(undo) == [at for at, edit in enumerate(edits) if edit.start >= 600]
    assert undo.left.places == SearchAllowance().places - 1 - len(undo.kept)


def test_after_six_edits_most_places_are_found() -> None:
    """A text of words, as people write: 800 places, of which a few stand beside an edit."""
    random = Random(5)
    words = ["".join(chr(0x4E00 + random.randrange(2_000)) for _ in "ab") for _ in range(1_500)]
    ranks = [1 / (rank + 5) for rank in range(len(words))]
    text = "".join(random.choices(words, ranks, k=20_000))
    edits = [Edit(hit.start(), words[1], "荒废工厂") for hit in re.finditer(words[1], text)]
    after = present = apply_edits(text, edits)
    for part in range(6, 0, -1):
        at = part * len(after) // 7
        gone = random.choice([0, 0, 5])
        present = present[:at] + random.choice(["", "①②③"]) + present[at + gone :]
    assert len(edits) > 500
    assert len(relocated(edits, after, present).kept) < 0.02 * len(edits)


def test_nothing_is_left_of_an_emptied_text() -> None:
    edits = [Edit(0, "a", "b"), Edit(1, "c", "")]
    assert numbers(relocated(edits, "b", "")) == [0]
    assert relocated([Edit(0, "a", "")], "", "①").edits == (Edit(0, "", "a"),)


@pytest.mark.slow
@pytest.mark.parametrize("becomes", ["cd", ""], ids=["exchanged", "deleted"])
def test_a_hundred_thousand_places_in_fifty_million_characters(becomes: str) -> None:
    """All alike, so that every search goes on until there are two."""
    edits = [Edit(500 * n + 498, "ab", becomes) for n in range(100_000)]
    after = ("林" * 498 + becomes) * 100_000
    undo = relocated(edits, after, f"①{after}②")
    assert len(undo.kept) + len(undo.edits) == 100_000
    assert len(undo.kept) > 99_900
    assert min(undo.left.places, undo.left.chars) >= 0
    middle = after[: len(after) // 2], after[len(after) // 2 :]
    assert relocated(edits, after, "①".join(middle)).left == SearchAllowance()
