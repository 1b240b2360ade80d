"""Windows of a long string that lead to each other without a gap or an overlap."""

from __future__ import annotations

TILE = 25_000
"""Windows begin and end at multiples of this many characters, or at the end of the string."""
MAX_WINDOW = 2 * TILE


def window_around(start: int, end: int, length: int) -> tuple[int, int]:
    """Returns the window of a string of ``length`` characters to show for a cited range.

    A string of up to MAX_WINDOW characters is shown whole, and a range that is a window itself as
    it is. The middle of any other range has 12,500 characters on each side, as far as the string
    has them.

    >>> window_around(60_100, 60_300, 200_000), window_around(25_000, 75_000, 200_000)
    ((50000, 100000), (25000, 75000))
    """
    if length <= MAX_WINDOW:
        return 0, length
    if start % TILE == 0 and (end % TILE == 0 or end == length) and 0 < end - start <= MAX_WINDOW:
        return start, end
    first = max(0, (start + end - TILE) // 2 // TILE) * TILE
    return first, min(first + MAX_WINDOW, length)


def windows_beside(
    start: int, end: int, length: int
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Returns the windows before and behind a window; None where there is nothing."""
    before = (max(0, start - MAX_WINDOW), start) if start > 0 else None
    behind = (end, min(end + MAX_WINDOW, length)) if end < length else None
    return before, behind
