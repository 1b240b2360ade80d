"""Where a word may begin or end, also in scripts that put no spaces between words."""

from __future__ import annotations

import regex

# UTS #18 \w, less the scripts whose words stand side by side.
_IN_WORDS = (
    r"[[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
    r"--[\p{Han}\p{Hiragana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
)
_JOINED = regex.compile(rf"(?V1s).\p{{M}}|{_IN_WORDS}{_IN_WORDS}")


def is_edge(text: str, position: int) -> bool:
    """Whether a word may begin or end at ``position`` (code points).

    Not between two characters of words, unless one of them is Han, Hiragana, Thai, Lao, Khmer or
    Myanmar; never before a combining mark. The ends of the text are edges.
    """
    if not 0 < position < len(text):
        return True
    return _JOINED.match(text, position - 1) is None
