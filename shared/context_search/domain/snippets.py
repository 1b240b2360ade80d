"""The part of a text that is shown as a result, and what in it matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from context_search.domain.analysis.highlighting import Span, match_spans

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
    best = max(starts, key=lambda start: _matched(spans, start), default=0)
    if best == 0:
        return 0
    space = text.find(" ", best, best + LEAD_CHARS // 2)
    return best if space < 0 else space + 1


def _matched(spans: Sequence[Span], start: int) -> int:
    end = start + SNIPPET_CHARS
    return sum(min(b, end) - a for a, b in spans if start <= a < end)
