"""What two texts have in common at their beginnings and at their ends."""

from __future__ import annotations

_MOST_AT_ONCE = 1 << 16


def common_head(one: str, other: str, start: int = 0, other_start: int = 0) -> int:
    """Returns how many characters are the same from ``start`` and ``other_start`` on.

    Compared in slices: character by character takes minutes for long strings.
    """
    most = min(len(one) - start, len(other) - other_start)
    head, step = 0, _MOST_AT_ONCE
    while step:
        while head + step <= most and other.startswith(
            one[start + head : start + head + step], other_start + head
        ):
            head += step
        step //= 2
    return head


def common_ends(one: str, other: str) -> tuple[int, int]:
    """Returns the lengths of the common head and, of what is behind it, the common tail.

    Together they are at most as long as the shorter text.
    """
    head = common_head(one, other)
    most = min(len(one), len(other)) - head
    tail, step = 0, _MOST_AT_ONCE
    while step:
        while tail + step <= most and _end_alike(one, other, tail, tail + step):
            tail += step
        step //= 2
    return head, tail


def _end_alike(one: str, other: str, done: int, chars: int) -> bool:
    """Whether the last ``chars`` characters are the same, given that the last ``done`` are."""
    return other.startswith(one[len(one) - chars : len(one) - done], len(other) - chars)
