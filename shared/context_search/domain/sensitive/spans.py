"""What the searches share: spans, half-width text, and what stands before a find."""

from __future__ import annotations

import re
from collections.abc import Iterator

Spans = Iterator[tuple[int, int]]
"""Code points from (inclusive) and to (exclusive)."""

# What a secret without spaces is made of; what is missing ends one in JSON, code and prose.
RUN = r"[!#-&*+\-./0-9:=?@A-Z^_a-z~]"

_HALF_WIDTH = {**{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}, 0x3000: 0x20}
_WIDE = re.compile("[\uff01-\uff5e\u3000]")


def folded(text: str) -> str:
    """Returns the text with ASCII characters for full-width ones, of the same length."""
    return text.translate(_HALF_WIDTH) if _WIDE.search(text) else text


def is_said(pattern: re.Pattern[str], text: str, at: int, reach: int = 32) -> bool:
    """Tells whether a pattern is in the ``reach`` characters before ``at``, in the same line."""
    before = text[max(0, at - reach) : at]
    return pattern.search(before, before.rfind("\n") + 1) is not None
