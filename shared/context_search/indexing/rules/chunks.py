"""Chunks whose words are written later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChunkTokens:
    """The tokens of one chunk, in order, with repetitions."""

    chunk_id: int
    tokens: Sequence[str]


@dataclass(frozen=True, slots=True)
class UnkeyedChunk:
    """A chunk whose tokens are not kept: where it is in the text around it, in code points."""

    id: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Unkeyed:
    """Chunks of one string, in order, whose tokens are not kept.

    ``text``: the string up to the last of them, from its beginning; of a very long string only
    ``TEXTS_ABOVE`` chunks before the first of them.
    """

    text: str
    chunks: Sequence[UnkeyedChunk]


TEXTS_ABOVE = 2_000
"""Maximum number of chunks before one that are read to find the headings above it."""


WORDS_WAIT_S = 600.0
"""Seconds after which the words of a set are written although its project has strings to index."""
