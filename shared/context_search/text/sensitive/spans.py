"""What the searches share: spans, half-width text, and what stands before a find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from context_search.text.plain_text import places_of_hidden_characters

Spans = Iterator[tuple[int, int]]
"""Spans of a text: start (inclusive) and end (exclusive), in code points."""

# What a secret without spaces is made of; what is missing ends one in JSON, code and prose.
RUN = r"[!#-&*+\-./0-9:=?@A-Z^_a-z~]"

# What may stand in front of the host of an address: a user, a password, or both. The last ``@``
# before the first of ``/?#`` ends them (RFC 3986, 3.2). A password that is not encoded as it
# should be may hold ``?``, ``#`` and other characters up to the first ``@``; a port with a query,
# or at the end of the address, is none.
_LONGEST_LOGIN = 32_768
LOGIN = re.compile(
    rf"://(?:[^\s/?#:\"'<>\[\]]{{0,100}}+:"
    rf"(?P<password>(?:(?![/?#]){RUN}){{1,{_LONGEST_LOGIN}}}"
    rf"|(?![0-9]{{1,5}}(?:[?#]|(?!{RUN})))(?:(?:(?![/@]){RUN})++|[^\s/@\"'<>]{{1,200}}+))"
    rf"|(?P<user>(?:(?![/?#:]){RUN}){{1,{_LONGEST_LOGIN}}}))(?=@)"
)
"""Matches up to the ``@`` before a host; ``user`` is one without a password. No match holds a slash
behind its first two, so each character is looked at for one of them only."""

_WIDE = re.compile("[\uff01-\uff5e\u3000]")
_HALF_WIDTH = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"\u3000": " "}
# Where seven digits stand close together; a text that has none has no number to find.
_GAPS = r"[ \t.\-·()\u00a0\u2007\u2010-\u2015\u202f\u200b-\u200d\u2060\u2212\ufeff]"
_DIGITS = re.compile(rf"(?:[0-9]{_GAPS}{{0,3}}){{7,}}+")
# How far a number with letters in it reaches beyond its digits: an IBAN, an extension.
_BEFORE_CHARS, _BEHIND_CHARS = 12, 24


def folded(text: str) -> str:
    """Returns the text with ASCII characters for full-width ones, of the same length."""
    return _WIDE.sub(lambda wide: _HALF_WIDTH[wide[0]], text)


def near_digits(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Returns the matches of a pattern for numbers: looked for only where many digits are."""
    at = 0
    for digits in _DIGITS.finditer(text):
        if digits.end() <= at:
            continue
        at = max(at, digits.start() - _BEFORE_CHARS)
        for match in pattern.finditer(text, at, digits.end() + _BEHIND_CHARS):
            if match.start() >= digits.end():
                break  # it may be cut off, and is looked at again
            at = match.end()
            yield match
        at = max(at, digits.end())


def is_said(pattern: re.Pattern[str], text: str, at: int, reach: int = 32) -> bool:
    """Tells whether a pattern is in the ``reach`` characters before ``at``, in the same line."""
    before = text[max(0, at - reach) : at]
    return pattern.search(before, before.rfind("\n") + 1) is not None


# ---- Whether the end of what is shown may lie inside a secret that goes on beyond what was read.
# A key has no length that it cannot exceed. But it is one run of characters without a gap, or lines
# of such runs: a gap behind a run that is no line of a key ends them all. Everything else, and the
# words that tell what a run is, may hold gaps, but is not longer than ``REACH_CHARS``.

REACH_CHARS = 256
"""Number of characters that a secret may reach beyond a gap in the text."""

# A run with three letters and no line of base64 in it; or characters that are in no run. What
# quotes each line of a private key has fewer letters.
_BREAK = re.compile(
    rf"(?<!{RUN})(?!&?(?:nbsp|quot)(?!{RUN}))(?={RUN}{{0,64}}?[A-Za-z]{{3}})"
    rf"(?:(?![A-Za-z0-9+/=]{{16}}){RUN})++(?!{RUN})|[^\x00-\x7f\s]{{4}}"
)


def _without_gaps(text: str) -> str:
    """Returns the text folded, of the same length: hidden characters are no gaps in a secret."""
    characters = list(folded(text))
    for place in places_of_hidden_characters(text):
        characters[place] = "="
    return "".join(characters)


@dataclass(frozen=True, slots=True)
class ReadText:
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
        found = _BREAK.search(_without_gaps(self.text), REACH_CHARS)
        return found is None or found.end() > self.start

    @property
    def is_open_behind(self) -> bool:
        """Tells whether a secret that is not recognised may begin in it and go on behind."""
        if self.is_last:
            return False
        last = len(self.text) - REACH_CHARS
        if not self.has_keys:
            return self.end > last
        found = _BREAK.search(_without_gaps(self.text), self.end)
        return found is None or found.end() > last

    def doubtful(self) -> Spans:
        """Returns what at open ends may belong to such a secret: all up to the next gap."""
        text = _without_gaps(self.text)
        if self.is_open_before:
            found = _BREAK.search(text, self.start, self.end)
            yield self.start, found.end() if found else self.end
        if self.is_open_behind:
            ends = [found.end() for found in _BREAK.finditer(text, self.start, self.end)]
            before = [end for end in ends if end < self.end]
            yield before[-1] if before else self.start, self.end
