"""Texts that are searched together, because most of them are short."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

BATCH_CHARS = 1 << 18


def batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yields neighbours of at most ``BATCH_CHARS`` together, and each longer text by itself."""
    begin, chars = 0, 0
    for at, text in enumerate(texts):
        if chars + len(text) > BATCH_CHARS and at > begin:
            yield texts[begin:at]
            begin, chars = at, 0
        chars += len(text)
    if begin < len(texts):
        yield texts[begin:]
