"""Where a cited text stands now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, zip_longest

HASHED_CHARS = 100_000_000
"""Maximum number of characters that are looked at, over all places."""


def nearest(
    first: int, last: int, start: int, length: int, is_cited: Callable[[int], bool]
) -> int | None:
    """Returns the place nearest to ``start`` where ``is_cited`` says that the text stands.

    It may begin at ``first`` to ``last``. Of very many places only the nearest are looked at: see
    HASHED_CHARS. None: nowhere.
    """
    if last < first:
        return None
    places = _outwards(first, min(max(start, first), last), last)
    most = max(1, HASHED_CHARS // max(length, 1))
    return next((at for at in islice(places, most) if is_cited(at)), None)


def _outwards(first: int, middle: int, last: int) -> Iterator[int]:
    """Yields ``first`` to ``last``, the nearest to the middle first; of two the earlier one first.

    >>> list(_outwards(0, 1, 3))
    [1, 0, 2, 3]
    """
    below, above = range(middle, first - 1, -1), range(middle + 1, last + 1)
    for low, high in zip_longest(below, above):
        yield from (place for place in (low, high) if place is not None)
