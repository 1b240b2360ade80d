"""What two texts have in common at their beginnings and at their ends."""

from __future__ import annotations

_MOST_AT_ONCE = 1 << 16


def common_ends(one: str, other: str) -> tuple[int, int]:
    """Returns the lengths of the common head and, of what is behind it, the common tail.

    Together they are at most as long as the shorter text.
    """
    head = _head(one, other)
    most = min(len(one), len(other)) - head
    tail, step = 0, _MOST_AT_ONCE
    while step:
        while tail + step <= most and _end_alike(one, other, tail, tail + step):
            tail += step
        step //= 2
    return head, tail


def _head(one: str, other: str) -> int:
    """Compared in slices: character by character takes minutes for long strings."""
    head, step = 0, _MOST_AT_ONCE
    while step:
        while head + step <= min(len(one), len(other)) and other.startswith(
            one[head : head + step], head
        ):
            head += step
        step //= 2
    return head


def _end_alike(one: str, other: str, done: int, chars: int) -> bool:
    """Whether the last ``chars`` characters are the same, given that the last ``done`` are."""
    return other.startswith(one[len(one) - chars : len(one) - done], len(other) - chars)
