"""What the searches share: spans, half-width text, and what stands before a find."""

from __future__ import annotations

import re
from collections.abc import Iterator

Spans = Iterator[tuple[int, int]]
"""Code points from (inclusive) and to (exclusive)."""

# What a secret without spaces is made of; what is missing ends one in JSON, code and prose.
RUN = r"[!#-&*+\-./0-9:=?@A-Z^_a-z~]"

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
