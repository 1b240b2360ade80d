"""The formulas once more, small and slow, to compare the server with."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

K1, B, K3 = 1.2, 0.75, 8.0  # the service's defaults


def bm25_order(documents: Mapping[str, Sequence[str]], query: Sequence[str]) -> list[str]:
    """Ids of the documents that hold a query term, best first, equal ones by id."""
    held = {identity: tokens for identity, tokens in documents.items() if tokens}
    average = sum(map(len, held.values())) / len(held)
    scores: dict[str, float] = defaultdict(float)
    for term, asked in Counter(query).items():
        df = sum(term in tokens for tokens in held.values())
        idf = math.log(1 + (len(held) - df + 0.5) / (df + 0.5))
        for identity, tokens in held.items():
            tf = tokens.count(term)
            norm = K1 * (1 - B + B * len(tokens) / average)
            if tf:
                scores[identity] += (
                    idf * (K3 + 1) * asked / (K3 + asked) * (K1 + 1) * tf / (tf + norm)
                )
    return sorted(scores, key=lambda identity: (-round(scores[identity], 6), identity))


def cosine_order(vectors: Mapping[Any, Sequence[float]], query: Sequence[float]) -> list[Any]:
    """Ids by angle to the query, nearest first."""

    def distance(vector: Sequence[float]) -> float:
        dot = sum(x * y for x, y in zip(vector, query, strict=True))
        return 1 - dot / (math.hypot(*vector) * math.hypot(*query))

    return sorted(vectors, key=lambda identity: (round(distance(vectors[identity]), 5), identity))
