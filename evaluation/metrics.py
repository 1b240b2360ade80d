"""Measures of ranked passages against judged spans.

A span is found at rank r when the union of the first r passages covers at least half of it.
nDCG counts each span at the rank where it is found, gain 1 (Järvelin, Kekäläinen 2002); the ideal
is one span a rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

DEPTH = 20
"""How many passages of an answer are looked at."""
MEASURES = ("recall@1", "recall@5", "recall@20", "ndcg@10", "mrr@10", "coverage@5")
Values = NDArray[np.float64]
Range = tuple[int, int]
Verdict = Literal["worse", "not worse", "better"]


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands: ``text[start:end]`` of the string at ``pointer``, code points."""

    pointer: str
    start: int
    end: int


def score(gold: Sequence[Span], found: Sequence[Span]) -> dict[str, float]:
    """Returns the measures of one answer, each 0..1; ``found`` best first, ``gold`` not empty.

    ``coverage@5`` is the share of the judged characters that the first five passages hold.
    """
    ranks = sorted(rank for span in gold if (rank := _found_at(span, found[:DEPTH])))
    recalls = {f"recall@{k}": sum(rank <= k for rank in ranks) / len(gold) for k in (1, 5, 20)}
    top = [rank for rank in ranks if rank <= 10]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(10, len(gold)) + 1))
    return recalls | {
        "ndcg@10": min(1.0, sum(1 / math.log2(rank + 1) for rank in top) / ideal),
        "mrr@10": 1 / top[0] if top else 0.0,
        "coverage@5": _coverage(gold, found[:5]),
    }


def _found_at(gold: Span, found: Sequence[Span]) -> int | None:
    parts: list[Range] = []
    for rank, span in enumerate(found, start=1):
        if part := _common(gold, span):
            parts.append(part)
            if 2 * _length(parts) >= gold.end - gold.start:
                return rank
    return None


def _coverage(gold: Sequence[Span], found: Sequence[Span]) -> float:
    judged: dict[str, list[Range]] = {}
    covered: dict[str, list[Range]] = {}
    for span in gold:
        judged.setdefault(span.pointer, []).append((span.start, span.end))
        parts = (_common(span, other) for other in found)
        covered.setdefault(span.pointer, []).extend(part for part in parts if part)
    return sum(map(_length, covered.values())) / sum(map(_length, judged.values()))


def _common(one: Span, other: Span) -> Range | None:
    start, end = max(one.start, other.start), min(one.end, other.end)
    return (start, end) if one.pointer == other.pointer and start < end else None


def _length(ranges: Iterable[Range]) -> int:
    """Characters in the union of ranges."""
    length, reached = 0, -1
    for start, end in sorted(ranges):
        if end > reached:
            length += end - max(start, reached)
            reached = end
    return length


def measured(answers: Iterable[Mapping[str, float]]) -> dict[str, Values]:
    """Returns each measure's values, one per question, in order."""
    rows = list(answers)
    return {name: np.array([row[name] for row in rows]) for name in MEASURES}


def interval(groups: Sequence[Values], *, draws: int = 2_000) -> tuple[float, float, float]:
    """Returns the mean over groups of their means, and its 95 % bootstrap interval.

    Questions are drawn within their group (percentile method; Efron, Tibshirani 1993). For a
    paired comparison give the differences.
    """
    random = np.random.default_rng(7)
    means = np.zeros(draws)
    for values in groups:
        means += values[random.integers(0, len(values), (draws, len(values)))].mean(axis=1)
    low, high = np.percentile(means / len(groups), [2.5, 97.5])
    mean = float(np.mean([values.mean() for values in groups]))
    return mean, float(low), float(high)


def verdict(low: float, high: float) -> Verdict:
    """Says what the interval of paired differences, candidate less base, shows."""
    if high < 0:
        return "worse"
    return "better" if low > 0 else "not worse"
