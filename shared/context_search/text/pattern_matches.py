"""What a regular expression matches in one text, as few numbers as possible."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

Spans = tuple[int, ...]
"""Where one match begins and ends, then the same of each group that was asked for, in that order.

Code points; -1 twice for a group that took no part.
"""
MAX_SPANS = 1_000_000
"""Maximum number of spans in one text: matches times one more than the groups asked for."""


def _no_offsets() -> array[int]:
    return array("i")


@dataclass(frozen=True, slots=True)
class PatternMatches:
    """The matches of a pattern in one text, from left to right, without overlaps.

    ``offsets`` are the numbers of all ``Spans``, ``width`` numbers each. Matches without a
    character are only counted. ``too_slow``: the text took longer than it may; there is no match.
    """

    offsets: array[int] = field(default_factory=_no_offsets)
    width: int = 2
    empty: int = 0
    too_slow: bool = False

    def __iter__(self) -> Iterator[Spans]:
        for at in range(0, len(self.offsets), self.width):
            yield tuple(self.offsets[at : at + self.width])

    def __len__(self) -> int:
        return len(self.offsets) // self.width

    def __bool__(self) -> bool:
        """Whether there is anything to say of the text."""
        return bool(self.offsets or self.empty or self.too_slow)
