"""The part of a text that is shown as a result, and what in it matched."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from context_search.domain.text.analysis.highlighting import Span, match_spans

SNIPPET_CHARS = 240
LEAD_CHARS = 60


@dataclass(frozen=True, slots=True)
class Snippet:
    """``text`` is a slice of the chunk; ``highlights`` are offsets into ``text``, code points."""

    text: str
    highlights: Sequence[Span]


def snippet(text: str, query: str) -> Snippet:
    """Returns at most 240 characters of ``text`` with the most matches, or its beginning.

    It begins up to 60 characters before a match, at a word where there is one.
    """
    spans = match_spans(text, query)
    start = _start(text, spans)
    end = min(len(text), start + SNIPPET_CHARS)
    inside = [(a - start, min(b, end) - start) for a, b in spans if start <= a < end]
    return Snippet(text[start:end], inside)


def _start(text: str, spans: Sequence[Span]) -> int:
    starts = [max(0, min(a - LEAD_CHARS, len(text) - SNIPPET_CHARS)) for a, _ in spans]
    matched = dict(zip(starts, _matched(spans, starts), strict=True))
    best = max(matched, key=matched.__getitem__, default=0)
    if best == 0:
        return 0
    space = text.find(" ", best, best + LEAD_CHARS // 2)
    return best if space < 0 else space + 1


def _matched(spans: Sequence[Span], starts: Sequence[int]) -> Iterator[int]:
    """Yields how many characters match from each start on; each span is counted once."""
    sums = [0, *accumulate(b - a for a, b in spans)]
    firsts = [a for a, _ in spans]
    for start in starts:
        end = start + SNIPPET_CHARS
        first, last = bisect_left(firsts, start), bisect_left(firsts, end)
        beyond = max(0, spans[last - 1][1] - end) if last > first else 0
        yield sums[last] - sums[first] - beyond
