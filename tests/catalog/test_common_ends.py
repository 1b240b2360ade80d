"""What two texts have in common at both ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_search.catalog.rules.differences import common_ends

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
