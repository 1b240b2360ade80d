"""BM25 over one full-text attribute.

``idf · (k1+1)·tf / (tf + k1·(1 − b + b·|d|/avg)) · (k3+1)·q / (k3 + q)`` with Lucene's
``idf = ln(1 + (N − df + ½)/(df + ½))`` (Robertson and Zaragoza, "The Probabilistic Relevance
Framework", 2009). N, df and the average length count visible documents that have the
attribute, so deleted ones leave no trace. Query-term saturation k3 is turbopuffer's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.full_text import FullText
from local.turbopuffer.growing import GrowingArray, Mask, Rows
from local.turbopuffer.postings import Postings

Scores = NDArray[np.float64]


class TextIndex:
    """Tokens of one attribute by row."""

    def __init__(self, settings: FullText) -> None:
        self._settings = settings
        self._postings = Postings()
        self._lengths = GrowingArray(np.int32)

    def extend(self, values: Sequence[Any]) -> None:
        """Append one text, token array or None per new row."""
        tokens = [() if value is None else self._settings.tokens(value) for value in values]
        self._postings.add(len(self._lengths), tokens)
        self._lengths.extend(np.fromiter(map(len, tokens), np.int32, len(tokens)))

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` (ascending) and renumber them from 0."""
        self._postings.keep(rows, len(self._lengths))
        self._lengths.keep(rows)

    def contains(self, tokens: Sequence[str], *, every: bool) -> Mask:
        """Rows with every one (or any one) of ``tokens``; no tokens match nothing."""
        hits = np.zeros(len(self._lengths), np.int32)
        wanted = set(tokens)
        for token in wanted:
            hits[self._postings.lookup(token)[0]] += 1
        needed = len(wanted) if every else 1
        return (hits >= needed) & bool(wanted)

    def scores(self, tokens: Sequence[str], visible: Mask) -> Scores:
        """The BM25 score of each row; 0 where no token occurs. Invisible rows do not count."""
        lengths = self._lengths.view
        scores = np.zeros(len(lengths), np.float64)
        counted = lengths[visible]
        documents = int(np.count_nonzero(counted))
        if not documents:
            return scores
        settings = self._settings
        average = float(counted.sum()) / documents
        for token, asked in Counter(tokens).items():
            rows, counts = self._postings.lookup(token)
            frequency = int(np.count_nonzero(visible[rows]))
            idf = np.log1p((documents - frequency + 0.5) / (frequency + 0.5))
            weight = idf * (settings.k3 + 1) * asked / (settings.k3 + asked)
            norm = settings.k1 * (1 - settings.b + settings.b * lengths[rows] / average)
            scores[rows] += weight * (settings.k1 + 1) * counts / (counts + norm)
        return scores
