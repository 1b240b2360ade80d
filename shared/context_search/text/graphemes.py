"""Where a text may be cut without splitting a grapheme cluster (UAX #29, by ``regex`` ``\\X``).

``\\X`` is too slow for whole texts (quadratic on runs of flags), so a position is judged from the
characters beside it, and if they do not settle it, from a window around it. This is exact:
seen from inside a cluster, ``\\X`` finds every true boundary and false ones only in that same
cluster. A window that starts ``longest`` code points before the position is therefore wrong only
about a cluster longer than ``longest``, and that one may be cut. Flags are the exception: regional
indicators pair up from the start of their run, however far back, so those starts are listed once
per text (and only if a run of them meets a window).
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

import regex

LONGEST_CLUSTER = 64
"""Length of the longest grapheme cluster that is kept whole, in code points. Zalgo may be cut."""

_CLUSTER = regex.compile(r"\X")
_FLAG_RUN = regex.compile(r"\p{Regional_Indicator}{2,}")

_OPENING = frozenset("“‘「『（《")

# A pair that no rule of UAX #29 joins, whatever stands around it.
_CERTAIN_BREAK = regex.compile(
    r"(?!\r\n)"
    r"[\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]"
    r"[^\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}\p{GCB=V}\p{GCB=T}]"
)


class GraphemeClusters:
    """The grapheme clusters of one text, found on demand around single positions."""

    def __init__(self, text: str, *, longest: int = LONGEST_CLUSTER) -> None:
        """Clusters of up to ``longest`` (>= 1) code points are kept whole."""
        self._text = text
        self._longest = longest

    def around(self, position: int) -> tuple[int, int]:
        """The nearest places to cut, ``floor <= position <= ceiling``; code points.

        Both are ``position`` where a cut is allowed: at the ends of the text, between two
        clusters, and inside a cluster longer than ``longest`` (though not in the middle of a flag,
        unless ``longest`` is 1).
        """
        text = self._text
        if not 0 < position < len(text):
            return position, position
        after = text[position]
        if " " <= after <= "~" or "一" <= after <= "鿿" or after in _OPENING:
            # Only a Prepend character joins one of these to itself; these ranges have none.
            before = text[position - 1]
            if before < "\u0600" or "\u2000" <= before <= "鿿":
                return position, position
        if _CERTAIN_BREAK.match(text, position - 1):
            return position, position
        return self._around_in_window(position)

    def is_boundary(self, position: int) -> bool:
        """Whether a cut at ``position`` is allowed."""
        return self.around(position) == (position, position)

    def _around_in_window(self, position: int) -> tuple[int, int]:
        start, end = self._cluster_at(position)
        if end - start <= self._longest:
            return start, end
        if self._longest > 1 and self._splits_flag(position):
            return position - 1, position + 1
        return position, position

    def _cluster_at(self, position: int) -> tuple[int, int]:
        """The cluster that ``position`` is inside of, else ``position`` twice."""
        begin = max(0, position - self._longest)
        if self._splits_flag(begin):
            begin -= 1
        clusters = _CLUSTER.finditer(self._text[begin : position + self._longest])
        start, end = next(c.span() for c in clusters if begin + c.end() > position)
        return (begin + start, begin + end) if begin + start < position else (position, position)

    def _splits_flag(self, position: int) -> bool:
        """Whether ``position`` is between the two regional indicators of one flag."""
        if not _FLAG_RUN.match(self._text, max(0, position - 1), position + 1):
            return False
        run = self._flag_runs[bisect_right(self._flag_runs, position - 1) - 1]
        return (position - run) % 2 == 1

    @cached_property
    def _flag_runs(self) -> list[int]:
        """Where each run of two or more regional indicators begins, ascending."""
        return [run.start() for run in _FLAG_RUN.finditer(self._text)]
