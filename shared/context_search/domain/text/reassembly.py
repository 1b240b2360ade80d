"""A node's text from its chunks, which together are all of it."""

from __future__ import annotations

from collections.abc import Iterable


def text_of_chunks(chunks: Iterable[tuple[int, str]]) -> str:
    """Returns the text that chunks were cut from, given their starts and texts in order.

    >>> text_of_chunks([(0, "abcd"), (2, "cdef")])
    'abcdef'
    """
    parts: list[str] = []
    length = 0
    for start, text in chunks:
        parts.append(text[length - start :])
        length = start + len(text)
    return "".join(parts)
