"""What is different between two documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.catalog.rules.differences import (
    SHOWN_CHARS,
    Difference,
    common_ends,
    differences,
)
from context_search.core.documents import parse_exact
from context_search.core.json_pointer import resolve, split


def found(before: str, after: str) -> list[Difference]:
    return [*differences(parse_exact(before), parse_exact(after))]


def reported(before: str, after: str) -> list[tuple[str, str, str | None, str | None]]:
    return [
        (
            each.json_pointer,
            each.kind,
            each.before.text if each.before else None,
            each.after.text if each.after else None,
        )
        for each in found(before, after)
    ]


def test_members_are_compared_by_name() -> None:
    assert reported('{"a": 1, "b": 2, "x/y": 3}', '{"b": 2, "a": 5, "~": [1]}') == [
        ("/a", "changed", "1", "5"),
        ("/x~1y", "removed", "3", None),
        ("/~0", "added", None, "[1]"),
    ]


def test_what_an_array_has_in_common_at_both_ends_is_no_difference() -> None:
    assert reported("[1, 2, 3, 4]", "[1, 2, 9, 3, 4]") == [("/2", "added", None, "9")]
    assert reported("[1, 2, 3, 4]", "[1, 4]") == [
        ("/1", "removed", "2", None),
        ("/2", "removed", "3", None),
    ]
    assert reported("[1, 1, 1]", "[1, 1]") == [("/2", "removed", "1", None)]
    assert reported('[{"a": 1}, 2]', '[{"a": 3}, 2]') == [("/0/a", "changed", "1", "3")]


def test_long_texts_are_cut_and_say_how_long_they_are() -> None:
    [each] = found('"' + "a" * 5_000 + '"', '"' + "b" * 3_000 + '"')
    assert each.before is not None
    assert (each.before.text, each.before.chars) == ("a" * SHOWN_CHARS, 5_000)
    assert each.after is not None
    assert each.after.chars == 3_000


def test_what_is_equal_in_json_is_no_difference_and_python_is_not_asked() -> None:
    assert reported("[1.0, 100]", "[1, 1E+2]") == []
    assert reported("[1]", "[true]") == [("/0", "changed", "1", "true")]
    assert reported("[0, {}]", "[false, {}]") == [("/0", "changed", "0", "false")]
    assert reported("null", "[]") == [("", "changed", "null", "[]")]
    assert reported('""', "null") == [("", "changed", '""', "null")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "ab", "ba", "aab"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "/", "~"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON, JSON)
def test_differences_are_all_there_is(before: Any, after: Any) -> None:
    listed = [*differences(before, after)]
    assert (not listed) == (json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True))
    for each in listed:
        path = split(each.json_pointer)
        assert (each.before is None, each.after is None) == (
            each.kind == "added",
            each.kind == "removed",
        )
        resolve(before if each.kind == "removed" else after, path)


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_the_excerpts_of_strings_turn_one_into_the_other(before: str, after: str) -> None:
    for each in differences(before, after):
        assert each.before is not None
        assert each.after is not None
        start, end = each.before.start, each.before.start + each.before.chars
        assert before[:start] + each.after.text + before[end:] == after
        assert before[start:end] == each.before.text
        assert start == each.after.start


FEW = st.text(alphabet="ab林😀", max_size=12)


@given(FEW, FEW, FEW, FEW)
def test_common_ends_are_as_long_as_can_be(head: str, one: str, other: str, tail: str) -> None:
    one, other = head + one + tail, head + other + tail
    shorter = min(len(one), len(other))
    first = max(n for n in range(shorter + 1) if one[:n] == other[:n])
    last = max(
        n for n in range(shorter - first + 1) if one[len(one) - n :] == other[len(other) - n :]
    )
    assert common_ends(one, other) == (first, last)


@pytest.mark.parametrize("at", [0, 1, 65_535, 65_536, 65_537, 199_998, 199_999])
@pytest.mark.parametrize("put", ["", "x", "é", "😀" * 70_000])
def test_one_difference_in_a_long_text(at: int, put: str) -> None:
    text = "".join(chr(0x4E00 + n % 20_000) for n in range(200_000))
    assert common_ends(text, text[:at] + put + text[at + 1 :]) == (at, 199_999 - at)
    assert common_ends(text[:at] + put + text[at + 1 :], text) == (at, 199_999 - at)


def test_the_same_text_is_all_head() -> None:
    assert common_ends("a" * 70_000, "a" * 70_000) == (70_000, 0)
    assert common_ends("a" * 70_000, "a" * 70_001) == (70_000, 0)
