"""Where a text stands now that stood elsewhere in the same string."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, zip_longest

HASHED_CHARS = 100_000_000
"""Maximum number of characters that are looked at, over all places, for a text that is not known.
"""


def nearest(
    text: str, begin: int, length: int, start: int, is_cited: Callable[[str], bool]
) -> int | None:
    """Returns where so many characters stand that are the cited ones, the nearest to ``start``.

    ``text`` begins at ``begin`` of its string; all places count in the string. Of very many places
    only the nearest are looked at: see HASHED_CHARS. None: nowhere.
    """
    if not 0 < length <= len(text):
        return start if length == 0 and begin <= start <= begin + len(text) else None
    last = len(text) - length
    places = _outwards(min(max(start - begin, 0), last), last)
    for at in islice(places, max(1, HASHED_CHARS // length)):
        if is_cited(text[at : at + length]):
            return begin + at
    return None


def nearest_of(text: str, begin: int, sought: str, start: int) -> int | None:
    """Returns where a known text stands, as ``nearest`` does."""
    at = start - begin
    behind = text.find(sought, max(at, 0))
    before = text.rfind(sought, 0, max(at, 0) + len(sought))
    found = [place for place in (before, behind) if place >= 0]
    return begin + min(found, key=lambda place: abs(place - at)) if found else None


def _outwards(middle: int, last: int) -> Iterator[int]:
    """Yields 0 to ``last``, the nearest to the middle first; of two the earlier one first.

    >>> list(_outwards(1, 3))
    [1, 0, 2, 3]
    """
    below, above = range(middle, -1, -1), range(middle + 1, last + 1)
    for low, high in zip_longest(below, above):
        yield from (place for place in (low, high) if place is not None)
