"""Anchors: which boundaries they are, and what they depend on."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_search.text.chunking import CONTEXT, Spacing, find_anchors, local_maxima
from tests.profile import examples

SPACING = Spacing(radius=60, longest=170, shortest=40)
SENTENCES = st.lists(st.text("abcdefgh天地玄黄", min_size=3, max_size=20), min_size=30, max_size=90)


def anchors(text: str) -> list[int]:
    return find_anchors(text, SPACING)


@given(st.dictionaries(st.integers(0, 400), st.integers(0, 9)), st.integers(1, 60))
def test_a_maximum_beats_its_left_and_is_not_beaten_on_its_right(
    candidates: dict[int, int], radius: int
) -> None:
    positions = sorted(candidates)
    priorities = [candidates[position] for position in positions]
    expected = [
        i
        for i, p in enumerate(positions)
        if all(candidates[q] < candidates[p] for q in positions if p - radius <= q < p)
        and all(candidates[q] <= candidates[p] for q in positions if p < q <= p + radius)
    ]
    assert local_maxima(positions, priorities, radius) == expected


@settings(max_examples=examples(30))  # for each of the eight marks
@pytest.mark.parametrize("mark", ["\n\n", "\r\n\r\n", "\n", "? ", ". ", "。", "！", " "])
@given(SENTENCES)
def test_anchors_follow_marks_and_keep_their_distance(mark: str, sentences: list[str]) -> None:
    text = mark.join(sentences)
    found = anchors(text)
    assert all(text.endswith(mark, 0, anchor) for anchor in found)
    assert all(
        after - before >= SPACING.shortest for before, after in pairwise([0, *found, len(text)])
    )


@given(st.lists(st.text("abcd天地"), min_size=30, max_size=90, unique=True), st.text("xyz\n. "))
def test_an_anchor_knows_nothing_of_what_is_beyond_its_radius(
    paragraphs: list[str], top: str
) -> None:
    text = "\n\n".join(paragraphs)
    # One anchor is enough for this spacing, so lesser marks stay out.
    spacing = Spacing(radius=60, longest=len(text) - 1, shortest=1)
    before = find_anchors(text, spacing)
    after = find_anchors(top + text, spacing)
    assert {a + len(top) for a in before if a > spacing.radius + CONTEXT} <= set(after)


def test_better_marks_come_first_and_others_fill_the_gaps() -> None:
    lines = "".join(f"line {i * i} of the text\n" for i in range(40))
    text = lines + "\n" + lines
    found = anchors(text)
    assert len(lines) + 1 in found
    assert (
        max(after - before for before, after in pairwise([0, *found, len(text)])) <= SPACING.longest
    )


def test_a_blank_line_is_better_than_a_line_end_whatever_ends_lines() -> None:
    for line_end in ("\n", "\r\n"):
        text = "".join(f"line {i}{line_end}line {i * i}{line_end * 2}" for i in range(300))
        assert all(text.endswith(line_end * 2, 0, anchor) for anchor in anchors(text))


def test_an_anchor_has_all_its_context() -> None:
    found = find_anchors("a. b? c! " * 9, Spacing(radius=1, longest=2, shortest=1))
    assert min(found) >= CONTEXT


def test_an_anchor_leaves_closing_quotes_with_their_sentence() -> None:
    text = "".join(f"他说了{i * i}句话。」然后走了。" for i in range(300))
    assert len(anchors(text)) > 10
    assert not any(text[anchor] == "」" for anchor in anchors(text))


def test_an_anchor_ends_a_run_of_blank_lines() -> None:
    text = "".join(f"paragraph {i * i}\n\n\n\n" for i in range(300))
    assert len(anchors(text)) > 10
    assert not any(text[anchor] == "\n" for anchor in anchors(text))
