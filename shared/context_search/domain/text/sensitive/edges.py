"""Whether the end of what is shown may lie inside a secret that goes on beyond what was read.

A key has no length that it cannot exceed. But it is one run of characters without a gap, or lines
of such runs: a gap behind a run that is no line of a key ends them all. Everything else, and the
words that tell what a run is, may hold gaps, but is not longer than ``REACH_CHARS``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from context_search.domain.text.sensitive.spans import RUN, Spans, folded

REACH_CHARS = 256
"""How far a find reaches beyond such a gap."""

# A run with three letters and no line of base64 in it; or characters that are in no run. What
# quotes each line of a private key has fewer letters.
_BREAK = re.compile(
    rf"(?<!{RUN})(?!&?(?:nbsp|quot)(?!{RUN}))(?={RUN}{{0,64}}?[A-Za-z]{{3}})"
    rf"(?:(?![A-Za-z0-9+/=]{{16}}){RUN})++(?!{RUN})|[^\x00-\x7f\s]{{4}}"
)


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text that was read, and what of it, ``start`` to ``end``, is to be shown.

    ``is_first`` and ``is_last`` tell that the text has nothing before it, or behind it.
    ``has_keys`` tells that keys are to be hidden, which alone may be of any length.
    """

    text: str
    start: int
    end: int
    is_first: bool
    is_last: bool
    has_keys: bool

    @property
    def is_open_before(self) -> bool:
        """Tells whether a secret that is not recognised may reach into it from before."""
        if self.is_first:
            return False
        if not self.has_keys:
            return self.start < REACH_CHARS
        found = _BREAK.search(folded(self.text), REACH_CHARS)
        return found is None or found.end() > self.start

    @property
    def is_open_behind(self) -> bool:
        """Tells whether a secret that is not recognised may begin in it and go on behind."""
        if self.is_last:
            return False
        last = len(self.text) - REACH_CHARS
        if not self.has_keys:
            return self.end > last
        found = _BREAK.search(folded(self.text), self.end)
        return found is None or found.end() > last

    def doubtful(self) -> Spans:
        """Returns what at open ends may belong to such a secret: all up to the next gap."""
        text = folded(self.text)
        if self.is_open_before:
            found = _BREAK.search(text, self.start, self.end)
            yield self.start, found.end() if found else self.end
        if self.is_open_behind:
            ends = [found.end() for found in _BREAK.finditer(text, self.start, self.end)]
            before = [end for end in ends if end < self.end]
            yield before[-1] if before else self.start, self.end
