"""BM25, as turbopuffer ranks keywords: k1 1.2 and b 0.75, its defaults.

Source: Robertson, Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond (2009); the
idf is Lucene's, which is never negative.
"""

from __future__ import annotations

import math

K1, B = 1.2, 0.75


def idf(matching: int, total: int) -> float:
    """Returns the inverse document frequency of a word that ``matching`` of ``total`` texts
    have.
    """
    total = max(total, matching)
    return math.log(1 + (total - matching + 0.5) / (matching + 0.5))


def term_weight(count: int, length: int, mean_length: float) -> float:
    """Returns how much a text is about a word that it has ``count`` times, in 0..k1 + 1.

    Lengths are numbers of tokens.

    >>> term_weight(0, 9, 9), term_weight(1, 9, 9)
    (0.0, 1.0)
    """
    return count * (K1 + 1) / (count + K1 * (1 - B + B * length / (mean_length or 1.0)))
