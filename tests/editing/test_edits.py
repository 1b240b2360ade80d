"""Edits make exactly the new string, and are shown without cutting a character."""

from __future__ import annotations

import hashlib
from random import Random

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from context_search_editing.rules.edits import (
    SHOWN_CHARS,
    SURROUNDING_CHARS,
    Edit,
    StringEdits,
    apply_edits,
    shown_edits,
    string_hash,
)

PARTS = st.lists(st.tuples(st.text(max_size=4), st.text(max_size=3), st.text(max_size=5)))


def edits_of(parts: list[tuple[str, str, str]]) -> tuple[str, list[Edit], str]:
    """A text that was put together, edits of it, and what they make of it."""
    before, after, edits = "", "", []
    for between, found, becomes in parts:
        edits.append(Edit(len(before) + len(between), found, becomes))
        before += between + found
        after += between + becomes
    return before, edits, after


@given(PARTS, st.data())
def test_any_choice_of_edits_fits(parts: list[tuple[str, str, str]], data: st.DataObject) -> None:
    before, edits, _ = edits_of(parts)
    chosen = [edit for edit in edits if data.draw(st.booleans())]
    expected = list(before)
    for edit in reversed(chosen):
        expected[edit.start : edit.end] = edit.becomes
    assert apply_edits(before, chosen) == "".join(expected)


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, "x", "y")],
        [Edit(0, "ab", "y"), Edit(1, "b", "z")],
        [Edit(2, "c", "y"), Edit(0, "a", "z")],
        [Edit(9, "c", "y")],
        [Edit(-1, "c", "y")],
    ],
)
def test_edits_of_another_text_do_not_fit(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        apply_edits("abc", edits)


def test_growth_counts_what_becomes_longer() -> None:
    assert StringEdits((Edit(0, "a", "abc"), Edit(1, "abc", ""))).growth == 2


@pytest.mark.parametrize("length", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_a_string_is_hashed_in_pieces(length: int) -> None:
    text = ("é林😀" * (length // 3 + 1))[:length]
    assert string_hash(text) == hashlib.sha256(text.encode()).digest()


def test_an_edit_is_shown_with_its_surroundings() -> None:
    text = "他走进了废弃仓库，满地灰尘。"
    (shown,) = shown_edits(text, [Edit(4, "废弃仓库", "荒废工厂")])
    assert (shown.before, shown.found, shown.becomes, shown.after) == (
        "他走进了",
        "废弃仓库",
        "荒废工厂",
        "，满地灰尘。",
    )
    assert (shown.start, shown.end, shown.found_chars, shown.becomes_chars) == (4, 8, 4, 4)


def test_what_is_shown_is_cut_between_characters() -> None:
    random = Random(3)
    clusters = ["a", "e\u0301", "👩\u200d👩\u200d👧\u200d👦", "🇩🇪", "각", "\r\n", "林", "क्षि"]
    for _ in range(300):
        parts = random.choices(clusters, k=200)
        first, last = sorted(random.sample(range(201), 2))
        before, found, after = (
            "".join(part) for part in (parts[:first], parts[first:last], parts[last:])
        )
        becomes = "".join(random.choices(clusters, k=random.randint(0, 200)))
        (shown,) = shown_edits(before + found + after, [Edit(len(before), found, becomes)])
        assert before.endswith(shown.before)
        assert after.startswith(shown.after)
        assert found.startswith(shown.found)
        assert becomes.startswith(shown.becomes)
        assert max(len(shown.before), len(shown.after)) <= SURROUNDING_CHARS
        assert max(len(shown.found), len(shown.becomes)) <= SHOWN_CHARS
        assert (shown.found_chars, shown.becomes_chars) == (len(found), len(becomes))
        for whole, cut in [(before, shown.before), (found, shown.found), (after, shown.after)]:
            ends = set(regex.findall(r"\X", whole))
            assert set(regex.findall(r"\X", cut)) <= ends
