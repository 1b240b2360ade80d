"""Cut a text into overlapping chunks that read well, and that stay put when the text is edited.

The text is first divided at *anchors* (``find_anchors``): boundaries chosen by the characters
around them alone, two to four chunks apart. Each segment is then filled on its own, from left to
right: a chunk starts ``overlap`` code points before the last cut (or a little later, where a
sentence or word starts) and may be ``size`` long; the cut is the last boundary of the best class
(paragraph, sentence, word, else a hard cut; ``TextBoundaries``) in the second half of that room,
as far as the segment still fits into the fewest chunks: fuller chunks are found better (docs/
quality.md). The last but one chunk of a segment leaves enough for the last to have half the size.
Every cut and start is moved off the inside of grapheme clusters (``GraphemeClusters``).

Why anchors: each cut depends on the one before it, so without them one inserted word at the top
could move every cut of a book, and every chunk would be embedded again. An anchor knows nothing
of what is far away, so the cuts after the first anchor beyond an edit are the old ones.

Any change that cuts any text differently, a newer ``regex`` too, is a new ``CHUNKER_VERSION``
(``core/config.py``).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import regex

from context_search.core.errors import InvalidInputError
from context_search.text.graphemes import LONGEST_CLUSTER, GraphemeClusters

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


# ---- Where a chunk may begin or end well: paragraph, sentence and word boundaries.
# A boundary is the position after its mark, so the mark stays with the text before it. The sentence
# pattern has bounded repetitions only, so a search costs no more than its window.

_PARAGRAPHS = ("\n\n", "\n\r\n")
_SENTENCE = re.compile(
    r"\n"
    r"|[.!?][\"'”’)\]]{0,3} "
    r"|[。！？；…]{1,3}[」』”’）]{0,3}"
)
_LONGEST_SENTENCE_MARK = 6
_LAST_SENTENCE_MARK = regex.compile(r"(?r)[\n.!?。！？；…]")
_WORD = re.compile(r"[ \t\u3000]")
_LAST_WORD = regex.compile(r"(?r)[ \t\u3000]")


class TextBoundaries:
    """The boundaries of one text, found on demand in small windows; positions in code points."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._paragraphs = tuple(mark for mark in _PARAGRAPHS if mark[-2] in text)

    def latest(self, low: int, high: int) -> int:
        """The last boundary of the best class in ``low..high`` (both included), else ``high``.

        Paragraphs before sentences and lines, before words. Needs ``0 < low <= high < len(text)``.
        """
        if boundary := self._last_paragraph(low, high) or self._last_sentence(low, high):
            return boundary
        word = _LAST_WORD.search(self._text, low - 1, high)
        return word.end() if word else high

    def earliest(self, low: int, high: int) -> int:
        """The first sentence boundary in ``low..high`` (both included), else word, else ``low``.

        Needs ``0 < low <= high < len(text)``.
        """
        sentence = _SENTENCE.search(self._text, low - 1, high + _LONGEST_SENTENCE_MARK)
        if sentence and sentence.end() <= high:
            return sentence.end()
        word = _WORD.search(self._text, low - 1, high)
        return word.end() if word else low

    def _last_paragraph(self, low: int, high: int) -> int:
        """0 if there is none."""
        text, best = self._text, 0
        line_end = text.rfind("\n", low - 1, high) + 1
        for mark in self._paragraphs if line_end else ():
            at = text.rfind(mark, max(0, low - len(mark)), line_end)
            if at >= 0:
                best = max(best, at + len(mark))
        return best

    def _last_sentence(self, low: int, high: int) -> int:
        """0 if there is none."""
        first = max(0, low - _LONGEST_SENTENCE_MARK)
        mark = _LAST_SENTENCE_MARK.search(self._text, first, high)
        while mark:
            sentence = _SENTENCE.match(self._text, mark.start())
            if sentence and low <= sentence.end() <= high:
                return sentence.end()
            mark = _LAST_SENTENCE_MARK.search(self._text, first, mark.start())
        return 0


# ---- Anchors: the cuts that stay in place when the text changes somewhere else.
# A boundary is an anchor if its priority, the CRC-32 of the characters around it, is the highest
# within a radius on both sides (the leftmost of equals), so that nothing farther away has a say.
# This is chunking by local maxima (Bjørner, Blass, Gurevich: "Content-dependent chunking for
# differential compression, the local maximum approach", 2010) with the boundaries of the text as
# candidates: first the ends of paragraphs; then, in each gap that stays too long, the same ones
# without rivals from outside the gap; then in the same way the ends of lines, sentences and words.

CONTEXT = 12
"""Number of code points on each side of a boundary that decide its priority."""

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


# ---- Windows: the pieces of a chunk that get a vector each, where a chunk is too long for one.

_CHARS_PER_LATIN_TOKEN = 4.0
_SMALLEST_WINDOW_CHARS = 20
_WIDE = re.compile("[\u2e80-\U0010ffff]++")


def window_texts(text: str, tokens_per_window: int) -> list[str]:
    """Returns the pieces of ``text`` to embed, in order; with 0 tokens, the text itself.

    Tokens are estimated: a character of a script without spaces counts one, four others count
    one. The pieces do not overlap, are cut at the best boundaries, and together are the whole text.
    """
    # No text has more tokens than characters, so short ones need no estimate.
    if tokens_per_window == 0 or len(text) <= tokens_per_window:
        return [text]
    count = math.ceil(estimated_tokens(text) / tokens_per_window)
    if count == 1:
        return [text]
    size = max(_SMALLEST_WINDOW_CHARS, math.ceil(len(text) / count))
    spans = chunk_spans(text, size=size, overlap=0, packed=False)
    return [text[span.start : span.end] for span in spans] or [text]


def estimated_tokens(text: str) -> int:
    """Returns about how many tokens a multilingual model sees in ``text``.

    >>> estimated_tokens("four words of text"), estimated_tokens("四个汉字")
    (5, 4)
    """
    wide = 0 if text.isascii() else sum(map(len, _WIDE.findall(text)))
    return math.ceil(wide + (len(text) - wide) / _CHARS_PER_LATIN_TOKEN)
