"""How long a search waits for what it asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a search waits for each part, in seconds; ``rows_s`` is for reading the hits.

    ``rerank_s`` is for a second opinion on them, of which nothing depends: so it is short.
    ``filter_s`` is for finding the few strings that a filter lets through, if they are few.
    """

    embed_s: float = 5.0
    permits_s: float = 2.0
    vectors_s: float = 6.0
    keywords_s: float = 3.0
    rows_s: float = 2.0
    rerank_s: float = 0.4
    filter_s: float = 1.0
