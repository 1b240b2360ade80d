"""The tokens of chunks that were ranked lately: agents ask several questions of one text."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache

from context_search.domain.analysis import tokens
from context_search.domain.model import HydratedChunk

KEPT_CHUNKS = 1_000
"""About 12 MB of English, 25 MB of Chinese."""


@dataclass
class ChunkWords:
    """Analyses a chunk once. The text behind a chunk's id never changes."""

    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _kept: LRUCache[int, Sequence[str]] = field(
        default_factory=lambda: LRUCache(KEPT_CHUNKS), repr=False
    )

    def __call__(self, chunk: HydratedChunk) -> Sequence[str]:
        """Returns the tokens of a chunk's text, in order."""
        with self._lock:
            known = self._kept.get(chunk.id)
        if known is None:
            known = tokens(chunk.chunk_text)
            with self._lock:
                self._kept[chunk.id] = known
        return known
