"""Cut a text into overlapping chunks that read well, and that stay put when the text is edited.

The text is first divided at *anchors* (``chunk_anchors``): boundaries chosen by the characters
around them alone, two to four chunks apart. Each segment is then filled on its own, from left to
right: a chunk starts ``overlap`` code points before the last cut (or a little later, where a
sentence or word starts) and may be ``size`` long; the cut is the last boundary of the best class
(paragraph, sentence, word, else a hard cut; ``chunk_boundaries``) in the second half of that room,
as far as the segment still fits into the fewest chunks: fuller chunks are found better (docs/
quality.md). The last but one chunk of a segment leaves enough for the last to have half the size.
Every cut and start is moved off the inside of grapheme clusters (``graphemes``).

Why anchors: each cut depends on the one before it, so without them one inserted word at the top
could move every cut of a book, and every chunk would be embedded again. An anchor knows nothing
of what is far away, so the cuts after the first anchor beyond an edit are the old ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from context_search.domain.errors import InvalidInputError
from context_search.domain.text.chunk_anchors import Spacing, find_anchors
from context_search.domain.text.chunk_boundaries import TextBoundaries
from context_search.domain.text.graphemes import LONGEST_CLUSTER, GraphemeClusters

CHUNKER_VERSION = 2
"""Goes up with every change that cuts any text differently (a newer ``regex`` may be one)."""

# In units of the chunk size. Closer anchors mean fewer changed chunks after an edit, and shorter
# chunks, as each segment ends with a chunk that is not full.
_ANCHOR_RADIUS = 1.25
_LONGEST_SEGMENT = 3.5


@dataclass(frozen=True, slots=True)
class Span:
    """A chunk's place in its text: ``text[start:end]``, code points, ``start < end``."""

    start: int
    end: int


def chunk_spans(
    text: str, *, size: int = 1000, overlap: int = 100, packed: bool = True
) -> list[Span]:
    """The chunks of ``text``, in order; ``[]`` if it is empty or only whitespace.

    Together they cover the whole text (so one inside a long run of whitespace is blank). Starts
    and ends strictly increase, no chunk is longer than ``size`` code points, neighbours share at
    most ``overlap``. Only the last chunk may be shorter than half the size, but for the length of
    a grapheme cluster in the way: clusters of up to ``min(size, 64)`` code points stay whole.
    Not ``packed``, a better boundary is worth a chunk more.

    Raises InvalidInputError unless ``0 <= overlap < size``.
    """
    if size <= 0:
        raise InvalidInputError("chunk_size must be at least 1")
    if not 0 <= overlap < size:
        raise InvalidInputError("chunk_overlap must be at least 0 and less than chunk_size")
    if not text or text.isspace():
        return []
    return _Chunker(text, size, overlap, packed=packed).spans()


class _Chunker:
    """Fills one text; ``cut`` is where the chunk before ended, ``start`` where this one begins."""

    def __init__(self, text: str, size: int, overlap: int, *, packed: bool) -> None:
        self._text = text
        self._packed = packed
        self._size = size
        self._overlap = overlap
        self._half = size // 2
        self._shortest = max(self._half, overlap + 1)  # so that the next chunk starts later
        self._rest = max(1, self._half - overlap)  # with the overlap it makes half a chunk
        self._boundaries = TextBoundaries(text)
        self._clusters = GraphemeClusters(text, longest=min(size, LONGEST_CLUSTER))

    def spans(self) -> list[Span]:
        spans: list[Span] = []
        start = cut = 0
        for end in self._segment_ends():
            while end - start > self._size:
                cut = self._next_cut(start, cut, end)
                spans.append(Span(start, cut))
                start = self._next_start(start, cut, end)
            spans.append(Span(start, end))
            cut = end
            start = self._next_start(start, cut, len(self._text))
        return spans

    def _segment_ends(self) -> list[int]:
        spacing = Spacing(
            radius=int(self._size * _ANCHOR_RADIUS),
            longest=int(self._size * _LONGEST_SEGMENT),
            shortest=max(1, self._half),
        )
        anchors = find_anchors(self._text, spacing)
        return [*filter(self._clusters.is_boundary, anchors), len(self._text)]

    def _next_cut(self, start: int, cut: int, end: int) -> int:
        limit = start + self._size
        high = min(limit, end - self._rest)
        low = start + self._shortest
        if self._packed:
            low = max(low, min(high, self._earliest_cut(start, end)))
        wished = self._boundaries.latest(low, high)
        floor, ceiling = self._clusters.around(wished)
        # min() here and below: whatever the clusters are, limit and coverage hold.
        return floor if floor > cut else min(ceiling, limit)

    def _earliest_cut(self, start: int, end: int) -> int:
        """Where to cut first so that one chunk fewer than from ``start`` reaches ``end``."""
        step = self._size - self._overlap
        chunks = math.ceil((end - start - self._overlap) / step)
        return end - (chunks - 1) * step

    def _next_start(self, start: int, cut: int, end: int) -> int:
        """The next chunk's start; ``end`` is where its segment ends, to leave it half the size."""
        low = max(start + 1, cut - self._overlap)
        if self._size - self._overlap < LONGEST_CLUSTER:  # the next cluster must fit in
            low = max(low, self._clusters.around(cut + 1)[1] - self._size)
        high = min(low + self._overlap // 2, end - self._half, cut)
        if low < high:
            low = self._boundaries.earliest(low, high)
        return min(self._clusters.around(low)[1], cut)
