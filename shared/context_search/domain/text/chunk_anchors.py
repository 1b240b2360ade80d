"""Anchors: the cuts that stay in place when the text changes somewhere else.

A boundary is an anchor if its priority, the CRC-32 of the characters around it, is the highest
within a radius on both sides (the leftmost of equals), so that nothing farther away has a say.
This is chunking by local maxima (Bjørner, Blass, Gurevich: "Content-dependent chunking for
differential compression, the local maximum approach", 2010) with the boundaries of the text as
candidates: first the ends of paragraphs; then, in each gap that stays too long, the same ones
without rivals from outside the gap; then in the same way the ends of lines, sentences and words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

CONTEXT = 12
"""Code points on each side of a boundary that make its priority."""

_LAST_OF_LINES = r"(?![\r\n])"
_LAST_OF_ENDS = "(?![。！？；…」』”’）])"
_SAMPLE = "(?=[A-Ha-h一-埿])"

# Each candidate costs a checksum, so rare marks come before frequent ones, and of a frequent one
# first a sample: where the next letter is in the first part of its alphabet.
_MARKS = tuple(
    (max(mark), re.compile(re.escape(mark) + condition))
    for mark, condition in (
        ("\n\n", _LAST_OF_LINES),
        ("\n\r\n", _LAST_OF_LINES),
        ("\n", _LAST_OF_LINES),
        ("？", _LAST_OF_ENDS),
        ("！", _LAST_OF_ENDS),
        ("? ", ""),
        ("! ", ""),
        ("。", _SAMPLE),
        ("。", _LAST_OF_ENDS),
        (". ", _SAMPLE),
        (". ", ""),
        (" ", _SAMPLE),
        (" ", "(?! )"),
    )
)


@dataclass(frozen=True, slots=True)
class Spacing:
    """How far anchors are from each other; code points, ``shortest <= radius < longest``.

    ``radius``: nothing better within it on either side; ``longest``: a longer gap is searched
    again for lesser marks; ``shortest``: the least gap, also to the ends of the text.
    """

    radius: int
    longest: int
    shortest: int


def find_anchors(text: str, spacing: Spacing) -> list[int]:
    """The anchors of ``text``, ascending, without 0 and ``len(text)``; code points.

    Gaps longer than ``spacing.longest`` remain only where candidates are missing. Linear time.
    """
    anchors = [0, len(text)]
    for rarest_character, mark in _MARKS:
        if rarest_character in text:
            for low, high in _long_gaps(anchors, spacing):
                anchors += _anchors_at(text, mark, low, high, spacing)
            anchors.sort()
    return anchors[1:-1]


def _long_gaps(places: list[int], spacing: Spacing) -> list[tuple[int, int]]:
    return [(low, high) for low, high in pairwise(places) if high - low > spacing.longest]


def _anchors_at(
    text: str, mark: re.Pattern[str], low: int, high: int, spacing: Spacing
) -> list[int]:
    """Anchors at the ends of one kind of mark between two anchors; two rounds, see above."""
    positions = [match.end() for match in mark.finditer(text, max(low, CONTEXT), high)]
    priorities = [
        crc32(text[p - CONTEXT : p + CONTEXT].encode("utf-8", "surrogatepass")) for p in positions
    ]
    anchors: list[int] = []
    for _ in range(2):
        for lower, upper in _long_gaps([low, *anchors, high], spacing):
            first = bisect_left(positions, lower + spacing.shortest)
            last = bisect_right(positions, upper - spacing.shortest)
            maxima = local_maxima(positions[first:last], priorities[first:last], spacing.radius)
            anchors += [positions[first + i] for i in maxima]
        anchors.sort()
    return anchors


def local_maxima(positions: list[int], priorities: list[int], radius: int) -> list[int]:
    """Indexes whose priority no other within ``radius`` reaches from the left, or exceeds.

    From a candidate, climb to the highest of those that are newly within reach on its right. If
    none is higher, everything in reach is ruled out. So each candidate is looked at at most once
    from its left and once from its right.
    """
    maxima: list[int] = []
    peak = 0
    while peak < len(positions):
        seen = peak + 1
        while (reach := bisect_right(positions, positions[peak] + radius, seen)) > seen:
            newly = priorities[seen:reach]
            highest = max(newly)
            if highest > priorities[peak]:
                peak = seen + newly.index(highest)
            seen = reach
        left = bisect_left(positions, positions[peak] - radius, 0, peak)
        if max(priorities[left:peak], default=-1) < priorities[peak]:
            maxima.append(peak)
        peak = seen
    return maxima
