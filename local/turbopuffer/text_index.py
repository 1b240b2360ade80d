"""BM25 over one full-text attribute.

``idf · (k1+1)·tf / (tf + k1·(1 − b + b·|d|/avg)) · (k3+1)·q / (k3 + q)`` with Lucene's
``idf = ln(1 + (N − df + ½)/(df + ½))`` (Robertson and Zaragoza, "The Probabilistic Relevance
Framework", 2009). N, df and the average length count visible documents that have the
attribute, so deleted ones leave no trace. Query-term saturation k3 is turbopuffer's, as are the
defaults of the three (its answers of 2026-09-29).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from local.turbopuffer.columns import GrowingArray, Mask, Rows
from local.turbopuffer.postings import Postings

Scores = NDArray[np.float64]
_K1, _B, _K3 = 1.2, 0.75, 8.0


class TextIndex:
    """Tokens of one attribute by row."""

    def __init__(self) -> None:
        self._postings = Postings()
        self._lengths = GrowingArray(np.int32)

    def extend(self, values: Sequence[Any]) -> None:
        """Append one array of tokens (or None) per new row."""
        tokens = [value or () for value in values]
        self._postings.add(len(self._lengths), tokens)
        self._lengths.extend(np.fromiter(map(len, tokens), np.int32, len(tokens)))

    def keep(self, rows: Rows) -> None:
        """Keep ``rows`` (ascending) and renumber them from 0."""
        self._postings.keep(rows, len(self._lengths))
        self._lengths.keep(rows)

    def scores(self, tokens: Sequence[str], visible: Mask) -> Scores:
        """The BM25 score of each row; 0 where no token occurs. Invisible rows do not count."""
        lengths = self._lengths.view
        scores = np.zeros(len(lengths), np.float64)
        counted = lengths[visible]
        documents = int(np.count_nonzero(counted))
        if not documents:
            return scores
        average = float(counted.sum()) / documents
        for token, asked in Counter(tokens).items():
            rows, counts = self._postings.lookup(token)
            frequency = int(np.count_nonzero(visible[rows]))
            idf = np.log1p((documents - frequency + 0.5) / (frequency + 0.5))
            weight = idf * (_K3 + 1) * asked / (_K3 + asked)
            norm = _K1 * (1 - _B + _B * lengths[rows] / average)
            scores[rows] += weight * (_K1 + 1) * counts / (counts + norm)
        return scores
